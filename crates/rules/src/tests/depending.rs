//! Tasks that depend on others: blocked by lost dependencies, and circles.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::tests::world::*;
use crate::{
    Act, Actor, Decision, Refusal, Rules, StateChange, circle_of, circles, decide, explain,
    lost_dependencies,
};
use aof_domain::*;

fn lost(names: &[&str]) -> Vec<LostDependency> {
    names
        .iter()
        .map(|name| LostDependency::new(id(name), Status::Failed, "no way").unwrap())
        .collect()
}

fn depend(rules: &Rules, task: &Task, names: &[&str]) -> Decision {
    decide(rules, task, &Act::Depend { lost: lost(names) }, at(5)).unwrap()
}

/// Makes the task wait for these, and expects that replay finds the act from the states alone.
fn after(rules: &Rules, task: &Task, names: &[&str]) -> Task {
    let Decision::Step(step) = depend(rules, task, names) else { panic!("{names:?} is no news") };
    let StateChange::Act(found) = explain(rules, Some(task), &step.task) else {
        panic!("it cannot be explained: {:?}", step.task)
    };
    assert_eq!(found.states.last(), Some(&step.task));
    step.task
}

fn dependent(rules: &Rules) -> Task {
    Task { depends_on: vec![id("AOF-one"), id("AOF-two")], ..opened(rules, &[]) }
}

#[test]
fn a_task_is_blocked_while_anything_that_it_depends_on_is_lost() {
    let rules = rules(sdlc());
    let task = dependent(&rules);
    let one = after(&rules, &task, &["AOF-one"]);
    assert_eq!(one.blockers, ["Depends on AOF-one, which has failed: no way"]);
    assert_eq!((one.status, one.history.len()), (Status::Blocked, 0));
    assert!(matches!(depend(&rules, &one, &["AOF-one"]), Decision::Settled { .. }), "it is known");
    assert!(
        matches!(depend(&rules, &one, &["AOF-one", "AOF-xxx"]), Decision::Settled { .. }),
        "that one is not waited for"
    );
    let both = after(&rules, &one, &["AOF-one", "AOF-two"]);
    assert_eq!(lost_dependencies(&both), lost(&["AOF-one", "AOF-two"]));
    let two = after(&rules, &both, &["AOF-two"]);
    let free = after(&rules, &two, &[]);
    assert_eq!((free.status, free.blockers.len()), (Status::Ready, 0));
    assert_eq!(free.gate.unwrap().resumed, Some(at(5)), "time limits count anew");
}

#[test]
fn other_reasons_stay_and_a_lost_dependency_cannot_be_unblocked() {
    let rules = rules(sdlc());
    let person = Actor::Person(None);
    let task = dependent(&rules);
    let blocked = after(&rules, &task, &["AOF-one"]);
    let unblock = Act::Unblock { by: person.clone(), branch: None, reason: None };
    assert!(matches!(decide(&rules, &blocked, &unblock, at(6)), Err(Refusal::Blocked { .. })));
    let hold = Act::Hold { by: person, reason: "wait for the audit".into() };
    let held = step(&rules, &blocked, &hold, 7).unwrap().task;
    let free = after(&rules, &held, &[]);
    assert_eq!(
        (free.status, &free.blockers[..]),
        (Status::Blocked, &["wait for the audit".into()][..])
    );
    let again = after(&rules, &free, &["AOF-two"]);
    let unheld = step(&rules, &again, &unblock, 8).unwrap().task;
    assert_eq!(
        (unheld.status, unheld.blockers.len()),
        (Status::Blocked, 1),
        "it is no longer held, and still waits"
    );
    // A blocker of an agent is not taken for a lost dependency, even with the same text.
    let mut blocking = completion("agent-7", "blocked");
    blocking.content.blockers = Some(vec![lost(&["AOF-one"])[0].to_string()]);
    let blocked = step(&rules, &task, &Act::Complete(blocking), 9).unwrap().task;
    assert!(matches!(depend(&rules, &blocked, &[]), Decision::Settled { .. }));
    let both = after(&rules, &blocked, &["AOF-two"]);
    assert_eq!(both.blockers.len(), 2);
    assert_eq!(after(&rules, &both, &[]).blockers, blocked.blockers);
}

#[test]
fn a_fork_waits_as_a_whole_and_its_branches_stay_as_they_are() {
    let reviews = fork(
        "reviews",
        JoinStrategy::All,
        vec![branch("code", "architect"), branch("tests", "qa")],
    );
    let rules = rules(workflow(vec![gate("implement", "backend"), reviews, gate("approve", "po")]));
    let task = say(&rules, &dependent(&rules), "agent-7", "complete").unwrap().task;
    let blocked = after(&rules, &task, &["AOF-one"]);
    assert_eq!(blocked.status, Status::Blocked);
    let claim = Act::Claim { agent: id("agent-3"), branch: Some(id("code")) };
    assert!(matches!(decide(&rules, &blocked, &claim, at(30)), Err(Refusal::Blocked { .. })));
    let with_branch = say_at(&rules, &blocked, "tests", "agent-5", "blocked").unwrap().task;
    assert_eq!(
        with_branch.blockers,
        ["Depends on AOF-one, which has failed: no way"],
        "the other branch is waited for"
    );
    let free = after(&rules, &with_branch, &[]);
    assert_eq!((free.status, free.blockers.len()), (Status::Ready, 0));
}

fn waits<'t>(edges: &[(&'t str, &[&'t str])]) -> BTreeMap<&'t str, Vec<&'t str>> {
    edges.iter().map(|(task, others)| (*task, others.to_vec())).collect()
}

#[test]
fn circles_are_found_and_named_from_their_first() {
    let found = circles(&waits(&[
        ("d", &["c"]),
        ("c", &["b"]),
        ("b", &["d", "gone"]),
        ("a", &["b"]),
        ("e", &["e"]),
        ("f", &["g"]),
        ("g", &[]),
    ]));
    assert_eq!(found, [vec!["b", "d", "c"], vec!["e"]]);
}

proptest! {
    #[test]
    fn every_circle_is_one_and_none_is_missed(edges in prop::collection::vec((0..12_usize, 0..12_usize), 0..24)) {
        let names: Vec<String> = (0..12).map(|number| format!("t{number:02}")).collect();
        let mut waits: BTreeMap<&str, Vec<&str>> = names.iter().map(|name| (name.as_str(), Vec::new())).collect();
        for (from, to) in edges {
            waits.get_mut(names[from].as_str()).unwrap().push(&names[to]);
        }
        let found = circles(&waits);
        for circle in found.iter().cloned().chain(names.iter().filter_map(|name| circle_of(&waits, name))) {
            for (index, task) in circle.iter().enumerate() {
                prop_assert!(waits[task].contains(&circle[(index + 1) % circle.len()]), "{circle:?}");
                prop_assert!(!circle[..index].contains(task), "{circle:?}");
            }
        }
        // A task is in a circle if a path leads from it back to it.
        let reach = |from: &str| {
            let mut seen: Vec<&str> = waits[from].clone();
            let mut index = 0;
            while index < seen.len() {
                let more: Vec<&str> = waits[seen[index]].iter().copied().filter(|other| !seen.contains(other)).collect();
                seen.extend(more);
                index += 1;
            }
            seen.contains(&from)
        };
        for name in &names {
            prop_assert_eq!(circle_of(&waits, name).is_some(), reach(name), "{}", name);
        }
        prop_assert_eq!(found.is_empty(), names.iter().all(|name| !reach(name)));
    }
}
