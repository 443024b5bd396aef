//! The steps of a foreign workflow as gates: each has a name here, and is found by its foreign name.

use std::collections::HashMap;

use super::names::Names;
use super::record::{Record, join};

/// The steps of a workflow, in order.
pub(crate) struct StepList<'n> {
    pub(crate) steps: Vec<ForeignStep<'n>>,
    /// The place in the list, by name.
    places: HashMap<String, usize>,
}

pub(crate) struct ForeignStep<'n> {
    /// The name of the step in the foreign file.
    pub(crate) foreign: String,
    /// The gate that the step becomes.
    pub(crate) gate: String,
    pub(crate) record: Record<'n>,
}

/// The treatment of a step without a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unnamed {
    IsRefused,
    IsNumbered,
}

impl<'n> StepList<'n> {
    /// Reads the list under `steps`; `key` is the field that names a step. Reports a list that is missing or empty, and names that
    /// are missing or duplicate.
    pub(crate) fn read(parent: &Record<'n>, key: &'static str, unnamed: Unnamed) -> Self {
        let mut list = Self { steps: Vec::new(), places: HashMap::new() };
        if !parent.has("steps") {
            parent.missing("the workflow has no `steps`");
            return list;
        }
        let records = parent.records("steps", "a list of steps", "a step");
        if records.is_empty() && !parent.report.has_faults() {
            parent.at("steps").fault("no_gates", "the workflow has no steps", "");
        }
        let mut names = Names::default();
        for (mut record, number) in records.into_iter().zip(1..) {
            let fallback = format!("step-{number}");
            let foreign = match (record.text(key), unnamed) {
                (Some(name), _) => name,
                (None, Unnamed::IsRefused) => {
                    record.missing(format!("step {number} has no `{key}`"));
                    continue;
                }
                (None, Unnamed::IsNumbered) => {
                    let note = format!("the step has no `{key}`: the gate is called `{fallback}`");
                    record.added(key, note);
                    fallback.clone()
                }
            };
            record.path = join(&join(&parent.path, "steps"), &foreign);
            let gate = if record.has(key) {
                let kept = if key == "id" { "" } else { "as `id`" };
                names.take_gate(&record.at(key), &foreign, &fallback, kept)
            } else {
                names.add(&foreign, &fallback).0
            };
            if list.places.insert(foreign.clone(), list.steps.len()).is_some() {
                let message = format!("there are two steps `{foreign}`");
                record.at(key).fault("duplicate_gate", message, "give each step a name of its own");
            }
            list.steps.push(ForeignStep { foreign, gate, record });
        }
        list
    }

    /// Returns the place of a step in the list.
    pub(crate) fn place(&self, foreign: &str) -> Option<usize> {
        self.places.get(foreign).copied()
    }

    /// Returns the gate of a step.
    pub(crate) fn gate(&self, foreign: &str) -> Option<&str> {
        self.place(foreign).map(|place| self.steps[place].gate.as_str())
    }

    /// Returns the place of the step that a field names; reports a missing step.
    pub(crate) fn target(&self, record: &Record<'_>, key: &str, foreign: &str) -> Option<usize> {
        let place = self.place(foreign);
        if place.is_none() {
            let known = self.steps.iter().map(|step| step.foreign.as_str());
            record.at(key).unknown(("step", foreign), known, "name a step of the file");
        }
        place
    }
}
