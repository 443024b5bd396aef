//! Judges a value by a shape.

use serde_json::{Number, Value};

use super::problem::{Bound, Fact, Problem};
use crate::domain::workflow::shape::{
    Count, Fields, Interval, Kind, List, Others, Shape, compare, is_whole, same,
};
use crate::domain::{Map, nearest};

/// The most problems that are told: nobody mends more at once.
const MOST_PROBLEMS: usize = 100;

/// How often a value may be held against a shape: far more than any work needs, and a fraction of a second.
const MOST_STEPS: usize = 1_000_000;

/// Returns what the shape does not allow of the outputs, in the order of the declaration: the first hundred problems.
pub fn judge(shape: &Shape, outputs: &Map) -> Vec<Problem> {
    // The clone is of what a completion may bring: 32 KiB.
    judge_value(shape, &Value::Object(outputs.clone()))
}

/// Returns what a value has that the shape does not allow. A value that takes too long is refused, whatever it is.
pub(crate) fn judge_value(shape: &Shape, given: &Value) -> Vec<Problem> {
    let mut judgement = Judgement { problems: Vec::new(), steps: MOST_STEPS };
    value(shape, given, &Path::Root, &mut judgement);
    if judgement.steps == 0 {
        judgement.problems.push(Problem { path: String::new(), fact: Fact::Laborious });
    }
    judgement.problems
}

/// What has been found so far, and how much more may be looked at.
struct Judgement {
    problems: Vec<Problem>,
    steps: usize,
}

impl Judgement {
    fn say(&mut self, path: &Path<'_>, fact: Fact) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(Problem { path: path.to_string(), fact });
        }
    }

    fn is_over(&self) -> bool {
        self.steps == 0 || self.problems.len() >= MOST_PROBLEMS
    }
}

/// Where in the outputs a value stands.
enum Path<'a> {
    Root,
    Field(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl std::fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => f.write_str(name),
            Self::Field(outer, name) => write!(f, "{outer}.{name}"),
            Self::Item(outer, index) => write!(f, "{outer}[{index}]"),
        }
    }
}

fn value(shape: &Shape, value: &Value, path: &Path<'_>, judgement: &mut Judgement) {
    if judgement.is_over() {
        return;
    }
    judgement.steps = judgement.steps.saturating_sub(1 + shape.values.len());
    let kind = shape.kinds.iter().find(|kind| is_a(kind, value));
    if kind.is_none() && !shape.kinds.is_empty() {
        let wanted = shape.kinds.iter().map(Kind::noun).collect();
        return judgement.say(path, Fact::WrongKind { got: value.clone(), wanted });
    }
    if !shape.values.is_empty() && !shape.values.iter().any(|known| same(known, value)) {
        let words = shape.values.iter().filter_map(Value::as_str);
        let meant = value.as_str().and_then(|text| nearest(text, words)).map(str::to_owned);
        return judgement
            .say(path, Fact::NotAmong { got: value.clone(), known: shape.values.clone(), meant });
    }
    match (kind, value) {
        (Some(Kind::Object(fields)), Value::Object(map)) => object(fields, map, path, judgement),
        (Some(Kind::List(list)), Value::Array(items)) => row(list, items, path, judgement),
        (Some(Kind::Text(length)), Value::String(text)) => {
            if let Some(limit) = outside(*length, text.chars().count()) {
                judgement.say(path, Fact::Length { got: text.chars().count(), limit });
            }
        }
        (Some(Kind::Number(interval) | Kind::Integer(interval)), Value::Number(number)) => {
            if let Some(fact) = beyond(interval, number) {
                judgement.say(path, fact);
            }
        }
        _ => {}
    }
    alternatives(shape, value, path, judgement);
}

fn is_a(kind: &Kind, value: &Value) -> bool {
    match (kind, value) {
        (Kind::Object(_), Value::Object(_))
        | (Kind::List(_), Value::Array(_))
        | (Kind::Text(_), Value::String(_))
        | (Kind::Number(_), Value::Number(_))
        | (Kind::Bool, Value::Bool(_))
        | (Kind::Null, Value::Null) => true,
        (Kind::Integer(_), Value::Number(number)) => is_whole(number),
        _ => false,
    }
}

fn object(fields: &Fields, map: &Map, path: &Path<'_>, judgement: &mut Judgement) {
    for name in fields.required.iter().filter(|name| !map.contains_key(*name)) {
        let wanted = fields.get(name).cloned().unwrap_or_default();
        judgement.say(&Path::Field(path, name), Fact::Missing { wanted: Box::new(wanted) });
    }
    for (name, shape) in &fields.properties {
        if let Some(inner) = map.get(name) {
            value(shape, inner, &Path::Field(path, name), judgement);
        }
    }
    if fields.others == Others::Welcome {
        return;
    }
    let names = || fields.properties.iter().map(|(name, _)| name.as_str());
    for name in map.keys().filter(|name| fields.get(name).is_none()) {
        if judgement.is_over() {
            return;
        }
        judgement.steps = judgement.steps.saturating_sub(fields.properties.len());
        let missing = names().filter(|known| !map.contains_key(*known));
        let meant = nearest(name, missing).map(str::to_owned);
        let known = names().map(str::to_owned).collect();
        judgement.say(&Path::Field(path, name), Fact::Undeclared { known, meant });
    }
}

fn row(list: &List, items: &[Value], path: &Path<'_>, judgement: &mut Judgement) {
    if let Some(limit) = outside(list.length, items.len()) {
        judgement.say(path, Fact::Items { got: items.len(), limit });
    }
    if let Some(shape) = &list.items {
        for (index, item) in items.iter().enumerate() {
            value(shape, item, &Path::Item(path, index), judgement);
        }
    }
}

fn outside(count: Count, got: usize) -> Option<Bound<u64>> {
    let got = u64::try_from(got).unwrap_or(u64::MAX);
    let least = count.least.filter(|least| got < *least).map(Bound::Least);
    least.or_else(|| count.most.filter(|most| got > *most).map(Bound::Most))
}

fn beyond(interval: &Interval, number: &Number) -> Option<Fact> {
    let least = interval.least.as_ref().filter(|least| compare(number, least).is_lt());
    let most = interval.most.as_ref().filter(|most| compare(number, most).is_gt());
    let limit = least.cloned().map(Bound::Least).or_else(|| most.cloned().map(Bound::Most))?;
    Some(Fact::Size { got: number.clone(), limit })
}

fn alternatives(shape: &Shape, given: &Value, path: &Path<'_>, judgement: &mut Judgement) {
    let mut nearest: Option<(bool, Vec<Problem>)> = None;
    for alternative in &shape.any_of {
        let mut inner = Judgement { problems: Vec::new(), steps: judgement.steps };
        value(alternative, given, path, &mut inner);
        judgement.steps = inner.steps;
        let found = inner.problems;
        // What was not looked at to its end fits nothing.
        if found.is_empty() || judgement.steps == 0 {
            return;
        }
        // A value of the right kind with faults inside is nearer than one of another kind.
        let foreign = found.iter().any(|problem| {
            problem.path == path.to_string()
                && matches!(problem.fact, Fact::WrongKind { .. } | Fact::NotAmong { .. })
        });
        let better = |(other, others): &(bool, Vec<Problem>)| {
            (foreign, found.len()) < (*other, others.len())
        };
        if nearest.as_ref().is_none_or(better) {
            nearest = Some((foreign, found));
        }
    }
    if let Some((_, found)) = nearest {
        let fact = Fact::NoneFits { shapes: shape.any_of.len(), nearest: found };
        judgement.say(path, fact);
    }
}
