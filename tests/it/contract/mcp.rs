//! What a client of `aof mcp` learns: tools with their schemas, prompts, resources, and how they answer.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::shape::{render, shape, without_sentences};
use super::{ORG, PROJECT};
use crate::support::environment::TestEnvironment;
use crate::support::mcp_client::McpClient;

fn project() -> TestEnvironment {
    TestEnvironment::with_rules(PROJECT, ORG)
}

/// Returns the shape of an answer, which comes as the server wrote it.
fn result_shape(env: &TestEnvironment, answer: &Value) -> String {
    let plain = env.plain(&answer.to_string());
    render(&shape(&serde_json::from_str(&plain).unwrap()))
}

#[test]
fn tools_take_and_answer_this() {
    let env = project();
    let mut client = McpClient::of(&env, "agent-7");
    let listed = client.ask("tools/list", json!({}));
    let output: Vec<String> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            let part = |key: &str| render(&without_sentences(&tool[key]));
            let keys: Vec<_> = tool.as_object().unwrap().keys().map(String::as_str).collect();
            format!(
                "{}: {}\nannotations: {}\ninput: {}\noutput: {}\n",
                tool["name"].as_str().unwrap(),
                keys.join(" "),
                part("annotations"),
                part("inputSchema"),
                part("outputSchema")
            )
        })
        .collect();
    assert_snapshot!(output.join("\n"));
}

#[test]
fn servers_offer_this_besides_tools() {
    let env = project();
    let mut client = McpClient::of(&env, "agent-7");
    let _ = env.new_task(&["Add login"]);
    client.call("aof_task_next", json!({}));
    let mut output = format!("initialize {}\n", render(&without_sentences(&shape(&client.hello))));
    for method in ["prompts/list", "resources/list", "resources/templates/list"] {
        let answer = client.ask(method, json!({}));
        output += &format!("{method} {}\n", render(&without_sentences(&answer)));
    }
    let brief = client.ask("resources/read", json!({"uri": "aof://brief"}));
    output += &format!("resources/read {}\n", result_shape(&env, &brief));
    let prompt = client.ask("prompts/get", json!({"name": "work-next"}));
    output += &format!("prompts/get {}\n", result_shape(&env, &prompt));
    assert_snapshot!(env.plain(&output));
}

/// What is called, in order; `TASK` is a person's task, which is there from the second call on, and `PART` what is created first.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("aof_task_next", json!({})),
        ("aof_task_next", json!({})),
        ("aof_task_create", json!({"title": "Add login", "tags": ["web"], "body": "With tokens."})),
        ("aof_task_list", json!({})),
        ("aof_task_create", json!({"title": "Add logout", "dependsOn": ["PART"]})),
        ("aof_task_get", json!({})),
        ("aof_task_renew", json!({"note": "Half of it"})),
        ("aof_task_comment", json!({"text": "Look at the log"})),
        ("aof_workflow_list", json!({})),
        ("aof_status", json!({})),
        ("aof_task_release", json!({})),
        ("aof_task_next", json!({})),
        ("aof_task_complete", json!({"summary": "Did it", "outcome": "complete", "id": "c1"})),
        (
            "aof_task_complete",
            json!({"summary": "Did it", "outcome": "complete", "id": "c1", "task": "PART@0"}),
        ),
        ("aof_task_get", json!({"task": "TASK", "history": true})),
        (
            "aof_workflow_start",
            json!({"workflow": "quick", "title": "Now", "context": {"repo": "web"}}),
        ),
        ("aof_status", json!({})),
    ]
}

#[test]
fn tools_answer_in_these_shapes() {
    let env = project();
    let mut client = McpClient::of(&env, "agent-7");
    let (mut output, mut task, mut first) = (String::new(), String::new(), None::<String>);
    for (number, (tool, arguments)) in calls().into_iter().enumerate() {
        if number == 1 {
            task = env.new_task(&["Add an account"]);
        }
        let part = first.clone().unwrap_or_default();
        let words = arguments.to_string().replace("TASK", &task).replace("PART", &part);
        let answer = client.call(tool, serde_json::from_str(&words).unwrap());
        if tool == "aof_task_create" {
            first = first.or_else(|| answer["task"].as_str().map(str::to_owned));
        }
        output += &format!("{tool} {words}\n{}\n\n", result_shape(&env, &answer));
    }
    assert_snapshot!(env.plain(&output));
}

#[test]
fn refused_calls_answer_in_these_shapes() {
    let env = project();
    let id = env.new_task(&["Add login"]);
    let mut client = McpClient::of(&env, "agent-7");
    let mut output = String::new();
    for (tool, arguments) in [
        ("aof_task_complete", json!({"summary": "Did it"})),
        ("aof_task_complete", json!({"summary": "", "task": id})),
        ("aof_task_complete", json!({"summary": "Did it", "outcome": "done", "task": id})),
        ("aof_task_get", json!({"task": "AOF-nothinglikeit"})),
        ("aof_task_get", json!({"tusk": id})),
        ("aof_task_create", json!({})),
        ("aof_task_list", json!({"limit": "many"})),
        ("aof_workflow_start", json!({"workflow": "quick", "title": "Now"})),
    ] {
        let answer = client.refused(tool, arguments.clone());
        output += &format!("{tool} {arguments}\n{}\n\n", result_shape(&env, &answer));
    }
    for (method, params) in [
        ("tools/call", json!({"name": "aof_nothing", "arguments": {}})),
        ("resources/read", json!({"uri": "aof://brief"})),
        ("nothing/at/all", json!({})),
    ] {
        let answer = client.answer(method, params);
        output += &format!("{method}\n{}\n\n", result_shape(&env, &answer["error"]));
    }
    assert_snapshot!(env.plain(&output));
}
