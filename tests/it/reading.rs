//! Looking: lists, tasks, histories; nothing that is broken hides the rest, and nothing that is read is changed.

use insta::assert_snapshot;

use crate::checker::check;
use crate::environment::TestEnvironment;

/// A project in which much has gone well, and something has not.
fn project() -> TestEnvironment {
    let env = TestEnvironment::new();
    for (id, title) in [("AOF-aaa", "Add login"), ("AOF-bbb", "Tidy up"), ("AOF-ccc", "Fix it")] {
        env.hand_made(id, title);
        let _ = env.complete(id, "agent-7");
    }
    let _ = env
        .say("AOF-bbb", "agent-3", "needs_review", &["--blocker", "The cellar is still untidy"])
        .success();
    let _ = env.complete("AOF-ccc", "agent-3");
    env
}

#[test]
fn one_unreadable_task_never_hides_the_others() {
    let env = project();
    env.write("tasks/AOF-bad.md", "---\ntitle: [\n---\n");
    assert_snapshot!(env.aof(&["task", "list"]), @"
    exit 6
    --- stdout
    ID       TITLE      GATE       STATUS  WHO        AGE
    AOF-aaa  Add login  review     ready   architect   5s
    AOF-bbb  Tidy up    implement  ready   backend     2s
    --- stderr
    error: `tasks/AOF-bad.md:2:8` cannot be read as a task: not valid YAML: unclosed bracket '['
    see more of each, and all of them, with `-v`
    ");
    let listed = env.aof(&["task", "list", "--json"]).code(6).json();
    let ids: Vec<&str> = listed["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["AOF-aaa", "AOF-bbb"]);
    for args in [
        &["status"][..],
        &["gate", "status"],
        &["task", "show", "AOF-aaa"],
        &["task", "history", "AOF-aaa"],
    ] {
        let output = env.aof(args);
        assert!(!output.stdout.is_empty(), "{args:?}: {output}");
    }
    let _ = env.aof(&["task", "next", "--agent", "agent-3"]).success();
}

#[test]
fn reading_changes_nothing_and_needs_no_right_to_write() {
    let env = project();
    let everything = || (env.files("tasks"), env.files(".git"), env.head());
    let was = everything();
    for args in [
        &["task", "list", "--all"][..],
        &["task", "show", "AOF-aaa"],
        &["task", "history", "AOF-bbb"],
        &["task", "brief", "AOF-bbb"],
        &["why", "AOF-bbb"],
        &["status"],
        &["gate", "status"],
        &["stats"],
        &["workflow", "list"],
        &["workflow", "show"],
        &["workflow", "graph"],
        &["workflow", "validate"],
        &["org", "show"],
        &["org", "validate"],
    ] {
        let output = env.aof(args).success();
        assert!(!output.stdout.is_empty(), "{args:?}");
        let json = env.aof(&[args, &["--json"]].concat()).success().json();
        assert_eq!(json["jsonVersion"], 1, "{args:?}");
    }
    assert_eq!(everything(), was);
    check(&env);
}

#[test]
fn while_git_is_busy_reading_goes_on() {
    let env = project();
    env.git(&["checkout", "--quiet", "--detach"]);
    env.write(".git/index.lock", "");
    for args in [
        &["task", "list"][..],
        &["task", "show", "AOF-aaa"],
        &["task", "history", "AOF-aaa"],
        &["status"],
    ] {
        let _ = env.aof(args).success();
    }
}

#[test]
fn what_agents_wrote_cannot_speak_to_the_terminal() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["\u{1b}[31mAdd\u{7} login\u{202e}", "--tag", "\u{1b}[32mtag\u{202e}"]);
    let _ = env
        .say(
            &id,
            "agent-7",
            "blocked",
            &["--blocker", "\u{1b}]0;owned\u{7}", "--notes", "\u{9b}31m"],
        )
        .success();
    for args in [
        &["task", "list"][..],
        &["task", "show", &id],
        &["task", "history", &id],
        &["task", "brief", &id],
        &["why", &id],
        &["status"],
        &["stats"],
        &["stats", "--by", "tag"],
    ] {
        let output = env.aof(args);
        let bad = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202a}'..='\u{202e}');
        assert!(
            !output.stdout.contains(bad) && !output.stderr.contains(bad),
            "{args:?}: {:?}",
            output.stdout
        );
    }
}

#[test]
fn a_history_reads_like_a_story() {
    let env = project();
    assert_snapshot!(env.aof(&["task", "history", "AOF-bbb"]), @"
    exit 0
    --- stdout
    Gate: implement (backend)
      Agent: agent-7
      Duration: 0s
      Outcome: complete -> review
      Summary: Did it

    Gate: review (architect)
      Agent: agent-3
      Duration: 2s
      Outcome: needs_review -> implement
      Summary: Did it
      Blockers:
        - The cellar is still untidy

    Gate: implement (backend) [CURRENT]
      Duration: 2s (waiting)
      Review context: 1 blocker from review
    ");
}
