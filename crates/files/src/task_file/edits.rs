//! Minimal edits of a task file for a changed task; and people's own keys and body.

use serde_json::Value;

use super::fields::{INPUT, fields};
use super::visits;
use super::{Origin, Spliced, TaskFile};
use crate::config::decode::text_of;
use crate::frontmatter::{Edit, Path};
use crate::yaml::{MappingEntry, Node, NodeKind};
use aof_domain::{AgentId, Map, PlanKey, Task};

/// The keys, with those of the plan, whose values are texts, or lists of texts, even if they look like numbers.
const TEXTS: [&str; 4] = ["title", "description", "tags", "blockers"];

/// The engine's keys.
const OWN: [&str; 12] = [
    "id",
    "status",
    "created",
    "createdBy",
    "updated",
    "routing",
    "gate",
    "gateHistory",
    "reviewContext",
    "blockers",
    "context",
    "workflowHash",
];

/// The engine's keys that are ignored in a hand-made file.
const GIVEN: [&str; 5] = ["createdBy", "reviewContext", "blockers", "context", "workflowHash"];

/// A set of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All but the engine's.
    People,
    /// All, for a task that is not adopted.
    All,
}

/// Returns whether only the engine sets that key.
pub(crate) fn is_given(key: &str) -> bool {
    GIVEN.contains(&key)
}

/// Returns the values of entries. Where texts are expected, numbers are read as texts: `1.10` and `1.1` differ.
pub(crate) fn read_entries<'n, 's: 'n>(
    entries: impl IntoIterator<Item = &'n MappingEntry<'s>>,
) -> Map {
    let value = |entry: &MappingEntry<'_>| {
        let key = entry.key.text.as_ref();
        let is_text = TEXTS.contains(&key) || PlanKey::names().any(|name| name == key);
        if is_text { texts(&entry.value) } else { entry.value.to_value() }
    };
    entries.into_iter().map(|entry| (entry.key.text.clone().into_owned(), value(entry))).collect()
}

fn texts(node: &Node<'_>) -> Value {
    match (&node.kind, text_of(node)) {
        (_, Some(text)) => Value::String(text.into_owned()),
        (NodeKind::Sequence(items), None) => items.iter().map(texts).collect(),
        (_, None) => node.to_value(),
    }
}

impl TaskFile {
    /// Returns these keys with their values.
    pub fn keys(&self, scope: Scope) -> Map {
        let mut keys = self.raw();
        keys.retain(|key, _| scope == Scope::All || !OWN.contains(&key.as_str()));
        keys
    }

    /// Returns the fields of a hand-made file that adoption would silently drop: blockers, and context other than the input.
    pub fn dropped_fields(&self) -> Vec<String> {
        if self.origin == Origin::Adopted {
            return Vec::new();
        }
        let root = self.source.root();
        let says = |node: Option<&Node<'_>>| {
            node.is_some_and(|node| {
                !node.is_null()
                    && !matches!(&node.kind, NodeKind::Sequence(items) if items.is_empty())
            })
        };
        let handed_on = root
            .get("context")
            .map_or(&[][..], Node::entries)
            .iter()
            .map(|entry| entry.key.text.as_ref());
        let mut found: Vec<String> =
            says(root.get("blockers")).then(|| "blockers".to_owned()).into_iter().collect();
        found.extend(handed_on.filter(|name| *name != INPUT).map(|name| format!("context.{name}")));
        found
    }

    /// Returns the agent that a hand-made file names. The rules decide whether it gets the task.
    pub fn wanted_agent(&self) -> Option<AgentId> {
        let named = self.source.root().get("routing").and_then(|routing| routing.get("agent"));
        named
            .filter(|_| self.origin == Origin::HandMade)
            .and_then(|agent| text_of(agent)?.parse().ok())
    }

    /// Returns the file with these keys replaced, and with exactly that body.
    pub fn with_keys(&self, scope: Scope, keys: Map, body: &str) -> Spliced {
        let close = self.source.close();
        let end = match close.ends_with('\n') || body.is_empty() {
            true => "",
            false if self.source.text().contains("\r\n") => "\r\n",
            false => "\n",
        };
        self.splice(&edits_between(self, &self.keys(scope), keys), &format!("{close}{end}{body}"))
    }
}

/// Returns the edits that change the file to `after`.
pub(crate) fn edits_for(file: &TaskFile, after: &Task) -> Vec<Edit> {
    let before = &file.task;
    let now = fields(after);
    let then: Map = match file.origin {
        Origin::Adopted => fields(before),
        // The engine's fields of a hand-made file are compared as written: foreign words are replaced, and keys that only the
        // engine sets are removed. People's fields stay as people wrote them.
        Origin::HandMade => {
            let mut then = fields(before);
            then.retain(|key, _| !OWN.contains(&key.as_str()));
            let is_engine =
                |key: &str| OWN.contains(&key) && (now.contains_key(key) || is_given(key));
            let entries = file.source.root().entries().iter();
            then.extend(read_entries(entries.filter(|entry| is_engine(entry.key.text.as_ref()))));
            then
        }
    };
    let mut edits = edits_between(file, &then, now);
    for visit in &after.history[before.history.len().min(after.history.len())..] {
        edits.push(Edit::append(Path::from("gateHistory"), visits::visit_value(visit)));
    }
    edits
}

/// Returns the edits that change keys of the file from `then` to `now`.
pub(crate) fn edits_between(file: &TaskFile, then: &Map, mut now: Map) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (key, old) in then {
        // Keeps the order of new keys: `remove` would move the last one into the gap.
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

/// Returns the edits between two values: mappings key by key, lists of mappings or texts item by item, everything else as a whole.
fn change(path: &Path, old: &Value, new: Value, written: Option<&Node<'_>>, edits: &mut Vec<Edit>) {
    if *old == new {
        return;
    }
    match (old, new, written.map(|node| &node.kind)) {
        (Value::Array(old), Value::Array(new), Some(NodeKind::Sequence(written)))
            if old.len() == new.len()
                && written.len() == new.len()
                && old.iter().all(Value::is_object) =>
        {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                change(&path.clone().then(index), old, new, written.get(index), edits);
            }
        }
        (Value::Array(old), Value::Array(new), Some(NodeKind::Sequence(written)))
            if written.len() == old.len()
                && !new.is_empty()
                && old.iter().chain(&new).all(|item| item.is_string() || item.is_object()) =>
        {
            change_items(path, old, new, edits);
        }
        (Value::Object(old), Value::Object(mut new), Some(NodeKind::Mapping(_)))
            if !new.is_empty() =>
        {
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

/// Returns the edits between two lists. Equal items at the start stay as written, and at the end too if the list does
/// not grow.
fn change_items(path: &Path, old: &[Value], new: Vec<Value>, edits: &mut Vec<Edit>) {
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
