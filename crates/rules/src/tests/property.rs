//! Random workflows, random acts: every history is legal.

use proptest::prelude::*;

use crate::tests::world::*;
use crate::{Act, Actor, Decision, Rules, StateChange, decide, explain};
use aof_domain::*;

const AGENTS: [&str; 6] = ["agent-7", "agent-8", "agent-3", "agent-5", "human-ada", "stranger"];
const WHENS: [&str; 4] = ["true", "tags.includes('x')", "gateHistory.length < 4", "metadata.a.b"];

pub(crate) fn workflows() -> impl Strategy<Value = Workflow> {
    let shape =
        (0..4_usize, any::<bool>(), any::<bool>(), prop::option::weighted(0.4, 0..WHENS.len()));
    (prop::collection::vec(shape, 1..6), 0..3_usize).prop_map(|(gates, strategy)| {
        let roles = ["backend", "architect", "qa", "po"];
        let rejection = RejectionStrategy::ALL[strategy];
        let gates = gates.into_iter().enumerate().map(|(index, (role, reject, skip, when))| {
            let can_reject = reject && index > 0;
            let mut gate = with(gate(&format!("g{index}"), roles[role]), |duty| {
                duty.can_reject = can_reject;
                duty.can_skip = skip && roles[role] != "po";
                duty.timeout = (role != 1).then(|| id("5m"));
                duty.escalate_to = (role == 2 || role == 0 && skip).then(|| id("architect"));
                duty.lease = Some(id("3m"));
            });
            gate.exits.reject_to =
                (can_reject && rejection == RejectionStrategy::Named).then(|| id("g0"));
            gate.when = when.filter(|_| index > 0).map(|when| WHENS[when].to_owned());
            gate
        });
        Workflow { rejection, ..workflow(gates.collect()) }
    })
}

pub(crate) fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = (0..19_u8, 0..AGENTS.len(), 0..5_usize, 0..4_usize).prop_map(
        |(kind, agent, outcome, gate)| {
            let agent = AGENTS[agent];
            let words = ["complete", "needs_review", "blocked", "skip", "nonsense"];
            let by = Actor::Person(None);
            let to: GateId = id(&format!("g{gate}"));
            match kind {
                0 => Act::Claim { agent: id(agent), branch: None },
                1 => Act::Release { by, branch: None },
                2 => Act::Unblock { by, branch: None, reason: Some("settled".into()) },
                3 => Act::Override { by, to, reason: "moved".into() },
                4 => Act::Reopen { by, to, reason: "again".into() },
                5 if outcome == 0 => Act::Cancel { by, reason: "off".into() },
                6 => Act::Timeout { branch: None },
                7 => Act::Lapse { branch: None },
                8 => Act::Renew { agent: id(agent), branch: None, note: None },
                9 => Act::Assign { by, agent: id(agent), branch: None },
                10 => Act::Hold { by, reason: "wait".into() },
                11 => Act::Depend { lost: lost(outcome) },
                _ => {
                    let mut says = completion(agent, words[outcome]);
                    // An agent may repeat a text that it read.
                    if gate == 0 && words[outcome] == "blocked" {
                        says.content.blockers =
                            Some(lost(3).iter().map(ToString::to_string).collect());
                    }
                    Act::Complete(says)
                }
            }
        },
    );
    prop::collection::vec(act, 0..40)
}

/// Returns some of the task's dependencies, as lost.
pub(crate) fn lost(pick: usize) -> Vec<LostDependency> {
    let of =
        |id: &str, status| LostDependency::new(crate::tests::world::id(id), status, "why").unwrap();
    let all = [of("AOF-one", Status::Failed), of("AOF-two", Status::Cancelled)];
    all.into_iter()
        .enumerate()
        .filter(|(index, _)| pick & (1 << index) != 0)
        .map(|(_, dependency)| dependency)
        .collect()
}

/// Returns whether the step from one entry to the next gate is legal, computed independently of the engine.
fn legal(rules: &Rules, visit: &Visit, next: Option<&GateId>) -> bool {
    let workflow = &rules.project.workflows[0];
    let place = |gate: &GateId| workflow.gates.iter().position(|other| other.id == *gate).unwrap();
    let from = place(&visit.gate);
    match (visit.outcome.clone(), next) {
        (Ending::Completed(Outcome::Complete | Outcome::Skip), Some(next)) => {
            let to = place(next);
            let between: Vec<&GateId> =
                workflow.gates[from + 1..to.max(from + 1)].iter().map(|gate| &gate.id).collect();
            to > from && between == visit.skipped.iter().collect::<Vec<_>>()
        }
        (Ending::Completed(Outcome::Complete | Outcome::Skip), None) => {
            visit.to == Some(Destination::End)
        }
        (Ending::Completed(Outcome::NeedsReview), Some(next)) => {
            workflow.gates[from].can_reject() && place(next) < from
        }
        (Ending::Completed(Outcome::Blocked), Some(next)) => *next == visit.gate,
        (Ending::Timeout, Some(next)) => {
            let limit = workflow.gates[from].duty().filter(|duty| duty.timeout.is_some());
            *next == visit.gate
                && visit.duration() >= 300
                && visit.escalated_to == limit.and_then(|duty| duty.escalate_to.clone())
        }
        (Ending::Override | Ending::Reopened, Some(_)) => true,
        (Ending::Cancelled, None) => visit.to.is_none(),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn histories_are_legal_and_grow_and_replay(workflow in workflows(), acts in acts(), tagged in any::<bool>()) {
        let rules = rules(workflow);
        let mut task = opened(&rules, if tagged { &["x"] } else { &[] });
        task.depends_on = vec![id("AOF-one"), id("AOF-two")];
        let first = task.clone();
        for (number, act) in acts.into_iter().enumerate() {
            let act = match act {
                Act::Complete(completion) => Act::Complete(Completion { id: id(&format!("c{number}")), ..completion }),
                other => other,
            };
            let now = at(i64::try_from(number).unwrap());
            let decision = decide(&rules, &task, &act, now);
            prop_assert_eq!(&decision, &decide(&rules, &task, &act, now), "same input, same answer");
            let Ok(Decision::Step(step)) = decision else { continue };
            let after = step.task;
            prop_assert!(after.history.starts_with(&task.history), "history only grows");
            prop_assert!(after.history.len() <= task.history.len() + 1);
            prop_assert_eq!(after.gate.is_some(), !after.status.is_finished());
            prop_assert!(!(after.status == Status::Complete && after.review.is_some()), "no rejection is left unanswered");
            if let Some(open) = &after.gate {
                prop_assert_eq!(open.visit, after.history.len());
            }
            prop_assert!(matches!(explain(&rules, Some(&task), &after), StateChange::Act(_)), "{:?}\n{:#?}\n{:#?}", act, task, after);
            if let (Act::Unblock { .. }, Some(open)) = (&act, &after.gate) {
                let marks = (open.held, open.overdue_since(), open.resumed.or(Some(open.entered)));
                prop_assert_eq!(marks, (None, None, Some(after.updated)), "whoever sets it going gives it a full term");
            }
            if let Act::Depend { lost } = &act {
                let again = decide(&rules, &after, &Act::Depend { lost: lost.clone() }, now);
                prop_assert!(matches!(again, Ok(Decision::Settled { .. })), "it is settled at once: {:#?}", after);
            }
            task = after;
        }
        for (index, visit) in task.history.iter().enumerate() {
            let next = match task.history.get(index + 1) {
                Some(next) if next.outcome == Ending::Reopened => None,
                Some(next) => Some(next.gate.clone()),
                None => task.gate.as_ref().map(|gate| gate.current.clone()),
            };
            prop_assert!(legal(&rules, visit, next.as_ref()), "{:?} -> {:?}", visit, next);
            prop_assert!(visit.exited >= visit.entered);
        }
        let mut folded = first;
        for visit in task.history.clone() {
            crate::transition::fold::apply(&rules, &mut folded, visit);
        }
        // The history does not contain the start of limits, nor claims.
        let mut stands = task.gate.clone();
        if let Some(open) = &mut stands {
            (open.resumed, open.overdue, open.held) = (None, None, None);
            open.answer = None;
        }
        prop_assert_eq!(&folded.gate, &stands, "folding the history gives the state");
        prop_assert_eq!(&folded.routing.role, &task.routing.role);
        prop_assert_eq!(&folded.review, &task.review);
        prop_assert_eq!(&folded.context, &task.context);
        prop_assert_eq!(folded.status.is_finished(), task.status.is_finished());
    }
}
