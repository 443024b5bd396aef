//! Converts foreign names and placeholders. Names have letters, digits, `-` and `_`; decisions may have `.` too, and some words are
//! reserved.

use std::collections::{HashMap, HashSet};

use super::record::FieldPlace;
use crate::domain::FieldFate::{Converted, Kept};

/// The longest name, in bytes.
const MAX_LENGTH: usize = 64;

/// The words that cannot be decisions, and the words used instead.
const RESERVED_DECISIONS: [(&str, &str); 12] = [
    ("complete", "completed"),
    ("needs_review", "review_needed"),
    ("blocked", "is_blocked"),
    ("skip", "skipped_over"),
    ("failed", "has_failed"),
    ("cancelled", "is_cancelled"),
    ("moved", "was_moved"),
    ("override", "overridden"),
    ("reopened", "was_reopened"),
    ("timeout", "timed_out"),
    ("true", "is_true"),
    ("false", "is_false"),
];

/// The names of one kind in one file: our name for each foreign one.
#[derive(Debug, Default)]
pub(crate) struct Names {
    ours: HashMap<String, String>,
    taken: HashSet<String>,
}

impl Names {
    /// Returns our name for a foreign one, and why it was changed. `fallback` replaces a name without valid characters.
    pub(crate) fn add(&mut self, foreign: &str, fallback: &str) -> (String, Option<String>) {
        let clean = plain(foreign, fallback);
        let name = self.reserve(&clean);
        let why = if clean != foreign {
            Some(format!(
                "`{foreign}` became `{name}`: names are letters, digits, `-` and `_`, at most {MAX_LENGTH}"
            ))
        } else if name != clean {
            Some(format!("`{foreign}` became `{name}`: there is another `{clean}`"))
        } else {
            None
        };
        self.ours.insert(foreign.to_owned(), name.clone());
        (name, why)
    }

    /// Returns our name for the one that a field gives, and notes the change. `kept` is the note for a name that stays.
    pub(crate) fn take(
        &mut self,
        place: &FieldPlace<'_>,
        foreign: &str,
        fallback: &str,
        kept: &str,
    ) -> String {
        let (name, why) = self.add(foreign, fallback);
        match why {
            Some(why) => place.note(Converted, why),
            None => place.note(Kept, kept),
        }
        name
    }

    /// Returns our name for a gate as [`Names::take`] does. No gate is named `task`: `{{task}}` is the task in every template.
    pub(crate) fn take_gate(
        &mut self,
        place: &FieldPlace<'_>,
        foreign: &str,
        fallback: &str,
        kept: &str,
    ) -> String {
        if plain(foreign, fallback) != "task" {
            return self.take(place, foreign, fallback, kept);
        }
        let name = self.reserve("task-gate");
        place.note(Converted, format!("`{name}`: `task` means the task itself in templates"));
        self.ours.insert(foreign.to_owned(), name.clone());
        name
    }

    /// Reserves a name for something that has none in the foreign file.
    pub(crate) fn invent(&mut self, name: &str) -> String {
        self.reserve(&plain(name, "gate"))
    }

    /// Returns our name for a foreign one.
    pub(crate) fn get(&self, foreign: &str) -> Option<&str> {
        self.ours.get(foreign).map(String::as_str)
    }

    fn reserve(&mut self, clean: &str) -> String {
        numbered(clean, |name| self.taken.insert(name.to_owned()))
    }
}

/// Returns the name, with a number added if it is not free.
fn numbered(clean: &str, mut is_free: impl FnMut(&str) -> bool) -> String {
    let mut name = clean.to_owned();
    let mut number = 2;
    while !is_free(&name) {
        let tail = format!("-{number}");
        name = format!("{}{tail}", &clean[..clean.len().min(MAX_LENGTH - tail.len())]);
        number += 1;
    }
    name
}

/// Returns the decisions of one gate for foreign words, in their order, each with the reason if it was changed.
pub(crate) fn decisions<'a>(
    foreign: impl IntoIterator<Item = &'a str>,
) -> Vec<(String, Option<String>)> {
    let mut taken: HashSet<String> = HashSet::new();
    let mut list = Vec::new();
    for word in foreign {
        let clean: String = truncated(
            word.chars().map(|c| if is_plain(c) || c == '.' { c } else { '-' }).collect(),
        );
        let clean = if clean.chars().any(|c| c.is_ascii_alphanumeric()) {
            clean
        } else {
            "done".to_owned()
        };
        let ours = RESERVED_DECISIONS.iter().find(|(known, _)| clean.eq_ignore_ascii_case(known));
        let clean = ours.map_or(clean, |(_, ours)| (*ours).to_owned());
        let name = numbered(&clean, |name| taken.insert(name.to_ascii_lowercase()));
        let why = match ours {
            _ if name == word => None,
            Some((known, _)) => {
                Some(format!("`{word}` became `{name}`: `{known}` is a word of aof's own"))
            }
            None if name != clean => Some(format!(
                "`{word}` became `{name}`: decisions that differ only in case are one"
            )),
            None => Some(format!(
                "`{word}` became `{name}`: decisions are letters, digits, `-`, `_` and `.`"
            )),
        };
        list.push((name, why));
    }
    list
}

/// Converts a text to a valid name, which may be taken already.
pub(crate) fn plain(text: &str, fallback: &str) -> String {
    let dashed: String = text.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    let mut name = String::new();
    for c in dashed.trim_start_matches(['-', '_']).chars() {
        if c != '-' || !name.ends_with('-') || text.contains("--") {
            name.push(c);
        }
    }
    let name = truncated(name);
    let name = if is_name(text) { text } else { name.trim_end_matches('-') };
    if name.is_empty() { fallback.to_owned() } else { name.to_owned() }
}

/// Returns true if a text is a valid name.
pub(crate) fn is_name(text: &str) -> bool {
    text.len() <= MAX_LENGTH
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(is_plain)
}

/// Converts a text to a key of outputs or of the input that templates can name.
pub(crate) fn key(text: &str) -> String {
    plain(text, "value")
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

fn truncated(mut text: String) -> String {
    text.truncate(MAX_LENGTH);
    text
}

/// Returns the text with each slot renamed by `convert`; a slot without a name becomes text. Two and three braces mean the same, and
/// braces that are not closed on their line are text.
pub(crate) fn rewritten(text: &str, mut convert: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find("{{") {
        out.push_str(&rest[..open]);
        let braces = if rest[open..].starts_with("{{{") { 3 } else { 2 };
        let inside = &rest[open + braces..];
        let line = inside.lines().next().unwrap_or_default();
        let Some(close) = line.find(&"}}}"[..braces]) else {
            out.push_str("\\{{");
            rest = &rest[open + 2..];
            continue;
        };
        let inner = line[..close].trim();
        out.push_str(&match convert(inner) {
            Some(name) => format!("{{{{{name}}}}}"),
            None => format!("\\{{{{{inner}}}}}"),
        });
        rest = &inside[close + braces..];
    }
    out + rest
}

/// Returns the content of each slot of a text.
pub(crate) fn slots(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    rewritten(text, |inner| {
        found.push(inner.to_owned());
        None
    });
    found
}

/// Escapes every pair of braces, in a text that is not a template.
pub(crate) fn literal(text: &str) -> String {
    text.replace("{{", "\\{{")
}

/// Returns true if a slot is a bare name: letters, digits, `_` and `-`.
pub(crate) fn is_bare(inner: &str) -> bool {
    !inner.is_empty() && inner.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_names_are_converted_and_stay_distinct() {
        let mut names = Names::default();
        assert_eq!(names.add("code-review", "x").0, "code-review");
        assert_eq!(names.add("Code Review", "x").0, "Code-Review");
        assert_eq!(names.add("code review!", "x").0, "code-review-2");
        assert_eq!(names.add("日本", "gate-4").0, "gate-4");
        assert_eq!(names.add("$START", "x").0, "START");
        let long = "é".repeat(80);
        assert_eq!(names.add(&long, "gate-6").0, "gate-6");
        let long = "a".repeat(80);
        assert_eq!(names.add(&long, "x").0.len(), 64);
        let (other, why) = names.add(&"a".repeat(90), "x");
        assert!(other.ends_with("-2") && other.len() == 64 && why.is_some());
        assert_eq!(names.get("code review!"), Some("code-review-2"));
    }

    #[test]
    fn decisions_stay_apart_without_case_and_take_no_word_of_ours() {
        let names: Vec<String> = decisions(["approved", "Approved", "complete", "fix me", "日"])
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["approved", "Approved-2", "completed", "fix-me", "done"]);
    }

    #[test]
    fn slots_are_found_and_the_rest_is_made_inert() {
        let text = "a {{x}} b {{{ y }}} c {{if z}}{{ open\n{{x}}";
        assert_eq!(slots(text), ["x", "y", "if z", "x"]);
        let converted = rewritten(text, |inner| is_bare(inner).then(|| inner.to_owned()));
        assert_eq!(converted, "a {{x}} b {{y}} c \\{{if z}}\\{{ open\n{{x}}");
    }
}
