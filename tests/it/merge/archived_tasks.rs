//! Where git puts the file of a task that one side archived and the other went on with: it is listed, told of, and brought home.

use std::fs;

use insta::assert_snapshot;

use crate::support::environment::TestEnvironment;
use crate::support::merge_scene::{aside, forked, verified};

/// Returns a project with one task, in which git merges tasks by their meaning.
fn scene() -> (TestEnvironment, String) {
    let env = TestEnvironment::new();
    let _ = env.aof(&["doctor", "--fix"]);
    let body =
        (1..30).map(|line| format!("What is to be done, part {line}.\n")).collect::<String>();
    let id = env.new_task(&["Add login", "--body", &body]);
    (env, id)
}

/// Merges a side that finished and archived the task into one that sent it back: it is open, and stands in the archive.
fn open_in_the_archive() -> (TestEnvironment, String) {
    let (env, id) = scene();
    let _ = env.complete(&id, "agent-7").success();
    aside(&env, "side", || {
        let _ = env.complete(&id, "agent-3").success();
    });
    let _ = env.say(&id, "agent-3", "needs_review", &["--blocker", "No tests"]).success();
    env.git(&["merge", "-q", "--no-edit", "side"]);
    assert!(env.task_path(&id).starts_with("tasks/archive/"), "{}", env.task_path(&id));
    (env, id)
}

fn is_home(env: &TestEnvironment, id: &str) {
    assert_eq!(env.task_path(id), format!("tasks/{id}.md"));
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let _ = verified(env).success();
    assert!(!env.aof(&["status"]).success().stdout.contains("does not belong"));
}

#[test]
fn an_open_task_in_the_archive_is_reported_and_listed_like_any_other() {
    let (env, id) = open_in_the_archive();
    assert_snapshot!(env.plain(&env.aof(&["status"]).success().stdout), @"
    on main
    1 open: 1 ready

    what waits for you is unknown: no agent of org.yaml has git's `user.email`

    Problems: 2
      ! 1 task has its file where its status does not belong: AOF-xxxxx
        `aof watch` moves it to where it belongs; `aof doctor --fix` does it now
      ! no watcher is running
        start one with `aof watch`; without it, commands work but dropped files and edits wait
    ");
    for args in [
        &["task", "list"][..],
        &["task", "list", "--status", "in_progress", "--status", "ready"],
        &["task", "list", "--all"],
    ] {
        let listed = env.aof(args).success();
        assert_eq!(listed.stdout.matches("Add login").count(), 1, "{listed}");
    }
    let report = env.aof(&["gate", "status"]).success();
    assert!(report.stdout.contains("implement"), "{report}");
    assert_eq!(env.aof(&["task", "show", &id, "--json"]).success().json()["status"], "ready");
    let _ = env.aof(&["why", &id]).success();
    let _ = env.aof(&["task", "brief", &id]).success();
    // What it waits for is looked up there as well.
    env.new_task(&["Then", "--depends", &id]);
    let ready = env.aof(&["task", "list", "--ready", "--json"]).success();
    let ready = ready.json();
    let titles: Vec<&str> = ready["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|task| task["title"].as_str())
        .collect();
    assert_eq!(titles, ["Add login"]);
}

#[test]
fn an_open_task_in_the_archive_is_listed_once_its_file_is_back() {
    let (env, id) = open_in_the_archive();
    let path = env.task_path(&id);
    let listed = || env.aof(&["task", "list"]).success().stdout.contains("Add login");
    // Neither the first look at the commit nor a later one is misled by what is in the worktree just then.
    for forget_cached_settings in [true, false] {
        if forget_cached_settings {
            let _ = fs::remove_file(env.path(".aof/archive"));
        }
        fs::remove_file(env.path(&path)).unwrap();
        assert!(!listed());
        env.git(&["restore", &path]);
        assert_eq!(env.git(&["status", "--porcelain"]), "");
        assert!(listed(), "looked anew: {forget_cached_settings}");
    }
}

#[test]
fn every_act_on_an_open_task_in_the_archive_brings_it_home() {
    let next = |env: &TestEnvironment, _: &str| env.aof(&["task", "next", "--agent", "agent-8"]);
    let complete = |env: &TestEnvironment, id: &str| env.say(id, "agent-7", "complete", &[]);
    let edit =
        |env: &TestEnvironment, id: &str| env.aof(&["task", "edit", id, "--title", "Log in"]);
    let comment = |env: &TestEnvironment, id: &str| {
        env.aof(&["task", "comment", id, "-m", "Mind the tokens"])
    };
    for step in [&next as &dyn Fn(&TestEnvironment, &str) -> _, &complete, &edit, &comment] {
        let (env, id) = open_in_the_archive();
        let _ = step(&env, &id).success();
        is_home(&env, &id);
    }
    let (env, id) = open_in_the_archive();
    let before = env.task_path(&id);
    let _ = env.aof(&["task", "cancel", &id, "--reason", "Not now"]).success();
    assert_eq!(env.task_path(&id), before, "it is finished, and stands where it belongs");
    let _ = verified(&env).success();
}

#[test]
fn the_watcher_brings_home_open_tasks_that_a_merge_archived() {
    let (env, id) = open_in_the_archive();
    let text = env.task_text(&id);
    let watched = env.aof(&["watch", "--once"]).success();
    assert!(watched.stdout.contains("moved to `tasks`, where it belongs"), "{watched}");
    is_home(&env, &id);
    assert_eq!(env.task_text(&id), text, "no other byte changes");
    assert_snapshot!(env.plain(&env.git(&["log", "-1", "--format=%an: %B"])), @"
    Ada: AOF-xxxxx: moved to tasks

    Aof-Task: AOF-xxxxx
    Aof-Event: edited
    ");
    let head = env.head();
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!(env.head(), head);
}

#[test]
fn the_watcher_leaves_it_while_somebody_edits_it_or_git_is_busy() {
    let (env, id) = open_in_the_archive();
    env.write(
        "project.yaml",
        format!("{}watch: {{commitEdits: false}}\n", crate::support::environment::PROJECT),
    );
    env.commit_all("edits are ours");
    let path = env.task_path(&id);
    let before = env.read(&path);
    env.edit(&path, "title: Add login", "title: Log in");
    let head = env.head();
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!((env.head(), env.task_path(&id)), (head, path.clone()));
    env.write(&path, before);
    env.git(&["branch", "other", "HEAD~1"]);
    env.git(&["merge", "-q", "--no-commit", "--no-ff", "-s", "ours", "side"]);
    env.git(&["checkout", "-q", "--detach"]);
    let head = env.head();
    let _ = env.aof(&["watch", "--once"]);
    assert_eq!((env.head(), env.task_path(&id)), (head, path));
    env.git(&["checkout", "-q", "main"]);
    let _ = env.aof(&["watch", "--once"]).success();
    is_home(&env, &id);
}

#[test]
fn a_task_that_a_merge_finishes_is_brought_into_the_archive() {
    let (env, _) = scene();
    env.write("project.yaml", forked(""));
    env.commit_all("a fork at the end");
    let id = env.new_task(&["Add login", "--body", &"A line of text.\n".repeat(20)]);
    let _ = env.complete(&id, "agent-7").success();
    aside(&env, "side", || {
        let _ = env.complete(&format!("{id}@1/speed"), "agent-3").success();
    });
    let _ = env.complete(&format!("{id}@1/security"), "agent-7").success();
    env.git(&["merge", "-q", "--no-edit", "side"]);
    assert_eq!(env.task_path(&id), format!("tasks/{id}.md"));
    assert!(env.task_text(&id).contains("status: complete"));
    let status = env.aof(&["status"]).success();
    assert!(
        status.stdout.contains("1 task has its file where its status does not belong"),
        "{status}"
    );
    let _ = env.aof(&["watch", "--once"]).success();
    assert!(env.task_path(&id).starts_with("tasks/archive/2026/02/16/"), "{}", env.task_path(&id));
    assert!(!env.aof(&["status"]).success().stdout.contains("does not belong"));
    let _ = verified(&env).success();
}
