//! Several worktrees of one repository: each has a branch, and so tasks, of its own.

use std::collections::BTreeSet;

use insta::assert_snapshot;

use crate::support::environment::{Output, TestEnvironment};
use crate::support::terminal::Seat;

/// A project with these tasks, and a second worktree beside it, on the branch `feature`.
fn two_worktrees(tasks: usize) -> (TestEnvironment, Vec<String>) {
    let env = TestEnvironment::new();
    let ids = (0..tasks).map(|number| env.new_task(&[&format!("Task {number}")])).collect();
    env.git(&["worktree", "add", "--quiet", "-b", "feature", "../feature"]);
    (env, ids)
}

fn in_feature(env: &TestEnvironment, args: &[&str]) -> Output {
    let mut command = env.aof_command(args);
    command.current_dir(env.path("../feature"));
    env.run(command)
}

#[test]
fn no_task_is_handed_out_in_two_worktrees() {
    let (env, ids) = two_worktrees(1);
    let id = &ids[0];
    let _ = env.aof(&["task", "next", "--agent", "agent-7"]).success();
    let next = in_feature(&env, &["task", "next", "--agent", "agent-8"]).success();
    assert_snapshot!(env.plain(&next.stderr), @"
    warning: `agent-7` has `AOF-xxxxx@0` in the worktree `$PROJECT` (branch `main`); `aof status` says more
    nothing to do for `agent-8` in role `backend`
    1 task is there, but claimed, blocked or waiting; see `aof list --role backend`
    ");
    assert_eq!(next.stdout, "");
    let assigned = in_feature(&env, &["task", "assign", "--claim", id, "agent-8"]).code(5);
    assert_snapshot!(env.plain(&assigned.stderr), @"
    error: `agent-7` has `AOF-xxxxx@0` in the worktree `$PROJECT` (branch `main`)

    hint: bring its tasks here with `git merge main`; or take another with `aof next`
    ");
    assert_snapshot!(env.plain(&in_feature(&env, &["status"]).stdout), @"
    on feature
    1 open: 1 ready

    what waits for you is unknown: no agent of org.yaml has git's `user.email`

    Problems: 2
      ! no watcher is running
        start one with `aof watch`; without it, commands work but dropped files and edits wait
      ! 1 task differs in the worktree `$PROJECT` (branch `main`): AOF-xxxxx (held by `agent-7`)
        bring its tasks here with `git merge main`
    ");
    let issues = in_feature(&env, &["doctor", "--json"]).json();
    let codes: Vec<&str> = issues["complaints"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|issue| issue["code"].as_str())
        .collect();
    assert!(codes.contains(&"worktrees_differ"), "{codes:?}");
    // Whoever takes the risk may.
    let next =
        in_feature(&env, &["task", "next", "--agent", "agent-8", "--offline", "--json"]).success();
    assert_eq!(next.json()["task"]["title"], "Task 0");
}

#[test]
fn one_ticket_counts_in_one_worktree() {
    let (env, ids) = two_worktrees(2);
    let answer = ["--outcome", "complete", "--summary", "Did it"];
    let complete = |id: &str, agent: &str| {
        let words = [&["task", "complete", id, "--agent", agent][..], &answer].concat();
        words.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let here = |words: &[String]| env.aof(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let there =
        |words: &[String]| in_feature(&env, &words.iter().map(String::as_str).collect::<Vec<_>>());
    let (held, free) = (&ids[0], &ids[1]);
    let _ = env.aof(&["task", "assign", "--claim", held, "agent-7"]).success();
    let refused = there(&complete(held, "agent-8")).code(5);
    assert!(refused.stderr.contains("`agent-7` has `AOF-xxxxx@0` in the worktree"), "{refused}");
    let _ = here(&complete(held, "agent-7")).success();
    let _ = there(&complete(free, "agent-8")).success();
    let refused = here(&complete(&format!("{free}@0"), "agent-7")).code(5);
    assert!(refused.stderr.contains("in the worktree `"), "{refused}");
    env.git(&["merge", "--quiet", "--no-edit", "feature"]);
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn a_task_that_has_gone_on_elsewhere_waits_for_a_merge() {
    let (env, ids) = two_worktrees(1);
    let id = &ids[0];
    let _ = env.complete(id, "agent-7").success();
    let next = in_feature(&env, &["task", "next", "--agent", "agent-8", "--json"]).success().json();
    assert!(next["task"].is_null(), "{next}");
    // Here it is not behind.
    let next = env.aof(&["task", "next", "--agent", "agent-3", "--json"]).success().json();
    assert_eq!(next["task"]["title"], "Task 0");
    let _ = env.aof(&["task", "release", id, "--agent", "agent-3"]).success();
    env.git(&["-C", "../feature", "merge", "--quiet", "main"]);
    let next = in_feature(&env, &["task", "next", "--agent", "agent-3", "--json"]).success().json();
    assert_eq!(next["task"]["title"], "Task 0");
}

#[test]
fn agents_that_ask_at_once_in_two_worktrees_get_different_tasks() {
    let (env, ids) = two_worktrees(6);
    let mut taken = Vec::new();
    for _ in 0..ids.len() {
        let ask = |agent: &str, folder: &str| {
            let mut command =
                env.aof_command(&["task", "next", "--another", "--agent", agent, "--json"]);
            command.current_dir(env.path(folder));
            command.stdout(std::process::Stdio::piped()).spawn().unwrap()
        };
        let both = [ask("agent-7", "."), ask("agent-8", "../feature")];
        for child in both {
            let next = env.finish("task next", child).success().json();
            taken.extend(next["task"]["title"].as_str().map(str::to_owned));
        }
    }
    let once: BTreeSet<String> = taken.iter().cloned().collect();
    assert_eq!(once.len(), taken.len(), "{taken:?}");
    assert_eq!(once.len(), ids.len());
}

#[test]
fn the_watcher_hands_out_no_task_that_another_worktree_has() {
    let env = TestEnvironment::new();
    env.edit("org.yaml", "backend: {agents", "backend: {handOut: least-loaded, agents");
    env.commit_all("hand out");
    let _ = env.new_task(&["Task"]);
    env.git(&["worktree", "add", "--quiet", "-b", "feature", "../feature"]);
    let given = env.aof(&["sweep", "--json"]).success().json();
    assert_eq!(given["given"].as_array().unwrap().len(), 1, "{given}");
    let given = in_feature(&env, &["sweep", "--json"]).success().json();
    assert_eq!(given["given"].as_array().unwrap().len(), 0, "{given}");
}

#[test]
fn init_offers_a_separate_branch_beside_code() {
    let env = TestEnvironment::without_rules();
    env.write("code.txt", "one\n");
    env.commit_all("code");
    let begun = env.aof(&["init", "--agents", "--observability"]).success();
    let note = begun.stdout.lines().last().unwrap();
    assert_snapshot!(note, @"  or: aof migrate branch  keep tasks on a branch of their own");
    let _ = env.aof(&["migrate", "branch"]).success();
    assert!(env.exists(".aof/branch/org.yaml") && env.exists("AGENTS.md"));
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let env = TestEnvironment::without_rules();
    env.write("code.txt", "one\n");
    env.commit_all("code");
    let mut seat = Seat::of(&env, &["init", "--agents"]);
    seat.shows("own, `aof` (recommended), or `here`, on `main`? [aof] ");
    seat.types("hre");
    seat.shows("press Enter, or type `here`");
    seat.types("");
    let (status, screen) = seat.ends();
    assert!(status.success(), "{screen}");
    assert!(env.git(&["log", "--format=%s", "aof"]).lines().count() >= 2);
    assert!(env.exists(".aof/branch/org.yaml"));
    assert!(env.exists("AGENTS.md") && !env.exists(".aof/branch/AGENTS.md"));
    let (status, screen) = Seat::of(&env, &["init"]).ends();
    assert!(!status.success() && !screen.contains("[aof]"), "{screen}");
}

#[test]
fn init_asks_at_a_terminal_unless_a_flag_answers() {
    let repository = || {
        let env = TestEnvironment::without_rules();
        env.write("code.txt", "one\n");
        env.commit_all("code");
        env
    };
    let env = repository();
    let mut seat = Seat::of(&env, &["init"]);
    seat.shows("[aof] ");
    seat.types("here");
    let (status, screen) = seat.ends();
    assert!(status.success() && !screen.contains("or:"), "{screen}");
    assert!(env.exists("org.yaml") && env.git(&["branch", "--list", "aof"]).is_empty());
    let env = repository();
    let mut seat = Seat::of(&env, &["init"]);
    seat.shows("[aof] ");
    seat.presses("\u{4}");
    let (status, screen) = seat.ends();
    assert!(!status.success() && screen.contains("no branch was chosen"), "{screen}");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    for (flag, folder) in [(&["--here"][..], "."), (&["--branch", "tasks"], ".aof/branch")] {
        let env = repository();
        let (status, screen) = Seat::of(&env, &[&["init"], flag].concat()).ends();
        assert!(status.success() && !screen.contains("[aof]"), "{screen}");
        assert!(!screen.contains("or:") && env.exists(&format!("{folder}/org.yaml")), "{screen}");
    }
    let env = repository();
    let both = env.aof(&["init", "--here", "--branch", "tasks"]).code(2);
    assert!(both.stderr.contains("cannot be used with"), "{both}");
    let here = env.aof(&["init", "--here"]).success();
    assert!(!here.stdout.contains("or:"), "{here}");
}
