//! Reads Orbital files: steps in TOML, run one after the other; a gate's verdict is in its text.
//!
//! In Orbital, `max_gate_retries` is the number of times that a gate may be judged, so a task is sent back one time less.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::json;

use super::names;
use super::names::{Names, is_bare, rewritten, slots};
use super::record::{FieldTable, Record};
use super::steps::{ForeignStep, StepList, Unnamed};
use super::workflow_draft::{
    END_COMPLETES, ExhaustedDraft, GateDraft, ReadWorkflow, RepeatDraft, RouteDraft, RunDraft,
    WorkflowDraft, period, tidy,
};
use crate::domain::FieldFate::{Converted, Dropped};
use crate::domain::listed;

/// The number of times that a gate may be judged by default.
const JUDGED: u64 = 3;
/// The roles at steps and at gates; in Orbital one agent does both.
const WORKER: &str = "worker";
const REVIEWER: &str = "reviewer";
/// The number of rounds of the outer loop by default.
const ROUNDS: u64 = 50;

/// The remark on a preset: the file has only its name.
const OWN_WORDS: &str = "its steps; their words are aof's own, and so is the way to a step that fixes what a review found: \
                         compare them with the system's";

const OF_FILE: FieldTable = &[
    ("agents", Dropped, "agents are in org.yaml, and what they may use is the runner's matter"),
    ("*", Dropped, "how the program runs is the runner's matter"),
];
const OF_WORKFLOW: FieldTable = &[
    ("preset", Dropped, "the file has steps of its own"),
    (
        "max_gate_retries",
        Converted,
        "`maxRetries` is one less: it counts how often a gate is judged, and 0 means 3 there",
    ),
];
const OF_STEP: FieldTable = &[
    ("prompt", Converted, "`brief.instructions`"),
    ("timeout", Converted, "`run: {timeout}`"),
    ("model", Converted, "`run: {model}`"),
    (
        "gate",
        Converted,
        "`true` is `canReject: true` and `signal: gate`: no verdict counts as a rejection",
    ),
    ("deferred", Converted, "`true` is `detour: true`"),
    ("on_fail", Converted, "where `needs_review` leads"),
    ("agent", Dropped, "what an agent is and may use is the runner's matter"),
    ("tools", Dropped, "what an agent is and may use is the runner's matter"),
];

/// Returns the workflow of the file.
pub(crate) fn read(top: &Record<'_>, stem: &str) -> Vec<ReadWorkflow> {
    let record = if top.has("workflow") {
        let Some(record) = top.record("workflow") else { return Vec::new() };
        top.finish(&[OF_FILE]);
        record
    } else {
        top.clone()
    };
    let preset_name = record.text("preset");
    let fallback = names::plain(preset_name.as_deref().unwrap_or(stem), stem);
    let mut draft = WorkflowDraft::begin(&record, "name", (None, &fallback), &mut Names::default());
    let mut inputs = BTreeSet::new();
    let mut steps = Vec::new();
    match preset_name {
        Some(name) if !record.has("steps") => {
            steps = preset(&name);
            record.note("preset", Converted, OWN_WORDS);
            if steps.is_empty() {
                let message = format!("the preset `{name}` is not known here");
                let known = listed(PRESETS);
                let help = format!("write its steps out as `[[workflow.steps]]`, or use {known}");
                record.value_at("preset").fault("unknown_preset", message, &help);
            }
        }
        _ => {
            let list = StepList::read(&record, "name", Unnamed::IsRefused);
            steps.extend(list.steps.iter().map(|step| read_step(step, &list)));
            refuse_unreachable(&steps, &list);
        }
    }
    for step in &mut steps {
        step.instructions = step.instructions.take().map(|text| convert_slots(&text, &mut inputs));
    }
    let again = match record.count("max_gate_retries") {
        None | Some(0) => JUDGED - 1,
        Some(judged) => judged - 1,
    };
    record.finish(&[OF_WORKFLOW]);
    let has_gates = steps.iter().any(|step| step.judges);
    if has_gates && !record.has("max_gate_retries") {
        let note =
            format!("not given: a gate is judged {JUDGED} times there, so `maxRetries: {again}`");
        record.report.added("workflow.max_gate_retries", note);
    }
    record.report.added("run.exit", END_COMPLETES);
    build(&mut draft, &steps, again);
    let spec = SPEC_FILES.iter().find(|key| inputs.contains(**key)).unwrap_or(&SPEC_FILES[0]);
    repeat(&mut draft, &record, spec, again);
    inputs.insert((*spec).to_owned());
    let is_implied = |(step, gate): &(&OrbitalStep, &GateDraft)| gate.detour && !step.deferred;
    let detours = steps.iter().zip(&draft.gates).filter(is_implied).map(|(step, _)| &step.foreign);
    let detours: Vec<&String> = detours.collect();
    if !detours.is_empty() {
        let note =
            format!("only a verdict leads to {}, and from there back to its gate", listed(detours));
        record.report.added("detour", note);
    }
    for key in inputs {
        let (value, note) = if SPEC_FILES.contains(&key.as_str()) {
            ("the task", "the task itself, unless it says another: `aof new --context`")
        } else {
            ("", "comes with the task (`aof new --context`), or stays empty")
        };
        record.report.added(format!("context.input.{key}"), note);
        draft.context.input.insert(key, json!(value));
    }
    record.report.added("roles", format!("one agent does everything there; here `{WORKER}` works and `{REVIEWER}` judges, and one agent may be both"));
    vec![draft.finish()]
}

fn read_step(step: &ForeignStep<'_>, list: &StepList<'_>) -> OrbitalStep {
    let record = &step.record;
    let instructions = record.text("prompt");
    match &instructions {
        None => record.added("prompt", "not given: the brief is generated"),
        Some(text) => {
            record.note("prompt", Converted, "`brief.instructions`");
            for slot in slots(text) {
                if !is_bare(&slot) {
                    let note = "left as it stands: it is no key";
                    record.at("prompt").note_slot(&slot, Converted, note);
                }
            }
            if text.contains("<promise>") {
                let note = "a `<promise>` is never a verdict: every round ends with the verification, promised or not";
                record.note("prompt", Dropped, note);
            }
        }
    }
    let judges = record.flag("gate") == Some(true);
    let on_fail = record.text("on_fail");
    if let Some(target) = &on_fail {
        if !judges {
            let message = format!("`on_fail = \"{target}\"` is for gates, and this step is none");
            let help = "add `gate = true`, or remove `on_fail`";
            record.value_at("on_fail").fault("dead_field", message, help);
        }
        list.target(record, "on_fail", target);
    }
    let run = RunDraft {
        timeout: period(record, "timeout"),
        model: record.text("model"),
        ..RunDraft::default()
    };
    let deferred = record.flag("deferred") == Some(true);
    record.finish(&[OF_STEP]);
    let (foreign, gate) = (step.foreign.clone(), step.gate.clone());
    OrbitalStep { foreign, gate, instructions, run, judges, deferred, on_fail }
}

/// Reports deferred steps that no gate's verdict leads to.
fn refuse_unreachable(steps: &[OrbitalStep], list: &StepList<'_>) {
    let targets: HashSet<&str> = steps.iter().filter_map(|step| step.on_fail.as_deref()).collect();
    for (step, foreign) in steps.iter().zip(&list.steps) {
        if step.deferred && !targets.contains(step.foreign.as_str()) {
            let message = format!("no `on_fail` leads to the deferred step `{}`", step.foreign);
            let help = "name it in the `on_fail` of a gate, or remove it";
            foreign.record.at("name").fault("unreachable_gate", message, help);
        }
    }
}

fn build(draft: &mut WorkflowDraft, steps: &[OrbitalStep], again: u64) {
    let places: HashMap<&str, usize> =
        steps.iter().enumerate().map(|(index, step)| (step.foreign.as_str(), index)).collect();
    let target = |step: &OrbitalStep| places.get(step.on_fail.as_deref()?).copied();
    for (step, detour) in steps.iter().zip(detours(steps, target)) {
        let (role, purpose) =
            if step.judges { (REVIEWER, "Judges the work") } else { (WORKER, "Does the work") };
        draft.roles.add(role, Some(purpose), false);
        let mut gate = GateDraft {
            id: step.gate.clone(),
            role: role.to_owned(),
            can_reject: step.judges,
            run: step.run.clone(),
            detour,
            ..GateDraft::default()
        };
        gate.brief.instructions.clone_from(&step.instructions);
        if step.judges {
            gate.signal = Some(json!("gate"));
            let target = target(step).map_or(step, |place| &steps[place]);
            gate.route("needs_review", RouteDraft::to(&target.gate));
            gate.max_retries = Some(again);
            gate.on_exhausted = Some(ExhaustedDraft::To("$fail".to_owned()));
        } else {
            gate.run.end_completes();
        }
        draft.gates.push(gate);
    }
}

/// Repeats the steps as the outer loop does: until the verification, which is a gate of its own, finds everything complete.
fn repeat(draft: &mut WorkflowDraft, record: &Record<'_>, spec: &str, again: u64) {
    let mut names = Names::default();
    for gate in &draft.gates {
        names.invent(&gate.id);
    }
    let id = names.invent("verify");
    draft.roles.add(REVIEWER, Some("Judges the work"), false);
    draft.repeat = Some(RepeatDraft {
        until: if id.contains('-') {
            format!("context['{id}'].complete")
        } else {
            format!("context.{id}.complete")
        },
        max: ROUNDS,
        on_exhausted: "$fail".to_owned(),
    });
    let mut gate = GateDraft { id, role: REVIEWER.to_owned(), ..GateDraft::default() };
    gate.signal = Some(json!({"expects": "COMPLETE:", "missing": "failed"}));
    gate.on_failure = Some(RouteDraft::to(&gate.id));
    gate.max_retries = Some(again);
    gate.on_exhausted = Some(ExhaustedDraft::To("$fail".to_owned()));
    gate.outputs = Some(json!({
        "type": "object",
        "properties": {"complete": {"type": "boolean"}},
        "required": ["complete"],
    }));
    gate.brief.instructions = Some(VERIFY.replace("{{files}}", &format!("{{{{{spec}}}}}")));
    let note = format!(
        "the outer loop: the steps again, {ROUNDS} times at most, until the gate `{}` finds everything complete, which is the verification there; its words are aof's own",
        gate.id
    );
    record.report.added("repeat", note);
    draft.gates.push(gate);
}

/// Returns, for each step, whether it is a detour: it is deferred or named so, or is after every gate that leads to it.
fn detours(steps: &[OrbitalStep], target: impl Fn(&OrbitalStep) -> Option<usize>) -> Vec<bool> {
    let mut last_router: Vec<Option<usize>> = vec![None; steps.len()];
    for (router, step) in steps.iter().enumerate() {
        if let Some(place) = target(step) {
            last_router[place] = Some(router);
        }
    }
    let is_detour = |(index, step): (usize, &OrbitalStep)| {
        let is_named = step.deferred || step.foreign == ADDRESS_REVIEW;
        !step.judges
            && index > 0
            && last_router[index].is_some_and(|router| is_named || router < index)
    };
    steps.iter().enumerate().map(is_detour).collect()
}

/// Slots for the files that specify the work.
const SPEC_FILES: [&str; 2] = ["files", "spec_file"];
/// The slot for the file in which each step reads the notes of the steps before it, and the file beside the task that replaces it.
const NOTES: (&str, &str) = ("{{notes_file}}", "tasks/{{task.id}}.notes.md");

fn convert_slots(text: &str, inputs: &mut BTreeSet<String>) -> String {
    let text = rewritten(text, |inner| {
        let key = is_bare(inner).then(|| names::key(inner))?;
        if key != "task" && key != "notes_file" {
            inputs.insert(key.clone());
        }
        Some(key)
    });
    tidy(&text.replace(NOTES.0, NOTES.1))
}

/// A step, of the file or of a preset.
#[derive(Default)]
pub(crate) struct OrbitalStep {
    pub(crate) foreign: String,
    pub(crate) gate: String,
    pub(crate) instructions: Option<String>,
    pub(crate) run: RunDraft,
    pub(crate) judges: bool,
    pub(crate) deferred: bool,
    pub(crate) on_fail: Option<String>,
}

/// The known presets.
pub(crate) const PRESETS: [&str; 5] = ["spec-driven", "fast", "reviewed", "tdd", "autonomous"];

/// The step that fixes what a review found.
pub(crate) const ADDRESS_REVIEW: &str = "address-review";

const ADDRESS: &str = "A review found faults. Settle each of them, and only them:

- read what the review says, here and in {{notes_file}}
- fix the place that it names, and check that it is fixed
- run the tests
- write down what you changed

Begin nothing new, and tick off nothing in {{files}}.
";

const REVIEW: &str = "Review everything that changed. You are here to find faults, not to be polite.

Look at it from each of these sides, one after the other: safety against misuse, design, logic and edge cases,
handling of errors, consistency of data. Write down in {{notes_file}} what you found from each.

If there is any fault, however small, end with <gate>FAIL</gate> and list the faults below it.
Only if there is none, end with <gate>PASS</gate>.
";

const VERIFY: &str = "Check whether every item of {{files}} is done and ticked off. Change nothing.

End with one line:
COMPLETE: true
if nothing is open, else
COMPLETE: false
";

const NEXT_ITEM: &str = "Carry out the next open item of {{files}}, with tests, and tick it off.\n";

/// Returns the steps of a preset; none for an unknown one.
pub(crate) fn preset(name: &str) -> Vec<OrbitalStep> {
    let address = || step(ADDRESS_REVIEW, ADDRESS);
    let all = "Carry out as much of {{files}} as you can in one go, with tests, and tick off what is done.\n";
    match name {
        "spec-driven" => vec![step("implement", NEXT_ITEM)],
        "fast" => vec![step("implement", all), address(), review(ADDRESS_REVIEW)],
        "reviewed" => vec![step("implement", NEXT_ITEM), address(), review(ADDRESS_REVIEW)],
        "tdd" => vec![
            step(
                "red",
                "Write a test for the next open item of {{files}}, run it, and see it fail.\n",
            ),
            step("green", "Write as little as makes the failing test pass, and see it pass.\n"),
            step("refactor", "Make the code clear while every test keeps passing.\n"),
            address(),
            review(ADDRESS_REVIEW),
        ],
        "autonomous" => vec![
            step("implement", NEXT_ITEM),
            OrbitalStep { deferred: true, ..step("fix", ADDRESS) },
            review("fix"),
        ],
        _ => Vec::new(),
    }
}

fn step(name: &str, prompt: &str) -> OrbitalStep {
    OrbitalStep {
        foreign: name.to_owned(),
        gate: name.to_owned(),
        instructions: Some(prompt.to_owned()),
        ..OrbitalStep::default()
    }
}

fn review(on_fail: &str) -> OrbitalStep {
    OrbitalStep { judges: true, on_fail: Some(on_fail.to_owned()), ..step("review", REVIEW) }
}
