//! What `aof complete` refuses, and how it teaches.

use insta::assert_snapshot;

use crate::support::checker::{check, check_what_people_moved};
use crate::support::environment::TestEnvironment;
use crate::tasks::completion::{at_review, task, unchanged};

#[test]
fn an_outcome_that_is_none_is_explained() {
    let env = TestEnvironment::new();
    at_review(&env, "AOF-abc");
    let head = env.head();
    assert_snapshot!(env.say("AOF-abc", "agent-3", "done", &[]), @r#"
    exit 4
    --- stderr
    error: `done` is not an outcome of gate `review`

    hint: did you mean `complete`? valid here: `complete`, `needs_review`, `blocked`
      `complete`  your work here is finished
      `needs_review`  you found something that somebody else must fix (list it in `blockers`)
      `blocked`  something outside stops you (name it in `blockers`)

    example:
      aof complete AOF-abc@1 --agent agent-3 --outcome complete \
        --summary "Added login with tokens; 14 tests, coverage 85%"
    "#);
    assert_snapshot!(env.say("AOF-abc", "agent-3", "done", &["--json"]), @r#"
    exit 4
    --- stdout
    {
      "error": "invalid_outcome",
      "message": "`done` is not an outcome of gate `review`\n\ndid you mean `complete`? valid here: `complete`, `needs_review`, `blocked`\n  `complete`  your work here is finished\n  `needs_review`  you found something that somebody else must fix (list it in `blockers`)\n  `blocked`  something outside stops you (name it in `blockers`)\n\nExample:\n{\n  \"outcome\": \"complete\",\n  \"summary\": \"Added login with tokens; 14 tests, coverage 85%\"\n}",
      "validOutcomes": [
        "complete",
        "needs_review",
        "blocked"
      ],
      "gate": "review",
      "jsonVersion": 1
    }
    --- stderr
    `done` is not an outcome of gate `review`
    "#);
    assert_snapshot!(env.aof(&["task", "complete", "AOF-abc", "--agent", "agent-3", "-s", "Did it"]), @r#"
    exit 4
    --- stderr
    error: gate `review` wants an outcome, and none was given

    hint: give one of `complete`, `needs_review`, `blocked`:
      `complete`  your work here is finished
      `needs_review`  you found something that somebody else must fix (list it in `blockers`)
      `blocked`  something outside stops you (name it in `blockers`)

    example:
      aof complete AOF-abc@1 --agent agent-3 --outcome complete \
        --summary "Added login with tokens; 14 tests, coverage 85%"
    "#);
    unchanged(&env, &head);
}

#[test]
fn a_summary_is_wanted() {
    let env = TestEnvironment::new();
    task(&env, "AOF-abc");
    let head = env.head();
    let complete = ["task", "complete", "AOF-abc", "--agent", "agent-7", "--outcome", "complete"];
    assert_snapshot!(env.aof(&complete), @r#"
    exit 4
    --- stderr
    error: the `summary` is missing: nobody could tell later what was done

    hint: say in one or two sentences what was done

    example:
      aof complete AOF-abc@1 --agent agent-7 --outcome complete \
        --summary "Added login with tokens; 14 tests, coverage 85%"
    "#);
    let json = env.aof(&[&complete[..], &["--json", "--summary", "  "]].concat());
    assert_snapshot!(json, @r#"
    exit 4
    --- stdout
    {
      "error": "missing_summary",
      "message": "the `summary` is missing: nobody could tell later what was done\n\nsay in one or two sentences what was done\n\nExample:\n{\n  \"outcome\": \"complete\",\n  \"summary\": \"Added login with tokens; 14 tests, coverage 85%\"\n}",
      "requiredField": "summary",
      "jsonVersion": 1
    }
    --- stderr
    the `summary` is missing: nobody could tell later what was done
    "#);
    unchanged(&env, &head);
}

#[test]
fn blockers_are_required_if_they_need_action() {
    let env = TestEnvironment::new();
    at_review(&env, "AOF-abc");
    let head = env.head();
    assert_snapshot!(env.say("AOF-abc", "agent-3", "needs_review", &[]), @r#"
    exit 4
    --- stderr
    error: outcome `needs_review` needs `blockers`, and none were given

    hint: name what must be fixed so that somebody else can do it, one blocker for each thing

    example:
      aof complete AOF-abc@1 --agent agent-3 --outcome needs_review \
        --summary "Two things to fix before this can go on" \
        --blocker "No error handling when the token has expired" \
        --blocker "Coverage is 65%, the target is 80%"
    "#);
    assert_snapshot!(env.say("AOF-abc", "agent-3", "needs_review", &["--json"]), @r#"
    exit 4
    --- stdout
    {
      "error": "missing_blockers",
      "message": "outcome `needs_review` needs `blockers`, and none were given\n\nname what must be fixed so that somebody else can do it, one blocker for each thing\n\nExample:\n{\n  \"outcome\": \"needs_review\",\n  \"summary\": \"Two things to fix before this can go on\",\n  \"blockers\": [\n    \"No error handling when the token has expired\",\n    \"Coverage is 65%, the target is 80%\"\n  ]\n}",
      "requiredField": "blockers",
      "jsonVersion": 1
    }
    --- stderr
    outcome `needs_review` needs `blockers`, and none were given
    "#);
    assert_snapshot!(env.say("AOF-abc", "agent-3", "blocked", &["--blocker", " "]), @r#"
    exit 4
    --- stderr
    error: `blockers` is there, but it names nothing

    hint: name what you wait for, and from whom, one blocker for each

    example:
      aof complete AOF-abc@1 --agent agent-3 --outcome blocked \
        --summary "Cannot go on without the interface description" \
        --blocker "The platform team has not sent the interface description"
    "#);
    assert_snapshot!(env.say("AOF-abc", "agent-3", "blocked", &["--json", "--blocker", ""]), @r#"
    exit 4
    --- stdout
    {
      "error": "empty_blockers",
      "message": "`blockers` is there, but it names nothing\n\nname what you wait for, and from whom, one blocker for each\n\nExample:\n{\n  \"outcome\": \"blocked\",\n  \"summary\": \"Cannot go on without the interface description\",\n  \"blockers\": [\n    \"The platform team has not sent the interface description\"\n  ]\n}",
      "requiredField": "blockers",
      "jsonVersion": 1
    }
    --- stderr
    `blockers` is there, but it names nothing
    "#);
    unchanged(&env, &head);
}

#[test]
fn vague_blockers_pass_with_a_warning() {
    let env = TestEnvironment::new();
    at_review(&env, "AOF-abc");
    let output = env.say(
        "AOF-abc",
        "agent-3",
        "needs_review",
        &["--blocker", "needs improvement", "--blocker", "not good", "--json"],
    );
    assert_snapshot!(serde_json::to_string_pretty(&output.clone().success().json()["warnings"]).unwrap(), @r#"
    [
      {
        "warning": "vague_blockers",
        "message": "`needs improvement`, `not good` do not say what to do; name the thing and what it should be, as in `no error handling when the token has expired` or `coverage is 65%, the target is 80%`",
        "vagueBlockers": [
          "needs improvement",
          "not good"
        ]
      }
    ]
    "#);
    check(&env);
}

#[test]
fn somebody_elses_work_is_refused() {
    let env = TestEnvironment::new();
    at_review(&env, "AOF-abc");
    let head = env.head();
    assert_snapshot!(env.say("AOF-abc@1", "agent-7", "complete", &[]), @"
    exit 4
    --- stderr
    error: gate `review` is the work of role `architect`, and `agent-7` is in `backend`

    hint: it can be completed by `agent-3`; take a task of your own with `aof next --agent agent-7`, or have org.yaml changed
    ");
    assert_snapshot!(env.say("AOF-abc", "stranger", "complete", &["--json"]), @r#"
    exit 4
    --- stdout
    {
      "error": "wrong_role",
      "message": "gate `review` is the work of role `architect`, and `stranger` is in no role\n\nit can be completed by `agent-3`; take a task of your own with `aof next --agent stranger`, or have org.yaml changed",
      "task": "AOF-abc",
      "gate": "review",
      "expectedRole": "architect",
      "actualRole": null,
      "actualRoles": [],
      "yourAgentId": "stranger",
      "validAgents": [
        "agent-3"
      ],
      "jsonVersion": 1
    }
    --- stderr
    gate `review` is the work of role `architect`, and `stranger` is in no role
    "#);
    assert_snapshot!(env.aof(&["task", "complete", "AOF-abc", "-o", "complete", "-s", "Did it"]), @"
    exit 4
    --- stderr
    error: git's user acts only at a terminal, and no agent is named

    hint: say which agent you are, as in `aof task complete AOF-abc -o complete -s 'Did it' --agent agent-3`, or in `AOF_AGENT`; org.yaml has `agent-3`, `agent-7`, `agent-8`
    ");
    unchanged(&env, &head);
}

#[test]
fn an_agent_that_tries_a_task_of_another_role_learns_of_its_own() {
    let env = TestEnvironment::new();
    let (own, other) = (env.new_task(&["Mine"]), env.new_task(&["Not mine"]));
    let _ = env.complete(&other, "agent-7");
    env.edit(&format!("tasks/{own}.md"), "  role: backend", "  role: backend\n  agent: agent-7");
    env.commit_all("handed out");
    let ticket = format!("{other}@1");
    assert_snapshot!(env.say(&ticket, "agent-7", "complete", &["--json"]), @r#"
    exit 4
    --- stdout
    {
      "error": "wrong_task",
      "message": "you tried to complete `AOF-xxxxx`, and your task is `AOF-xxxxx`; besides, gate `review` is the work of role `architect`, and `agent-7` is in `backend`\n\ncomplete `AOF-xxxxx`; `AOF-xxxxx` is for others: see it with `aof show AOF-xxxxx`",
      "assignedTask": "AOF-xxxxx",
      "attemptedTask": "AOF-xxxxx",
      "gate": "review",
      "expectedRole": "architect",
      "jsonVersion": 1
    }
    --- stderr
    you tried to complete `AOF-xxxxx`, and your task is `AOF-xxxxx`; besides, gate `review` is the work of role `architect`, and `agent-7` is in `backend`
    "#);
    assert_snapshot!(env.say(&ticket, "agent-7", "complete", &[]), @"
    exit 4
    --- stderr
    error: you tried to complete `AOF-xxxxx`, and your task is `AOF-xxxxx`; besides, gate `review` is the work of role `architect`, and `agent-7` is in `backend`

    hint: complete `AOF-xxxxx`; `AOF-xxxxx` is for others: see it with `aof show AOF-xxxxx`
    ");
}

#[test]
fn a_task_that_another_holds_is_refused() {
    let env = TestEnvironment::new();
    task(&env, "AOF-abc");
    task(&env, "AOF-xyz");
    for (id, holder) in [("AOF-abc", "agent-7"), ("AOF-xyz", "agent-8")] {
        env.edit(
            &format!("tasks/{id}.md"),
            "  role: backend",
            &format!("  role: backend\n  agent: {holder}"),
        );
    }
    env.commit_all("handed out");
    let head = env.head();
    assert_snapshot!(env.say("AOF-xyz", "agent-7", "complete", &["--json"]), @r#"
    exit 4
    --- stdout
    {
      "error": "wrong_task",
      "message": "you tried to complete `AOF-xyz`, and your task is `AOF-abc`\n\ncomplete `AOF-abc`, or give it back first: `aof release AOF-abc --agent agent-7`; see `AOF-xyz` with `aof show AOF-xyz`",
      "assignedTask": "AOF-abc",
      "attemptedTask": "AOF-xyz",
      "jsonVersion": 1
    }
    --- stderr
    you tried to complete `AOF-xyz`, and your task is `AOF-abc`
    "#);
    assert_snapshot!(env.say("AOF-xyz", "agent-7", "complete", &[]), @"
    exit 4
    --- stderr
    error: you tried to complete `AOF-xyz`, and your task is `AOF-abc`

    hint: complete `AOF-abc`, or give it back first: `aof release AOF-abc --agent agent-7`; see `AOF-xyz` with `aof show AOF-xyz`
    ");
    assert_eq!(env.head(), head, "a commit was made");
    check_what_people_moved(&env);
    let _ = env.complete("AOF-xyz", "agent-8");
}

#[test]
fn rejecting_without_a_review_is_refused() {
    let env = TestEnvironment::new();
    task(&env, "AOF-abc");
    let head = env.head();
    assert_snapshot!(env.say("AOF-abc", "agent-7", "needs_review", &["--blocker", "It is wrong in `x.rs`"]), @r#"
    exit 4
    --- stderr
    error: gate `implement` does not send tasks back (`canReject` is false), so `needs_review` means nothing here

    hint: valid here: `complete`, `blocked`
      `complete`  your work here is finished
      `blocked`  something outside stops you (name it in `blockers`)
    If the work has faults, fix them, or complete it and let the next review see them

    example:
      aof complete AOF-abc@1 --agent agent-7 --outcome blocked \
        --summary "Cannot go on without the interface description" \
        --blocker "The platform team has not sent the interface description"
    "#);
    assert_snapshot!(env.say("AOF-abc", "agent-7", "needs_review", &["--json"]), @r#"
    exit 4
    --- stdout
    {
      "error": "reject_not_allowed",
      "message": "gate `implement` does not send tasks back (`canReject` is false), so `needs_review` means nothing here\n\nvalid here: `complete`, `blocked`\n  `complete`  your work here is finished\n  `blocked`  something outside stops you (name it in `blockers`)\nIf the work has faults, fix them, or complete it and let the next review see them\n\nExample:\n{\n  \"outcome\": \"blocked\",\n  \"summary\": \"Cannot go on without the interface description\",\n  \"blockers\": [\n    \"The platform team has not sent the interface description\"\n  ]\n}",
      "gate": "implement",
      "canReject": false,
      "validOutcomes": [
        "complete",
        "blocked"
      ],
      "jsonVersion": 1
    }
    --- stderr
    gate `implement` does not send tasks back (`canReject` is false), so `needs_review` means nothing here
    "#);
    assert_snapshot!(env.say("AOF-abc", "agent-7", "skip", &[]), @r#"
    exit 4
    --- stderr
    error: gate `implement` cannot be skipped by an outcome (`canSkip` is false)

    hint: valid here: `complete`, `blocked`
      `complete`  your work here is finished
      `blocked`  something outside stops you (name it in `blockers`)

    example:
      aof complete AOF-abc@1 --agent agent-7 --outcome complete \
        --summary "Added login with tokens; 14 tests, coverage 85%"
    "#);
    unchanged(&env, &head);
}

#[test]
fn a_gate_for_people_is_closed_to_programs() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: approve, role: lead, requireHuman: true}\n",
        "roles:\n  lead: {agents: [agent-3, human-ada]}\nagents:\n  agent-3: {}\n  human-ada: {email: ada@example.org}\n",
    );
    let id = env.new_task(&["Add login"]);
    let head = env.head();
    assert_snapshot!(env.say(&id, "agent-3", "complete", &[]), @"
    exit 4
    --- stderr
    error: gate `approve` is for people, and `agent-3` is not one

    hint: leave it to `human-ada`
    ");
    assert_snapshot!(env.say(&id, "agent-3", "complete", &["--json"]), @r#"
    exit 4
    --- stdout
    {
      "error": "human_required",
      "message": "gate `approve` is for people, and `agent-3` is not one\n\nleave it to `human-ada`",
      "gate": "approve",
      "requireHuman": true,
      "yourAgentId": "agent-3",
      "validAgents": [
        "human-ada"
      ],
      "jsonVersion": 1
    }
    --- stderr
    gate `approve` is for people, and `agent-3` is not one
    "#);
    assert_snapshot!(env.say(&id, "human-ada", "skip", &[]), @r#"
    exit 4
    --- stderr
    error: gate `approve` is for people, and such a gate is never skipped by an outcome

    hint: a person completes it; the gate's `when` says which tasks need no approval

    example:
      aof complete AOF-xxxxx@0 --agent human-ada --outcome complete \
        --summary "Added login with tokens; 14 tests, coverage 85%"
    "#);
    assert_snapshot!(env.aof(&["task", "complete", &id, "-o", "complete", "-s", "Approved"]), @"
    exit 4
    --- stderr
    error: git's user acts only at a terminal, and no agent is named

    hint: say which agent you are, as in `aof task complete AOF-xxxxx -o complete -s Approved --agent agent-3`, or in `AOF_AGENT`; org.yaml has `agent-3`
    ");
    unchanged(&env, &head);
    assert_snapshot!(env.complete(&id, "human-ada"), @"
    exit 0
    --- stdout
    AOF-xxxxx: approve → done
      now complete; archived as tasks/archive/2026/02/16/AOF-xxxxx.md
    ");
    assert_snapshot!(env.git_plain(&["log", "-1", "--format=%an <%ae>"]), @"human-ada <ada@example.org>");
    check(&env);
}

#[test]
fn a_missing_task_is_not_found() {
    let env = TestEnvironment::new();
    at_review(&env, "AOF-abc");
    assert_snapshot!(env.say("AOF-abd", "agent-3", "complete", &[]), @"
    exit 3
    --- stderr
    error: there is no task `AOF-abd`

    hint: did you mean `AOF-abc`?
    ");
    assert_snapshot!(env.say("AOF-zzz", "agent-3", "complete", &["--json"]), @r#"
    exit 3
    --- stdout
    {
      "error": "task_not_found",
      "message": "there is no task `AOF-zzz`\n\n`aof list --all` lists them all",
      "task": "AOF-zzz",
      "jsonVersion": 1
    }
    --- stderr
    there is no task `AOF-zzz`
    "#);
    assert_snapshot!(env.say("../AOF-abc", "agent-3", "complete", &[]), @"
    exit 2
    --- stderr
    error: invalid value '../AOF-abc' for '<ID>': `../AOF-abc` is not a task or a ticket: give an id such as `AOF-7qk` or its beginning, and for one visit or branch `@3` or `@3/security` after it

    For more information, try '--help'.
    ");
    assert_snapshot!(env.say("AOF-../../etc/passwd", "agent-3", "complete", &[]), @"
    exit 2
    --- stderr
    error: invalid value 'AOF-../../etc/passwd' for '<ID>': `AOF-../../etc/passwd` is not a task or a ticket: give an id such as `AOF-7qk` or its beginning, and for one visit or branch `@3` or `@3/security` after it

    For more information, try '--help'.
    ");
}

#[test]
fn the_argument_parser_alone_exits_with_two() {
    let env = TestEnvironment::new();
    let _ = env.aof(&["task", "complete"]).code(2);
    let _ = env.aof(&["task", "complete", "AOF-abc", "--output", "x"]).code(2);
    let _ = env.aof(&["--color", "sometimes", "task", "complete", "AOF-abc"]).code(2);
}
