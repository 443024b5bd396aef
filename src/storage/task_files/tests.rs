use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use std::path::Path;

use super::*;
use crate::storage::task_files::StrayReason;

fn project() -> (TempDir, Paths) {
    let home = TempDir::new().unwrap();
    let paths = Paths::at(home.path());
    fs::create_dir(paths.tasks()).unwrap();
    (home, paths)
}

fn put(paths: &Paths, path: &str, text: &str) {
    let file = paths.root().join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn id(text: &str) -> TaskId {
    text.parse().unwrap()
}

#[test]
fn a_task_is_found_in_every_folder() {
    let (_home, paths) = project();
    for path in [
        "tasks/AOF-flat1.md",
        "tasks/sh/AOF-shard.md",
        "tasks/ideas/later/AOF-sortd.md",
        "tasks/archive/2025/12/31/AOF-older.md",
        "tasks/archive/2026/02/16/AOF-newer.md",
        "tasks/archive/AOF-bare1.md",
        "tasks/archive/2026-Q1/AOF-quart.md",
        "tasks/archive/2026/02/16/later/AOF-below.md",
    ] {
        put(&paths, path, "x");
        let name = path.rsplit_once('/').unwrap().1.strip_suffix(".md").unwrap();
        let found = find(&paths, &id(name)).unwrap();
        assert_eq!(found.path.as_str(), path);
        assert_eq!(found.place == TaskPlace::Archived, path.contains("archive"));
    }
    assert_eq!(known_ids(&paths).len(), 8);
    let fault = find(&paths, &id("AOF-none1")).unwrap_err();
    assert_eq!(fault.to_string(), "no task `AOF-none1`");
}

#[test]
fn two_files_of_one_task_are_named_both() {
    let (_home, paths) = project();
    put(&paths, "tasks/AOF-abcde.md", "x");
    put(&paths, "tasks/ab/AOF-abcde.md", "y");
    put(&paths, "tasks/one/AOF-xyz.md", "x");
    put(&paths, "tasks/two/AOF-xyz.md", "y");
    for (task, first, second) in [
        ("AOF-abcde", "tasks/AOF-abcde.md", "tasks/ab/AOF-abcde.md"),
        ("AOF-xyz", "tasks/one/AOF-xyz.md", "tasks/two/AOF-xyz.md"),
    ] {
        let fault = find(&paths, &id(task)).unwrap_err();
        let Some(StoreError::TaskDoubled { paths, .. }) = Some(&fault) else { panic!("{fault}") };
        assert_eq!([paths[0].as_str(), paths[1].as_str()], [first, second]);
    }
}

#[test]
fn of_several_files_the_one_counts_that_is_found() {
    for (files, counts) in [
        (&["tasks/AOF-abcde.md", "tasks/sub/AOF-abcde.md", "tasks/top/AOF-abcde.md"][..], Some(0)),
        (&["tasks/sub/AOF-abcde.md", "tasks/ab/AOF-abcde.md"], Some(1)),
        (&["tasks/AOF-abcde.md", "tasks/ab/AOF-abcde.md"], None),
        (&["tasks/one/AOF-abcde.md", "tasks/two/AOF-abcde.md"], None),
        (&["tasks/archive/2026/02/16/AOF-abcde.md", "tasks/one/AOF-abcde.md"], Some(1)),
        (
            &["tasks/archive/2025/12/31/AOF-abcde.md", "tasks/archive/2026/02/16/AOF-abcde.md"],
            Some(1),
        ),
        (&["tasks/archive/2025/12/31/AOF-abcde.md", "tasks/archive/sorted/AOF-abcde.md"], Some(0)),
        (&["tasks/archive/one/AOF-abcde.md", "tasks/archive/two/AOF-abcde.md"], None),
    ] {
        let (_home, paths) = project();
        for file in files {
            put(&paths, file, "x");
        }
        let found = find(&paths, &id("AOF-abcde")).ok().map(|found| found.path);
        let listed: Vec<ProjectPath> = files.iter().map(|file| file.parse().unwrap()).collect();
        assert_eq!(found.as_ref(), counting(&id("AOF-abcde"), &listed), "{files:?}");
        assert_eq!(found.as_ref(), counts.map(|place: usize| &listed[place]), "{files:?}");
    }
}

#[test]
fn a_project_without_tasks_has_none() {
    let home = TempDir::new().unwrap();
    let paths = Paths::at(home.path());
    assert_eq!(walk_active(&paths).count(), 0);
    assert!(matches!(find(&paths, &id("AOF-abc")), Err(StoreError::TaskNotFound { .. })));
    fs::write(paths.tasks(), "a file").unwrap();
    assert!(matches!(find(&paths, &id("AOF-abc")), Err(StoreError::TaskNotFound { .. })));
}

#[test]
fn no_oddity_hides_a_task() {
    let (home, paths) = project();
    let tasks = paths.tasks();
    put(&paths, "tasks/AOF-abc.md", "x");
    put(&paths, "tasks/zz/AOF-zzz.md", "x");
    put(&paths, "tasks/README.md", "x");
    put(&paths, "tasks/notes.md", "x");
    put(&paths, "tasks/AOF-abc.tests.yaml", "x");
    put(&paths, "tasks/.obsidian/AOF-hid.md", "x");
    put(&paths, "tasks/.aof-tmp-1.md", "x");
    put(&paths, "tasks/AOF-dir.md/AOF-sub.txt", "x");
    put(&paths, "tasks/archive/2026/01/01/AOF-old.md", "x");
    pipe(&tasks.join("AOF-pipe.md"));
    symlink(tasks.join("AOF-abc.md"), tasks.join("AOF-link.md")).unwrap();
    symlink(home.path(), tasks.join("linked")).unwrap();
    fs::write(tasks.join(std::ffi::OsStr::from_bytes(b"AOF-\xFF.md")), "x").unwrap();

    let (mut found, mut strays) = (Vec::new(), Vec::new());
    for entry in walk_active(&paths) {
        match entry {
            WalkEntry::Task(task) => found.push(task.path.to_string()),
            WalkEntry::Stray(stray) => {
                strays.push((stray.path.to_string_lossy().into_owned(), stray.reason));
            }
        }
    }
    found.sort();
    strays.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(found, ["tasks/AOF-abc.md", "tasks/zz/AOF-zzz.md"]);
    let places: Vec<&str> = strays.iter().map(|stray| &*stray.0).collect();
    assert_eq!(
        places,
        [
            "tasks/AOF-dir.md",
            "tasks/AOF-link.md",
            "tasks/AOF-pipe.md",
            "tasks/AOF-\u{FFFD}.md",
            "tasks/linked",
            "tasks/notes.md",
        ]
    );
    let kinds: Vec<_> = strays.iter().map(|stray| &stray.1).collect();
    assert_eq!(kinds[0], &StrayReason::WrongKind(FileKind::Folder));
    assert_eq!(kinds[1], &StrayReason::WrongKind(FileKind::Symlink));
    assert_eq!(kinds[2], &StrayReason::WrongKind(FileKind::Special));
    assert_eq!(kinds[3], &StrayReason::NotText);
    assert_eq!(kinds[4], &StrayReason::WrongKind(FileKind::Symlink));
    assert!(matches!(kinds[5], StrayReason::NotAnId(_)));
    assert_eq!(walk_archived(&paths).count(), 1);
}

#[test]
fn only_files_are_read_and_never_through_a_link() {
    let (home, paths) = project();
    let elsewhere = TempDir::new().unwrap();
    fs::write(elsewhere.path().join("AOF-abc.md"), "secret").unwrap();
    symlink(elsewhere.path(), paths.tasks().join("out")).unwrap();
    symlink(elsewhere.path().join("AOF-abc.md"), paths.tasks().join("AOF-abc.md")).unwrap();
    symlink("/dev/zero", paths.tasks().join("AOF-dev.md")).unwrap();
    pipe(&paths.tasks().join("AOF-pipe.md"));
    fs::create_dir(paths.tasks().join("AOF-dir.md")).unwrap();
    for (path, kind) in [
        ("tasks/out/AOF-abc.md", FileKind::Symlink),
        ("tasks/AOF-abc.md", FileKind::Symlink),
        ("tasks/AOF-dev.md", FileKind::Symlink),
        ("tasks/AOF-pipe.md", FileKind::Special),
        ("tasks/AOF-dir.md", FileKind::Folder),
    ] {
        match read(&paths, &path.parse().unwrap()) {
            Err(StoreError::WrongKind { found, .. }) => assert_eq!(found, kind, "{path}"),
            other => panic!("{path}: {other:?}"),
        }
    }
    assert!(matches!(
        read(&paths, &"tasks/AOF-no.md".parse().unwrap()),
        Err(StoreError::Gone { .. })
    ));
    drop(home);
}

#[test]
fn a_file_that_is_too_large_is_refused_unread() {
    let (_home, paths) = project();
    let path: ProjectPath = "tasks/AOF-abc.md".parse().unwrap();
    // Sparse: 1 GiB that uses no disk space.
    fs::File::create(path.below(paths.root())).unwrap().set_len(1 << 30).unwrap();
    assert!(matches!(read(&paths, &path), Err(StoreError::TooLarge { .. })));
}

#[test]
fn the_bytes_are_the_version() {
    let (_home, paths) = project();
    let path: ProjectPath = "tasks/AOF-abc.md".parse().unwrap();
    put(&paths, path.as_str(), "one");
    let file = path.below(paths.root());
    let snapshot = read(&paths, &path).unwrap();
    assert!(snapshot.is_current(&paths).unwrap());
    // Same size, same time stamp, another content.
    let time = fs::metadata(&file).unwrap().modified().unwrap();
    put(&paths, path.as_str(), "two");
    fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    assert_eq!(read(&paths, &path).unwrap().stat.mtime, snapshot.stat.mtime);
    assert!(!snapshot.is_current(&paths).unwrap());
    fs::remove_file(&file).unwrap();
    assert!(!snapshot.is_current(&paths).unwrap());
}
