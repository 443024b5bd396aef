//! Random files, random edits: reading gives the intended values, and nothing else moved.

use std::collections::BTreeMap;

use super::generate;
use super::generate::Random;
use super::{oracle, splice};
use crate::frontmatter::{Edit, EditAct, Frontmatter, Path, Segment, SpliceRefusal, parse, split};
use crate::yaml::{Node, NodeLayout};

/// Returns the setting of the environment: `AOF_SPLICE_CASES` or `AOF_SPLICE_SEED`.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The cases are in two halves, so that two cores share the work.
#[test]
fn random_edits_of_random_files_touch_nothing_else_even() {
    random_edits(0);
}

#[test]
fn random_edits_of_random_files_touch_nothing_else_odd() {
    random_edits(1);
}

fn random_edits(half: u64) {
    let mut refusals: BTreeMap<&str, usize> = BTreeMap::new();
    let cases = setting("AOF_SPLICE_CASES", 20_000);
    let seed = setting("AOF_SPLICE_SEED", 1);
    for case in (half..cases).step_by(2) {
        let mut r = Random(seed.wrapping_mul(0x1_0000_0000).wrapping_add(case));
        let file = generate::file(&mut r);
        let original = parse(file.as_bytes())
            .unwrap_or_else(|faults| panic!("case {case}: {faults:?}\n{file}"));
        if case % 8 < 2 {
            assert_eq!(original.root.to_value(), read(&file), "case {case}:\n{file}");
        }
        let count = if r.one_in(3) { 1 + r.below(4) } else { 1 };
        let edits: Vec<Edit> = (0..count).map(|_| generate::edit(&mut r, &original.root)).collect();
        match splice(file.as_bytes(), &edits) {
            Ok(changed) => {
                let changed = String::from_utf8(changed).unwrap();
                let story =
                    || format!("case {case}: {edits:#?}\n--- before\n{file}\n--- after\n{changed}");
                let new = parse(changed.as_bytes()).unwrap();
                assert_eq!(new.root.to_value(), read(&changed), "{}", story());
                let mut meant = original.root.to_value();
                for edit in &edits {
                    edit.act.apply(&mut meant, &edit.path.0).unwrap();
                }
                assert_eq!(new.root.to_value(), meant, "{}", story());
                if file.starts_with("---\r") {
                    assert_eq!(
                        changed.matches('\n').count(),
                        changed.matches("\r\n").count(),
                        "{}",
                        story()
                    );
                }
                if let [edit] = &edits[..] {
                    assert!(surroundings_stay(&original, &changed, edit), "{}", story());
                    if let Some(undone) = undo(&original, edit) {
                        let back = splice(changed.as_bytes(), &[undone])
                            .map(|bytes| String::from_utf8(bytes).unwrap());
                        assert_eq!(back.as_deref(), Ok(file.as_str()), "{}", story());
                    }
                }
            }
            Err(refusal) => {
                if matches!(refusal, SpliceRefusal::Unverified { .. }) {
                    panic!("case {case}: {refusal}\n{edits:#?}\n{file}");
                }
                *refusals.entry(refusal.code()).or_default() += 1;
            }
        }
    }
    println!("{cases} cases, refusals: {refusals:?}");
    let total: usize = refusals.values().sum();
    assert!(total as u64 * 10 < cases, "too many refusals: {refusals:?}");
}

/// Broken and odd files, made by changing a few characters: no panic, and values are read as the oracle reads them.
#[test]
fn damaged_files_are_read_right_or_refused() {
    let cases = setting("AOF_SPLICE_CASES", 20_000) / 2;
    let seed = setting("AOF_SPLICE_SEED", 1);
    let mut read_right = 0;
    for case in 0..cases {
        let mut r = Random(seed.wrapping_mul(0x2_0000_0000).wrapping_add(case));
        let mut file = generate::file(&mut r);
        for _ in 0..=r.below(3) {
            generate::damage(&mut r, &mut file);
        }
        let Ok(original) = parse(file.as_bytes()) else { continue };
        read_right += 1;
        assert_eq!(original.root.to_value(), read(&file), "case {case}:\n{file}");
        let edits = [generate::edit(&mut r, &original.root)];
        let Ok(changed) = splice(file.as_bytes(), &edits) else { continue };
        let changed = String::from_utf8(changed).unwrap();
        let story = || format!("case {case}: {edits:#?}\n--- before\n{file}\n--- after\n{changed}");
        assert!(surroundings_stay(&original, &changed, &edits[0]), "{}", story());
    }
    assert!(read_right * 10 > cases, "only {read_right} of {cases} files were read");
}

fn read(file: &str) -> serde_json::Value {
    let split = split(file.as_bytes()).unwrap();
    let yaml = &file[split.yaml];
    match oracle(yaml).unwrap_or_else(|error| panic!("{error}\n{yaml}")) {
        serde_json::Value::Null => serde_json::json!({}),
        value => value,
    }
}

/// Returns whether the lines before and after the place of an edit are the same bytes.
fn surroundings_stay(original: &Frontmatter<'_>, changed: &str, edit: &Edit) -> bool {
    let file = original.text();
    let mut path = &edit.path.0[..];
    if let (EditAct::Remove, Some((_, parents))) = (&edit.act, path.split_last()) {
        let parent = Path(parents.to_vec()).find(&original.root);
        let inline = |node: &Node<'_>| {
            !file[..node.span.start].ends_with([' ', '\n']) || {
                let line = file[..node.span.start].rsplit('\n').next().unwrap();
                !line.trim().is_empty()
            }
        };
        // A parent that loses its last child becomes `[]` or `{}`; one that begins after a dash moves up.
        if parent.is_some_and(|parent| {
            parent.items().len() + parent.entries().len() == 1 || inline(parent)
        }) {
            path = parents;
        }
    }
    let (before, after) = bounds(file, &original.root, &original.split.yaml, path);
    changed.starts_with(&file[..before]) && changed.ends_with(&file[after..])
}

/// Returns the lines of the deepest node on a path: from its key or dash to the next thing that is not a comment.
fn bounds(
    file: &str,
    root: &Node<'_>,
    yaml: &std::ops::Range<usize>,
    path: &[Segment],
) -> (usize, usize) {
    let (mut start, mut end) = (yaml.start, yaml.end);
    let mut node = root;
    for segment in path {
        let (from, next) = match segment {
            Segment::Key(key) => match node.entry(key) {
                Some(entry) => (entry.key.span.start, &entry.value),
                None => break,
            },
            Segment::Index(index) => match node.items().get(*index) {
                Some(item) => (item.indicator.unwrap_or(item.outer), item),
                None => break,
            },
        };
        start = from;
        end = next.span.end;
        node = next;
        // In brackets, a neighbour's comma may be added or removed.
        if node.layout == NodeLayout::Flow {
            break;
        }
    }
    let start = file[..start].rfind('\n').map_or(0, |at| at + 1);
    let mut end = end + file[end..].find('\n').map_or(0, |at| at + 1);
    while end < yaml.end {
        let line = file[end..].split_inclusive('\n').next().unwrap_or("");
        if !line.trim().is_empty() && !line.trim_start().starts_with('#') {
            break;
        }
        end += line.len();
    }
    if end >= yaml.end {
        end = yaml.end;
    }
    (start, end)
}

/// Returns the edit that undoes an addition, if the addition was to a list or mapping that was not empty.
fn undo(original: &Frontmatter<'_>, edit: &Edit) -> Option<Edit> {
    let at = |path: &[Segment]| Path(path.to_vec()).find(&original.root);
    let path = &edit.path.0;
    let empty = |node: &Node<'_>| node.items().is_empty() && node.entries().is_empty();
    match &edit.act {
        EditAct::Append(_) => match at(path) {
            Some(list) if empty(list) => None,
            Some(list) => Some(Edit::remove(Path(path.clone()).then(list.items().len()))),
            None if path.len() == 1 => Some(Edit::remove(Path(path.clone()))),
            None => None,
        },
        EditAct::Set(_) if at(path).is_none() => {
            let parent = at(&path[..path.len() - 1])?;
            let root = path.len() == 1;
            let fits = !empty(parent) || (root && parent.layout == NodeLayout::Absent);
            fits.then(|| Edit::remove(Path(path.clone())))
        }
        _ => None,
    }
}
