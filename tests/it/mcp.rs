//! `aof mcp`: agents work by calls alone, learn from what is refused, and break nothing, whatever they send.

use std::fs;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::checker::check;
use crate::environment::{PROJECT, TestEnvironment, eventually};
use crate::mcp_client::{Era, McpClient, shown, without_words};

/// Work, a review, a person.
const WITH_PERSON: &str = "\
workflow:
  gates:
    - {id: implement, role: backend, canSkip: true}
    - {id: review, role: architect, canReject: true}
    - {id: approve, role: boss, requireHuman: true}
";

const WITH_BOSS: &str = "\
roles:
  backend: {agents: [agent-7, agent-8]}
  architect: {agents: [agent-3]}
  boss: {agents: [human-ada]}
agents:
  agent-7: {may: [new]}
  agent-8: {}
  agent-3: {}
  human-ada: {email: ada@example.org}
";

#[test]
fn a_task_goes_through_by_calls_alone() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login", "--body", "With tokens."]);
    let mut worker = McpClient::of(&env, "agent-7");
    let mut reviewer = McpClient::start(&env, Era::New, &["--agent", "agent-3"]);

    let told = reviewer.call("aof_task_next", json!({}));
    assert_snapshot!(shown(&env, &told), @r#"
    {
      "task": null,
      "message": "nothing to do for `agent-3` in `architect`",
      "warnings": [],
      "nextCall": null
    }
    "#);
    let told = worker.call("aof_task_next", json!({}));
    assert_snapshot!(shown(&env, &told), @r#"
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
    let told = worker.call("aof_task_complete", json!({"outcome": "complete", "summary": "Login works, with tests"}));
    assert_snapshot!(shown(&env, &told), @r#"
    {
      "task": "AOF-xxxxx",
      "outcome": "complete",
      "way": "implement -> review",
      "gate": "review",
      "status": "ready",
      "settled": false,
      "commit": "COMMIT",
      "message": "AOF-xxxxx is now at gate `review`, ready for agent-3",
      "warnings": [],
      "nextCall": {
        "tool": "aof_task_next",
        "arguments": {}
      }
    }
    "#);
    assert_eq!(worker.follow(&told)["task"], Value::Null);

    reviewer.call("aof_task_next", json!({}));
    let back = json!({
        "outcome": "needs_review", "summary": "One thing to mend", "blockers": ["Tokens never expire"], "rejectionNotes": "Else fine",
    });
    let told = reviewer.call("aof_task_complete", back);
    assert_snapshot!(shown(&env, &told), @r#"
    {
      "task": "AOF-xxxxx",
      "outcome": "needs_review",
      "way": "review -> implement",
      "gate": "implement",
      "status": "ready",
      "settled": false,
      "commit": "COMMIT",
      "message": "AOF-xxxxx is now at gate `implement`, ready for agent-7 or agent-8",
      "warnings": [],
      "nextCall": {
        "tool": "aof_task_next",
        "arguments": {}
      }
    }
    "#);

    let told = worker.call("aof_task_next", json!({}));
    assert_snapshot!(shown(&env, &told["task"]["reviewContext"]), @r#"
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
    let told = worker.call(
        "aof_task_complete",
        json!({"outcome": "complete", "summary": "Tokens expire", "text": "After an hour."}),
    );
    assert_eq!(told["gate"], "review");
    assert!(env.task_text(&id).contains("After an hour."));
    reviewer.call("aof_task_next", json!({}));
    let told = reviewer.call("aof_task_complete", json!({"outcome": "complete", "summary": "Good"}));
    assert_eq!((&told["gate"], &told["status"]), (&Value::Null, &json!("complete")));
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
fn what_is_said_of_the_tools_is_short_complete_and_the_same_each_time() {
    let env = TestEnvironment::new();
    let mut old = McpClient::of(&env, "agent-7");
    let mut new = McpClient::start(&env, Era::New, &["--agent", "agent-7"]);
    let listed = old.ask("tools/list", json!({}))["tools"].clone();
    assert_eq!(listed, old.ask("tools/list", json!({}))["tools"]);
    assert_eq!(listed, new.ask("tools/list", json!({}))["tools"]);
    // No tokenizer makes more than a token of three bytes of English and JSON.
    assert!(listed.to_string().len() / 3 < 6000, "{} bytes", listed.to_string().len());
    let mut names = Vec::new();
    for tool in listed.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
        assert!(tool["description"].as_str().unwrap().len() > 60 && tool["title"].is_string(), "{name}");
        let hint = |key: &str| tool["annotations"][key].as_bool().unwrap_or_else(|| panic!("{name} has no {key}"));
        let marks = [("r", "readOnlyHint"), ("d", "destructiveHint"), ("i", "idempotentHint"), ("o", "openWorldHint")];
        let marks: String = marks.iter().map(|(mark, key)| if hint(key) { mark } else { "-" }).collect();
        names.push(format!("{marks} {name}"));
    }
    assert_snapshot!(names.join("\n"), @"
    --i- aof_task_next
    r-i- aof_task_get
    r-i- aof_task_list
    ---- aof_task_complete
    --i- aof_task_renew
    --i- aof_task_release
    ---- aof_task_create
    ---- aof_task_comment
    r-i- aof_workflow_list
    ---- aof_workflow_start
    r-i- aof_status
    ");
    let description = &listed[3]["description"].as_str().unwrap();
    assert_snapshot!(description, @r#"
    Mark your current task as done at its gate. Call it once, when the work is finished or cannot go on; where the task goes then is not your concern.

    outcome:
    - "complete": your work is done and ready to go on
    - "needs_review": you reviewed it and found problems that somebody else has to fix; list them in blockers
    - "blocked": something outside stops you; name it in blockers
    - "skip", "failed", or a decision of this gate: only where `outcomes` of the brief names it
    summary: what you did, in one or two sentences. blockers: one entry for each thing, so concrete that somebody can act on it: "No error handling for expired tokens", not "needs work".

    Examples:
    {"outcome": "complete", "summary": "Added login with tokens; 14 tests, coverage 85%"}
    {"outcome": "needs_review", "summary": "Two things to mend", "blockers": ["No error handling for expired tokens", "Coverage is 65%, the target is 80%"], "rejectionNotes": "The rest is fine"}
    {"outcome": "blocked", "summary": "Cannot go on without the API description", "blockers": ["The platform team has not sent the API description"]}

    A refusal changes nothing and says how to put it right.
    "#);
    assert_snapshot!(old.hello["instructions"].as_str().unwrap(), @r#"
    This project hands out work as tasks. A task stands at one gate at a time; you do what the brief of that gate asks, and say how it went.
    1. aof_task_next gives you your task with its brief: what is expected, and which outcomes are possible.
    2. Do the work.
    3. aof_task_complete says the outcome, with a summary. Where the task goes then is not your concern.
    You are the agent that this server was started for; no argument changes that.
    A refusal changes nothing. It says what is wrong, and `nextCall` is a call that works, with what is yours to fill in between < and >.
    Work that takes long is kept yours by aof_task_renew; what you cannot do is given back by aof_task_release.
    To have something done by a named process, as in "use the feature workflow to add X": aof_workflow_start.
    Never edit the engine's fields of files under tasks/ by hand (status, gate, gateHistory, routing): such a task waits for a person.
    "#);
    assert_eq!(old.hello["protocolVersion"], "2025-11-25");
    let versions = new.hello["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2025-11-25")) && versions.contains(&json!("2026-07-28")));
    // An era that nobody knows yet is answered with one that both know.
    let mut later = McpClient::mute(&env, Era::Old, &["--agent", "agent-7"], &[]);
    let hello =
        json!({"protocolVersion": "2031-01-01", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    assert_eq!(later.ask("initialize", hello)["protocolVersion"], "2025-11-25");
}

/// Makes a call that is refused, and returns its fields; nothing has changed.
fn refusal(env: &TestEnvironment, client: &mut McpClient<'_>, tool: &str, arguments: Value) -> String {
    let head = env.head();
    let told = client.refused(tool, arguments);
    assert_eq!(env.head(), head, "a refusal changes nothing");
    shown(env, &without_words(&told))
}

#[test]
fn refusals_say_where_the_task_stands_and_what_works() {
    let env = TestEnvironment::with_rules(WITH_PERSON, WITH_BOSS);
    let id = env.new_task(&["Add login"]);
    let mut worker = McpClient::of(&env, "agent-7");
    let complete = "aof_task_complete";

    let told = worker.refused(complete, json!({"outcome": "complete", "summary": "Done"}));
    assert_snapshot!(shown(&env, &told), @r#"
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
    worker.follow(&told);

    let told = worker.refused(complete, json!({"outcome": "done", "summary": "Finished the work"}));
    assert_snapshot!(shown(&env, &told), @r#"
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
            "<one thing that has to be mended, or that you wait for>"
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
            "<one thing that has to be mended, or that you wait for>"
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
    assert_snapshot!(refusal(&env, &mut worker, complete, json!({"outcome": "complete", "summary": "Done", "task": "AOF-zzzzz"})), @r#"
    {
      "error": "task_not_found",
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
    let told = worker.follow(&told);
    assert_eq!((&told["gate"], &told["way"]), (&json!("review"), &json!("implement -> review")));
    let old = json!({"outcome": "complete", "summary": "Done", "task": format!("{id}@0")});
    assert_snapshot!(refusal(&env, &mut worker, complete, old), @r#"
    {
      "error": "visit_ended",
      "task": "AOF-xxxxx",
      "visit": 0,
      "gate": "implement",
      "winningAgent": "agent-7",
      "losingAgent": "agent-7",
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
    assert_snapshot!(refusal(&env, &mut worker, complete, json!({"outcome": "complete", "summary": "Done", "task": id})), @r#"
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
      "error": "assigned_to_another",
      "task": "AOF-xxxxx",
      "assignedAgent": "agent-3",
      "yourAgentId": "agent-7",
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
    let told = reviewer.refused(complete, json!({"outcome": "rejected", "summary": "Not yet"}));
    assert_eq!(told["nextCall"]["arguments"]["outcome"], "needs_review");
    // Nobody is led to pass a gate by a word that means nothing.
    let told = reviewer.refused(complete, json!({"outcome": "hmm", "summary": "Not yet"}));
    assert_eq!(told["nextCall"]["arguments"]["outcome"], "<one of complete, needs_review, blocked>");
    reviewer.call(complete, json!({"outcome": "complete", "summary": "Good"}));
    assert_snapshot!(refusal(&env, &mut reviewer, complete, json!({"outcome": "complete", "summary": "Done", "task": id})), @r#"
    {
      "error": "human_required",
      "gate": "approve",
      "requireHuman": true,
      "yourAgentId": "agent-3",
      "validAgents": [
        "human-ada"
      ],
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
    let (mine, theirs) = if env.task_text(&other).contains("agent: agent-7") { (other, third) } else { (third, other) };
    let told = worker.refused(complete, json!({"outcome": "complete", "summary": "Done", "task": theirs}));
    assert_eq!((&told["error"], &told["assignedTask"]), (&json!("wrong_task"), &json!(mine)));
    assert_eq!(worker.follow(&told)["task"], json!(mine));
    check(&env);
}

#[test]
fn a_task_that_was_changed_by_hand_waits_for_a_person() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let mut worker = McpClient::of(&env, "agent-7");
    worker.call("aof_task_next", json!({}));
    env.edit(&env.task_path(&id), "current: implement", "current: review");
    let told = worker.refused("aof_task_complete", json!({"outcome": "complete", "summary": "Done", "task": id}));
    assert_snapshot!(shown(&env, &told), @r#"
    {
      "error": "task_frozen",
      "message": "`tasks/AOF-xxxxx.md` was changed by hand in what the engine keeps: gate\n\nsee the change with `git diff HEAD -- tasks/AOF-xxxxx.md` and take it back with `git restore --source=HEAD tasks/AOF-xxxxx.md`; if you meant to move the task, do that first, then `aof task override AOF-xxxxx --to GATE --reason \"...\"`\n\nNo call mends this: tell the person you work for.",
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
        "gate": "review",
        "agent": "agent-7",
        "available": {
          "outcomes": [
            "complete",
            "needs_review",
            "blocked"
          ],
          "role": "architect",
          "agents": [
            "agent-7"
          ]
        }
      },
      "nextCall": null
    }
    "#);
    let told = worker.call("aof_task_get", json!({"task": id}));
    assert_eq!(told["frozen"], json!(["gate"]));
}

#[test]
fn arguments_that_do_not_fit_are_refused_with_those_that_do() {
    let env = TestEnvironment::with_rules(WITH_PERSON, WITH_BOSS);
    env.new_task(&["Add login"]);
    let mut worker = McpClient::of(&env, "agent-7");
    worker.call("aof_task_next", json!({}));
    let mut lines = Vec::new();
    for (tool, arguments) in [
        ("aof_task_complete", json!({"outcome": "blocked", "summary": "Stuck", "blocker": ["No access"]})),
        ("aof_task_complete", json!({"outcome": "blocked", "summary": "Stuck", "blockers": "No access"})),
        ("aof_task_complete", json!({"outcome": 3, "summary": "Stuck"})),
        ("aof_task_complete", json!({"agent": "agent-3", "outcome": "complete", "summary": "I am somebody else"})),
        ("aof_task_complete", json!({"outcome": "complete", "summary": "x", "task": "../../etc/passwd"})),
        ("aof_task_complete", json!({"outcome": "complete", "summary": "x", "file": "/etc/passwd"})),
        ("aof_task_complete", json!({"outcome": "complete", "summary": "x", "file": "../home/.gitconfig"})),
        ("aof_task_complete", json!({"outcome": "complete", "summary": "x", "file": "gone.md"})),
        ("aof_task_list", json!({"status": "done"})),
        ("aof_task_list", json!({"gate": "revew"})),
        ("aof_task_list", json!({"limit": -1})),
        ("aof_task_list", json!({"ready": "true"})),
        ("aof_task_next", json!({"role": "architect"})),
        ("aof_task_next", json!({"role": "bakend"})),
        ("aof_task_comment", json!({})),
        ("aof_task_comment", json!({"text": " "})),
        ("aof_task_create", json!({"title": ""})),
        ("aof_task_create", json!({"titel": "Write it down"})),
        ("aof_workflow_start", json!({"workflow": "defalt", "title": "Add X"})),
        ("aof_workflow_start", json!({"workflow": "feature", "title": "Add X"})),
        ("aof_status", json!({"verbose": true})),
    ] {
        let told = worker.refused(tool, arguments);
        let message = told["message"].as_str().unwrap().split("\n\nExample").next().unwrap();
        lines.push(format!(
            "{tool}: {}\n  {}\n  -> {}",
            told["error"],
            message.replace("\n\n", "\n  "),
            told["nextCall"]
        ));
    }
    assert_snapshot!(env.plain(&lines.join("\n")), @r#"
    aof_task_complete: "unknown_argument"
      `aof_task_complete` takes no argument `blocker`
      did you mean `blockers`?
      -> {"tool":"aof_task_complete","arguments":{"outcome":"blocked","summary":"Stuck","blockers":["No access"],"task":"AOF-xxxxx@0"}}
    aof_task_complete: "invalid_argument"
      `blockers` of `aof_task_complete` is to be a list of texts, not the text `No access`
      Needed with needs_review and blocked
      -> {"tool":"aof_task_complete","arguments":{"outcome":"blocked","summary":"Stuck","blockers":["No access"],"task":"AOF-xxxxx@0"}}
    aof_task_complete: "invalid_argument"
      `outcome` of `aof_task_complete` is to be a text, not `3`
      How it went; needed unless `text` says it
      -> {"tool":"aof_task_complete","arguments":{"outcome":"<outcome>","summary":"Stuck","task":"AOF-xxxxx@0"}}
    aof_task_complete: "unknown_argument"
      `aof_task_complete` takes no argument `agent`
      it takes `summary`, `outcome`, `blockers`, `rejectionNotes`, `task`, `outputs`, `metadata`, `text`, `file`, `id`
      -> {"tool":"aof_task_complete","arguments":{"outcome":"complete","summary":"I am somebody else","task":"AOF-xxxxx@0"}}
    aof_task_complete: "invalid_id"
      `../../etc/passwd` is not a task or a ticket: it is a prefix, `-`, and 3 to 32 of `a-z0-9`, as in `AOF-7qk`; or such an id and the number of a visit, as in `AOF-7qk@3`, and of a branch, as in `AOF-7qk@3/security`
      see what there is with aof_task_list or aof_status
      -> {"tool":"aof_task_complete","arguments":{"outcome":"complete","summary":"x","task":"<task>"}}
    aof_task_complete: "invalid_argument"
      `/etc/passwd` is no file below the project
      name one by its path from the project's folder
      -> {"tool":"aof_task_complete","arguments":{"outcome":"complete","summary":"x","file":"<file>","task":"AOF-xxxxx@0"}}
    aof_task_complete: "invalid_argument"
      `../home/.gitconfig` is no file below the project
      name one by its path from the project's folder
      -> {"tool":"aof_task_complete","arguments":{"outcome":"complete","summary":"x","file":"<file>","task":"AOF-xxxxx@0"}}
    aof_task_complete: "invalid_argument"
      cannot read `gone.md`: No such file or directory (os error 2)
      name it by its path from the project's folder
      -> {"tool":"aof_task_complete","arguments":{"outcome":"complete","summary":"x","file":"<file>","task":"AOF-xxxxx@0"}}
    aof_task_list: "invalid_argument"
      `status` of `aof_task_list` is to be one of `ready`, `in_progress`, `blocked`, `complete`, `failed`, `cancelled`, `new`, not the text `done`
      -> {"tool":"aof_task_list","arguments":{}}
    aof_task_list: "unknown_gate"
      there is no gate `revew`
      did you mean `review`?
      -> {"tool":"aof_task_list","arguments":{"gate":"review"}}
    aof_task_list: "invalid_argument"
      `limit` of `aof_task_list` is to be a whole number, not less than 0, not `-1`
      How many at most; 20
      -> {"tool":"aof_task_list","arguments":{"limit":0}}
    aof_task_list: "invalid_argument"
      `ready` of `aof_task_list` is to be true or false, not the text `true`
      Only what can be handed out now
      -> {"tool":"aof_task_list","arguments":{"ready":true}}
    aof_task_next: "wrong_role"
      `agent-7` is not in role `architect`
      its roles are `backend`; see `aof org show`
      -> {"tool":"aof_task_next","arguments":{}}
    aof_task_next: "unknown_role"
      there is no role `bakend`
      did you mean `backend`?
      -> {"tool":"aof_task_next","arguments":{"role":"backend"}}
    aof_task_comment: "missing_argument"
      `aof_task_comment` needs `text`
      What is to be said, as Markdown
      -> {"tool":"aof_task_comment","arguments":{"text":"<text>","task":"AOF-xxxxx@0"}}
    aof_task_comment: "empty_comment"
      the comment says nothing
      give its text, as in `aof_task_comment AOF-xxxxx "..."`
      -> {"tool":"aof_task_comment","arguments":{"text":"<what is to be said>","task":"AOF-xxxxx@0"}}
    aof_task_create: "missing_title"
      a task needs a title
      say what is to be done in a few words, as in `Add login`
      -> {"tool":"aof_task_create","arguments":{"title":"<what is to be done, in a few words>"}}
    aof_task_create: "unknown_argument"
      `aof_task_create` takes no argument `titel`
      did you mean `title`?
      -> {"tool":"aof_task_create","arguments":{"title":"Write it down"}}
    aof_workflow_start: "unknown_workflow"
      there is no workflow `defalt`
      did you mean `default`?
      -> {"tool":"aof_workflow_start","arguments":{"workflow":"default","title":"Add X"}}
    aof_workflow_start: "unknown_workflow"
      there is no workflow `feature`
      there is `default`
      -> {"tool":"aof_workflow_list","arguments":{}}
    aof_status: "unknown_argument"
      `aof_status` takes no argument `verbose`
      call it without arguments
      -> {"tool":"aof_status","arguments":{}}
    "#);
    check(&env);
}

#[test]
fn what_is_too_long_is_refused_and_the_server_goes_on() {
    let env = TestEnvironment::new();
    env.new_task(&["Add login"]);
    let mut worker = McpClient::of(&env, "agent-7");
    worker.call("aof_task_next", json!({}));
    let long = "x".repeat(1 << 20);
    let told = worker.refused("aof_task_complete", json!({"outcome": "complete", "summary": long}));
    assert_snapshot!(shown(&env, &told), @r#"
    {
      "error": "too_long",
      "message": "`summary` has 1048576 bytes, and the limit is 16384\n\nkeep it short, and hand the rest on as a file",
      "field": "summary",
      "bytes": 1048576,
      "limit": 16384,
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
      "nextCall": {
        "tool": "aof_task_complete",
        "arguments": {
          "outcome": "complete",
          "summary": "<the same, shorter; the rest belongs into a file that it names>",
          "task": "AOF-xxxxx@0"
        }
      }
    }
    "#);
    worker.refused("aof_task_complete", json!({"outcome": "complete", "summary": "x", "text": long}));
    worker.refused("aof_task_comment", json!({"text": long}));
    // A line that nobody could mean is not even kept.
    worker.send(&format!("\"{}\"", "x".repeat(9 << 20)));
    assert_snapshot!(worker.line(), @r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message has at most 8388608 bytes"}}"#);
    assert_eq!(worker.call("aof_status", json!({}))["current"].as_array().unwrap().len(), 1);
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
    let told = worker.refused("aof_task_complete", json!({"outcome": "complete", "summary": "Done"}));
    assert_eq!(told["tasks"].as_array().unwrap().len(), 2);
    assert_snapshot!(shown(&env, &told).replace(&ids[0], "AOF-xxxxx"), @r#"
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
    assert_eq!(worker.follow(&told)["gate"], "review");
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
    let mut one = McpClient::start_with(&env, Era::New, &words, &[("AOF_TASK", &ticket), ("AOF_RUN", "run-1")]);
    let told = one.call("aof_task_next", json!({}));
    assert_eq!((&told["task"]["ticket"], &told["task"]["title"]), (&json!(ticket), &json!("Two")));
    assert_eq!(one.call("aof_task_get", json!({}))["title"], "Two");
    let told = one.call("aof_task_complete", json!({"outcome": "complete", "summary": "Done"}));
    assert_eq!((&told["task"], &told["gate"]), (&json!(ids[1]), &json!("review")));
    let told = one.follow(&told);
    assert_eq!(told["task"], Value::Null);
    assert_eq!(told["message"], format!("{ticket} is what you were started for, and it is done"));
    let told = one.refused("aof_task_complete", json!({"outcome": "complete", "summary": "Once more"}));
    assert_eq!(told["error"], "visit_ended");
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
    let told = reviewer.refused(
        "aof_task_complete",
        json!({"outcome": "complete", "summary": "Good", "task": format!("{id}@0/tests")}),
    );
    assert_snapshot!(shown(&env, &without_words(&told)), @r#"
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
    let told = reviewer.call("aof_task_get", json!({}));
    assert_eq!(told["gate_context"]["gate"], "review/code");
    let told = reviewer.call("aof_task_complete", json!({"outcome": "complete", "summary": "Good"}));
    assert_eq!((&told["gate"], &told["way"]), (&json!("review"), &json!("review/code")));
    check(&env);
}

#[test]
fn a_server_that_only_looks_changes_nothing() {
    let env = TestEnvironment::with_rules(WITH_PERSON, WITH_BOSS);
    let id = env.new_task(&["Add login"]);
    // Looking takes no proof: git's user, a person, will do.
    let mut client = McpClient::start(&env, Era::Old, &["--read-only"]);
    let tools = client.ask("tools/list", json!({}))["tools"].clone();
    let names: Vec<&str> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
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
fn without_a_project_every_tool_says_what_to_do() {
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
        let told = client.refused(tool["name"].as_str().unwrap(), arguments);
        assert_eq!(told["error"], "no_project", "{told}");
    }
    assert_snapshot!(shown(&env, &client.refused("aof_status", json!({}))), @r#"
    {
      "error": "no_project",
      "message": "no project at `$PROJECT` or above it\n\nstart one with `aof init`, or name its folder with `-C DIR`\n\nNo call mends this: tell the person you work for.",
      "nextCall": null
    }
    "#);
    assert_eq!(client.ask("resources/list", json!({}))["resources"].as_array().unwrap().len(), 1);
    // Once there is a project, the same server works in it.
    env.git(&["init", "--quiet", "--initial-branch=main"]);
    env.write("project.yaml", PROJECT);
    env.write("org.yaml", "roles:\n  backend: {agents: [agent-7]}\n  architect: {agents: [agent-3]}\n");
    assert_eq!(client.refused("aof_status", json!({}))["error"], "rules_not_committed");
    env.commit_all("rules");
    env.new_task(&["Add login"]);
    assert_eq!(client.call("aof_task_next", json!({}))["task"]["title"], "Add login");
    let bad = env.aof(&["mcp", "-C", "nowhere"]);
    assert_snapshot!(bad, @"
    exit 1
    --- stderr
    error: cannot enter `nowhere`: No such file or directory (os error 2)
    ");
}

#[test]
fn who_acts_is_settled_when_the_server_starts() {
    let env = TestEnvironment::with_rules(WITH_PERSON, WITH_BOSS);
    env.new_task(&["Add login"]);
    assert_snapshot!(env.aof(&["mcp", "--agent", "human-ada"]), @"
    exit 4
    --- stderr
    error: `human-ada` is a person's, and behind a server is a program

    hint: name the agent of the program with `--agent ID` or `AOF_AGENT`, or let it only look with `--read-only`; what a person has to say is said at a terminal, with `aof task complete`
    ");
    assert_eq!(env.aof(&["mcp"]).to_string(), env.aof(&["mcp", "--agent", "human-ada"]).to_string());
    let mut by_variable = McpClient::start_with(&env, Era::New, &[], &[("AOF_AGENT", "agent-8")]);
    assert_eq!(by_variable.call("aof_status", json!({}))["agent"], "agent-8");

    env.write(
        "org.yaml",
        WITH_BOSS
            .replace("human-ada: {email: ada@example.org}", "human-ada: {}")
            .replace("agent-8: {}", "agent-8: {email: ada@example.org}"),
    );
    env.commit_all("Ada's machine runs agent-8");
    let mut by_git = McpClient::start(&env, Era::Old, &[]);
    assert_eq!(by_git.call("aof_status", json!({}))["agent"], "agent-8");
    by_git.call("aof_task_next", json!({}));
    by_git.call("aof_task_complete", json!({"outcome": "complete", "summary": "Done"}));
    assert_eq!(env.git(&["log", "-1", "--format=%an %ae"]).trim(), "agent-8 ada@example.org");

    env.git(&["config", "user.email", "nobody@example.org"]);
    let mut nobody = McpClient::start(&env, Era::Old, &[]);
    assert_eq!(nobody.call("aof_task_list", json!({}))["total"], 1);
    assert_snapshot!(shown(&env, &nobody.refused("aof_task_next", json!({}))), @r#"
    {
      "error": "no_agent",
      "message": "it is not known which agent you are\n\nwhoever starts this server names the agent, with `aof mcp --agent ID` or `AOF_AGENT`; the ids are in org.yaml\n\nNo call mends this: tell the person you work for.",
      "nextCall": null
    }
    "#);
    // Without an agent nothing is made either: git's person did not ask for it.
    assert_eq!(nobody.refused("aof_task_create", json!({"title": "Mischief"}))["error"], "no_agent");
    assert_eq!(nobody.refused("aof_task_comment", json!({"text": "Mischief", "task": "AOF-abc"}))["error"], "no_agent");
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
      "nextCall": {
        "tool": "aof_workflow_start",
        "arguments": {
          "workflow": "feature",
          "title": "<what is to be done>"
        }
      }
    }
    "#);
    let told =
        worker.refused("aof_workflow_start", json!({"workflow": "feature", "title": "Add X", "input": "All of X."}));
    assert_eq!((&told["error"], &told["missing"]), (&json!("missing_input"), &json!(["repo"])));
    let told = worker.follow(&told);
    assert_snapshot!(shown(&env, &told), @r#"
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
    assert!(env.task_text(told["task"].as_str().unwrap()).ends_with("All of X.\n"));
    assert_eq!(worker.follow(&told)["task"]["title"], "Add X");
    let told = worker.refused(
        "aof_workflow_start",
        json!({"workflow": "feature", "title": "Y", "context": {"repo": "web", "brunch": "x"}}),
    );
    assert_eq!(told["error"], "unknown_input");
    worker.follow(&told);

    let mut other = McpClient::of(&env, "agent-8");
    assert_snapshot!(shown(&env, &other.refused("aof_task_create", json!({"title": "Add Y"}))), @r#"
    {
      "error": "not_permitted",
      "message": "`agent-8` may not create tasks: that is for people\n\nask a person, or allow it in org.yaml: `agents: {agent-8: {may: [new]}}`\n\nNo call mends this: tell the person you work for.",
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

    let mut told = worker.call("aof_task_list", json!({"status": "ready"}));
    assert_eq!((&told["total"], &told["truncated"]), (&json!(30), &json!(true)));
    assert_eq!(told["tasks"].as_array().unwrap().len(), 20);
    told = worker.follow(&told);
    assert_eq!((told["tasks"].as_array().unwrap().len(), &told["truncated"]), (10, &json!(false)));

    let mut told = worker.call("aof_task_next", json!({}))["task"].clone();
    let mut body = String::new();
    loop {
        body.push_str(told["body"].as_str().unwrap());
        if told["truncated"] != true {
            break;
        }
        assert_eq!(told["rest"]["tool"], "aof_task_get");
        let next = told["rest"]["arguments"].clone();
        told = worker.call("aof_task_get", next);
    }
    assert!(body.trim() == long[..50_000].trim(), "{} bytes", body.len());
    let file = worker.ask("resources/read", json!({"uri": format!("aof://task/{id}")}));
    let text = file["contents"][0]["text"].as_str().unwrap();
    assert!(text.len() < 21 * 1024 && text.contains("(cut here"), "{}", text.len());
    // A place inside a letter is none.
    assert!(worker.call("aof_task_get", json!({"offset": 5}))["body"].as_str().unwrap().starts_with('ä'));
    assert_eq!(worker.call("aof_task_get", json!({"offset": 1_000_000}))["body"], "");
}

#[test]
fn a_client_can_read_briefs_and_tasks_and_pick_a_prompt() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login", "--body", "With tokens."]);
    let mut worker = McpClient::of(&env, "agent-7");
    let uris = |client: &mut McpClient<'_>| {
        let listed = client.ask("resources/list", json!({}))["resources"].clone();
        listed.as_array().unwrap().iter().map(|one| one["uri"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(uris(&mut worker), ["aof://brief"]);
    let answer = worker.answer("resources/read", json!({"uri": "aof://brief"}));
    assert_eq!(
        (&answer["error"]["code"], &answer["error"]["data"]["error"]),
        (&json!(-32002), &json!("no_current_task"))
    );
    worker.call("aof_task_next", json!({}));
    assert_eq!(uris(&mut worker), ["aof://brief", &format!("aof://task/{id}")]);
    let brief = worker.ask("resources/read", json!({"uri": "aof://brief"}));
    assert_snapshot!(env.plain(brief["contents"][0]["text"].as_str().unwrap()), @"
    # AOF-xxxxx: Add login

    Gate `implement`, ticket `AOF-xxxxx@0`.

    You do the work of this task.

    ## Expected

    - Do what the title and the body of the task ask for
    - Check your result yourself before you hand it on

    ## Outcomes

    - `complete`: Your work is finished and can go on to the next step.
    - `blocked`: You cannot go on: something outside is missing. Name it in blockers; the task waits here.

    ## Tips

    - Say in the summary what you did and how you checked it

    ## Task

    With tokens.

    ## Say how it went

    Call aof_task_complete with `task`: `AOF-xxxxx@0`, `outcome`: one of those above, and `summary`: what you did.
    ");
    let file = worker.ask("resources/read", json!({"uri": format!("aof://task/{id}")}));
    assert_eq!(file["contents"][0]["text"], env.task_text(&id));
    assert_eq!(
        worker.ask("resources/templates/list", json!({}))["resourceTemplates"][0]["uriTemplate"],
        "aof://task/{id}"
    );
    for uri in ["aof://task/AOF-zzzzz", "aof://task/../../etc/passwd", "aof://nothing", "file:///etc/passwd"] {
        assert_eq!(worker.answer("resources/read", json!({"uri": uri}))["error"]["code"], -32002, "{uri}");
    }
    let work = worker.ask("prompts/get", json!({"name": "work-next"}));
    assert!(work["messages"][0]["content"]["text"].as_str().unwrap().contains("With tokens."));
    worker.call("aof_task_complete", json!({"outcome": "complete", "summary": "Done"}));
    let mut reviewer = McpClient::start(&env, Era::New, &["--agent", "agent-3"]);
    let review = reviewer.ask("prompts/get", json!({"name": "review-task", "arguments": {"task": id}}));
    assert_snapshot!(env.plain(review["messages"][0]["content"]["text"].as_str().unwrap()), @"
    Review the work of this task as its brief asks. Look at what was really done, in the files, not only at what is said of it. Name each thing that has to be mended so that somebody else can mend it: where it is, what is wrong, what would be right.

    # AOF-xxxxx: Add login

    Gate `review`, ticket `AOF-xxxxx@1`.

    You review this task: it goes on only if you find it good.

    ## Expected

    - Compare the result with what the title and the body of the task ask for
    - Name every fault you find, each as a blocker of its own

    ## Outcomes

    - `complete`: You found it good; it goes on.
    - `needs_review`: It needs mending. List each fault in blockers; it goes back to be worked on.
    - `blocked`: You cannot go on: something outside is missing. Name it in blockers; the task waits here.

    ## Tips

    - Write blockers that somebody else can act upon: the thing, and what it should be
    - One blocker for each fault

    ## Task

    With tokens.

    ## Say how it went

    Call aof_task_complete with `task`: `AOF-xxxxx@1`, `outcome`: one of those above, and `summary`: what you did.
    ");
    for params in [json!({"name": "review-task"}), json!({"name": "nothing"})] {
        assert_eq!(reviewer.answer("prompts/get", params)["error"]["code"], -32602);
    }
    // In the new era what is not there is a wrong parameter.
    assert_eq!(reviewer.answer("resources/read", json!({"uri": "aof://nothing"}))["error"]["code"], -32602);
}

#[test]
fn what_is_no_message_is_answered_and_the_server_goes_on() {
    let env = TestEnvironment::new();
    let mut client = McpClient::mute(&env, Era::Old, &["--agent", "agent-7"], &[]);
    let mut lines = Vec::new();
    // Before anything else was said, and after.
    for _ in 0..2 {
        for line in [
            "{not json",
            "[]",
            "{}",
            "\"text\"",
            "{\"jsonrpc\":\"2.0\",\"id\":7}",
            "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"nothing/known\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":[1]}",
            "{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"tools/call\",\"params\":{\"name\":\"aof_task_nxt\"}}",
        ] {
            client.send(line);
            lines.push(format!("{line}\n  {}", client.line()));
        }
        // These want no answer.
        for line in [
            "",
            "  ",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard\"}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":5}",
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}",
        ] {
            client.send(line);
        }
        if lines.len() == 8 {
            lines.push("-- initialize".to_owned());
            client.begin();
        }
    }
    assert_snapshot!(lines.join("\n"), @r#"
    {not json
      {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this line is not JSON: key must be a string at line 1 column 2"}}
    []
      {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message is a JSON-RPC object with `\"jsonrpc\": \"2.0\"`, one a line"}}
    {}
      {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message is a JSON-RPC object with `\"jsonrpc\": \"2.0\"`, one a line"}}
    "text"
      {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message is a JSON-RPC object with `\"jsonrpc\": \"2.0\"`, one a line"}}
    {"jsonrpc":"2.0","id":7}
      {"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"this is no JSON-RPC message: unrecognized JSON-RPC message"}}
    {"jsonrpc":"2.0","id":8,"method":"nothing/known"}
      {"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"request _meta is missing or has malformed required fields: io.modelcontextprotocol/protocolVersion, io.modelcontextprotocol/clientCapabilities"}}
    {"jsonrpc":"2.0","id":9,"method":"tools/call","params":[1]}
      {"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"the parameters of `tools/call` are malformed: unrecognized JSON-RPC message"}}
    {"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"aof_task_nxt"}}
      {"jsonrpc":"2.0","id":10,"error":{"code":-32602,"message":"request _meta is missing or has malformed required fields: io.modelcontextprotocol/protocolVersion, io.modelcontextprotocol/clientCapabilities"}}
    -- initialize
    {not json
      {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this line is not JSON: key must be a string at line 1 column 2"}}
    []
      {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message is a JSON-RPC object with `\"jsonrpc\": \"2.0\"`, one a line"}}
    {}
      {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message is a JSON-RPC object with `\"jsonrpc\": \"2.0\"`, one a line"}}
    "text"
      {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message is a JSON-RPC object with `\"jsonrpc\": \"2.0\"`, one a line"}}
    {"jsonrpc":"2.0","id":7}
      {"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"this is no JSON-RPC message: unrecognized JSON-RPC message"}}
    {"jsonrpc":"2.0","id":8,"method":"nothing/known"}
      {"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"there is no method `nothing/known`"}}
    {"jsonrpc":"2.0","id":9,"method":"tools/call","params":[1]}
      {"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"the parameters of `tools/call` are malformed: unrecognized JSON-RPC message"}}
    {"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"aof_task_nxt"}}
      {"jsonrpc":"2.0","id":10,"error":{"code":-32602,"message":"there is no tool `aof_task_nxt`; did you mean `aof_task_next`?","data":{"tools":["aof_task_next","aof_task_get","aof_task_list","aof_task_complete","aof_task_renew","aof_task_release","aof_task_create","aof_task_comment","aof_workflow_list","aof_workflow_start","aof_status"]}}}
    "#);
    assert_eq!(client.ask("ping", json!({})), json!({}));
    assert_eq!(client.end().code, Some(0));

    let silent = McpClient::mute(&env, Era::Old, &["--agent", "agent-7"], &[]).end();
    assert_snapshot!(silent, @"exit 0");
    // All of a conversation may be there before the server reads a word of it, and its end as well.
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let words: String = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "aof_status", "arguments": {}}}),
    ]
    .iter()
    .map(|message| format!("{message}\n"))
    .collect();
    let output = env.aof_reading(&["mcp", "--agent", "agent-7"], words.trim_end().as_bytes()).success();
    assert_eq!(output.stdout.lines().count(), 2, "{output}");
    assert!(output.stdout.contains("\"branch\\\":\\\"main\\\""), "{output}");
}

/// A server in the middle of a completion, which waits for git until the lock is gone.
fn in_the_middle<'e>(env: &'e TestEnvironment, client: &mut McpClient<'e>) -> (u64, std::path::PathBuf) {
    client.call("aof_task_next", json!({}));
    let lock = env.path(".git/index.lock");
    fs::write(&lock, "").unwrap();
    let arguments = json!({"outcome": "complete", "summary": "Done"});
    let call = client.request("tools/call", json!({"name": "aof_task_complete", "arguments": arguments}));
    // Others go on meanwhile, and are told at once.
    assert_eq!(client.ask("ping", json!({})), json!({}));
    assert_eq!(client.call("aof_status", json!({}))["current"].as_array().unwrap().len(), 1);
    eventually("the completion is prepared", || env.is_in_the_middle());
    (call, lock)
}

fn is_complete(env: &TestEnvironment, id: &str) -> bool {
    env.git(&["show", &format!("HEAD:tasks/{id}.md")]).contains("outcome: complete")
}

#[test]
fn calls_under_way_are_finished_whatever_the_client_does() {
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
                let told = Command::new("kill").args(["-TERM", &client.id().to_string()]).status().unwrap();
                assert!(told.success());
                free();
                let answer = client.line();
                assert_eq!(
                    (&answer["id"], &answer["result"]["structuredContent"]["gate"]),
                    (&json!(call), &json!("review"))
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
    for point in ["ops.prepared", "ops.file-written", "audit.ref-moved"] {
        let env = TestEnvironment::new();
        let id = env.new_task(&["Add login"]);
        McpClient::of(&env, "agent-7").call("aof_task_next", json!({}));
        let mut client = McpClient::start_with(&env, Era::New, &["--agent", "agent-7"], &[("AOF_STOP_AT", point)]);
        let arguments = json!({"outcome": "complete", "summary": "Done", "id": "delivery-1", "task": id});
        client.request("tools/call", json!({"name": "aof_task_complete", "arguments": arguments}));
        assert_eq!(client.ended().code, None, "{point}");
        // The same completion, sent again, counts once.
        let mut again = McpClient::of(&env, "agent-7");
        let told = again.call("aof_task_complete", arguments);
        assert_eq!((&told["gate"], &told["settled"]), (&json!("review"), &json!(point != "ops.prepared")), "{point}");
        assert_eq!(env.task_text(&id).matches("outcome: complete").count(), 1, "{point}");
        crate::checker::check_after_kills(&env);
    }
}

#[test]
fn of_two_servers_that_complete_one_visit_one_wins() {
    let env = TestEnvironment::new();
    for _ in 0..3 {
        let id = env.new_task(&["Add login"]);
        let mut clients = [McpClient::of(&env, "agent-7"), McpClient::start(&env, Era::New, &["--agent", "agent-8"])];
        let arguments = json!({"task": format!("{id}@0"), "outcome": "complete", "summary": "Done"});
        for client in &mut clients {
            client.request("tools/call", json!({"name": "aof_task_complete", "arguments": arguments}));
        }
        let answers: Vec<Value> = clients.iter_mut().map(McpClient::line).collect();
        let told: Vec<(bool, Value)> = clients
            .iter()
            .zip(&answers)
            .map(|(client, answer)| client.checked("aof_task_complete", &answer["result"]))
            .collect();
        let (lost, won): (Vec<_>, Vec<_>) = told.into_iter().partition(|(refused, _)| *refused);
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
    let ids: Vec<String> = (0..6).map(|number| env.new_task(&[&format!("Task {number}")])).collect();
    let mut client = McpClient::start(&env, Era::New, &["--agent", "agent-7", "--wait", "60s"]);
    let mut open: Vec<u64> = ids
        .iter()
        .map(|id| {
            let arguments = json!({"task": id, "outcome": "complete", "summary": "Done"});
            client.request("tools/call", json!({"name": "aof_task_complete", "arguments": arguments}))
        })
        .collect();
    while !open.is_empty() {
        let answer = client.line();
        assert_eq!(answer["result"]["structuredContent"]["gate"], "review", "{answer}");
        open.retain(|id| answer["id"] != *id);
    }
    check(&env);
}

#[test]
fn the_wiring_can_be_checked() {
    let env = TestEnvironment::with_rules(WITH_PERSON, WITH_BOSS);
    let size = |text: String| {
        let kb = text.find(" kB)").and_then(|end| Some((text[..end].rfind('(')? + 1, end)));
        kb.map_or(text.clone(), |(from, to)| format!("{}N{}", &text[..from], &text[to..]))
    };
    let output = |words: &[&str]| size(env.aof(words).to_string());
    assert_snapshot!(output(&["mcp", "--check", "--agent", "agent-7"]), @"
    exit 0
    --- stdout
    aof mcp
      project   $PROJECT
      branch    main
      agent     agent-7
      roles     backend
      gates     implement
      protocol  2025-11-25, 2026-07-28
      tools     11 (N kB)
    all is well
    ");
    assert_snapshot!(output(&["mcp", "--check", "--agent", "agent-77"]), @"
    exit 1
    --- stdout
    aof mcp
      project   $PROJECT
      branch    main
      agent     agent-77
      roles     none
      gates     none
      protocol  2025-11-25, 2026-07-28
      tools     11 (N kB)

    ! `agent-77` is not in org.yaml, so no task is ever handed to it
      add it to a role in org.yaml, as in `backend: {agents: [agent-77]}`, and commit that; did you mean `agent-7`?
    ");
    assert_snapshot!(output(&["mcp", "--check"]), @"
    exit 1
    --- stdout
    aof mcp
      project   $PROJECT
      branch    none
      agent     human-ada
      roles     boss
      gates     approve
      protocol  none
      tools     0 (N kB)

    ! `human-ada` is a person's, and behind a server is a program
      name the agent of the program with `--agent ID` or `AOF_AGENT`, or let it only look with `--read-only`; what a person has to say is said at a terminal, with `aof task complete`
    ");
    assert_snapshot!(output(&["mcp", "--check", "--read-only"]), @"
    exit 0
    --- stdout
    aof mcp
      project   $PROJECT
      branch    main
      agent     human-ada
      roles     boss
      gates     approve
      protocol  2025-11-25, 2026-07-28
      tools     4 (N kB)
    all is well
    ");
    env.git(&["config", "user.email", "nobody@example.org"]);
    assert_snapshot!(output(&["mcp", "--check"]), @"
    exit 1
    --- stdout
    aof mcp
      project   $PROJECT
      branch    main
      agent     nobody
      roles     none
      gates     none
      protocol  2025-11-25, 2026-07-28
      tools     11 (N kB)

    ! it is not known which agent acts
      whoever starts this server names the agent, with `aof mcp --agent ID` or `AOF_AGENT`; the ids are in org.yaml; it has `agent-3`, `agent-7`, `agent-8`
    ");
    let report = env.aof(&["mcp", "--check", "--agent", "agent-3", "--json"]).success().json();
    assert_eq!((&report["ok"], &report["protocols"]), (&json!(true), &json!(["2025-11-25", "2026-07-28"])));
    assert_eq!((&report["gates"], &report["roles"]), (&json!(["review"]), &json!(["architect"])));
    env.write("org.yaml", WITH_BOSS.replace("[agent-3]", "[human-bob]"));
    env.commit_all("agent-3 has left");
    assert_snapshot!(output(&["mcp", "--check", "--agent", "agent-3"]), @"
    exit 1
    --- stdout
    aof mcp
      project   $PROJECT
      branch    main
      agent     agent-3
      roles     none
      gates     none
      protocol  2025-11-25, 2026-07-28
      tools     11 (N kB)

    ! `agent-3` is in no role, so no task is ever handed to it
      add it to a role in org.yaml, and commit that
    ");
    env.write("project.yaml", "workflow: {gates: []}\n");
    env.commit_all("no gates");
    assert_snapshot!(output(&["mcp", "--check", "--agent", "agent-3"]), @"
    exit 1
    --- stdout
    aof mcp
      project   $PROJECT
      branch    main
      agent     agent-3
      roles     none
      gates     none
      protocol  2025-11-25, 2026-07-28
      tools     11 (N kB)

    ! `agent-3` is in no role, so no task is ever handed to it
      add it to a role in org.yaml, and commit that
    ");

    let nowhere = TestEnvironment::without_repository();
    assert_snapshot!(size(nowhere.aof(&["mcp", "--check", "--agent", "agent-7"]).to_string()), @"
    exit 3
    --- stdout
    aof mcp
      project   none
      branch    none
      agent     nobody
      roles     none
      gates     none
      protocol  2025-11-25, 2026-07-28
      tools     11 (N kB)

    ! no project at `$PROJECT` or above it
      start one with `aof init`, or name its folder with `-C DIR`
    ");
}
