//! Who says and who reads each key, and which gate each step became.

use std::collections::{BTreeSet, HashMap};

use super::keys::{STATUS, asked_for, key_of};
use super::steps::{Step, places};
use crate::setup::import::names;
use crate::setup::import::placeholders::{is_bare, slots};

/// Who says and who reads each key.
pub(crate) struct Traffic {
    /// The keys that each step asks its agent for.
    pub(crate) said: Vec<BTreeSet<String>>,
    /// The steps that say a key, in order.
    pub(crate) sayers: HashMap<String, Vec<usize>>,
    /// The keys that anybody reads.
    pub(crate) read: BTreeSet<String>,
    pub(crate) places: HashMap<String, usize>,
    /// The gate that a task comes to on its way to each step: the one that asks, where there is a condition.
    pub(crate) entries: Vec<String>,
}

impl Traffic {
    pub(crate) fn of(steps: &[Step]) -> Self {
        let mut said = Vec::with_capacity(steps.len());
        let mut sayers: HashMap<String, Vec<usize>> = HashMap::new();
        let mut read: BTreeSet<String> = BTreeSet::new();
        for (index, step) in steps.iter().enumerate() {
            let input = step.input.as_ref().map_or("", |(text, _)| text.as_str());
            let mut keys = asked_for(input);
            keys.extend(
                step.output_keys
                    .iter()
                    .flat_map(|(keys, _)| keys)
                    .map(|key| key.to_ascii_lowercase()),
            );
            keys.extend(
                step.required_outputs
                    .iter()
                    .flat_map(|(keys, _)| keys)
                    .map(|key| key.to_ascii_lowercase()),
            );
            keys.extend(step.decision_key.iter().map(|(key, _)| key.to_ascii_lowercase()));
            keys.extend(step.expects.iter().filter_map(|(text, _)| key_of(text.trim())));
            keys.remove(STATUS);
            let keys: BTreeSet<String> = keys.iter().map(|key| names::key(key)).collect();
            for key in &keys {
                sayers.entry(key.clone()).or_default().push(index);
            }
            said.push(keys);
            read.extend(
                slots(input)
                    .filter(|slot| is_bare(slot))
                    .map(|slot| names::key(&slot.to_ascii_lowercase())),
            );
            read.extend(step.condition.iter().filter_map(|(text, _)| key_of(text.trim())));
        }
        let entries = steps.iter().map(|step| step.gate.clone()).collect();
        Self { said, sayers, read, places: places(steps), entries }
    }

    /// Returns the gate that a route to a step leads to.
    pub(crate) fn entry(&self, foreign: &str) -> Option<String> {
        Some(self.entries[*self.places.get(foreign)?].clone())
    }

    /// Returns the gate that a step became.
    pub(crate) fn gate(&self, steps: &[Step], foreign: &str) -> Option<String> {
        Some(steps[*self.places.get(foreign)?].gate.clone())
    }
}
