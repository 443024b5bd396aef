//! A verdict, read from what an agent wrote. What is quoted, code or a comment never decides; the last mark counts; what
//! cannot be read is said to be so, and is never taken for a yes.
//!
//! Everything here takes time that grows with the length of the text, whatever is in it.

pub(crate) mod items;
pub(crate) mod key;
pub(crate) mod mask;
pub(crate) mod status;
pub(crate) mod tag;

#[cfg(test)]
mod tests;

use crate::domain::workflow::gate::Mark;
use crate::domain::{Outcome, Outputs, Signal};
use mask::Masked;

/// What a text says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VerdictReading {
    pub verdict: TextVerdict,
    /// The values of the keys that were asked for, under the names that they were asked for by.
    pub values: Vec<(String, String)>,
    /// The items of the text's lists: what a reviewer wants mended.
    pub items: Vec<String>,
}

/// The verdict of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TextVerdict {
    /// `PASS`, or the line that was expected.
    Passed,
    /// `FAIL`.
    Failed,
    /// One of the words that were asked for, as it was asked for.
    Named(String),
    /// There is no mark.
    Nothing,
    /// There is a mark, and what it says is none of the words; this is what stands there.
    Unreadable(String),
}

/// Reads a text. `words` are the outcomes that it may name, `keys` the outputs that `KEY: value` lines may give; case does not
/// count for either.
pub(crate) fn read(mark: &Mark, words: &[&str], keys: &[&str], text: &str) -> VerdictReading {
    let masked = Masked::new(text);
    let (verdict, at) = match mark {
        Mark::Tag { tag, .. } => tag::verdict(&masked, tag, words),
        Mark::Key(key) => key::verdict(&masked, key, words),
        Mark::Expects(line) => key::expected(&masked, line),
        Mark::Status => {
            let (verdict, values) = status::read(text, words, keys);
            return VerdictReading { verdict, values, items: items::items(&masked, 0, keys) };
        }
    };
    let values = key::values(&masked, mark, keys);
    let below = items::items(&masked, at, keys);
    let items = if below.is_empty() { items::items(&masked, 0, keys) } else { below };
    VerdictReading { verdict, values, items }
}

/// Reads a text as the gate does that has the signal, these outcomes and these outputs.
pub(crate) fn read_at(
    signal: &Signal,
    possible: &[Outcome],
    outputs: &Outputs,
    text: &str,
) -> VerdictReading {
    let words: Vec<&str> = possible.iter().map(Outcome::as_str).collect();
    read(&signal.mark, &words, &outputs.names(), text)
}

/// Returns the outcome that a verdict stands for; one that the gate does not have is no verdict.
pub(crate) fn outcome(
    signal: &Signal,
    possible: &[Outcome],
    verdict: &TextVerdict,
) -> Option<Outcome> {
    let (pass, fail) = match &signal.mark {
        Mark::Tag { pass, fail, .. } => (pass.as_ref(), fail.as_ref()),
        _ => (None, None),
    };
    let word = match verdict {
        TextVerdict::Passed => pass.unwrap_or(&Outcome::Complete).as_str(),
        TextVerdict::Failed => fail.unwrap_or(&Outcome::NeedsReview).as_str(),
        TextVerdict::Named(word) => word,
        TextVerdict::Nothing | TextVerdict::Unreadable(_) => return None,
    };
    possible.iter().find(|outcome| outcome.is_meant_by(word)).cloned()
}

/// Returns what is looked for at a gate with these outcomes, for messages; who cannot go on says so as an outcome.
pub(crate) fn looked_for_at(mark: &Mark, possible: &[Outcome]) -> String {
    let judging = possible.iter().filter(|outcome| outcome.judges());
    let words: Vec<&str> = judging.map(Outcome::as_str).collect();
    looked_for(mark, &words)
}

/// Returns what is looked for, for messages.
pub(crate) fn looked_for(mark: &Mark, words: &[&str]) -> String {
    match mark {
        Mark::Tag { tag, pass, fail } => {
            let general = ["complete", "pass", "fail"];
            let has = |word: &&str| general.iter().any(|known| known.eq_ignore_ascii_case(word));
            if pass.is_some() || fail.is_some() || words.iter().any(has) {
                format!("`<{tag}>PASS</{tag}>` or `<{tag}>FAIL</{tag}>`")
            } else {
                let list: Vec<String> =
                    words.iter().map(|word| format!("`<{tag}>{word}</{tag}>`")).collect();
                list.join(" or ")
            }
        }
        Mark::Key(key) => {
            let list: Vec<String> = words.iter().map(|word| format!("`{key}: {word}`")).collect();
            format!("a line {}", list.join(" or "))
        }
        Mark::Expects(line) => format!("the line `{line}`"),
        Mark::Status => {
            let list: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            format!("`$status` in the frontmatter, one of {}", list.join(", "))
        }
    }
}

/// Returns the verdict that a word stands for.
fn judged(word: &str, shown: &str, words: &[&str]) -> TextVerdict {
    match words.iter().find(|known| known.eq_ignore_ascii_case(word)) {
        Some(known) => TextVerdict::Named((*known).to_owned()),
        None => TextVerdict::Unreadable(cut(shown.trim(), 80)),
    }
}

/// Returns the beginning of a text.
fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}...", text[..end].trim_end()),
        None => text.to_owned(),
    }
}
