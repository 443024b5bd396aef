//! Boxes that are ticked on two branches.

use std::fs;

use crate::support::environment::TestEnvironment;
use crate::support::merge_scene::{aside, scene, verified};

/// Edits the file of a task as a person does, and commits that.
fn edited(env: &TestEnvironment, id: &str, changes: &[(&str, &str)]) {
    let path = env.task_path(id);
    let mut text = env.task_text(id);
    for (from, to) in changes {
        assert!(text.contains(from), "{from}: {text}");
        text = text.replacen(from, to, 1);
    }
    fs::write(env.path(&path), text).unwrap();
    env.commit_all("boxes");
}

#[test]
fn ticks_of_different_boxes_on_two_branches_merge() {
    let (env, _) = scene();
    let body = "Todo:\n\n- [ ] one\n- [x] two\n- [ ] three\n  * [ ] three, in part\n1. [ ] four\n- [ ] same\n- [ ] same\n\nEnd.\n";
    let id = env.new_task(&["Boxes", "--body", body]);
    aside(&env, "side", || {
        edited(
            &env,
            &id,
            &[
                ("- [ ] three", "- [x] three"),
                ("1. [ ] four", "1. [X] four"),
                ("- [ ] same\n- [ ] same", "- [ ] same\n- [x] same"),
                ("End.", "The end."),
            ],
        );
    });
    edited(
        &env,
        &id,
        &[
            ("- [ ] one", "- [x] one"),
            ("- [x] two", "- [ ] two"),
            ("* [ ] three, in part", "* [x] three, in part"),
            ("- [ ] same\n- [ ] same", "- [x] same\n- [ ] same"),
            ("1. [ ] four\n", "1. [ ] four\n- [x] five\n"),
        ],
    );
    env.git(&["merge", "-q", "--no-edit", "side"]);
    let text = env.task_text(&id);
    let wanted = "Todo:\n\n- [x] one\n- [ ] two\n- [x] three\n  * [x] three, in part\n1. [X] four\n- [x] five\n- [x] same\n- [x] same\n\nThe end.\n";
    assert!(text.ends_with(wanted), "{text}");
    let _ = verified(&env).success();
}

#[test]
fn a_conflict_in_more_than_ticks_is_a_person_s() {
    let (env, _) = scene();
    let id = env.new_task(&["Boxes", "--body", "- [ ] one\n- [ ] two\n"]);
    aside(&env, "side", || edited(&env, &id, &[("- [ ] two", "- [x] two, in part")]));
    edited(&env, &id, &[("- [ ] two", "- [x] two, wholly")]);
    let merged = env.try_git(&["merge", "--no-edit", "side"]);
    assert_eq!(merged.code, Some(1), "{merged}");
    let text = env.task_text(&id);
    assert!(
        text.contains("<<<<<<<") && text.contains("in part") && text.contains("wholly"),
        "{text}"
    );
}

#[test]
fn a_tick_of_a_box_that_the_other_side_rewords_or_removes_is_a_person_s() {
    for (name, ours, theirs) in [
        ("untick, reword", ("- [x] two\n", "- [ ] two\n"), ("two\n", "two, by hand\n")),
        ("reword, tick", ("] one\n", "] one of them\n"), ("- [ ] one", "- [x] one")),
        ("tick, remove", ("- [ ] one", "- [x] one"), ("- [ ] one\n", "")),
        ("indent, untick", ("- [x] two\n", "  - [x] two\n"), ("- [x] two", "- [ ] two")),
    ] {
        let (env, _) = scene();
        let id = env.new_task(&["Boxes", "--body", "- [ ] one\n- [x] two\n"]);
        aside(&env, "side", || edited(&env, &id, &[theirs]));
        edited(&env, &id, &[ours]);
        let merged = env.try_git(&["merge", "--no-edit", "side"]);
        assert_eq!(merged.code, Some(1), "{name}: {merged}");
        assert!(env.task_text(&id).contains("<<<<<<<"), "{name}");
    }
}
