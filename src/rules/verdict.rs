//! A verdict, read from what an agent wrote. What is quoted, code or a comment never decides; the last mark counts; what
//! cannot be read is said to be so, and is never taken for a yes.
//!
//! Everything here takes time that grows with the length of the text, whatever is in it.

use crate::domain::workflow::gate::Mark;
use crate::domain::{Outcome, Outputs, Signal};
use crate::rules::verdict::key::gives;
use crate::rules::verdict::mask::{Masked, MaskedLine, marker};

pub(crate) mod key;
pub(crate) mod mask;

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
        Mark::Tag { tag, .. } => tag_verdict(&masked, tag, words),
        Mark::Key(key) => key::verdict(&masked, key, words),
        Mark::Expects(line) => key::expected(&masked, line),
        Mark::Status => {
            let (verdict, values) = read_status(text, words, keys);
            return VerdictReading { verdict, values, items: items(&masked, 0, keys) };
        }
    };
    let values = key::values(&masked, mark, keys);
    let below = items(&masked, at, keys);
    let items = if below.is_empty() { items(&masked, 0, keys) } else { below };
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
    let each = |show: &dyn Fn(&str) -> String, between: &str| {
        words.iter().map(|word| show(word)).collect::<Vec<_>>().join(between)
    };
    match mark {
        Mark::Tag { tag, pass, fail } => {
            let general = ["complete", "pass", "fail"];
            let has = |word: &&str| general.iter().any(|known| known.eq_ignore_ascii_case(word));
            if pass.is_some() || fail.is_some() || words.iter().any(has) {
                format!("`<{tag}>PASS</{tag}>` or `<{tag}>FAIL</{tag}>`")
            } else {
                each(&|word| format!("`<{tag}>{word}</{tag}>`"), " or ")
            }
        }
        Mark::Key(key) => {
            format!("a line {}", each(&|word| format!("`{key}: {word}`"), " or "))
        }
        Mark::Expects(line) => format!("the line `{line}`"),
        Mark::Status => {
            let words = each(&|word| format!("`{word}`"), ", ");
            format!("`$status` in the frontmatter, one of {words}")
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

/// Returns what the last tag says, and where it ends.
fn tag_verdict(masked: &Masked<'_>, tag: &str, words: &[&str]) -> (TextVerdict, usize) {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let loud = masked.loud();
    let Some(start) = places(loud, &open).last() else {
        // A tag that is closed and was never opened is no verdict, and no silence either.
        return match places(loud, &close).last() {
            Some(at) => (TextVerdict::Unreadable(close), at),
            None => (TextVerdict::Nothing, 0),
        };
    };
    let from = start + open.len();
    let Some(end) = places(loud, &close).find(|at| *at >= from) else {
        let line = masked.text[start..].lines().next().unwrap_or_default();
        return (TextVerdict::Unreadable(cut(line, 80)), start);
    };
    let word = loud[from..end].trim();
    let at = end + close.len();
    let known = |wanted: &str| words.iter().any(|word| word.eq_ignore_ascii_case(wanted));
    if word.eq_ignore_ascii_case("pass") && !known("pass") {
        return (TextVerdict::Passed, at);
    }
    if word.eq_ignore_ascii_case("fail") && !known("fail") {
        return (TextVerdict::Failed, at);
    }
    (judged(word, &masked.text[from..end], words), at)
}

/// Returns where the tag stands, whatever its case; not where it leans against a backtick: that one is shown, not said.
fn places<'a>(loud: &'a str, tag: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = loud.as_bytes();
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'<').map(|(at, _)| at).filter(
        move |at| {
            let found = bytes
                .get(*at..*at + tag.len())
                .is_some_and(|found| found.eq_ignore_ascii_case(tag.as_bytes()));
            let before = at.checked_sub(1).and_then(|before| bytes.get(before));
            let shown = before == Some(&b'`')
                || bytes.get(*at + tag.len()).is_some_and(|next| b"`\\".contains(next));
            found && !shown
        },
    )
}

/// Returns the verdict and the values of the keys that were asked for.
fn read_status(text: &str, words: &[&str], keys: &[&str]) -> (TextVerdict, Vec<(String, String)>) {
    let mut lines =
        text.trim_start_matches('\u{feff}').lines().skip_while(|line| line.trim().is_empty());
    if lines.next().map(str::trim_end) != Some("---") {
        return (TextVerdict::Nothing, Vec::new());
    }
    let mut found: Vec<(&str, String)> = Vec::new();
    let mut closed = false;
    for line in lines {
        let line = line.trim_end();
        if line == "---" || line == "..." {
            closed = true;
            break;
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.split_once(':').filter(|(key, value)| {
            is_key(key) && (value.is_empty() || value.starts_with([' ', '\t']))
        }) {
            Some((key, value)) => found.push((key, value.trim().to_owned())),
            // Lines that are no key belong to the value above.
            None => {
                if let Some((_, value)) = found.last_mut() {
                    let line = line.strip_prefix("  ").unwrap_or(line);
                    *value = if value.is_empty() || is_block(value) {
                        line.to_owned()
                    } else {
                        format!("{value}\n{line}")
                    };
                }
            }
        }
    }
    if !closed {
        return (TextVerdict::Unreadable("---".to_owned()), Vec::new());
    }
    let said: Vec<&str> = found
        .iter()
        .filter(|(key, _)| *key == "$status")
        .map(|(_, value)| unquoted(value))
        .collect();
    let verdict = match said.as_slice() {
        [] => TextVerdict::Nothing,
        [word] => judged(word, word, words),
        several => TextVerdict::Unreadable(cut(&several.join(", "), 80)),
    };
    let mut values: Vec<(String, String)> = Vec::new();
    for (key, value) in &found {
        if let Some(name) = keys.iter().find(|known| known.eq_ignore_ascii_case(key)) {
            values.retain(|(known, _)| known != name);
            values.push(((*name).to_owned(), unquoted(value).to_owned()));
        }
    }
    (verdict, values)
}

fn is_key(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'$' | b'.'))
}

/// Tells whether a value only says that a block of lines follows.
fn is_block(value: &str) -> bool {
    matches!(value, "|" | ">" | "|-" | ">-" | "|+" | ">+")
}

fn unquoted(value: &str) -> &str {
    let quoted = |sign: char| value.strip_prefix(sign).and_then(|inner| inner.strip_suffix(sign));
    if is_block(value) { "" } else { quoted('"').or_else(|| quoted('\'')).unwrap_or(value) }
}

/// How many items are taken; the text as a whole is kept beside them.
const ITEM_LIMIT: usize = 50;

/// The longest item, in characters.
const LENGTH_LIMIT: usize = 400;

/// Returns the items below that place, each on one line. What is ticked off is none, nor is a line that gives a value.
fn items(masked: &Masked<'_>, from: usize, keys: &[&str]) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    let mut inside = false;
    for MaskedLine { start, text, loud } in masked.lines() {
        if start < from {
            continue;
        }
        let rest = loud.trim_start();
        let indent = loud.len() - rest.len();
        let speaks = !loud.starts_with('\0');
        match marker(rest).filter(|_| speaks && (indent < 2 || !inside)) {
            Some(length) => {
                let item = text[indent + length..].trim();
                let ticked = ["[x]", "[X]"].iter().any(|tick| item.starts_with(tick));
                inside = !ticked && !gives(loud, keys) && list.len() < ITEM_LIMIT;
                if inside {
                    list.push(item.strip_prefix("[ ]").unwrap_or(item).trim().to_owned());
                }
            }
            None if text.trim().is_empty() || rest.starts_with(['#', '<']) => inside = false,
            None if inside => {
                if let Some(item) = list.last_mut().filter(|item| item.len() < 4 * LENGTH_LIMIT) {
                    item.push(' ');
                    item.push_str(text.trim());
                }
            }
            None => {}
        }
    }
    list.retain(|item| !item.is_empty());
    list.iter().map(|item| cut(item, LENGTH_LIMIT)).collect()
}

#[cfg(test)]
mod tests;
