use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::storage::{FileKind, Holder, Paths};

fn project() -> (TempDir, WriterLock) {
    let home = TempDir::new().unwrap();
    let paths = Paths::at(home.path());
    let holder = Holder::this_process("test", jiff::Timestamp::UNIX_EPOCH);
    let lock = WriterLock::acquire(&paths, &holder, Duration::ZERO, &mut |_| {}).unwrap();
    (home, lock)
}

fn path(text: &str) -> ProjectPath {
    text.parse().unwrap()
}

fn names(home: &TempDir, folder: &str) -> Vec<String> {
    let listing = fs::read_dir(home.path().join(folder)).unwrap();
    let mut names: Vec<String> =
        listing.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn replace(lock: &WriterLock, path: &ProjectPath, bytes: &[u8]) -> Result<(), StoreError> {
    let over = fs::read(path.below(lock.paths().root())).map_or(Over::Nothing, Over::Only);
    write(lock, path, over, bytes)
}

#[test]
fn a_replaced_file_keeps_its_mode_and_gets_a_new_inode() {
    let (home, lock) = project();
    let task = path("tasks/AOF-abc.md");
    create_new(&lock, &task, b"one").unwrap();
    let file = task.below(home.path());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let before = fs::metadata(&file).unwrap();
    replace_if(&lock, &task, b"one", b"two").unwrap();
    let after = fs::metadata(&file).unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"two");
    assert_eq!(after.permissions().mode() & 0o7777, 0o640);
    assert_ne!(before.ino(), after.ino());
    assert_eq!(names(&home, "tasks"), ["AOF-abc.md"]);
}

#[test]
fn files_of_others_are_never_replaced_or_removed() {
    let (home, lock) = project();
    let task = path("tasks/AOF-abc.md");
    create_new(&lock, &task, b"one").unwrap();
    // Same size, same time stamp: only the content shows the change.
    let file = task.below(home.path());
    let time = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(&file, b"mine").unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    assert!(matches!(replace_if(&lock, &task, b"ours", b"new"), Err(StoreError::Changed { .. })));
    assert!(matches!(remove_if(&lock, &task, b"ours"), Err(StoreError::Changed { .. })));
    assert!(matches!(create_new(&lock, &task, b"new"), Err(StoreError::Exists { .. })));
    assert_eq!(fs::read(&file).unwrap(), b"mine");
    assert_eq!(names(&home, "tasks"), ["AOF-abc.md"]);

    remove_if(&lock, &task, b"mine").unwrap();
    remove_if(&lock, &task, b"mine").unwrap();
    remove_if(&lock, &path("tasks/none/AOF-abc.md"), b"").unwrap();
    assert!(matches!(replace_if(&lock, &task, b"mine", b"new"), Err(StoreError::Gone { .. })));
    assert!(matches!(
        replace_if(&lock, &path("tasks/x/AOF-abc.md"), b"", b""),
        Err(StoreError::Gone { .. })
    ));
    assert_eq!(names(&home, "tasks"), [""; 0]);
}

#[test]
fn missing_folders_are_made_for_a_new_file() {
    let (home, lock) = project();
    let task = path("tasks/archive/2026/02/16/AOF-abc.md");
    create_new(&lock, &task, b"done").unwrap();
    replace(&lock, &task, b"really done").unwrap();
    assert_eq!(fs::read(task.below(home.path())).unwrap(), b"really done");
}

#[test]
fn no_link_leads_a_write_out_of_the_project() {
    let (home, lock) = project();
    let elsewhere = TempDir::new().unwrap();
    let victim = elsewhere.path().join("AOF-abc.md");
    fs::write(&victim, b"theirs").unwrap();
    symlink(elsewhere.path(), home.path().join("tasks")).unwrap();
    let task = path("tasks/AOF-abc.md");
    for outcome in [
        replace(&lock, &task, b"x"),
        replace_if(&lock, &task, b"theirs", b"x"),
        remove_if(&lock, &task, b"theirs"),
        create_new(&lock, &path("tasks/AOF-new.md"), b"x"),
        create_new(&lock, &path("tasks/deep/AOF-new.md"), b"x"),
    ] {
        let fault = outcome.unwrap_err();
        assert!(matches!(fault, StoreError::WrongKind { found: FileKind::Symlink, .. }), "{fault}");
        assert!(fault.hint().unwrap().to_string().contains("link"));
    }
    fs::remove_file(home.path().join("tasks")).unwrap();
    fs::create_dir(home.path().join("tasks")).unwrap();
    symlink(&victim, task.below(home.path())).unwrap();
    assert!(replace(&lock, &task, b"x").is_err());
    assert!(replace_if(&lock, &task, b"theirs", b"x").is_err());
    assert_eq!(fs::read(&victim).unwrap(), b"theirs");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);
}

#[test]
fn a_crash_leaves_temporary_files_and_the_sweep_takes_only_those() {
    let (home, lock) = project();
    let task = path("tasks/ab/AOF-abcde.md");
    create_new(&lock, &task, b"old").unwrap();
    let folder = Folder::open(home.path(), "tasks/ab").unwrap();
    // A kill between the write and the rename.
    std::mem::forget(
        TemporaryFile::new(&folder, "AOF-abcde.md", b"half", Durability::Durable).unwrap(),
    );
    for name in [".hidden", ".aof-temporary", "x.aof-tmp-1"] {
        fs::write(home.path().join("tasks/ab").join(name), b"").unwrap();
    }
    assert_eq!(names(&home, "tasks/ab").len(), 5);
    sweep(&lock, "tasks").unwrap();
    sweep(&lock, "tasks/none").unwrap();
    assert_eq!(names(&home, "tasks/ab").len(), 5);
    assert_eq!(abandoned(lock.paths(), SystemTime::now() + ABANDONED).unwrap(), 1);
    sweep_tasks(&lock).unwrap();
    assert_eq!(
        names(&home, "tasks/ab"),
        [".aof-temporary", ".hidden", "AOF-abcde.md", "x.aof-tmp-1"]
    );
    assert_eq!(fs::read(task.below(home.path())).unwrap(), b"old");
}

#[test]
fn a_reader_sees_one_version_or_the_other_whole() {
    let (_home, lock) = project();
    let task = path("tasks/AOF-abc.md");
    let versions = [vec![b'a'; 30_000], vec![b'b'; 20_000]];
    create_new(&lock, &task, &versions[0]).unwrap();
    let paths = lock.paths().clone();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reads = 0;
            while !done.load(std::sync::atomic::Ordering::Relaxed) || reads == 0 {
                let snapshot = crate::storage::task_files::read(&paths, &task).unwrap();
                assert!(versions.contains(&snapshot.bytes), "torn: {} bytes", snapshot.bytes.len());
                reads += 1;
            }
        });
        for turn in 0..40 {
            replace_if(&lock, &task, &versions[turn % 2], &versions[(turn + 1) % 2]).unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        reader.join().unwrap();
    });
}

#[test]
fn files_still_written_without_the_lock_are_not_swept() {
    let (home, lock) = project();
    lock.paths().prepare_local().unwrap();
    for folder in [".aof", ".aof/inbox", ".aof/refused"] {
        fs::write(home.path().join(folder).join(".aof-tmp-1"), b"").unwrap();
    }
    let now = SystemTime::now();
    for (time, left) in [(now, 3), (now - ABANDONED, 3), (now + ABANDONED, 0)] {
        sweep_local(&lock, time).unwrap();
        assert_eq!(abandoned(lock.paths(), now + ABANDONED).unwrap(), left);
    }
    assert_eq!(names(&home, ".aof"), [".gitignore", "inbox", "lock", "refused", "schema"]);
}
