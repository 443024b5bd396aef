//! Previews the runs that would be made, with their prompts. Changes nothing, starts nothing.

use super::attempt::Attempt;
use super::launch::command;
use super::run_types::{RunTarget, RunnerSetup, WaitingWork};
use super::work_finder::{AvailableWork, WorkFinder};
use super::work_finder::{RunnableVisit, VisitState, visit_state};
use crate::dispatch::workplaces::Opening;
use crate::domain::{AgentId, CompletionId, RunBounds, Station, Ticket};
use crate::files::task_file::TaskFile;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Workplace;
use crate::storage::ProjectPath;
use crate::tasks::plan::DryRun;
use crate::tasks::view::task_view::{brief_of, eligible_agents_at};

/// A run that would be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    pub ticket: Ticket,
    pub station: Station,
    pub agent: AgentId,
    pub words: Vec<String>,
    /// The names of the added variables.
    pub environment: Vec<String>,
    pub prompt: String,
    /// The way in which the prompt would be passed.
    pub prompt_by: &'static str,
    pub bounds: RunBounds,
}

/// Returns the runs that could be made now, and the work that waits.
pub fn preview(
    project: &RunnerSetup,
    goal: &RunTarget,
) -> Result<(Vec<Preview>, Vec<WaitingWork>), ProjectError> {
    let mut finder = WorkFinder::new(project, goal)?;
    let mut previews: Vec<Preview> = Vec::new();
    loop {
        let assignment = match finder.find(DryRun::Yes)? {
            AvailableWork::Work(assignment) => assignment,
            AvailableWork::Finished(_) | AvailableWork::Full => return Ok((previews, Vec::new())),
            AvailableWork::Nothing(mut waits) | AvailableWork::Paused(_, mut waits) => {
                waits.retain(|waits| previews.iter().all(|seen| seen.ticket != waits.ticket));
                return Ok((previews, waits));
            }
        };
        let (ticket, agent) = (&assignment.ticket, &assignment.agent);
        if let VisitState::Open(open) = visit_state(&project.open()?, ticket, agent, usize::MAX)? {
            let attempt = Attempt::new(project, agent, &open, preview_id());
            previews.extend(attempt.ok().map(|attempt| preview_attempt(&attempt)));
        }
        // An agent takes one task after the other, and its second task depends on the result of the first.
        if !finder.running.insert(assignment.ticket) || matches!(goal, RunTarget::Agents { .. }) {
            return Ok((previews, Vec::new()));
        }
    }
}

/// Returns the runs of all gates of a task that does not yet exist, in the order of its workflow, if an agent can be started. The
/// prompts lack what depends on earlier gates.
pub fn preview_of(
    project: &RunnerSetup,
    workspace: &Workspace,
    file: &TaskFile,
    path: &ProjectPath,
) -> Result<Vec<Preview>, ProjectError> {
    let in_force = workspace.rules()?;
    let rules = &in_force.rules;
    let workflow = rules.workflow_of(&file.task);
    let mut previews = Vec::new();
    for gate in workflow.iter().flat_map(|workflow| &workflow.gates) {
        let branches = gate.fork().map(|fork| fork.branches.as_slice()).unwrap_or_default();
        let branches = branches.iter().map(|branch| Workplace::at_branch(gate, branch));
        for workplace in Workplace::at(gate).into_iter().chain(branches) {
            let agents = eligible_agents_at(rules, &file.task, &workplace);
            let can_start =
                |agent: &&AgentId| rules.org.agent(agent).is_some_and(|known| known.run.is_some());
            let Some(agent) = agents.iter().find(can_start).cloned() else { continue };
            let Some(context) = brief_of(workspace, rules, file, &workplace) else { continue };
            let opening = Opening {
                ticket: file.task.ticket_of(workplace.branch()),
                station: workplace.station(),
                role: workplace.role.clone(),
                holder: None,
                agents,
                people_only: workplace.requires_human(rules),
                blockers: None,
                looks_every: workplace.looks_every(),
            };
            let (file, path, in_force) = (file.clone(), path.clone(), workspace.rules()?);
            let open = RunnableVisit { in_force, file, path, opening, context };
            let attempt = Attempt::at(project, &agent, &open, workplace, preview_id());
            previews.extend(attempt.ok().map(|attempt| preview_attempt(&attempt)));
        }
    }
    Ok(previews)
}

fn preview_id() -> CompletionId {
    "preview".parse().expect("it is letters")
}

fn preview_attempt(attempt: &Attempt<'_>) -> Preview {
    let Opening { ticket, station, .. } = &attempt.open.opening;
    let runs = attempt.project.root.join(".aof/runs");
    let folder = runs.join(ticket.to_string().replace('/', "+")).join("1");
    let facts = attempt.facts(|file| folder.join(file.name()), None);
    let command = command(attempt.launch, &facts);
    Preview {
        ticket: ticket.clone(),
        station: station.clone(),
        agent: attempt.agent.clone(),
        words: command.shown_words(&facts.prompt),
        environment: command.environment.iter().map(|(name, _)| name.clone()).collect(),
        prompt: facts.prompt,
        prompt_by: if command.stdin.is_empty() { "in the command" } else { "on stdin" },
        bounds: attempt.bounds.clone(),
    }
}
