//! The replies of agents: the steps that hand on and read each `KEY: value`, and what a reply must contain.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value, json};

use crate::domain::FieldFate::{Converted, Dropped, Lost};
use crate::files::config::decode::one_or_many;
use crate::files::yaml::Node;
use crate::setup::import::names;
use crate::setup::import::names::{is_bare, rewritten, slots};
use crate::setup::import::record::{Record, scalar};
use crate::setup::import::steps::{ForeignStep, StepList};
use crate::setup::import::workflow_draft::tidy;

/// The longest line of a reply that is searched, in bytes.
const LONGEST_LINE: usize = 200;

/// Returns the outputs of the gate: the keys that any step reads, and those it must bring; by decision if it has decisions.
pub(crate) fn outputs(
    uses: &KeyUse,
    index: usize,
    record: &Record<'_>,
    required: &BTreeSet<String>,
    decisions: &[String],
) -> Option<Value> {
    let mut keys = read_keys(record, &["output_keys", "outputs"])
        .unwrap_or_else(|| uses.asked_for[index].intersection(&uses.read).cloned().collect());
    keys.remove(STATUS);
    keys.extend(required.iter().cloned());
    keys.extend(uses.asked_for[index].intersection(&passed_keys(record)).cloned());
    keys.extend(uses.asked_for[index].intersection(&uses.lists).cloned());
    if keys.is_empty() {
        return None;
    }
    let kind = |key: &String| if uses.lists.contains(key) { "array" } else { "string" };
    let properties: Map<String, Value> =
        keys.into_iter().map(|key| (key.clone(), json!({"type": kind(&key)}))).collect();
    if decisions.is_empty() {
        let mut shape = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            shape["required"] = json!(required);
        }
        return Some(shape);
    }
    let variant = |word: &String| {
        let mut members = Map::from_iter([("$status".to_owned(), json!({"const": word}))]);
        members.extend(properties.clone());
        let required: Vec<&str> =
            ["$status"].into_iter().chain(required.iter().map(String::as_str)).collect();
        json!({"properties": members, "required": required})
    };
    Some(json!({"oneOf": decisions.iter().map(variant).collect::<Vec<Value>>()}))
}

/// Returns a step's input with slots of ours. Keys that no earlier step writes are added to the context.
pub(crate) fn instructions(
    text: &str,
    (index, slots_of_loop): (usize, Option<LoopSlots<'_>>),
    record: &Record<'_>,
    steps: &StepList<'_>,
    keys: &KeyUse,
    context: &mut Map<String, Value>,
) -> String {
    let mut notes: BTreeMap<String, String> = BTreeMap::new();
    let mut inputs = BTreeSet::new();
    let is_tag = |slot: &String| slot.starts_with("if ") || slot.starts_with("range ");
    let has_tags = slots(text).iter().any(is_tag);
    let mut texts: Vec<(String, &str)> = Vec::new();
    let converted = rewritten(text, |inner| {
        let mut note = |text: String| drop(notes.insert(inner.to_owned(), text));
        if inner == "task" {
            return Some("task".to_owned());
        }
        if inner == "run_id" {
            note("`{{task.id}}`".to_owned());
            return Some("task.id".to_owned());
        }
        if let Some(step) = inner.strip_prefix("steps.") {
            let (step, part) = step.rsplit_once('.').unwrap_or((step, "output"));
            let Some(gate) = steps.gate(step) else {
                note("left as it stands: there is no such step".to_owned());
                return None;
            };
            let name = if part == "summary" { format!("{gate}.excerpt") } else { gate.to_owned() };
            note(format!("`{{{{{name}}}}}`"));
            return Some(name);
        }
        if !is_bare(inner) || (has_tags && matches!(inner, "end" | "else")) {
            note("left as it stands: it is no key".to_owned());
            return None;
        }
        let is_input = context.contains_key(inner);
        let key = if is_input { inner.to_owned() } else { names::key(&inner.to_ascii_lowercase()) };
        let before = keys.writer_before(&key, index);
        let is_known = !keys.writers(&key).is_empty() || context.contains_key(&key);
        let of_loop = slots_of_loop.as_ref().filter(|_| !is_known);
        match of_loop.and_then(|slots| slots.meaning(&key)) {
            Some(SlotMeaning::Name(name)) => {
                note(format!("`{{{{{name}}}}}`"));
                return Some(name);
            }
            Some(SlotMeaning::Text(text)) => {
                note(format!("the text `{text}`"));
                texts.push((format!("{{{{{key}}}}}"), text));
                return Some(key);
            }
            None => {}
        }
        if before.is_none() && !context.contains_key(&key) {
            inputs.insert(key.clone());
        }
        // A gate's own name means all that the gate handed on.
        let writer = before.or_else(|| keys.writers(&key).first().copied());
        Some(match writer.filter(|_| steps.place(&key).is_some()) {
            Some(writer) => format!("{}.{key}", steps.steps[writer].gate),
            None => key,
        })
    });
    for (slot, became) in notes {
        record.at("input").note_slot(&slot, Converted, became);
    }
    for key in inputs {
        let note = if keys.writers(&key).is_empty() {
            "nobody says this key: it comes with the task, or stays empty"
        } else {
            "only said later, so it is empty the first time"
        };
        record.report.added(format!("context.input.{key}"), note);
        context.insert(key, json!(""));
    }
    tidy(&texts.iter().fold(converted, |text, (slot, new)| text.replace(slot, new)))
}

/// The meaning, at a step, of the slots that a loop fills in by itself.
pub(crate) struct LoopSlots<'a> {
    /// The gate of the loop.
    pub(crate) gate: &'a str,
    /// The gate that verifies each item.
    pub(crate) verify: Option<&'a str>,
    /// True if the step is about an item.
    pub(crate) is_inside: bool,
}

enum SlotMeaning {
    Name(String),
    Text(&'static str),
}

impl LoopSlots<'_> {
    fn meaning(&self, key: &str) -> Option<SlotMeaning> {
        let name = |name: String| Some(SlotMeaning::Name(name));
        match (key, self.verify) {
            ("completed_stories", _) => name(format!("{}.items", self.gate)),
            ("progress", _) => Some(SlotMeaning::Text("progress-{{task.id}}.txt")),
            _ if !self.is_inside => None,
            ("current_story", _) => name("item".to_owned()),
            ("current_story_id", _) => name("item.id".to_owned()),
            ("current_story_title", _) => name("item.title".to_owned()),
            ("stories_remaining", _) => {
                Some(SlotMeaning::Text("the brief says which item of how many this is"))
            }
            ("verify_feedback", Some(verify)) => name(format!("{verify}.blockers")),
            _ => None,
        }
    }
}

/// Returns the parts that a reply must have: several keys, some with their value, or one text.
fn expected_pieces(record: &Record<'_>) -> Option<Vec<String>> {
    let texts = record.texts("expects")?;
    let pieces = texts.iter().flat_map(|text| text.split([',', '\n'])).map(str::trim);
    let pieces: Vec<String> = pieces.filter(|piece| !piece.is_empty()).map(str::to_owned).collect();
    let is_list = pieces.len() > 1 && pieces.iter().all(|piece| key_name(piece).is_some());
    Some(if is_list { pieces } else { vec![texts.join("\n")] })
}

/// Returns the key of `KEY`, `KEY:` or `KEY: value`, as templates name it.
fn key_name(piece: &str) -> Option<String> {
    let key = key_of(piece).or_else(|| key_of(&format!("{piece}:")))?;
    Some(names::key(&key))
}

/// Returns the keys that a step, or one of its decisions, passes on.
fn passed_keys(record: &Record<'_>) -> BTreeSet<String> {
    let decisions = record.get("on_decision").map_or(&[][..], Node::entries);
    let of_step = record.get("pass_outputs").into_iter();
    let lists =
        of_step.chain(decisions.iter().filter_map(|decision| decision.value.get("pass_outputs")));
    let keys = lists.flat_map(|list| one_or_many(list).iter().filter_map(scalar));
    keys.map(|key| names::key(&key.to_ascii_lowercase())).collect()
}

/// Returns the keys, in lower case, that an input names in capitals, except where it states their values. A heading may have the value
/// below it.
fn named_keys(input: &str) -> BTreeSet<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut keys = BTreeSet::new();
    let mut lines = input.lines().filter(|line| !line.trim().is_empty()).peekable();
    while let Some(line) = lines.next() {
        let below = lines.peek().filter(|_| line.trim_end().ends_with(':'));
        let given = slots(line).into_iter().chain(below.into_iter().flat_map(|line| slots(line)));
        let given: Vec<_> = given.map(|slot| slot.to_ascii_lowercase()).collect();
        let words = line.split(|c| !is_word(c)).filter(|word| !word.is_empty());
        let capitals = words.filter(|word| **word == word.to_ascii_uppercase());
        let named = capitals.map(str::to_ascii_lowercase);
        keys.extend(named.filter(|key| !given.contains(key)));
    }
    keys
}

/// Returns the line that a reply must have. A key alone (`TIER:`) stands for any value of it. Without `expects`, it is a line with
/// the key that the input asks for.
pub(crate) fn expected_line(
    record: &Record<'_>,
    required: &mut BTreeSet<String>,
) -> Option<String> {
    let Some(pieces) = expected_pieces(record) else {
        let requested = requested_keys(&record.text("input").unwrap_or_default());
        let key =
            requested.iter().find(|key| *key == STATUS).or(requested.first())?.to_ascii_uppercase();
        let note = format!("not given: a reply with a line `{key}:`, which the input asks for");
        record.added("expects", note);
        return Some(format!("{key}:"));
    };
    let note = |fate, text: String| record.note("expects", fate, text);
    if pieces.len() > 1 {
        let has_value = |piece: &&String| {
            piece.split_once(':').is_some_and(|(_, value)| !value.trim().is_empty())
        };
        let compared = pieces.iter().find(has_value).unwrap_or(&pieces[0]);
        let others = pieces.iter().filter(|piece| *piece != compared);
        if let Some(lost) = others.clone().find(has_value) {
            note(Lost, format!("one value is compared here: instead of `{lost}` any value passes"));
        } else {
            let what = "`signal.expects`, and `required` of `outputs`: a reply has each key";
            note(Converted, what.to_owned());
        }
        required.extend(others.filter_map(|piece| key_name(piece)).filter(|key| key != STATUS));
        return Some(if compared.contains(':') {
            compared.clone()
        } else {
            format!("{compared}:")
        });
    }
    let text = pieces.concat();
    let line = text.trim();
    let (_, value) = line.split_once(':').unwrap_or((line, line));
    let is_plain = !line.contains(['\n', '`', '<'])
        && !line.starts_with('>')
        && !line.starts_with("regex:")
        && line.len() <= LONGEST_LINE;
    match key_of(line).filter(|_| value.trim().is_empty()) {
        Some(key) => {
            note(Converted, "`signal.expects`; any value of that key passes".to_owned());
            if key != STATUS {
                required.insert(names::key(&key));
            }
            return Some(line.to_owned());
        }
        None if line.is_empty() => note(Dropped, "it says nothing".to_owned()),
        None if !is_plain => {
            note(Lost, "a verdict is one plain line here, and this is none".to_owned());
        }
        None => {
            let what = "`signal.expects`; a reply without that line does not pass";
            note(Converted, what.to_owned());
            return Some(line.to_owned());
        }
    }
    None
}

/// The key with the verdict of a step; it is not handed on.
pub(crate) const STATUS: &str = "status";

/// Returns the keys that a step's input asks for in the reply, as templates name them. A reply begins after words such as
/// `Reply with:`; before them `KEY: {{key}}` informs the agent.
fn requested_keys(input: &str) -> Vec<String> {
    let mut keys = Vec::new();
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

/// Returns the text after the words that announce a reply, if the line has them.
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

/// The steps that write and read each key.
pub(crate) struct KeyUse {
    /// The keys that each step asks its agent for.
    pub(crate) asked_for: Vec<BTreeSet<String>>,
    /// The steps that write a key, in order.
    writers: HashMap<String, Vec<usize>>,
    /// The keys that any step reads.
    pub(crate) read: BTreeSet<String>,
    /// The keys of the lists that loops go through.
    pub(crate) lists: BTreeSet<String>,
}

impl KeyUse {
    pub(crate) fn of(steps: &StepList<'_>, input: &Map<String, Value>) -> Self {
        let (asked_for, writers, read, lists) = Default::default();
        let mut uses = Self { asked_for, writers, read, lists };
        for (index, ForeignStep { record, .. }) in steps.steps.iter().enumerate() {
            let input = record.text("input").unwrap_or_default();
            let line_key = |key: &str| record.text(key).and_then(|text| key_of(text.trim()));
            let mut keys = BTreeSet::from_iter(requested_keys(&input));
            keys.extend(read_keys(record, &["output_keys", "outputs"]).into_iter().flatten());
            keys.extend(read_keys(record, &["required_outputs"]).into_iter().flatten());
            keys.extend(record.text("decision_key").map(|key| key.to_ascii_lowercase()));
            let expected = expected_pieces(record).unwrap_or_default();
            let is_list = expected.len() > 1;
            let key = |piece: &String| if is_list { key_name(piece) } else { key_of(piece.trim()) };
            keys.extend(expected.iter().filter_map(key));
            keys.remove(STATUS);
            let keys: BTreeSet<String> = keys.iter().map(|key| names::key(key)).collect();
            for key in &keys {
                uses.writers.entry(key.clone()).or_default().push(index);
            }
            uses.asked_for.push(keys);
            let bare = slots(&input).into_iter().filter(|slot| is_bare(slot));
            uses.read.extend(bare.map(|slot| names::key(&slot.to_ascii_lowercase())));
            uses.read.extend(line_key("condition"));
        }
        // In antfarm every reply may set any key: a key that is read is from the steps whose input names it, or that pass it on, unless the
        // run, its context or a loop fills it in.
        let has_loop = steps.steps.iter().any(|step| step.record.has("loop"));
        let any_loop = LoopSlots { gate: "", verify: Some(""), is_inside: true };
        let is_given = |key: &str| {
            [STATUS, "task", "run_id"].contains(&key)
                || input.get(key).is_some_and(|value| *value != "")
                || has_loop && any_loop.meaning(key).is_some()
        };
        let unwritten =
            uses.read.iter().filter(|key| uses.writers(key).is_empty() && !is_given(key));
        let unwritten: BTreeMap<String, String> =
            unwritten.map(|key| (key.to_ascii_lowercase(), key.clone())).collect();
        for (index, ForeignStep { record, .. }) in steps.steps.iter().enumerate() {
            let mut named = named_keys(&record.text("input").unwrap_or_default());
            named.extend(passed_keys(record).iter().map(|key| key.to_ascii_lowercase()));
            for named in named {
                if let Some(key) = unwritten.get(&named) {
                    uses.writers.entry(key.clone()).or_default().push(index);
                    uses.asked_for[index].insert(key.clone());
                }
            }
        }
        uses
    }

    /// Returns the steps that write a key.
    pub(crate) fn writers(&self, key: &str) -> &[usize] {
        self.writers.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the step before this one that hands on a list, and its key: `stories` is found as `STORIES_JSON:` or `STORIES:`.
    pub(crate) fn list_before(&self, name: &str, index: usize) -> Option<(Option<usize>, String)> {
        let name = name.to_ascii_lowercase();
        [format!("{name}_json"), name].into_iter().map(|key| names::key(&key)).find_map(|key| {
            let writer = self.writer_before(&key, index)?;
            Some((Some(writer), key))
        })
    }

    /// Returns the keys that several steps write, in order.
    pub(crate) fn shared(&self) -> BTreeMap<&str, &[usize]> {
        let writers = self.writers.iter().filter(|(_, steps)| steps.len() > 1);
        writers.map(|(key, steps)| (key.as_str(), steps.as_slice())).collect()
    }

    /// Returns the last step before this one that writes a key.
    pub(crate) fn writer_before(&self, key: &str, index: usize) -> Option<usize> {
        self.writers(key).iter().rev().find(|writer| **writer < index).copied()
    }
}

/// Returns the keys that the first of these fields lists, as templates name them.
pub(crate) fn read_keys(record: &Record<'_>, fields: &[&str]) -> Option<BTreeSet<String>> {
    let list = fields.iter().find_map(|field| record.texts(field))?;
    Some(list.iter().map(|key| names::key(&key.to_ascii_lowercase())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted_keys(input: &str) -> Vec<String> {
        BTreeSet::from_iter(requested_keys(input)).into_iter().collect()
    }

    #[test]
    fn keys_of_a_reply_are_distinguished_from_keys_of_the_question() {
        let input = "Look at it.\nREPO: {{repo}}\n\nReply with:\nSTATUS: done\nROOT_CAUSE: why\n\nOr:\nSTATUS: retry\nISSUES:\n- what";
        assert_eq!(sorted_keys(input), ["issues", "root_cause", "status"]);
        assert_eq!(
            sorted_keys(
                "If it works, output: DEPLOY_STATUS: ok\nIf not, output: DEPLOY_STATUS: failed"
            ),
            ["deploy_status"]
        );
        assert_eq!(sorted_keys("REQUIREMENTS OUTPUT: {{x}}\nNOTE: be brief"), Vec::<String>::new());
        assert_eq!(
            sorted_keys("Otherwise, output:\n  PHASE_DONE: skipped\nOUTPUT:\nSWARM: x"),
            ["phase_done", "swarm"]
        );
        assert_eq!(sorted_keys("Output exactly one of:\n  SMOKE_PASS: true"), ["smoke_pass"]);
    }
}
