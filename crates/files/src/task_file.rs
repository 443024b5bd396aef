//! Task files: parses frontmatter and body to a `Task`, and writes a changed `Task` as a minimal change of the file.
//!
//! Reading is strict for engine fields, and ignores people's own keys. A file without `gate` and `gateHistory` is hand-made:
//! missing fields are filled in when the engine adopts it.

pub(crate) mod body;
pub(crate) mod comments;
pub(crate) mod edits;
pub(crate) mod fields;
pub mod misread;
pub mod visits;

use std::sync::Arc;

use super::config::decode::{Faults, FieldReader};
use super::frontmatter;
use super::frontmatter::{Edit, Frontmatter, Path, SpliceRefusal};
use super::yaml::{Fault, Node};
use serde_json::Value;

use aof_domain::{Map, Task, TaskId, Timestamp, Work, WorkflowName};
use fields::{decode, decode_as_written, fields};

pub use body::{BodyComment, BodyParts, body_parts, passages, set_aside, works};
pub use edits::Scope;
pub use fields::{link_value, review_value};

/// A parsed task file: the task, and the text and tree that it was parsed from. Changes start from the tree, so that the file is
/// parsed once. Lists do not keep it, since it is large.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskFile {
    pub task: Task,
    /// The origin: adopted by the engine, or made by hand.
    pub origin: Origin,
    /// Shared, since it is immutable.
    source: Arc<Frontmatter<'static>>,
}

/// The origin of a task file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It has a gate, or a history.
    Adopted,
    /// It has neither gate nor history yet.
    HandMade,
}

/// The values of fields that a hand-made file lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defaults {
    pub workflow: WorkflowName,
    pub created: Timestamp,
}

/// Parses the file of that task; fails with all faults. Spans are byte offsets in the file.
pub fn parse(bytes: &[u8], id: &TaskId, defaults: &Defaults) -> Result<TaskFile, Vec<Fault>> {
    let source = frontmatter::parse(bytes)?;
    let (task, origin) = decode(source.root(), id, defaults)?;
    Ok(TaskFile { task, origin, source: Arc::new(source.into_owned()) })
}

/// The extent of the fields that a task's file states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The file states its creation time and its workflow.
    Whole,
    /// The creation time or the workflow is a default.
    Open,
}

/// Returns the task of a file, and whether defaults were used. For callers that do not need the text.
pub fn parse_task(
    bytes: &[u8],
    id: &TaskId,
    defaults: &Defaults,
) -> Result<(Task, Extent), Vec<Fault>> {
    let source = frontmatter::parse(bytes)?;
    let root = source.root();
    let is_whole = root.get("created").is_some()
        && root.get("routing").is_some_and(|routing| routing.get("workflow").is_some());
    let (task, _) = decode(root, id, defaults)?;
    Ok((task, if is_whole { Extent::Whole } else { Extent::Open }))
}

/// Returns the task of a hand-made file with the engine's fields as written; `None` for an adopted file. Earlier builds adopted files
/// in that way, so `verify` needs it; nothing that writes may use it.
pub fn parse_hand_made_as_written(bytes: &[u8], id: &TaskId, defaults: &Defaults) -> Option<Task> {
    let source = frontmatter::parse(bytes).ok()?;
    let (task, origin) = decode_as_written(source.root(), id, defaults).ok()?;
    (origin == Origin::HandMade).then_some(task)
}

/// Returns the task of a changed file, which the change has parsed already.
pub fn read(
    source: &Arc<Frontmatter<'static>>,
    id: &TaskId,
    defaults: &Defaults,
) -> Result<TaskFile, Vec<Fault>> {
    let (task, origin) = decode(source.root(), id, defaults)?;
    Ok(TaskFile { task, origin, source: Arc::clone(source) })
}

/// Returns the part of a file before the closing fence.
pub fn head<'f>(file: &'f Frontmatter<'_>) -> &'f str {
    &file.text()[..file.text().len() - file.rest().len()]
}

/// A changed file, parsed and verified; `read` returns its task.
pub type Spliced = Result<Arc<Frontmatter<'static>>, SpliceRefusal>;

impl TaskFile {
    /// Returns the file's bytes.
    pub fn bytes(&self) -> &[u8] {
        self.source.text().as_bytes()
    }

    /// Returns the number of NUL characters in the texts, escaped ones included.
    pub fn nuls(&self) -> usize {
        fn within(value: &Value) -> usize {
            match value {
                Value::String(text) => text.matches('\0').count(),
                Value::Array(items) => items.iter().map(within).sum(),
                Value::Object(map) => map.values().map(within).sum(),
                _ => 0,
            }
        }
        // Most files have no escape at all.
        let escaped =
            if self.head().contains('\\') { self.raw().values().map(within).sum() } else { 0 };
        escaped + self.source.text().matches('\0').count()
    }

    /// Returns the text after the frontmatter.
    pub fn body(&self) -> &str {
        self.source.body()
    }

    /// Returns the text before the closing fence.
    pub fn head(&self) -> &str {
        head(&self.source)
    }

    /// Returns the closing fence and the text after it.
    pub fn rest(&self) -> &str {
        self.source.rest()
    }

    /// Returns a field of the frontmatter, if it is there.
    pub fn field(&self, key: &str) -> Option<&Node<'static>> {
        self.source.root().get(key)
    }

    /// Returns the frontmatter, including unknown keys; texts stay texts, even if they look like numbers.
    pub fn raw(&self) -> Map {
        edits::read_entries(self.source.root().entries())
    }

    /// Returns the file changed to `after`. No other byte changes.
    pub fn update(&self, after: &Task) -> Spliced {
        self.splice(&edits::edits_for(self, after), self.source.rest())
    }

    /// Returns the file changed to `after`, with the work of a completion at the end of the body.
    pub fn update_with_work(&self, after: &Task, work: &Work) -> Spliced {
        self.splice(&edits::edits_for(self, after), &body::with_work(&self.source, work))
    }

    /// Returns the file changed to `after`, with another text as its body, in the file's own line endings.
    pub fn update_with_body(&self, after: &Task, text: &str) -> Spliced {
        self.splice(&edits::edits_for(self, after), &body::replaced(&self.source, text))
    }

    /// Returns the file with a comment at the end of its body.
    pub fn with_comment(&self, name: &str, at: Timestamp, text: &str) -> Spliced {
        self.splice(&[], &body::with_comment(&self.source, name, at, text))
    }

    /// Returns the file with the engine fields of `before`, an earlier state of the task: later entries are removed. People's
    /// fields and the body stay.
    pub fn rewind(&self, before: &Task) -> Spliced {
        let mut edits = edits::edits_for(self, before);
        let history = Path::from("gateHistory");
        match before.history.len() {
            0 => edits.push(Edit::remove(history)),
            kept => {
                let later = kept..self.task.history.len();
                edits.extend(later.rev().map(|index| Edit::remove(history.clone().then(index))));
            }
        }
        self.splice(&edits, self.source.rest())
    }

    fn splice(&self, edits: &[Edit], rest: &str) -> Spliced {
        frontmatter::splice(&self.source, edits, rest).map(Arc::new)
    }
}

/// Returns the fields of an object that apply: those that are neither null nor empty lists or objects.
pub(crate) fn applying(object: Value) -> Map {
    let Value::Object(mut fields) = object else { return Map::new() };
    fields.retain(|_, value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    });
    fields
}

/// Returns a new file for the task.
pub fn create(task: &Task, body: &str) -> String {
    let mut map = fields(task);
    let order = ["id", "title", "description", "status", "created", "updated", "routing", "gate"];
    let mut sorted: Map = order.iter().filter_map(|key| map.remove_entry(*key)).collect();
    sorted.extend(map);
    if !task.history.is_empty() {
        sorted.insert(
            "gateHistory".to_owned(),
            task.history.iter().map(visits::visit_value).collect(),
        );
    }
    let separator = if body.is_empty() { "" } else { "\n" };
    let end = if body.is_empty() || body.ends_with('\n') { "" } else { "\n" };
    format!("---\n{}---\n{separator}{body}{end}", frontmatter::emit_document(&sorted))
}

/// Returns the id in the file, if it has one. Fails if the frontmatter cannot be read.
pub fn stated_id(bytes: &[u8]) -> Result<Option<TaskId>, Vec<Fault>> {
    let source = frontmatter::parse(bytes)?;
    let faults = Faults::default();
    let fields = FieldReader::of(source.root(), "a task", &faults);
    let stated = fields.map(|fields| fields.parsed("id"));
    faults.or_value(stated)
}

#[cfg(test)]
mod tests;
