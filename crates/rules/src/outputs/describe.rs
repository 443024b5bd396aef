//! A shape as a list of fields that an agent can fill in without knowing JSON Schema.

use serde::Serialize;
use serde_json::{Number, Value};

use aof_domain::Map;
use aof_domain::workflow::shape::{
    Count, Interval, List, ObjectFields, Others, Shape, ShapeKind, compare, same,
};

/// One field of a gate's outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The name; in an inner object, the path: `files[].name`.
    pub name: String,
    /// True if the field must be given.
    pub required: bool,
    /// The form of the value, in words: `a text of at most 80 characters`.
    pub form: String,
    pub description: Option<String>,
    /// The value that is assumed for an absent one.
    pub default: Option<Value>,
    pub input: FieldInput,
}

/// The kind of input for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldInput {
    Text,
    Number,
    Bool,
    /// One of these.
    Choice(Vec<Value>),
    /// A field for JSON.
    Json,
}

impl FieldInput {
    fn of(shape: &Shape) -> Self {
        match (shape.values.as_slice(), shape.kinds.as_slice()) {
            (values, _) if !values.is_empty() => Self::Choice(values.to_vec()),
            (_, [ShapeKind::Text(_)]) => Self::Text,
            (_, [ShapeKind::Number(_) | ShapeKind::Integer(_)]) => Self::Number,
            (_, [ShapeKind::Bool]) => Self::Bool,
            _ => Self::Json,
        }
    }
}

/// Returns the fields of an object's shape, with the fields of inner objects after the field that they are in.
pub fn fields(shape: &Shape) -> Vec<Field> {
    let mut list = Vec::new();
    collect(shape, "", &mut list);
    list
}

fn collect(shape: &Shape, prefix: &str, list: &mut Vec<Field>) {
    let Some(fields) = shape.fields() else { return };
    for (name, shape) in &fields.properties {
        let name_here = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        let about = &shape.about;
        list.push(Field {
            name: name_here.clone(),
            required: fields.requires(name),
            form: in_words(shape),
            description: about.description.clone().or_else(|| about.title.clone()),
            default: about.default.clone(),
            input: FieldInput::of(shape),
        });
        inside(shape, &name_here, list);
    }
}

fn inside(shape: &Shape, name: &str, list: &mut Vec<Field>) {
    collect(shape, name, list);
    for kind in &shape.kinds {
        if let ShapeKind::List(row) = kind
            && let Some(items) = &row.items
        {
            inside(items, &format!("{name}[]"), list);
        }
    }
}

/// Returns the values that the shape allows, in words with an article.
pub(crate) fn in_words(shape: &Shape) -> String {
    let words = match (shape.values.as_slice(), shape.kinds.as_slice()) {
        ([], []) if shape.any_of.is_empty() => "any value".to_owned(),
        ([], []) => return shape.any_of.iter().map(in_words).collect::<Vec<_>>().join(", or "),
        ([], kinds) => kinds.iter().map(kind_in_words).collect::<Vec<_>>().join(" or "),
        ([one], _) => return quoted(one),
        (several, _) => {
            return format!("one of {}", several.iter().map(quoted).collect::<Vec<_>>().join(", "));
        }
    };
    match &shape.about.format {
        Some(format) => format!("{words}, written as `{format}`"),
        None => words,
    }
}

fn kind_in_words(kind: &ShapeKind) -> String {
    let noun = kind.noun();
    match kind {
        ShapeKind::Object(fields)
            if fields.others == Others::Welcome && fields.properties.is_empty() =>
        {
            noun.to_owned()
        }
        ShapeKind::Object(fields) => {
            let names: Vec<String> =
                fields.properties.iter().map(|(name, _)| format!("`{name}`")).collect();
            let names = if names.is_empty() { "no fields".to_owned() } else { names.join(", ") };
            format!("{noun} with {names}")
        }
        ShapeKind::List(list) => {
            let items = list
                .items
                .as_ref()
                .map(|items| format!(", each {}", in_words(items)))
                .unwrap_or_default();
            format!("{noun}{}{items}", counted(list.length, "item"))
        }
        ShapeKind::Text(length) => format!("{noun}{}", counted(*length, "character")),
        ShapeKind::Number(interval) | ShapeKind::Integer(interval) => {
            format!("{noun}{}", ranged(interval))
        }
        ShapeKind::Bool | ShapeKind::Null => noun.to_owned(),
    }
}

fn counted(count: Count, unit: &str) -> String {
    let units = |number: u64| if number == 1 { unit.to_owned() } else { format!("{unit}s") };
    match (count.least.filter(|least| *least > 0), count.most) {
        (None, None) => String::new(),
        (Some(least), None) => format!(" of at least {least} {}", units(least)),
        (None, Some(most)) => format!(" of at most {most} {}", units(most)),
        (Some(least), Some(most)) if least == most => format!(" of {least} {}", units(least)),
        (Some(least), Some(most)) => format!(" of {least} to {most} {}", units(most)),
    }
}

fn ranged(interval: &Interval) -> String {
    match (&interval.least, &interval.most) {
        (None, None) => String::new(),
        (Some(least), None) => format!(" from {least}"),
        (None, Some(most)) => format!(" up to {most}"),
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
    }
}

/// Returns a value between backticks, cut if it is too long for a sentence.
pub(crate) fn quoted(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.escape_debug().to_string(),
        other => other.to_string(),
    };
    if text.chars().count() > 60 {
        let start: String = text.chars().take(57).collect();
        return format!("`{start}...`");
    }
    format!("`{text}`")
}

/// Returns a value for the shape: its constant, its first example, its default, the first of its choices, otherwise an invented
/// one. An invented value fits unless the shape asks for something unguessable, such as two alternatives at once.
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
        Some(ShapeKind::Object(fields)) => object(fields, shape),
        Some(ShapeKind::List(list)) => row(list, name),
        Some(ShapeKind::Text(length)) => {
            Value::String(text(*length, about.format.as_deref(), name))
        }
        Some(ShapeKind::Number(interval)) => Value::Number(number(interval)),
        Some(ShapeKind::Integer(interval)) => Value::Number(whole(interval)),
        Some(ShapeKind::Bool) => Value::Bool(true),
        Some(ShapeKind::Null) => Value::Null,
        None => match shape.any_of.first() {
            Some(first) => named(first, name),
            None => Value::String(text(Count::default(), None, name)),
        },
    }
}

/// Returns an object with every declared field: readers can leave out optional ones, but cannot guess fields that are not shown.
fn object(fields: &ObjectFields, shape: &Shape) -> Value {
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

/// Returns an item that fits into the list at that path.
pub(crate) fn item_at(shape: &Shape, path: &[&str]) -> Option<Value> {
    let mut shape = shape;
    for step in path {
        shape =
            shape.fields()?.properties.iter().find(|(name, _)| name == step).map(|(_, one)| one)?;
    }
    let list = shape.kinds.iter().find_map(|kind| match kind {
        ShapeKind::List(list) => list.items.as_ref(),
        _ => None,
    });
    list.map(|items| named(items, path.last().unwrap_or(&"")))
}

fn row(list: &List, name: &str) -> Value {
    let wanted = list.length.least.unwrap_or(1).max(1).min(list.length.most.unwrap_or(u64::MAX));
    let item = list
        .items
        .as_ref()
        .map_or_else(|| Value::String(text(Count::default(), None, name)), |s| named(s, name));
    // An example must be short enough to read: it has a few items even if the shape asks for hundreds.
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

/// Returns the value that the text stands for. A text that does not fit stays a text, and the judgement reports it.
pub(crate) fn from_text(shape: &Shape, text: &str) -> Value {
    let text = text.trim();
    let plain = unfenced(text);
    let json = || serde_json::from_str::<Value>(plain).ok();
    let shown = |value: &Value| match value {
        Value::String(word) => word.eq_ignore_ascii_case(text),
        other => json().is_some_and(|json| same(&json, other)),
    };
    if let Some(known) = shape.values.iter().find(|value| shown(value)) {
        return known.clone();
    }
    for kind in &shape.kinds {
        match (kind, json()) {
            (ShapeKind::Text(_), _) => break,
            (ShapeKind::List(_), Some(value @ Value::Array(_)))
            | (ShapeKind::Object(_), Some(value @ Value::Object(_)))
            | (ShapeKind::Number(_) | ShapeKind::Integer(_), Some(value @ Value::Number(_)))
            | (ShapeKind::Bool, Some(value @ Value::Bool(_)))
            | (ShapeKind::Null, Some(value @ Value::Null)) => return value,
            (ShapeKind::List(list), _) => {
                let item = |text: &str| {
                    list.items.as_ref().map_or_else(|| text.into(), |shape| from_text(shape, text))
                };
                return items(plain).into_iter().map(item).collect();
            }
            _ => {}
        }
    }
    // If any value is allowed, a text in the form of a JSON list or object is read as one.
    if shape.kinds.is_empty() && shape.values.is_empty() {
        return match json() {
            Some(value @ (Value::Array(_) | Value::Object(_))) => value,
            _ => Value::String(text.to_owned()),
        };
    }
    Value::String(text.to_owned())
}

/// Returns the content of a text that consists of one block of code.
fn unfenced(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inner.and_then(|inner| inner.split_once('\n')).map_or(text, |(_, code)| code.trim())
}

/// Splits a text into items: one per line, or separated by commas on a single line.
fn items<'t>(text: &'t str) -> Vec<&'t str> {
    let lines: Vec<&'t str> = text.lines().map(unmarked).filter(|line| !line.is_empty()).collect();
    match lines.as_slice() {
        [one] if !text.starts_with(['-', '*', '+']) => {
            let listed = one.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            let unquoted = |item: &'t str| match listed {
                Some(_) => item.trim().trim_matches(['"', '\'']),
                None => item.trim(),
            };
            let items = listed.unwrap_or(one).split(',').map(unquoted);
            items.filter(|item| !item.is_empty()).collect()
        }
        _ => lines,
    }
}

fn unmarked(line: &str) -> &str {
    let line = line.trim();
    ["- ", "* ", "+ "].iter().find_map(|marker| line.strip_prefix(marker)).unwrap_or(line).trim()
}
