//! What a remote may hold against whoever syncs with it, and what people do at bad moments.

use std::fs;

use crate::support::clones::Clones;
use crate::support::environment::PROJECT;

/// Pushes a commit from a clone whose tree has a file at that path, whatever git thinks of it.
fn pushes(clones: &Clones, path: &str, mode: &str) {
    let object = |kind: &str, text: &str| {
        fs::write(clones.env.path("../object"), text).unwrap();
        let file = clones.env.path("../object").display().to_string();
        clones.git("b", &["hash-object", "-w", "--literally", "-t", kind, &file]).trim().to_owned()
    };
    let raw_tree = |entries: &[(String, String, String)]| {
        let mut bytes = Vec::new();
        for (mode, name, id) in entries {
            bytes.extend(format!("{mode} {name}\0").bytes());
            bytes
                .extend((0..20).map(|at| u8::from_str_radix(&id[at * 2..at * 2 + 2], 16).unwrap()));
        }
        fs::write(clones.env.path("../object"), bytes).unwrap();
        let file = clones.env.path("../object").display().to_string();
        clones
            .git("b", &["hash-object", "-w", "--literally", "-t", "tree", &file])
            .trim()
            .to_owned()
    };
    let (mut mode, mut id) = (mode, object("blob", "#!/bin/sh\ntouch \"$HOME/owned\"\n"));
    let names: Vec<&str> = path.split('|').collect();
    for name in names[1..].iter().rev() {
        id = raw_tree(&[(mode.to_owned(), (*name).to_owned(), id)]);
        mode = "40000";
    }
    let listed = clones.git("b", &["ls-tree", "HEAD"]);
    let mut entries: Vec<(String, String, String)> = listed
        .lines()
        .map(|line| {
            let (fields, name) = line.split_once('\t').unwrap();
            let fields: Vec<&str> = fields.split(' ').collect();
            (fields[0].trim_start_matches('0').to_owned(), name.to_owned(), fields[2].to_owned())
        })
        .collect();
    entries.push((mode.to_owned(), names[0].to_owned(), id));
    entries.sort_by_key(
        |(mode, name, _)| if mode == "40000" { format!("{name}/") } else { name.clone() },
    );
    let root = raw_tree(&entries);
    let commit = clones.git("b", &["commit-tree", "-p", "HEAD", "-m", "harm", &root]);
    clones.git("b", &["push", "--quiet", "origin", &format!("{}:refs/heads/main", commit.trim())]);
}

#[test]
fn no_file_is_written_that_git_would_not_write() {
    for path in [
        "..|..|..|.git|hooks|pre-push",
        "..|..|inbox|x.yaml",
        "..|outside",
        ".git|hooks|pre-push",
        ".GIT|hooks|pre-push",
        "git~1|hooks|pre-push",
        ".git. |hooks|pre-push",
        ".g\u{200c}it|hooks|pre-push",
        "x/../../../.git/hooks/pre-push",
        "a|..|..|..|.git|hooks|pre-push",
        ".|x",
    ] {
        let clones = Clones::new(PROJECT, &["b"]);
        let hooks = || fs::read_dir(clones.env.path(".git/hooks")).unwrap().count();
        let (head, before) = (clones.head("."), hooks());
        pushes(&clones, path, "100755");
        for args in [&["sync", "--dry-run"][..], &["sync"], &["sync"]] {
            let output = clones.aof(".", args);
            assert!(matches!(output.code, Some(1 | 5)), "{path}: {output}");
            assert!(output.to_string().contains("git puts"), "{path}: {output}");
        }
        assert_eq!(
            (clones.head("."), hooks(), clones.status(".")),
            (head, before, String::new()),
            "{path}"
        );
        let made =
            ["../outside", "outside", ".aof/outside", ".aof/inbox/x.yaml", "inbox/x.yaml", "x"];
        assert!(made.iter().all(|made| !clones.env.exists(made)), "{path}");
        // Nothing is left half-way, and the work goes on.
        clones.does(".", &["task", "new", "Afterwards"]);
    }
}

#[test]
fn a_file_that_git_does_not_look_at_is_named_and_blocks_nothing() {
    for flag in ["assume-unchanged", "skip-worktree"] {
        let clones = Clones::new(PROJECT, &["b"]);
        clones.env.write("README.md", "one\n");
        clones.env.commit_all("readme");
        clones.does(".", &["sync"]);
        clones.does("b", &["sync"]);
        clones.env.write("../b/README.md", "two\n");
        clones.git("b", &["commit", "--quiet", "--all", "--message", "more"]);
        clones.does("b", &["sync"]);
        clones.git(".", &["update-index", &format!("--{flag}"), "README.md"]);
        clones.env.write("README.md", "mine\n");
        let output = clones.aof(".", &["sync"]);
        assert_eq!(output.code, Some(1), "{output}");
        let fix = format!("git update-index --no-{flag} README.md");
        assert!(output.stderr.contains(&fix), "{output}");
        assert_eq!(clones.env.read("README.md"), "mine\n");
        clones.does(".", &["task", "new", "Afterwards"]);
        clones.git(".", &fix.split(' ').skip(1).collect::<Vec<_>>());
        assert_eq!(clones.aof(".", &["sync"]).code, Some(5));
        clones.git(".", &["checkout", "--quiet", "README.md"]);
        clones.does(".", &["sync"]);
        assert_eq!(
            (clones.env.read("README.md").as_str(), clones.status(".")),
            ("two\n", String::new())
        );
    }
}

#[cfg(debug_assertions)]
#[test]
fn a_commit_after_a_kill_meets_no_leftovers() {
    for point in ["git.bring-placed", "git.bring-files"] {
        let (clones, id) = crate::support::clones::behind(false);
        crate::support::clones::killed(&clones, point);
        // As git advises.
        fs::remove_file(clones.env.path(".git/index.lock")).unwrap();
        clones.env.write("own.txt", "own\n");
        clones.git(".", &["add", "own.txt"]);
        clones.git(".", &["commit", "--quiet", "--message", "own", "--", "own.txt"]);
        clones.does(".", &["task", "comment", &id, "-m", "Still there"]);
        assert_eq!(clones.status("."), "", "{point}");
        clones.git(".", &["pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main"]);
        clones.does(".", &["sync"]);
        clones.does("b", &["sync"]);
        assert_eq!(
            (clones.head("."), clones.status(".")),
            (clones.head("b"), String::new()),
            "{point}"
        );
        assert_eq!(
            (clones.env.read("notes.txt").as_str(), clones.env.read("own.txt").as_str()),
            ("two\n", "own\n")
        );
        clones.does(".", &["verify"]);
    }
}

#[cfg(debug_assertions)]
#[test]
fn an_edit_after_a_kill_stays_even_with_an_updated_index() {
    for (point, pulled) in [
        ("git.intent-recorded", true),
        ("git.index-locked", true),
        ("git.bring-placed", true),
        ("git.index-moved", false),
        ("git.ref-moved", false),
    ] {
        let (clones, id) = crate::support::clones::behind(false);
        crate::support::clones::killed(&clones, point);
        if pulled {
            let lock = clones.env.path(".git/index.lock");
            if lock.exists() {
                fs::remove_file(lock).unwrap();
            }
            let output = clones.env.try_git(&["pull", "--quiet", "--no-rebase", "origin", "main"]);
            if output.code != Some(0) {
                // What came half-way is in git's way; whoever knows it from git takes the commit's.
                clones.git(".", &["reset", "--quiet", "--hard", "origin/main"]);
            }
        }
        clones.env.write("notes.txt", "a day of work\n");
        clones.env.write("new/file.txt", "mine\n");
        clones.does(".", &["task", "comment", &id, "-m", "Still there"]);
        assert_eq!(clones.env.read("notes.txt"), "a day of work\n", "{point}");
        assert_eq!(clones.env.read("new/file.txt"), "mine\n", "{point}");
        let status = clones.status(".");
        let mine = [" M new/file.txt\n M notes.txt\n", " M notes.txt\n?? new/\n"];
        assert!(mine.contains(&status.as_str()), "{point}: {status}");
        clones.does(".", &["verify"]);
    }
}

#[test]
fn large_files_come_by_git() {
    let clones = Clones::new(PROJECT, &["b"]);
    let text = "a line of a large file\n".repeat(200_000);
    clones.env.write("../b/large.txt", &text);
    clones.git("b", &["add", "--all"]);
    clones.git("b", &["commit", "--quiet", "--message", "large"]);
    clones.does("b", &["sync"]);
    clones.does(".", &["sync"]);
    assert_eq!((clones.env.read("large.txt") == text, clones.status(".")), (true, String::new()));
}
