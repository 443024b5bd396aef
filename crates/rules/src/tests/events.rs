//! The events of each change, and their recipients: tables, and a property over random ways.

use proptest::prelude::*;

use crate::tests::world::*;
use crate::{Act, Actor, Decision, Rules, audience, decide, events};
use aof_domain::*;

fn kinds(rules: &Rules, before: Option<&Task>, after: &Task) -> Vec<&'static str> {
    events(rules, before, after).iter().map(|event| event.kind().as_str()).collect()
}

fn person() -> Actor {
    Actor::Person(None)
}

/// implement -> review, each at most ten minutes
fn timed(escalate: Option<&str>) -> Rules {
    let timed = |gate: Gate| {
        with(gate, |duty| {
            duty.timeout = Some(id("10m"));
            duty.escalate_to = escalate.map(id);
            duty.lease = Some(id("1m"));
        })
    };
    rules(workflow(vec![
        timed(gate("implement", "backend")),
        timed(reviewing("review", "architect")),
    ]))
}

fn claim(rules: &Rules, task: &Task, agent: &str, minute: i64) -> Task {
    step(rules, task, &Act::Claim { agent: id(agent), branch: None }, minute).unwrap().task
}

#[test]
fn each_act_has_an_event_of_its_name() {
    let rules = timed(None);
    let new = new_task(&[]);
    let task = opened(&rules, &[]);
    assert_eq!(kinds(&rules, None, &task), ["task_created"]);
    assert_eq!(kinds(&rules, Some(&new), &task), ["task_created"]);
    assert_eq!(kinds(&rules, Some(&task), &task), [""; 0]);
    let edited = Task { title: "Add logout".into(), ..task.clone() };
    assert_eq!(kinds(&rules, Some(&task), &edited), ["task_edited"]);
    let claimed = claim(&rules, &task, "agent-7", 1);
    let by = person();
    for (before, act, minute, expected) in [
        (&task, Act::Claim { agent: id("agent-7"), branch: None }, 1, &["task_claimed"] as &[&str]),
        (
            &claimed,
            Act::Assign { by: by.clone(), agent: id("agent-8"), branch: None },
            2,
            &["task_assigned"],
        ),
        (
            &claimed,
            Act::Renew { agent: id("agent-7"), branch: None, note: None },
            2,
            &["task_renewed"],
        ),
        (&claimed, Act::Release { by: by.clone(), branch: None }, 2, &["task_released"]),
        (&claimed, Act::Lapse { branch: None }, 9, &["task_lapsed"]),
        (&claimed, Act::Timeout { branch: None }, 99, &["gate_timeout"]),
        (&claimed, Act::Hold { by: by.clone(), reason: "Wait".into() }, 2, &["task_held"]),
        (
            &claimed,
            Act::Cancel { by: by.clone(), reason: "No".into() },
            2,
            &["gate_transition", "task_cancelled"],
        ),
        (
            &claimed,
            Act::Override { by: by.clone(), to: id("review"), reason: "So".into() },
            2,
            &["gate_transition", "task_overridden"],
        ),
    ] {
        let after = step(&rules, before, &act, minute).unwrap().task;
        assert_eq!(kinds(&rules, Some(before), &after), expected, "{act:?}");
    }
    let held = step(&rules, &claimed, &Act::Hold { by: by.clone(), reason: "Wait".into() }, 2)
        .unwrap()
        .task;
    let on = step(&rules, &held, &Act::Unblock { by: by.clone(), branch: None, reason: None }, 3)
        .unwrap()
        .task;
    assert_eq!(kinds(&rules, Some(&held), &on), ["task_unblocked"]);
    let blocked = say(&rules, &task, "agent-7", "blocked").unwrap().task;
    assert_eq!(kinds(&rules, Some(&task), &blocked), ["gate_transition", "task_blocked"]);
    let review = say(&rules, &task, "agent-7", "complete").unwrap().task;
    let back = say(&rules, &review, "agent-3", "needs_review").unwrap().task;
    assert_eq!(kinds(&rules, Some(&review), &back), ["gate_transition", "gate_rejection"]);
    let done = say(&rules, &review, "agent-3", "complete").unwrap().task;
    assert_eq!(kinds(&rules, Some(&review), &done), ["gate_transition", "task_complete"]);
    let again = Act::Reopen { by, to: id("implement"), reason: "More".into() };
    let again = step(&rules, &done, &again, 99).unwrap().task;
    assert_eq!(kinds(&rules, Some(&done), &again), ["gate_transition", "task_reopened"]);
    // Several entries at once, as a merge has them.
    assert_eq!(
        kinds(&rules, Some(&task), &done),
        ["gate_transition", "gate_transition", "task_complete"]
    );
}

#[test]
fn a_time_limit_is_reported_to_the_holder_and_to_the_role_that_steps_in() {
    let rules = timed(Some("qa"));
    let before = claim(&rules, &opened(&rules, &[]), "agent-7", 1);
    let after = step(&rules, &before, &Act::Timeout { branch: None }, 99).unwrap().task;
    let found = events(&rules, Some(&before), &after);
    let [
        _,
        Event::TimedOut { agent, timeout: limit, escalate_to, .. },
        Event::Escalated { escalate_to: role, reason: cause, .. },
    ] = &found[..]
    else {
        panic!("{found:?}")
    };
    assert_eq!(
        (agent, limit.map(|limit| limit.to_string())),
        (&Some(id("agent-7")), Some("10m".to_owned()))
    );
    assert_eq!((escalate_to.as_ref(), role, *cause), (Some(&id("qa")), &id("qa"), Cause::Timeout));
}

#[test]
fn loops_missing_people_and_other_rules_are_reported_once_and_with_their_cause() {
    let plain = rules(sdlc());
    let mut task = opened(&plain, &["security"]);
    let implemented = say(&plain, &task, "agent-7", "complete").unwrap().task;
    let audit = say(&plain, &implemented, "agent-3", "complete").unwrap().task;
    assert_eq!(
        kinds(&plain, Some(&implemented), &audit),
        ["gate_transition", "gate_blocked_no_agents", "task_blocked"]
    );
    let mut last = Vec::new();
    while task.status != Status::Blocked {
        let review = say(&plain, &task, "agent-7", "complete").unwrap().task;
        task = say(&plain, &review, "agent-3", "needs_review").unwrap().task;
        last = kinds(&plain, Some(&review), &task);
    }
    assert_eq!(last, ["gate_transition", "gate_rejection", "gate_circular_loop", "task_blocked"]);

    let mut bounded = sdlc();
    bounded.gates[1].exits.max_retries = Some(0);
    let bounded = rules(bounded);
    let review = say(&bounded, &opened(&bounded, &[]), "agent-7", "complete").unwrap().task;
    let back = say(&bounded, &review, "agent-3", "needs_review").unwrap().task;
    assert_eq!(
        kinds(&bounded, Some(&review), &back),
        ["gate_transition", "gate_rejection", "gate_exhausted", "task_blocked"]
    );

    let claimed = claim(&plain, &opened(&plain, &[]), "agent-7", 1);
    let mut other = sdlc();
    other.gates[0] = gate("implement", "architect");
    let other = rules(other);
    let rerouted = step(&other, &claimed, &Act::Reroute, 2).unwrap().task;
    let found = events(&other, Some(&claimed), &rerouted);
    let [
        Event::AssignmentError { agent, expected_role: expected, actual_role: actual, .. },
        Event::Rerouted { .. },
    ] = &found[..]
    else {
        panic!("{found:?}")
    };
    assert_eq!(
        (agent, expected, &actual[..]),
        (&id("agent-7"), &Some(id("architect")), &[id("backend")][..])
    );
}

/// Returns rules in which every role and agent has its own `notify`, named after it.
fn with_channels(mut project: Project, mut org: Org) -> Rules {
    let note = |name: &str, on: On| {
        vec![Subscription { on, channel: Channel::Command(vec![name.to_owned()]) }]
    };
    for (role, known) in &mut org.roles {
        known.notify = note(&format!("role {role}"), On::Concerning);
    }
    let agents = ["agent-3", "agent-7", "agent-8", "human-ada", "agent-5"];
    let agents = agents
        .map(|name| (id(name), Agent { notify: note(name, On::Concerning), ..Agent::default() }));
    org.agents = Some(agents.into_iter().collect());
    project.owner = Some("human-ada".into());
    project.notify = note("project", On::Only(vec![EventKind::TaskComplete]));
    Rules::new(project, org).unwrap().0
}

#[test]
fn readers_get_events_that_concern_them() {
    let quiet = timed(Some("qa"));
    let rules = with_channels(quiet.project.clone(), org());
    let heard = |before: &Task, after: &Task| -> Vec<String> {
        let events = events(&rules, Some(before), after);
        let notices = audience(&rules, Some(after), &events);
        let described = |notice: &crate::Notice<'_>| {
            format!("{}: {} {:?}", notice.channel, events[notice.event].kind(), notice.reader)
        };
        notices.iter().map(described).collect()
    };
    let task = opened(&rules, &[]);
    let claimed = claim(&rules, &task, "agent-7", 1);
    assert_eq!(heard(&task, &claimed), [""; 0], "whoever takes a task knows");
    let given = Act::Assign { by: person(), agent: id("agent-8"), branch: None };
    let given = step(&rules, &claimed, &given, 2).unwrap().task;
    assert_eq!(heard(&claimed, &given), ["agent-8: task_assigned Affected"]);
    let late = step(&rules, &claimed, &Act::Timeout { branch: None }, 99).unwrap().task;
    assert_eq!(
        heard(&claimed, &late),
        [
            "agent-7: gate_timeout Affected",
            "role qa: gate_escalation Successor",
            "agent-5: gate_escalation Successor"
        ]
    );
    let comment = "@ada, @agent-8 and @human-ada: look".to_owned();
    for (agent, wanted) in
        [("agent-7", &["human-ada: task_commented Affected"][..]), ("human-ada", &[])]
    {
        let said = [Event::Commented { agent: Some(id(agent)), comment: comment.clone() }];
        let notices = audience(&rules, Some(&claimed), &said);
        let heard =
            notices.iter().map(|one| format!("{}: task_commented {:?}", one.channel, one.reader));
        assert_eq!(heard.collect::<Vec<_>>(), wanted);
    }
    let review = say(&rules, &claimed, "agent-7", "complete").unwrap().task;
    assert_eq!(heard(&claimed, &review), ["role architect: gate_transition Successor"]);
    let back = say(&rules, &review, "agent-3", "needs_review").unwrap().task;
    assert_eq!(
        heard(&review, &back),
        ["role backend: gate_transition Successor", "agent-7: gate_rejection Affected"]
    );
    let blocked = say(&rules, &review, "agent-3", "blocked").unwrap().task;
    assert_eq!(heard(&review, &blocked), ["human-ada: task_blocked Anybody"]);
    let done = say(&rules, &review, "agent-3", "complete").unwrap().task;
    assert_eq!(heard(&review, &done), ["project: task_complete Anybody"]);
}

#[test]
fn a_branch_holder_gets_the_events_of_the_task() {
    let branches = vec![branch("a", "architect"), branch("b", "qa"), branch("c", "backend")];
    let gates = |fork| workflow(vec![gate("work", "backend"), fork, gate("done", "architect")]);
    let forked = gates(fork("review", JoinStrategy::All, branches));
    let rules = with_channels(project(forked), org());
    let mut task = say(&rules, &opened(&rules, &[]), "agent-7", "complete").unwrap().task;
    for (branch, agent) in [("a", "agent-3"), ("b", "agent-5"), ("c", "agent-7")] {
        let claim = Act::Claim { agent: id(agent), branch: Some(id(branch)) };
        task = step(&rules, &task, &claim, 2).unwrap().task;
    }
    task = say_at(&rules, &task, "b", "agent-5", "complete").unwrap().task;
    let by = person();
    let reason = String::from("So");
    let other = Rules::new(project(gates(gate("elsewhere", "qa"))), org()).unwrap().0;
    for (rules, act, kind) in [
        (&rules, Act::Hold { by: by.clone(), reason: reason.clone() }, EventKind::TaskHeld),
        (&rules, Act::Cancel { by: by.clone(), reason: reason.clone() }, EventKind::TaskCancelled),
        (&rules, Act::Override { by, to: id("done"), reason }, EventKind::TaskOverridden),
        (&other, Act::Move, EventKind::TaskMoved),
    ] {
        let after = step(rules, &task, &act, 9).unwrap().task;
        let events = events(rules, Some(&task), &after);
        let holders = events.iter().find_map(|event| match event {
            Event::Held { holders, .. }
            | Event::Cancelled { holders, .. }
            | Event::Overridden { holders, .. }
            | Event::Moved { holders, .. } => Some((event.kind(), holders.clone())),
            _ => None,
        });
        assert_eq!(holders, Some((kind, vec![id("agent-3"), id("agent-7")])), "{act:?}");
    }
    let held =
        step(&rules, &task, &Act::Hold { by: person(), reason: "Wait".into() }, 9).unwrap().task;
    let events = events(&rules, Some(&task), &held);
    let channels: Vec<String> = audience(&rules, Some(&held), &events)
        .iter()
        .map(|notice| notice.channel.to_string())
        .collect();
    assert_eq!(channels, ["agent-3", "agent-7"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn everything_that_was_decided_has_an_event(
        words in prop::collection::vec((0..4_usize, 0..3_usize), 1..40),
        tags in prop::sample::subsequence(vec!["security", "skip-qa"], 0..=2),
    ) {
        let rules = rules(sdlc());
        let mut task = opened(&rules, &tags);
        for (number, (agent, word)) in words.into_iter().enumerate() {
            let agent = ["agent-7", "agent-3", "agent-5", "human-ada"][agent];
            let mut done = completion(agent, ["complete", "needs_review", "blocked"][word]);
            done.id = id(&format!("c{number}"));
            let now = at(i64::try_from(number).unwrap() + 1);
            let Ok(Decision::Step(step)) = decide(&rules, &task, &Act::Complete(done), now) else { continue };
            let found = events(&rules, Some(&task), &step.task);
            let ended = step.task.history[task.history.len()..].iter();
            let moves: Vec<&Visit> = found.iter().filter_map(|event| match event {
                Event::Transition(visit) => Some(&**visit),
                _ => None,
            }).collect();
            prop_assert_eq!(moves, ended.collect::<Vec<_>>());
            for event in &step.events {
                prop_assert_eq!(found.iter().filter(|other| *other == event).count(), 1, "{:?} in {:?}", event, &found);
            }
            prop_assert_eq!(found.contains(&Event::Complete), step.task.status == Status::Complete);
            task = step.task;
        }
    }
}
