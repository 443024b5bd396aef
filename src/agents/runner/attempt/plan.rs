//! What an attempt goes by: the visit, the agent, what bounds it; and, from that, what the agent is told and asked. Starts nothing.

use std::path::PathBuf;

use super::launch::Facts;
use super::mcp_wiring::mcp;
use super::prompt::{Count, Earlier, prompt};
use crate::agents::runner::project::Project;
use crate::agents::runner::verdict::read::Asked;
use crate::agents::runner::visit_state::Open;
use crate::domain::{AgentId, CompletionId, Launch, Outcome, RunBounds, Ticket};
use crate::rules::Workplace;

/// What an attempt goes by.
pub(crate) struct Trial<'a> {
    pub project: &'a Project,
    pub ticket: &'a Ticket,
    pub agent: &'a AgentId,
    pub open: &'a Open,
    pub post: &'a Workplace<'a>,
    pub launch: &'a Launch,
    pub bounds: &'a RunBounds,
    pub count: Count,
    pub earlier: Option<&'a Earlier>,
    pub since: usize,
    pub lease: Option<u64>,
    pub run: CompletionId,
}

/// Where the files of an attempt are.
pub(crate) struct Places {
    pub prompt: PathBuf,
    pub output: PathBuf,
    pub mcp: PathBuf,
}

impl Trial<'_> {
    /// Returns what the attempt is about, with files that are there.
    pub(crate) fn facts(&self, places: Places) -> Facts {
        let told =
            with_asked(self.open, self.post, self.agent, self.ticket, self.launch, "", |asked| {
                prompt(
                    &self.open.file,
                    &self.open.context,
                    asked,
                    mcp(self.launch),
                    &places.output,
                    self.count,
                    self.earlier,
                )
            });
        Facts {
            ticket: self.ticket.clone(),
            station: self.open.opening.station.clone(),
            workflow: self.open.file.task.routing.workflow.clone(),
            agent: self.agent.clone(),
            project: self.project.root.clone(),
            aof: self.project.aof.clone(),
            attempt: self.count.attempt,
            run: self.run.to_string(),
            model: self.bounds.model.clone(),
            prompt: told,
            prompt_file: places.prompt,
            output_file: places.output,
            mcp_config: places.mcp,
        }
    }
}

/// Calls with what the run is asked; `prompt` is what it was told, as far as it has been told.
pub(crate) fn with_asked<T>(
    open: &Open,
    post: &Workplace<'_>,
    agent: &AgentId,
    ticket: &Ticket,
    launch: &Launch,
    prompt: &str,
    then: impl FnOnce(&Asked<'_>) -> T,
) -> T {
    let rules = &open.in_force.rules;
    let possible = post.outcomes(rules);
    let workflow = rules.workflow_of(&open.file.task);
    let back: Vec<Outcome> = possible
        .iter()
        .filter(|outcome| workflow.is_some_and(|workflow| post.sends_back(workflow, outcome)))
        .cloned()
        .collect();
    let unsaid = workflow.filter(|_| !post.judges()).map(|workflow| &workflow.default_outcome);
    let program = match launch.command.as_slice() {
        [] => launch.preset.to_string(),
        [program, first, ..] if !first.starts_with('-') && !first.contains('{') => {
            format!("{program} {first}")
        }
        [program, ..] => program.clone(),
    };
    then(&Asked {
        ticket,
        agent,
        possible: &possible,
        back: &back,
        unsaid,
        signal: post.duty.signal.as_ref(),
        outputs: &post.duty.outputs,
        exit: &post.duty.run.exit,
        program: &program,
        prompt,
    })
}
