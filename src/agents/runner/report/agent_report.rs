//! What an agent's program reported, and the JSON objects in what it printed.

use serde::de::IgnoredAny;
use serde_json::{Deserializer, Value};

use super::trouble::Trouble;
use crate::agents::runner::output::{Exit, RunOutput, last_line, plain, plain_text};
use crate::domain::Map;
use crate::files::json::read;
use crate::storage::runs::AgentReport;

/// How many beginnings of spread objects are tried: each may be read to the end of the text in vain.
const TRIES: usize = 32;

/// What an agent's program reported.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Report {
    /// The agent's last message; empty where there is none. Never the text of an error.
    pub text: String,
    /// The object that the tool hands over apart from the text.
    pub structured: Option<Map>,
    pub told: AgentReport,
    /// What the tool says went wrong.
    pub trouble: Option<Trouble>,
    /// What decides nothing: tools that were denied, an output that could not be read.
    pub remarks: Vec<String>,
}

impl Report {
    /// Notes that the tool's format was not found. The error of a failed program is then the last line of its standard error.
    pub(crate) fn without_format(
        mut self,
        tool: &str,
        output: &RunOutput<'_>,
        remark: &str,
    ) -> Self {
        self.remarks.push(format!("`{tool}` printed {remark}"));
        let message = last_line(&plain(output.stderr)).filter(|_| output.exit != Exit::SUCCESS);
        let reported = |message: String| Trouble::reported(tool, None, None, &message);
        Self { trouble: self.trouble.or_else(|| message.map(reported)), ..self }
    }
}

/// Returns the objects of a text in their order: one a line, or spread over lines. A list of objects counts as its objects; noise
/// between them and halves of objects are passed over.
pub(crate) fn objects(bytes: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches(['\u{feff}', '\u{fffd}']);
    let mut found: Vec<Value> = match read(text) {
        Ok(Value::Array(items)) => items,
        Ok(object @ Value::Object(_)) => vec![object],
        _ => objects_between(text),
    };
    found.retain(Value::is_object);
    found
}

fn objects_between(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let (mut at, mut tries) = (0, 0);
    while at < text.len() {
        let whole = text[at..].split_inclusive('\n').next().unwrap_or_default();
        let line = whole.trim();
        if line == "{" && tries < TRIES {
            tries += 1;
            let mut stream = Deserializer::from_str(&text[at..]).into_iter::<IgnoredAny>();
            if let Some(Ok(_)) = stream.next() {
                let end = at + stream.byte_offset();
                found.extend(read(&text[at..end]).ok());
                at = end;
                continue;
            }
        } else if line.starts_with('{') {
            found.extend(read(line).ok());
        }
        at += whole.len();
    }
    found
}

/// Returns a text, if it is one and not blank.
pub(crate) fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.trim().is_empty())
}

/// Returns a text that is not blank, without terminal sequences.
pub(crate) fn owned_text(value: &Value) -> Option<String> {
    text(value).map(plain_text)
}

/// Returns the sum of the counts of an object under these keys.
pub(crate) fn sum(object: &Value, keys: &[&str]) -> u64 {
    keys.iter().fold(0, |sum, key| sum.saturating_add(object[*key].as_u64().unwrap_or_default()))
}

/// Returns an amount of money that can be one.
pub(crate) fn amount(value: &Value) -> Option<f64> {
    value.as_f64().filter(|amount| amount.is_finite() && *amount >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_between_noise() {
        let keys = |text: &str| -> Vec<String> {
            objects(text.as_bytes())
                .iter()
                .map(|map| map.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join("+"))
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
