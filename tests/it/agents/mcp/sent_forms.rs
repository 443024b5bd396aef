//! Arguments in the forms in which clients send them, lists that are too long for one answer, and completions.

use serde_json::{Value, json};

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;
use crate::support::mcp_client::{Era, McpClient, WITH_BOSS, WITH_PERSON};

/// A project with one task of each of four titles.
fn garden() -> TestEnvironment {
    let env = TestEnvironment::with_rules(WITH_PERSON, WITH_BOSS);
    for title in ["Beans", "Roses", "Tulips", "Onions"] {
        env.new_task(&[title, "--tag", &title.to_lowercase()]);
    }
    env
}

fn shown(env: &TestEnvironment, id: &str) -> Value {
    env.aof(&["show", id, "--json"]).success().json()
}

fn titles(listed: &Value) -> Vec<&str> {
    let tasks = listed["tasks"].as_array().unwrap();
    tasks.iter().map(|task| task["title"].as_str().unwrap()).collect()
}

#[test]
fn an_unambiguous_form_is_accepted() {
    let env = garden();
    let mut worker = McpClient::of(&env, "agent-7");
    for (arguments, count) in [
        (json!({"limit": "3"}), 3),
        (json!({"limit": 3.0, "offset": "0"}), 3),
        (json!({"limit": " 2 ", "offset": "3.0"}), 1),
        (json!({"all": "true", "ready": "false"}), 4),
        (json!({"ready": "True", "mine": "FALSE", "limit": "null"}), 4),
        (json!({"status": "\"ready\""}), 4),
        (
            json!({"tag": "", "gate": "", "role": " ", "workflow": "", "search": "", "status": "", "limit": "", "offset": "", "all": "", "mine": ""}),
            4,
        ),
        (json!({"tag": null, "limit": null}), 4),
        (json!({"search": 404}), 0),
    ] {
        let (is_refused, output) = worker.called("aof_task_list", &arguments);
        assert!(!is_refused, "{arguments}: {output}");
        assert_eq!(titles(&output).len(), count, "{arguments}: {output}");
    }
    // The whole of the arguments as a text.
    let whole = json!({"name": "aof_task_list", "arguments": "{\"limit\": \"1\"}"});
    let output = worker.ask("tools/call", whole);
    assert_eq!(titles(&output["structuredContent"]), ["Beans"]);

    assert!(!worker.called("aof_task_next", &json!({"role": "", "another": ""})).0);
    let words = json!({
        "title": "Leeks", "tags": "[\"a\", \"b c\"]", "metadata": "{\"size\": 3, \"order\": 12345678901234567890123}",
        "links": "[]", "dependsOn": "", "due": "", "priority": "", "milestone": 7, "parent": "", "body": "",
    });
    let (is_refused, made) = worker.called("aof_task_create", &words);
    assert!(!is_refused, "{made}");
    let task = shown(&env, made["task"].as_str().unwrap());
    assert_eq!(task["tags"], json!(["a", "b c"]));
    assert_eq!(task["metadata"], json!({"size": 3, "order": "12345678901234567890123"}));
    assert_eq!(task["milestone"], "7");

    let stuck = json!({
        "outcome": "blocked", "summary": "Stuck", "blockers": "[\"No water\"]", "outputs": "{}", "metadata": "", "id": "", "task": "",
        "gate": "", "file": "", "text": "", "signature": "", "rejectionNotes": "",
    });
    let (is_refused, output) = worker.called("aof_task_complete", &stuck);
    assert!(!is_refused, "{output}");
    assert_eq!(shown(&env, output["task"].as_str().unwrap())["blockers"], json!(["No water"]));
    check(&env);
}

#[test]
fn an_ambiguous_form_is_refused_with_a_correct_next_call() {
    let env = garden();
    let mut worker = McpClient::of(&env, "agent-7");
    for (arguments, expected, count) in [
        (json!({"limit": -1, "offset": "x", "ready": "yes"}), json!({"ready": true}), 4),
        (
            json!({"limit": 2.5, "all": 0, "status": "Ready"}),
            json!({"all": false, "status": "ready"}),
            4,
        ),
        (
            json!({"Limit": "2", "where": "x", "tag": ["roses"]}),
            json!({"limit": 2, "tag": "roses"}),
            1,
        ),
        (
            json!({"gate": "implemnt", "role": "bakend", "workflow": "defalt"}),
            json!({"gate": "implement", "role": "backend", "workflow": "default"}),
            4,
        ),
        (
            json!({"gates": "implemnt", "limit": "2.5", "offset": "1"}),
            json!({"gate": "implement", "offset": 1}),
            3,
        ),
        (json!({"status": ["blocked"]}), json!({"status": "blocked"}), 0),
    ] {
        let output = worker.refused("aof_task_list", arguments.clone());
        assert_eq!(output["nextCall"]["arguments"], expected, "{arguments}: {output}");
        assert_eq!(titles(&worker.follow(&output)).len(), count, "{arguments}");
    }
    // A task that is not there, in a list of ids.
    let held = worker.call("aof_task_next", json!({}))["task"]["id"].as_str().unwrap().to_owned();
    let all = worker.call("aof_task_list", json!({}));
    let other = all["tasks"].as_array().unwrap().iter().find(|task| task["id"] != *held).unwrap();
    let other = other["id"].as_str().unwrap();
    let near =
        format!("{}{}", &other[..other.len() - 1], if other.ends_with('a') { 'b' } else { 'a' });
    let output = worker.refused(
        "aof_task_create",
        json!({"title": "Leeks", "tags": "a, b", "dependsOn": near, "priority": "lwo", "due": "2026-12-01"}),
    );
    assert_eq!(
        output["nextCall"]["arguments"],
        json!({"title": "Leeks", "tags": ["a", "b"], "dependsOn": [other], "priority": "low", "due": "2026-12-01"}),
        "{output}"
    );
    worker.follow(&output);
    // A word that could be any of them: the agent chooses, and the others are right all the same.
    for word in [json!("P0"), json!(1), json!(["P0", "P1"])] {
        let arguments = json!({"title": "Kale", "priority": word, "dependsOn": [near], "due": "soon", "tags": "a"});
        let output = worker.refused("aof_task_create", arguments);
        assert_eq!(
            output["nextCall"]["arguments"],
            json!({"title": "Kale", "priority": "<one of critical, high, medium, low>", "dependsOn": [other], "due": "<due>", "tags": ["a"]}),
            "{output}"
        );
    }
    // A refusal of the rules is foreseen as well.
    for (arguments, expected) in [
        (
            json!({"title": "Kale", "priority": "hihg", "tags": "a"}),
            json!({"title": "Kale", "tags": ["a"]}),
        ),
        (json!({"title": "Kale", "priority": "critical"}), json!({"title": "Kale"})),
    ] {
        let output = worker.refused("aof_task_create", arguments);
        assert_eq!(output["nextCall"]["arguments"], expected, "{output}");
    }
    let arguments = json!({"outcome": true, "summary": "x", "blockers": "a"});
    let output = worker.refused("aof_task_complete", arguments);
    assert_eq!(
        output["nextCall"]["arguments"],
        json!({"outcome": "<one of complete, blocked, skip>", "summary": "x", "blockers": ["a"], "task": format!("{held}@0")}),
        "{output}"
    );
    let output = worker.refused("aof_task_list", json!({"status": "done", "gate": "implemnt"}));
    let words = "<one of ready, in_progress, blocked, waiting, complete, failed, cancelled, new>";
    assert_eq!(
        output["nextCall"]["arguments"],
        json!({"status": words, "gate": "implement"}),
        "{output}"
    );
    let output = worker.refused("aof_task_get", json!({"id": other}));
    assert!(worker.follow(&output).to_string().contains(other), "{output}");
    let output =
        worker.refused("aof_task_create", json!({"title": "x\0y", "metadata": "a=1, b=c"}));
    assert_eq!(output["nextCall"]["arguments"]["metadata"], json!({"a": 1, "b": "c"}), "{output}");
    let output = worker.refused("aof_task_create", json!({"title": "x\0y"}));
    assert_eq!(output["nextCall"]["arguments"], json!({"title": "xy"}), "{output}");
    let output = worker.refused(
        "aof_task_complete",
        json!({"outcome": "blocked", "summry": "Stuck", "blockers": "No water, no rain", "metadata": "{'a': 1}", "outputs": 5}),
    );
    assert_eq!(
        output["nextCall"]["arguments"],
        json!({"outcome": "blocked", "summary": "Stuck", "blockers": ["No water, no rain"], "metadata": {"a": 1}, "task": format!("{held}@0")}),
        "{output}"
    );
    let before = env.head();
    assert_eq!(worker.follow(&output)["outcome"], "blocked");
    assert_ne!(env.head(), before, "only the call itself changes something");
    check(&env);
}

#[test]
fn half_a_character_does_not_leave_a_call_without_an_answer() {
    let env = garden();
    let mut worker = McpClient::of(&env, "agent-7");
    let id = worker.call("aof_task_next", json!({}))["task"]["id"].as_str().unwrap().to_owned();
    let call = |id: &str, arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"aof_task_comment","arguments":{arguments}}}}}"#
        )
    };
    worker.send(&call("77", r#"{"text":"cut \ud83d here \ud83d\ude00"}"#));
    let output = worker.line();
    assert_eq!(
        (&output["id"], &output["result"]["isError"]),
        (&json!(77), &json!(false)),
        "{output}"
    );
    assert!(shown(&env, &id)["body"].as_str().unwrap().contains("cut \u{fffd} here 😀"));
    // What is not JSON within a text is said with its place there.
    let broken = r#"{"jsonrpc":"2.0","id":79,"method":"tools/call","params":{"name":"aof_status","arguments":"{\"a\": }"}}"#;
    worker.send(broken);
    let output = worker.line();
    assert_eq!((&output["id"], &output["error"]["code"]), (&json!(79), &json!(-32602)), "{output}");
    assert!(
        output["error"]["message"].as_str().unwrap().contains("(line 1, column 7)"),
        "{output}"
    );
    // In other members, and in an id that nothing names.
    worker.send(&call("\"a\"", r#"{"text":"x","task":"AOF-\udfff"}"#));
    let output = worker.line();
    assert_eq!(
        (&output["id"], &output["result"]["isError"]),
        (&json!("a"), &json!(true)),
        "{output}"
    );
    // What is not JSON, or not UTF-8, is refused under the id that can be read, at its place.
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    for value in [&deep, "NaN", "\"a\tb\"", r#""C:\docs\q""#, "\"x\",", r#""cut \u12""#] {
        worker.send(&call("78", &format!("{{\"text\": {value}}}")));
        let output = worker.line();
        assert_eq!(
            (&output["id"], &output["error"]["code"]),
            (&json!(78), &json!(-32700)),
            "{output}"
        );
    }
    check(&env);
}

#[test]
fn a_long_list_comes_in_parts_of_64_kib() {
    let env = TestEnvironment::with_rules(WITH_PERSON, WITH_BOSS);
    let long = "\"long\" title ".repeat(20);
    let all: Vec<Value> =
        (0..200).map(|at| json!({"title": format!("Task {at} {long}")})).collect();
    env.write("list.json", json!(all).to_string());
    let _ = env.aof(&["new", "--from", "list.json"]).success();
    let mut worker = McpClient::of(&env, "agent-7");
    let mut seen = Vec::new();
    let mut arguments = json!({"limit": 1000});
    loop {
        let answer =
            worker.ask("tools/call", json!({"name": "aof_task_list", "arguments": arguments}));
        assert!(answer.to_string().len() <= 64 * 1024, "{}", answer.to_string().len());
        let (_, output) = worker.checked("aof_task_list", &answer);
        seen.extend(titles(&output).iter().map(ToString::to_string));
        assert_eq!(output["total"], 200);
        if output["truncated"] == false {
            break;
        }
        arguments = output["nextCall"]["arguments"].clone();
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 200);
}

/// Calls a tool, whose answer keeps to the ceiling.
fn called_within(worker: &mut McpClient<'_>, tool: &str, arguments: &Value) -> Value {
    let answer = worker.ask("tools/call", json!({"name": tool, "arguments": arguments}));
    let bytes = answer.to_string().len();
    assert!(bytes <= 64 * 1024, "{bytes} bytes of {tool} {arguments}");
    let (is_refused, output) = worker.checked(tool, &answer);
    assert!(!is_refused, "{output}");
    output
}

#[test]
fn a_long_history_comes_in_parts_the_latest_first() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: work, role: dev}\n    - {id: review, role: qa, canReject: true, maxRetries: 90}\n",
        "roles:\n  dev: {agents: [agent-7]}\n  qa: {agents: [agent-3]}\n",
    );
    let id = env.new_task(&["Long", "--body", &"x".repeat(20_000)]);
    let mut worker = McpClient::of(&env, "agent-7");
    let mut reviewer = McpClient::of(&env, "agent-3");
    let visits = 12;
    for at in 0..visits / 2 {
        // The first one is too long for any list.
        let long =
            if at == 0 { "\"".repeat(15_000) } else { format!("{at} ") + &"\"said\" ".repeat(500) };
        let done = json!({"task": id, "outcome": "complete", "summary": long});
        worker.call("aof_task_complete", done);
        let back =
            json!({"task": id, "outcome": "needs_review", "summary": "No", "blockers": [long]});
        reviewer.call("aof_task_complete", back);
    }
    let plain = called_within(&mut worker, "aof_task_get", &json!({"task": id}));
    assert_eq!(plain["gateHistory"], Value::Null);
    let mut output =
        called_within(&mut worker, "aof_task_get", &json!({"task": id, "history": true}));
    // The history comes before a long body.
    assert!(!output["gateHistory"].as_array().unwrap().is_empty(), "{output}");
    assert!(plain["body"].as_str().unwrap().starts_with(output["body"].as_str().unwrap()));
    assert_eq!(output["rest"]["arguments"]["offset"], 5 * 1024);
    let mut seen: Vec<Value> = Vec::new();
    loop {
        let part = output["gateHistory"].as_array().unwrap().clone();
        seen.splice(0..0, part);
        if output["truncated"] != true {
            break;
        }
        assert_eq!(output["gateHistoryTotal"], visits);
        assert_eq!(output["nextCall"]["tool"], "aof_task_get");
        let arguments = output["nextCall"]["arguments"].clone();
        assert_eq!(arguments["historyOffset"], seen.len(), "each part is followed by the next");
        output = called_within(&mut worker, "aof_task_get", &arguments);
        assert_eq!((&output["body"], &output["gate_context"]), (&json!(""), &Value::Null));
    }
    let mut whole = shown(&env, &id)["gateHistory"].as_array().unwrap().clone();
    assert_eq!((seen.len(), whole.len()), (visits, visits));
    assert_eq!(seen[0]["leftOut"], json!(["summary"]));
    assert_eq!(seen[0]["gate"], "work");
    whole.drain(..2);
    for (own, entry) in seen[2..].iter().zip(&whole) {
        for key in ["gate", "outcome", "summary", "blockers", "to"] {
            assert_eq!(own[key], entry[key]);
        }
    }
    let past = json!({"task": id, "historyOffset": 99});
    assert_eq!(worker.call("aof_task_get", past)["gateHistory"], json!([]));
}

#[test]
fn many_workflows_come_in_parts() {
    let about = "\"long\" ".repeat(100);
    let workflows: String = (0..80)
        .map(|at| {
            format!(
                "  flow-{at:02}: {{description: '{about}', gates: [{{id: work, role: dev}}]}}\n"
            )
        })
        .collect();
    let env = TestEnvironment::with_rules(
        &format!("defaultWorkflow: flow-00\nworkflows:\n{workflows}"),
        "roles: {dev: {agents: [agent-7]}}\nagents: {agent-7: {may: [new]}}\n",
    );
    let mut worker = McpClient::of(&env, "agent-7");
    let (mut seen, mut arguments) = (Vec::new(), json!({}));
    let last = loop {
        let output = called_within(&mut worker, "aof_workflow_list", &arguments);
        assert_eq!(output["total"], 80);
        seen.extend(output["workflows"].as_array().unwrap().iter().map(|own| own["name"].clone()));
        if output["truncated"] == false {
            break output;
        }
        assert_eq!(output["nextCall"]["tool"], "aof_workflow_list");
        arguments = output["nextCall"]["arguments"].clone();
    };
    seen.dedup();
    assert_eq!(seen.len(), 80);
    assert_eq!(last["nextCall"]["arguments"]["workflow"], "flow-00");
}

#[test]
fn files_that_cannot_be_read_leave_the_tasks_their_place() {
    let env = garden();
    for at in 0..300 {
        env.write(&format!("tasks/AOF-bad{at:03}.md"), "---\ntitle: [x\nfoo: {\n---\n");
    }
    let mut worker = McpClient::of(&env, "agent-7");
    let output = called_within(&mut worker, "aof_task_list", &json!({}));
    assert_eq!((titles(&output).len(), &output["truncated"]), (4, &json!(false)));
    assert_eq!(output["unreadableTotal"], 300);
    let named = output["unreadable"].as_array().unwrap();
    assert!((1..30).contains(&named.len()), "{}", named.len());
    assert!(output["unreadableRest"].as_str().unwrap().contains("aof_status"), "{output}");
    let issues = &worker.call("aof_status", json!({}))["attentionTotal"];
    assert!(issues.as_u64() >= Some(300), "{issues}");
}

#[test]
fn ids_gates_roles_and_outcomes_are_completed() {
    let env = garden();
    let id = env.new_task(&["Leeks"]);
    for era in [Era::Old, Era::New] {
        let mut worker = McpClient::start(&env, era, &["--agent", "agent-7"]);
        assert_eq!(worker.hello["capabilities"]["completions"], json!({}));
        let prompt = json!({"type": "ref/prompt", "name": "work-next"});
        let template = json!({"type": "ref/resource", "uri": "aof://task/{id}"});
        let mut values = |reference: &Value, name: &str, typed: &str| {
            let params = json!({"ref": reference, "argument": {"name": name, "value": typed}});
            worker.ask("completion/complete", params)["completion"].clone()
        };
        let all = values(&template, "id", "");
        assert_eq!((&all["total"], &all["hasMore"]), (&json!(5), &json!(false)));
        for typed in [&id[..], &id[4..], &id.to_lowercase()] {
            assert_eq!(values(&template, "id", typed)["values"], json!([id]));
        }
        assert_eq!(
            values(&prompt, "gate", "")["values"],
            json!(["implement", "review", "approve"])
        );
        assert_eq!(values(&prompt, "role", "B")["values"], json!(["backend", "boss"]));
        assert_eq!(
            values(&prompt, "outcome", "")["values"],
            json!(["complete", "blocked", "skip"])
        );
        assert_eq!(values(&prompt, "color", "")["values"], json!([]));
        for params in [
            json!({"ref": {"type": "ref/prompt", "name": "nothing"}, "argument": {"name": "role", "value": ""}}),
            json!({"ref": prompt, "argument": {"name": "role"}}),
            json!({"ref": prompt}),
        ] {
            assert_eq!(worker.answer("completion/complete", params)["error"]["code"], -32602);
        }
        let prompt = worker
            .ask("prompts/get", json!({"name": "work-next", "arguments": {"role": "backend"}}));
        let text = prompt["messages"][0]["content"]["text"].as_str().unwrap();
        assert!(text.contains("aof_task_next with `role`: `backend`"), "{text}");
    }
}
