//! What is done after a sync was killed in the middle, whatever people did meanwhile: nothing of theirs is touched, nothing is left of
//! what came unless all of it comes, and every command works.

#![cfg(debug_assertions)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::support::clones::{Clones, killed};
use crate::support::environment::{PROJECT, eventually};

/// A clone to which changed, new and removed files are to come, and a task that is done there.
fn behind() -> (Clones, String) {
    let clones = Clones::new(PROJECT, &["b"]);
    let id = clones.env.new_task(&["Add login"]);
    for (file, text) in [
        ("docs/one.md", "one\n"),
        ("docs/two.md", "two\n"),
        ("other/x", "x\n"),
        ("gone.txt", "one\n"),
    ] {
        clones.env.write(file, text);
    }
    clones.env.commit_all("docs");
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    clones.completes("b", &id, "agent-2");
    comes(&clones, &[("docs/one.md", "1b\n"), ("docs/new.md", "new\n"), ("other/x", "xb\n")]);
    (clones, id)
}

/// Has these files come from the other clone, and one go.
fn comes(clones: &Clones, files: &[(&str, &str)]) {
    for (file, text) in files {
        clones.env.write(&format!("../b/{file}"), text);
    }
    let _ = fs::remove_file(clones.env.path("../b/gone.txt"));
    clones.git("b", &["add", "--all"]);
    clones.git("b", &["commit", "--quiet", "--message", "more"]);
    clones.does("b", &["sync"]);
}

/// Removes the locks that stay after a kill, as git advises.
fn unlocks(clones: &Clones) {
    for lock in [".git/index.lock", ".git/refs/heads/main.lock"] {
        let _ = fs::remove_file(clones.env.path(lock));
    }
}

/// Commits a file of one's own, and nothing else.
fn commits(clones: &Clones) {
    unlocks(clones);
    clones.env.write("mine.txt", "mine\n");
    clones.git(".", &["add", "mine.txt"]);
    clones.git(".", &["commit", "--quiet", "--message", "mine", "--only", "mine.txt"]);
}

/// In the end both clones have the same, and nothing is under way.
fn converge(clones: &Clones) {
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    assert_eq!((clones.head("."), clones.status(".")), (clones.head("b"), String::new()));
    clones.does(".", &["verify"]);
    assert!(!clones.env.is_in_the_middle());
}

/// The commits whose tree has no file of others' doing.
fn has_none_of_it(clones: &Clones) {
    assert!(!clones.env.exists("docs/new.md"));
    assert_eq!(clones.env.read("gone.txt"), "one\n");
}

/// A sync that waits for a lock in vain, or is killed when it has it: not one file has come.
fn begins(clones: &Clones, kill: bool) {
    if kill {
        killed(clones, "git.index-locked");
        unlocks(clones);
        return;
    }
    clones.env.write(".git/index.lock", "");
    assert_eq!(clones.aof(".", &["--wait", "1s", "sync"]).code, Some(7));
    assert!(!clones.env.is_in_the_middle(), "nothing is left to be finished");
    unlocks(clones);
}

/// Has git keep a file out of history that stays in the worktree.
fn untracks(clones: &Clones, file: &str) {
    clones.git(".", &["rm", "--quiet", "--cached", file]);
    clones.env.write(".gitignore", format!("{file}\n"));
    clones.git(".", &["add", ".gitignore"]);
    clones.git(".", &["commit", "--quiet", "--message", "untrack"]);
}

#[test]
fn a_file_added_after_an_empty_sync_is_its_author_s() {
    for kill in [false, true] {
        let (clones, _) = behind();
        begins(&clones, kill);
        clones.git(".", &["pull", "--quiet"]);
        untracks(&clones, "docs/new.md");
        clones.does(".", &["task", "new", "Next"]);
        assert_eq!(clones.env.read("docs/new.md"), "new\n", "{kill}");
        assert_eq!(
            (clones.status("."), clones.env.is_in_the_middle()),
            (String::new(), false),
            "{kill}"
        );
    }
}

#[test]
fn a_file_staged_after_an_empty_sync_stays_staged() {
    for kill in [false, true] {
        for squash in [false, true] {
            let (clones, _) = behind();
            begins(&clones, kill);
            clones.git(".", &["switch", "--quiet", "--create", "feature"]);
            if squash {
                clones.git(".", &["merge", "--quiet", "--squash", "origin/main"]);
            } else {
                clones.git(".", &["checkout", "origin/main", "--", "docs/one.md", "docs/new.md"]);
            }
            let staged = clones.status(".");
            assert!(staged.contains("A  docs/new.md\nM  docs/one.md\n"), "{staged}");
            clones.does(".", &["task", "new", "Next"]);
            assert_eq!(
                (clones.status("."), clones.env.is_in_the_middle()),
                (staged, false),
                "{kill} {squash}"
            );
            assert_eq!(clones.env.read("docs/one.md"), "1b\n");
        }
    }
}

#[test]
fn a_reversal_in_a_later_commit_stays() {
    for switches in [false, true] {
        let (clones, _) = behind();
        killed(&clones, "git.ref-moved");
        if switches {
            clones.git(".", &["switch", "--quiet", "--create", "feature"]);
        }
        untracks(&clones, "docs/new.md");
        clones.does(".", &["task", "new", "Next"]);
        assert_eq!(clones.env.read("docs/new.md"), "new\n", "{switches}");
        assert_eq!(
            (clones.status("."), clones.env.is_in_the_middle()),
            (String::new(), false),
            "{switches}"
        );
    }
}

#[test]
fn a_withheld_change_stays_out_after_any_failure() {
    for kill in [false, true] {
        let clones = Clones::new(PROJECT, &["b"]);
        let id = clones.env.new_task(&["Add login"]);
        clones.does(".", &["sync"]);
        clones.does("b", &["sync"]);
        let text = format!("task: {id}\nagent: agent-1\noutcome: complete\nsummary: evil\n");
        clones.env.write("../b/.aof/inbox/evil.yaml", &text);
        clones.git("b", &["add", "--force", ".aof/inbox/evil.yaml"]);
        clones.git("b", &["commit", "--quiet", "--message", "evil"]);
        clones.git("b", &["push", "--quiet"]);
        let head = clones.head(".");
        clones.env.write(".git/index.lock", "");
        let mut sync = clones.command(".", &["--wait", "1s", "sync"]);
        if kill {
            fs::remove_file(clones.env.path(".git/index.lock")).unwrap();
            sync.env("AOF_STOP_AT", "git.index-locked");
        }
        // It is asked before anything is locked, or written down.
        assert_eq!(clones.env.run(sync).code, Some(5), "{kill}");
        assert!(!clones.env.is_in_the_middle());
        let _ = fs::remove_file(clones.env.path(".git/index.lock"));
        clones.does(".", &["task", "new", "Next"]);
        assert_eq!(clones.git(".", &["rev-parse", "HEAD^"]), head);
        assert!(!clones.env.exists(".aof/inbox/evil.yaml"));
        clones.does(".", &["watch", "--once"]);
        assert!(!clones.git(".", &["log", "--format=%B"]).contains("evil"));
    }
}

#[test]
fn nothing_behind_a_link_is_removed_or_written() {
    for point in ["git.bring-placed", "git.bring-files", "git.index-moved", "git.ref-moved"] {
        let (clones, id) = behind();
        killed(&clones, point);
        for (file, text) in [("new.md", "new\n"), ("one.md", "1b\n"), ("two.md", "my only copy\n")]
        {
            clones.env.write(&format!("../elsewhere/{file}"), text);
        }
        fs::rename(clones.env.path("docs"), clones.env.path("../olddocs")).unwrap();
        symlink("../elsewhere", clones.env.path("docs")).unwrap();
        clones.env.write("other/x", "mine\n");
        clones.does(".", &["task", "comment", &id, "-m", "Still there"]);
        let elsewhere = |file: &str| clones.env.read(&format!("../elsewhere/{file}"));
        assert_eq!(
            (elsewhere("new.md"), elsewhere("one.md")),
            ("new\n".to_owned(), "1b\n".to_owned()),
            "{point}"
        );
        assert_eq!(
            (elsewhere("two.md").as_str(), clones.env.read("other/x").as_str()),
            ("my only copy\n", "mine\n")
        );
        assert!(!clones.env.is_in_the_middle());
        clones.does(".", &["verify"]);
    }
}

#[test]
fn a_file_with_a_failing_filter_is_a_person_s() {
    let clones = Clones::new(PROJECT, &["b"]);
    let id = clones.env.new_task(&["Add login"]);
    clones.env.write(".gitattributes", "*.bin filter=far\n");
    clones.env.write("docs/f.bin", "v1\n");
    clones.env.write("other/x", "x\n");
    clones.env.commit_all("docs");
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    comes(&clones, &[("docs/f.bin", "v2\n"), ("other/x", "xb\n")]);
    for (name, value) in [("required", "true"), ("clean", "cat"), ("smudge", "cat")] {
        clones.env.git(&["config", &format!("filter.far.{name}"), value]);
    }
    killed(&clones, "git.index-moved");
    clones.env.git(&["config", "filter.far.clean", "false"]);
    clones.env.write("docs/f.bin", "a day of work\n");
    clones.env.write("other/x", "mine\n");
    clones.does(".", &["task", "comment", &id, "-m", "Still there"]);
    assert_eq!(clones.env.read("docs/f.bin"), "a day of work\n");
    assert_eq!(clones.env.read("other/x"), "mine\n");
    clones.env.git(&["config", "filter.far.clean", "cat"]);
    assert_eq!(clones.status("."), " M docs/f.bin\n M other/x\n");
}

#[test]
fn a_filtered_file_is_recognized_by_any_pattern() {
    for pattern in ["*.bin", "docs/*.bin", "/docs/f.bin"] {
        let (clones, id) = behind();
        comes(&clones, &[("docs/f.bin", "v2\n"), ("docs/g.bin", "v2\n")]);
        clones.env.write(".git/info/attributes", format!("{pattern} filter=loud\n"));
        for (name, value) in [("clean", "tr A-Z a-z"), ("smudge", "tr a-z A-Z")] {
            clones.env.git(&["config", &format!("filter.loud.{name}"), value]);
        }
        killed(&clones, "git.bring-files");
        clones.does(".", &["task", "comment", &id, "-m", "Still there"]);
        assert_eq!(clones.env.read("docs/f.bin"), "V2\n", "{pattern}");
        assert_eq!(
            (clones.status("."), clones.env.is_in_the_middle()),
            (String::new(), false),
            "{pattern}"
        );
    }
}

#[test]
fn the_command_that_finds_a_rollback_reports_its_reason() {
    let (clones, id) = behind();
    comes(&clones, &[("docs/f.bin", "v2\n")]);
    clones.env.write(".git/info/attributes", "*.bin filter=far\n");
    for (name, value) in [("required", "true"), ("clean", "cat"), ("smudge", "cat")] {
        clones.env.git(&["config", &format!("filter.far.{name}"), value]);
    }
    killed(&clones, "git.bring-begun");
    clones.env.git(&["config", "filter.far.smudge", "echo no network >&2; false"]);
    let output = clones.aof(".", &["task", "comment", &id, "-m", "Still there"]).success();
    let start =
        "warning: a sync was interrupted, and not all that was to come could be brought in: ";
    assert!(output.stderr.contains(start) && output.stderr.contains("no network"), "{output}");
    has_none_of_it(&clones);
    assert!(
        !clones
            .aof(".", &["task", "comment", &id, "-m", "And again"])
            .success()
            .stderr
            .contains("interrupted")
    );
    clones.env.git(&["config", "filter.far.smudge", "cat"]);
    converge(&clones);
}

/// Also where attributes come along, so that git's own checkout would write.
#[test]
fn a_file_or_link_in_the_place_of_a_folder_stays_and_every_command_works() {
    for (point, attributes) in [
        ("git.bring-files", true),
        ("git.bring-placed", false),
        ("git.bring-files", false),
        ("git.index-moved", false),
        ("git.ref-moved", false),
    ] {
        for linked in [false, true] {
            let (clones, id) = behind();
            if attributes {
                comes(&clones, &[(".gitattributes", "*.bin -text\n")]);
            }
            killed(&clones, point);
            fs::remove_dir_all(clones.env.path("docs")).unwrap();
            if linked {
                fs::create_dir(clones.env.path("../elsewhere")).unwrap();
                symlink("../elsewhere", clones.env.path("docs")).unwrap();
            } else {
                clones.env.write("docs", "a note of mine\n");
            }
            clones.does(".", &["task", "comment", &id, "-m", "Still there"]);
            clones.does(".", &["task", "new", "Another"]);
            let docs = fs::symlink_metadata(clones.env.path("docs")).unwrap();
            assert_eq!(
                (docs.is_symlink(), docs.is_file()),
                (linked, !linked),
                "{point} {attributes}"
            );
            assert!(!clones.env.is_in_the_middle());
            let landed = point == "git.ref-moved";
            // The rest went back, or had come.
            assert_eq!(
                clones.env.read("other/x"),
                if landed { "xb\n" } else { "x\n" },
                "{point} {attributes}"
            );
            assert_eq!(clones.env.exists("gone.txt"), !landed);
            fs::remove_file(clones.env.path("docs")).unwrap();
            clones.git(".", &["checkout", "--", "docs"]);
            converge(&clones);
            assert_eq!(clones.env.read("docs/new.md"), "new\n");
        }
    }
}

#[test]
fn a_commit_between_the_look_and_the_lock_is_seen() {
    let (clones, id) = behind();
    killed(&clones, "git.bring-files");
    let record = clones.env.read(".aof/intent");
    let pipe = clones.env.path("../pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command = clones.command(".", &["task", "comment", &id, "-m", "Still there"]);
    command.env("AOF_WAIT_AT", "git.intent-recorded:../pipe").stdout(std::process::Stdio::null());
    let mut comment = command.spawn().unwrap();
    // By then it has looked where the branch is.
    eventually("it is written down once more", || clones.env.read(".aof/intent") != record);
    commits(&clones);
    // As long as both ends are open nobody waits.
    let opened = fs::OpenOptions::new().read(true).write(true).open(pipe).unwrap();
    eventually("it ends", || comment.try_wait().unwrap().is_some());
    drop(opened);
    assert!(comment.wait().unwrap().success());
    assert_eq!((clones.status("."), clones.env.is_in_the_middle()), (String::new(), false));
    has_none_of_it(&clones);
    clones.does(".", &["watch", "--once"]);
    assert!(!clones.git(".", &["log", "--format=%s"]).contains("edited by hand"));
    clones.git(".", &["pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main"]);
    converge(&clones);
}

#[test]
fn a_received_change_leaves_nothing_after_a_commit_or_on_another_branch() {
    for point in ["git.bring-placed", "git.bring-files", "git.ref-locked", "git.index-moved"] {
        for (switches, commits_too) in [(false, true), (true, false), (true, true)] {
            let (clones, id) = behind();
            let main = clones.head(".");
            killed(&clones, point);
            unlocks(&clones);
            if switches {
                clones.git(".", &["switch", "--quiet", "--create", "feature"]);
            }
            if commits_too {
                commits(&clones);
            }
            let head = clones.head(".");
            clones.does(".", &["task", "comment", &id, "-m", "Still there"]);
            let output = format!("{point} {switches} {commits_too}");
            assert_eq!(clones.git(".", &["rev-parse", "HEAD^"]), head, "{output}");
            assert_eq!(
                (clones.status("."), clones.env.is_in_the_middle()),
                (String::new(), false),
                "{output}"
            );
            has_none_of_it(&clones);
            assert!(!clones.git(".", &["reflog", "--all"]).contains("sync: finished"), "{output}");
            if switches {
                assert_eq!(clones.git(".", &["rev-parse", "main"]), main, "{output}");
                clones.git(".", &["switch", "--quiet", "main"]);
            } else {
                clones.git(".", &["pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main"]);
            }
            converge(&clones);
        }
    }
}

#[test]
fn a_file_removed_after_it_came_stays_removed() {
    for (point, landed) in [("git.ref-moved", true), ("git.index-moved", false)] {
        let (clones, id) = behind();
        killed(&clones, point);
        fs::remove_file(clones.env.path("docs/one.md")).unwrap();
        fs::remove_file(clones.env.path("docs/new.md")).unwrap();
        clones.does(".", &["task", "comment", &id, "-m", "Still there"]);
        assert!(!clones.env.exists("docs/one.md") && !clones.env.exists("docs/new.md"), "{point}");
        let status = if landed { " D docs/new.md\n D docs/one.md\n" } else { " D docs/one.md\n" };
        assert_eq!(
            (clones.status(".").as_str(), clones.env.is_in_the_middle()),
            (status, false),
            "{point}"
        );
    }
    // Also where the index says so.
    let (clones, id) = behind();
    killed(&clones, "git.ref-moved");
    clones.git(".", &["rm", "--quiet", "docs/new.md"]);
    clones.does(".", &["task", "comment", &id, "-m", "Still there"]);
    assert_eq!(clones.status("."), "D  docs/new.md\n");
}

/// Git has no file and folder of one name: what goes back would take with it what was staged there since.
#[test]
fn a_staged_swap_of_file_and_folder_stays_staged() {
    for becomes_folder in [true, false] {
        let (clones, id) = behind();
        clones.does(".", &["sync"]);
        let (old, new, mine) = if becomes_folder {
            ("fold", "fold/b", "fold/c")
        } else {
            ("fold/b", "gone/x", "fold")
        };
        clones.env.write(old, "old\n");
        clones.env.commit_all("before");
        clones.does(".", &["sync"]);
        clones.does("b", &["sync"]);
        clones.git("b", &["rm", "-r", "--quiet", "fold"]);
        comes(&clones, &[(new, "new\n"), ("other/x", "xc\n")]);
        killed(&clones, "git.index-moved");
        unlocks(&clones);
        if !becomes_folder {
            assert!(!clones.env.exists(old));
            let _ = fs::remove_dir(clones.env.path("fold"));
        }
        clones.env.write(mine, "mine\n");
        clones.git(".", &["add", mine]);
        clones.env.write("other/x", "mine\n");
        clones.does(".", &["task", "comment", &id, "-m", "Still there"]);
        let status = clones.status(".");
        assert!(status.contains(&format!("A  {mine}\n")), "{becomes_folder} {status}");
        assert!(
            status.contains(&format!("D  {old}\n")) && status.contains(" M other/x\n"),
            "{becomes_folder} {status}"
        );
        assert_eq!(clones.env.read(mine), "mine\n");
        assert!(!clones.env.exists(new) && !clones.env.is_in_the_middle());
    }
}

/// As after a power cut that took the index back, and some of the files.
#[test]
fn an_index_that_fell_behind_its_branch_is_brought_up() {
    for mine in [false, true] {
        let (clones, id) = behind();
        let index = fs::read(clones.env.path(".git/index")).unwrap();
        killed(&clones, "git.ref-moved");
        fs::write(clones.env.path(".git/index"), index).unwrap();
        clones.env.write("docs/one.md", "one\n");
        fs::remove_file(clones.env.path("docs/new.md")).unwrap();
        if mine {
            clones.env.write("other/x", "mine\n");
        }
        clones.does(".", &["task", "comment", &id, "-m", "Still there"]);
        assert_eq!(clones.status("."), if mine { " M other/x\n" } else { "" });
        assert_eq!(
            (clones.env.read("docs/one.md").as_str(), clones.env.read("docs/new.md").as_str()),
            ("1b\n", "new\n")
        );
    }
}

/// These are left to git's own checkout, and go back all the same.
#[test]
fn folders_and_files_that_change_places_go_on_or_back() {
    for point in ["git.bring-begun", "git.bring-files", "git.index-written", "git.index-moved"] {
        for mine in [false, true] {
            let (clones, id) = behind();
            clones.does(".", &["sync"]);
            for (file, text) in [("one", "file\n"), ("two/deep/er.txt", "folder\n")] {
                clones.env.write(file, text);
            }
            clones.env.commit_all("before");
            clones.does(".", &["sync"]);
            clones.does("b", &["sync"]);
            let head = clones.head(".");
            clones.git("b", &["rm", "-r", "--quiet", "one", "two"]);
            comes(
                &clones,
                &[("one/deep/er.txt", "folder\n"), ("two", "file\n"), ("other/x", "xc\n")],
            );
            killed(&clones, point);
            if mine {
                clones.env.write("other/x", "mine\n");
            }
            clones.does(".", &["task", "comment", &id, "-m", "Still there"]);
            let output = format!("{point} {mine}");
            assert_eq!(clones.status("."), if mine { " M other/x\n" } else { "" }, "{output}");
            if mine {
                assert_eq!(clones.git(".", &["rev-parse", "HEAD^"]), head, "{output}");
                assert_eq!(clones.env.read("one"), "file\n", "{output}");
                assert_eq!(clones.env.read("two/deep/er.txt"), "folder\n", "{output}");
                clones.git(".", &["checkout", "--", "other/x"]);
            }
            converge(&clones);
            assert_eq!(clones.env.read("two"), "file\n", "{output}");
        }
    }
}

#[test]
fn an_unwritable_file_is_reported_with_the_reason() {
    let (clones, _) = behind();
    let docs = clones.env.path("docs");
    // Whoever may write anywhere is kept from it by a folder that is mounted, or by nothing at all.
    fs::set_permissions(&docs, fs::Permissions::from_mode(0o555)).unwrap();
    let is_kept = fs::write(docs.join("try"), "").is_err();
    let output = clones.sync(".");
    fs::set_permissions(&docs, fs::Permissions::from_mode(0o755)).unwrap();
    if is_kept {
        assert!(output.to_string().contains("Permission denied"), "{output}");
        assert_eq!((output.code, clones.status(".")), (Some(1), String::new()));
    } else {
        fs::remove_file(docs.join("try")).unwrap();
    }
    clones.does(".", &["sync"]);
    converge(&clones);
}
