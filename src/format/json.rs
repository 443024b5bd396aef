//! JSON as the same tree that YAML gives: with places, and with duplicate keys refused.

use serde_json::Value;

use super::yaml::{self, Decimal, Entry, Fault, Key, Kind, Layout, Limits, Node, Sharing};

/// Returns the tree of a JSON text.
///
/// The JSON parser decides what the text says. Nearly all JSON is YAML too, and the YAML tree knows where everything stands,
/// so it is taken where it says the same; the rest (surrogate escapes, tabs before keys) gets a tree without places.
pub(super) fn parse(text: &str) -> Result<Node<'_>, Fault> {
    let value: Value = serde_json::from_str(text).map_err(|error| {
        let at = offset(text, error.line(), error.column());
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        Fault::new("invalid_json", at..at, format!("this is not JSON: {message}"))
    })?;
    let said = written(value, &mut numbers(text));
    match yaml::parse(text, &Limits::default()) {
        Ok(node) if node.agrees(&said) => Ok(node),
        Err(faults) => match faults.into_iter().find(|fault| fault.code == "duplicate_key") {
            Some(fault) => Err(fault),
            None => Ok(said),
        },
        Ok(_) => Ok(said),
    }
}

/// Returns what a JSON text says; what a number would lose is kept as a text.
pub fn value(text: &str) -> Result<Value, serde_json::Error> {
    let value = serde_json::from_str(text)?;
    Ok(written(value, &mut numbers(text)).kept())
}

/// Returns the numbers of a JSON text as they are written.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit())?;
            rest = &rest[start..];
            let Some(inner) = rest.strip_prefix('"') else { break };
            let mut escaped = false;
            let closing = |c: char| {
                let closes = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                closes
            };
            rest = &inner[inner.find(closing)? + 1..];
        }
        let end = rest.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))).unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        rest = after;
        Some(number)
    })
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
pub(super) fn placeless(value: Value) -> Node<'static> {
    written(value, &mut std::iter::empty())
}

/// Returns the same with the numbers as they are written: they come in the order in which the value has them.
fn written<'t>(value: Value, numbers: &mut impl Iterator<Item = &'t str>) -> Node<'static> {
    let kind = match value {
        Value::Null => Kind::Null,
        Value::Bool(value) => Kind::Bool(value),
        // Of two that have one key the value has the later one alone: then they are out of step.
        Value::Number(number) => match numbers.next() {
            Some(text) if serde_json::from_str(text).ok().as_ref() == Some(&number) => {
                Kind::Number(Decimal::new(number, text.to_owned().into()))
            }
            _ => Kind::Number(number.into()),
        },
        Value::String(text) => Kind::String(text.into()),
        Value::Array(items) => Kind::Sequence(items.into_iter().map(|item| written(item, numbers)).collect()),
        Value::Object(map) => Kind::Mapping(
            map.into_iter()
                .map(|(key, value)| Entry {
                    key: Key { text: key.into(), span: 0..0, decorated: false },
                    value: written(value, numbers),
                })
                .collect(),
        ),
    };
    Node { span: 0..0, kind, layout: Layout::Flow, sharing: Sharing::Own, outer: 0, indicator: None }
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
    fn numbers_that_do_not_come_back_are_kept_as_texts() {
        let long = "12345678901234567890123";
        let text = format!(
            r#"{{"1.20": 1.10, "s": "\"1.30\\", "l": [2.0, {long}, 1e3, 1e-7, "x\u00e9", 7], "o": {{"v": 0.50}}}}"#
        );
        let wanted = serde_json::json!(
            {"1.20": "1.10", "s": "\"1.30\\", "l": [2.0, long, "1e3", 1e-7, "xé", 7], "o": {"v": "0.50"}}
        );
        assert_eq!(value(&text).unwrap(), wanted);
        let node = parse(&text).unwrap();
        assert_eq!(node.kept(), wanted);
        assert_ne!(node.get("o").unwrap().span, 0..0, "it has its places");
        // Without places it says the same.
        assert_eq!(parse(&text.replace("\\u00e9", "\\ud83d\\ude00")).unwrap().get("o").unwrap().kept()["v"], "0.50");
        assert_eq!(value("-0").unwrap(), "-0");
        // Nobody writes one key twice; no number becomes another one by it.
        assert_eq!(value(r#"{"a": "x", "b": 1.10, "a": 2.50}"#).unwrap(), serde_json::json!({"a": 2.5, "b": 1.1}));
    }

    #[test]
    fn json_is_held_to_its_grammar() {
        assert_eq!(parse("{\"a\": 1, \"a\": 2}").unwrap_err().code, "duplicate_key");
        let fault = parse("{\"a\": 1,\n \"b\" 2}").unwrap_err();
        assert_eq!((fault.code, fault.line_column("{\"a\": 1,\n \"b\" 2}").0), ("invalid_json", 2));
        assert!(parse("a: 1").is_err(), "YAML is not JSON");
    }
}
