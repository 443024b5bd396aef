//! One task in full: its text, its history, the reasons for its state, and the outcomes that are possible.

use serde::Serialize;
use serde_json::Value;

use super::activity::{ActivityEntry, ActivityKind, CREATED, task_activity};
use crate::dispatch::workplaces::{Opening, openings};
use crate::domain::{
    AgentId, Due, GateId, Link, Map, Outcome, Priority, ReviewContext, RoleId, Status, Task,
    TaskId, Ticket, Timestamp, Visit, WorkBranch, WorkflowName, approving, rejecting,
};
use crate::files::event::render::step_words;
use crate::files::json;
use crate::files::task_file::{BodyComment, BodyParts, body_parts};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::rules::outputs::{Field, FieldInput};
use crate::rules::routing::reviews::{settled_since_rejection, standing_reviews};
use crate::tasks::view::brief::{BriefExtent, brief_markdown, task_brief};
use crate::tasks::view::code_commits::CodeCommit;
use crate::tasks::view::phrases::{act, leads_to};
use crate::tasks::view::task_view::show;
use crate::tasks::view::why::{OutcomeEffect, OutcomePreview, why};
use crate::tasks::view::work_diff::{TaskCommit, WorkDiff, task_commits, work_diff};

/// A task in full.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskDetails {
    pub id: TaskId,
    pub title: String,
    pub path: String,
    /// The ticket of the task as a whole, as the reader saw it.
    pub ticket: Ticket,
    pub workflow: WorkflowName,
    pub status: Status,
    pub held: bool,
    /// The agents that work on the task now.
    pub agents: Vec<AgentId>,
    /// The gate that the task is at.
    pub gate: Option<GateId>,
    /// The gates of the task's workflow, in order.
    pub gates: Vec<GateId>,
    /// The reason why the file is frozen; the page then shows HEAD's version.
    pub frozen: Option<String>,
    /// The frontmatter, without the history.
    pub frontmatter: Map,
    /// The body, as Markdown.
    pub body: String,
    /// The reasons for the task's state, and what it waits for.
    pub reasons: Vec<String>,
    /// The places where someone may complete a visit now.
    pub openings: Vec<OpeningPage>,
    /// The visits that have ended, the oldest first.
    pub timeline: Vec<TimelineEntry>,
    #[serde(skip)]
    pub sheet: TaskSheet,
}

/// The fields of a task that pages show and programs read elsewhere.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TaskSheet {
    /// The body without its comments.
    pub text: String,
    pub comments: Vec<BodyComment>,
    /// The open points of reviews.
    pub points: Vec<OpenPoint>,
    pub created: Timestamp,
    pub created_by: Option<AgentId>,
    /// The time when it came to its gate.
    pub entered: Option<Timestamp>,
    pub priority: Option<Priority>,
    pub due: Option<Due>,
    pub milestone: Option<String>,
    /// Those for whom it is planned, as the file names them.
    pub assignee: Vec<String>,
    pub not_before: Option<Due>,
    pub tags: Vec<String>,
    pub parent: Option<TaskId>,
    pub depends_on: Vec<TaskId>,
    pub links: Vec<Link>,
    pub work: Option<WorkBranch>,
    /// The commits of code that name it; empty unless they were read.
    pub commits: Vec<CodeCommit>,
    /// The acts that the file does not have, as claims and edits, the latest first; empty unless they were read.
    pub log: Vec<ActivityEntry>,
}

/// A point that a review wants settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenPoint {
    pub text: String,
    pub by: Option<AgentId>,
    pub at: Timestamp,
    /// True if the work was done since the last rejection by the same agent.
    pub is_settled: bool,
}

impl OpenPoint {
    /// Returns whether the point counts as settled for the reader, who wanted it.
    pub(crate) fn is_settled_for(&self, you: Option<&AgentId>) -> bool {
        self.is_settled && you.is_some() && self.by.as_ref() == you
    }
}

impl TaskSheet {
    fn of(task: &Task, body: &str) -> Self {
        let BodyParts { texts, comments } = body_parts(body);
        let text = texts.concat().trim().to_owned();
        let points = |(review, _): (ReviewContext, bool)| {
            let ReviewContext { from_gate, from_agent: by, timestamp: at, blockers, notes, .. } =
                review;
            let settled = by.as_ref().and_then(|by| settled_since_rejection(task, by));
            let is_settled =
                settled.is_some_and(|one| (one.from_gate, one.timestamp) == (from_gate, at));
            let all = blockers.into_iter().chain(notes);
            all.map(move |text| OpenPoint { text, by: by.clone(), at, is_settled })
                .collect::<Vec<_>>()
        };
        Self {
            text,
            comments,
            points: standing_reviews(task).into_iter().flat_map(points).collect(),
            created: task.created,
            created_by: task.created_by.clone(),
            entered: task.gate.as_ref().map(|open| open.entered),
            priority: Some(task.priority()),
            due: task.plan.due,
            milestone: task.plan.milestone.clone(),
            assignee: task.plan.assignee.clone(),
            not_before: task.plan.not_before,
            tags: task.tags.clone(),
            parent: task.parent.clone(),
            depends_on: task.depends_on.clone(),
            links: task.plan.links.clone(),
            work: task.work().cloned(),
            commits: Vec::new(),
            log: Vec::new(),
        }
    }
}

/// A gate or a branch where someone may complete the visit now.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpeningPage {
    pub ticket: Ticket,
    pub station: String,
    pub role: RoleId,
    /// The agents that may: only the holder if there is one.
    pub agents: Vec<AgentId>,
    pub human: bool,
    pub blocked: bool,
    /// The instructions, as Markdown.
    pub brief: String,
    pub choices: Vec<OutcomeChoice>,
}

/// An outcome that may be chosen, and the place that it leads to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutcomeChoice {
    pub outcome: String,
    /// The meaning of the outcome, in words.
    pub meaning: String,
    /// The place that the outcome leads to; `None` if the task stays.
    pub to: Option<String>,
    /// The outcome as an act, as in `Approve`, and the places that it leads to, for people.
    #[serde(skip)]
    pub label: String,
    #[serde(skip)]
    pub leads: String,
    /// True if the outcome needs blockers.
    pub needs_blockers: bool,
    /// True if the outcome sends the work back: then the blockers name what to fix.
    pub rejects: bool,
    /// True if the outcome is the usual approval of a judge: then a summary may be left out.
    pub approves: bool,
    /// The values that the gate asks for with the outcome.
    pub outputs: Vec<OutputField>,
}

/// A value that a gate hands on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutputField {
    pub name: String,
    pub required: bool,
    /// The expected form of the value, in words.
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
    /// The place that the task moved to.
    pub to: Option<String>,
    pub summary: String,
    pub blockers: Vec<String>,
    pub notes: Option<String>,
}

/// Returns a task in full.
pub(crate) fn task_page(workspace: &Workspace, id: &TaskId) -> Result<TaskDetails, ProjectError> {
    let (view, in_force) = show(workspace, id)?;
    let (explanation, _) = why(workspace, id)?;
    let (rules, task) = (&in_force.rules, &view.file.task);
    let holders = task.branches().filter_map(|part| part.agent.as_ref()).chain(&task.routing.agent);
    let workflow = rules.workflow_of(task);
    let gates = workflow.map(|flow| flow.gates.iter().map(|gate| gate.id.clone()).collect());
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
        sheet: TaskSheet::of(task, view.file.body()),
    })
}

/// Reads what was done at a task besides what its file has.
pub(crate) fn read_log(workspace: &Workspace, page: &mut TaskDetails) -> Result<(), ProjectError> {
    let rules = &workspace.rules()?.rules;
    let mut log = task_activity(workspace, rules, &page.id, page.sheet.created)?;
    let created = log.iter().find(|entry| entry.words == CREATED);
    page.sheet.created_by =
        page.sheet.created_by.take().or(created.and_then(|entry| entry.agent.clone()));
    log.retain(|entry| entry.kind == ActivityKind::Other);
    page.sheet.log = log;
    Ok(())
}

/// Returns the changes outside `tasks/` since a task was created. Fails with a sentence.
pub(crate) fn task_diff(workspace: &Workspace, id: &TaskId) -> Result<WorkDiff, String> {
    let (view, _) = show(workspace, id).map_err(|error| error.to_string())?;
    work_diff(workspace, &view.file.task, &view.path)
}

/// Returns the commits of a task, each with its change to the task's file. Fails with a sentence.
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
        let is_here = |preview: &&OutcomePreview| preview.branch == opening.ticket.branch;
        let outcomes: Vec<Outcome> =
            previews.iter().filter(is_here).map(|preview| preview.outcome.clone()).collect();
        let rejected = rejecting(&outcomes);
        // At a gate without a decision, the agent must report what was done.
        let is_judged = |outcome: &Outcome| {
            rejected.is_some() || *outcome != Outcome::Complete || opening.people_only
        };
        let approved = approving(&outcomes).filter(|outcome| is_judged(outcome));
        let choice = |preview: &OutcomePreview| {
            let outcome = &preview.outcome;
            let form = context.outputs.iter().find(|form| form.outcome == *outcome);
            let meaning = context.outcomes.iter().find(|(one, _)| one == outcome);
            let (approves, rejects) = (approved == Some(outcome), rejected == Some(outcome));
            let to = match &preview.effect {
                OutcomeEffect::Moves { passage, .. } => Some(&passage.to),
                OutcomeEffect::Stays | OutcomeEffect::Votes(_) => None,
            };
            let leads = to.zip(rules.workflow_of(task)).map(|(to, flow)| leads_to(flow, to));
            OutcomeChoice {
                label: act(outcome.as_str(), approves, rejects),
                leads: leads.unwrap_or_default(),
                outcome: outcome.to_string(),
                meaning: meaning.map(|(_, text)| text.clone()).unwrap_or_default(),
                to: to.map(|to| to.noun().to_owned()),
                needs_blockers: outcome.needs_blockers(),
                rejects,
                approves,
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
            brief: brief_markdown(&file, &context, "", BriefExtent::Whole),
            choices: previews.iter().filter(is_here).map(choice).collect(),
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

    /// Returns the value that a typed text stands for. A text that does not fit stays a text, so that the rules refuse it.
    pub(crate) fn value(&self, text: &str) -> Value {
        match &self.input {
            FieldInput::Text => text.into(),
            FieldInput::Choice(values) => {
                let known = values
                    .iter()
                    .find(|known| known.as_str() == Some(text) || known.to_string().eq(text));
                known.cloned().unwrap_or_else(|| text.into())
            }
            _ => json::typed(text).unwrap_or_else(|_| text.into()),
        }
    }
}

impl TimelineEntry {
    /// Returns the step in words, as in `plan → implement`.
    pub(crate) fn words(&self) -> String {
        let to = self.to.as_deref().map(|to| if to == "end" { "done" } else { to });
        step_words(&self.station, &self.outcome, to)
    }

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
