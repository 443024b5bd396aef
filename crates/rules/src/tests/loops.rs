//! Loops over lists, and rounds of a workflow.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::brief::brief;
use crate::template::Body;
use crate::tests::world::*;
use crate::{
    Act, Actor, Refusal, Rules, StateChange, Workplace, explain, preview, refuse_repeated,
};
use aof_domain::*;

fn for_each(list: &str, max_items: usize, verify_each: Option<&str>) -> ForEach {
    ForEach { list: list.to_owned(), max_items, verify_each: verify_each.map(id) }
}

/// plan -> implement (each of plan.stories, verified at verify) -> ship; verify is a detour.
fn looping(verify_each: Option<&str>) -> Workflow {
    let mut implement = with(gate("implement", "backend"), |duty| {
        duty.for_each = Some(for_each("plan.stories", 3, verify_each));
        duty.brief.entry.instructions = Some("Do {{item.title}} of {{item}}".to_owned());
    });
    implement.exits.max_retries = None;
    let verify = Gate { detour: true, ..reviewing("verify", "qa") };
    let mut gates = vec![gate("plan", "architect"), implement, gate("ship", "backend")];
    if verify_each.is_some() {
        gates.push(verify);
    }
    workflow(gates)
}

fn with_outputs(rules: &Rules, task: &Task, agent: &str, outcome: &str, outputs: &Value) -> Task {
    let mut says = completion(agent, outcome);
    says.id = id(&format!("c{}", task.history.len()));
    says.content.outputs = outputs.as_object().unwrap().clone();
    let minute = 10 * (i64::try_from(task.history.len()).unwrap() + 1);
    step(rules, task, &Act::Complete(says), minute).unwrap().task
}

fn planned(rules: &Rules, stories: &Value) -> Task {
    with_outputs(rules, &opened(rules, &[]), "agent-3", "complete", &json!({"stories": stories}))
}

/// Returns the place of the task, with its item.
fn place(task: &Task) -> String {
    let item = task.gate.as_ref().and_then(|open| open.item);
    format!("{}{}", stands(task), item.map(|item| format!(", {item}")).unwrap_or_default())
}

fn walk(rules: &Rules, mut task: Task, outcomes: &[(&str, &str)]) -> (Task, Vec<String>) {
    let mut places = vec![place(&task)];
    for (agent, outcome) in outcomes {
        let after = say(rules, &task, agent, outcome).unwrap().task;
        assert!(matches!(explain(rules, Some(&task), &after), StateChange::Act(_)));
        task = after;
        places.push(place(&task));
    }
    (task, places)
}

#[test]
fn each_item_is_a_visit_and_is_verified() {
    let rules = rules(looping(Some("verify")));
    let task = planned(&rules, &json!([{"title": "login"}, {"title": "logout"}]));
    let (task, places) = walk(
        &rules,
        task,
        &[
            ("agent-7", "complete"),
            ("agent-5", "needs_review"),
            ("agent-7", "complete"),
            ("agent-5", "complete"),
            ("agent-8", "blocked"),
            ("agent-8", "complete"),
            ("agent-5", "complete"),
            ("agent-7", "complete"),
        ],
    );
    assert_eq!(
        places,
        [
            "implement@1 ready, item 1 of 2",
            "verify@2 ready, item 1 of 2",
            "implement@3 ready, item 1 of 2",
            "verify@4 ready, item 1 of 2",
            "implement@5 ready, item 2 of 2",
            "implement@6 blocked, item 2 of 2",
            "verify@7 ready, item 2 of 2",
            "ship@8 ready",
            "complete",
        ]
    );
    let retries: Vec<Option<u32>> = task.history.iter().map(|visit| visit.retry).collect();
    assert_eq!(retries, [None, None, Some(1), None, None, None, None, None, None]);
}

#[test]
fn retries_count_for_each_item_alone() {
    let mut flow = looping(Some("verify"));
    flow.gates[3].exits.max_retries = Some(1);
    let rules = rules(flow);
    let task = planned(&rules, &json!([1, 2]));
    let back = [("agent-7", "complete"), ("agent-5", "needs_review")];
    let on = [("agent-7", "complete"), ("agent-5", "complete")];
    let (_, places) = walk(&rules, task, &[back, on, back, back].concat());
    assert_eq!(places[6], "implement@7 ready, item 2 of 2");
    assert_eq!(places[8], "implement@9 blocked, item 2 of 2");
}

#[test]
fn without_verification_the_next_item_follows_and_outputs_are_kept_by_item() {
    let rules = rules(looping(None));
    let task = planned(&rules, &json!(["a", "b", "c"]));
    let task = with_outputs(&rules, &task, "agent-7", "complete", &json!({"pr": 1}));
    let task = say(&rules, &task, "agent-8", "complete").unwrap().task;
    assert_eq!(place(&task), "implement@3 ready, item 3 of 3");
    let task = with_outputs(&rules, &task, "agent-7", "complete", &json!({"pr": 3}));
    assert_eq!(place(&task), "ship@4 ready");
    let items = json!({"pr": 3, "items": [{"pr": 1}, {}, {"pr": 3}]});
    assert_eq!(task.context["implement"], items);
}

#[test]
fn the_brief_has_the_item_of_the_list_that_was_read() {
    let rules = rules(looping(Some("verify")));
    let task = planned(&rules, &json!([{"title": "login"}, "logout"]));
    let brief_of = |task: &Task| brief(&rules, task, &Body::default()).unwrap();
    let context = brief_of(&task);
    assert_eq!(context.item, Some((LoopItem { index: 0, of: 2 }, json!({"title": "login"}))));
    assert_eq!(
        context.instructions.as_deref(),
        Some("Do login of {\"title\":\"login\"}"),
        "{:?}",
        context.warnings
    );
    let (task, _) = walk(&rules, task, &[("agent-7", "complete"), ("agent-5", "complete")]);
    let context = brief_of(&task);
    assert_eq!(context.instructions.as_deref(), Some("Do [missing: item.title] of logout"));
    assert_eq!(context.warnings.len(), 1);
}

#[test]
fn an_empty_list_is_passed_over_and_no_list_blocks() {
    let rules = rules(looping(Some("verify")));
    let task = planned(&rules, &json!([]));
    assert_eq!(place(&task), "ship@1 ready");
    assert_eq!(task.history[0].skipped, [id("implement")]);
    for (stories, why) in [
        (json!("none"), "`plan.stories` is a text, not a list"),
        (json!({"a": 1}), "`plan.stories` is a mapping, not a list"),
        (json!(null), "the context has no `plan.stories`"),
        (json!([1, 2, 3, 4]), "`plan.stories` has 4 items, and `maxItems` is 3"),
    ] {
        let task = planned(&rules, &stories);
        assert_eq!(place(&task), "implement@1 blocked");
        assert!(
            task.blockers[0].to_string().starts_with(&format!("No list to go through: {why}; "))
        );
        let refused = say(&rules, &task, "agent-7", "complete").unwrap_err();
        assert!(matches!(refused, Refusal::Blocked { .. }), "{refused:?}");
        let by = Actor::Person(None);
        let unblock = Act::Unblock { by: by.clone(), branch: None, reason: None };
        assert!(step(&rules, &task, &unblock, 30).is_err());
        let back = Act::Override { by, to: id("plan"), reason: "plan again".into() };
        let again = step(&rules, &task, &back, 40).unwrap().task;
        let again = with_outputs(&rules, &again, "agent-3", "complete", &json!({"stories": ["x"]}));
        assert_eq!(place(&again), "implement@3 ready, item 1 of 1");
    }
}

#[test]
fn leaving_a_loop_ends_it_and_it_begins_anew() {
    let mut flow = looping(None);
    flow.gates[1] = routed(flow.gates[1].clone(), &[("replan", "plan"), ("next", "$next")]);
    let rules = rules(flow);
    let task = planned(&rules, &json!([1, 2, 3]));
    let (task, places) = walk(&rules, task, &[("agent-7", "next"), ("agent-7", "replan")]);
    assert_eq!(places[1..], ["implement@2 ready, item 2 of 3", "plan@3 ready"]);
    let task = with_outputs(&rules, &task, "agent-3", "complete", &json!({"stories": [9]}));
    let (task, places) = walk(&rules, task, &[("agent-7", "next")]);
    assert_eq!(places, ["implement@4 ready, item 1 of 1", "ship@5 ready"]);
    assert!(task.history.iter().all(|visit| visit.retry.unwrap_or(1) == 1));
}

#[test]
fn a_word_said_twice_does_not_pass_a_second_item() {
    let rules = rules(looping(None));
    let task = planned(&rules, &json!([1, 2]));
    let task = say(&rules, &task, "agent-7", "complete").unwrap().task;
    let again = |agent: &str| refuse_repeated(&rules, &task, &id(agent), "complete");
    assert!(matches!(again("agent-7"), Err(Refusal::Repeated { .. })));
    assert!(again("agent-8").is_ok());
}

#[test]
fn the_list_stays_as_it_was_read() {
    let mut flow = looping(Some("verify"));
    let mut again = Route::to(id("implement"));
    again.clear = vec![id("plan")];
    flow.gates[3].exits.routes = vec![(id("needs_review"), again)];
    let rules = rules(flow);
    let task = planned(&rules, &json!([{"title": "a"}, {"title": "b"}]));
    let steps = [
        ("agent-7", "complete"),
        ("agent-5", "needs_review"),
        ("agent-7", "complete"),
        ("agent-5", "complete"),
    ];
    let (task, places) = walk(&rules, task, &steps);
    assert!(!task.context.contains_key("plan"), "the route made the context forget the list");
    assert_eq!(places[4], "implement@5 ready, item 2 of 2");
    let context = brief(&rules, &task, &Body::default()).unwrap();
    assert_eq!(context.item, Some((LoopItem { index: 1, of: 2 }, json!({"title": "b"}))));
}

#[test]
fn a_decision_with_a_route_to_the_end_leaves_the_rounds() {
    let check = routed(gate("check", "qa"), &[("more", "$next"), ("stop", "$end")]);
    let repeat = Some(Repeat { until: "false".to_owned(), max: 5, on_exhausted: Exhausted::Block });
    let flow = Workflow { repeat, ..workflow(vec![gate("work", "backend"), check]) };
    let rules = rules(flow);
    let begin = [("agent-7", "complete"), ("agent-5", "more"), ("agent-7", "complete")];
    let (task, places) = walk(&rules, opened(&rules, &[]), &begin);
    assert_eq!(places[2], "work@2 ready");
    assert_eq!(walk(&rules, task, &[("agent-5", "stop")]).1[1], "complete");
}

#[test]
fn a_worker_of_an_earlier_round_may_judge_this_one() {
    let people = |gate| with(gate, |duty: &mut Duty| duty.separate_from = vec![id("work")]);
    let gates = vec![gate("work", "backend"), people(gate("check", "backend"))];
    let repeat = Some(Repeat { until: "false".to_owned(), max: 3, on_exhausted: Exhausted::Block });
    let rules = rules(Workflow { repeat, ..workflow(gates) });
    let (task, _) = walk(&rules, opened(&rules, &[]), &[("agent-7", "complete")]);
    let refused = say(&rules, &task, "agent-7", "complete").unwrap_err();
    assert!(matches!(refused, Refusal::NotSeparate { .. }), "{refused:?}");
    let round = [("agent-8", "complete"), ("agent-8", "complete"), ("agent-7", "complete")];
    let (task, places) = walk(&rules, task, &round);
    assert_eq!(places.last().unwrap(), "work@4 ready");
    assert_eq!(task.history.last().unwrap().round, Some(3));
}

#[test]
fn children_are_waited_for_before_the_next_item_and_the_next_round() {
    let mut flow = looping(None);
    flow.gates[1].wait_for = Some(WaitFor::Children);
    flow.gates[2].wait_for = Some(WaitFor::Children);
    flow.repeat =
        Some(Repeat { until: "false".to_owned(), max: 3, on_exhausted: Exhausted::Block });
    let rules = rules(flow);
    let says = |task: &Task, child: Status| {
        let mut says = completion("agent-7", "complete");
        says.id = id(&format!("c{}", task.history.len()));
        says.facts.children = [(id("AOF-kid"), child)].into();
        step(&rules, task, &Act::Complete(says), 100)
    };
    let mut task = planned(&rules, &json!([1, 2]));
    for place_after in ["implement@2 ready, item 2 of 2", "ship@3 ready", "plan@4 ready"] {
        let refused = says(&task, Status::Ready).unwrap_err();
        assert!(matches!(refused, Refusal::ChildrenOpen { .. }), "{place_after}: {refused:?}");
        let after = says(&task, Status::Complete).unwrap().task;
        assert_eq!(after.history.last().unwrap().children.len(), 1);
        assert!(matches!(explain(&rules, Some(&task), &after), StateChange::Act(_)));
        assert_eq!(place(&after), place_after);
        task = after;
    }
}

#[test]
fn the_item_stands_when_the_rules_change() {
    let old = rules(looping(Some("verify")));
    let task = planned(&old, &json!([1, 2]));
    let (task, _) = walk(&old, task, &[("agent-7", "complete")]);
    let mut flow = looping(Some("verify"));
    flow.gates.pop();
    if let GateKind::Work(duty) = &mut flow.gates[1].kind {
        duty.for_each = Some(for_each("plan.stories", 1, None));
    }
    let new = rules(flow);
    let moved = step(&new, &task, &Act::Move, 50).unwrap().task;
    assert_eq!(moved.history.last().unwrap().outcome, Ending::Moved);
    assert_eq!(place(&moved), "implement@3 ready, item 1 of 2");
}

#[test]
fn a_workflow_is_repeated_until_its_condition_holds() {
    let repeat = |until: &str, max, on_exhausted| {
        let repeat = Some(Repeat { until: until.to_owned(), max, on_exhausted });
        Workflow { repeat, ..workflow(vec![gate("work", "backend"), reviewing("check", "qa")]) }
    };
    let until = "context.check && context.check.done";
    let rules_of = |max, then| rules(repeat(until, max, then));
    let blocking = rules_of(3, Exhausted::Block);
    let (task, places) = walk(
        &blocking,
        opened(&blocking, &[]),
        &[
            ("agent-7", "complete"),
            ("agent-5", "needs_review"),
            ("agent-7", "complete"),
            ("agent-5", "complete"),
        ],
    );
    assert_eq!(places.last().unwrap(), "work@4 ready");
    let last = task.history.last().unwrap();
    assert_eq!((last.round, last.retry), (Some(2), None));
    let context = brief(&blocking, &task, &Body::default()).unwrap();
    assert_eq!(context.round, Some((2, 3)));
    let next = say(&blocking, &task, "agent-7", "complete").unwrap().task;
    let done = with_outputs(&blocking, &next, "agent-5", "complete", &json!({"done": true}));
    assert_eq!(done.status, Status::Complete);

    let (last, _) = walk(
        &blocking,
        task,
        &[
            ("agent-7", "complete"),
            ("agent-5", "complete"),
            ("agent-7", "complete"),
            ("agent-5", "complete"),
        ],
    );
    assert_eq!(place(&last), "check@8 blocked");
    assert_eq!(
        last.blockers,
        [format!("No further round: this was round 3 of 3, and `until` does not hold: {until}")
            .as_str()]
    );

    let failing = rules_of(1, Exhausted::Route(Target::Fail));
    let (task, _) =
        walk(&failing, opened(&failing, &[]), &[("agent-7", "complete"), ("agent-5", "complete")]);
    assert_eq!(task.status, Status::Failed);

    let open = rules(repeat("context.check.done", 3, Exhausted::Block));
    let (task, _) =
        walk(&open, opened(&open, &[]), &[("agent-7", "complete"), ("agent-5", "complete")]);
    assert_eq!(place(&task), "check@2 blocked");
    assert!(
        task.blockers[0].to_string().starts_with("No further round: `until` cannot be evaluated: ")
    );
}

#[test]
fn faults_of_a_loop_are_reported_at_load() {
    let codes = |flow: Workflow| -> Vec<&'static str> {
        let findings = Rules::new(project(flow), org()).unwrap_err();
        findings.iter().filter(|one| one.severity == Severity::Error).map(|one| one.code).collect()
    };
    let list = |list: &str, verify: Option<&str>| {
        let mut flow = looping(Some("verify"));
        if let GateKind::Work(duty) = &mut flow.gates[1].kind {
            duty.for_each = Some(for_each(list, 3, verify));
        }
        flow
    };
    assert_eq!(codes(list("plann.stories", Some("verify"))), ["unknown_list"]);
    assert_eq!(codes(list("implement.stories", Some("verify"))), ["unknown_list"]);
    assert_eq!(
        codes(list("plan.stories", Some("ship"))),
        ["loop_verifies_on_line", "unreachable_gate"]
    );
    assert_eq!(codes(list("plan.stories", Some("nobody")))[0], "unknown_gate");
    let mut flow = looping(Some("verify"));
    flow.gates[3] = with(flow.gates[3].clone(), |duty| {
        duty.for_each = Some(for_each("plan.stories", 3, None));
    });
    assert_eq!(codes(flow), ["loop_at_detour"]);
    let repeat = Some(Repeat { until: "context.".into(), max: 1, on_exhausted: Exhausted::Block });
    assert_eq!(codes(Workflow { repeat, ..looping(None) }), ["invalid_condition"]);
}

/// plan -> one (each of plan.a, verified at verify) -> two (each of plan.b, verified there too or nowhere) -> check -> end
fn workflows() -> impl Strategy<Value = Workflow> {
    let condition = prop_oneof![
        Just("false"),
        Just("context.check.done"),
        Just("gateHistory.length > 12"),
        Just("context.check && context.check.done"),
    ];
    let repeat = prop::option::of((condition, 1..4_u32, 0..3_u8));
    (any::<[bool; 4]>(), 0..3_usize, repeat, prop::option::of(0..3_u32)).prop_map(
        |([first, second, decides, previous], when, repeat, retries)| {
            let verify = |is_verified: bool| is_verified.then_some("verify");
            let mut one = with(reviewing("one", "backend"), |duty| {
                duty.for_each = Some(for_each("plan.a", 4, verify(first)));
                duty.can_skip = true;
            });
            if decides {
                one = routed(one, &[("on", "$next"), ("replan", "plan"), ("again", "one")]);
                one.exits.max_retries = Some(2);
            }
            let mut two = with(gate("two", "backend"), |duty| {
                duty.for_each = Some(for_each("plan.b", 4, verify(second)));
            });
            two.when = [None, Some("tags.includes('x')"), Some("gateHistory.length % 2 === 0")]
                [when]
                .map(str::to_owned);
            let mut verifying = Gate { detour: true, ..reviewing("verify", "qa") };
            verifying.exits.max_retries = retries;
            let mut gates = vec![gate("plan", "architect"), one, two, reviewing("check", "qa")];
            if first || second {
                gates.push(verifying);
            }
            let repeat = repeat.map(|(until, max, then)| Repeat {
                until: until.to_owned(),
                max,
                on_exhausted: match then {
                    0 => Exhausted::Block,
                    1 => Exhausted::Route(Target::Fail),
                    _ => Exhausted::Route(Target::Gate(id("plan"))),
                },
            });
            let rejection =
                if previous { RejectionStrategy::Previous } else { RejectionStrategy::Origin };
            Workflow { rejection, repeat, ..workflow(gates) }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn every_loop_ends_or_stops_at_a_bound(flow in workflows(), picks in prop::collection::vec(any::<u8>(), 64), stubborn in any::<bool>()) {
        let rules = rules(flow);
        let mut task = opened(&rules, &[]);
        let first = task.clone();
        let mut steps = 0_usize;
        while task.status == Status::Ready {
            steps += 1;
            prop_assert!(steps < 3_000, "a task went on for ever");
            let pick = usize::from(picks[steps % picks.len()]) + steps / picks.len();
            let place = Workplace::of(&rules, &task).unwrap();
            let outcomes: Vec<Outcome> =
                place.outcomes(&rules).into_iter().filter(|outcome| *outcome != Outcome::Blocked).collect();
            let back = |outcome: &&Outcome| preview(&rules, &task, outcome).is_some_and(|way| way.retry.is_some());
            let back = outcomes.iter().find(back).filter(|_| stubborn);
            let outcome = back.unwrap_or(&outcomes[pick % outcomes.len()]);
            let agent = match place.role.as_str() {
                "backend" => "agent-7",
                "architect" => "agent-3",
                _ => "agent-5",
            };
            let list = |length: usize| -> Value { (0..length).map(|item| json!({"n": item})).collect() };
            let outputs = match place.gate.id.as_str() {
                "plan" => json!({"a": list(pick % 6), "b": list(pick / 6 % 4)}),
                "check" => json!({"done": pick.is_multiple_of(3)}),
                _ => json!({"n": pick}),
            };
            let mut says = completion(agent, outcome.as_str());
            says.id = id(&format!("c{steps}"));
            says.content.outputs = outputs.as_object().unwrap().clone();
            let decided = step(&rules, &task, &Act::Complete(says), i64::try_from(steps).unwrap());
            let after = decided.unwrap().task;
            prop_assert!(matches!(explain(&rules, Some(&task), &after), StateChange::Act(_)));
            let entry = after.history.last().unwrap();
            prop_assert_eq!(entry.item, task.gate.as_ref().unwrap().item);
            if let (Some(item), Some(next)) = (entry.item, entry.to_item) {
                let begins = next.index == 0;
                prop_assert!(begins || next == item || Some(next) == item.next(), "{item} -> {next}");
            }
            let open = after.gate.as_ref();
            prop_assert_eq!(open.and_then(|open| open.item), entry.to_item);
            prop_assert!(entry.to_item.is_none_or(|item| item.index < item.of));
            prop_assert!(entry.round.is_none_or(|round| round <= rules.project.workflows[0].repeat.as_ref().unwrap().max));
            task = after;
        }
        let mut folded = first;
        for visit in task.history.clone() {
            crate::transition::fold::apply(&rules, &mut folded, visit);
        }
        prop_assert_eq!(&folded.gate, &task.gate);
        prop_assert_eq!(&folded.context, &task.context);
        prop_assert_eq!(folded.status.is_finished(), task.status.is_finished());
    }
}
