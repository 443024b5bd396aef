//! What was expected and what was found, in short words on one line, whatever an agent wrote.

use serde_json::Value;

use crate::domain::{RoleId, Task, Visit, listed};
use crate::files::printable::one_line;
use crate::files::task_file::visit_entry;
use crate::rules::{Breach, Rules};

use super::finding::BrokenRule;

/// The longest value that is shown, in characters.
const MOST: usize = 120;

/// A broken rule, what was expected, and what was found.
pub(crate) type RuleBreach = (BrokenRule, String, String);

/// Returns which rule a breach breaks, with what was expected and found.
pub(crate) fn breach_told(
    rules: &Rules,
    before: Option<&Task>,
    after: &Task,
    breach: &Breach,
) -> RuleBreach {
    match breach {
        Breach::Removed { before, after } => {
            (BrokenRule::Removed, format!("{} at least", entries(*before)), entries(*after))
        }
        Breach::Rewritten { entry } => {
            let at = |task: Option<&Task>| {
                task.and_then(|task| task.history.get(*entry)).map(visit_entry::write)
            };
            let (expected, found) = differing(at(before), at(Some(after)));
            (BrokenRule::Rewritten, format!("entry {} as it was: {expected}", entry + 1), found)
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
            (BrokenRule::NotAllowed, "what the rules allow".to_owned(), short(&found))
        }
        Breach::Otherwise { fields, expected, .. } => {
            (BrokenRule::WrongResult, shown_all(expected, fields), shown_all(after, fields))
        }
        Breach::Moved { fields } => {
            let expected = before.map(|before| shown_all(before, fields)).unwrap_or_default();
            (BrokenRule::MovedByHand, expected, shown_all(after, fields))
        }
        Breach::Begun { entries: count } => {
            let at = after
                .gate
                .as_ref()
                .map_or_else(|| "at its end".to_owned(), |open| format!("at {}", open.current));
            let found = format!("a task {at}, with {}", entries(*count));
            (
                BrokenRule::NotAllowed,
                "a new task at its first gate, with no entries".to_owned(),
                found,
            )
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
    let fields = |value: Option<Value>| match value {
        Some(Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (one, two) = (fields(one), fields(two));
    let names: Vec<&String> = one
        .keys()
        .chain(two.keys().filter(|key| !one.contains_key(*key)))
        .filter(|key| one.get(*key) != two.get(*key))
        .collect();
    let shown = |fields: &serde_json::Map<String, Value>| {
        let value = |key| fields.get(key).map_or_else(|| "nothing".to_owned(), Value::to_string);
        let all: Vec<String> =
            names.iter().map(|key| format!("{key}: {}", value(key.as_str()))).collect();
        short(&all.join(", "))
    };
    (shown(&one), shown(&two))
}

fn shown_all(task: &Task, fields: &[&'static str]) -> String {
    // The time of writing tells nothing where something else differs.
    let telling = fields.iter().filter(|field| fields.len() == 1 || **field != "updated");
    let all: Vec<String> =
        telling.map(|field| format!("{field}: {}", shown(task, field))).collect();
    short(&all.join(", "))
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
