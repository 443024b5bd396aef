//! Reads a reply: its fields that a completion does not define, and its text if the gate has a signal.

use serde_json::json;

use crate::act::Warning;
use crate::outputs::{Problem, example, from_text, judge_value, shape_of};
use crate::refusal::Refusal;
use crate::routing::workplace::Workplace;
use crate::verdict::{
    STATUS, TextVerdict, VerdictReading, looked_for_at, outcome, read_at, reasons, status_key,
};
use aof_domain::workflow::gate::Mark;
use aof_domain::{
    Completion, Map, Outcome, ReplyFields, SUSPEND, Signal, Task, Workflow, did_you_mean,
};

/// The longest notes that are taken from a text, in bytes.
const NOTES_LIMIT: usize = 4 * 1024;

/// The summary for a text without content.
const SILENCE: &str = "Handed in nothing that could be read";

/// The blocker for work that was suspended without a reason.
const NO_REASON: &str = "Suspended without a reason";

/// Turns the completion's other fields into outputs, if the gate asks for them, and removes them from its text. Returns whether it
/// did. Otherwise they remain text if they are part of one; unknown fields of other replies are refused.
pub(crate) fn take_fields(
    workplace: &Workplace<'_>,
    completion: &mut Completion,
) -> Result<bool, Refusal> {
    let Some(reply) = completion.content.fields.take() else { return Ok(false) };
    let ReplyFields { fields, fault, length } = *reply;
    let declared = workplace.duty.outputs.names();
    let is_declared = |name: &&String| declared.contains(&name.as_str());
    let has_status = |outputs: &Map| outputs.contains_key(STATUS);
    let reads_status = workplace.duty.signal.as_ref().is_some_and(|sign| sign.mark == Mark::Status);
    let possible = workplace.gate.possible();
    let outcome = fields.get("outcome").filter(|_| completion.content.outcome.is_none());
    let outcome = outcome.and_then(|value| value.as_str());
    let has_outcome = outcome.is_some_and(|word| possible.iter().any(|one| one.is_meant_by(word)));
    let is_asked_for = reads_status
        || has_outcome
        || has_status(&completion.content.outputs)
        || has_status(&fields);
    let refused = |problems| {
        let outcome = possible.iter().find(|known| known.judges()).cloned();
        let outcome = outcome.unwrap_or(Outcome::Complete);
        let shape = shape_of(workplace.duty, &outcome).filter(|shape| !shape.kinds.is_empty());
        let example = Box::new(shape.as_ref().map_or_else(|| json!({}), example));
        Err(Refusal::InvalidOutputs { gate: workplace.station(), outcome, problems, example })
    };
    match fault {
        Some(fault) if is_asked_for => {
            let sentence = format!("has frontmatter that is no YAML: {fault}");
            let problem = Problem::new("", "unreadable_fields", sentence, json!({}));
            return refused(vec![problem]);
        }
        Some(_) => return Ok(false),
        None => {}
    }
    let is_wanted = !fields.is_empty() && fields.keys().all(|name| is_declared(&name));
    if !is_asked_for && !is_wanted {
        if length > 0 {
            return Ok(false);
        }
        let problem = |name: &String| {
            let known = [STATUS, "outcome", "summary", "blockers", "rejectionNotes", "outputs"];
            let known = known.into_iter().chain(declared.iter().copied());
            let help = did_you_mean(name, known).map(|help| format!("; {help}"));
            let sentence = "is no field of a completion, and no output of this gate";
            let sentence = format!("{sentence}{}", help.unwrap_or_default());
            Problem::new(name, "unknown_field", sentence, json!({}))
        };
        return refused(fields.keys().filter(|name| !is_declared(name)).map(problem).collect());
    }
    completion.content.body =
        completion.content.body.take().map(|body| body[length.min(body.len())..].to_owned());
    let key =
        if reads_status { status_key(&fields, &possible, &workplace.duty.outputs) } else { STATUS };
    let word =
        fields.get(key).or(completion.content.outputs.get(STATUS)).and_then(|value| value.as_str());
    let signal = workplace.duty.signal.as_ref();
    let is_blocked = |word| signal.map_or(word, |signal| signal.outcome_named(word)) == "blocked";
    let suspends = word.is_some_and(|word| is_blocked(word) || word.eq_ignore_ascii_case(SUSPEND));
    let mut rest = Map::new();
    for (name, value) in fields {
        let text = value.as_str().map(str::to_owned);
        match name.as_str() {
            // The signal reads this field.
            name if reads_status && name == key => {}
            _ if is_declared(&&name) || name == STATUS => {
                completion.content.outputs.entry(name).or_insert(value);
            }
            "outcome" => completion.content.outcome = completion.content.outcome.take().or(text),
            "summary" => completion.content.summary = completion.content.summary.take().or(text),
            "rejectionNotes" => {
                completion.content.rejection_notes =
                    completion.content.rejection_notes.take().or(text);
            }
            "blockers" => {
                let list =
                    value.as_array().map(|list| list.iter().filter_map(|item| item.as_str()));
                let list = list
                    .map(|list| list.map(str::to_owned).collect())
                    .or(text.map(|line| vec![line]));
                completion.content.blockers = completion.content.blockers.take().or(list);
            }
            _ => drop(rest.insert(name, value)),
        }
    }
    if suspends {
        let list = Some(reasons(&rest)).filter(|list| !list.is_empty());
        let line = || Some(vec![first_line(completion.content.body.as_deref()?)?]);
        let blockers = completion.content.blockers.take().or(list).or_else(line);
        let reason = || completion.content.summary.clone().unwrap_or_else(|| NO_REASON.to_owned());
        completion.content.blockers = blockers.or_else(|| Some(vec![reason()]));
    } else {
        completion.content.outputs.extend(rest);
    }
    Ok(true)
}

/// Returns the text for the verdict: the body, otherwise the summary.
pub(crate) fn text(completion: &Completion) -> &str {
    let texts = [&completion.content.body, &completion.content.summary];
    texts.into_iter().flatten().find(|text| !text.trim().is_empty()).map_or("", String::as_str)
}

/// Reads the text by the gate's rules.
pub(crate) fn reading(
    workplace: &Workplace<'_>,
    signal: &Signal,
    text: &str,
    fields: Option<&ReplyFields>,
) -> VerdictReading {
    read_at(signal, &workplace.gate.possible(), &workplace.duty.outputs, text, fields)
}

/// Returns the outcome that the text stands for.
pub(crate) fn verdict(
    workplace: &Workplace<'_>,
    signal: &Signal,
    reading: &VerdictReading,
) -> Option<Outcome> {
    outcome(signal, &workplace.gate.possible(), &reading.verdict)
}

/// Returns the text that is there instead of a valid verdict.
fn text_instead(signal: &Signal, reading: TextVerdict) -> Option<String> {
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

/// Fills in outcome, outputs and requested changes from the text. Returns a warning if it has no verdict.
pub(crate) fn fill_from_text(
    workflow: &Workflow,
    task: &Task,
    workplace: &Workplace<'_>,
    signal: &Signal,
    fields: Option<&ReplyFields>,
    completion: &mut Completion,
) -> Option<Warning> {
    let text = text(completion).to_owned();
    let reading = reading(workplace, signal, &text, fields);
    let found = verdict(workplace, signal, &reading);
    let outcome = found.clone().or_else(|| signal.missing.clone()).unwrap_or(Outcome::NeedsReview);
    completion.content.outcome = Some(outcome.to_string());
    if let Some(shape) = shape_of(workplace.duty, &outcome) {
        for (name, value) in &reading.values {
            let declared = shape.fields().and_then(|fields| fields.get(name));
            if let Some(shape) = declared.filter(|_| !completion.content.outputs.contains_key(name))
            {
                let value = from_text(shape, value);
                // An agent that could not do the work need not give faultless values: the text stays.
                if outcome.judges() || judge_value(shape, &value).is_empty() {
                    completion.content.outputs.insert(name.clone(), value);
                }
            }
        }
    }
    if completion.content.summary.as_ref().is_none_or(|summary| summary.trim().is_empty()) {
        completion.content.summary = Some(first_line(&text).unwrap_or_else(|| SILENCE.to_owned()));
    }
    let back = matches!(outcome, Outcome::NeedsReview | Outcome::Blocked)
        || workflow.goes_back(workplace.gate, &outcome);
    if back {
        if completion.content.blockers.is_none() {
            let items = if reading.items.is_empty() {
                let judged = "Settle what the notes say";
                let silent = "No verdict could be read; the notes say what there is";
                let reason = first_line(&text).filter(|_| found == Some(Outcome::Blocked));
                vec![reason.unwrap_or(if found.is_some() { judged } else { silent }.to_owned())]
            } else {
                reading.items
            };
            completion.content.blockers = Some(items);
        }
        if completion.content.rejection_notes.is_none() {
            completion.content.rejection_notes = Some(notes(&text));
        }
    }
    if found.is_some() {
        return None;
    }
    Some(Warning::NoVerdict {
        gate: workplace.station(),
        attempt: attempt_number(task, workplace),
        looked_for: looked_for_at(&signal.mark, &workplace.gate.possible()),
        found: text_instead(signal, reading.verdict),
        outcome,
    })
}

/// Returns the number of this visit of its gate or branch, from 1.
fn attempt_number(task: &Task, workplace: &Workplace<'_>) -> usize {
    let here = workplace.station();
    let earlier =
        task.history.iter().filter(|visit| visit.gate == here.gate && visit.branch == here.branch);
    earlier.count() + 1
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

/// Returns the first line that is not blank, shortened.
pub(crate) fn first_line(text: &str) -> Option<String> {
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(|line| cut(line, 200).to_owned())
}

/// Returns the beginning of a text.
fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}
