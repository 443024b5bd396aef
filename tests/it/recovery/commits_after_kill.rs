//! What a killed command has left is nobody's to commit by hand: files and index have a step that no commit of the engine has.

#![cfg(debug_assertions)]

use std::fs;

use crate::support::clones::{Clones, behind, killed};
use crate::support::environment::LAYOUTS;
use crate::support::environment::Output;
use crate::support::merge_scene::scene;

/// The hook that `aof init` makes.
fn hook(clones: &Clones) {
    let (env, _) = scene();
    let name = ".git/hooks/prepare-commit-msg";
    fs::create_dir_all(clones.env.path(".git/hooks")).unwrap();
    fs::copy(env.path(name), clones.env.path(name)).unwrap();
}

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
        mended.stdout.contains("mended: a command was stopped in the middle of a change"),
        "{mended}"
    );
}

fn commit(clones: &Clones, more: &[&str]) -> Output {
    clones.env.try_git(&[&["commit", "--quiet", "--message", "own"], more].concat())
}

#[test]
fn what_was_coming_is_not_committed_as_ones_own() {
    for point in ["git.bring-files", "git.index-moved"] {
        for unlocked in [false, true] {
            let (clones, _) = behind(false);
            hook(&clones);
            killed(&clones, point);
            if unlocked || point != "git.index-moved" {
                unlock(&clones);
            }
            clones.env.write("own.txt", "own\n");
            clones.git(".", &["add", "--all"]);
            let head = clones.head(".");
            for more in [&[][..], &["--all"]] {
                let refused = commit(&clones, more);
                assert!(
                    refused.stderr.contains("`aof doctor --fix` finishes it"),
                    "{point}: {refused}"
                );
            }
            assert_eq!(clones.head("."), head);
            mend(&clones);
            assert_eq!(clones.status("."), "A  own.txt\n", "{point}");
            assert_eq!(commit(&clones, &[]).code, Some(0));
            assert_eq!(clones.git(".", &["show", "--format=", "--name-only"]), "own.txt\n");
            clones.does(".", &["verify"]);
        }
    }
}

#[test]
fn what_is_of_no_task_is_committed_meanwhile_and_nothing_else_stays_staged() {
    let (clones, _) = behind(false);
    hook(&clones);
    killed(&clones, "git.index-moved");
    unlock(&clones);
    clones.env.write("own.txt", "own\n");
    clones.git(".", &["add", "own.txt"]);
    assert_eq!(commit(&clones, &["--", "own.txt"]).code, Some(0));
    mend(&clones);
    assert_eq!(clones.status("."), "", "what was coming is not there, and not staged");
    clones.git(".", &["pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main"]);
    clones.does(".", &["sync"]);
    clones.does(".", &["verify"]);
    assert_eq!(clones.env.read("notes.txt"), "two\n");
}

#[test]
fn without_the_hook_such_a_commit_can_be_taken_back() {
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

#[test]
fn a_single_step_is_finished_before_it_is_committed() {
    for layout in [&["update-index", "--no-split-index"][..]].into_iter().chain(LAYOUTS) {
        let (env, id) = scene();
        env.git(layout);
        let mut complete =
            env.aof_command(&["task", "complete", &id, "--agent", "agent-7", "--summary", "Done"]);
        complete.env("AOF_STOP_AT", "git.index-moved");
        assert_eq!(env.run(complete).code, None);
        let _ = fs::remove_file(env.path(".git/refs/heads/main.lock"));
        let refused = env.try_git(&["commit", "-q", "-m", "own"]);
        assert!(refused.stderr.contains("`aof doctor --fix` finishes it"), "{refused}");
        let mended = env.aof(&["doctor", "--fix"]);
        assert!(mended.stdout.contains("[unfinished_write]"), "{mended}");
        assert_eq!(env.git(&["status", "--porcelain"]), "");
        let _ = crate::support::merge_scene::verified(&env).success();
        assert_eq!(crate::support::merge_scene::entries(&env, &id), ["implement agent-7 complete"]);
    }
}

#[test]
fn where_no_branch_is_checked_out_what_helps_is_named_and_what_touches_no_task_goes_through() {
    for (begin, first) in [
        (&[&["checkout", "-q", "--detach"][..]][..], "git switch main"),
        (&[&["bisect", "start"], &["bisect", "bad"]], "git bisect reset"),
    ] {
        let (env, id) = scene();
        env.write("own.txt", "1\n");
        env.commit_all("own");
        let mut complete =
            env.aof_command(&["task", "complete", &id, "--agent", "agent-7", "--summary", "Done"]);
        complete.env("AOF_STOP_AT", "git.index-moved");
        assert_eq!(env.run(complete).code, None);
        let _ = fs::remove_file(env.path(".git/refs/heads/main.lock"));
        for args in begin {
            env.git(args);
        }
        env.write("own.txt", "2\n");
        env.git(&["commit", "-q", "-m", "own", "--", "own.txt"]);
        let refused = env.try_git(&["commit", "-q", "-m", "own"]).code(1);
        assert!(refused.stderr.contains(&format!("`{first}` first")), "{refused}");
        // As it says.
        env.git(&first.split(' ').skip(1).collect::<Vec<_>>());
        let mended = env.aof(&["doctor", "--fix"]);
        assert!(mended.stdout.contains("[unfinished_write]"), "{mended}");
        assert_eq!(env.git(&["status", "--porcelain", "tasks"]), "");
        assert_eq!(crate::support::merge_scene::entries(&env, &id), ["implement agent-7 complete"]);
    }
}
