//! The steps as they are written, each field read once.

use std::collections::HashSet;

use crate::domain::nearest;
use crate::files::yaml::{Fault, Kind};
use crate::setup::import::import::{run_model, run_period};
use crate::setup::import::names::Names;
use crate::setup::import::record::{Field, Record, join};
use crate::setup::import::report::{At, Ledger};
use crate::setup::import::workflow_draft::RunSketch;

/// A step.
#[derive(Debug, Default)]
pub(crate) struct Step {
    pub(crate) foreign: String,
    pub(crate) gate: String,
    /// Where its name stands; absent for a preset's.
    pub(crate) at: Option<At>,
    pub(crate) prompt: Option<(String, Option<At>)>,
    pub(crate) run: RunSketch,
    pub(crate) judges: bool,
    pub(crate) deferred: bool,
    pub(crate) on_fail: Option<(String, Option<At>)>,
}

pub(crate) fn read_steps(field: &Field<'_>, ledger: &mut Ledger<'_>) -> Vec<Step> {
    let Kind::Sequence(items) = &field.node.kind else {
        ledger.fault(field.wrong("a list of steps (`[[workflow.steps]]`)"));
        return Vec::new();
    };
    if items.is_empty() {
        ledger.fault(Fault::new("no_gates", field.at.span.clone(), "the workflow has no steps"));
    }
    let mut names = Names::default();
    let mut steps: Vec<Step> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let path = format!("{}.{}", field.at.path, index + 1);
        let Some(record) = Record::of(item, &path, "a step", ledger) else { continue };
        steps.extend(step(record, &field.at.path, index + 1, &mut names, ledger));
    }
    check(&steps, ledger);
    steps
}

fn step(
    mut record: Record<'_>,
    parent: &str,
    number: usize,
    names: &mut Names,
    ledger: &mut Ledger<'_>,
) -> Option<Step> {
    let Some((foreign, field)) = record.text("name", ledger) else {
        ledger.fault(Fault::new(
            "missing_field",
            record.start(),
            format!("step {number} has no `name`"),
        ));
        return None;
    };
    record.called(join(parent, &foreign));
    let at = At { path: join(record.path(), "name"), ..field.at };
    let (gate, why) = names.add(&foreign, &format!("step-{number}"));
    match why {
        Some(why) => ledger.converted(&at, why),
        None => ledger.kept_as(&at, "as `id`"),
    }
    let prompt = record.text("prompt", ledger).map(|(text, field)| (text, Some(field.at)));
    if prompt.is_none() {
        ledger.supplied(format!("{}.prompt", record.path()), "not given: the brief is generated");
    }
    let timeout = record
        .text("timeout", ledger)
        .and_then(|(text, field)| run_period(&text, &field.at, ledger));
    let model =
        record.text("model", ledger).map(|(text, field)| run_model(text, &field.at, ledger));
    let run = RunSketch { timeout, model, delay: None };
    let judges = match record.flag("gate", ledger) {
        Some((true, field)) => {
            ledger.converted(
                &field.at,
                "`canReject: true` and `signal: gate`: no verdict counts as a rejection",
            );
            true
        }
        Some((false, field)) => {
            ledger.dropped(&field.at, "what a gate is anyway");
            false
        }
        None => false,
    };
    let deferred = match record.flag("deferred", ledger) {
        Some((true, field)) => {
            ledger.converted(&field.at, "`detour: true`");
            true
        }
        Some((false, field)) => {
            ledger.dropped(&field.at, "what a gate is anyway");
            false
        }
        None => false,
    };
    let on_fail = record.text("on_fail", ledger);
    if let Some((foreign, field)) = on_fail.as_ref().filter(|_| !judges) {
        let message = format!("`on_fail = \"{foreign}\"` is for gates, and this step is none");
        let fault = Fault::new("dead_field", field.node.span.clone(), message);
        ledger.fault(fault.help("add `gate = true`, or remove `on_fail`"));
    }
    if let Some((foreign, field)) = on_fail.as_ref().filter(|_| judges) {
        ledger.converted(&field.at, format!("`needs_review` leads to `{foreign}`"));
    }
    let on_fail = on_fail.map(|(foreign, field)| (foreign, Some(field.at)));
    record.finish(ledger, |key| match key {
        "agent" | "tools" => Some("what an agent is and may use is the runner's matter"),
        _ => None,
    });
    Some(Step { foreign, gate, at: Some(at), prompt, run, judges, deferred, on_fail })
}

fn check(steps: &[Step], ledger: &mut Ledger<'_>) {
    let mut seen = HashSet::new();
    let names: HashSet<&str> = steps.iter().map(|step| step.foreign.as_str()).collect();
    for step in steps {
        let span = step.at.as_ref().map_or(0..0, |at| at.span.clone());
        if !seen.insert(step.foreign.as_str()) {
            let message = format!("there are two steps `{}`", step.foreign);
            ledger.fault(
                Fault::new("duplicate_gate", span.clone(), message)
                    .help("give each step a name of its own"),
            );
        }
        if let Some((target, at)) =
            step.on_fail.as_ref().filter(|(target, _)| !names.contains(target.as_str()))
        {
            let span = at.as_ref().map_or(span, |at| at.span.clone());
            let fault = Fault::new(
                "unknown_gate",
                span,
                format!("there is no step `{target}` for `on_fail`"),
            );
            ledger.fault(match nearest(target, names.iter().copied()) {
                Some(near) => fault.help(format!("did you mean `{near}`?")),
                None => fault,
            });
        }
    }
    let led_to: HashSet<&str> = steps
        .iter()
        .filter_map(|step| step.on_fail.as_ref())
        .map(|(target, _)| target.as_str())
        .collect();
    for step in steps.iter().filter(|step| step.deferred) {
        if !led_to.contains(step.foreign.as_str()) {
            let span = step.at.as_ref().map_or(0..0, |at| at.span.clone());
            let message = format!("no `on_fail` leads to the deferred step `{}`", step.foreign);
            ledger.fault(
                Fault::new("unreachable_gate", span, message)
                    .help("name it in the `on_fail` of a gate, or remove it"),
            );
        }
    }
}
