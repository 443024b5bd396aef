//! Task files: frontmatter and body as a `Task`, and a changed `Task` as the smallest change of the file.
//!
//! Reading is strict where the engine's fields are concerned and blind to everything else: a person's keys are theirs. A file
//! without `gate` and `gateHistory` is a hand-made one: what it lacks is filled in when the engine takes it up.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::decode::Fields;
use super::frontmatter::{self, Edit, Path, SpliceRefusal};
use super::open_visit;
use super::visit_entry;
use super::yaml::{Fault, Node};
use crate::model::{Map, ReviewContext, Routing, Status, Task, TaskId, Ticket, Timestamp, Work, WorkflowName};

/// A task file that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskFile {
    /// What it says.
    pub task: Task,
    /// Its frontmatter as it stands, unknown keys included.
    pub raw: Map,
    /// What follows the frontmatter.
    pub body: String,
    /// Whether the engine has taken the task up.
    pub origin: Origin,
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
    let front = frontmatter::parse(bytes)?;
    let mut faults = Vec::new();
    let read = read(&front.root, id, defaults, &mut faults);
    match read {
        Some((task, origin)) if faults.is_empty() => {
            let Value::Object(raw) = front.root.to_value() else { return Err(faults) };
            Ok(TaskFile { task, raw, body: front.body().to_owned(), origin })
        }
        _ => Err(faults),
    }
}

/// Returns the file with everything changed in which `after` differs from what it says now, and the work appended to its body.
/// No other byte changes; the result has been read back and says what it should.
pub fn update(bytes: &[u8], file: &TaskFile, after: &Task, work: Option<&Work>) -> Result<Vec<u8>, SpliceRefusal> {
    let mut changed = frontmatter::splice(bytes, &edits(file, after))?;
    if let Some(work) = work {
        append_work(&mut changed, work);
    }
    Ok(changed)
}

/// Returns the file as it was when the task stood where `before` says, an earlier state of it: entries that came since are taken
/// back. What people wrote stays as it is, and so does the body.
pub fn rewind(bytes: &[u8], file: &TaskFile, before: &Task) -> Result<Vec<u8>, SpliceRefusal> {
    let mut edits = edits(file, before);
    let history = Path::from("gateHistory");
    match before.history.len() {
        0 => edits.push(Edit::remove(history)),
        kept => edits.extend((kept..file.task.history.len()).map(|index| Edit::remove(history.clone().then(index)))),
    }
    frontmatter::splice(bytes, &edits)
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

fn read(node: &Node<'_>, id: &TaskId, defaults: &Defaults, faults: &mut Vec<Fault>) -> Option<(Task, Origin)> {
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
            .help(format!(
                "bring back what the engine wrote: `git restore --source=HEAD {}.md`, in its folder",
                task.id
            )),
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

fn edits(file: &TaskFile, after: &Task) -> Vec<Edit> {
    let mut edits = Vec::new();
    let before = &file.task;
    let mut now: Map =
        people_fields(after).into_iter().chain(own_fields(after)).map(|(k, v)| (k.to_owned(), v)).collect();
    let then: Map = match file.origin {
        Origin::Adopted => {
            people_fields(before).into_iter().chain(own_fields(before)).map(|(k, v)| (k.to_owned(), v)).collect()
        }
        // What a hand-made file says is compared as it is written: foreign words give way.
        Origin::HandMade => {
            file.raw.iter().filter(|(key, _)| now.contains_key(*key)).map(|(k, v)| (k.clone(), v.clone())).collect()
        }
    };
    for (key, old) in &then {
        // What is new stands in the order in which it is written: `remove` would put the last in place of what is removed.
        match now.shift_remove(key) {
            None => edits.push(Edit::remove(Path::from(key.as_str()))),
            Some(new) => change(&Path::from(key.as_str()), old, new, file.raw.get(key), &mut edits),
        }
    }
    for (key, new) in now {
        edits.push(Edit::set(Path::from(key.as_str()), new));
    }
    for visit in &after.history[before.history.len().min(after.history.len())..] {
        edits.push(Edit::append(Path::from("gateHistory"), visit_entry::write(visit)));
    }
    edits
}

/// Says how a value becomes another: mappings key by key, lists of mappings item by item, everything else as a whole.
fn change(path: &Path, old: &Value, new: Value, written: Option<&Value>, edits: &mut Vec<Edit>) {
    if *old == new {
        return;
    }
    match (old, new, written) {
        (Value::Array(old), Value::Array(new), Some(Value::Array(written)))
            if old.len() == new.len() && written.len() == new.len() && old.iter().all(Value::is_object) =>
        {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                change(&path.clone().then(index), old, new, written.get(index), edits);
            }
        }
        (Value::Object(old), Value::Object(mut new), Some(Value::Object(written))) if !new.is_empty() => {
            for (key, old) in old {
                let path = path.clone().then(key.as_str());
                match new.shift_remove(key) {
                    None => edits.push(Edit::remove(path)),
                    Some(new) => change(&path, old, new, written.get(key), edits),
                }
            }
            for (key, new) in new {
                edits.push(Edit::set(path.clone().then(key.as_str()), new));
            }
        }
        (_, new, _) => edits.push(Edit::set(path.clone(), new)),
    }
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

/// Returns the file with another text as its body, in the file's own line endings.
pub fn with_body(bytes: &[u8], text: &str) -> Result<Vec<u8>, SpliceRefusal> {
    let front = frontmatter::parse(bytes).map_err(SpliceRefusal::Unreadable)?;
    let head = &front.text[..front.split.body.start];
    let separator = if text.is_empty() { "" } else { "\n" };
    let mut file = head.as_bytes().to_vec();
    if text.is_empty() && head.ends_with('\n') {
        return Ok(file);
    }
    append(&mut file, format!("{separator}{text}"));
    Ok(file)
}

/// Returns the file with a comment at the end of its body.
pub fn with_comment(bytes: &[u8], name: &str, at: Timestamp, text: &str) -> Vec<u8> {
    let mut file = bytes.to_vec();
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    append(&mut file, format!("\n<!-- aof:comment -->\n**{name}**, {at}:\n\n{}", unmarked(text.trim_end())));
    file
}

/// What begins a marker of ours in a body.
const MARKER: &str = "<!-- aof:";

/// Returns the texts that completions brought into the body, with the numbers of their visits.
pub fn works<'b>(task: &TaskId, body: &'b str) -> Vec<(usize, &'b str)> {
    let mut works = Vec::new();
    let mut rest = body;
    while let Some(at) = rest.find(MARKER) {
        let marker = &rest[at + MARKER.len()..];
        let end = marker.find(MARKER).unwrap_or(marker.len());
        let (section, next) = (&marker[..end], &marker[end..]);
        rest = next;
        let Some((head, text)) = section.split_once(" -->") else { continue };
        let ticket = head.strip_prefix("work ").and_then(|ticket| ticket.parse::<Ticket>().ok());
        if let Some(visit) = ticket.filter(|ticket| ticket.task == *task).and_then(|ticket| ticket.visit) {
            // The heading is ours; the text begins behind it.
            let text = text.trim_start_matches(['\r', '\n']);
            works.push((visit, text.split_once('\n').map_or("", |(_, text)| text)));
        }
    }
    works
}

/// Appends a completion's text under a heading; the marker says which visit it belongs to. A text cannot bring a marker of its
/// own: it would speak for another visit.
fn append_work(file: &mut Vec<u8>, work: &Work) {
    let agent = work.agent.as_ref().map(|agent| format!(" by {agent}")).unwrap_or_default();
    let text = unmarked(&work.text);
    append(file, format!("\n<!-- aof:work {} -->\n## {}{agent}\n\n{text}", work.ticket, work.gate));
}

/// Returns the text without anything that would be taken for a marker; it looks the same when it is shown.
fn unmarked(text: &str) -> String {
    text.replace(MARKER, "<!--  aof:")
}

/// Appends a text to the body in the file's own line endings.
fn append(file: &mut Vec<u8>, mut text: String) {
    let crlf = file.windows(2).any(|pair| pair == b"\r\n");
    if !text.ends_with('\n') {
        text.push('\n');
    }
    if !file.ends_with(b"\n") {
        file.extend_from_slice(if crlf { b"\r\n" } else { b"\n" });
    }
    let text = if crlf { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text };
    file.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests;
