//! Forks: which branches open, and what they come to together.

use super::blockers::{lost_dependencies, nobody};
use super::reviews::named;
use super::route::applies_to_branch;
use super::scope::ConditionScope;
use super::workplace::Workplace;
use crate::domain::{
    BranchStatus, ConditionTrouble, Event, Fork, Gate, GateId, Join, JoinStrategy, OpenBranch,
    OpenVisit, Outcome, RoleId, Status, Task, Verdict, Workflow,
};
use crate::rules::workflow::rules::Rules;

/// Returns the branches of the fork as they open for the task: those that do not apply are skipped at once.
pub(crate) fn open(
    rules: &Rules,
    workflow: &Workflow,
    gate: &Gate,
    task: &Task,
    escalated: Option<&RoleId>,
) -> (Vec<OpenBranch>, Vec<ConditionTrouble>) {
    let mut trouble = Vec::new();
    let scope = ConditionScope::of(task, &task.history);
    let branches = gate.fork().map(|fork| fork.branches.as_slice()).unwrap_or_default();
    let opened = branches.iter().map(|branch| {
        let applies = applies_to_branch(rules, workflow, gate, branch, &scope, &mut trouble);
        OpenBranch {
            status: if applies { BranchStatus::Ready } else { BranchStatus::Skipped },
            ..OpenBranch::of(branch.id().clone(), escalated.unwrap_or(&branch.duty().role).clone())
        }
    });
    (opened.collect(), trouble)
}

/// Returns what is to be told of a fork that has just opened: branches that do not apply, and conditions that failed.
pub(crate) fn opening(rules: &Rules, task: &Task) -> (Vec<Event>, Vec<ConditionTrouble>) {
    let fresh = task.gate.as_ref().filter(|open| open.visit == task.history.len());
    let found = fresh.and_then(|open| {
        let workflow = rules.workflow_of(task)?;
        Some((open, workflow, workflow.gate(&open.current)?.1))
    });
    let Some((visit, workflow, gate)) = found else { return (Vec::new(), Vec::new()) };
    let skipped = visit.branches.iter().filter(|branch| branch.status == BranchStatus::Skipped);
    let events = skipped.map(|branch| Event::Skipped { gate: branch.id.clone() }).collect();
    (events, open(rules, workflow, gate, task, None).1)
}

/// Returns the branches that count: those that are open, as long as the rules have a fork there.
pub(crate) fn counting<'a>(rules: &Rules, task: &Task, open: &'a OpenVisit) -> &'a [OpenBranch] {
    match rules.workflow_of(task).and_then(|workflow| workflow.gate(&open.current)) {
        Some((_, gate)) if gate.fork().is_none() => &[],
        _ => &open.branches,
    }
}

/// Returns whether no branch of the fork applies: then it passes the task by itself.
pub(crate) fn is_void(gate: &Gate, open: &OpenVisit) -> bool {
    let skipped = |branch: &OpenBranch| branch.status == BranchStatus::Skipped;
    gate.fork().is_some() && !open.branches.is_empty() && open.branches.iter().all(skipped)
}

/// Notes what was said at a branch.
pub(crate) fn note(branches: &mut [OpenBranch], id: &GateId, verdict: Verdict, wants: &[String]) {
    let Some(branch) = branches.iter_mut().find(|branch| branch.id == *id) else { return };
    let escalated = branch.escalated.take();
    *branch = OpenBranch { escalated, ..OpenBranch::of(id.clone(), branch.role.clone()) };
    branch.status = match verdict {
        Verdict::Pass => BranchStatus::Complete,
        Verdict::Reject => BranchStatus::Rejected,
        Verdict::Skip => BranchStatus::Skipped,
        Verdict::Hold => {
            branch.blockers = wants.to_vec();
            BranchStatus::Blocked
        }
    };
}

/// Gives a branch to the role that steps in.
pub(crate) fn escalate(branches: &mut [OpenBranch], id: &GateId, role: &RoleId) {
    for branch in branches.iter_mut().filter(|branch| branch.id == *id) {
        *branch = OpenBranch {
            escalated: Some(role.clone()),
            ..OpenBranch::of(id.clone(), role.clone())
        };
    }
}

/// Returns what the branches came to; nothing while that is open. Branches that do not apply do not count. A fork has failed
/// when it cannot pass any more and nobody is at work or waited for: all that is to be mended is heard at once.
pub(crate) fn join(strategy: JoinStrategy, branches: &[OpenBranch]) -> Option<Join> {
    let count =
        |of: &[BranchStatus]| branches.iter().filter(|branch| of.contains(&branch.status)).count();
    let passed = count(&[BranchStatus::Complete]);
    let rejected = count(&[BranchStatus::Rejected]);
    let waited_for = count(&[BranchStatus::Ready, BranchStatus::InProgress]);
    let all = passed + rejected + waited_for + count(&[BranchStatus::Blocked]);
    let needed = match strategy {
        JoinStrategy::All => all,
        JoinStrategy::Any => all.min(1),
        JoinStrategy::Majority => (all / 2 + 1).min(all),
    };
    if passed >= needed {
        Some(Join::Passed)
    } else if all - rejected < needed && waited_for == 0 {
        Some(Join::Failed)
    } else {
        None
    }
}

/// Returns what the branches come to when that is said at one of them, and which are unfinished then.
pub(crate) fn after(
    rules: &Rules,
    task: &Task,
    fork: &Fork,
    id: &GateId,
    verdict: Verdict,
) -> Option<(Join, Vec<GateId>)> {
    joined(rules, task, fork, |branches| note(branches, id, verdict, &[]))
}

/// Returns what the branches have come to although nobody speaks: the rules have changed, and whoever was waited for is gone. Of
/// branches at which nothing was said nothing comes.
pub(crate) fn come_to(rules: &Rules, task: &Task, gate: &Gate) -> Option<(Join, Vec<GateId>)> {
    let spoken = |branch: &OpenBranch| {
        matches!(branch.status, BranchStatus::Complete | BranchStatus::Rejected)
    };
    task.gate.as_ref().filter(|open| open.branches.iter().any(spoken))?;
    joined(rules, task, gate.fork()?, |_| {})
}

fn joined(
    rules: &Rules,
    task: &Task,
    fork: &Fork,
    speak: impl FnOnce(&mut [OpenBranch]),
) -> Option<(Join, Vec<GateId>)> {
    // A branch whose role has lost its agents is waited for by nobody.
    let mut task = task.clone();
    hold_unstaffed(rules, &mut task);
    let open = task.gate.as_mut()?;
    speak(&mut open.branches);
    // What the rules do not have any more holds nothing up.
    open.branches.retain(|branch| !branch.status.is_open() || fork.branch(&branch.id).is_some());
    Some((join(fork.join, &open.branches)?, unfinished(open)))
}

/// Returns what a fork says when its branches have come to that.
pub(crate) fn says(join: Join) -> Outcome {
    match join {
        Join::Passed => Outcome::Complete,
        Join::Failed => Outcome::NeedsReview,
    }
}

/// Returns what an outcome at a branch of the open fork means, and what the fork would say then; nothing for the fork while
/// others are open.
pub fn would_say(
    rules: &Rules,
    task: &Task,
    branch: &GateId,
    outcome: &Outcome,
) -> Option<(Verdict, Option<Outcome>)> {
    let (_, gate) = rules.workflow_of(task)?.gate(&task.gate.as_ref()?.current)?;
    let fork = gate.fork()?;
    let verdict = fork.branch(branch)?.1.verdict(outcome);
    let said = after(rules, task, fork, branch, verdict).map(|(join, _)| says(join));
    Some((verdict, said))
}

/// Lets the task's status and blockers follow its open branches: it is ready as long as a branch waits for somebody.
pub(crate) fn follow(task: &mut Task) {
    let Some(open) =
        task.gate.as_ref().filter(|open| !open.branches.is_empty() && open.held.is_none())
    else {
        return;
    };
    let lost = lost_dependencies(task);
    let any = |status| open.branches.iter().any(|branch| branch.status == status);
    task.status = if any(BranchStatus::Ready) {
        Status::Ready
    } else if any(BranchStatus::InProgress) {
        Status::InProgress
    } else if any(BranchStatus::Blocked) {
        Status::Blocked
    } else {
        Status::Ready
    };
    task.blockers = match task.status {
        Status::Blocked => {
            let told = |branch: &OpenBranch| named(&branch.id, &branch.blockers);
            open.branches.iter().flat_map(told).collect()
        }
        _ => Vec::new(),
    };
    if !lost.is_empty() {
        task.status = Status::Blocked;
        task.blockers.extend(lost.iter().map(ToString::to_string));
    }
}

/// Blocks branches for which there is nobody. Returns which, with the role.
pub(crate) fn hold_unstaffed(rules: &Rules, task: &mut Task) -> Vec<(GateId, RoleId)> {
    let posts = Workplace::open(rules, task).into_iter().filter(|post| !post.is_staffed(rules));
    let empty: Vec<(GateId, RoleId)> =
        posts.filter_map(|post| Some((post.branch()?.clone(), post.role.clone()))).collect();
    let mut held = Vec::new();
    for branch in task.gate.iter_mut().flat_map(|open| &mut open.branches) {
        let Some((_, role)) = empty.iter().find(|(id, _)| *id == branch.id) else { continue };
        if branch.status == BranchStatus::Ready {
            branch.status = BranchStatus::Blocked;
            branch.blockers = vec![nobody(role)];
            held.push((branch.id.clone(), role.clone()));
        }
    }
    held
}

/// Returns the branches that nobody has finished.
pub(crate) fn unfinished(open: &OpenVisit) -> Vec<GateId> {
    open.branches
        .iter()
        .filter(|branch| branch.status.is_open())
        .map(|branch| branch.id.clone())
        .collect()
}
