//! What would be started, and with which words. Changes nothing, starts nothing.

use super::attempt::Trial;
use super::launch::command;
use super::news::Waits;
use super::prompt::Count;
use super::request::{RunnerSetup, Wish};
use super::rounds::find_work::{Found, Rounds};
use super::visit::bounds;
use super::visit_state::{OpenVisit, VisitState, visit_state};
use crate::dispatch::openings::Opening;
use crate::domain::{AgentId, RunBounds, Station, Ticket};
use crate::files::task_file::TaskFile;
use crate::project::active_rules::InForce;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::rules::Workplace;
use crate::storage::ProjectPath;
use crate::tasks::apply::change::DryRun;
use crate::tasks::view::task_view::brief_of;
use crate::tasks::view::task_view::who_at;

/// A run that would be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    pub ticket: Ticket,
    /// The gate, or the branch of it.
    pub station: Station,
    /// Who would be started.
    pub agent: AgentId,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// The names of the variables that it would find besides those that are inherited.
    pub environment: Vec<String>,
    /// What it would be told.
    pub prompt: String,
    pub prompt_by: &'static str,
    /// What would bound it.
    pub bounds: RunBounds,
}

/// Returns the runs that could be made now, and what waits.
pub fn preview(project: &RunnerSetup, wish: &Wish) -> Result<(Vec<Preview>, Vec<Waits>), OpsError> {
    let mut rounds = Rounds::new(project, wish)?;
    let mut previews = Vec::new();
    loop {
        match rounds.find(DryRun::Yes)? {
            Found::Work(assignment) => {
                let workspace = project.open()?;
                let (ticket, agent) = (&assignment.ticket, &assignment.agent);
                if let VisitState::Open(open) = visit_state(&workspace, ticket, agent, usize::MAX)?
                {
                    let branch = open.opening.station.branch.as_ref();
                    let post = Workplace::meant(&open.in_force.rules, &open.file.task, branch);
                    previews.extend(post.and_then(|post| at(project, &open, &post, agent)));
                }
                let is_seen = rounds.pass_over(&assignment);
                // An agent takes one task after the other: what it takes next depends on what comes of the first.
                if matches!(wish, Wish::Agents { .. }) || is_seen {
                    return Ok((previews, Vec::new()));
                }
            }
            Found::Nothing(waits) => {
                let is_other =
                    |waits: &Waits| previews.iter().all(|seen| seen.ticket != waits.ticket);
                let others = waits.into_iter().filter(is_other).collect();
                return Ok((previews, others));
            }
            Found::Finished(_) => return Ok((previews, Vec::new())),
        }
    }
}

/// Returns the runs of all gates of a task that is not there yet, in the order of its workflow, as far as somebody can be
/// started there; what depends on earlier gates is not in the prompts.
pub fn preview_of(
    project: &RunnerSetup,
    workspace: &Workspace,
    file: &TaskFile,
    path: &ProjectPath,
) -> Result<Vec<Preview>, OpsError> {
    let workflow_gates = |in_force: &InForce| {
        in_force.rules.workflow_of(&file.task).map(|workflow| workflow.gates.clone())
    };
    let gates = workflow_gates(&workspace.rules()?).unwrap_or_default();
    let mut previews = Vec::new();
    for gate in &gates {
        let branches = gate.fork().map(|fork| fork.branches.as_slice()).unwrap_or_default();
        let posts = Workplace::at(gate)
            .into_iter()
            .chain(branches.iter().map(|branch| Workplace::at_branch(gate, branch)));
        for post in posts {
            let in_force = workspace.rules()?;
            previews.extend(at_post(project, in_force, file, path, &post));
        }
    }
    Ok(previews)
}

fn at_post(
    project: &RunnerSetup,
    in_force: InForce,
    file: &TaskFile,
    path: &ProjectPath,
    post: &Workplace<'_>,
) -> Option<Preview> {
    let rules = &in_force.rules;
    let agents = who_at(rules, &file.task, post);
    let agent = agents
        .iter()
        .find(|agent| rules.org.agent(agent).is_some_and(|known| known.run.is_some()))?
        .clone();
    let opening = Opening {
        ticket: file.task.ticket_of(post.branch()),
        station: post.station(),
        role: post.role.clone(),
        holder: None,
        agents,
        people_only: post.requires_human(rules),
        blockers: None,
    };
    let context = brief_of(rules, file, post)?;
    let open = OpenVisit { file: file.clone(), path: path.clone(), opening, context, in_force };
    at(project, &open, post, &agent)
}

fn at(
    project: &RunnerSetup,
    open: &OpenVisit,
    post: &Workplace<'_>,
    agent: &AgentId,
) -> Option<Preview> {
    let launch = open.in_force.rules.org.agent(agent)?.run.as_ref()?;
    let bounds = bounds(open, post, launch);
    let ticket = &open.opening.ticket;
    let trial = Trial {
        project,
        ticket,
        agent,
        open,
        post,
        launch,
        bounds: &bounds,
        count: Count { attempt: 1, attempts: bounds.attempts },
        earlier: None,
        since: 0,
        lease: None,
        run: "preview".parse().ok()?,
    };
    let folder =
        project.root.join(".aof/runs").join(ticket.to_string().replace('/', "+")).join("1");
    let facts = trial.facts(|file| folder.join(file.name()));
    let command = command(launch, &facts);
    let prompt_by = if command.stdin.is_empty() { "in the command" } else { "on stdin" };
    Some(Preview {
        ticket: ticket.clone(),
        station: open.opening.station.clone(),
        agent: agent.clone(),
        words: command.shown_words(&facts.prompt),
        environment: command.environment.iter().map(|(name, _)| name.clone()).collect(),
        prompt: facts.prompt,
        prompt_by,
        bounds,
    })
}
