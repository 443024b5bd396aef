//! Files on both sides, as people and agents leave them.

mod hostile;

use proptest::prelude::*;

use super::*;
use crate::domain::{Completion, CompletionContent};
use crate::files::config::configuration::Source;
use crate::project::rule_files::compiled;
use crate::rules::{Act, Decision, decide};

const PROJECT: &str = "workflow:
  gates:
    - {id: implement, role: backend}
    - {id: review, role: architect, canReject: true}
";
const ORG: &str = "roles:
  backend: {agents: [agent-7, agent-8]}
  architect: {agents: [agent-3]}
";

const OPEN: &str = "---
# what a person wrote
title: 'Add login'   # keep the quotes
tags: [auth, \"b\"]
estimate: 3d # days
metadata:
  priority: low
  team: one
id: AOF-abc
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

One line.

Another line.
";

fn rules() -> Rules {
    let source =
        |name: &str, text: &str| Source { name: name.to_owned(), bytes: text.as_bytes().to_vec() };
    compiled(&[source("project.yaml", PROJECT), source("org.yaml", ORG)]).unwrap().0
}

fn id() -> TaskId {
    "AOF-abc".parse().unwrap()
}

fn read(text: &str) -> TaskFile {
    let defaults =
        Defaults { workflow: "default".parse().unwrap(), created: Timestamp::UNIX_EPOCH };
    task_file::parse(text.as_bytes(), &id(), &defaults).unwrap()
}

/// Completes the open visit, with a text.
fn completed(text: &str, agent: &str, key: &str, minute: i64, work: Option<&str>) -> String {
    let file = read(text);
    let says = Completion {
        ticket: file.task.ticket(),
        gate: None,
        agent: agent.parse().unwrap(),
        content: CompletionContent {
            outcome: Some("complete".into()),
            summary: Some(format!("said by {agent}")),
            body: work.map(str::to_owned),
            ..CompletionContent::default()
        },
        id: key.parse().unwrap(),
        signature: None,
        facts: Box::default(),
    };
    let now = Timestamp::from_second(1_771_236_000 + 60 * minute).unwrap();
    let Ok(Decision::Step(step)) = decide(&rules(), &file.task, &Act::Complete(says), now) else {
        panic!("{text}")
    };
    let after = match &step.work {
        Some(work) => file.update_with_work(&step.task, work),
        None => file.update(&step.task),
    };
    after.unwrap().text().to_owned()
}

fn commented(text: &str, name: &str, comment: &str) -> String {
    read(text).with_comment(name, Timestamp::UNIX_EPOCH, comment).unwrap().text().to_owned()
}

fn merged(base: Option<&str>, ours: &str, theirs: &str) -> FileMerge {
    let versions = Versions {
        base: base.map(str::as_bytes),
        ours: ours.as_bytes(),
        theirs: theirs.as_bytes(),
    };
    merge_files(&rules(), &id(), versions, &Marks::default()).unwrap()
}

/// Merges versions that need no person's help.
fn clean(base: &str, ours: &str, theirs: &str) -> String {
    let merged = merged(Some(base), ours, theirs);
    assert_eq!(merged.conflicts, [], "{}", String::from_utf8_lossy(&merged.bytes));
    String::from_utf8(merged.bytes).unwrap()
}

#[test]
fn each_side_keeps_its_changes_and_no_other_byte_changes() {
    let done = completed(OPEN, "agent-7", "one", 5, None);
    let edited = OPEN
        .replace("[auth, \"b\"]", "[auth, \"b\", c]")
        .replace("team: one", "team: two")
        .replace("One line", "1 line");
    let expected = done
        .replace("[auth, \"b\"]", "[auth, \"b\", c]")
        .replace("team: one", "team: two")
        .replace("One line", "1 line");
    assert_eq!(clean(OPEN, &done, &edited), expected);
    assert_eq!(clean(OPEN, &edited, &done), expected);
    assert_eq!(clean(OPEN, &done, OPEN), done);
    assert_eq!(clean(OPEN, &done, &done), done);
    let other = OPEN
        .replace("estimate: 3d", "estimate: 4d")
        .replace("priority: low", "priority: high")
        .replace("Another", "A");
    let both = clean(OPEN, &edited, &other);
    assert_eq!(
        both,
        edited
            .replace("estimate: 3d", "estimate: 4d")
            .replace("priority: low", "priority: high")
            .replace("Another", "A")
    );
    let noted = OPEN
        .replace("# what a person wrote", "# what two people wrote")
        .replace("3d # days", "'5d' # or so");
    let text = clean(OPEN, &done, &noted);
    assert!(
        text.contains("# what two people wrote\n") && text.contains("estimate: '5d' # or so\n"),
        "{text}"
    );
    let gone = OPEN.replace("estimate: 3d # days\n", "").replace("id: AOF", "owner: ada\nid: AOF");
    let text = clean(OPEN, &done, &gone);
    assert!(
        !text.contains("estimate")
            && text.contains("owner: ada")
            && text.contains("# what a person wrote"),
        "{text}"
    );
}

#[test]
fn line_endings_a_mark_and_a_missing_last_break_survive() {
    let dos = |text: &str| format!("\u{feff}{}", text.trim_end().replace('\n', "\r\n"));
    let done = completed(&dos(OPEN), "agent-7", "one", 5, None);
    let edited = dos(&OPEN.replace("team: one", "team: two").replace("One line", "1 line"));
    let expected = done.replace("team: one", "team: two").replace("One line", "1 line");
    assert_eq!(clean(&dos(OPEN), &done, &edited), expected);
    assert_eq!(clean(&dos(OPEN), &edited, &done), expected);
    // One side's editor wrote some endings of its own.
    let mixed = dos(OPEN).replace("One line.\r\n", "1 line.\n");
    let text = clean(&dos(OPEN), &done, &mixed);
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count(), "{text:?}");
    assert!(text.contains("1 line."), "{text}");
}

#[test]
fn the_side_that_changed_all_line_endings_has_them_changed_for_both() {
    let dos = |text: &str| text.replace('\n', "\r\n");
    let done = completed(OPEN, "agent-7", "one", 5, None);
    let done = commented(&done, "Ada", "First.");
    let edited = OPEN.replace("team: one", "team: two").replace("One line", "1 line");
    let expected = done.replace("team: one", "team: two").replace("One line", "1 line");
    for (ours, theirs) in [
        (&done, &dos(&edited)),
        (&dos(&edited), &done),
        (&dos(&done), &edited),
        (&edited, &dos(&done)),
    ] {
        assert_eq!(clean(OPEN, ours, theirs), dos(&expected));
    }
    for (ours, theirs) in [
        (&dos(&done), &edited),
        (&edited, &dos(&done)),
        (&done, &dos(&edited)),
        (&dos(&edited), &done),
    ] {
        assert_eq!(clean(&dos(OPEN), ours, theirs), expected);
    }
    // Both sides changed the line endings, or neither did.
    assert_eq!(clean(OPEN, &dos(&done), &dos(&edited)), dos(&expected));
    assert_eq!(clean(OPEN, &dos(OPEN), OPEN), dos(OPEN));
    assert_eq!(clean(OPEN, OPEN, &dos(OPEN)), dos(OPEN));
    // Conflicts are marked in them too.
    let one = OPEN.replace("'Add login'", "'Log in'");
    let two = dos(&OPEN.replace("'Add login'", "'Sign in'"));
    let text = String::from_utf8(merged(Some(OPEN), &one, &two).bytes).unwrap();
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count(), "{text:?}");
    assert_eq!(text.matches("<<<<<<<").count(), 1, "{text}");
}

#[test]
fn comments_at_lines_that_the_engine_wrote_again_are_kept_or_reported() {
    let ours = completed(OPEN, "agent-7", "one", 1, None);
    assert!(
        ours.contains("status: ready\n")
            && ours.contains("  visit: 1\n")
            && ours.contains("updated: 2026-02-16T10:01:00Z\n"),
        "{ours}"
    );
    let stamp = "updated: 2026-02-16T10:00:00Z\n";
    for (before, after, expected) in [
        (
            stamp,
            format!("{} # by hand\n", stamp.trim_end()),
            ("updated: 2026-02-16T10:01:00Z\n", "updated: 2026-02-16T10:01:00Z # by hand\n"),
        ),
        (stamp, format!("# when\n{stamp}"), ("updated: ", "# when\nupdated: ")),
        (
            "  visit: 0\n",
            "  # which\n  visit: 0 # so many\n".to_owned(),
            ("  visit: 1\n", "  # which\n  visit: 1 # so many\n"),
        ),
        ("gate:\n", "# where\ngate: # it is\n".to_owned(), ("gate:\n", "# where\ngate: # it is\n")),
        (
            "  current: implement\n",
            "  current: implement   # it's mine\n".to_owned(),
            ("  current: review\n", "  current: review # it's mine\n"),
        ),
    ] {
        let theirs = OPEN.replacen(before, &after, 1);
        assert_ne!(theirs, OPEN);
        let expected = ours.replacen(expected.0, expected.1, 1);
        for (one, two) in [(&ours, &theirs), (&theirs, &ours)] {
            let both = merged(Some(OPEN), one, two);
            assert_eq!((both.conflicts.len(), both.left_out.len()), (0, 0), "{:?}", both.left_out);
            assert_eq!(String::from_utf8(both.bytes).unwrap(), expected);
        }
        let dos = |text: &str| text.replace('\n', "\r\n");
        assert_eq!(clean(&dos(OPEN), &dos(&ours), &dos(&theirs)), dos(&expected));
    }
    // The line is gone, or has another comment by now: this is reported.
    let last = completed(&ours, "agent-3", "two", 2, None);
    let theirs = OPEN.replace("  visit: 0\n", "  visit: 0 # so many\n");
    let theirs = theirs.replace("status: ready\n", "# mind this\nstatus: ready # for now\n");
    let both = merged(Some(OPEN), &last, &theirs);
    assert_eq!(both.left_out, ["# so many"]);
    assert!(
        String::from_utf8_lossy(&both.bytes).contains("# mind this\nstatus: complete # for now\n")
    );
    let theirs = OPEN.replace("  visit: 0\n", "  visit: 0 # so many\n");
    let noted = ours.replace("  visit: 1\n", "  visit: 1 # ours\n");
    let both = merged(Some(OPEN), &noted, &theirs);
    assert_eq!(
        (both.left_out, String::from_utf8(both.bytes).unwrap()),
        (vec!["# so many".to_owned()], noted)
    );
    // Text is not a comment, and a comment that was there before is not new.
    let text = OPEN
        .replace("estimate: 3d # days\n", "notes: |\n  # heading\n  text\nestimate: 3d # days\n");
    let gone = text.replace("notes: |\n  # heading\n  text\n", "");
    let theirs = text.replace("estimate: 3d # days\n", "estimate: 4d # days\n");
    assert_eq!(merged(Some(&text), &gone, &theirs).left_out, [""; 0]);
}

#[test]
fn comments_and_works_of_both_sides_stay_ours_first() {
    let ours = commented(OPEN, "Ada", "First.");
    let theirs = commented(&OPEN.replace("Another", "The last"), "Bob", "Second.");
    let text = clean(OPEN, &ours, &theirs);
    assert!(
        text.ends_with(
            "The last line.\n\n<!-- aof:comment -->\n**Ada**, 1970-01-01T00:00:00Z:\n\nFirst.\n\n<!-- aof:comment -->\n**Bob**, 1970-01-01T00:00:00Z:\n\nSecond.\n"
        ),
        "{text}"
    );
    assert_eq!(clean(OPEN, &ours, &ours), ours);
    assert_eq!(clean(OPEN, &text, &theirs), text, "once is enough");
    // Text after a comment that both sides have is changed like any text.
    let edited = text.replace("First.", "First of all.");
    assert_eq!(
        clean(&text, &edited, &commented(&text, "Cy", "Third.")),
        commented(&edited, "Cy", "Third.")
    );
    let bare = OPEN.trim_end();
    assert_eq!(
        clean(bare, &commented(bare, "Ada", "First."), bare),
        commented(bare, "Ada", "First.")
    );
}

#[test]
fn a_superseded_work_is_kept_and_is_no_visits_any_more() {
    let ours = completed(OPEN, "agent-7", "one", 5, Some("Our plan."));
    let theirs = completed(OPEN, "agent-8", "two", 4, Some("Their plan."));
    let theirs = completed(&theirs, "agent-3", "three", 6, None);
    let both = merged(Some(OPEN), &ours, &theirs);
    assert_eq!((both.superseded.len(), both.conflicts.len()), (2, 0));
    let text = String::from_utf8(both.bytes).unwrap();
    assert!(
        text.starts_with(&ours)
            && text.contains(
                "<!-- aof:superseded AOF-abc@0 -->\n## implement by agent-8\n\nTheir plan.\n"
            ),
        "{text}"
    );
    let works = task_file::works(&id(), read(&text).body()).len();
    assert_eq!(works, 1, "{text}");
    assert_eq!(clean(OPEN, &text, &theirs), text);
}

#[test]
fn markers_stand_around_a_disputed_key_and_nothing_else() {
    let done = completed(OPEN, "agent-7", "one", 5, None);
    let ours = done
        .replace("'Add login' ", "Add a login")
        .replace("team: one", "team: two")
        .replace("One line", "1 line");
    let theirs = OPEN
        .replace("'Add login' ", "Log in")
        .replace("team: one", "team: three")
        .replace("One line", "Line 1")
        .replace("3d", "4d");
    let both = merged(Some(OPEN), &ours, &theirs);
    let keys = ["title", "metadata.team"].map(|key| Conflict::Key(key.to_owned()));
    assert_eq!(both.conflicts, [&keys[..], &[Conflict::Body]].concat());
    let text = String::from_utf8(both.bytes).unwrap();
    let marked = |ours: &str, theirs: &str| {
        format!("<<<<<<< ours\n{ours}\n=======\n{theirs}\n>>>>>>> theirs")
    };
    let mut expected = ours.replace("3d", "4d");
    for (mine, yours) in [
        ("title: Add a login  # keep the quotes", "title: Log in  # keep the quotes"),
        ("  team: two", "  team: three"),
        ("1 line.", "Line 1."),
    ] {
        expected = expected.replacen(mine, &marked(mine, yours), 1);
    }
    assert_eq!(text, expected);
    let (kept, removed) = (OPEN.replace("3d", "4d"), OPEN.replace("estimate: 3d # days\n", ""));
    let text = String::from_utf8(merged(Some(OPEN), &removed, &kept).bytes).unwrap();
    assert!(
        text.contains("<<<<<<< ours\n=======\nestimate: 4d # days\n>>>>>>> theirs\n"),
        "{text}"
    );
}

#[test]
fn a_conflict_beyond_meaning_is_left_to_a_person() {
    let done = completed(OPEN, "agent-7", "one", 5, None);
    let broken = OPEN.replace("tags: [auth", "tags: [auth,,");
    for (base, ours, theirs, why) in [
        (Some(OPEN), &*done, &*broken, "what comes in cannot be read as a task: line 4: "),
        (
            Some(OPEN),
            "<<<<<<< HEAD\n",
            &*done,
            "what is merged into cannot be read as a task: line 1: ",
        ),
        (
            Some(&*done),
            &*completed(&done, "agent-3", "two", 9, None),
            &*OPEN.replace("3d", "4d"),
            "what comes in has 0 of the 1 entries",
        ),
        (
            None,
            OPEN,
            &*OPEN.replace("created: 2026", "created: 2025"),
            "they are two tasks with one id",
        ),
    ] {
        let both = merged(base, ours, theirs);
        let [Conflict::File(found)] = &both.conflicts[..] else { panic!("{:?}", both.conflicts) };
        assert!(found.starts_with(why), "{found}");
        assert!(both.superseded.is_empty());
    }
    // The common base may be anything.
    let edited = OPEN.replace("3d", "4d");
    assert_eq!(clean(&broken, &done, &done), done);
    let both = merged(Some(&broken), &done, &edited);
    assert_eq!(both.conflicts, [Conflict::Key("estimate".to_owned())]);
}

#[test]
fn a_file_that_nobody_has_taken_up_is_all_peoples() {
    let base =
        "---\ntitle: Buy milk\nstatus: To Do # mine\nrouting: {workflow: default}\n---\n- whole\n";
    let (ours, theirs) = (base.replace("To Do", "Doing"), base.replace("milk", "bread"));
    assert_eq!(
        clean(base, &ours, &theirs),
        base.replace("To Do", "Doing").replace("milk", "bread")
    );
    let mut task = read(base).task;
    let Ok(Decision::Step(step)) = decide(&rules(), &task, &Act::Open, Timestamp::UNIX_EPOCH)
    else {
        panic!()
    };
    task = step.task;
    let adopted = read(base).update(&task).unwrap().text().to_owned();
    assert_eq!(clean(base, &theirs, &adopted), adopted.replace("milk", "bread"));
    assert_eq!(clean(base, &adopted, &theirs), adopted.replace("milk", "bread"));
}

/// Makes an edit to a file that people or agents make, chosen by the number.
fn touched(text: &str, pick: u8, side: &str, number: usize) -> String {
    match pick {
        0 => {
            let agent =
                if read(text).task.history.len().is_multiple_of(2) { "agent-7" } else { "agent-3" };
            let open = read(text).task.gate.is_some();
            let work = number.is_multiple_of(2).then_some("What I did.");
            let key = format!("{side}{number}");
            if open {
                completed(text, agent, &key, i64::try_from(number).unwrap(), work)
            } else {
                text.to_owned()
            }
        }
        1 => commented(text, side, &format!("Comment {number}.")),
        2 => text.replacen("title: ", &format!("title: {side} "), 1),
        3 => text.replacen("estimate: 3d", "estimate: 5d", 1),
        4 => text.replacen("team: one", &format!("team: {side}"), 1),
        5 => text.replacen("priority: low", "priority: high # urgent", 1),
        6 => text.replacen("[auth, ", &format!("[auth, {side}, "), 1),
        7 => text.replacen("One line", &format!("One {side} line"), 1),
        8 => text.replacen("# Body", "# The body", 1),
        9 => text.replacen("estimate: 3d # days\n", "", 1),
        10 => text.replacen("# what a person wrote\n", &format!("# what {side} wrote\n"), 1),
        11 => text.replacen("\nAnother line.\n", "\n", 1),
        12 => {
            let behind = |line: &str| line.starts_with("updated: ") && !line.contains('#');
            let noted = |line: &str| {
                if behind(line) {
                    format!("{line} # noted by {side}\n")
                } else {
                    format!("{line}\n")
                }
            };
            text.lines().map(noted).collect()
        }
        _ => text.replacen(
            "title:",
            &format!("x-{side}-{number}: &{side}{number} [1, 2] # {number}\ntitle:"),
            1,
        ),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn changes_of_both_sides_are_merged_or_marked(
        first in prop::collection::vec(0..14_u8, 0..4),
        one in prop::collection::vec(0..14_u8, 0..6),
        two in prop::collection::vec(0..14_u8, 0..6),
        crlf in any::<bool>(),
    ) {
        let go_on = |text: &str, picks: &[u8], side: &str| {
            let step = |text: String, (number, pick): (usize, &u8)| touched(&text, *pick, side, number);
            picks.iter().enumerate().fold(text.to_owned(), step)
        };
        let ends = |text: String| if crlf { text.replace('\n', "\r\n") } else { text };
        let base = go_on(OPEN, &first, "base");
        let (ours, theirs) = (go_on(&base, &one, "ada"), go_on(&base, &two, "bob"));
        let (base, ours, theirs) = (ends(base), ends(ours), ends(theirs));
        let both = merged(Some(&base), &ours, &theirs);
        let text = String::from_utf8(both.bytes).unwrap();
        if crlf {
            prop_assert_eq!(text.matches('\n').count(), text.matches("\r\n").count(), "{:?}", text);
        }
        prop_assert_eq!(both.conflicts.is_empty(), !text.contains("<<<<<<< ours"), "{}", text);
        prop_assert!(!both.conflicts.iter().any(|conflict| matches!(conflict, Conflict::File(_))), "{:?}", both.conflicts);
        if !both.conflicts.is_empty() {
            return Ok(());
        }
        let file = read(&text);
        let (ours_file, theirs_file) = (read(&ours), read(&theirs));
        let new = |file: &TaskFile| file.task.history.len() > read(&base).task.history.len();
        let standing = if new(&ours_file) || !new(&theirs_file) { &ours_file } else { &theirs_file };
        prop_assert_eq!(&file.task.history, &standing.task.history);
        prop_assert_eq!(&file.task.gate, &standing.task.gate);
        for line in ours.lines().chain(theirs.lines()).filter(|line| line.starts_with("Comment ")) {
            prop_assert!(text.lines().any(|other| other == line), "every comment is there\n{}", text);
        }
        for note in ["# noted by ada", "# noted by bob"].into_iter().filter(|note| ours.contains(note) || theirs.contains(note)) {
            let is_reported = both.left_out.iter().any(|comment| comment == note);
            prop_assert!(text.contains(note) != is_reported, "{} {:?}\n{}", note, both.left_out, text);
        }
        // Merged again, nothing changes.
        for (before, side) in [(&base, &theirs), (&theirs, &theirs), (&ours, &ours)] {
            let again = merged(Some(before), &text, side);
            prop_assert_eq!(String::from_utf8(again.bytes).unwrap(), text.clone());
        }
        if ours == base || theirs == base {
            let changed = if ours == base { &theirs } else { &ours };
            prop_assert_eq!(&text, changed, "who changed something alone has it to the byte");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn criss_cross_merges_are_merged_or_marked(
        one in prop::collection::vec(0..14_u8, 0..4),
        two in prop::collection::vec(0..14_u8, 0..4),
        later in prop::collection::vec(0..14_u8, 0..4),
        elsewhere in prop::collection::vec(0..14_u8, 0..4),
    ) {
        let go_on = |text: &str, picks: &[u8], side: &str| {
            let step = |text: String, (number, pick): (usize, &u8)| touched(&text, *pick, side, number);
            picks.iter().enumerate().fold(text.to_owned(), step)
        };
        let (ours, theirs) = (go_on(OPEN, &one, "ada"), go_on(OPEN, &two, "bob"));
        let versions = Versions { base: Some(OPEN.as_bytes()), ours: ours.as_bytes(), theirs: theirs.as_bytes() };
        let base = String::from_utf8(merge_virtual_base(&rules(), &id(), versions).unwrap().bytes).unwrap();
        // The base can be read in spite of conflicts: text that one side removes stays removed.
        read(&base);
        prop_assert!(!base.contains("<<<<<<<"), "{}", base);
        // Each side resolves the conflict with its own version.
        let solved = |ours: &str, theirs: &str| {
            let versions = Versions { base: Some(OPEN.as_bytes()), ours: ours.as_bytes(), theirs: theirs.as_bytes() };
            let sides = ReadVersions::read(&rules(), &id(), versions).unwrap();
            String::from_utf8(sides.merged(&rules()).unwrap().unwrap().bytes.ours).unwrap()
        };
        let (ours, theirs) = (solved(&ours, &theirs), solved(&theirs, &ours));
        let (ours, theirs) = (go_on(&ours, &later, "cy"), go_on(&theirs, &elsewhere, "dee"));
        let both = merged(Some(&base), &ours, &theirs);
        prop_assert!(!both.conflicts.iter().any(|conflict| matches!(conflict, Conflict::File(_))), "{:?}", both.conflicts);
        let text = String::from_utf8(both.bytes).unwrap();
        prop_assert!(!text.contains("undecided"), "{}", text);
        prop_assert_eq!(both.conflicts.is_empty(), !text.contains("<<<<<<< ours"), "{}", text);
        for line in ours.lines().chain(theirs.lines()).filter(|line| line.starts_with("Comment ")) {
            prop_assert!(text.lines().any(|other| other == line), "every comment is there\n{}", text);
        }
        if both.conflicts.is_empty() {
            read(&text);
        }
    }
}

#[test]
fn comments_survive_beside_lines_that_the_engine_changed() {
    let ours = completed(OPEN, "agent-7", "one", 1, None);
    for (before, after) in [
        ("id: AOF-abc\n", "id: AOF-abc # mine\n"),
        ("metadata:\n", "metadata: # whose\n"),
        ("  team: one\nid: AOF-abc\n", "  team: one\n# above the id\nid: AOF-abc\n# below it\n"),
    ] {
        let theirs = OPEN.replace(before, after);
        for (one, two) in [(&ours, &theirs), (&theirs, &ours)] {
            let versions = Versions {
                base: Some(OPEN.as_bytes()),
                ours: one.as_bytes(),
                theirs: two.as_bytes(),
            };
            let merged = merge_files(&rules(), &id(), versions, &Marks::default()).unwrap();
            assert_eq!(merged.conflicts, []);
            assert_eq!(String::from_utf8(merged.bytes).unwrap(), ours.replace(before, after));
        }
    }
    // If a key conflicts, comments beside other keys stay.
    let ours = ours.replace("'Add login'", "'Log in'");
    let theirs =
        OPEN.replace("'Add login'", "'Sign in'").replace("id: AOF-abc\n", "id: AOF-abc # mine\n");
    let versions =
        Versions { base: Some(OPEN.as_bytes()), ours: ours.as_bytes(), theirs: theirs.as_bytes() };
    let merged = merge_files(&rules(), &id(), versions, &Marks::default()).unwrap();
    assert_eq!(merged.conflicts, [Conflict::Key("title".to_owned())]);
    assert!(String::from_utf8(merged.bytes).unwrap().contains("id: AOF-abc # mine\n"));
}
