//! The effect of changed rules on open tasks. Reads only.

use crate::domain::{Gate, GateId, Outcome, Task, TaskId, Timestamp, Workflow, WorkflowName};
use crate::files::diagnostic::Diagnostic;
use crate::files::task_file::Origin;
use crate::git::CommitId;
use crate::project::error::ProjectError;
use crate::project::rule_files::compiled;
use crate::project::rule_files::{committed, worktree_rule_files};
use crate::project::workspace::Workspace;
use crate::rules::prover::{Alarm, MOST_STATES, prove_workflow};
use crate::rules::{
    Act, Decision, Difference, Rules, Workplace, decide, differences, due_act, preview,
};
use crate::storage::StoreError;
use crate::storage::task_files;
use crate::tasks::headers::listing::{ListScope, Unreadable, read_all, unreadable};
use crate::tasks::state::commit_message::rule_effect;
use crate::tasks::state::task_state::parse;

/// The differences of two sets of rules, and their effect on each task.
pub(crate) struct RulesDiff {
    /// The certain faults that the change brings, by workflow.
    pub broken: Vec<(WorkflowName, Alarm)>,
    /// The commit of the older rules.
    pub from: Option<CommitId>,
    /// The commit of the newer rules; `None` if they are the worktree's.
    pub to: Option<CommitId>,
    /// The differences.
    pub differences: Vec<Difference>,
    /// The affected tasks.
    pub prospects: Vec<TaskForecast>,
    /// The number of tasks that are not affected.
    pub untouched: usize,
    /// Files that cannot be read as tasks.
    pub unreadable: Vec<Unreadable>,
    /// The diagnostics of the newer rules that those in force do not have.
    pub diagnostics: Vec<Diagnostic>,
}

/// The effect on a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskForecast {
    /// The task.
    pub task: TaskId,
    /// The title of the task.
    pub title: String,
    /// The current gate of the task.
    pub gate: GateId,
    /// The fate of the task.
    pub fate: TaskFate,
    /// Outcomes that lead elsewhere, at its gate after the change.
    pub route_changes: Vec<RouteChange>,
}

/// The fate of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TaskFate {
    /// The task does not change.
    Stays,
    /// The task moves to a gate, or ends.
    Moves {
        /// The new gate; `None` if the task ends.
        to: Option<GateId>,
        /// The reason.
        why: String,
    },
    /// The task stays at its gate, and its role or agent changes.
    Follows {
        /// The change in short.
        what: String,
        /// Each change.
        details: Vec<String>,
    },
    /// The workflow no longer exists, so nothing can move the task.
    Stranded,
}

/// An outcome that leads elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RouteChange {
    /// The outcome.
    pub outcome: Outcome,
    /// The old target.
    pub before: String,
    /// The new target.
    pub after: String,
}

/// Compares the rules in force with those of the worktree; with a revision, its rules with those in force.
pub(crate) fn diff_rules(
    workspace: &Workspace,
    revision: Option<&str>,
) -> Result<RulesDiff, ProjectError> {
    let in_force = workspace.rules()?;
    let mut listing = read_all(workspace, &in_force, ListScope::Active);
    listing.tasks.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
    let now = workspace.now();
    let other;
    let (old, new, from, to, diagnostics) = if let Some(revision) = revision {
        let commit = commit_named(workspace, revision)?;
        other = compiled(&committed(&workspace.repository, commit)?)
            .map_err(ProjectError::InvalidRules)?
            .0;
        (&other, &*in_force.rules, Some(commit), in_force.commit, Vec::new())
    } else {
        let (rules, mut diagnostics) = compiled(&worktree_rule_files(&workspace.repository)?)
            .map_err(ProjectError::InvalidRules)?;
        other = rules;
        if let Some(commit) = in_force.commit {
            let known = compiled(&committed(&workspace.repository, commit)?);
            let known = known.map(|(_, known)| known).unwrap_or_default();
            diagnostics.retain(|new| {
                let is_same = |old: &Diagnostic| {
                    (old.code, &old.file, &old.message) == (new.code, &new.file, &new.message)
                };
                !known.iter().any(is_same)
            });
        }
        (&*in_force.rules, &other, in_force.commit, None, diagnostics)
    };
    let differences = differences((&old.project, &old.org), (&new.project, &new.org));
    let mut diff = RulesDiff {
        broken: if differences.is_empty() { Vec::new() } else { broken(old, new) },
        from,
        to,
        differences,
        prospects: Vec::new(),
        untouched: 0,
        unreadable: listing.unreadable,
        diagnostics,
    };
    for (header, path) in listing.tasks.iter().filter(|(header, _)| header.gate.is_some()) {
        let id = header.id.clone();
        let file = match task_files::read(&workspace.paths, path) {
            Ok(snapshot) => parse(&in_force, &id, path, &snapshot.bytes, now),
            Err(StoreError::Gone { .. }) => continue,
            Err(error) => Err(error.into()),
        };
        match file {
            Ok(file) if file.origin == Origin::Adopted => {
                // Pending steps of the rules in force are not effects of the new ones.
                let current = if to.is_none() {
                    apply_pending_steps(old, &file.task, now)
                } else {
                    file.task
                };
                match forecast(old, new, &current, now) {
                    Some(forecast) => diff.prospects.push(forecast),
                    None => diff.untouched += 1,
                }
            }
            Ok(_) => {}
            Err(error) => diff.unreadable.push(unreadable(path.as_str(), error)),
        }
    }
    Ok(diff)
}

/// Returns the certain faults that the new rules have, and the old ones did not have, by workflow.
fn broken(old: &Rules, new: &Rules) -> Vec<(WorkflowName, Alarm)> {
    let certain = |rules: &Rules, workflow: &Workflow| {
        let mut alarms = prove_workflow(rules, workflow, MOST_STATES).alarms;
        alarms.retain(|alarm| alarm.is_certain);
        alarms
    };
    let mut found = Vec::new();
    for workflow in &new.project.workflows {
        let before = old.project.workflow(&workflow.name);
        let known = before.map(|before| certain(old, before)).unwrap_or_default();
        let is_known = |alarm: &Alarm| {
            known.iter().any(|other| (&other.code, &other.at) == (&alarm.code, &alarm.at))
        };
        let alarms = certain(new, workflow).into_iter().filter(|alarm| !is_known(alarm));
        found.extend(alarms.map(|alarm| (workflow.name.clone(), alarm)));
    }
    found
}

fn commit_named(workspace: &Workspace, revision: &str) -> Result<CommitId, ProjectError> {
    workspace.repository.commit_named(revision)?.ok_or_else(|| ProjectError::Unfit {
        code: "unknown_revision",
        problem: format!("git knows no commit by the name `{revision}`"),
        fix: "name a commit, a branch or a tag, as in `HEAD~3`".into(),
    })
}

/// Returns the task after all pending automatic steps of the rules.
fn apply_pending_steps(rules: &Rules, task: &Task, now: Timestamp) -> Task {
    let mut task = task.clone();
    // The rules bound the pending steps; this limit is a safeguard.
    for _ in
        0..rules.project.workflows.iter().map(|workflow| workflow.gates.len()).sum::<usize>() + 10
    {
        let Some(act) = due_act(rules, &task) else { break };
        let Ok(Decision::Step(step)) = decide(rules, &task, &act, now) else { break };
        task = step.task;
    }
    task
}

/// Returns the effect on the task, if there is one.
fn forecast(old: &Rules, new: &Rules, task: &Task, now: Timestamp) -> Option<TaskForecast> {
    let gate = task.gate.as_ref()?.current.clone();
    let forecast = |fate, route_changes| {
        Some(TaskForecast {
            task: task.id.clone(),
            title: task.title.clone(),
            gate: gate.clone(),
            fate,
            route_changes,
        })
    };
    if new.workflow_of(task).is_none() {
        return forecast(TaskFate::Stranded, Vec::new());
    }
    let after = apply_pending_steps(new, task, now);
    if let Some(visit) = after.history.get(task.history.len()) {
        let why = match due_act(new, task) {
            Some(Act::Pass) => "it decides by itself now".to_owned(),
            _ => visit.summary.clone(),
        };
        return forecast(
            TaskFate::Moves { to: after.gate.map(|open| open.current), why },
            Vec::new(),
        );
    }
    let route_changes = route_changes(old, new, task);
    if after != *task {
        let following = rule_effect(task, &after);
        return forecast(
            TaskFate::Follows { what: following.what, details: following.details },
            route_changes,
        );
    }
    if route_changes.is_empty() { None } else { forecast(TaskFate::Stays, route_changes) }
}

/// Returns the outcomes at the task's gate whose targets changed.
fn route_changes(old: &Rules, new: &Rules, task: &Task) -> Vec<RouteChange> {
    let at = |rules: &Rules| -> Vec<Outcome> {
        let gate = rules.workflow_of(task).zip(task.gate.as_ref());
        let gate = gate
            .and_then(|(workflow, open)| workflow.gate(&open.current))
            .map(|(_, gate)| gate.clone());
        gate.map(|gate| outcomes(rules, &gate)).unwrap_or_default()
    };
    let (before, after) = (at(old), at(new));
    let mut all = before.clone();
    all.extend(after.iter().filter(|outcome| !before.contains(outcome)).cloned());
    let lead = |rules: &Rules, known: &[Outcome], outcome: &Outcome| {
        let passage = known.contains(outcome).then(|| preview(rules, task, outcome)).flatten();
        passage.map_or_else(|| "nowhere".to_owned(), |passage| passage.to.noun().to_owned())
    };
    all.into_iter()
        .map(|outcome| RouteChange {
            before: lead(old, &before, &outcome),
            after: lead(new, &after, &outcome),
            outcome,
        })
        .filter(|turn| turn.before != turn.after)
        .collect()
}

fn outcomes(rules: &Rules, gate: &Gate) -> Vec<Outcome> {
    let mut all = match Workplace::at(gate) {
        Some(post) => post.outcomes(rules),
        None if gate.can_reject() => vec![Outcome::Complete, Outcome::NeedsReview],
        None => vec![Outcome::Complete],
    };
    all.retain(|outcome| !matches!(outcome, Outcome::Blocked | Outcome::Skip));
    all
}
