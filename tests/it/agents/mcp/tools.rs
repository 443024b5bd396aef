//! What the tools of `aof mcp` do: agents work by calls alone.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;
use crate::support::mcp_client::{Era, McpClient, shown, without_words};

#[test]
fn a_task_goes_through_by_calls_alone() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login", "--body", "With tokens."]);
    let mut worker = McpClient::of(&env, "agent-7");
    let mut reviewer = McpClient::start(&env, Era::New, &["--agent", "agent-3"]);

    let output = reviewer.call("aof_task_next", json!({}));
    assert_snapshot!(shown(&env, &output), @r#"
    {
      "task": null,
      "message": "nothing to do for `agent-3` in `architect`",
      "warnings": [],
      "nextCall": null
    }
    "#);
    let output = worker.call("aof_task_next", json!({}));
    assert_snapshot!(shown(&env, &output), @r#"
    {
      "task": {
        "id": "AOF-xxxxx",
        "ticket": "AOF-xxxxx@0",
        "title": "Add login",
        "body": "\nWith tokens.\n",
        "gate_context": {
          "role": "You do the work of this task.",
          "gate": "implement",
          "expectations": [
            "Do what the title and the body of the task ask for",
            "Check your result yourself before you hand it on"
          ],
          "outcomes": {
            "complete": "Your work is finished and can go on to the next step.",
            "blocked": "You cannot go on: something outside is missing. Name it in blockers; the task waits here."
          },
          "tips": [
            "Say in the summary what you did and how you checked it"
          ]
        },
        "routing": {
          "workflow": "default",
          "role": "backend",
          "agent": "agent-7",
          "claimed": "2026-02-16T10:00:05Z"
        }
      },
      "message": "AOF-xxxxx@0 is yours: do what its brief expects, then say how it went",
      "warnings": [],
      "nextCall": {
        "tool": "aof_task_complete",
        "arguments": {
          "task": "AOF-xxxxx@0",
          "outcome": "<one of outcomes>",
          "summary": "<what you did>"
        }
      }
    }
    "#);
    let output = worker.call(
        "aof_task_complete",
        json!({"outcome": "complete", "summary": "Login works, with tests"}),
    );
    assert_snapshot!(shown(&env, &output), @r#"
    {
      "task": "AOF-xxxxx",
      "ticket": "AOF-xxxxx@0",
      "outcome": "complete",
      "gate": "implement",
      "status": "ready",
      "settled": false,
      "commit": "COMMIT",
      "message": "`implement` ended with `complete`; your part is done",
      "warnings": [],
      "nextCall": {
        "tool": "aof_task_next",
        "arguments": {}
      }
    }
    "#);
    assert_eq!(worker.follow(&output)["task"], Value::Null);

    reviewer.call("aof_task_next", json!({}));
    let back = json!({
        "outcome": "needs_review", "summary": "One thing to fix", "blockers": ["Tokens never expire"], "rejectionNotes": "Else fine",
    });
    let output = reviewer.call("aof_task_complete", back);
    assert_snapshot!(shown(&env, &output), @r#"
    {
      "task": "AOF-xxxxx",
      "ticket": "AOF-xxxxx@1",
      "outcome": "needs_review",
      "gate": "review",
      "status": "ready",
      "settled": false,
      "commit": "COMMIT",
      "message": "`review` ended with `needs_review`; your part is done",
      "warnings": [],
      "nextCall": {
        "tool": "aof_task_next",
        "arguments": {}
      }
    }
    "#);

    let output = worker.call("aof_task_next", json!({}));
    assert_snapshot!(shown(&env, &output["task"]["reviewContext"]), @r#"
    {
      "fromGate": "review",
      "fromAgent": "agent-3",
      "fromRole": "architect",
      "timestamp": "2026-02-16T10:00:06Z",
      "blockers": [
        "Tokens never expire"
      ],
      "notes": "Else fine"
    }
    "#);
    let output = worker.call(
        "aof_task_complete",
        json!({"outcome": "complete", "summary": "Tokens expire", "text": "After an hour."}),
    );
    assert_eq!(output["gate"], "implement");
    assert!(env.task_text(&id).contains("After an hour."));
    reviewer.call("aof_task_next", json!({}));
    let output =
        reviewer.call("aof_task_complete", json!({"outcome": "complete", "summary": "Good"}));
    assert_eq!((&output["gate"], &output["status"]), (&json!("review"), &json!("complete")));
    assert_snapshot!(env.log(), @"
    agent-3: AOF-xxxxx: review -> end (complete)
    agent-3: AOF-xxxxx: claimed by agent-3 at review
    agent-7: AOF-xxxxx: implement -> review (complete)
    agent-7: AOF-xxxxx: claimed by agent-7 at implement
    agent-3: AOF-xxxxx: review -> implement (needs_review)
    agent-3: AOF-xxxxx: claimed by agent-3 at review
    agent-7: AOF-xxxxx: implement -> review (complete)
    agent-7: AOF-xxxxx: claimed by agent-7 at implement
    Ada: AOF-xxxxx: created at implement
    Ada: rules
    ");
    assert_eq!([worker.end().code, reviewer.end().code], [Some(0), Some(0)]);
    check(&env);
}

#[test]
fn without_a_task_the_one_at_hand_is_meant() {
    let env = TestEnvironment::new();
    let ids = [env.new_task(&["One"]), env.new_task(&["Two"])];
    let mut worker = McpClient::of(&env, "agent-7");
    for tool in ["aof_task_get", "aof_task_renew", "aof_task_release"] {
        assert_eq!(worker.refused(tool, json!({}))["error"], "no_current_task", "{tool}");
    }
    let first = worker.call("aof_task_next", json!({}))["task"]["id"].clone();
    assert_eq!(worker.call("aof_task_get", json!({}))["id"], first);
    assert_eq!(worker.call("aof_task_renew", json!({"note": "Half done"}))["task"], first);
    assert_eq!(worker.call("aof_task_comment", json!({"text": "Not easy"}))["task"], first);
    worker.call("aof_task_next", json!({"another": true}));
    let output =
        worker.refused("aof_task_complete", json!({"outcome": "complete", "summary": "Done"}));
    assert_eq!(output["tasks"].as_array().unwrap().len(), 2);
    assert_snapshot!(shown(&env, &output).replace(&ids[0], "AOF-xxxxx"), @r#"
    {
      "error": "several_current_tasks",
      "message": "`agent-7` has 2 tasks, and the call names none\n\nname one in `task`: `AOF-xxxxx`, `AOF-xxxxx`\n  `AOF-xxxxx`  One\n  `AOF-xxxxx`  Two",
      "yourAgentId": "agent-7",
      "tasks": [
        "AOF-xxxxx",
        "AOF-xxxxx"
      ],
      "nextCall": {
        "tool": "aof_task_complete",
        "arguments": {
          "outcome": "complete",
          "summary": "Done",
          "task": "AOF-xxxxx"
        }
      }
    }
    "#);
    assert_eq!(worker.follow(&output)["gate"], "implement");
    assert_eq!(worker.call("aof_task_release", json!({}))["status"], "ready");
    assert_eq!(worker.call("aof_status", json!({}))["current"], json!([]));
    check(&env);
}

#[test]
fn a_server_of_a_run_hands_out_nothing_else() {
    let env = TestEnvironment::new();
    let ids = [env.new_task(&["One"]), env.new_task(&["Two"])];
    let mut all = McpClient::of(&env, "agent-7");
    for _ in 0..2 {
        all.call("aof_task_next", json!({"another": true}));
    }
    let ticket = format!("{}@0", ids[1]);
    let words = ["--agent", "agent-7"];
    let mut one = McpClient::start_with(
        &env,
        Era::New,
        &words,
        &[("AOF_TASK", &ticket), ("AOF_RUN", "run-1")],
    );
    let output = one.call("aof_task_next", json!({}));
    assert_eq!(
        (&output["task"]["ticket"], &output["task"]["title"]),
        (&json!(ticket), &json!("Two"))
    );
    assert_eq!(one.call("aof_task_get", json!({}))["title"], "Two");
    let output = one.call("aof_task_complete", json!({"outcome": "complete", "summary": "Done"}));
    assert_eq!((&output["task"], &output["gate"]), (&json!(ids[1]), &json!("implement")));
    let output = one.follow(&output);
    assert_eq!(output["task"], Value::Null);
    assert_eq!(output["message"], format!("{ticket} is what you were started for, and it is done"));
    let output =
        one.refused("aof_task_complete", json!({"outcome": "complete", "summary": "Once more"}));
    assert_eq!(output["error"], "visit_ended");
    assert_eq!(all.call("aof_task_get", json!({}))["title"], "One");
    check(&env);
}

#[test]
fn at_a_fork_the_branch_at_hand_is_meant() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: review, type: fork, branches: [{id: code, role: architect}, {id: docs, role: writer}]}\n",
        "roles:\n  architect: {agents: [agent-3]}\n  writer: {agents: [agent-5]}\n",
    );
    let id = env.new_task(&["Look at it"]);
    let mut reviewer = McpClient::of(&env, "agent-3");
    let output = reviewer.refused(
        "aof_task_complete",
        json!({"outcome": "complete", "summary": "Good", "task": format!("{id}@0/tests")}),
    );
    assert_snapshot!(shown(&env, &without_words(&output)), @r#"
    {
      "error": "no_such_branch",
      "task": "AOF-xxxxx",
      "gate": "review",
      "branch": "tests",
      "openBranches": [
        {
          "ticket": "AOF-xxxxx@0/code",
          "role": "architect"
        },
        {
          "ticket": "AOF-xxxxx@0/docs",
          "role": "writer"
        }
      ],
      "state": {
        "task": "AOF-xxxxx",
        "ticket": "AOF-xxxxx@0",
        "title": "Look at it",
        "status": "ready",
        "gate": "review",
        "agent": null,
        "available": {
          "outcomes": [],
          "agents": [
            "agent-3",
            "agent-5"
          ],
          "branches": [
            {
              "outcomes": [
                "complete",
                "blocked"
              ],
              "role": "architect",
              "agents": [
                "agent-3"
              ],
              "branch": "code",
              "ticket": "AOF-xxxxx@0/code"
            },
            {
              "outcomes": [
                "complete",
                "blocked"
              ],
              "role": "writer",
              "agents": [
                "agent-5"
              ],
              "branch": "docs",
              "ticket": "AOF-xxxxx@0/docs"
            }
          ]
        }
      },
      "nextCall": {
        "tool": "aof_task_complete",
        "arguments": {
          "outcome": "complete",
          "summary": "Good",
          "task": "AOF-xxxxx@0/code"
        }
      }
    }
    "#);
    assert_eq!(reviewer.call("aof_task_next", json!({}))["task"]["ticket"], format!("{id}@0/code"));
    let output = reviewer.call("aof_task_get", json!({}));
    assert_eq!(output["gate_context"]["gate"], "review/code");
    let output =
        reviewer.call("aof_task_complete", json!({"outcome": "complete", "summary": "Good"}));
    assert_eq!(output["gate"], "review/code");
    check(&env);
}

#[test]
fn a_workflow_is_started_by_one_call() {
    let env = TestEnvironment::with_rules(
        "defaultWorkflow: fix\nworkflows:\n  feature:\n    context: {input: {repo: null, branch: main}}\n    gates: [{id: implement, role: backend}]\n  fix:\n    gates: [{id: mend, role: backend}]\n",
        "roles:\n  backend: {agents: [agent-7, agent-8]}\nagents:\n  agent-7: {may: [new]}\n  agent-8: {}\n",
    );
    let mut worker = McpClient::of(&env, "agent-7");
    assert_snapshot!(shown(&env, &worker.call("aof_workflow_list", json!({}))), @r#"
    {
      "workflows": [
        {
          "name": "feature",
          "gates": [
            "implement"
          ],
          "input": {
            "repo": null,
            "branch": "main"
          },
          "default": false
        },
        {
          "name": "fix",
          "gates": [
            "mend"
          ],
          "default": true
        }
      ],
      "total": 2,
      "truncated": false,
      "nextCall": {
        "tool": "aof_workflow_start",
        "arguments": {
          "workflow": "feature",
          "title": "<what is to be done>"
        }
      }
    }
    "#);
    let output = worker.refused(
        "aof_workflow_start",
        json!({"workflow": "feature", "title": "Add X", "input": "All of X."}),
    );
    assert_eq!((&output["error"], &output["missing"]), (&json!("missing_input"), &json!(["repo"])));
    let output = worker.follow(&output);
    assert_snapshot!(shown(&env, &output), @r#"
    {
      "task": "AOF-xxxxx",
      "workflow": "feature",
      "gate": "implement",
      "status": "ready",
      "path": "tasks/AOF-xxxxx.md",
      "commit": "COMMIT",
      "message": "AOF-xxxxx is now at gate `implement`, ready for agent-7 or agent-8",
      "warnings": [],
      "nextCall": {
        "tool": "aof_task_next",
        "arguments": {}
      }
    }
    "#);
    assert!(env.task_text(output["task"].as_str().unwrap()).ends_with("All of X.\n"));
    assert_eq!(worker.follow(&output)["task"]["title"], "Add X");
    let output = worker.refused(
        "aof_workflow_start",
        json!({"workflow": "feature", "title": "Y", "context": {"repo": "web", "brunch": "x"}}),
    );
    assert_eq!(output["error"], "unknown_input");
    worker.follow(&output);

    let mut other = McpClient::of(&env, "agent-8");
    assert_snapshot!(shown(&env, &other.refused("aof_task_create", json!({"title": "Add Y"}))), @r#"
    {
      "error": "not_permitted",
      "message": "`agent-8` may not create tasks: that is for people\n\nask a person, or allow it in org.yaml: `agents: {agent-8: {may: [new]}}`\n\nNo call fixes this: tell the person you work for.",
      "yourAgentId": "agent-8",
      "permission": "new",
      "nextCall": null
    }
    "#);
    check(&env);
}

#[test]
fn lists_and_long_texts_come_in_parts() {
    let env = TestEnvironment::new();
    let long: String = (0..9000).map(|number| format!("{number:04}ä\n")).collect();
    let id = env.new_task(&["Long", "--body", &long[..50_000], "--meta", "priority=critical"]);
    env.write("list.json", format!("[{}]", vec![r#"{"title": "Again"}"#; 29].join(",")));
    let _ = env.aof(&["task", "new", "--from", "list.json"]).success();
    let mut worker = McpClient::of(&env, "agent-7");

    let mut output = worker.call("aof_task_list", json!({"status": "ready"}));
    assert_eq!((&output["total"], &output["truncated"]), (&json!(30), &json!(true)));
    assert_eq!(output["tasks"].as_array().unwrap().len(), 20);
    output = worker.follow(&output);
    assert_eq!(
        (output["tasks"].as_array().unwrap().len(), &output["truncated"]),
        (10, &json!(false))
    );

    let mut output = worker.call("aof_task_next", json!({}))["task"].clone();
    let mut body = String::new();
    loop {
        body.push_str(output["body"].as_str().unwrap());
        if output["truncated"] != true {
            break;
        }
        assert_eq!(output["rest"]["tool"], "aof_task_get");
        let next = output["rest"]["arguments"].clone();
        output = worker.call("aof_task_get", next);
    }
    assert!(body.trim() == long[..50_000].trim(), "{} bytes", body.len());
    let file = worker.ask("resources/read", json!({"uri": format!("aof://task/{id}")}));
    let text = file["contents"][0]["text"].as_str().unwrap();
    assert!(text.len() < 21 * 1024 && text.contains("(cut here"), "{}", text.len());
    // A place inside a letter is none.
    assert!(
        worker.call("aof_task_get", json!({"offset": 5}))["body"]
            .as_str()
            .unwrap()
            .starts_with('ä')
    );
    assert_eq!(worker.call("aof_task_get", json!({"offset": 1_000_000}))["body"], "");
}

#[test]
fn the_outcomes_of_the_agent_s_gates_are_in_the_schema() {
    let env = TestEnvironment::new();
    let schema_in = |env: &TestEnvironment, agent: &str| {
        let mut client = McpClient::of(env, agent);
        let output = client.ask("tools/list", json!({}));
        let mut tools = output["tools"].as_array().unwrap().iter();
        let tool = tools.find(|tool| tool["name"] == "aof_task_complete").unwrap();
        tool["inputSchema"].clone()
    };
    let schema = |agent: &str| schema_in(&env, agent);
    let worker = schema("agent-7");
    assert_eq!(worker["properties"]["outcome"]["enum"], json!(["complete", "blocked"]));
    // A text may say it all.
    assert_eq!(worker["required"], Value::Null);
    // At a gate that rejects, an outcome that is left out is refused.
    let reviewer = schema("agent-3");
    assert_eq!(
        reviewer["properties"]["outcome"]["enum"],
        json!(["complete", "needs_review", "blocked"])
    );
    assert_eq!(reviewer["required"], json!(["outcome"]));
    // A role with a gate of its own that also steps in elsewhere: no valid outcome is missing.
    let rules = "\
workflow:
  gates:
    - {id: work, role: dev, canSkip: true}
    - {id: review, role: qa, canReject: true, maxRetries: 1, onExhausted: {escalateTo: lead}}
    - {id: approve, role: lead}
";
    let roles = "roles:\n  dev: {agents: [agent-7]}\n  qa: {agents: [agent-3]}\n  lead: {agents: [agent-5]}\n";
    let lead = schema_in(&TestEnvironment::with_rules(rules, roles), "agent-5");
    let mut outcomes = lead["properties"]["outcome"]["enum"].as_array().unwrap().clone();
    outcomes.sort_by_key(Value::to_string);
    assert_eq!(json!(outcomes), json!(["blocked", "complete", "needs_review", "skip"]));
    assert_eq!(lead["required"], Value::Null);
}
