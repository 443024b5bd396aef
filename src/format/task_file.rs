//! Task files: frontmatter and body as a `Task`, and a changed `Task` as the smallest change of the file.
//!
//! Reading is strict where the engine's fields are concerned and blind to everything else: a person's keys are theirs. A file
//! without `gate` and `gateHistory` is a hand-made one: what it lacks is filled in when the engine takes it up.

mod body;
mod comments;
mod edits;
mod people;

use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::decode::Fields;
use super::frontmatter::{self, Edit, Frontmatter, Path, SpliceRefusal};
use super::open_visit;
use super::visit_entry;
use super::yaml::{Fault, Node};
use crate::model::{Map, ReviewContext, Routing, Status, Task, TaskId, Timestamp, Work, WorkflowName};

pub use body::{passages, set_aside, works};
pub use people::Scope;

/// A task file that was read: what it says, and the text and tree that say it. A change is made from the tree, so that the file
/// is read once to be changed; it is kept as long as a command needs it, and no list keeps one.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskFile {
    /// What it says.
    pub task: Task,
    /// Whether the engine has taken the task up.
    pub origin: Origin,
    /// Shared: what is read is handed on whole, and never changed.
    source: Arc<Frontmatter<'static>>,
}

/// Whether a task file is the engine's or was made by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It has a gate, or a history.
    Adopted,
    /// It has neither yet.
    HandMade,
}

/// What a hand-made file means where it says nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defaults {
    /// The workflow.
    pub workflow: WorkflowName,
    /// The time of creation.
    pub created: Timestamp,
}

/// Returns what the file of that id says, or everything that is wrong with it. Spans are bytes of the file.
pub fn parse(bytes: &[u8], id: &TaskId, defaults: &Defaults) -> Result<TaskFile, Vec<Fault>> {
    let source = frontmatter::parse(bytes)?;
    let (task, origin) = decode(source.root(), id, defaults)?;
    Ok(TaskFile { task, origin, source: Arc::new(source.into_owned()) })
}

/// What a file says by itself, and what it leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// It says it all.
    Whole,
    /// When the task was made, or its workflow, is for others to say.
    Open,
}

/// Returns what the file of that id says, and whether that is all; for whoever has no use for the file itself.
pub fn parse_task(bytes: &[u8], id: &TaskId, defaults: &Defaults) -> Result<(Task, Extent), Vec<Fault>> {
    let source = frontmatter::parse(bytes)?;
    let root = source.root();
    let is_whole =
        root.get("created").is_some() && root.get("routing").is_some_and(|routing| routing.get("workflow").is_some());
    let (task, _) = decode(root, id, defaults)?;
    Ok((task, if is_whole { Extent::Whole } else { Extent::Open }))
}

/// Returns what a changed file says. What a change returns was read back already, and is not read once more.
pub fn read(source: &Arc<Frontmatter<'static>>, id: &TaskId, defaults: &Defaults) -> Result<TaskFile, Vec<Fault>> {
    let (task, origin) = decode(source.root(), id, defaults)?;
    Ok(TaskFile { task, origin, source: Arc::clone(source) })
}

/// Returns what stands before the closing fence of a file.
pub fn head<'f>(file: &'f Frontmatter<'_>) -> &'f str {
    &file.text()[..file.text().len() - file.rest().len()]
}

/// A file as it is to be, read back and found to say what it should; `read` tells what that is for its task.
pub type Spliced = Result<Arc<Frontmatter<'static>>, SpliceRefusal>;

impl TaskFile {
    /// Returns the file's bytes.
    pub fn bytes(&self) -> &[u8] {
        self.source.text().as_bytes()
    }

    /// Returns what follows the frontmatter.
    pub fn body(&self) -> &str {
        self.source.body()
    }

    /// Returns what stands before the closing fence.
    pub fn head(&self) -> &str {
        head(&self.source)
    }

    /// Returns the closing fence and what follows it.
    pub fn rest(&self) -> &str {
        self.source.rest()
    }

    /// Returns a field of the frontmatter as it stands, if it is there.
    pub fn field(&self, key: &str) -> Option<&Node<'static>> {
        self.source.root().get(key)
    }

    /// Returns the frontmatter as it stands, unknown keys included; what is a text is one, however it looks.
    pub fn raw(&self) -> Map {
        people::said(self.source.root().entries())
    }

    /// Returns the file with everything changed in which `after` differs from what it says now. No other byte changes.
    pub fn update(&self, after: &Task) -> Spliced {
        self.splice(&edits::to(self, after), self.source.rest())
    }

    /// Returns the same with the work of a completion at the end of the body.
    pub fn update_with_work(&self, after: &Task, work: &Work) -> Spliced {
        self.splice(&edits::to(self, after), &body::with_work(&self.source, work))
    }

    /// Returns the same with another text as its body, in the file's own line endings.
    pub fn update_with_body(&self, after: &Task, text: &str) -> Spliced {
        self.splice(&edits::to(self, after), &body::replaced(&self.source, text))
    }

    /// Returns the file with a comment at the end of its body.
    pub fn with_comment(&self, name: &str, at: Timestamp, text: &str) -> Spliced {
        self.splice(&[], &body::with_comment(&self.source, name, at, text))
    }

    /// Returns the file as it was when the task stood where `before` says, an earlier state of it: entries that came since are
    /// taken back. What people wrote stays as it is, and so does the body.
    pub fn rewind(&self, before: &Task) -> Spliced {
        let mut edits = edits::to(self, before);
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

/// Returns a new file for the task.
pub fn create(task: &Task, body: &str) -> String {
    let mut map = Map::new();
    for (key, value) in people_fields(task).into_iter().chain(own_fields(task)) {
        map.insert(key.to_owned(), value);
    }
    let order = ["id", "title", "description", "status", "created", "updated", "routing", "gate"];
    let mut sorted: Map = order.iter().filter_map(|key| map.remove_entry(*key)).collect();
    sorted.extend(map);
    if !task.history.is_empty() {
        sorted.insert("gateHistory".to_owned(), task.history.iter().map(visit_entry::write).collect());
    }
    let separator = if body.is_empty() { "" } else { "\n" };
    let end = if body.is_empty() || body.ends_with('\n') { "" } else { "\n" };
    format!("---\n{}---\n{separator}{body}{end}", frontmatter::emit_document(&sorted))
}

/// Returns which task a file says that it is; nothing where it does not say so. A file whose frontmatter cannot be read says neither.
pub fn stated_id(bytes: &[u8]) -> Result<Option<TaskId>, Vec<Fault>> {
    let source = frontmatter::parse(bytes)?;
    let mut faults = Vec::new();
    let stated =
        Fields::of(source.root(), "a task", &mut faults).and_then(|mut fields| fields.parsed("id", &mut faults));
    if faults.is_empty() { Ok(stated) } else { Err(faults) }
}

fn decode(node: &Node<'_>, id: &TaskId, defaults: &Defaults) -> Result<(Task, Origin), Vec<Fault>> {
    let mut faults = Vec::new();
    match decoded(node, id, defaults, &mut faults) {
        Some(read) if faults.is_empty() => Ok(read),
        _ => Err(faults),
    }
}

fn decoded(node: &Node<'_>, id: &TaskId, defaults: &Defaults, faults: &mut Vec<Fault>) -> Option<(Task, Origin)> {
    let mut fields = Fields::of(node, "a task", faults)?;
    let written: Option<TaskId> = fields.parsed("id", faults);
    if let Some(written) = written.filter(|written| written != id) {
        faults.push(
            Fault::new(
                "id_mismatch",
                fields.key_span("id"),
                format!("this says `{written}`, and the file is named `{id}`"),
            )
            .help(format!("the file's name counts: write `id: {id}`, or rename the file")),
        );
    }
    let history = visit_entry::read_all(fields.take("gateHistory"), faults);
    let gate_node = fields.take("gate");
    let origin = if gate_node.is_none() && history.is_empty() { Origin::HandMade } else { Origin::Adopted };
    let gate = gate_node.and_then(|node| open_visit::read(node, &history, faults));
    let routing = routing(fields.take("routing"), defaults, faults)?;
    let created = time(&mut fields, "created", faults);
    let title = fields.text("title", faults);
    let title = fields.require("title", title, faults);
    let (status, updated) = match origin {
        // A hand-made file may carry another tool's words here; taking it up writes ours.
        Origin::HandMade => (Some(Status::Ready), None),
        Origin::Adopted => {
            let status = fields.parsed("status", faults);
            (fields.require("status", status, faults), time(&mut fields, "updated", faults))
        }
    };
    let created = created.unwrap_or(defaults.created);
    let task = Task {
        id: id.clone(),
        title: title?,
        description: fields.text("description", faults),
        status: status?,
        created,
        updated: updated.unwrap_or(created),
        routing,
        gate,
        history,
        review: fields.take("reviewContext").and_then(|node| review(node, faults)),
        blockers: fields.list("blockers", faults).unwrap_or_default(),
        context: fields.object("context", faults).unwrap_or_default(),
        workflow_hash: fields.text("workflowHash", faults),
        tags: fields.list("tags", faults).unwrap_or_default(),
        metadata: fields.object("metadata", faults).unwrap_or_default(),
        depends_on: fields.list("dependsOn", faults).unwrap_or_default(),
    };
    consistent(&task, origin, &fields, faults);
    Some((task, origin))
}

/// A finished task has no open visit, and an unfinished one has: anything else was done by hand.
fn consistent(task: &Task, origin: Origin, fields: &Fields<'_, '_>, faults: &mut Vec<Fault>) {
    if origin == Origin::Adopted && task.status.is_finished() == task.gate.is_some() {
        let says = if task.gate.is_some() { "it stands at a gate" } else { "it stands at no gate" };
        faults.push(
            Fault::new(
                "inconsistent_state",
                fields.key_span("status"),
                format!("`status: {}`, and {says}", task.status),
            )
            .help("one of them was changed by hand; bring back what the engine wrote"),
        );
    }
}

fn routing(node: Option<&Node<'_>>, defaults: &Defaults, faults: &mut Vec<Fault>) -> Option<Routing> {
    let Some(node) = node else {
        return Some(Routing::of(defaults.workflow.clone()));
    };
    let mut fields = Fields::of(node, "`routing`", faults)?;
    Some(Routing {
        workflow: fields.parsed("workflow", faults).unwrap_or_else(|| defaults.workflow.clone()),
        role: fields.parsed("role", faults),
        agent: fields.parsed("agent", faults),
        claimed: time(&mut fields, "claimed", faults),
        lost: fields.parsed("lost", faults),
    })
}

fn review(node: &Node<'_>, faults: &mut Vec<Fault>) -> Option<ReviewContext> {
    let mut fields = Fields::of(node, "`reviewContext`", faults)?;
    let from_gate = fields.parsed("fromGate", faults);
    let from_role = fields.parsed("fromRole", faults);
    let timestamp = time(&mut fields, "timestamp", faults);
    Some(ReviewContext {
        from_agent: fields.parsed("fromAgent", faults),
        blockers: fields.list("blockers", faults).unwrap_or_default(),
        notes: fields.text("notes", faults),
        from_gate: fields.require("fromGate", from_gate, faults)?,
        from_role,
        timestamp: fields.require("timestamp", timestamp, faults)?,
    })
}

/// Returns a point in time: RFC 3339, or a day, which is its first second in UTC.
pub(super) fn time(fields: &mut Fields<'_, '_>, key: &'static str, faults: &mut Vec<Fault>) -> Option<Timestamp> {
    let node = fields.take(key)?;
    let text = node.as_str().unwrap_or_default();
    let day =
        || text.parse::<Date>().ok().and_then(|day| day.to_zoned(TimeZone::UTC).ok()).map(|zoned| zoned.timestamp());
    let time = text.parse::<Timestamp>().ok().or_else(day);
    if time.is_none() {
        faults.push(
            Fault::new("invalid_time", node.span.clone(), format!("`{key}` is not a point in time"))
                .help("write it like `2026-02-16T10:00:00Z`"),
        );
    }
    time
}

/// Returns what people say of a task, as far as it is said.
fn people_fields(task: &Task) -> Vec<(&'static str, Value)> {
    let mut fields = vec![("title", json!(task.title))];
    fields.extend(task.description.as_ref().map(|text| ("description", json!(text))));
    fields.extend(some(!task.tags.is_empty(), "tags", || json!(task.tags)));
    fields.extend(some(!task.metadata.is_empty(), "metadata", || json!(task.metadata)));
    let ids: Vec<&str> = task.depends_on.iter().map(TaskId::as_str).collect();
    fields.extend(some(!ids.is_empty(), "dependsOn", || json!(ids)));
    fields
}

/// Returns what the engine says of a task, its history aside.
fn own_fields(task: &Task) -> Vec<(&'static str, Value)> {
    let mut fields = vec![
        ("id", json!(task.id.as_str())),
        ("status", json!(task.status.as_str())),
        ("created", json!(task.created.to_string())),
        ("updated", json!(task.updated.to_string())),
        ("routing", routing_value(&task.routing)),
    ];
    fields.extend(task.gate.as_ref().map(|gate| ("gate", open_visit::write(gate))));
    fields.extend(task.review.as_ref().map(|review| ("reviewContext", review_value(review))));
    fields.extend(some(!task.blockers.is_empty(), "blockers", || json!(task.blockers)));
    fields.extend(some(!task.context.is_empty(), "context", || json!(task.context)));
    fields.extend(task.workflow_hash.as_ref().map(|hash| ("workflowHash", json!(hash))));
    fields
}

fn some(there: bool, key: &'static str, value: impl FnOnce() -> Value) -> Option<(&'static str, Value)> {
    there.then(|| (key, value()))
}

fn routing_value(routing: &Routing) -> Value {
    let mut map = Map::new();
    map.insert("workflow".to_owned(), json!(routing.workflow.as_str()));
    if let Some(role) = &routing.role {
        map.insert("role".to_owned(), json!(role.as_str()));
    }
    if let Some(agent) = &routing.agent {
        map.insert("agent".to_owned(), json!(agent.as_str()));
    }
    put_time(&mut map, "claimed", routing.claimed);
    if let Some(agent) = &routing.lost {
        map.insert("lost".to_owned(), json!(agent.as_str()));
    }
    Value::Object(map)
}

/// Writes a point in time, if there is one.
pub(super) fn put_time(map: &mut Map, key: &str, time: Option<Timestamp>) {
    if let Some(time) = time {
        map.insert(key.to_owned(), json!(time.to_string()));
    }
}

/// Returns the review context as files and JSON show it.
pub fn review_value(review: &ReviewContext) -> Value {
    let mut map = Map::new();
    map.insert("fromGate".to_owned(), json!(review.from_gate.as_str()));
    if let Some(agent) = &review.from_agent {
        map.insert("fromAgent".to_owned(), json!(agent.as_str()));
    }
    if let Some(role) = &review.from_role {
        map.insert("fromRole".to_owned(), json!(role.as_str()));
    }
    map.insert("timestamp".to_owned(), json!(review.timestamp.to_string()));
    map.insert("blockers".to_owned(), json!(review.blockers));
    if let Some(notes) = &review.notes {
        map.insert("notes".to_owned(), json!(notes));
    }
    Value::Object(map)
}

#[cfg(test)]
mod tests;
