use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use crate::git::AuditError;
use crate::git::checkout::worktree_folder::folder::{Below, Found, Seen};

/// A worktree, and a file beside it that is to get a place in it.
struct Ground {
    _home: tempfile::TempDir,
    root: PathBuf,
    written: PathBuf,
    below: Below,
}

impl Ground {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let (root, written) = (home.path().join("work"), home.path().join("written"));
        fs::create_dir_all(root.join("docs")).unwrap();
        fs::create_dir(home.path().join("elsewhere")).unwrap();
        fs::write(root.join("docs/one"), "one\n").unwrap();
        fs::write(home.path().join("elsewhere/one"), "one\n").unwrap();
        symlink("../elsewhere", root.join("link")).unwrap();
        fs::write(&written, "what comes\n").unwrap();
        let below = Below::open(&root).unwrap();
        Self { _home: home, root, written, below }
    }

    fn seen(&self, path: &str) -> Seen {
        self.below.found(path).unwrap().seen().unwrap()
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }
}

fn is_in_the_way(done: Result<(), AuditError>, path: &str) -> bool {
    matches!(done, Err(AuditError::InTheWay { files }) if files == [path])
}

#[test]
fn only_what_was_seen_is_replaced_or_removed() {
    let ground = Ground::new();
    let seen = ground.seen("docs/one");
    let edited = ground.root.join("edited");
    fs::write(&edited, "mine\n").unwrap();
    fs::rename(&edited, ground.root.join("docs/one")).unwrap();
    assert!(is_in_the_way(ground.below.put(&ground.written, "docs/one", Some(seen)), "docs/one"));
    assert!(is_in_the_way(ground.below.put(&ground.written, "docs/one", None), "docs/one"));
    assert!(is_in_the_way(ground.below.remove("docs/one", seen), "docs/one"));
    assert_eq!(ground.read("docs/one"), "mine\n");
    ground.below.put(&ground.written, "docs/one", Some(ground.seen("docs/one"))).unwrap();
    assert_eq!(ground.read("docs/one"), "what comes\n");
    ground.below.remove("docs/one", ground.seen("docs/one")).unwrap();
    assert_eq!(
        ground.below.found("docs").unwrap(),
        Found::Nothing,
        "folders go with what was in them"
    );
}

#[test]
fn nothing_is_done_behind_a_link_or_a_file() {
    let ground = Ground::new();
    let seen = ground.seen("docs/one");
    for (path, above) in [("link/one", "link"), ("link/two", "link"), ("docs/one/two", "docs/one")]
    {
        assert_eq!(ground.below.found(path).unwrap(), Found::Behind(above.to_owned()));
        assert!(is_in_the_way(ground.below.put(&ground.written, path, None), above));
        assert!(is_in_the_way(ground.below.remove(path, seen), above));
        assert_eq!(ground.below.blob(path, seen).unwrap(), None);
        ground.below.remove_empty(path);
    }
    assert_eq!(
        (ground.read("link/one").as_str(), ground.read("docs/one").as_str()),
        ("one\n", "one\n")
    );
    assert!(matches!(ground.below.found("link").unwrap(), Found::Link(_)));
}

#[test]
fn folders_are_made_on_the_way_and_empty_ones_are_nothing() {
    let ground = Ground::new();
    fs::create_dir_all(ground.root.join("new/deep")).unwrap();
    ground.below.put(&ground.written, "new/deep", None).unwrap();
    assert_eq!(ground.read("new/deep"), "what comes\n");
    fs::write(&ground.written, "more\n").unwrap();
    assert!(is_in_the_way(ground.below.put(&ground.written, "docs", None), "docs"));
    ground.below.put(&ground.written, "a/b/c", None).unwrap();
    assert_eq!(ground.read("a/b/c"), "more\n");
}

/// Another disk that any machine of the kind has.
#[cfg(target_os = "linux")]
#[test]
fn what_comes_from_another_disk_is_copied_there_first() {
    let ground = Ground::new();
    let Ok(other) = tempfile::tempdir_in("/dev/shm") else { return };
    let (file, link) = (other.path().join("file"), other.path().join("link"));
    fs::write(&file, "far\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("one", &link).unwrap();
    ground.below.put(&file, "docs/one", Some(ground.seen("docs/one"))).unwrap();
    ground.below.put(&link, "docs/two", None).unwrap();
    assert!(is_in_the_way(ground.below.put(&file, "docs/two", None), "docs/two"));
    assert_eq!(
        (ground.read("docs/one").as_str(), ground.read("docs/two").as_str()),
        ("far\n", "far\n")
    );
    assert!(ground.seen("docs/one").is_program());
    assert_eq!(
        fs::read_dir(ground.root.join("docs")).unwrap().count(),
        2,
        "nothing is left beside them"
    );
}
