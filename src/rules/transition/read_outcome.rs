//! What a completion says at its gate: its outcome, wherever it stands, and what it hands on.
//!
//! The outcome is what is given as such; else `$status` in the outputs; else, where the gate has a `signal`, what the text says.
//! A text that says nothing there is a rejection, or what the gate takes it for.

use super::content;
use crate::domain::workflow::gate::Mark;
use crate::domain::{Completion, Outcome, Signal, Task, Workflow};
use crate::rules::act::Warning;
use crate::rules::outputs::{example, from_text, settle_at, shape_of};
use crate::rules::refusal::Refusal;
use crate::rules::routing::workplace::Workplace;
use crate::rules::verdict::{TextVerdict, VerdictReading, looked_for_at, outcome, read_at};
use crate::rules::workflow::graph::goes_back;
use crate::rules::workflow::rules::Rules;

/// The key in the outputs that says the outcome.
const STATUS: &str = "$status";

/// The longest notes that are taken from a text, in bytes.
const NOTES_LIMIT: usize = 4 * 1024;

/// The summary of a text in which there is nothing.
const SILENCE: &str = "Handed in nothing that could be read";

/// A completion with everything that it says where it belongs.
pub(crate) struct Said {
    pub(crate) outcome: Outcome,
    pub(crate) completion: Completion,
    pub(crate) warnings: Vec<Warning>,
}

/// Returns what the completion says, or why it says nothing that counts.
pub(crate) fn said(
    rules: &Rules,
    workflow: &Workflow,
    task: &Task,
    post: &Workplace<'_>,
    given: &Completion,
) -> Result<Said, Refusal> {
    let mut completion = given.clone();
    completion.outcome = word(post, &mut completion)?;
    // A document that says its outcome says all there is: its first line stands for the summary.
    if completion.summary.is_none() && given.outputs.contains_key(STATUS) {
        completion.summary = completion.body.as_deref().and_then(first_line);
    }
    let mut warnings = Vec::new();
    if completion.outcome.is_none()
        && let Some(signal) = &post.duty.signal
    {
        warnings.extend(from_words(workflow, task, post, signal, &mut completion));
    }
    let outcome = content::outcome(rules, post, &workflow.default_outcome, &completion)?;
    content::content(&outcome, &completion)?;
    let problems = settle_at(workflow, post.duty, &outcome, &mut completion.outputs);
    if !problems.is_empty() {
        let shape = shape_of(post.duty, &outcome).unwrap_or_default();
        let example = if shape.kinds.is_empty() { serde_json::json!({}) } else { example(&shape) };
        let gate = post.station();
        return Err(Refusal::InvalidOutputs {
            gate,
            outcome,
            problems,
            example: Box::new(example),
        });
    }
    Ok(Said { outcome, completion, warnings })
}

/// Returns whether the completion's text agrees with its outcome, where it says one.
pub(crate) fn contradiction(post: &Workplace<'_>, given: &Completion) -> Result<(), Refusal> {
    let mut completion = given.clone();
    let Some(word) = word(post, &mut completion)? else { return Ok(()) };
    let Some(signal) = &post.duty.signal else { return Ok(()) };
    let possible = post.gate.possible();
    let Some(outcome) = possible.iter().find(|outcome| outcome.is_meant_by(&word)) else {
        return Ok(());
    };
    // Who cannot go on, or tried and failed, has no verdict to stand by.
    if matches!(outcome, Outcome::Blocked | Outcome::Failed | Outcome::Skip) {
        return Ok(());
    }
    match verdict(post, signal, &reading(post, signal, text(&completion))) {
        Some(verdict) if verdict != *outcome => Err(Refusal::ContradictoryVerdict {
            gate: post.station(),
            outcome: outcome.clone(),
            verdict,
        }),
        _ => Ok(()),
    }
}

/// Returns the outcome that is given, as such or as `$status`, and takes the latter out of what is handed on.
fn word(post: &Workplace<'_>, completion: &mut Completion) -> Result<Option<String>, Refusal> {
    let status = completion.outputs.remove(STATUS).map(|status| match status {
        serde_json::Value::String(word) => word,
        other => other.to_string(),
    });
    // `_` stands for the only way out there is.
    let status = status.filter(|status| status != "_" || post.judges());
    match (completion.outcome.clone(), status) {
        (Some(outcome), Some(status)) if !outcome.eq_ignore_ascii_case(&status) => {
            Err(Refusal::ContradictoryStatus { outcome, status })
        }
        (outcome, status) => Ok(outcome.or(status)),
    }
}

fn text(completion: &Completion) -> &str {
    let texts = [&completion.body, &completion.summary];
    texts.into_iter().flatten().find(|text| !text.trim().is_empty()).map_or("", String::as_str)
}

fn reading(post: &Workplace<'_>, signal: &Signal, text: &str) -> VerdictReading {
    read_at(signal, &post.gate.possible(), &post.duty.outputs, text)
}

fn verdict(post: &Workplace<'_>, signal: &Signal, reading: &VerdictReading) -> Option<Outcome> {
    outcome(signal, &post.gate.possible(), &reading.verdict)
}

/// Returns what stands in a text in place of a verdict.
fn in_its_place(signal: &Signal, reading: TextVerdict) -> Option<String> {
    let tagged = |word: &str| match &signal.mark {
        Mark::Tag { tag, .. } => format!("<{tag}>{word}</{tag}>"),
        Mark::Expects(line) => line.clone(),
        Mark::Key(_) | Mark::Status => word.to_owned(),
    };
    match reading {
        TextVerdict::Passed => Some(tagged("PASS")),
        TextVerdict::Failed => Some(tagged("FAIL")),
        TextVerdict::Named(word) | TextVerdict::Unreadable(word) => Some(word),
        TextVerdict::Nothing => None,
    }
}

/// Fills in what the text says: the outcome, the outputs, and what is to be mended. Returns what is to be said if it says none.
fn from_words(
    workflow: &Workflow,
    task: &Task,
    post: &Workplace<'_>,
    signal: &Signal,
    completion: &mut Completion,
) -> Option<Warning> {
    let text = text(completion).to_owned();
    let reading = reading(post, signal, &text);
    let found = verdict(post, signal, &reading);
    let outcome = found.clone().or_else(|| signal.missing.clone()).unwrap_or(Outcome::NeedsReview);
    completion.outcome = Some(outcome.to_string());
    if let Some(shape) = shape_of(post.duty, &outcome) {
        for (name, value) in &reading.values {
            let declared = shape.fields().and_then(|fields| fields.get(name));
            if let Some(shape) = declared.filter(|_| !completion.outputs.contains_key(name)) {
                completion.outputs.insert(name.clone(), from_text(shape, value));
            }
        }
    }
    if completion.summary.as_ref().is_none_or(|summary| summary.trim().is_empty()) {
        completion.summary = Some(first_line(&text).unwrap_or_else(|| SILENCE.to_owned()));
    }
    let back = matches!(outcome, Outcome::NeedsReview | Outcome::Blocked)
        || goes_back(workflow, post.gate, &outcome);
    if back {
        if completion.blockers.is_none() {
            let items = if reading.items.is_empty() {
                vec![blocker(found.is_some())]
            } else {
                reading.items
            };
            completion.blockers = Some(items);
        }
        if completion.rejection_notes.is_none() {
            completion.rejection_notes = Some(notes(&text));
        }
    }
    if found.is_some() {
        return None;
    }
    Some(Warning::NoVerdict {
        gate: post.station(),
        attempt: attempts(task, post),
        looked_for: looked_for_at(&signal.mark, &post.gate.possible()),
        found: in_its_place(signal, reading.verdict),
        outcome,
    })
}

/// Returns which visit of its gate or branch this is, from 1.
fn attempts(task: &Task, post: &Workplace<'_>) -> usize {
    let here = post.station();
    let earlier =
        task.history.iter().filter(|visit| visit.gate == here.gate && visit.branch == here.branch);
    earlier.count() + 1
}

fn blocker(judged: bool) -> String {
    if judged {
        "Settle what the notes say".to_owned()
    } else {
        "No verdict could be read; the notes say what there is".to_owned()
    }
}

fn first_line(text: &str) -> Option<String> {
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(|line| cut(line, 200).to_owned())
}

fn notes(text: &str) -> String {
    let text = text.trim();
    let start = cut(text, NOTES_LIMIT);
    if start.len() == text.len() {
        text.to_owned()
    } else {
        format!("{start}\n\n[the rest is in the task's body]")
    }
}

fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}
