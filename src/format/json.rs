//! JSON as the same tree that YAML gives: with places, and with duplicate keys refused.

use serde_json::Value;

use super::yaml::{self, Entry, Fault, Key, Kind, Layout, Limits, Node, Sharing};

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
    match yaml::parse(text, &Limits::default()) {
        Ok(node) if node.says(&value) => Ok(node),
        Err(faults) => match faults.into_iter().find(|fault| fault.code == "duplicate_key") {
            Some(fault) => Err(fault),
            None => Ok(placeless(value)),
        },
        Ok(_) => Ok(placeless(value)),
    }
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
    let kind = match value {
        Value::Null => Kind::Null,
        Value::Bool(value) => Kind::Bool(value),
        Value::Number(number) => Kind::Number(number),
        Value::String(text) => Kind::String(text.into()),
        Value::Array(items) => Kind::Sequence(items.into_iter().map(placeless).collect()),
        Value::Object(map) => Kind::Mapping(
            map.into_iter()
                .map(|(key, value)| Entry {
                    key: Key { text: key.into(), span: 0..0, decorated: false },
                    value: placeless(value),
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
    fn json_is_held_to_its_grammar() {
        assert_eq!(parse("{\"a\": 1, \"a\": 2}").unwrap_err().code, "duplicate_key");
        let fault = parse("{\"a\": 1,\n \"b\" 2}").unwrap_err();
        assert_eq!((fault.code, fault.line_column("{\"a\": 1,\n \"b\" 2}").0), ("invalid_json", 2));
        assert!(parse("a: 1").is_err(), "YAML is not JSON");
    }
}
