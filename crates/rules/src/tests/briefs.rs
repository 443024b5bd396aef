//! Briefs of agents: texts with holes, outputs to hand on, and all unanswered requests.

use serde_json::json;

use crate::brief::{GateContext, brief, brief_at};
use crate::template::Body;
use crate::tests::world::*;
use crate::{Act, Rules, Warning, Workplace};
use aof_domain::*;
use aof_files::config::configuration::{Source, load};

const WORKFLOW: &str = "
workflow:
  context: {input: {repo: null, branch: main}}
  gates:
    - id: plan
      role: architect
      outputs: {properties: {steps: {type: array, items: {type: string}}, plan_file: {type: string}}, required: [plan_file]}
    - id: implement
      role: backend
      files: [src/**]
      outputs: {properties: {pr_url: {type: string, description: where it can be seen}}, required: [pr_url]}
      brief:
        role: You write code for {{repo}} on {{branch}}.
        instructions: \"Task: {{task}}\\nPlan {{plan_file}}:\\n{{steps}}\\nEarlier: {{implement.pr_url}} {{review.blockers}}|{{check.notes}}|\"
        expectations: ['{{plan.steps}}', 'not \\{{this}}']
        reentry: {instructions: 'Mend {{pr_url}}: {{review.comments}}'}
    - id: review
      role: architect
      canReject: true
      routes:
        approved: $next
        needs_fixes: {to: implement, prompt: 'Fix on {{branch}}: {{comments}} (was: {{implement.pr_url}})'}
      outputs:
        oneOf:
          - properties: {$status: {const: approved}}
          - properties: {$status: {const: needs_fixes}, comments: {type: string}}
            required: [$status, comments]
    - id: check
      role: qa
      canReject: true
      brief: {instructions: '{{plan}} / {{plan.summary}} / {{plan.agent}} / {{review.outcome}} / {{implement.body}} / {{task.body}} / {{task.id}}'}
";

fn made(text: &str) -> Result<Rules, Vec<String>> {
    let source = Source { name: "project.yaml".to_owned(), bytes: text.as_bytes().to_vec() };
    let loaded = load(&[source])
        .map_err(|faults| faults.iter().map(|fault| fault.message.clone()).collect::<Vec<_>>())?;
    let described = |finding: &crate::Finding| {
        let help = finding.help.clone().unwrap_or_default();
        format!("{} {}: {} ({help})", finding.severity, finding.code, finding.message)
    };
    match Rules::new(loaded.project, org()) {
        Ok((rules, findings)) => {
            let name_faults: Vec<String> =
                findings.iter().filter(|f| f.code.contains("name")).map(described).collect();
            if name_faults.is_empty() { Ok(rules) } else { Err(name_faults) }
        }
        Err(findings) => {
            Err(findings.iter().filter(|f| f.severity == Severity::Error).map(described).collect())
        }
    }
}

fn tell(
    rules: &Rules,
    task: &Task,
    agent: &str,
    outcome: &str,
    outputs: &serde_json::Value,
) -> Task {
    let mut completion = completion(agent, outcome);
    completion.content.outputs = outputs.as_object().cloned().unwrap_or_default();
    completion.id = id(&format!("c{}", task.history.len()));
    let minute = 10 * (i64::try_from(task.history.len()).unwrap() + 1);
    step(rules, task, &Act::Complete(completion), minute).unwrap().task
}

fn begun(rules: &Rules, input: &serde_json::Value) -> Task {
    let mut task = new_task(&[]);
    task.description = Some("With tokens.".into());
    task.context.insert("input".into(), input.clone());
    step(rules, &task, &Act::Open, 0).unwrap().task
}

fn brief_text(rules: &Rules, task: &Task) -> String {
    let body = Body { text: "Long.\n", works: vec![(1, "\nI did {{repo}}.\n")] };
    let context = brief(rules, task, &body).unwrap();
    let mut lines = vec![format!("{}: {}", context.gate, context.role)];
    lines.extend(context.prompt.map(|text| format!("prompt: {text}")));
    lines.extend(context.instructions.map(|text| format!("instructions: {text}")));
    lines.extend(context.expectations.iter().map(|text| format!("expected: {text}")));
    lines.extend(context.outputs.iter().map(|form| {
        let names: Vec<&str> = form.fields.iter().map(|field| field.name.as_str()).collect();
        format!("outputs for {}: {} {}", form.outcome, names.join(", "), form.example)
    }));
    lines.extend(context.files.iter().map(|file| format!("file: {file}")));
    lines.extend(
        context
            .review
            .iter()
            .map(|review| format!("review by {}: {:?}", review.from_gate, review.blockers)),
    );
    lines.extend(
        context
            .earlier
            .iter()
            .map(|review| format!("earlier by {}: {:?}", review.from_gate, review.blockers)),
    );
    lines.extend(context.warnings.iter().map(Warning::message));
    lines.join("\n")
}

#[test]
fn texts_are_filled_with_outputs() {
    let rules = made(WORKFLOW).unwrap();
    let task = begun(&rules, &json!({"repo": "web {{branch}}"}));
    let task = tell(
        &rules,
        &task,
        "agent-3",
        "complete",
        &json!({"plan_file": "p.md", "steps": ["a {{repo}}", "b"]}),
    );
    insta::assert_snapshot!(brief_text(&rules, &task), @r#"
    implement: You write code for web {{branch}} on main.
    instructions: Task: Add login

    With tokens.
    Plan p.md:
    - a {{repo}}
    - b
    Earlier: [missing: implement.pr_url] ||
    expected: - a {{repo}}
    - b
    expected: not {{this}}
    outputs for complete: pr_url {"pr_url":"the pr url"}
    file: src/**
    the texts of gate `implement` speak of `implement.pr_url`, which nobody has handed on
    "#);
    let task = tell(&rules, &task, "agent-7", "complete", &json!({"pr_url": "pr/1"}));
    let task = tell(&rules, &task, "agent-3", "needs_fixes", &json!({"comments": "see {{repo}}"}));
    insta::assert_snapshot!(brief_text(&rules, &task), @r#"
    implement: You do the work of this task.
    prompt: Fix on main: see {{repo}} (was: pr/1)
    instructions: Mend pr/1: see {{repo}}
    expected: Do what the title and the body of the task ask for
    expected: Check your result yourself before you hand it on
    outputs for complete: pr_url {"pr_url":"the pr url"}
    file: src/**
    "#);
    // An agent that waited and was unblocked gets the same brief.
    let waiting = tell(&rules, &task, "agent-7", "blocked", &json!({}));
    let context = brief(&rules, &waiting, &Body::default()).unwrap();
    assert_eq!(context.prompt, brief(&rules, &task, &Body::default()).unwrap().prompt);

    let task = tell(&rules, &task, "agent-7", "complete", &json!({"pr_url": "pr/2"}));
    let task = tell(&rules, &task, "agent-3", "approved", &json!({}));
    insta::assert_snapshot!(brief_text(&rules, &task), @"
    check: You review this task: it goes on only if you find it good.
    instructions: said something
    plan_file: p.md
    steps:
    - a {{repo}}
    - b / said something / agent-3 / approved / I did {{repo}}. / Long. / AOF-abc
    expected: Compare the result with what the title and the body of the task ask for
    expected: Name every fault you find, each as a blocker of its own
    ");
}

#[test]
fn a_missing_value_is_shown_and_reported() {
    let rules = made(WORKFLOW).unwrap();
    let task = begun(&rules, &json!({"repo": null}));
    let task = tell(&rules, &task, "agent-3", "complete", &json!({"plan_file": "p.md"}));
    let context = brief(&rules, &task, &Body::default()).unwrap();
    assert_eq!(context.role, "You write code for [missing: repo] on main.");
    let missing = ["steps", "implement.pr_url", "repo", "plan.steps"];
    let Warning::MissingValues { names, .. } = &context.warnings[0] else {
        panic!("{:?}", context.warnings)
    };
    assert_eq!(
        names.iter().filter(|name| missing.contains(&name.as_str())).count(),
        4,
        "{names:?}"
    );
}

#[test]
fn everything_unanswered_is_quoted() {
    let rules = rules(workflow(vec![
        gate("work", "backend"),
        reviewing("one", "architect"),
        reviewing("two", "qa"),
    ]));
    let task = opened(&rules, &[]);
    let task = tell(&rules, &task, "agent-7", "complete", &json!({}));
    let task = tell(&rules, &task, "agent-3", "complete", &json!({}));
    let task = tell(&rules, &task, "agent-5", "needs_review", &json!({}));
    let task = tell(&rules, &task, "agent-7", "complete", &json!({}));
    let task = tell(&rules, &task, "agent-3", "needs_review", &json!({}));
    let context = brief(&rules, &task, &Body::default()).unwrap();
    assert_eq!(context.review.unwrap().from_gate.as_str(), "one");
    let earlier: Vec<&str> =
        context.earlier.iter().map(|review| review.from_gate.as_str()).collect();
    assert_eq!(earlier, ["two"]);
}

#[test]
fn a_rejection_is_settled_for_its_agent_once_the_work_was_done() {
    let rules = rules(workflow(vec![
        gate("work", "backend"),
        reviewing("one", "architect"),
        reviewing("two", "qa"),
    ]));
    let mut task = opened(&rules, &[]);
    for (agent, outcome, settled) in [
        ("agent-7", "complete", [None, None]),
        ("agent-3", "needs_review", [None, None]),
        ("agent-7", "complete", [Some("one"), None]),
        ("agent-3", "complete", [None, None]),
        ("agent-5", "needs_review", [None, None]),
        ("agent-7", "complete", [None, Some("two")]),
        ("agent-3", "needs_review", [None, Some("two")]),
        ("agent-7", "complete", [Some("one"), Some("two")]),
        ("agent-3", "complete", [None, Some("two")]),
        ("agent-5", "complete", [None, None]),
    ] {
        task = tell(&rules, &task, agent, outcome, &json!({}));
        let found = ["agent-3", "agent-5"].map(|agent| {
            let review = crate::routing::reviews::settled_since_rejection(&task, &id(agent));
            review.map(|review| review.from_gate.to_string())
        });
        assert_eq!(found, settled.map(|gate| gate.map(str::to_owned)), "{agent} {outcome}");
    }
}

#[test]
fn generated_texts_name_no_other_gate() {
    let rules = made(&WORKFLOW.replace("brief:", "metadata:")).unwrap();
    let task = begun(&rules, &json!({"repo": "web"}));
    let task = tell(&rules, &task, "agent-3", "complete", &json!({"plan_file": "p"}));
    let task = tell(&rules, &task, "agent-7", "complete", &json!({"pr_url": "p"}));
    let context = brief(&rules, &task, &Body::default()).unwrap();
    let mut texts = vec![context.role];
    texts.extend(context.expectations);
    texts.extend(context.tips);
    texts.extend(context.outcomes.into_iter().map(|(_, meaning)| meaning));
    for text in texts {
        assert!(
            !text.contains("implement") && !text.contains("plan") && !text.contains("check "),
            "{text}"
        );
    }
}

#[test]
fn names_that_nothing_can_fill_are_found_at_load() {
    let gates = |inside: &str| {
        format!(
            "workflow: {{context: {{input: {{repo: x}}}}, gates: [\
             {{id: a, role: backend, outputs: {{properties: {{url: {{}}, both: {{}}}}}}}}, \
             {{id: b, role: qa, outputs: {{oneOf: [{{properties: {{$status: {{const: x}}, both: {{}}}}}}, {{properties: {{$status: {{const: y}}, mine: {{}}}}}}]}}, {inside}}}]}}"
        )
    };
    let routed =
        |prompt: &str| gates(&format!("routes: {{x: $next, y: {{to: a, prompt: '{prompt}'}}}}"));
    let briefed = |text: &str| {
        gates(&format!("routes: {{x: $next, y: a}}, brief: {{instructions: '{text}'}}"))
    };
    let all: Vec<String> = [
        routed("{{mine}} {{repo}} {{task}} {{a.url}} {{b.summary}} {{task.title}} {{input.repo}} {{a}}"),
        routed("{{both}} {{url}} {{mien}}"),
        routed("{{mine}} {{#if x}} {{mine"),
        briefed("{{both}}"),
        briefed("{{url}} {{mine}} {{both}} {{rep}} {{a.ulr}} {{c.url}} {{task.titel}} {{a.b.c}} {{input.no}}"),
        "workflow: {gates: [{id: a, role: backend, brief: {tips: ['{{whatever}}', '{{a.any}}', '{{ab.any}}']}}]}"
            .to_owned(),
    ]
    .iter()
    .map(|text| match made(text) {
        Ok(_) => "fine".to_owned(),
        Err(faults) => faults.join("\n"),
    })
    .collect();
    insta::assert_snapshot!(all.join("\n---\n"), @r"
    fine
    ---
    error unknown_name: `{{both}}`: `y` of gate `b` does not hand that on (write `{{a.both}}` for what gate `a` handed on)
    error unknown_name: `{{url}}`: `y` of gate `b` does not hand that on (write `{{a.url}}` for what gate `a` handed on)
    error unknown_name: `{{mien}}`: `y` of gate `b` does not hand that on (did you mean `mine`?)
    ---
    error invalid_template: there are no sections here, and `{{#` begins one (a text has only names in it: what differs by outcome stands in the route's `prompt`, what differs after a rejection in `reentry`)
    error invalid_template: `{{` is opened and not closed by `}}` (close it, or write `\{{` if it is meant as it stands)
    ---
    warning unknown_name: `{{both}}`: gates `a`, `b` hand on something of that name, and the latest counts (say which, as in `{{a.both}}` or `{{b.both}}`)
    ---
    error unknown_name: `{{rep}}`: `rep` is declared by nobody (did you mean `repo`?)
    error unknown_name: `{{a.ulr}}`: `ulr` is nothing that the gate hands on (did you mean `url`?)
    error unknown_name: `{{c.url}}`: `c` is no gate of the workflow (did you mean `a`?)
    error unknown_name: `{{task.titel}}`: `titel` is nothing that is known of a task (did you mean `title`?)
    error unknown_name: `{{a.b.c}}`: `a` is no fork of the workflow (there is none)
    error unknown_name: `{{input.no}}`: `no` is nothing that a task begins with (there is `repo`)
    ---
    error unknown_name: `{{ab.any}}`: `ab` is no gate of the workflow (did you mean `a`?)
    ");
}

#[test]
fn a_variant_speaks_to_the_next_gate_and_a_declared_name_is_nobodys_input() {
    let text = "
workflow:
  context: {input: {branch: main, repo: web}}
  gates:
    - id: develop
      role: backend
      outputs: {properties: {branch: {type: string}, worktree: {type: string}}, required: [branch, worktree]}
    - id: review
      role: architect
      routes:
        approved: {to: test, prompt: 'Test branch {{{branch}}} at {{{worktree}}} of {{repo}}'}
        rejected: {to: develop, prompt: 'Fix: {{{comments}}}'}
      outputs:
        oneOf:
          - properties: {$status: {const: approved}, branch: {type: string}, worktree: {type: string}}
            required: [$status, branch, worktree]
          - {properties: {$status: {const: rejected}, comments: {type: string}}, required: [$status, comments]}
    - {id: test, role: qa, outputs: {properties: {}}}
";
    let rules = made(text).unwrap();
    let task = begun(&rules, &json!({"repo": "web"}));
    let task =
        tell(&rules, &task, "agent-7", "complete", &json!({"branch": "dev", "worktree": "/d"}));
    let task =
        tell(&rules, &task, "agent-3", "approved", &json!({"branch": "rev", "worktree": "/r"}));
    let context = brief(&rules, &task, &Body::default()).unwrap();
    assert_eq!(context.prompt.unwrap(), "Test branch rev at /r of web");
    // A name in `protected` always means the input, even if a gate declares it.
    let rules = made(&text.replace("repo: web}}", "repo: web}, protected: [branch]}")).unwrap();
    let context = brief(&rules, &task, &Body::default()).unwrap();
    assert_eq!(context.prompt.unwrap(), "Test branch main at /r of web");
}

const FORKED: &str = "
workflow:
  gates:
    - id: work
      role: backend
      brief: {reentry: {instructions: 'Mend {{review.blockers}} ({{review.outcome}})'}}
    - {id: check, role: qa, canReject: true, routes: {complete: {to: $next, prompt: Look closely.}}}
    - id: review
      type: fork
      joinStrategy: all
      routes:
        complete: {to: $next, prompt: It is fine.}
        needs_review: {to: work, prompt: It is not fine.}
      branches:
        - {id: a, role: architect, canReject: true}
        - {id: b, role: qa, canReject: true}
        - {id: c, role: backend, brief: {instructions: First., reentry: {instructions: Once more.}}}
    - {id: last, role: architect, routes: {fine: $next, again: {to: review, prompt: From the end.}}}
";

fn brief_of_branch(rules: &Rules, task: &Task, branch: &str) -> GateContext {
    brief_at(
        rules,
        task,
        &Workplace::of_branch(rules, task, &id(branch)).unwrap(),
        &Body::default(),
    )
    .unwrap()
}

#[test]
fn a_fork_speaks_with_one_voice() {
    let rules = made(FORKED).unwrap();
    let mut task = tell(&rules, &opened(&rules, &[]), "agent-7", "complete", &json!({}));
    task = tell(&rules, &task, "agent-5", "complete", &json!({}));
    // One branch rejects, another passes the task and closes the join, which has failed.
    for (branch, agent, outcome) in [
        ("a", "agent-3", "needs_review"),
        ("c", "agent-8", "complete"),
        ("b", "agent-5", "complete"),
    ] {
        task = say_at(&rules, &task, branch, agent, outcome).unwrap().task;
    }
    assert_eq!(stands(&task), "work@5 ready");
    let wants = "a: coverage is 65%, need 80%";
    let context = brief(&rules, &task, &Body::default()).unwrap();
    assert_eq!(context.prompt.as_deref(), Some("It is not fine."));
    assert_eq!(context.instructions.unwrap(), format!("Mend - {wants} (needs_review)"));

    // Another gate rejects as well: the fork's requests are still in the brief.
    let task = tell(&rules, &task, "agent-7", "complete", &json!({}));
    let task = tell(&rules, &task, "agent-5", "needs_review", &json!({}));
    let context = brief(&rules, &task, &Body::default()).unwrap();
    assert_eq!(context.review.unwrap().from_gate.as_str(), "check");
    let [earlier] = &context.earlier[..] else { panic!("{:?}", context.earlier) };
    assert_eq!(
        (earlier.from_agent.clone(), earlier.blockers.clone()),
        (Some(id("agent-3")), vec![wants.to_owned()])
    );
    assert_eq!(context.instructions.unwrap(), format!("Mend - {wants} (needs_review)"));
}

#[test]
fn a_completion_of_one_branch_leaves_the_other_briefs_whole() {
    let rules = made(FORKED).unwrap();
    let mut task = tell(&rules, &opened(&rules, &[]), "agent-7", "complete", &json!({}));
    task = tell(&rules, &task, "agent-5", "complete", &json!({}));
    assert_eq!(brief_of_branch(&rules, &task, "c").prompt.as_deref(), Some("Look closely."));
    let spoken = say_at(&rules, &task, "a", "agent-3", "complete").unwrap().task;
    assert_eq!(brief_of_branch(&rules, &spoken, "c").prompt.as_deref(), Some("Look closely."));
    assert_eq!(brief_of_branch(&rules, &spoken, "c").instructions.as_deref(), Some("First."));
    for (branch, agent) in [("a", "agent-3"), ("b", "agent-5"), ("c", "agent-8")] {
        task = say_at(&rules, &task, branch, agent, "complete").unwrap().task;
    }
    task = tell(&rules, &task, "agent-3", "again", &json!({}));
    for spoken in [task.clone(), say_at(&rules, &task, "a", "agent-3", "complete").unwrap().task] {
        let context = brief_of_branch(&rules, &spoken, "c");
        assert_eq!(context.prompt.as_deref(), Some("From the end."));
        assert_eq!(context.instructions.as_deref(), Some("Once more."));
    }
}
