use crate::preview;
use crate::tests::world::*;
use aof_domain::*;

#[test]
fn a_task_walks_the_gates_that_apply() {
    let rules = rules(sdlc());
    let mut task = opened(&rules, &[]);
    assert_eq!(stands(&task), "implement@0 ready");
    for (agent, then) in [
        ("agent-7", "review@1 ready"),
        ("agent-3", "test@2 ready"),
        ("agent-5", "approve@3 ready"),
        ("human-ada", "complete"),
    ] {
        task = say(&rules, &task, agent, "complete").unwrap().task;
        assert_eq!(stands(&task), then);
    }
    let to: Vec<String> =
        task.history.iter().map(|visit| visit.to.clone().unwrap().to_string()).collect();
    assert_eq!(to, ["review", "test", "approve", "$end"]);
    assert_eq!(task.history[1].skipped, [id::<GateId>("audit")]);
    assert_eq!(task.routing, Routing::of(id("default")));
}

#[test]
fn a_rejection_goes_back_and_its_wishes_last_until_its_gate_passes() {
    let rules = rules(sdlc());
    let task = say(&rules, &opened(&rules, &[]), "agent-7", "complete").unwrap().task;
    let task = say(&rules, &task, "agent-3", "needs_review").unwrap().task;
    assert_eq!(stands(&task), "implement@2 ready");
    let review = task.review.clone().unwrap();
    assert_eq!(
        (review.from_gate.as_str(), review.from_role.unwrap().as_str()),
        ("review", "architect")
    );
    assert_eq!(review.blockers, ["coverage is 65%, need 80%"]);
    assert_eq!(task.history[1].retry, Some(1));

    let task = say(&rules, &task, "agent-8", "complete").unwrap().task;
    assert!(task.review.is_some(), "the reviewer sees what was asked for");
    let task = say(&rules, &task, "agent-3", "complete").unwrap().task;
    assert_eq!((stands(&task).as_str(), task.review), ("test@4 ready", None));
}

#[test]
fn strategies_lead_to_their_gates() {
    let at_test = |strategy, reject_to: Option<&str>| {
        let mut workflow = sdlc();
        workflow.rejection = strategy;
        for gate in &mut workflow.gates {
            gate.exits.reject_to = reject_to.map(id).filter(|_| gate.can_reject());
        }
        let rules = rules(workflow);
        let task = say(&rules, &opened(&rules, &[]), "agent-7", "complete").unwrap().task;
        let task = say(&rules, &task, "agent-3", "complete").unwrap().task;
        stands(&say(&rules, &task, "agent-5", "needs_review").unwrap().task)
    };
    assert_eq!(at_test(RejectionStrategy::Origin, None), "implement@3 ready");
    assert_eq!(at_test(RejectionStrategy::Previous, None), "review@3 ready");
    assert_eq!(at_test(RejectionStrategy::Named, Some("implement")), "implement@3 ready");
}

#[test]
fn origin_is_the_first_gate_that_applies() {
    let mut workflow = sdlc();
    workflow.gates.insert(
        0,
        Gate { when: Some("tags.includes('design')".into()), ..gate("design", "backend") },
    );
    let rules = rules(workflow);
    for (tags, origin) in [(vec![], "implement"), (vec!["design"], "design")] {
        let mut task = opened(&rules, &tags);
        while task.gate.as_ref().unwrap().current.as_str() != "review" {
            task = say(&rules, &task, "agent-7", "complete").unwrap().task;
        }
        let task = say(&rules, &task, "agent-3", "needs_review").unwrap().task;
        assert_eq!(task.gate.unwrap().current.as_str(), origin);
    }
}

#[test]
fn blocked_ends_the_visit_and_holds_the_task() {
    let rules = rules(sdlc());
    let task = say(&rules, &opened(&rules, &[]), "agent-7", "blocked").unwrap().task;
    assert_eq!(stands(&task), "implement@1 blocked");
    assert_eq!(task.blockers, ["coverage is 65%, need 80%"]);
    assert!(task.review.is_none());
    let task = say(&rules, &task, "agent-8", "complete").unwrap().task;
    assert_eq!((stands(&task).as_str(), task.blockers.len()), ("review@2 ready", 0));
}

#[test]
fn the_outcomes_map_can_hold_rejections() {
    let mut workflow = sdlc();
    workflow.holds_rejections = true;
    let rules = rules(workflow);
    let task = say(&rules, &opened(&rules, &[]), "agent-7", "complete").unwrap().task;
    let task = say(&rules, &task, "agent-3", "needs_review").unwrap().task;
    assert_eq!(stands(&task), "review@2 blocked");
}

#[test]
fn nobody_in_the_role_blocks_the_task_with_the_specified_text() {
    let rules = rules(sdlc());
    let task = say(&rules, &opened(&rules, &["security"]), "agent-7", "complete").unwrap().task;
    let step = say(&rules, &task, "agent-3", "complete").unwrap();
    assert_eq!(stands(&step.task), "audit@2 blocked");
    assert_eq!(step.task.blockers, ["No agents available for role: security"]);
    assert_eq!(step.events, [Event::BlockedNoAgents { gate: id("audit"), role: id("security") }]);
}

#[test]
fn the_sixth_return_to_a_gate_blocks_the_task() {
    let rules = rules(sdlc());
    let mut task = opened(&rules, &[]);
    for round in 1..=6 {
        task = say(&rules, &task, "agent-7", "complete").unwrap().task;
        let step = say(&rules, &task, "agent-3", "needs_review").unwrap();
        assert_eq!(step.events.is_empty(), round < 6);
        task = step.task;
    }
    assert_eq!(stands(&task), "implement@12 blocked");
    assert_eq!(say(&rules, &task, "agent-7", "complete").unwrap_err().code(), "circular_loop");
}

#[test]
fn a_condition_that_fails_passes_the_gate_over_and_says_so() {
    let with = |policy| {
        let mut workflow = sdlc();
        workflow.gates[3].when = Some("metadata.foo.bar.baz".into());
        workflow.gates[3].on_condition_error = policy;
        let rules = rules(workflow);
        let task = say(&rules, &opened(&rules, &[]), "agent-7", "complete").unwrap().task;
        say(&rules, &task, "agent-3", "complete").unwrap()
    };
    let step = with(OnConditionError::Skip);
    assert_eq!(stands(&step.task), "approve@2 ready");
    let Some(Event::ConditionError(trouble)) = step.events.last() else {
        panic!("{:?}", step.events)
    };
    assert_eq!(trouble.error, "Cannot read property 'bar' of undefined");
    assert_eq!(step.warnings[0].code(), "gate_condition_error");
    assert_eq!(stands(&with(OnConditionError::Enter).task), "test@2 ready");
}

#[test]
fn conditions_see_the_visit_that_just_ended() {
    let mut workflow = sdlc();
    workflow.gates[3].when =
        Some("gateHistory.some(v => v.gate === 'review' && v.outcome === 'complete')".into());
    workflow.gates[1].when = Some("gateHistory.length === 1".into());
    let rules = rules(workflow);
    let task = say(&rules, &opened(&rules, &[]), "agent-7", "complete").unwrap().task;
    assert_eq!(stands(&task), "review@1 ready");
    assert_eq!(stands(&say(&rules, &task, "agent-3", "complete").unwrap().task), "test@2 ready");
}

#[test]
fn a_review_that_does_not_apply_any_more_leaves_no_wish() {
    let mut workflow = sdlc();
    workflow.gates[3].when = Some("tags.includes('qa')".into());
    let rules = rules(workflow);
    let task = say(&rules, &opened(&rules, &["qa"]), "agent-7", "complete").unwrap().task;
    let task = say(&rules, &task, "agent-3", "complete").unwrap().task;
    let mut task = say(&rules, &task, "agent-5", "needs_review").unwrap().task;
    task.tags.clear();
    let task = say(&rules, &task, "agent-7", "complete").unwrap().task;
    assert!(task.review.is_some());
    let task = say(&rules, &task, "agent-3", "complete").unwrap().task;
    assert_eq!((stands(&task).as_str(), task.review), ("approve@5 ready", None));
}

#[test]
fn a_preview_matches_the_step() {
    let rules = rules(sdlc());
    let task = say(&rules, &opened(&rules, &["skip-qa"]), "agent-7", "complete").unwrap().task;
    let passage = preview(&rules, &task, &Outcome::Complete).unwrap();
    let after = say(&rules, &task, "agent-3", "complete").unwrap().task;
    assert_eq!(Some(&passage.to), after.history.last().unwrap().to.as_ref());
    assert_eq!(passage.skipped, after.history.last().unwrap().skipped);
}
