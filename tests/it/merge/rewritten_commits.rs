//! Commits that git makes again elsewhere: the driver merges what it can, the hook refuses what takes them back, and `aof verify` finds
//! the rest.

use crate::support::environment::TestEnvironment;
use crate::support::merge_scene::{aside, entries, scene, verified};

/// A task that agent-7 has completed on `side`, and that was given to agent-8 here.
fn completed_and_given_away() -> (TestEnvironment, String) {
    let (env, id) = scene();
    aside(&env, "side", || {
        let _ = env.complete(&id, "agent-7").success();
    });
    let _ = env.aof(&["task", "assign", "--claim", &id, "agent-8"]).success();
    (env, id)
}

#[test]
fn allowed_steps_are_carried_along() {
    let (env, id) = scene();
    let other = env.new_task(&["Another", "--body", &"A line of text.\n".repeat(20)]);
    aside(&env, "side", || {
        let _ = env.complete(&id, "agent-7").success();
        let _ = env.say(&id, "agent-3", "needs_review", &["--blocker", "No tests"]).success();
        let _ = env.aof(&["task", "cancel", &other, "--reason", "No need"]).success();
    });
    let _ = env.aof(&["task", "assign", "--claim", &other, "agent-8"]).success();
    let _ = env.aof(&["task", "assign", "--claim", &id, "agent-7"]).success();
    let _ = env.aof(&["task", "comment", &id, "-m", "Mind the tokens"]).success();
    env.git(&["checkout", "-q", "side"]);
    env.git(&["rebase", "-q", "main"]);
    assert_eq!(entries(&env, &id), ["implement agent-7 complete", "review agent-3 needs_review"]);
    assert_eq!(entries(&env, &other), ["implement null cancelled"]);
    let _ = verified(&env).success();
}

#[test]
fn a_step_refused_at_its_new_place_is_found() {
    for how in [&["rebase", "-q", "main", "side"][..], &["cherry-pick", "side"]] {
        let (env, _) = completed_and_given_away();
        let _ = env.try_git(how).success();
        let found = verified(&env).code(1);
        assert!(found.stdout.contains("[not_allowed]"), "{found}");
        assert!(found.stdout.contains("is assigned to `agent-8`"), "{found}");
    }
}

#[test]
fn a_revert_is_found_and_one_that_a_person_commits_is_refused() {
    let (env, id) = scene();
    let _ = env.complete(&id, "agent-7").success();
    let head = env.head();
    let _ = env.try_git(&["revert", "--no-edit", "HEAD"]).success();
    let found = verified(&env).code(1);
    assert!(found.stdout.contains("[removed]"), "{found}");
    env.git(&["reset", "-q", "--hard", &head]);
    env.git(&["revert", "--no-commit", "HEAD"]);
    let refused = env.try_git(&["commit", "-q", "-m", "Back"]).code(1);
    assert!(refused.stderr.contains("would take back what is committed of tasks/"), "{refused}");
    assert_eq!(env.head(), head);
}

#[test]
fn a_person_may_take_one_side_of_a_merge() {
    for side in ["--ours", "--theirs"] {
        let (env, id) = scene();
        let path = env.task_path(&id);
        aside(&env, "side", || {
            let _ = env.aof(&["task", "edit", &id, "--title", "Sign in"]).success();
            let _ = env.say(&id, "agent-8", "complete", &["--id", "theirs"]).success();
        });
        let _ = env.aof(&["task", "edit", &id, "--title", "Log in"]).success();
        let _ = env.complete(&id, "agent-7").success();
        assert_eq!(env.try_git(&["merge", "--no-edit", "side"]).code, Some(1));
        env.git(&["checkout", "-q", side, &path]);
        env.git(&["add", &path]);
        let _ = env.try_git(&["commit", "-q", "--no-edit"]).success();
    }
}

#[test]
fn a_merge_that_reverts_this_branch_is_refused() {
    let (env, id) = scene();
    let path = env.task_path(&id);
    let before = env.read(&path);
    aside(&env, "side", || {
        env.write("code.txt", "side\n");
        env.commit_all("side");
        let _ = env.aof(&["task", "comment", &id, "-m", "From the side"]).success();
    });
    let _ = env.complete(&id, "agent-7").success();
    env.git(&["merge", "-q", "--no-commit", "side"]);
    env.write(&path, before);
    env.git(&["add", "--all"]);
    let refused = env.try_git(&["commit", "-q", "--no-edit"]).code(1);
    assert!(refused.stderr.contains("not committed:"), "{refused}");
}

#[test]
fn a_merge_of_a_person_lists_nothing_and_verify_reports_superseded_entries() {
    let (env, id) = scene();
    aside(&env, "side", || {
        let _ = env.say(&id, "agent-8", "complete", &["--id", "theirs"]).success();
    });
    let _ = env.complete(&id, "agent-7").success();
    env.git(&["merge", "-q", "--no-edit", "side"]);
    assert!(!env.git(&["log", "-1", "--format=%B"]).contains("Aof-"));
    let verified = verified(&env).success();
    assert!(verified.stdout.contains("[superseded]"), "{verified}");
    assert!(verified.stdout.contains("Aof-Superseded: AOF-xxxxx@0 theirs"), "{verified}");
}
