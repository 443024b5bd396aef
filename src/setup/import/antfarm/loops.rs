//! Steps of `type: loop`: the list that each goes through, and the step that verifies each item.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::replies::{KeyUse, LoopSlots};
use crate::domain::FieldFate::{Converted, Dropped, Lost};
use crate::setup::import::names;
use crate::setup::import::record::{FieldTable, Record};
use crate::setup::import::steps::StepList;

/// A step that is done for each item of a list.
pub(crate) struct ForeignLoop {
    /// The step that hands on the list; `None` if the task begins with it.
    pub(crate) writer: Option<usize>,
    pub(crate) key: String,
    pub(crate) max_items: u64,
    /// The step that verifies each item.
    pub(crate) verify: Option<usize>,
}

/// The steps that are loops.
#[derive(Default)]
pub(crate) struct StepLoops {
    pub(crate) by_step: BTreeMap<usize, ForeignLoop>,
}

/// The longest list that antfarm allows.
const MOST_ITEMS: u64 = 20;
/// The largest size of a value if there is a list: a list does not fit into the usual 4,096 bytes.
pub(crate) const LIST_BYTES: u64 = 65_536;

const OF_LOOP: FieldTable = &[
    ("over", Converted, "`forEach`"),
    ("completion", Dropped, "a loop ends behind its last item anyway"),
    ("max_items", Converted, "`maxItems`"),
    ("verify_each", Converted, "`verifyEach`"),
    ("verifyEach", Converted, "`verifyEach`"),
    ("verify_step", Converted, "`verifyEach`, a detour"),
    ("verifyStep", Converted, "`verifyEach`, a detour"),
    ("fresh_session", Dropped, FRESH),
    ("freshSession", Dropped, FRESH),
];
const FRESH: &str =
    "each visit is a run of its own; how long a session lasts is the runner's matter";

impl StepLoops {
    /// Reads the loops of the steps. Records in `keys` which of them are lists.
    pub(crate) fn read(
        steps: &StepList<'_>,
        keys: &mut KeyUse,
        input: &Map<String, Value>,
    ) -> Self {
        let mut loops = Self::default();
        for index in 0..steps.steps.len() {
            if let Some(found) = loops.read_one(steps, keys, input, index) {
                keys.lists.insert(found.key.clone());
                loops.by_step.insert(index, found);
            }
        }
        loops
    }

    fn read_one(
        &self,
        steps: &StepList<'_>,
        keys: &KeyUse,
        input: &Map<String, Value>,
        index: usize,
    ) -> Option<ForeignLoop> {
        let step = &steps.steps[index];
        let record = &step.record;
        record.text("type").filter(|kind| kind == "loop")?;
        record.note("type", Converted, "a gate with `forEach`");
        let inner = record.record("loop").filter(|inner| inner.has("over"));
        let Some(inner) = inner else {
            let message =
                format!("the loop of `{}` does not say what it goes through", step.foreign);
            let help = "add `loop: {over: stories}`, or remove `type: loop`";
            record.at("type").fault("missing_field", message, help);
            return None;
        };
        if inner.text("completion").is_some_and(|end| end != "all_done") {
            inner.note("completion", Lost, "a loop only ends behind its last item, or by a route");
        }
        let most = inner.count("max_items");
        if most.is_none() {
            inner.added("max_items", format!("not given: {MOST_ITEMS}, as there"));
        }
        let verify = self.read_verification(steps, index, &inner);
        inner.finish(&[OF_LOOP]);
        let over = inner.text("over")?;
        let given = || {
            let key = names::key(&over);
            input.contains_key(&key).then_some((None, key))
        };
        let Some((writer, key)) = keys.list_before(&over, index).or_else(given) else {
            let key = over.to_ascii_uppercase();
            let message = format!("no step before `{}` hands on the list `{over}`", step.foreign);
            let help = format!(
                "have the reply of an earlier step say `{key}_JSON: [...]` or `{key}: [...]`"
            );
            inner.value_at("over").fault("unknown_list", message, &help);
            return None;
        };
        if let Some(writer) = writer.map(|writer| &steps.steps[writer]) {
            let note =
                format!("a list, which `{}` needs: a reply without it does not pass", step.gate);
            writer.record.added(&key, note);
        }
        Some(ForeignLoop { writer, key, max_items: most.unwrap_or(MOST_ITEMS), verify })
    }

    /// Returns the step that verifies each item of the loop.
    fn read_verification(
        &self,
        steps: &StepList<'_>,
        index: usize,
        inner: &Record<'_>,
    ) -> Option<usize> {
        let spelled = |key, other| if inner.has(other) { other } else { key };
        let each = spelled("verify_each", "verifyEach");
        let key = spelled("verify_step", "verifyStep");
        let name = inner.text(key);
        if inner.flag(each) != Some(true) {
            if name.is_some() {
                let note = "without `verify_each: true` it is a step like any other, as there";
                inner.note(key, Dropped, note);
            }
            return None;
        }
        let Some(name) = name else {
            let note = "no `verify_step` is named, so nothing is verified, as there";
            inner.note(each, Dropped, note);
            return None;
        };
        let verify = steps.target(inner, key, &name)?;
        let record = &steps.steps[verify].record;
        let why = if verify <= index {
            "it comes before the loop, so tasks would come to it without an item"
        } else if record.text("type").as_deref() == Some("loop") {
            "it has a loop of its own, and loops are not nested"
        } else if record.has("decision_key") || record.has("on_decision") {
            "it decides where a task goes, and a verification only passes or fails"
        } else if self.verified_by(verify).is_some() {
            "it verifies the items of another loop already"
        } else {
            return Some(verify);
        };
        let message = format!("`{name}` cannot verify each item: {why}");
        let help = "name a later step, for this alone";
        inner.value_at(key).fault("invalid_verification", message, help);
        None
    }

    /// Returns the loop whose items a step verifies, with its place.
    pub(crate) fn verified_by(&self, index: usize) -> Option<(usize, &ForeignLoop)> {
        let mut loops = self.by_step.iter().map(|(place, found)| (*place, found));
        loops.find(|(_, found)| found.verify == Some(index))
    }

    /// Returns the place of the step that a field of another step leads to.
    pub(crate) fn target(
        &self,
        steps: &StepList<'_>,
        index: usize,
        (record, key): (&Record<'_>, &str),
        name: &str,
    ) -> Option<usize> {
        let target = steps.target(record, key, name)?;
        if let Some((place, _)) = self.verified_by(target).filter(|_| target != index) {
            let verified = &steps.steps[place].foreign;
            let message = format!(
                "`{name}` verifies each item of `{verified}`, and this leads to it without an item"
            );
            let help = format!("lead to `{verified}`, or to a step outside of the loop");
            record.value_at(key).fault("invalid_verification", message, &help);
        }
        let begins =
            self.by_step.get(&target).is_some_and(|loop_there| loop_there.verify != Some(index));
        if key == "retry_step" && target < index && begins {
            let gate = &steps.steps[target].gate;
            let note = format!("leads to `{gate}`, which begins again with the first item");
            record.note(key, Converted, note);
        }
        Some(target)
    }

    /// Returns the meaning of a loop's slots at a step: those of its own loop, or of the last one before it.
    pub(crate) fn slots<'s>(&self, steps: &'s StepList<'_>, index: usize) -> Option<LoopSlots<'s>> {
        let inside = self.by_step.get(&index).map(|found| (index, found));
        let inside = inside.or_else(|| self.verified_by(index));
        let before =
            || self.by_step.range(..index).next_back().map(|(place, found)| (*place, found));
        let (place, found) = inside.or_else(before)?;
        let gate = |place: usize| steps.steps[place].gate.as_str();
        let verify = found.verify.map(gate);
        Some(LoopSlots { gate: gate(place), verify, is_inside: inside.is_some() })
    }
}
