//! One task at length: its text, its history, why it is where it is, and what may be said of it.

use serde::Serialize;
use serde_json::Value;

use crate::dispatch::workplaces::{Opening, openings};
use crate::domain::{
    AgentId, GateId, Map, Outcome, RoleId, Status, Task, TaskId, Ticket, Timestamp, Visit,
    WorkflowName, approving, rejecting,
};
use crate::files::json;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::rules::outputs::{Field, FieldInput};
use crate::tasks::view::brief::{brief_markdown, task_brief};
use crate::tasks::view::task_view::show;
use crate::tasks::view::why::{OutcomeEffect, OutcomePreview, why};
use crate::tasks::view::work_diff::{TaskCommit, WorkDiff, task_commits, work_diff};

/// A task at length.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskDetails {
    pub id: TaskId,
    pub title: String,
    pub path: String,
    /// The task as a whole, as the reader saw it.
    pub ticket: Ticket,
    pub workflow: WorkflowName,
    pub status: Status,
    pub held: bool,
    /// Who works on it now.
    pub agents: Vec<AgentId>,
    /// The gate that it stands at.
    pub gate: Option<GateId>,
    /// The gates of its workflow, in order.
    pub gates: Vec<GateId>,
    /// Why the file is frozen; the page shows what HEAD has then.
    pub frozen: Option<String>,
    /// The frontmatter, without the history.
    pub frontmatter: Map,
    /// The body, as Markdown.
    pub body: String,
    /// What brought the task to its state, and what it waits for.
    pub reasons: Vec<String>,
    /// Where somebody may say something now.
    pub openings: Vec<OpeningPage>,
    /// The visits that have ended, the oldest first.
    pub timeline: Vec<TimelineEntry>,
}

/// A gate, or a branch, where somebody may say something now.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpeningPage {
    pub ticket: Ticket,
    pub station: String,
    pub role: RoleId,
    /// Who may: the holder alone where there is one.
    pub agents: Vec<AgentId>,
    pub human: bool,
    pub blocked: bool,
    /// The instructions, as Markdown.
    pub brief: String,
    pub choices: Vec<OutcomeChoice>,
}

/// An outcome that may be said, and where it leads.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutcomeChoice {
    pub outcome: String,
    /// What it means.
    pub meaning: String,
    /// The place that it leads to; nothing where the task stays.
    pub to: Option<String>,
    /// Whether it needs blockers.
    pub needs_blockers: bool,
    /// Whether it sends the work back: then the blockers are what is to be fixed.
    pub rejects: bool,
    /// Whether it is the usual word of whoever judges: then a summary need not be typed.
    pub approves: bool,
    /// The values that the gate asks for with it.
    pub outputs: Vec<OutputField>,
}

/// A value that a gate hands on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutputField {
    pub name: String,
    pub required: bool,
    /// What it is, in words.
    pub form: String,
    pub description: Option<String>,
    pub default: Option<Value>,
    pub input: FieldInput,
}

/// A visit that has ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TimelineEntry {
    pub station: String,
    pub role: Option<RoleId>,
    pub agent: Option<AgentId>,
    pub entered: Timestamp,
    pub exited: Timestamp,
    pub seconds: u64,
    pub outcome: String,
    /// Where the task went.
    pub to: Option<String>,
    pub summary: String,
    pub blockers: Vec<String>,
    pub notes: Option<String>,
}

/// Returns a task at length.
pub(crate) fn task_page(workspace: &Workspace, id: &TaskId) -> Result<TaskDetails, ProjectError> {
    let (view, in_force) = show(workspace, id)?;
    let (explanation, _) = why(workspace, id)?;
    let (rules, task) = (&in_force.rules, &view.file.task);
    let holders = task.branches().filter_map(|own| own.agent.as_ref()).chain(&task.routing.agent);
    let workflow = rules.workflow_of(task);
    let gates = workflow.map(|own| own.gates.iter().map(|gate| gate.id.clone()).collect());
    let mut frontmatter = view.file.raw();
    frontmatter.shift_remove("gateHistory");
    Ok(TaskDetails {
        id: id.clone(),
        title: task.title.clone(),
        path: view.path.to_string(),
        ticket: task.ticket(),
        workflow: task.routing.workflow.clone(),
        status: task.status,
        held: task.gate.as_ref().is_some_and(|open| open.held.is_some()),
        agents: holders.cloned().collect(),
        gate: task.gate.as_ref().map(|open| open.current.clone()),
        gates: gates.unwrap_or_default(),
        frozen: view.frozen.map(|frozen| format!("{}; {}", frozen.problem, frozen.fix)),
        frontmatter,
        body: view.file.body().to_owned(),
        reasons: explanation.reasons,
        openings: opening_pages(workspace, rules, task, &explanation.outcomes)?,
        timeline: task.history.iter().map(TimelineEntry::of).collect(),
    })
}

/// Returns what changed outside `tasks/` since a task was created. Fails with a sentence.
pub(crate) fn task_diff(workspace: &Workspace, id: &TaskId) -> Result<WorkDiff, String> {
    let (view, _) = show(workspace, id).map_err(|error| error.to_string())?;
    work_diff(workspace.paths.root(), &view.path)
}

/// Returns the commits of a task, each with what it changed in the task's file. Fails with a sentence.
pub(crate) fn task_log(workspace: &Workspace, id: &TaskId) -> Result<Vec<TaskCommit>, String> {
    let (view, _) = show(workspace, id).map_err(|error| error.to_string())?;
    task_commits(workspace.paths.root(), &view.path)
}

fn opening_pages(
    workspace: &Workspace,
    rules: &Rules,
    task: &Task,
    previews: &[OutcomePreview],
) -> Result<Vec<OpeningPage>, ProjectError> {
    let page = |opening: Opening| {
        let (file, context, _) = task_brief(workspace, &opening.ticket)?;
        let own = |preview: &&OutcomePreview| preview.branch == opening.ticket.branch;
        let outcomes: Vec<Outcome> =
            previews.iter().filter(own).map(|preview| preview.outcome.clone()).collect();
        let rejected = rejecting(&outcomes);
        // At a gate without a decision, the agent has to say what was done.
        let is_judged = |outcome: &Outcome| {
            rejected.is_some() || *outcome != Outcome::Complete || opening.people_only
        };
        let approved = approving(&outcomes).filter(|outcome| is_judged(outcome));
        let choice = |preview: &OutcomePreview| {
            let outcome = &preview.outcome;
            let form = context.outputs.iter().find(|form| form.outcome == *outcome);
            let meaning = context.outcomes.iter().find(|(one, _)| one == outcome);
            OutcomeChoice {
                outcome: outcome.to_string(),
                meaning: meaning.map(|(_, text)| text.clone()).unwrap_or_default(),
                to: match &preview.effect {
                    OutcomeEffect::Moves { passage, .. } => Some(passage.to.noun().to_owned()),
                    OutcomeEffect::Stays | OutcomeEffect::Votes(_) => None,
                },
                needs_blockers: outcome.needs_blockers(),
                rejects: rejected == Some(outcome),
                approves: approved == Some(outcome),
                outputs: form
                    .into_iter()
                    .flat_map(|form| &form.fields)
                    .map(OutputField::of)
                    .collect(),
            }
        };
        Ok(OpeningPage {
            ticket: opening.ticket.clone(),
            station: opening.station.to_string(),
            role: opening.role,
            agents: opening.agents,
            human: opening.people_only,
            blocked: opening.blockers.is_some(),
            brief: brief_markdown(&file, &context, ""),
            choices: previews.iter().filter(own).map(choice).collect(),
        })
    };
    openings(rules, task).into_iter().map(page).collect()
}

impl OutputField {
    fn of(field: &Field) -> Self {
        Self {
            name: field.name.clone(),
            required: field.required,
            form: field.form.clone(),
            description: field.description.clone(),
            default: field.default.clone(),
            input: field.input.clone(),
        }
    }

    /// Returns the value that a typed text stands for. A text that does not fit stays a text, for the rules to say so.
    pub(crate) fn value(&self, text: &str) -> Value {
        match &self.input {
            FieldInput::Text => text.into(),
            FieldInput::Choice(values) => {
                let known = values
                    .iter()
                    .find(|own| own.as_str() == Some(text) || own.to_string().eq(text));
                known.cloned().unwrap_or_else(|| text.into())
            }
            _ => json::typed(text).unwrap_or_else(|_| text.into()),
        }
    }
}

impl TimelineEntry {
    fn of(visit: &Visit) -> Self {
        Self {
            station: visit.station().to_string(),
            role: visit.role.clone(),
            agent: visit.agent.clone(),
            entered: visit.entered,
            exited: visit.exited,
            seconds: visit.duration(),
            outcome: visit.outcome.to_string(),
            to: visit.to.as_ref().map(|to| to.noun().to_owned()),
            summary: visit.summary.clone(),
            blockers: visit.blockers.clone(),
            notes: visit.rejection_notes.clone(),
        }
    }
}
