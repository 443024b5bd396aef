use std::cell::RefCell;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::environment::{
    TestRepository, commit, delete, draft, no_intent, publish, put, soon, write_and_publish,
};
use crate::transaction::locks::Cleared;
use crate::{CrashKind, GitError, Locks, Repository};
use aof_system::crash_points;

#[test]
fn a_held_index_lock_is_waited_for_and_never_broken() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let head = repository.head().unwrap();
    let changes = vec![put("tasks/AOF-aaa.md", "one\n")];
    let prepared = repository.prepare(&head, &draft(changes.clone())).unwrap();
    let lock = test.path(".git/index.lock");
    let soon_over = || Instant::now() + Duration::from_millis(30);
    let ours = || {
        let names =
            fs::read_dir(test.path(".git")).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with("aof-")).count()
    };
    fs::write(&lock, "somebody's").unwrap();
    // The holder of the lock may be looking for new files, so none of ours may exist meanwhile.
    let mut seen = |_: &Locks| panic!("nothing is written before");
    let error = publish(&repository, &prepared, soon_over(), &mut seen, &mut Vec::new).unwrap_err();
    assert!(
        matches!(&error, GitError::Locked { path, age: Some(_) } if path.ends_with("index.lock")),
        "{error}"
    );
    assert_eq!(ours(), 0);
    fs::remove_file(&lock).unwrap();
    // Another process may create the lock in between.
    let mut taken = |_: &Locks| fs::write(&lock, "somebody's").map(|()| Vec::new());
    let error =
        publish(&repository, &prepared, soon_over(), &mut taken, &mut Vec::new).unwrap_err();
    assert!(
        matches!(&error, GitError::Locked { path, age: Some(_) } if path.ends_with("index.lock")),
        "{error}"
    );
    assert_eq!(fs::read_to_string(&lock).unwrap(), "somebody's");
    assert_eq!((repository.head().unwrap(), ours()), (head, 0));

    let release = thread::spawn({
        let lock = lock.clone();
        move || fs::remove_file(lock).unwrap()
    });
    write_and_publish(&test, &repository, &changes, &prepared).unwrap();
    release.join().unwrap();
    test.assert_clean();
}

#[test]
fn a_lock_that_somebody_took_away_is_theirs() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let head = repository.head().unwrap();
    let prepared =
        repository.prepare(&head, &draft(vec![put("tasks/AOF-aaa.md", "one\n")])).unwrap();
    let (lock, index) = (test.path(".git/index.lock"), test.path(".git/index"));
    let before = fs::read(&index).unwrap();
    let mut taken_away = || {
        fs::remove_file(&lock).unwrap();
        fs::write(&lock, "somebody's").unwrap();
        Vec::new()
    };
    let error = publish(&repository, &prepared, Instant::now(), &mut no_intent, &mut taken_away)
        .unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("somebody took `index.lock` away"), "{cause}");
    assert_eq!(
        (fs::read_to_string(&lock).unwrap().as_str(), fs::read(&index).unwrap()),
        ("somebody's", before)
    );
    assert_eq!(repository.head().unwrap().commit, head.commit);
    fs::remove_file(lock).unwrap();
    test.assert_clean();
}

#[test]
fn a_held_branch_lock_gives_the_index_back() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let prepared = repository
        .prepare(&repository.head().unwrap(), &draft(vec![put("tasks/AOF-aaa.md", "one\n")]))
        .unwrap();
    let lock = test.path(".git/refs/heads/main.lock");
    fs::write(&lock, "").unwrap();
    let error =
        publish(&repository, &prepared, Instant::now(), &mut no_intent, &mut Vec::new).unwrap_err();
    assert!(
        matches!(&error, GitError::Locked { path, .. } if path.ends_with("main.lock")),
        "{error}"
    );
    assert!(lock.exists());
    fs::remove_file(lock).unwrap();
    test.assert_clean();
}

#[test]
fn a_branch_that_moved_and_came_back_has_moved() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let prepared = repository
        .prepare(&repository.head().unwrap(), &draft(vec![put("tasks/AOF-aaa.md", "one\n")]))
        .unwrap();
    test.git(&["commit", "-q", "--allow-empty", "-m", "a step of another command"]);
    test.git(&["reset", "-q", "--soft", "HEAD~1"]);
    let error = publish(&repository, &prepared, soon(), &mut no_intent, &mut Vec::new).unwrap_err();
    assert!(matches!(error, GitError::Moved { .. }), "{error}");
}

#[test]
fn a_branch_that_moved_is_not_overwritten() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let prepared = repository
        .prepare(&repository.head().unwrap(), &draft(vec![put("tasks/AOF-aaa.md", "one\n")]))
        .unwrap();
    test.git(&["commit", "-q", "--allow-empty", "-m", "person"]);
    let error = publish(&repository, &prepared, soon(), &mut no_intent, &mut Vec::new).unwrap_err();
    assert!(matches!(error, GitError::Moved { .. }), "{error}");
    assert_eq!(test.git(&["log", "-1", "--format=%s"]), "person\n");
    test.git(&["checkout", "-q", "-b", "other", "HEAD~1"]);
    assert!(matches!(
        publish(&repository, &prepared, soon(), &mut no_intent, &mut Vec::new),
        Err(GitError::Moved { .. })
    ));
    test.git(&["checkout", "-q", "--detach"]);
    assert!(matches!(
        publish(&repository, &prepared, soon(), &mut no_intent, &mut Vec::new),
        Err(GitError::Waiting { .. })
    ));
    test.assert_clean();
}

#[test]
fn an_intent_that_cannot_be_recorded_stops_everything() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let prepared = repository
        .prepare(&repository.head().unwrap(), &draft(vec![put("tasks/AOF-aaa.md", "one\n")]))
        .unwrap();
    let refused = publish(
        &repository,
        &prepared,
        soon(),
        &mut |_| Err(io::Error::other("disk full")),
        &mut Vec::new,
    );
    assert!(matches!(refused, Err(GitError::Io { .. })));
    assert_eq!(repository.head().unwrap(), *prepared.base());
    test.assert_clean();
}

#[test]
fn locks_of_others_are_never_cleared() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let seen = RefCell::new(None);
    let changes = vec![put("tasks/AOF-aaa.md", "one\n")];
    let prepared = repository.prepare(&repository.head().unwrap(), &draft(changes)).unwrap();
    test.write("tasks/AOF-aaa.md", "one\n");
    publish(
        &repository,
        &prepared,
        soon(),
        &mut |locks: &Locks| {
            *seen.borrow_mut() = Some(locks.clone());
            Ok(Vec::new())
        },
        &mut Vec::new,
    )
    .unwrap();
    let locks = seen.into_inner().unwrap();
    let nothing = Cleared { index_lock: false, branch_lock: false, landed: true };
    assert_eq!(repository.clear_stale(&locks, CrashKind::ProcessKilled).unwrap(), nothing);
    fs::write(test.path(".git/index.lock"), "git's").unwrap();
    fs::write(test.path(".git/refs/heads/main.lock"), format!("{}\n", prepared.last())).unwrap();
    assert_eq!(repository.clear_stale(&locks, CrashKind::ProcessKilled).unwrap(), nothing);
    assert!(
        test.path(".git/index.lock").exists() && test.path(".git/refs/heads/main.lock").exists()
    );
    let written = serde_json::to_string(&locks).unwrap();
    assert_eq!(serde_json::from_str::<Locks>(&written).unwrap(), locks);

    // A record may be forged: files whose names do not match are not touched.
    let victim = test.path("victim");
    fs::write(&victim, "mine").unwrap();
    for name in [victim.to_str().unwrap(), "config", "../victim", "aof-x/../../victim"] {
        let mut forged = locks.clone();
        forged.index.temp = name.to_owned();
        forged.branch.as_mut().unwrap().file.temp = name.to_owned();
        assert_eq!(
            repository.clear_stale(&forged, CrashKind::ProcessKilled).unwrap(),
            nothing,
            "{name}"
        );
    }
    assert!(victim.exists() && test.path(".git/config").exists());
}

#[test]
fn a_stale_index_is_updated_except_staged_entries() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let before = repository.head().unwrap().commit;
    let behind = fs::read(test.path(".git/index")).unwrap();
    let changes = vec![
        put("tasks/AOF-aaa.md", "one\n"),
        put("tasks/AOF-new.md", "n\n"),
        delete("tasks/AOF-bbb.md"),
    ];
    commit(&test, &repository, changes).unwrap();
    fs::write(test.path(".git/index"), behind).unwrap();
    test.write("src/x.txt", "staged\n");
    test.git(&["add", "src/x.txt"]);

    let files =
        ["tasks/AOF-aaa.md", "tasks/AOF-bbb.md", "tasks/AOF-new.md", "tasks/ccc/AOF-ccc.md"];
    let healed = repository.update_stale_entries(before, &files, soon(), &mut no_intent).unwrap();
    assert_eq!(healed, files[..3]);
    assert_eq!(test.status(), "M  src/x.txt\n");
    assert!(
        repository.update_stale_entries(before, &files, soon(), &mut no_intent).unwrap().is_empty()
    );
    test.git(&["commit", "-qm", "mine"]);
    test.assert_clean();

    let before = repository.head().unwrap().commit;
    let behind = fs::read(test.path(".git/index")).unwrap();
    commit(&test, &repository, vec![put("tasks/AOF-aaa.md", "two\n")]).unwrap();
    fs::write(test.path(".git/index"), behind).unwrap();
    test.write("tasks/AOF-aaa.md", "staged by a person\n");
    test.git(&["add", "."]);
    assert!(
        repository.update_stale_entries(before, &files, soon(), &mut no_intent).unwrap().is_empty()
    );
    assert_eq!(test.git(&["show", ":tasks/AOF-aaa.md"]), "staged by a person\n");
}

/// The part of the killed process: one commit, its intent written beside the repository.
#[test]
fn killed_at_a_point() {
    let Some(folder) = std::env::var_os("AOF_TEST_KILL") else { return };
    let folder = std::path::PathBuf::from(folder);
    let repository = Repository::discover(&folder.join("work")).unwrap();
    let change = draft(vec![put("tasks/AOF-aaa.md", "killed\n"), put("tasks/AOF-new.md", "new\n")]);
    let prepared = repository.prepare(&repository.head().unwrap(), &change).unwrap();
    for change in &change.changes {
        fs::write(repository.worktree_path(&change.path), change.content.as_ref().unwrap())
            .unwrap();
    }
    let mut intent = |locks: &Locks| {
        fs::write(folder.join("intent"), serde_json::to_vec(locks)?).map(|()| Vec::new())
    };
    publish(&repository, &prepared, soon(), &mut intent, &mut Vec::new).unwrap();
}

fn kill_at(test: &TestRepository, point: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::locking::killed_at_a_point"])
        .env("AOF_TEST_KILL", test.beside(""))
        .env("AOF_STOP_AT", point)
        .output()
        .unwrap();
    assert!(!output.status.success(), "{point} was never passed");
}

#[test]
fn locks_are_ours_also_if_the_disk_is_called_otherwise_after_a_restart() {
    let test = TestRepository::with_tasks();
    kill_at(&test, "git.ref-locked");
    let text = fs::read(test.beside("intent")).unwrap();
    let mut locks: Locks = serde_json::from_slice(&text).unwrap();
    locks.index.device += 1;
    let branch = locks.branch.as_mut().unwrap();
    branch.file.device += 1;
    // Without birth times, only the device distinguishes files with the same inode number.
    let has_birth_time = locks.index.born.is_some();
    let cleared =
        Cleared { index_lock: has_birth_time, branch_lock: has_birth_time, landed: false };
    assert_eq!(test.open().clear_stale(&locks, CrashKind::ProcessKilled).unwrap(), cleared);
    assert_ne!(test.path(".git/index.lock").exists(), has_birth_time);
}

/// Returns once a new file gets a later time than this one: file systems count time in ticks of milliseconds.
fn wait_for_later_file(path: &Path) {
    let changed = |path: &Path| {
        let data = fs::metadata(path).unwrap();
        (data.ctime(), data.ctime_nsec())
    };
    let probe = path.with_extension("probe");
    loop {
        fs::write(&probe, "").unwrap();
        let later = changed(&probe) > changed(path);
        fs::remove_file(&probe).unwrap();
        if later {
            break;
        }
    }
}

#[test]
fn a_lock_that_a_power_cut_brought_back_differs_from_one_that_is_held() {
    let test = TestRepository::with_tasks();
    test.git(&["checkout", "-q", "-b", "topic/one"]);
    let heads = test.path(".git/refs/heads");
    // The time of a rename cannot be set; but the folder of the file can be renamed again.
    fs::create_dir(heads.join("before")).unwrap();
    fs::write(heads.join("before/one.lock"), "what the branch was\n").unwrap();
    wait_for_later_file(&heads.join("before/one.lock"));
    kill_at(&test, "git.ref-moved");
    let locks: Locks = serde_json::from_slice(&fs::read(test.beside("intent")).unwrap()).unwrap();
    let clear = |end| test.open().clear_stale(&locks, end).unwrap().branch_lock;
    let lock = heads.join("topic/one.lock");
    fs::write(&lock, "held\n").unwrap();
    assert!(!clear(CrashKind::MachineRestarted), "it may be held by a process of now");
    fs::remove_file(&lock).unwrap();

    fs::rename(heads.join("topic/one"), heads.join("before/one")).unwrap();
    fs::remove_dir(heads.join("topic")).unwrap();
    fs::rename(heads.join("before"), heads.join("topic")).unwrap();
    assert!(!clear(CrashKind::ProcessKilled), "a kill brings nothing back");
    let has_birth_time = locks.branch.as_ref().unwrap().file.born.is_some();
    assert_eq!(clear(CrashKind::MachineRestarted), has_birth_time);
    assert_ne!(lock.exists(), has_birth_time);
    let moved = format!("{}\n", locks.branch.unwrap().to);
    assert_eq!(fs::read_to_string(heads.join("topic/one")).unwrap(), moved);
}

#[test]
fn a_kill_at_any_point_leaves_nothing_that_recovery_cannot_clear() {
    for point in crash_points::POINTS.iter().filter(|point| point.starts_with("git.")) {
        let test = TestRepository::with_tasks();
        test.write("src/x.txt", "staged\n");
        test.git(&["add", "src/x.txt"]);
        let repository = test.open();
        let before = repository.head().unwrap();
        kill_at(&test, point);

        let intent = fs::read(test.beside("intent"))
            .ok()
            .map(|text| serde_json::from_slice::<Locks>(&text).unwrap());
        let landed = intent.is_some_and(|locks| {
            repository.clear_stale(&locks, CrashKind::ProcessKilled).unwrap().landed
        });
        assert_eq!(landed, *point == "git.ref-moved", "{point}");
        let files = ["tasks/AOF-aaa.md", "tasks/AOF-new.md"];
        if landed {
            repository.update_stale_entries(before.commit, &files, soon(), &mut no_intent).unwrap();
        } else {
            assert_eq!(repository.head().unwrap().commit, before.commit, "{point}");
            let again =
                files.map(|file| put(file, if file == files[0] { "killed\n" } else { "new\n" }));
            commit(&test, &repository, again.to_vec()).unwrap();
        }
        assert_eq!(test.status(), "M  src/x.txt\n", "{point}");
        assert_eq!(
            test.git(&["show", "--format=", "--name-only"]),
            "tasks/AOF-aaa.md\ntasks/AOF-new.md\n",
            "{point}"
        );
        // Before the intent is recorded, nothing is locked, and only temp files are left.
        let old = std::time::SystemTime::now() - Duration::from_hours(2);
        for entry in fs::read_dir(test.path(".git")).unwrap().map(Result::unwrap) {
            if entry.file_name().to_string_lossy().starts_with("aof-") {
                fs::File::open(entry.path()).unwrap().set_modified(old).unwrap();
            }
        }
        let left = if *point == "git.temps-made" { 2 } else { 0 };
        assert_eq!(repository.sweep_temps().unwrap(), left, "{point}");
        test.assert_sound();
    }
}

#[test]
fn git_and_the_engine_take_turns() {
    let test = TestRepository::with_tasks();
    let engine = thread::spawn({
        let root = test.root();
        move || {
            let repository = Repository::discover(&root).unwrap();
            let mut made = 0;
            while made < 25 {
                let change = draft(vec![put("tasks/AOF-aaa.md", &format!("{made}\n"))]);
                let Ok(prepared) =
                    repository.head().and_then(|head| repository.prepare(&head, &change))
                else {
                    continue;
                };
                fs::write(root.join("tasks/AOF-aaa.md"), format!("{made}\n")).unwrap();
                match publish(&repository, &prepared, soon(), &mut no_intent, &mut Vec::new) {
                    Ok(_) => made += 1,
                    Err(GitError::Moved { .. } | GitError::StagedDifferently { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
    });
    let mut persons = 0;
    while persons < 5 || !engine.is_finished() {
        test.write("src/x.txt", &format!("{persons}\n"));
        if test.try_git(&test.root(), &["add", "src/x.txt"]).0
            && test.try_git(&test.root(), &["commit", "-qm", "person"]).0
        {
            persons += 1;
        }
    }
    engine.join().unwrap();
    let log = test.git(&["log", "--reverse", "--format=%an|%H", "HEAD"]);
    let mut versions = Vec::new();
    for line in log.lines() {
        let (author, id) = line.split_once('|').unwrap();
        let files = test.git(&["show", "--format=", "--name-only", id]);
        let version = || test.git(&["show", &format!("{id}:tasks/AOF-aaa.md")]);
        match author {
            "agent-7" => {
                assert_eq!(files, "tasks/AOF-aaa.md\n");
                versions.push(version());
            }
            // `git commit` may write back an index that it read before the engine's change, and commit that the next time. Then
            // the person's commit has an older version of the file, never an invented one, and the engine goes on.
            _ if files.contains("AOF-aaa") && !files.contains("AOF-bbb") => {
                assert!(versions.contains(&version()), "{files}");
            }
            _ => {}
        }
    }
    test.assert_sound();
}
