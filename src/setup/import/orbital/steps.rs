//! The steps as they are written, each field read once.

use std::collections::HashSet;

use crate::setup::import::names::Names;
use crate::setup::import::record::{Field, Record, Said};
use crate::setup::import::report::At;
use crate::setup::import::workflow_draft::{RunDraft, run_model, run_period};

/// A step. Those of presets have no place in a file.
#[derive(Default)]
pub(crate) struct OrbitalStep<'r> {
    pub(crate) foreign: String,
    pub(crate) gate: String,
    pub(crate) at: Option<At<'r>>,
    pub(crate) prompt: Option<(String, Option<At<'r>>)>,
    pub(crate) run: RunDraft,
    pub(crate) judges: bool,
    pub(crate) deferred: bool,
    pub(crate) on_fail: Option<(String, Option<At<'r>>)>,
}

pub(crate) fn read_steps<'r>(field: &Field<'r>) -> Vec<OrbitalStep<'r>> {
    let mut names = Names::default();
    let wanted = "a list of steps (`[[workflow.steps]]`)";
    let records = field.records(wanted, "a step", Some("the workflow has no steps"));
    let numbered = records.into_iter().zip(1..);
    let steps: Vec<OrbitalStep<'_>> = numbered
        .filter_map(|(record, number)| step(record, &field.at.path, number, &mut names))
        .collect();
    check(&steps);
    steps
}

fn step<'r>(
    mut record: Record<'r>,
    parent: &str,
    number: usize,
    names: &mut Names,
) -> Option<OrbitalStep<'r>> {
    let Some(name) = record.own_name("name", parent) else {
        record.missing(format!("step {number} has no `name`"));
        return None;
    };
    let gate = names.take(&name, &format!("step-{number}"), "as `id`");
    let prompt = record.text("prompt").map(|said| (said.value, Some(said.at)));
    if prompt.is_none() {
        let field = format!("{}.prompt", record.path);
        record.report.added(field, "not given: the brief is generated");
    }
    let timeout = record.text("timeout").and_then(|said| run_period(&said.value, &said.at));
    let model = record.text("model").map(|said| run_model(said.value, &said.at));
    let mut flag = |key, into: &str| {
        let Some(Said { value, at, .. }) = record.flag(key) else { return false };
        if value {
            at.converted(into);
        } else {
            at.dropped("what a gate is anyway");
        }
        value
    };
    let into = "`canReject: true` and `signal: gate`: no verdict counts as a rejection";
    let judges = flag("gate", into);
    let deferred = flag("deferred", "`detour: true`");
    let on_fail = record.text("on_fail").map(|said| {
        let target = &said.value;
        if judges {
            said.at.converted(format!("`needs_review` leads to `{target}`"));
        } else {
            let message = format!("`on_fail = \"{target}\"` is for gates, and this step is none");
            let help = "add `gate = true`, or remove `on_fail`";
            said.value_at().fault("dead_field", message, help);
        }
        (said.value, Some(said.at))
    });
    record.finish(|key| {
        let why = "what an agent is and may use is the runner's matter";
        matches!(key, "agent" | "tools").then_some(why)
    });
    let run = RunDraft { timeout, model, retry: None };
    Some(OrbitalStep {
        foreign: name.value,
        gate,
        at: Some(name.at),
        prompt,
        run,
        judges,
        deferred,
        on_fail,
    })
}

fn check(steps: &[OrbitalStep<'_>]) {
    let mut seen = HashSet::new();
    let names: HashSet<&str> = steps.iter().map(|step| step.foreign.as_str()).collect();
    let targets = steps.iter().filter_map(|step| Some(step.on_fail.as_ref()?.0.as_str()));
    let targets: HashSet<&str> = targets.collect();
    for step in steps {
        let (Some(at), name) = (&step.at, step.foreign.as_str()) else { continue };
        if !seen.insert(name) {
            let message = format!("there are two steps `{name}`");
            at.fault("duplicate_gate", message, "give each step a name of its own");
        }
        if let Some((target, Some(at))) = &step.on_fail
            && !names.contains(target.as_str())
        {
            let message = format!("there is no step `{target}` for `on_fail`");
            at.unknown(target, names.iter().copied(), message, "");
        }
        if step.deferred && !targets.contains(name) {
            let message = format!("no `on_fail` leads to the deferred step `{name}`");
            let help = "name it in the `on_fail` of a gate, or remove it";
            at.fault("unreachable_gate", message, help);
        }
    }
}
