//! TOML as the same tree that YAML gives, with spans. Reads only; no other module uses the `toml` crate.

use std::ops::Range;

use serde_json::Number;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::yaml::{EntryKey, Fault, MappingEntry, Node, NodeKind};

/// Returns the tree of a TOML text, with keys in the order in which they are written.
pub fn parse(text: &str) -> Result<Node<'static>, Vec<Fault>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let fault = |error: &toml::de::Error| {
            let span = error.span().unwrap_or(0..0);
            Fault::new("toml_syntax", span, format!("not valid TOML: {}", error.message()))
        };
        return Err(errors.iter().map(fault).collect());
    }
    let span = table.span();
    Ok(mapping(table.get_ref(), span))
}

fn mapping(table: &DeTable<'_>, span: Range<usize>) -> Node<'static> {
    let mut entries: Vec<MappingEntry<'static>> =
        table.iter().map(|(key, value)| entry(key, value)).collect();
    entries.sort_by_key(|entry| entry.key.span.start);
    Node::plain(NodeKind::Mapping(entries), span)
}

fn entry(
    key: &Spanned<std::borrow::Cow<'_, str>>,
    value: &Spanned<DeValue<'_>>,
) -> MappingEntry<'static> {
    let text = key.get_ref().clone().into_owned().into();
    MappingEntry {
        key: EntryKey { text, span: key.span(), decorated: false },
        value: value_node(value),
    }
}

fn value_node(value: &Spanned<DeValue<'_>>) -> Node<'static> {
    let span = value.span();
    let kind = match value.get_ref() {
        DeValue::String(text) => NodeKind::String(text.clone().into_owned().into()),
        DeValue::Boolean(yes) => NodeKind::Bool(*yes),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(whole) => NodeKind::Number(Number::from(whole).into()),
            Err(_) => NodeKind::String(number.to_string().into()),
        },
        DeValue::Float(number) => match number.as_str().parse().ok().and_then(Number::from_f64) {
            Some(float) => NodeKind::Number(float.into()),
            None => NodeKind::String(number.to_string().into()),
        },
        DeValue::Datetime(time) => NodeKind::String(time.to_string().into()),
        DeValue::Array(items) => NodeKind::Sequence(items.iter().map(value_node).collect()),
        DeValue::Table(table) => return mapping(table, span),
    };
    Node::plain(kind, span)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toml_has_places_and_keeps_its_order() {
        let text = "z = 1\na = 'x'\n\n[[workflow.steps]]\nname = \"implement\"\n\n[[workflow.steps]]\nname = \"review\"\ngate = true\n";
        let root = parse(text).unwrap();
        let keys: Vec<&str> = root.entries().iter().map(|entry| entry.key.text.as_ref()).collect();
        assert_eq!(keys, ["z", "a", "workflow"]);
        let steps = root.get("workflow").and_then(|workflow| workflow.get("steps")).unwrap();
        let name = steps.items()[1].get("name").unwrap();
        assert_eq!(name.as_str(), Some("review"));
        assert_eq!(&text[name.span.clone()], "\"review\"");
    }

    #[test]
    fn a_toml_error_has_its_place() {
        let text = "[workflow]\nname = custom\n";
        let faults = parse(text).unwrap_err();
        assert_eq!(faults[0].line_column(text).0, 2);
        assert!(parse("a = 1\na = 2\n").is_err(), "a key twice");
    }
}
