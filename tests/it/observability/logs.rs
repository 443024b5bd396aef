//! What the program tells of its work: nothing by default, on stderr with `-v`, one JSON object a line for programs.

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::environment::{Output, TestEnvironment};
use crate::support::watcher::drop_file;

/// Returns the log with what took how long made the same.
fn log(output: &Output) -> String {
    let mut text = String::new();
    for line in output.stderr.lines() {
        let timeless = line.split_once("seconds=").map_or(line, |(before, _)| before);
        text.push_str(timeless.trim_end());
        text.push('\n');
    }
    text
}

fn objects(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

#[test]
fn one_v_logs_changes_and_two_log_reads() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    assert_eq!(env.aof(&["task", "list"]).success().stderr, "");
    assert_eq!(env.aof(&["-v", "task", "list"]).success().stderr, "", "a look changes nothing");
    assert_snapshot!(log(&env.aof(&["-vv", "task", "list"]).success()), @"
    10:00:07.000 DEBUG reading the rules files=2
    10:00:07.000 DEBUG looked at the tasks cached=0 read=1 unreadable=0
    ");
    let output = env.aof(&[
        "-v",
        "task",
        "complete",
        &id,
        "--agent",
        "agent-7",
        "--outcome",
        "complete",
        "--summary",
        "Done",
    ]);
    assert_snapshot!(log(&output.success()), @r#"10:00:08.000  INFO committed taskId="AOF-xxxxx" commit=COMMIT path="tasks/AOF-xxxxx.md""#);
}

#[test]
fn for_programs_a_line_is_an_object() {
    let env = TestEnvironment::new();
    let output = env.aof(&["-vv", "--log-format", "json", "task", "new", "Add login"]).success();
    let lines = objects(&output.stderr);
    let committed = lines.iter().find(|line| line["message"] == "committed").unwrap();
    assert_eq!(committed["level"], "INFO");
    assert_eq!(committed["taskId"], "AOF-xxxxx");
    assert!(
        committed["timestamp"].as_str().unwrap().starts_with("2026-02-16T10:00:"),
        "{committed}"
    );
    assert!(
        committed["seconds"].as_f64().unwrap() > 0.0 && committed["commit"] == "COMMIT",
        "{committed}"
    );
    assert!(lines.iter().all(|line| line["level"].is_string() && line["timestamp"].is_string()));
    let quiet = env.aof(&["--log-format", "json", "task", "list"]).success();
    assert_eq!(quiet.stderr, "");
}

#[test]
fn the_watcher_logs_each_act_in_one_line_that_no_text_can_forge() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    drop_file(
        &env,
        "a\n{\"level\":\"INFO\"}.yaml",
        format!(
            "task: {id}\nagent: agent-7\noutcome: complete\nsummary: \"Done\\n{{\\\"level\\\": 1}}\"\n"
        ),
    );
    drop_file(
        &env,
        "b.yaml",
        format!("task: {id}\nagent: agent-3\noutcome: \"no\\nsuch \\e[2J\"\nsummary: Done\n"),
    );
    let output = env.aof(&["--log-format", "json", "watch", "--once"]);
    let lines = objects(&output.stdout);
    let of = |event: &str| {
        lines.iter().find(|line| line["event"] == event).unwrap_or_else(|| panic!("{output}"))
    };
    let completed = of("completed");
    for (field, value) in [
        ("level", "INFO"),
        ("message", "AOF-xxxxx implement → review by agent-7"),
        ("taskId", "AOF-xxxxx"),
        ("from", "implement"),
        ("gate", "review"),
        ("outcome", "complete"),
        ("agent", "agent-7"),
        ("commit", "COMMIT"),
    ] {
        assert_eq!(completed[field], value, "{field}");
    }
    let refused = of("refused");
    assert_eq!(refused["level"], "WARN");
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.starts_with("refused `b.yaml`: ") && !message.contains(['\n', '\u{1b}']),
        "{message}"
    );
    let plain = env.aof(&["watch", "--once"]).success();
    assert!(!plain.stdout.contains('{'), "{plain}");
}
