//! Agents for gates that are kept apart, and those who are missed: the answers, and their bounds.

use super::world::{branch, fork, gate, id, project, with, workflow};
use std::collections::BTreeSet;

use crate::prover::cases::Answers;
use crate::prover::{Absence, Staffing};
use crate::validate::staffing::staffing;
use crate::{Finding, Rules};
use aof_domain::{Gate, GateId, GateKind, JoinStrategy, Org, Role, Severity};

/// Computes the same answer by trying all assignments.
fn can_staff(posts: &[(Vec<usize>, Vec<usize>)], chosen: &mut Vec<usize>) -> bool {
    let Some((agents, others)) = posts.get(chosen.len()) else { return true };
    agents.iter().any(|agent| {
        if others.iter().any(|other| chosen[*other] == *agent) {
            return false;
        }
        chosen.push(*agent);
        let found = can_staff(posts, chosen);
        chosen.pop();
        found
    })
}

/// Returns a number below `limit`: the same ones in the same order every time.
fn random(seed: &mut u64, limit: u64) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from((*seed >> 33) % limit).unwrap()
}

fn checked(posts: &[(Vec<usize>, Vec<usize>)]) -> Vec<Finding> {
    let name = |post: usize| format!("g{post}");
    let mut org = Org::default();
    let mut gates = Vec::new();
    for (index, (agents, others)) in posts.iter().enumerate() {
        let agents = agents.iter().map(|agent| id(&format!("agent-{agent}"))).collect();
        org.roles.push((id(&format!("r{index}")), Role { agents, ..Role::default() }));
        let mut post = gate(&name(index), &format!("r{index}"));
        if let GateKind::Work(duty) = &mut post.kind {
            duty.separate_from = others.iter().map(|other| id(&name(*other))).collect();
        }
        gates.push(post);
    }
    staffing(&workflow(gates), &org)
}

#[test]
fn the_answer_is_that_of_all_assignments() {
    let mut seed = 1;
    let (mut fit, mut unfit) = (0, 0);
    for _ in 0..2_000 {
        let count = 2 + random(&mut seed, 5);
        let agents = 1 + random(&mut seed, 4) as u64;
        let posts: Vec<_> = (0..count)
            .map(|index| {
                let mut agents: Vec<usize> = (0..4).map(|_| random(&mut seed, agents)).collect();
                agents.truncate(1 + random(&mut seed, 4));
                (agents, (0..index).filter(|_| random(&mut seed, 2) == 0).collect())
            })
            .collect();
        let expected = can_staff(&posts, &mut Vec::new());
        let found = checked(&posts);
        assert_eq!(found.is_empty(), expected, "{posts:?}: {found:?}");
        assert!(found.iter().all(|finding| finding.severity == Severity::Warning), "{found:?}");
        *(if expected { &mut fit } else { &mut unfit }) += 1;
    }
    assert!(fit > 300 && unfit > 300, "{fit} {unfit}");
}

#[test]
fn twelve_gates_and_thirty_agents_are_always_checked() {
    let mut seed = 7;
    for density in [2, 3, 4, 8] {
        let posts: Vec<_> = (0..12)
            .map(|index| {
                let agents = (0..30).filter(|_| random(&mut seed, density) == 0).collect();
                (agents, (0..index).filter(|_| random(&mut seed, density) == 0).collect())
            })
            .collect();
        let codes: Vec<&str> = checked(&posts).iter().map(|finding| finding.code).collect();
        assert!(!codes.contains(&"staffing_not_checked"));
    }
    // Eleven agents for twelve gates, each of whom lacks one role, so that no two are alike.
    let all = |most: usize| {
        let agents = move |post| (0..most).filter(|agent| agent % 12 != post).collect();
        (0..12).map(|post| (agents(post), (0..post).collect())).collect::<Vec<_>>()
    };
    assert_eq!(checked(&all(11)).len(), 1);
    assert_eq!(checked(&all(12)).len(), 0);
    let many: Vec<_> = (0..17).map(|post| (vec![0], (0..post).collect())).collect();
    assert_eq!(checked(&many)[0].code, "staffing_not_checked");
}

/// Returns the gates that nobody can pass, and for each agent who is missed the gates that then cannot pass, and the ways.
fn staffed(gates: Vec<Gate>, roles: &[(&str, &[&str])]) -> (Vec<String>, Vec<String>) {
    let mut org = Org::default();
    for (name, agents) in roles {
        let agents = agents.iter().map(|agent| id(agent)).collect();
        org.roles.push((id(name), Role { agents, ..Role::default() }));
    }
    let rules = Rules::new(project(workflow(gates)), org).unwrap().0;
    let found =
        Staffing::of(&rules, &rules.project.workflows[0], &BTreeSet::from([Answers::new()]));
    let missed = |one: &Absence| {
        let gates: Vec<&str> = one.gates.iter().map(GateId::as_str).collect();
        format!("{}: {} ({} of {})", one.agent, gates.join(" "), one.ways, found.ways)
    };
    (
        found.closed.iter().map(GateId::to_string).collect(),
        found.absences.iter().map(missed).collect(),
    )
}

#[test]
fn who_is_missed_is_counted_over_all_choices_of_a_way() {
    // Whoever takes the first branch cannot check; so the other one must take the second.
    let apart = |name: &str, role: &str, from: &[&str]| {
        with(gate(name, role), |duty| duty.separate_from = from.iter().map(|one| id(one)).collect())
    };
    let branches = vec![branch("one", "ada"), branch("two", "bob")];
    let gates = vec![
        gate("work", "dev"),
        fork("either", JoinStrategy::Any, branches),
        apart("check", "ada", &["either"]),
    ];
    let (closed, missed) = staffed(gates, &[("dev", &["w"]), ("ada", &["x"]), ("bob", &["y"])]);
    assert_eq!(
        (&closed[..], missed.join("; ").as_str()),
        (&[][..], "w: work either check (1 of 1); x: check (1 of 1); y: check (1 of 1)")
    );
    // Another role steps in after a time.
    let slow = with(gate("check", "lead"), |duty| {
        duty.timeout = Some("1d".parse().unwrap());
        duty.escalate_to = Some(id("boss"));
    });
    let roles: [(&str, &[&str]); 3] = [("dev", &["x"]), ("lead", &["y"]), ("boss", &["z"])];
    let (closed, missed) = staffed(vec![gate("work", "dev"), slow], &roles);
    assert_eq!((&closed[..], missed.join("; ").as_str()), (&[][..], "x: work check (1 of 1)"));
    // Forty gates that may be passed over, and a last one without agents, have more ways than can be tried: gates count by themselves.
    let mut gates: Vec<Gate> = (0..40).map(|at| gate(&format!("g{at}"), "dev")).collect();
    for (at, gate) in gates.iter_mut().enumerate().skip(1) {
        gate.when = Some(format!("tags.includes('t{at}')"));
    }
    gates.push(apart("last", "lead", &["g0"]));
    let (closed, missed) = staffed(gates, &[("dev", &["x"]), ("lead", &["x"])]);
    assert!(closed.is_empty() && missed[0].starts_with("x: g0 g1 g2"), "{closed:?} {missed:?}");
    // Sixteen gates, thirty agents of whom no two are alike: too much work to find agents for each of the ways.
    let names: Vec<String> = (0..16).map(|at| format!("g{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let agents: Vec<String> = (0..30).map(|at| format!("a{at}")).collect();
    let mut seed = 3;
    let mut half = || -> Vec<&str> {
        agents.iter().filter(|_| random(&mut seed, 2) == 0).map(String::as_str).collect()
    };
    let lists: Vec<Vec<&str>> = names.iter().map(|_| half()).collect();
    let roles: Vec<(&str, &[&str])> =
        names.iter().copied().zip(lists.iter().map(Vec::as_slice)).collect();
    let optional = names.iter().enumerate().map(|(at, name)| {
        let when = (at > 0).then(|| format!("tags.includes('t{at}')"));
        Gate { when, ..apart(name, name, &names[..at]) }
    });
    let (closed, missed) = staffed(optional.collect(), &roles);
    assert_eq!((closed.len(), missed.len()), (0, 0));
    // Eleven agents for twelve gates, no two of whom are alike: one by one, they have too many combinations.
    let names: Vec<String> = (0..12).map(|at| format!("g{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let agents: Vec<String> = (0..11).map(|at| format!("a{at}")).collect();
    let lists: Vec<Vec<&str>> = (0..12)
        .map(|gate| (0..11).filter(|agent| *agent != gate).map(|at| agents[at].as_str()).collect())
        .collect();
    let roles: Vec<(&str, &[&str])> =
        names.iter().copied().zip(lists.iter().map(Vec::as_slice)).collect();
    let gates = names.iter().enumerate().map(|(at, name)| apart(name, name, &names[..at]));
    let (closed, missed) = staffed(gates.collect(), &roles);
    assert_eq!((closed.join(" ").as_str(), missed.len()), ("g11", 11));
    assert_eq!(missed[0], "a0: g10 (0 of 0)");
}
