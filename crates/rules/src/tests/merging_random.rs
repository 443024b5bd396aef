//! Any two histories with a common beginning merge to a legal one, whatever their entries.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{property, random_forks};
use crate::replay::merge::{Merged, Side, merge, sides};
use crate::tests::world::*;
use crate::{Act, Actor, Decision, Proof, Rules, decide, passes_by_itself, prove};
use aof_domain::*;

const AGENTS: [&str; 4] = ["agent-7", "agent-8", "agent-3", "agent-5"];

/// A random act: kind, agent, word, place.
type Pick = (u8, usize, usize, usize);

fn picks() -> impl Strategy<Value = Vec<Pick>> {
    prop::collection::vec((0..12_u8, 0..AGENTS.len(), 0..6_usize, 0..4_usize), 0..14)
}

/// Carries out the possible acts, each completion with an id that begins with the prefix.
fn go_on(rules: &Rules, from: &Task, picks: &[Pick], prefix: &str, start: i64) -> Task {
    let mut task = from.clone();
    for (number, (kind, agent, word, place)) in picks.iter().copied().enumerate() {
        let agent = id(AGENTS[agent]);
        let person = Actor::Person(None);
        let branch = task
            .gate
            .as_ref()
            .and_then(|open| open.branches.get(place))
            .map(|branch| branch.id.clone());
        let to = || task.gate.as_ref().map_or_else(|| id("g0"), |open| open.current.clone());
        let act = match kind {
            _ if passes_by_itself(rules, &task) => Act::Pass,
            0 => Act::Claim { agent, branch },
            1 => Act::Release { by: person, branch },
            2 => Act::Unblock { by: person, branch, reason: Some("settled".into()) },
            3 if word == 0 => Act::Cancel { by: person, reason: "off".into() },
            4 if word < 2 => Act::Override { by: person, to: to(), reason: "moved".into() },
            5 if word == 0 => Act::Hold { by: person, reason: "wait".into() },
            6 => Act::Timeout { branch },
            _ => {
                let words = ["complete", "complete", "needs_review", "blocked", "skip", "fine"];
                let mut says = completion(agent.as_str(), words[word]);
                says.ticket = task.ticket_of(branch.as_ref());
                says.id = id(&format!("{prefix}{number}"));
                Act::Complete(says)
            }
        };
        if let Ok(Decision::Step(step)) =
            decide(rules, &task, &act, at(start + i64::try_from(number).unwrap()))
        {
            task = step.task;
        }
    }
    task
}

fn check(rules: &Rules, base: &Task, ours: &Task, theirs: &Task) -> Result<Merged, TestCaseError> {
    let sides = sides(Some(base), ours, theirs).unwrap();
    let both = merge(rules, &sides, ours);
    let (standing, other) = match sides.stands() {
        Side::Ours => (ours, theirs),
        Side::Theirs => (theirs, ours),
    };
    let task = &both.task;
    prop_assert!(task.history.starts_with(&standing.history), "what stands stays as it is");
    prop_assert_eq!(task.history.len(), standing.history.len() + both.redone);
    let proof = prove(rules, Some(standing), task);
    prop_assert!(!matches!(proof, Proof::Breach(_)), "{:?}\n{:#?}\n{:#?}", proof, standing, task);
    prop_assert_eq!(matches!(proof, Proof::Kept), both.redone == 0);
    let ids: Vec<&CompletionId> =
        task.history.iter().filter_map(|visit| Some(&visit.completion.as_ref()?.id)).collect();
    prop_assert_eq!(
        ids.iter().collect::<BTreeSet<_>>().len(),
        ids.len(),
        "no completion counts twice"
    );
    // Every entry of the other side is kept, or reported as superseded.
    let new = other.history[base.history.len()..].iter();
    for entry in new {
        let is_there = |other: &Visit| {
            other == entry || other.completion.is_some() && other.completion == entry.completion
        };
        let is_superseded = both.superseded.iter().any(|other| other.visit == *entry);
        prop_assert!(task.history.iter().any(is_there) != is_superseded, "{:#?}", entry);
    }
    Ok(both)
}

fn check_all(rules: &Rules, base: &Task, ours: &Task, theirs: &Task) -> Result<(), TestCaseError> {
    let one = check(rules, base, ours, theirs)?;
    let two = check(rules, base, theirs, ours)?;
    // Without a conflict, the result is the same in both directions.
    let (new_ours, new_theirs) =
        (ours.history.len() > base.history.len(), theirs.history.len() > base.history.len());
    if new_ours != new_theirs || *ours == *base || *theirs == *base {
        prop_assert_eq!(&one.task, &two.task);
        prop_assert!(one.superseded.is_empty() && two.superseded.is_empty());
    }
    let again = check(rules, base, &one.task, theirs)?;
    prop_assert_eq!(&again.task, &one.task, "merging again changes nothing");
    for side in [ours, theirs] {
        let known = sides(Some(side), &one.task, side).map(|sides| merge(rules, &sides, ours));
        let known = known.map_err(|why| TestCaseError::fail(why.to_string()))?;
        prop_assert_eq!(
            (&known.task, known.redone, known.superseded.len()),
            (&one.task, 0, 0),
            "it is settled"
        );
    }
    let same = merge(rules, &sides(Some(base), ours, ours).unwrap(), ours);
    prop_assert_eq!((&same.task, same.superseded.len(), same.dropped.len()), (ours, 0, 0));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn histories_of_lines_merge(flow in property::workflows(), first in picks(), one in picks(), two in picks()) {
        let rules = rules(flow);
        let base = go_on(&rules, &opened(&rules, &[]), &first, "b", 10);
        check_all(&rules, &base, &go_on(&rules, &base, &one, "o", 100), &go_on(&rules, &base, &two, "t", 105))?;
    }

    #[test]
    fn histories_of_forks_merge(flow in random_forks::workflows(), first in picks(), one in picks(), two in picks()) {
        let rules = rules(flow);
        let base = go_on(&rules, &opened(&rules, &["x"]), &first, "b", 10);
        check_all(&rules, &base, &go_on(&rules, &base, &one, "o", 100), &go_on(&rules, &base, &two, "t", 105))?;
    }

    #[test]
    fn one_completion_on_both_sides_is_one(flow in random_forks::workflows(), first in picks(), one in picks(), two in picks()) {
        let rules = rules(flow);
        let base = go_on(&rules, &opened(&rules, &["x"]), &first, "b", 10);
        check_all(&rules, &base, &go_on(&rules, &base, &one, "c", 100), &go_on(&rules, &base, &two, "c", 100))?;
    }
}
