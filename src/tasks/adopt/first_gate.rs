//! How a hand-made task begins: at the first gate that applies to it, and as the agent's that its file names, where the rules let it be
//! given to that one there.

use std::borrow::Cow;

use crate::domain::Timestamp;
use crate::files::task_file::TaskFile;
use crate::files::yaml::Node;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::rules::{Act, Decision, Refusal, Rules, Warning, WorkflowStep, decide};
use crate::tasks::apply::change::Choice;
use crate::tasks::apply::commit_message;
use crate::tasks::state::task_state::Standing;

/// Returns how a hand-made file is put at its first gate.
pub(crate) fn choose(workspace: &Workspace, standing: &Standing) -> Result<Choice, OpsError> {
    let step = begun(&standing.in_force.rules, &standing.file, workspace.now())?;
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
