//! Orbital: steps in TOML, run one after the other; a gate's verdict is read from its text.
//!
//! How it counts: `max_gate_retries` is how often a gate may be judged, so a task is sent back one time less.

pub(crate) mod presets;
pub(crate) mod steps;

use std::collections::{BTreeSet, HashMap};

use serde_json::json;

use super::import::{Read, Roles, tidy};
use super::names;
use super::names::Names;
use super::placeholders::{Slot, is_bare, rewritten};
use super::record::Record;
use super::report::{At, Ledger};
use super::workflow_draft::{ExhaustedSketch, GateSketch, RouteSketch, Sketch, WorkSketch};
use crate::domain::listed;
use crate::files::yaml::{Fault, Node};
use presets::{PRESETS, preset};
use steps::{Step, read_steps};

/// How often a gate may be judged where the file does not say.
const JUDGED: u64 = 3;
/// Who works at steps, and who at gates: there one agent does both.
const WORKER: &str = "worker";
const REVIEWER: &str = "reviewer";

/// Returns the workflow of the file.
pub(crate) fn read(root: &Node<'static>, stem: &str, ledger: &mut Ledger<'_>) -> Vec<Read> {
    let Some(mut top) = Record::of(root, "", "an orbital configuration", ledger) else {
        return Vec::new();
    };
    let mut record = match top.take("workflow") {
        Some(field) => {
            let Some(record) = Record::of(field.node, "workflow", "`workflow`", ledger) else {
                return Vec::new();
            };
            top.finish(ledger, |key| match key {
                "agents" => {
                    Some("agents are in org.yaml, and what they may use is the runner's matter")
                }
                _ => Some("how the program runs is the runner's matter"),
            });
            record
        }
        None if top.has("steps") || top.has("preset") => top,
        None => {
            let message =
                "there is no `[workflow]` in this file: it only says how the program runs";
            ledger.fault(Fault::new("no_workflow", top.start(), message));
            return Vec::new();
        }
    };
    let preset_name = record.text("preset", ledger);
    let name = record.text("name", ledger);
    let fallback = preset_name.as_ref().map_or(stem, |(preset, _)| preset);
    let mut sketch = Sketch::default();
    if let Some((text, field)) = &name {
        let (name, why) = Names::default().add(text, stem);
        sketch.name = name;
        match why {
            Some(why) => ledger.converted(&field.at, why),
            None => ledger.kept(&field.at),
        }
    } else {
        sketch.name = names::plain(fallback, stem);
        ledger.supplied("name", format!("not given: the workflow is called `{}`", sketch.name));
    }
    if let Some((text, field)) = record.text("description", ledger) {
        ledger.kept(&field.at);
        sketch.description = Some(tidy(&text));
    }
    let judged = record.count("max_gate_retries", ledger).map(|(number, field)| (number, field.at));
    let steps = match (record.take("steps"), &preset_name) {
        (Some(field), other) => {
            if let Some((_, field)) = other {
                ledger.dropped(&field.at, "the file has steps of its own");
            }
            read_steps(&field, ledger)
        }
        (None, Some((name, field))) => {
            if let Some(steps) = preset(name) {
                ledger.converted(
                    &field.at,
                    format!("its steps, written out: {}", listed(steps.iter().map(|s| &s.foreign))),
                );
                steps
            } else {
                let fault = Fault::new(
                    "unknown_preset",
                    field.node.span.clone(),
                    format!("the preset `{name}` is not known here"),
                );
                ledger.fault(fault.help(format!(
                    "write its steps out as `[[workflow.steps]]`, or use {}",
                    listed(PRESETS)
                )));
                Vec::new()
            }
        }
        (None, None) => {
            ledger.fault(Fault::new(
                "missing_field",
                record.start(),
                "the workflow has neither `steps` nor `preset`",
            ));
            Vec::new()
        }
    };
    record.finish(ledger, |_| None);
    let mut roles = Roles::default();
    build(&mut sketch, &mut roles, &steps, judged.as_ref(), ledger);
    vec![Read::of(&sketch, roles)]
}

fn build(
    sketch: &mut Sketch,
    roles: &mut Roles,
    steps: &[Step],
    judged: Option<&(u64, At)>,
    ledger: &mut Ledger<'_>,
) {
    let again = sent_back(steps, judged, ledger);
    let mut inputs = BTreeSet::new();
    let places: HashMap<&str, usize> =
        steps.iter().enumerate().map(|(index, step)| (step.foreign.as_str(), index)).collect();
    let detours = detours(steps, &places);
    for (index, step) in steps.iter().enumerate() {
        let role = if step.judges { REVIEWER } else { WORKER };
        let purpose = if step.judges { "Judges the work" } else { "Does the work" };
        roles.add(role, Some(purpose));
        let mut work =
            WorkSketch { role: role.to_owned(), can_reject: step.judges, ..WorkSketch::default() };
        work.run.clone_from(&step.run);
        work.brief.instructions = step
            .prompt
            .as_ref()
            .map(|(text, at)| instructions(text, at.as_ref(), &mut inputs, ledger));
        if step.judges {
            work.signal = Some(json!("gate"));
        }
        let mut gate = GateSketch::work(&step.gate, work);
        gate.detour = detours[index];
        if gate.detour
            && let Some(at) = step.at.as_ref().filter(|_| !step.deferred)
        {
            ledger.converted(
                at,
                "`detour: true`: only a verdict leads to it, and from it back to that gate",
            );
        }
        if step.judges {
            let target =
                step.on_fail.as_ref().and_then(|(foreign, _)| places.get(foreign.as_str()));
            let target = target.map_or(&step.gate, |place| &steps[*place].gate);
            gate.routes.push(("needs_review".to_owned(), RouteSketch::to(target)));
            gate.max_retries = Some(again);
            gate.on_exhausted = Some(ExhaustedSketch::To("$fail".to_owned()));
        }
        sketch.gates.push(gate);
    }
    for key in inputs {
        ledger.supplied(
            format!("context.input.{key}"),
            "comes with the task (`aof task new --context`), or stays empty",
        );
        sketch.input.insert(key, json!(""));
    }
    if steps.iter().any(|step| step.judges) {
        ledger.supplied(
            "roles",
            format!("one agent does everything there; here `{WORKER}` works and `{REVIEWER}` judges, and one agent may be both"),
        );
    }
}

/// Returns how often a gate may send a task back.
fn sent_back(steps: &[Step], judged: Option<&(u64, At)>, ledger: &mut Ledger<'_>) -> u64 {
    let gates = steps.iter().any(|step| step.judges);
    match judged {
        Some((_, at)) if !gates => {
            ledger.dropped(at, "no step is a gate");
            0
        }
        Some((0, at)) => {
            ledger.converted(
                at,
                format!("`maxRetries: {}`: 0 means the default there, {JUDGED}", JUDGED - 1),
            );
            JUDGED - 1
        }
        Some((number, at)) => {
            let again = number - 1;
            let why = format!(
                "`maxRetries: {again}`: it counts how often a gate is judged, so {number} are {again} times back"
            );
            ledger.converted(at, why);
            again
        }
        None if gates => {
            let again = JUDGED - 1;
            let why = format!(
                "not given: a gate is judged {JUDGED} times there, so `maxRetries: {again}`"
            );
            ledger.supplied("workflow.max_gate_retries", why);
            again
        }
        None => 0,
    }
}

/// Steps off the main line: they say so, or stand behind every gate that leads to them, or are named for it.
fn detours(steps: &[Step], places: &HashMap<&str, usize>) -> Vec<bool> {
    let mut first_router: Vec<Option<usize>> = vec![None; steps.len()];
    let mut last_router = first_router.clone();
    for (router, step) in steps.iter().enumerate() {
        if let Some(place) =
            step.on_fail.as_ref().and_then(|(foreign, _)| places.get(foreign.as_str()))
        {
            first_router[*place].get_or_insert(router);
            last_router[*place] = Some(router);
        }
    }
    let is_detour = |(index, step): (usize, &Step)| {
        let led_to = first_router[index].is_some() && !step.judges && index > 0;
        let behind = last_router[index].is_some_and(|router| router < index);
        led_to && (step.deferred || behind || step.foreign == presets::MENDING)
    };
    steps.iter().enumerate().map(is_detour).collect()
}

fn instructions(
    text: &str,
    at: Option<&At>,
    inputs: &mut BTreeSet<String>,
    ledger: &mut Ledger<'_>,
) -> String {
    let mut odd = BTreeSet::new();
    let converted = rewritten(text, |inner| {
        if is_bare(inner) {
            let key = names::key(inner);
            if key != "task" {
                inputs.insert(key.clone());
            }
            Slot::Name(key)
        } else {
            odd.insert(inner.to_owned());
            Slot::Literal
        }
    });
    if let Some(at) = at {
        ledger.converted(at, "`brief.instructions`");
        for slot in odd {
            let at = At { path: format!("{}: {{{{{slot}}}}}", at.path), ..at.clone() };
            ledger.converted(&at, "left as it stands: it is no key");
        }
        if text.contains("<promise>") {
            ledger.dropped(
                at,
                "a `<promise>` is never a verdict here: what an agent says is its outcome",
            );
        }
    }
    tidy(&converted)
}
