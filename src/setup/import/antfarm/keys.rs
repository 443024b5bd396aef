//! Which step says which `KEY: value`, and which reads it: what a step asks for in its reply is what its gate hands on.

use std::collections::{BTreeSet, HashMap};

use crate::setup::import::names;
use crate::setup::import::placeholders::{is_bare, slots};
use crate::setup::import::record::Record;
use crate::setup::import::steps::{ForeignStep, StepList};

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
pub(crate) struct KeyUse {
    /// The keys that each step asks its agent for.
    pub(crate) said: Vec<BTreeSet<String>>,
    /// The steps that say a key, in order.
    sayers: HashMap<String, Vec<usize>>,
    /// The keys that any step reads.
    pub(crate) read: BTreeSet<String>,
}

impl KeyUse {
    pub(crate) fn of(steps: &StepList<'_>) -> Self {
        let mut uses = Self { said: Vec::new(), sayers: HashMap::new(), read: BTreeSet::new() };
        for (index, ForeignStep { record, .. }) in steps.steps.iter().enumerate() {
            let input = record.text("input").unwrap_or_default();
            let line_key = |key: &str| record.text(key).and_then(|text| key_of(text.trim()));
            let mut keys = asked_for(&input);
            keys.extend(keys_in(record, &["output_keys", "outputs"]).into_iter().flatten());
            keys.extend(keys_in(record, &["required_outputs"]).into_iter().flatten());
            keys.extend(record.text("decision_key").map(|key| key.to_ascii_lowercase()));
            keys.extend(line_key("expects"));
            keys.remove(STATUS);
            let keys: BTreeSet<String> = keys.iter().map(|key| names::key(key)).collect();
            for key in &keys {
                uses.sayers.entry(key.clone()).or_default().push(index);
            }
            uses.said.push(keys);
            let bare = slots(&input).into_iter().filter(|slot| is_bare(slot));
            uses.read.extend(bare.map(|slot| names::key(&slot.to_ascii_lowercase())));
            uses.read.extend(line_key("condition"));
        }
        uses
    }

    /// Returns the steps that say a key.
    pub(crate) fn sayers(&self, key: &str) -> &[usize] {
        self.sayers.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the last step before this one that says a key.
    pub(crate) fn sayer_before(&self, key: &str, index: usize) -> Option<usize> {
        self.sayers(key).iter().rev().find(|sayer| **sayer < index).copied()
    }
}

/// Returns the keys that the first of these fields lists, as templates name them.
pub(crate) fn keys_in(record: &Record<'_>, fields: &[&str]) -> Option<BTreeSet<String>> {
    let list = fields.iter().find_map(|field| record.texts(field))?;
    Some(list.iter().map(|key| names::key(&key.to_ascii_lowercase())).collect())
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
