//! Completions: checks one, and turns it into the entry that ends the visit.

use super::claims;
use super::fold::{self, arrive, not_looping};
use super::guards;
use super::reply::{fill_from_text, first_line, reading, take_fields, text, verdict};
use super::visit::{Transition, check_ticket};
use crate::act::{Act, Decision, Warning, WorkflowStep};
use crate::outputs::{check_at, example, leave_out_undeclared, shape_of};
use crate::refusal::Refusal;
use crate::routing::workplace::{Workplace, check_separate_session, may_complete};
use crate::routing::{fork, loops, route};
use crate::verdict::STATUS;
use crate::workflow::rules::Rules;
use aof_domain::{
    BODY_LIMIT, Completion, CompletionContent, Ending, Event, Fork, GateId, GateKind, Map,
    OpenVisit, Outcome, SUSPEND, Stamp, Status, Task, TroubleAction, Visit, Work, Workflow,
};

/// Decides a completion. `stamp` identifies it in the history; its time is never before the beginning of the visit.
pub(crate) fn complete(
    transition: &Transition<'_>,
    completion: &Completion,
    stamp: Stamp,
) -> Result<Decision, Refusal> {
    let Transition { rules, task, .. } = *transition;
    if let Some(visit) = redelivered(task, &stamp)? {
        return Ok(Decision::Settled { visit });
    }
    let meant = check_ticket(task, &completion.ticket, Some(&completion.agent));
    if let Err(ended @ Refusal::VisitEnded { .. }) = meant {
        return Err(ended);
    }
    let open = transition.open()?;
    meant?;
    let (workflow, index) = transition.gate(open)?;
    let branch = fork::find_branch(rules, task, &completion.ticket, &completion.agent)?;
    let workplace = transition.workplace(open, branch.as_ref())?;
    not_looping(rules, task)?;
    if loops::has_no_list(task) {
        let ticket = task.ticket_of(branch.as_ref()).without_visit();
        return Err(Refusal::Blocked { ticket, blockers: task.blockers.clone() });
    }
    if open.held.is_some() {
        return Err(transition.held());
    }
    may_complete(rules, task, &workplace, &completion.agent).map_err(|refusal| {
        claims::too_late(task, &workplace, &completion.agent).unwrap_or(refusal)
    })?;
    check_separate_session(task, &workplace, completion)?;
    let Interpreted { outcome, completion, warnings } =
        interpret(rules, workflow, task, &workplace, completion)?;
    let mut visit = entry(&workplace, open, &completion, stamp, outcome.clone());
    visit.children.clone_from(&completion.facts.children);
    visit.checks.clone_from(&completion.facts.checks);
    visit.work.clone_from(&completion.facts.work);
    visit.landed.clone_from(&completion.facts.landed);
    let ended = match workflow.gates[index].fork().zip(branch) {
        Some((fork, id)) => record_branch_verdict(rules, task, fork, &id, &outcome, &mut visit),
        None => Some(outcome),
    };
    let mut step = end_visit(
        transition,
        workflow,
        index,
        ended.as_ref(),
        visit,
        completion.content.body.as_deref(),
    );
    if let Some(entry) = step.task.history.get(task.history.len()) {
        guards::check_children(task, entry)?;
        guards::check_results(workflow, index, task, entry, &completion.facts)?;
    }
    step.warnings.splice(0..0, warnings);
    Ok(step.into())
}

/// Refuses a completion whose text contradicts its outcome. The history keeps no text, so a replay does not check this.
pub(crate) fn check_text_agrees(
    rules: &Rules,
    task: &Task,
    completion: &Completion,
) -> Result<(), Refusal> {
    let branch = fork::find_branch(rules, task, &completion.ticket, &completion.agent)?;
    match Workplace::find(rules, task, branch.as_ref()) {
        Some(workplace) => check_contradiction(&workplace, completion),
        None => Ok(()),
    }
}

/// Lets an automatic gate decide.
pub(crate) fn pass(transition: &Transition<'_>) -> Result<WorkflowStep, Refusal> {
    let Transition { rules, task, .. } = *transition;
    let open = transition.open()?;
    let (workflow, index) = transition.gate(open)?;
    let gate = &workflow.gates[index];
    let void = fork::is_void(gate, open);
    let joined = fork::join_unprompted(rules, task, gate);
    if gate.kind != GateKind::Condition && !void && joined.is_none() {
        return Err(Refusal::NotAutomatic { task: task.id.clone(), gate: gate.id.clone() });
    }
    not_looping(rules, task)?;
    let mut trouble = Vec::new();
    let mut blockers = Vec::new();
    let (outcome, summary) = if void {
        (Outcome::Complete, "No branch applies".to_owned())
    } else if let Some((join, _)) = &joined {
        (fork::joined_outcome(*join), "Nobody is left who could say more".to_owned())
    } else {
        let (holds, met) = route::judgement(rules, workflow, gate, task);
        trouble = met;
        let when = gate.when.as_deref().unwrap_or_default();
        // If the condition is unknown, either route could be wrong.
        if let Some(trouble) = trouble.first_mut() {
            trouble.action = TroubleAction::Block;
            let what = format!("The condition cannot be evaluated: {}: {when}", trouble.error);
            blockers.push(what.clone());
            (Outcome::Blocked, what)
        } else {
            let outcome = route::decision(holds);
            let summary = format!("The condition is {outcome}: {when}");
            (outcome, summary)
        }
    };
    let (join, unfinished) = joined.unzip();
    let unfinished = unfinished.unwrap_or_default();
    let visit = Visit {
        join,
        unfinished,
        summary,
        blockers,
        ..Visit::ended(open, Ending::Completed(outcome.clone()))
    };
    let mut step = end_visit(transition, workflow, index, Some(&outcome), visit, None);
    step.met(trouble);
    Ok(step)
}

/// Returns whether the task is at an automatic gate and can go on: then `Act::Pass` is due.
pub fn passes_by_itself(rules: &Rules, task: &Task) -> bool {
    let can_go_on = matches!(task.status, Status::Ready | Status::InProgress);
    let Some(open) = task.gate.as_ref().filter(|_| can_go_on) else { return false };
    let gate = rules.workflow_of(task).and_then(|workflow| workflow.gate(&open.current));
    gate.is_some_and(|(_, gate)| {
        gate.kind == GateKind::Condition
            || fork::is_void(gate, open)
            || fork::join_unprompted(rules, task, gate).is_some()
    })
}

/// Records the branch and its verdict in the entry. Returns the outcome of the fork; `None` while other branches are open.
fn record_branch_verdict(
    rules: &Rules,
    task: &Task,
    fork: &Fork,
    id: &GateId,
    outcome: &Outcome,
    visit: &mut Visit,
) -> Option<Outcome> {
    let verdict = fork.branch(id).map(|(_, branch)| branch.verdict(outcome))?;
    visit.entered =
        task.gate.as_ref().map_or(visit.entered, |open| fork::branch_entered(task, open, id));
    let part = task.gate.as_ref().and_then(|open| open.branch(id));
    visit.overdue = part.and_then(|part| part.overdue);
    visit.branch = Some(id.clone());
    visit.verdict = Some(verdict);
    let (join, unfinished) = fork::join_after(rules, task, fork, id, verdict)?;
    visit.join = Some(join);
    visit.unfinished = unfinished;
    visit.gate_outcome().cloned()
}

/// Returns the visit that the completion ended before, if it was delivered before.
fn redelivered(task: &Task, stamp: &Stamp) -> Result<Option<usize>, Refusal> {
    let known = |entry: &Visit| entry.completion.as_ref().is_some_and(|known| known.id == stamp.id);
    let Some(visit) = task.history.iter().position(known) else { return Ok(None) };
    if task.history[visit].completion.as_ref() == Some(stamp) {
        return Ok(Some(visit));
    }
    Err(Refusal::CompletionReused { id: stamp.id.clone(), task: task.id.clone(), visit })
}

/// Ends the visit with the gate's outcome, which is `None` while other branches are open: finds the route, and moves the task by
/// the entry.
fn end_visit(
    transition: &Transition<'_>,
    workflow: &Workflow,
    index: usize,
    ended: Option<&Outcome>,
    mut visit: Visit,
    text: Option<&str>,
) -> WorkflowStep {
    let Transition { rules, task, now } = *transition;
    visit.exited = now.max(task.latest());
    visit.workflow = rules.hash(&workflow.name).map(str::to_owned);
    let mut after = task.clone();
    let mut trouble = Vec::new();
    if let Some(outcome) = ended {
        after.history.push(visit.clone());
        let passage = route::route(rules, workflow, task, &after.history, index, outcome);
        after.history.pop();
        visit.to = Some(passage.to);
        visit.to_item = passage.item;
        visit.round = passage.round;
        visit.skipped = passage.skipped;
        visit.cleared = passage.cleared;
        visit.retry = passage.retry;
        visit.escalated_to = passage.escalated_to;
        trouble = passage.trouble;
    }
    if !guards::counts_children(workflow, index, &visit) {
        visit.children.clear();
    }
    visit.checks = guards::counted_checks(workflow, index, &visit, &visit.checks);
    let mut step = WorkflowStep::silent(after);
    step.events.extend(visit.skipped.iter().map(|gate| Event::Skipped { gate: gate.clone() }));
    let vague_blockers = vague(&visit.blockers);
    if !vague_blockers.is_empty() {
        step.warnings.push(Warning::VagueBlockers { vague_blockers });
    }
    step.met(trouble);
    step.work = text.filter(|text| !text.trim().is_empty()).map(|text| Work {
        ticket: task.ticket_of(visit.branch.as_ref()),
        gate: visit.station(),
        agent: visit.agent.clone(),
        at: visit.exited,
        text: text.to_owned(),
    });
    fold::apply(rules, &mut step.task, visit);
    arrive(rules, step)
}

fn entry(
    workplace: &Workplace<'_>,
    open: &OpenVisit,
    completion: &Completion,
    stamp: Stamp,
    outcome: Outcome,
) -> Visit {
    Visit {
        role: Some(workplace.role.clone()),
        agent: Some(completion.agent.clone()),
        completion: Some(stamp),
        signature: completion.signature.clone(),
        ..Visit::ended(open, Ending::Completed(outcome)).saying(&completion.content)
    }
}

/// The longest summary, note or blocker of an entry, in bytes.
pub(crate) const TEXT_LIMIT: usize = 16 * 1024;

/// The limit for outputs, metadata, and all blockers together, in bytes: entries stay for ever, and frontmatter has a limit.
pub(crate) const OBJECT_LIMIT: usize = 32 * 1024;

/// Returns the outcome of the completion at the gate. Fails if it has no valid one.
fn outcome_at(
    rules: &Rules,
    workplace: &Workplace<'_>,
    default: &Outcome,
    completion: &Completion,
) -> Result<Outcome, Refusal> {
    let valid = workplace.outcomes(rules);
    let gate = workplace.station();
    let word = match completion.content.outcome.as_deref() {
        Some(word) => word,
        None if workplace.judges() => return Err(Refusal::MissingOutcome { gate, valid }),
        None => default.as_str(),
    };
    if let Some(outcome) = valid.iter().find(|outcome| outcome.is_meant_by(word)) {
        return Ok(outcome.clone());
    }
    Err(match word.parse() {
        Ok(Outcome::Skip) => {
            Refusal::SkipNotAllowed { gate, human: workplace.requires_human(rules), valid }
        }
        Ok(Outcome::NeedsReview) => Refusal::RejectNotAllowed { gate, valid },
        _ => Refusal::InvalidOutcome { given: word.to_owned(), gate, valid },
    })
}

/// Refuses a reason or a note that is too long for the history.
pub(crate) fn check_reason(act: &Act) -> Result<(), Refusal> {
    let (field, text) = match act {
        Act::Hold { reason, .. }
        | Act::Cancel { reason, .. }
        | Act::Reopen { reason, .. }
        | Act::Override { reason, .. } => ("reason", Some(reason)),
        Act::Unblock { reason, .. } => ("reason", reason.as_ref()),
        Act::Renew { note, .. } => ("note", note.as_ref()),
        _ => return Ok(()),
    };
    within(field, text.map_or(0, String::len), TEXT_LIMIT)
}

fn within(field: &'static str, bytes: usize, limit: usize) -> Result<(), Refusal> {
    if bytes > limit { Err(Refusal::TooLong { field, bytes, limit }) } else { Ok(()) }
}

/// Refuses a completion that lacks what its outcome requires, or is too large for the history.
fn check_content(outcome: &Outcome, content: &CompletionContent) -> Result<(), Refusal> {
    let outcome = || outcome.clone();
    if content.summary.as_deref().is_none_or(|summary| summary.trim().is_empty()) {
        return Err(Refusal::MissingSummary { outcome: outcome() });
    }
    let blockers = content.blockers.as_deref();
    if outcome().needs_blockers() {
        let Some(blockers) = blockers else {
            return Err(Refusal::MissingBlockers { outcome: outcome() });
        };
        if blockers.iter().all(|blocker| blocker.trim().is_empty()) {
            return Err(Refusal::EmptyBlockers { outcome: outcome() });
        }
    }
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let json = |object: &Map| serde_json::to_string(object).map_or(0, |text| text.len());
    let blockers = blockers.unwrap_or_default().iter().map(String::len);
    within("summary", length(&content.summary), TEXT_LIMIT)?;
    within("rejectionNotes", length(&content.rejection_notes), TEXT_LIMIT)?;
    within("blockers", blockers.clone().max().unwrap_or(0), TEXT_LIMIT)?;
    within("outputs", json(&content.outputs), OBJECT_LIMIT)?;
    within("metadata", json(&content.metadata), OBJECT_LIMIT)?;
    within("blockers", blockers.sum(), OBJECT_LIMIT)?;
    within("body", length(&content.body), BODY_LIMIT)
}

/// Words that name nothing to fix by themselves.
const EMPTY_WORDS: &str = "a again all and bad better broken change changes doesnt done enough fix fixes fixing good \
     great improve improvement improvements incomplete is issue issues it looks more much need needed needs nice no not \
     ok please poor problem problems quality redo required review rework some something stuff the this to todo very \
     work working works wrong";

/// Returns the vague blockers: all their words could be about any work.
pub(crate) fn vague(blockers: &[String]) -> Vec<String> {
    blockers.iter().filter(|blocker| is_vague(blocker)).cloned().collect()
}

fn is_vague(text: &str) -> bool {
    let is_empty = |word: &str| EMPTY_WORDS.split_whitespace().any(|known| known == word);
    text.split(|c: char| !c.is_alphanumeric() && c != '\'')
        .map(|word| word.replace('\'', "").to_lowercase())
        .filter(|word| !word.is_empty())
        .all(|word| is_empty(&word))
}

/// A completion whose outcome is known, with the values that its text gives.
pub(crate) struct Interpreted {
    pub(crate) outcome: Outcome,
    pub(crate) completion: Completion,
    pub(crate) warnings: Vec<Warning>,
}

/// Returns the outcome and the filled-in fields. Refuses missing or wrong fields.
pub(crate) fn interpret(
    rules: &Rules,
    workflow: &Workflow,
    task: &Task,
    workplace: &Workplace<'_>,
    given: &Completion,
) -> Result<Interpreted, Refusal> {
    let mut completion = given.clone();
    let is_document = take_fields(workplace, &mut completion)?;
    completion.content.outcome = take_outcome_word(workplace, &mut completion)?;
    // The first line of a text is its summary; a document without text gets one from its content.
    let front = given.content.fields.as_ref().filter(|_| !is_document).map_or(0, |one| one.length);
    if completion.content.summary.is_none() {
        completion.content.summary =
            completion.content.body.as_ref().and_then(|body| first_line(&body[front..]));
    }
    let is_read = front > 0 && workplace.duty.signal.is_some();
    if completion.content.summary.is_none()
        && (is_document || is_read || given.content.outputs.contains_key(STATUS))
    {
        let names: Vec<&str> = completion.content.outputs.keys().map(String::as_str).collect();
        let handed_on = format!("Handed on {}", names.join(", "));
        completion.content.summary = completion
            .content
            .summary
            .or(Some(handed_on).filter(|_| !names.is_empty()))
            .or_else(|| completion.content.blockers.as_ref()?.first().cloned());
    }
    let mut warnings = Vec::new();
    if completion.content.outcome.is_none()
        && let Some(signal) = &workplace.duty.signal
    {
        let fields = given.content.fields.as_deref();
        warnings.extend(fill_from_text(workflow, task, workplace, signal, fields, &mut completion));
    }
    let outcome = outcome_at(rules, workplace, &workflow.default_outcome, &completion)?;
    check_content(&outcome, &completion.content)?;
    let names =
        leave_out_undeclared(workflow, workplace.duty, &outcome, &mut completion.content.outputs);
    if !names.is_empty() {
        warnings.push(Warning::UndeclaredOutputs { gate: workplace.station(), names });
    }
    let problems = check_at(workflow, workplace.duty, &outcome, &mut completion.content.outputs);
    if !problems.is_empty() {
        let shape = shape_of(workplace.duty, &outcome).unwrap_or_default();
        let example = if shape.kinds.is_empty() { serde_json::json!({}) } else { example(&shape) };
        let gate = workplace.station();
        return Err(Refusal::InvalidOutputs {
            gate,
            outcome,
            problems,
            example: Box::new(example),
        });
    }
    Ok(Interpreted { outcome, completion, warnings })
}

/// Refuses a completion whose text states another outcome.
pub(crate) fn check_contradiction(
    workplace: &Workplace<'_>,
    given: &Completion,
) -> Result<(), Refusal> {
    let mut completion = given.clone();
    let Some(word) = take_outcome_word(workplace, &mut completion)? else { return Ok(()) };
    let Some(signal) = &workplace.duty.signal else { return Ok(()) };
    let possible = workplace.gate.possible();
    let Some(outcome) = possible.iter().find(|outcome| outcome.is_meant_by(&word)) else {
        return Ok(());
    };
    // A blocked or failed agent has no verdict to contradict.
    if matches!(outcome, Outcome::Blocked | Outcome::Failed | Outcome::Skip) {
        return Ok(());
    }
    let fields = given.content.fields.as_deref();
    match verdict(workplace, signal, &reading(workplace, signal, text(&completion), fields)) {
        Some(verdict) if verdict != *outcome => Err(Refusal::ContradictoryVerdict {
            gate: workplace.station(),
            outcome: outcome.clone(),
            verdict,
        }),
        _ => Ok(()),
    }
}

/// Returns the given outcome, as such or as `$status`, and removes `$status` from the outputs.
fn take_outcome_word(
    workplace: &Workplace<'_>,
    completion: &mut Completion,
) -> Result<Option<String>, Refusal> {
    let status = completion.content.outputs.remove(STATUS).map(|status| match status {
        serde_json::Value::String(word) => word,
        other => other.to_string(),
    });
    // `_` stands for the only way out.
    let status = status.filter(|status| status != "_" || workplace.judges()).map(|status| {
        let suspends = status.eq_ignore_ascii_case(SUSPEND);
        if suspends { Outcome::Blocked.to_string() } else { status }
    });
    match (completion.content.outcome.clone(), status) {
        (Some(outcome), Some(status)) if !outcome.eq_ignore_ascii_case(&status) => {
            Err(Refusal::ContradictoryStatus { outcome, status })
        }
        (outcome, status) => Ok(outcome.or(status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_a_complaint_from_a_blocker() {
        for text in [
            "needs work",
            "Not good enough",
            "needs improvement",
            "fix it",
            "...",
            "this doesn't work",
            "wrong!",
        ] {
            assert!(is_vague(text), "{text}");
        }
        for text in [
            "coverage at 65%, need 80%",
            "missing error handling for expired tokens",
            "waiting for the API specification",
            "typo in README",
            "テストが足りない",
        ] {
            assert!(!is_vague(text), "{text}");
        }
    }
}
