//! Parses JSON to the same tree as YAML: with spans, without duplicate keys, and with numbers as written.
//!
//! A number that 64 bits cannot hold exactly (an order or account number) becomes its text, as in YAML: `serde_json` alone would
//! round it, or fail.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeOwned, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Error, Value};

use super::yaml::build::report_duplicates;
use super::yaml::scalar::resolve;
use super::yaml::{EntryKey, Fault, MappingEntry, Node, NodeKind};
use aof_domain::Map;

/// The deepest nesting of lists and objects.
const DEEPEST: usize = 128;

/// Parses a JSON text; fails with the first fault.
pub fn parse(text: &str) -> Result<Node<'_>, Fault> {
    let (node, twice) = tree(text).map_err(|error| match no_character(text, 0, Nul::Kept) {
        Some(at) if serde_json::from_str::<IgnoredAny>(text).is_ok() => {
            let problem = format!("this is not JSON: `{}` is half a character", &text[at..at + 6]);
            Fault::new("invalid_json", at..at + 6, problem)
        }
        _ => fault(text, &error),
    })?;
    twice.into_iter().next().map_or(Ok(node), Err)
}

/// Returns a message about the first duplicate key of a JSON text. `serde_json` would silently take the last value.
pub fn duplicate_key(text: &str) -> Option<String> {
    let (_, twice) = tree(text).ok()?;
    Some(twice.into_iter().next()?.message)
}

/// Reads a JSON text. A number that would lose digits is a text, and half a character becomes the replacement character.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_value(tree(&in_whole_characters(text, Nul::Kept))?.0.to_value())
}

/// Reads JSON that a program printed, as [`read`] does, and replaces NUL characters too.
pub fn read_printed<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    read(&in_whole_characters(text, Nul::Replaced))
}

/// Reads a member of a JSON object, even if the text has faults elsewhere: only its quotes and brackets must match.
pub fn read_member(text: &str, key: &str) -> Option<Value> {
    let (mut depth, mut from) = (0, 0);
    loop {
        let at = from + text[from..].find(['"', '{', '[', '}', ']'])?;
        from = at + 1;
        match text.as_bytes()[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {
                while text[from..].starts_with(|c| c != '"') {
                    let is_escape = text[from..].starts_with('\\');
                    from = text.ceil_char_boundary(from + 1 + usize::from(is_escape));
                }
                let (name, rest) = (text.get(at + 1..from)?, text.get(from + 1..)?);
                from += 1;
                if depth == 1
                    && name == key
                    && let Some(value) = rest.trim_start().strip_prefix(':')
                {
                    return serde_json::Deserializer::from_str(value).into_iter().next()?.ok();
                }
            }
        }
    }
}

/// The treatment of NUL characters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Nul {
    Kept,
    Replaced,
}

/// Replaces lone surrogates, which programs write when they cut a text in the middle of an emoji.
pub fn in_whole_characters(text: &str, nul: Nul) -> Cow<'_, str> {
    let mut whole = Cow::Borrowed(text);
    let mut from = 0;
    while let Some(at) = no_character(&whole, from, nul) {
        whole.to_mut().replace_range(at..at + 6, "\\ufffd");
        from = at + 6;
    }
    whole
}

/// Returns the place of the first escape at or after `from` that is a surrogate without the other half, or perhaps a NUL.
fn no_character(text: &str, mut from: usize, nul: Nul) -> Option<usize> {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    loop {
        let at = from + text[from..].find('\\')?;
        from = match (unit(at), unit(at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => at + 12,
            (Some(0xD800..=0xDFFF), _) => return Some(at),
            (Some(0), _) if nul == Nul::Replaced => return Some(at),
            _ => text.ceil_char_boundary(at + 2),
        };
    }
}

/// Reads a JSON object that a program wrote. Only the numbers of the member `key` keep their digits: the other members belong to
/// another program.
pub fn read_below(text: &str, key: &str) -> Result<Value, Error> {
    let text = &in_whole_characters(text, Nul::Kept);
    serde_json::from_str::<IgnoredAny>(text)?;
    let Ok(Members(members)) = serde_json::from_str(text) else {
        return serde_json::from_str(text);
    };
    let mut map = Map::new();
    for (name, raw) in members {
        let value = if name == key { read(raw.get())? } else { serde_json::from_str(raw.get())? };
        map.insert(name, value);
    }
    Ok(Value::Object(map))
}

/// Parses typed JSON. A number that would be written differently is kept as text: `1.10` is a version.
pub fn typed(text: &str) -> Result<Value, Error> {
    fn typed_value(node: &Node<'_>) -> Value {
        match &node.kind {
            NodeKind::Number(number) if number.source() != number.number().to_string() => {
                number.source().into()
            }
            NodeKind::Sequence(items) => items.iter().map(typed_value).collect(),
            NodeKind::Mapping(entries) => {
                let entry = |entry: &MappingEntry<'_>| {
                    (entry.key.text.to_string(), typed_value(&entry.value))
                };
                Value::Object(entries.iter().map(entry).collect())
            }
            _ => node.to_value(),
        }
    }
    Ok(typed_value(&tree(text)?.0))
}

/// Returns the tree of a value, without spans.
pub(crate) fn placeless(value: Value) -> Node<'static> {
    let kind = match value {
        Value::Null => NodeKind::Null,
        Value::Bool(value) => NodeKind::Bool(value),
        Value::Number(number) => NodeKind::Number(number.into()),
        Value::String(text) => NodeKind::String(text.into()),
        Value::Array(items) => NodeKind::Sequence(items.into_iter().map(placeless).collect()),
        Value::Object(map) => {
            let entry = |(key, value): (String, Value)| MappingEntry {
                key: EntryKey { text: key.into(), span: 0..0, decorated: false },
                value: placeless(value),
            };
            NodeKind::Mapping(map.into_iter().map(entry).collect())
        }
    };
    Node::plain(kind, 0..0)
}

/// Returns the tree of a text, with the faults of duplicate keys.
fn tree(text: &str) -> Result<(Node<'_>, Vec<Fault>), Error> {
    // Raw values would report a syntax error without its place in the text.
    serde_json::from_str::<IgnoredAny>(text)?;
    let mut twice = Vec::new();
    let node = value(text, serde_json::from_str(text)?, 0, &mut twice)?;
    Ok((node, twice))
}

fn value<'t>(
    text: &'t str,
    raw: &'t RawValue,
    depth: usize,
    twice: &mut Vec<Fault>,
) -> Result<Node<'t>, Error> {
    if depth > DEEPEST {
        return Err(Error::custom(format_args!(
            "more than {DEEPEST} lists and objects inside each other"
        )));
    }
    let written = raw.get();
    let start = written.as_ptr().addr() - text.as_ptr().addr();
    let kind = match written.as_bytes().first() {
        Some(b'"') => NodeKind::String(serde_json::from_str::<String>(written)?.into()),
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(written)?;
            let item = |raw| value(text, raw, depth + 1, twice);
            NodeKind::Sequence(items.into_iter().map(item).collect::<Result<_, _>>()?)
        }
        Some(b'{') => {
            let Members(members) = serde_json::from_str(written)?;
            let mut entries = Vec::with_capacity(members.len());
            let mut end = start + 1;
            for (key, raw) in members {
                let value = value(text, raw, depth + 1, twice)?;
                // The key is between the values, and nothing else there is in quotes.
                let between = &text[end..value.span.start];
                let span = between.find('"').zip(between.rfind('"'));
                let span = span.map_or(end..end, |(from, to)| end + from..end + to + 1);
                end = value.span.end;
                entries.push(MappingEntry {
                    key: EntryKey { text: key.into(), span, decorated: false },
                    value,
                });
            }
            report_duplicates(text, &entries, twice);
            NodeKind::Mapping(entries)
        }
        _ => resolve(Cow::Borrowed(written)),
    };
    Ok(Node::plain(kind, start..start + written.len()))
}

/// The members of an object, in order, including duplicate keys.
struct Members<'t>(Vec<(String, &'t RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

fn fault(text: &str, error: &Error) -> Fault {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    let start: usize = lines.map(str::len).sum();
    let at = text.floor_char_boundary(start + error.column().saturating_sub(1));
    Fault::new("invalid_json", at..at, format!("this is not JSON: {}", problem(error)))
}

/// Returns the fault of a JSON text, and its place.
pub fn reason(error: &Error) -> String {
    let place = match error.line() {
        0 => String::new(),
        line => format!(" (line {line}, column {})", error.column()),
    };
    format!("{}{place}", problem(error))
}

/// Serde's names for the kinds of values, and people's.
const KINDS: [(&str, &str); 6] = [
    ("map", "an object"),
    ("sequence", "a list"),
    ("string", "the text"),
    ("integer", "the number"),
    ("floating point", "the number"),
    ("boolean", "the word"),
];

fn problem(error: &Error) -> String {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    if let Some((got, wanted)) =
        message.strip_prefix("invalid type: ").and_then(|text| text.split_once(", expected "))
    {
        let kind = KINDS.iter().find_map(|(name, ours)| Some((ours, got.strip_prefix(name)?)));
        let got = kind.map_or_else(|| got.to_owned(), |(ours, rest)| format!("{ours}{rest}"));
        let wanted = wanted.replace("sequence", "list").replace("a map", "an object");
        return format!("{wanted} is needed, and this is {got}");
    }
    let message = match message {
        text if text.starts_with("EOF") => "it ends too early",
        "expected value" => "a value is missing, or stands without quotes",
        // serde_json's message for a word other than the three that it knows.
        "expected ident" => {
            "a word that is neither `true`, `false` nor `null`; a text stands in quotes"
        }
        message => message,
    };
    message.to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_has_places_if_yaml_agrees() {
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
            NodeKind::Number(number) => number.source().to_owned(),
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
        let wanted = json!(
            {"1.20": "1.10", "s": "\"1.30\\", "l": [2.0, long, "1e3", 1e-7, "xé", 7], "o": {"v": "0.50"}}
        );
        assert_eq!(typed(&text).unwrap(), wanted);
        assert_ne!(typed(&text).unwrap(), plain);
        assert_eq!(typed("-0").unwrap(), "-0");
        assert_eq!(typed(" [1e-5, 0.00001] ").unwrap(), json!(["1e-5", 0.00001]));
    }

    #[test]
    fn json_is_held_to_its_grammar() {
        assert_eq!(parse("{\"a\": 1, \"a\": 2}").unwrap_err().code, "duplicate_key");
        assert_eq!(duplicate_key("{\"a\": 1, \"b\": 2}"), None);
        let twice = "the key `a` on line 2 is already defined on line 1";
        assert_eq!(duplicate_key("[{\"a\": 1,\n\"a\": 2}]").as_deref(), Some(twice));
        let fault = parse("{\"a\": 1,\n \"b\" 2}").unwrap_err();
        assert_eq!((fault.code, fault.line_column("{\"a\": 1,\n \"b\" 2}").0), ("invalid_json", 2));
        assert!(parse("a: 1").is_err(), "YAML is not JSON");
        let unquoted = parse("{\"a\": task}").unwrap_err();
        assert!(unquoted.message.ends_with("nor `null`; a text stands in quotes"), "{unquoted}");
    }

    #[test]
    fn a_number_that_would_lose_digits_is_a_text_and_no_other_is() {
        let long = "12345678901234567890123";
        let text = format!(
            r#"{{"a": {long}, "b": [-{long}, 1e400, -1.5E+999, 18446744073709551615], "{long}": "x {long}"}}"#
        );
        let wanted = json!({"a": long, "b": [format!("-{long}"), "1e400", "-1.5E+999", u64::MAX], long: format!("x {long}")});
        assert_eq!(read::<Value>(&text).unwrap(), wanted);
        for same in [
            "1.10",
            "1e300",
            "-9223372036854775808",
            "0.1234567890123456789012",
            "1e-999",
            "-0",
            "[]",
            "\"1e400\"",
        ] {
            assert_eq!(
                read::<Value>(same).unwrap(),
                serde_json::from_str::<Value>(same).unwrap(),
                "{same}"
            );
        }
        assert_eq!(read::<Value>(long).unwrap(), long);
    }

    #[test]
    fn half_a_character_of_a_program_is_replaced_and_a_person_s_is_refused() {
        for (text, wanted) in [
            (r#""cut \ud83d here""#, "cut \u{fffd} here"),
            (r#""\ude00\ud83d\ud83d\ude00\uD83D""#, "\u{fffd}\u{fffd}😀\u{fffd}"),
            (r#""\\ud83d \\\ud83d""#, "\\ud83d \\\u{fffd}"),
            (r#""\ud83d\u0041 é\"\udfff""#, "\u{fffd}A é\"\u{fffd}"),
            (r#""a\u0000b \\u0000""#, "a\u{fffd}b \\u0000"),
        ] {
            assert_eq!(read_printed::<String>(text).unwrap(), wanted, "{text}");
        }
        let whole = r#"{"params": {"a": "\ud83d"}, "id": "\ud83d\ude00"}"#;
        assert_eq!(
            read_below(whole, "params").unwrap(),
            json!({"params": {"a": "\u{fffd}"}, "id": "😀"})
        );
        assert_eq!(read_member(r#"{"x": "\ud83d", "id": 7}"#, "id"), Some(json!(7)));
        assert_eq!(read::<String>(r#""a\u0000""#).unwrap(), "a\0");
        let fault = parse("{\"a\":\n \"x \\ud83d\"}").unwrap_err();
        assert_eq!(fault.line_column("{\"a\":\n \"x \\ud83d\"}"), (2, 5));
        assert!(fault.message.contains("`\\ud83d` is half a character"), "{fault}");
    }

    #[test]
    fn one_member_alone_keeps_its_digits() {
        let text =
            r#"{"id": 123456789012345678901, "params": {"n": 123456789012345678901, "m": 1.50}}"#;
        let read = read_below(text, "params").unwrap();
        assert!(read["id"].is_f64());
        assert_eq!(read["params"], json!({"n": "123456789012345678901", "m": 1.5}));
        assert_eq!(
            read_below(r#"{"params": [1e400]}"#, "params").unwrap(),
            json!({"params": ["1e400"]})
        );
        assert_eq!(read_below("[1]", "params").unwrap(), json!([1]));
    }

    #[test]
    fn an_error_names_its_place() {
        let long = "123456789012345678901";
        for (wrong, column) in [
            (format!("{{{long}: 1}}"), 2),
            (format!("[{long}, x]"), 25),
            (format!("0{long}"), 2),
            (format!("[{long}, 1e400e5]"), 30),
            (format!("[{long} {long}]"), 24),
            (format!("[{long}, 1.e400]"), 27),
            (format!("[{long}, 01]"), 26),
            (format!("-{long}-"), 23),
            (format!("[{long}"), 22),
        ] {
            let error = read::<Value>(&wrong).unwrap_err();
            assert_eq!((error.line(), error.column()), (1, column), "{wrong}: {error}");
        }
        assert_eq!(read::<Value>(&format!("[{long},\n {long}, x]")).unwrap_err().line(), 2);
        assert!(read::<Value>(&format!("[\"{long}")).is_err());
    }
}
