use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use super::*;

const PROJECT: &str = "AOF_TEST_LOCKED_PROJECT";

/// Returns the process that took the lock last: the holder, while it is held.
fn last_holder(paths: &Paths) -> Option<Holder> {
    serde_json::from_slice(&fs::read(paths.lock()).ok()?).ok()
}

fn holder(command: &str) -> Holder {
    Holder::this_process(command, "2026-02-16T10:00:00Z".parse().unwrap())
}

fn acquire(paths: &Paths, wait: Duration) -> Result<WriterLock, StoreError> {
    WriterLock::acquire(paths, &holder("aof complete"), wait, &mut |_| {})
}

/// Starts another process that takes the lock and keeps it until it is killed.
fn other_process(root: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "storage::lock::tests::other_process_body", "--ignored", "--nocapture"])
        .env(PROJECT, root)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(
        lines.map_while(Result::ok).any(|line| line.contains("locked")),
        "the other process got no lock"
    );
    child
}

#[test]
#[ignore = "the body of another process, started by the tests below"]
fn other_process_body() {
    let paths = Paths::at(std::env::var_os(PROJECT).unwrap());
    let _lock =
        WriterLock::acquire(&paths, &holder("aof watch"), Duration::ZERO, &mut |_| {}).unwrap();
    println!("locked");
    loop {
        thread::park();
    }
}

#[test]
fn a_waiter_learns_the_holder_once_and_gets_the_lock_when_it_is_killed() {
    let home = TempDir::new().unwrap();
    let paths = Paths::at(home.path());
    let mut child = other_process(home.path());
    let fault = acquire(&paths, Duration::from_millis(5)).unwrap_err();
    let text = fault.to_string();
    assert!(
        text.contains("held by `aof watch`") && text.contains(&format!("process {}", child.id())),
        "{text}"
    );
    assert!(fault.hint().unwrap().to_string().contains("nothing was written"));

    let mut holders = Vec::new();
    let lock =
        WriterLock::acquire(&paths, &holder("aof sweep"), Duration::from_secs(30), &mut |other| {
            holders.push(other.cloned());
            child.kill().unwrap();
        });
    child.wait().unwrap();
    drop(lock.unwrap());
    assert_eq!(holders.len(), 1);
    assert_eq!(holders[0].as_ref().map(|other| other.pid), Some(child.id()));
}

#[test]
fn one_holder_at_a_time_and_its_record_goes_with_it() {
    let home = TempDir::new().unwrap();
    let paths = Paths::at(home.path());
    let lock = acquire(&paths, Duration::ZERO).unwrap();
    assert_eq!(last_holder(&paths), Some(holder("aof complete")));
    assert_eq!(fs::read(paths.local().join(".gitignore")).unwrap(), b"*\n");
    assert!(matches!(
        acquire(&paths, Duration::ZERO),
        Err(StoreError::LockTimedOut { holder: Some(_), .. })
    ));
    drop(lock);
    assert_eq!(last_holder(&paths), None);
    drop(acquire(&paths, Duration::ZERO).unwrap());
}

#[test]
fn threads_that_contend_never_overlap() {
    let home = TempDir::new().unwrap();
    let paths = Paths::at(home.path());
    let (inside, turns) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    let lock = acquire(&paths, Duration::from_mins(1)).unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two holders");
                    thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    turns.fetch_add(1, Ordering::SeqCst);
                    drop(lock);
                }
            });
        }
    });
    assert_eq!(turns.into_inner(), 40);
}

#[test]
fn a_lock_on_a_file_that_was_removed_binds_nobody() {
    let home = TempDir::new().unwrap();
    let paths = Paths::at(home.path());
    let old = acquire(&paths, Duration::ZERO).unwrap();
    fs::remove_dir_all(paths.local()).unwrap();
    let new = acquire(&paths, Duration::ZERO).unwrap();
    drop(old);
    assert!(acquire(&paths, Duration::ZERO).is_err());
    drop(new);
}

#[test]
fn a_folder_is_not_a_lock() {
    let (home, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let paths = Paths::at(home.path());
    fs::create_dir(paths.local()).unwrap();
    let target = elsewhere.path().join("file");
    fs::write(&target, b"theirs").unwrap();
    std::os::unix::fs::symlink(&target, paths.lock()).unwrap();
    assert!(matches!(acquire(&paths, Duration::ZERO), Err(StoreError::WrongKind { .. })));
    assert_eq!(fs::read(&target).unwrap(), b"theirs");
    fs::remove_file(paths.lock()).unwrap();
    fs::create_dir(paths.lock()).unwrap();
    assert!(matches!(acquire(&paths, Duration::ZERO), Err(StoreError::WrongKind { .. })));
}

#[test]
fn a_foreign_record_names_nobody() {
    let home = TempDir::new().unwrap();
    let paths = Paths::at(home.path());
    let lock = acquire(&paths, Duration::ZERO).unwrap();
    fs::write(paths.lock(), b"{\"pid\": 1, \"comm").unwrap();
    let fault = acquire(&paths, Duration::ZERO).unwrap_err();
    assert!(matches!(&fault, StoreError::LockTimedOut { holder: None, .. }), "{fault}");
    drop(lock);
}
