//! The bounds of a schema, and the bound on schemas.

use serde_json::Number;

use crate::domain::workflow::shape::{Count, Interval, compare};
use crate::files::config::decode::{Faults, Fields};
use crate::files::yaml::{Fault, Kind as Form, Node};

/// Returns how many nodes a tree has.
pub(crate) fn size(node: &Node<'_>) -> usize {
    let below: usize = match &node.kind {
        Form::Mapping(entries) => entries.iter().map(|entry| size(&entry.value)).sum(),
        Form::Sequence(items) => items.iter().map(size).sum(),
        _ => 0,
    };
    1 + below
}

/// Returns how many there may be.
pub(crate) fn count(
    fields: &Fields<'_, '_>,
    least: &'static str,
    most: &'static str,
    faults: &Faults,
) -> Count {
    let whole = |key: &'static str| {
        let number = number(fields, key, faults)?;
        // JSON Schema takes 2.0 for 2.
        let float = number.as_f64().filter(|float| *float >= 0.0 && float.fract() == 0.0);
        let whole =
            number.as_u64().or_else(|| float.and_then(|float| format!("{:.0}", float.abs()).parse().ok()));
        if whole.is_none() {
            let message = format!("`{key}` is a whole number from 0, and this is `{number}`");
            let span = fields.take(key).map_or(0..0, |node| node.span.clone());
            faults.add("invalid_value", &span, message, "");
        }
        whole
    };
    let count = Count { least: whole(least), most: whole(most) };
    if let (Some(low), Some(high)) = (count.least, count.most)
        && low > high
    {
        faults.push(upside_down(fields, least, most));
    }
    count
}

/// Returns how large a number may be.
pub(crate) fn interval(fields: &Fields<'_, '_>, faults: &Faults) -> Interval {
    let least = number(fields, "minimum", faults);
    let most = number(fields, "maximum", faults);
    if let (Some(low), Some(high)) = (&least, &most)
        && compare(low, high).is_gt()
    {
        faults.push(upside_down(fields, "minimum", "maximum"));
    }
    Interval { least, most }
}

fn number(fields: &Fields<'_, '_>, key: &'static str, faults: &Faults) -> Option<Number> {
    let node = fields.take(key)?;
    if let Form::Number(number) = &node.kind {
        return Some(number.number().clone());
    }
    faults.wrong_kind(node, format_args!("`{key}` is a number"), "");
    None
}

fn upside_down(fields: &Fields<'_, '_>, least: &str, most: &str) -> Fault {
    Fault::new(
        "contradiction",
        fields.key_span(most),
        format!("`{most}` is less than `{least}`: no value fits both"),
    )
    .label(fields.key_span(least), format!("`{least}` is here"))
}
