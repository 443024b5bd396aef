//! Outputs of completions, and verdicts in texts.

use serde_json::json;

use crate::tests::world::*;
use crate::{Act, Refusal, Rules, StateChange, Warning, WorkflowStep, begin, explain};
use aof_domain::*;
use aof_files::config::configuration::{Source, load};

const WORKFLOW: &str = "
workflow:
  context: {input: {repo: null, branch: main}, protected: [repo, branch], maxBytes: 60}
  gates:
    - id: implement
      role: backend
      outputs:
        properties: {pr_url: {type: string}, files: {type: array, items: {type: string}}}
        required: [pr_url]
    - id: review
      role: architect
      routes:
        approved: $next
        needs_fixes: implement
      outputs:
        oneOf:
          - properties: {$status: {const: approved}, branch: {type: string}}
            required: [$status, branch]
          - properties: {$status: {const: needs_fixes}, comments: {type: string}}
            required: [comments]
      signal: {key: DECISION, missing: needs_fixes}
    - {id: check, role: qa, canReject: true, signal: gate}
";

fn made(text: &str) -> Result<Rules, Vec<String>> {
    let source = Source { name: "project.yaml".to_owned(), bytes: text.as_bytes().to_vec() };
    let loaded = load(&[source])
        .map_err(|faults| faults.iter().map(|fault| fault.message.clone()).collect::<Vec<_>>())?;
    let described = |finding: &crate::Finding| {
        format!(
            "{}: {} ({})",
            finding.code,
            finding.message,
            finding.help.clone().unwrap_or_default()
        )
    };
    Rules::new(loaded.project, org()).map(|(rules, _)| rules).map_err(|findings| {
        findings.iter().filter(|f| f.severity == Severity::Error).map(described).collect()
    })
}

fn tell(
    rules: &Rules,
    task: &Task,
    agent: &str,
    change: impl FnOnce(&mut Completion),
) -> Result<WorkflowStep, Refusal> {
    let mut completion = completion(agent, "complete");
    completion.id = id(&format!("c{}", task.history.len()));
    change(&mut completion);
    let minute = 10 * (i64::try_from(task.history.len()).unwrap() + 1);
    let step = step(rules, task, &Act::Complete(completion), minute)?;
    // The history alone must explain the step, although values were read from a text.
    assert!(
        matches!(explain(rules, Some(task), &step.task), StateChange::Act(_)),
        "{:?}",
        step.task.history.last()
    );
    Ok(step)
}

fn outputs(value: impl serde::Serialize) -> Map {
    serde_json::to_value(value).unwrap().as_object().cloned().unwrap()
}

fn at_review(rules: &Rules) -> Task {
    let task = opened(rules, &[]);
    tell(rules, &task, "agent-7", |done| {
        done.content.outputs = outputs(json!({"pr_url": "x", "files": ["a"]}));
    })
    .unwrap()
    .task
}

fn at_check(rules: &Rules) -> Task {
    let task = at_review(rules);
    tell(rules, &task, "agent-3", |done| {
        done.content.outcome = None;
        done.content.outputs = outputs(json!({"$status": "Approved", "branch": "b"}));
    })
    .unwrap()
    .task
}

#[test]
fn outputs_follow_the_declaration_of_the_gate() {
    let rules = made(WORKFLOW).unwrap();
    let task = opened(&rules, &[]);
    let refused = tell(&rules, &task, "agent-7", |done| {
        done.content.outputs = outputs(
            json!({"pr_ulr": "x", "files": "a", "branch": "evil", "repo": "y".repeat(100)}),
        );
    })
    .unwrap_err();
    assert_eq!(refused.code(), "invalid_outputs");
    insta::assert_snapshot!(refused.message(Fix::to_string), @r#"
    6 things are wrong with the outputs for `complete` at gate `implement`

    fix this, all at once:
    - `branch` means what the task started with, and no gate may change that: use another name
    - `repo` means what the task started with, and no gate may change that: use another name
    - `repo` has 102 bytes, and one value may have 60: write it to a file, and hand on the file's path
    - `pr_url` is missing: it is a text
    - `files` is a text, and it must be a list: write one item a line, or put it in brackets
    - `pr_ulr` is not declared; did you mean `pr_url`?

    Example:
    {
      "outcome": "complete",
      "summary": "Added login with tokens; 14 tests, coverage 85%",
      "outputs": {
        "pr_url": "the pr url",
        "files": [
          "the files"
        ]
      }
    }
    "#);
    insta::assert_snapshot!(serde_json::to_string_pretty(&refused.fields()["problems"]).unwrap(), @r#"
    [
      {
        "path": "branch",
        "problem": "protected_output",
        "message": "`branch` means what the task started with, and no gate may change that: use another name"
      },
      {
        "path": "repo",
        "problem": "protected_output",
        "message": "`repo` means what the task started with, and no gate may change that: use another name"
      },
      {
        "path": "repo",
        "problem": "output_too_large",
        "got": 102,
        "expected": {
          "atMost": 60
        },
        "message": "`repo` has 102 bytes, and one value may have 60: write it to a file, and hand on the file's path"
      },
      {
        "path": "pr_url",
        "problem": "missing_field",
        "expected": "a text",
        "message": "`pr_url` is missing: it is a text"
      },
      {
        "path": "files",
        "problem": "wrong_type",
        "got": "a text",
        "expected": "a list",
        "message": "`files` is a text, and it must be a list: write one item a line, or put it in brackets"
      },
      {
        "path": "pr_ulr",
        "problem": "unknown_field",
        "expected": [
          "pr_url",
          "files"
        ],
        "nearest": "pr_url",
        "message": "`pr_ulr` is not declared; did you mean `pr_url`?"
      }
    ]
    "#);
    let only = |value| {
        tell(&rules, &task, "agent-7", |done| done.content.outputs = outputs(value))
            .unwrap_err()
            .code()
    };
    assert_eq!(only(json!({"pr_url": "x".repeat(70)})), "output_too_large");
    assert_eq!(only(json!({"pr_url": "x", "repo": "z"})), "protected_output");
    // A blocked agent has no outputs yet.
    tell(&rules, &task, "agent-7", |done| {
        done.content.outcome = Some("blocked".into());
        done.content.blockers = Some(vec!["no access to the repository".into()]);
    })
    .unwrap();
}

#[test]
fn the_status_is_the_outcome_and_is_not_kept() {
    let rules = made(WORKFLOW).unwrap();
    let task = at_review(&rules);
    let say = |outcome: Option<&str>, status: &str| {
        tell(&rules, &task, "agent-3", |done| {
            done.content.outcome = outcome.map(str::to_owned);
            done.content.outputs = outputs(json!({"$status": status, "branch": "b"}));
        })
    };
    for step in [say(None, "approved"), say(Some("approved"), "APPROVED")] {
        let task = step.unwrap().task;
        assert_eq!(task.context["review"], json!({"branch": "b"}));
        assert_eq!(task.history.last().unwrap().outputs, outputs(json!({"branch": "b"})));
        assert_eq!(stands(&task), "check@2 ready");
    }
    assert_eq!(say(Some("approved"), "needs_fixes").unwrap_err().code(), "contradictory_status");
    assert_eq!(say(None, "aproved").unwrap_err().code(), "invalid_outcome");
    // A gate with a signal reads an omitted outcome from the text: here there is none, which sends the task back.
    let variant =
        tell(&rules, &task, "agent-3", |done| done.content.outcome = Some("needs_fixes".into()))
            .unwrap_err();
    insta::assert_snapshot!(variant.message(Fix::to_string), @r#"
    one thing is wrong with the outputs for `needs_fixes` at gate `review`

    fix this, all at once:
    - `comments` is missing: it is a text

    Example:
    {
      "outcome": "needs_fixes",
      "summary": "Looked at everything that the brief names",
      "outputs": {
        "comments": "the comments"
      }
    }
    "#);
}

#[test]
fn a_verdict_is_read_from_the_text() {
    let rules = made(WORKFLOW).unwrap();
    let task = at_review(&rules);
    let write = |text: &str| {
        tell(&rules, &task, "agent-3", |done| {
            done.content.outcome = None;
            done.content.summary = None;
            done.content.body = Some(text.to_owned());
        })
    };
    let step = write("I looked.\nBRANCH: fix/1\nDECISION: approved\n").unwrap();
    assert_eq!(step.task.context["review"], json!({"branch": "fix/1"}));
    assert_eq!(step.task.history.last().unwrap().summary, "I looked.");
    assert!(step.warnings.is_empty());

    let step =
        write("> DECISION: approved\n\n- no tests for logout\n- typo\n\nCOMMENTS: too short\nDECISION: needs_fixes\n")
            .unwrap();
    assert_eq!(stands(&step.task), "implement@2 ready");
    let review = step.task.review.as_ref().unwrap();
    assert_eq!(review.blockers, ["no tests for logout", "typo"]);
    assert!(review.notes.as_ref().unwrap().starts_with("> DECISION: approved"));

    // A missing verdict is a rejection, but this gate needs comments for one.
    assert_eq!(write("Fine.").unwrap_err().code(), "invalid_outputs");
    let step = write("COMMENTS: what is this?\nDECISION: dunno").unwrap();
    assert_eq!(step.task.history.last().unwrap().retry, Some(1));
    let Warning::NoVerdict { .. } = &step.warnings[0] else { panic!("{:?}", step.warnings) };
    insta::assert_snapshot!(step.warnings[0].message(), @"gate `review` (attempt 1) looked for a line `DECISION: approved` or `DECISION: needs_fixes` in the text, and there is only `dunno`; what is quoted or code does not count. It was taken for `needs_fixes`");
}

#[test]
fn silence_uses_up_a_retry_and_a_contradiction_is_refused() {
    let rules = made(WORKFLOW).unwrap();
    let task = at_check(&rules);
    let silent = tell(&rules, &task, "agent-5", |done| done.content.outcome = None).unwrap();
    assert_eq!(stands(&silent.task), "implement@3 ready");
    assert_eq!(
        silent.task.history.last().unwrap().outcome,
        Ending::Completed(Outcome::NeedsReview)
    );
    let long = format!("{}\n<gate>FAIL</gate>", "no tests\n".repeat(2_000));
    let failed = tell(&rules, &task, "agent-5", |done| {
        done.content.outcome = None;
        done.content.body = Some(long.clone());
    });
    let notes = failed.unwrap().task.review.unwrap().notes.unwrap();
    assert!(notes.ends_with("[the rest is in the task's body]") && notes.len() < 5_000);
    let torn = tell(&rules, &task, "agent-5", |done| {
        done.content.body = Some("<gate>FAIL</gate>".into());
    })
    .unwrap_err();
    assert_eq!(torn.code(), "contradictory_verdict");
    let agreed = tell(&rules, &task, "agent-5", |done| {
        done.content.body = Some("`<gate>FAIL</gate>` <gate>PASS</gate>".into());
    });
    assert_eq!(stands(&agreed.unwrap().task), "complete");
    // The summary would mean another verdict without the text.
    let summed = tell(&rules, &task, "agent-5", |done| {
        done.content.outcome = None;
        done.content.summary = Some("<gate>PASS</gate>".into());
        done.content.body = Some("<gate>FAIL</gate>".into());
    });
    assert_eq!(stands(&summed.unwrap().task), "implement@3 ready");
}

#[test]
fn a_verdict_that_the_gate_does_not_have_is_none() {
    let rules = made(
        &WORKFLOW
            .replace("{key: DECISION, missing: needs_fixes}", "{tag: gate, missing: needs_fixes}"),
    );
    let rules = rules.unwrap();
    let task = at_review(&rules);
    let write = |outcome: Option<&str>, text: &str| {
        tell(&rules, &task, "agent-3", |done| {
            done.content.outcome = outcome.map(str::to_owned);
            done.content.outputs = outcome.map_or_else(
                || outputs(json!({"comments": "c"})),
                |_| outputs(json!({"branch": "b"})),
            );
            done.content.body = Some(text.to_owned());
        })
    };
    for text in ["<gate>PASS</gate>", "<gate>fail</gate>"] {
        let step = write(None, text).unwrap();
        assert_eq!(
            (stands(&step.task), step.task.history[1].retry),
            ("implement@2 ready".into(), Some(1))
        );
    }
    insta::assert_snapshot!(write(None, "<gate>PASS</gate>").unwrap().warnings[0].message(), @"gate `review` (attempt 1) looked for `<gate>approved</gate>` or `<gate>needs_fixes</gate>` in the text, and there is only `<gate>PASS</gate>`; what is quoted or code does not count. It was taken for `needs_fixes`");
    assert_eq!(
        stands(&write(Some("approved"), "<gate>PASS</gate>").unwrap().task),
        "check@2 ready"
    );
    let torn = write(Some("approved"), "<gate>needs_fixes</gate>").unwrap_err();
    assert_eq!(torn.code(), "contradictory_verdict");
}

#[test]
fn an_empty_text_is_silence() {
    let rules = made(WORKFLOW).unwrap();
    let task = at_check(&rules);
    for (summary, body) in
        [(None, None), (Some(" "), Some("\n")), (None, Some("")), (Some(""), None)]
    {
        let step = tell(&rules, &task, "agent-5", |done| {
            done.content.outcome = None;
            done.content.summary = summary.map(str::to_owned);
            done.content.body = body.map(str::to_owned);
        })
        .unwrap();
        assert_eq!(stands(&step.task), "implement@3 ready");
        let entry = step.task.history.last().unwrap();
        assert_eq!(
            (entry.summary.as_str(), entry.retry),
            ("Handed in nothing that could be read", Some(1))
        );
        assert_eq!(step.warnings[0].code(), "no_verdict");
    }
}

#[test]
fn a_task_begins_with_the_input_of_its_workflow() {
    let rules = made(WORKFLOW).unwrap();
    let workflow = &rules.project.workflows[0];
    assert_eq!(
        begin(workflow, &outputs(json!({"repo": "web"}))).unwrap(),
        outputs(json!({"repo": "web", "branch": "main"}))
    );
    assert_eq!(begin(workflow, &Map::new()).unwrap_err().code(), "missing_input");
    let unknown = begin(workflow, &outputs(json!({"repoo": 1}))).unwrap_err();
    assert_eq!(
        (unknown.code(), unknown.fix().to_string().as_str()),
        ("unknown_input", "did you mean `repo`? it begins with `repo`, `branch`")
    );
    assert_eq!(begin(&sdlc(), &outputs(json!({"x": 1}))).unwrap(), outputs(json!({"x": 1})));
}

#[test]
fn a_text_that_matches_no_exit_is_found_at_load() {
    let gates = |inside: &str| {
        format!("workflow: {{gates: [{{id: a, role: backend}}, {{id: b, role: qa, {inside}}}]}}")
    };
    let results: Vec<String> = [
        "routes: {x: $next, y: a}, outputs: {oneOf: [{properties: {$status: {const: x}}}, {properties: {$status: {const: z}}}]}",
        "outputs: {oneOf: [{properties: {$status: {const: complete}}}]}",
        "outputs: {oneOf: [{properties: {$status: {const: blocked}}}]}",
        "outputs: {properties: {a: {type: string, default: 3}, b: {items: {enum: [1, x], type: integer}}}}",
        "signal: gate",
        "signal: {tag: gate, missing: blocked}",
        "canReject: true, signal: {tag: gate, missing: complete}",
        "routes: {x: $next, y: a}, signal: {tag: gate, pass: x, missing: y}",
        "routes: {x: $next, y: a}, signal: {expects: done, missing: y}",
        "routes: {x: $next, y: a}, signal: {key: K, missing: z}",
        "routes: {pass: $next, fail: a}, signal: {tag: gate, missing: fail}",
    ]
    .iter()
    .map(|inside| match made(&gates(inside)) {
        Ok(_) => format!("{inside}\n  fine"),
        Err(faults) => format!("{inside}\n  {}", faults.join("\n  ")),
    })
    .collect();
    insta::assert_snapshot!(results.join("\n"), @r#"
    routes: {x: $next, y: a}, outputs: {oneOf: [{properties: {$status: {const: x}}}, {properties: {$status: {const: z}}}]}
      unknown_variant: gate `b` has no outcome `z` that this variant could be for (did you mean `x`?)
      missing_variant: `outputs` does not say what comes with `y` (add a variant, as in `- {properties: {$status: {const: y}}}`)
    outputs: {oneOf: [{properties: {$status: {const: complete}}}]}
      fine
    outputs: {oneOf: [{properties: {$status: {const: blocked}}}]}
      unknown_variant: gate `b` has no outcome `blocked` that this variant could be for (its outcomes are `complete`; add a route for `blocked`, or remove the variant)
      missing_variant: `outputs` does not say what comes with `complete` (add a variant, as in `- {properties: {$status: {const: complete}}}`)
    outputs: {properties: {a: {type: string, default: 3}, b: {items: {enum: [1, x], type: integer}}}}
      unsound_schema: what is written for `a` is not what its own schema allows: this is a whole number, and it must be a text: write `"3"` (fix the `default`, `examples`, `const` or `enum`, or the schema)
      unsound_schema: what is written for `b[]` is not what its own schema allows: this is a text, and it must be a whole number (fix the `default`, `examples`, `const` or `enum`, or the schema)
    signal: gate
      unknown_outcome: `fail` stands for `needs_review`, which is no outcome of gate `b` (say what it stands for, as in `signal: {tag: gate, pass: .., fail: ..}`, with `complete`, `blocked`)
      missing_field: no verdict would mean a rejection, and gate `b` does not send back (say what no verdict means, as in `signal: {.., missing: OUTCOME}`, with `complete`, `blocked`)
    signal: {tag: gate, missing: blocked}
      unknown_outcome: `fail` stands for `needs_review`, which is no outcome of gate `b` (say what it stands for, as in `signal: {tag: gate, pass: .., fail: ..}`, with `complete`, `blocked`)
    canReject: true, signal: {tag: gate, missing: complete}
      fails_open: work without a verdict would pass (name an outcome that holds the task or sends it back)
    routes: {x: $next, y: a}, signal: {tag: gate, pass: x, missing: y}
      unknown_outcome: `fail` stands for `needs_review`, which is no outcome of gate `b` (say what it stands for, as in `signal: {tag: gate, pass: .., fail: ..}`, with `x`, `y`, `blocked`)
    routes: {x: $next, y: a}, signal: {expects: done, missing: y}
      unknown_outcome: `expects` stands for `complete`, which is no outcome of gate `b` (use `key` at gates that decide, as in `signal: {key: DECISION}`)
    routes: {x: $next, y: a}, signal: {key: K, missing: z}
      unknown_outcome: `missing` stands for `z`, which is no outcome of gate `b` (name one of `x`, `y`, `blocked`)
    routes: {pass: $next, fail: a}, signal: {tag: gate, missing: fail}
      fine
    "#);
}

#[test]
fn the_hash_covers_deciding_fields() {
    let hash = |text: &str| {
        let rules = made(text).unwrap();
        rules.hash(&rules.project.workflows[0].name).unwrap().to_owned()
    };
    let first = hash(WORKFLOW);
    assert_eq!(
        first,
        hash(
            &WORKFLOW
                .replace("pr_url: {type: string}", "pr_url: {type: string, description: where}")
        )
    );
    for (from, to) in [
        ("required: [pr_url]", "required: [files]"),
        ("DECISION", "VERDICT"),
        ("maxBytes: 60", "maxBytes: 61"),
        ("branch: main", "branch: trunk"),
        ("missing: needs_fixes", "missing: blocked"),
    ] {
        assert_ne!(first, hash(&WORKFLOW.replacen(from, to, 1)), "{from}");
    }
}
