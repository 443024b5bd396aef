//! A changed task as the smallest edits of its file.

use serde_json::Value;

use super::fields::{own_fields, people_fields};
use super::visit_entry;
use super::{Origin, TaskFile, people};
use crate::domain::{Map, Task};
use crate::files::frontmatter::{Edit, Path};
use crate::files::yaml::{Kind, Node};

/// Returns the edits that make the file say `after` where it says something else now.
pub(crate) fn to(file: &TaskFile, after: &Task) -> Vec<Edit> {
    let before = &file.task;
    let now: Map = people_fields(after)
        .into_iter()
        .chain(own_fields(after))
        .map(|(k, v)| (k.to_owned(), v))
        .collect();
    let then: Map = match file.origin {
        Origin::Adopted => people_fields(before)
            .into_iter()
            .chain(own_fields(before))
            .map(|(k, v)| (k.to_owned(), v))
            .collect(),
        // What a hand-made file says is compared as it is written: foreign words give way, and what only the engine gives goes.
        Origin::HandMade => {
            let changes = |key: &str| now.contains_key(key) || people::is_given(key);
            people::said(
                file.source
                    .root()
                    .entries()
                    .iter()
                    .filter(|entry| changes(entry.key.text.as_ref())),
            )
        }
    };
    let mut edits = between(file, &then, now);
    for visit in &after.history[before.history.len().min(after.history.len())..] {
        edits.push(Edit::append(Path::from("gateHistory"), visit_entry::write(visit)));
    }
    edits
}

/// Returns the edits that make keys of the file which say `then` say `now`.
pub(crate) fn between(file: &TaskFile, then: &Map, mut now: Map) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (key, old) in then {
        // What is new stands in the order in which it is written: `remove` would put the last in place of what is removed.
        match now.shift_remove(key) {
            None => edits.push(Edit::remove(Path::from(key.as_str()))),
            Some(new) => change(&Path::from(key.as_str()), old, new, file.field(key), &mut edits),
        }
    }
    for (key, new) in now {
        edits.push(Edit::set(Path::from(key.as_str()), new));
    }
    edits
}

/// Says how a value becomes another: mappings key by key, lists of mappings and of texts item by item, everything else as a whole.
fn change(path: &Path, old: &Value, new: Value, written: Option<&Node<'_>>, edits: &mut Vec<Edit>) {
    if *old == new {
        return;
    }
    match (old, new, written.map(|node| &node.kind)) {
        (Value::Array(old), Value::Array(new), Some(Kind::Sequence(written)))
            if old.len() == new.len()
                && written.len() == new.len()
                && old.iter().all(Value::is_object) =>
        {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                change(&path.clone().then(index), old, new, written.get(index), edits);
            }
        }
        (Value::Array(old), Value::Array(new), Some(Kind::Sequence(written)))
            if written.len() == old.len()
                && !new.is_empty()
                && old.iter().chain(&new).all(Value::is_string) =>
        {
            change_texts(path, old, new, edits);
        }
        (Value::Object(old), Value::Object(mut new), Some(Kind::Mapping(_))) if !new.is_empty() => {
            for (key, old) in old {
                let path = path.clone().then(key.as_str());
                match new.shift_remove(key) {
                    None => edits.push(Edit::remove(path)),
                    Some(new) => {
                        change(&path, old, new, written.and_then(|node| node.get(key)), edits);
                    }
                }
            }
            for (key, new) in new {
                edits.push(Edit::set(path.clone().then(key.as_str()), new));
            }
        }
        (_, new, _) => edits.push(Edit::set(path.clone(), new)),
    }
}

/// Says how a list of texts becomes another, so that those which stay are left as they are written. Those at its start stay, and at
/// its end if it does not grow.
fn change_texts(path: &Path, old: &[Value], new: Vec<Value>, edits: &mut Vec<Edit>) {
    let same = |(old, new): &(&Value, &Value)| old == new;
    let start = old.iter().zip(&new).take_while(same).count();
    let mut end = 0;
    if new.len() <= old.len() {
        end =
            old.iter().rev().zip(new.iter().rev()).take(new.len() - start).take_while(same).count();
    }
    let paired = old.len().min(new.len()) - end;
    for (index, new) in new.into_iter().enumerate().skip(start) {
        match old.get(index) {
            Some(old) if index < paired && *old != new => {
                edits.push(Edit::set(path.clone().then(index), new));
            }
            Some(_) => {}
            None => edits.push(Edit::append(path.clone(), new)),
        }
    }
    edits.extend(
        (paired..old.len() - end).rev().map(|index| Edit::remove(path.clone().then(index))),
    );
}
