//! The JSON objects in what was printed: one a line, or spread over lines. Noise between them and halves of objects are passed over.

use serde::de::IgnoredAny;
use serde_json::{Deserializer, Value};

use crate::domain::Map;

/// How many beginnings of spread objects are tried: each may be read to the end of the text in vain.
const TRIES: usize = 32;

/// Returns the objects of a text in their order. A list of objects counts as its objects.
pub(crate) fn objects(bytes: &[u8]) -> Vec<Map> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches(['\u{feff}', '\u{fffd}']);
    match crate::files::json::numbers::read(text) {
        Ok(Value::Object(map)) => return vec![map],
        Ok(Value::Array(items)) => return items.into_iter().filter_map(object).collect(),
        _ => {}
    }
    let mut found = Vec::new();
    let (mut at, mut tries) = (0, 0);
    while at < text.len() {
        let line = text[at..].split_inclusive('\n').next().unwrap_or_default();
        let said = line.trim();
        if said == "{" && tries < TRIES {
            tries += 1;
            let mut stream = Deserializer::from_str(&text[at..]).into_iter::<IgnoredAny>();
            if let Some(Ok(_)) = stream.next() {
                let end = at + stream.byte_offset();
                found.extend(
                    crate::files::json::numbers::read(&text[at..end]).ok().and_then(object),
                );
                at = end;
                continue;
            }
        } else if said.starts_with('{') {
            found.extend(crate::files::json::numbers::read(said).ok().and_then(object));
        }
        at += line.len();
    }
    found
}

fn object(value: Value) -> Option<Map> {
    match value {
        Value::Object(map) => Some(map),
        _ => None,
    }
}

/// Returns a text of an object, if it is there and says something.
pub(crate) fn word<'m>(map: &'m Map, key: &str) -> Option<&'m str> {
    map.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

/// Returns an object of an object.
pub(crate) fn inner<'m>(map: &'m Map, key: &str) -> Option<&'m Map> {
    map.get(key).and_then(Value::as_object)
}

/// Returns a count, 0 where there is none.
pub(crate) fn count(map: &Map, key: &str) -> u64 {
    map.get(key).and_then(Value::as_u64).unwrap_or_default()
}

/// Returns an amount of money that can be one.
pub(crate) fn amount(map: &Map, key: &str) -> Option<f64> {
    map.get(key).and_then(Value::as_f64).filter(|amount| amount.is_finite() && *amount >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_between_noise() {
        let keys = |text: &str| -> Vec<String> {
            objects(text.as_bytes())
                .iter()
                .map(|map| map.keys().cloned().collect::<Vec<_>>().join("+"))
                .collect()
        };
        assert_eq!(keys("{\"a\": 1}\nnoise {\"x\": 1}\n{\"half\": \n{\"b\": 2}\r\n"), ["a", "b"]);
        assert_eq!(keys("Loading.\n{\n  \"a\": {\n \"b\": 1}\n}\nDone.\n{\"c\": 1}"), ["a", "c"]);
        assert_eq!(keys("[{\"a\": 1}, 2, {\"b\": 1}]"), ["a", "b"]);
        assert_eq!(keys("front\": 1}\n{\"a\": 1}\n{\n\"half\": 1"), ["a"]);
        assert_eq!(keys("\u{feff}{\"a\": 1}"), ["a"]);
        assert_eq!(keys(""), Vec::<String>::new());
        assert_eq!(keys(&"[".repeat(1_000_000)), Vec::<String>::new());
        assert_eq!(keys(&"{\n".repeat(1_000_000)), Vec::<String>::new());
    }
}
