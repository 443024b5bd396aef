//! The ends of `aof mcp`, and many calls at once: whatever a client does, a call is done whole or not at all.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::checker::check;
use crate::support::environment::{TestEnvironment, eventually};
use crate::support::mcp_client::{Era, McpClient};

/// A server in the middle of a completion, which waits for git until the lock is gone.
fn in_the_middle<'e>(
    env: &'e TestEnvironment,
    client: &mut McpClient<'e>,
) -> (u64, std::path::PathBuf) {
    client.call("aof_task_next", json!({}));
    let lock = env.path(".git/index.lock");
    fs::write(&lock, "").unwrap();
    let arguments = json!({"outcome": "complete", "summary": "Done"});
    let call =
        client.request("tools/call", json!({"name": "aof_task_complete", "arguments": arguments}));
    // Others go on meanwhile, and are told at once.
    assert_eq!(client.ask("ping", json!({})), json!({}));
    assert_eq!(client.call("aof_status", json!({}))["current"].as_array().unwrap().len(), 1);
    eventually("the completion is under way", || env.is_writing());
    (call, lock)
}

fn is_complete(env: &TestEnvironment, id: &str) -> bool {
    env.git(&["show", &format!("HEAD:tasks/{id}.md")]).contains("outcome: complete")
}

#[test]
fn two_calls_at_once_with_one_id_are_not_confused() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let mut client = McpClient::start(&env, Era::Old, &["--agent", "agent-7", "--wait", "60s"]);
    let (call, lock) = in_the_middle(&env, &mut client);
    client.send(&json!({"jsonrpc": "2.0", "id": call, "method": "ping"}).to_string());
    let output = client.line();
    assert_eq!((&output["id"], &output["error"]["code"]), (&Value::Null, &json!(-32600)));
    let text =
        format!("a request with the id {call} has no answer yet: give each an id of its own");
    assert_eq!(output["error"]["message"], text);
    client.leave();
    fs::remove_file(&lock).unwrap();
    let answer = client.line();
    assert_eq!(
        (&answer["id"], &answer["result"]["structuredContent"]["gate"]),
        (&json!(call), &json!("implement"))
    );
    assert_eq!(client.ended().code, Some(0));
    assert!(is_complete(&env, &id));
}

#[test]
fn more_calls_than_are_taken_up_at_once_are_all_answered() {
    let env = TestEnvironment::new();
    let mut client = McpClient::of(&env, "agent-7");
    let arguments = json!({"name": "aof_workflow_list", "arguments": {}});
    let mut open: Vec<u64> =
        (0..100).map(|_| client.request("tools/call", arguments.clone())).collect();
    client.leave();
    while !open.is_empty() {
        let answer = client.line();
        assert!(answer["result"]["structuredContent"]["workflows"].is_array(), "{answer}");
        open.retain(|id| answer["id"] != *id);
    }
    assert_eq!(client.ended().code, Some(0));
}

#[test]
fn calls_under_way_finish_without_their_client() {
    let wait = &["--agent", "agent-7", "--wait", "60s"];
    for way in ["cancelled", "gone", "signalled", "deaf"] {
        let env = TestEnvironment::new();
        let id = env.new_task(&["Add login"]);
        let mut client = McpClient::start(&env, Era::Old, wait);
        let (call, lock) = in_the_middle(&env, &mut client);
        assert!(!is_complete(&env, &id), "{way}");
        let free = || fs::remove_file(&lock).unwrap();
        match way {
            "cancelled" => {
                client.send(
                    &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}})
                        .to_string(),
                );
                // What was called off has no answer: the next line is the ping's.
                assert_eq!(client.ask("ping", json!({})), json!({}));
                free();
                assert_eq!(client.end().code, Some(0));
            }
            "gone" => {
                client.leave();
                free();
                assert_eq!(client.ended().code, Some(0));
            }
            "signalled" => {
                let output = Command::new("kill")
                    .args(["-TERM", &client.id().to_string()])
                    .status()
                    .unwrap();
                assert!(output.success());
                free();
                let answer = client.line();
                assert_eq!(
                    (&answer["id"], &answer["result"]["structuredContent"]["gate"]),
                    (&json!(call), &json!("implement"))
                );
                assert_eq!(client.ended().code, Some(0));
            }
            _ => {
                client.stop_listening();
                free();
                assert_eq!(client.end().code, Some(0));
            }
        }
        assert!(is_complete(&env, &id), "{way}");
        check(&env);
    }
}

#[cfg(debug_assertions)]
#[test]
fn a_server_killed_in_the_middle_of_a_call_leaves_all_of_it_or_nothing() {
    for point in ["ops.prepared", "ops.file-written", "git.ref-moved"] {
        let env = TestEnvironment::new();
        let id = env.new_task(&["Add login"]);
        McpClient::of(&env, "agent-7").call("aof_task_next", json!({}));
        let mut client = McpClient::start_with(
            &env,
            Era::New,
            &["--agent", "agent-7"],
            &[("AOF_STOP_AT", point)],
        );
        let arguments =
            json!({"outcome": "complete", "summary": "Done", "id": "delivery-1", "task": id});
        client.request("tools/call", json!({"name": "aof_task_complete", "arguments": arguments}));
        assert_eq!(client.ended().code, None, "{point}");
        // The same completion, sent again, counts once.
        let mut again = McpClient::of(&env, "agent-7");
        let output = again.call("aof_task_complete", arguments);
        assert_eq!(
            (&output["gate"], &output["settled"]),
            (&json!("implement"), &json!(point != "ops.prepared")),
            "{point}"
        );
        assert_eq!(env.task_text(&id).matches("outcome: complete").count(), 1, "{point}");
        crate::support::checker::check_after_kills(&env);
    }
}

#[test]
fn of_two_servers_that_complete_one_visit_one_wins() {
    let env = TestEnvironment::new();
    for _ in 0..3 {
        let id = env.new_task(&["Add login"]);
        let mut clients = [
            McpClient::of(&env, "agent-7"),
            McpClient::start(&env, Era::New, &["--agent", "agent-8"]),
        ];
        let arguments =
            json!({"task": format!("{id}@0"), "outcome": "complete", "summary": "Done"});
        for client in &mut clients {
            client.request(
                "tools/call",
                json!({"name": "aof_task_complete", "arguments": arguments}),
            );
        }
        let answers: Vec<Value> = clients.iter_mut().map(McpClient::line).collect();
        let output: Vec<(bool, Value)> = clients
            .iter()
            .zip(&answers)
            .map(|(client, answer)| client.checked("aof_task_complete", &answer["result"]))
            .collect();
        let (lost, won): (Vec<_>, Vec<_>) = output.into_iter().partition(|(refused, _)| *refused);
        assert_eq!((won.len(), lost.len()), (1, 1));
        let (_, lost) = &lost[0];
        assert_eq!(
            (&lost["error"], &lost["nextCall"]["tool"]),
            (&json!("visit_ended"), &json!("aof_task_next")),
            "{lost:#}"
        );
        assert!(lost["winningAgent"] != lost["losingAgent"], "{lost:#}");
        assert_eq!(env.task_text(&id).matches("outcome: complete").count(), 1);
    }
    check(&env);
}

#[test]
fn many_calls_at_once_are_all_answered() {
    let env = TestEnvironment::new();
    let ids: Vec<String> =
        (0..6).map(|number| env.new_task(&[&format!("Task {number}")])).collect();
    let mut client = McpClient::start(&env, Era::New, &["--agent", "agent-7", "--wait", "60s"]);
    let mut open: Vec<u64> = ids
        .iter()
        .map(|id| {
            let arguments = json!({"task": id, "outcome": "complete", "summary": "Done"});
            client
                .request("tools/call", json!({"name": "aof_task_complete", "arguments": arguments}))
        })
        .collect();
    while !open.is_empty() {
        let answer = client.line();
        assert_eq!(answer["result"]["structuredContent"]["gate"], "implement", "{answer}");
        open.retain(|id| answer["id"] != *id);
    }
    check(&env);
}
