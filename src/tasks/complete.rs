//! Completions from the command line, MCP, the runner and the inbox; and their signatures.
//!
//! A completion is signed before any lock is taken, because a person may take long to enter a passphrase.

mod signature;
mod work;

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tracing::warn;

use signature::{needs_signature, sign};
use work::note_work;

use crate::domain::{
    Completion, CompletionContent, CompletionId, Event, EventId, EventTask, Occurrence,
    ReplyFields, TaskId,
};
use crate::files::completion_file;
use crate::files::completion_file::{STATUS, Syntax, front_of, signed_file};
use crate::files::diagnostic::Diagnostic;
use crate::files::event::line::{self, event_line};
use crate::files::event::render::event_value;
use crate::files::task_file::Origin;
use crate::git::PromptPlace;
use crate::project::active_rules::in_force;
use crate::project::error::ProjectError;
use crate::project::workspace::{Workspace, agent_author};
use crate::rules::{
    Act, Decision, Refusal, ToSign, Workplace, branch_of, decide, refuse_other_gate,
    refuse_repeated, rehearse,
};
use crate::storage::runs::Runs;
use crate::storage::{EventStream, Paths};
use crate::system::process::Secrets;
use crate::tasks::actions::choice_of_decision;
use crate::tasks::apply::{DryRunPlan, NextStep, apply, apply_together, plan_dry_run};
use crate::tasks::headers::children;
use crate::tasks::headers::list::task_held_by;
use crate::tasks::other_worktrees::{ensure_free_elsewhere, lock_claims};
use crate::tasks::plan::{Changed, Choice, DryRun, first_due_step};
use crate::tasks::publish::secrets_of;
use crate::tasks::state::acceptance::run_checks;
use crate::tasks::state::task_state::TaskState;

/// Adds a text to a completion. The gate decides whether its frontmatter has outputs, but a `$status` is always one.
pub fn add_text(completion: &mut Completion, text: String) {
    completion.content.fields = front_of(&text).map(Box::new);
    completion.content.body = Some(text);
    if let Some((key, status)) =
        completion.content.fields.as_mut().and_then(|head| head.fields.shift_remove_entry(STATUS))
    {
        completion.content.outputs.entry(key).or_insert(status);
    }
}

/// Records the agent run that made the completion. Overwrites the value that the agent itself gave.
pub(crate) fn note_run(paths: &Paths, completion: &mut Completion, run: &str) {
    let value = Runs::at(paths).own_run(&completion.ticket.task, run);
    completion.content.metadata.insert("run".to_owned(), value);
}

/// Records the session of the sender. A session that the completion itself names does not count.
pub fn note_session(completion: &mut Completion, session: Option<&str>) {
    completion.content.metadata.shift_remove("session");
    if let Some(session) = session {
        completion.content.metadata.insert("session".to_owned(), json!(session));
    }
}

/// Completes the visit that the ticket names; without a visit, the one that is open when the task is first read. So of two completions of
/// one visit, the second is a conflict, and never completes the next visit. The same holds for a branch of a fork. A dry run needs no
/// signature. Repeating a completion that counted returns the task unchanged.
pub fn complete(
    workspace: &Workspace,
    completion: &Completion,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    complete_recorded(workspace, &mut completion.clone(), dry_run)
}

/// Completes the visit, and stores in `completion` the values that were looked up for it.
fn complete_recorded(
    workspace: &Workspace,
    completion: &mut Completion,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    let outcome = complete_checked(workspace, completion, dry_run == DryRun::No, dry_run);
    if let Err(ProjectError::Refused(refusal)) = &outcome
        && dry_run == DryRun::No
        && let Err(error) = record_conflict(workspace, refusal, completion.id.as_str())
    {
        // The agent gets the refusal in any case.
        warn!("the event stream lacks the conflict of a late completion: {error}");
    }
    outcome
}

/// Completes the visit, and binds `completion` to it. If its gate has checks, they run first: before any lock, since they may take long.
/// `is_signed`: a missing signature is refused.
pub(crate) fn complete_checked(
    workspace: &Workspace,
    completion: &mut Completion,
    is_signed: bool,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    note_work(workspace, completion, dry_run)?;
    let mut outcome = {
        let _claims = lock_claims(workspace, dry_run)?;
        complete_bound(workspace, completion, is_signed, dry_run)
    };
    for _ in 0..ATTEMPTS {
        let Err(ProjectError::Refused(Refusal::ChecksDue { task, checks, .. })) = &outcome else {
            break;
        };
        let secrets = secrets_of(&workspace.rules()?.rules);
        let found = run_checks(workspace, task, checks, &secrets)?;
        (completion.facts.checks, completion.facts.failures) = found;
        let workspace = workspace.reopened_with_full_wait()?;
        let _claims = lock_claims(&workspace, dry_run)?;
        outcome = complete_bound(&workspace, completion, is_signed, dry_run);
    }
    outcome
}

/// Completes different tasks, as many as possible in one move of the branch. `receive` gets the result of each. Fails with an error that
/// all would have; completions without a result were not tried then.
pub(crate) fn complete_together(
    workspace: &mut Workspace,
    wait: Duration,
    completions: &mut [Completion],
    receive: &mut dyn FnMut(usize, Result<Changed, ProjectError>),
) -> Result<(), ProjectError> {
    let tasks: Vec<TaskId> =
        completions.iter().map(|completion| completion.ticket.task.clone()).collect();
    workspace.restart_wait(wait);
    let mut unsettled: Vec<Option<ProjectError>> = completions
        .iter_mut()
        .map(|completion| note_work(workspace, completion, DryRun::No).err())
        .collect();
    let _claims = lock_claims(workspace, DryRun::No)?;
    apply_together(
        workspace,
        &tasks.iter().collect::<Vec<_>>(),
        DryRun::No,
        &mut |workspace, place, state| {
            if let Some(error) = unsettled[place].take() {
                return Err(error);
            }
            let completion = &mut completions[place];
            next_step(workspace, state, completion, true)
                .map_err(|error| point_to_own_task(workspace, completion, error))
        },
        &mut |place, result| {
            if let Some(result) = result.transpose() {
                receive(place, result);
            }
        },
    )
}

/// Binds a completion to the visit that it would count for now, even if its task is not adopted yet.
pub(crate) fn bind_now(workspace: &Workspace, completion: &mut Completion) {
    let id = completion.ticket.task.clone();
    // A refusal does not matter here: the delivery reports it.
    let _ =
        plan_dry_run(workspace, &id, &mut |state| next_step(workspace, state, completion, false));
}

/// Plans the completion of a completion file. Writes nothing, and does not check whether the change could be committed.
pub(crate) fn plan_completion(
    workspace: &Workspace,
    completion: &Completion,
) -> Result<DryRunPlan, ProjectError> {
    let (id, mut completion) = (&completion.ticket.task, completion.clone());
    let planned = plan_dry_run(workspace, id, &mut |state| {
        next_step(workspace, state, &mut completion, true)
    })?;
    planned.ok_or_else(|| ProjectError::Contended { id: id.clone() })
}

/// Completes the visit, and binds `completion` to it. `is_signed`: a missing signature is refused.
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
    changed.ok_or(ProjectError::Contended { id })
}

/// Decides a completion, and binds it to the visit that is open when the task is first read. Fails if the task is frozen.
fn next_step(
    workspace: &Workspace,
    state: &TaskState,
    completion: &mut Completion,
    is_signed: bool,
) -> Result<NextStep, ProjectError> {
    state.ensure_unfrozen()?;
    mask_secrets(&secrets_of(&state.in_force.rules), &mut completion.content);
    let first = first_due_step(workspace, state)?;
    let names_visit = completion.names_visit();
    if first.is_none() || state.file.origin == Origin::Adopted {
        bind_to_open_visit(completion, state)?;
    }
    if let Some(first) = first {
        // Completions that were sent before the adoption are for the visit that it opens.
        if let Choice::Step { step, .. } = &first
            && state.file.origin == Origin::HandMade
            && !names_visit
            && Workplace::of(&state.in_force.rules, &step.task).is_some()
        {
            completion.ticket.visit = step.task.gate.as_ref().map(|open| open.visit);
        }
        return Ok(NextStep::First(first));
    }
    let (rules, task) = (&state.in_force.rules, &state.file.task);
    let author = agent_author(&rules.org, &completion.agent)?;
    completion.facts.children = children::awaited(workspace, state)?;
    let act = Act::Complete(completion.clone());
    let decision = if is_signed {
        decide(rules, task, &act, workspace.now())?
    } else {
        rehearse(rules, task, completion, workspace.now())?
    };
    // If the text decides the outcome, it is known only now.
    if let Decision::Step(step) = &decision
        && let Some(entry) = step.task.history.get(task.history.len()).filter(|_| !names_visit)
    {
        refuse_repeated(rules, task, &completion.agent, &entry.outcome.to_string())?;
    }
    if matches!(decision, Decision::Step(_)) {
        ensure_free_elsewhere(workspace, state, completion.ticket.branch.as_ref())?;
    }
    Ok(NextStep::Do(choice_of_decision(workspace, state, &act, decision, author)))
}

/// Masks the secrets in all texts of a completion, from any door. Masking a second time changes nothing.
pub(crate) fn mask_secrets(secrets: &Secrets, content: &mut CompletionContent) {
    if secrets.is_empty() {
        return;
    }
    // The outcome is a word that the gate knows.
    let CompletionContent {
        outcome: _,
        summary,
        blockers,
        rejection_notes,
        outputs,
        metadata,
        body,
        fields,
    } = content;
    if let Some(ReplyFields { fields, fault, length }) = fields.as_deref_mut() {
        *fields = secrets.masked_map(std::mem::take(fields));
        *fault = fault.as_deref().map(|fault| secrets.masked_text(fault));
        // The body will begin with the masked frontmatter.
        let front = body.as_deref().and_then(|body| body.get(..*length));
        *length = front.map_or(0, |front| secrets.masked_text(front).len());
    }
    let texts = [summary, rejection_notes, body].into_iter().flatten();
    for text in texts.chain(blockers.iter_mut().flatten()) {
        *text = secrets.masked_text(text);
    }
    for map in [outputs, metadata] {
        *map = secrets.masked_map(std::mem::take(map));
    }
}

/// Sets visit and branch of a completion that names none, unless the completion has counted already. Fails if the sender names another
/// gate, or repeats its last completion without naming anything.
fn bind_to_open_visit(completion: &mut Completion, state: &TaskState) -> Result<(), Refusal> {
    let (rules, task) = (&state.in_force.rules, &state.file.task);
    let mut counted = task.history.iter().filter_map(|visit| visit.completion.as_ref());
    if counted.any(|stamp| stamp.id == completion.id) {
        return Ok(());
    }
    let open = task.gate.as_ref().map(|open| open.visit);
    let meant = completion.ticket.visit;
    if meant.is_none() || completion.facts.is_bound && meant == open {
        let status = completion.content.outputs.get("$status").and_then(|status| status.as_str());
        if let Some(gate) = &completion.gate {
            refuse_other_gate(rules, task, &completion.agent, gate)?;
        } else if let Some(outcome) = completion.content.outcome.as_deref().or(status) {
            refuse_repeated(rules, task, &completion.agent, outcome)?;
        }
        completion.ticket.visit = open;
    }
    // The branch is fixed here, so that later completions of other branches do not change it.
    if completion.ticket.branch.is_none() && completion.ticket.visit == open {
        completion.ticket.branch = branch_of(rules, task, &completion.agent);
    }
    Ok(())
}

/// Converts a refusal of another agent's task: an agent that holds another task has mixed them up (spec 1, 9.6).
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
    match task_held_by(workspace, &completion.agent) {
        Ok(Some(assigned)) if assigned != *attempted => {
            let role = matches!(refusal, Refusal::WrongRole { .. }).then(|| Box::new(refusal));
            Refusal::WrongTask { assigned, attempted: attempted.clone(), role }.into()
        }
        _ => refusal.into(),
    }
}

/// Records the event of a completion that arrived after another one of the same visit. The same `delivery` is recorded once.
pub(crate) fn record_conflict(
    workspace: &Workspace,
    refusal: &Refusal,
    delivery: &str,
) -> Result<(), ProjectError> {
    let Refusal::VisitEnded { ticket, gate, agent: Some(loser), winner, .. } = refusal else {
        return Ok(());
    };
    let project =
        in_force(workspace, &workspace.repository.head_for_reading()?)?.rules.project.name.clone();
    let task = TaskState::read(workspace, &ticket.task)?.file.task;
    let event = Event::Conflict {
        gate: gate.clone(),
        winning_agent: winner.clone(),
        losing_agent: loser.clone(),
    };
    let subject =
        Some(EventTask { task: task.id, title: task.title, workflow: task.routing.workflow });
    let at = event.moment().unwrap_or_else(|| workspace.now());
    let mark = format!("conflict {ticket} {delivery}");
    record_event(workspace, &mark, Occurrence { at, project, subject, event })
}

/// Records an event that no commit contains. The same mark is the same event, and recorded once.
pub(crate) fn record_event(
    workspace: &Workspace,
    mark: &str,
    mut occurrence: Occurrence,
) -> Result<(), ProjectError> {
    // A project without a name is called by its folder.
    occurrence.project = occurrence.project.or_else(|| workspace.paths.folder_name());
    let id = EventId::new(mark);
    let line = event_line(event_value(&occurrence), line::EventOrigin::Nowhere(&id));
    Ok(EventStream::at(&workspace.paths).leave(&id, &line)?)
}

/// The number of times that a completion is signed again because the rules changed meanwhile.
const ATTEMPTS: usize = 5;

/// The settings for signing completions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signing<'f> {
    /// The key file; without it, git's signing key or a key of the ssh agent.
    pub key_file: Option<&'f Path>,
    /// The place where a person is asked for the passphrase.
    pub asking: PromptPlace,
}

/// Completes the visit. Signs the completion first if org.yaml requires a signature and it has none; then it can count only for the visit
/// that it was signed for.
pub(crate) fn complete_signed(
    workspace: &Workspace,
    completion: &Completion,
    signing: Signing<'_>,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    let mut completion = completion.clone();
    if completion.signature.is_some() {
        return complete(workspace, &completion, dry_run);
    }
    let mut signed = None;
    let mut done = complete_recorded(workspace, &mut completion, dry_run);
    for _ in 0..ATTEMPTS {
        match done {
            Err(ProjectError::Refused(Refusal::Signature(wanted)))
                if needs_signature(&wanted, signed.as_deref()) =>
            {
                completion.ticket = wanted.ticket.clone();
                completion.signature = Some(sign(workspace, &wanted, signing)?);
                let workspace = workspace.reopened_with_full_wait()?;
                done = complete_recorded(&workspace, &mut completion, dry_run);
                signed = Some(wanted.text);
            }
            done => return done,
        }
    }
    done
}

/// Returns the text that the agent must sign. Fails if the signed completion would be refused, or if it needs no signature.
pub(crate) fn what_to_sign(
    workspace: &Workspace,
    completion: &Completion,
) -> Result<ToSign, ProjectError> {
    let mut unsigned = Completion { signature: None, ..completion.clone() };
    let agent = &completion.agent;
    match complete_checked(workspace, &mut unsigned, true, DryRun::Yes) {
        Err(ProjectError::Refused(Refusal::Signature(wanted))) => Ok(*wanted),
        Err(error) => Err(error),
        Ok(_) => Err(ProjectError::Unfit {
            code: "no_signing_key",
            problem: format!(
                "`{agent}` need not sign: the committed org.yaml has no `signingKey` of it"
            ),
            fix: format!(
                "complete without a signature, or have a key committed: `agents: {{{agent}: {{signingKey: \"ssh-ed25519 ..\"}}}}`"
            ).into(),
        }),
    }
}

/// Parses a completion file; `id` is used if the file has none.
pub(crate) fn parse_completion(
    name: &str,
    bytes: &[u8],
    id: &CompletionId,
) -> Result<(Completion, Syntax), ProjectError> {
    let unreadable = |problem: String| ProjectError::Unfit {
        code: "unreadable_completion",
        problem,
        fix: "fix the file; `aof schema completion` says what it may have".into(),
    };
    let Some(syntax) = Syntax::of(name) else {
        return Err(unreadable(format!(
            "`{name}` is not named as completion files are: `*.yaml`, `*.json` or `*.md`"
        )));
    };
    let completion = completion_file::parse(bytes, syntax, id).map_err(|faults| {
        let text = String::from_utf8_lossy(bytes);
        let diagnostics = Diagnostic::from_faults(name, &text, &faults);
        let lines = diagnostics
            .iter()
            .map(|one| format!("{}:{}:{}: {}", one.file, one.line, one.column, one.message));
        unreadable(lines.collect::<Vec<_>>().join("\n"))
    })?;
    Ok((completion, syntax))
}

/// Signs a completion file for the visit that is open now. Returns the completion, and the file with the signature.
pub(crate) fn sign_file(
    workspace: &Workspace,
    name: &str,
    bytes: &[u8],
    id: &CompletionId,
    signing: Signing<'_>,
) -> Result<(Completion, Vec<u8>), ProjectError> {
    let (completion, syntax) = parse_completion(name, bytes, id)?;
    let wanted = what_to_sign(workspace, &completion)?;
    let signature = Some(sign(workspace, &wanted, signing)?);
    let signed = Completion { ticket: wanted.ticket, signature, ..completion };
    let file = signed_file(bytes, syntax, &signed).ok_or_else(|| ProjectError::Unfit {
        code: "unsafe_change",
        problem: format!("the signature cannot be written into `{name}` and leave it what it is"),
        fix: "write the file more plainly, with one key a line".into(),
    })?;
    Ok((signed, file))
}
