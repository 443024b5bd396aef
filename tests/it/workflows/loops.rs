//! Loops over lists, and rounds of a workflow, as people and agents meet them.

use insta::assert_snapshot;

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;
use crate::support::scripted_agents::{DONE, project_of, shown};

const STORIES: &str = "\
workflow:
  gates:
    - {id: plan, role: planner}
    - {id: implement, role: worker, forEach: plan.stories, verifyEach: verify, brief: {instructions: \"Do {{item.title}}\"}}
    - {id: verify, role: tester, detour: true, canReject: true}
";

const ROUNDS: &str = "\
workflow:
  repeat: {until: context.check && context.check.done, max: 3}
  gates:
    - {id: work, role: worker}
    - {id: check, role: tester}
";

#[test]
fn agents_go_through_each_item_and_send_one_back() {
    let planner = "echo '{\"outcome\": \"complete\", \"summary\": \"Two\", \"outputs\": {\"stories\": [{\"title\": \"log in\"}, {\"title\": \"log out\"}]}}' > \"$AOF_OUTPUT\"\n";
    // The prompt is on standard input.
    let worker = "grep '^Do ' >> \"$HOME/asked\"\n".to_owned() + DONE;
    let tester = "\
if [ -e \"$HOME/seen\" ]; then
  echo '{\"outcome\": \"complete\", \"summary\": \"Good\"}' > \"$AOF_OUTPUT\"
else
  touch \"$HOME/seen\"
  echo '{\"outcome\": \"needs_review\", \"summary\": \"Not yet\", \"blockers\": [\"An empty password is accepted\"]}' > \"$AOF_OUTPUT\"
fi
";
    let env = project_of(
        STORIES,
        &[
            ("planner", "planner", "", planner),
            ("coder", "worker", "", &worker),
            ("tester", "tester", "", tester),
        ],
    );
    let id = env.new_task(&["Accounts"]);
    let _ = env.aof(&["run", "--task", &id]).success();
    assert_eq!(
        std::fs::read_to_string(env.home().join("asked")).unwrap(),
        "Do log in\nDo log in\nDo log out\n"
    );
    assert_snapshot!(env.aof(&["task", "history", &id]).success().stdout, @"
    AOF-xxxxx  Accounts

    Today
      10:00           created
      10:00  planner  plan → implement, item 1 of 2        Two                                     1 s
      10:00  coder    implement → verify, item 1 of 2      Did it                                  0 s
      10:00  tester   sent back to implement, item 1 of 2  Not yet                                 0 s
                                                           - An empty password is accepted
      10:00  coder    implement → verify, item 1 of 2      Did it                                  0 s
      10:00  tester   verify → implement, item 2 of 2      Good                                    0 s
      10:00  coder    implement → verify, item 2 of 2      Did it                                  0 s
      10:00  tester   verify → done                        Good                                    0 s

    By gate: plan 1 s, implement 0 s, verify 0 s. Sent back once.
    ");
    assert_snapshot!(env.aof(&["verify"]), @"
    exit 0
    --- stdout
    all is as the rules allow: 16 commits, 15 changes of a task
    ");
    check(&env);
}

#[test]
fn agents_repeat_a_workflow_until_its_condition_holds() {
    let tester = "\
echo x >> \"$HOME/rounds\"
[ $(wc -l < \"$HOME/rounds\") = 2 ] && done=true || done=false
echo \"{\\\"outcome\\\": \\\"complete\\\", \\\"summary\\\": \\\"Looked\\\", \\\"outputs\\\": {\\\"done\\\": $done}}\" > \"$AOF_OUTPUT\"
";
    let env =
        project_of(ROUNDS, &[("coder", "worker", "", DONE), ("tester", "tester", "", tester)]);
    let id = env.new_task(&["Tidy up"]);
    let _ = env.aof(&["run", "--task", &id]).success();
    let task = shown(&env, &id);
    let rounds: Vec<&serde_json::Value> =
        task["gateHistory"].as_array().unwrap().iter().map(|entry| &entry["round"]).collect();
    assert_eq!(
        rounds,
        [&serde_json::Value::Null, &2.into(), &serde_json::Value::Null, &serde_json::Value::Null]
    );
    assert_eq!(task["status"], "complete");
    let _ = env.aof(&["verify"]).success();
    check(&env);
}

#[test]
fn a_new_round_goes_to_the_earlier_judge() {
    let rules = "\
workflow:
  repeat: {until: 'false', max: 3}
  gates:
    - {id: work, role: worker}
    - {id: check, role: worker, separateFrom: [work]}
";
    let env =
        TestEnvironment::with_rules(rules, "roles:\n  worker: {agents: [agent-a, agent-b]}\n");
    let id = env.new_task(&["Tidy up"]);
    let next = |agent: &str| {
        env.aof(&["task", "next", "--agent", agent, "--json"]).json()["task"]["id"].clone()
    };
    for (agent, separate) in
        [("agent-a", true), ("agent-b", false), ("agent-b", true), ("agent-a", false)]
    {
        if !separate {
            let other = if agent == "agent-a" { "agent-b" } else { "agent-a" };
            assert!(next(other).is_null(), "{other} worked in this round");
        }
        assert!(!next(agent).is_null(), "{agent} may work here");
        let _ = env.say(&id, agent, "complete", &[]).success();
    }
    check(&env);
}

#[test]
fn a_list_that_cannot_be_gone_through_blocks_with_the_reason_and_a_new_one_helps() {
    let env = TestEnvironment::with_rules(
        STORIES,
        "roles:\n  planner: {agents: [agent-p]}\n  worker: {agents: [agent-w]}\n  tester: {agents: [agent-t]}\n",
    );
    let id = env.new_task(&["Accounts"]);
    let many: Vec<String> = (0..10_000).map(|number| number.to_string()).collect();
    let many = format!("stories=[{}]", many.join(","));
    assert_snapshot!(env.say(&id, "agent-p", "complete", &["--output", &many]), @"
    exit 4
    --- stderr
    error: `outputs` has 48903 bytes, and the limit is 32768

    hint: keep it short, and hand the rest on as a file
    ");
    let few: Vec<String> = (0..51).map(|number| number.to_string()).collect();
    let few = format!("stories=[{}]", few.join(","));
    assert_snapshot!(env.say(&id, "agent-p", "complete", &["--output", &few]), @"
    exit 0
    --- stdout
    AOF-xxxxx: plan → implement
      now at implement, blocked: No list to go through: `plan.stories` has 51 items, and `maxItems` is 50; `aof override` sends it back for another list
    ");
    assert_snapshot!(env.say(&id, "agent-w", "complete", &[]), @"
    exit 4
    --- stderr
    error: task `AOF-xxxxx` is blocked: No list to go through: `plan.stories` has 51 items, and `maxItems` is 50; `aof override` sends it back for another list

    hint: once that is settled, `aof unblock AOF-xxxxx`; or complete it with the outcome it has now
    ");
    assert_snapshot!(env.aof(&["why", &id]), @"
    exit 0
    --- stdout
    AOF-xxxxx  Accounts
      status  blocked
      gate    implement for 2s (visit 1)

    Because
      - `agent-p` ended gate `plan` with `complete` on Feb 16, 10:00, which led to `implement`
      - it is blocked: No list to go through: `plan.stories` has 51 items, and `maxItems` is 50; `aof override` sends it back for another list

    Who can move it
      - agent-w (role worker)
      - a person, who lets it go on with `aof unblock AOF-xxxxx`
    ");
    let back = ["task", "override", &id, "--to", "plan", "--reason", "fewer stories"];
    let _ = env.aof(&back).success();
    assert_snapshot!(env.say(&id, "agent-p", "complete", &["--output", "stories=[1]"]), @"
    exit 0
    --- stdout
    AOF-xxxxx: plan → implement
      now at implement, item 1 of 1, ready for agent-w
    ");
    assert_snapshot!(env.say(&id, "agent-w", "complete", &[]), @"
    exit 0
    --- stdout
    AOF-xxxxx: implement → verify
      now at verify, item 1 of 1, ready for agent-t
    ");
    check(&env);
}

#[test]
fn mistakes_in_loops_are_found_with_their_line() {
    let env = TestEnvironment::new();
    let printed = |workflow: &str| {
        env.write("project.yaml", workflow);
        env.aof(&["workflow", "validate"])
    };
    let shape = "\
workflow:
  repeat: {max: 2}
  gates:
    - {id: plan, role: backend, maxItems: 3}
    - {id: look, role: backend, forEach: stories}
    - id: both
      type: fork
      branches:
        - {id: one, role: backend, forEach: plan.stories}
        - {id: two, role: backend}
";
    assert_snapshot!(printed(shape), @"
    exit 6
    --- stdout
    error[missing_field]: `repeat` needs `until`
     --> project.yaml:2:12
      |
    2 |   repeat: {max: 2}
      |            ^^^

    error[dead_field]: `maxItems` would be ignored: the gate has no `forEach`
     --> project.yaml:4:33
      |
    4 |     - {id: plan, role: backend, maxItems: 3}
      |                                 ^^^^^^^^
      |
      = help: add the list, as in `forEach: plan.stories`, or remove it

    error[invalid_value]: `stories` is no path to a list
     --> project.yaml:5:33
      |
    5 |     - {id: look, role: backend, forEach: stories}
      |                                 ^^^^^^^
      |
      = help: name a gate or `input`, then what it hands on, as in `forEach: plan.stories`

    error[unknown_field]: a branch has no field `forEach`
     --> project.yaml:9:36
      |
    9 |         - {id: one, role: backend, forEach: plan.stories}
      |                                    ^^^^^^^
      |
      = help: a branch is visited once: put the loop at a gate before or after the fork

    invalid: 4 errors
    ");
    let meaning = "\
workflow:
  repeat: {until: 'context.', onExhausted: nowhere}
  gates:
    - {id: plan, role: backend}
    - {id: work, role: backend, forEach: plann.stories, verifyEach: plan}
    - {id: off, role: backend, detour: true, forEach: plan.stories}
    - {id: look, role: architect, canReject: true, routes: {needs_review: off}}
";
    assert_snapshot!(printed(meaning), @"
    exit 6
    --- stdout
    error[unknown_list]: no other gate of the workflow is called `plann`
     --> project.yaml:5:42
      |
    5 |     - {id: work, role: backend, forEach: plann.stories, verifyEach: plan}
      |                                          ^^^^^^^^^^^^^
      |
      = help: did you mean `plan`?

    error[loop_verifies_on_line]: gate `plan` stands on the line: tasks would come to it without an item, too
     --> project.yaml:5:69
      |
    5 |     - {id: work, role: backend, forEach: plann.stories, verifyEach: plan}
      |                                                                     ^^^^
      |
      = help: let it be a gate with a `role` and `detour: true`

    error[loop_at_detour]: gate `off` is a detour, and a detour has no `forEach`
     --> project.yaml:6:55
      |
    6 |     - {id: off, role: backend, detour: true, forEach: plan.stories}
      |                                                       ^^^^^^^^^^^^
      |
      = help: let the gate with the loop stand on the line, and name this one in its `verifyEach`

    error[invalid_condition]: this is not a JavaScript expression: it ends too early
     --> project.yaml:2:28
      |
    2 |   repeat: {until: 'context.', onExhausted: nowhere}
      |                            ^
      |
      = help: write one expression, such as `tags.includes('api')`, without statements or `;`

    error[unknown_gate]: there is no gate `nowhere` in workflow `default`
     --> project.yaml:2:44
      |
    2 |   repeat: {until: 'context.', onExhausted: nowhere}
      |                                            ^^^^^^^
      |
      = help: name one of `plan`, `work`, `off`, `look`

    invalid: 5 errors
    ");
}
