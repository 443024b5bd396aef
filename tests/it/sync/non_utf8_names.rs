//! Files with names that are not UTF-8, as older disks have them: a sync sees them like any other file, and shows them as it can.

// Elsewhere no disk takes such a name.
#![cfg(target_os = "linux")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::support::clones::Clones;
use crate::support::environment::PROJECT;

/// Returns where a file of a clone is, with an odd byte for each `%`.
fn place(clones: &Clones, clone: &str, name: &str) -> PathBuf {
    let name: Vec<u8> = name.bytes().map(|byte| if byte == b'%' { 0xe9 } else { byte }).collect();
    let root = if clone == "." { ".".to_owned() } else { format!("../{clone}") };
    clones.env.path(&root).join(OsStr::from_bytes(&name))
}

fn writes(clones: &Clones, clone: &str, name: &str, text: &str) {
    let place = place(clones, clone, name);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(place, text).unwrap();
}

fn read(clones: &Clones, clone: &str, name: &str) -> Option<String> {
    fs::read_to_string(place(clones, clone, name)).ok()
}

fn commits(clones: &Clones, clone: &str) {
    clones.git(clone, &["add", "--all", "--force", "--", ".", ":!.aof"]);
    clones.git(clone, &["commit", "--quiet", "--no-verify", "--message", "more"]);
}

/// Both clones have these files.
fn alike(names: &[&str]) -> (Clones, String) {
    let clones = Clones::new(PROJECT, &["b"]);
    let id = clones.env.new_task(&["Add login"]);
    for name in names {
        writes(&clones, ".", name, "base\n");
    }
    commits(&clones, ".");
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    (clones, id)
}

#[test]
fn a_merge_does_not_revert_local_changes() {
    for name in ["f%old", "docs/f%", "d%/plain.txt"] {
        let (clones, id) = alike(&[name]);
        clones.completes(".", &id, "agent-1");
        clones.does(".", &["sync"]);
        writes(&clones, "b", name, "mine\n");
        commits(&clones, "b");
        let head = clones.head("b");
        let output = clones.sync("b");
        assert_eq!((output.code, clones.head("b")), (Some(5), head), "{output}");
        let shown = name.replace('%', "\u{fffd}");
        assert!(
            output.stdout.contains(&format!("changes `{shown}`, which is no task")),
            "{output}"
        );
        assert!(output.stdout.contains("run `git pull --no-rebase origin main`"), "{output}");
        clones.git("b", &["pull", "--quiet", "--no-rebase", "--no-edit"]);
        clones.does("b", &["sync"]);
        clones.does(".", &["sync"]);
        assert_eq!(
            (clones.head("."), clones.status(".")),
            (clones.head("b"), String::new()),
            "{name}"
        );
        assert_eq!(read(&clones, ".", name).as_deref(), Some("mine\n"));
    }
}

#[test]
fn commits_of_a_person_are_not_pushed() {
    let clones = Clones::new(&format!("git: {{sync: true}}\n{PROJECT}"), &["b"]);
    clones.env.new_task(&["Add login"]);
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    writes(&clones, "b", "src/f%.c", "not yet\n");
    commits(&clones, "b");
    let output = clones.aof("b", &["task", "next", "--agent", "agent-1"]);
    let shared = clones.git("b", &["ls-remote", "origin", "main"]);
    assert!(shared.starts_with(clones.head(".").trim()), "{output}");
    // By hand it goes.
    clones.does("b", &["sync"]);
    clones.does(".", &["sync"]);
    assert_eq!(read(&clones, ".", "src/f%.c").as_deref(), Some("not yet\n"));
}

#[test]
fn an_untracked_file_is_an_obstacle() {
    let clones = Clones::new(PROJECT, &["b"]);
    clones.env.write(".gitignore", "f*\n");
    clones.env.commit_all("ignored");
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    writes(&clones, "b", "f%/deep", "theirs\n");
    writes(&clones, "b", "f%.env", "theirs\n");
    commits(&clones, "b");
    clones.does("b", &["sync"]);
    let head = clones.head(".");
    for (name, text) in [("f%.env", "my only copy\n"), ("f%", "a file for a folder\n")] {
        writes(&clones, ".", name, text);
        for args in [&["sync"][..], &["sync", "--dry-run"]] {
            let output = clones.aof(".", args);
            assert_eq!(output.code, Some(5), "{name}: {output}");
            let printed = format!("`{}` is not committed here", name.replace('%', "\u{fffd}"));
            assert!(output.stdout.contains(&printed), "{output}");
        }
        assert_eq!(
            (read(&clones, ".", name).as_deref(), clones.head(".")),
            (Some(text), head.clone())
        );
        fs::remove_file(place(&clones, ".", name)).unwrap();
    }
    clones.does(".", &["sync"]);
    assert_eq!(read(&clones, ".", "f%.env").as_deref(), Some("theirs\n"));
    assert_eq!((clones.head("."), clones.status(".")), (clones.head("b"), String::new()));
    // So is what was changed and is not committed.
    writes(&clones, "b", "f%.env", "theirs again\n");
    commits(&clones, "b");
    clones.does("b", &["sync"]);
    writes(&clones, ".", "f%.env", "mine\n");
    let output = clones.sync(".");
    assert_eq!(
        (output.code, read(&clones, ".", "f%.env").as_deref()),
        (Some(5), Some("mine\n")),
        "{output}"
    );
    assert!(output.stdout.contains("`f\u{fffd}.env` is not committed here"), "{output}");
}

#[test]
fn a_name_that_is_not_utf8_does_not_come_below_tasks() {
    let clones = Clones::new(PROJECT, &["b"]);
    writes(&clones, "b", "tasks/f%.txt", "theirs\n");
    commits(&clones, "b");
    clones.git("b", &["push", "--quiet"]);
    let head = clones.head(".");
    let output = clones.sync(".").code(1);
    assert!(output.stderr.contains("the name of `tasks/f\u{fffd}.txt` is not UTF-8"), "{output}");
    assert_eq!((clones.head("."), read(&clones, ".", "tasks/f%.txt")), (head, None));
    clones.does(".", &["task", "new", "Meanwhile"]);
}

#[test]
fn nothing_comes_into_aofs_own_folder() {
    let clones = Clones::new(PROJECT, &["b"]);
    writes(&clones, "b", ".aof/inbox/f%.yaml", "agent: agent-1\n");
    clones.git("b", &["add", "--force", ".aof/inbox"]);
    clones.git("b", &["commit", "--quiet", "--message", "evil"]);
    clones.git("b", &["push", "--quiet"]);
    let head = clones.head(".");
    let output = clones.sync(".");
    assert_eq!((output.code, clones.head(".")), (Some(5), head), "{output}");
    assert!(output.stdout.contains("`.aof/inbox/f\u{fffd}.yaml` in aof's own folder"), "{output}");
    assert_eq!(read(&clones, ".", ".aof/inbox/f%.yaml"), None);
}

/// A clone to which changes of all kinds are to come.
#[cfg(debug_assertions)]
fn behind() -> (Clones, String) {
    let (clones, id) = alike(&["c%", "gone/g%", "notes.txt"]);
    clones.completes("b", &id, "agent-1");
    writes(&clones, "b", "c%", "changed\n");
    writes(&clones, "b", "new%/x", "new\n");
    writes(&clones, "b", "notes.txt", "changed\n");
    fs::remove_file(place(&clones, "b", "gone/g%")).unwrap();
    commits(&clones, "b");
    clones.does("b", &["sync"]);
    (clones, id)
}

#[cfg(debug_assertions)]
#[test]
fn killed_anywhere_the_next_command_brings_all_of_it() {
    for point in [
        "git.bring-begun",
        "git.bring-files",
        "git.index-written",
        "git.index-moved",
        "git.ref-moved",
    ] {
        let (clones, id) = behind();
        crate::support::clones::killed(&clones, point);
        clones.does(".", &["task", "comment", &id, "-m", "Still there"]);
        assert!(!clones.env.is_in_the_middle(), "{point}");
        assert_eq!(clones.status("."), "", "{point}");
        assert_eq!(
            clones.git(".", &["log", "--format=%s", "--grep", "more"]).lines().count(),
            2,
            "{point}"
        );
        clones.does(".", &["sync"]);
        clones.does("b", &["sync"]);
        assert_eq!(
            (clones.head("."), clones.status(".")),
            (clones.head("b"), String::new()),
            "{point}"
        );
        let has = ["c%", "new%/x", "gone/g%"].map(|name| read(&clones, ".", name));
        assert_eq!(has, [Some("changed\n".to_owned()), Some("new\n".to_owned()), None], "{point}");
    }
}

#[cfg(debug_assertions)]
#[test]
fn they_are_reverted_with_the_rest_after_a_change_behind_a_kill() {
    for (point, name) in [
        ("git.bring-files", "notes.txt"),
        ("git.index-moved", "notes.txt"),
        ("git.bring-files", "c%"),
        ("git.index-moved", "new%/x"),
    ] {
        let (clones, id) = behind();
        crate::support::clones::killed(&clones, point);
        writes(&clones, ".", name, "mine\n");
        clones.does(".", &["task", "comment", &id, "-m", "Still there"]);
        assert!(!clones.env.is_in_the_middle(), "{point}");
        assert_eq!(read(&clones, ".", name).as_deref(), Some("mine\n"), "{point} {name}");
        for (other, text) in [
            ("c%", Some("base\n")),
            ("notes.txt", Some("base\n")),
            ("gone/g%", Some("base\n")),
            ("new%/x", None),
        ] {
            if other != name {
                assert_eq!(read(&clones, ".", other).as_deref(), text, "{point} {name}: {other}");
            }
        }
        assert_eq!(clones.git(".", &["diff", "--cached", "--name-only"]), "", "{point} {name}");
        assert_eq!(clones.status(".").lines().count(), 1, "{point} {name}: {}", clones.status("."));
        // It is told as anything else that is in the way.
        let output = clones.sync(".");
        assert_eq!(output.code, Some(5), "{output}");
        assert!(output.stdout.contains("is not committed here"), "{output}");
    }
}
