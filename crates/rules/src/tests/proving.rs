//! The prover: its projection has each state of the engine, and its answers are those of a naive search.

use super::random_routes::valid_with;
use super::world::{completion, gate, id, project, with, workflow};
use crate::prover::cases::Cases;
use crate::prover::explore::StateGraph;
use crate::prover::projection::Model;
use crate::prover::{ProofVerdict, prove_workflow};
use crate::{
    Act, Actor, Decision, Limit, Rules, Workplace, deadlines, decide, passes_by_itself, rehearse,
};
use aof_domain::*;
use serde_json::Value;

/// Returns numbers below a limit: the same ones in the same order for a seed.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % limit as u64).unwrap()
    }

    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

const ROLES: [&str; 4] = ["dev", "qa", "lead", "po"];
const WHENS: [&str; 6] = [
    "tags.includes('x')",
    "!tags.includes('x')",
    "metadata.size > 3",
    "gateHistory.length % 2 === 0",
    "priority === 'high' || tags.includes('y')",
    "metadata.a.b",
];

const RARE_WHENS: [&str; 6] = [
    "metadata.level == '5'",
    "metadata.level === 5",
    "metadata.level && metadata.level < 6",
    "metadata.owner === null",
    "milestone >= 2",
    "milestone !== '2'",
];

fn random_org(random: &mut Random) -> Org {
    let agents = ["agent-1", "agent-2", "agent-3", "human-ada"];
    let role = |random: &mut Random| {
        let mut chosen: Vec<AgentId> =
            agents.iter().filter(|_| random.below(5) < 3).map(|name| id(name)).collect();
        if chosen.is_empty() && !random.once_in(4) {
            chosen.push(id(agents[random.below(4)]));
        }
        Role { agents: chosen, require_human: random.once_in(9), ..Role::default() }
    };
    Org { roles: ROLES.iter().map(|name| (id(name), role(random))).collect(), ..Org::default() }
}

fn random_target(random: &mut Random, count: usize) -> Target {
    match random.below(12) {
        0 | 1 => Target::Next,
        2 => Target::Origin,
        3 => Target::Previous,
        4 => Target::End,
        5 => Target::Fail,
        6 => Target::Hold,
        _ => Target::Gate(id(&format!("g{}", random.below(count)))),
    }
}

fn random_duty(random: &mut Random, index: usize, gate: Gate) -> Gate {
    with(gate, |duty| {
        duty.can_reject = index > 0 && random.once_in(2);
        duty.can_skip = random.once_in(7);
        if random.once_in(4) {
            duty.timeout = Some(id("5m"));
            duty.escalate_to = Some(id(ROLES[random.below(4)])).filter(|role| *role != duty.role);
        }
        for other in 0..index {
            if random.once_in(4) {
                duty.separate_from.push(id(&format!("g{other}")));
            }
        }
        if !duty.separate_from.is_empty() && random.once_in(6) {
            duty.separate_by = Identity::Session;
        }
    })
}

fn random_gate(random: &mut Random, index: usize, count: usize) -> Gate {
    let name = format!("g{index}");
    let role = ROLES[random.below(4)];
    let mut made = random_duty(random, index, gate(&name, role));
    if random.once_in(4) {
        made.when = Some(WHENS[random.below(WHENS.len())].into());
    }
    match random.below(10) {
        0 if index > 0 => made.detour = true,
        1 => {
            let when = made.when.take().unwrap_or_else(|| "gateHistory.length % 3 === 1".into());
            let routes =
                ["true", "false"].map(|word| (id(word), Route::to(random_target(random, count))));
            made = Gate { kind: GateKind::Condition, when: Some(when), ..gate(&name, "dev") };
            made.exits.routes = routes.to_vec();
            return made;
        }
        2 | 3 => {
            let branches = (0..2 + random.below(2)).map(|part| {
                let role = ROLES[random.below(4)];
                let part = gate(&format!("{name}b{part}"), role);
                let mut part = random_duty(random, index, part);
                if random.once_in(4) {
                    part.when = Some(WHENS[random.below(WHENS.len())].into());
                }
                Branch::new(part).unwrap()
            });
            let branches = branches.collect();
            let join = JoinStrategy::ALL[random.below(3)];
            made = Gate {
                kind: GateKind::Fork(Fork { branches, join }),
                when: made.when,
                ..gate(&name, "dev")
            };
        }
        _ => {}
    }
    if random.once_in(3) && made.fork().is_none() {
        for word in ["yes", "no"] {
            made.exits.routes.push((id(word), Route::to(random_target(random, count))));
        }
    }
    if random.once_in(3) {
        made.exits.max_retries = Some(count32(random.below(4)));
        made.exits.on_exhausted = match random.below(4) {
            0 => Exhausted::Escalate(id(ROLES[random.below(4)])),
            1 => Exhausted::Route(random_target(random, count)),
            _ => Exhausted::Block,
        };
    }
    made
}

fn count32(number: usize) -> u32 {
    u32::try_from(number).unwrap()
}

/// Returns valid rules; `None` if the random ones are not.
pub(super) fn random_rules(seed: u64) -> Option<Rules> {
    let mut random = Random(seed);
    random.below(9);
    let count = 1 + random.below(6);
    let gates: Vec<Gate> = (0..count).map(|index| random_gate(&mut random, index, count)).collect();
    let mut flow = workflow(gates);
    flow.rejection =
        if random.once_in(2) { RejectionStrategy::Origin } else { RejectionStrategy::Previous };
    flow.holds_rejections = random.once_in(9);
    if random.once_in(6) {
        let until = ["gateHistory.length > 3", "tags.includes('x')"][random.below(2)].into();
        flow.repeat = Some(Repeat { until, max: 2, on_exhausted: Exhausted::Block });
    }
    if random.once_in(5) {
        let at = random.below(count);
        let verify = flow.gates.iter().find(|gate| gate.detour).map(|gate| gate.id.clone());
        let list =
            if random.once_in(2) { "input.stories".to_owned() } else { "g0.stories".to_owned() };
        if let GateKind::Work(duty) = &mut flow.gates[at].kind {
            duty.for_each = Some(ForEach { list, max_items: 9, verify_each: verify });
        }
    }
    let org = random_org(&mut random);
    if seed % 5 < 2 {
        widen(&mut random, &mut flow);
    }
    valid_with(flow, &org)
}

/// Lets gates be kept apart from later ones, and conditions read values that few people think of.
fn widen(random: &mut Random, flow: &mut Workflow) {
    let count = flow.gates.len();
    for (index, gate) in flow.gates.iter_mut().enumerate() {
        if gate.when.is_some() && random.once_in(2) {
            gate.when = Some(RARE_WHENS[random.below(RARE_WHENS.len())].into());
        }
        let GateKind::Work(duty) = &mut gate.kind else { continue };
        if index + 1 < count && random.once_in(3) {
            let later = index + 1 + random.below(count - index - 1);
            duty.separate_from.push(id(&format!("g{later}")));
        }
    }
}

/// Returns the acts that anybody could try, whether they are allowed or not.
pub(super) fn all_acts(rules: &Rules, task: &Task, number: usize) -> Vec<(Act, Timestamp)> {
    let now = task.updated.max(task.latest());
    if task.gate.is_none() {
        return vec![(Act::Open, now)];
    }
    if passes_by_itself(rules, task) {
        return vec![(Act::Pass, now)];
    }
    let mut acts = Vec::new();
    let branches: Vec<Option<GateId>> =
        std::iter::once(None).chain(task.branches().map(|part| Some(part.id.clone()))).collect();
    for place in Workplace::open(rules, task) {
        for agent in rules.org.all_agents() {
            for outcome in place.outcomes(rules) {
                let has_loop =
                    rules.project.workflows[0].gates.iter().any(|gate| gate.for_each().is_some());
                for length in if has_loop { &[9, 0, 1, 3][..] } else { &[9] } {
                    let mut says = completion(agent.as_str(), outcome.as_str());
                    says.ticket = task.ticket_of(place.branch());
                    says.id = id(&format!("c{number}-{}", acts.len()));
                    let session = format!("s{number}-{}", acts.len());
                    says.content.metadata.insert("session".into(), session.into());
                    let stories: Vec<usize> = (0..*length).collect();
                    if *length < 9 {
                        says.content.outputs.insert("stories".into(), stories.into());
                    }
                    acts.push((Act::Complete(says), now));
                }
            }
        }
    }
    for end in deadlines(rules, task).into_iter().filter(|end| end.limit == Limit::Timeout) {
        acts.push((Act::Timeout { branch: end.branch }, end.at));
    }
    for branch in branches {
        let (by, reason) = (Actor::Person(None), Some("settled".into()));
        acts.push((Act::Unblock { by, branch, reason }, now));
    }
    acts
}

pub(super) fn tried(rules: &Rules, task: &Task, (act, now): &(Act, Timestamp)) -> Option<Task> {
    let decision = match act {
        Act::Complete(says) => rehearse(rules, task, says, *now),
        other => decide(rules, task, other, *now),
    };
    match decision {
        Ok(Decision::Step(step)) if step.task != *task => Some(step.task),
        _ => None,
    }
}

/// Returns a new task with random data.
pub(super) fn random_task(random: &mut Random) -> Task {
    let mut task = super::world::new_task(&[]);
    for tag in ["x", "y", "z"] {
        if random.once_in(2) {
            task.tags.push(tag.into());
        }
    }
    if random.once_in(2) {
        task.metadata.insert("size".into(), random.below(7).into());
    }
    if random.once_in(2) {
        task.plan.priority = Some("high".into());
    }
    // Without a draw, so that a seed stays what it was.
    let drawn = usize::try_from(random.0 >> 40).unwrap();
    let levels =
        [serde_json::json!(5), "5".into(), "0".into(), 0.into(), "6.0".into(), true.into()];
    let milestones = ["2", "1", "10", "x"];
    task.metadata.extend(levels.get(drawn % 8).map(|level| ("level".into(), level.clone())));
    task.plan.milestone = milestones.get(drawn / 8 % 5).map(|name| (*name).into());
    if drawn / 40 % 2 == 0 {
        task.metadata.insert("owner".into(), Value::Null);
    }
    let stories: Vec<usize> = (0..random.below(5)).collect();
    task.context.insert("input".into(), serde_json::json!({"stories": stories}));
    task
}

fn case_of(rules: &Rules, cases: &Cases, task: &Task) -> Vec<usize> {
    (0..cases.all.len())
        .filter(|case| cases.all[*case].is_like(rules, &rules.project.workflows[0], task))
        .collect()
}

pub(super) fn drawn(rules: &Rules) -> String {
    let flow = &rules.project.workflows[0];
    let mut text =
        format!("{:?} holds {} {:?}\n", flow.rejection, flow.holds_rejections, flow.repeat);
    for (role, known) in &rules.org.roles {
        let names: Vec<&str> = known.agents.iter().map(AgentId::as_str).collect();
        text += &format!("{role} {names:?} {}\n", known.require_human);
    }
    for gate in &flow.gates {
        text += &format!(
            "{} when {:?} detour {} exits {:?}\n",
            gate.id, gate.when, gate.detour, gate.exits
        );
        let parts = gate.fork().into_iter().flat_map(|fork| fork.branches.iter().map(Branch::gate));
        for part in std::iter::once(gate).chain(parts) {
            if let Some(duty) = part.duty() {
                text += &format!(
                    "   {} {:?} {} rejects {} skips {} apart {:?} {:?} {:?} {:?}\n",
                    part.id,
                    part.when,
                    duty.role,
                    duty.can_reject,
                    duty.can_skip,
                    duty.separate_from,
                    duty.separate_by,
                    duty.escalate_to,
                    duty.for_each
                );
            }
        }
    }
    text
}

pub(super) fn shown(task: &Task) -> String {
    let mut text = format!("{} {:?} {:?}\n", task.status, task.gate, task.blockers);
    for entry in &task.history {
        text += &format!(
            "   {} {:?} {} to {:?} retry {:?} verdict {:?} item {:?} {:?}\n",
            entry.station(),
            entry.agent,
            entry.outcome,
            entry.to,
            entry.retry,
            entry.verdict,
            entry.item,
            entry.to_item
        );
    }
    text
}

/// Returns the number in a variable of the environment.
fn asked(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// `AOF_WALK` is the number of steps, `AOF_SEED` the first seed.
#[test]
fn random_walks_of_the_engine_stay_within_the_projection() {
    let (steps, mut walked) = (asked("AOF_WALK", 600), 0);
    // The first seeds have shown states that were not in the projection.
    let mut seeds = [3_000_018, 79_387].into_iter().chain(asked("AOF_SEED", 0) + 1..);
    while walked < steps {
        let seed = seeds.next().unwrap();
        let Some(rules) = random_rules(seed) else { continue };
        let flow = &rules.project.workflows[0];
        let model = Model::new(&rules, flow, None);
        let cases = Cases::of(&model, &[]);
        let graph = StateGraph::explore(&model, &cases, 400);
        if !graph.is_whole() {
            continue;
        }
        let mut random = Random(seed * 77);
        for _ in 0..3 {
            let mut task = random_task(&mut random);
            let case = case_of(&rules, &cases, &task);
            for number in 0..60 {
                let mut acts = all_acts(&rules, &task, number);
                let mut next = None;
                while next.is_none() && !acts.is_empty() {
                    let act = acts.swap_remove(random.below(acts.len()));
                    next = tried(&rules, &task, &act).map(|after| (act, after));
                }
                let Some((act, after)) = next else { break };
                let known = case
                    .iter()
                    .any(|case| graph.index.contains_key(&model.key(*case, &after, &[])));
                assert!(
                    known,
                    "seed {seed} {:?}\n{}\n{act:?}\nfrom {}\nto {}",
                    case,
                    drawn(&rules),
                    shown(&task),
                    shown(&after)
                );
                walked += 1;
                task = after;
                if task.status.is_finished() {
                    break;
                }
            }
        }
    }
}

/// Returns whether the task waits, and no agent, time limit or unblocking can move it on.
fn is_stuck(rules: &Rules, task: &Task) -> bool {
    let by_route = |last: &Visit| {
        last.gate_outcome() != Some(&Outcome::Blocked) && (last.stays() || last.retry.is_some())
    };
    let waits = |one: &Blocker| matches!(one, Blocker::NoList(_) | Blocker::NoRound(_));
    let mut parts = task.branches().flat_map(|part| &part.blockers).chain(&task.blockers);
    let is_held = task.status == Status::Blocked
        && !parts.any(Blocker::is_nobody)
        && (task.history.last().is_some_and(by_route) || task.blockers.iter().any(waits));
    let overdue = |(act, _): &(Act, Timestamp)| match act {
        Act::Timeout { branch } => Workplace::find(rules, task, branch.as_ref())
            .is_some_and(|place| place.duty.escalate_to.is_some()),
        _ => true,
    };
    let mut acts = all_acts(rules, task, 9_999);
    acts.retain(overdue);
    task.gate.is_some()
        && !task.status.is_finished()
        && !is_held
        && acts.iter().all(|act| tried(rules, task, act).is_none())
}

/// `AOF_NAIVE` is the number of workflows, `AOF_SEED` the first seed.
#[test]
fn a_naive_search_finds_nothing_that_was_proved_absent() {
    let (wanted, mut seed) = (asked("AOF_NAIVE", 6), asked("AOF_SEED", 50_000));
    let (mut checked, mut stuck) = (0, [0, 0]);
    while checked < wanted {
        seed += 1;
        let Some(rules) = random_rules(seed) else { continue };
        let flow = &rules.project.workflows[0];
        let report = prove_workflow(&rules, flow, 500);
        if report.unexplored.is_some() {
            continue;
        }
        checked += 1;
        let mut random = Random(seed);
        let mut seen: Vec<Task> = (0..4).map(|_| random_task(&mut random)).collect();
        let (mut at, mut found, mut taken) = (0, false, std::collections::BTreeSet::new());
        while at < seen.len() && seen.len() < 150 {
            let task = seen[at].clone();
            at += 1;
            if is_stuck(&rules, &task) {
                found = true;
                assert!(
                    report.ends != ProofVerdict::Proved,
                    "seed {seed}\n{}{}",
                    drawn(&rules),
                    shown(&task)
                );
            }
            for act in all_acts(&rules, &task, at) {
                let Some(after) = tried(&rules, &task, &act) else { continue };
                if after.history.len() > task.history.len()
                    && let Some(last) = after.history.last()
                {
                    taken.insert((last.station().to_string(), last.outcome.as_str().to_owned()));
                }
                let is_new = |other: &Task| {
                    (&other.gate, other.history.len(), other.status)
                        != (&after.gate, after.history.len(), after.status)
                };
                if !after.status.is_finished() && (seen.len() < 40 || seen.iter().all(is_new)) {
                    seen.push(after);
                }
            }
        }
        stuck[usize::from(found)] += 1;
        for alarm in report.alarms.iter().filter(|alarm| alarm.code.starts_with("dead_")) {
            let contradicted = taken.iter().any(|(at, outcome)| {
                *at == alarm.at
                    && (alarm.code != "dead_route"
                        || alarm.message.contains(&format!("`{outcome}`")))
            });
            assert!(
                !contradicted || alarm.code == "dead_end",
                "seed {seed}: {alarm:?}\n{}",
                drawn(&rules)
            );
        }
    }
    assert!(wanted < 30 || stuck.iter().all(|count| *count > 0), "{stuck:?}");
}

/// work -> check, a fork of two branches -> accept, which people decide; a task may go back to work.
pub(super) fn sound() -> (Workflow, Org) {
    let role = |agents: &[&str]| Role {
        agents: agents.iter().map(|agent| id(agent)).collect(),
        ..Role::default()
    };
    let org = Org {
        roles: vec![
            (id("dev"), role(&["agent-1", "agent-2"])),
            (id("qa"), role(&["agent-3", "agent-4"])),
            (id("lead"), Role { require_human: true, ..role(&["human-ada"]) }),
            (id("boss"), role(&["human-eve"])),
        ],
        ..Org::default()
    };
    let branch =
        |name: &str| Branch::new(with(gate(name, "qa"), |duty| duty.can_reject = true)).unwrap();
    let fork = Fork { branches: vec![branch("style"), branch("safety")], join: JoinStrategy::All };
    let mut check = Gate { kind: GateKind::Fork(fork), ..gate("check", "qa") };
    check.exits.max_retries = Some(2);
    let mut accept = with(gate("accept", "lead"), |duty| {
        duty.can_reject = true;
        duty.timeout = Some(id("1d"));
        duty.escalate_to = Some(id("boss"));
        duty.separate_from = vec![id("work")];
    });
    accept.exits.max_retries = Some(2);
    let sort = Gate {
        kind: GateKind::Condition,
        when: Some("tags.includes('small')".into()),
        exits: Exits {
            routes: vec![
                (id("true"), Route::to(id("accept"))),
                (id("false"), Route::to(id("$next"))),
            ],
            ..Exits::default()
        },
        ..gate("sort", "dev")
    };
    (workflow(vec![gate("work", "dev"), sort, check, accept]), org)
}

fn duty_of(gate: &mut Gate) -> &mut Duty {
    match &mut gate.kind {
        GateKind::Work(duty) => duty,
        _ => panic!("nobody works there"),
    }
}

type Fault = (&'static str, &'static str, fn(&mut Workflow, &mut Org));

/// Faults: a name, the code of the alarm, and what plants it.
const FAULTS: [Fault; 16] = [
    ("role without agents", "nobody", |_, org| org.roles[1].1.agents.clear()),
    ("first role without agents", "nobody", |_, org| org.roles[0].1.agents.clear()),
    ("no person", "no_person", |_, org| org.roles[2].1.agents = vec![id("agent-9")]),
    ("escalates to nobody", "limit_without_person", |_, org| org.roles[3].1.agents.clear()),
    ("a limit ends with nobody", "limit_without_person", |flow, org| {
        org.roles.push((id("chief"), Role::default()));
        flow.gates[3].exits.on_exhausted = Exhausted::Escalate(id("chief"));
    }),
    ("kept apart from all", "nobody_is_separate", |flow, org| {
        org.roles[0].1.agents = vec![id("human-ada")];
        org.roles[3].1.agents = vec![id("human-ada")];
        duty_of(&mut flow.gates[3]).timeout = None;
        duty_of(&mut flow.gates[3]).escalate_to = None;
    }),
    ("kept apart after a round", "nobody_is_separate", |flow, org| {
        org.roles[0].1.agents = vec![id("human-ada"), id("human-bob")];
        org.roles[2].1.agents = vec![id("human-ada"), id("human-bob")];
        duty_of(&mut flow.gates[3]).timeout = None;
        duty_of(&mut flow.gates[3]).escalate_to = None;
    }),
    ("a condition that never holds", "constant_condition", |flow, _| {
        flow.gates[2].when = Some("tags.includes('a') && !tags.includes('a')".into());
    }),
    ("a condition that always holds", "constant_condition", |flow, _| {
        flow.gates[2].when = Some("tags.includes('a') || !tags.includes('a')".into());
    }),
    ("a decision that is never taken", "constant_condition", |flow, _| {
        flow.gates[1].when = Some("metadata.size > 3 && metadata.size < 2".into());
    }),
    ("agents that are not registered", "nobody", |_, org| {
        let registered = Agent::default();
        org.agents = Some([(id("agent-3"), registered)].into_iter().collect());
    }),
    ("a comparison of literals", "constant_condition", |flow, _| {
        flow.gates[2].when = Some("2 < 1".into());
    }),
    ("a condition that always fails", "dead_end", |flow, _| {
        flow.gates[1].when = Some("tags == 'small'".into());
    }),
    ("rounds that never end early", "constant_condition", |flow, _| {
        let until = "tags.includes('a') && !tags.includes('a')".into();
        flow.repeat = Some(Repeat { until, max: 3, on_exhausted: Exhausted::Block });
    }),
    ("a gate that is passed over", "dead_gate", |flow, _| {
        let mut again = Gate { id: id("again"), ..flow.gates[1].clone() };
        again.exits.routes =
            vec![(id("true"), Route::to(id("extra"))), (id("false"), Route::to(id("check")))];
        flow.gates.splice(2..2, [again, gate("extra", "dev")]);
    }),
    ("a branch that never opens", "constant_condition", |flow, _| {
        let GateKind::Fork(fork) = &mut flow.gates[2].kind else { panic!("it is a fork") };
        let never = Some("priority === 'high' && priority === 'low'".into());
        fork.branches[1] =
            Branch::new(Gate { when: never, ..fork.branches[1].gate().clone() }).unwrap();
    }),
];

#[test]
fn each_planted_fault_is_found_and_a_sound_workflow_is_proved() {
    let (flow, org) = sound();
    let rules = Rules::new(project(flow.clone()), org.clone()).unwrap().0;
    let report = prove_workflow(&rules, &rules.project.workflows[0], 5_000);
    assert_eq!(
        (report.ends, report.alive, &report.alarms[..]),
        (ProofVerdict::Proved, ProofVerdict::Proved, &[][..])
    );
    // Somebody steps in for each person.
    assert_eq!(report.staffing.absences, []);
    assert_eq!(report.cost.rejections, Some(2));
    for (name, code, plant) in FAULTS {
        let (mut flow, mut org) = sound();
        plant(&mut flow, &mut org);
        let (code, found) = match Rules::new(project(flow), org) {
            Ok((rules, _)) => {
                let report = prove_workflow(&rules, &rules.project.workflows[0], 5_000);
                let certain = report.alarms.iter().filter(|alarm| alarm.is_certain);
                (
                    code,
                    certain.map(|alarm| (alarm.code.clone(), alarm.at.clone())).collect::<Vec<_>>(),
                )
            }
            // The check of the rules refuses these faults.
            Err(findings) => ("", findings.iter().map(|_| ("".into(), String::new())).collect()),
        };
        assert!(found.iter().any(|(known, _)| *known == code), "{name}: {found:?}");
    }
}

#[test]
fn agents_that_are_not_registered_are_named() {
    let (flow, mut org) = sound();
    org.agents = Some([(id("agent-3"), Agent::default())].into_iter().collect());
    let rules = Rules::new(project(flow), org).unwrap().0;
    let report = prove_workflow(&rules, &rules.project.workflows[0], 5_000);
    let told = "nobody can take gate `work`: `agents` of org.yaml lacks all of role `dev`: `agent-1`, `agent-2`";
    assert_eq!(report.alarms[0].message, told);
}

#[test]
fn a_cost_with_too_many_combinations_is_not_counted() {
    let names: Vec<String> = (0..9).map(|number| format!("g{number}")).collect();
    let gates = names.iter().enumerate().map(|(index, name)| {
        let mut gate = with(gate(name, "dev"), |duty| duty.can_reject = index > 0);
        for to in &names[..index] {
            gate.exits.routes.push((id(&format!("to{to}")), Route::to(id(to))));
        }
        gate.exits.routes.push((id("on"), Route::to(Target::Next)));
        gate.exits.max_retries = (index > 0).then_some(100);
        gate
    });
    let (_, org) = sound();
    let rules = Rules::new(project(workflow(gates.collect())), org).unwrap().0;
    let cost = prove_workflow(&rules, &rules.project.workflows[0], 50).cost;
    assert_eq!((cost.is_counted, cost.visits, &cost.unlimited[..]), (false, None, &[][..]));
    let (flow, org) = sound();
    let rules = Rules::new(project(flow), org).unwrap().0;
    assert!(prove_workflow(&rules, &rules.project.workflows[0], 50).cost.is_counted);
}

#[test]
fn too_many_answers_end_the_search() {
    let gates = (0..16).map(|at| Gate {
        when: (at > 0).then(|| format!("gateHistory.length > {at}")),
        ..gate(&format!("g{at}"), "dev")
    });
    let rules = Rules::new(project(workflow(gates.collect())), sound().1).unwrap().0;
    let report = prove_workflow(&rules, &rules.project.workflows[0], 5_000);
    assert_eq!(report.ends, ProofVerdict::Unknown);
    assert!(report.unexplored.unwrap().contains("more than 2000 ways"));
}

#[test]
fn nothing_is_proved_alive_when_conditions_read_too_many_facts() {
    let (mut flow, org) = sound();
    let many: Vec<String> = (0..13).map(|number| format!("tags.includes('t{number}')")).collect();
    flow.gates[2].when = Some(many.join(" || "));
    let rules = Rules::new(project(flow), org).unwrap().0;
    let report = prove_workflow(&rules, &rules.project.workflows[0], 5_000);
    assert_eq!((report.ends, report.alive), (ProofVerdict::Proved, ProofVerdict::May));
    assert_eq!(report.either_way, ["check", "sort"]);
}
