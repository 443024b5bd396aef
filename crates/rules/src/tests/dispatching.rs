//! Handing out: as tables, and as properties of any waiting work and any agents.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::world::{at, gate, id, project, workflow};
use crate::{AgentLoads, LastAssignment, Rules, UnclaimedWork, dispatch};
use aof_domain::*;

/// Returns rules with one role `crew` of these agents, each with its `maxTasks`.
fn rules_of(way: HandOut, agents: &[(&str, Option<u32>)]) -> Rules {
    let register = agents
        .iter()
        .map(|(agent, max_tasks)| (id(agent), Agent { max_tasks: *max_tasks, ..Agent::default() }));
    let agents = agents.iter().map(|(agent, _)| id(agent)).collect();
    let org = Org {
        roles: vec![(id("crew"), Role { agents, ..Role::default() })],
        agents: Some(register.collect()),
        ..Org::default()
    };
    let project = Project { hand_out: way, ..project(workflow(vec![gate("work", "crew")])) };
    Rules::new(project, org).unwrap().0
}

fn usual() -> Urgency {
    Urgency {
        is_in_time: true,
        priority: Priority::Medium,
        due: Timestamp::MAX,
        entered: at(0),
        created: at(0),
    }
}

fn place(name: &str) -> UnclaimedWork {
    UnclaimedWork {
        ticket: Ticket { task: id(name), visit: None, branch: None },
        role: id("crew"),
        people_only: false,
        urgency: usual(),
        planned_for: Vec::new(),
        previous_agent: None,
        excluded: Vec::new(),
        lapsed_agent: None,
        is_looked_at: false,
    }
}

fn work(name: &str, urgency: Urgency) -> UnclaimedWork {
    UnclaimedWork { urgency, ..place(name) }
}

fn handed(rules: &Rules, waiting: &[UnclaimedWork], loads: &AgentLoads) -> Vec<String> {
    let given = dispatch(rules, waiting, loads);
    given
        .into_iter()
        .map(|(place, agent)| format!("{} {agent}", place.ticket.task.local()))
        .collect()
}

fn loads(held: &[&str]) -> AgentLoads {
    let mut loads = AgentLoads::default();
    for agent in held {
        loads.add_claim(id(agent));
    }
    loads
}

fn assignment(minute: i64, task: &str, agent: &str) -> LastAssignment {
    let ticket = Ticket { task: id(task), visit: None, branch: None };
    LastAssignment { at: at(minute), urgency: usual(), ticket, agent: id(agent) }
}

#[test]
fn the_most_urgent_goes_first_to_the_least_loaded() {
    let rules = rules_of(HandOut::LeastLoaded, &[("a1", Some(2)), ("a2", Some(2)), ("a3", None)]);
    let waiting = [
        work("AOF-low", Urgency { priority: Priority::Low, ..usual() }),
        work("AOF-new", Urgency { entered: at(5), ..usual() }),
        work("AOF-due", Urgency { due: at(20), entered: at(6), ..usual() }),
        place("AOF-old"),
        work("AOF-now", Urgency { priority: Priority::Critical, entered: at(9), ..usual() }),
    ];
    assert_eq!(
        handed(&rules, &waiting, &AgentLoads::default()),
        ["now a1", "due a2", "old a3", "new a1", "low a2"]
    );
    assert_eq!(handed(&rules, &waiting, &loads(&["a1"])), ["now a2", "due a3", "old a1", "new a2"]);
    assert_eq!(
        handed(&rules, &waiting, &loads(&["a1", "a1", "a2", "a3"])),
        ["now a2"],
        "the others have all they may"
    );
}

#[test]
fn agents_take_turns_from_the_one_behind_the_last() {
    let rules = rules_of(HandOut::RoundRobin, &[("a1", Some(9)), ("a2", Some(9)), ("a3", Some(9))]);
    let waiting = ["AOF-aaa", "AOF-bbb", "AOF-ccc", "AOF-ddd"].map(place);
    let mut loads = loads(&["a3", "a3"]);
    assert_eq!(
        handed(&rules, &waiting, &loads),
        ["aaa a1", "bbb a2", "ccc a3", "ddd a1"],
        "whatever they have"
    );
    loads.record_assignment(id("crew"), assignment(3, "AOF-xxx", "a2"));
    loads.record_assignment(id("crew"), assignment(2, "AOF-yyy", "a3"));
    assert_eq!(handed(&rules, &waiting[..2], &loads), ["aaa a3", "bbb a1"]);
    loads.record_assignment(id("crew"), assignment(3, "AOF-zzz", "a3"));
    assert_eq!(
        handed(&rules, &waiting[..1], &loads),
        ["aaa a1"],
        "of one second the less urgent was the last"
    );
    loads.record_assignment(id("crew"), assignment(4, "AOF-zzz", "gone"));
    assert_eq!(handed(&rules, &waiting[..1], &loads), ["aaa a1"], "who left the role has no turn");
}

#[test]
fn work_comes_back_to_its_author_and_never_to_excluded_agents() {
    let rules = rules_of(
        HandOut::LeastLoaded,
        &[("a1", None), ("a2", Some(2)), ("human-ada", Some(1)), ("human-bob", None)],
    );
    let work = UnclaimedWork { previous_agent: Some(id("a2")), ..place("AOF-own") };
    assert_eq!(
        handed(&rules, std::slice::from_ref(&work), &loads(&["a2"])),
        ["own a2"],
        "though others have less"
    );
    assert_eq!(handed(&rules, &[work], &loads(&["a2", "a2"])), ["own a1"], "it has no room");
    let excluding = UnclaimedWork { excluded: vec![id("a1"), id("a2")], ..place("AOF-apt") };
    assert_eq!(handed(&rules, &[excluding], &AgentLoads::default()), ["apt human-ada"]);
    let lost = UnclaimedWork {
        lapsed_agent: Some(id("a1")),
        previous_agent: Some(id("a1")),
        ..place("AOF-los")
    };
    assert_eq!(
        handed(&rules, &[lost], &AgentLoads::default()),
        ["los a2"],
        "whoever let it lie does not get it again"
    );
    let people = |name| UnclaimedWork { people_only: true, ..place(name) };
    assert_eq!(
        handed(&rules, &[people("AOF-aaa"), people("AOF-bbb")], &AgentLoads::default()),
        ["aaa human-ada"]
    );
}

#[test]
fn a_role_may_go_its_own_way() {
    let agents = [("a1", None)];
    assert!(
        handed(&rules_of(HandOut::Ask, &agents), &[place("AOF-aaa")], &AgentLoads::default())
            .is_empty()
    );
    let mut rules = rules_of(HandOut::Ask, &[("a1", Some(2))]);
    rules.org.roles[0].1.hand_out = Some(HandOut::RoundRobin);
    assert_eq!(handed(&rules, &[place("AOF-aaa")], &AgentLoads::default()), ["aaa a1"]);
    assert_eq!(
        handed(&rules, &[place("AOF-aaa"), place("AOF-aaa")], &loads(&[])),
        ["aaa a1"],
        "nothing is handed twice"
    );
    let stranger = UnclaimedWork { role: id("gone"), ..place("AOF-aaa") };
    assert!(handed(&rules, &[stranger], &AgentLoads::default()).is_empty());
}

const CREW: [&str; 5] = ["a1", "a2", "a3", "human-ada", "human-bob"];

prop_compose! {
    fn places()(
        list in prop::collection::vec(
            (0..4_usize, 0..5_i64, prop::bool::weighted(0.1), prop::option::of(0..CREW.len()),
             prop::collection::vec(0..CREW.len(), 0..3), prop::option::weighted(0.2, 0..CREW.len()), 0..2_usize,
             prop::option::weighted(0.2, 0..CREW.len())),
            0..40,
        )
    ) -> Vec<UnclaimedWork> {
        list.into_iter().enumerate().map(|(task, (priority, created, people_only, before, excluded, lost, role, planned))| UnclaimedWork {
            role: id(["crew", "pair"][role]),
            people_only,
            urgency: Urgency {
                is_in_time: created != 2,
                priority: Priority::ALL[priority],
                due: if created == 3 { at(60) } else { Timestamp::MAX },
                entered: at(created),
                created: at(created),
            },
            planned_for: planned.map(|index| id(CREW[index])).into_iter().collect(),
            previous_agent: before.map(|index| id(CREW[index])),
            excluded: excluded.into_iter().map(|index| id(CREW[index])).collect(),
            lapsed_agent: lost.map(|index| id(CREW[index])),
            ..place(&format!("AOF-t{task:02}"))
        }).collect()
    }
}

prop_compose! {
    fn worlds()(
        way in 1..3_usize,
        limits in prop::collection::vec(prop::option::of(0..4_u32), CREW.len()),
        held in prop::collection::vec(0..CREW.len(), 0..6),
        pair in prop::collection::btree_set(0..CREW.len(), 1..3),
    ) -> (Rules, AgentLoads) {
        let agents: Vec<(&str, Option<u32>)> = CREW.into_iter().zip(limits).collect();
        let mut rules = rules_of(HandOut::ALL[way], &agents);
        let pair = pair.into_iter().map(|index| id(CREW[index])).collect();
        rules.org.roles.push((id("pair"), Role { agents: pair, ..Role::default() }));
        (rules, loads(&held.into_iter().map(|index| CREW[index]).collect::<Vec<_>>()))
    }
}

fn may_have(rules: &Rules, place: &UnclaimedWork, agent: &AgentId) -> bool {
    rules.org.role(&place.role).unwrap().agents.contains(agent)
        && !place.excluded.contains(agent)
        && place.lapsed_agent.as_ref() != Some(agent)
        && (!place.people_only || agent.as_str().starts_with("human-"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn handing_out_keeps_to_the_rules((rules, loads) in worlds(), waiting in places(), turn in any::<prop::sample::Index>()) {
        let given = dispatch(&rules, &waiting, &loads);
        let mut load: BTreeMap<&AgentId, u32> = BTreeMap::new();
        let mut tickets = BTreeSet::new();
        for (place, agent) in &given {
            prop_assert!(may_have(&rules, place, agent), "{agent} got {}", place.ticket);
            prop_assert!(tickets.insert(place.ticket.clone()), "{} twice", place.ticket);
            *load.entry(agent).or_insert_with(|| loads.load(agent)) += 1;
        }
        for (agent, load) in &load {
            prop_assert!(*load <= rules.org.room(agent), "{agent} has {load}");
        }
        for place in waiting.iter().filter(|place| !tickets.contains(&place.ticket)) {
            let members = &rules.org.role(&place.role).unwrap().agents;
            for agent in members.iter().filter(|agent| may_have(&rules, place, agent)) {
                let load = load.get(agent).copied().unwrap_or(loads.load(agent));
                prop_assert!(load >= rules.org.room(agent), "{} waits, and {agent} has room", place.ticket);
            }
            for (other, agent) in given.iter().filter(|(other, _)| other.role == place.role) {
                let sooner = place.rank() < other.rank() && !other.planned_for.contains(agent);
                prop_assert!(!sooner || !may_have(&rules, place, agent), "{} waits for {}", place.ticket, other.ticket);
            }
        }
        // The answer does not depend on the order of the waiting work.
        let mut turned = waiting.clone();
        turned.rotate_left(turn.index(waiting.len() + 1));
        prop_assert_eq!(&dispatch(&rules, &turned, &loads), &given);
    }

    #[test]
    fn without_a_limit_all_agents_have_the_same(agents in 1..8_usize, tasks in 0..60_usize, turns in any::<bool>()) {
        let names: Vec<String> = (0..agents).map(|number| format!("a{number}")).collect();
        let agents: Vec<(&str, Option<u32>)> = names.iter().map(|name| (name.as_str(), Some(100))).collect();
        let rules = rules_of(if turns { HandOut::RoundRobin } else { HandOut::LeastLoaded }, &agents);
        let waiting: Vec<UnclaimedWork> = (0..tasks).map(|number| place(&format!("AOF-t{number:02}"))).collect();
        let given = dispatch(&rules, &waiting, &AgentLoads::default());
        prop_assert_eq!(given.len(), tasks);
        let counts: Vec<usize> =
            names.iter().map(|name| given.iter().filter(|(_, agent)| agent.as_str() == name).count()).collect();
        prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
    }
}
