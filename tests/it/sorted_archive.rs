//! Task files that a person put into the archive, or sorted there by other folders than days: the name of the file is the task, wherever
//! it stands.

use std::fs;

use crate::environment::TestEnvironment;
use crate::merging::verified;

const DAY: &str = "tasks/archive/2026/02/16";

/// Moves the file there, and commits that if it is to be.
fn put(env: &TestEnvironment, from: &str, to: &str, is_committed: bool) {
    fs::create_dir_all(env.path(to).parent().unwrap()).unwrap();
    fs::rename(env.path(from), env.path(to)).unwrap();
    if is_committed {
        env.commit_all("sorted");
    }
}

fn is_home(env: &TestEnvironment, id: &str) {
    assert_eq!(env.files("tasks"), [format!("tasks/{id}.md")]);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let _ = verified(env).success();
}

#[test]
fn an_active_task_in_the_archive_is_told_of_and_comes_back() {
    for folder in ["tasks/archive", "tasks/archive/2026-Q1", DAY, "tasks/archive/2026/02/16/later"]
    {
        for is_committed in [true, false] {
            for command in [&["watch", "--once"][..], &["doctor", "--fix"]] {
                let env = TestEnvironment::new();
                let id = env.new_task(&["Add login"]);
                let text = env.task_text(&id);
                put(&env, &format!("tasks/{id}.md"), &format!("{folder}/{id}.md"), is_committed);
                let case = format!("{folder}, committed: {is_committed}, {command:?}");
                let told = env.aof(&["status"]).success().stdout;
                let place = "1 task has its file where its status does not belong: AOF-xxxxx";
                assert!(told.contains(place) && !told.contains("is gone"), "{case}\n{told}");
                assert!(env.aof(&["doctor"]).stdout.contains(place), "{case}");
                assert_eq!(
                    env.aof(&["task", "show", &id, "--json"]).success().json()["status"],
                    "ready",
                    "{case}"
                );
                let _ = env.aof(command);
                is_home(&env, &id);
                assert_eq!(env.task_text(&id), text, "{case}: no other byte changes");
                let head = env.head();
                let _ = env.aof(&["watch", "--once"]).success();
                assert_eq!(env.head(), head, "{case}");
                assert!(
                    !env.aof(&["status"]).success().stdout.contains("does not belong"),
                    "{case}"
                );
            }
        }
    }
}

#[test]
fn what_is_done_with_an_active_task_in_the_archive_brings_it_back() {
    for is_committed in [true, false] {
        let env = TestEnvironment::new();
        let id = env.new_task(&["Add login"]);
        put(&env, &format!("tasks/{id}.md"), &format!("tasks/archive/{id}.md"), is_committed);
        let _ = env.complete(&id, "agent-7").success();
        is_home(&env, &id);
        put(&env, &format!("tasks/{id}.md"), &format!("tasks/archive/{id}.md"), is_committed);
        env.write(
            ".aof/inbox/c.yaml",
            format!("task: {id}\nagent: agent-3\noutcome: complete\nsummary: x\n"),
        );
        let _ = env.aof(&["watch", "--once"]).success();
        assert_eq!(env.files("tasks").len(), 1);
        assert!(
            env.task_path(&id).starts_with("tasks/archive/")
                && env.task_text(&id).contains("status: complete")
        );
        assert_eq!(env.git(&["status", "--porcelain"]), "");
        let _ = verified(&env).success();
    }
}

#[test]
fn a_finished_task_stays_where_a_person_sorted_it() {
    let env = TestEnvironment::new();
    let _ = env.aof(&["doctor", "--fix"]);
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["task", "cancel", &id, "--reason", "Not now"]).success();
    let sorted = format!("tasks/archive/2026-Q1/{id}.md");
    put(&env, &format!("{DAY}/{id}.md"), &sorted, true);
    let _ = env.aof(&["watch", "--once"]).success();
    assert!(!env.aof(&["status"]).success().stdout.contains("AOF-xxxxx"));
    let _ = env.aof(&["doctor"]).success();
    assert_eq!(env.aof(&["task", "show", &id, "--json"]).success().json()["status"], "cancelled");
    assert!(env.aof(&["task", "history", &id]).success().stdout.contains("Not now"));
    let _ = env.aof(&["task", "comment", &id, "Mind the tokens"]).success();
    assert_eq!(env.task_path(&id), sorted);
    let _ = env.aof(&["task", "reopen", &id, "--to", "implement", "--reason", "Now"]).success();
    is_home(&env, &id);
}

#[test]
fn of_two_files_that_people_sorted_nobody_says_which_counts() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["task", "cancel", &id, "--reason", "Not now"]).success();
    put(&env, &format!("{DAY}/{id}.md"), &format!("tasks/archive/one/{id}.md"), false);
    fs::create_dir_all(env.path("tasks/archive/two")).unwrap();
    fs::copy(
        env.path(&format!("tasks/archive/one/{id}.md")),
        env.path(&format!("tasks/archive/two/{id}.md")),
    )
    .unwrap();
    env.commit_all("sorted twice");
    let shown = env.aof(&["task", "show", &id]);
    assert!(
        shown.stderr.contains("tasks/archive/one") && shown.stderr.contains("tasks/archive/two"),
        "{shown}"
    );
    // What stands by day counts, as it always did.
    put(&env, &format!("tasks/archive/two/{id}.md"), &format!("{DAY}/{id}.md"), true);
    assert_eq!(
        env.aof(&["task", "show", &id, "--json"]).success().json()["path"],
        env.plain(&format!("{DAY}/{id}.md"))
    );
}
