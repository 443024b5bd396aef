//! Waiting for work: what comes is claimed and answered at once, and a claim whose answer reaches no one is released. On the command
//! line, over stdin, and over HTTP.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use std::{fs, thread};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::cli::web::Board;
use crate::support::checker::check;
use crate::support::environment::{ORG, PROJECT, TestEnvironment, eventually};
use crate::support::mcp_client::{Era, McpClient};

/// Longer than any test takes.
const LONG: &str = "300";

fn waiting(env: &TestEnvironment, more: &[&str]) -> Child {
    let words = ["next", "--json", "--agent", "agent-7", "--wait", "60s", "--wait-for-work", LONG];
    env.start(&[&words, more].concat())
}

/// Waits until a command says that it waits.
fn until_it_waits(child: &mut Child) {
    let (mut said, mut stderr) = (Vec::new(), child.stderr.take().unwrap());
    while !String::from_utf8_lossy(&said).contains("waiting for work for `agent-7`\n") {
        let mut byte = [0];
        assert_eq!(stderr.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&said));
        said.push(byte[0]);
    }
    thread::spawn(move || stderr.read_to_end(&mut said));
}

fn signal(child: u32) {
    assert!(Command::new("kill").args(["-TERM", &child.to_string()]).status().unwrap().success());
}

/// Has the next claim wait for git until the file is gone.
fn hold_claims(env: &TestEnvironment) -> PathBuf {
    let lock = env.path(".git/index.lock");
    fs::write(&lock, "").unwrap();
    lock
}

fn task_that_waits_for_its_claim(env: &TestEnvironment) -> (String, PathBuf) {
    let id = env.new_task(&["Add login"]);
    (id, hold_claims(env))
}

fn holder(env: &TestEnvironment, id: &str) -> Value {
    env.aof_aside(&["show", id, "--json"]).success().json()["routing"]["agent"].clone()
}

/// Expects that the task was claimed and released again, once each.
#[track_caller]
fn expect_given_back(env: &TestEnvironment, id: &str) {
    eventually("the claim is released", || env.log().contains("released"));
    assert_eq!(holder(env, id), Value::Null);
    let log = env.log();
    assert_eq!((log.matches("claimed").count(), log.matches("released").count()), (1, 1), "{log}");
    check(env);
}

fn next_call(wait: u64) -> Value {
    json!({"name": "aof_task_next", "arguments": {"wait": wait}})
}

#[test]
fn work_that_comes_is_claimed_at_once() {
    let env = TestEnvironment::new();
    let mut child = waiting(&env, &[]);
    until_it_waits(&mut child);
    let begun = Instant::now();
    let id = env.new_task(&["Add login"]);
    let output = env.finish("aof next", child).success().json();
    assert!(begun.elapsed() < Duration::from_secs(8), "it was found only by the next look");
    assert_eq!(output["task"]["id"], "AOF-xxxxx");
    assert_eq!(holder(&env, &id), "agent-7");
    // What the agent has is answered without a wait.
    let again = env.aof(&["next", "--json", "--agent", "agent-7", "--wait-for-work", LONG]);
    assert_eq!(again.success().json()["task"]["status"], "in_progress");
    check(&env);
}

#[test]
fn without_work_the_answer_is_null() {
    let env = TestEnvironment::new();
    let begun = Instant::now();
    let output = env.aof(&["next", "--json", "--agent", "agent-7", "--wait-for-work", "1"]);
    assert_eq!(output.success().json()["task"], Value::Null);
    assert!(begun.elapsed() >= Duration::from_secs(1));
    for refused in ["301", "6m", "-1", "soon"] {
        let _ = env.aof(&["next", "--agent", "agent-7", "--wait-for-work", refused]).code(2);
    }
    let mut client = McpClient::of(&env, "agent-7");
    assert_eq!(client.call("aof_task_next", json!({"wait": 1}))["task"], Value::Null);
    let refused = client.refused("aof_task_next", json!({"wait": 301}));
    assert_eq!(
        (&refused["error"], &refused["argument"]),
        (&json!("invalid_argument"), &json!("wait"))
    );
}

#[test]
fn times_bring_work() {
    let rules = PROJECT.replace("id: implement", "id: implement\n      lease: 2s");
    let env = TestEnvironment::with_rules(&rules, ORG);
    let real = |args: &[&str]| {
        let mut command = env.aof_command(args);
        command.env_remove("AOF_NOW");
        env.run(command).success().json()
    };
    let waits = ["next", "--json", "--agent", "agent-7", "--wait-for-work", LONG];
    let begun = Instant::now();
    let later = (Timestamp::now() + SignedDuration::from_secs(3)).to_string();
    let _ = real(&["new", "Add login", "--not-before", &later, "--json"]);
    assert_eq!(real(&waits)["task"]["status"], "in_progress");
    assert!(begun.elapsed() > Duration::from_secs(1), "it is not time yet");
    // The agent that has it now does not renew its claim, and nobody watches.
    let output = real(&["next", "--json", "--agent", "agent-8", "--wait-for-work", LONG]);
    assert_eq!(output["task"]["routing"]["agent"], "agent-8");
    assert!(begun.elapsed() < Duration::from_mins(1));
}

#[test]
fn a_claim_that_cannot_be_printed_is_released() {
    let env = TestEnvironment::new();
    for (more, code) in [(&[][..], 1), (&["--json"], 1)] {
        let id = env.new_task(&["Add login"]);
        let mut child = env.start(&[&["next", "--agent", "agent-7"], more].concat());
        drop(child.stdout.take());
        let output = env.finish("aof next", child).code(code);
        assert_eq!(output.stderr, "AOF-xxxxx@0 is free again: its brief was not shown\n");
        assert_eq!(holder(&env, &id), Value::Null);
        let _ = env.at_terminal(&["cancel", &id, "-m", "Not now"]).success();
    }
    let log = env.log();
    assert_eq!((log.matches("claimed").count(), log.matches("released").count()), (2, 2), "{log}");
    // What the agent had before stays its own.
    let id = env.new_task(&["Add logout"]);
    let _ = env.aof(&["claim", &id, "--agent", "agent-7"]).success();
    let mut child = env.start(&["next", "--agent", "agent-7"]);
    drop(child.stdout.take());
    assert_eq!(env.finish("aof next", child).code(1).stderr, "");
    assert_eq!(holder(&env, &id), "agent-7");
    check(&env);
}

#[test]
fn a_command_that_nobody_reads_stops_waiting() {
    let env = TestEnvironment::new();
    let mut child = waiting(&env, &[]);
    until_it_waits(&mut child);
    drop(child.stdout.take());
    let _ = env.finish("aof next", child).success();
    let mut child = waiting(&env, &[]);
    until_it_waits(&mut child);
    signal(child.id());
    assert_eq!(env.finish("aof next", child).code(130).stdout, "");
}

#[test]
fn a_command_stopped_during_its_claim_releases_it() {
    let env = TestEnvironment::new();
    let (id, lock) = task_that_waits_for_its_claim(&env);
    let child = waiting(&env, &[]);
    eventually("the claim is under way", || env.is_writing());
    signal(child.id());
    fs::remove_file(lock).unwrap();
    assert_eq!(env.finish("aof next", child).code(130).stdout, "");
    expect_given_back(&env, &id);
}

#[test]
fn a_server_goes_on_while_a_call_waits() {
    let env = TestEnvironment::new();
    let mut client = McpClient::of(&env, "agent-7");
    let mut open: Vec<u64> =
        (0..40).map(|_| client.request("tools/call", next_call(300))).collect();
    assert_eq!(client.ask("ping", json!({})), json!({}));
    assert_eq!(client.call("aof_status", json!({}))["current"], json!([]));
    let id = env.new_task(&["Add login"]);
    // All are one agent, so all are told of the same task.
    while !open.is_empty() {
        let answer = client.line();
        assert_eq!(answer["result"]["structuredContent"]["task"]["id"], id.as_str(), "{answer}");
        open.retain(|id| answer["id"] != *id);
    }
    assert_eq!(client.end().code, Some(0));
    assert_eq!(env.log().matches("claimed").count(), 1);
}

#[test]
fn a_server_without_a_client_does_not_wait() {
    let env = TestEnvironment::new();
    for way in ["cancelled", "gone", "signalled"] {
        let mut client = McpClient::of(&env, "agent-7");
        let call = client.request("tools/call", next_call(300));
        assert_eq!(client.ask("ping", json!({})), json!({}));
        match way {
            "cancelled" => {
                cancel(&mut client, call);
                assert_eq!(client.ask("ping", json!({})), json!({}), "there is no other answer");
                assert_eq!(client.end().code, Some(0));
                continue;
            }
            "gone" => client.leave(),
            _ => signal(client.id()),
        }
        let answer = client.line();
        assert_eq!(answer["result"]["structuredContent"]["task"], Value::Null, "{way}: {answer}");
        assert_eq!(client.ended().code, Some(0), "{way}");
    }
}

fn cancel(client: &mut McpClient<'_>, call: u64) {
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}});
    client.send(&cancelled.to_string());
}

#[test]
fn a_claim_for_a_client_that_is_gone_is_released() {
    for way in ["cancelled", "deaf"] {
        let env = TestEnvironment::new();
        let words = ["--agent", "agent-7", "--wait", "60s"];
        let mut client = McpClient::start(&env, Era::Old, &words);
        let (id, lock) = task_that_waits_for_its_claim(&env);
        let call = client.request("tools/call", next_call(300));
        eventually("the claim is under way", || env.is_writing());
        if way == "cancelled" {
            cancel(&mut client, call);
            assert_eq!(client.ask("ping", json!({})), json!({}));
        } else {
            client.stop_listening();
        }
        fs::remove_file(lock).unwrap();
        assert_eq!(client.end().code, Some(0), "{way}");
        expect_given_back(&env, &id);
    }
}

/// A connection that has sent a call, and not read the answer.
fn posted(board: &Board, token: &str, message: &Value) -> TcpStream {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{}", board.port)).unwrap();
    let (port, body) = (&board.port, message.to_string());
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost:{port}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    stream
}

/// Closes a connection. The server, which answers others, has then noticed it.
fn hang_up(board: &Board, call: TcpStream) {
    drop(call);
    for _ in 0..5 {
        assert_eq!(board.get("/healthz").status, 200);
    }
}

fn read(mut stream: TcpStream) -> Value {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_default()
}

fn request(id: u64, wait: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": next_call(wait)})
}

/// A server of a project without a watcher of its own, and the token of agent-7.
fn served(env: &TestEnvironment) -> (Board, String) {
    let made = env.aof_command(&["--json", "mcp", "token", "agent-7"]).output().unwrap();
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    (Board::start(env, &["--wait", "60s"]), made["token"].as_str().unwrap().to_owned())
}

#[test]
fn many_calls_over_http_wait_and_others_are_answered() {
    let env = TestEnvironment::new();
    let (board, token) = served(&env);
    let calls: Vec<TcpStream> =
        (0..40).map(|id| posted(&board, &token, &request(id, 300))).collect();
    let ping = json!({"jsonrpc": "2.0", "id": 90, "method": "ping"});
    assert_eq!(read(posted(&board, &token, &ping))["result"], json!({}));
    assert_eq!(board.get("/project/").status, 200);
    let id = env.new_task(&["Add login"]);
    for call in calls {
        assert_eq!(read(call)["result"]["structuredContent"]["task"]["id"], id.as_str());
    }
}

#[test]
fn a_claim_over_http_for_a_client_that_is_gone_is_released() {
    for way in ["gone", "cancelled"] {
        let env = TestEnvironment::new();
        let (board, token) = served(&env);
        // A client that is gone while it waits gets nothing: it would claim the task again.
        hang_up(&board, posted(&board, &token, &request(1, 300)));
        let (id, lock) = task_that_waits_for_its_claim(&env);
        let call = posted(&board, &token, &request(2, 300));
        eventually("the claim is under way", || env.is_writing());
        if way == "gone" {
            hang_up(&board, call);
            fs::remove_file(lock).unwrap();
        } else {
            let params = json!({"requestId": 2});
            let message =
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
            read(posted(&board, &token, &message));
            fs::remove_file(lock).unwrap();
            assert_eq!(read(call)["error"]["message"], "the request was cancelled");
        }
        expect_given_back(&env, &id);
    }
}
