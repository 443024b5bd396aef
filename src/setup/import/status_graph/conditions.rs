//! The named conditions of older graphs, which ask for a role's latest reply or count its runs, as expressions of ours.

use std::collections::HashMap;

use serde_json::json;

use crate::domain::FieldFate::{Converted, Lost};
use crate::setup::import::names;
use crate::setup::import::record::{FieldPlace, Record};

/// The part of an expression that counts visits.
pub(crate) const VISITS: &str = "gateHistory.filter";

/// The conditions of a file, and the gate of each role.
pub(crate) struct EdgeConditions<'a> {
    named: HashMap<&'a str, String>,
    gates: HashMap<&'a str, &'a str>,
}

impl<'a> EdgeConditions<'a> {
    pub(crate) fn read(top: &Record<'a>, gates: HashMap<&'a str, &'a str>) -> Self {
        let mut named = HashMap::new();
        for (name, place, node) in top.entries("conditions", "a mapping of names and conditions") {
            let text = node.as_str().or_else(|| node.get("expression")?.as_str());
            place.note(Converted, "gates of `type: condition`, where the graph asks for it");
            named.insert(name, text.unwrap_or_default().to_owned());
        }
        Self { named, gates }
    }

    /// Returns the expression of a condition after a role; one that cannot be expressed is reported as lost.
    pub(crate) fn expression(
        &self,
        condition: &str,
        from: &str,
        place: &FieldPlace<'_>,
    ) -> Option<String> {
        let text = self.named.get(condition).map_or(condition, String::as_str);
        let expression = self.any(text, from);
        if expression.is_none() {
            let note = format!("`{text}` is no condition that can be expressed here");
            place.note(Lost, note);
        }
        expression
    }

    fn any(&self, text: &str, from: &str) -> Option<String> {
        for (word, sign) in [(" or ", " || "), (" and ", " && ")] {
            if text.contains(word) {
                let parts: Option<Vec<String>> =
                    text.split(word).map(|part| self.any(part, from)).collect();
                return parts.map(|parts| parts.join(sign));
            }
        }
        self.comparison(text.trim(), from)
    }

    fn comparison(&self, text: &str, from: &str) -> Option<String> {
        let (sign, ours) =
            [("!=", "!=="), (">=", ">="), ("<=", "<="), ("=", "==="), ("<", "<"), (">", ">")]
                .into_iter()
                .find(|(sign, _)| outside_brackets(text).contains(sign))?;
        let at = outside_brackets(text).find(sign)?;
        let (left, right) = (text[..at].trim(), text[at + sign.len()..].trim());
        let value = match right.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
            Some(text) => json!(text),
            None => serde_json::from_str(right).ok()?,
        };
        if let Some(rest) = left.strip_prefix("$count(steps[") {
            let role = rest.strip_suffix("])")?.split_once('=')?;
            let role = self.gates.get(unquoted(role.1)).filter(|_| role.0.trim() == "role")?;
            let count = format!("{VISITS}(visit => visit.gate === {}).length", json!(role));
            return Some(format!("{count} {ours} {value}"));
        }
        let (role, key) = match left.strip_prefix("$last(") {
            Some(rest) => rest.split_once(").").map(|(role, key)| (unquoted(role), key))?,
            None => (from, left.strip_prefix("steps[-1].output.")?),
        };
        let gate = self.gates.get(role)?;
        Some(format!("context[{}]?.[{}] {ours} {value}", json!(gate), json!(names::key(key))))
    }
}

/// Returns the text with the contents of brackets blanked out.
fn outside_brackets(text: &str) -> String {
    let mut depth = 0;
    let blank = |c: char| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        if depth > 0 || !c.is_ascii() { " ".repeat(c.len_utf8()) } else { c.to_string() }
    };
    text.chars().map(blank).collect()
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['\'', '"'])
}
