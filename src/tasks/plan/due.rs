//! What is due with a task before anything else: a hand-made one begins at its first gate, and one goes on that an automatic gate or
//! changed rules move. A file in the wrong folder moves home.

use std::borrow::Cow;

use super::choice::Choice;
use super::place::destination;
use crate::domain::Timestamp;
use crate::files::task_file::{Origin, TaskFile};
use crate::files::yaml::Node;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{Act, Decision, Refusal, Rules, Warning, WorkflowStep, decide, owed};
use crate::tasks::state::commit_message;
use crate::tasks::state::task_state::TaskState;

/// Returns how a hand-made file is put at its first gate.
pub(crate) fn adoption(workspace: &Workspace, state: &TaskState) -> Result<Choice, ProjectError> {
    let step = begun(&state.in_force.rules, &state.file, workspace.now())?;
    Ok(Choice::Step {
        message: commit_message::of_adoption(&step.task),
        author: workspace.repository.author_identity()?,
        authored: step.task.updated,
        step: Box::new(step),
    })
}

/// Returns a hand-made task as it is when it is taken up.
pub(crate) fn begun(
    rules: &Rules,
    file: &TaskFile,
    now: Timestamp,
) -> Result<WorkflowStep, Refusal> {
    let Some(agent) = file.wanted_agent() else { return opened(rules, file, &Act::Open, now) };
    opened(rules, file, &Act::OpenFor { agent: agent.clone() }, now).or_else(|refusal| {
        // Where it cannot begin at all, that is what keeps it back.
        let mut step = opened(rules, file, &Act::Open, now)?;
        let (task, why) = (file.task.id.clone(), refusal.problem());
        step.warnings.push(Warning::NotGiven { task, agent, why });
        Ok(step)
    })
}

fn opened(
    rules: &Rules,
    file: &TaskFile,
    act: &Act,
    now: Timestamp,
) -> Result<WorkflowStep, Refusal> {
    let mut task = Cow::Borrowed(&file.task);
    if file.field("created").is_none_or(Node::is_null) {
        // The file was read a moment ago; nobody could say later when.
        task.to_mut().created = now;
    }
    match decide(rules, &task, act, now)? {
        Decision::Step(step) => Ok(*step),
        Decision::Settled { .. } => {
            unreachable!("a task that stands nowhere cannot have been opened before")
        }
    }
}

/// Returns what has to be done with the task before anything else can be.
pub(crate) fn first_due_step(
    workspace: &Workspace,
    state: &TaskState,
) -> Result<Option<Choice>, ProjectError> {
    match state.file.origin {
        Origin::HandMade => adoption(workspace, state).map(Some),
        Origin::Adopted => step_owed_to_rules(workspace, state),
    }
}

/// Returns what the rules in force want done with a task; nothing where it stands as they have it. They may have changed since it
/// came there, or `git reset` may have taken back what a gate had decided.
pub(crate) fn step_owed_to_rules(
    workspace: &Workspace,
    state: &TaskState,
) -> Result<Option<Choice>, ProjectError> {
    let rules = &state.in_force.rules;
    let task = &state.file.task;
    let Some(act) = owed(rules, task) else { return Ok(None) };
    let Ok(Decision::Step(step)) = decide(rules, task, &act, workspace.now()) else {
        return Ok(None);
    };
    let message = match act {
        Act::Reroute => commit_message::of_reroute(task, &step.task),
        act => commit_message::of_act(&act, task.history.len(), &step.task),
    };
    Ok(Some(Choice::Step {
        message,
        author: workspace.repository.author_identity()?,
        authored: step.task.updated,
        step,
    }))
}

/// Returns how the file of a task is brought to where it belongs; nothing where it stands there.
pub(crate) fn home(state: &TaskState) -> Option<Choice> {
    let to = destination(state, &state.file);
    if to == state.snapshot.path || state.file.origin == Origin::HandMade {
        return None;
    }
    let message = commit_message::of_edit(&state.file.task, &format!("moved to {}", to.folder()));
    Some(Choice::Moved { to, message })
}
