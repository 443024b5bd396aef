//! A change as doors tell of it: its JSON, the way that the task went, the visits that it ended.

use serde_json::{Value, json};

use crate::domain::{Destination, Visit};
use crate::rules::{Rules, Warning};
use crate::tasks::plan::choice::{Changed, DryRun};
use crate::tasks::view::task_view::task_value;

/// Returns the changed task as `--json` shows it.
pub(crate) fn changed_value(rules: &Rules, changed: &Changed, dry_run: DryRun) -> Value {
    let mut value = task_value(rules, &changed.after, &changed.path);
    value["warnings"] = warnings_value(&changed.warnings);
    value["commit"] = json!(changed.commit.map(|commit| commit.to_string()));
    if changed.settled {
        value["settled"] = json!(true);
    }
    if dry_run == DryRun::Yes {
        value["dryRun"] = json!(true);
    }
    value
}

/// Returns warnings in the shape of spec 1, 9.5.
pub(crate) fn warnings_value(warnings: &[Warning]) -> Value {
    warnings
        .iter()
        .map(|warning| {
            let mut value = json!({"warning": warning.code(), "message": warning.message()});
            for (key, field) in warning.fields() {
                value[&key] = field;
            }
            value
        })
        .collect()
}

/// Returns the way that the task went: `implement -> review`.
pub(crate) fn way(changed: &Changed) -> String {
    let Some(first) = ended(changed).first() else { return String::new() };
    let mut way = first.station().to_string();
    for visit in ended(changed) {
        match &visit.to {
            Some(to) if *to != Destination::Gate(visit.gate.clone()) => {
                way.push_str(&format!(" -> {}", to.noun()));
            }
            _ => {}
        }
    }
    way
}

/// Returns the visits that the change ended: the one that somebody spoke of, and those of gates that decided by themselves.
pub(crate) fn ended(changed: &Changed) -> &[Visit] {
    let history = &changed.after.task.history;
    let before = changed.before.as_ref().map_or(0, |file| file.task.history.len());
    // What was done before is shown as it was.
    let from = if changed.settled { history.len().saturating_sub(1) } else { before };
    history.get(from..).unwrap_or_default()
}
