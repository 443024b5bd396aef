//! As much of where a task stands as a header keeps, so that the engine can judge without the file what the rules want of it.

use serde::{Deserialize, Serialize};

use crate::domain::{BranchStatus, Map, OpenBranch, OpenVisit, Routing, Status, Task, Timestamp};
use crate::rules::{Rules, is_nobody, owed};
use crate::tasks::headers::header::Header;

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
    id: String,
    role: String,
    escalated: Option<String>,
    agent: Option<String>,
    claimed: bool,
    status: String,
    blockers: Vec<String>,
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

/// Returns whether the rules want something done with a task that was taken up.
pub(crate) fn is_owed(rules: &Rules, header: &Header) -> bool {
    skeleton(header).is_some_and(|task| owed(rules, &task).is_some())
}

/// Returns whether other rules moved the task last than are in force.
pub(crate) fn is_drifted(rules: &Rules, header: &Header) -> bool {
    let workflow = header.workflow.parse().ok();
    let hash = workflow.as_ref().and_then(|workflow| rules.hash(workflow));
    header.gate.is_some()
        && header.stand.workflow_hash.as_deref().zip(hash).is_some_and(|(own, now)| own != now)
}

/// Returns the task as far as its header knows it, which is all that decides this.
fn skeleton(header: &Header) -> Option<Task> {
    let stand = &header.stand;
    let status: Status = header.status.parse().ok()?;
    let mut open =
        OpenVisit::at(header.gate.as_deref()?.parse().ok()?, Timestamp::UNIX_EPOCH, header.visit);
    open.escalated = stand.escalated.as_deref().map(str::parse).transpose().ok()?;
    open.held = stand.held.then_some(Timestamp::UNIX_EPOCH);
    open.branches = stand.branches.iter().map(branch).collect::<Option<_>>()?;
    let mut routing = Routing::of(header.workflow.parse().ok()?);
    routing.role = stand.role.as_deref().map(str::parse).transpose().ok()?;
    routing.agent = header.agent.as_deref().map(str::parse).transpose().ok()?;
    routing.claimed = header.claimed.map(|_| Timestamp::UNIX_EPOCH);
    Some(Task {
        id: header.id.parse().ok()?,
        title: String::new(),
        description: None,
        status,
        created: Timestamp::UNIX_EPOCH,
        updated: Timestamp::UNIX_EPOCH,
        routing,
        gate: Some(open),
        history: Vec::new(),
        review: None,
        blockers: header.blockers.clone(),
        context: Map::new(),
        workflow_hash: None,
        tags: Vec::new(),
        metadata: Map::new(),
        depends_on: Vec::new(),
    })
}

fn branch(stood: &Stood) -> Option<OpenBranch> {
    let status: BranchStatus = stood.status.parse().ok()?;
    let mut own = OpenBranch::of(stood.id.parse().ok()?, stood.role.parse().ok()?);
    own.escalated = stood.escalated.as_deref().map(str::parse).transpose().ok()?;
    own.agent = stood.agent.as_deref().map(str::parse).transpose().ok()?;
    own.claimed = stood.claimed.then_some(Timestamp::UNIX_EPOCH);
    own.status = status;
    own.blockers.clone_from(&stood.blockers);
    Some(own)
}
