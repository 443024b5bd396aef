use crate::tests::world::*;
use crate::{Act, Actor, StateChange, explain};
use aof_domain::*;

type Forge = fn(&mut Task);

#[test]
fn every_step_is_found_again() {
    let rules = rules(sdlc());
    let person = Actor::Person(Some(id("human-ada")));
    let new = new_task(&[]);
    let mut task = opened(&rules, &[]);
    assert!(
        matches!(explain(&rules, None, &task), StateChange::Act(found) if found.act == Act::Open)
    );
    assert!(
        matches!(explain(&rules, Some(&new), &task), StateChange::Act(found) if found.act == Act::Open)
    );
    let mut with_text = completion("agent-7", "complete");
    with_text.content.body = Some("long text".into());
    let mut without_outcome = completion("agent-7", "complete");
    without_outcome.content.outcome = None;
    let acts = [
        Act::Claim { agent: id("agent-7"), branch: None },
        Act::Release { by: Actor::Agent(id("agent-7")), branch: None },
        Act::Complete(Completion { id: id("one"), ..with_text }),
        Act::Complete(Completion { id: id("two"), ..completion("agent-3", "needs_review") }),
        Act::Complete(Completion { id: id("three"), ..without_outcome }),
        Act::Complete(Completion { id: id("four"), ..completion("agent-3", "blocked") }),
        Act::Unblock { by: person.clone(), branch: None, reason: None },
        Act::Override { by: person.clone(), to: id("approve"), reason: "now".into() },
        Act::Cancel { by: person.clone(), reason: "never".into() },
        Act::Reopen { by: person, to: id("test"), reason: "well".into() },
    ];
    for (minute, act) in (1..).zip(acts) {
        let after = step(&rules, &task, &act, minute).unwrap().task;
        let found = explain(&rules, Some(&task), &after);
        assert!(matches!(found, StateChange::Act(_)), "{act:?}: {found:?}");
        assert_eq!(explain(&rules, Some(&after), &after), StateChange::Same);
        task = after;
    }
}

#[test]
fn a_step_that_the_engine_would_not_make_is_foreign() {
    let rules = rules(sdlc());
    let task = opened(&rules, &[]);
    let done = say(&rules, &task, "agent-7", "complete").unwrap().task;
    let forged: [(&str, Forge); 6] = [
        ("gate", |task| task.gate.as_mut().unwrap().current = id("approve")),
        ("outcome", |task| task.history[0].outcome = Ending::Completed(Outcome::Skip)),
        ("agent", |task| task.history[0].agent = Some(id("agent-5"))),
        ("to", |task| task.history[0].to = Some(Destination::End)),
        ("status", |task| task.status = Status::Blocked),
        ("context", |task| drop(task.context.insert("plan".into(), 1.into()))),
    ];
    for (what, forge) in forged {
        let mut after = done.clone();
        forge(&mut after);
        assert!(matches!(explain(&rules, Some(&task), &after), StateChange::Foreign(_)), "{what}");
    }
    let mut emptied = done.clone();
    emptied.history.clear();
    assert!(matches!(explain(&rules, Some(&done), &emptied), StateChange::Foreign(_)));
}

#[test]
fn people_edit_their_fields_beside_the_engine() {
    let rules = rules(sdlc());
    let task = opened(&rules, &[]);
    let mut edited = task.clone();
    edited.title = "Add login with tokens".into();
    edited.tags = vec!["auth".into()];
    assert_eq!(explain(&rules, Some(&task), &edited), StateChange::Edit);
    let both = say(&rules, &edited, "agent-7", "complete").unwrap().task;
    assert!(matches!(explain(&rules, Some(&task), &both), StateChange::Act(_)));
}
