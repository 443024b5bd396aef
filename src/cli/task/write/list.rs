//! The tasks of a file, for `aof new --from`: JSON, JSON lines, or the open boxes of Markdown. Entries may name each other by `ref`.

use std::collections::{BTreeMap, HashSet};

use jiff::civil::Date;
use serde_json::{Value, json};

use crate::cli::{CliError, CliResult};
use crate::domain::{TaskId, listed};
use crate::files::json;
use crate::operations::arguments::Arguments;
use crate::operations::content::new_task;
use crate::operations::fields::Doors;
use crate::operations::table::CREATE;
use crate::project::rule_lookup::find_workflow;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::storage::task_files::{self, WalkEntry};
use crate::tasks::create::{NewTask, check_new};
use crate::tasks::plan::DryRun;
use crate::tasks::state::task_state::TaskState;

/// The number of errors of a list that are shown.
const FEW: usize = 10;
/// The field of a listed task, and of its metadata.
const REF: &str = "ref";

/// Returns the tasks of a list as JSON objects: a JSON list, an object on each line, or the open boxes of a Markdown list, each with
/// the indented text below it.
fn entries(text: &str) -> Result<Vec<Value>, String> {
    let start = text.trim_start();
    if start.starts_with('[') && !start.starts_with("[ ]") {
        let found = json::read(text).map_err(|error| json::reason(&error))?;
        return json::duplicate_key(text).map_or(Ok(found), Err);
    }
    if start.starts_with('{') {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let read = |(place, line): (usize, &str)| {
            let reason = match json::read(line) {
                Ok(value) => json::duplicate_key(line).map_or(Ok(value), Err),
                Err(error) => Err(json::reason(&error)),
            };
            reason.map_err(|reason| format!("line {}: {reason}", place + 1))
        };
        return lines.map(read).collect();
    }
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    let mut is_below = false;
    for line in text.lines() {
        let item = ["- ", "* "].iter().find_map(|mark| line.strip_prefix(mark));
        if let Some(title) = item.and_then(|item| item.strip_prefix("[ ] ")) {
            found.push((title.trim().to_owned(), Vec::new()));
            is_below = true;
        } else if !line.starts_with([' ', '\t']) {
            // Text that is indented below a ticked box or a heading belongs to no open one.
            is_below &= line.is_empty();
        } else if let Some((_, body)) = found.last_mut().filter(|_| is_below) {
            body.push(line);
        }
    }
    if found.is_empty() {
        return Err("it is neither JSON nor Markdown with lines that begin with `- [ ]`".to_owned());
    }
    let task = |(title, body): (String, Vec<&str>)| {
        let indent =
            body.iter().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
        let body: Vec<&str> =
            body.iter().map(|line| line.get(indent..).unwrap_or_default()).collect();
        json!({"title": title, "body": body.join("\n")})
    };
    Ok(found.into_iter().map(task).collect())
}

/// A list of tasks, each of which is checked.
pub(super) struct ListedTasks<'r> {
    rules: &'r Rules,
    today: Date,
    /// The tasks that are not created yet.
    entries: Vec<Entry>,
    /// Their names.
    names: HashSet<String>,
}

/// A task of a list.
#[derive(Debug, Clone)]
struct Entry {
    /// Its name in the list, for `parent` and `dependsOn` of others.
    reference: Option<String>,
    fields: Value,
}

impl<'r> ListedTasks<'r> {
    /// Parses a list. Fails with the faults of each task.
    pub(super) fn parse(name: &str, text: &str, rules: &'r Rules, today: Date) -> CliResult<Self> {
        let name = if name == "-" { "standard input".to_owned() } else { format!("`{name}`") };
        let fix =
            "give a list of objects, as in `[{\"title\": \"Add login\", \"tags\": [\"auth\"]}]`";
        let refused = |problem: &str| {
            CliError::refused("invalid_tasks", format!("{name} cannot be taken: {problem}"), fix)
        };
        let found = entries(text).map_err(|reason| refused(&reason))?;
        let entries: Vec<Entry> = found.into_iter().map(Entry::of).collect();
        let names = entries.iter().filter_map(|entry| entry.reference.clone()).collect();
        let list = Self { rules, today, entries, names };
        let (mut faults, mut earlier) = (Vec::new(), HashSet::new());
        let no_ids = BTreeMap::new();
        for (place, entry) in list.entries.iter().enumerate() {
            let checked = match &entry.reference {
                Some(reference) if !earlier.insert(reference) => {
                    Err(format!("`ref: {reference}` is there twice"))
                }
                _ => list.task(entry, &no_ids),
            };
            faults.extend(checked.err().map(|fault| format!("task {}: {fault}", place + 1)));
        }
        faults.extend(faults.is_empty().then(|| list.circle()).flatten());
        if faults.is_empty() {
            return Ok(list);
        }
        let more = faults.len().saturating_sub(FEW);
        faults.truncate(FEW);
        faults.extend((more > 0).then(|| format!("and {more} more")));
        Err(refused(&faults.join("; ")))
    }

    /// Removes the tasks that an earlier run created, which have the `ref` in their metadata. Returns these.
    pub(super) fn take_created(&mut self, workspace: &Workspace) -> BTreeMap<String, TaskId> {
        let mut created = BTreeMap::new();
        if self.entries.iter().all(|entry| entry.reference.is_none()) {
            return created;
        }
        let paths = &workspace.paths;
        for walked in task_files::walk_active(paths).chain(task_files::walk_archived(paths)) {
            let WalkEntry::Task(task) = walked else { continue };
            // Most tasks have none, and need not be parsed.
            let text = std::fs::read(paths.root().join(task.path.as_str())).unwrap_or_default();
            if text.windows(REF.len()).any(|found| found == REF.as_bytes())
                && let Ok(state) = TaskState::read(workspace, &task.id)
                && let Some(reference) = state.file.task.metadata.get(REF).and_then(reference_of)
            {
                created.insert(reference, task.id);
            }
        }
        created.retain(|reference, _| self.names.remove(reference));
        let is_created = |name: &String| created.contains_key(name);
        self.entries.retain(|entry| !entry.reference.as_ref().is_some_and(is_created));
        created
    }

    /// Removes and returns the tasks that wait for no other one of the list, with their names. A dry run takes all at once, without
    /// their relations to each other: they have no ids yet.
    pub(super) fn take_next(
        &mut self,
        ids: &BTreeMap<String, TaskId>,
        mode: DryRun,
    ) -> CliResult<Vec<(Option<String>, NewTask)>> {
        let waits = |entry: &Entry| {
            mode == DryRun::No && self.named_by(entry).any(|name| !ids.contains_key(name))
        };
        let (waiting, next): (Vec<_>, Vec<_>) = self.entries.iter().partition(|entry| waits(entry));
        let task = |entry: &Entry| {
            let task = self.task(entry, ids);
            let task =
                task.map_err(|fault| CliError::refused("invalid_tasks", fault, "correct it"))?;
            Ok((entry.reference.clone(), task))
        };
        let next = next.into_iter().map(task).collect();
        self.entries = waiting.into_iter().cloned().collect();
        self.names = self.entries.iter().filter_map(|entry| entry.reference.clone()).collect();
        next
    }

    /// Returns the names of other tasks of the list, not created yet, that the task has as its parent or waits for.
    fn named_by<'e>(&'e self, entry: &'e Entry) -> impl Iterator<Item = &'e str> {
        entry.relations().filter(|text| self.names.contains(*text))
    }

    /// Returns the fault if tasks of the list name each other, or wait for each other, in a circle. A task waits for what it depends on,
    /// and for its children.
    fn circle(&self) -> Option<String> {
        let mut waits: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut named = waits.clone();
        for entry in &self.entries {
            let Some(name) = entry.reference.as_deref() else { continue };
            let known = |text: &&str| self.names.contains(*text);
            named.entry(name).or_default().extend(self.named_by(entry));
            waits.entry(name).or_default().extend(entry.depends_on().filter(known));
            if let Some(parent) = entry.parent().filter(known) {
                waits.entry(parent).or_default().push(name);
            }
        }
        let stuck = [named, waits].into_iter().map(stuck).find(|stuck| !stuck.is_empty())?;
        Some(format!("{} wait for each other in a circle", listed(&stuck)))
    }

    /// Returns the task of an entry, with ids in place of names; names without an id are left out.
    fn task(&self, entry: &Entry, ids: &BTreeMap<String, TaskId>) -> Result<NewTask, String> {
        let resolve = |value: &mut Value| match value.as_str().map(ToOwned::to_owned) {
            Some(text) if ids.contains_key(&text) => {
                *value = json!(ids[&text]);
                true
            }
            Some(text) => !self.names.contains(&text),
            None => true,
        };
        let mut fields = entry.fields.clone();
        if let Value::Object(fields) = &mut fields {
            if let Some(Value::Array(tasks)) = fields.get_mut("dependsOn") {
                tasks.retain_mut(resolve);
            }
            if fields.get_mut("parent").is_some_and(|parent| !resolve(parent)) {
                fields.shift_remove("parent");
            }
            if let Some(reference) = &entry.reference {
                let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
                if let Value::Object(metadata) = metadata {
                    metadata.insert(REF.to_owned(), json!(reference));
                }
            }
        }
        task_of(fields, self.rules, self.today)
    }
}

impl Entry {
    fn of(mut fields: Value) -> Self {
        let map = fields.as_object_mut();
        // Another value stays, and is refused as an unknown field.
        let reference = map.and_then(|map| {
            let reference = reference_of(map.get(REF)?)?;
            map.shift_remove(REF);
            Some(reference)
        });
        Self { reference, fields }
    }

    /// Returns the texts of `parent` and `dependsOn`.
    fn relations(&self) -> impl Iterator<Item = &str> {
        self.depends_on().chain(self.parent())
    }

    fn depends_on(&self) -> impl Iterator<Item = &str> {
        let names = self.fields["dependsOn"].as_array().into_iter().flatten();
        names.filter_map(Value::as_str)
    }

    fn parent(&self) -> Option<&str> {
        self.fields["parent"].as_str()
    }
}

/// Returns the names that cannot be put in order, if each comes after those in its list.
fn stuck<'a>(mut after: BTreeMap<&'a str, Vec<&'a str>>) -> Vec<&'a str> {
    let mut placed = HashSet::new();
    loop {
        let count = after.len();
        after.retain(|name, names| {
            let is_free = names.iter().all(|name| placed.contains(name));
            placed.extend(is_free.then_some(*name));
            !is_free
        });
        if after.len() == count {
            return after.into_keys().collect();
        }
    }
}

/// Returns the name of a task in its list: a text, or a number as a text.
fn reference_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Parses one task, and checks it as its creation does, so that the error can name its place in the list.
fn task_of(entry: Value, rules: &Rules, today: Date) -> Result<NewTask, String> {
    let Value::Object(entry) = entry else { return Err("it is not an object".to_owned()) };
    let given = Arguments::check(CREATE.command, CREATE.fields, Doors::COMMAND, entry);
    let task = given.and_then(|given| new_task(&given, today));
    let task = task.map_err(|fault| match fault.code {
        "unknown_argument" => format!("{}; {}", fault.problem, fault.fix),
        _ => fault.problem,
    })?;
    let workflow = task.workflow.as_ref().unwrap_or(&rules.project.default_workflow);
    let checked = find_workflow(rules, workflow).and_then(|workflow| check_new(workflow, &task));
    checked.map_err(|error| error.problem())?;
    Ok(task)
}
