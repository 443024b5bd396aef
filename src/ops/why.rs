//! Why a task stands where it stands, who can move it, and what each outcome would do.

use serde_json::{Value, json};

use std::rc::Rc;

use super::error::{OpsError, thaw};
use super::headers::NEW;
use super::in_force::{InForce, in_force_and_seen};
use super::standing::{Pending, Standing, find, parse};
use super::view::{taken_up, who};
use super::workspace::Workspace;
use crate::engine::{Passage, Post, preview};
use crate::format::task_file::{Origin, TaskFile};
use crate::model::{AgentId, Destination, Ending, Outcome, Status, Task, TaskId};

/// The answer to "why is it there".
pub struct Reason {
    /// The task.
    pub file: TaskFile,
    /// What brought it there, and what it waits for: sentences.
    pub because: Vec<String>,
    /// Who can complete the open visit.
    pub who: Vec<AgentId>,
    /// What each outcome would do.
    pub consequences: Vec<Consequence>,
}

/// What an outcome would do.
#[derive(Debug, Clone, PartialEq)]
pub struct Consequence {
    /// The outcome.
    pub outcome: Outcome,
    /// Where it leads.
    pub passage: Passage,
    /// Whether the task would stay where it is.
    pub holds: bool,
}

/// Returns why the task stands where it stands.
pub fn why(workspace: &Workspace, id: &TaskId) -> Result<(Reason, Rc<InForce>), OpsError> {
    let head = workspace.repository.look()?;
    let in_force = Rc::new(in_force_and_seen(workspace, &head)?);
    let standing = Standing::read_under(workspace, id, head, in_force)?;
    let rules = &standing.in_force.rules;
    let task = &standing.file.task;
    let gate =
        task.gate.as_ref().and_then(|open| rules.workflow_of(task).and_then(|workflow| workflow.gate(&open.current)));
    let consequences = Post::of(rules, task).map(|post| {
        post.outcomes(rules)
            .into_iter()
            .filter_map(|outcome| {
                let passage = preview(rules, task, &outcome)?;
                let own = passage.to == Destination::Gate(post.gate.id.clone());
                let holds = own && passage.retry.is_none();
                Some(Consequence { outcome, passage, holds })
            })
            .collect()
    });
    let mut because = because(task);
    if standing.file.origin == Origin::HandMade {
        because.push(beginning(workspace, &standing));
    } else if task.gate.is_some() && gate.is_none() {
        because.push(format!(
            "workflow `{}` has no gate of that name any more: `aof task override {id} --to GATE --reason \"...\"` moves it",
            task.routing.workflow
        ));
    }
    if let Pending::Foreign(fields) = &standing.pending {
        because.push(format!(
            "nothing moves it: its file was changed by hand in what the engine keeps ({}); {}",
            fields.join(", "),
            thaw(&standing.snapshot.path, standing.head_path.as_ref())
        ));
    }
    if !task.status.is_finished() {
        because.extend(task.depends_on.iter().filter_map(|other| waits_for(workspace, &standing.in_force, other)));
    }
    let who = who(rules, &standing.file);
    let consequences = consequences.unwrap_or_default();
    let reason = Reason { because, who, consequences, file: standing.file };
    Ok((reason, standing.in_force))
}

/// Returns the answer as `--json` shows it.
pub fn reason_value(reason: &Reason) -> Value {
    let task = &reason.file.task;
    let outcomes: Vec<Value> = reason
        .consequences
        .iter()
        .map(|consequence| {
            let passage = &consequence.passage;
            let skipped: Vec<&str> = passage.skipped.iter().map(crate::model::GateId::as_str).collect();
            json!({
                "outcome": consequence.outcome.as_str(),
                "to": passage.to.to_string(),
                "stays": consequence.holds,
                "skipped": skipped,
            })
        })
        .collect();
    json!({
        "task": task.id.as_str(),
        "ticket": task.ticket().to_string(),
        "status": match reason.file.origin {
            Origin::HandMade => NEW,
            Origin::Adopted => task.status.as_str(),
        },
        "gate": task.gate.as_ref().map(|open| open.current.as_str()),
        "because": reason.because,
        "who": reason.who.iter().map(AgentId::as_str).collect::<Vec<_>>(),
        "outcomes": outcomes,
    })
}

/// Says where a hand-made task would begin, or why it cannot.
fn beginning(workspace: &Workspace, standing: &Standing) -> String {
    match taken_up(workspace, &standing.in_force, &standing.file.task) {
        Ok(task) => match &task.gate {
            Some(open) => format!("`aof watch` takes it up, at gate `{}`", open.current),
            None => "`aof watch` takes it up".to_owned(),
        },
        Err(refusal) => format!("it cannot be taken up: {}", refusal.problem()),
    }
}

/// Says what an unfinished task that this one depends on does; nothing where it is complete.
fn waits_for(workspace: &Workspace, in_force: &InForce, other: &TaskId) -> Option<String> {
    let file = find(workspace, other)
        .and_then(|(snapshot, _)| parse(in_force, other, &snapshot.path, &snapshot.bytes, workspace.now()));
    let task = match file {
        Ok(file) => file.task,
        Err(error) => return Some(format!("it is not handed out before `{other}` is complete, and {error}")),
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

fn because(task: &Task) -> Vec<String> {
    let mut list = vec![arrival(task)];
    match task.status {
        Status::Blocked => list.extend(task.blockers.iter().map(|blocker| format!("it is blocked: {blocker}"))),
        Status::InProgress => {
            list.extend(task.routing.agent.as_ref().map(|agent| format!("`{agent}` has claimed it")));
        }
        Status::Ready if task.gate.is_some() => list.push("nobody has claimed it".to_owned()),
        Status::Ready | Status::Complete | Status::Failed | Status::Cancelled => {}
    }
    if let Some(review) = &task.review {
        let who = review.from_agent.as_ref().map_or_else(|| "a reviewer".to_owned(), |agent| format!("`{agent}`"));
        let count = review.blockers.len();
        let things = if count == 1 { "one thing".to_owned() } else { format!("{count} things") };
        list.push(format!("{who} at gate `{}` wants {things} settled", review.from_gate));
    }
    list
}

fn arrival(task: &Task) -> String {
    let Some(last) = task.history.last() else {
        return match &task.gate {
            Some(open) => format!("it was created at {} and began at gate `{}`", task.created, open.current),
            None => "nobody has taken it up yet: it has no gate".to_owned(),
        };
    };
    let who = last.agent.as_ref().map_or_else(|| "somebody".to_owned(), |agent| format!("`{agent}`"));
    let at = last.exited;
    match (&last.outcome, &last.to) {
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
            format!("{who} ended gate `{}` with `{outcome}` at {at}, which led to `{to}`", last.gate)
        }
        (Ending::Override, Some(to)) => format!("{who} moved it to `{to}` at {at}: {}", last.summary),
        (Ending::Reopened, Some(to)) => format!("{who} took it up again at `{to}` at {at}: {}", last.summary),
        (Ending::Cancelled, _) => format!("{who} called it off at {at}: {}", last.summary),
        (outcome, _) => format!("{who} ended gate `{}` with `{outcome}` at {at}", last.gate),
    }
}
