//! One task as lists show it: as much of its file as lists, sweeps and hand-outs need, so that it is worth keeping.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::domain::{AgentId, BranchStatus, Gate, OpenBranch, Task, Timestamp};
use crate::files::task_file::{Origin, TaskFile};
use crate::rules::{Rules, Stay, is_nobody, lost_dependencies, stay};
use crate::storage::ProjectPath;
use crate::tasks::headers::ended_visit::EndedVisit;

/// Changes when a header's shape or meaning does: older caches are made anew.
pub(crate) const SCHEMA: &str = "12";

/// The status of a hand-made file that nobody has taken up.
pub(crate) const NEW: &str = "new";

/// One task as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
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
    pub running: Option<Running>,
    /// Whether it took too long where nobody steps in for that.
    pub overdue: bool,
    /// Whether a person holds it.
    pub held: bool,
    /// When it was claimed, in seconds since 1970.
    pub claimed: Option<i64>,
    /// Who had claimed it in this visit and let the claim run out.
    pub lost: Option<String>,
    /// The branches that are open, where it stands at a fork.
    pub branches: Vec<Part>,
    /// Whether the visit belongs to another role than its gate's.
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
    /// Those of them on whose loss it waits, in the words of its blockers.
    pub lost_dependencies: Vec<String>,
    /// Where it stands, as its file has it: the rules may have changed since.
    pub stand: Stand,
    /// Its ended visits: most of what there is of a project, so they take up little.
    pub stays: Box<[EndedVisit]>,
}

/// What its file says of a task's open visit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Stand {
    /// Whose it is, as the file has it.
    pub role: Option<String>,
    /// The role that it belongs to in place of its gate's.
    pub escalated: Option<String>,
    /// Whether a person holds it.
    pub held: bool,
    /// Each branch, where it was opened as a fork.
    pub branches: Vec<Stood>,
    /// The hash of the workflow that last moved it.
    pub workflow_hash: Option<String>,
}

/// What its file says of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stood {
    pub id: String,
    pub role: String,
    pub escalated: Option<String>,
    pub agent: Option<String>,
    pub claimed: bool,
    pub status: String,
    pub blockers: Vec<String>,
}

impl Stand {
    /// Returns where the task stands.
    pub(crate) fn of(task: &Task) -> Self {
        let text = |word: &dyn ToString| word.to_string();
        let stood = |own: &OpenBranch| Stood {
            id: own.id.to_string(),
            role: own.role.to_string(),
            escalated: own.escalated.as_ref().map(|role| text(role)),
            agent: own.agent.as_ref().map(|agent| text(agent)),
            claimed: own.claimed.is_some(),
            status: own.status.to_string(),
            blockers: own.blockers.clone(),
        };
        let open = task.gate.as_ref();
        Self {
            role: task.routing.role.as_ref().map(|role| text(role)),
            escalated: open.and_then(|open| open.escalated.as_ref()).map(|role| text(role)),
            held: open.is_some_and(|open| open.held.is_some()),
            branches: open
                .map(|open| open.branches.iter().map(stood).collect())
                .unwrap_or_default(),
            workflow_hash: task.workflow_hash.clone(),
        }
    }
}

impl Stand {
    /// Returns the branches for which there is nobody, each with its role.
    pub(crate) fn lacking(&self) -> impl Iterator<Item = (&str, &str)> {
        let lacks = |branch: &&Stood| branch.blockers.iter().any(|text| is_nobody(text));
        self.branches.iter().filter(lacks).map(|branch| (branch.id.as_str(), branch.role.as_str()))
    }
}

/// A branch of an open fork, as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
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
    pub running: Option<Running>,
    /// Whether it took too long where nobody steps in for that.
    pub overdue: bool,
}

/// What time limits count from, in milliseconds since 1970, rounded up: nothing is thought due before it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Running {
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
            i64::try_from(nanos.div_euclid(1_000_000) + i128::from(nanos.rem_euclid(1_000_000) > 0))
                .unwrap_or(i64::MAX)
        };
        Self {
            since: millis(stay.since),
            claimed: stay.claimed.map(millis),
            spent: stay.timer_spent,
        }
    }

    /// Returns the stay as the engine sees it.
    pub(crate) fn stay(self, agent: Option<&AgentId>) -> Stay<'_> {
        let time = |millis| Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX);
        Stay {
            since: time(self.since),
            agent,
            claimed: self.claimed.map(time),
            timer_spent: self.spent,
        }
    }
}

impl Header {
    /// Returns whether it, or a branch of it, took too long where nobody steps in for that.
    pub(crate) fn is_overdue(&self) -> bool {
        self.overdue || self.branches.iter().any(|part| part.overdue)
    }

    /// Returns the roles that it waits for: the gate's, or those of branches that are open.
    pub(crate) fn roles(&self) -> Vec<&str> {
        let own = self.role.as_deref().into_iter();
        unique(own.chain(self.branches.iter().map(|part| part.role.as_str())))
    }

    /// Returns who has claimed it, or a branch of it.
    pub(crate) fn agents(&self) -> Vec<&str> {
        let own = self.agent.as_deref().into_iter();
        unique(own.chain(self.branches.iter().filter_map(|part| part.agent.as_deref())))
    }

    /// Returns the roles of what can be claimed: the whole, or branches.
    pub(crate) fn free_roles(&self) -> Vec<&str> {
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

/// Returns the gate that the task stands at, as the rules in force have it.
pub(crate) fn gate_of<'r>(rules: &'r Rules, header: &Header) -> Option<&'r Gate> {
    let at = header.gate.as_deref()?;
    let workflow = rules
        .project
        .workflows
        .iter()
        .find(|workflow| workflow.name.as_str() == header.workflow)?;
    workflow.gates.iter().find(|gate| gate.id.as_str() == at)
}

/// A task follows the rules in force: whose its gate is now counts, not whose it was when the task came to it.
pub(crate) fn follow(rules: &Rules, header: &mut Header) {
    if let Some(fork) = gate_of(rules, header).and_then(Gate::fork) {
        // What the rules do not have any more is waited for by nobody, and is nobody's work.
        header
            .branches
            .retain(|part| fork.branches.iter().any(|branch| branch.id().as_str() == part.branch));
    }
    let follows = !header.escalated && !rules.project.implicit_workflow;
    let Some(gate) = gate_of(rules, header).filter(|_| follows) else { return };
    header.role = gate.role().map(ToString::to_string);
    for part in header.branches.iter_mut().filter(|part| !part.escalated) {
        let found = gate.fork().and_then(|fork| {
            fork.branches.iter().find(|branch| branch.id().as_str() == part.branch)
        });
        if let Some(branch) = found {
            part.role = branch.duty().role.to_string();
        }
    }
}

pub(crate) fn header(file: &TaskFile) -> Header {
    let task = &file.task;
    let status = match file.origin {
        Origin::HandMade => NEW,
        Origin::Adopted => task.status.as_str(),
    };
    let open_branches: Vec<&OpenBranch> = task
        .gate
        .iter()
        .flat_map(|open| &open.branches)
        .filter(|branch| branch.status.is_open())
        .collect();
    let part = |branch: &&OpenBranch| Part {
        branch: branch.id.to_string(),
        role: branch.role.to_string(),
        escalated: branch.escalated.is_some(),
        agent: branch.agent.as_ref().map(ToString::to_string),
        claimed: branch.claimed.map(Timestamp::as_second),
        lost: branch.lost.as_ref().map(ToString::to_string),
        status: branch.status.to_string(),
        running: stay(task, Some(&branch.id)).as_ref().map(Running::of),
        overdue: branch.overdue.is_some(),
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
        overdue: task.gate.as_ref().is_some_and(|gate| gate.overdue.is_some()),
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
        lost_dependencies: lost_dependencies(task).iter().map(ToString::to_string).collect(),
        stand: Stand::of(task),
        stays: task.history.iter().map(EndedVisit::of).collect(),
    }
}

/// Returns a header's time as one.
pub(crate) fn time(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Returns a header as `--json` shows it.
pub(crate) fn header_value(header: &Header, path: &ProjectPath) -> Value {
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
