//! The acts of people and agents: in a project, or at one task, as the event stream has them.

use serde_json::Value;

use crate::domain::{AgentId, EventKind, GateId, TaskId, Timestamp, WorkflowName};
use crate::files::event::line::EventLine;
use crate::files::event::render::{place_words, step_words};
use crate::git::CommitId;
use crate::observability::events::catch_up::{are_events_kept, catch_up_if_writable, keep_events};
use crate::observability::events::latest::latest_events;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;

/// Something that somebody did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ActivityEntry {
    pub at: Timestamp,
    pub task: TaskId,
    /// The agent, if it is known.
    pub agent: Option<AgentId>,
    /// The name of the commit's author, if the agent is not known.
    pub author: String,
    pub kind: ActivityKind,
    /// The act in words, as in `took it at plan`.
    pub words: String,
    /// The comment, the summary, or the points.
    pub text: String,
}

/// The kind of an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ActivityKind {
    /// A task was created, moved on, or ended.
    Step,
    /// A task moved on, because somebody judged the work.
    Decision,
    Comment,
    /// A claim, a release, an edit, a hold or an unblock.
    Other,
}

impl ActivityEntry {
    /// Returns whether a choice has the entry: `people`, `agents`, `decisions`, `comments`, the id of an agent, or nothing for all.
    fn is_of(&self, only: &str) -> bool {
        let is_person = self.agent.as_ref().is_none_or(AgentId::is_human);
        match only {
            "" => true,
            "people" => is_person,
            "agents" => !is_person,
            "decisions" => self.kind == ActivityKind::Decision,
            "comments" => self.kind == ActivityKind::Comment,
            id => self.agent.as_ref().is_some_and(|agent| agent.as_str() == id),
        }
    }
}

/// Returns what was done last, the latest first: at most `most` entries, only those of a choice.
pub(crate) fn latest_activity(
    workspace: &Workspace,
    rules: &Rules,
    only: &str,
    most: usize,
) -> Result<Vec<ActivityEntry>, ProjectError> {
    let read = |line: &str| entry(workspace, rules, line).filter(|entry| entry.is_of(only));
    catch_up_if_writable(workspace)?;
    latest_events(workspace, most, None, &read)
}

/// Returns what was done at a task, the latest first. Does not wait for another writer of the stream.
pub(crate) fn task_activity(
    workspace: &Workspace,
    rules: &Rules,
    id: &TaskId,
    created: Timestamp,
) -> Result<Vec<ActivityEntry>, ProjectError> {
    let read = |line: &str| {
        let is_near = line.contains(id.as_str());
        is_near.then(|| entry(workspace, rules, line)).flatten().filter(|entry| entry.task == *id)
    };
    if !are_events_kept(workspace)? {
        // A stream that cannot be written now is read as it is.
        let _ = keep_events(workspace, &|| true);
    }
    latest_events(workspace, usize::MAX, Some(created), &read)
}

fn entry(workspace: &Workspace, rules: &Rules, line: &str) -> Option<ActivityEntry> {
    let event = EventLine::read(line).filter(|event| event.commit().is_some())?;
    let (kind, words, text) = act(rules, &event)?;
    let key = if event.kind == Some(EventKind::TaskAssigned) { "" } else { "agent" };
    let agent: Option<AgentId> = event.text(key).and_then(|agent| agent.parse().ok());
    let by_commit = || {
        let commit: CommitId = event.commit()?.parse().ok()?;
        Some(workspace.repository.log_entry(commit).ok()?.author)
    };
    let author = if agent.is_none() { by_commit() } else { None };
    let known = || rules.org.agent_by_email(author.as_ref()?.email());
    Some(ActivityEntry {
        at: event.at,
        task: event.text("taskId")?.parse().ok()?,
        agent: agent.or_else(known),
        author: author.as_ref().map(|author| author.name().to_owned()).unwrap_or_default(),
        kind,
        words,
        text,
    })
}

/// The act of a new task's author.
pub(crate) const CREATED: &str = "created it";

/// Returns the act of an event in words, with its text; `None` for one that another event of the same commit says.
fn act(rules: &Rules, event: &EventLine) -> Option<(ActivityKind, String, String)> {
    let text = |key| event.text(key).unwrap_or_default().to_owned();
    let gate = event.gate().unwrap_or_default();
    let at = |words: &str| format!("{words} at {gate}");
    let other = |words: String| (ActivityKind::Other, words, String::new());
    Some(match event.kind? {
        EventKind::TaskCreated | EventKind::TaskAdopted => {
            (ActivityKind::Step, CREATED.to_owned(), String::new())
        }
        EventKind::TaskClaimed => other(at("took it")),
        EventKind::TaskAssigned => other(format!("gave it to {} at {gate}", text("agent"))),
        EventKind::TaskReleased => other(at("gave it back")),
        EventKind::TaskLapsed => other(at("lost it")),
        EventKind::TaskHeld => (ActivityKind::Other, at("held it"), texts(event)),
        EventKind::TaskUnblocked => other(at("unblocked it")),
        EventKind::TaskEdited => other("edited it".to_owned()),
        EventKind::TaskCommented => {
            (ActivityKind::Comment, "commented".to_owned(), text("comment"))
        }
        EventKind::GateTransition => step(rules, event),
        _ => return None,
    })
}

fn step(rules: &Rules, event: &EventLine) -> (ActivityKind, String, String) {
    let (gate, outcome) = (event.gate().unwrap_or_default(), event.text("outcome"));
    let outcome = outcome.unwrap_or_default();
    let to = event.text("toGate").and_then(|to| to.parse().ok());
    let words = step_words(gate, outcome, to.as_ref().map(place_words));
    let workflow = event.text("workflow").and_then(|name| name.parse::<WorkflowName>().ok());
    let of_name = |name| rules.project.workflows.iter().find(|flow| flow.name == name);
    let id = gate.split('/').next().and_then(|gate| gate.parse::<GateId>().ok());
    let judges = workflow.and_then(of_name).zip(id).is_some_and(|(flow, id)| {
        let gate = flow.gate(&id).map(|(_, gate)| gate);
        gate.is_some_and(|gate| gate.can_reject() || gate.exits.decides())
    });
    let kind = match outcome {
        "needs_review" => ActivityKind::Decision,
        "blocked" | "failed" | "cancelled" | "timeout" => ActivityKind::Step,
        _ if judges => ActivityKind::Decision,
        _ => ActivityKind::Step,
    };
    let points = texts(event);
    let said = event.text("summary").unwrap_or_default();
    (kind, words, if points.is_empty() { said.to_owned() } else { points })
}

/// Returns the blockers of an event in one line.
fn texts(event: &EventLine) -> String {
    let texts = event.fields.get("blockers").and_then(Value::as_array).into_iter().flatten();
    texts.filter_map(Value::as_str).collect::<Vec<_>>().join("; ")
}
