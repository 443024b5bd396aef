//! JSON as the same tree that YAML gives: with places, and with duplicate keys refused.

use serde_json::{Error, Number, Value};

pub(crate) use super::numbers::read;
use super::numbers::{Kept, numbers};
use crate::files::yaml;
use crate::files::yaml::{Decimal, Entry, Fault, Key, Kind, Layout, Limits, Node, Sharing};

/// Returns the tree of a JSON text.
///
/// The JSON parser decides what the text says. Nearly all JSON is YAML too, and the YAML tree knows where everything stands,
/// so it is taken where it says the same; the rest (surrogate escapes, tabs before keys) gets a tree without places.
pub(crate) fn parse(text: &str) -> Result<Node<'_>, Fault> {
    let kept = Kept::new(text).map_err(|error| fault(text, &error))?;
    let kept = kept.text(text);
    let value = serde_json::from_str(kept).map_err(|error| fault(text, &error))?;
    let said = written(value, &mut numbers(kept));
    match yaml::parse(text, &Limits::default()) {
        Ok(node) if node.agrees(&said) => Ok(node),
        Err(faults) => match faults.into_iter().find(|fault| fault.code == "duplicate_key") {
            Some(fault) => Err(fault),
            None => Ok(said),
        },
        Ok(_) => Ok(said),
    }
}

/// Returns the first key that a JSON text has twice in one object, and where: of such a one its last value alone would count.
pub(crate) fn said_twice(text: &str) -> Option<String> {
    let fault = parse(text).err().filter(|fault| fault.code == "duplicate_key")?;
    Some(fault.message)
}

/// Returns what somebody typed as JSON. A number that would not be written as it was typed is kept as a text: `1.10` is a version.
pub(crate) fn typed(text: &str) -> Result<Value, Error> {
    let kept = Kept::new(text)?;
    let kept = kept.text(text);
    let mut value = serde_json::from_str(kept)?;
    keep(&mut value, &mut numbers(kept));
    Ok(value)
}

fn keep<'t>(value: &mut Value, numbers: &mut impl Iterator<Item = &'t str>) {
    match value {
        Value::Number(number) => {
            if let Some(text) = next(number, numbers).filter(|text| *text != number.to_string()) {
                *value = text.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| keep(item, numbers)),
        Value::Object(map) => map.values_mut().for_each(|value| keep(value, numbers)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Returns the number as it is written. Of two that have one key the value has the later one alone: then they are out of step.
fn next<'t>(number: &Number, numbers: &mut impl Iterator<Item = &'t str>) -> Option<&'t str> {
    numbers.next().filter(|text| serde_json::from_str(text).ok().as_ref() == Some(number))
}

fn fault(text: &str, error: &Error) -> Fault {
    let at = offset(text, error.line(), error.column());
    let message = error.to_string();
    let message = match message.split(" at line ").next().unwrap_or_default() {
        // What serde_json calls the three words that it knows.
        "expected ident" => {
            "a word that is neither `true`, `false` nor `null`; a text stands in quotes"
        }
        message => message,
    };
    Fault::new("invalid_json", at..at, format!("this is not JSON: {message}"))
}

fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let mut at = (start + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Returns the tree of a value, without places.
pub(crate) fn placeless(value: Value) -> Node<'static> {
    written(value, &mut std::iter::empty())
}

/// Returns the same with the numbers as they are written: they come in the order in which the value has them.
fn written<'t>(value: Value, numbers: &mut impl Iterator<Item = &'t str>) -> Node<'static> {
    let kind = match value {
        Value::Null => Kind::Null,
        Value::Bool(value) => Kind::Bool(value),
        Value::Number(number) => match next(&number, numbers) {
            Some(text) => Kind::Number(Decimal::new(number, text.to_owned().into())),
            None => Kind::Number(number.into()),
        },
        Value::String(text) => Kind::String(text.into()),
        Value::Array(items) => {
            Kind::Sequence(items.into_iter().map(|item| written(item, numbers)).collect())
        }
        Value::Object(map) => Kind::Mapping(
            map.into_iter()
                .map(|(key, value)| Entry {
                    key: Key { text: key.into(), span: 0..0, decorated: false },
                    value: written(value, numbers),
                })
                .collect(),
        ),
    };
    Node {
        span: 0..0,
        kind,
        layout: Layout::Flow,
        sharing: Sharing::Own,
        outer: 0,
        indicator: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_places_where_yaml_agrees() {
        let text = "{\n  \"task\": \"AOF-abc\",\n  \"blockers\": []\n}";
        let node = parse(text).unwrap();
        assert_eq!(&text[node.get("task").unwrap().span.clone()], "\"AOF-abc\"");
        let odd = parse(r#"{"summary": "\ud83d\ude00 a\/b"}"#).unwrap();
        assert_eq!(odd.get("summary").unwrap().as_str(), Some("😀 a/b"));
    }

    #[test]
    fn numbers_are_numbers_and_known_as_they_are_written() {
        let long = "12345678901234567890123";
        let text = format!(
            r#"{{"1.20": 1.10, "s": "\"1.30\\", "l": [2.0, {long}, 1e3, 1e-7, "x\u00e9", 7], "o": {{"v": 0.50}}}}"#
        );
        let plain: Value = serde_json::from_str(&text).unwrap();
        let source = |node: &Node<'_>| match &node.kind {
            Kind::Number(number) => number.source().to_owned(),
            other => panic!("{other:?} is no number"),
        };
        for text in [&text, &text.replace(long, "7.00")] {
            let node = parse(text).unwrap();
            assert_eq!(node.to_value(), read::<Value>(text).unwrap());
            assert!(node.get("o").unwrap().span != (0..0), "the YAML tree says the same");
            assert_eq!(source(node.get("1.20").unwrap()), "1.10");
            assert_eq!(source(&node.get("l").unwrap().items()[2]), "1e3");
            assert_eq!(source(node.get("o").and_then(|o| o.get("v")).unwrap()), "0.50");
        }
        assert_eq!(parse(&text).unwrap().get("l").unwrap().items()[1].as_str(), Some(long));
        let wanted = serde_json::json!(
            {"1.20": "1.10", "s": "\"1.30\\", "l": [2.0, long, "1e3", 1e-7, "xé", 7], "o": {"v": "0.50"}}
        );
        assert_eq!(typed(&text).unwrap(), wanted);
        assert_ne!(typed(&text).unwrap(), plain);
        assert_eq!(typed("-0").unwrap(), "-0");
        assert_eq!(typed(" [1e-5, 0.00001] ").unwrap(), serde_json::json!(["1e-5", 0.00001]));
        // Nobody writes one key twice; no number becomes another one by it.
        assert_eq!(
            typed(r#"{"a": "x", "b": 1.10, "a": 2.50}"#).unwrap(),
            serde_json::json!({"a": 2.5, "b": 1.1})
        );
    }

    #[test]
    fn json_is_held_to_its_grammar() {
        assert_eq!(parse("{\"a\": 1, \"a\": 2}").unwrap_err().code, "duplicate_key");
        assert_eq!(said_twice("{\"a\": 1, \"b\": 2}"), None);
        let twice = "the key `a` on line 2 is already defined on line 1";
        assert_eq!(said_twice("[{\"a\": 1,\n\"a\": 2}]").as_deref(), Some(twice));
        let fault = parse("{\"a\": 1,\n \"b\" 2}").unwrap_err();
        assert_eq!((fault.code, fault.line_column("{\"a\": 1,\n \"b\" 2}").0), ("invalid_json", 2));
        assert!(parse("a: 1").is_err(), "YAML is not JSON");
        let unquoted = parse("{\"a\": task}").unwrap_err();
        assert!(unquoted.message.ends_with("nor `null`; a text stands in quotes"), "{unquoted}");
    }
}
