//! What was expected and what was found, in words for people: short, on one line, whatever an agent wrote.

use serde_json::Value;

use crate::domain::{RoleId, Task, Visit, listed};
use crate::files::printable::one_line;
use crate::files::task_file::visit_entry;
use crate::rules::{Breach, Rules};

use super::finding::Broken;

/// So many characters of a value are shown.
const MOST: usize = 120;

/// A broken rule, what was expected, and what was found.
pub(crate) type Told = (Broken, String, String);

/// Returns what a breach is, and in what words.
pub(crate) fn told(rules: &Rules, before: Option<&Task>, after: &Task, breach: &Breach) -> Told {
    match breach {
        Breach::Removed { before, after } => {
            (Broken::Removed, format!("{} at least", entries(*before)), entries(*after))
        }
        Breach::Rewritten { entry } => {
            let at = |task: Option<&Task>| {
                task.and_then(|task| task.history.get(*entry)).map(visit_entry::write)
            };
            let (expected, found) = differing(at(before), at(Some(after)));
            (Broken::Rewritten, format!("entry {} as it was: {expected}", entry + 1), found)
        }
        Breach::Refused { entry, why } => {
            let ended = after.history.get(*entry);
            let mut found =
                format!("entry {}, {}: {why}", entry + 1, ended.map(named).unwrap_or_default());
            let own = ended.and_then(|visit| visit.workflow.as_deref());
            let hash = rules.hash(&after.routing.workflow);
            if own.zip(hash).is_some_and(|(own, hash)| own != hash) {
                found.push_str("; it was decided by other rules than those of the commit before");
            }
            (Broken::NotAllowed, "what the rules allow".to_owned(), short(&found))
        }
        Breach::Otherwise { fields, expected, .. } => {
            (Broken::WrongResult, shown_all(expected, fields), shown_all(after, fields))
        }
        Breach::Moved { fields } => {
            let expected = before.map(|before| shown_all(before, fields)).unwrap_or_default();
            (Broken::MovedByHand, expected, shown_all(after, fields))
        }
        Breach::Begun { entries: count } => {
            let at = after
                .gate
                .as_ref()
                .map_or_else(|| "at its end".to_owned(), |open| format!("at {}", open.current));
            let found = format!("a task {at}, with {}", entries(*count));
            (Broken::NotAllowed, "a new task at its first gate, with no entries".to_owned(), found)
        }
    }
}

/// Returns a visit in a few words.
pub(crate) fn named(visit: &Visit) -> String {
    let by = visit.agent.as_ref().map(|agent| format!(" by {agent}")).unwrap_or_default();
    format!("{} at {}{by}", visit.outcome, visit.station())
}

pub(crate) fn entries(count: usize) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") }
}

/// Returns the fields of two entries that differ.
fn differing(one: Option<Value>, two: Option<Value>) -> (String, String) {
    let (one, two) = (one.unwrap_or_default(), two.unwrap_or_default());
    let keys = |value: &Value| {
        value.as_object().map(|map| map.keys().cloned().collect::<Vec<_>>()).unwrap_or_default()
    };
    let mut names = keys(&one);
    names.extend(keys(&two).into_iter().filter(|key| one.get(key).is_none()));
    names.retain(|key| one.get(key) != two.get(key));
    let said = |value: &Value| {
        let fields: Vec<String> = names
            .iter()
            .map(|key| {
                format!(
                    "{key}: {}",
                    value.get(key).map_or_else(|| "nothing".to_owned(), ToString::to_string)
                )
            })
            .collect();
        short(&fields.join(", "))
    };
    (said(&one), said(&two))
}

fn shown_all(task: &Task, fields: &[&'static str]) -> String {
    // When it was written tells nothing where something else differs.
    let telling = fields.iter().filter(|field| fields.len() == 1 || **field != "updated");
    short(
        &telling
            .map(|field| format!("{field}: {}", shown(task, field)))
            .collect::<Vec<_>>()
            .join(", "),
    )
}

fn shown(task: &Task, field: &str) -> String {
    let or_nothing = |text: String| if text.is_empty() { "nothing".to_owned() } else { text };
    match field {
        "status" => task.status.to_string(),
        "created" => task.created.to_string(),
        "updated" => task.updated.to_string(),
        "gate" => match &task.gate {
            None => "nothing".to_owned(),
            Some(open) => format!("{}, visit {}, since {}", open.current, open.visit, open.entered),
        },
        "routing" => {
            let role = task.routing.role.as_ref().map(RoleId::to_string);
            let agent = task.routing.agent.as_ref().map(ToString::to_string);
            or_nothing(listed(
                [Some(task.routing.workflow.to_string()), role, agent].into_iter().flatten(),
            ))
        }
        "gateHistory" => task.history.last().map_or_else(
            || "nothing".to_owned(),
            |visit| {
                let to =
                    visit.to.as_ref().map(|to| format!(" to {}", to.noun())).unwrap_or_default();
                format!("{} entries, the last one {}{to}", task.history.len(), named(visit))
            },
        ),
        "reviewContext" => if task.review.is_some() { "there" } else { "nothing" }.to_owned(),
        "blockers" => or_nothing(task.blockers.join("; ")),
        "context" => or_nothing(listed(task.context.keys())),
        "workflowHash" => or_nothing(task.workflow_hash.clone().unwrap_or_default()),
        _ => String::new(),
    }
}

pub(crate) fn short(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}..", &line[..end]),
        None => line,
    }
}
