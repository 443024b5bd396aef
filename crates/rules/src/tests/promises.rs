//! Promises: what is proved of them, and that no walk of the engine breaks one that was proved.

use super::proving::{Random, all_acts, drawn, random_rules, random_task, shown, sound, tried};
use super::world::project;
use crate::prover::cases::Cases;
use crate::prover::explore::StateGraph;
use crate::prover::projection::Model;
use crate::prover::{MOST_STATES, PromiseReport, ProofVerdict, StoryAct, prove_workflow};
use crate::routing::conditions::ConditionScope;
use crate::{Finding, Rules};
use aof_domain::*;

fn promise(always: &str) -> Promise {
    Promise { name: "it".to_owned(), always: always.to_owned(), workflow: None }
}

/// Returns the rules of the sound workflow of the prover's tests, with that promise.
fn rules_with(always: &str) -> Result<Rules, Vec<Finding>> {
    let (flow, org) = sound();
    let project = Project { promises: vec![promise(always)], ..project(flow) };
    Rules::new(project, org).map(|(rules, _)| rules)
}

fn judged(always: &str) -> PromiseReport {
    let rules = rules_with(always).unwrap();
    let mut report = prove_workflow(&rules, &rules.project.workflows[0], MOST_STATES);
    assert_eq!(report.is_refuted(), report.promises[0].verdict == ProofVerdict::Refuted);
    report.promises.pop().unwrap()
}

fn told(story: &[StoryAct]) -> String {
    story.iter().map(|act| act.text.clone() + "\n").collect()
}

#[test]
fn promises_are_proved_or_refuted() {
    let table = [
        ("!ended || passed('accept')", ProofVerdict::Proved),
        ("!ended || passed('check')", ProofVerdict::Refuted),
        ("!ended || passed('check') || tags.includes('small')", ProofVerdict::Proved),
        ("!ended || passed('check/style') || tags.includes('small')", ProofVerdict::Proved),
        ("!ended || human('accept')", ProofVerdict::Proved),
        ("!ended || human('work')", ProofVerdict::Refuted),
        ("!ended || before('work', 'accept')", ProofVerdict::Proved),
        ("!ended || before('accept', 'work')", ProofVerdict::Refuted),
        ("!ended || passedBy('accept') !== passedBy('work')", ProofVerdict::Proved),
        ("!ended || passedBy('check/style') !== passedBy('check/safety')", ProofVerdict::Refuted),
        ("!ended || passedBy('work') === 'agent-1'", ProofVerdict::Refuted),
        (
            "!passed('work') || ['agent-1', 'agent-2'].includes(passedBy('work'))",
            ProofVerdict::Proved,
        ),
        ("count('accept', 'complete') <= 1", ProofVerdict::Proved),
        ("count('accept', 'needs_review') < 3", ProofVerdict::Refuted),
        ("count('accept', 'blocked') === 0", ProofVerdict::Refuted),
        (
            "!ended || passed('accept') && (priority !== 'high' || human('accept'))",
            ProofVerdict::Proved,
        ),
        // What the prover cannot tell apart is never proved.
        ("!ended || gateHistory.length < 9 || passed('accept')", ProofVerdict::Unknown),
    ];
    for (always, verdict) in table {
        let report = judged(always);
        assert_eq!(report.verdict, verdict, "{always}: {report:#?}");
        assert_eq!(report.story.is_empty(), verdict != ProofVerdict::Refuted, "{always}");
    }
}

#[test]
fn a_broken_promise_has_the_shortest_story() {
    let story = judged("!ended || passed('check') || !tags.includes('small')").story;
    insta::assert_snapshot!(told(&story), @"
    A task with tags `small` begins: the task is at `work`
    `agent-1` says `complete` at `work`: the task is at `sort`
    `sort` decides by itself: the task is at `accept`
    `human-ada` says `complete` at `accept`: the task is complete
    ");
    let story = judged("count('accept', 'needs_review') < 2").story;
    insta::assert_snapshot!(told(&story), @"
    A task with tags `small` begins: the task is at `work`
    `agent-1` says `complete` at `work`: the task is at `sort`
    `sort` decides by itself: the task is at `accept`
    `human-ada` says `needs_review` at `accept`: the task goes back to `work`
    `agent-1` says `complete` at `work`: the task is at `sort`
    `sort` decides by itself: the task is at `accept`
    `human-ada` says `needs_review` at `accept`: the task goes back to `work`
    ");
}

#[test]
fn a_promise_that_cannot_be_evaluated_is_broken_and_says_why() {
    let report = judged("metadata.a.b === 1 || true");
    let message = report.alarm().unwrap().message;
    insta::assert_snapshot!(message, @"promise `it` is broken: it cannot be evaluated: Cannot read property 'b' of undefined");
}

#[test]
fn faults_in_promises_say_where_and_how_to_mend_them() {
    let faults = |always: &str| {
        let found = rules_with(always).unwrap_err();
        let line = |one: Finding| {
            let range = one.range.unwrap_or_default();
            let (code, at) = (one.code, &always[range]);
            format!("{code} at `{at}`: {}; {}\n", one.message, one.help.unwrap_or_default())
        };
        found.into_iter().map(line).collect::<String>()
    };
    let sources = [
        "!ended ||",
        "passed('acept')",
        "passed(tags)",
        "before('work')",
        "count('accept', 'aproved')",
        "passd('accept')",
        "passed('check/stile')",
        "done || passed('accept')",
    ];
    insta::assert_snapshot!(sources.map(faults).concat(), @"
    invalid_promise at ``: this is not a JavaScript expression: it ends too early; write one expression, such as `tags.includes('api')`, without statements or `;`
    invalid_promise at `'acept'`: workflow `default` has no gate `acept`; did you mean `accept`?
    invalid_promise at `passed(tags)`: `passed` takes names between quotes; for example `passed('review')`
    invalid_promise at `before('work')`: `before` takes names between quotes; for example `before('work', 'review')`
    invalid_promise at `'aproved'`: gate `accept` has no outcome `aproved`; name one of `complete`, `needs_review`, `blocked`, `skip`, `failed`
    invalid_promise at `passd`: there is no function `passd`; promises can call `passed`, `passedBy`, `human`, `before`, `count`
    invalid_promise at `'check/stile'`: workflow `default` has no gate `check/stile`; did you mean `check/style`?
    invalid_promise at `done`: `done` is not defined; a condition can read `tags`, `metadata`, `gateHistory`, `priority`, `due`, `notBefore`, `milestone`, `assignee`, `ended`
    ");
}

/// `AOF_WALK` is the number of steps, `AOF_SEED` the first seed.
#[test]
fn random_walks_never_break_what_was_proved() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (steps, mut seed) = (number("AOF_WALK").unwrap_or(400), number("AOF_SEED").unwrap_or(0));
    let (mut walked, mut verdicts) = (0, [0, 0]);
    while walked < steps {
        seed += 1;
        let Some(mut rules) = random_rules(seed) else { continue };
        let mut random = Random(seed * 31);
        let parts: Vec<(Station, &Gate)> = rules.project.workflows[0].parts().collect();
        let names = |is_worked: bool| -> Vec<String> {
            let all = parts.iter().filter(|(_, part)| !is_worked || part.duty().is_some());
            all.map(|(station, _)| station.to_string()).collect()
        };
        let (all, worked) = (names(false), names(true));
        if worked.is_empty() {
            continue;
        }
        let (one, two) = (&all[random.below(all.len())], &all[random.below(all.len())]);
        let (by, other) =
            (&worked[random.below(worked.len())], &worked[random.below(worked.len())]);
        let always = match random.below(7) {
            0 => format!("!ended || passed('{one}') || tags.includes('z')"),
            1 => format!("!ended || passedBy('{by}') !== passedBy('{other}')"),
            2 => format!("count('{one}', 'needs_review') < {}", random.below(4)),
            3 => format!("!passed('{one}') || passed('{two}') || metadata.size > 2"),
            4 => format!("!human('{by}') || passedBy('{by}') === 'human-ada'"),
            5 => format!("!ended || !passed('{one}') || before('{one}', '{two}')"),
            _ => format!("passedBy('{by}') !== 'agent-1' || count('{two}', 'complete') < 2"),
        };
        rules.project.promises = vec![promise(&always)];
        let (project, org) = (rules.project.clone(), rules.org.clone());
        let rules = Rules::new(project, org).unwrap().0;
        let flow = &rules.project.workflows[0];
        let promise = &rules.conditions.promises[0];
        let report = PromiseReport::of(&rules, flow, promise, 500);
        if report.why.as_ref().is_some_and(|why| why.contains("states")) {
            continue;
        }
        verdicts[usize::from(report.verdict == ProofVerdict::Proved)] += 1;
        let model = Model::new(&rules, flow, Some(promise));
        let cases = Cases::of(&model, promise.facts.as_deref().unwrap());
        let graph = StateGraph::explore(&model, &cases, 500);
        for _ in 0..3 {
            let mut task = random_task(&mut random);
            let mut seen = promise.begin();
            for number in 0..40 {
                let mut acts = all_acts(&rules, &task, number);
                let mut next = None;
                while next.is_none() && !acts.is_empty() {
                    let act = acts.swap_remove(random.below(acts.len()));
                    next = tried(&rules, &task, &act);
                }
                let Some(after) = next else { break };
                seen = model.seen(&seen, (&task, &after));
                let known = graph.is_whole()
                    && (0..cases.all.len())
                        .any(|case| graph.index.contains_key(&model.key(case, &after, &seen)));
                let story = || {
                    let (flow, task) = (drawn(&rules), shown(&after));
                    format!("seed {seed}: {always}\n{flow}{seen:?}\n{task}")
                };
                assert!(known || !graph.is_whole(), "{}", story());
                let scope = ConditionScope::new(&after, &[]);
                let holds = promise.holds(&seen, after.status == Status::Complete, &scope.names())
                    == Ok(true);
                assert!(holds || report.verdict != ProofVerdict::Proved, "{}", story());
                walked += 1;
                task = after;
                if task.status.is_finished() {
                    break;
                }
            }
        }
    }
    assert!(steps < 300 || verdicts.iter().all(|count| *count > 0), "{verdicts:?}");
}
