//! What the rules want of a task, judged from its header without its file.

use super::header::{Header, Stood};
use crate::domain::{BranchStatus, Map, OpenBranch, OpenVisit, Routing, Status, Task, Timestamp};
use crate::rules::{Rules, owed};

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
