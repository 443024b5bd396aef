//! The results for files of each system, and the reports about files of no known system.

use std::fmt::Write;

use super::*;
use crate::files::diagnostic::{ColorMode, render_all};
use crate::files::yaml::Node;

/// Returns the workflows of a file, and the report.
fn imported_text(file: &str, text: &str) -> String {
    match import(file, text.as_bytes(), None, None) {
        Ok(imported) => {
            let mut out = format!("system: {}\n", imported.system);
            for draft in &imported.workflows {
                let roles: Vec<String> = draft
                    .roles
                    .iter()
                    .map(|need| {
                        format!("{}{}", need.role, if need.people { " (people)" } else { "" })
                    })
                    .collect();
                writeln!(out, "--- {} (roles: {})\n{}", draft.name, roles.join(", "), draft.text)
                    .unwrap();
            }
            for ImportRemark { line, field, fate, note } in &imported.remarks {
                let line = line.map_or_else(|| "-".to_owned(), |line| line.to_string());
                writeln!(out, "{line:>3} {fate:<9} {field}: {note}").unwrap();
            }
            out.replace(": \n", "\n")
        }
        Err(diagnostics) => render_all(&diagnostics, ColorMode::Plain),
    }
}

fn text_of(file: &str, text: &str) -> String {
    let imported = import(file, text.as_bytes(), None, None)
        .unwrap_or_else(|faults| panic!("{}", render_all(&faults, ColorMode::Plain)));
    imported.workflows.into_iter().map(|draft| draft.text).collect()
}

macro_rules! fixture {
    ($name:literal) => {
        imported_text(
            concat!("in/", $name),
            include_str!(concat!("../../../../tests/fixtures/import/", $name)),
        )
    };
}

#[test]
fn antfarm() {
    insta::assert_snapshot!(fixture!("antfarm.yml"));
}

#[test]
fn antfarm_loop() {
    insta::assert_snapshot!(fixture!("antfarm-loop.yml"));
}

#[test]
fn loops_that_cannot_be_have_their_places() {
    let file = |changed: &[(&str, &str)]| {
        let text = include_str!("../../../../tests/fixtures/import/antfarm-loop.yml").to_owned();
        imported_text(
            "beds.yml",
            &changed.iter().fold(text, |text, (old, new)| text.replace(old, new)),
        )
    };
    let rows: [&[(&str, &str)]; 7] = [
        &[("STORIES_JSON: [", "BEDS_JSON: ["), ("verify_step: look", "verify_step: lok")],
        &[("verify_step: look", "verify_step: measure")],
        &[("  - id: look\n", "  - id: look\n    on_decision: {DONE: water}\n")],
        &[("      retry_step: dig\n", "      retry_step: look\n")],
        &[("    loop:\n", "    loops:\n")],
        &[
            ("verify_step: look", "verify_step: water"),
            ("  - id: water\n", "  - id: water\n    type: loop\n    loop: {over: stories}\n"),
        ],
        &[(
            "  - id: measure\n",
            "  - id: measure\n    type: loop\n    loop: {over: stories, verify_each: true, verify_step: look}\n",
        )],
    ];
    let all: Vec<String> = rows.iter().map(|changed| file(changed)).collect();
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn openagents() {
    insta::assert_snapshot!(fixture!("openagents.json"));
}

#[test]
fn status_graph() {
    insta::assert_snapshot!(fixture!("status-graph.yaml"));
}

#[test]
fn orbital() {
    insta::assert_snapshot!(fixture!("orbital.toml"));
}

#[test]
fn orbital_presets() {
    let text = text_of("config.toml", "[workflow]\npreset = \"spec-driven\"\n");
    assert_eq!(text.matches("  - id: ").count(), 2, "{text}");
    for preset in ["fast", "reviewed", "tdd", "autonomous"] {
        let text = text_of("config.toml", &format!("[workflow]\npreset = \"{preset}\"\n"));
        assert!(text.starts_with(&format!("name: {preset}\n")), "{text}");
        assert_eq!(text.matches("detour: true").count(), 1, "{text}");
        assert!(text.contains("signal: gate") && text.contains("maxRetries: 2"), "{text}");
    }
    // The verification has a name of its own.
    let verified =
        "[workflow]\n[[workflow.steps]]\nname = \"verify\"\nprompt = \"Read {{spec_file}}\"\n";
    let text = text_of("config.toml", verified);
    assert!(text.contains("until: \"context['verify-2'].complete\""), "{text}");
    assert!(text.contains("  - id: verify-2\n") && !text.contains("{{files}}"), "{text}");
    insta::assert_snapshot!(imported_text("config.toml", "[workflow]\npreset = \"fasst\"\n"));
}

#[test]
fn hops() {
    insta::assert_snapshot!(fixture!("aof-hops.yaml"));
}

#[test]
fn a_file_without_a_workflow_is_reported() {
    let all: Vec<String> = [
        ("empty.yml", ""),
        ("blank.json", " \n\t\n"),
        ("list.json", "[1, 2]"),
        ("text.yaml", "just words"),
        ("org.yaml", "schemaVersion: 1\nagents:\n  - id: a\nteams: []\n"),
        ("other.yaml", "on: push\njobs: {}\n"),
        ("run.toml", "dangerous = true\n"),
        ("broken.json", "{\"steps\": [}\n"),
        ("broken.toml", "[workflow\nname = 1\n"),
        ("twice.yaml", "id: a\nid: b\nsteps: []\n"),
    ]
    .iter()
    .map(|(file, text)| imported_text(file, text))
    .collect();
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn wrong_kinds_have_their_places() {
    let antfarm = "id: [x]\nagents: {}\nsteps:\n  - id: a\n    agent: b\n    expects: {x: 1}\n    max_retries: often\n  - 7\n  - id: a\n    on_fail: {retry_step: zz}\n";
    let openagents = "{\"id\": \"x\", \"steps\": [\n{\"id\": \"a\", \"type\": \"dance\", \"on_success\": \"c\"},\n{\"agent\": \"x\"},\n{\"id\": \"c\", \"type\": \"parallel\", \"agents\": [], \"on_success\": \"d\"},\n{\"id\": \"d\", \"on_success\": \"e\", \"max_retries\": 0}]}";
    let graph = "roles:\n  a: {frontmatter: {oneOf: [{properties: {x: {type: string}}}]}}\n  b: 3\ngraph:\n  $START: {_: {role: aa}}\n  a: {ok: {prompt: x}, no: {role: zzz}}\n  c: {}\n";
    let mismatch = "roles:\n  a: {frontmatter: {properties: {$status: {enum: [ok, no]}}}}\ngraph:\n  $START: {_: {role: a}}\n  a: {ok: {role: $END}, maybe: {role: $END}}\n";
    let orbital = "[workflow]\n[[workflow.steps]]\nname = 3\ngate = \"perhaps\"\n[[workflow.steps]]\nprompt = \"x\"\n[[workflow.steps]]\nname = \"b\"\non_fail = \"3\"\ndeferred = true\n";
    let gates = "workflow:\n  gates:\n    - {role: x}\n    - {id: a}\n    - 3\n";
    let circle =
        "hops:\n  - {id: a, role: r, dependsOn: [b]}\n  - {id: b, role: r, dependsOn: [a]}\n";
    let all = [
        ("a.yml", antfarm),
        ("o.json", openagents),
        ("g.yaml", graph),
        ("m.yaml", mismatch),
        ("o.toml", orbital),
        ("p.yaml", gates),
        ("h.yaml", circle),
    ];
    let all: Vec<String> = all.iter().map(|(file, text)| imported_text(file, text)).collect();
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_place() {
    let refused = |bytes: &[u8]| {
        render_all(&import("x.yml", bytes, None, None).unwrap_err(), ColorMode::Plain)
    };
    assert!(refused(b"id: a\nname: \xff\xfe\n").contains("x.yml:2:7"));
    assert!(refused(b"\xff\xfei\0d\0").contains("UTF-16"));
    assert!(refused(b"id: a\0\n").contains("NUL"));
    assert!(
        import(
            "x.yml",
            "\u{feff}steps: [{id: a, agent: b, expects: 'OK: yes'}]".as_bytes(),
            None,
            None
        )
        .is_ok()
    );
}

#[test]
fn only_lost_ways_count_as_lost() {
    let lost = |text: &str| {
        let imported = import("x.yml", text.as_bytes(), None, None).unwrap();
        imported.lost().map(|remark| remark.field.clone()).collect::<Vec<_>>()
    };
    let step = "steps: [{id: a, agent: b, expects: 'STATUS: done', ";
    assert_eq!(
        lost(&format!(
            "{step}model: m, colour: red, on_fail: {{escalate_to: human, tone: sad}}}}]"
        )),
        [""; 0]
    );
    assert_eq!(lost(&format!("{step}type: dance, loop: {{over: stories}}}}]")), ["steps.a.type"]);
    let looped = "context: {rows: []}\nsteps: [{id: a, agent: b, expects: 'STATUS: done', type: loop, loop: {over: rows, ";
    assert_eq!(
        lost(&format!("{looped}completion: any, max_items: 3}}}}]")),
        ["steps.a.loop.completion"]
    );
    assert_eq!(lost(&format!("{looped}verifyStep: x, verify_each: no}}}}]")), [""; 0]);
    assert_eq!(
        lost(&format!("{step}on_rain: x, goto: y, condition: 'if wet'}}]")),
        ["steps.a.on_rain", "steps.a.goto", "steps.a.condition"]
    );
    let graph = "roles: {a: {}, b: {}}\ngraph: {$START: {new: a, other: b}, a: {_: b, ok: b}, b: {_: $END}}";
    assert_eq!(lost(graph), ["graph.$START.other", "graph.a._"]);
}

/// Counts of the same name have different meanings in each system.
#[test]
fn retries_are_counted_as_the_source_counts_them() {
    let cases = [
        ("a.yml", "steps: [{id: a, agent: b, max_retries: 3, expects: 'S: d'}]", Some(3)),
        ("a.yml", "steps: [{id: a, agent: b, expects: 'S: d'}]", Some(2)),
        (
            "o.json",
            "{\"steps\": [{\"id\": \"a\", \"agent\": \"b\", \"max_retries\": 3, \"on_success\": \"end\"}]}",
            Some(2),
        ),
        (
            "o.json",
            "{\"steps\": [{\"id\": \"a\", \"agent\": \"b\", \"max_retries\": 1, \"on_success\": \"end\"}]}",
            None,
        ),
        (
            "t.toml",
            "[workflow]\nmax_gate_retries = 3\n[[workflow.steps]]\nname = \"w\"\n[[workflow.steps]]\nname = \"a\"\ngate = true\non_fail = \"w\"\n",
            Some(2),
        ),
        (
            "t.toml",
            "[workflow]\nmax_gate_retries = 1\n[[workflow.steps]]\nname = \"w\"\n[[workflow.steps]]\nname = \"a\"\ngate = true\non_fail = \"w\"\n",
            Some(0),
        ),
        (
            "t.toml",
            "[workflow]\n[[workflow.steps]]\nname = \"w\"\n[[workflow.steps]]\nname = \"a\"\ngate = true\n",
            Some(2),
        ),
    ];
    for (file, source, expected) in cases {
        let text = text_of(file, source);
        let found = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("maxRetries: "))
            .map(|number| number.parse().unwrap());
        assert_eq!(found, expected, "{source}\n{text}");
    }
}

/// The model that polls for work is not the model that does it.
#[test]
fn the_model_of_antfarm_is_that_of_the_work() {
    let text = text_of(
        "a.yml",
        "polling: {model: cheap, timeoutSeconds: 60}\nagents:\n  - {id: b, model: big, pollingModel: small, timeoutSeconds: 600}\n  - {id: c, model: default}\nsteps:\n  - {id: one, agent: b}\n  - {id: two, agent: b, model: other, timeoutSeconds: 30}\n  - {id: three, agent: c}\n",
    );
    let runs: Vec<&str> = text.lines().filter(|line| line.contains("run:")).collect();
    let expected = [
        "    run: {timeout: 10m, model: big, exit: {complete: 0}}",
        "    run: {timeout: 30s, model: other, exit: {complete: 0}}",
        "    run: {exit: {complete: 0}}",
    ];
    assert_eq!(runs, expected, "{text}");
}

#[test]
fn a_key_alone_is_expected_with_any_value() {
    let signal = |step: &str| {
        let text = text_of("a.yml", &format!("steps:\n  - {{id: a, agent: b, {step}}}\n"));
        text.lines().find(|line| line.contains("signal:")).map(|line| line.trim().to_owned())
    };
    let any = |key: &str| Some(format!("signal: {{expects: \"{key}:\", missing: failed}}"));
    assert_eq!(signal("expects: 'TIER:'"), any("TIER"));
    assert_eq!(signal("expects: 'STATUS:'"), any("STATUS"));
    // Without `expects`, the keys that the input asks for are expected.
    assert_eq!(signal("input: \"Reply with:\\nTIER: x\\nSTATUS: done\""), any("STATUS"));
    assert_eq!(signal("input: \"If it works, output: DEPLOY: ok\""), any("DEPLOY"));
    assert_eq!(signal("input: Do it"), None);
}

const DEBATE: &str = "\
roles:
  a:
    procedure: Argue
    frontmatter:
      oneOf:
        - {properties: {$status: {const: more}, point: {type: string}}}
        - {properties: {$status: {const: done}}}
  b: {procedure: Answer, frontmatter: {properties: {$status: {const: said}, reply: {type: string}}}}
graph:
  $START: {new: {role: a, prompt: Begin}}
  a:
    more: {role: b, prompt: \"{{point}} / {{_body}}\"}
    done: {role: b, prompt: \"{{point}} of {{reply}} on {{topic}}\"}
  b: {_: {role: a, prompt: \"{{reply}}\"}}
";

#[test]
fn prompts_of_edges_name_their_gates() {
    let text = text_of("d.yaml", DEBATE);
    for line in [
        "      more: {to: b, prompt: \"{{point}} / {{a.body}}\"}\n",
        "      done: {to: b, prompt: \"{{a.point}} of {{b.reply}} on {{topic}}\"}\n",
        // One edge for every status.
        "      said: {to: a, prompt: \"{{reply}}\"}\n",
        "context: {input: {topic: null}",
        "      reentry: {instructions: Argue}\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let report = imported_text("d.yaml", DEBATE);
    assert!(
        report.contains("{{point}}: `{{a.point}}`: a fault of the file, for `a` does not hand on `point` with `done`"),
        "{report}"
    );
}

#[test]
fn a_loop_of_one_role_does_not_begin_anew() {
    let graph = "roles: {w: {goal: x}}\ngraph:\n  $START: {new: {role: w, prompt: The first batch}}\n  w: {more: {role: w, prompt: The next}, done: $END}\n";
    let text = text_of("w.yaml", graph);
    let reentry = "reentry:\n        role: x\n        instructions: |\n          Go on from";
    assert!(text.contains(reentry), "{text}");
}

/// A fork only sends back, so the gate that its errors lead to is before it.
#[test]
fn errors_of_a_parallel_step_lead_to_a_later_step() {
    let steps = |first: &str| {
        format!(
            r#"{{"id": "x", "steps": [{first}
            {{"id": "look", "type": "parallel", "agents": ["a", "b"], "on_success": "tell", "on_error": "mend"}},
            {{"id": "tell", "agent": "c", "on_success": "end"}},
            {{"id": "mend", "agent": "c", "on_success": "tell"}}]}}"#
        )
    };
    let order = |text: &str| -> String {
        let ids = text.lines().filter_map(|line| line.strip_prefix("  - id: "));
        ids.collect::<Vec<_>>().join(" ")
    };
    let text = text_of("o.json", &steps(""));
    assert_eq!(order(&text), "look-start mend look tell");
    assert!(text.contains("\"true\": look\n      \"false\": look\n"), "{text}");
    let first = r#"{"id": "make", "agent": "c", "on_success": "look"},"#;
    let text = text_of("o.json", &steps(first));
    assert_eq!(order(&text), "make mend look tell");
    assert!(text.contains("      complete: look\n"), "{text}");
}

#[test]
fn lists_of_edges_are_gates_that_ask() {
    let graph = "\
roles:
  w: {procedure: Work, frontmatter: {properties: {ok: {type: boolean}}, required: [ok]}}
  v: {procedure: Look}
conditions:
  bad: {expression: \"$last('w').ok = false\"}
  few: {expression: \"$count(steps[role = 'w']) < 3\"}
  odd: {expression: \"$sum(steps) > 1\"}
graph:
  $START: [{role: w, condition: null, prompt: Begin}]
  w:
    - {role: $END, condition: bad}
    - {role: w, condition: few, prompt: Again}
    - {role: v}
  v: [{role: $END, condition: null}]
";
    let text = text_of("g.yaml", graph);
    for part in [
        "  - id: w-if\n    type: condition\n    when: context[\"w\"]?.[\"ok\"] === false\n",
        "      \"true\": $end\n      \"false\": w-if-2\n",
        "    when: gateHistory.filter(visit => visit.gate === \"w\").length < 3\n",
        "      \"true\": {to: w, prompt: Again}\n      \"false\": {to: v, prompt: \"{{w}}\"}\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let odd = graph.replace("condition: few", "condition: odd");
    let imported = import("g.yaml", odd.as_bytes(), None, None).unwrap();
    let lost: Vec<&str> = imported.lost().map(|remark| remark.field.as_str()).collect();
    assert_eq!(lost, ["graph.w.2.condition"]);
}

#[test]
fn conditions_of_hops_are_written_out() {
    let hops = "\
hops:
  - {id: make, role: r}
  - {id: test, role: r, dependsOn: [make], canReject: true, rejectionStrategy: predecessors}
  - id: audit
    role: r
    dependsOn: [make]
    condition: {op: or, conditions: [{op: has_tag, value: auth}, {op: has_tag, value: it's}]}
  - id: urgent
    role: r
    dependsOn: [make, test, audit]
    condition: {op: and, conditions: [{op: not, condition: {op: eq, field: task.priority, value: low}}, {op: hop_status, hop: test, status: complete}]}
  - {id: odd, role: r, dependsOn: [urgent], condition: {op: gt, field: hops.test.result.score, value: 3}}
";
    let report = imported_text("h.yaml", hops);
    for part in [
        "when: (tags.includes(\"auth\") || tags.includes(\"it's\"))\n",
        "when: (!(metadata.priority === \"low\") && gateHistory.some(visit => visit.gate === \"test\" && visit.outcome === \"complete\"))\n",
        "        routes:\n          needs_review: $previous\n",
        // A hop needs no edge to what it waits for through others.
        "converted hops.urgent.dependsOn",
        "lost      hops.odd.condition",
    ] {
        assert!(report.contains(part), "{part}\n{report}");
    }
}

#[test]
fn files_of_other_known_systems_are_named() {
    for (file, text, name) in [
        (
            "c.json",
            r#"{"name": "x", "tasks": [{"name": "a", "taskReferenceName": "a", "type": "SIMPLE"}]}"#,
            "Conductor",
        ),
        (
            "c.yaml",
            "workflow: {name: x, entry_point: a}\nagents:\n  - {name: a, prompt: Do it, routes: [{to: $end}]}\n",
            "Conductor",
        ),
        ("g.toml", "formula = \"mol-x\"\n[[steps]]\nid = \"a\"\ntitle = \"A\"\n", "gastown"),
        ("g2.toml", "[formula]\nid = \"x\"\n[[steps]]\nid = \"a\"\nprompt = \"x y\"\n", "gastown"),
        ("a.yml", "on: push\njobs: {a: {steps: [{run: x}]}}\n", "GitHub Actions"),
    ] {
        let report = imported_text(file, text);
        assert!(report.contains(&format!("this is a file of {name}")), "{report}");
    }
}

/// `{{task}}` is the task in every template, so a gate of that name could not be referred to.
#[test]
fn no_step_becomes_a_gate_named_task() {
    for name in ["task", "$task", "task!"] {
        let antfarm = format!(
            "steps:\n  - {{id: '{name}', agent: a}}\n  - {{id: b, agent: a, input: 'see {{{{steps.{name}.output}}}} of {{{{task}}}}'}}\n"
        );
        let openagents = format!(
            "{{\"steps\": [{{\"id\": \"{name}\", \"agent\": \"a\", \"on_success\": \"b\"}}, {{\"id\": \"b\", \"agent\": \"a\", \"input\": \"{name}\", \"on_success\": \"end\"}}]}}"
        );
        for (file, text, expected) in [
            ("a.yml", antfarm, "see {{task-gate}} of {{task}}"),
            ("o.json", openagents, "{{task-gate}}"),
        ] {
            let text = text_of(file, &text);
            assert!(text.contains("- id: task-gate\n") && text.contains(expected), "{text}");
        }
    }
}

#[test]
fn a_file_with_several_workflows_is_asked_for_one() {
    let text = include_str!("../../../../tests/fixtures/import/openagents.json");
    let named = |name: &str| import("x.json", text.as_bytes(), None, Some(&name.parse().unwrap()));
    assert_eq!(named("note").unwrap().workflows.len(), 1);
    let refused = render_all(&named("nite").unwrap_err(), ColorMode::Plain);
    assert!(refused.contains("`letter`, `note`"), "{refused}");
    let one =
        import("x.toml", b"[workflow]\npreset = \"fast\"\n", None, Some(&"loop".parse().unwrap()))
            .unwrap();
    assert!(one.workflows[0].text.starts_with("name: loop\n"));
}

#[test]
fn ten_thousand_steps_are_a_file_too() {
    const STEPS: usize = 10_000;
    let mut antfarm = String::from("id: long\nsteps:\n");
    let mut openagents = String::from("{\"id\": \"long\", \"steps\": [");
    let mut graph = (String::from("roles:\n"), String::from("graph:\n  $START: {_: r0}\n"));
    let mut orbital = String::from("[workflow]\n");
    let mut hops = String::from("hops:\n");
    for n in 0..STEPS {
        antfarm.push_str(&format!("  - {{id: s{n}, agent: a, input: '{{{{k{n}}}}}', expects: 'STATUS: done', on_fail: {{retry_step: s{}}}}}\n", n / 2));
        let next = if n + 1 < STEPS { format!("s{}", n + 1) } else { "end".to_owned() };
        openagents.push_str(&format!(
            "{}{{\"id\": \"s{n}\", \"agent\": \"a\", \"on_success\": \"{next}\"}}",
            if n > 0 { "," } else { "" }
        ));
        graph.0.push_str(&format!("  r{n}: {{goal: x}}\n"));
        let next = if n + 1 < STEPS { format!("r{}", n + 1) } else { "$END".to_owned() };
        graph.1.push_str(&format!("  r{n}: {{_: {next}}}\n"));
        orbital.push_str(&format!("[[workflow.steps]]\nname = \"s{n}\"\nprompt = \"x\"\n"));
        hops.push_str(&format!("  - {{id: h{n}, role: r}}\n"));
    }
    openagents.push_str("]}");
    let graph = graph.0 + &graph.1;
    for (file, source) in [
        ("a.yml", antfarm),
        ("o.json", openagents),
        ("g.yaml", graph),
        ("t.toml", orbital),
        ("h.yaml", hops),
    ] {
        let text = text_of(file, &source);
        // Orbital's verification is a gate of its own.
        let gates = STEPS + usize::from(file == "t.toml");
        assert_eq!(text.matches("\n  - id: ").count(), gates, "{file}");
    }
}

#[test]
fn deep_nesting_ends_with_a_fault() {
    for (open, close) in [("[", "]"), ("{a: ", "}"), ("{\"a\": ", "}")] {
        let text =
            format!("steps: [{{id: a, x: {}1{}}}]", open.repeat(50_000), close.repeat(50_000));
        assert!(import("x.yml", text.as_bytes(), None, None).is_err());
    }
    let toml = format!("[workflow]\nx = {}1{}\n", "[".repeat(50_000), "]".repeat(50_000));
    assert!(import("x.toml", toml.as_bytes(), None, None).is_err());
    let schema = format!(
        "roles: {{a: {{frontmatter: {}}}}}\ngraph: {{$START: {{_: a}}, a: {{_: $END}}}}",
        "{items: ".repeat(30) + "{}" + &"}".repeat(30)
    );
    assert!(import("x.yml", schema.as_bytes(), None, None).is_err());
}

/// The examples of the guide are real results of the program.
#[test]
fn the_examples_of_the_documentation_hold() {
    let text = include_str!("../../../../docs/guides/importing.md");
    let mut shown = Vec::new();
    for section in text.split("\n## ").skip(3) {
        let blocks: Vec<(&str, &str)> = section
            .split("\n```")
            .filter_map(|block| block.split_once('\n'))
            .filter(|(notation, _)| matches!(*notation, "yaml" | "json" | "toml"))
            .collect();
        let [(notation, before), (_, after)] = blocks.as_slice() else { continue };
        let file = format!("example.{notation}");
        let source = if *notation == "toml" {
            format!("[workflow]\n{before}")
        } else {
            (*before).to_owned()
        };
        let became = text_of(&file, &source);
        let after = format!("{}\n", after.trim_end());
        assert!(
            became.ends_with(&after),
            "--- {file}\n{became}\n--- the documentation says\n{after}"
        );
        shown.push(file);
    }
    assert_eq!(shown, ["example.yaml"]);
}

#[test]
fn files_that_lack_a_line_or_have_one_twice_are_read_or_refused() {
    let files = [
        ("a.yml", include_str!("../../../../tests/fixtures/import/antfarm.yml")),
        ("o.json", include_str!("../../../../tests/fixtures/import/openagents.json")),
        ("s.yaml", include_str!("../../../../tests/fixtures/import/status-graph.yaml")),
        ("t.toml", include_str!("../../../../tests/fixtures/import/orbital.toml")),
        ("h.yaml", include_str!("../../../../tests/fixtures/import/aof-hops.yaml")),
    ];
    let mut read = 0;
    for (file, text) in files {
        let lines: Vec<&str> = text.lines().collect();
        for at in 0..lines.len() {
            let without = [&lines[..at], &lines[at + 1..]].concat();
            let twice = [&lines[..=at], &lines[at..]].concat();
            let emptied: Vec<&str> = lines
                .iter()
                .enumerate()
                .map(|(n, line)| if n == at { line.split(':').next().unwrap() } else { line })
                .collect();
            for lines in [without, twice, emptied] {
                let Ok(imported) = import(file, lines.join("\n").as_bytes(), None, None) else {
                    continue;
                };
                read += 1;
                for draft in imported.workflows {
                    let node = crate::files::yaml::parse(
                        &draft.text,
                        &crate::files::yaml::ParseLimits::default(),
                    )
                    .unwrap();
                    assert_eq!(
                        node.get("name").and_then(Node::as_str),
                        Some(draft.name.as_str()),
                        "{}",
                        draft.text
                    );
                }
            }
        }
    }
    assert!(read > 100, "only {read} were read");
}
