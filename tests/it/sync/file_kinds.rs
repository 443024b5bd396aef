//! What a merge of task files knows nothing of, and must not drop: links, submodules, programs, files that become folders, a task that
//! stands twice.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::support::clones::Clones;
use crate::support::environment::PROJECT;
use crate::support::environment::executable;

/// Two clones that are the same, with a file, a program and a link below `tasks/`.
fn alike() -> (Clones, [String; 2]) {
    let clones = Clones::new(PROJECT, &["b"]);
    let ids = ["One", "Two"].map(|title| clones.env.new_task(&[title]));
    clones.env.write("tasks/tool.sh", "#!/bin/sh\n");
    clones.env.write("tasks/program", "#!/bin/sh\n");
    executable(&clones.env.path("tasks/program"));
    symlink("tool.sh", clones.env.path("tasks/link")).unwrap();
    clones.env.commit_all("tools");
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    (clones, ids)
}

/// Has clone `b` commit something below its `tasks/`.
fn changes(clones: &Clones, change: impl FnOnce(&Path)) {
    change(&clones.env.path("../b/tasks"));
    clones.git("b", &["add", "--all"]);
    clones.git("b", &["commit", "--quiet", "--no-verify", "--message", "mine"]);
}

/// Both went on: the sync of `b` is refused and says why, changes nothing, and after git's merge all of it is everywhere.
fn is_left_to_git(clones: &Clones, file: &str, why: &str) {
    let tasks = || clones.git("b", &["ls-tree", "-r", "HEAD", "tasks"]);
    let (head, before) = (clones.head("b"), tasks());
    for args in [&["sync"][..], &["sync", "--dry-run"]] {
        let output = clones.aof("b", args);
        assert_eq!(output.code, Some(5), "{file}: {output}");
        assert!(
            output.stdout.contains(&format!("`{}`: {why}", clones.env.plain(file))),
            "{output}"
        );
        assert!(output.stdout.contains("run `git pull --no-rebase origin main`"), "{output}");
        assert_eq!((clones.head("b"), clones.status("b")), (head.clone(), String::new()), "{file}");
    }
    clones.git("b", &["pull", "--quiet", "--no-rebase", "--no-edit"]);
    clones.does("b", &["sync"]);
    clones.does(".", &["sync"]);
    assert_eq!((clones.head("."), clones.status(".")), (clones.head("b"), String::new()), "{file}");
    let mine = clones.git("b", &["diff", "--name-only", &format!("{}^", head.trim()), head.trim()]);
    for line in
        before.lines().filter(|line| mine.lines().any(|name| line.ends_with(&format!("\t{name}"))))
    {
        assert!(tasks().contains(line), "{file}: {line}");
    }
}

#[test]
fn changes_beyond_content_are_left_to_git() {
    type Change = fn(&Path);
    let table: [(&str, &str, Change); 6] = [
        ("tasks/tool.sh", "whether it can be run was changed", |tasks| {
            executable(&tasks.join("tool.sh"));
        }),
        ("tasks/new", "it is or was a link", |tasks| {
            symlink("tool.sh", tasks.join("new")).unwrap();
        }),
        ("tasks/link", "it is or was a link", |tasks| fs::remove_file(tasks.join("link")).unwrap()),
        ("tasks/tool.sh", "it is or was a link", |tasks| {
            fs::remove_file(tasks.join("tool.sh")).unwrap();
            symlink("program", tasks.join("tool.sh")).unwrap();
        }),
        ("tasks/library", "it is or was a repository of its own", |tasks| {
            let library = tasks.join("library");
            let git = |args: &[&str]| {
                let mut git = std::process::Command::new("git");
                git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-C"])
                    .arg(tasks)
                    .args(args);
                assert!(git.status().unwrap().success());
            };
            git(&["init", "--quiet", "library"]);
            git(&[
                "-C",
                library.to_str().unwrap(),
                "commit",
                "--quiet",
                "--allow-empty",
                "--message",
                "first",
            ]);
        }),
        ("tasks/tool.sh", "the same change has a file and a folder of that name", |tasks| {
            fs::remove_file(tasks.join("tool.sh")).unwrap();
            fs::create_dir(tasks.join("tool.sh")).unwrap();
            fs::write(tasks.join("tool.sh/inside"), "x\n").unwrap();
        }),
    ];
    for (file, why, change) in table {
        let (clones, [one, _]) = alike();
        clones.completes(".", &one, "agent-1");
        clones.does(".", &["sync"]);
        changes(&clones, change);
        is_left_to_git(&clones, file, why);
    }
}

#[test]
fn a_new_executable_is_executable_everywhere() {
    let (clones, [one, two]) = alike();
    let program = |clone: &str, name: &str| {
        clones.env.write(&format!("{clone}/tasks/{name}"), "#!/bin/sh\n");
        executable(&clones.env.path(&format!("{clone}/tasks/{name}")));
    };
    program(".", &format!("{two}.check.sh"));
    clones.env.commit_all("check");
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    clones.completes(".", &one, "agent-1");
    clones.does(".", &["sync"]);
    // One that is new, one that nobody has committed, and one that moves with a task.
    program("../b", "new");
    clones.git("b", &["add", "tasks/new"]);
    clones.git("b", &["commit", "--quiet", "--no-verify", "--message", "mine"]);
    program("../b", &format!("{two}.fix.sh"));
    clones.does("b", &["task", "cancel", &two, "--reason", "Not wanted"]);
    clones.does("b", &["sync"]);
    clones.does(".", &["sync"]);
    assert_eq!((clones.head("."), clones.status(".")), (clones.head("b"), clones.status("b")));
    assert_eq!(clones.status("."), "");
    let listed = clones.git("b", &["ls-tree", "-r", "HEAD", "tasks"]);
    for name in ["tasks/new", ".check.sh", ".fix.sh"] {
        let line = listed.lines().find(|line| line.ends_with(name)).unwrap();
        assert!(line.starts_with("100755"), "{line}");
        let path = line.split('\t').nth(1).unwrap();
        let mode = fs::metadata(clones.env.path(path)).unwrap().permissions().mode();
        assert!(mode & 0o100 != 0, "{path}");
    }
    clones.does(".", &["verify"]);
}

#[test]
fn a_file_with_new_content_keeps_its_mode() {
    let (clones, [one, _]) = alike();
    clones.completes(".", &one, "agent-1");
    clones.does(".", &["sync"]);
    changes(&clones, |tasks| fs::write(tasks.join("program"), "#!/bin/sh\nls\n").unwrap());
    clones.does("b", &["sync"]);
    let kept = clones.git("b", &["ls-tree", "HEAD", "tasks/program", "tasks/link"]);
    assert!(kept.contains("120000 blob") && kept.contains("100755 blob"), "{kept}");
    clones.does(".", &["sync"]);
    assert_eq!(
        (clones.env.read("tasks/program").as_str(), clones.status(".")),
        ("#!/bin/sh\nls\n", String::new())
    );
    // What both sides did alike needs nobody.
    for clone in [".", "b"] {
        clones.git(clone, &["update-index", "--chmod=+x", "tasks/tool.sh"]);
        clones.git(clone, &["commit", "--quiet", "--message", "can be run"]);
        clones.git(clone, &["checkout", "--quiet", "tasks/tool.sh"]);
    }
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    clones.does(".", &["sync"]);
    assert_eq!(
        (clones.head("."), clones.status("."), clones.status("b")),
        (clones.head("b"), String::new(), String::new())
    );
}

#[test]
fn a_file_that_is_a_folder_there_is_left_to_people() {
    let (clones, _) = alike();
    clones.env.write("tasks/notes/one.txt", "one\n");
    clones.env.commit_all("a folder");
    clones.does(".", &["sync"]);
    changes(&clones, |tasks| fs::write(tasks.join("notes"), "mine\n").unwrap());
    let head = clones.head("b");
    let output = clones.sync("b");
    assert_eq!((output.code, clones.head("b")), (Some(5), head), "{output}");
    assert!(
        output.stdout.contains("`tasks/notes`: the branch has a folder of that name"),
        "{output}"
    );
}

#[test]
fn of_a_task_that_stands_in_two_places_neither_file_goes() {
    for twice_there in [false, true] {
        let (clones, [one, two]) = alike();
        let copy = format!("tasks/zz/{one}.md");
        if twice_there {
            clones.env.write(&copy, clones.env.read(&format!("tasks/{one}.md")));
            clones.git(".", &["add", "--all"]);
            clones.git(".", &["commit", "--quiet", "--no-verify", "--message", "a copy"]);
        }
        clones.completes(".", &two, "agent-1");
        clones.does(".", &["sync"]);
        changes(&clones, |tasks| {
            let file = tasks.join(format!("{one}.md"));
            let text = fs::read_to_string(&file).unwrap();
            if !twice_there {
                fs::create_dir(tasks.join("zz")).unwrap();
                fs::write(tasks.join(format!("zz/{one}.md")), &text).unwrap();
            }
            fs::write(file, format!("{text}\nA note of mine.\n")).unwrap();
        });
        is_left_to_git(&clones, &copy, "its task stands in two places");
        assert!(clones.env.read(&format!("tasks/{one}.md")).contains("A note of mine."));
        assert!(clones.env.exists(&copy));
    }
}
