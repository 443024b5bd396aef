//! `aof workflow prove`: what it says, and what it refuses.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::environment::TestEnvironment;

const PROJECT: &str = "\
workflow:
  gates:
    - {id: work, role: coder}
    - {id: look, role: tester, canReject: true}
promises:
  - name: A person looks
    always: \"!ended || human('look')\"
  - {name: The work is looked at, always: \"!ended || before('work', 'look')\"}
";

const ORG: &str = "\
roles:
  coder: {agents: [agent-1]}
  tester: {agents: [agent-2]}
";

fn project(project: &str) -> TestEnvironment {
    TestEnvironment::with_rules(project, ORG)
}

#[test]
fn a_report_says_what_is_proved_and_tells_what_is_not() {
    let env = project(PROJECT);
    assert_snapshot!(env.aof(&["workflow", "prove"]), @"
    exit 6
    --- stdout
    default
      can end     proved: from each of 11 states, by agents and people who exist
      needs       without agent-1, 2 of 2 gates can never pass
                  without agent-2, `look` can never pass
      costs       visits: at most 12; starts of agents: at most 12; times sent back before a person is asked: at most 5
      all used    proved: each gate, branch, route and condition matters
      promises    refuted: A person looks; see below
                  proved: The work is looked at

    error: promise `A person looks` is broken
       1. A task begins: the task is at `work`
       2. `agent-1` says `complete` at `work`: the task is at `look`
       3. `agent-2` says `complete` at `look`: the task is complete
      fix: change the workflow, or what is promised
    ");
    let report: Value =
        serde_json::from_str(&env.aof(&["workflow", "prove", "--json"]).stdout).unwrap();
    assert_eq!(
        report["promises"][1],
        json!({"name": "The work is looked at", "verdict": "proved", "why": null, "story": []})
    );
    assert_eq!(report["alarms"][0]["code"], "broken_promise");
    assert_eq!(report["alarms"][0]["story"].as_array().unwrap().len(), 3);
}

#[test]
fn what_cannot_be_proved_is_refused_with_its_place() {
    let promise = |line: &str| format!("{PROJECT}  - {line}\n");
    let said = |text: &str| {
        let env = project(PROJECT);
        env.write("project.yaml", text);
        env.aof(&["workflow", "prove"])
    };
    assert_snapshot!(said(&promise("{name: x, always: \"passed('lok')\"}")), @r#"
    exit 6
    --- stdout
    error[invalid_promise]: workflow `default` has no gate `lok`
     --> project.yaml:9:31
      |
    9 |   - {name: x, always: "passed('lok')"}
      |                               ^^^^^
      |
      = help: did you mean `look`?

    invalid: 1 error
    "#);
    assert_snapshot!(said(&promise("{name: x, always: \"passed('look'\"}")), @r#"
    exit 6
    --- stdout
    error[invalid_promise]: this is not a JavaScript expression: expected `)` but found `EOF`
     --> project.yaml:9:37
      |
    9 |   - {name: x, always: "passed('look'"}
      |                                     ^
      |
      = help: write one expression, such as `tags.includes('api')`, without statements or `;`

    invalid: 1 error
    "#);
    assert_snapshot!(said(&promise("{name: A person looks, always: ended}")), @"
    exit 6
    --- stdout
    error[invalid_value]: there is already a promise `A person looks`
     --> project.yaml:9:5
      |
    9 |   - {name: A person looks, always: ended}
      |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: give each a `name` of its own

    invalid: 1 error
    ");
    assert_snapshot!(said(&promise("{name: x, always: ended, workflow: sale}")), @"
    exit 6
    --- stdout
    error[unknown_workflow]: there is no workflow `sale`
     --> project.yaml:5:1
      |
    5 | promises:
      | ^^^^^^^^
      |
      = help: name one of `default`

    invalid: 1 error
    ");
    let env = project(PROJECT);
    assert_snapshot!(env.aof(&["workflow", "prove", "sale"]), @"
    exit 3
    --- stderr
    error: there is no workflow `sale`

    hint: there is `default`
    ");
    let missing =
        TestEnvironment::with_rules("workflow: {gates: [{id: work, role: coder}]}\n", ORG);
    std::fs::remove_file(missing.path("org.yaml")).unwrap();
    assert_snapshot!(missing.aof(&["workflow", "prove"]), @"
    exit 6
    --- stdout
    error[unknown_role]: there is no role `coder` in org.yaml
     --> project.yaml:1:37
      |
    1 | workflow: {gates: [{id: work, role: coder}]}
      |                                     ^^^^^
      |
      = help: add it to `roles` in org.yaml

    invalid: 1 error
    ");
    let nobody = "roles:\n  coder: {agents: [agent-1]}\n  tester: {agents: [agent-2]}\nagents:\n  agent-1: {}\n";
    env.write("org.yaml", nobody);
    assert_snapshot!(env.aof(&["workflow", "prove"]), @"
    exit 6
    --- stdout
    default
      can end     refuted: a task can get stuck; see below
      needs       more agents: nobody can pass `look`, on any way
                  without agent-1, `work` can never pass
      costs       visits: at most 12; starts of agents: at most 6; times sent back before a person is asked: at most 5
      all used    proved: each gate, branch, route and condition matters
      promises    proved: A person looks
                  proved: The work is looked at

    error: nobody can take gate `look`: `agents` of org.yaml lacks all of role `tester`: `agent-2`
       1. A task begins: the task is at `work`
       2. `agent-1` says `complete` at `work`: the task is at `look`, and is blocked
      fix: add them to `agents` in org.yaml
    ");
}

/// The same workflow, with a gate that passes the review over.
const HASTY: &str = "\
workflow:
  gates:
    - id: work
      role: coder
      routes: {done: $next, trivial: $end}
    - {id: look, role: tester, canReject: true}
promises:
  - {name: The work is looked at, always: \"!ended || before('work', 'look')\"}
";

const KEPT: &str = "\
workflow:
  gates:
    - {id: work, role: coder}
    - {id: look, role: tester, canReject: true}
promises:
  - {name: The work is looked at, always: \"!ended || before('work', 'look')\"}
";

#[test]
fn a_change_that_breaks_a_promise_is_told_before_it_counts_and_after() {
    let env = project(KEPT);
    assert_eq!(env.aof(&["new", "Water the roses"]).code, Some(0));
    assert!(!env.aof(&["status"]).stdout.contains("promise"));
    let old = env.git(&["rev-parse", "HEAD"]).trim().to_owned();
    env.write("project.yaml", HASTY);
    assert_snapshot!(env.aof(&["workflow", "diff"]), @"
    exit 0
    --- stdout
    from the rules of commit COMMIT to those of the worktree
    workflow default
      ~ gate work: new route done: $next, new route trivial: $end

    Breaks
    workflow default: error: promise `The work is looked at` is broken
       1. A task begins: the task is at `work`
       2. `agent-1` says `trivial` at `work`: the task is complete
      fix: change the workflow, or what is promised

    Tasks
      AOF-xxxxx  work  stays
        complete leads to nowhere, no longer to look
        done leads to look, no longer to nowhere
        trivial leads to end, no longer to nowhere
    ");
    env.commit_all("Trivial work needs no look");
    let push = |old: &str, new: &str| {
        let mut shell = env.command("sh");
        shell.args(["-c", "echo \"$0 $1 refs/heads/main\" | aof verify --stdin", old, new]);
        env.run(shell)
    };
    let new = env.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let refused = push(&old, &new);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stdout.contains("expected rules that keep promise `The work is looked at`"));
    assert!(refused.stdout.contains("`agent-1` says `trivial` at `work`: the task is complete"));
    assert!(env.aof(&["status"]).stdout.contains("! promise `The work is looked at` is broken"));
    // The answer is kept, and it is that of these rules.
    let kept: Value = serde_json::from_str(&env.read(".aof/proofs")).unwrap();
    assert_eq!(kept["alarms"]["default"][0]["code"], "broken_promise");
    env.write("project.yaml", KEPT);
    env.commit_all("It needs a look all the same");
    assert!(!env.aof(&["status"]).stdout.contains("promise"));
    let mended = env.git(&["rev-parse", "HEAD"]).trim().to_owned();
    assert_eq!(push(&new, &mended).code, Some(0));
    // Without the promise nothing is broken, and the difference says so.
    env.write("project.yaml", KEPT.split("promises:").next().unwrap());
    assert_snapshot!(env.aof(&["workflow", "diff"]), @"
    exit 0
    --- stdout
    from the rules of commit COMMIT to those of the worktree
    - promise The work is looked at

    the one task under way stays as it is
    ");
}

#[test]
fn conditions_that_exclude_each_other_count_once() {
    let env = project(
        "\
workflow:
  gates:
    - {id: plan, role: a}
    - {id: one, role: a, when: \"priority === 'high'\"}
    - {id: two, role: b, when: \"priority === 'low'\"}
    - {id: three, role: a, when: \"priority === 'medium'\"}
    - {id: never, role: a, when: \"metadata.size > 3 && metadata.size < 2\"}
    - {id: send, role: a, canReject: true, maxRetries: 1}
",
    );
    env.write("org.yaml", "roles: {a: {agents: [agent-a]}, b: {agents: [agent-b]}}\n");
    let output = env.aof(&["workflow", "prove"]).stdout;
    assert!(output.contains("without agent-b, `two` can never pass (1 of 4 ways)"), "{output}");
    assert!(output.contains("visits: at most 6; starts of agents: at most 6"), "{output}");
}

#[test]
fn limits_of_detours_and_of_ways_over_empty_loops_count() {
    for (gates, org) in [
        (
            "\
    - {id: work, role: r, routes: {help: aid, done: review}, maxRetries: 9}
    - {id: aid, role: h, detour: true, routes: {on: $next, back: work}, maxRetries: 1, onExhausted: {escalateTo: lead}}
    - {id: review, role: v, routes: {fine: $next, redo: work}, maxRetries: 3, separateFrom: [work]}
",
            "{r: {agents: [agent-a]}, h: {agents: [agent-b]}, v: {agents: [agent-c]}, lead: {agents: [agent-a]}}",
        ),
        (
            "\
    - {id: work, role: r, outputs: {properties: {items: {type: array, items: {type: string}}}, required: [items]}}
    - {id: each, role: w, forEach: work.items}
    - {id: review, role: v, separateFrom: [work]}
    - {id: check, role: k, routes: {fine: $next, redo: each}, maxRetries: 0, onExhausted: {escalateTo: lead}}
",
            "{r: {agents: [agent-b, agent-z]}, v: {agents: [agent-c]}, w: {agents: [agent-w]}, k: {agents: [agent-k]}, lead: {agents: [agent-z]}}",
        ),
    ] {
        let env = project(&format!("workflow:\n  gates:\n    {gates}"));
        env.write("org.yaml", format!("roles: {org}\n"));
        let output = env.aof(&["workflow", "prove", "--replay", "story"]);
        assert!(output.stdout.contains("nobody can take gate `review`"), "{output}");
        assert!(output.stdout.contains("is as the story says"), "{output}");
    }
}

#[test]
fn stories_of_people_and_of_sessions_are_done_too() {
    let asked = "\
workflow:
  gates:
    - {id: work, role: team, routes: {again: work, done: $next}, maxRetries: 1}
promises: [{name: nobody is asked, always: \"count('work', 'again') < 3\"}]
";
    let apart = "\
workflow:
  gates:
    - {id: work, role: team}
    - {id: look, role: team, separateFrom: {gates: [work], by: session}}
promises: [{name: it has no end, always: \"!ended\"}]
";
    for (rules, said) in [
        (asked, "--reason settled --agent human-ann"),
        (apart, "AOF_SESSION=session-2 aof complete"),
    ] {
        let env = project(rules);
        env.write("org.yaml", "roles: {team: {agents: [agent-1, human-ann]}}\n");
        let output = env.aof(&["workflow", "prove", "--replay", "story"]);
        assert!(output.stdout.contains(said), "{output}");
        assert!(output.stdout.contains("is as the story says"), "{output}");
    }
}

#[test]
fn a_story_is_done_through_the_real_commands() {
    let env = project(PROJECT);
    let replay =
        |env: &TestEnvironment, folder: &str| env.aof(&["workflow", "prove", "--replay", folder]);
    let output = replay(&env, "story");
    assert_eq!(output.code, Some(6), "{output}");
    assert!(output.stdout.contains("is as the story says"), "{output}");
    let log = env.git_plain(&["-C", "story", "log", "--format=%s"]);
    assert_snapshot!(log, @"
    AOF-xxxxx: look -> end (complete)
    AOF-xxxxx: work -> look (complete)
    AOF-xxxxx: created at work
    The rules
    ");
    assert_snapshot!(replay(&env, "story").stderr, @"
    error: `story` is not empty

    hint: name a folder that is empty or missing
    ");
    // Nobody is left for the review once both have worked.
    let apart = "\
workflow:
  gates:
    - {id: work, role: team}
    - {id: check, type: fork, branches: [{id: one, role: tester}, {id: two, role: tester, canReject: true}]}
    - {id: look, role: team, canReject: true, separateFrom: [work]}
";
    let env = project(apart);
    env.write(
        "org.yaml",
        "roles: {team: {agents: [agent-1, agent-2]}, tester: {agents: [agent-3]}}\n",
    );
    let output = replay(&env, "stuck");
    assert!(output.stdout.contains("is as the story says"), "{output}");
    env.write("project.yaml", KEPT);
    env.write("org.yaml", ORG);
    assert_snapshot!(replay(&env, "none").stderr, @"
    error: there is no fault with a story

    hint: `--replay` does the story of a fault
    ");
}

#[test]
fn a_large_workflow_is_refused_or_ends_at_the_bound() {
    let gates = |count: usize| -> String {
        let gate = |number: usize| match number {
            0 => "    - {id: g0, role: coder}\n".to_owned(),
            _ => format!(
                "    - {{id: g{number}, role: tester, canReject: true, separateFrom: [g0]}}\n"
            ),
        };
        format!("workflow:\n  gates:\n{}", (0..count).map(gate).collect::<String>())
    };
    let env = project(&gates(40));
    let text = env.aof(&["workflow", "prove"]).stdout;
    assert!(text.contains("can end     proved: from each of"), "{text}");
    assert!(text.contains("costs       visits: at most 240;"), "{text}");
    env.write("project.yaml", gates(300));
    assert_snapshot!(env.aof(&["workflow", "prove"]), @"
    exit 0
    --- stdout
    default
      can end     not proved: it has 300 gates, and at most 200 are explored
      needs       not counted: it has too many gates
      costs       visits: not counted; starts of agents: not counted; times sent back before a person is asked: not counted
                  it has too many gates or returns to count them
      all used    not proved: not everything was explored
    ");
    env.write("project.yaml", gates(10_000));
    let refused = env.aof(&["workflow", "prove", "--json"]);
    assert_eq!(refused.code, Some(6));
    assert!(refused.stdout.contains("too_many_gates"), "{}", &refused.stdout[..400]);
}

/// Returns the answers about a workflow in a line.
fn answers(gates: &str, rest: &str, roles: &str) -> String {
    let project = format!("workflow:\n  gates:\n{gates}{rest}");
    let env = TestEnvironment::with_rules(&project, &format!("roles: {{{roles}}}\n"));
    let report = env.aof(&["workflow", "prove", "--json"]).json();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut told = vec![format!("{}, {}", word(&report["ends"]), word(&report["alive"]))];
    let list = |name: &str| report[name].as_array().cloned().unwrap_or_default();
    told.extend(list("promises").iter().map(|one| format!("promise {}", word(&one["verdict"]))));
    told.extend(list("alarms").iter().map(|one| {
        let certain = if one["certain"] == true { "" } else { " (may be)" };
        format!("{} {}{certain}", word(&one["code"]), word(&one["at"]))
    }));
    told.join("; ")
}

fn promised(always: &str) -> String {
    format!("promises: [{{name: it, always: \"{always}\"}}]\n")
}

#[test]
fn what_agents_hand_on_is_made_up_or_nothing_is_proved() {
    let plan = |shape: &str| {
        let build = "    - {id: build, role: team}\n";
        format!("    - {{id: plan, role: team, outputs: {{properties: {shape}}}}}\n{build}")
    };
    let team = "team: {agents: [agent-1]}";
    let long = plan("{report: {type: string, minLength: 500}}, required: [report]");
    assert_snapshot!(answers(&long, "", team), @"unknown, unknown");
    let each = |shape: &str| {
        let gates = plan(shape);
        gates.replace("{id: build, role: team}", "{id: build, role: team, forEach: plan.parts}")
    };
    let items = "{type: object, properties: {id: {type: string}}, required: [id]}";
    let parts = each(&format!("{{parts: {{type: array, items: {items}, default: []}}}}"));
    assert_snapshot!(answers(&parts, "", team), @"proved, proved");
    let one = each("{parts: {type: array, items: {type: string}, maxItems: 1}}");
    assert_snapshot!(answers(&one, "", team), @"proved, proved");
    // The list of a branch.
    let fork = "    - {id: start, role: team}
    - {id: checks, type: fork, branches: [{id: style, role: team}, {id: speed, role: team}]}
    - {id: mend, role: team, forEach: checks.style.parts}
    - {id: ship, role: team}\n";
    assert_snapshot!(answers(fork, "", team), @"proved, proved");
}

#[test]
fn a_rejection_that_is_passed_over_is_found_again() {
    // From the detour the task goes on past the review, which must still answer.
    let past = "    - {id: make, role: team}
    - {id: check, role: lead, routes: {needs_review: repair}, separateFrom: [ship]}
    - {id: repair, role: team, detour: true, routes: {fixed: $next}}
    - {id: ship, role: crew}\n";
    let roles =
        "team: {agents: [agent-2]}, lead: {agents: [agent-1]}, crew: {agents: [agent-1, agent-5]}";
    assert_snapshot!(answers(past, "", roles), @"refuted, proved; nobody_is_separate check");
    let counsel = "    - {id: start, role: s, routes: {go: $next, advice: counsel}}
    - {id: make, role: team}
    - {id: wrap, role: s}
    - {id: look, role: l, when: \"tags.includes('x')\", routes: {needs_review: make}}
    - {id: pack, role: s}
    - {id: counsel, role: lead, detour: true, canReject: true, separateFrom: [make]}\n";
    let roles = "s: {agents: [agent-3]}, team: {agents: [agent-1, agent-2]}, l: {agents: [agent-4]}, lead: {agents: [agent-1]}";
    assert_snapshot!(answers(counsel, "", roles), @"refuted, proved; nobody_is_separate counsel");
}

#[test]
fn conditions_are_split_by_all_values_that_they_tell_apart() {
    let gate = |when: &str| {
        format!(
            "    - {{id: work, role: team}}\n    - {{id: audit, role: team, when: \"{when}\"}}\n"
        )
    };
    let team = "team: {agents: [agent-1]}";
    for when in [
        "milestone >= 2",
        "milestone == 2",
        "metadata.owner === null",
        "metadata.n && metadata.n == 0",
        "metadata.n == '0x10' && metadata.n !== '0x10'",
    ] {
        assert_eq!(answers(&gate(when), "", team), "proved, proved", "{when}");
    }
    let level = promised("!passed('audit') || metadata.level === '5'");
    assert_snapshot!(answers(&gate("metadata.level == '5'"), &level, team), @"proved, proved; promise refuted; broken_promise it");
    let owner = promised("metadata.owner !== null || passed('audit')");
    assert_snapshot!(answers(&gate("tags.includes('x')"), &owner, team), @"proved, proved; promise refuted; broken_promise it");
}

#[test]
fn promises_mean_what_is_said_of_them() {
    let team = "team: {agents: [agent-1]}, boss: {agents: [human-ada]}";
    let work = "    - {id: work, role: team}\n";
    let one = |always: &str| answers(work, &promised(always), team);
    assert_snapshot!(one("!ended || gateHistory.length > 0"), @"proved, proved; promise unknown");
    assert_snapshot!(one("!ended || gateHistory.length > 1"), @"proved, proved; promise refuted; broken_promise it");
    let review = "    - {id: work, role: team}
    - {id: review, role: boss, routes: {approved: $next, changes: work}, maxRetries: 1, onExhausted: {to: $next}}\n";
    assert_snapshot!(answers(review, &promised("!ended || passed('review')"), team), @"proved, proved; promise refuted; broken_promise it");
    let rejects = "    - {id: work, role: team}\n    - {id: review, role: boss, canReject: true}\n";
    assert_snapshot!(answers(rejects, &promised("count('review', 'needs_review') != '3'"), team), @"proved, proved; promise unknown");
    // Where no branch applies, nobody has looked.
    let fork = "    - {id: work, role: team}
    - {id: looks, type: fork, branches: [{id: a, role: boss, when: \"tags.includes('a')\"}, {id: b, role: boss, when: \"tags.includes('b')\"}]}\n";
    assert_snapshot!(answers(fork, &promised("!ended || passed('looks')"), team), @"proved, proved; promise refuted; broken_promise it");
    let env = project(&format!(
        "workflow:\n  gates:\n{}{}",
        fork.replace("boss", "tester").replace("team", "coder"),
        promised("human('looks')")
    ));
    assert_snapshot!(env.aof(&["workflow", "prove"]), @r#"
    exit 6
    --- stdout
    error[invalid_promise]: nobody passes gate `looks` alone
     --> project.yaml:5:38
      |
    5 | promises: [{name: it, always: "human('looks')"}]
      |                                      ^^^^^^^
      |
      = help: name one of its branches: `looks/a`, `looks/b`

    invalid: 1 error
    "#);
    // Anybody may work where there is no workflow.
    let open = TestEnvironment::with_rules(&promised("!human('complete')"), "");
    let report = open.aof(&["workflow", "prove", "--json"]).json();
    assert_eq!(report["promises"][0]["verdict"], "refuted", "{report}");
}

#[test]
fn costs_have_what_time_limits_and_loops_add() {
    let cost = |gates: &str| {
        let project = format!("workflow:\n  gates:\n{gates}");
        let org = "roles: {team: {agents: [agent-1]}, seniors: {agents: [agent-2]}}\n";
        let report =
            TestEnvironment::with_rules(&project, org).aof(&["workflow", "prove", "--json"]).json();
        let cost = &report["cost"];
        format!(
            "{} visits, {} starts, {} rejections",
            cost["visits"], cost["starts"], cost["rejections"]
        )
    };
    let slow = "    - {id: work, role: team, timeout: 1h, escalateTo: seniors}\n";
    assert_snapshot!(cost(slow), @"2 visits, 2 starts, 0 rejections");
    let each = "    - {id: plan, role: team}
    - {id: part, role: team, forEach: plan.parts, verifyEach: check, maxItems: 10}
    - {id: check, role: seniors, detour: true, canReject: true, maxRetries: 2}\n";
    assert_snapshot!(cost(each), @"61 visits, 61 starts, 20 rejections");
}
