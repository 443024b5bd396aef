//! What a gate lets a completion hand on, by its outcome.

use serde_json::Value;

use super::as_numbers::as_numbers;
use super::{Fact, Problem, judge};
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
        Outputs::One(shape) => Some(optional(&[shape])),
        Outputs::Variants(variants) => {
            Some(optional(&variants.iter().map(|variant| &variant.shape).collect::<Vec<_>>()))
        }
    }
}

/// Returns a shape of the fields of all, none of them required.
fn optional(shapes: &[&Shape]) -> Shape {
    let mut fields = Fields::default();
    for other in shapes.iter().filter_map(|shape| shape.fields()) {
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
            problems.push(Problem { path: name.clone(), fact: Fact::Protected });
        }
        let bytes = bytes(value);
        if bytes > workflow.context.max_bytes {
            problems.push(Problem {
                path: name.clone(),
                fact: Fact::Heavy { bytes, limit: workflow.context.max_bytes },
            });
        }
    }
    if let Some(shape) = shape_of(duty, outcome) {
        let told: Vec<String> = problems.iter().map(|problem| problem.path.clone()).collect();
        // A name that is protected has been told; that it is not declared either would only say it twice.
        let found = judge(&shape, outputs).into_iter();
        problems.extend(found.filter(|problem| {
            !(matches!(problem.fact, Fact::Undeclared { .. }) && told.contains(&problem.path))
        }));
    }
    problems
}

fn bytes(value: &Value) -> usize {
    serde_json::to_string(value).map_or(0, |text| text.len())
}
