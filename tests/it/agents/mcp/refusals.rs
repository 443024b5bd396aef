//! What `aof mcp` refuses: each refusal says what works, and changes nothing.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::checker::check;
use crate::support::environment::{PROJECT, TestEnvironment};
use crate::support::mcp_client::{Era, McpClient, WITH_BOSS, WITH_PERSON, shown, without_words};

/// Makes a call that is refused, and returns its fields; nothing has changed.
fn refusal(
    env: &TestEnvironment,
    client: &mut McpClient<'_>,
    tool: &str,
    arguments: Value,
) -> String {
    let head = env.head();
    let output = client.refused(tool, arguments);
    assert_eq!(env.head(), head, "a refusal changes nothing");
    shown(env, &without_words(&output))
}

#[test]
fn refusals_show_the_state_of_the_task_and_a_call_that_works() {
    let env = TestEnvironment::with_rules(WITH_PERSON, WITH_BOSS);
    let id = env.new_task(&["Add login"]);
    let mut worker = McpClient::of(&env, "agent-7");
    let complete = "aof_task_complete";

    let output = worker.refused(complete, json!({"outcome": "complete", "summary": "Done"}));
    assert_snapshot!(shown(&env, &output), @r#"
    {
      "error": "no_current_task",
      "message": "`agent-7` has no task now, and the call names none\n\ntake one with aof_task_next, or name one in `task`",
      "yourAgentId": "agent-7",
      "nextCall": {
        "tool": "aof_task_next",
        "arguments": {}
      }
    }
    "#);
    worker.follow(&output);

    let output =
        worker.refused(complete, json!({"outcome": "done", "summary": "Finished the work"}));
    assert_snapshot!(shown(&env, &output), @r#"
    {
      "error": "invalid_outcome",
      "message": "`done` is not an outcome of gate `implement`\n\ndid you mean `complete`? valid here: `complete`, `blocked`, `skip`\n  `complete`  your work here is finished\n  `blocked`  something outside stops you (name it in `blockers`)\n  `skip`  this gate does not apply to the task\n\nExample:\n{\n  \"outcome\": \"complete\",\n  \"summary\": \"Added login with tokens; 14 tests, coverage 85%\"\n}",
      "validOutcomes": [
        "complete",
        "blocked",
        "skip"
      ],
      "gate": "implement",
      "state": {
        "task": "AOF-xxxxx",
        "ticket": "AOF-xxxxx@0",
        "title": "Add login",
        "status": "in_progress",
        "gate": "implement",
        "agent": "agent-7",
        "available": {
          "outcomes": [
            "complete",
            "blocked",
            "skip"
          ],
          "role": "backend",
          "agents": [
            "agent-7"
          ]
        }
      },
      "nextCall": {
        "tool": "aof_task_complete",
        "arguments": {
          "outcome": "complete",
          "summary": "Finished the work",
          "task": "AOF-xxxxx@0"
        }
      }
    }
    "#);
    assert_snapshot!(refusal(&env, &mut worker, complete, json!({"outcome": "complete"})), @r#"
    {
      "error": "missing_summary",
      "requiredField": "summary",
      "state": {
        "task": "AOF-xxxxx",
        "ticket": "AOF-xxxxx@0",
        "title": "Add login",
        "status": "in_progress",
        "gate": "implement",
        "agent": "agent-7",
        "available": {
          "outcomes": [
            "complete",
            "blocked",
            "skip"
          ],
          "role": "backend",
          "agents": [
            "agent-7"
          ]
        }
      },
      "nextCall": {
        "tool": "aof_task_complete",
        "arguments": {
          "outcome": "complete",
          "summary": "<what you did, in one or two sentences>",
          "task": "AOF-xxxxx@0"
        }
      }
    }
    "#);
    assert_snapshot!(refusal(&env, &mut worker, complete, json!({"outcome": "blocked", "summary": "Stuck"})), @r#"
    {
      "error": "missing_blockers",
      "requiredField": "blockers",
      "state": {
        "task": "AOF-xxxxx",
        "ticket": "AOF-xxxxx@0",
        "title": "Add login",
        "status": "in_progress",
        "gate": "implement",
        "agent": "agent-7",
        "available": {
          "outcomes": [
            "complete",
            "blocked",
            "skip"
          ],
          "role": "backend",
          "agents": [
            "agent-7"
          ]
        }
      },
      "nextCall": {
        "tool": "aof_task_complete",
        "arguments": {
          "outcome": "blocked",
          "summary": "Stuck",
          "blockers": [
            "<one thing that must be fixed, or that you wait for>"
          ],
          "task": "AOF-xxxxx@0"
        }
      }
    }
    "#);
    assert_snapshot!(refusal(&env, &mut worker, complete, json!({"outcome": "blocked", "summary": "Stuck", "blockers": []})), @r#"
    {
      "error": "empty_blockers",
      "requiredField": "blockers",
      "state": {
        "task": "AOF-xxxxx",
        "ticket": "AOF-xxxxx@0",
        "title": "Add login",
        "status": "in_progress",
        "gate": "implement",
        "agent": "agent-7",
        "available": {
          "outcomes": [
            "complete",
            "blocked",
            "skip"
          ],
          "role": "backend",
          "agents": [
            "agent-7"
          ]
        }
      },
      "nextCall": {
        "tool": "aof_task_complete",
        "arguments": {
          "outcome": "blocked",
          "summary": "Stuck",
          "blockers": [
            "<one thing that must be fixed, or that you wait for>"
          ],
          "task": "AOF-xxxxx@0"
        }
      }
    }
    "#);
    assert_snapshot!(refusal(&env, &mut worker, complete, json!({"outcome": "needs_review", "summary": "Bad", "blockers": ["All of it"]})), @r#"
    {
      "error": "reject_not_allowed",
      "gate": "implement",
      "canReject": false,
      "validOutcomes": [
        "complete",
        "blocked",
        "skip"
      ],
      "state": {
        "task": "AOF-xxxxx",
        "ticket": "AOF-xxxxx@0",
        "title": "Add login",
        "status": "in_progress",
        "gate": "implement",
        "agent": "agent-7",
        "available": {
          "outcomes": [
            "complete",
            "blocked",
            "skip"
          ],
          "role": "backend",
          "agents": [
            "agent-7"
          ]
        }
      },
      "nextCall": {
        "tool": "aof_task_complete",
        "arguments": {
          "outcome": "blocked",
          "summary": "Bad",
          "blockers": [
            "All of it"
          ],
          "task": "AOF-xxxxx@0"
        }
      }
    }
    "#);
    assert_snapshot!(refusal(&env, &mut worker, complete, json!({"outcome": "complete", "summary": "Done", "task": "AOF-zzzzzzzzzzzz"})), @r#"
    {
      "error": "task_not_found",
      "task": "AOF-zzzzzzzzzzzz",
      "nextCall": {
        "tool": "aof_task_list",
        "arguments": {}
      }
    }
    "#);
    assert_snapshot!(refusal(&env, &mut worker, complete, json!({"outcome": "complete", "summary": "Done", "task": format!("{id}@7")})), @r#"
    {
      "error": "visit_ahead",
      "task": "AOF-xxxxx",
      "visit": 7,
      "currentVisit": 0,
      "state": {
        "task": "AOF-xxxxx",
        "ticket": "AOF-xxxxx@0",
        "title": "Add login",
        "status": "in_progress",
        "gate": "implement",
        "agent": "agent-7",
        "available": {
          "outcomes": [
            "complete",
            "blocked",
            "skip"
          ],
          "role": "backend",
          "agents": [
            "agent-7"
          ]
        }
      },
      "nextCall": {
        "tool": "aof_task_get",
        "arguments": {
          "task": "AOF-xxxxx"
        }
      }
    }
    "#);

    // What is advised in place of a wrong outcome works as it stands.
    let output = worker.follow(&output);
    assert_eq!(output["gate"], "implement");
    let old = json!({"outcome": "complete", "summary": "Done", "task": format!("{id}@0")});
    assert_snapshot!(refusal(&env, &mut worker, complete, old), @r#"
    {
      "error": "visit_ended",
      "task": "AOF-xxxxx",
      "visit": 0,
      "gate": "implement",
      "winningAgent": "agent-7",
      "losingAgent": null,
      "outcome": "complete",
      "exited": "2026-02-16T10:00:05Z",
      "state": {
        "task": "AOF-xxxxx",
        "ticket": "AOF-xxxxx@1",
        "title": "Add login",
        "status": "ready",
        "gate": "review",
        "agent": null,
        "available": {
          "outcomes": [
            "complete",
            "needs_review",
            "blocked"
          ],
          "role": "architect",
          "agents": [
            "agent-3"
          ]
        }
      },
      "nextCall": {
        "tool": "aof_task_next",
        "arguments": {}
      }
    }
    "#);
    assert_snapshot!(refusal(&env, &mut worker, complete, json!({"outcome": "complete", "summary": "Done", "task": format!("{id}@1")})), @r#"
    {
      "error": "wrong_role",
      "task": "AOF-xxxxx",
      "gate": "review",
      "expectedRole": "architect",
      "actualRole": "backend",
      "actualRoles": [
        "backend"
      ],
      "yourAgentId": "agent-7",
      "validAgents": [
        "agent-3"
      ],
      "state": {
        "task": "AOF-xxxxx",
        "ticket": "AOF-xxxxx@1",
        "title": "Add login",
        "status": "ready",
        "gate": "review",
        "agent": null,
        "available": {
          "outcomes": [
            "complete",
            "needs_review",
            "blocked"
          ],
          "role": "architect",
          "agents": [
            "agent-3"
          ]
        }
      },
      "nextCall": {
        "tool": "aof_task_next",
        "arguments": {}
      }
    }
    "#);

    let mut reviewer = McpClient::of(&env, "agent-3");
    reviewer.call("aof_task_next", json!({}));
    assert_snapshot!(refusal(&env, &mut worker, complete, json!({"outcome": "complete", "summary": "Done", "task": id})), @r#"
    {
      "error": "repeated_completion",
      "task": "AOF-xxxxx",
      "ticket": "AOF-xxxxx@1",
      "openGate": "review",
      "gate": "implement",
      "yourAgentId": "agent-7",
      "outcome": "complete",
      "exited": "2026-02-16T10:00:05Z",
      "state": {
        "task": "AOF-xxxxx",
        "ticket": "AOF-xxxxx@1",
        "title": "Add login",
        "status": "in_progress",
        "gate": "review",
        "agent": "agent-3",
        "available": {
          "outcomes": [
            "complete",
            "needs_review",
            "blocked"
          ],
          "role": "architect",
          "agents": [
            "agent-3"
          ]
        }
      },
      "nextCall": {
        "tool": "aof_task_next",
        "arguments": {}
      }
    }
    "#);
    assert_snapshot!(refusal(&env, &mut reviewer, complete, json!({"summary": "Looks good"})), @r#"
    {
      "error": "missing_outcome",
      "requiredField": "outcome",
      "gate": "review",
      "validOutcomes": [
        "complete",
        "needs_review",
        "blocked"
      ],
      "state": {
        "task": "AOF-xxxxx",
        "ticket": "AOF-xxxxx@1",
        "title": "Add login",
        "status": "in_progress",
        "gate": "review",
        "agent": "agent-3",
        "available": {
          "outcomes": [
            "complete",
            "needs_review",
            "blocked"
          ],
          "role": "architect",
          "agents": [
            "agent-3"
          ]
        }
      },
      "nextCall": {
        "tool": "aof_task_complete",
        "arguments": {
          "summary": "Looks good",
          "outcome": "<one of complete, needs_review, blocked>",
          "task": "AOF-xxxxx@1"
        }
      }
    }
    "#);
    let output = reviewer.refused(complete, json!({"outcome": "rejected", "summary": "Not yet"}));
    assert_eq!(output["nextCall"]["arguments"]["outcome"], "needs_review");
    // Nobody is led to pass a gate by a word that means nothing.
    let output = reviewer.refused(complete, json!({"outcome": "hmm", "summary": "Not yet"}));
    assert_eq!(
        output["nextCall"]["arguments"]["outcome"],
        "<one of complete, needs_review, blocked>"
    );
    reviewer.call(complete, json!({"outcome": "complete", "summary": "Good"}));
    assert_snapshot!(refusal(&env, &mut reviewer, complete, json!({"outcome": "complete", "summary": "Done", "task": id})), @r#"
    {
      "error": "repeated_completion",
      "task": "AOF-xxxxx",
      "ticket": "AOF-xxxxx@2",
      "openGate": "approve",
      "gate": "review",
      "yourAgentId": "agent-3",
      "outcome": "complete",
      "exited": "2026-02-16T10:00:22Z",
      "state": {
        "task": "AOF-xxxxx",
        "ticket": "AOF-xxxxx@2",
        "title": "Add login",
        "status": "ready",
        "gate": "approve",
        "agent": null,
        "available": {
          "outcomes": [
            "complete",
            "blocked"
          ],
          "role": "boss",
          "agents": [
            "human-ada"
          ]
        }
      },
      "nextCall": {
        "tool": "aof_task_next",
        "arguments": {}
      }
    }
    "#);

    // Whoever has another task is told of that one.
    let other = env.new_task(&["Another"]);
    let third = env.new_task(&["A third"]);
    let mut second = McpClient::of(&env, "agent-8");
    worker.call("aof_task_next", json!({}));
    second.call("aof_task_next", json!({}));
    let (mine, theirs) = if env.task_text(&other).contains("agent: agent-7") {
        (other, third)
    } else {
        (third, other)
    };
    let output =
        worker.refused(complete, json!({"outcome": "complete", "summary": "Done", "task": theirs}));
    assert_eq!((&output["error"], &output["assignedTask"]), (&json!("wrong_task"), &json!(mine)));
    assert_eq!(worker.follow(&output)["task"], json!(mine));
    check(&env);
}

#[test]
fn after_frontmatter_that_cannot_be_read_the_next_call_works() {
    let rules = "workflow: {gates: [{id: work, role: worker, signal: {status: true, missing: blocked}, outputs: {properties: {n: {type: integer}}, required: [n]}}]}\n";
    let env = TestEnvironment::with_rules(rules, "roles:\n  worker: {agents: [agent-7]}\n");
    let id = env.new_task(&["Add login"]);
    let mut worker = McpClient::of(&env, "agent-7");
    let text = "---\nn: a: b\n---\nDone.\n";
    let mut output = worker.refused("aof_task_complete", json!({"task": id, "text": text}));
    let arguments = &mut output["nextCall"]["arguments"];
    assert_eq!(arguments["outputs"]["n"], "<n>", "only the agent knows the number");
    arguments["outputs"]["n"] = json!(3);
    let arguments = &output["nextCall"]["arguments"];
    assert!(!arguments["text"].as_str().unwrap().contains("---"), "{output}");
    assert_eq!(worker.follow(&output)["outcome"], "complete");
    check(&env);
}

#[test]
fn a_task_that_was_changed_by_hand_waits_for_a_person() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let mut worker = McpClient::of(&env, "agent-7");
    worker.call("aof_task_next", json!({}));
    env.edit(&env.task_path(&id), "current: implement", "current: review");
    let output = worker.refused(
        "aof_task_complete",
        json!({"outcome": "complete", "summary": "Done", "task": id}),
    );
    assert_snapshot!(shown(&env, &output), @r#"
    {
      "error": "task_frozen",
      "message": "`tasks/AOF-xxxxx.md` was changed by hand in what the engine keeps: gate\n\nsee the change with `git diff HEAD -- tasks/AOF-xxxxx.md` and take it back with `git restore --source=HEAD --staged --worktree tasks/AOF-xxxxx.md`; if you meant to move the task, do that first, then `aof override AOF-xxxxx --to GATE --reason \"...\"`\n\nNo call fixes this: tell the person you work for.",
      "task": "AOF-xxxxx",
      "path": "tasks/AOF-xxxxx.md",
      "fields": [
        "gate"
      ],
      "state": {
        "task": "AOF-xxxxx",
        "ticket": "AOF-xxxxx@0",
        "title": "Add login",
        "status": "in_progress",
        "gate": "implement",
        "agent": "agent-7",
        "available": {
          "outcomes": [
            "complete",
            "blocked"
          ],
          "role": "backend",
          "agents": [
            "agent-7"
          ]
        }
      },
      "nextCall": null
    }
    "#);
    let output = worker.call("aof_task_get", json!({"task": id}));
    assert_eq!(output["frozen"], json!(["gate"]));
}

#[test]
fn a_server_that_only_looks_changes_nothing() {
    let env = TestEnvironment::with_rules(WITH_PERSON, WITH_BOSS);
    let id = env.new_task(&["Add login"]);
    // Looking takes no proof: git's user, a person, will do.
    let mut client = McpClient::start(&env, Era::Old, &["--read-only"]);
    let tools = client.ask("tools/list", json!({}))["tools"].clone();
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["aof_task_get", "aof_task_list", "aof_workflow_list", "aof_status"]);
    assert_eq!(client.call("aof_status", json!({}))["agent"], "human-ada");
    assert_eq!(client.call("aof_task_get", json!({"task": id}))["title"], "Add login");
    assert_eq!(client.call("aof_task_list", json!({"mine": true}))["total"], 0);
    assert_snapshot!(client.answer("tools/call", json!({"name": "aof_task_complete", "arguments": {"summary": "x"}}))["error"], @r#"{"code":-32602,"message":"`aof_task_complete` changes things, and this server was started with --read-only","data":{"tools":["aof_task_get","aof_task_list","aof_workflow_list","aof_status"]}}"#);
    // No call is advised that is not there.
    assert_eq!(client.refused("aof_task_get", json!({}))["nextCall"], Value::Null);
    assert_eq!(client.ask("prompts/list", json!({}))["prompts"], json!([]));
    check(&env);
}

#[test]
fn without_a_project_every_tool_names_the_fix() {
    let env = TestEnvironment::without_repository();
    let mut client = McpClient::of(&env, "agent-7");
    let tools = client.ask("tools/list", json!({}))["tools"].clone();
    for tool in tools.as_array().unwrap() {
        let arguments = match tool["name"].as_str().unwrap() {
            "aof_task_complete" => json!({"outcome": "complete", "summary": "x"}),
            "aof_task_create" => json!({"title": "x"}),
            "aof_workflow_start" => json!({"title": "x", "workflow": "default"}),
            "aof_task_comment" => json!({"text": "x"}),
            _ => json!({}),
        };
        let output = client.refused(tool["name"].as_str().unwrap(), arguments);
        assert_eq!(output["error"], "no_project", "{output}");
    }
    assert_snapshot!(shown(&env, &client.refused("aof_status", json!({}))), @r#"
    {
      "error": "no_project",
      "message": "no project at `$PROJECT` or above it\n\nstart one with `aof init`, or name its folder with `-C DIR`\n\nNo call fixes this: tell the person you work for.",
      "nextCall": null
    }
    "#);
    assert_eq!(client.ask("resources/list", json!({}))["resources"].as_array().unwrap().len(), 1);
    // Once there is a project, the same server works in it.
    env.git(&["init", "--quiet", "--initial-branch=main"]);
    env.write("project.yaml", PROJECT);
    env.write(
        "org.yaml",
        "roles:\n  backend: {agents: [agent-7]}\n  architect: {agents: [agent-3]}\n",
    );
    assert_eq!(client.refused("aof_status", json!({}))["error"], "rules_not_committed");
    env.commit_all("rules");
    env.new_task(&["Add login"]);
    assert_eq!(client.call("aof_task_next", json!({}))["task"]["title"], "Add login");
    let mut nowhere = McpClient::start(&env, Era::Old, &["-C", "nowhere"]);
    let output = nowhere.refused("aof_status", json!({}));
    assert!(
        output["message"].as_str().unwrap().starts_with("cannot find the folder `nowhere`"),
        "{output}"
    );
    assert_snapshot!(env.aof(&["mcp", "--check", "-C", "nowhere"]), @"
    exit 3
    --- stderr
    error: cannot enter `nowhere`: No such file or directory (os error 2)
    ");
}

#[test]
fn the_next_call_after_a_repeated_completion_says_it_on_purpose() {
    let rules = "workflow: {gates: [{id: work, role: dev}, {id: qa, role: dev}]}\n";
    let env = TestEnvironment::with_rules(rules, "roles: {dev: {agents: [agent-7]}}\n");
    let id = env.new_task(&["Add login"]);
    let mut worker = McpClient::of(&env, "agent-7");
    let given = json!({"task": id, "outcome": "complete", "summary": "Did it"});
    worker.call("aof_task_complete", given.clone());
    let output = worker.refused("aof_task_complete", given);
    assert_eq!(output["error"], "repeated_completion");
    let mut next = output["nextCall"]["arguments"].clone();
    // What it did at the other gate only the agent can say.
    let summary = "<what you did at gate `qa`, if you mean that one as well>";
    let expected = json!({"task": format!("{id}@1"), "outcome": "complete", "summary": summary});
    assert_eq!(next, expected);
    next["summary"] = json!("Tried it with three accounts");
    worker.call(output["nextCall"]["tool"].as_str().unwrap(), next);
    assert!(env.task_path(&id).starts_with("tasks/archive/"), "{}", env.task_text(&id));
    check(&env);
}

#[test]
fn the_next_call_keeps_outputs_that_fit_and_makes_none_up() {
    let rules = "\
workflow:
  gates:
    - id: work
      role: worker
      outputs:
        properties: {ok: {type: boolean}, n: {type: integer}, notes: {type: string}, note: {type: string}}
        required: [ok, notes]
";
    let env = TestEnvironment::with_rules(rules, "roles:\n  worker: {agents: [agent-7]}\n");
    env.new_task(&["Add login"]);
    let mut worker = McpClient::of(&env, "agent-7");
    worker.call("aof_task_next", json!({}));
    for (given, wanted) in [
        (json!({"ok": "false", "notes": "x"}), json!({"ok": false, "notes": "x"})),
        (json!({"ok": false, "notes": "x", "n": "7"}), json!({"ok": false, "notes": "x", "n": 7})),
        (json!({"ok": "never", "notes": "x"}), json!({"ok": "<ok>", "notes": "x"})),
        (json!({"notes": "x"}), json!({"ok": "<ok>", "notes": "x"})),
        (json!({"ok": true, "noted": "it leaks"}), json!({"ok": true, "notes": "it leaks"})),
        // One that the gate declares too is meant as it is.
        (
            json!({"ok": true, "note": "it leaks"}),
            json!({"ok": true, "note": "it leaks", "notes": "<notes>"}),
        ),
        (json!({}), json!({"ok": "<ok>", "n": "<n>", "notes": "<notes>", "note": "<note>"})),
    ] {
        let arguments = json!({"outcome": "complete", "summary": "s", "outputs": given});
        let output = worker.refused("aof_task_complete", arguments);
        assert_eq!(output["nextCall"]["arguments"]["outputs"], wanted, "{given}: {output}");
    }
}

#[test]
fn an_outcome_is_never_taken_for_its_negation() {
    let rules = "\
workflow:
  gates:
    - {id: work, role: worker}
    - {id: review, role: worker, routes: {approved: $next, needs_fixes: work}}
";
    let env = TestEnvironment::with_rules(rules, "roles:\n  worker: {agents: [agent-7]}\n");
    let id = env.new_task(&["Add login"]);
    let done = ["complete", &id, "--agent", "agent-7", "--outcome", "complete", "--summary", "s"];
    let _ = env.aof(&done).success();
    let mut worker = McpClient::of(&env, "agent-7");
    for (given, meant) in [
        ("not_approved", None),
        ("Disapproved", None),
        ("unapproved", None),
        ("non-approved", None),
        ("aproved", Some("approved")),
        ("needs_fix", Some("needs_fixes")),
    ] {
        let arguments = json!({"task": id, "outcome": given, "summary": "it leaks"});
        let output = worker.refused("aof_task_complete", arguments);
        let next = output["nextCall"]["arguments"]["outcome"].as_str().unwrap();
        assert_eq!(Some(next).filter(|next| !next.starts_with('<')), meant, "{output}");
        let refused = env.aof(&["complete", &id, "--agent", "agent-7", "--outcome", given]).code(4);
        let asks = refused.stderr.contains("did you mean");
        assert_eq!(asks, meant.is_some(), "{refused}");
    }
}
