//! Two states of one task, merged: the winning side, and the superseded, carried and dropped acts.

use serde_json::{Value, json};

use crate::replay::merge::MergeRefusal;
use crate::replay::merge::{Dropped, Merged, Side, merge, merge_keys, sides};
use crate::tests::world::*;
use crate::{Act, Actor, Proof, Rules, prove};
use aof_domain::*;

fn merged(rules: &Rules, base: &Task, ours: &Task, theirs: &Task) -> Merged {
    merge(rules, &sides(Some(base), ours, theirs).unwrap(), ours)
}

fn completed(rules: &Rules, task: &Task, agent: &str, outcome: &str) -> Task {
    say(rules, task, agent, outcome).unwrap().task
}

/// Completes with its own id, in that minute.
fn say_as(
    rules: &Rules,
    task: &Task,
    branch: Option<&str>,
    agent: &str,
    key: &str,
    minute: i64,
) -> Task {
    let mut completion = completion(agent, "complete");
    completion.ticket = task.ticket_of(branch.map(id).as_ref());
    completion.id = id(key);
    step(rules, task, &Act::Complete(completion), minute).unwrap().task
}

fn claimed(rules: &Rules, task: &Task, agent: &str) -> Task {
    step(rules, task, &Act::Claim { agent: id(agent), branch: None }, 5).unwrap().task
}

/// Describes a merge in a few words.
fn described(merged: &Merged) -> String {
    let superseded = merged.superseded.iter().map(|entry| {
        let by = entry.by.as_ref().map_or("nobody", AgentId::as_str);
        format!("; {} superseded by {by}", entry.ticket)
    });
    let dropped = merged.dropped.iter().map(|act| match act {
        Dropped::Claim { ticket, agent } => format!("; {agent} lost {ticket}"),
        Dropped::Hold { ticket } => format!("; {ticket} is not held"),
        Dropped::Unblocking { ticket } => format!("; {ticket} is blocked again"),
    });
    let decided = (merged.redone > 0).then(|| format!("; {} carried", merged.redone));
    let rest: String = superseded.chain(dropped).chain(decided).collect();
    format!("{}{rest}", stands(&merged.task))
}

#[test]
fn the_side_that_went_on_wins() {
    let rules = rules(sdlc());
    let base = opened(&rules, &[]);
    let ahead = completed(&rules, &base, "agent-7", "complete");
    let further = completed(&rules, &ahead, "agent-3", "complete");
    let taken = claimed(&rules, &base, "agent-8");
    for (ours, theirs, expected) in [
        (&base, &base, "implement@0 ready"),
        (&ahead, &base, "review@1 ready"),
        (&base, &ahead, "review@1 ready"),
        (&ahead, &further, "test@2 ready"),
        (&further, &ahead, "test@2 ready"),
        (&taken, &base, "implement@0 in_progress"),
        (&base, &taken, "implement@0 in_progress"),
        (&taken, &ahead, "review@1 ready; agent-8 lost AOF-abc@0"),
        (&ahead, &taken, "review@1 ready; agent-8 lost AOF-abc@0"),
    ] {
        assert_eq!(described(&merged(&rules, &base, ours, theirs)), expected);
    }
}

#[test]
fn of_two_completions_of_one_visit_theirs_is_superseded_with_its_followers() {
    let rules = rules(sdlc());
    let base = opened(&rules, &[]);
    let ours = say_as(&rules, &base, None, "agent-7", "one", 10);
    let theirs = say_as(&rules, &base, None, "agent-8", "two", 5);
    let further = say_as(&rules, &theirs, None, "agent-3", "three", 20);
    let both = merged(&rules, &base, &ours, &further);
    assert_eq!(
        described(&both),
        "review@1 ready; AOF-abc@0 superseded by agent-7; AOF-abc@1 superseded by agent-7"
    );
    assert_eq!(both.task, ours);
    assert_eq!(both.superseded[1].visit.completion.as_ref().unwrap().id, id("three"));
    assert_eq!(
        described(&merged(&rules, &base, &theirs, &ours)),
        "review@1 ready; AOF-abc@0 superseded by agent-8"
    );
    assert_eq!(
        described(&merged(&rules, &base, &ours, &ours)),
        "review@1 ready",
        "the same completion is one and the same"
    );
    let again = merged(&rules, &base, &both.task, &further);
    assert_eq!(again.task, both.task);
}

#[test]
fn a_rebase_brings_one_entry_after_the_other() {
    let rules = rules(sdlc());
    let base = opened(&rules, &[]);
    let upstream = say_as(&rules, &base, None, "agent-7", "one", 10);
    let first = say_as(&rules, &base, None, "agent-8", "two", 5);
    let second = say_as(&rules, &first, None, "agent-3", "three", 20);
    let picked = merged(&rules, &base, &upstream, &first).task;
    assert_eq!(
        described(&merged(&rules, &first, &picked, &second)),
        "review@1 ready; AOF-abc@1 superseded by agent-7"
    );
}

#[test]
fn of_two_claims_ours_stands() {
    let rules = rules(sdlc());
    let base = opened(&rules, &[]);
    let (ours, theirs) = (claimed(&rules, &base, "agent-7"), claimed(&rules, &base, "agent-8"));
    assert_eq!(
        described(&merged(&rules, &base, &ours, &theirs)),
        "implement@0 in_progress; agent-8 lost AOF-abc@0"
    );
    assert_eq!(merged(&rules, &base, &ours, &theirs).task, ours);
}

#[test]
fn a_hold_and_its_release_are_dropped_once_the_visit_has_ended() {
    let rules = rules(sdlc());
    let mut base = opened(&rules, &[]);
    base.depends_on = vec![id("AOF-one")];
    let by = Actor::Person(None);
    let held =
        step(&rules, &base, &Act::Hold { by: by.clone(), reason: "wait".into() }, 4).unwrap().task;
    let ahead = completed(&rules, &base, "agent-7", "complete");
    assert_eq!(
        described(&merged(&rules, &base, &ahead, &held)),
        "review@1 ready; AOF-abc@0 is not held"
    );
    let free =
        step(&rules, &held, &Act::Unblock { by, branch: None, reason: None }, 6).unwrap().task;
    assert_eq!(described(&merged(&rules, &held, &held, &free)), "implement@0 ready");
    let other = step(&rules, &held, &Act::Depend { lost: crate::tests::property::lost(1) }, 5)
        .unwrap()
        .task;
    assert_eq!(
        described(&merged(&rules, &held, &other, &free)),
        "implement@0 blocked; AOF-abc@0 is blocked again"
    );
}

fn forked() -> Rules {
    let branches = [("security", "qa"), ("speed", "architect"), ("style", "backend")];
    let branches = branches.map(|(name, role)| Branch::new(gate(name, role)).unwrap()).into();
    rules(workflow(vec![fork("check", JoinStrategy::All, branches), gate("done", "backend")]))
}

#[test]
fn a_completion_at_a_branch_is_carried_while_it_is_open() {
    let rules = forked();
    let base = opened(&rules, &[]);
    let ours = say_as(&rules, &base, Some("speed"), "agent-3", "speed", 20);
    let security = say_as(&rules, &base, Some("security"), "agent-5", "security", 10);
    let theirs = say_as(&rules, &security, Some("speed"), "agent-3", "other", 11);
    let both = merged(&rules, &base, &ours, &theirs);
    assert_eq!(described(&both), "check@0 ready; AOF-abc@0/speed superseded by agent-3; 1 carried");
    assert_eq!(both.task.history[..1], ours.history[..]);
    let entry = &both.task.history[1];
    assert_eq!(entry.completion, security.history[0].completion);
    assert_eq!(entry.exited, at(20), "never before what stands");
    assert!(matches!(prove(&rules, Some(&ours), &both.task), Proof::Done(_)));
    let again = merged(&rules, &base, &both.task, &theirs);
    assert_eq!((&again.task, again.redone), (&both.task, 0), "no completion counts twice");

    let style = say_as(&rules, &theirs, Some("style"), "agent-7", "style", 12);
    assert_eq!(style.gate.as_ref().unwrap().current, id("done"));
    let closed = merged(&rules, &base, &ours, &style);
    assert_eq!(
        described(&closed),
        "done@3 ready; AOF-abc@0/speed superseded by agent-3; 2 carried",
        "theirs close the fork"
    );
    let late = merged(&rules, &base, &style, &ours);
    assert_eq!(described(&late), "done@3 ready; AOF-abc@0/speed superseded by agent-3");
}

#[test]
fn a_completion_after_the_fork_is_for_a_visit_that_is_not_open_here() {
    let rules = forked();
    let base = opened(&rules, &[]);
    let base = say_as(&rules, &base, Some("speed"), "agent-3", "speed", 5);
    let ours = say_as(&rules, &base, Some("security"), "agent-5", "one", 20);
    let theirs = say_as(&rules, &base, Some("security"), "agent-5", "two", 10);
    let theirs = say_as(&rules, &theirs, Some("style"), "agent-7", "style", 12);
    let theirs = say_as(&rules, &theirs, None, "agent-8", "done", 14);
    assert_eq!(theirs.status, Status::Complete);
    let both = merged(&rules, &base, &ours, &theirs);
    let expected = "done@3 ready; AOF-abc@0/security superseded by agent-5; AOF-abc@3 superseded by agent-5; 1 carried";
    assert_eq!(described(&both), expected);
}

#[test]
fn a_carried_step_that_the_rules_refuse_is_superseded() {
    let rules = forked();
    let base = opened(&rules, &[]);
    let ours = say_as(&rules, &base, Some("speed"), "agent-3", "speed", 20);
    let ours =
        step(&rules, &ours, &Act::Claim { agent: id("agent-8"), branch: Some(id("style")) }, 21)
            .unwrap()
            .task;
    let theirs = say_as(&rules, &base, Some("style"), "agent-7", "style", 10);
    assert_eq!(
        described(&merged(&rules, &base, &ours, &theirs)),
        "check@0 ready; AOF-abc@0/style superseded by agent-3"
    );
}

#[test]
fn a_hand_made_task_is_whoevers_took_it_up() {
    let rules = rules(sdlc());
    let base = new_task(&[]);
    let (one, two) = (opened(&rules, &[]), step(&rules, &base, &Act::Open, 3).unwrap().task);
    assert_eq!(merged(&rules, &base, &base, &one).task, one);
    assert_eq!(merged(&rules, &base, &one, &base).task, one);
    assert_eq!(merged(&rules, &base, &one, &two).task, one);
    let mut edited = base.clone();
    edited.title = "Another".into();
    edited.routing = Routing::of(id("other"));
    assert_eq!(sides(Some(&base), &edited, &one).unwrap().stands(), Side::Theirs);
    assert_eq!(sides(None, &edited, &one).unwrap().stands(), Side::Theirs);
}

#[test]
fn growing_values_are_never_reduced_and_two_tasks_stay_two() {
    let rules = rules(sdlc());
    let base = opened(&rules, &[]);
    let ahead = completed(&rules, &base, "agent-7", "complete");
    let further = completed(&rules, &ahead, "agent-3", "complete");
    let removed = |side| Some(MergeRefusal::Removed { side, had: 1, left: 0 });
    assert_eq!(sides(Some(&ahead), &further, &base).err(), removed(Side::Theirs));
    assert_eq!(sides(Some(&ahead), &base, &further).err(), removed(Side::Ours));
    let mut other = base.clone();
    other.created = at(7);
    assert_eq!(
        sides(None, &base, &other).err(),
        Some(MergeRefusal::TwoTasks { ours: at(0), theirs: at(7) })
    );
    assert_eq!(
        removed(Side::Theirs).unwrap().to_string(),
        "what comes in has 0 of the 1 entries that there were before: a history only grows"
    );
}

#[test]
fn a_rewritten_entry_never_wins_against_the_original() {
    let rules = rules(sdlc());
    let base = completed(&rules, &opened(&rules, &[]), "agent-7", "complete");
    let mut forged = base.clone();
    forged.history[0].summary = "I did more".into();
    let forged = completed(&rules, &forged, "agent-3", "complete");
    let both = merged(&rules, &base, &base, &forged);
    assert_eq!(both.task, base);
    assert_eq!(both.superseded.len(), 1, "{}", described(&both));
}

fn map(value: &Value) -> Map {
    value.as_object().unwrap().clone()
}

#[test]
fn keys_are_merged_one_by_one() {
    let base = json!({"title": "a", "tags": ["x", "y"], "metadata": {"a": 1, "b": {"c": 1, "d": 2}}, "own": [1], "gone": 1});
    let ours = json!({"title": "b", "tags": ["y", "z"], "metadata": {"a": 2, "b": {"c": 1, "d": 3}}, "own": [1]});
    let theirs = json!({"title": "a", "tags": ["x", "y", "w"], "metadata": {"a": 1, "b": {"c": 2, "d": 2}, "e": 1}, "own": [2], "gone": 1, "new": 1});
    let expected = json!({"title": "b", "tags": ["y", "z", "w"], "metadata": {"a": 2, "b": {"c": 2, "d": 3}, "e": 1}, "own": [2], "new": 1});
    let keys = merge_keys(&map(&base), &map(&ours), &map(&theirs));
    assert_eq!((keys.merged, keys.disputed), (map(&expected), Vec::new()));

    let ours = json!({"title": "b", "metadata": {"b": {"d": 3}}, "own": [1, 2], "gone": 2});
    let theirs = json!({"title": "c", "metadata": {"b": {"d": 4}}, "own": [1, 3]});
    let keys = merge_keys(&map(&base), &map(&ours), &map(&theirs));
    let disputed: Vec<String> = keys.disputed.iter().map(|key| key.path.join(".")).collect();
    assert_eq!(disputed, ["title", "metadata.b.d", "own", "gone"]);
    assert_eq!(keys.merged, map(&ours), "what is disputed is ours until somebody decides");
    assert_eq!(keys.disputed[3].theirs, None);
}
