//! Programs at their usage limits: no attempt counts, no task is blocked, and nothing is started before the limit ends.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::checker::check;
use crate::support::environment::{Output, TestEnvironment, eventually};
use crate::support::scripted_agents::{
    DONE, at_home, endings, history, one_gate, project_of, said_at_home, send, stand, timeless,
};

/// Fails at a limit as this says it, while `~/limit` is there; else does the work.
fn limited(says: &str) -> String {
    let says = format!("cat <<'END'\n{says}\nEND\nexit 1\n");
    format!(
        "cat > /dev/null\necho x >> \"$HOME/starts\"\nif [ -e \"$HOME/limit\" ]; then\n{says}fi\n{DONE}"
    )
}

/// A project with one agent, `reads: FORMAT`, that is at its limit.
fn at_limit(reads: &str, says: &str) -> TestEnvironment {
    let env = one_gate(&format!("reads: {reads}"), &limited(says));
    fs::write(at_home(&env, "limit"), "").unwrap();
    env
}

fn starts(env: &TestEnvironment) -> usize {
    said_at_home(env, "starts").lines().count()
}

fn run(env: &TestEnvironment, more: &[&str]) -> Output {
    env.aof(&[&["run", "--agent", "coder"], more].concat())
}

fn paused(env: &TestEnvironment) -> Value {
    env.aof_aside(&["status", "--json"]).success().json()["paused"].clone()
}

fn new_tasks(env: &TestEnvironment, count: usize) {
    let all: Vec<Value> = (0..count).map(|at| json!({"title": format!("Task {at}")})).collect();
    env.write("../home/tasks.json", json!(all).to_string());
    let _ = env.aof(&["new", "--from", "../home/tasks.json"]).success();
}

#[test]
fn a_queue_waits_for_the_end_of_the_limit_and_is_done_after_it() {
    const TASKS: usize = 40;
    let env = at_limit("claude", "You have hit your usage limit · resets 11:20am (UTC)");
    new_tasks(&env, TASKS);
    let runner = env.start(&["run", "--agent", "coder"]);
    eventually("the program pauses", || paused(&env) != json!([]));
    assert_eq!(paused(&env)[0]["until"], "2026-02-16T11:20:00Z");
    let count = |status: &str| {
        let listed = env.aof_aside(&["list", "--all", "--status", status, "--json"]).success();
        listed.json()["tasks"].as_array().unwrap().len()
    };
    eventually("the claim is given back", || count("ready") == TASKS);
    // What was started waits, and what is started now does so from the beginning.
    let other = run(&env, &["--once"]).code(7);
    assert_snapshot!(other.to_string(), @"
    exit 7
    --- stdout
    `sh` is at its usage limit, paused until 11:20 UTC, 0 visits so far
    --- stderr
    note: `sh` is at its usage limit, paused until 11:20 UTC: You have hit your usage limit · resets 11:20am (UTC); `aof run --now` does not wait
    ");
    send("TERM", &runner);
    let _ = env.finish("run", runner).code(130);
    assert_eq!((starts(&env), count("blocked")), (1, 0));
    check(&env);

    fs::remove_file(at_home(&env, "limit")).unwrap();
    env.pass_minutes(81);
    assert!(run(&env, &[]).success().stdout.contains("nothing is left to do, 40 visits"));
    assert_eq!((starts(&env), count("complete")), (1 + TASKS, TASKS));
    assert_eq!(env.read(".aof/paused"), "{}");
    check(&env);
}

#[test]
fn a_limit_is_known_from_the_errors_of_each_program_and_from_no_message() {
    let event = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"STATUS","resetsAt":1771243200,"rateLimitType":"five_hour"}}"#;
    let spoken = |of: &str| event.replace("STATUS", of);
    let claude = |text: &str, error: bool| {
        json!({"type": "result", "subtype": "success", "is_error": error, "result": text})
            .to_string()
    };
    let codex = |text: &str| json!({"type": "turn.failed", "error": {"message": text}}).to_string();
    let answer = "You have hit your usage limit. Try again in 2h 30m.";
    let cases: Vec<(&str, String, Option<&str>)> = vec![
        ("claude", "You've hit your limit · resets 2pm (Europe/Berlin)".to_owned(), Some("13:00")),
        ("claude", claude("Claude AI usage limit reached|1771243200", true), Some("12:00")),
        ("claude", spoken("rejected") + "\n" + &claude("", true), Some("12:00")),
        ("claude", spoken("rejected"), Some("12:00")),
        ("claude", spoken("allowed_warning") + "\n" + &claude("API Error: 500", true), None),
        ("claude", claude(answer, false), None),
        ("claude", claude("API Error: 529 Overloaded", true), None),
        ("codex", codex("You've hit your usage limit. Upgrade to Pro or try again at Feb 17th, 2026 3:00 AM."), Some("2026-02-17 03:00")),
        ("codex", codex("exceeded retry limit, last status: 429, retry-after: 3600"), Some("11:00")),
        ("codex", format!("{}\n{}", json!({"type": "item.completed", "item": {"type": "agent_message", "text": answer}}), codex("no network")), None),
        ("gemini", json!({"error": {"type": "TerminalQuotaError", "code": 429, "message": "Your quota will reset after 1h30m."}}).to_string(), Some("11:30")),
        ("gemini", json!({"response": answer, "stats": {}}).to_string(), None),
        ("opencode", json!({"type": "error", "error": {"name": "APIError", "data": {"message": "x", "statusCode": 429, "responseHeaders": {"retry-after": "7200"}}}}).to_string(), Some("12:00")),
        ("opencode", json!({"type": "text", "part": {"messageID": "m", "text": answer}}).to_string(), None),
        ("json", answer.to_owned(), None),
        ("text", answer.to_owned(), None),
    ];
    for (reads, says, until) in cases {
        let env = at_limit(&format!("{reads}, attempts: 1"), &says);
        let id = env.new_task(&["Add login"]);
        let output = run(&env, &["--once"]);
        let end = endings(&env, &format!("{id}@0"));
        if let Some(until) = until {
            let output = output.code(7);
            assert!(output.stdout.contains(&format!("paused until {until}")), "{says}: {output}");
            assert!(end.starts_with("limited: "), "{says}: {end}");
            assert_eq!(stand(&env, &id), "ready work -", "{says}");
            assert_eq!(history(&env, &id), "", "{says}");
        } else {
            assert_eq!(paused(&env), json!([]), "{says}: {output}");
            assert!(!end.starts_with("limited"), "{says}: {end}");
            assert!(stand(&env, &id).starts_with("blocked"), "{says}: {output}");
        }
        check(&env);
    }
}

#[test]
fn a_limit_on_stderr_is_one_and_a_verdict_counts_before_it() {
    let script = |more: &str| format!("{more}echo 'ERROR: rate limit exceeded' >&2\nexit 1\n");
    let env = one_gate("reads: codex", &script(""));
    let id = env.new_task(&["Add login"]);
    assert!(run(&env, &["--once"]).code(7).stdout.contains("paused until 10:15"));
    assert_eq!(stand(&env, &id), "ready work -");
    let blocked = "echo '{\"outcome\": \"blocked\", \"summary\": \"No way\", \"blockers\": [\"No access\"]}' > \"$AOF_OUTPUT\"\n";
    let env = one_gate("reads: codex", &script(blocked));
    let id = env.new_task(&["Add login"]);
    let _ = run(&env, &["--once"]).success();
    assert_eq!(stand(&env, &id), "blocked work -");
}

#[test]
fn without_a_time_a_pause_is_twice_as_long_each_time_until_a_run_meets_no_limit() {
    let env = at_limit("claude", "Usage limit reached.");
    let _ = env.new_task(&["Add login"]);
    let mut ends = Vec::new();
    for pass in [0, 16, 31, 61, 121, 121] {
        env.pass_minutes(pass);
        let _ = run(&env, &["--once"]).code(7);
        let of = paused(&env)[0]["until"].as_str().unwrap().to_owned();
        let began: jiff::Timestamp =
            env.git(&["log", "-1", "--format=%cI"]).trim().parse().unwrap();
        let until: jiff::Timestamp = of.parse().unwrap();
        ends.push((until.as_second() - began.as_second()) / 60);
    }
    assert_eq!(ends, [15, 30, 60, 120, 120, 120]);
    assert_eq!(starts(&env), 6);
    fs::remove_file(at_home(&env, "limit")).unwrap();
    let _ = run(&env, &["--now"]).success();
    assert_eq!(env.read(".aof/paused"), "{}");
}

#[test]
fn other_programs_work_on_and_a_pause_that_ends_is_noticed() {
    let says = "You've hit your limit · resets 3pm (UTC)";
    // Only `second` can take what follows the other workflow.
    let rules = "workflows:\n  - {name: default, gates: [{id: work, role: worker}, {id: review, role: reviewer}]}\n  - {name: other, gates: [{id: help, role: helper}, {id: review, role: reviewer}]}\n";
    let run = |home: &str| format!("reads: claude, env: {{WHO: {home}}}");
    let env = project_of(
        rules,
        &[
            ("coder", "worker", &run("a"), DONE),
            ("critic", "reviewer", &run("b"), &limited(says)),
            ("second", "helper", &run("b"), DONE),
        ],
    );
    fs::write(at_home(&env, "limit"), "").unwrap();
    for title in ["One", "Two", "Three"] {
        let _ = env.new_task(&[title]);
    }
    let runner = env.start(&["run", "--agent", "coder", "--agent", "critic"]);
    let at_review = || {
        let listed =
            env.aof_aside(&["list", "--gate", "review", "--status", "ready", "--json"]).success();
        listed.json()["tasks"].as_array().unwrap().len()
    };
    eventually("all are reviewed next", || at_review() == 3);
    eventually("the reviewer pauses", || paused(&env) != json!([]));
    // The same program with the same variables pauses for every agent.
    let id = env.new_task(&["Four", "--workflow", "other"]);
    let other = env.aof(&["run", "--agent", "second", "--once"]).code(7);
    assert!(other.stdout.contains("paused until 15:00 UTC"), "{other}");
    assert_eq!(stand(&env, &id), "ready help -");
    assert_eq!(starts(&env), 1);
    let page = env.aof(&["status"]).success().stdout;
    assert!(page.contains("`sh` is at its usage limit, paused until 15:00 UTC"), "{page}");

    fs::remove_file(at_home(&env, "limit")).unwrap();
    let _ = env.aof(&["run", "--agent", "second", "--once", "--now"]).success();
    let output = env.finish("run", runner).success();
    assert_eq!(starts(&env), 1 + 4, "{}", timeless(&output.to_string()));
    check(&env);
}

#[test]
fn one_task_waits_too_and_programs_read_it_as_json() {
    let env = at_limit("claude", "You've hit your limit · resets 3pm (UTC)");
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["claim", &id, "--agent", "coder"]).success();
    let output = env.aof(&["run", "--task", &id, "--once", "--json"]).code(7);
    let events: Vec<Value> =
        output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let pause = json!({"program": "sh", "until": "2026-02-16T15:00:00Z"});
    let printed = events.iter().find(|event| event["event"] == "paused").unwrap();
    assert_eq!((&printed["program"], &printed["until"]), (&pause["program"], &pause["until"]));
    let ended = events.last().unwrap();
    assert_eq!((&ended["success"], &ended["paused"]), (&json!(false), &json!([pause])));
    // It was the agent's before the run, and stays so.
    assert_eq!(stand(&env, &id), "in_progress work coder");
    let again = env.aof(&["run", "--task", &id, "--once"]).code(7);
    assert!(again.stdout.contains("paused until 15:00 UTC"), "{again}");
    assert_eq!(starts(&env), 1);
}
