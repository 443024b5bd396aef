//! `aof hook`: sessions of a coding agent are told what they hold, and are sent back to it. A hook never gets in the way.

use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::checker::check;
use crate::support::environment::{Output, TestEnvironment};

/// Runs a hook as the client of agent-7 does.
fn hook(env: &TestEnvironment, event: &str, input: &Value) -> Output {
    raw_hook(env, &[event], input.to_string().as_bytes(), &[("AOF_AGENT", "agent-7")])
}

fn raw_hook(
    env: &TestEnvironment,
    words: &[&str],
    input: &[u8],
    variables: &[(&str, &str)],
) -> Output {
    let mut command = env.aof_command(&[&["hook"], words].concat());
    command.envs(variables.iter().copied());
    run_reading(env, command, input)
}

fn run_reading(env: &TestEnvironment, mut command: Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A hook that has nothing to say need not read.
    let _ = child.stdin.take().unwrap().write_all(input);
    env.finish("aof hook", child).code(0)
}

fn stop(session: &str) -> Value {
    json!({"session_id": session, "hook_event_name": "Stop", "stop_hook_active": false})
}

/// A project in which agent-7 holds a task, and its id.
fn held() -> (TestEnvironment, String) {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["claim", &id, "--agent", "agent-7"]).success();
    (env, id)
}

#[track_caller]
fn expect_silence(output: &Output) {
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", ""));
}

#[test]
fn a_session_is_told_what_it_holds() {
    let (env, id) = held();
    for (event, source) in
        [("SessionStart", "startup"), ("SessionStart", "compact"), ("PreCompact", "")]
    {
        let output = hook(&env, event, &json!({"session_id": "s", "source": source}));
        let expected = "You are `agent-7`, and hold the tasks below. This is your brief.\n\n# AOF-xxxxx: Add login\n\n\
                        Gate `implement`, ticket `AOF-xxxxx@0`.";
        assert!(output.stdout.starts_with(expected), "{output}");
    }
    // The folder in which the session works counts, not that of the process.
    let input = json!({"session_id": "s", "cwd": env.path("tasks")});
    let mut command = env.aof_command(&["hook", "SessionStart"]);
    command.env("AOF_AGENT", "agent-7").current_dir(env.home());
    assert!(run_reading(&env, command, input.to_string().as_bytes()).stdout.contains("Add login"));
    // A text that clients would cut is cut before, and says where the rest is.
    env.write("long.md", "word ".repeat(10_000));
    let long = env.new_task(&["Add logout", "--body", &"word ".repeat(10_000)]);
    let _ = env.aof(&["claim", &long, "--agent", "agent-7"]).success();
    let output = hook(&env, "SessionStart", &json!({}));
    assert!((4_000..10_000).contains(&output.stdout.len()), "{}", output.stdout.len());
    assert!(output.stdout.contains("cut here; the rest by aof_task_get"), "{output}");
    let _ = env.complete(&id, "agent-7");
    let _ = env.complete(&long, "agent-7");
    expect_silence(&hook(&env, "SessionStart", &json!({"session_id": "s"})));
    expect_silence(&hook(&env, "PreCompact", &json!({"session_id": "s"})));
}

#[test]
fn a_session_with_an_open_visit_is_sent_back_three_times() {
    let (env, id) = held();
    let output: Value = hook(&env, "Stop", &stop("s")).json();
    assert_eq!(output["decision"], "block");
    assert_snapshot!(output["reason"].as_str().unwrap(), @r#"
    `agent-7` still holds:
    - `AOF-xxxxx`: Add login

    Before you stop, end each of these visits. `aof brief ID` and aof_task_get have its brief.
    - Done: aof_task_complete with an outcome of the brief, or `aof complete ID --outcome complete --summary "..."`.
    - You cannot go on, or need an answer: outcome `blocked`, with a blocker that says what you wait for.
    - Not yours: aof_task_release, or `aof release ID`.
    A session is sent back 3 times at most; this is time 1.
    "#);
    let again = json!({"session_id": "s", "stop_hook_active": true});
    for count in [2, 3] {
        let reason = hook(&env, "Stop", &again).json()["reason"].to_string();
        assert!(reason.contains(&format!("this is time {count}.")), "{reason}");
    }
    expect_silence(&hook(&env, "Stop", &again));
    // Another session of the same agent has its own count, and one whose count is lost stops.
    assert_eq!(hook(&env, "Stop", &stop("other")).json()["decision"], "block");
    fs::remove_file(env.path(".aof/hooks")).unwrap();
    expect_silence(&hook(&env, "Stop", &json!({"session_id": "other", "stop_hook_active": true})));
    // Whatever ends the visit lets the session go.
    let _ = env.at_terminal(&["hold", &id, "-m", "The customer wants to talk first"]).success();
    expect_silence(&hook(&env, "Stop", &stop("third")));
    let _ = env.at_terminal(&["unblock", &id]).success();
    assert_eq!(hook(&env, "Stop", &stop("third")).json()["decision"], "block");
    let _ = env.aof(&["release", &id, "--agent", "agent-7"]).success();
    expect_silence(&hook(&env, "Stop", &stop("fourth")));
    check(&env);
}

#[test]
fn many_sessions_leave_one_small_record() {
    let (env, _) = held();
    for session in 0..105 {
        assert_eq!(hook(&env, "Stop", &stop(&format!("s{session}"))).json()["decision"], "block");
    }
    let kept: Value = serde_json::from_str(&env.read(".aof/hooks")).unwrap();
    assert_eq!(kept.as_object().unwrap().len(), 100);
    assert!(kept["s104"].is_object() && kept["s4"].is_null());
    expect_silence(&hook(&env, "Stop", &stop(&"s".repeat(201))));
    expect_silence(&hook(&env, "Stop", &stop("")));
}

#[test]
fn a_session_without_an_agent_is_never_held() {
    let (env, _) = held();
    let input = stop("s").to_string();
    let silent: [&[(&str, &str)]; 5] = [
        &[],
        &[("AOF_AGENT", "")],
        &[("AOF_AGENT", "human-ada")],
        &[("AOF_AGENT", "no such agent")],
        &[("AOF_AGENT", "agent-7"), ("AOF_HOOKS", "off")],
    ];
    for variables in silent {
        for event in ["SessionStart", "PreCompact", "Stop"] {
            expect_silence(&raw_hook(&env, &[event], input.as_bytes(), variables));
        }
    }
    // The runner looks after the sessions that it starts; after a summary they need the brief again.
    let run = ("AOF_RUN", "01J00000000000000000000000");
    let variables = [("AOF_AGENT", "agent-7"), run, ("AOF_TASK", "AOF-abc@0")];
    expect_silence(&raw_hook(&env, &["Stop"], input.as_bytes(), &variables));
    expect_silence(&raw_hook(&env, &["SessionStart"], input.as_bytes(), &variables));
}

#[test]
fn a_hook_that_cannot_help_is_silent() {
    let (env, _) = held();
    let named = [("AOF_AGENT", "agent-7")];
    let input = stop("s").to_string();
    let huge = format!("{{\"session_id\": \"s\", \"x\": \"{}\"}}", "x".repeat(9 << 20));
    let inputs: [&[u8]; 7] =
        [b"", b"\0", b"{", b"[]", b"{\"session_id\": 7}", b"\xff\xfe", huge.as_bytes()];
    for bytes in inputs {
        expect_silence(&raw_hook(&env, &["Stop"], bytes, &named));
    }
    for words in [&["SubagentStop"][..], &["stop"], &[]] {
        expect_silence(&raw_hook(&env, words, input.as_bytes(), &named));
    }
    // A client that never closes its end has said all.
    let mut command = env.aof_command(&["hook", "Stop"]);
    command.env("AOF_AGENT", "agent-7").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    let output: Value = env.finish("aof hook", child).success().json();
    assert_eq!(output["decision"], "block");
    drop(stdin);
    // Without a home, it works all the same.
    let mut command = env.aof_command(&["hook", "Stop"]);
    command.env("AOF_AGENT", "agent-7").env_remove("HOME");
    assert!(run_reading(&env, command, input.as_bytes()).stdout.contains("block"));
}

#[test]
fn a_broken_project_holds_no_session() {
    let (env, _) = held();
    let events = ["SessionStart", "PreCompact", "Stop"];
    let expect_silent = |env: &TestEnvironment| {
        for event in events {
            expect_silence(&hook(env, event, &stop("s")));
        }
    };
    let lock = File::options().write(true).open(env.path(".aof/lock")).unwrap();
    lock.lock().unwrap();
    expect_silent(&env);
    drop(lock);
    // A folder that cannot be used is like a disk that cannot be written.
    fs::rename(env.path(".aof"), env.path("aside")).unwrap();
    fs::write(env.path(".aof"), "").unwrap();
    expect_silent(&env);
    fs::remove_file(env.path(".aof")).unwrap();
    fs::rename(env.path("aside"), env.path(".aof")).unwrap();
    assert!(hook(&env, "Stop", &stop("s")).stdout.contains("block"));
    env.write("project.yaml", "workflow: [");
    env.write("org.yaml", "\0");
    let _ = env.git(&["commit", "-qam", "Broken", "--no-verify", "--amend"]);
    fs::remove_dir_all(env.path(".git/objects")).unwrap();
    expect_silent(&env);
    fs::remove_dir_all(env.path(".git")).unwrap();
    expect_silent(&env);
    expect_silent(&TestEnvironment::without_repository());
}
