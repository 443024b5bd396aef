//! Time limits, by a clock that the tests set.

use crate::tests::world::*;
use crate::{Act, Actor, Decision, Limit, Rules, deadlines, decide};
use aof_domain::*;

/// work (lease 10m) -> review (30m, then qa) -> a fork of two branches (20m: one escalates, one does not) -> done (workflow's 1h)
fn limited() -> Rules {
    let branch = |name: &str, to: Option<&str>| {
        Branch::new(with(gate(name, "backend"), |duty| {
            duty.timeout = Some(id("20m"));
            duty.escalate_to = to.map(id);
        }))
        .unwrap()
    };
    let work = with(gate("work", "backend"), |duty| duty.lease = Some(id("10m")));
    let review = with(reviewing("review", "architect"), |duty| {
        duty.timeout = Some(id("30m"));
        duty.escalate_to = Some(id("qa"));
    });
    let checks =
        fork("checks", JoinStrategy::All, vec![branch("a", Some("qa")), branch("b", None)]);
    let gates = vec![work, review, checks, gate("done", "qa")];
    rules(Workflow { timeout: Some(id("1h")), ..workflow(gates) })
}

fn at_review(rules: &Rules) -> Task {
    step(rules, &opened(rules, &[]), &Act::Complete(completion("agent-7", "complete")), 1)
        .unwrap()
        .task
}

fn at_checks(rules: &Rules) -> Task {
    let mut pass = completion("agent-3", "complete");
    pass.id = id("c2");
    step(rules, &at_review(rules), &Act::Complete(pass), 2).unwrap().task
}

/// Returns the limits that run out, in minutes of the test day.
fn ends(rules: &Rules, task: &Task) -> Vec<(i64, Limit, Option<String>)> {
    let minute = |time: Timestamp| (time.as_second() - at(0).as_second()) / 60;
    let name = |branch: Option<GateId>| branch.map(|id| id.to_string());
    deadlines(rules, task)
        .into_iter()
        .map(|end| (minute(end.at), end.limit, name(end.branch)))
        .collect()
}

fn code(rules: &Rules, task: &Task, act: &Act, minute: i64) -> &'static str {
    decide(rules, task, act, at(minute)).map_or_else(|refusal| refusal.code(), |_| "done")
}

#[test]
fn a_workflow_sets_limits_that_its_gates_lack_and_a_claim_has_its_own() {
    let rules = limited();
    let task = opened(&rules, &[]);
    assert_eq!(ends(&rules, &task), [(60, Limit::Timeout, None)]);
    let claimed =
        step(&rules, &task, &Act::Claim { agent: id("agent-7"), branch: None }, 5).unwrap().task;
    assert_eq!(ends(&rules, &claimed), [(15, Limit::Lease, None), (60, Limit::Timeout, None)]);
    let renew = Act::Renew { agent: id("agent-7"), branch: None, note: None };
    let renewed = step(&rules, &claimed, &renew, 14).unwrap().task;
    assert_eq!(ends(&rules, &renewed)[0], (24, Limit::Lease, None));
    let lapse = Act::Lapse { branch: None };
    assert_eq!(code(&rules, &renewed, &lapse, 23), "not_due");
    let free = step(&rules, &renewed, &lapse, 24).unwrap().task;
    assert_eq!(
        (free.status, free.routing.lost.clone(), free.history.len()),
        (Status::Ready, Some(id("agent-7")), 0)
    );
    assert_eq!(code(&rules, &free, &lapse, 99), "not_due", "it ends once");
    assert_eq!(ends(&rules, &free), [(60, Limit::Timeout, None)]);
}

#[test]
fn a_timeout_escalates_once_and_the_next_role_has_no_limit() {
    let rules = limited();
    let task = at_review(&rules);
    let timeout = Act::Timeout { branch: None };
    assert_eq!(code(&rules, &task, &timeout, 30), "not_due");
    let after = step(&rules, &task, &timeout, 31).unwrap().task;
    let entry = after.history.last().unwrap();
    assert_eq!(
        (entry.outcome.clone(), entry.escalated_to.clone()),
        (Ending::Timeout, Some(id("qa")))
    );
    assert_eq!((after.routing.role.clone(), ends(&rules, &after)), (Some(id("qa")), Vec::new()));
    assert_eq!(code(&rules, &after, &timeout, 999), "not_due");
    let mut pass = completion("agent-5", "complete");
    pass.id = id("c3");
    assert_eq!(
        code(&rules, &after, &Act::Complete(pass), 40),
        "done",
        "its agents can complete it"
    );
    let mut late = completion("agent-3", "complete");
    late.id = id("c4");
    assert_eq!(
        code(&rules, &after, &Act::Complete(late), 40),
        "wrong_role",
        "nobody had claimed it"
    );
    let had =
        step(&rules, &task, &Act::Claim { agent: id("agent-3"), branch: None }, 3).unwrap().task;
    let taken = step(&rules, &had, &timeout, 31).unwrap().task;
    let mut late = completion("agent-3", "complete");
    late.id = id("c5");
    assert_eq!(code(&rules, &taken, &Act::Complete(late), 40), "visit_ended");
}

#[test]
fn a_branch_has_limits_of_its_own() {
    let rules = limited();
    let task = at_checks(&rules);
    let both =
        [(22, Limit::Timeout, Some("a".to_owned())), (22, Limit::Timeout, Some("b".to_owned()))];
    assert_eq!(ends(&rules, &task), both);
    let escalated = step(&rules, &task, &Act::Timeout { branch: Some(id("a")) }, 22).unwrap().task;
    assert_eq!(ends(&rules, &escalated), [(22, Limit::Timeout, Some("b".to_owned()))]);
    let marked =
        step(&rules, &escalated, &Act::Timeout { branch: Some(id("b")) }, 22).unwrap().task;
    assert_eq!((ends(&rules, &marked), marked.history.len()), (Vec::new(), 3));
    let open = marked.gate.as_ref().unwrap();
    let branches: Vec<_> =
        open.branches.iter().map(|part| (part.role.as_str(), part.overdue.is_some())).collect();
    assert_eq!(branches, [("qa", false), ("backend", true)]);
    let say = |task: &Task, branch: &str, agent: &str, minute: i64| {
        let mut says = completion(agent, "complete");
        (says.ticket, says.id) =
            (task.ticket_of(Some(&id(branch))), id(&format!("{branch}{minute}")));
        step(&rules, task, &Act::Complete(says), minute)
    };
    assert_eq!(say(&marked, "a", "agent-7", 23).unwrap_err().code(), "wrong_role");
    let one = say(&marked, "a", "agent-5", 23).unwrap().task;
    let all = say(&one, "b", "agent-7", 24).unwrap().task;
    assert_eq!(stands(&all), "done@5 ready");
}

#[test]
fn nothing_runs_while_a_task_is_blocked_or_held_and_a_full_term_begins_after() {
    let rules = limited();
    let task = at_review(&rules);
    let held =
        step(&rules, &task, &Act::Hold { by: Actor::Person(None), reason: "wait".into() }, 20)
            .unwrap()
            .task;
    assert_eq!(ends(&rules, &held), Vec::new());
    assert_eq!(code(&rules, &held, &Act::Timeout { branch: None }, 500), "not_due");
    let mut pass = completion("agent-3", "complete");
    pass.id = id("c8");
    assert_eq!(code(&rules, &held, &Act::Complete(pass), 21), "task_held");
    let unblock = Act::Unblock { by: Actor::Person(None), branch: None, reason: None };
    let resumed = step(&rules, &held, &unblock, 100).unwrap().task;
    assert_eq!(ends(&rules, &resumed), [(130, Limit::Timeout, None)]);
    let mut stuck = completion("agent-3", "blocked");
    stuck.content.blockers = Some(vec!["The key is missing, Ann has it".into()]);
    stuck.id = id("c9");
    let blocked = step(&rules, &task, &Act::Complete(stuck), 20).unwrap().task;
    assert_eq!(ends(&rules, &blocked), Vec::new());
    let resumed = step(&rules, &blocked, &unblock, 200).unwrap().task;
    assert_eq!(ends(&rules, &resumed), [(230, Limit::Timeout, None)]);
}

#[test]
fn a_clock_that_goes_back_ends_nothing_and_makes_no_visit_negative() {
    let rules = limited();
    let task = at_review(&rules);
    assert_eq!(code(&rules, &task, &Act::Timeout { branch: None }, -1000), "not_due");
    let Ok(Decision::Step(step)) =
        decide(&rules, &task, &Act::Claim { agent: id("agent-3"), branch: None }, at(-1000))
    else {
        panic!("a claim does not depend on the clock")
    };
    assert_eq!(step.task.routing.claimed, Some(task.updated), "never before what has been");
}
