//! The steps as they are written, each field read once.

use std::collections::{HashMap, HashSet};

use super::named_model;
use crate::domain::listed;
use crate::files::yaml::Kind;
use crate::setup::import::names::Names;
use crate::setup::import::record::{Field, Record, Said, join};
use crate::setup::import::report::At;

/// A step as the file has it.
pub(crate) struct AntfarmStep<'r> {
    pub(crate) at: At<'r>,
    /// Its name there.
    pub(crate) foreign: String,
    /// Its name here.
    pub(crate) gate: String,
    pub(crate) agent: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) input: Option<Said<'r>>,
    pub(crate) expects: Option<Said<'r>>,
    pub(crate) decision_key: Option<Said<'r>>,
    pub(crate) decisions: Vec<StepDecision<'r>>,
    pub(crate) max_retries: Option<Said<'r, u64>>,
    pub(crate) on_fail: OnFail<'r>,
    pub(crate) output_keys: Option<Said<'r, Vec<String>>>,
    pub(crate) required_outputs: Option<Said<'r, Vec<String>>>,
    pub(crate) condition: Option<Said<'r>>,
    pub(crate) timeout: Option<Said<'r, u64>>,
    pub(crate) model: Option<String>,
}

/// Where one value of the decision leads.
pub(crate) struct StepDecision<'r> {
    pub(crate) value: String,
    pub(crate) at: At<'r>,
    /// The step, by its name there.
    pub(crate) target: Option<Said<'r>>,
    pub(crate) back: bool,
    pub(crate) clear: Option<Said<'r, Vec<String>>>,
}

/// What happens when a step fails.
#[derive(Default)]
pub(crate) struct OnFail<'r> {
    pub(crate) retry_step: Option<Said<'r>>,
    pub(crate) max_retries: Option<Said<'r, u64>>,
    pub(crate) escalate_to: Option<Said<'r>>,
}

/// Reads all steps; their names are settled first, because any may name any.
pub(crate) fn read_steps<'r>(field: &Field<'r>) -> Vec<AntfarmStep<'r>> {
    let mut names = Names::default();
    let mut steps = Vec::new();
    let mut depends = Vec::new();
    let records = field.records("a list of steps", "a step", Some("the workflow has no steps"));
    for (index, record) in records.into_iter().enumerate() {
        steps.push(step(record, index, &mut names, &mut depends));
    }
    let places = places(&steps);
    let mut seen = HashSet::new();
    for step in &steps {
        if !seen.insert(&step.foreign) {
            let message = format!("there are two steps `{}`", step.foreign);
            step.at.fault("duplicate_gate", message, "give each step an id of its own");
        }
    }
    check_targets(&steps, &places);
    for (index, list) in depends {
        depends_on(&places, index, &list);
    }
    steps
}

/// Returns the place of each step in the list, by its name there.
pub(crate) fn places<'s>(steps: &'s [AntfarmStep<'_>]) -> HashMap<&'s str, usize> {
    steps.iter().enumerate().map(|(index, step)| (step.foreign.as_str(), index)).collect()
}

fn step<'r>(
    mut record: Record<'r>,
    index: usize,
    names: &mut Names,
    depends: &mut Vec<(usize, Said<'r, Vec<String>>)>,
) -> AntfarmStep<'r> {
    let fallback = format!("step-{}", index + 1);
    let (foreign, gate, at) = if let Some(id) = record.own_name("id", "steps") {
        let gate = names.take(&id, &fallback, "");
        (id.value, gate, id.at)
    } else {
        let (gate, _) = names.add(&fallback, &fallback);
        let why = format!("the step has no `id`: the gate is called `{gate}`");
        record.report.added(format!("{}.id", record.path), why);
        (fallback, gate, At { span: 0..0, ..record.start() })
    };
    let agent = record.text("agent").map(|said| said.converted("`role`"));
    let title = record.text("name").map(|said| said.converted("`description`"));
    let title = title.or_else(|| Some(record.text("description")?.kept()));
    let input = record.text("input");
    let expects = record.text("expects");
    let decision_key = record.text("decision_key");
    let on_decision = record.take("on_decision");
    if let (Some(key), None) = (&decision_key, &on_decision) {
        let message = format!(
            "`{}` names a decision, and there is no `on_decision` to say where it leads",
            key.at.path
        );
        key.at.fault("missing_field", message, "add `on_decision`, or remove `decision_key`");
    }
    let decisions = on_decision.map(|field| read_decisions(&field)).unwrap_or_default();
    let max_retries = record.count("max_retries");
    let mut on_fail = record.take("on_fail").map(|field| read_on_fail(&field)).unwrap_or_default();
    if let Some(field) = record.take("on_exhausted") {
        on_fail.escalate_to = read_exhausted(&field).or(on_fail.escalate_to);
    }
    let output_keys = record.texts(&["output_keys", "outputs"]);
    let required_outputs = record.texts(&["required_outputs"]);
    let condition = record.text("condition");
    depends.extend(record.texts(&["depends_on", "dependsOn"]).map(|list| (index, list)));
    read_loop(&mut record);
    let timeout = record.count("timeoutSeconds").or_else(|| {
        let minutes = record.count("timeout_minutes")?;
        Some(Said { value: minutes.value.saturating_mul(60), ..minutes })
    });
    let model = record.text("model").and_then(named_model);
    record.finish(|key| match key {
        "delivery" | "notify" => Some("whom to tell is in project.yaml"),
        "pass_outputs" => Some("not needed: what a gate handed on can be named anywhere after it"),
        "timeout_minutes" => Some("`timeoutSeconds` says how long it may take"),
        _ => None,
    });
    AntfarmStep {
        at,
        foreign,
        gate,
        agent,
        title,
        input,
        expects,
        decision_key,
        decisions,
        max_retries,
        on_fail,
        output_keys,
        required_outputs,
        condition,
        timeout,
        model,
    }
}

fn read_loop(record: &mut Record<'_>) {
    if let Some(kind) = record.text("type") {
        match kind.value.as_str() {
            "single" | "agent" | "step" => kind.at.dropped("what a gate is anyway"),
            "loop" => kind.at.lost(
                "a loop over the items of a list: a task goes through a gate once, so make a task of each item instead",
            ),
            other => kind.at.lost(format!("`{other}` is no kind of step that is known here")),
        }
    }
    if let Some(field) = record.take("loop") {
        field.at.lost("the loop's list, and when each item is verified");
    }
}

fn read_decisions<'r>(field: &Field<'r>) -> Vec<StepDecision<'r>> {
    let Kind::Mapping(entries) = &field.node.kind else {
        field.wrong("a mapping of decisions and where they lead");
        return Vec::new();
    };
    let report = field.at.report;
    let mut decisions: Vec<StepDecision<'_>> = Vec::new();
    for entry in entries {
        let value = entry.key.text.clone().into_owned();
        let path = join(&field.at.path, &value);
        let at = At { path, span: entry.key.span.clone(), report };
        if let Some(first) = decisions.iter().find(|known| known.value.eq_ignore_ascii_case(&value))
        {
            let first = &first.value;
            let message =
                format!("`{value}` and `{first}` are one decision: they differ only in case");
            at.fault("ambiguous_decision", message, "keep one of the two");
            continue;
        }
        // The short form is the next step itself.
        if let Some(target) = entry.value.as_str() {
            let span = entry.value.span.clone();
            let target = Some(Said { value: target.to_owned(), at: at.clone(), span });
            decisions.push(StepDecision { value, at, target, back: false, clear: None });
            continue;
        }
        let Some(mut record) = Record::of(&entry.value, &at.path, "what a decision does", report)
        else {
            continue;
        };
        let (next, retry) = (record.text("next_step"), record.text("retry_step"));
        if let (Some(_), Some(retry)) = (&next, &retry) {
            let message = format!("`{}` leads forward and back at once", at.path);
            retry.at.fault("ambiguous_decision", message, "keep one of the two");
        }
        let back = retry.is_some();
        let target = next.or(retry);
        if target.is_none() {
            let message = format!("`{}` has neither `next_step` nor `retry_step`", at.path);
            at.fault("missing_field", message, "");
        }
        let clear = record.texts(&["clear_context"]);
        record.finish(|key| {
            let why = "not needed: what a gate handed on can be named anywhere after it";
            (key == "pass_outputs").then_some(why)
        });
        decisions.push(StepDecision { value, at, target, back, clear });
    }
    decisions
}

/// Returns the people who are asked, where a word says so.
fn people<'r>(field: &Field<'r>) -> Said<'r> {
    let span = field.node.span.clone();
    Said { value: "human".to_owned(), at: field.at.clone(), span }
}

fn read_on_fail<'r>(field: &Field<'r>) -> OnFail<'r> {
    let at = &field.at;
    if let Some(word) = field.node.as_str() {
        let mut on_fail = OnFail::default();
        match word {
            "escalate_to_human" | "escalate" => on_fail.escalate_to = Some(people(field)),
            "retry" => at.dropped("a failed step is done again by `max_retries` anyway"),
            "fail" | "abort" | "stop" => {
                at.dropped("what happens anyway when the retries are used up");
            }
            _ => {
                at.lost(format!("`{word}` is nothing to do about a failure that is known here"));
            }
        }
        return on_fail;
    }
    let Some(mut record) = Record::of(field.node, &at.path, "`on_fail`", at.report) else {
        return OnFail::default();
    };
    let retry_step = record.text("retry_step");
    let max_retries = record.count("max_retries");
    let escalate_to = record.text("escalate_to");
    let exhausted = record.take("on_exhausted").and_then(|field| read_exhausted(&field));
    record.finish(|_| None);
    OnFail { retry_step, max_retries, escalate_to: exhausted.or(escalate_to) }
}

fn read_exhausted<'r>(field: &Field<'r>) -> Option<Said<'r>> {
    let at = &field.at;
    match field.node.as_str() {
        Some("escalate_to_human" | "escalate") => Some(people(field)),
        Some("fail" | "abort" | "stop") => {
            at.kept_as("as `onExhausted: {to: $fail}`");
            None
        }
        Some(word) => {
            at.lost(format!("`{word}` is nothing to do about used-up retries that is known here"));
            None
        }
        None => {
            let mut record = Record::of(field.node, &at.path, "`on_exhausted`", at.report)?;
            let escalate_to = record.text("escalate_to");
            record.finish(|_| None);
            escalate_to
        }
    }
}

/// Every step that a route names must be there; one that leads back must lead to an earlier step.
fn check_targets(steps: &[AntfarmStep<'_>], places: &HashMap<&str, usize>) {
    for (index, step) in steps.iter().enumerate() {
        let decided = step
            .decisions
            .iter()
            .filter_map(|decision| Some((decision.target.as_ref()?, decision.back, true)));
        let failed = step.on_fail.retry_step.iter().map(|target| (target, true, false));
        for (Said { value: target, at, .. }, back, of_decision) in decided.chain(failed) {
            let Some(&found) = places.get(target.as_str()) else {
                let names = steps.iter().map(|step| step.foreign.as_str());
                at.unknown(target, names, format!("there is no step `{target}`"), "");
                continue;
            };
            if back && (found > index || (of_decision && found == index)) {
                let message = format!(
                    "`{}` sends back, and `{target}` is not before `{}`",
                    at.path, step.foreign
                );
                let help = "name an earlier step, or use `next_step` to go forward";
                at.fault("not_backward", message, help);
            }
        }
    }
}

/// The order of the list does what `depends_on` says, as long as it only names earlier steps.
fn depends_on(places: &HashMap<&str, usize>, index: usize, list: &Said<'_, Vec<String>>) {
    let at = &list.at;
    let unknown: Vec<&String> =
        list.value.iter().filter(|name| !places.contains_key(name.as_str())).collect();
    if !unknown.is_empty() {
        let message = format!("`{}` names a step that is not there: {}", at.path, listed(unknown));
        return at.fault("unknown_gate", message, "");
    }
    let mut named = list.value.iter().map(|name| places[name.as_str()]);
    if named.clone().any(|place| place >= index) {
        at.lost("it waits for a step that comes later in the list");
    } else if named.any(|place| place + 1 == index) {
        at.converted("the order of the gates");
    } else {
        at.converted("the order of the gates: it comes after all that stand before it");
    }
}
