//! A person's commit of what a killed command has left: files and index have a step that no commit of the engine has.

#![cfg(debug_assertions)]

use std::fs;

use crate::support::clones::{Clones, behind, killed};
use crate::support::environment::Output;

/// Removes the locks that a kill left, as git advises.
fn unlock(clones: &Clones) {
    for lock in [".git/index.lock", ".git/refs/heads/main.lock"] {
        let _ = fs::remove_file(clones.env.path(lock));
    }
}

/// Other things may be wrong as well.
fn mend(clones: &Clones) {
    let mended = clones.aof(".", &["doctor", "--fix"]);
    assert!(
        mended.stdout.contains("repaired: a command was stopped in the middle of a change"),
        "{mended}"
    );
}

fn commit(clones: &Clones, more: &[&str]) -> Output {
    clones.env.try_git(&[&["commit", "--quiet", "--message", "own"], more].concat())
}

#[test]
fn such_a_commit_is_found_and_can_be_taken_back() {
    let (clones, _) = behind(false);
    killed(&clones, "git.index-moved");
    unlock(&clones);
    clones.env.write("own.txt", "own\n");
    clones.git(".", &["add", "own.txt"]);
    assert_eq!(commit(&clones, &[]).code, Some(0));
    let found = clones.aof(".", &["verify"]).code(1);
    assert!(found.stdout.contains("[unattested]"), "{found}");
    clones.git(".", &["reset", "--soft", "HEAD~1"]);
    mend(&clones);
    assert_eq!(clones.status("."), "A  own.txt\n");
    clones.does(".", &["verify"]);
    clones.does(".", &["sync"]);
}
