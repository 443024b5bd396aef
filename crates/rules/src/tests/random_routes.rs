//! Random routes, random decisions: every valid workflow keeps its guarantees, and every task ends or stops at a bound.

use proptest::prelude::*;

use crate::tests::world::*;
use crate::{
    Act, Decision as Decided, Rules, StateChange, Workplace, decide, explain, passes_by_itself,
    preview, unanswered,
};
use aof_domain::*;

/// The parts of a gate: its kind, its routes (word, target), whether it may reject, its bound, and the consequence beyond that.
type Shape = (u8, Vec<(usize, usize)>, bool, Option<u32>, u8);

const WORDS: [&str; 5] = ["yes", "no", "later", "complete", "needs_review"];
const ROLES: [&str; 3] = ["backend", "architect", "qa"];

fn target(number: usize, gates: usize) -> Target {
    match number {
        0 => Target::Next,
        1 => Target::Origin,
        2 => Target::Previous,
        3 => Target::End,
        4 => Target::Fail,
        5 => Target::Hold,
        6 => Target::Cancelled,
        other => Target::Gate(id(&format!("g{}", other % gates))),
    }
}

fn build(index: usize, gates: usize, (kind, routes, rejects, retries, then): Shape) -> Gate {
    let mut gate = gate(&format!("g{index}"), ROLES[index % ROLES.len()]);
    for (word, to) in routes {
        let outcome: Outcome = id(WORDS[word]);
        if gate.exits.route(&outcome).is_none() {
            gate.exits.routes.push((outcome, Route::to(target(to, gates))));
        }
    }
    gate.exits.max_retries = retries;
    gate.exits.on_exhausted = match then {
        0 => Exhausted::Escalate(id("qa")),
        1 => Exhausted::Route(Target::Fail),
        2 => Exhausted::Route(target(7 + index, gates)),
        _ => Exhausted::Block,
    };
    gate.detour = kind == 1 && index > 0;
    if kind == 2 {
        gate.kind = GateKind::Condition;
        gate.when = Some("gateHistory.length % 3 === 1".into());
        let way = |at: usize, word: &str| {
            let to = gate.exits.routes.get(at).map_or(Target::Next, |(_, route)| route.to.clone());
            (id::<Outcome>(word), Route::to(to))
        };
        gate.exits.routes = vec![way(0, "true"), way(1, "false")];
    } else {
        gate = with(gate, |duty| duty.can_reject = rejects && index > 0);
    }
    gate
}

fn workflows() -> impl Strategy<Value = Workflow> {
    let routes = prop::collection::vec((0..WORDS.len(), 0..16_usize), 0..4);
    let shape = (0..6_u8, routes, any::<bool>(), prop::option::weighted(0.4, 0..4_u32), 0..8_u8);
    prop::collection::vec(shape, 1..7).prop_map(|shapes| {
        let count = shapes.len();
        workflow(
            shapes
                .into_iter()
                .enumerate()
                .map(|(index, shape)| build(index, count, shape))
                .collect(),
        )
    })
}

/// Returns the workflow without the parts that the checks report as errors; `None` if more would be needed.
pub(crate) fn valid_with(mut workflow: Workflow, org: &Org) -> Option<Rules> {
    for _ in 0..40 {
        let findings = match Rules::new(project(workflow.clone()), org.clone()) {
            Ok((rules, _)) => return Some(rules),
            Err(findings) => findings,
        };
        let finding = findings.into_iter().find(|finding| finding.severity == Severity::Error)?;
        match (finding.code, finding.at) {
            ("dead_field", ConfigPlace::Gate { gate, field: "maxRetries", .. }) => {
                workflow.gates[gate].exits.max_retries = None;
            }
            ("dead_field", ConfigPlace::Gate { gate, .. }) => {
                workflow.gates[gate].exits.on_exhausted = Exhausted::Block;
            }
            (_, ConfigPlace::Route { gate, outcome, .. }) => {
                workflow.gates[gate].exits.routes.retain(|(other, _)| *other != outcome);
            }
            ("no_way_out" | "automatic_circle", ConfigPlace::Gate { gate, .. }) => {
                let routes = &mut workflow.gates[gate].exits.routes;
                match routes.first_mut() {
                    Some((_, route)) => route.to = Target::End,
                    None => routes.push((Outcome::Complete, Route::to(Target::End))),
                }
            }
            _ => return None,
        }
    }
    None
}

/// Returns whether the passage is legal, computed without the engine's routing: exactly the backward routes are counted. A passage
/// that is not counted goes on, stays, leaves a detour, or answers a rejection.
fn legal(workflow: &Workflow, before: &[Visit], visit: &Visit) -> bool {
    let (index, gate) = workflow.gate(&visit.gate).unwrap();
    let Some(Destination::Gate(to)) = &visit.to else { return true };
    let (place, entered) = workflow.gate(to).unwrap();
    let Ending::Completed(outcome) = &visit.outcome else { return false };
    let back = place <= index || entered.detour || gate.detour;
    let written = gate.exits.route(outcome).is_some() || *outcome == Outcome::NeedsReview;
    let held = *to == visit.gate;
    let answers = unanswered(before).iter().any(|visit| visit.gate == *to);
    let elsewhere = matches!(gate.exits.on_exhausted, Exhausted::Route(_));
    if *outcome == Outcome::NeedsReview && !back && !elsewhere {
        return false;
    }
    match visit.retry {
        Some(_) => back && written,
        None => !back || held || answers || (gate.detour && !written),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, max_global_rejects: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn every_task_ends_or_stops_at_a_bound(flow in workflows(), picks in prop::collection::vec(any::<u8>(), 64), stubborn in any::<bool>()) {
        let Some(rules) = valid_with(flow, &org()) else { return Err(TestCaseError::reject("not valid")) };
        let workflow = rules.project.workflows[0].clone();
        let mut task = opened(&rules, &[]);
        let first = task.clone();
        let mut steps = 0;
        while task.status == Status::Ready {
            steps += 1;
            prop_assert!(steps < 5_000, "a task went on for ever: {:#?}", workflow);
            let act = if passes_by_itself(&rules, &task) {
                Act::Pass
            } else {
                let workplace = Workplace::of(&rules, &task).unwrap();
                let outcomes: Vec<Outcome> =
                    workplace.outcomes(&rules).into_iter().filter(|outcome| *outcome != Outcome::Blocked).collect();
                // A stubborn agent keeps a task going for ever: it always sends the task back.
                let back = |outcome: &&Outcome| preview(&rules, &task, outcome).is_some_and(|way| way.retry.is_some());
                let back = outcomes.iter().find(back).filter(|_| stubborn);
                let pick = usize::from(picks[steps % picks.len()]) + steps / picks.len();
                let agent = match workplace.role.as_str() {
                    "backend" => "agent-7",
                    "architect" => "agent-3",
                    _ => "agent-5",
                };
                let outcome = back.unwrap_or(&outcomes[pick % outcomes.len()]);
                let mut says = completion(agent, outcome.as_str());
                says.id = id(&format!("c{steps}"));
                Act::Complete(says)
            };
            let decided = decide(&rules, &task, &act, at(i64::try_from(steps).unwrap()));
            let Ok(Decided::Step(step)) = decided else { panic!("{act:?} was refused: {decided:?}") };
            prop_assert!(matches!(explain(&rules, Some(&task), &step.task), StateChange::Act(_)));
            prop_assert_eq!(step.task.history.len(), task.history.len() + 1);
            let open = unanswered(&step.task.history);
            prop_assert!(step.task.status != Status::Complete || open.is_empty(), "a rejection is left unanswered");
            prop_assert!(legal(&workflow, &task.history, step.task.history.last().unwrap()), "{:#?}", step.task.history);
            task = step.task;
        }
        let mut folded = first;
        for visit in task.history.clone() {
            crate::transition::fold::apply(&rules, &mut folded, visit);
        }
        prop_assert_eq!(&folded.gate, &task.gate);
        prop_assert_eq!(&folded.review, &task.review);
        prop_assert_eq!(folded.status.is_finished(), task.status.is_finished());
    }
}
