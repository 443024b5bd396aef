//! A git that was overtaken, and took steps off the branch that a command had acknowledged.

use crate::environment::TestEnvironment;
use crate::merging::{entries, scene, verified};

/// What git writes down when it was overtaken.
const RESET: &str = "reset: moving to HEAD";
const ABORTED: &str = "rebase (abort): returning to refs/heads/main";

/// Has git go back to where it had begun, as one that waited for the index's lock meanwhile; the files stay as they are.
fn overtaken(env: &TestEnvironment, how: &str, begun: &str) {
    env.git(&["read-tree", begun]);
    env.git(&["update-ref", "-m", how, "refs/heads/main", begun]);
}

/// The same, with the files.
fn taken_back(env: &TestEnvironment, how: &str, act: impl FnOnce()) {
    let begun = env.head();
    act();
    overtaken(env, how, &begun);
    env.git(&["reset", "--quiet", "--hard"]);
}

fn told(env: &TestEnvironment) -> Vec<(String, String)> {
    let status = env.aof_aside(&["status", "--json"]).success().json();
    let points = status["attention"].as_array().unwrap().iter().filter(|point| point["code"] == "taken_back");
    points
        .map(|point| [&point["problem"], &point["fix"]].map(|text| text.as_str().unwrap().to_owned()).into())
        .collect()
}

/// Does what is advised.
fn follow(env: &TestEnvironment, fix: &str) {
    let command = fix.split('`').nth(1).expect("a command");
    env.git(&command.split(' ').skip(1).collect::<Vec<_>>());
}

#[test]
fn what_a_reset_or_an_abort_took_back_is_told_and_comes_back_by_the_command_that_is_named() {
    for how in [RESET, ABORTED] {
        let (env, id) = scene();
        assert_eq!(told(&env), []);
        taken_back(&env, how, || {
            let _ = env.complete(&id, "agent-7").success();
            let _ = env.aof(&["task", "comment", &id, "Look"]).success();
        });
        assert!(!env.task_text(&id).contains("agent-7"));
        let points = told(&env);
        assert_eq!(points.len(), 1);
        let (problem, fix) = &points[0];
        assert_eq!(problem, "git was overtaken and moved the branch back over 2 steps: AOF-xxxxx");
        assert!(fix.starts_with("`git merge --ff-only "), "{fix}");
        let doctor = env.aof_aside(&["doctor"]).stdout;
        assert!(doctor.contains("[taken_back]"), "{doctor}");
        follow(&env, fix);
        assert_eq!(told(&env), []);
        assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
        let _ = verified(&env).success();
    }
}

#[test]
fn where_the_branch_has_gone_on_the_steps_are_picked() {
    for same in [false, true] {
        let (env, id) = scene();
        let other = env.new_task(&["Write docs"]);
        taken_back(&env, RESET, || {
            let _ = env.complete(&id, "agent-7").success();
        });
        let _ = env.aof(&["task", "comment", if same { &id } else { &other }, "Look"]).success();
        let points = told(&env);
        assert!(points.len() == 1 && points[0].1.starts_with("`git cherry-pick "), "{points:?}");
        follow(&env, &points[0].1);
        assert_eq!(told(&env), []);
        assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
        assert!(env.task_text(if same { &id } else { &other }).contains("Look"));
        let _ = verified(&env).success();
    }
}

#[test]
fn many_steps_are_picked_by_where_they_begin_and_end_and_what_is_back_already_is_not() {
    let (env, id) = scene();
    let other = env.new_task(&["Write docs"]);
    let mut picked = String::new();
    taken_back(&env, RESET, || {
        let _ = env.complete(&id, "agent-7").success();
        picked = env.head();
        for word in ["one", "two", "three"] {
            let _ = env.aof(&["task", "comment", &id, word]).success();
        }
    });
    let _ = env.aof(&["task", "comment", &other, "Look"]).success();
    let range = told(&env)[0].1.clone();
    assert!(range.contains("..") && range.starts_with("`git cherry-pick "), "{range}");
    env.git(&["cherry-pick", &picked]);
    let points = told(&env);
    assert!(points[0].0.contains("over 3 steps") && !points[0].1.contains(".."), "{points:?}");
    follow(&env, &points[0].1);
    assert_eq!(told(&env), []);
    assert!(["one", "two", "three"].iter().all(|word| env.task_text(&id).contains(word)));
    let _ = verified(&env).success();
}

#[test]
fn what_the_files_still_have_is_committed_again_and_not_told() {
    let (env, id) = scene();
    let begun = env.head();
    let _ = env.complete(&id, "agent-7").success();
    let _ = env.aof(&["task", "comment", &id, "Look"]).success();
    overtaken(&env, RESET, &begun);
    assert_eq!(told(&env), []);
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!(told(&env), []);
    assert!(env.task_text(&id).contains("Look"));
}

#[test]
fn what_a_person_takes_back_is_theirs() {
    let (env, id) = scene();
    let _ = env.complete(&id, "agent-7").success();
    env.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    assert_eq!(told(&env), []);
    // A commit of one's own: who moved the branch over it was no command of aof's that overtook git.
    taken_back(&env, RESET, || {
        env.write("code.txt", "mine\n");
        env.commit_all("mine");
    });
    env.git(&["reset", "--quiet"]);
    assert_eq!(told(&env), []);
}

#[test]
fn a_linked_worktree_has_the_same_reflog() {
    let (env, id) = scene();
    taken_back(&env, RESET, || drop(env.complete(&id, "agent-7").success()));
    env.git(&["switch", "--quiet", "--detach"]);
    let beside = env.path("../beside").display().to_string();
    env.git(&["worktree", "add", "--quiet", &beside, "main"]);
    let status = env.aof_aside(&["-C", &beside, "status", "--json"]).success();
    assert!(status.stdout.contains("\"taken_back\""), "{status}");
}
