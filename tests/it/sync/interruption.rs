//! Syncs that are killed, wait for a filter, or cannot write: whatever is next goes on, or goes back.

use std::fs;

use crate::support::clones::{Clones, filtered};
#[cfg(debug_assertions)]
use crate::support::clones::{behind, killed};
#[cfg(debug_assertions)]
use crate::support::environment::executable;
use crate::support::environment::{PROJECT, eventually};

/// The points that a sync passes which brings something in.
#[cfg(debug_assertions)]
const POINTS: [&str; 11] = [
    "git.temps-made",
    "git.intent-recorded",
    "git.index-locked",
    "git.bring-begun",
    "git.bring-staged",
    "git.bring-placed",
    "git.bring-files",
    "git.index-written",
    "git.ref-locked",
    "git.index-moved",
    "git.ref-moved",
];

#[cfg(debug_assertions)]
#[test]
fn killed_anywhere_the_next_command_finishes() {
    for (number, point) in POINTS.into_iter().enumerate() {
        // Every other one has something of its own as well, and is healed by a command that is no sync.
        let apart = number % 2 == 1;
        let (clones, id) = behind(apart);
        killed(&clones, point);
        if apart {
            clones.does(".", &["task", "comment", &id, "-m", "Still there"]);
        } else {
            clones.does(".", &["sync"]);
        }
        assert!(!clones.env.is_in_the_middle(), "{point}");
        assert_eq!(clones.status("."), "", "{point}");
        clones.does(".", &["sync"]);
        clones.does("b", &["sync"]);
        assert_eq!(clones.head("."), clones.head("b"), "{point}");
        assert_eq!(
            (clones.status("."), clones.status("b")),
            (String::new(), String::new()),
            "{point}"
        );
        assert_eq!(clones.env.read("notes.txt"), "two\n");
        let locks = ["index.lock", "refs/heads/main.lock"]
            .map(|lock| clones.env.exists(&format!(".git/{lock}")));
        assert_eq!(locks, [false; 2], "{point}");
        assert_eq!(clones.env.try_git(&["fsck", "--strict"]).code, Some(0), "{point}");
    }
}

#[cfg(debug_assertions)]
#[test]
fn temporary_files_of_a_killed_sync_are_removed() {
    for point in ["git.bring-staged", "git.bring-placed"] {
        let (clones, _) = behind(false);
        for title in ["One", "Two", "Three"] {
            clones.does("b", &["task", "new", title]);
        }
        clones.does("b", &["sync"]);
        killed(&clones, point);
        let left = || {
            let files = clones.env.files("tasks");
            files.into_iter().filter(|path| path.contains("/.aof-tmp")).collect::<Vec<_>>()
        };
        assert_ne!(left(), [""; 0], "{point}: it was to be killed in the middle");
        clones.env.new_task(&["Something else"]);
        assert_eq!(left(), [""; 0], "{point}");
        assert_eq!(clones.status("."), "", "{point}");
    }
}

#[cfg(debug_assertions)]
#[test]
fn a_killed_sync_goes_on_without_file_modes() {
    for word in ["false", "no", "off", "0"] {
        let (clones, id) = behind(false);
        clones.env.git(&["config", "core.fileMode", word]);
        executable(&clones.env.path("gone.txt"));
        executable(&clones.env.path(&clones.env.task_path(&id)));
        assert_eq!(clones.status("."), "");
        killed(&clones, "git.bring-placed");
        clones.env.new_task(&["Something else"]);
        assert_eq!(clones.git(".", &["rev-parse", "HEAD^"]), clones.head("b"), "{word}");
        assert_eq!(clones.status("."), "", "{word}");
    }
}

#[cfg(debug_assertions)]
#[test]
fn a_change_after_a_kill_stays_and_the_rest_is_reverted() {
    let (clones, id) = behind(false);
    let path = format!("tasks/{id}.md");
    let (head, task) = (clones.head("."), clones.env.read(&path));
    killed(&clones, "git.bring-files");
    assert_ne!(clones.env.read(&path), task);
    clones.env.write("notes.txt", "mine\n");
    clones.does(".", &["task", "comment", &id, "-m", "Still there"]);
    assert_eq!(clones.git(".", &["rev-parse", "HEAD^"]), head);
    assert_eq!(clones.status("."), " M notes.txt\n");
    assert!(!clones.env.exists("new") && clones.env.exists("gone.txt"));
}

#[cfg(debug_assertions)]
#[test]
fn a_file_that_somebody_makes_after_a_kill_is_theirs() {
    // Empty, or the beginning of what was to come: who would know whose it is?
    for text in ["", "ne"] {
        let (clones, id) = behind(false);
        killed(&clones, "git.bring-begun");
        clones.env.write("new/file.txt", text);
        clones.does(".", &["task", "comment", &id, "-m", "Still there"]);
        assert_eq!(clones.env.read("new/file.txt"), text);
        assert_eq!(clones.status("."), "?? new/\n");
        let output = clones.sync(".").code(5);
        assert!(output.stdout.contains("`new/file.txt` is not committed here"), "{output}");
        assert_eq!(clones.env.read("new/file.txt"), text);
        fs::remove_file(clones.env.path("new/file.txt")).unwrap();
        clones.does(".", &["sync"]);
        assert_eq!(
            (clones.env.read("new/file.txt").as_str(), clones.status(".")),
            ("new\n", String::new())
        );
    }
}

/// Git goes on where aof is killed.
#[test]
fn a_git_that_outlives_aof_is_waited_for() {
    let clones = Clones::new(PROJECT, &["b"]);
    filtered(&clones, "touch ../begun; until test -e ../go; do sleep 0.02; done; cat");
    clones.env.write("../b/.gitattributes", "*.big filter=far\n*.more filter=far\n");
    clones.git("b", &["commit", "--quiet", "--all", "--message", "attributes"]);
    clones.does("b", &["sync"]);
    // An index that is hours old, and a file that only looks changed, are no reason not to wait.
    let hours_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(2);
    std::fs::File::open(clones.env.path(".git/index")).unwrap().set_modified(hours_ago).unwrap();
    std::fs::File::open(clones.env.path("a.txt"))
        .unwrap()
        .set_modified(std::time::SystemTime::now())
        .unwrap();
    let mut sync =
        clones.command(".", &["sync"]).stdout(std::process::Stdio::null()).spawn().unwrap();
    eventually("the filter runs", || clones.env.exists("../begun"));
    sync.kill().unwrap();
    let _ = sync.wait();
    let output = clones.aof(".", &["task", "new", "Meanwhile"]);
    assert!(
        output.stderr.contains("a git that a killed command left behind still writes files"),
        "{}",
        output.stderr
    );
    clones.env.write("../go", "");
    clones.does(".", &["task", "new", "Afterwards"]);
    assert_eq!((clones.status("."), clones.env.is_in_the_middle()), (String::new(), false));
    clones.does(".", &["sync"]);
    assert_eq!(clones.env.read("some/m.big"), "two\n");
}

#[test]
fn an_unwritable_sync_is_reverted_and_comes_later() {
    let clones = Clones::new(PROJECT, &["b"]);
    filtered(&clones, "false");
    let head = clones.head(".");
    for _ in 0..2 {
        let output = clones.sync(".").code(1);
        assert!(output.stderr.contains("smudge filter far failed"), "{}", output.stderr);
        assert_eq!(
            (clones.head("."), clones.status("."), clones.env.is_in_the_middle()),
            (head.clone(), String::new(), false)
        );
        assert_eq!(
            (clones.env.read("a.txt").as_str(), clones.env.read("gone.txt").as_str()),
            ("one\n", "one\n")
        );
    }
    clones.does(".", &["task", "new", "Meanwhile"]);
    clones.env.git(&["config", "filter.far.smudge", "cat"]);
    clones.does(".", &["sync"]);
    assert_eq!(
        (clones.env.read("some/m.big").as_str(), clones.status(".")),
        ("two\n", String::new())
    );
    assert!(!clones.env.exists("gone.txt"));
}

#[cfg(debug_assertions)]
#[test]
fn an_irrevertible_file_is_reported_and_blocks_nothing_else() {
    let clones = Clones::new(PROJECT, &["b"]);
    clones.env.write("0.big", "one\n");
    filtered(&clones, "cat");
    clones.env.write("../b/0.big", "two\n");
    clones.git("b", &["commit", "--quiet", "--all", "--message", "bigger"]);
    clones.does("b", &["sync"]);
    let head = clones.head(".");
    killed(&clones, "git.bring-files");
    // All has come, and has to go back since somebody works at another one.
    assert_eq!(clones.env.read("0.big"), "two\n");
    clones.env.write("z.txt", "mine\n");
    clones.env.git(&["config", "filter.far.smudge", "false"]);
    let output = clones.sync(".").code(1);
    assert!(output.stderr.contains("smudge filter far failed"), "{}", output.stderr);
    assert!(
        output.stderr.contains("once that is fixed: `git checkout -- :/0.big`"),
        "{}",
        output.stderr
    );
    // Git has removed the version that came before it asked the filter for the other one.
    let stands = |clones: &Clones| {
        (clones.env.exists("0.big"), clones.env.read("z.txt"), clones.status("."))
    };
    let left = (false, "mine\n".to_owned(), " D 0.big\n M z.txt\n".to_owned());
    assert_eq!((clones.head("."), stands(&clones)), (head, left.clone()));
    // It is that file's trouble, and nobody else's: what people do goes on, and a sync says that it is in the way.
    clones.does(".", &["task", "new", "Meanwhile"]);
    assert_eq!(stands(&clones), left);
    clones.env.git(&["config", "filter.far.smudge", "cat"]);
    let output = clones.sync(".").code(5);
    assert!(output.stdout.contains("`0.big`"), "{output}");
    clones.env.git(&["checkout", "--", "0.big"]);
    assert_eq!(
        (clones.env.read("0.big").as_str(), clones.status(".")),
        ("one\n", " M z.txt\n".to_owned())
    );
    clones.env.git(&["checkout", "--quiet", "z.txt"]);
    clones.does(".", &["sync"]);
    assert_eq!((clones.env.read("0.big").as_str(), clones.status(".")), ("two\n", String::new()));
}
