//! The event stream as tests read it.

use serde_json::Value;

use crate::support::environment::{Output, TestEnvironment};

pub(crate) const STREAM: &str = ".aof/events.jsonl";

/// Brings the stream up to date and returns it.
pub(crate) fn stream(env: &TestEnvironment) -> String {
    let _ = env.aof(&["events"]).success();
    env.read(STREAM)
}

/// Makes the stream again, and expects that it is the same.
#[track_caller]
pub(crate) fn rebuilds_the_same(env: &TestEnvironment) {
    let before = stream(env);
    let _ = env.aof(&["events", "rebuild"]).success();
    similar(&before, &env.read(STREAM));
}

#[track_caller]
pub(crate) fn similar(one: &str, other: &str) {
    for (one, other) in one.lines().zip(other.lines()) {
        assert_eq!(one, other);
    }
    assert_eq!(one.len(), other.len(), "{one}\n---\n{other}");
}

pub(crate) fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

pub(crate) fn names(text: &str) -> Vec<String> {
    lines(text).iter().map(|line| line["event"].as_str().unwrap().to_owned()).collect()
}

/// Work that is rejected once, with a completion that comes too late.
pub(crate) fn story(env: &TestEnvironment) -> String {
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["task", "next", "--agent", "agent-7"]).success();
    let _ = env.complete(&id, "agent-7");
    let _ = env
        .say(&id, "agent-3", "needs_review", &["--blocker", "No test for\nan empty name"])
        .success();
    let _ = env.say(&format!("{id}@0"), "agent-8", "complete", &[]).code(5);
    let _ = env.aof(&["task", "comment", &id, "-m", "Look at\nthe log"]).success();
    let _ = env.complete(&id, "agent-8");
    let _ = env.complete(&id, "agent-3");
    id
}

pub(crate) fn shown(env: &TestEnvironment, args: &[&str]) -> Output {
    env.aof(&[&["events"], args].concat()).success()
}
