//! What the rules cost: loading and checking them, which every command does, and one routing decision.

use std::hint::black_box;

use aof::domain::{Completion, CompletionContent, Outcome, Task, Ticket, Timestamp};
use aof::files::config::configuration::{Source, load};
use aof::rules::{Act, Decision, Rules, decide, edges, preview};
use aof::tasks::create::{NewTask, new_from};
use criterion::{Criterion, criterion_group, criterion_main};

const ORG: &str = "\
roles:
  worker: {agents: [agent-1, agent-2]}
  reviewer: {agents: [agent-3]}
  lead: {agents: [human-ada]}
";

/// Returns a workflow of that many gates of every kind: each fifth reviews, each fifth is for some tasks, each tenth decides.
fn workflow(gates: usize) -> String {
    let gate = |index: usize| match index % 10 {
        4 => format!(
            "    - id: gate-{index}\n      role: reviewer\n      separateFrom: [gate-{}]\n      routes:\n        approved: $next\n        \
             needs_fixes: {{to: gate-{}, prompt: Settle what was found, clear: [gate-{}]}}\n      maxRetries: 3\n      \
             onExhausted: {{escalateTo: lead}}\n",
            index - 1,
            index - 2,
            index - 2
        ),
        9 => format!(
            "    - id: gate-{index}\n      role: reviewer\n      canReject: true\n      brief: {{expectations: [It works]}}\n"
        ),
        1 | 6 => format!(
            "    - {{id: gate-{index}, role: worker, when: \"tags.includes('tag-{index}')\"}}\n"
        ),
        7 => format!(
            "    - {{id: gate-{index}, type: condition, when: metadata.size > {index}, routes: {{true: $next, false: $next}}}}\n"
        ),
        _ => format!(
            "    - {{id: gate-{index}, role: worker, description: Do what the task asks for}}\n"
        ),
    };
    format!("workflow:\n  gates:\n{}", (0..gates).map(gate).collect::<String>())
}

fn rules(project: &str) -> Rules {
    let source = |name: &str, text: &str| Source { name: name.to_owned(), bytes: text.into() };
    let configuration = load(&[source("project.yaml", project), source("org.yaml", ORG)])
        .expect("its shape is sound");
    Rules::new(configuration.project, configuration.org).expect("it is valid").0
}

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(1_771_236_000 + 60 * minute).expect("it is a time")
}

fn step(rules: &Rules, task: &Task, act: &Act) -> Task {
    match decide(rules, task, act, at(1)) {
        Ok(Decision::Step(step)) => step.task,
        other => panic!("{other:?}"),
    }
}

fn completion(task: &Task, agent: &str, outcome: &str) -> Act {
    Act::Complete(Completion {
        ticket: Ticket { task: task.id.clone(), visit: None, branch: None },
        gate: None,
        agent: agent.parse().expect("it is an agent"),
        content: CompletionContent {
            outcome: Some(outcome.to_owned()),
            summary: Some("Did it".to_owned()),
            ..CompletionContent::default()
        },
        id: format!("c{}", task.history.len()).parse().expect("it is an id"),
        signature: None,
        facts: Box::default(),
    })
}

fn loading(criterion: &mut Criterion) {
    for gates in [6, 50, 500] {
        let text = workflow(gates);
        criterion.bench_function(&format!("workflow/load/{gates}"), |bencher| {
            bencher.iter(|| rules(black_box(&text)));
        });
    }
    let rules = rules(&workflow(50));
    criterion.bench_function("workflow/draw/50", |bencher| {
        bencher.iter(|| edges(black_box(&rules.project.workflows[0])));
    });
}

fn routing(criterion: &mut Criterion) {
    let rules = rules(&workflow(50));
    let new = NewTask::titled("Measure");
    let task = new_from(
        &new,
        "AOF-abc".parse().expect("it is an id"),
        "default".parse().expect("it is a name"),
        at(0),
    );
    let first = step(&rules, &task, &Act::Open);
    // Past the conditional `gate-1` to `gate-2`, from which no condition lies on the way.
    let second = step(&rules, &first, &completion(&first, "agent-1", "complete"));
    let third = step(&rules, &second, &completion(&second, "agent-1", "complete"));
    let review = step(&rules, &third, &completion(&third, "agent-2", "complete"));
    let decision: Outcome = "needs_fixes".parse().expect("it is an outcome");
    for (name, task, outcome) in [
        ("plain", &second, Outcome::Complete),
        ("condition", &first, Outcome::Complete),
        ("back", &review, decision),
    ] {
        criterion.bench_function(&format!("workflow/route/{name}"), |bencher| {
            bencher.iter(|| preview(black_box(&rules), black_box(task), black_box(&outcome)));
        });
    }
    let act = completion(&second, "agent-1", "complete");
    criterion.bench_function("workflow/decide/plain", |bencher| {
        bencher.iter(|| decide(black_box(&rules), black_box(&second), black_box(&act), at(1)));
    });
}

criterion_group!(benches, loading, routing);
criterion_main!(benches);
