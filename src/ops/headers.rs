//! What lists need to know of every task, from a cache where the files have not changed.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::error::OpsError;
use super::in_force::InForce;
use super::stand::Stand;
use super::standing::parse_with;
use super::workspace::Workspace;
use crate::engine::{Rules, Stay, Timer, stay};
use crate::format::diagnostic::Diagnostic;
use crate::format::task_file::{Defaults, Origin, TaskFile};
use crate::model::{
    AgentId, BranchStatus, Ending, Gate, Join, OpenBranch, Outcome, TaskId, Timestamp, Verdict, WorkflowName, listed,
};
use crate::store::layout::ARCHIVE;
use crate::store::tasks::{self, Entry, TaskEntry};
use crate::store::{FileStat, HeaderCache, Paths, ProjectPath, StoreError};

/// Changes when a header's shape or meaning does: older caches are made anew.
const SCHEMA: &str = "8";

/// The status of a hand-made file that nobody has taken up.
pub const NEW: &str = "new";

/// So many files are parsed sooner than another thread is started.
const FEW: usize = 64;

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
    /// What its time limits count from; nothing while it is blocked or held.
    #[serde(default)]
    pub running: Option<Running>,
    /// Whether it took too long where nobody steps in for that.
    #[serde(default)]
    pub overdue: bool,
    /// Whether a person holds it.
    #[serde(default)]
    pub held: bool,
    /// When it was claimed, in seconds since 1970.
    pub claimed: Option<i64>,
    /// Who had claimed it in this visit and let the claim run out.
    pub lost: Option<String>,
    /// The branches that are open, where it stands at a fork.
    #[serde(default)]
    pub branches: Vec<Part>,
    /// Whether the visit belongs to another role than its gate's.
    #[serde(default)]
    pub escalated: bool,
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
    /// Where it stands, as its file has it: the rules may have changed since.
    #[serde(default)]
    pub stand: Stand,
    /// Its ended visits.
    pub stays: Vec<Past>,
}

/// A branch of an open fork, as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its name.
    pub branch: String,
    /// Whose it is.
    pub role: String,
    /// Whether it belongs to another role than its own.
    pub escalated: bool,
    /// Who has claimed it.
    pub agent: Option<String>,
    /// When it was claimed, in seconds since 1970.
    pub claimed: Option<i64>,
    /// Who had claimed it and let the claim run out.
    pub lost: Option<String>,
    /// A word of `BranchStatus`.
    pub status: String,
    /// What its time limits count from; nothing while it is blocked or held.
    #[serde(default)]
    pub running: Option<Running>,
}

/// What time limits count from, in milliseconds since 1970, rounded up: nothing is thought due before it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// The beginning of the visit, or when it was last set going again.
    pub since: i64,
    /// When it was claimed, or the claim last renewed.
    pub claimed: Option<i64>,
    /// Whether its time limit is over: it ran out, or another role has stepped in.
    pub spent: bool,
}

impl Running {
    fn of(stay: &Stay<'_>) -> Self {
        let millis = |time: Timestamp| {
            let nanos = time.as_nanosecond();
            i64::try_from(nanos.div_euclid(1_000_000) + i128::from(nanos.rem_euclid(1_000_000) > 0)).unwrap_or(i64::MAX)
        };
        Self { since: millis(stay.since), claimed: stay.claimed.map(millis), spent: stay.timer == Timer::Spent }
    }

    /// Returns the stay as the engine sees it.
    pub(super) fn stay(self, agent: Option<&AgentId>) -> Stay<'_> {
        let time = |millis| Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX);
        Stay {
            since: time(self.since),
            agent,
            claimed: self.claimed.map(time),
            timer: if self.spent { Timer::Spent } else { Timer::Runs },
        }
    }
}

impl Header {
    /// Returns the roles that it waits for: the gate's, or those of branches that are open.
    pub fn roles(&self) -> Vec<&str> {
        let own = self.role.as_deref().into_iter();
        unique(own.chain(self.branches.iter().map(|part| part.role.as_str())))
    }

    /// Returns who has claimed it, or a branch of it.
    pub fn agents(&self) -> Vec<&str> {
        let own = self.agent.as_deref().into_iter();
        unique(own.chain(self.branches.iter().filter_map(|part| part.agent.as_deref())))
    }

    /// Returns the roles of what can be claimed: the whole, or branches.
    pub fn free_roles(&self) -> Vec<&str> {
        let own = self.role.as_deref().into_iter().filter(|_| self.agent.is_none());
        let ready = self.branches.iter().filter(|part| part.status == BranchStatus::Ready.as_str());
        unique(own.chain(ready.map(|part| part.role.as_str())))
    }
}

fn unique<'t>(words: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    let mut all = Vec::new();
    for word in words {
        if !all.contains(&word) {
            all.push(word);
        }
    }
    all
}

/// An ended visit, as far as counting goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// The gate, or the branch of one.
    pub gate: String,
    /// Whose work it was.
    pub role: Option<String>,
    /// Who ended it.
    pub agent: Option<String>,
    /// When it began, in seconds since 1970.
    pub entered: i64,
    /// How long, in seconds.
    pub seconds: u64,
    /// Whether a completion ended it.
    pub completed: bool,
    /// Whether it ended in a rejection.
    pub rejected: bool,
    /// What the fork came to by it.
    #[serde(default)]
    pub join: Option<Joined>,
}

/// A fork that was closed, as far as counting goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// The fork.
    pub fork: String,
    /// Whether it rejected.
    pub failed: bool,
}

/// A list of tasks, and what could not be read.
#[derive(Debug, Default)]
pub struct Listing {
    /// The tasks that were wanted, with their files.
    pub tasks: Vec<(Header, ProjectPath)>,
    /// Tasks that wait for each other in circles, and are never handed out.
    pub circles: Vec<Vec<String>>,
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

/// Which files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Those of active tasks.
    Active,
    /// Those of the tasks that finished on the last day there is, too.
    Recent,
    /// Those of finished ones too.
    All,
}

/// Reads the headers of all task files; only those that changed since they were last looked at are parsed.
pub(super) fn read_all(workspace: &Workspace, in_force: &InForce, scope: Scope) -> Listing {
    let paths = &workspace.paths;
    let looked = workspace.clock()();
    let mut listing = Listing::default();
    let entries = entries(paths, scope, &mut listing.unreadable);
    let mut cache = HeaderCache::<Header>::load(paths, SCHEMA);
    let (known, missed): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| cache.get(&entry.path, &entry.stat).is_some());
    listing.tasks = Vec::with_capacity(known.len() + missed.len());
    for entry in known {
        if let Some(header) = cache.get(&entry.path, &entry.stat) {
            listing.tasks.push((header.clone(), entry.path));
        }
    }
    for (entry, read) in missed.iter().zip(read_missed(paths, &in_force.rules.project.default_workflow, &missed)) {
        match read {
            Ok((header, stat)) => {
                // What a hand-made file leaves open comes from the rules, which may change without it.
                if header.status != NEW {
                    cache.put(&entry.path, stat, header.clone(), looked);
                }
                listing.tasks.push((header, entry.path.clone()));
            }
            // It went away since the folder was listed: finished, or moved by a person.
            Err(OpsError::Store(StoreError::Gone { .. })) => {}
            Err(error) => listing.unreadable.push(unreadable(entry.path.as_str(), error)),
        }
    }
    forget_missing(&mut cache, &listing, scope);
    // The cache only saves time: a project that cannot be written to is listed all the same.
    let _ = cache.save(paths);
    for (header, _) in &mut listing.tasks {
        follow(&in_force.rules, header);
    }
    listing.unreadable.sort_by(|a, b| a.path.cmp(&b.path));
    listing
}

/// Returns the task files, and says which cannot be any. Two active files of one id are neither: no command would know which.
fn entries(paths: &Paths, scope: Scope, unreadable: &mut Vec<Unreadable>) -> Vec<TaskEntry> {
    let mut task = |entry: Entry| match entry {
        Entry::Task(entry) => Some(entry),
        Entry::Stray(stray) => {
            let path = stray.path.display().to_string();
            unreadable.push(Unreadable { path, reason: stray.reason.to_string(), diagnostics: Vec::new() });
            None
        }
    };
    let mut active: Vec<TaskEntry> = tasks::walk_active(paths).filter_map(&mut task).collect();
    let archived: Vec<TaskEntry> = match scope {
        Scope::Active => Vec::new(),
        Scope::Recent => tasks::walk_latest(paths).filter_map(&mut task).collect(),
        Scope::All => tasks::walk_archived(paths).filter_map(&mut task).collect(),
    };
    let mut files: HashMap<TaskId, Vec<ProjectPath>> = HashMap::with_capacity(active.len());
    for entry in &active {
        files.entry(entry.id.clone()).or_default().push(entry.path.clone());
    }
    active.retain(|entry| files[&entry.id].len() == 1);
    let archived = archived.into_iter().filter(|entry| {
        let Some(others) = files.get(&entry.id) else { return true };
        let reason = format!("task `{}` is active as `{}` too: remove one of the two", entry.id, others[0]);
        unreadable.push(Unreadable { path: entry.path.to_string(), reason, diagnostics: Vec::new() });
        false
    });
    active.extend(archived);
    for (id, mut paths) in files.into_iter().filter(|(_, paths)| paths.len() > 1) {
        paths.sort();
        let reason = format!("task `{id}` has {} files, {}: remove all but one", paths.len(), listed(&paths));
        unreadable.push(Unreadable { path: paths[0].to_string(), reason, diagnostics: Vec::new() });
    }
    active
}

type Read = Result<(Header, FileStat), OpsError>;

/// Reads and parses files, with every core when there are many.
fn read_missed(paths: &Paths, workflow: &WorkflowName, missed: &[TaskEntry]) -> Vec<Read> {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let share = missed.len().div_ceil(cores).max(FEW);
    let read = |share: &[TaskEntry]| share.iter().map(|entry| read_header(paths, workflow, entry)).collect::<Vec<_>>();
    if missed.len() <= share {
        return read(missed);
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = missed.chunks(share).map(|share| scope.spawn(move || read(share))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Vec<Read>>| match thread.join() {
            Ok(read) => read,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().flat_map(join).collect()
    })
}

fn read_header(paths: &Paths, workflow: &WorkflowName, entry: &TaskEntry) -> Read {
    let snapshot = tasks::read(paths, &entry.path)?;
    // A file that does not say when it was made is as old as it was last written.
    let created = Timestamp::from_nanosecond(snapshot.stat.mtime.into()).unwrap_or(Timestamp::UNIX_EPOCH);
    let defaults = Defaults { workflow: workflow.clone(), created };
    let file = parse_with(&defaults, &entry.id, &snapshot.path, &snapshot.bytes)?;
    Ok((header(&file), snapshot.stat))
}

/// Forgets the files that are not there any more, as far as they were looked for.
fn forget_missing(cache: &mut HeaderCache<Header>, listing: &Listing, scope: Scope) {
    let standing: HashSet<&str> = listing.tasks.iter().map(|(_, path)| path.as_str()).collect();
    let looked_for = |path: &str| scope == Scope::All || !path.starts_with(&format!("{ARCHIVE}/"));
    cache.retain(|path| standing.contains(path) || !looked_for(path));
}

/// A task follows the rules in force: whose its gate is now counts, not whose it was when the task came to it.
fn follow(rules: &Rules, header: &mut Header) {
    let follows = !header.escalated && !rules.project.implicit_workflow;
    let Some(gate) = gate_of(rules, header).filter(|_| follows) else { return };
    header.role = gate.role().map(ToString::to_string);
    for part in header.branches.iter_mut().filter(|part| !part.escalated) {
        let found =
            gate.fork().and_then(|fork| fork.branches.iter().find(|branch| branch.id().as_str() == part.branch));
        if let Some(branch) = found {
            part.role = branch.duty().role.to_string();
        }
    }
}

/// Returns the gate that the task stands at, as the rules in force have it.
pub(super) fn gate_of<'r>(rules: &'r Rules, header: &Header) -> Option<&'r Gate> {
    let at = header.gate.as_deref()?;
    let workflow = rules.project.workflows.iter().find(|workflow| workflow.name.as_str() == header.workflow)?;
    workflow.gates.iter().find(|gate| gate.id.as_str() == at)
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
        Origin::HandMade => NEW,
        Origin::Adopted => task.status.as_str(),
    };
    let open_branches: Vec<&OpenBranch> =
        task.gate.iter().flat_map(|open| &open.branches).filter(|branch| branch.status.is_open()).collect();
    let part = |branch: &&OpenBranch| Part {
        branch: branch.id.to_string(),
        role: branch.role.to_string(),
        escalated: branch.escalated.is_some(),
        agent: branch.agent.as_ref().map(ToString::to_string),
        claimed: branch.claimed.map(Timestamp::as_second),
        lost: branch.lost.as_ref().map(ToString::to_string),
        status: branch.status.to_string(),
        running: stay(task, Some(&branch.id)).as_ref().map(Running::of),
    };
    let whole = stay(task, None).filter(|_| open_branches.is_empty());
    Header {
        id: task.id.to_string(),
        title: task.title.clone(),
        status: status.to_owned(),
        workflow: task.routing.workflow.to_string(),
        gate: task.gate.as_ref().map(|gate| gate.current.to_string()),
        visit: task.gate.as_ref().map_or(task.history.len(), |open| open.visit),
        role: task.routing.role.as_ref().map(ToString::to_string),
        agent: task.routing.agent.as_ref().map(ToString::to_string),
        running: whole.as_ref().map(Running::of),
        overdue: task.gate.as_ref().is_some_and(|gate| {
            gate.overdue.is_some() || gate.branches.iter().any(|own| own.status.is_open() && own.overdue.is_some())
        }),
        held: task.gate.as_ref().is_some_and(|gate| gate.held.is_some()),
        claimed: task.routing.claimed.map(Timestamp::as_second),
        lost: task.routing.lost.as_ref().map(ToString::to_string),
        branches: open_branches.iter().map(part).collect(),
        escalated: task.gate.as_ref().is_some_and(|gate| gate.escalated.is_some()),
        priority: task.priority().to_string(),
        entered: task.gate.as_ref().map(|gate| gate.entered.as_second()),
        created: task.created.as_second(),
        updated: task.updated.as_second(),
        tags: task.tags.clone(),
        blockers: task.blockers.clone(),
        depends_on: task.depends_on.iter().map(ToString::to_string).collect(),
        stand: Stand::of(task),
        stays: task
            .history
            .iter()
            .map(|visit| Past {
                gate: visit.station().to_string(),
                role: visit.role.as_ref().map(ToString::to_string),
                agent: visit.agent.as_ref().map(ToString::to_string),
                entered: visit.entered.as_second(),
                seconds: visit.duration(),
                completed: matches!(visit.outcome, Ending::Said(_)),
                rejected: match visit.verdict {
                    Some(verdict) => verdict == Verdict::Reject,
                    None => visit.outcome == Ending::Said(Outcome::NeedsReview),
                },
                join: visit.join.map(|join| Joined { fork: visit.gate.to_string(), failed: join == Join::Failed }),
            })
            .collect(),
    }
}

/// Returns a header's time as one.
pub fn time(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Returns a header as `--json` shows it.
pub fn header_value(header: &Header, path: &ProjectPath) -> Value {
    let at = |seconds: i64| time(seconds).to_string();
    let branches: Vec<Value> = header
        .branches
        .iter()
        .map(|part| json!({"id": part.branch, "role": part.role, "agent": part.agent, "status": part.status}))
        .collect();
    json!({
        "id": header.id,
        "title": header.title,
        "status": header.status,
        "workflow": header.workflow,
        "gate": header.gate,
        "visit": header.visit,
        "role": header.role,
        "agent": header.agent,
        "branches": branches,
        "priority": header.priority,
        "entered": header.entered.map(at),
        "created": at(header.created),
        "updated": at(header.updated),
        "tags": header.tags,
        "blockers": header.blockers,
        "dependsOn": header.depends_on,
        "path": path.as_str(),
    })
}

/// Returns what cannot be read as `--json` shows it.
pub fn unreadable_value(file: &Unreadable) -> Value {
    let diagnostics: Vec<Value> = file.diagnostics.iter().map(Diagnostic::to_value).collect();
    json!({"path": file.path, "reason": file.reason, "diagnostics": diagnostics})
}
