//! A completion, from any door.

use std::time::Duration;

use serde_json::json;
use tracing::warn;

use crate::domain::{Completion, Event, EventId, Occurrence, Subject, TaskId};
use crate::files::completion_file::front_of;
use crate::files::event::line::{self, event_line};
use crate::files::event::render::event_value;
use crate::files::task_file::Origin;
use crate::project::active_rules::in_force;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::project::workspace::agent_author;
use crate::rules::{Act, Refusal, ToSign, branch_of, decide, rehearse};
use crate::storage::EventStream;
use crate::tasks::actions::decided;
use crate::tasks::apply::{NextStep, Planned, apply, apply_together, planned};
use crate::tasks::headers::list::held_by;
use crate::tasks::plan::{Changed, DryRun, first_due_step};
use crate::tasks::state::task_state::TaskState;

/// Adds a text to a completion. Frontmatter in it that says the verdict speaks of the outputs, too; what was said outside
/// counts.
pub fn add_text(completion: &mut Completion, text: String) {
    let Some((said, body)) = front_of(&text) else {
        completion.body = Some(text);
        return;
    };
    for (key, value) in said {
        completion.outputs.entry(key).or_insert(value);
    }
    completion.body = Some(body);
}

/// Notes in which run of an agent the completion was made; what an agent says of it itself does not count.
pub fn note_run(completion: &mut Completion, run: &str) {
    completion.metadata.insert("run".to_owned(), json!({"id": run, "verdict": "own"}));
}

/// Ends the visit that the completion means. Without a ticket that is the one open when the task is first read: of two
/// completions of one visit the second is a conflict, not a completion of the next. At a fork the same is true of a branch; two
/// completions of two branches both count, whichever is first. What is only shown need not be signed yet. If the completion had counted
/// before, the change is the task as it stands.
pub fn complete(
    workspace: &Workspace,
    completion: &Completion,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    let is_signed = dry_run == DryRun::No;
    let outcome = complete_bound(workspace, &mut completion.clone(), is_signed, dry_run);
    if let Err(ProjectError::Refused(refusal)) = &outcome
        && dry_run == DryRun::No
        && let Err(error) = leave_conflict(workspace, refusal, completion.id.as_str())
    {
        // Whoever was late is told in any case.
        warn!("the event stream misses that a completion came too late: {error}");
    }
    outcome
}

/// Completes different tasks, as many as can in one move of the branch. `each` is told what became of which. Those it is not told of
/// when there is trouble that all would meet have not been tried.
pub(crate) fn complete_together(
    workspace: &mut Workspace,
    wait: Duration,
    completions: &mut [Completion],
    each: &mut dyn FnMut(usize, Result<Changed, ProjectError>),
) -> Result<(), ProjectError> {
    let tasks: Vec<TaskId> =
        completions.iter().map(|completion| completion.ticket.task.clone()).collect();
    workspace.restart_wait(wait);
    apply_together(
        workspace,
        &tasks.iter().collect::<Vec<_>>(),
        DryRun::No,
        &mut |workspace, place, state| {
            let completion = &mut completions[place];
            next_step(workspace, state, completion, true)
                .map_err(|error| point_to_own_task(workspace, completion, error))
        },
        &mut |place, result| {
            if let Some(result) = result.transpose() {
                each(place, result);
            }
        },
    )
}

/// Returns what its agent has to sign of the completion; nothing where org.yaml wants no signature. Refuses what would be refused
/// of a signed one.
pub(crate) fn to_sign(
    workspace: &Workspace,
    completion: &Completion,
) -> Result<Option<ToSign>, ProjectError> {
    let mut unsigned = Completion { signature: None, ..completion.clone() };
    match complete_bound(workspace, &mut unsigned, true, DryRun::Yes) {
        Err(ProjectError::Refused(Refusal::Signature(wanted))) => Ok(Some(*wanted)),
        Err(error) => Err(error),
        Ok(_) => Ok(None),
    }
}

/// Returns what a completion file would come to that is taken now; nothing is written, and what would keep it from being committed is
/// not looked for.
pub(crate) fn would_complete(
    workspace: &Workspace,
    completion: &Completion,
) -> Result<Planned, ProjectError> {
    let (id, mut completion) = (&completion.ticket.task, completion.clone());
    let planned =
        planned(workspace, id, &mut |state| next_step(workspace, state, &mut completion, true))?;
    planned.ok_or_else(|| ProjectError::Restless { id: id.clone() })
}

/// `is_signed` says whether the completion has to have its signature by now, if it needs one.
fn complete_bound(
    workspace: &Workspace,
    completion: &mut Completion,
    is_signed: bool,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    let id = completion.ticket.task.clone();
    let mut decide = |state: &mut TaskState| next_step(workspace, state, completion, is_signed);
    let changed = apply(workspace, &id, dry_run, &mut decide);
    let changed = changed.map_err(|error| point_to_own_task(workspace, completion, error))?;
    changed.ok_or(ProjectError::Restless { id })
}

/// Decides a completion of a task that nobody froze. It counts for the visit that is open when the task is first read.
fn next_step(
    workspace: &Workspace,
    state: &TaskState,
    completion: &mut Completion,
    is_signed: bool,
) -> Result<NextStep, ProjectError> {
    state.ensure_unfrozen()?;
    let first = first_due_step(workspace, state)?;
    if first.is_none() || state.file.origin == Origin::Adopted {
        bind(completion, state);
    }
    if let Some(first) = first {
        return Ok(NextStep::First(first));
    }
    let (rules, task) = (&state.in_force.rules, &state.file.task);
    let author = agent_author(&rules.org, &completion.agent)?;
    let act = Act::Complete(completion.clone());
    let decision = if is_signed {
        decide(rules, task, &act, workspace.now())?
    } else {
        rehearse(rules, task, completion, workspace.now())?
    };
    Ok(NextStep::Do(decided(state, &act, decision, author)))
}

/// Has a completion without a ticket mean the visit that is open, and its agent's branch of a fork; unless it has counted already.
fn bind(completion: &mut Completion, state: &TaskState) {
    let task = &state.file.task;
    let mut counted = task.history.iter().filter_map(|visit| visit.completion.as_ref());
    if counted.any(|stamp| stamp.id == completion.id) {
        return;
    }
    let open = task.gate.as_ref().map(|open| open.visit);
    completion.ticket.visit = completion.ticket.visit.or(open);
    // Whatever else is said at a fork meanwhile, this stays the same branch.
    if completion.ticket.branch.is_none() && completion.ticket.visit == open {
        completion.ticket.branch = branch_of(&state.in_force.rules, task, &completion.agent);
    }
}

/// Whoever completes somebody else's task while holding one of its own has mixed them up (spec 1, 9.6).
fn point_to_own_task(
    workspace: &Workspace,
    completion: &Completion,
    error: ProjectError,
) -> ProjectError {
    let ProjectError::Refused(
        refusal @ (Refusal::WrongRole { .. }
        | Refusal::NotYourBranch { .. }
        | Refusal::AssignedToAnother { .. }),
    ) = error
    else {
        return error;
    };
    let attempted = &completion.ticket.task;
    match held_by(workspace, &completion.agent) {
        Ok(Some(assigned)) if assigned != *attempted => {
            let role = matches!(refusal, Refusal::WrongRole { .. }).then(|| Box::new(refusal));
            Refusal::WrongTask { assigned, attempted: attempted.clone(), role }.into()
        }
        _ => refusal.into(),
    }
}

/// Leaves the event of a completion that came after another one of the same visit. `delivery` tells repeated refusals apart.
pub(crate) fn leave_conflict(
    workspace: &Workspace,
    refusal: &Refusal,
    delivery: &str,
) -> Result<(), ProjectError> {
    let Refusal::VisitEnded { ticket, gate, agent: Some(loser), winner, .. } = refusal else {
        return Ok(());
    };
    let project = in_force(workspace, &workspace.repository.look()?)?.rules.project.name.clone();
    let task = TaskState::read(workspace, &ticket.task)?.file.task;
    let event = Event::Conflict {
        gate: gate.clone(),
        winning_agent: winner.clone(),
        losing_agent: loser.clone(),
    };
    let subject =
        Some(Subject { task: task.id, title: task.title, workflow: task.routing.workflow });
    let at = event.moment().unwrap_or_else(|| workspace.now());
    let mark = format!("conflict {ticket} {delivery}");
    leave(workspace, &mark, Occurrence { at, project, subject, event })
}

/// Leaves an event that is in no commit; the same mark is the same event.
pub(crate) fn leave(
    workspace: &Workspace,
    mark: &str,
    mut occurrence: Occurrence,
) -> Result<(), ProjectError> {
    // A project without a name is called by its folder.
    occurrence.project = occurrence.project.or_else(|| workspace.paths.folder_name());
    let id = EventId::of(mark);
    let line = event_line(event_value(&occurrence), line::Origin::Nowhere(&id));
    Ok(EventStream::of(&workspace.paths).leave(&id, &line)?)
}
