//! Workflows as pictures: in letters, for Mermaid, for Graphviz, and for programs.

use insta::assert_snapshot;

use crate::support::environment::TestEnvironment;

/// A workflow with everything that a picture shows, and with words that each language has for its own.
const EVERYTHING: &str = r#"
workflow:
  name: everything
  description: 'quotes "and" <b>tags</b> %% --> ünïcode'
  gates:
    - {id: end, role: planner, outputs: {properties: {days: {type: integer}}}}
    - id: size
      type: condition
      when: context.end.days > 5 && metadata.kind != 'x"] --> g9["]'
      routes: {true: $next, false: review}
    - id: work-1
      role: worker
      canSkip: true
      onFailure: work-1
      onExhausted: $fail
    - {id: mend, role: worker, detour: true, brief: {role: 'At most {{end.days}} days', tips: ['About {{task}}']}}
    - id: audit
      role: auditor
      when: tags.includes('ünï\\|code') || metadata.a < 3
      canReject: true
    - id: checks
      type: fork
      joinStrategy: majority
      branches:
        - {id: lint, role: worker, description: Is it tidy}
        - {id: law, role: auditor, canReject: true}
        - {id: unsafe, role: auditor, when: "tags.includes('law')", routes: {fine: $next, risky: $previous}}
      routes: {needs_review: work-1}
      maxRetries: 1
    - id: review
      role: reviewer
      separateFrom: [work-1]
      maxRetries: 2
      onExhausted: {escalateTo: planner}
      routes:
        approved: $next
        needs_review: mend
        rejected: {to: end, prompt: 'Again, not {{end.days}} days', clear: [work-1]}
        bad: {to: end}
        wait: $hold
        withdrawn: {to: $end, as: cancelled}
    - id: approve
      role: boss
      requireHuman: true
      routes: {needs_review: review}
      maxRetries: 1
      onExhausted: end
    - {id: sign, role: boss, when: "tags.includes('sign')", onConditionError: enter}
"#;

const PEOPLE: &str = "\
roles:
  planner: {agents: [agent-p]}
  worker: {agents: [agent-w]}
  auditor: {agents: [agent-a]}
  reviewer: {agents: [agent-r]}
  boss: {agents: [human-b]}
";

/// Two tasks wait at the first gate, one is claimed there, one is blocked at the next.
fn environment() -> TestEnvironment {
    let env = TestEnvironment::with_rules(EVERYTHING, PEOPLE);
    let ids: Vec<String> = (0..4).map(|_| env.new_task(&["Add login"])).collect();
    let _ = env.aof(&["task", "next", "--agent", "agent-p"]).success();
    let _ = env.say(&ids[3], "agent-p", "complete", &["--output", "days=9"]).success();
    let _ = env.say(&ids[3], "agent-w", "blocked", &["--blocker", "The key is lost"]).success();
    env
}

#[test]
fn letters_show_the_routes_back_and_the_places_of_tasks() {
    assert_snapshot!(environment().aof(&["workflow", "graph"]), @r#"
    exit 0
    --- stdout
    everything  quotes "and" <b>tags</b> %% --> ünïcode

    ╭──▸○  end      planner (agent-p)  2 ready, 1 in progress
    │   │           hands on days
    │   │
    │   ○  size     decides by itself
    │   │           when context.end.days > 5 && metadata.kind != 'x"] --> g9["]'
    │   │           true -> $next
    │   │           false -> review
    │   │
    │ ╭▸○  work-1   worker (agent-w)  1 blocked
    │ │ │           failed -> work-1
    │ │ │           sends back 3 times at most, then $fail
    │ │ │           skip: its agent may say that it does not apply
    │ │ │
    │╭┼▸○  mend     worker (agent-w)
    │││ │           entered only by a route, and left to where the task came from
    │││ │           reads end.days, task
    │││ │
    ├┼┼─○  audit    auditor (agent-a)
    │││ │           when tags.includes('ünï\\|code') || metadata.a < 3
    │││ │           needs_review -> end
    │││ │
    ││╰─○  checks   3 branches at once, until most of them pass
    ││  │           needs_review -> work-1
    ││  │           sends back once at most, then waits for a person
    ││  ├           lint  worker (agent-w)
    ││  │             Is it tidy
    ││  ├           law  auditor (agent-a)
    ││  │             needs_review rejects
    ││  ├           unsafe  auditor (agent-a)
    ││  │             when tags.includes('law')
    ││  │             fine passes
    ││  │             risky rejects
    ││  │
    ├┴┬▸○  review   reviewer (agent-r)
    │ │ │           approved -> $next
    │ │ │           needs_review -> mend
    │ │ │           rejected -> end, telling end.days
    │ │ │           bad -> end
    │ │ │           wait -> $hold
    │ │ │           withdrawn -> $end as cancelled
    │ │ │           sends back 2 times at most, then the work is planner's
    │ │ │           not for the agent that worked at work-1
    │ │ │
    ╰─┴─○  approve  boss (human-b, people only)
        │           needs_review -> review
        │           sends back once at most, then end
        │
        ○  sign     boss (human-b)
        │           when tags.includes('sign') (also if that cannot be evaluated)
        │
        ●  end
    "#);
}

#[test]
fn mermaid_shows_every_way_and_takes_no_word_for_its_own() {
    assert_snapshot!(environment().aof(&["workflow", "graph", "everything", "--format", "mermaid"]), @r#"
    exit 0
    --- stdout
    flowchart TD
      start(( ))
      g0["end<br/>planner<br/>hands on days<br/>2 ready, 1 in progress"]
      g1{"size<br/>context.end.days #62; 5 #38;#38; metadata.kind !#61; #39;x#34;#93; --#62; g9#91;#34;#93;#39;"}
      g2["work-1<br/>worker<br/>1 blocked"]
      g3(["mend<br/>worker<br/>reads end.days, task<br/>detour"])
      g4["audit<br/>auditor<br/>when tags.includes(#39;ünï#92;#92;#124;code#39;) #124;#124; metadata.a #60; 3"]
      g5[["checks<br/>3 branches at once, until most of them pass<br/>lint: worker<br/>law: auditor<br/>unsafe: auditor"]]
      g6["review<br/>reviewer"]
      g7["approve<br/>boss"]
      g8["sign<br/>boss<br/>when tags.includes(#39;sign#39;)"]
      finish((("end")))
      cancelled((("cancelled")))
      failed((("failed")))
      start --> g0
      g0 -->|"complete"| g1
      g1 -->|"true"| g2
      g1 -->|"false"| g6
      g2 -->|"complete / skip"| g4
      g2 ==>|"failed (3 times at most)"| g2
      g2 -.->|"sent back 3 times before"| failed
      g3 -->|"complete"| g6
      g4 -->|"complete"| g5
      g4 ==>|"needs_review (5 times at most)"| g0
      g4 -.->|"does not apply"| g5
      g5 -->|"complete"| g6
      g5 ==>|"needs_review (once at most)"| g2
      g6 -->|"approved"| g7
      g6 ==>|"rejected / bad (2 times at most, then for planner)"| g0
      g6 -.->|"wait (waits for a person)"| g6
      g6 -->|"withdrawn"| cancelled
      g6 ==>|"needs_review (2 times at most, then for planner)"| g3
      g7 -->|"complete"| g8
      g7 ==>|"needs_review (once at most)"| g6
      g7 -.->|"sent back once before"| g0
      g8 -->|"complete"| finish
      g8 -.->|"does not apply"| finish
    "#);
}

#[test]
fn graphviz_shows_every_way_and_takes_no_word_for_its_own() {
    assert_snapshot!(environment().aof(&["workflow", "graph", "--format", "dot"]), @r#"
    exit 0
    --- stdout
    digraph "everything" {
      node [shape=box, style=rounded, fontname="sans-serif"];
      edge [fontname="sans-serif", fontsize=10];
      "$start" [shape=circle, label="", width=0.2];
      "end" [label="end\nplanner\nhands on days\n2 ready, 1 in progress"];
      "size" [label="size\ncontext.end.days > 5 && metadata.kind != 'x\"] --> g9[\"]'", shape=diamond, style=solid];
      "work-1" [label="work-1\nworker\n1 blocked"];
      "mend" [label="mend\nworker\nreads end.days, task\ndetour", style="rounded,dashed"];
      "audit" [label="audit\nauditor\nwhen tags.includes('ünï\\\\|code') || metadata.a < 3"];
      "checks" [label="checks\n3 branches at once, until most of them pass\nlint: worker\nlaw: auditor\nunsafe: auditor", peripheries=2];
      "review" [label="review\nreviewer"];
      "approve" [label="approve\nboss"];
      "sign" [label="sign\nboss\nwhen tags.includes('sign')"];
      "$end" [label="end", shape=doublecircle];
      "$cancelled" [label="cancelled", shape=doublecircle];
      "$fail" [label="failed", shape=doublecircle];
      "$start" -> "end";
      "end" -> "size" [label="complete"];
      "size" -> "work-1" [label="true"];
      "size" -> "review" [label="false"];
      "work-1" -> "audit" [label="complete / skip"];
      "work-1" -> "work-1" [label="failed (3 times at most)", style=bold, constraint=false];
      "work-1" -> "$fail" [label="sent back 3 times before", style=dashed];
      "mend" -> "review" [label="complete"];
      "audit" -> "checks" [label="complete"];
      "audit" -> "end" [label="needs_review (5 times at most)", style=bold, constraint=false];
      "audit" -> "checks" [label="does not apply", style=dashed];
      "checks" -> "review" [label="complete"];
      "checks" -> "work-1" [label="needs_review (once at most)", style=bold, constraint=false];
      "review" -> "approve" [label="approved"];
      "review" -> "end" [label="rejected / bad (2 times at most, then for planner)", style=bold, constraint=false];
      "review" -> "review" [label="wait (waits for a person)", style=dashed];
      "review" -> "$cancelled" [label="withdrawn"];
      "review" -> "mend" [label="needs_review (2 times at most, then for planner)", style=bold, constraint=false];
      "approve" -> "sign" [label="complete"];
      "approve" -> "review" [label="needs_review (once at most)", style=bold, constraint=false];
      "approve" -> "end" [label="sent back once before", style=dashed, constraint=false];
      "sign" -> "$end" [label="complete"];
      "sign" -> "$end" [label="does not apply", style=dashed];
    }
    "#);
}

#[test]
fn programs_get_gates_and_ways() {
    let graph = environment().aof(&["workflow", "graph", "--json"]).success().json();
    assert_eq!(graph["gates"].as_array().unwrap().len(), 9);
    let gate = &graph["gates"][0];
    assert_eq!((gate["ready"].as_u64(), gate["inProgress"].as_u64()), (Some(2), Some(1)));
    assert_eq!(graph["gates"][1]["type"], "condition");
    assert_eq!(
        graph["gates"][5]["branches"][1],
        serde_json::json!({"id": "law", "role": "auditor"})
    );
    let ways = |from: &str| -> Vec<String> {
        let edges = graph["edges"].as_array().unwrap().iter().filter(|edge| edge["from"] == from);
        let told = |edge: &serde_json::Value| {
            let said: Vec<&str> = edge["outcomes"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|one| one.as_str())
                .collect();
            let way = format!("{} {}", edge["way"], edge["times"]).replace('"', "");
            format!("{} -> {} {way}", said.join("/"), edge["to"].as_str().unwrap())
        };
        edges.map(told).collect()
    };
    assert_eq!(ways("mend"), ["complete -> review return null"]);
    assert_eq!(
        ways("audit"),
        ["complete -> checks on null", "needs_review -> end back 5", " -> checks over null"]
    );
    assert_eq!(
        ways("approve"),
        ["complete -> sign on null", "needs_review -> review back 1", " -> end exhausted 1"]
    );
    let unknown = environment().aof(&["workflow", "graph", "nothing", "--json"]).code(3).json();
    assert_eq!(unknown["error"], "unknown_workflow");
}

#[test]
fn a_gate_shows_the_time_limit_that_its_workflow_gives() {
    let project = "
workflow:
  name: default
  timeout: 1h
  gates:
    - {id: work, role: worker}
    - {id: review, role: worker, timeout: 2h}
    - id: checks
      type: fork
      branches: [{id: one, role: worker}, {id: two, role: worker, timeout: 3h}]
";
    let env = TestEnvironment::with_rules(project, "roles:\n  worker: {agents: [agent-7]}\n");
    let shown = env.aof(&["workflow", "show"]).success().stdout;
    let limits: Vec<&str> =
        shown.lines().filter_map(|line| Some(line.split_once("timeout ")?.1)).collect();
    assert_eq!(limits, ["1h", "2h", "1h", "3h"], "{shown}");
    let gates = env.aof(&["workflow", "show", "--json"]).success().json()["gates"].clone();
    assert_eq!(gates[0]["timeout"], gates[2]["branches"][0]["timeout"], "{gates}");
    assert!(gates[0]["timeout"].is_string() && gates[2]["timeout"].is_null(), "{gates}");
}

#[test]
fn a_fork_with_a_rejecting_branch_has_a_route_back() {
    let project = "
workflow:
  gates:
    - {id: plan, role: worker}
    - {id: work, role: worker}
    - id: checks
      type: fork
      routes: {needs_review: plan}
      maxRetries: 1
      onExhausted: $fail
      branches: [{id: one, role: worker, onFailure: $previous}, {id: two, role: worker}]
";
    let env = TestEnvironment::with_rules(project, "roles:\n  worker: {agents: [agent-7]}\n");
    let told = env.aof(&["workflow", "validate"]);
    assert_eq!(told.code, Some(0), "{told}");
    let graph = env.aof(&["workflow", "graph", "--json"]).success().json();
    let edges = graph["edges"].as_array().unwrap();
    let back = edges.iter().find(|edge| edge["from"] == "checks" && edge["way"] == "back").unwrap();
    assert_eq!((&back["to"], &back["times"]), (&"plan".into(), &1.into()), "{graph}");
    let id = env.new_task(&["Add login"]);
    for (ticket, outcome) in
        [("0", "complete"), ("1", "complete"), ("2/one", "failed"), ("2/two", "complete")]
    {
        let _ = env.say(&format!("{id}@{ticket}"), "agent-7", outcome, &[]).success();
    }
    assert!(env.task_text(&id).contains("current: plan"), "{}", env.task_text(&id));
    let _ = env.aof(&["verify"]).success();
}
