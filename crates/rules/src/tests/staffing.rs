//! Agents for gates that are kept apart: the answer, and its bounds.

use super::world::{gate, id, workflow};
use crate::Finding;
use crate::validate::staffing::staffing;
use aof_domain::{GateKind, Org, Role, Severity};

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
