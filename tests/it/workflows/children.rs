//! Tasks that are parts of others, and gates that wait for them.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;
use crate::support::mcp_client::McpClient;

const WAITS: &str = "\
workflow:
  gates:
    - {id: plan, role: planner, onFailure: $fail}
    - {id: integrate, role: planner, waitFor: children, canReject: true}
    - {id: release, role: planner}
";

const PEOPLE: &str = "roles: {planner: {agents: [agent-p, agent-q]}}\n";

/// Returns a project with a task that waits for children.
fn environment() -> (TestEnvironment, String) {
    let env = TestEnvironment::with_rules(WAITS, PEOPLE);
    let parent = env.new_task(&["Feature"]);
    let _ = env.complete(&parent, "agent-p").success();
    (env, parent)
}

/// Takes a task through all three gates.
fn finish(env: &TestEnvironment, id: &str) {
    for visit in 0..3 {
        let _ = env.complete(&format!("{id}@{visit}"), "agent-p");
    }
}

#[test]
fn a_parent_passes_once_its_children_are_complete_or_cancelled() {
    let (env, parent) = environment();
    let first = env.new_task(&["Part one", "--parent", &parent]);
    let second = env.new_task(&["Part two", "--parent", &parent]);
    assert_snapshot!(env.say(&parent, "agent-q", "complete", &[]), @"
    exit 4
    --- stderr
    error: gate `integrate` waits for the children of task `AOF-xxxxx`: `AOF-xxxxx` (ready), `AOF-xxxxx` (ready)

    hint: say it again once they are complete or cancelled: `aof why AOF-xxxxx`
    ");
    let _ = env.say(&parent, "agent-p", "blocked", &["--blocker", "no staging server"]).success();
    let _ = env.aof(&["task", "unblock", &parent]).success();
    finish(&env, &first);
    let _ = env.aof(&["task", "cancel", &second, "--reason", "not needed"]).success();
    let _ = env.say(&parent, "agent-q", "complete", &[]).success();
    let text = env.task_text(&parent);
    let kept = text.split("    children:").nth(1).unwrap().split("    workflow").next().unwrap();
    let mut states = [format!("      {first}: complete"), format!("      {second}: cancelled")];
    states.sort();
    assert_eq!(kept, format!("\n{}\n", states.join("\n")));
    check(&env);
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn a_failed_child_is_named_and_holds_its_parent_until_it_is_taken_up_and_ended() {
    let (env, parent) = environment();
    let child = env.new_task(&["Part", "--parent", &parent]);
    let _ = env.say(&child, "agent-p", "failed", &[]).success();
    assert_snapshot!(env.say(&parent, "agent-q", "complete", &["--json"]), @r#"
    exit 4
    --- stdout
    {
      "error": "children_open",
      "message": "gate `integrate` waits for the children of task `AOF-xxxxx`: `AOF-xxxxx` (failed)\n\na failed child counts as open: take it up again with `aof reopen AOF-xxxxx --to GATE --reason \"...\"`, and complete or cancel it; say it again once they are complete or cancelled: `aof why AOF-xxxxx`",
      "task": "AOF-xxxxx",
      "gate": "integrate",
      "children": {
        "AOF-xxxxx": "failed"
      },
      "jsonVersion": 1
    }
    --- stderr
    gate `integrate` waits for the children of task `AOF-xxxxx`: `AOF-xxxxx` (failed)
    "#);
    assert_snapshot!(env.aof(&["why", &parent]), @r#"
    exit 0
    --- stdout
    AOF-xxxxx  Feature
      status  waiting, for AOF-xxxxx
      gate    integrate for 4s (visit 1)

    Because
      - `agent-p` ended gate `plan` with `complete` on Feb 16, 10:00, which led to `integrate`
      - nobody has claimed it
      - it is not handed out, and does not pass the gate, before its child `AOF-xxxxx` is complete or cancelled, which has failed: take it up again with `aof reopen AOF-xxxxx --to GATE --reason "..."`, and complete or cancel it

    Who can move it
      - agent-p or agent-q (role planner)

    What each act would do
      approve    leads to release (role planner), once all children are complete or cancelled
      send back  sends it back to plan (role planner), the 1st time of 5
      blocked    holds it here until a person unblocks it
    "#);
    let _ = env.aof(&["task", "reopen", &child, "--to", "plan", "--reason", "again"]).success();
    let _ = env.aof(&["task", "cancel", &child, "--reason", "too hard"]).success();
    let _ = env.say(&parent, "agent-q", "complete", &[]).success();
    check(&env);
}

#[test]
fn a_gate_that_waits_is_not_handed_out() {
    let (env, parent) = environment();
    let next = |agent: &str| {
        let output = env.aof(&["task", "next", "--agent", agent, "--json"]).success().json();
        output["task"]["title"].as_str().unwrap_or("nothing").to_owned()
    };
    let ready = || {
        let output = env.aof(&["task", "list", "--ready", "--json"]).success().json();
        let ids = output["tasks"].as_array().unwrap().iter().map(|task| task["title"].clone());
        ids.collect::<Vec<_>>()
    };
    let child = env.new_task(&["Part", "--parent", &parent]);
    assert_eq!(ready(), [json!("Part")]);
    assert_eq!(next("agent-p"), "Part");
    assert_eq!(next("agent-q"), "nothing");
    let _ = env.say(&child, "agent-p", "failed", &[]).success();
    assert_eq!(next("agent-q"), "nothing", "a failed child is open, and in the archive");
    env.write("project.yaml", format!("handOut: least-loaded\n{WAITS}"));
    env.write("org.yaml", format!("{PEOPLE}agents: {{agent-p: , agent-q: }}\n"));
    env.commit_all("hand out");
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!(ready(), [json!(null); 0]);
    let _ = env.aof(&["task", "reopen", &child, "--to", "plan", "--reason", "again"]).success();
    let _ = env.aof(&["task", "cancel", &child, "--reason", "too hard"]).success();
    let _ = env.aof(&["watch", "--once"]).success();
    let output = env.aof(&["task", "show", &parent, "--json"]).success().json();
    assert_eq!(output["status"], "in_progress");
    check(&env);
}

#[test]
fn a_tree_rolls_progress_up() {
    let (env, parent) = environment();
    let first = env.new_task(&["Part one", "--parent", &parent]);
    let other = env.new_task(&["Something else"]);
    let second = env.new_task(&["Part two", "--parent", &other]);
    let _ = env.new_task(&["Deeper", "--parent", &first]);
    let _ = env.aof(&["task", "edit", &second, "--parent", &parent]).success();
    finish(&env, &second);
    assert_snapshot!(env.aof(&["task", "list", "--tree", "--sort", "created"]), @"
    exit 0
    --- stdout
    ID         TITLE              GATE       STATUS   WHO              AGE
    AOF-xxxxx  Feature (1/2)      integrate  waiting  after AOF-xxxxx  now
    AOF-xxxxx  └─ Part one (0/1)  plan       ready    planner          now
    AOF-xxxxx     └─ Deeper       plan       ready    planner          now
    AOF-xxxxx  Something else     plan       ready    planner          now
    ");
    assert_snapshot!(env.aof(&["task", "list", "--tree", "--all", "--sort", "created"]), @"
    exit 0
    --- stdout
    ID         TITLE              GATE       STATUS    WHO              AGE
    AOF-xxxxx  Feature (1/2)      integrate  waiting   after AOF-xxxxx  now
    AOF-xxxxx  ├─ Part one (0/1)  plan       ready     planner          now
    AOF-xxxxx  │  └─ Deeper       plan       ready     planner          now
    AOF-xxxxx  └─ Part two                   complete  done
    AOF-xxxxx  Something else     plan       ready     planner          now
    ");
    assert_snapshot!(env.aof(&["task", "show", &parent]), @"
    exit 0
    --- stdout
    AOF-xxxxx  Feature
    integrate  after AOF-xxxxx just now

    Part  AOF-xxxxx  Part one  plan  planner
          AOF-xxxxx  Part two  done
    File  tasks/AOF-xxxxx.md

    plan ✓ 1 s  > integrate
    ");
    let output =
        env.aof(&["task", "list", "--tree", "--json", "--sort", "created"]).success().json();
    let row = |task: &Value| {
        json!([
            task["depth"],
            task["parent"],
            task["children"]["complete"],
            task["children"]["total"]
        ])
    };
    let rows: Vec<Value> = output["tasks"].as_array().unwrap().iter().map(row).collect();
    assert_eq!(
        rows,
        [
            json!([0, null, 1, 2]),
            json!([1, "AOF-xxxxx", 0, 1]),
            json!([2, "AOF-xxxxx", 0, 0]),
            json!([0, null, 0, 0])
        ]
    );
    let shown = env.aof(&["task", "show", &parent, "--json"]).success().stdout;
    assert!(shown.contains("\"AOF-xxxxx\": \"ready\""), "{shown}");
    assert!(shown.contains("\"AOF-xxxxx\": \"complete\""), "{shown}");
    let _ = env.aof(&["task", "edit", &first, "--unparent"]).success();
    assert!(!env.task_text(&first).contains("parent"));
    // A person's edit is committed first, and counts.
    env.edit(&env.task_path(&first), "title:", &format!("parent: {parent}\ntitle:"));
    let _ = env.say(&parent, "agent-q", "complete", &[]).code(4);
    env.commit_all("a part again");
    check(&env);
}

#[test]
fn a_parent_is_a_task_and_waits_for_no_circle() {
    let (env, parent) = environment();
    let child = env.new_task(&["Part", "--parent", &parent]);
    let refused = |args: &[&str]| {
        env.aof(args).code(if args.contains(&"AOF-nosuchtask") { 3 } else { 4 }).stderr
    };
    assert_snapshot!(
        [
            refused(&["task", "new", "Lost", "--parent", "AOF-nosuchtask"]),
            refused(&["task", "edit", &child, "--depends", &parent]),
            refused(&["task", "new", "Both", "--parent", &parent, "--depends", &parent]),
            refused(&["task", "edit", &parent, "--parent", &child]),
            refused(&["task", "edit", &child, "--parent", &child]),
        ]
        .concat(),
        @"
    error: there is no task `AOF-nosuchtask`

    hint: `aof list --all` lists them all
    error: these would wait for each other, and none would ever be handed out: AOF-xxxxx -> AOF-xxxxx -> AOF-xxxxx

    hint: leave one of these out: a task waits for what it depends on, and for its children
    error: these would wait for each other, and none would ever be handed out: AOF-xxxxx -> AOF-xxxxx -> AOF-xxxxx

    hint: leave one of these out: a task waits for what it depends on, and for its children
    error: these would wait for each other, and none would ever be handed out: AOF-xxxxx -> AOF-xxxxx -> AOF-xxxxx

    hint: leave one of these out: a task waits for what it depends on, and for its children
    error: task `AOF-xxxxx` would wait for itself, and never be handed out

    hint: name another task
    "
    );
    env.edit(&env.task_path(&child), "title:", &format!("dependsOn: [{parent}]\ntitle:"));
    assert_snapshot!(env.aof(&["task", "list"]).success().stderr, @"warning: these wait for each other, so none of them is handed out: AOF-xxxxx -> AOF-xxxxx -> AOF-xxxxx; take one out of a `dependsOn`, or out of its `parent`");
    let why = env.aof(&["why", &parent]).success().stdout;
    env.commit_all("a circle");
    assert!(why.contains("these wait for each other"), "{why}");
    check(&env);
}

#[test]
fn only_gates_of_the_line_wait() {
    let env = TestEnvironment::without_rules();
    env.write(
        "project.yaml",
        "workflow:\n  gates:\n    - {id: a, role: r, waitFor: childs}\n    - {id: b, role: r, waitFor: children, detour: true, routes: {complete: a}}\n    - {id: c, type: condition, when: 'tags.length', waitFor: children, routes: {true: a, false: $end}}\n    - {id: d, type: fork, branches: [{id: x, role: r, waitFor: children}, {id: y, role: r}]}\n",
    );
    env.write("org.yaml", "roles: {r: {agents: [agent-p]}}\n");
    assert_snapshot!(env.aof(&["workflow", "validate"]), @"
    exit 6
    --- stdout
    error[invalid_value]: `childs` is not what a gate may wait for
     --> project.yaml:3:33
      |
    3 |     - {id: a, role: r, waitFor: childs}
      |                                 ^^^^^^
      |
      = help: it is one of `children`

    error[unreachable_gate]: no task ever comes to gate `b`
     --> project.yaml:4:12
      |
    4 |     - {id: b, role: r, waitFor: children, detour: true, routes: {complete: a}}
      |            ^
      |
      = help: name it as the target of a route, or remove it

    error[dead_field]: `waitFor` is for gates of the main line where somebody works
     --> project.yaml:4:24
      |
    4 |     - {id: b, role: r, waitFor: children, detour: true, routes: {complete: a}}
      |                        ^^^^^^^
      |
      = help: say it at such a gate, or remove it

    error[dead_field]: `waitFor` is for gates of the main line where somebody works
     --> project.yaml:5:53
      |
    5 |     - {id: c, type: condition, when: 'tags.length', waitFor: children, routes: {true: a, false: $end}}
      |                                                     ^^^^^^^
      |
      = help: say it at such a gate, or remove it

    error[unreachable_gate]: no task ever comes to gate `d`
     --> project.yaml:6:12
      |
    6 |     - {id: d, type: fork, branches: [{id: x, role: r, waitFor: children}, {id: y, role: r}]}
      |            ^
      |
      = help: let a gate before it go on to it, name it as the target of a route, or remove it

    error[unknown_field]: a branch has no field `waitFor`
     --> project.yaml:6:55
      |
    6 |     - {id: d, type: fork, branches: [{id: x, role: r, waitFor: children}, {id: y, role: r}]}
      |                                                       ^^^^^^^
      |
      = help: a gate of its own before or after the fork waits for children

    invalid: 6 errors
    ");
}

#[test]
fn gates_that_wait_are_drawn_and_briefed() {
    let (env, parent) = environment();
    assert_snapshot!(env.aof(&["workflow", "graph"]).success().stdout, @"
    default

    ╭▸○  plan       planner (agent-p, agent-q)
    │ │             failed -> $fail
    │ │
    ╰─○  integrate  planner (agent-p, agent-q)  1 ready
      │             needs_review -> plan
      │             waits for children
      │
      ○  release    planner (agent-p, agent-q)
      │
      ●  end
    ");
    let drawn = env.aof(&["workflow", "graph", "--format", "mermaid"]).success().stdout;
    assert!(drawn.contains("waits for children"), "{drawn}");
    let brief = env.aof(&["task", "brief", &parent]).success().stdout;
    assert!(brief.contains("once each of its children is complete or cancelled"), "{brief}");
}

/// Creates a task by MCP.
fn make(client: &mut McpClient<'_>, words: Value) -> String {
    client.call("aof_task_create", words)["task"].as_str().unwrap().to_owned()
}

#[test]
fn an_agent_creates_parts_of_its_own_task_within_bounds() {
    let env = TestEnvironment::with_rules(
        WAITS,
        "roles: {planner: {agents: [agent-p, agent-q]}}\nagents: {agent-p: {may: [new]}, agent-q: }\n",
    );
    let mut early = McpClient::of(&env, "agent-p");
    let mut output = vec![early.refused("aof_task_create", json!({"title": "Too early"}))];
    let top = env.new_task(&["Top", "--meta", "priority=low"]);
    let stranger = env.new_task(&["Another's"]);
    let _ = env.aof(&["task", "assign", "--claim", &stranger, "agent-q"]).success();
    let mut client = McpClient::of(&env, "agent-p");
    let mut held = top.clone();
    for level in 0..3 {
        let _ = env.aof(&["task", "assign", "--claim", &held, "agent-p"]).success();
        let child = make(&mut client, json!({"title": format!("Level {level}")}));
        let text = env.task_text(&child);
        assert!(
            text.contains(&format!("parent: {held}\n")) && text.contains("createdBy: agent-p\n"),
            "{text}"
        );
        assert!(text.contains("priority: low"), "{text}");
        let _ = env.aof(&["task", "release", &held, "--agent", "agent-p"]).success();
        held = child;
    }
    let _ = env.aof(&["task", "assign", "--claim", &held, "agent-p"]).success();
    output.push(client.refused("aof_task_create", json!({"title": "Too deep"})));
    output.push(client.refused("aof_task_create", json!({"title": "Theirs", "parent": stranger})));
    let _ = env.aof(&["task", "assign", "--claim", &top, "agent-p"]).success();
    output.push(client.refused("aof_task_create", json!({"title": "Which"})));
    output.push(client.refused(
        "aof_task_create",
        json!({"title": "Urgent", "parent": top, "metadata": {"priority": "high"}}),
    ));
    for number in 1..20 {
        make(&mut client, json!({"title": format!("Part {number}"), "parent": top}));
    }
    output.push(client.refused("aof_task_create", json!({"title": "One more", "parent": top})));
    output.push(client.refused(
        "aof_workflow_start",
        json!({"title": "As a workflow", "workflow": "default", "metadata": {"priority": "high"}}),
    ));
    let command =
        env.aof(&["task", "new", "By the command line", "--parent", &top, "--agent", "agent-p"]);
    assert_eq!(command.code, Some(4), "{command}");
    let lines: Vec<String> = output
        .iter()
        .map(|output| {
            format!(
                "{}: {}",
                output["error"].as_str().unwrap(),
                output["message"].as_str().unwrap()
            )
        })
        .collect();
    assert_snapshot!(env.plain(&lines.join("\n---\n")), @"
    no_parent_held: `agent-p` creates tasks as parts of its own task, and it holds none

    take one first, as with `aof_task_next`; or have a person create it
    ---
    too_deep: `AOF-xxxxx` is 3 levels below another task: agents create no more below it

    do the work in this task, or say what is left to do in its summary

    No call fixes this: tell the person you work for.
    ---
    not_your_parent: `agent-p` creates tasks as parts of its own task, and does not hold `AOF-xxxxx`

    it holds `AOF-xxxxx`: leave the parent out, or name one of these
    ---
    not_your_parent: `agent-p` holds `AOF-xxxxx`, `AOF-xxxxx`: say which of them the new task is a part of

    name it as the parent
    ---
    priority_too_high: priority `high` is above that of `AOF-xxxxx`, which the new task is a part of: `low`

    leave it out, or give that one
    ---
    too_many_children: agents have created 20 tasks below `AOF-xxxxx` since it came to its gate, and that is the most

    put what is left into one of them

    No call fixes this: tell the person you work for.
    ---
    not_your_parent: `agent-p` holds `AOF-xxxxx`, `AOF-xxxxx`: say which of them the new task is a part of

    name it as the parent
    ");
    // People are free, and the brief says whose task it is.
    let _ = env.new_task(&["Mine", "--parent", &top, "--meta", "priority=critical"]);
    let brief = env.aof(&["task", "brief", &held]).success().stdout;
    assert!(brief.contains("Created by agent `agent-p`, as a part of"), "{brief}");
    check(&env);
    let _ = env.aof(&["verify"]).success();
}

/// Says what `aof verify` finds.
fn found(env: &TestEnvironment) -> String {
    let output = env.aof(&["verify", "--json"]).json();
    let line = |finding: &Value| {
        let word = |key: &str| finding[key].as_str().unwrap().to_owned();
        format!("{}: {} / {}", word("rule"), word("expected"), word("found"))
    };
    let lines: Vec<String> = output["findings"].as_array().unwrap().iter().map(line).collect();
    env.plain(&format!("ok: {}\n{}", output["ok"], lines.join("\n")))
}

#[test]
fn verify_compares_an_entry_with_the_children_that_there_were() {
    let (env, parent) = environment();
    let child = env.new_task(&["Part", "--parent", &parent]);
    finish(&env, &child);
    let _ = env.say(&parent, "agent-q", "complete", &[]).success();
    assert_eq!(found(&env), "ok: true\n");
    let path = env.task_path(&parent);
    let (text, states) = (env.read(&path), format!("    children:\n      {child}: complete\n"));
    let forged = ["cancelled", "ready", ""].map(|state| {
        let answer = states.replace("complete", state);
        let answer = if state.is_empty() { String::new() } else { answer };
        env.write(&path, text.replace(&states, &answer));
        env.git(&["commit", "-q", "--amend", "-a", "--no-edit"]);
        found(&env)
    });
    assert_snapshot!(forged.join("\n"), @"
    ok: false
    children_differ: in entry 2, AOF-xxxxx: complete / AOF-xxxxx: cancelled
    ok: false
    children_differ: in entry 2, AOF-xxxxx: complete / AOF-xxxxx: ready
    not_allowed: what the rules allow / entry 2, complete at integrate by agent-q: gate `integrate` waits for the children of task `AOF-xxxxx`: `AOF-xxxxx` (rea..
    ok: false
    children_differ: in entry 2, AOF-xxxxx: complete / no children
    ");
    env.write(&path, &text);
    env.git(&["commit", "-q", "--amend", "-a", "--no-edit"]);
    assert_eq!(found(&env), "ok: true\n");
}

#[test]
fn a_merge_that_brings_open_children_is_reported_and_fails_nothing() {
    let (env, parent) = environment();
    let child = env.new_task(&["Part", "--parent", &parent]);
    finish(&env, &child);
    env.git(&["checkout", "-q", "-b", "side"]);
    let _ = env.aof(&["task", "reopen", &child, "--to", "plan", "--reason", "a fault"]).success();
    env.git(&["checkout", "-q", "main"]);
    let _ = env.say(&parent, "agent-q", "complete", &[]).success();
    env.git(&["merge", "-q", "--no-edit", "side"]);
    assert_snapshot!(found(&env), @"
    ok: true
    children_merged: no open children: it has passed a gate that waits for them / AOF-xxxxx: ready
    ");
    let _ = env.aof(&["verify"]).success();
}
