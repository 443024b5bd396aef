//! Workers at the branches of a fork: claims, escalations, and branches without agents.

use super::*;

#[test]
fn branches_are_claimed_given_back_and_set_going_each_on_its_own() {
    let rules = rules(forked(JoinStrategy::All));
    let task = at_fork(&rules);
    let claim =
        |branch: &str, agent: &str| Act::Claim { agent: id(agent), branch: Some(id(branch)) };
    let task = step(&rules, &task, &claim("c", "agent-7"), 2).unwrap().task;
    assert_eq!(stands(&task), "review@1 ready", "others can be taken");
    assert_eq!(
        decide(&rules, &task, &claim("c", "agent-8"), at(2)).unwrap_err().code(),
        "assigned_to_another"
    );
    assert_eq!(
        say_at(&rules, &task, "c", "agent-8", "complete").unwrap_err().code(),
        "assigned_to_another"
    );
    let task = step(&rules, &task, &claim("a", "agent-3"), 3).unwrap().task;
    let task = step(&rules, &task, &claim("b", "agent-5"), 4).unwrap().task;
    assert_eq!(stands(&task), "review@1 in_progress");
    let person = || Actor::Person(None);
    let release = |branch: Option<&str>| Act::Release { by: person(), branch: branch.map(id) };
    assert_eq!(decide(&rules, &task, &release(None), at(5)).unwrap_err().code(), "branch_needed");
    let task = step(&rules, &task, &release(Some("b")), 5).unwrap().task;
    assert_eq!(branches(&task), ["in_progress", "ready", "in_progress"]);
    let act = Act::Release { by: Actor::Agent(id("agent-3")), branch: None };
    let task = step(&rules, &task, &act, 6).unwrap().task;
    assert_eq!(branches(&task), ["ready", "ready", "in_progress"]);

    let task = say_at(&rules, &task, "a", "agent-3", "blocked").unwrap().task;
    assert_eq!(
        (branches(&task), stands(&task)),
        (vec!["blocked", "ready", "in_progress"], "review@1 ready".into())
    );
    assert_eq!(
        decide(&rules, &task, &claim("a", "agent-3"), at(70)).unwrap_err().code(),
        "task_blocked"
    );
    let unblock =
        |branch: Option<&str>| Act::Unblock { by: person(), branch: branch.map(id), reason: None };
    assert_eq!(
        decide(&rules, &task, &unblock(Some("b")), at(70)).unwrap_err().code(),
        "not_blocked"
    );
    let after = step(&rules, &task, &unblock(None), 70).unwrap().task;
    assert_eq!(branches(&after), ["ready", "ready", "in_progress"]);
    assert!(matches!(explain(&rules, Some(&task), &after), StateChange::Act(_)));
    // A blocked branch may also be completed directly.
    assert_eq!(
        branches(&say_at(&rules, &task, "a", "agent-3", "complete").unwrap().task)[0],
        "complete"
    );
}

#[test]
fn the_holder_of_a_branch_does_not_hold_the_task() {
    let rules = rules(forked(JoinStrategy::All));
    let claim = Act::Claim { agent: id("agent-7"), branch: Some(id("c")) };
    let task = step(&rules, &at_fork(&rules), &claim, 2).unwrap().task;
    let by = || Actor::Agent(id("agent-7"));
    let reason = || "I say so".to_owned();
    let unblock =
        |branch: Option<&str>| Act::Unblock { by: by(), branch: branch.map(id), reason: None };
    let table = [
        (Act::Override { by: by(), to: id("done"), reason: reason() }, "not_permitted"),
        (Act::Cancel { by: by(), reason: reason() }, "not_permitted"),
        (unblock(None), "not_permitted"),
        (unblock(Some("a")), "not_permitted"),
        (unblock(Some("c")), "not_blocked"),
    ];
    for (act, code) in table {
        assert_eq!(decide(&rules, &task, &act, at(9)).unwrap_err().code(), code, "{act:?}");
    }
    let act = Act::Release { by: by(), branch: Some(id("c")) };
    assert_eq!(branches(&step(&rules, &task, &act, 9).unwrap().task), ["ready", "ready", "ready"]);
}

#[test]
fn a_branch_for_which_there_is_nobody_waits_and_holds_nothing_up() {
    let rules =
        rules(changed(1, |gate| *gate = with(gate.clone(), |duty| duty.role = id("security"))));
    let task = at_fork(&rules);
    assert_eq!(branches(&task), ["ready", "blocked", "ready"]);
    assert_eq!(
        task.gate.as_ref().unwrap().branches[1].blockers,
        ["No agents available for role: security"]
    );
    let unblock = Act::Unblock { by: Actor::Person(None), branch: None, reason: None };
    assert_eq!(decide(&rules, &task, &unblock, at(20)).unwrap_err().code(), "task_blocked");
    let passed = walk(&rules, &[("a", "complete"), ("c", "complete")]);
    assert_eq!(stands(&passed), "review@1 blocked");
    assert_eq!(passed.blockers, ["b: No agents available for role: security"]);
    assert_eq!(stands(&walk(&rules, &[("a", "needs_review"), ("c", "complete")])), "work@3 ready");
}

#[test]
fn agents_at_work_when_a_fork_is_left_are_named_and_notified() {
    let rules = rules(forked(JoinStrategy::Any));
    let task = at_fork(&rules);
    let passed = say_at(&rules, &task, "b", "agent-5", "complete").unwrap().task;
    assert_eq!(passed.history.last().unwrap().unfinished, [id::<GateId>("a"), id("c")]);
    let mut late = completion("agent-3", "complete");
    late.ticket = id("AOF-abc@1/a");
    assert_eq!(
        decide(&rules, &passed, &Act::Complete(late), at(99)).unwrap_err().code(),
        "visit_ended"
    );
    let person = Actor::Person(None);
    let moved = Act::Override { by: person.clone(), to: id("done"), reason: "now".into() };
    let cancelled = Act::Cancel { by: person, reason: "never".into() };
    let task = walk(&rules, &[("a", "blocked")]);
    for (act, then) in [(moved, "done@3 ready"), (cancelled, "cancelled")] {
        let after = step(&rules, &task, &act, 99).unwrap().task;
        assert_eq!(stands(&after), then);
        let last = after.history.last().unwrap();
        assert_eq!(
            (last.branch.clone(), last.role.clone(), last.unfinished.len()),
            (None, None, 3)
        );
        assert!(matches!(explain(&rules, Some(&task), &after), StateChange::Act(_)));
        assert!(after.review.is_none());
    }
}

/// Returns rules in which the gate after the fork may send a task back to it, and one return is already too often.
fn sent_back(then: Exhausted) -> Rules {
    let mut flow = forked(JoinStrategy::All);
    flow.gates[2] = routed(reviewing("done", "architect"), &[("needs_review", "review")]);
    flow.gates[2].exits.max_retries = Some(0);
    flow.gates[2].exits.on_exhausted = then;
    rules(flow)
}

fn back_at_fork(rules: &Rules) -> Task {
    let passed = walk(rules, &[("a", "complete"), ("b", "complete"), ("c", "complete")]);
    say(rules, &passed, "agent-3", "needs_review").unwrap().task
}

#[test]
fn a_fork_that_is_escalated_belongs_to_that_role_in_all_its_branches() {
    let rules = sent_back(Exhausted::Escalate(id("po")));
    let mut task = back_at_fork(&rules);
    assert_eq!(stands(&task), "review@5 ready");
    let roles: Vec<&str> =
        task.gate.iter().flat_map(|open| &open.branches).map(|part| part.role.as_str()).collect();
    assert_eq!(roles, ["po", "po", "po"]);
    assert_eq!(
        say_at(&rules, &task, "a", "agent-3", "complete").unwrap_err().code(),
        "human_required"
    );
    for branch in ["a", "b", "c"] {
        task = say_at(&rules, &task, branch, "human-ada", "complete").unwrap().task;
    }
    assert_eq!(stands(&task), "done@8 ready");
}

#[test]
fn a_fork_to_which_a_task_comes_back_too_often_waits_as_a_whole() {
    let rules = sent_back(Exhausted::Block);
    let task = back_at_fork(&rules);
    assert_eq!(stands(&task), "review@5 blocked");
    assert_eq!(
        say_at(&rules, &task, "a", "agent-3", "complete").unwrap_err().code(),
        "circular_loop"
    );
    let claim = Act::Claim { agent: id("agent-3"), branch: None };
    assert_eq!(decide(&rules, &task, &claim, at(99)).unwrap_err().code(), "task_blocked");
    let unblock = |reason: Option<&str>| Act::Unblock {
        by: Actor::Person(None),
        branch: None,
        reason: reason.map(str::to_owned),
    };
    assert_eq!(decide(&rules, &task, &unblock(None), at(99)).unwrap_err().code(), "missing_reason");
    let task = step(&rules, &task, &unblock(Some("once more")), 99).unwrap().task;
    assert_eq!(
        (stands(&task), branches(&task)),
        ("review@6 ready".into(), vec!["ready", "ready", "ready"])
    );
}
