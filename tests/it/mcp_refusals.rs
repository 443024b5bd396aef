//! What `aof mcp` refuses: each refusal says what works, and changes nothing.

use std::fs;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::checker::check;
use crate::environment::{PROJECT, TestEnvironment};
use crate::mcp_client::{Era, McpClient, WITH_BOSS, WITH_PERSON, shown, without_words};

/// Makes a call that is refused, and returns its fields; nothing has changed.
fn refusal(
    env: &TestEnvironment,
    client: &mut McpClient<'_>,
    tool: &str,
    arguments: Value,
) -> String {
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
    assert_eq!(
        told["nextCall"]["arguments"]["outcome"],
        "<one of complete, needs_review, blocked>"
    );
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
    let (mine, theirs) = if env.task_text(&other).contains("agent: agent-7") {
        (other, third)
    } else {
        (third, other)
    };
    let told =
        worker.refused(complete, json!({"outcome": "complete", "summary": "Done", "task": theirs}));
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
    let told = worker.refused(
        "aof_task_complete",
        json!({"outcome": "complete", "summary": "Done", "task": id}),
    );
    assert_snapshot!(shown(&env, &told), @r#"
    {
      "error": "task_frozen",
      "message": "`tasks/AOF-xxxxx.md` was changed by hand in what the engine keeps: gate\n\nsee the change with `git diff HEAD -- tasks/AOF-xxxxx.md` and take it back with `git restore --source=HEAD --staged --worktree tasks/AOF-xxxxx.md`; if you meant to move the task, do that first, then `aof task override AOF-xxxxx --to GATE --reason \"...\"`\n\nNo call mends this: tell the person you work for.",
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
        (
            "aof_task_complete",
            json!({"outcome": "blocked", "summary": "Stuck", "blocker": ["No access"]}),
        ),
        (
            "aof_task_complete",
            json!({"outcome": "blocked", "summary": "Stuck", "blockers": "No access"}),
        ),
        ("aof_task_complete", json!({"outcome": 3, "summary": "Stuck"})),
        (
            "aof_task_complete",
            json!({"agent": "agent-3", "outcome": "complete", "summary": "I am somebody else"}),
        ),
        (
            "aof_task_complete",
            json!({"outcome": "complete", "summary": "x", "task": "../../etc/passwd"}),
        ),
        (
            "aof_task_complete",
            json!({"outcome": "complete", "summary": "x", "file": "/etc/passwd"}),
        ),
        (
            "aof_task_complete",
            json!({"outcome": "complete", "summary": "x", "file": "../home/.gitconfig"}),
        ),
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
      it takes `summary`, `outcome`, `blockers`, `rejectionNotes`, `task`, `outputs`, `metadata`, `text`, `file`, `id`, `signature`
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
      name one by its path from the project's folder
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
    worker
        .refused("aof_task_complete", json!({"outcome": "complete", "summary": "x", "text": long}));
    worker.refused("aof_task_comment", json!({"text": long}));
    // A line that nobody could mean is not even kept.
    worker.send(&format!("\"{}\"", "x".repeat(9 << 20)));
    assert_snapshot!(worker.line(), @r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message has at most 8388608 bytes"}}"#);
    assert_eq!(worker.call("aof_status", json!({}))["current"].as_array().unwrap().len(), 1);
    check(&env);
}

#[test]
fn a_file_that_is_not_for_the_record_is_not_read() {
    let env = TestEnvironment::new();
    env.write(".gitignore", ".env\nbuild/\n");
    env.commit_all("ignore");
    env.new_task(&["Add login"]);
    env.write(".env", "TOKEN=1");
    env.write("build/report.md", "Built");
    env.write(".aof/runs/note.md", "Seen");
    env.write("bytes.md", [0xff, 0xfe]);
    env.write("long.md", "x".repeat(64 * 1024 + 1));
    env.write("src/notes.md", "Noted");
    for (target, link) in [
        (".git/config", "config.md"),
        (".env", "env.md"),
        ("/etc/passwd", "users.md"),
        ("src/notes.md", "notes.md"),
    ] {
        std::os::unix::fs::symlink(target, env.path(link)).unwrap();
    }
    assert!(Command::new("mkfifo").arg(env.path("pipe.md")).status().unwrap().success());
    // More than any memory holds, and a hole on the disk.
    fs::File::create(env.path("vast.md")).unwrap().set_len(1 << 40).unwrap();
    let mut worker = McpClient::of(&env, "agent-7");
    worker.call("aof_task_next", json!({}));
    let with = |file: &str| json!({"outcome": "complete", "summary": "Done", "file": file});
    let mut lines = Vec::new();
    for file in [
        ".git/config",
        "src/../.git/HEAD",
        ".aof/runs/note.md",
        ".env",
        "build/report.md",
        "config.md",
        "env.md",
        "users.md",
        "pipe.md",
        "src",
        "bytes.md",
        "long.md",
        "vast.md",
    ] {
        let head = env.head();
        let told = worker.refused("aof_task_complete", with(file));
        assert_eq!(env.head(), head, "{file}");
        let message = told["message"].as_str().unwrap().replace("\n\n", "\n  ");
        lines.push(format!(
            "{file}: {}\n  {message}\n  -> {}",
            told["error"], told["nextCall"]["arguments"]
        ));
    }
    assert_snapshot!(env.plain(&lines.join("\n")), @r#"
    .git/config: "invalid_argument"
      `.git/config` is in a folder that belongs to git or to aof
      hand on what you wrote yourself in `text`
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    src/../.git/HEAD: "invalid_argument"
      `src/../.git/HEAD` is in a folder that belongs to git or to aof
      hand on what you wrote yourself in `text`
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    .aof/runs/note.md: "invalid_argument"
      `.aof/runs/note.md` is in a folder that belongs to git or to aof
      hand on what you wrote yourself in `text`
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    .env: "invalid_argument"
      git ignores `.env`, so it is not for the record
      hand on what you wrote yourself in `text`
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    build/report.md: "invalid_argument"
      git ignores `build/report.md`, so it is not for the record
      hand on what you wrote yourself in `text`
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    config.md: "invalid_argument"
      `config.md` is in a folder that belongs to git or to aof
      hand on what you wrote yourself in `text`
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    env.md: "invalid_argument"
      git ignores `env.md`, so it is not for the record
      hand on what you wrote yourself in `text`
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    users.md: "invalid_argument"
      `users.md` is no file below the project
      name one by its path from the project's folder
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    pipe.md: "invalid_argument"
      `pipe.md` is no file below the project
      name one by its path from the project's folder
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    src: "invalid_argument"
      `src` is no file below the project
      name one by its path from the project's folder
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    bytes.md: "invalid_argument"
      `bytes.md` is no text in UTF-8
      give a file of text
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    long.md: "too_long"
      `body` has 65537 bytes, and the limit is 65536
      put the text into a file of the repository and name the file in the summary
      -> {"outcome":"complete","summary":"Done","text":"<the same, shorter; the rest belongs into a file that it names>","task":"AOF-xxxxx@0"}
    vast.md: "too_long"
      `body` has 1099511627776 bytes, and the limit is 65536
      put the text into a file of the repository and name the file in the summary
      -> {"outcome":"complete","summary":"Done","text":"<the same, shorter; the rest belongs into a file that it names>","task":"AOF-xxxxx@0"}
    "#);
    // A link to what is for the record, and as much as a text may be long, are as good as any.
    env.write("long.md", "x".repeat(64 * 1024));
    worker.call("aof_task_complete", with("notes.md"));
    let id = env.new_task(&["Add logout"]);
    worker.call("aof_task_next", json!({}));
    worker.call("aof_task_complete", with("long.md"));
    assert!(env.task_text(&id).len() > 64 * 1024);
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
    env.write(
        "org.yaml",
        "roles:\n  backend: {agents: [agent-7]}\n  architect: {agents: [agent-3]}\n",
    );
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
