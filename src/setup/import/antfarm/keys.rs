//! Which step says which `KEY: value`, and which reads it: what a step asks for in its reply is what its gate hands on.

use std::collections::{BTreeSet, HashMap};

use super::steps::{AntfarmStep, places};
use crate::setup::import::names;
use crate::setup::import::placeholders::{is_bare, slots};

/// The key that says how a step went; it is a verdict and is handed on to nobody.
pub(crate) const STATUS: &str = "status";

/// Returns the keys that a step's input asks for in the reply, as templates name them. A reply begins behind words such as
/// `Reply with:`; before them `KEY: {{key}}` tells the agent something.
fn asked_for(input: &str) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    let mut in_reply = false;
    for line in input.lines() {
        let line = line.trim().trim_start_matches(['-', '*', '`', ' ']);
        if let Some(rest) = announced(line) {
            in_reply = true;
            keys.extend(key_of(rest.trim()));
        } else if in_reply {
            keys.extend(key_of(line));
        }
    }
    keys
}

/// Returns what stands behind the words that announce a reply, if the line has them.
fn announced(line: &str) -> Option<&str> {
    const OPENINGS: [&str; 9] = [
        "reply with",
        "respond with",
        "answer with",
        "output exactly",
        "output:",
        "reply:",
        "output format",
        "return:",
        "end with",
    ];
    let lower = line.to_ascii_lowercase();
    if let Some(opening) = OPENINGS.iter().find(|opening| lower.starts_with(**opening)) {
        return Some(line[opening.len()..].trim_start_matches(':'));
    }
    let at = ["output:", "reply with:", "output ", "reply "].iter().find_map(|words| {
        let at = lower.rfind(words)?;
        let before = lower[..at].ends_with([' ', ',']);
        before.then_some(at + words.len())
    })?;
    let rest = &line[at..];
    (rest.trim().is_empty() || key_of(rest.trim()).is_some()).then_some(rest)
}

/// Returns the key of a line `KEY: ...`, in lower case.
pub(crate) fn key_of(line: &str) -> Option<String> {
    let (key, _) = line.split_once(':')?;
    let key = key.trim_end_matches('`');
    let shouted = key.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        && key.starts_with(|c: char| c.is_ascii_uppercase())
        && key.len() > 1;
    shouted.then(|| key.to_ascii_lowercase())
}

/// Which steps say and read each key, and which gate each step became.
pub(crate) struct KeyUse<'s> {
    /// The keys that each step asks its agent for.
    pub(crate) said: Vec<BTreeSet<String>>,
    /// The steps that say a key, in order.
    pub(crate) sayers: HashMap<String, Vec<usize>>,
    /// The keys that any step reads.
    pub(crate) read: BTreeSet<String>,
    pub(crate) places: HashMap<&'s str, usize>,
    /// The gate that a task comes to on its way to each step: the one that asks, where there is a condition.
    pub(crate) entries: Vec<String>,
}

impl<'s> KeyUse<'s> {
    pub(crate) fn of(steps: &'s [AntfarmStep<'_>]) -> Self {
        let mut said = Vec::with_capacity(steps.len());
        let mut sayers: HashMap<String, Vec<usize>> = HashMap::new();
        let mut read: BTreeSet<String> = BTreeSet::new();
        for (index, step) in steps.iter().enumerate() {
            let input = step.input.as_ref().map_or("", |said| said.value.as_str());
            let mut keys = asked_for(input);
            let lists = [&step.output_keys, &step.required_outputs].into_iter().flatten();
            let named = lists.flat_map(|list| &list.value);
            let named = named.chain(step.decision_key.iter().map(|key| &key.value));
            keys.extend(named.map(|key| key.to_ascii_lowercase()));
            keys.extend(step.expects.iter().filter_map(|text| key_of(text.value.trim())));
            keys.remove(STATUS);
            let keys: BTreeSet<String> = keys.iter().map(|key| names::key(key)).collect();
            for key in &keys {
                sayers.entry(key.clone()).or_default().push(index);
            }
            said.push(keys);
            let bare = slots(input).filter(|slot| is_bare(slot));
            read.extend(bare.map(|slot| names::key(&slot.to_ascii_lowercase())));
            read.extend(step.condition.iter().filter_map(|text| key_of(text.value.trim())));
        }
        let entries = steps.iter().map(|step| step.gate.clone()).collect();
        Self { said, sayers, read, places: places(steps), entries }
    }

    /// Returns the gate that a route to a step leads to.
    pub(crate) fn entry(&self, foreign: &str) -> Option<String> {
        Some(self.entries[*self.places.get(foreign)?].clone())
    }

    /// Returns the steps that say a key.
    pub(crate) fn sayers(&self, key: &str) -> &[usize] {
        self.sayers.get(key).map(Vec::as_slice).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(input: &str) -> Vec<String> {
        asked_for(input).into_iter().collect()
    }

    #[test]
    fn keys_of_a_reply_are_told_from_keys_of_the_question() {
        let input = "Look at it.\nREPO: {{repo}}\n\nReply with:\nSTATUS: done\nROOT_CAUSE: why\n\nOr:\nSTATUS: retry\nISSUES:\n- what";
        assert_eq!(asked(input), ["issues", "root_cause", "status"]);
        assert_eq!(
            asked("If it works, output: DEPLOY_STATUS: ok\nIf not, output: DEPLOY_STATUS: failed"),
            ["deploy_status"]
        );
        assert_eq!(asked("REQUIREMENTS OUTPUT: {{x}}\nNOTE: be brief"), Vec::<String>::new());
        assert_eq!(
            asked("Otherwise, output:\n  PHASE_DONE: skipped\nOUTPUT:\nSWARM: x"),
            ["phase_done", "swarm"]
        );
        assert_eq!(asked("Output exactly one of:\n  SMOKE_PASS: true"), ["smoke_pass"]);
    }
}
