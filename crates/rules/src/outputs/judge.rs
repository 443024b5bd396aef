//! Checks a value against a shape. Problems are data for programs and sentences for readers.

use std::str::FromStr;

use serde_json::{Number, Value, json};

use super::describe::{in_words, quoted};
use aof_domain::workflow::shape::{
    Count, ObjectFields, Others, Shape, ShapeKind, compare, is_whole, same,
};
use aof_domain::{Duty, Map, Outcome, Outputs, Workflow, did_you_mean, listed, nearest};

/// The most problems that are reported.
const MOST_PROBLEMS: usize = 100;

/// The most comparisons of a value with a shape: far more than needed, and still a fraction of a second.
const MOST_STEPS: usize = 500_000;

/// Something that the declared shape does not allow.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The path of the value: `files[2].name`; empty for the outputs as a whole.
    pub path: String,
    code: &'static str,
    message: String,
    fields: Value,
}

impl Problem {
    /// Returns a problem of the value at that path. The sentence continues after the value's name; the fields are an object.
    pub(crate) fn new(
        path: &str,
        code: &'static str,
        sentence: impl AsRef<str>,
        fields: Value,
    ) -> Self {
        let name = match path {
            "" => "this".to_owned(),
            path => format!("`{}`", path.escape_debug()),
        };
        let message = format!("{name} {}", sentence.as_ref());
        Self { path: path.to_owned(), code, message, fields }
    }

    /// Returns the word for the kind of problem in JSON.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// Returns the problem and the expected value, in one sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the problem as JSON: `path`, `problem`, `message`, and `got`, `expected`, `nearest` if they apply.
    pub fn to_value(&self) -> Value {
        let mut value = json!({"path": self.path, "problem": self.code});
        for (key, field) in self.fields.as_object().into_iter().flatten() {
            value[key] = field.clone();
        }
        value["message"] = json!(self.message);
        value
    }
}

/// Returns the first hundred problems of the outputs, in the order of the shape's declaration.
pub fn judge(shape: &Shape, outputs: &Map) -> Vec<Problem> {
    // The clone is of at most 32 KiB, the limit for a completion's outputs.
    judge_value(shape, &Value::Object(outputs.clone()))
}

/// Returns the problems of a value. A value that takes too long to check is a problem too.
pub(crate) fn judge_value(shape: &Shape, given: &Value) -> Vec<Problem> {
    let mut judge = Judge { problems: Vec::new(), steps: MOST_STEPS, path: String::new() };
    judge.value(shape, given);
    if judge.steps == 0 {
        let sentence = "takes too long to check: hand on fewer items, or write them to a file and hand on its path";
        judge.problems.push(Problem::new("", "too_laborious", sentence, json!({})));
    }
    judge.problems
}

/// The state of a check: problems found, steps left, and the current path.
struct Judge {
    problems: Vec<Problem>,
    steps: usize,
    path: String,
}

impl Judge {
    fn say(&mut self, code: &'static str, sentence: impl AsRef<str>, fields: Value) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(Problem::new(&self.path, code, sentence, fields));
        }
    }

    fn is_over(&self) -> bool {
        self.steps == 0 || self.problems.len() >= MOST_PROBLEMS
    }

    /// Checks a field, as in `.name`, or an item, as in `[2]`.
    fn inside(&mut self, step: &str, look: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(if length == 0 { step.trim_start_matches('.') } else { step });
        look(self);
        self.path.truncate(length);
    }

    fn value(&mut self, shape: &Shape, given: &Value) {
        if self.is_over() {
            return;
        }
        self.steps = self.steps.saturating_sub(1 + shape.values.len());
        let kind = shape.kinds.iter().find(|kind| is_a(kind, given));
        if kind.is_none() && !shape.kinds.is_empty() {
            let wanted: Vec<&str> = shape.kinds.iter().map(ShapeKind::noun).collect();
            let (got, expected) = (noun(given), wanted.join(" or "));
            let sentence = format!("is {got}, and it must be {expected}{}", advice(given, &wanted));
            return self.say("wrong_type", sentence, json!({"got": got, "expected": expected}));
        }
        if !shape.values.is_empty() && !shape.values.iter().any(|known| same(known, given)) {
            return self.not_among(&shape.values, given);
        }
        match (kind, given) {
            (Some(ShapeKind::Object(fields)), Value::Object(map)) => self.object(fields, map),
            (Some(ShapeKind::List(list)), Value::Array(items)) => {
                self.count(list.length, items.len(), "items", "");
                for (index, item) in items.iter().enumerate() {
                    if let Some(shape) = &list.items {
                        self.inside(&format!("[{index}]"), |judge| judge.value(shape, item));
                    }
                }
            }
            (Some(ShapeKind::Text(length)), Value::String(text)) => {
                let help = ": put the rest into a file and name it";
                self.count(*length, text.chars().count(), "characters", help);
            }
            (
                Some(ShapeKind::Number(interval) | ShapeKind::Integer(interval)),
                Value::Number(got),
            ) => {
                let (least, most) = (interval.least.as_ref(), interval.most.as_ref());
                if let Some(least) = least.filter(|least| compare(got, least).is_lt()) {
                    let sentence = format!("is {got}, and it must be at least {least}");
                    self.say("too_small", sentence, at_least(got, least));
                } else if let Some(most) = most.filter(|most| compare(got, most).is_gt()) {
                    let sentence = format!("is {got}, and it must be at most {most}");
                    self.say("too_large", sentence, at_most(got, most));
                }
            }
            _ => {}
        }
        self.alternatives(shape, given);
    }

    fn not_among(&mut self, values: &[Value], got: &Value) {
        let words = values.iter().filter_map(Value::as_str);
        let meant = got.as_str().and_then(|text| nearest(text, words));
        let known: Vec<String> = values.iter().map(quoted).collect();
        let wanted = if known.len() == 1 { "it must be" } else { "it is one of" };
        let question = meant.map(|word| format!("; did you mean `{word}`?")).unwrap_or_default();
        let sentence = format!("is {}, and {wanted} {}{question}", quoted(got), known.join(", "));
        let mut fields = json!({"got": got, "expected": values});
        if let Some(meant) = meant {
            fields["nearest"] = json!(meant);
        }
        self.say("invalid_value", sentence, fields);
    }

    fn count(&mut self, count: Count, got: usize, unit: &str, help: &str) {
        let number = u64::try_from(got).unwrap_or(u64::MAX);
        let is_text = unit == "characters";
        if let Some(least) = count.least.filter(|least| number < *least) {
            let sentence = format!("has {got} {unit}, and at least {least} are wanted");
            let code = if is_text { "too_short" } else { "too_few" };
            self.say(code, sentence, at_least(got, least));
        } else if let Some(most) = count.most.filter(|most| number > *most) {
            let sentence = format!("has {got} {unit}, and at most {most} are allowed{help}");
            let code = if is_text { "too_long" } else { "too_many" };
            self.say(code, sentence, at_most(got, most));
        }
    }

    fn object(&mut self, fields: &ObjectFields, map: &Map) {
        for name in fields.required.iter().filter(|name| !map.contains_key(*name)) {
            let wanted = fields.get(name).cloned().unwrap_or_default();
            let form = in_words(&wanted);
            let purpose = wanted.about.description.as_deref();
            let purpose = purpose.map(|text| format!(", {}", text.trim())).unwrap_or_default();
            let sentence = format!("is missing: it is {form}{purpose}");
            self.inside(&format!(".{name}"), |judge| {
                judge.say("missing_field", sentence, json!({"expected": form}));
            });
        }
        for (name, shape) in &fields.properties {
            if let Some(inner) = map.get(name) {
                self.inside(&format!(".{name}"), |judge| judge.value(shape, inner));
            }
        }
        if fields.others == Others::Welcome {
            return;
        }
        let known: Vec<&str> = fields.properties.iter().map(|(name, _)| name.as_str()).collect();
        for name in map.keys().filter(|name| fields.get(name).is_none()) {
            if self.is_over() {
                return;
            }
            self.steps = self.steps.saturating_sub(known.len());
            let missing = || known.iter().copied().filter(|known| !map.contains_key(*known));
            let mut expected = json!({"expected": known});
            if let Some(meant) = nearest(name, missing()) {
                expected["nearest"] = json!(meant);
            }
            let help = did_you_mean(name, missing()).unwrap_or_else(|| match known.as_slice() {
                [] => "nothing is handed on here".to_owned(),
                known => format!("there is {}", listed(known)),
            });
            let sentence = format!("is not declared; {help}");
            self.inside(&format!(".{name}"), |judge| {
                judge.say("unknown_field", sentence, expected);
            });
        }
    }

    fn alternatives(&mut self, shape: &Shape, given: &Value) {
        let mut nearest: Option<(bool, Vec<Problem>)> = None;
        for alternative in &shape.any_of {
            let path = self.path.clone();
            let mut inner = Self { problems: Vec::new(), steps: self.steps, path };
            inner.value(alternative, given);
            self.steps = inner.steps;
            let found = inner.problems;
            // A value that was not checked completely does not fit.
            if found.is_empty() || self.steps == 0 {
                return;
            }
            // A value of the right kind with faults inside is nearer than one of another kind.
            let foreign = found.iter().any(|problem| {
                problem.path == self.path && matches!(problem.code, "wrong_type" | "invalid_value")
            });
            let better = |(other, others): &(bool, Vec<Problem>)| {
                (foreign, found.len()) < (*other, others.len())
            };
            if nearest.as_ref().is_none_or(better) {
                nearest = Some((foreign, found));
            }
        }
        if let Some((_, found)) = nearest {
            let list: Vec<&str> = found.iter().take(5).map(Problem::message).collect();
            let (forms, list) = (shape.any_of.len(), list.join("; "));
            let sentence = format!("fits none of its {forms} forms; by the nearest one, {list}");
            let problems: Vec<Value> = found.iter().map(Problem::to_value).collect();
            self.say("no_alternative", sentence, json!({ "problems": problems }));
        }
    }
}

fn at_least(got: impl serde::Serialize, least: impl serde::Serialize) -> Value {
    json!({"got": got, "expected": {"atLeast": least}})
}

pub(crate) fn at_most(got: impl serde::Serialize, most: impl serde::Serialize) -> Value {
    json!({"got": got, "expected": {"atMost": most}})
}

fn is_a(kind: &ShapeKind, value: &Value) -> bool {
    match (kind, value) {
        (ShapeKind::Object(_), Value::Object(_))
        | (ShapeKind::List(_), Value::Array(_))
        | (ShapeKind::Text(_), Value::String(_))
        | (ShapeKind::Number(_), Value::Number(_))
        | (ShapeKind::Bool, Value::Bool(_))
        | (ShapeKind::Null, Value::Null) => true,
        (ShapeKind::Integer(_), Value::Number(number)) => is_whole(number),
        _ => false,
    }
}

fn noun(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a yes or no",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "a whole number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Returns the advice for a text that has the wanted value apart from its quotes, and the other way round.
fn advice(got: &Value, wanted: &[&str]) -> String {
    match got {
        Value::String(text) => {
            let fits = match serde_json::from_str(text.trim()) {
                Ok(Value::Number(number)) => {
                    wanted.contains(&"a number")
                        || (wanted.contains(&"a whole number") && !Number::is_f64(&number))
                }
                Ok(Value::Bool(_)) => wanted.contains(&"`true` or `false`"),
                _ => false,
            };
            if fits {
                format!(": write `{}` without quotes", text.trim())
            } else if wanted.contains(&"a list") {
                ": write one item a line, or put it in brackets".to_owned()
            } else {
                String::new()
            }
        }
        Value::Number(_) | Value::Bool(_) if wanted.contains(&"a text") => {
            format!(": write `\"{got}\"`")
        }
        Value::Number(_) if wanted == ["a whole number"] => ": it has a fraction".to_owned(),
        _ => String::new(),
    }
}

/// Returns the shape of an outcome's outputs, if one is declared. Outcomes without their own shape may have any of the gate's
/// outputs: a blocked agent has no result yet.
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

/// Returns a shape with the fields of all of these, none required.
fn optional<'a>(shapes: impl Iterator<Item = &'a Shape>) -> Shape {
    let mut fields = ObjectFields::default();
    for other in shapes.filter_map(Shape::fields) {
        if other.others == Others::Welcome || fields.others == Others::LeftOut {
            fields.others = other.others;
        }
        for (name, shape) in &other.properties {
            if fields.get(name).is_none() {
                fields.properties.push((name.clone(), shape.clone()));
            }
        }
    }
    Shape { kinds: vec![ShapeKind::Object(fields)], ..Shape::default() }
}

/// Removes the outputs that the gate does not declare, and returns their names. Three kinds stay, and are refused later: protected names,
/// declared names with a likely mistake, and all undeclared ones if the schema has `additionalProperties: false`.
pub(crate) fn leave_out_undeclared(
    workflow: &Workflow,
    duty: &Duty,
    outcome: &Outcome,
    outputs: &mut Map,
) -> Vec<String> {
    let shape = shape_of(duty, outcome).filter(|shape| shape.any_of.is_empty());
    let Some(fields) = shape.as_ref().and_then(Shape::fields) else { return Vec::new() };
    if fields.others != Others::LeftOut {
        return Vec::new();
    }
    let names = fields.properties.iter().map(|(name, _)| name.as_str());
    let missing: Vec<&str> = names.filter(|name| !outputs.contains_key(*name)).collect();
    let is_left_out = |name: &String| {
        fields.get(name).is_none()
            && !workflow.protects(name)
            && nearest(name, missing.iter().copied()).is_none()
    };
    let left_out: Vec<String> = outputs.keys().filter(|name| is_left_out(name)).cloned().collect();
    outputs.retain(|name, _| !left_out.contains(name));
    left_out
}

/// Returns all problems of the outputs by the rules of the gate and its workflow. If they do not fit, texts are first replaced by
/// the numbers that the shape asks for.
pub(crate) fn check_at(
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
            if let Value::Object(converted) = value {
                *outputs = converted;
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
        let reported: Vec<String> = problems.iter().map(|problem| problem.path.clone()).collect();
        // A protected name was reported already; a second report that it is not declared would add nothing.
        let again =
            |found: &Problem| found.code() == "unknown_field" && reported.contains(&found.path);
        problems.extend(judge(&shape, outputs).into_iter().filter(|found| !again(found)));
    }
    problems
}

/// Replaces texts in a value by numbers, if the shape refuses the text and would take the number. A typed number that would not be
/// written again in the same way (`85.50`, `1e3`) is handed in as a text, since it may be a version.
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
            (ShapeKind::Object(fields), Value::Object(map)) => {
                for (name, value) in map {
                    fields.get(name).into_iter().for_each(|shape| as_numbers(shape, value));
                }
            }
            (ShapeKind::List(list), Value::Array(values)) => {
                let items = list.items.iter();
                items.for_each(|shape| values.iter_mut().for_each(|one| as_numbers(shape, one)));
            }
            _ => {}
        }
    }
    for shape in &shape.any_of {
        as_numbers(shape, value);
    }
}

/// Returns whether the number fits and the text does not, or at least only the number has the right type.
fn is_better(shape: &Shape, text: &Value, number: &Value) -> bool {
    let wrong = |value| judge_value(shape, value).first().map(Problem::code);
    match (wrong(text), wrong(number)) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(text), Some(number)) => text == "wrong_type" && number != "wrong_type",
    }
}

/// Returns the nearest number for a text. Returns `None` if the text is written as the number would be: its quotes then mean a
/// text.
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
