//! Rules that change while a task is under way.

use proptest::prelude::*;

use super::property::{acts, workflows};
use crate::tests::world::*;
use crate::{Act, Actor, Decision, Rules, StateChange, Workplace, decide, due_act, explain};
use aof_domain::*;

/// Returns the task after all acts that the rules require, each of which must be found by replay.
fn conform(rules: &Rules, task: &Task) -> (Task, Vec<Act>) {
    let (mut task, mut acts) = (task.clone(), Vec::new());
    while let Some(act) = due_act(rules, &task) {
        assert!(acts.len() < 50, "there is no end to it: {acts:?}");
        let minute = 1000 + i64::try_from(task.history.len()).unwrap();
        let after = step(rules, &task, &act, minute).unwrap().task;
        assert!(after.history.starts_with(&task.history));
        let found = explain(rules, Some(&task), &after);
        assert!(
            matches!(&found, StateChange::Act(found) if found.act == act),
            "{act:?}: {found:?}"
        );
        acts.push(act);
        task = after;
    }
    (task, acts)
}

fn line(names: &[&str]) -> Workflow {
    workflow(names.iter().map(|name| gate(name, "backend")).collect())
}

fn walked(rules: &Rules, times: usize) -> Task {
    (0..times)
        .fold(opened(rules, &[]), |task, _| say(rules, &task, "agent-7", "complete").unwrap().task)
}

#[test]
fn a_task_at_a_removed_gate_goes_to_the_nearest_one_before_it() {
    let before = rules(line(&["a", "b", "c", "d"]));
    let table: [(usize, &[&str], &str); 7] = [
        (0, &["b", "c", "d"], "b@1 ready"),
        (2, &["a", "b", "d"], "b@3 ready"),
        (2, &["a", "d"], "a@3 ready"),
        (2, &["d"], "d@3 ready"),
        (2, &["x", "d", "b"], "b@3 ready"),
        (3, &["a", "b", "c"], "c@4 ready"),
        (2, &["z", "y"], "z@3 ready"),
    ];
    for (walk, names, then) in table {
        let rules = rules(line(names));
        let (after, acts) = conform(&rules, &walked(&before, walk));
        assert_eq!((stands(&after).as_str(), &acts[..]), (then, &[Act::Move][..]), "{names:?}");
        let entry = after.history.last().unwrap();
        assert_eq!((entry.outcome.clone(), entry.agent.clone()), (Ending::Moved, None));
        assert_eq!(entry.role, Some(id("backend")));
        assert!(
            entry.summary.contains("is not in workflow `default` any more"),
            "{}",
            entry.summary
        );
        assert_eq!(after.workflow_hash.as_deref(), rules.hash(&id("default")));
    }
}

#[test]
fn before_means_on_the_way_that_led_forward() {
    // `c` sent it back to `a`, which is removed: no gate comes before `a`, and the backward route from `c` does not count.
    let mut flow = line(&["a", "b", "c"]);
    flow.gates[2] = reviewing("c", "backend");
    let old = rules(flow);
    let back = say(&old, &walked(&old, 2), "agent-7", "needs_review").unwrap().task;
    assert_eq!(stands(&back), "a@3 ready");
    let mut flow = line(&["b", "c"]);
    flow.gates[1] = reviewing("c", "backend");
    let after = conform(&rules(flow), &back).0;
    assert_eq!(stands(&after), "b@4 ready");
    assert_eq!(after.review.unwrap().from_gate, id("c"), "what was wanted is still wanted");

    // A person moved it past `b`: the skipped gates come first again.
    let old = rules(line(&["a", "b", "c"]));
    let to = Act::Override { by: Actor::Person(None), to: id("c"), reason: "urgent".into() };
    let moved = step(&old, &opened(&old, &[]), &to, 1).unwrap().task;
    assert_eq!(stands(&conform(&rules(line(&["a", "b"])), &moved).0), "a@2 ready");

    // Gates that do not apply are skipped on the way back too.
    let old = rules(line(&["a", "b", "c"]));
    let mut flow = line(&["a", "b"]);
    flow.gates[1].when = Some("tags.includes('security')".into());
    assert_eq!(stands(&conform(&rules(flow), &walked(&old, 2)).0), "a@3 ready");
}

#[test]
fn an_obstacle_remains_after_a_move() {
    let old = rules(line(&["a", "b"]));
    let after = rules(line(&["a"]));
    let blocked = say(&old, &walked(&old, 1), "agent-7", "blocked").unwrap().task;
    let task = conform(&after, &blocked).0;
    assert_eq!((stands(&task).as_str(), &task.blockers), ("a@3 blocked", &blocked.blockers));
    let unblock = Act::Unblock { by: Actor::Person(None), branch: None, reason: None };
    assert_eq!(stands(&step(&after, &task, &unblock, 2000).unwrap().task), "a@3 ready");

    let hold = Act::Hold { by: Actor::Person(None), reason: "wait for Ada".into() };
    let held = step(&old, &walked(&old, 1), &hold, 60).unwrap().task;
    let task = conform(&after, &held).0;
    assert_eq!((stands(&task).as_str(), task.blockers.len()), ("a@2 blocked", 1));
    assert_eq!(say(&after, &task, "agent-7", "complete").unwrap_err().code(), "task_held");

    let mut flow = line(&["a", "b"]);
    flow.gates[1] = fork("b", JoinStrategy::All, vec![branch("x", "qa"), branch("y", "architect")]);
    let task = conform(&rules(flow), &blocked).0;
    assert_eq!(stands(&task), "b@3 blocked");
    assert!(
        Blocker::joined(&task.blockers).matches("coverage").count() == task.blockers.len(),
        "{:?}",
        task.blockers
    );
}

#[test]
fn a_gate_of_another_kind_begins_anew() {
    let work = || line(&["a", "b", "c"]);
    let forked = |names: [&str; 2]| {
        let mut flow = work();
        flow.gates[1] = fork(
            "b",
            JoinStrategy::All,
            vec![branch(names[0], "qa"), branch(names[1], "architect")],
        );
        flow
    };
    let condition = || {
        let mut flow = work();
        let routes = routed(gate("b", "backend"), &[("true", "$next"), ("false", "$fail")]);
        flow.gates[1] = Gate { kind: GateKind::Condition, when: Some("true".into()), ..routes };
        flow
    };
    let table: [(Workflow, Workflow, &str, &[Act]); 6] = [
        (work(), forked(["x", "y"]), "b@2 ready", &[Act::Move]),
        (forked(["x", "y"]), work(), "b@2 ready", &[Act::Move]),
        (forked(["x", "y"]), forked(["v", "w"]), "b@2 ready", &[Act::Move]),
        (forked(["x", "y"]), forked(["x", "w"]), "b@1 ready", &[]),
        (work(), condition(), "c@2 ready", &[Act::Pass]),
        (forked(["x", "y"]), condition(), "c@2 ready", &[Act::Pass]),
    ];
    for (number, (old, new, then, expected)) in table.into_iter().enumerate() {
        let task = walked(&rules(old), 1);
        let (after, acts) = conform(&rules(new), &task);
        assert_eq!((stands(&after).as_str(), &acts[..]), (then, expected), "number {number}");
    }
}

fn with_people(flow: Workflow, change: impl FnOnce(&mut Org)) -> Rules {
    let mut people = org();
    change(&mut people);
    Rules::new(project(flow), people).unwrap().0
}

fn agents_of<'o>(org: &'o mut Org, name: &str) -> &'o mut Vec<AgentId> {
    &mut org.roles.iter_mut().find(|(role, _)| role.as_str() == name).unwrap().1.agents
}

#[test]
fn another_role_gets_the_work_and_agents_outside_it_lose_it() {
    let old = rules(line(&["a", "b"]));
    let new = rules(workflow(vec![gate("a", "architect"), gate("b", "backend")]));
    let open = opened(&old, &[]);
    let claimed =
        step(&old, &open, &Act::Claim { agent: id("agent-7"), branch: None }, 1).unwrap().task;
    for task in [&open, &claimed] {
        let (after, acts) = conform(&new, task);
        assert_eq!((stands(&after).as_str(), &acts[..]), ("a@0 ready", &[Act::Reroute][..]));
        assert_eq!((after.routing.role, after.routing.agent), (Some(id("architect")), None));
        assert_eq!(after.history.len(), 0, "there is no entry for it");
    }
    let both = with_people(new.project.workflows[0].clone(), |org| {
        agents_of(org, "architect").push(id("agent-7"));
    });
    let (after, _) = conform(&both, &claimed);
    assert_eq!(
        (stands(&after).as_str(), after.routing.agent),
        ("a@0 in_progress", Some(id("agent-7")))
    );
    let people =
        rules(workflow(vec![with(gate("a", "backend"), |duty| duty.require_human = true)]));
    let (after, _) = conform(&people, &claimed);
    assert_eq!(after.routing.agent, None, "it is for people now");
    let nobody = rules(workflow(vec![gate("a", "security")]));
    let (after, _) = conform(&nobody, &claimed);
    assert_eq!(stands(&after), "a@0 blocked");
    assert_eq!(after.blockers, ["No agents available for role: security"]);
    assert_eq!(stands(&conform(&new, &after).0), "a@0 ready", "and back");
}

#[test]
fn people_come_and_go() {
    let flow = || line(&["a", "b"]);
    let old = rules(flow());
    let open = opened(&old, &[]);
    let claimed =
        step(&old, &open, &Act::Claim { agent: id("agent-7"), branch: None }, 1).unwrap().task;
    let without = with_people(flow(), |org| drop(agents_of(org, "backend").remove(0)));
    assert_eq!(due_act(&without, &open), None);
    assert_eq!(due_act(&without, &claimed), None, "what it has goes on");
    assert_eq!(stands(&say(&without, &claimed, "agent-7", "complete").unwrap().task), "b@1 ready");
    assert_eq!(
        say(&without, &open, "agent-7", "complete").unwrap_err().code(),
        "wrong_role",
        "and no new work"
    );

    let empty = with_people(flow(), |org| agents_of(org, "backend").clear());
    assert_eq!(due_act(&empty, &claimed), None);
    let waits = conform(&empty, &open).0;
    assert_eq!(
        (stands(&waits).as_str(), &waits.blockers[..]),
        ("a@0 blocked", &["No agents available for role: backend".into()][..])
    );
    assert_eq!(stands(&conform(&old, &waits).0), "a@0 ready");
    // There is another blocker as well, which only a person can remove.
    let mut both = waits.clone();
    both.blockers.push("the key is missing".into());
    assert_eq!(due_act(&old, &both), None);
}

#[test]
fn branches_are_rerouted_one_by_one() {
    let flow = |role: &str| {
        workflow(vec![
            gate("a", "backend"),
            fork("b", JoinStrategy::All, vec![branch("x", role), branch("y", "architect")]),
        ])
    };
    let old = rules(flow("qa"));
    let at_fork = walked(&old, 1);
    let claim =
        |agent: &str, branch: &str| Act::Claim { agent: id(agent), branch: Some(id(branch)) };
    let claimed = step(&old, &at_fork, &claim("agent-5", "x"), 20).unwrap().task;
    let claimed = step(&old, &claimed, &claim("agent-3", "y"), 21).unwrap().task;
    let shown = |task: &Task| {
        let branches = &task.gate.as_ref().unwrap().branches;
        branches
            .iter()
            .map(|at| {
                format!("{} {} {:?}", at.role, at.status, at.agent.as_ref().map(AgentId::as_str))
            })
            .collect::<Vec<_>>()
    };
    let (after, acts) = conform(&rules(flow("backend")), &claimed);
    assert_eq!(acts, [Act::Reroute]);
    assert_eq!(shown(&after), ["backend ready None", "architect in_progress Some(\"agent-3\")"]);
    let (after, _) = conform(&rules(flow("security")), &claimed);
    assert_eq!(shown(&after), ["security blocked None", "architect in_progress Some(\"agent-3\")"]);
    assert_eq!(
        shown(&conform(&old, &after).0),
        ["qa ready None", "architect in_progress Some(\"agent-3\")"]
    );
}

#[test]
fn a_workflow_that_is_gone_is_a_matter_for_people() {
    let task = walked(&rules(line(&["a", "b"])), 1);
    let mut other = line(&["a"]);
    other.name = id("other");
    let other = Rules::new(project(other), org()).unwrap().0;
    assert_eq!(due_act(&other, &task), None);
    assert_eq!(decide(&other, &task, &Act::Move, at(50)).unwrap_err().code(), "unknown_workflow");
    let same = rules(line(&["a", "b"]));
    for act in [Act::Move, Act::Reroute] {
        assert_eq!(
            decide(&same, &task, &act, at(50)),
            Ok(Decision::Settled { visit: 1 }),
            "nothing is owed"
        );
    }
}

#[test]
fn a_circle_is_still_one_after_a_move() {
    let flow = |names: &[&str]| {
        let mut flow = line(names);
        let last = flow.gates.len() - 1;
        flow.gates[last] = reviewing(names[last], "backend");
        flow
    };
    let old = rules(flow(&["a", "b"]));
    let mut task = opened(&old, &[]);
    for _ in 1..=6 {
        task = say(&old, &task, "agent-7", "complete").unwrap().task;
        task = say(&old, &task, "agent-7", "needs_review").unwrap().task;
    }
    assert_eq!(task.status, Status::Blocked);
    let new = rules(flow(&["c", "b"]));
    let moved = conform(&new, &task).0;
    assert_eq!(stands(&moved), "c@13 blocked");
    assert_eq!(
        moved.blockers,
        ["Circular rejection loop: sent back to gate 'c' 6 times, last by 'b'"]
    );
    assert_eq!(say(&new, &moved, "agent-7", "complete").unwrap_err().code(), "circular_loop");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn after_any_rule_change_an_agent_can_act_or_a_blocker_says_why_not(
        old in workflows(), new in workflows(), acts in acts(), split in 0..3_usize, without in 0..6_usize,
    ) {
        let old = rules(old);
        let mut task = opened(&old, &[]);
        for (number, act) in acts.into_iter().enumerate() {
            let act = match act {
                Act::Complete(completion) => Act::Complete(Completion { id: id(&format!("c{number}")), ..completion }),
                other => other,
            };
            if let Ok(Decision::Step(step)) = decide(&old, &task, &act, at(i64::try_from(number).unwrap())) {
                task = step.task;
            }
        }
        // Some gates keep their names, some are removed, and one becomes a fork.
        let mut new = new;
        let count = new.gates.len();
        new.gates.rotate_left(split % count);
        for gate in &mut new.gates {
            let first_may_not = |duty: &mut Duty| duty.can_reject = false;
            *gate = with(gate.clone(), first_may_not);
            gate.exits = Exits::default();
        }
        new.rejection = RejectionStrategy::Origin;
        new.gates[0].when = None;
        if split == 2 {
            let name = new.gates[0].id.to_string();
            let plain = |name: &str, role: &str| Branch::new(gate(name, role)).unwrap();
            new.gates[0] = fork(&name, JoinStrategy::All, vec![plain("x", "qa"), plain("y", "backend")]);
        }
        let new = with_people(new, |org| {
            if let Some((_, role)) = org.roles.get_mut(without) {
                role.agents.clear();
            }
        });
        let (after, _) = conform(&new, &task);
        if after.gate.is_some() {
            let speaks = !Workplace::open(&new, &after).is_empty();
            let has_blockers = after.status == Status::Blocked && !after.blockers.is_empty();
            prop_assert!(speaks || has_blockers, "{:?}", after);
            if let Some(workplace) = Workplace::of(&new, &after) {
                prop_assert_eq!(after.routing.role.as_ref(), Some(workplace.role));
                let waits = after.routing.agent.is_none() && after.status == Status::Ready;
                prop_assert!(!waits || workplace.is_staffed(&new));
            }
        } else {
            prop_assert_eq!(after, task, "what has ended is left alone");
        }
    }
}
