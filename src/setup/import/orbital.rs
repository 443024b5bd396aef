//! Orbital: steps in TOML, run one after the other; a gate's verdict is read from its text.
//!
//! How it counts: `max_gate_retries` is how often a gate may be judged, so a task is sent back one time less.

pub(crate) mod presets;
pub(crate) mod steps;

use std::collections::{BTreeSet, HashMap};

use serde_json::json;

use super::names::{self, Names};
use super::placeholders::{Slot, is_bare, rewritten};
use super::record::{Record, Said};
use super::report::{At, ImportReport};
use super::workflow_draft::{
    ExhaustedDraft, GateDraft, ReadWorkflow, RouteDraft, WorkflowDraft, tidy,
};
use crate::domain::listed;
use crate::files::yaml::Node;
use presets::{ADDRESS_REVIEW, PRESETS, preset};
use steps::{OrbitalStep, read_steps};

/// How often a gate may be judged where the file does not say.
const JUDGED: u64 = 3;
/// Who works at steps, and who at gates: there one agent does both.
const WORKER: &str = "worker";
const REVIEWER: &str = "reviewer";

/// Returns the workflow of the file.
pub(crate) fn read<'r>(
    root: &'r Node<'static>,
    stem: &str,
    report: &'r ImportReport<'r>,
) -> Vec<ReadWorkflow> {
    let Some(mut top) = Record::of(root, "", "an orbital configuration", report) else {
        return Vec::new();
    };
    let mut record = match top.take("workflow") {
        Some(field) => {
            let Some(record) = Record::of(field.node, "workflow", "`workflow`", report) else {
                return Vec::new();
            };
            top.finish(|key| match key {
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
            top.start().fault("no_workflow", message, "");
            return Vec::new();
        }
    };
    let (preset_name, name) = (record.text("preset"), record.text("name"));
    let name = if let Some(said) = name {
        Names::default().take(&said, stem, "")
    } else {
        let name = names::plain(preset_name.as_ref().map_or(stem, |preset| &preset.value), stem);
        report.added("name", format!("not given: the workflow is called `{name}`"));
        name
    };
    let mut draft = WorkflowDraft { name, ..WorkflowDraft::default() };
    draft.description = record.text("description").map(|said| tidy(&said.kept()));
    let judged = record.count("max_gate_retries");
    let steps = match (record.take("steps"), &preset_name) {
        (Some(field), other) => {
            if let Some(preset) = other {
                preset.at.dropped("the file has steps of its own");
            }
            read_steps(&field)
        }
        (None, Some(said)) => {
            let steps = preset(&said.value);
            if steps.is_empty() {
                let message = format!("the preset `{}` is not known here", said.value);
                let known = listed(PRESETS);
                let help = format!("write its steps out as `[[workflow.steps]]`, or use {known}");
                said.value_at().fault("unknown_preset", message, &help);
            } else {
                let names = listed(steps.iter().map(|step| &step.foreign));
                said.at.converted(format!("its steps, written out: {names}"));
            }
            steps
        }
        (None, None) => {
            record.missing("the workflow has neither `steps` nor `preset`");
            Vec::new()
        }
    };
    record.finish(|_| None);
    build(&mut draft, &steps, judged.as_ref(), report);
    vec![draft.finish()]
}

fn build(
    draft: &mut WorkflowDraft,
    steps: &[OrbitalStep<'_>],
    judged: Option<&Said<'_, u64>>,
    report: &ImportReport<'_>,
) {
    let again = sent_back(steps, judged, report);
    let mut inputs = BTreeSet::new();
    let places: HashMap<&str, usize> =
        steps.iter().enumerate().map(|(index, step)| (step.foreign.as_str(), index)).collect();
    let detours = detours(steps, &places);
    for (step, detour) in steps.iter().zip(detours) {
        let (role, purpose) =
            if step.judges { (REVIEWER, "Judges the work") } else { (WORKER, "Does the work") };
        draft.roles.add(role, Some(purpose));
        let mut gate = GateDraft {
            id: step.gate.clone(),
            role: role.to_owned(),
            can_reject: step.judges,
            run: step.run.clone(),
            detour,
            ..GateDraft::default()
        };
        let prompt = step.prompt.as_ref();
        gate.brief.instructions =
            prompt.map(|(text, at)| instructions(text, at.as_ref(), &mut inputs));
        if let Some(at) = step.at.as_ref().filter(|_| detour && !step.deferred) {
            at.converted(
                "`detour: true`: only a verdict leads to it, and from it back to that gate",
            );
        }
        if step.judges {
            gate.signal = Some(json!("gate"));
            let target =
                step.on_fail.as_ref().and_then(|(foreign, _)| places.get(foreign.as_str()));
            let target = target.map_or(&step.gate, |place| &steps[*place].gate);
            gate.route("needs_review", RouteDraft::to(target));
            gate.max_retries = Some(again);
            gate.on_exhausted = Some(ExhaustedDraft::To("$fail".to_owned()));
        }
        draft.gates.push(gate);
    }
    for key in inputs {
        let why = "comes with the task (`aof task new --context`), or stays empty";
        report.added(format!("context.input.{key}"), why);
        draft.context.input.insert(key, json!(""));
    }
    if steps.iter().any(|step| step.judges) {
        report.added("roles", format!("one agent does everything there; here `{WORKER}` works and `{REVIEWER}` judges, and one agent may be both"));
    }
}

/// Returns how often a gate may send a task back.
fn sent_back(
    steps: &[OrbitalStep<'_>],
    judged: Option<&Said<'_, u64>>,
    report: &ImportReport<'_>,
) -> u64 {
    let default = JUDGED - 1;
    let has_gates = steps.iter().any(|step| step.judges);
    match judged {
        Some(said) if !has_gates => {
            said.at.dropped("no step is a gate");
            0
        }
        Some(Said { value: 0, at, .. }) => {
            at.converted(format!("`maxRetries: {default}`: 0 means the default there, {JUDGED}"));
            default
        }
        Some(Said { value: number, at, .. }) => {
            let again = number - 1;
            at.converted(format!(
                "`maxRetries: {again}`: it counts how often a gate is judged, so {number} are {again} times back"
            ));
            again
        }
        None if has_gates => {
            let why = format!(
                "not given: a gate is judged {JUDGED} times there, so `maxRetries: {default}`"
            );
            report.added("workflow.max_gate_retries", why);
            default
        }
        None => 0,
    }
}

/// Steps off the main line: they say so, or stand behind every gate that leads to them, or are named for it.
fn detours(steps: &[OrbitalStep<'_>], places: &HashMap<&str, usize>) -> Vec<bool> {
    let mut last_router: Vec<Option<usize>> = vec![None; steps.len()];
    for (router, step) in steps.iter().enumerate() {
        let target = step.on_fail.as_ref().and_then(|(foreign, _)| places.get(foreign.as_str()));
        if let Some(place) = target {
            last_router[*place] = Some(router);
        }
    }
    let is_detour = |(index, step): (usize, &OrbitalStep<'_>)| {
        let is_behind = last_router[index].is_some_and(|router| router < index);
        let is_named = step.deferred || step.foreign == ADDRESS_REVIEW;
        last_router[index].is_some() && !step.judges && index > 0 && (is_named || is_behind)
    };
    steps.iter().enumerate().map(is_detour).collect()
}

fn instructions(text: &str, at: Option<&At<'_>>, inputs: &mut BTreeSet<String>) -> String {
    let mut odd = BTreeSet::new();
    let converted = rewritten(text, |inner| {
        if !is_bare(inner) {
            odd.insert(inner.to_owned());
            return Slot::Literal;
        }
        let key = names::key(inner);
        if key != "task" {
            inputs.insert(key.clone());
        }
        Slot::Name(key)
    });
    if let Some(at) = at {
        at.converted("`brief.instructions`");
        for slot in odd {
            at.slot(&slot).converted("left as it stands: it is no key");
        }
        if text.contains("<promise>") {
            at.dropped("a `<promise>` is never a verdict here: what an agent says is its outcome");
        }
    }
    tidy(&converted)
}
