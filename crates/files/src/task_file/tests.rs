use serde_json::{Value, json};

use super::*;
use aof_domain::{CheckResults, Destination, Ending, OpenVisit, Outcome, Status, Visit};

fn id() -> TaskId {
    "AOF-abc".parse().unwrap()
}

fn defaults() -> Defaults {
    Defaults {
        workflow: "default".parse().unwrap(),
        created: "2026-02-16T09:00:00Z".parse().unwrap(),
    }
}

fn read_file(text: &str) -> TaskFile {
    parse(text.as_bytes(), &id(), &defaults()).unwrap()
}

fn codes(text: &str) -> Vec<(&'static str, usize)> {
    let faults = parse(text.as_bytes(), &id(), &defaults()).unwrap_err();
    faults.iter().map(|fault| (fault.code, fault.line_column(text).0)).collect()
}

const OPEN: &str = "---
# what a person wrote
title: 'Add login'   # keep the quotes
tags: [auth, \"b\"]
estimate: 3d
status: ready
created: 2026-02-16T10:00:00Z
updated: 2026-02-16T10:00:00Z
routing: { workflow: default, role: backend }
gate:
  current: implement
  entered: 2026-02-16T10:00:00Z
  visit: 0
---

# Body

---
";

fn ended(file: &TaskFile) -> Task {
    let mut task = file.task.clone();
    let entered = task.gate.as_ref().unwrap().entered;
    let exited: Timestamp = "2026-02-16T14:30:00Z".parse().unwrap();
    task.history.push(Visit {
        branch: None,
        verdict: None,
        join: None,
        unfinished: Vec::new(),
        gate: "implement".parse().unwrap(),
        item: None,
        role: Some("backend".parse().unwrap()),
        agent: Some("agent-7".parse().unwrap()),
        entered,
        exited,
        overdue: None,
        outcome: Ending::Completed(Outcome::Complete),
        summary: "Added tokens: \"all\" of them\nand more # really".into(),
        blockers: Vec::new(),
        rejection_notes: None,
        to: Some(Destination::Gate("review".parse().unwrap())),
        to_item: None,
        round: None,
        skipped: vec!["docs".parse().unwrap()],
        cleared: Vec::new(),
        escalated_to: None,
        retry: None,
        outputs: Map::new(),
        metadata: Map::new(),
        workflow: Some("0123456789abcdef".into()),
        completion: None,
        children: std::collections::BTreeMap::new(),
        checks: CheckResults::default(),
        work: None,
        landed: None,
        signature: None,
    });
    task.updated = exited;
    task.routing.role = Some("architect".parse().unwrap());
    task.gate = Some(OpenVisit::at("review".parse().unwrap(), exited, 1));
    task
}

#[test]
fn a_transition_changes_its_own_lines_only() {
    let file = read_file(OPEN);
    let after = ended(&file);
    let changed = file.update(&after).unwrap();
    let text = changed.text();
    insta::assert_snapshot!(text, @r#"
    ---
    # what a person wrote
    title: 'Add login'   # keep the quotes
    tags: [auth, "b"]
    estimate: 3d
    status: ready
    created: 2026-02-16T10:00:00Z
    updated: 2026-02-16T14:30:00Z
    routing: { workflow: default, role: architect }
    gate:
      current: review
      entered: 2026-02-16T14:30:00Z
      visit: 1
    gateHistory:
      - gate: implement
        role: backend
        agent: agent-7
        entered: 2026-02-16T10:00:00Z
        exited: 2026-02-16T14:30:00Z
        duration: 16200
        outcome: complete
        summary: |-
          Added tokens: "all" of them
          and more # really
        to: review
        skipped:
          - docs
        workflow: "0123456789abcdef"
    ---

    # Body

    ---
    "#);
    assert_eq!(read_file(text).task, after);
    // The task that was parsed to verify the change is the task of the new file.
    assert_eq!(read(&changed, &id(), &defaults()).unwrap(), read_file(text));
}

#[test]
fn the_work_of_a_completion_joins_the_body() {
    let file = read_file(OPEN);
    let after = ended(&file);
    let work = Work {
        ticket: "AOF-abc@0".parse().unwrap(),
        gate: "implement".parse().unwrap(),
        agent: Some("agent-7".parse().unwrap()),
        at: after.updated,
        text: "What I found out.".into(),
    };
    let changed = file.update_with_work(&after, &work).unwrap();
    let text = changed.text();
    assert!(
        text.ends_with(
            "---\n\n<!-- aof:work AOF-abc@0 -->\n## implement by agent-7\n\nWhat I found out.\n"
        ),
        "{text}"
    );
}

#[test]
fn a_hand_made_file_needs_a_title_and_nothing_else() {
    let text = "---\ntitle: Buy milk\nstatus: To Do\n---\n- whole\n";
    let file = read_file(text);
    assert_eq!((file.origin, file.task.status), (Origin::HandMade, Status::Ready));
    let mut after = file.task.clone();
    after.routing.role = Some("backend".parse().unwrap());
    after.gate = Some(OpenVisit::at("implement".parse().unwrap(), defaults().created, 0));
    let changed = file.update(&after).unwrap();
    insta::assert_snapshot!(changed.text(), @"
    ---
    title: Buy milk
    status: ready
    id: AOF-abc
    created: 2026-02-16T09:00:00Z
    updated: 2026-02-16T09:00:00Z
    routing:
      workflow: default
      role: backend
    gate:
      current: implement
      entered: 2026-02-16T09:00:00Z
      visit: 0
    ---
    - whole
    ");
    assert_eq!(read_file(changed.text()).task, after);
}

#[test]
fn texts_that_look_like_numbers_stay_as_they_are_written() {
    let head = "title: 43\ndescription: 2.0\ntags: [43, 2.0, 1.10, true, 2024]\nmetadata: {v: 1.10, w: [1e3]}\nown: 7.50\n";
    let file = read_file(&format!("---\n{head}---\n"));
    assert_eq!((file.task.title.as_str(), file.task.description.as_deref()), ("43", Some("2.0")));
    assert_eq!(file.task.tags, ["43", "2.0", "1.10", "true", "2024"]);
    assert_eq!(file.task.metadata["v"], 1.1);
    let expected = json!({
        "title": "43", "description": "2.0", "tags": ["43", "2.0", "1.10", "true", "2024"],
        "metadata": {"v": 1.1, "w": [1000.0]}, "own": 7.5,
    });
    assert_eq!(Value::Object(file.raw()), expected);
    assert_eq!(file.keys(Scope::All), file.raw());
    // The tags are adopted unchanged, and with one item changed.
    for (tags, written) in [
        (vec!["43", "2.0", "1.10", "true", "2024"], "[43, 2.0, 1.10, true, 2024]"),
        (vec!["43", "2.0", "1.1", "true", "2024"], "[43, 2.0, \"1.1\", true, 2024]"),
        (vec!["43", "1.10", "true", "2024"], "[43, 1.10, true, 2024]"),
        (vec!["43", "2024"], "[43, 2024]"),
        (
            vec!["43", "2.0", "1.10", "true", "2024", "x", "7"],
            "[43, 2.0, 1.10, true, 2024, x, \"7\"]",
        ),
        (vec!["x", "43"], "[x, \"43\"]"),
    ] {
        let mut after = file.task.clone();
        after.tags = tags.into_iter().map(str::to_owned).collect();
        let changed = file.update(&after).unwrap();
        let wanted = head.replace("[43, 2.0, 1.10, true, 2024]", written);
        assert!(changed.text().starts_with(&format!("---\n{wanted}id: ")), "{}", changed.text());
        let again = read_file(changed.text());
        assert_eq!(again.task.tags, after.tags);
        assert_eq!(again.update(&again.task).unwrap().text(), changed.text());
    }
    let mut after = file.task.clone();
    after.title = "43.0".to_owned();
    after.metadata.insert("v".to_owned(), json!("1.10"));
    let text = file.update(&after).unwrap();
    assert!(
        text.text().starts_with("---\ntitle: \"43.0\"\n")
            && text.text().contains("{v: \"1.10\", w: [1e3]}")
    );
}

#[test]
fn a_plan_stays_as_it_is_written() {
    let head = "title: x\npriority: 'high' # now\ndue: 2026-12-01T18:00+01:00\nmilestone: 1.10\nlinks:\n  - plan.md # ours\n  - {url: 'https://x.example/1'}\n  - {title: 2, url: b}\n";
    let file = read_file(&format!("---\n{head}---\n"));
    let plan = &file.task.plan;
    assert_eq!((plan.priority.as_deref(), plan.milestone.as_deref()), (Some("high"), Some("1.10")));
    assert_eq!(plan.due.unwrap().to_string(), "2026-12-01T17:00:00Z");
    let links: Vec<String> = plan.links.iter().map(ToString::to_string).collect();
    assert_eq!(links, ["plan.md", "https://x.example/1", "2: b"]);
    let changed = file.update(&file.task).unwrap();
    assert!(changed.text().starts_with(&format!("---\n{head}id: ")), "{}", changed.text());
    let file = read_file(changed.text());
    let mut after = file.task.clone();
    after.plan.links.remove(1);
    after.plan.due = Some("2026-12-02".parse().unwrap());
    let wanted = head
        .replace("2026-12-01T18:00+01:00", "2026-12-02")
        .replace("  - {url: 'https://x.example/1'}\n", "");
    let changed = file.update(&after).unwrap();
    assert!(changed.text().starts_with(&format!("---\n{wanted}id: ")), "{}", changed.text());
}

#[test]
fn a_plan_that_cannot_be_read_is_said_with_its_line() {
    for (line, code) in [
        ("due: tomorrow", "invalid_value"),
        ("due: 2026-02-30", "invalid_value"),
        ("due: 2026-12-01T10:00", "invalid_value"),
        ("due: [2026-12-01]", "wrong_kind"),
        ("due: 20261201", "invalid_value"),
        ("links: 5", "wrong_kind"),
        ("links: [{title: x}]", "missing_field"),
        ("links: [{url: x, name: y}]", "unknown_field"),
        ("milestone: [a]", "wrong_kind"),
        ("priority: {a: b}", "wrong_kind"),
    ] {
        assert_eq!(codes(&format!("---\ntitle: x\n{line}\n---\n")), [(code, 3)], "{line}");
    }
    for line in ["due:", "links:", "links: plan.md", "priority: urgentest", "milestone: 5"] {
        assert_eq!(read_file(&format!("---\ntitle: x\n{line}\n---\n")).task.title, "x");
    }
}

#[test]
fn a_new_file_reads_back() {
    let file = read_file(OPEN);
    let text = create(&file.task, "Do it.");
    insta::assert_snapshot!(text, @"
    ---
    id: AOF-abc
    title: Add login
    status: ready
    created: 2026-02-16T10:00:00Z
    updated: 2026-02-16T10:00:00Z
    routing:
      workflow: default
      role: backend
    gate:
      current: implement
      entered: 2026-02-16T10:00:00Z
      visit: 0
    tags:
      - auth
      - b
    ---

    Do it.
    ");
    assert_eq!(read_file(&text).task, file.task);
    assert_eq!(read_file(&create(&ended(&file), "")).task, ended(&file));
}

#[test]
fn everything_wrong_is_said_with_its_line() {
    assert_eq!(codes("title: x\n"), [("no_frontmatter", 1)]);
    assert_eq!(codes("---\nstatus: ready\n---\n"), [("missing_field", 2)]);
    assert_eq!(codes("---\ntitle: a\ntitle: b\n---\n"), [("duplicate_key", 3)]);
    assert_eq!(codes("---\nid: AOF-xyz\ntitle: x\n---\n"), [("id_mismatch", 2)]);
    let broken = OPEN
        .replace("status: ready", "status: redy")
        .replace("visit: 0", "visit: 3")
        .replace("10:00:00Z\nrouting", "noon\nrouting");
    assert_eq!(
        codes(&broken),
        [("inconsistent_visit", 13), ("invalid_value", 6), ("invalid_time", 8)]
    );
    assert_eq!(
        codes(&OPEN.replace("status: ready", "status: complete")),
        [("inconsistent_state", 6)]
    );
    let open_entry = "---\ntitle: x\nstatus: ready\ngateHistory:\n  - gate: a\n    role: b\n    surprise: 1\n---\n";
    let found: Vec<&str> = codes(open_entry).into_iter().map(|(code, _)| code).collect();
    assert_eq!(found.iter().filter(|code| **code == "missing_field").count(), 1, "{found:?}");
}

#[test]
fn a_file_is_brought_back_to_an_earlier_state_of_its_task() {
    let open = read_file(OPEN);
    let done = ended(&open);
    let later = open.update(&done).unwrap();
    let file = read(&later, &id(), &defaults()).unwrap();
    assert_eq!(file.rewind(&open.task).unwrap().text(), OPEN);
    let mut twice = done.clone();
    twice.history.push(Visit {
        entered: done.history[0].exited,
        summary: "Again".into(),
        ..done.history[0].clone()
    });
    if let Some(open) = &mut twice.gate {
        open.visit = 2;
    }
    let latest = file.update(&twice).unwrap();
    let newest = read(&latest, &id(), &defaults()).unwrap();
    for (state, text) in [(&open.task, OPEN), (&done, later.text())] {
        assert_eq!(newest.rewind(state).unwrap().text(), text);
    }
    let mut thrice = twice.clone();
    thrice.history.push(Visit { summary: "Once more".into(), ..twice.history[1].clone() });
    if let Some(open) = &mut thrice.gate {
        open.visit = 3;
    }
    let last = newest.update(&thrice).unwrap();
    let last = read(&last, &id(), &defaults()).unwrap();
    assert_eq!(last.rewind(&done).unwrap().text(), later.text());
}
