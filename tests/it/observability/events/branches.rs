//! Histories that were rewritten, merged, or went on elsewhere: each event is told once.

use serde_json::Value;

use crate::support::environment::TestEnvironment;
use crate::support::event_stream::{
    STREAM, lines, names, rebuilds_the_same, shown, similar, story, stream,
};

#[test]
fn a_new_beginning_of_history_is_reported_once() {
    let env = TestEnvironment::new();
    env.write(".gitignore", ".aof\n");
    env.write("README.md", "one\n");
    env.commit_all("base");
    env.git(&["branch", "side"]);
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let before = names(&stream(&env));
    assert_eq!(before, ["task_created", "gate_transition"]);
    env.git(&["switch", "--quiet", "side"]);
    env.write("README.md", "two\n");
    env.commit_all("side");
    assert_eq!(names(&stream(&env)), before);
    env.git(&["switch", "--quiet", "main"]);
    env.git(&["rebase", "--quiet", "side"]);
    assert_eq!(names(&stream(&env)), before, "the same changes on another base");
    env.git(&["reset", "--quiet", "--soft", "side"]);
    env.git(&["commit", "--quiet", "--message", "all in one"]);
    assert_eq!(names(&stream(&env)), before, "the same changes in one commit");
    let _ = env.complete(&id, "agent-3");
    let after = names(&stream(&env));
    assert_eq!(after[before.len()..], ["gate_transition", "task_complete"]);
    let _ = env.aof(&["events", "rebuild"]).success();
    assert_eq!(names(&env.read(STREAM)), after, "and so is history as it is now");
}

#[test]
fn commits_that_are_made_again_on_an_edit_of_the_same_task_are_reported_once() {
    let sorted = |text: &str| {
        let mut names = names(text);
        names.sort();
        names
    };
    for onto in ["main", "side"] {
        let (env, id) = crate::support::merge_scene::scene();
        stream(&env);
        crate::support::merge_scene::aside(&env, "side", || {
            let _ = env.aof(&["task", "next", "--agent", "agent-7"]).success();
            let _ = env.complete(&id, "agent-7").success();
            let _ = env.say(&id, "agent-3", "needs_review", &["--blocker", "No test"]).success();
            let _ = env.aof(&["task", "comment", &id, "-m", "Mind the tokens"]).success();
            stream(&env);
        });
        let path = env.task_path(&id);
        env.edit(&path, "Add login", "Log in");
        env.edit(&path, "done, part 9.", "done, and well, part 9.");
        env.commit_all("a better title");
        let before = sorted(&stream(&env));
        let expected = [
            "gate_rejection",
            "gate_transition",
            "gate_transition",
            "task_claimed",
            "task_commented",
        ];
        assert_eq!(
            before,
            [&expected[..], &["task_created", "task_created", "task_edited", "task_rerouted"]]
                .concat()
        );
        if onto == "main" {
            env.git(&["checkout", "-q", "side"]);
        }
        env.git(&["rebase", "--quiet", onto]);
        assert!(
            env.task_text(&id).contains("title: Log in") && env.task_text(&id).contains("and well")
        );
        assert_eq!(sorted(&stream(&env)), before, "onto {onto}");
        let _ = env.aof(&["events", "rebuild"]).success();
        assert_eq!(sorted(&env.read(STREAM)), before, "onto {onto}");
    }
}

#[test]
fn commits_that_were_gone_and_come_back_are_reported_once() {
    let env = TestEnvironment::new();
    env.write(".gitignore", ".aof\n");
    env.commit_all("base");
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let _ = env.complete(&id, "agent-3");
    let output = stream(&env);
    assert_eq!(
        names(&output),
        ["task_created", "gate_transition", "gate_transition", "task_complete"]
    );
    let tip = env.head();
    // Back to it at once, in two steps, and by a merge behind other work.
    env.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    similar(&output, &stream(&env));
    env.git(&["reset", "--quiet", "--hard", &tip]);
    similar(&output, &stream(&env));
    rebuilds_the_same(&env);
    env.git(&["reset", "--quiet", "--hard", "HEAD~2"]);
    similar(&output, &stream(&env));
    env.git(&["reset", "--quiet", "--hard", &format!("{tip}~1")]);
    similar(&output, &stream(&env));
    env.git(&["reset", "--quiet", "--hard", &tip]);
    similar(&output, &stream(&env));
    env.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    similar(&output, &stream(&env));
    let _ = env.new_task(&["Another"]);
    let more = stream(&env);
    assert_eq!(names(&more)[4..], ["task_created"]);
    env.git(&["merge", "--quiet", "--no-edit", &tip]);
    similar(&more, &stream(&env));
    let _ = env.aof(&["events", "rebuild"]).success();
    assert_eq!(env.read(STREAM).lines().count(), more.lines().count());
}

#[test]
fn rules_that_were_reported_hold_for_later_events() {
    let env = TestEnvironment::new();
    env.write(".gitignore", ".aof\n");
    env.commit_all("base");
    env.git(&["branch", "side"]);
    env.write(
        "project.yaml",
        format!("project: {{name: garden}}\n{}", crate::support::environment::PROJECT),
    );
    env.commit_all("a name");
    stream(&env);
    let _ = env.new_task(&["Add login"]);
    env.git(&["switch", "--quiet", "side"]);
    let _ = env.new_task(&["Another"]);
    env.git(&["switch", "--quiet", "main"]);
    env.git(&["rebase", "--quiet", "side"]);
    let text = stream(&env);
    let projects: Vec<Value> =
        lines(&text).into_iter().map(|line| line["project"].clone()).collect();
    assert_eq!(projects, ["project", "garden"], "{text}");
    rebuilds_the_same(&env);
}

#[test]
fn events_of_another_branch_are_reported_once() {
    for merge in [
        &["merge", "--quiet", "--ff-only", "side"][..],
        &["merge", "--quiet", "--no-ff", "--no-edit", "side"],
    ] {
        let env = TestEnvironment::new();
        let id = env.new_task(&["Add login"]);
        stream(&env);
        env.git(&["switch", "--quiet", "--create", "side"]);
        let _ = env.complete(&id, "agent-7");
        let _ = env.complete(&id, "agent-3");
        let output = names(&stream(&env));
        assert_eq!(output, ["task_created", "gate_transition", "gate_transition", "task_complete"]);
        env.git(&["switch", "--quiet", "main"]);
        assert_eq!(names(&stream(&env)), output);
        env.git(merge);
        assert_eq!(names(&stream(&env)), output, "{merge:?}");
        let _ = env.aof(&["events", "rebuild"]).success();
        assert_eq!(names(&env.read(STREAM)), output, "{merge:?}");
    }
}

#[test]
fn reported_events_of_a_branch_are_not_reported_again_with_new_ones() {
    let rejections = |env: &TestEnvironment| {
        let all = shown(env, &["--type", "gate_rejection", "--json"]).stdout;
        lines(&all).len()
    };
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    env.git(&["checkout", "-q", "-b", "side"]);
    let _ = env.say(&id, "agent-3", "needs_review", &["--blocker", "No test"]).success();
    assert_eq!(rejections(&env), 1);
    env.git(&["checkout", "-q", "-"]);
    env.git(&["merge", "-q", "--squash", "side"]);
    env.git(&["commit", "-q", "-m", "squashed"]);
    assert_eq!(rejections(&env), 1, "it was squashed");
    env.git(&["reset", "-q", "--hard", "HEAD~1"]);
    env.edit(&env.task_path(&id), "Add login", "Add a login");
    env.commit_all("a better title");
    assert_eq!(rejections(&env), 1);
    env.git(&["merge", "-q", "--no-edit", "side"]);
    assert_eq!(rejections(&env), 1, "it was merged with another change of its file");
    let edits = || shown(&env, &["--type", "task_edited"]).stdout.lines().count();
    assert_eq!(edits(), 1, "and so is the other change, which was told where it was made");
    let _ = env.aof(&["events", "rebuild"]).success();
    assert_eq!((rejections(&env), edits()), (1, 1));
}

#[test]
fn a_merge_reports_its_events_with_their_times() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    stream(&env);
    env.git(&["switch", "--quiet", "--create", "side"]);
    let _ = env.complete(&id, "agent-7");
    let _ = env.complete(&id, "agent-3");
    env.git(&["switch", "--quiet", "main"]);
    env.git(&["merge", "--quiet", "--no-ff", "--no-edit", "side"]);
    let text = stream(&env);
    assert_eq!(
        names(&text),
        ["task_created", "gate_transition", "gate_transition", "task_complete"]
    );
    let output = lines(&text);
    assert!(output[1]["timestamp"].as_str() < output[2]["timestamp"].as_str(), "{text}");
    assert_eq!(output[1]["commit"], env.head());
    rebuilds_the_same(&env);
}

#[test]
fn an_uncommitted_state_is_reported_once() {
    let env = TestEnvironment::new();
    let _ = story(&env);
    let text = stream(&env);
    let conflict = text.lines().find(|line| line.contains("gate_conflict")).unwrap();
    let id = lines(conflict)[0]["id"].as_str().unwrap().to_owned();
    for again in [&["events"][..], &["events", "rebuild"]] {
        let _ = env.new_task(&["Another"]);
        let _ = env.aof(again).success();
        let _ = env.new_task(&["One more"]);
        let before = stream(&env);
        env.write(&format!(".aof/events/{id}.json"), format!("{conflict}\n"));
        similar(&before, &stream(&env));
        assert_eq!(env.files(".aof/events"), [".aof/events/lock", ".aof/events/record"]);
    }
}
