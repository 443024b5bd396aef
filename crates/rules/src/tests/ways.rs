//! A gate's own routes: decisions, ways back and their bounds, detours, gates that decide by themselves.

use crate::tests::world::*;
use crate::{
    Act, Finding, Rules, StateChange, WorkflowStep, explain, passes_by_itself, unanswered,
};
use aof_domain::*;

/// plan -> work -> review, which has three decisions -> compound
fn compound() -> Workflow {
    workflow(vec![
        gate("plan", "architect"),
        gate("work", "backend"),
        routed(
            gate("review", "qa"),
            &[("approved", "compound"), ("needs_fixes", "work"), ("rejected", "plan")],
        ),
        gate("compound", "backend"),
    ])
}

fn walk(rules: &Rules, says: &[(&str, &str)]) -> Task {
    says.iter().fold(opened(rules, &[]), |task, (agent, outcome)| {
        say(rules, &task, agent, outcome).unwrap().task
    })
}

fn at_review(rules: &Rules) -> Task {
    walk(rules, &[("agent-3", "complete"), ("agent-7", "complete")])
}

fn errors(workflow: Workflow) -> Vec<(&'static str, ConfigPlace)> {
    let findings = Rules::new(project(workflow), org()).err().unwrap_or_default();
    let errors =
        findings.into_iter().filter(|finding: &Finding| finding.severity == Severity::Error);
    errors.map(|finding| (finding.code, finding.at)).collect()
}

fn codes(workflow: Workflow) -> Vec<&'static str> {
    errors(workflow).into_iter().map(|(code, _)| code).collect()
}

#[test]
fn a_decision_follows_its_route() {
    let rules = rules(compound());
    let task = at_review(&rules);
    for (decision, then) in [
        ("approved", "compound@3 ready"),
        ("Needs_Fixes", "work@3 ready"),
        ("REJECTED", "plan@3 ready"),
        ("blocked", "review@3 blocked"),
    ] {
        assert_eq!(stands(&say(&rules, &task, "agent-5", decision).unwrap().task), then);
    }
    let fixed = say(&rules, &task, "agent-5", "Needs_Fixes").unwrap().task;
    let last = fixed.history.last().unwrap();
    assert_eq!(
        (last.outcome.as_str(), last.retry),
        ("needs_fixes", Some(1)),
        "the decision is kept as it is declared"
    );
}

#[test]
fn a_gate_with_decisions_has_no_complete_and_no_default() {
    let rules = rules(compound());
    let task = at_review(&rules);
    for (word, code) in [
        ("complete", "invalid_outcome"),
        ("aproved", "invalid_outcome"),
        ("needs_review", "reject_not_allowed"),
    ] {
        let refusal = say(&rules, &task, "agent-5", word).unwrap_err();
        assert_eq!(refusal.code(), code);
    }
    assert!(
        say(&rules, &task, "agent-5", "aproved")
            .unwrap_err()
            .fix()
            .to_string()
            .starts_with("did you mean `approved`?")
    );
    let mut silent = completion("agent-5", "approved");
    silent.content.outcome = None;
    assert_eq!(
        step(&rules, &task, &Act::Complete(silent), 9).unwrap_err().code(),
        "missing_outcome"
    );
}

#[test]
fn everything_between_is_visited_again_after_going_back() {
    let rules = rules(compound());
    let task = say(&rules, &at_review(&rules), "agent-5", "rejected").unwrap().task;
    let task = say(&rules, &task, "agent-3", "complete").unwrap().task;
    assert_eq!(stands(&task), "work@4 ready");
    let task = say(&rules, &task, "agent-7", "complete").unwrap().task;
    assert_eq!(stands(&task), "review@5 ready");
}

/// Sends the task from review to work and back until something else happens.
fn exhaust(rules: &Rules) -> (u32, WorkflowStep) {
    let mut task = at_review(rules);
    for times in 1.. {
        let step = say(rules, &task, "agent-5", "needs_fixes").unwrap();
        if !step.events.is_empty()
            || stands(&step.task) != format!("work@{} ready", step.task.history.len())
        {
            return (times, step);
        }
        if step.task.gate.as_ref().unwrap().escalated.is_some() {
            return (times, step);
        }
        task = say(rules, &step.task, "agent-7", "complete").unwrap().task;
    }
    unreachable!()
}

#[test]
fn one_counter_a_target_bounds_every_way_back() {
    let with = |max: Option<u32>, then: Exhausted| {
        let mut workflow = compound();
        workflow.gates[2].exits.max_retries = max;
        workflow.gates[2].exits.on_exhausted = then;
        exhaust(&rules(workflow))
    };
    let (times, step) = with(None, Exhausted::Block);
    assert_eq!((times, stands(&step.task).as_str()), (4, "work@9 blocked"));
    assert!(
        step.task.blockers[0]
            .to_string()
            .contains("sent back to gate 'work' 4 times, last by 'review'"),
        "{:?}",
        step.task.blockers
    );
    assert_eq!(with(Some(0), Exhausted::Block).0, 1);
    assert_eq!(with(Some(7), Exhausted::Block).0, 8, "what a gate says counts, not the loop guard");

    let (times, step) = with(Some(1), Exhausted::Route(Target::Fail));
    assert_eq!((times, step.task.status, step.task.gate), (2, Status::Failed, None));
    assert_eq!(step.task.history.last().unwrap().to, Some(Destination::Fail));

    let (_, step) = with(Some(1), Exhausted::Route(Target::Gate(id("compound"))));
    assert_eq!(stands(&step.task), "compound@5 ready");
}

#[test]
fn an_escalated_visit_is_the_roles_and_can_be_completed() {
    let mut workflow = compound();
    workflow.gates[2].exits.max_retries = Some(1);
    workflow.gates[2].exits.on_exhausted = Exhausted::Escalate(id("architect"));
    let rules = rules(workflow);
    let (times, step) = exhaust(&rules);
    let task = step.task;
    assert_eq!((times, stands(&task).as_str()), (2, "work@5 ready"));
    assert_eq!(task.gate.as_ref().unwrap().escalated, Some(id("architect")));
    assert_eq!(task.routing.role, Some(id("architect")));
    assert_eq!(task.history.last().unwrap().escalated_to, Some(id("architect")));
    assert_eq!(say(&rules, &task, "agent-7", "complete").unwrap_err().code(), "wrong_role");
    let task = say(&rules, &task, "agent-3", "complete").unwrap().task;
    assert_eq!(stands(&task), "review@6 ready");
    assert_eq!(task.history.last().unwrap().role, Some(id("architect")));
}

#[test]
fn different_senders_share_the_counter_of_their_target() {
    let mut flow = compound();
    flow.gates.insert(3, routed(gate("test", "qa"), &[("passed", "$next"), ("broken", "work")]));
    flow.gates[2].exits.routes[0].1.to = Target::Next;
    let rules = rules(flow);
    let mut task = at_review(&rules);
    for (says, count) in [("needs_fixes", 1), ("broken", 2), ("needs_fixes", 3)] {
        if says == "broken" {
            task = say(&rules, &task, "agent-5", "approved").unwrap().task;
        }
        task = say(&rules, &task, "agent-5", says).unwrap().task;
        assert_eq!(task.history.last().unwrap().retry, Some(count));
        task = say(&rules, &task, "agent-7", "complete").unwrap().task;
    }
}

#[test]
fn a_jump_records_the_gates_it_passes_over_and_ends_are_ends() {
    let mut flow = compound();
    flow.gates[0] = routed(
        gate("plan", "architect"),
        &[
            ("trivial", "review"),
            ("real", "$next"),
            ("void", "$end"),
            ("hopeless", "$fail"),
            ("wait", "$hold"),
        ],
    );
    flow.gates[0].exits.routes[2].1.to = Target::Cancelled;
    let rules = rules(flow);
    let task = opened(&rules, &[]);
    let go = |word| say(&rules, &task, "agent-3", word).unwrap().task;
    let jumped = go("trivial");
    assert_eq!(
        (stands(&jumped).as_str(), &jumped.history[0].skipped[..]),
        ("review@1 ready", &[id("work")][..])
    );
    assert_eq!(stands(&go("real")), "work@1 ready");
    assert_eq!(go("void").status, Status::Cancelled);
    assert_eq!(go("hopeless").status, Status::Failed);
    assert_eq!(stands(&go("wait")), "plan@1 blocked");
}

#[test]
fn a_route_clears_its_gates_and_outputs_stand_under_their_gate() {
    let mut flow = compound();
    flow.gates[2].exits.routes[2].1.clear = vec![id("plan")];
    let rules = rules(flow);
    let mut says = completion("agent-3", "complete");
    (says.id, says.content.outputs) =
        (id("one"), serde_json::json!({"file": "plan.md"}).as_object().unwrap().clone());
    let task = step(&rules, &opened(&rules, &[]), &Act::Complete(says), 1).unwrap().task;
    assert_eq!(task.context["plan"]["file"], "plan.md");
    let task = say(&rules, &task, "agent-7", "complete").unwrap().task;
    assert!(
        say(&rules, &task, "agent-5", "needs_fixes").unwrap().task.context.contains_key("plan")
    );
    let task = say(&rules, &task, "agent-5", "rejected").unwrap().task;
    assert!(!task.context.contains_key("plan"));
    assert_eq!(task.history.last().unwrap().cleared, [id::<GateId>("plan")]);
}

#[test]
fn a_failure_follows_its_route_and_is_no_outcome_elsewhere() {
    let mut flow = compound();
    flow.gates[1].exits.on_failure = Some(Route::to(Target::Gate(id("work"))));
    flow.gates[1].exits.max_retries = Some(2);
    let rules = rules(flow);
    let task = walk(&rules, &[("agent-3", "complete")]);
    assert_eq!(
        say(&rules, &opened(&rules, &[]), "agent-3", "failed").unwrap_err().code(),
        "invalid_outcome"
    );
    let mut task = task;
    for count in 1..=2 {
        task = say(&rules, &task, "agent-7", "failed").unwrap().task;
        assert_eq!(task.history.last().unwrap().retry, Some(count));
        assert_eq!(task.status, Status::Ready);
    }
    assert_eq!(stands(&say(&rules, &task, "agent-7", "failed").unwrap().task), "work@4 blocked");
}

/// implement -> review (back to address) -> verify, with address off the line
fn reviewed() -> Workflow {
    let mut review = routed(gate("review", "architect"), &[("needs_review", "address")]);
    review.exits.max_retries = Some(3);
    workflow(vec![
        gate("implement", "backend"),
        Gate { detour: true, ..gate("address", "backend") },
        review,
        gate("verify", "qa"),
    ])
}

#[test]
fn a_detour_is_entered_by_rejection_alone_and_returns_to_the_sender() {
    let rules = rules(reviewed());
    let task = walk(&rules, &[("agent-7", "complete")]);
    assert_eq!(stands(&task), "review@1 ready", "nobody comes to a detour by going on");
    assert!(task.history[0].skipped.is_empty());
    let rejected = say(&rules, &task, "agent-3", "needs_review").unwrap().task;
    assert_eq!(stands(&rejected), "address@2 ready");
    assert_eq!(rejected.review.as_ref().unwrap().from_gate, id("review"));
    let blocked = say(&rules, &rejected, "agent-7", "blocked").unwrap().task;
    let back = say(&rules, &blocked, "agent-7", "complete").unwrap().task;
    assert_eq!(
        (stands(&back).as_str(), back.history.last().unwrap().retry),
        ("review@4 ready", None)
    );
    assert!(back.review.is_some(), "the review has yet to say whether it is answered");
    let passed = say(&rules, &back, "agent-3", "complete").unwrap().task;
    assert_eq!((stands(&passed).as_str(), passed.review), ("verify@5 ready", None));
    let stuck = (0..3).fold(task, |task, _| {
        let task = say(&rules, &task, "agent-3", "needs_review").unwrap().task;
        say(&rules, &task, "agent-7", "complete").unwrap().task
    });
    assert_eq!(
        say(&rules, &stuck, "agent-3", "needs_review").unwrap().task.status,
        Status::Blocked
    );
}

#[test]
fn no_task_ends_or_passes_by_while_a_rejection_is_unanswered() {
    let mut flow = reviewed();
    flow.gates[0] = routed(
        gate("implement", "backend"),
        &[("done", "$next"), ("trust_me", "$end"), ("hurry", "verify")],
    );
    flow.gates[2].exits.routes[0].1.to = Target::Gate(id("implement"));
    flow.gates.remove(1);
    let rules = rules(flow);
    let task = opened(&rules, &[]);
    assert_eq!(say(&rules, &task, "agent-7", "trust_me").unwrap().task.status, Status::Complete);
    let task = say(&rules, &task, "agent-7", "done").unwrap().task;
    let task = say(&rules, &task, "agent-3", "needs_review").unwrap().task;
    for word in ["trust_me", "hurry"] {
        assert_eq!(stands(&say(&rules, &task, "agent-7", word).unwrap().task), "review@3 ready");
    }
}

#[test]
fn a_detour_that_stands_behind_other_gates_is_no_way_past_them() {
    let mut review = routed(gate("review", "architect"), &[("needs_review", "fix")]);
    review.exits.max_retries = Some(3);
    let flow = workflow(vec![
        gate("implement", "backend"),
        review,
        reviewing("security", "qa"),
        Gate { detour: true, ..gate("fix", "backend") },
    ]);
    let rules = rules(flow);
    let mut task = opened(&rules, &[]);
    for (agent, outcome, then) in [
        ("agent-7", "complete", "review@1 ready"),
        ("agent-3", "complete", "security@2 ready"),
        ("agent-5", "needs_review", "implement@3 ready"),
        ("agent-7", "complete", "review@4 ready"),
        ("agent-3", "needs_review", "fix@5 ready"),
        ("agent-7", "complete", "review@6 ready"),
        ("agent-3", "complete", "security@7 ready"),
        ("agent-5", "complete", "complete"),
    ] {
        task = say(&rules, &task, agent, outcome).unwrap().task;
        assert_eq!(stands(&task), then);
    }
    assert_eq!(task.history[4].retry, Some(1));
}

#[test]
fn an_exhausted_rejection_is_answered_at_the_gate_it_leads_to() {
    let mut review = reviewing("review", "architect");
    review.exits.max_retries = Some(1);
    review.exits.on_exhausted = Exhausted::Route(Target::Gate(id("signoff")));
    let forward =
        rules(workflow(vec![gate("implement", "backend"), review.clone(), gate("signoff", "qa")]));
    let mut task = opened(&forward, &[]);
    for (agent, outcome, then) in [
        ("agent-7", "complete", "review@1 ready"),
        ("agent-3", "needs_review", "implement@2 ready"),
        ("agent-7", "complete", "review@3 ready"),
        ("agent-3", "needs_review", "signoff@4 ready"),
        ("agent-5", "complete", "complete"),
    ] {
        task = say(&forward, &task, agent, outcome).unwrap().task;
        assert_eq!(stands(&task), then);
    }

    review.exits.max_retries = Some(0);
    review.exits.on_exhausted = Exhausted::Route(Target::Gate(id("plan")));
    let back = rules(workflow(vec![gate("plan", "qa"), gate("implement", "backend"), review]));
    let mut task = opened(&back, &[]);
    for round in 1..=6 {
        task = say(&back, &task, "agent-5", "complete").unwrap().task;
        task = say(&back, &task, "agent-7", "complete").unwrap().task;
        task = say(&back, &task, "agent-3", "needs_review").unwrap().task;
        let status = if round > 5 { "blocked" } else { "ready" };
        assert_eq!(stands(&task), format!("plan@{} {status}", 3 * round));
    }
}

#[test]
fn exhausted_returns_may_lead_to_a_detour() {
    let mut flow = reviewed();
    flow.gates[2] = reviewing("review", "architect");
    flow.gates[2].exits.max_retries = Some(1);
    flow.gates[2].exits.on_exhausted = Exhausted::Route(Target::Gate(id("address")));
    assert!(codes(flow).is_empty());
}

#[test]
fn feedback_of_an_earlier_gate_outlasts_that_of_a_later_one() {
    let rules = rules(sdlc());
    let mut task = opened(&rules, &[]);
    for (agent, outcome) in [
        ("agent-7", "complete"),
        ("agent-3", "complete"),
        ("agent-5", "needs_review"),
        ("agent-7", "complete"),
        ("agent-3", "needs_review"),
    ] {
        task = say(&rules, &task, agent, outcome).unwrap().task;
    }
    let waiting: Vec<&str> =
        unanswered(&task.history).iter().map(|visit| visit.gate.as_str()).collect();
    assert_eq!(waiting, ["test", "review"]);
    assert_eq!(task.review.as_ref().unwrap().from_gate, id("review"));
    let task = say(&rules, &task, "agent-7", "complete").unwrap().task;
    let task = say(&rules, &task, "agent-3", "complete").unwrap().task;
    assert_eq!(
        task.review.as_ref().unwrap().from_gate,
        id("test"),
        "the tester's wishes are still to be answered"
    );
    assert_eq!(say(&rules, &task, "agent-5", "complete").unwrap().task.review, None);
}

/// plan -> (big? the board : on) -> work -> board
fn choosing() -> Workflow {
    let mut size = routed(gate("size", "backend"), &[("true", "board"), ("false", "$next")]);
    size.kind = GateKind::Condition;
    size.when = Some("context.plan && context.plan.days > 5".into());
    workflow(vec![gate("plan", "architect"), size, gate("work", "backend"), gate("board", "po")])
}

#[test]
fn a_gate_that_decides_by_itself_is_a_visit_of_its_own() {
    let rules = rules(choosing());
    for (days, then) in [(3, "work@2 ready"), (9, "board@2 ready")] {
        let mut says = completion("agent-3", "complete");
        (says.id, says.content.outputs) =
            (id("one"), serde_json::json!({"days": days}).as_object().unwrap().clone());
        let task = step(&rules, &opened(&rules, &[]), &Act::Complete(says), 1).unwrap().task;
        assert!(passes_by_itself(&rules, &task));
        assert_eq!(say(&rules, &task, "agent-7", "true").unwrap_err().code(), "nobody_works_here");
        let task = step(&rules, &task, &Act::Pass, 2).unwrap().task;
        assert_eq!(stands(&task), then);
        assert!(!passes_by_itself(&rules, &task));
        let entry = task.history.last().unwrap();
        assert_eq!((&entry.role, &entry.agent), (&None, &None));
        assert_eq!(entry.outcome.as_str(), if days > 5 { "true" } else { "false" });
        assert_eq!(step(&rules, &task, &Act::Pass, 3).unwrap_err().code(), "not_automatic");
    }
}

/// (urgent? work : plan) -> (big? board : work) -> ...
fn beginning_by_itself() -> Workflow {
    let mut urgent = routed(gate("urgent", "backend"), &[("true", "small"), ("false", "plan")]);
    urgent.kind = GateKind::Condition;
    urgent.when = Some("tags.includes('urgent')".into());
    let mut small = routed(gate("small", "backend"), &[("true", "$end"), ("false", "work")]);
    small.kind = GateKind::Condition;
    small.when = Some("tags.includes('small')".into());
    workflow(vec![urgent, gate("plan", "architect"), small, gate("work", "backend")])
}

#[test]
fn a_beginning_at_a_gate_that_decides_by_itself_is_found_again() {
    let rules = rules(beginning_by_itself());
    for (tags, states) in [(&[][..], 2), (&["urgent"], 3), (&["urgent", "small"], 3)] {
        let mut new = new_task(tags);
        new.context.insert("input".into(), serde_json::json!({"branch": "main"}));
        let mut task = step(&rules, &new, &Act::Open, 1).unwrap().task;
        while passes_by_itself(&rules, &task) {
            task = step(&rules, &task, &Act::Pass, 2).unwrap().task;
        }
        for before in [None, Some(&new)] {
            let StateChange::Act(found) = explain(&rules, before, &task) else {
                panic!("{tags:?}: {task:?}")
            };
            assert_eq!(
                (&found.act, found.states.len(), found.states.last()),
                (&Act::Open, states, Some(&task))
            );
        }
        let mut forged = task.clone();
        forged.history[0].outcome = Ending::Completed(id("nonsense"));
        assert!(matches!(explain(&rules, None, &forged), StateChange::Foreign(_)));
        if task.gate.is_some() {
            let agent =
                task.routing.role.as_ref().map_or("", |role| {
                    if role.as_str() == "backend" { "agent-7" } else { "agent-3" }
                });
            let after = say(&rules, &task, agent, "complete").unwrap().task;
            assert_eq!(explain(&rules, None, &after), StateChange::Foreign(vec!["gateHistory"]));
        }
    }
}

#[test]
fn the_author_of_work_does_not_judge_it() {
    let mut flow = sdlc();
    flow.gates[1] =
        with(reviewing("review", "backend"), |duty| duty.separate_from = vec![id("implement")]);
    let by_agent = rules(flow.clone());
    let task = walk(&by_agent, &[("agent-7", "complete")]);
    assert_eq!(say(&by_agent, &task, "agent-7", "complete").unwrap_err().code(), "not_separate");
    let claim = Act::Claim { agent: id("agent-7"), branch: None };
    assert_eq!(step(&by_agent, &task, &claim, 5).unwrap_err().code(), "not_separate");
    assert!(say(&by_agent, &task, "agent-8", "complete").is_ok());

    flow.gates[1] = with(flow.gates[1].clone(), |duty| duty.separate_by = Identity::Session);
    let rules = rules(flow);
    let session = |task: &Task, name: Option<&str>| {
        let mut says = completion("agent-7", "complete");
        says.id = id(&format!("s{}", task.history.len()));
        if let Some(name) = name {
            says.content.metadata.insert("session".to_owned(), name.into());
        }
        step(&rules, task, &Act::Complete(says), 20)
            .map(|step| step.task)
            .map_err(|refusal| refusal.code())
    };
    let task = session(&opened(&rules, &[]), Some("morning")).unwrap();
    assert_eq!(session(&task, Some("morning")), Err("not_separate"));
    assert_eq!(
        session(&task, None),
        Err("not_separate"),
        "who does not say cannot show that it is another"
    );
    assert!(session(&task, Some("evening")).is_ok());
}

#[test]
fn a_gate_that_decides_by_itself_is_nobody_to_be_kept_apart_from() {
    let mut flow = choosing();
    flow.gates[2] = with(gate("work", "backend"), |duty| {
        (duty.separate_from, duty.separate_by) = (vec![id("size")], Identity::Session);
    });
    assert_eq!(codes(flow), ["unknown_gate"]);
}

#[test]
fn every_mistake_in_routes_is_found() {
    let change = |change: &dyn Fn(&mut Workflow)| {
        let mut flow = compound();
        change(&mut flow);
        codes(flow)
    };
    let route = |index: usize, at: usize, to: &str| {
        let to: Target = id(to);
        change(&move |flow: &mut Workflow| flow.gates[index].exits.routes[at].1.to = to.clone())
    };
    assert!(codes(compound()).is_empty());
    assert_eq!(route(2, 1, "wrok"), ["unknown_gate"]);
    assert_eq!(route(2, 1, "review"), ["self_loop"]);
    // Without `approved` no route goes on: the gate after it is unreachable, and no other gate has a way out.
    assert_eq!(route(2, 0, "work"), ["no_way_out", "no_way_out", "no_way_out", "unreachable_gate"]);
    assert_eq!(change(&|flow| flow.gates[3].exits.max_retries = Some(1)), ["dead_field"]);
    assert_eq!(
        change(&|flow| flow.gates[3].exits.on_exhausted = Exhausted::Route(Target::Fail)),
        ["dead_field"]
    );
    assert_eq!(
        change(&|flow| flow.gates[2].exits.on_exhausted = Exhausted::Escalate(id("nobody"))),
        ["unknown_role"]
    );
    assert_eq!(
        change(&|flow| flow.gates[2].exits.routes[1].1.clear = vec![id("plam")]),
        ["unknown_gate"]
    );
    assert_eq!(change(&|flow| flow.gates[1].detour = true), ["unreachable_gate"; 0]);
    assert_eq!(
        change(&|flow| flow.gates[2]
            .exits
            .routes
            .push((Outcome::NeedsReview, Route::to(Target::Next)))),
        ["reject_forward"]
    );
    assert_eq!(
        change(&|flow| flow.gates[2]
            .exits
            .routes
            .push((Outcome::Complete, Route::to(Target::Next)))),
        ["complete_beside_decisions"]
    );
    assert_eq!(
        change(&|flow| flow.gates[0].exits.routes.push((Outcome::Skip, Route::to(Target::Next)))),
        ["dead_field"]
    );
    assert_eq!(change(&|flow| flow.visible_to = vec!["bakcend".to_owned()]), ["unknown_viewer"]);
    let mut alone = choosing();
    alone.gates[1].exits.routes = vec![(id("true"), Route::to(id("size")))];
    alone.gates[1].exits.max_retries = Some(2);
    assert_eq!(
        codes(alone),
        [
            "missing_route",
            "no_way_out",
            "no_way_out",
            "unreachable_gate",
            "unreachable_gate",
            "automatic_circle"
        ]
    );
}

#[test]
fn a_finding_about_a_route_names_it() {
    let mut flow = compound();
    flow.gates[2].exits.routes[1].1.to = id("wrok");
    let (code, at) = errors(flow).remove(0);
    let route = ConfigPlace::Route {
        workflow: id("default"),
        gate: 2,
        outcome: id("needs_fixes"),
        field: "to",
    };
    assert_eq!((code, at), ("unknown_gate", route));
}

#[test]
fn ten_thousand_gates_are_too_many_and_a_thousand_are_judged() {
    let many = |count: usize| {
        let gates = (0..count).map(|index| Gate {
            when: Some("true".into()),
            ..reviewing(&format!("g{index}"), "backend")
        });
        let mut gates: Vec<Gate> = gates.collect();
        gates[0] = gate("g0", "backend");
        workflow(gates)
    };
    assert_eq!(codes(many(10_000)), ["too_many_gates"]);
    assert!(codes(many(1_000)).is_empty());
}
