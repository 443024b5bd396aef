//! A shape as a list of fields that an agent can fill in without knowing JSON Schema.

use serde_json::Value;

use crate::domain::workflow::shape::{Count, Interval, Kind, Others, Shape};

/// One field of what a gate hands on.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name; inside others the way to it: `files[].name`.
    pub name: String,
    /// Whether it must be there.
    pub required: bool,
    /// What it is, in words: `a text of at most 80 characters`.
    pub form: String,
    pub description: Option<String>,
    /// What it is taken for when it is absent.
    pub default: Option<Value>,
}

/// Returns the fields of an object's shape, the fields of inner objects behind the field that they are in.
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
        });
        inside(shape, &name_here, list);
    }
}

fn inside(shape: &Shape, name: &str, list: &mut Vec<Field>) {
    collect(shape, name, list);
    for kind in &shape.kinds {
        if let Kind::List(row) = kind
            && let Some(items) = &row.items
        {
            inside(items, &format!("{name}[]"), list);
        }
    }
}

/// Returns what the shape allows, in words with an article.
pub(crate) fn in_words(shape: &Shape) -> String {
    let said = match (shape.values.as_slice(), shape.kinds.as_slice()) {
        ([], []) if shape.any_of.is_empty() => "any value".to_owned(),
        ([], []) => return shape.any_of.iter().map(in_words).collect::<Vec<_>>().join(", or "),
        ([], kinds) => kinds.iter().map(kind_in_words).collect::<Vec<_>>().join(" or "),
        ([one], _) => return quoted(one),
        (several, _) => {
            return format!("one of {}", several.iter().map(quoted).collect::<Vec<_>>().join(", "));
        }
    };
    match &shape.about.format {
        Some(format) => format!("{said}, written as `{format}`"),
        None => said,
    }
}

fn kind_in_words(kind: &Kind) -> String {
    let noun = kind.noun();
    match kind {
        Kind::Object(fields)
            if fields.others == Others::Welcome && fields.properties.is_empty() =>
        {
            noun.to_owned()
        }
        Kind::Object(fields) => {
            let names: Vec<String> =
                fields.properties.iter().map(|(name, _)| format!("`{name}`")).collect();
            let names = if names.is_empty() { "no fields".to_owned() } else { names.join(", ") };
            format!("{noun} with {names}")
        }
        Kind::List(list) => {
            let items = list
                .items
                .as_ref()
                .map(|items| format!(", each {}", in_words(items)))
                .unwrap_or_default();
            format!("{noun}{}{items}", counted(list.length, "item"))
        }
        Kind::Text(length) => format!("{noun}{}", counted(*length, "character")),
        Kind::Number(interval) | Kind::Integer(interval) => format!("{noun}{}", ranged(interval)),
        Kind::Bool | Kind::Null => noun.to_owned(),
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

/// Returns a value between backticks, cut where it would flood the sentence that it stands in.
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
