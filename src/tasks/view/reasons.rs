//! Sentences: what brought a task where it stands, what it waits for, and what the rules want done with it.

use crate::domain::{
    BranchStatus, Destination, Ending, Join, OpenBranch, Outcome, Status, Task, TaskId, Timestamp,
};
use crate::project::active_rules::InForce;
use crate::project::workspace::Workspace;
use crate::rules::{Act, Decision, Rules, Warning, WorkflowStep, Workplace, decide};
use crate::tasks::plan::due::begun;
use crate::tasks::state::commit_message::rule_effect;
use crate::tasks::state::task_state::{TaskState, find, parse};
use crate::tasks::view::deadlines::stepped_in;
use crate::tasks::view::task_view::is_drifted;

/// Says what the rules, which have changed, want done with the task, and who does it.
pub(crate) fn what_follows(
    rules: &Rules,
    task: &Task,
    act: &Act,
    now: Timestamp,
) -> Option<String> {
    let does = "`aof watch`, `aof org reload`, or the next command that changes the task,";
    let open = task.gate.as_ref()?;
    let Ok(Decision::Step(step)) = decide(rules, task, act, now) else { return None };
    Some(match (act, step.task.history.last(), &step.task.gate) {
        (Act::Pass, ..) => format!("gate `{}` decides by itself: {does} moves it on", open.current),
        (Act::Move, Some(visit), Some(next)) if next.current == open.current => {
            format!("{}: {does} has it begin there anew", visit.summary)
        }
        (Act::Move, Some(visit), Some(next)) => {
            format!("{}: {does} moves it to gate `{}`", visit.summary, next.current)
        }
        _ => {
            let following = rule_effect(task, &step.task);
            format!("the rules have changed: {does} follows them ({})", following.what)
        }
    })
}

/// Says that other rules moved the task last than are in force.
pub(crate) fn drifted(rules: &Rules, task: &Task) -> Option<String> {
    let (ours, now) = (task.workflow_hash.as_deref()?, rules.hash(&task.routing.workflow)?);
    is_drifted(rules, task).then(|| {
        format!(
            "it came there under earlier rules ({ours}); it goes on under those in force ({now})"
        )
    })
}

/// Says where a hand-made task would begin, or why it cannot.
pub(crate) fn beginning(workspace: &Workspace, state: &TaskState) -> String {
    match begun(&state.in_force.rules, &state.file, workspace.now()) {
        Ok(WorkflowStep { task, warnings, .. }) => {
            let at = task
                .gate
                .as_ref()
                .map(|open| format!(", at gate `{}`", open.current))
                .unwrap_or_default();
            let given = task
                .routing
                .agent
                .map(|agent| format!(", and gives it to `{agent}`"))
                .unwrap_or_default();
            let mut text = format!("`aof watch` takes it up{at}{given}");
            for without in
                warnings.iter().filter(|warning| matches!(warning, Warning::NotGiven { .. }))
            {
                text.push_str(&format!("; {}", without.message()));
            }
            text
        }
        Err(refusal) => format!("it cannot be taken up: {}", refusal.problem()),
    }
}

/// Says what an unfinished task that this one depends on does; nothing where it is complete.
pub(crate) fn waits_for(
    workspace: &Workspace,
    in_force: &InForce,
    other: &TaskId,
) -> Option<String> {
    let file = find(workspace, other).and_then(|(snapshot, _)| {
        parse(in_force, other, &snapshot.path, &snapshot.bytes, workspace.now())
    });
    let task = match file {
        Ok(file) => file.task,
        Err(error) => {
            return Some(format!("it is not handed out before `{other}` is complete, and {error}"));
        }
    };
    let what = match (task.status, &task.gate) {
        (Status::Complete, _) => return None,
        (Status::Failed | Status::Cancelled, _) => {
            format!("was {}: take it up again, or edit `dependsOn`", task.status)
        }
        (status, Some(open)) => format!("is {status} at gate `{}`", open.current),
        (_, None) => "stands at no gate yet".to_owned(),
    };
    Some(format!("it is not handed out before `{other}` is complete, which {what}"))
}

/// Said of a task that waits for somebody to take it.
pub(crate) const UNCLAIMED: &str = "nobody has claimed it";

/// Says what brought a task where it stands, and what it waits for there.
pub(crate) fn because(rules: &Rules, task: &Task) -> Vec<String> {
    let mut list = vec![stepped_in(task).unwrap_or_else(|| arrival(task))];
    match task.status {
        Status::Blocked => {
            list.extend(task.blockers.iter().map(|blocker| format!("it is blocked: {blocker}")));
        }
        Status::Ready | Status::InProgress
            if task.gate.as_ref().is_some_and(|open| !open.branches.is_empty()) =>
        {
            let branches = task.gate.iter().flat_map(|open| &open.branches);
            list.extend(branches.map(|branch| branch_stands(rules, task, branch)));
        }
        Status::InProgress => {
            list.extend(
                task.routing.agent.as_ref().map(|agent| format!("`{agent}` has claimed it")),
            );
        }
        Status::Ready if task.gate.is_some() => list.push(UNCLAIMED.to_owned()),
        Status::Ready | Status::Complete | Status::Failed | Status::Cancelled => {}
    }
    if let Some(review) = &task.review {
        let who = review
            .from_agent
            .as_ref()
            .map_or_else(|| "a reviewer".to_owned(), |agent| format!("`{agent}`"));
        let count = review.blockers.len();
        let things = if count == 1 { "one thing".to_owned() } else { format!("{count} things") };
        list.push(format!("{who} at gate `{}` wants {things} settled", review.from_gate));
    }
    list
}

fn branch_stands(rules: &Rules, task: &Task, branch: &OpenBranch) -> String {
    let id = &branch.id;
    if branch.status.is_open() && Workplace::of_branch(rules, task, id).is_none() {
        return format!("branch `{id}` is not in the rules any more, and nothing waits for it");
    }
    match (branch.status, &branch.agent) {
        (BranchStatus::Ready, _) => format!("branch `{id}` waits for role {}", branch.role),
        (BranchStatus::InProgress, Some(agent)) => format!("`{agent}` has claimed branch `{id}`"),
        (BranchStatus::InProgress, None) => format!("somebody works at branch `{id}`"),
        (BranchStatus::Blocked, _) => {
            format!("branch `{id}` is blocked: {}", branch.blockers.join("; "))
        }
        (BranchStatus::Complete, _) => format!("branch `{id}` has passed it"),
        (BranchStatus::Rejected, _) => format!("branch `{id}` has rejected it"),
        (BranchStatus::Skipped, _) => format!("branch `{id}` does not apply"),
    }
}

fn arrival(task: &Task) -> String {
    // What branches say does not bring a task anywhere.
    let Some(last) = task.history.iter().rev().find(|visit| !visit.leaves_open()) else {
        return match &task.gate {
            Some(open) => {
                format!("it was created at {} and began at gate `{}`", task.created, open.current)
            }
            None => "nobody has taken it up yet: it has no gate".to_owned(),
        };
    };
    let at = last.exited;
    if let (Ending::Said(outcome), None, Some(to)) = (&last.outcome, &last.agent, &last.to) {
        return format!(
            "gate `{}` came to `{outcome}` by itself at {at}, which led to `{to}`",
            last.gate
        );
    }
    let who =
        last.agent.as_ref().map_or_else(|| "somebody".to_owned(), |agent| format!("`{agent}`"));
    let from = last.station();
    match (&last.outcome, &last.to) {
        (Ending::Said(_), Some(to)) if last.join.is_some() => {
            let join = if last.join == Some(Join::Passed) { "passed" } else { "rejected" };
            format!(
                "the branches of gate `{}` {join} it at {at}, the last was `{from}`, which led to `{to}`",
                last.gate
            )
        }
        (Ending::Said(Outcome::NeedsReview), Some(Destination::Gate(to))) if *to == last.gate => {
            format!("{who} said at {at} that it needs mending, at gate `{to}`")
        }
        (Ending::Said(Outcome::NeedsReview), Some(to)) => {
            format!("{who} sent it back from gate `{}` to `{to}` at {at}", last.gate)
        }
        (Ending::Said(Outcome::Blocked), _) => {
            format!("{who} said at {at} that it cannot go on at gate `{}`", last.gate)
        }
        (Ending::Said(outcome), Some(Destination::End)) => {
            format!("{who} ended its last gate `{}` with `{outcome}` at {at}", last.gate)
        }
        (Ending::Said(outcome), Some(to)) => {
            format!(
                "{who} ended gate `{}` with `{outcome}` at {at}, which led to `{to}`",
                last.gate
            )
        }
        (Ending::Override, Some(to)) => {
            format!("{who} moved it to `{to}` at {at}: {}", last.summary)
        }
        (Ending::Reopened, Some(to)) => {
            format!("{who} took it up again at `{to}` at {at}: {}", last.summary)
        }
        (Ending::Moved, Some(to)) if *to == Destination::Gate(last.gate.clone()) => {
            format!("the rules changed, and it began anew at `{to}` at {at}: {}", last.summary)
        }
        (Ending::Moved, Some(to)) => {
            format!(
                "the rules changed, and it was moved from `{}` to `{to}` at {at}: {}",
                last.gate, last.summary
            )
        }
        (Ending::Cancelled, _) => format!("{who} called it off at {at}: {}", last.summary),
        (outcome, _) => format!("{who} ended gate `{}` with `{outcome}` at {at}", last.gate),
    }
}
