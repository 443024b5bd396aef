//! Random forks, random voices: each join is decided once, by the votes, and every task ends or stops at a bound.

use proptest::prelude::*;

use super::property::lost;
use crate::tests::world::*;
use crate::{
    Act, Actor, Decision as Decided, Rules, StateChange, Workplace, decide, explain,
    passes_by_itself, unanswered,
};
use aof_domain::*;

const ROLES: [&str; 4] = ["backend", "architect", "qa", "security"];

fn agent_of(role: &str) -> &'static str {
    match role {
        "backend" => "agent-7",
        "architect" => "agent-3",
        _ => "agent-5",
    }
}

/// A branch: role, whether it rejects and skips, its condition, whether it has its own decisions.
type Shape = (usize, bool, bool, u8, bool);

fn branches(shapes: Vec<Shape>, prefix: &str) -> Vec<Branch> {
    let shapes = shapes.into_iter().enumerate();
    let branch = |(index, (role, reject, skip, when, decides)): (usize, Shape)| {
        let mut gate = with(gate(&format!("{prefix}{index}"), ROLES[role]), |duty| {
            duty.can_reject = reject;
            duty.can_skip = skip;
            duty.timeout = (role != 1 && !skip).then(|| id("5m"));
            duty.escalate_to = (role != 1 && !skip && reject).then(|| id("architect"));
            duty.lease = Some(id("3m"));
        });
        if decides {
            gate = routed(gate, &[("fine", "$next"), ("ugly", "$previous"), ("later", "$hold")]);
        }
        gate.when = match when {
            0 => Some("tags.includes('x')".into()),
            1 => Some("gateHistory.length % 2 === 0".into()),
            2 => Some("metadata.a.b".into()),
            _ => None,
        };
        Branch::new(gate).unwrap()
    };
    shapes.map(branch).collect()
}

pub(crate) fn workflows() -> impl Strategy<Value = Workflow> {
    let shape = || (0..4_usize, any::<bool>(), any::<bool>(), 0..8_u8, prop::bool::weighted(0.2));
    let list = || (prop::collection::vec(shape(), 2..5), 0..3_usize);
    (list(), list(), 0..3_usize, 0..3_u8, any::<bool>()).prop_map(
        |((one, first), (two, second), strategy, bound, hold)| {
            let mut forks = [
                fork("f", JoinStrategy::ALL[first], branches(one, "a")),
                fork("g", JoinStrategy::ALL[second], branches(two, "b")),
            ];
            let rejection = RejectionStrategy::ALL[strategy];
            for gate in forks.iter_mut().filter(|gate| gate.can_reject()) {
                gate.exits.reject_to = (rejection == RejectionStrategy::Named).then(|| id("work"));
                gate.exits.max_retries = (bound > 0).then_some(u32::from(bound));
            }
            let [f, g] = forks;
            let gates = vec![
                gate("work", "backend"),
                f,
                gate("between", "architect"),
                g,
                gate("done", "qa"),
            ];
            Workflow { rejection, holds_rejections: hold && bound == 0, ..workflow(gates) }
        },
    )
}

/// Returns the result of the votes, computed without the engine: `None` while it is undecided.
fn counted(join: JoinStrategy, votes: &[Option<Verdict>], waited_for: usize) -> Option<Join> {
    let is = |verdict: Verdict| votes.iter().filter(|vote| **vote == Some(verdict)).count();
    let voters = votes.len() - is(Verdict::Skip);
    let (passed, rejected) = (is(Verdict::Pass), is(Verdict::Reject));
    let enough = |passed: usize| match join {
        JoinStrategy::All => passed == voters,
        JoinStrategy::Any => passed > 0 || voters == 0,
        JoinStrategy::Majority => 2 * passed > voters || voters == 0,
    };
    if enough(passed) {
        Some(Join::Passed)
    } else if waited_for == 0 && !enough(voters - rejected) {
        Some(Join::Failed)
    } else {
        None
    }
}

/// Checks an entry of a branch against the task before it.
fn check_vote(rules: &Rules, before: &Task, entry: &Visit) -> Result<(), TestCaseError> {
    let open = before.gate.as_ref().unwrap();
    let (_, gate) = rules.project.workflows[0].gate(&entry.gate).unwrap();
    let voted = |branch: &GateId| {
        let spoken = before.history[open.visit..].iter().chain([entry]).rev();
        spoken.filter(|visit| visit.branch.as_ref() == Some(branch)).find_map(|visit| visit.verdict)
    };
    let mut waited_for = 0;
    let mut votes = Vec::new();
    for branch in &open.branches {
        let vote = voted(&branch.id);
        if branch.status == BranchStatus::Skipped && vote.is_none() {
            continue;
        }
        let unblocked =
            branch.status != BranchStatus::Blocked && entry.branch.as_ref() != Some(&branch.id);
        if vote.is_none() || (vote == Some(Verdict::Hold) && unblocked) {
            waited_for += usize::from(branch.status != BranchStatus::Blocked);
        }
        votes.push(vote);
    }
    prop_assert_eq!(
        entry.join,
        counted(gate.fork().unwrap().join, &votes, waited_for),
        "{:?} {:?}",
        votes,
        entry
    );
    prop_assert_eq!(entry.to.is_some(), entry.join.is_some());
    Ok(())
}

fn check_step(rules: &Rules, before: &Task, after: &Task) -> Result<(), TestCaseError> {
    prop_assert!(after.history.starts_with(&before.history));
    prop_assert!(after.history.len() <= before.history.len() + 1);
    prop_assert!(
        matches!(explain(rules, Some(before), after), StateChange::Act(_)),
        "{:#?}\n{:#?}",
        before,
        after
    );
    prop_assert!(after.status != Status::Complete || unanswered(&after.history).is_empty());
    if after.history.len() > before.history.len() {
        let entry = after.history.last().unwrap();
        let timed_out = entry.branch.as_ref().filter(|_| entry.outcome == Ending::Timeout);
        if let Some(branch) = timed_out {
            prop_assert!(
                entry.to.is_none() && entry.verdict.is_none() && entry.escalated_to.is_some()
            );
            let part = after.gate.as_ref().unwrap().branch(branch).unwrap();
            prop_assert_eq!(Some(&part.role), entry.escalated_to.as_ref());
        } else if entry.branch.is_some() {
            check_vote(rules, before, entry)?;
        }
        let number = |task: &Task| task.gate.as_ref().map(|open| open.visit);
        if entry.leaves_open() {
            prop_assert_eq!(
                number(before),
                number(after),
                "the number stays while branches are open"
            );
        } else if after.gate.is_some() {
            prop_assert_eq!(number(after), Some(after.history.len()));
        }
    }
    Ok(())
}

fn check_fold(rules: &Rules, first: &Task, task: &Task) -> Result<(), TestCaseError> {
    let mut folded = first.clone();
    for visit in task.history.clone() {
        crate::transition::fold::apply(rules, &mut folded, visit);
    }
    let plain = |task: &Task| {
        let open = task.gate.clone();
        let status = |branch: &OpenBranch| (branch.id.clone(), branch.status.is_open());
        open.map(|open| {
            (open.current, open.visit, open.branches.iter().map(status).collect::<Vec<_>>())
        })
    };
    prop_assert_eq!(plain(&folded), plain(task));
    prop_assert_eq!(&folded.review, &task.review);
    prop_assert_eq!(&folded.context, &task.context);
    prop_assert_eq!(&folded.routing.role, &task.routing.role);
    prop_assert_eq!(folded.status.is_finished(), task.status.is_finished());
    Ok(())
}

/// Returns an act that is possible now, picked by the number; `None` if there is none.
fn voice(rules: &Rules, task: &Task, pick: usize, stubborn: bool, number: usize) -> Option<Act> {
    if passes_by_itself(rules, task) {
        return Some(Act::Pass);
    }
    let mut voices = Vec::new();
    for workplace in Workplace::open(rules, task)
        .into_iter()
        .filter(|workplace| workplace.role.as_str() != "security")
    {
        let blocked = |branch| {
            task.gate
                .as_ref()
                .and_then(|open| open.branch(branch))
                .is_some_and(|part| part.status == BranchStatus::Blocked)
        };
        if workplace.branch().is_some_and(blocked) {
            continue;
        }
        for outcome in workplace.outcomes(rules) {
            let rejects = matches!(outcome.as_str(), "needs_review" | "ugly");
            voices.push((
                workplace.branch().cloned(),
                agent_of(workplace.role.as_str()),
                outcome,
                rejects,
            ));
        }
    }
    // A stubborn agent rejects whenever it can, which keeps a task open for ever.
    if stubborn && voices.iter().any(|(_, _, _, rejects)| *rejects) {
        voices.retain(|(_, _, _, rejects)| *rejects);
    }
    voices
        .retain(|(_, _, outcome, _)| !stubborn || !matches!(outcome.as_str(), "blocked" | "later"));
    let (branch, agent, outcome, _) = voices.get(pick % voices.len().max(1))?;
    let mut says = completion(agent, outcome.as_str());
    says.ticket = task.ticket_of(branch.as_ref());
    says.id = id(&format!("c{number}"));
    Some(Act::Complete(says))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_fork_joins_once_and_every_task_ends_or_stops(
        flow in workflows(),
        picks in prop::collection::vec(any::<u8>(), 64),
        tagged in any::<bool>(),
        stubborn in any::<bool>(),
    ) {
        let rules = rules(flow);
        let mut task = opened(&rules, if tagged { &["x"] } else { &[] });
        let first = task.clone();
        let mut steps = 0;
        while task.status == Status::Ready {
            steps += 1;
            prop_assert!(steps < 2_000, "a task went on for ever: {:#?}", rules.project.workflows[0]);
            let pick = usize::from(picks[steps % picks.len()]) + steps / picks.len();
            let Some(act) = voice(&rules, &task, pick, stubborn, steps) else {
                return Err(TestCaseError::fail(format!("a ready task with nobody to speak: {task:#?}")));
            };
            let decided = decide(&rules, &task, &act, at(i64::try_from(steps).unwrap()));
            let Ok(Decided::Step(step)) = decided else { panic!("{act:?} was refused: {decided:?}\n{task:#?}") };
            check_step(&rules, &task, &step.task)?;
            // The same completion at the same branch again is a conflict, or settled if it has the same id.
            if let Act::Complete(completion) = &act {
                let twice = decide(&rules, &step.task, &act, at(9_999));
                prop_assert!(matches!(twice, Ok(Decided::Settled { .. })), "delivered again");
                let mut other = completion.clone();
                other.id = id("other");
                let holds = matches!(step.task.history.last().and_then(|visit| visit.verdict), Some(Verdict::Hold));
                if completion.ticket.branch.is_some() && !holds {
                    let code = decide(&rules, &step.task, &Act::Complete(other), at(9_999)).map_err(|refusal| refusal.code());
                    prop_assert!(matches!(code, Err("visit_ended" | "task_finished")), "{:?}", code);
                }
            }
            task = step.task;
        }
        check_fold(&rules, &first, &task)?;
    }

    #[test]
    fn every_act_at_a_fork_is_legal_or_refused(
        flow in workflows(),
        acts in prop::collection::vec((0..18_u8, 0..4_usize, 0..6_usize, 0..4_usize), 0..60),
    ) {
        let rules = rules(flow);
        let mut task = opened(&rules, &["x"]);
        task.depends_on = vec![id("AOF-one"), id("AOF-two")];
        let first = task.clone();
        for (number, (kind, role, word, place)) in acts.into_iter().enumerate() {
            let agent = agent_of(ROLES[role]);
            let person = Actor::Person(None);
            let branch = task.gate.as_ref().and_then(|open| open.branches.get(place)).map(|branch| branch.id.clone());
            let to = || id(["work", "f", "between", "g"][place]);
            let act = match kind {
                0 | 1 => Act::Claim { agent: id(agent), branch },
                2 => Act::Release { by: person, branch },
                3 => Act::Unblock { by: person, branch, reason: Some("settled".into()) },
                4 if word == 0 => Act::Override { by: person, to: to(), reason: "moved".into() },
                5 if word == 0 => Act::Cancel { by: person, reason: "off".into() },
                6 => Act::Reopen { by: person, to: to(), reason: "again".into() },
                7 => Act::Pass,
                12 => Act::Timeout { branch },
                13 => Act::Lapse { branch },
                14 => Act::Renew { agent: id(agent), branch, note: None },
                15 => Act::Assign { by: person, agent: id(agent), branch },
                17 => Act::Depend { lost: lost(word) },
                16 if word < 2 => Act::Hold { by: person, reason: "wait".into() },
                _ => {
                    let words = ["complete", "needs_review", "blocked", "skip", "fine", "ugly"];
                    let mut says = completion(agent, words[word]);
                    says.ticket = if kind == 8 { says.ticket } else { task.ticket_of(branch.as_ref()) };
                    says.id = id(&format!("c{number}"));
                    Act::Complete(says)
                }
            };
            let now = at(i64::try_from(number).unwrap());
            let decided = decide(&rules, &task, &act, now);
            prop_assert_eq!(&decided, &decide(&rules, &task, &act, now));
            let Ok(Decided::Step(step)) = decided else { continue };
            check_step(&rules, &task, &step.task)?;
            task = step.task;
        }
        check_fold(&rules, &first, &task)?;
    }
}
