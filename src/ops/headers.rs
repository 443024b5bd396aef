//! What lists need to know of every task, from a cache where the files have not changed.

use serde::{Deserialize, Serialize};

use super::error::OpsError;
use super::in_force::InForce;
use super::standing::parse;
use super::workspace::Workspace;
use crate::format::diagnostic::Diagnostic;
use crate::format::task_file::{Origin, TaskFile};
use crate::model::{AgentId, Ending, GateId, Outcome, Priority, RoleId, Status, TaskId, Timestamp};
use crate::store::tasks::{self, Entry, TaskEntry};
use crate::store::{HeaderCache, ProjectPath};

/// Changes when a header's shape does: older caches are made anew.
const SCHEMA: &str = "1";

/// One task as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub title: String,
    /// Where it stands: a word of `Status`, or `new` for a hand-made file that nobody has taken up.
    pub status: String,
    /// Its workflow.
    pub workflow: String,
    /// The gate of the open visit.
    pub gate: Option<String>,
    /// The number of the open visit.
    pub visit: usize,
    /// Whose the open visit is.
    pub role: Option<String>,
    /// Who has claimed it.
    pub agent: Option<String>,
    /// A word of `Priority`.
    pub priority: String,
    /// When it came to the gate, in seconds since 1970.
    pub entered: Option<i64>,
    /// When it was made, likewise.
    pub created: i64,
    /// When it was last changed, likewise.
    pub updated: i64,
    /// Labels.
    pub tags: Vec<String>,
    /// Why it is blocked.
    pub blockers: Vec<String>,
    /// Tasks that must be complete first.
    pub depends_on: Vec<String>,
    /// Its ended visits.
    pub stays: Vec<Past>,
}

/// An ended visit, as far as counting goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// The gate.
    pub gate: String,
    /// How long, in seconds.
    pub seconds: u64,
    /// Whether a completion ended it.
    pub completed: bool,
    /// Whether it ended in a rejection.
    pub rejected: bool,
}

/// Which tasks are wanted. Everything that is given must hold.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// At one of these gates.
    pub gates: Vec<GateId>,
    /// Of one of these roles.
    pub roles: Vec<RoleId>,
    /// Claimed by this agent.
    pub agent: Option<AgentId>,
    /// Claimed by this agent, or free and of a role of its.
    pub mine: Option<AgentId>,
    /// In one of these states.
    pub statuses: Vec<Status>,
    /// With all of these labels.
    pub tags: Vec<String>,
    /// Ready, and with everything it depends on complete.
    pub ready: bool,
    /// With these words in id, title or tags.
    pub search: Option<String>,
    /// Finished ones too.
    pub all: bool,
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// The most urgent first, then the one that has waited longest.
    #[default]
    Priority,
    /// The oldest first.
    Created,
    /// The one changed last first.
    Updated,
    /// By id.
    Id,
}

/// A list of tasks, and what could not be read.
#[derive(Debug, Default)]
pub struct Listing {
    /// The tasks that were wanted, with their files.
    pub tasks: Vec<(Header, ProjectPath)>,
    /// Files that cannot be read as tasks, with why.
    pub unreadable: Vec<Unreadable>,
}

/// A file that cannot be read as a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Unreadable {
    /// The file.
    pub path: String,
    /// Why, in one sentence.
    pub reason: String,
    /// Where in it, if it is the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Returns the tasks that are wanted, in order. A file that cannot be read hides none of the others.
pub fn list(workspace: &Workspace, filter: &Filter, sort: Sort) -> Result<Listing, OpsError> {
    let in_force = workspace.rules()?;
    list_under(workspace, &in_force, filter, sort)
}

pub(super) fn list_under(
    workspace: &Workspace,
    in_force: &InForce,
    filter: &Filter,
    sort: Sort,
) -> Result<Listing, OpsError> {
    let wants_finished = filter.all || filter.statuses.iter().any(|status| status.is_finished());
    let mut listing = read_all(workspace, in_force, if wants_finished { Scope::All } else { Scope::Active })?;
    let unmet = if filter.ready { unfinished_of(workspace, in_force, &listing)? } else { Vec::new() };
    let roles: Vec<String> =
        filter.mine.iter().flat_map(|agent| in_force.rules.org.roles_of(agent)).map(ToString::to_string).collect();
    listing.tasks.retain(|(header, _)| matches(header, filter, &roles, &unmet));
    listing.tasks.sort_by(|(a, _), (b, _)| order(a, b, sort));
    Ok(listing)
}

/// Which files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Those of active tasks.
    Active,
    /// Those of finished ones too.
    All,
}

pub(super) fn read_all(workspace: &Workspace, in_force: &InForce, scope: Scope) -> Result<Listing, OpsError> {
    let paths = &workspace.paths;
    let mut cache = HeaderCache::<Header>::load(paths, SCHEMA);
    let mut listing = Listing::default();
    let mut standing = std::collections::HashSet::new();
    let archived = if scope == Scope::All { Some(tasks::walk_archived(paths)) } else { None };
    let mut places: std::collections::HashMap<TaskId, ProjectPath> = std::collections::HashMap::new();
    for entry in tasks::walk_active(paths).chain(archived.into_iter().flatten()) {
        let entry = match entry {
            Entry::Task(entry) => entry,
            Entry::Stray(stray) => {
                listing.unreadable.push(Unreadable {
                    path: stray.path.display().to_string(),
                    reason: stray.reason.to_string(),
                    diagnostics: Vec::new(),
                });
                continue;
            }
        };
        standing.insert(entry.path.to_string());
        if let Some(other) = places.insert(entry.id.clone(), entry.path.clone()) {
            listing.unreadable.push(Unreadable {
                path: entry.path.to_string(),
                reason: format!("`{}` is task `{}` too: remove one of the two", other, entry.id),
                diagnostics: Vec::new(),
            });
        }
        match header_of(workspace, in_force, &entry, &mut cache) {
            Ok(header) => listing.tasks.push((header, entry.path)),
            Err(error) => listing.unreadable.push(unreadable(entry.path.as_str(), error)),
        }
    }
    if scope == Scope::All {
        cache.retain(|path| standing.contains(path));
    }
    // The cache only saves time: a project that cannot be written to is listed all the same.
    let _ = cache.save(paths);
    Ok(listing)
}

fn header_of(
    workspace: &Workspace,
    in_force: &InForce,
    entry: &TaskEntry,
    cache: &mut HeaderCache<Header>,
) -> Result<Header, OpsError> {
    if let Some(header) = cache.get(&entry.path, &entry.stat) {
        return Ok(header.clone());
    }
    let looked = workspace.clock()();
    let snapshot = tasks::read(&workspace.paths, &entry.path)?;
    let file = parse(in_force, &entry.id, &snapshot.path, &snapshot.bytes, workspace.now())?;
    let header = header(&file);
    cache.put(&entry.path, snapshot.stat, header.clone(), looked);
    Ok(header)
}

pub(super) fn unreadable(path: &str, error: OpsError) -> Unreadable {
    match error {
        OpsError::UnreadableTask { diagnostics, .. } => {
            let reason = diagnostics.first().map(|first| first.message.clone()).unwrap_or_default();
            Unreadable { path: path.to_owned(), reason, diagnostics }
        }
        other => Unreadable { path: path.to_owned(), reason: other.to_string(), diagnostics: Vec::new() },
    }
}

pub(super) fn header(file: &TaskFile) -> Header {
    let task = &file.task;
    let status = match file.origin {
        Origin::HandMade => "new",
        Origin::Adopted => task.status.as_str(),
    };
    Header {
        id: task.id.to_string(),
        title: task.title.clone(),
        status: status.to_owned(),
        workflow: task.routing.workflow.to_string(),
        gate: task.gate.as_ref().map(|gate| gate.current.to_string()),
        visit: task.history.len(),
        role: task.routing.role.as_ref().map(ToString::to_string),
        agent: task.routing.agent.as_ref().map(ToString::to_string),
        priority: task.priority().to_string(),
        entered: task.gate.as_ref().map(|gate| gate.entered.as_second()),
        created: task.created.as_second(),
        updated: task.updated.as_second(),
        tags: task.tags.clone(),
        blockers: task.blockers.clone(),
        depends_on: task.depends_on.iter().map(ToString::to_string).collect(),
        stays: task
            .history
            .iter()
            .map(|visit| Past {
                gate: visit.gate.to_string(),
                seconds: visit.duration(),
                completed: matches!(visit.outcome, Ending::Said(_)),
                rejected: visit.outcome == Ending::Said(Outcome::NeedsReview),
            })
            .collect(),
    }
}

fn matches(header: &Header, filter: &Filter, roles: &[String], unmet: &[String]) -> bool {
    let any = |wanted: &[String], value: Option<&String>| {
        wanted.is_empty() || value.is_some_and(|value| wanted.contains(value))
    };
    let words = |list: &[GateId]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    let role_words: Vec<String> = filter.roles.iter().map(ToString::to_string).collect();
    let statuses: Vec<String> = filter.statuses.iter().map(ToString::to_string).collect();
    let of = |agent: &AgentId| header.agent.as_deref() == Some(agent.as_str());
    let mine = |agent: &AgentId| {
        of(agent) || (header.agent.is_none() && header.role.as_ref().is_some_and(|role| roles.contains(role)))
    };
    any(&words(&filter.gates), header.gate.as_ref())
        && any(&role_words, header.role.as_ref())
        && any(&statuses, Some(&header.status))
        && filter.agent.as_ref().is_none_or(of)
        && filter.mine.as_ref().is_none_or(mine)
        && filter.tags.iter().all(|tag| header.tags.contains(tag))
        && (!filter.ready || is_ready(header, unmet))
        && filter.search.as_ref().is_none_or(|text| says(header, text))
}

pub(super) fn is_ready(header: &Header, unmet: &[String]) -> bool {
    header.status == Status::Ready.as_str() && !header.depends_on.iter().any(|id| unmet.contains(id))
}

fn says(header: &Header, text: &str) -> bool {
    let hay = format!("{} {} {}", header.id, header.title, header.tags.join(" ")).to_lowercase();
    text.to_lowercase().split_whitespace().all(|word| hay.contains(word))
}

fn order(a: &Header, b: &Header, sort: Sort) -> std::cmp::Ordering {
    let rank = |header: &Header| header.priority.parse::<Priority>().unwrap_or(Priority::Medium);
    let by_id = || a.id.cmp(&b.id);
    match sort {
        Sort::Priority => rank(a).cmp(&rank(b)).then(a.created.cmp(&b.created)).then_with(by_id),
        Sort::Created => a.created.cmp(&b.created).then_with(by_id),
        Sort::Updated => b.updated.cmp(&a.updated).then_with(by_id),
        Sort::Id => by_id(),
    }
}

/// Returns the ids that some listed task depends on and that are not complete.
pub(super) fn unfinished_of(
    workspace: &Workspace,
    in_force: &InForce,
    listing: &Listing,
) -> Result<Vec<String>, OpsError> {
    let mut wanted: Vec<String> = listing.tasks.iter().flat_map(|(header, _)| header.depends_on.clone()).collect();
    wanted.sort();
    wanted.dedup();
    let mut unmet = Vec::new();
    for text in wanted {
        let known = listing.tasks.iter().find(|(header, _)| header.id == text).map(|(header, _)| header.status.clone());
        let status = match known {
            Some(status) => Some(status),
            None => finished_status(workspace, in_force, &text)?,
        };
        if status.as_deref() != Some(Status::Complete.as_str()) {
            unmet.push(text);
        }
    }
    Ok(unmet)
}

fn finished_status(workspace: &Workspace, in_force: &InForce, id: &str) -> Result<Option<String>, OpsError> {
    let Ok(id) = id.parse::<TaskId>() else { return Ok(None) };
    match super::standing::find(workspace, &id) {
        Ok((snapshot, _)) => match parse(in_force, &id, &snapshot.path, &snapshot.bytes, workspace.now()) {
            Ok(file) => Ok(Some(header(&file).status)),
            Err(_) => Ok(None),
        },
        Err(OpsError::NoTask { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns a task that the agent has claimed.
pub(super) fn held_by(workspace: &Workspace, agent: &AgentId) -> Result<Option<TaskId>, OpsError> {
    let filter = Filter { agent: Some(agent.clone()), ..Filter::default() };
    let listing = list(workspace, &filter, Sort::Priority)?;
    Ok(listing.tasks.first().and_then(|(header, _)| header.id.parse().ok()))
}

/// Returns a header's time as one.
pub fn time(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH)
}
