//! The steps as they are written, each field read once.

use std::collections::HashMap;

use super::named_model;
use crate::domain::nearest;
use crate::files::yaml::{Fault, Kind};
use crate::setup::import::names::Names;
use crate::setup::import::record::{Field, Record, join};
use crate::setup::import::report::{At, Ledger};

/// A step as the file has it.
pub(crate) struct Step {
    pub(crate) at: At,
    /// Its name there.
    pub(crate) foreign: String,
    /// Its name here.
    pub(crate) gate: String,
    pub(crate) agent: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) input: Option<(String, At)>,
    pub(crate) expects: Option<(String, At)>,
    pub(crate) decision_key: Option<(String, At)>,
    pub(crate) decisions: Vec<Decision>,
    pub(crate) max_retries: Option<(u64, At)>,
    pub(crate) on_fail: OnFail,
    pub(crate) output_keys: Option<(Vec<String>, At)>,
    pub(crate) required_outputs: Option<(Vec<String>, At)>,
    pub(crate) condition: Option<(String, At)>,
    pub(crate) timeout: Option<(u64, At)>,
    pub(crate) model: Option<String>,
}

/// Where one value of the decision leads.
pub(crate) struct Decision {
    pub(crate) value: String,
    pub(crate) at: At,
    /// The step, by its name there.
    pub(crate) target: Option<(String, At)>,
    pub(crate) back: bool,
    pub(crate) clear: Option<(Vec<String>, At)>,
}

/// What happens when a step fails.
#[derive(Default)]
pub(crate) struct OnFail {
    pub(crate) retry_step: Option<(String, At)>,
    pub(crate) max_retries: Option<(u64, At)>,
    pub(crate) escalate_to: Option<(String, At)>,
}

/// Reads all steps; their names are settled first, because any may name any.
pub(crate) fn read_steps(field: &Field<'_>, ledger: &mut Ledger<'_>) -> Vec<Step> {
    let Kind::Sequence(items) = &field.node.kind else {
        ledger.fault(field.wrong("a list of steps"));
        return Vec::new();
    };
    if items.is_empty() {
        ledger.fault(Fault::new("no_gates", field.node.span.clone(), "the workflow has no steps"));
    }
    let mut names = Names::default();
    let mut steps = Vec::new();
    let mut depends = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let path = format!("steps.{}", index + 1);
        let Some(record) = Record::of(item, &path, "a step", ledger) else { continue };
        steps.push(step(record, index, &mut names, &mut depends, ledger));
    }
    refuse_doubles(&steps, ledger);
    let places = places(&steps);
    check_targets(&steps, &places, ledger);
    for (index, list, at) in depends {
        depends_on(&places, index, &list, &at, ledger);
    }
    steps
}

/// Returns the place of each step in the list, by its name there.
pub(crate) fn places(steps: &[Step]) -> HashMap<String, usize> {
    steps.iter().enumerate().map(|(index, step)| (step.foreign.clone(), index)).collect()
}

fn step(
    mut record: Record<'_>,
    index: usize,
    names: &mut Names,
    depends: &mut Vec<(usize, Vec<String>, At)>,
    ledger: &mut Ledger<'_>,
) -> Step {
    let number = index + 1;
    let (foreign, gate, at) = if let Some((id, field)) = record.text("id", ledger) {
        record.called(format!("steps.{id}"));
        let (gate, why) = names.add(&id, &format!("step-{number}"));
        let at = At { path: join(record.path(), "id"), ..field.at };
        match why {
            Some(why) => ledger.converted(&at, why),
            None => ledger.kept(&at),
        }
        (id, gate, at)
    } else {
        let id = format!("step-{number}");
        let (gate, _) = names.add(&id, &id);
        ledger.supplied(
            format!("{}.id", record.path()),
            format!("the step has no `id`: the gate is called `{gate}`"),
        );
        (id, gate, At { path: record.path().to_owned(), span: 0..0 })
    };
    let agent = record.text("agent", ledger).map(|(text, field)| {
        ledger.converted(&field.at, "`role`");
        text
    });
    let title = record.text("name", ledger).map(|(text, field)| {
        ledger.converted(&field.at, "`description`");
        text
    });
    let title = title.or_else(|| {
        let (text, field) = record.text("description", ledger)?;
        ledger.kept(&field.at);
        Some(text)
    });
    let input = record.text("input", ledger).map(|(text, field)| (text, field.at));
    let expects = record.text("expects", ledger).map(|(text, field)| (text, field.at));
    let decision_key = record.text("decision_key", ledger).map(|(text, field)| (text, field.at));
    let on_decision = record.take("on_decision");
    let decisions =
        on_decision.as_ref().map(|field| read_decisions(field, ledger)).unwrap_or_default();
    if let (Some((_, at)), None) = (&decision_key, &on_decision) {
        let message = format!(
            "`{}` names a decision, and there is no `on_decision` to say where it leads",
            at.path
        );
        ledger.fault(
            Fault::new("missing_field", at.span.clone(), message)
                .help("add `on_decision`, or remove `decision_key`"),
        );
    }
    let max_retries = record.count("max_retries", ledger).map(|(number, field)| (number, field.at));
    let mut on_fail =
        record.take("on_fail").map(|field| read_on_fail(&field, ledger)).unwrap_or_default();
    if let Some(field) = record.take("on_exhausted") {
        on_fail.escalate_to = read_exhausted(&field, ledger).or(on_fail.escalate_to);
    }
    let texts = |field: Field<'_>, ledger: &mut Ledger<'_>| {
        field.texts(ledger).map(|list| (list, field.at))
    };
    let output_keys =
        record.take_any(&["output_keys", "outputs"]).and_then(|field| texts(field, ledger));
    let required_outputs = record.take("required_outputs").and_then(|field| texts(field, ledger));
    let condition = record.text("condition", ledger).map(|(text, field)| (text, field.at));
    if let Some(field) = record.take_any(&["depends_on", "dependsOn"])
        && let Some(list) = field.texts(ledger)
    {
        depends.push((index, list, field.at));
    }
    read_loop(&mut record, ledger);
    let timeout = read_timeout(&mut record, ledger);
    let model = record
        .text("model", ledger)
        .and_then(|(model, field)| named_model(model, &field.at, ledger));
    record.finish(ledger, |key| match key {
        "delivery" | "notify" => Some("whom to tell is in project.yaml"),
        "pass_outputs" => Some("not needed: what a gate handed on can be named anywhere after it"),
        "timeout_minutes" => Some("`timeoutSeconds` says how long it may take"),
        _ => None,
    });
    Step {
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

fn read_timeout(record: &mut Record<'_>, ledger: &mut Ledger<'_>) -> Option<(u64, At)> {
    if let Some((number, field)) = record.count("timeoutSeconds", ledger) {
        return Some((number, field.at));
    }
    let (minutes, field) = record.count("timeout_minutes", ledger)?;
    Some((minutes.saturating_mul(60), field.at))
}

fn read_loop(record: &mut Record<'_>, ledger: &mut Ledger<'_>) {
    if let Some((kind, field)) = record.text("type", ledger) {
        match kind.as_str() {
            "single" | "agent" | "step" => ledger.dropped(&field.at, "what a gate is anyway"),
            "loop" => ledger.lost(
                &field.at,
                "a loop over the items of a list: a task goes through a gate once, so make a task of each item instead",
            ),
            _ => ledger.lost(&field.at, format!("`{kind}` is no kind of step that is known here")),
        }
    }
    if let Some(field) = record.take("loop") {
        ledger.lost(&field.at, "the loop's list, and when each item is verified");
    }
}

fn read_decisions(field: &Field<'_>, ledger: &mut Ledger<'_>) -> Vec<Decision> {
    let Kind::Mapping(entries) = &field.node.kind else {
        ledger.fault(field.wrong("a mapping of decisions and where they lead"));
        return Vec::new();
    };
    let mut decisions: Vec<Decision> = Vec::new();
    for entry in entries {
        let value = entry.key.text.clone().into_owned();
        let at = At { path: join(&field.at.path, &value), span: entry.key.span.clone() };
        if let Some(first) = decisions.iter().find(|known| known.value.eq_ignore_ascii_case(&value))
        {
            let message = format!(
                "`{value}` and `{}` are one decision: they differ only in case",
                first.value
            );
            ledger.fault(
                Fault::new("ambiguous_decision", at.span.clone(), message)
                    .help("keep one of the two"),
            );
            continue;
        }
        // The short form is the next step itself.
        if let Some(target) = entry.value.as_str() {
            let target = Some((target.to_owned(), at.clone()));
            decisions.push(Decision { value, at, target, back: false, clear: None });
            continue;
        }
        let Some(mut record) = Record::of(&entry.value, &at.path, "what a decision does", ledger)
        else {
            continue;
        };
        let next = record.text("next_step", ledger);
        let retry = record.text("retry_step", ledger);
        if let (Some(_), Some((_, field))) = (&next, &retry) {
            let message = format!("`{}` leads forward and back at once", at.path);
            ledger.fault(
                Fault::new("ambiguous_decision", field.at.span.clone(), message)
                    .help("keep one of the two"),
            );
        }
        let back = retry.is_some();
        let target = next.or(retry).map(|(target, field)| (target, field.at));
        if target.is_none() {
            let message = format!("`{}` has neither `next_step` nor `retry_step`", at.path);
            ledger.fault(Fault::new("missing_field", at.span.clone(), message));
        }
        let clear = record
            .take("clear_context")
            .and_then(|field| field.texts(ledger).map(|list| (list, field.at)));
        record.finish(ledger, |key| match key {
            "pass_outputs" => {
                Some("not needed: what a gate handed on can be named anywhere after it")
            }
            _ => None,
        });
        decisions.push(Decision { value, at, target, back, clear });
    }
    decisions
}

fn read_on_fail(field: &Field<'_>, ledger: &mut Ledger<'_>) -> OnFail {
    if let Some(word) = field.node.as_str() {
        let mut on_fail = OnFail::default();
        match word {
            "escalate_to_human" | "escalate" => {
                on_fail.escalate_to = Some(("human".to_owned(), field.at.clone()));
            }
            "retry" => {
                ledger.dropped(&field.at, "a failed step is done again by `max_retries` anyway");
            }
            "fail" | "abort" | "stop" => {
                ledger.dropped(&field.at, "what happens anyway when the retries are used up");
            }
            _ => ledger.lost(
                &field.at,
                format!("`{word}` is nothing to do about a failure that is known here"),
            ),
        }
        return on_fail;
    }
    let Some(mut record) = Record::of(field.node, &field.at.path, "`on_fail`", ledger) else {
        return OnFail::default();
    };
    let retry_step = record.text("retry_step", ledger).map(|(text, field)| (text, field.at));
    let max_retries = record.count("max_retries", ledger).map(|(number, field)| (number, field.at));
    let escalate_to = record.text("escalate_to", ledger).map(|(text, field)| (text, field.at));
    let exhausted = record.take("on_exhausted").and_then(|field| read_exhausted(&field, ledger));
    record.finish(ledger, |_| None);
    OnFail { retry_step, max_retries, escalate_to: exhausted.or(escalate_to) }
}

fn read_exhausted(field: &Field<'_>, ledger: &mut Ledger<'_>) -> Option<(String, At)> {
    if let Some(word) = field.node.as_str() {
        return match word {
            "escalate_to_human" | "escalate" => Some(("human".to_owned(), field.at.clone())),
            "fail" | "abort" | "stop" => {
                ledger.kept_as(&field.at, "as `onExhausted: {to: $fail}`");
                None
            }
            _ => {
                ledger.lost(
                    &field.at,
                    format!("`{word}` is nothing to do about used-up retries that is known here"),
                );
                None
            }
        };
    }
    let mut record = Record::of(field.node, &field.at.path, "`on_exhausted`", ledger)?;
    let escalate_to = record.text("escalate_to", ledger).map(|(text, field)| (text, field.at));
    record.finish(ledger, |_| None);
    escalate_to
}

fn refuse_doubles(steps: &[Step], ledger: &mut Ledger<'_>) {
    let mut seen = std::collections::HashSet::new();
    for step in steps {
        if !seen.insert(&step.foreign) {
            let message = format!("there are two steps `{}`", step.foreign);
            ledger.fault(
                Fault::new("duplicate_gate", step.at.span.clone(), message)
                    .help("give each step an id of its own"),
            );
        }
    }
}

/// Every step that a route names must be there; one that leads back must lead to an earlier step.
fn check_targets(steps: &[Step], places: &HashMap<String, usize>, ledger: &mut Ledger<'_>) {
    for (index, step) in steps.iter().enumerate() {
        let decided = step
            .decisions
            .iter()
            .filter_map(|decision| Some((decision.target.as_ref()?, decision.back)));
        let failed = step.on_fail.retry_step.iter().map(|target| (target, true));
        for ((target, at), back) in decided.chain(failed) {
            let Some(&found) = places.get(target) else {
                let names = steps.iter().map(|step| step.foreign.as_str());
                let fault = Fault::new(
                    "unknown_gate",
                    at.span.clone(),
                    format!("there is no step `{target}`"),
                );
                ledger.fault(match nearest(target, names) {
                    Some(near) => fault.help(format!("did you mean `{near}`?")),
                    None => fault,
                });
                continue;
            };
            let of_decision = at.path.contains("on_decision");
            if back && found > index || (back && of_decision && found == index) {
                let message = format!(
                    "`{}` sends back, and `{target}` is not before `{}`",
                    at.path, step.foreign
                );
                ledger.fault(
                    Fault::new("not_backward", at.span.clone(), message)
                        .help("name an earlier step, or use `next_step` to go forward"),
                );
            }
        }
    }
}

/// The order of the list does what `depends_on` says, as long as it only names earlier steps.
fn depends_on(
    places: &HashMap<String, usize>,
    index: usize,
    list: &[String],
    at: &At,
    ledger: &mut Ledger<'_>,
) {
    let place = |name: &String| places.get(name).copied();
    let places: Option<Vec<usize>> = list.iter().map(place).collect();
    match places {
        None => {
            let unknown: Vec<&String> = list.iter().filter(|name| place(name).is_none()).collect();
            let message = format!(
                "`{}` names a step that is not there: {}",
                at.path,
                crate::domain::listed(unknown)
            );
            ledger.fault(Fault::new("unknown_gate", at.span.clone(), message));
        }
        Some(places) if places.iter().any(|place| *place >= index) => {
            ledger.lost(at, "it waits for a step that comes later in the list");
        }
        Some(places) if index > 0 && places.contains(&(index - 1)) => {
            ledger.converted(at, "the order of the gates");
        }
        Some(_) => {
            ledger.converted(at, "the order of the gates: it comes after all that stand before it");
        }
    }
}
