//! What a gate lets a completion hand on, by its outcome.

use std::str::FromStr;

use serde_json::{Number, Value, json};

use super::judge::{Problem, at_most, judge, judge_value};
use crate::domain::workflow::shape::{Fields, Kind, Others};
use crate::domain::{Duty, Map, Outcome, Outputs, Shape, Workflow};

/// Returns what is handed on with the outcome, where something is declared. Outcomes without a shape of their own may hand on
/// what the gate declares, and need not: who is blocked has no result yet.
pub(crate) fn shape_of(duty: &Duty, outcome: &Outcome) -> Option<Shape> {
    let declared = duty.outputs.shape(outcome.as_str());
    let ends = matches!(outcome, Outcome::Complete | Outcome::Decision(_));
    match &duty.outputs {
        Outputs::Open => None,
        Outputs::One(shape) if ends => Some(shape.clone()),
        Outputs::Variants(_) if declared.is_some() => declared.cloned(),
        outputs => Some(optional(outputs.shapes())),
    }
}

/// Returns a shape of the fields of all, none of them required.
fn optional<'a>(shapes: impl Iterator<Item = &'a Shape>) -> Shape {
    let mut fields = Fields::default();
    for other in shapes.filter_map(Shape::fields) {
        if other.others == Others::Welcome {
            fields.others = Others::Welcome;
        }
        for (name, shape) in &other.properties {
            if fields.get(name).is_none() {
                fields.properties.push((name.clone(), shape.clone()));
            }
        }
    }
    Shape { kinds: vec![Kind::Object(fields)], ..Shape::default() }
}

/// Returns everything that the gate and its workflow do not allow of the outputs. What does not fit as it came is taken for the
/// numbers that are asked for, where it stands for some.
pub(crate) fn settle_at(
    workflow: &Workflow,
    duty: &Duty,
    outcome: &Outcome,
    outputs: &mut Map,
) -> Vec<Problem> {
    let problems = judge_at(workflow, duty, outcome, outputs);
    match shape_of(duty, outcome) {
        Some(shape) if !problems.is_empty() => {
            let mut value = Value::Object(std::mem::take(outputs));
            as_numbers(&shape, &mut value);
            if let Value::Object(settled) = value {
                *outputs = settled;
            }
            judge_at(workflow, duty, outcome, outputs)
        }
        _ => problems,
    }
}

fn judge_at(workflow: &Workflow, duty: &Duty, outcome: &Outcome, outputs: &Map) -> Vec<Problem> {
    let declared = duty.outputs.names();
    let mut problems: Vec<Problem> = Vec::new();
    for (name, value) in outputs {
        if workflow.protects(name) && !declared.contains(&name.as_str()) {
            let sentence =
                "means what the task started with, and no gate may change that: use another name";
            problems.push(Problem::new(name, "protected_output", sentence, json!({})));
        }
        let bytes = serde_json::to_string(value).map_or(0, |text| text.len());
        let limit = workflow.context.max_bytes;
        if bytes > limit {
            let sentence = format!(
                "has {bytes} bytes, and one value may have {limit}: write it to a file, and hand on the file's path"
            );
            problems.push(Problem::new(name, "output_too_large", sentence, at_most(bytes, limit)));
        }
    }
    if let Some(shape) = shape_of(duty, outcome) {
        let told: Vec<String> = problems.iter().map(|problem| problem.path.clone()).collect();
        // A name that is protected has been told; that it is not declared either would only say it twice.
        let again = |found: &Problem| found.code() == "unknown_field" && told.contains(&found.path);
        problems.extend(judge(&shape, outputs).into_iter().filter(|found| !again(found)));
    }
    problems
}

/// Puts numbers for the texts in a value that the shape does not take as texts, and would take as numbers: one that was typed
/// and does not come back from its text (`85.50`, `1e3`) is handed in as a text, for it may be a version.
pub(crate) fn as_numbers(shape: &Shape, value: &mut Value) {
    if let Value::String(text) = value {
        if let Some(number) = number(text).map(Value::Number)
            && is_better(shape, value, &number)
        {
            *value = number;
        }
        return;
    }
    for kind in &shape.kinds {
        match (kind, &mut *value) {
            (Kind::Object(fields), Value::Object(map)) => {
                for (name, value) in map {
                    fields.get(name).into_iter().for_each(|shape| as_numbers(shape, value));
                }
            }
            (Kind::List(list), Value::Array(values)) => {
                let items = list.items.iter();
                items.for_each(|shape| values.iter_mut().for_each(|own| as_numbers(shape, own)));
            }
            _ => {}
        }
    }
    for shape in &shape.any_of {
        as_numbers(shape, value);
    }
}

/// Tells whether the number is what is asked for and the text is not, or is at least of the kind.
fn is_better(shape: &Shape, text: &Value, number: &Value) -> bool {
    let wrong = |value| judge_value(shape, value).first().map(Problem::code);
    match (wrong(text), wrong(number)) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(text), Some(number)) => text == "wrong_type" && number != "wrong_type",
    }
}

/// Returns the number that a text stands for, as near as there is one. A text that would have come as a number without its
/// quotes is meant to be none.
fn number(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_octal =
        unsigned.len() > 1 && unsigned.starts_with('0') && unsigned.as_bytes()[1].is_ascii_digit();
    if is_octal || !text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) {
        return None;
    }
    let whole = i64::from_str(text).map(Number::from);
    let whole = whole.or_else(|_| u64::from_str(text).map(Number::from)).ok();
    let number = whole.or_else(|| Number::from_f64(f64::from_str(text).ok()?))?;
    (number.to_string() != text).then_some(number)
}
