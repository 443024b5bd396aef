//! Both sides went on: tasks are merged by meaning, and what people have to settle is left to them.

use std::fs;

use insta::assert_snapshot;

use crate::support::clones::{Clones, without_commits};
use crate::support::environment::PROJECT;

#[test]
fn a_merge_of_other_files_is_left_to_their_author() {
    let clones = Clones::new(PROJECT, &["b"]);
    clones.env.new_task(&["Add login"]);
    clones.does(".", &["sync"]);
    clones.env.write("../b/code.txt", "mine\n");
    clones.git("b", &["add", "--all"]);
    clones.git("b", &["commit", "--quiet", "--message", "code"]);
    let head = clones.head("b");
    let output = clones.sync("b");
    assert_eq!(output.code, Some(5));
    assert_snapshot!(output.stdout.replace(&head[..7], "COMMIT"), @"
    ! `origin/main` went on, and commit COMMIT here changes `code.txt`, which is no task: that merge is left to git
      run `git pull --no-rebase origin main`, then `aof sync`; tasks are merged by meaning there too, but what you have stands there, since you merge into your branch
    ");
    assert_eq!(clones.head("b"), head);
    clones.git("b", &["pull", "--quiet", "--no-rebase", "--no-edit"]);
    clones.does("b", &["sync"]);
    clones.does(".", &["sync"]);
    assert_eq!(clones.head("."), clones.head("b"));
}

/// Everything that is different about the two sides of one task, in one story.
#[test]
fn both_sides_went_on() {
    let clones = Clones::new(PROJECT, &["b"]);
    let [both, here, there] = ["Both", "Here", "There"].map(|title| clones.env.new_task(&[title]));
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    // One task goes on here, one there, and one on both sides: what the remote had first counts.
    clones.completes(".", &both, "agent-1");
    clones.completes(".", &here, "agent-1");
    clones.completes("b", &both, "agent-2");
    clones.completes("b", &there, "agent-2");
    clones.does(".", &["sync"]);
    let output = clones.sync("b").success();
    let merge = clones.head("b");
    let plain = |text: &str| {
        text.replace(&merge[..7], "MERGE")
            .replace(&both, "BOTH")
            .replace(&here, "HERE")
            .replace(&there, "THERE")
    };
    assert_snapshot!(without_commits(&plain(&output.stdout)), @"
    Came
      COMMIT AOF-xxxxx: implement -> review (complete) (agent-1)
      COMMIT AOF-xxxxx: implement -> review (complete) (agent-1)
    Went
      COMMIT AOF-xxxxx: implement -> review (complete) (agent-2)
      COMMIT AOF-xxxxx: implement -> review (complete) (agent-2)
    Merged as MERGE
    Superseded, because the remote had another one first
      ! AOF-xxxxx@0 ULID by agent-2 (complete)
    in step with origin/main
    ");
    let message = clones.env.plain(&plain(&clones.git("b", &["log", "-1", "--format=%an%n%B"])));
    assert_snapshot!(message, @"
    Ada
    sync: merge 2 commits into origin/main

    Aof-Superseded: BOTH@0 ULID by agent-2 (complete)
    ");
    // Its first parent is what the remote had.
    let first = clones.git("b", &["rev-parse", "HEAD^1"]);
    assert_eq!(first, clones.head("."));
    clones.does(".", &["sync"]);
    assert_eq!(clones.head("."), merge);
    assert_eq!((clones.status("."), clones.status("b")), (String::new(), String::new()));
    clones.does("b", &["verify"]);
    for (id, agent) in [(&both, "agent-1"), (&here, "agent-1"), (&there, "agent-2")] {
        let task = clones.aof("b", &["task", "show", id, "--json"]).success().json();
        assert_eq!(task["gateHistory"][0]["agent"], agent, "{id}");
        assert_eq!(task["gateHistory"].as_array().map(Vec::len), Some(1), "{id}");
    }
}

#[test]
fn a_task_that_was_finished_on_one_side_or_on_both_is_in_one_place() {
    let clones = Clones::new(PROJECT, &["b"]);
    let [one, two] = ["One", "Two"].map(|title| clones.env.new_task(&[title]));
    for id in [&one, &two] {
        clones.completes(".", id, "agent-1");
    }
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    // One is finished here and its title changed there; the other is finished on both sides, on different days.
    clones.completes(".", &one, "agent-9");
    clones.does("b", &["task", "edit", &one, "--title", "One, as it was meant"]);
    clones.completes(".", &two, "agent-9");
    clones.env.pass_minutes(3 * 24 * 60);
    clones.completes("b", &two, "agent-9");
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    clones.does(".", &["sync"]);
    let files = clones.env.files("tasks");
    let expected: Vec<String> = {
        let mut ids = [&one, &two].map(|id| format!("tasks/archive/2026/02/16/{id}.md")).to_vec();
        ids.sort();
        ids
    };
    assert_eq!(files, expected);
    assert!(clones.env.task_text(&one).contains("One, as it was meant"));
    clones.does(".", &["verify"]);
    assert_eq!((clones.status("."), clones.status("b")), (String::new(), String::new()));
}

#[test]
fn text_that_people_wrote_on_both_sides_is_left_to_people() {
    let clones = Clones::new(PROJECT, &["b"]);
    let id = clones.env.new_task(&["Add login"]);
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    clones.does(".", &["task", "edit", &id, "--title", "Add a login"]);
    clones.does("b", &["task", "edit", &id, "--title", "Add logins"]);
    clones.does(".", &["sync"]);
    let head = clones.head("b");
    let output = clones.sync("b");
    assert_eq!(output.code, Some(5));
    assert_snapshot!(output.stdout, @"
    ! `origin/main` went on, and people have to merge: `tasks/AOF-xxxxx.md`: both sides changed `title`
      nothing was changed; run `git pull --no-rebase origin main`, solve what is marked, and commit; then `aof sync`
    ");
    assert_eq!((clones.head("b"), clones.status("b")), (head, String::new()));
}

#[test]
fn two_projects_in_one_repository_are_each_merged_by_their_own_rules() {
    let clones = Clones::new(PROJECT, &[]);
    clones.env.write(
        "shop/project.yaml",
        "project: {idPrefix: SHOP}\nworkflow: {gates: [{id: sell, role: seller}]}\n",
    );
    clones.env.write("shop/org.yaml", "roles: {seller: {agents: [agent-5, agent-6]}}\n");
    clones.env.commit_all("shop");
    let here = clones.env.new_task(&["Add login"]);
    let made = clones.aof(".", &["-C", "shop", "task", "new", "Sell"]).success();
    let sold =
        fs::read_dir(clones.env.path("shop/tasks")).unwrap().next().unwrap().unwrap().file_name();
    let sold = sold.to_str().unwrap().trim_end_matches(".md").to_owned();
    assert!(made.stdout.contains("created"));
    clones.does(".", &["sync"]);
    clones.env.git(&["clone", "--quiet", "../hub.git", "../b"]);
    clones.completes(".", &here, "agent-1");
    clones.does(".", &["sync"]);
    clones.completes("b", &here, "agent-2");
    clones.does(
        "b",
        &[
            "-C",
            "shop",
            "task",
            "complete",
            &sold,
            "--agent",
            "agent-6",
            "--outcome",
            "complete",
            "--summary",
            "Sold",
        ],
    );
    // Synced from the other project's folder, both are merged.
    let output = clones.aof("b", &["-C", "shop", "sync"]).success();
    assert!(output.stdout.contains("Superseded"), "{}", output.stdout);
    clones.does(".", &["sync"]);
    assert_eq!(clones.head("."), clones.head("b"));
    assert_eq!((clones.status("."), clones.status("b")), (String::new(), String::new()));
    assert!(clones.env.files("shop/tasks/archive").len() == 1);
}
