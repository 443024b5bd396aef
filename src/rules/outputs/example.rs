//! A value as it could be: what people wrote as one, else one that the bounds allow. Always the same for one shape.

use serde_json::{Number, Value};

use crate::domain::Map;
use crate::domain::workflow::shape::{Count, Fields, Interval, Kind, List, Shape, compare};

/// Returns a value for the shape: its constant, its first example, its default, the first of its choices, else one that is
/// made up. What is made up fits unless the shape wants what nobody can guess, such as two alternatives at once.
pub fn example(shape: &Shape) -> Value {
    named(shape, "")
}

fn named(shape: &Shape, name: &str) -> Value {
    let about = &shape.about;
    let written = (shape.values.len() == 1).then(|| &shape.values[0]);
    let written =
        written.or(about.examples.first()).or(about.default.as_ref()).or(shape.values.first());
    if let Some(value) = written {
        return value.clone();
    }
    match shape.kinds.first() {
        Some(Kind::Object(fields)) => object(fields, shape),
        Some(Kind::List(list)) => row(list, name),
        Some(Kind::Text(length)) => Value::String(text(*length, about.format.as_deref(), name)),
        Some(Kind::Number(interval)) => Value::Number(number(interval)),
        Some(Kind::Integer(interval)) => Value::Number(whole(interval)),
        Some(Kind::Bool) => Value::Bool(true),
        Some(Kind::Null) => Value::Null,
        None => match shape.any_of.first() {
            Some(first) => named(first, name),
            None => Value::String(text(Count::default(), None, name)),
        },
    }
}

/// Returns an object with every declared field: what is optional can be left away, what is not shown cannot be known.
fn object(fields: &Fields, shape: &Shape) -> Value {
    let mut map: Map =
        fields.properties.iter().map(|(name, shape)| (name.clone(), named(shape, name))).collect();
    let wished =
        shape.any_of.first().and_then(Shape::fields).map(|fields| fields.required.as_slice());
    for name in fields.required.iter().chain(wished.unwrap_or_default()) {
        map.entry(name.clone())
            .or_insert_with(|| Value::String(text(Count::default(), None, name)));
    }
    Value::Object(map)
}

fn row(list: &List, name: &str) -> Value {
    let wanted = list.length.least.unwrap_or(1).max(1).min(list.length.most.unwrap_or(u64::MAX));
    let item = list
        .items
        .as_ref()
        .map_or_else(|| Value::String(text(Count::default(), None, name)), |s| named(s, name));
    // An example that nobody can read is none: it shows a few items even where hundreds are wanted.
    (0..wanted.min(8)).map(|_| item.clone()).collect()
}

fn text(length: Count, format: Option<&str>, name: &str) -> String {
    let usual = match format {
        Some("uri" | "url" | "iri" | "uri-reference") => "https://example.com/1",
        Some("email") => "ada@example.com",
        Some("date") => "2026-02-16",
        Some("date-time") => "2026-02-16T09:30:00Z",
        Some("time") => "09:30:00Z",
        _ => "",
    };
    let mut text = if !usual.is_empty() {
        usual.to_owned()
    } else if name.is_empty() {
        "...".to_owned()
    } else {
        format!("the {}", name.replace(['_', '-'], " "))
    };
    let most = length.most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    let least =
        length.least.and_then(|least| usize::try_from(least).ok()).unwrap_or(0).min(most).min(400);
    let missing = least.saturating_sub(text.chars().count());
    text.extend(std::iter::repeat_n('.', missing));
    text.chars().take(most).collect()
}

fn number(interval: &Interval) -> Number {
    let one = Number::from(1);
    let fits = |number: &Number| {
        interval.least.as_ref().is_none_or(|least| compare(number, least).is_ge())
            && interval.most.as_ref().is_none_or(|most| compare(number, most).is_le())
    };
    if fits(&one) {
        return one;
    }
    interval.least.clone().or_else(|| interval.most.clone()).unwrap_or(one)
}

fn whole(interval: &Interval) -> Number {
    let chosen = number(interval);
    if chosen.as_i128().is_some() {
        return chosen;
    }
    let rounded = chosen
        .as_f64()
        .map(|float| if interval.least.is_some() { float.ceil() } else { float.floor() });
    let text = rounded.map(|float| format!("{float:.0}"));
    text.and_then(|text| text.parse::<i64>().ok()).map_or(chosen, Number::from)
}
