use crate::tests::world::*;
use crate::{Act, Actor, Decision, StateChange, decide, events, explain};
use aof_domain::*;

fn person() -> Actor {
    Actor::Person(Some(id("human-ada")))
}

fn code(result: Result<crate::WorkflowStep, crate::Refusal>) -> &'static str {
    result.unwrap_err().code()
}

#[test]
fn a_claim_is_given_back_by_its_holder_or_by_people() {
    let rules = rules(sdlc());
    let task = opened(&rules, &[]);
    let release = |by| Act::Release { by, branch: None };
    assert_eq!(code(step(&rules, &task, &release(person()), 1)), "not_claimed");
    let claimed =
        step(&rules, &task, &Act::Claim { agent: id("agent-7"), branch: None }, 1).unwrap().task;
    assert_eq!(
        code(step(&rules, &claimed, &release(Actor::Agent(id("agent-8"))), 2)),
        "assigned_to_another"
    );
    for by in [Actor::Agent(id("agent-7")), person()] {
        let free = step(&rules, &claimed, &release(by), 2).unwrap().task;
        assert_eq!((stands(&free).as_str(), free.routing.agent), ("implement@0 ready", None));
    }
}

#[test]
fn agents_may_act_as_the_org_permits() {
    let mut chart = org();
    let register = chart.all_agents().into_iter().map(|agent| (agent.clone(), Agent::default()));
    let mut register: std::collections::BTreeMap<_, _> = register.collect();
    register.get_mut(&id("agent-3")).unwrap().may = vec![Permission::Cancel];
    chart.agents = Some(register);
    let rules = crate::Rules::new(project(sdlc()), chart).unwrap().0;
    let task = opened(&rules, &[]);
    let cancel =
        |agent: &str| Act::Cancel { by: Actor::Agent(id(agent)), reason: "not needed".into() };
    assert_eq!(code(step(&rules, &task, &cancel("agent-7"), 1)), "not_permitted");
    assert_eq!(stands(&step(&rules, &task, &cancel("agent-3"), 1).unwrap().task), "cancelled");
    let held =
        step(&rules, &task, &Act::Claim { agent: id("agent-7"), branch: None }, 1).unwrap().task;
    assert_eq!(stands(&step(&rules, &held, &cancel("agent-7"), 1).unwrap().task), "cancelled");
}

#[test]
fn a_cancelled_task_can_be_taken_up_again() {
    let rules = rules(sdlc());
    let task = opened(&rules, &[]);
    let reopen =
        |to: &str| Act::Reopen { by: person(), to: id(to), reason: "wanted after all".into() };
    assert_eq!(code(step(&rules, &task, &reopen("test"), 1)), "not_finished");
    let gone =
        step(&rules, &task, &Act::Cancel { by: person(), reason: "no".into() }, 1).unwrap().task;
    assert_eq!(code(step(&rules, &gone, &reopen("deploy"), 2)), "unknown_gate");
    let back = step(&rules, &gone, &reopen("test"), 2).unwrap().task;
    assert_eq!(stands(&back), "test@2 ready");
    assert_eq!(back.history[1].outcome, Ending::Reopened);
    assert_eq!(back.history[1].duration(), 0);
}

#[test]
fn an_override_needs_a_reason_and_is_recorded() {
    let rules = rules(sdlc());
    let task = opened(&rules, &[]);
    let to =
        |reason: &str| Act::Override { by: person(), to: id("approve"), reason: reason.into() };
    assert_eq!(code(step(&rules, &task, &to(" "), 1)), "missing_reason");
    let moved = step(&rules, &task, &to("urgent"), 1).unwrap().task;
    assert_eq!(
        (stands(&moved).as_str(), moved.history[0].summary.as_str()),
        ("approve@1 ready", "urgent")
    );
}

#[test]
fn the_holder_of_a_task_may_not_move_it_past_a_gate_of_others() {
    let rules = rules(sdlc());
    let seven: AgentId = id("agent-7");
    let claim = Act::Claim { agent: seven.clone(), branch: None };
    let task = step(&rules, &opened(&rules, &[]), &claim, 1).unwrap().task;
    let by = Actor::Agent(seven);
    let past = Act::Override { by: by.clone(), to: id("approve"), reason: "urgent".into() };
    assert_eq!(code(step(&rules, &task, &past, 2)), "not_permitted");
    let cancel = Act::Cancel { by, reason: "not wanted".into() };
    assert!(step(&rules, &task, &cancel, 2).unwrap().task.status.is_finished());
}

#[test]
fn unblocking_a_loop_resets_the_count_and_says_why() {
    let rules = rules(sdlc());
    let mut task = opened(&rules, &[]);
    for _ in 1..=6 {
        task = say(&rules, &task, "agent-7", "complete").unwrap().task;
        task = say(&rules, &task, "agent-3", "needs_review").unwrap().task;
    }
    let unblock = |reason: Option<&str>| Act::Unblock {
        by: person(),
        branch: None,
        reason: reason.map(str::to_owned),
    };
    assert_eq!(code(step(&rules, &task, &unblock(None), 200)), "missing_reason");
    let task = step(&rules, &task, &unblock(Some("they agreed on a target")), 200).unwrap().task;
    assert_eq!(stands(&task), "implement@13 ready");
    assert_eq!(task.history.last().unwrap().outcome, Ending::Override);
    let task = say(&rules, &task, "agent-7", "complete").unwrap().task;
    let task = say(&rules, &task, "agent-3", "needs_review").unwrap().task;
    assert_eq!(task.history.last().unwrap().retry, Some(1));
}

#[test]
fn unblocking_adds_no_entry_and_needs_something_to_have_changed() {
    let rules = rules(sdlc());
    let unblock = Act::Unblock { by: person(), branch: None, reason: None };
    let held = say(&rules, &opened(&rules, &[]), "agent-7", "blocked").unwrap().task;
    let free = step(&rules, &held, &unblock, 30).unwrap().task;
    assert_eq!((stands(&free).as_str(), free.history.len()), ("implement@1 ready", 1));
    assert_eq!(code(step(&rules, &free, &unblock, 31)), "not_blocked");

    let task = say(&rules, &opened(&rules, &["security"]), "agent-7", "complete").unwrap().task;
    let task = say(&rules, &task, "agent-3", "complete").unwrap().task;
    assert_eq!(
        code(step(&rules, &task, &unblock, 31)),
        "task_blocked",
        "there is still nobody in the role"
    );
}

#[test]
fn a_task_begins_with_its_written_assignee_if_the_rules_allow_it() {
    let rules = rules(sdlc());
    let new = new_task(&[]);
    let open_for = |agent: &str| Act::OpenFor { agent: id(agent) };
    let Decision::Step(begun) = decide(&rules, &new, &open_for("agent-8"), at(3)).unwrap() else {
        panic!()
    };
    // The result is the same as opening and assigning it at once.
    let opened = step(&rules, &new, &Act::Open, 3).unwrap().task;
    let assign = Act::Assign { by: person(), agent: id("agent-8"), branch: None };
    assert_eq!(begun.task, step(&rules, &opened, &assign, 3).unwrap().task);
    assert_eq!(
        (stands(&begun.task).as_str(), begun.task.routing.claimed),
        ("implement@0 in_progress", Some(at(3)))
    );
    for before in [None, Some(&new)] {
        assert!(
            matches!(explain(&rules, before, &begun.task), StateChange::Act(found) if found.act == open_for("agent-8"))
        );
        let found = events(&rules, before, &begun.task);
        assert!(
            matches!(&found[..], [Event::Created { .. }, Event::Assigned { agent, .. }] if agent.as_str() == "agent-8"),
            "{found:?}"
        );
    }
    assert_eq!(code(step(&rules, &new, &open_for("agent-3"), 3)), "wrong_role");
    assert_eq!(code(step(&rules, &begun.task, &open_for("agent-8"), 4)), "not_finished");
    // The claim cannot be forged for another agent, or to another time.
    for forge in [(|task| task.routing.agent = Some(id("agent-3"))) as fn(&mut Task), |task| {
        task.routing.claimed = Some(at(2));
    }] {
        let mut forged = begun.task.clone();
        forge(&mut forged);
        assert!(matches!(explain(&rules, Some(&new), &forged), StateChange::Foreign(_)));
    }
}

#[test]
fn until_a_task_stands_somewhere_all_that_is_said_of_it_is_peoples() {
    let rules = rules(sdlc());
    let before = new_task(&[]);
    let mut after = before.clone();
    after.routing = Routing { role: Some(id("architect")), ..Routing::of(id("other")) };
    after.context.insert("input".to_owned(), serde_json::json!({"ticket": 7}));
    assert_eq!(explain(&rules, Some(&before), &after), StateChange::Edit);
}
