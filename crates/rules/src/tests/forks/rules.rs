//! Forks and their rules: faults of the rules, and tasks whose rules change.

use super::*;

#[test]
fn a_gate_that_became_a_fork_meanwhile_lets_nobody_through() {
    let before = rules(workflow(vec![
        gate("work", "backend"),
        gate("review", "qa"),
        gate("done", "architect"),
    ]));
    let task = at_fork(&before);
    let rules = rules(forked(JoinStrategy::All));
    assert!(!passes_by_itself(&rules, &task));
    assert_eq!(say(&rules, &task, "agent-5", "complete").unwrap_err().code(), "branches_not_open");
    let open =
        Act::Override { by: Actor::Person(None), to: id("review"), reason: "open it".into() };
    assert_eq!(
        branches(&step(&rules, &task, &open, 99).unwrap().task),
        ["ready", "ready", "ready"]
    );
}

#[test]
fn a_fork_that_became_a_gate_meanwhile_is_claimed_and_given_back_as_a_gate() {
    let before = rules(forked(JoinStrategy::All));
    let task = walk(&before, &[("a", "blocked")]);
    let rules = rules(workflow(vec![
        gate("work", "backend"),
        gate("review", "qa"),
        gate("done", "architect"),
    ]));
    let claim = Act::Claim { agent: id("agent-5"), branch: None };
    let claimed = step(&rules, &task, &claim, 60).unwrap().task;
    assert_eq!(stands(&claimed), "review@1 in_progress");
    for by in [Actor::Agent(id("agent-5")), Actor::Person(None)] {
        let free = step(&rules, &claimed, &Act::Release { by, branch: None }, 61).unwrap().task;
        assert_eq!((stands(&free), free.routing.agent.clone()), ("review@1 ready".into(), None));
        assert!(matches!(explain(&rules, Some(&claimed), &free), StateChange::Act(_)));
    }
    let by = Actor::Person(None);
    for act in [
        Act::Release { by: by.clone(), branch: Some(id("a")) },
        Act::Unblock { by: by.clone(), branch: Some(id("a")), reason: None },
    ] {
        assert_eq!(decide(&rules, &claimed, &act, at(61)).unwrap_err().code(), "no_such_branch");
    }
    let unblock = Act::Unblock { by, branch: None, reason: None };
    assert_eq!(decide(&rules, &claimed, &unblock, at(61)).unwrap_err().code(), "not_blocked");
    let held = say(&rules, &claimed, "agent-5", "blocked").unwrap().task;
    assert_eq!(stands(&step(&rules, &held, &unblock, 99).unwrap().task), "review@3 ready");
}

#[test]
fn a_branch_that_is_gone_from_the_rules_holds_nothing_up() {
    let before = rules(forked(JoinStrategy::All));
    let task = walk(&before, &[("a", "complete")]);
    let mut flow = forked(JoinStrategy::All);
    if let GateKind::Fork(fork) = &mut flow.gates[1].kind {
        fork.branches.remove(2);
    }
    let rules = rules(flow);
    assert_eq!(
        say_at(&rules, &task, "c", "agent-7", "complete").unwrap_err().code(),
        "no_such_branch"
    );
    assert_eq!(
        stands(&say_at(&rules, &task, "b", "agent-5", "complete").unwrap().task),
        "done@3 ready"
    );
}

#[test]
fn a_fork_is_judged_again_when_the_rules_remove_the_awaited_branch() {
    let before = rules(forked(JoinStrategy::All));
    let without = |number: usize| {
        let mut flow = forked(JoinStrategy::All);
        if let GateKind::Fork(fork) = &mut flow.gates[1].kind {
            fork.branches.remove(number);
        }
        rules(flow)
    };
    let mut people = org();
    people.roles[0].1.agents.clear();
    let nobody = Rules::new(project(forked(JoinStrategy::All)), people).unwrap().0;
    let claim = Act::Claim { agent: id("agent-7"), branch: Some(id("c")) };
    let rejected = walk(&before, &[("a", "needs_review"), ("b", "complete")]);
    let claimed = step(&before, &rejected, &claim, 40).unwrap().task;
    let passed = walk(&before, &[("a", "complete"), ("b", "complete")]);
    let blocked = walk(&before, &[("a", "complete"), ("b", "complete"), ("c", "blocked")]);
    assert_eq!(stands(&blocked), "review@1 blocked");
    let unblock = Act::Unblock { by: Actor::Person(None), branch: None, reason: None };
    let table = [
        (&rejected, without(2), "work@4 ready"),
        (&claimed, without(2), "work@4 ready"),
        (&passed, without(2), "done@4 ready"),
        (&rejected, nobody.clone(), "work@4 blocked"),
    ];
    for (task, rules, then) in table {
        assert!(!passes_by_itself(&before, task), "somebody is waited for");
        assert!(passes_by_itself(&rules, task));
        let after = step(&rules, task, &unblock, 60).unwrap().task;
        assert_eq!(stands(&after), then);
        assert!(
            matches!(explain(&rules, Some(task), &after), StateChange::Act(found) if found.act == Act::Pass)
        );
        let last = after.history.last().unwrap();
        assert_eq!((last.branch.clone(), last.agent.clone()), (None, None));
        let wants: Vec<String> =
            after.review.into_iter().flat_map(|review| review.blockers).collect();
        let expected: &[&str] =
            if then == "done@4 ready" { &[] } else { &["a: coverage is 65%, need 80%"] };
        assert_eq!(wants, expected);
    }
    // A branch that waited is unblocked, and is then gone.
    let rules = without(2);
    let after = step(&rules, &blocked, &unblock, 60).unwrap().task;
    assert_eq!(stands(&step(&rules, &after, &Act::Pass, 60).unwrap().task), "done@5 ready");
    // Without a verdict, and while an agent can still complete a branch, the fork does not pass by itself.
    assert!(!passes_by_itself(&rules, &at_fork(&before)));
    assert!(!passes_by_itself(&nobody, &passed));
    assert_eq!(
        decide(&without(1), &rejected, &Act::Pass, at(60)).unwrap_err().code(),
        "not_automatic"
    );
}

#[test]
fn faults_of_a_fork_are_reported_at_load() {
    let two = |first: Branch, second: Branch| {
        let review = fork("review", JoinStrategy::All, vec![first, second]);
        workflow(vec![gate("work", "backend"), review, gate("done", "architect")])
    };
    let routed_branch =
        |routes: &[(&str, &str)]| Branch::new(routed(gate("a", "architect"), routes)).unwrap();
    let b = || branch("b", "qa");
    assert_eq!(codes(two(branch("b", "architect"), b())), ["duplicate_branch"]);
    assert_eq!(codes(two(branch("work", "architect"), b())), ["branch_named_like_gate"]);
    assert_eq!(codes(two(branch("a", "nobody"), b())), ["unknown_role"]);
    assert_eq!(codes(two(routed_branch(&[("fine", "done")]), b())), ["branch_leads_away"]);
    assert_eq!(codes(two(routed_branch(&[("fine", "$end")]), b())), ["branch_leads_away"]);
    assert_eq!(codes(two(routed_branch(&[("complete", "$previous")]), b())), ["branch_leads_away"]);
    assert_eq!(codes(two(routed_branch(&[("ugly", "$previous")]), b())), ["branch_never_passes"]);
    assert_eq!(codes(two(routed_branch(&[("skip", "$next")]), b())), ["dead_field"]);
    let first =
        workflow(vec![fork("review", JoinStrategy::All, vec![branch("a", "architect"), b()])]);
    assert_eq!(codes(first), ["first_gate_rejects"]);
    let one = workflow(vec![gate("work", "backend"), fork("review", JoinStrategy::All, vec![b()])]);
    assert_eq!(codes(one), ["fork_without_branches"]);
    let plain = || Branch::new(gate("a", "architect")).unwrap();
    let mut dead = two(plain(), Branch::new(gate("b", "qa")).unwrap());
    dead.gates[1] = routed(dead.gates[1].clone(), &[("needs_review", "work"), ("great", "$next")]);
    assert_eq!(codes(dead), ["dead_field", "dead_field"]);
    let itself = changed(0, |gate| {
        *gate = with(gate.clone(), |duty| duty.separate_from = vec![id("review")]);
    });
    assert_eq!(codes(itself), ["unknown_gate"]);
}

#[test]
fn a_fork_has_an_end() {
    let wide = |forks: usize, branches: usize| {
        let of = |number: usize| {
            (0..branches).map(move |index| branch(&format!("b{number}-{index}"), "qa")).collect()
        };
        let forks =
            (0..forks).map(|number| fork(&format!("f{number}"), JoinStrategy::All, of(number)));
        workflow([gate("work", "backend")].into_iter().chain(forks).collect())
    };
    let errors_of = |flow: Workflow| {
        let findings = Rules::new(project(flow), org()).err().unwrap_or_default();
        let errors = findings.into_iter().filter(|finding| finding.severity == Severity::Error);
        errors.map(|finding| finding.message).collect::<Vec<_>>()
    };
    assert_eq!(codes(wide(1, 100)), Vec::<&str>::new());
    assert_eq!(errors_of(wide(1, 101)), ["fork `f0` has 101 branches: 100 is the most"]);
    assert_eq!(
        errors_of(wide(10, 100)),
        ["a workflow of 11 gates and 1000 branches: 1000 in all is the most"]
    );
    assert_eq!(codes(wide(2, 600)), ["too_many_gates", "too_many_branches", "too_many_branches"]);
}
