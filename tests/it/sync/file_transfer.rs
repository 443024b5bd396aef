//! Clones and a bare remote between them: what comes, what goes, and what is in the way.

use std::fs;
use std::process::Command;

use insta::assert_snapshot;

use crate::support::clones::{Clones, place, without_commits};
use crate::support::environment::{Output, PROJECT, eventually};

#[test]
fn steps_of_one_clone_reach_the_other() {
    let clones = Clones::new(PROJECT, &["b"]);
    let id = clones.env.new_task(&["Add login"]);
    let printed =
        |output: Output| without_commits(&output.success().stdout.replace(&id, "AOF-abc"));
    assert_snapshot!(printed(clones.aof(".", &["sync", "--dry-run"])), @"
    Would go
      COMMIT AOF-xxxxx: created at implement (Ada)
    dry run: nothing was changed
    ");
    assert_snapshot!(printed(clones.sync(".")), @"
    Went
      COMMIT AOF-xxxxx: created at implement (Ada)
    in step with origin/main
    ");
    assert_snapshot!(printed(clones.sync(".")), @"nothing to do: the same as origin/main");
    assert_snapshot!(printed(clones.sync("b")), @"
    Came
      COMMIT AOF-xxxxx: created at implement (Ada)
    in step with origin/main
    ");
    clones.completes("b", &id, "agent-2");
    assert_snapshot!(clones.aof("b", &["sync", "--json"]).success().stdout, @r#"
    {
      "state": "synced",
      "remote": "origin",
      "branch": "main",
      "came": [],
      "went": [
        {
          "commit": "COMMIT",
          "subject": "AOF-xxxxx: implement -> review (complete)",
          "author": "agent-2"
        }
      ],
      "merge": null,
      "superseded": [],
      "rounds": 1,
      "ahead": 0,
      "behind": 0,
      "problem": null,
      "fix": null,
      "files": [],
      "jsonVersion": 1
    }
    "#);
    clones.does(".", &["sync"]);
    assert_eq!(clones.head("."), clones.head("b"));
    assert_eq!((clones.status("."), clones.status("b")), (String::new(), String::new()));
    assert_snapshot!(clones.aof("b", &["status"]).success().stdout, @"
    on main
    in step with origin/main, as of Feb 16, 10:00
    1 open: 1 ready

    what waits for you is unknown: no agent of org.yaml has git's `user.email`

    Problems: 1
      ! no watcher is running
        start one with `aof watch`; without it, commands work but dropped files and edits wait
    ");
}

#[test]
fn an_uncommitted_file_stays_and_is_reported_as_an_obstacle() {
    let clones = Clones::new(PROJECT, &["b"]);
    let id = clones.env.new_task(&["Add login"]);
    let path = format!("tasks/{id}.md");
    clones.env.write("notes.txt", "one\n");
    clones.env.write("staged.txt", "one\n");
    clones.env.git(&["add", "--all"]);
    clones.env.git(&["commit", "--quiet", "--message", "notes"]);
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    // Elsewhere the task goes on, a file comes, and one goes.
    clones.completes("b", &id, "agent-2");
    clones.env.write("../b/new.txt", "new\n");
    clones.git("b", &["add", "new.txt"]);
    clones.git("b", &["commit", "--quiet", "--message", "new"]);
    clones.does("b", &["sync"]);
    // Here everything that is not in the way is as people left it.
    clones.env.write("notes.txt", "two\n");
    clones.env.write("staged.txt", "two\n");
    clones.env.git(&["add", "staged.txt"]);
    clones.env.write("untracked.txt", "mine\n");
    for (file, text) in [("new.txt", "mine\n"), (path.as_str(), "mine\n")] {
        let before = clones.env.exists(file).then(|| clones.env.read(file));
        clones.env.write(file, text);
        let (head, status) = (clones.head("."), clones.status("."));
        let output = clones.sync(".");
        assert_eq!(output.code, Some(5), "{}", output.stdout);
        assert!(
            output.stdout.contains(&format!("`{}`", clones.env.plain(file))),
            "{}",
            output.stdout
        );
        assert_eq!(
            (clones.head("."), clones.status("."), clones.env.read(file).as_str()),
            (head, status, text)
        );
        match before {
            Some(before) => clones.env.write(file, before),
            None => fs::remove_file(clones.env.path(file)).unwrap(),
        }
    }
    clones.does(".", &["sync"]);
    assert_eq!(clones.head("."), clones.head("b"));
    assert_eq!(clones.status("."), " M notes.txt\nM  staged.txt\n?? untracked.txt\n");
    assert_eq!(clones.env.read("new.txt"), "new\n");
}

#[test]
fn links_modes_submodules_and_folders_come_as_git_brings_them() {
    let clones = Clones::new(PROJECT, &["b"]);
    clones.env.git(&["init", "--quiet", "--initial-branch=main", "../library"]);
    clones.env.git(&[
        "-C",
        "../library",
        "commit",
        "--quiet",
        "--allow-empty",
        "--message",
        "first",
    ]);
    clones.git("b", &["submodule", "--quiet", "add", "../library", "library"]);
    clones.env.write("../b/run.sh", "#!/bin/sh\n");
    clones.git("b", &["add", "--all"]);
    clones.git("b", &["update-index", "--chmod=+x", "run.sh"]);
    std::os::unix::fs::symlink("run.sh", clones.env.path("../b/link")).unwrap();
    clones.env.write("../b/deep/er/file.txt", "x\n");
    clones.git("b", &["add", "link", "deep"]);
    clones.git("b", &["commit", "--quiet", "--message", "all kinds"]);
    clones.does("b", &["sync"]);
    clones.does(".", &["sync"]);
    assert_eq!(fs::read_link(clones.env.path("link")).unwrap().to_str(), Some("run.sh"));
    let mode = |name: &str| {
        use std::os::unix::fs::PermissionsExt;
        fs::metadata(clones.env.path(name)).unwrap().permissions().mode() & 0o111
    };
    assert_ne!(mode("run.sh"), 0);
    assert!(clones.env.path("library").is_dir());
    assert_eq!(clones.status("."), "");
    // And away again.
    clones.git("b", &["rm", "-r", "--quiet", "deep", "link"]);
    clones.git("b", &["commit", "--quiet", "--message", "less"]);
    clones.does("b", &["sync"]);
    clones.does(".", &["sync"]);
    assert!(!clones.env.exists("deep") && !clones.env.exists("link"));
    assert_eq!(clones.status("."), "");
}

#[test]
fn files_come_as_git_would_write_them() {
    use std::os::unix::fs::PermissionsExt;
    let clones = Clones::new(PROJECT, &["b", "c"]);
    clones.git("c", &["config", "core.autocrlf", "true"]);
    clones.env.write("../b/deep/run.sh", "#!/bin/sh\n");
    clones.git("b", &["add", "--all"]);
    clones.git("b", &["update-index", "--chmod=+x", "deep/run.sh"]);
    clones.git("b", &["commit", "--quiet", "--message", "a program"]);
    clones.does("b", &["sync"]);
    for (clone, text) in [(".", "#!/bin/sh\n"), ("c", "#!/bin/sh\r\n")] {
        clones.does(clone, &["sync"]);
        let file = format!("{}/deep/run.sh", place(clone));
        assert_eq!(clones.env.read(&file), text, "{clone}");
        assert_eq!(
            fs::metadata(clones.env.path(&file)).unwrap().permissions().mode() & 0o777,
            0o755,
            "{clone}"
        );
        assert_eq!(clones.status(clone), "", "{clone}");
    }
}

#[test]
fn the_watcher_syncs_by_itself() {
    let clones = Clones::new(&format!("git: {{sync: true, every: 1s}}\n{PROJECT}"), &["b"]);
    let id = clones.env.new_task(&["Add login"]);
    let mut command = clones.command(".", &["watch"]);
    let mut watcher = command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    eventually("the task gets there", || {
        clones.git(".", &["ls-remote", "origin", "main"]).starts_with(clones.head(".").trim())
    });
    clones.does("b", &["sync"]);
    clones.completes("b", &id, "agent-2");
    clones.does("b", &["sync"]);
    eventually("what was done there comes", || clones.head(".") == clones.head("b"));
    let pid = watcher.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let _ = watcher.wait();
    assert_eq!(clones.status("."), "");
}

#[test]
fn folders_and_files_change_places() {
    let clones = Clones::new(PROJECT, &["b"]);
    clones.env.write("one", "file\n");
    clones.env.write("two/deep/er.txt", "folder\n");
    clones.env.write("kept/a.txt", "a\n");
    clones.env.commit_all("before");
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    clones.git("b", &["rm", "-r", "--quiet", "one", "two"]);
    clones.env.write("../b/one/deep/er.txt", "folder\n");
    clones.env.write("../b/two", "file\n");
    clones.git("b", &["add", "--all"]);
    clones.git("b", &["commit", "--quiet", "--message", "after"]);
    clones.does("b", &["sync"]);
    // A folder that somebody made a link of is no way to anywhere.
    fs::create_dir(clones.env.path("../elsewhere")).unwrap();
    clones.env.write("../b/kept/b.txt", "b\n");
    clones.git("b", &["add", "--all"]);
    clones.git("b", &["commit", "--quiet", "--message", "more"]);
    clones.does("b", &["sync"]);
    fs::rename(clones.env.path("kept"), clones.env.path("../kept")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", clones.env.path("kept")).unwrap();
    let head = clones.head(".");
    let output = clones.sync(".").code(5);
    assert!(output.stdout.contains("`kept`"), "{output}");
    assert_eq!((clones.head("."), clones.env.read("one").as_str()), (head, "file\n"));
    assert_eq!(fs::read_dir(clones.env.path("../elsewhere")).unwrap().count(), 0);
    fs::remove_file(clones.env.path("kept")).unwrap();
    fs::rename(clones.env.path("../kept"), clones.env.path("kept")).unwrap();
    clones.does(".", &["sync"]);
    assert_eq!(
        (clones.env.read("one/deep/er.txt").as_str(), clones.env.read("two").as_str()),
        ("folder\n", "file\n")
    );
    assert_eq!(clones.status("."), "");
}

#[test]
fn an_ignored_file_is_an_obstacle_too() {
    let clones = Clones::new(PROJECT, &["b"]);
    clones.env.write(".gitignore", "secret*\n");
    clones.env.commit_all("ignored");
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    for file in ["secret.env", "secret/deep.txt", "secrets"] {
        clones.env.write(&format!("../b/{file}"), "theirs\n");
    }
    clones.git("b", &["add", "--all", "--force", "secret.env", "secret", "secrets"]);
    clones.git("b", &["commit", "--quiet", "--message", "secrets"]);
    clones.does("b", &["sync"]);
    let head = clones.head(".");
    // A file for a file, a file where a folder is to be, and a folder where a file is to be.
    for (file, printed) in
        [("secret.env", "secret.env"), ("secret", "secret"), ("secrets/own.txt", "secrets/own.txt")]
    {
        clones.env.write(file, "mine\n");
        for args in [&["sync"][..], &["sync", "--dry-run"]] {
            let output = clones.aof(".", args);
            assert_eq!(output.code, Some(5), "{file}: {}", output.stdout);
            assert!(
                output.stdout.contains(&format!("`{printed}` is not committed here")),
                "{}",
                output.stdout
            );
            assert!(output.stdout.contains("git stash --include-untracked"), "{}", output.stdout);
        }
        assert_eq!((clones.env.read(file).as_str(), clones.head(".")), ("mine\n", head.clone()));
        fs::remove_file(clones.env.path(file)).unwrap();
    }
    fs::remove_dir(clones.env.path("secrets")).unwrap();
    clones.does(".", &["sync"]);
    assert_eq!(clones.env.read("secret.env"), "theirs\n");
}

#[test]
fn nothing_comes_into_aofs_own_folder() {
    let clones = Clones::new(PROJECT, &["b"]);
    clones.env.write("../b/.aof/inbox/evil.yaml", "agent: agent-1\n");
    clones.git("b", &["add", "--force", ".aof/inbox/evil.yaml"]);
    clones.git("b", &["commit", "--quiet", "--message", "evil"]);
    clones.git("b", &["push", "--quiet"]);
    let head = clones.head(".");
    for args in [&["sync"][..], &["sync", "--dry-run"]] {
        let output = clones.aof(".", args);
        assert_eq!(output.code, Some(5), "{}{}", output.stdout, output.stderr);
        insta::allow_duplicates! {
        assert_snapshot!(output.stdout, @"
        ! `origin/main` has `.aof/inbox/evil.yaml` in aof's own folder, which is each clone's alone: nobody else may put files there
          nothing was changed; see `git log origin/main -- '*.aof/*'`; whoever put them there takes them out with `git rm`; then `aof sync`
        ");
        }
        assert_eq!(clones.head("."), head);
        assert!(!clones.env.exists(".aof/inbox/evil.yaml"));
    }
    // Where both went on it is the same.
    clones.env.new_task(&["Meanwhile"]);
    assert_eq!(clones.sync(".").code, Some(5));
    assert!(!clones.env.exists(".aof/inbox/evil.yaml"));
    clones.git("b", &["rm", "--quiet", "--force", ".aof/inbox/evil.yaml"]);
    clones.git("b", &["commit", "--quiet", "--message", "taken out"]);
    clones.git("b", &["push", "--quiet"]);
    clones.does(".", &["sync"]);
}

#[test]
fn a_removed_file_of_aof_s_folder_stays_while_in_use() {
    let clones = Clones::new(PROJECT, &["b"]);
    clones.env.write(".aof/old.json", "{}\n");
    clones.git(".", &["add", "--force", ".aof/old.json"]);
    clones.git(".", &["commit", "--quiet", "--message", "by mistake"]);
    clones.git(".", &["push", "--quiet"]);
    clones.git("b", &["pull", "--quiet"]);
    clones.git("b", &["rm", "--quiet", "--cached", ".aof/old.json"]);
    clones.git("b", &["commit", "--quiet", "--message", "taken out"]);
    clones.git("b", &["push", "--quiet"]);
    let output = clones.aof(".", &["sync"]);
    assert_eq!((output.code, clones.env.read(".aof/old.json").as_str()), (Some(5), "{}\n"));
    assert_snapshot!(output.stdout, @"
    ! `.aof/old.json` in aof's own folder is committed here, and `origin/main` has it no more
      nothing was changed; they go from here as well with `git pull --no-rebase origin main`, so keep a copy of what is in use: `.aof/old.json`; then `aof sync`
    ");
    clones.git(".", &["pull", "--quiet", "--no-rebase", "origin", "main"]);
    clones.does(".", &["sync"]);
}

#[test]
fn a_dry_run_writes_nothing() {
    let clones = Clones::new(PROJECT, &["b"]);
    let id = clones.env.new_task(&["Add login"]);
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    clones.completes(".", &id, "agent-1");
    clones.completes("b", &id, "agent-2");
    clones.does(".", &["sync"]);
    clones.git("b", &["fetch", "--quiet"]);
    let objects = || clones.git("b", &["count-objects", "-v"]);
    let before = objects();
    // There is nothing to sign with: whoever signs would fail.
    clones.git("b", &["config", "commit.gpgSign", "true"]);
    clones.git("b", &["config", "gpg.program", "/bin/false"]);
    let output = clones.aof("b", &["sync", "--dry-run"]).success();
    assert!(
        output.stdout.contains("Would go") && output.stdout.contains("Superseded"),
        "{}",
        output.stdout
    );
    assert_eq!(objects(), before);
}
