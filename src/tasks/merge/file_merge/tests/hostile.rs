//! Arbitrary content in the three versions of a file: bytes that are not text, truncated files, foreign lines.

use std::collections::HashSet;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;
use crate::git::merge_texts;

/// The lines that a file may get.
const LINES: [&[u8]; 22] = [
    b"---\n",
    b"title: Add login\n",
    b"title: [\n",
    b"status: complete\n",
    b"id: AOF-xyz\n",
    b"gateHistory:\n  - gate: implement\n",
    b"gate: {current: nowhere, entered: 2026-02-16T10:00:00Z, visit: 7}\n",
    b"  visit: 18446744073709551616\n",
    b"&a [*a, *a] # comment\n",
    b"? x\n",
    b"\tkey: |\n",
    b"# a comment\n",
    b"updated: 2026-02-16T10:00:00Z # noted\n",
    b"<<<<<<< HEAD\n",
    b"=======\n",
    b">>>>>>> side\n",
    b"<!-- aof:comment -->\n",
    b"<!-- aof:work AOF-abc@0 -->\n",
    b"\xff\xfe\x00\x01 no text\n",
    b"\xef\xbb\xbfmark\r\n",
    b"no end",
    b"\r\n\r\r\n",
];

/// A change that no engine and no careful person makes to a text.
#[derive(Debug, Clone)]
enum Damage {
    /// A line is inserted.
    Put(usize, usize),
    /// The text ends there.
    Cut(usize),
    /// A byte is replaced.
    Byte(usize, u8),
    /// A line is repeated.
    Double(usize),
    /// A line is removed.
    Remove(usize),
    /// A person's own line is inserted.
    Own(usize, u16),
    /// The line endings of the whole text change.
    Ends,
    /// A step of the engine, if the file can still be read.
    Step(u8),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        (any::<usize>(), 0..LINES.len()).prop_map(|(at, line)| Damage::Put(at, line)),
        any::<usize>().prop_map(Damage::Cut),
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        any::<usize>().prop_map(Damage::Double),
        any::<usize>().prop_map(Damage::Remove),
        (any::<usize>(), any::<u16>()).prop_map(|(at, number)| Damage::Own(at, number)),
        Just(Damage::Ends),
        (0..14_u8).prop_map(Damage::Step),
        (0..14_u8).prop_map(Damage::Step),
    ]
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

fn damaged(text: &[u8], (number, damage): (usize, &Damage), side: &str) -> Vec<u8> {
    let all = lines(text);
    let at = |at: usize| at % (all.len() + 1);
    let with = |place: usize, line: &[u8]| {
        [&all[..place].concat()[..], line, &all[place..].concat()[..]].concat()
    };
    match damage {
        Damage::Put(place, line) => with(at(*place), LINES[*line]),
        Damage::Cut(length) => text[..length % (text.len() + 1)].to_vec(),
        Damage::Byte(place, byte) => {
            let mut text = text.to_vec();
            let length = text.len().max(1);
            if let Some(old) = text.get_mut(place % length) {
                *old = *byte;
            }
            text
        }
        Damage::Double(place) => {
            let place = at(*place);
            with(place, all.get(place).copied().unwrap_or_default())
        }
        Damage::Remove(place) => {
            let place = at(*place);
            [&all[..place], all.get(place + 1..).unwrap_or_default()].concat().concat()
        }
        Damage::Own(place, nth) => with(at(*place), format!("Line {nth} of {side}.\n").as_bytes()),
        Damage::Ends => {
            all.iter().flat_map(|line| [line.trim_ascii_end(), b"\r\n"].concat()).collect()
        }
        Damage::Step(pick) => {
            let whole = std::str::from_utf8(text).ok().filter(|text| is_whole(text));
            whole.map_or_else(
                || text.to_vec(),
                |text| touched(text, *pick, side, number).into_bytes(),
            )
        }
    }
}

/// Returns whether the engine could continue with the text.
fn is_whole(text: &str) -> bool {
    let defaults =
        Defaults { workflow: "default".parse().unwrap(), created: Timestamp::UNIX_EPOCH };
    let Ok(file) = task_file::parse(text.as_bytes(), &id(), &defaults) else { return false };
    let task = &file.task;
    let (gate, role) = if task.history.len().is_multiple_of(2) {
        ("implement", "backend")
    } else {
        ("review", "architect")
    };
    task.status == crate::domain::Status::Ready
        && task
            .gate
            .as_ref()
            .is_some_and(|open| open.current.as_str() == gate && open.visit == task.history.len())
        && task.routing.workflow.as_str() == "default"
        && task.routing.role.as_ref().is_some_and(|known| known.as_str() == role)
        && task.routing.agent.is_none()
}

fn version(base: &[u8], damages: &[Damage], side: &str) -> Vec<u8> {
    damages.iter().enumerate().fold(base.to_vec(), |text, step| damaged(&text, step, side))
}

/// Returns the lines without their line endings.
fn line_set(text: &[u8]) -> HashSet<&[u8]> {
    text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_line_of_a_person_is_lost_in_any_versions(
        first in prop::collection::vec(damage(), 0..3),
        one in prop::collection::vec(damage(), 0..5),
        two in prop::collection::vec(damage(), 0..5),
        without_base in prop::bool::weighted(0.2),
    ) {
        let base = version(OPEN.as_bytes(), &first, "base");
        let (ours, theirs) = (version(&base, &one, "ada"), version(&base, &two, "bob"));
        let versions = Versions { base: Some(&base[..]).filter(|_| !without_base), ours: &ours, theirs: &theirs };
        let both = merge_files(&rules(), &id(), versions, &Marks::default()).unwrap();
        let known = line_set(&both.bytes);
        let before = line_set(&base);
        for (side, other, text) in [("ada", &theirs, &ours), ("bob", &ours, &theirs)] {
            let start = b"Line ".as_slice();
            let end = format!(" of {side}.");
            let added = line_set(text).into_iter().filter(|line| line.starts_with(start) && line.ends_with(end.as_bytes()));
            for line in added.filter(|line| !before.contains(line)) {
                prop_assert!(
                    known.contains(line),
                    "{:?} is lost, with {:?}\n{}\nother:\n{}",
                    String::from_utf8_lossy(line),
                    both.conflicts,
                    String::from_utf8_lossy(&both.bytes),
                    String::from_utf8_lossy(other)
                );
            }
        }
        // A merge without conflicts is a task, or the text that git would make of it.
        let is_text = merge_texts(versions.base.unwrap_or_default(), &ours, &theirs).unwrap().agree();
        let defaults = Defaults { workflow: "default".parse().unwrap(), created: Timestamp::UNIX_EPOCH };
        let is_task = task_file::parse(&both.bytes, &id(), &defaults).is_ok();
        prop_assert!(!both.conflicts.is_empty() || is_task || is_text, "{}", String::from_utf8_lossy(&both.bytes));
        // The result is the same each time, and exchanged sides cause no failure either.
        let again = merge_files(&rules(), &id(), versions, &Marks::default()).unwrap();
        prop_assert_eq!(&again, &both);
        let _ = merge_files(&rules(), &id(), Versions { ours: &theirs, theirs: &ours, ..versions }, &Marks::default()).unwrap();
        let _ = merge_virtual_base(&rules(), &id(), versions).unwrap();
    }
}

#[test]
fn a_very_large_file_merges_in_linear_time() {
    let long = "A line of a long body.\n".repeat(100_000);
    let text = format!("{OPEN}{long}");
    let edited = text.replacen("One line", "1 line", 1);
    let done = completed(&text, "agent-7", "one", 5, None);
    assert_eq!(clean(&text, &done, &edited), done.replacen("One line", "1 line", 1));
    // Hundreds of keys, each with comments.
    let notes: Vec<String> = (0..800)
        .map(|number| format!("# note {number}\nx-{number}: {number} # said {number}\n"))
        .collect();
    let noted = OPEN.replacen("id: AOF-abc\n", &format!("{}id: AOF-abc\n", notes.concat()), 1);
    let both = clean(OPEN, &completed(OPEN, "agent-7", "one", 5, None), &noted);
    assert!(both.contains("# note 799\n") && both.contains("# said 799\n"));
    // Half a million bytes that are not text.
    let bytes: Vec<u8> =
        (0..500_000_u32).map(|number| number.to_le_bytes()[usize::from(number % 3 == 0)]).collect();
    for (ours, theirs) in
        [(&bytes[..], OPEN.as_bytes()), (OPEN.as_bytes(), &bytes[..]), (&bytes[..], &bytes[1..])]
    {
        let versions = Versions { base: Some(OPEN.as_bytes()), ours, theirs };
        let both = merge_files(&rules(), &id(), versions, &Marks::default()).unwrap();
        assert!(!both.conflicts.is_empty());
    }
}
