//! Resolves plain scalars by the YAML 1.2 core schema, without conversions that would change a person's text.

use std::borrow::Cow;
use std::ops::Range;

use granit_parser::Tag;
use serde_json::Number;

use super::error::Fault;
use super::node::{Decimal, NodeKind, NodeLayout};

/// Returns the value of a plain (unquoted) scalar.
pub(crate) fn resolve(text: Cow<'_, str>) -> NodeKind<'_> {
    match text.as_ref() {
        "" | "~" | "null" | "Null" | "NULL" => NodeKind::Null,
        "true" | "True" | "TRUE" => NodeKind::Bool(true),
        "false" | "False" | "FALSE" => NodeKind::Bool(false),
        other => match number(other) {
            Some(number) => NodeKind::Number(Decimal::new(number, text)),
            None => NodeKind::String(text),
        },
    }
}

/// Reads a decimal number; `None` for leading zeros, other bases, and numbers beyond 64 bits.
fn number(text: &str) -> Option<Number> {
    let bytes = text.as_bytes();
    if !matches!(bytes.first()?, b'0'..=b'9' | b'+' | b'-' | b'.') {
        return None;
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(unsigned);
    if whole > 1 && unsigned.starts_with('0') {
        return None;
    }
    let positive = text.strip_prefix('+').unwrap_or(text);
    let rest = &unsigned[whole..];
    if rest.is_empty() {
        if whole == 0 {
            return None;
        }
        return match positive.parse::<i64>() {
            // Only a float has a zero with a sign.
            Ok(0) if text.starts_with('-') => Number::from_f64(-0.0),
            Ok(int) => Some(int.into()),
            Err(_) => positive.parse::<u64>().ok().map(Number::from),
        };
    }
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(after) => (digits(after), &after[digits(after)..]),
        None => (0, rest),
    };
    if whole + fraction == 0 {
        return None;
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if exponent.is_empty() || digits(exponent) != exponent.len() {
            return None;
        }
    } else if !rest.is_empty() {
        return None;
    }
    positive.parse::<f64>().ok().and_then(Number::from_f64)
}

/// The type that a YAML 1.1 reader gives to a plain string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Legacy {
    /// A yes or no.
    Bool,
    /// A date or a time stamp.
    Timestamp,
    /// A number in some base or notation, a text that begins like one, or a sign with a meaning of its own.
    Number,
}

/// Returns the type that a reader of YAML 1.1 would give this text, unquoted; `None` if that is a string.
pub(crate) fn legacy(text: &str) -> Option<Legacy> {
    const BOOLS: [&str; 8] = ["y", "n", "yes", "no", "on", "off", "true", "false"];
    if BOOLS.iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Some(Legacy::Bool);
    }
    if matches!(text, "=" | "<<") {
        return Some(Legacy::Number);
    }
    let bytes = text.as_bytes();
    let date = bytes.len() >= 8
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && bytes[4] == b'-'
        && bytes.iter().all(|b| b.is_ascii_digit() || b"-+:.TtZz ".contains(b));
    if date {
        return Some(Legacy::Timestamp);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let after_dot = unsigned.strip_prefix('.').unwrap_or(unsigned);
    let special = ["inf", "nan"].iter().any(|word| after_dot.eq_ignore_ascii_case(word));
    let numeric = |b: &u8| b.is_ascii_hexdigit() || b"_.:xXoO+-".contains(b);
    let starts = after_dot.as_bytes().first().is_some_and(u8::is_ascii_digit);
    if (after_dot != unsigned && special) || (starts && after_dot.as_bytes().iter().all(numeric)) {
        return Some(Legacy::Number);
    }
    None
}

/// Returns whether the text is a UTC time stamp exactly as this program writes them, with or without a fraction of a second.
pub(crate) fn is_utc_timestamp(text: &str) -> bool {
    const SECOND: &[u8] = b"0000-00-00T00:00:00";
    let Some((second, rest)) = text.split_at_checked(SECOND.len()) else { return false };
    let is_fraction = |rest: &str| {
        let digits = rest.strip_prefix('.').unwrap_or_default();
        rest.is_empty() || (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    has_shape(second, SECOND) && rest.strip_suffix('Z').is_some_and(is_fraction)
}

/// Returns whether the text is a day, as in `2026-12-01`.
pub(crate) fn is_day(text: &str) -> bool {
    has_shape(text, b"0000-00-00")
}

fn has_shape(text: &str, shape: &[u8]) -> bool {
    text.len() == shape.len()
        && text.bytes().zip(shape).all(|(byte, shape)| match shape {
            b'0' => byte.is_ascii_digit(),
            other => byte == *other,
        })
}

/// Returns the value of a tagged scalar. `!!str` makes it a string; other tags must fit its own type.
pub(crate) fn tagged<'s>(
    text: Cow<'s, str>,
    layout: NodeLayout,
    tag: &Tag,
    span: &Range<usize>,
) -> Result<NodeKind<'s>, Fault> {
    let Some(name) = tag.core_suffix() else {
        return Err(foreign(tag, span));
    };
    let absent = layout == NodeLayout::Absent;
    let text = if absent { Cow::Borrowed("") } else { text };
    if name == "str" {
        return Ok(NodeKind::String(text));
    }
    let whole = !text.contains(['.', 'e', 'E']);
    let kind =
        if absent || layout == NodeLayout::Plain { resolve(text) } else { NodeKind::String(text) };
    let fits = match &kind {
        NodeKind::Null => name == "null",
        NodeKind::Bool(_) => name == "bool",
        NodeKind::Number(_) => (name == "int" && whole) || (name == "float" && !whole),
        _ => false,
    };
    if fits {
        return Ok(kind);
    }
    Err(Fault::new("tag_mismatch", span.clone(), format!("this value is no `!!{name}`"))
        .help("remove the tag, or write a value of that type"))
}

/// Reports a tag that is not supported.
pub(crate) fn foreign(tag: &Tag, span: &Range<usize>) -> Fault {
    let name = format!("{}{}", tag.original_handle(), tag.suffix());
    Fault::new("tag", span.clone(), format!("the tag `{name}` is not supported"))
        .help("remove it; a text that begins with `!` needs quotes")
}
