//! Reads a verdict from an agent's text. Quotes, code and comments never decide; the last mark counts; an unreadable verdict is
//! reported, and never counts as a pass.
//!
//! The time for a text grows only with its length, whatever its content.

use crate::verdict::mask::{Masked, MaskedLine, marker};
use aof_domain::workflow::gate::Mark;
use aof_domain::{Map, Outcome, Outputs, ReplyFields, SUSPEND, Signal};

pub mod mask;

/// The verdict and the values of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictReading {
    pub verdict: TextVerdict,
    /// The values of the requested keys, under the requested names.
    pub values: Vec<(String, String)>,
    /// The items of the text's lists: the changes that a reviewer requests.
    pub items: Vec<String>,
}

/// The verdict of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextVerdict {
    /// `PASS`, or the expected line.
    Passed,
    /// `FAIL`.
    Failed,
    /// One of the requested words, as requested.
    Named(String),
    /// There is no mark.
    Nothing,
    /// There is a mark with this text, which is not one of the words.
    Unreadable(String),
}

/// Reads a text. `words` are the outcomes that it may name, `keys` the outputs that `KEY: value` lines may give; case does not
/// count for either.
pub(crate) fn read(mark: &Mark, words: &[&str], keys: &[&str], text: &str) -> VerdictReading {
    let masked = Masked::new(text);
    let (verdict, at) = match mark {
        Mark::Tag { tag, .. } => tag_verdict(&masked, tag, words),
        Mark::Key(key) => key_verdict(&masked, key, words, keys),
        Mark::Expects(line) => line_verdict(&masked, line, keys),
        // The frontmatter was read before.
        Mark::Status => (TextVerdict::Nothing, 0),
    };
    let verdict = failure(&masked, mark, words).unwrap_or(verdict);
    let values = match mark {
        Mark::Status => Vec::new(),
        _ => key_values(&masked, mark, keys),
    };
    let below = items(&masked, at, keys);
    let items = if below.is_empty() { items(&masked, 0, keys) } else { below };
    VerdictReading { verdict, values, items }
}

/// Reads a text by a gate's signal, outcomes and outputs; `fields` is the text's frontmatter.
pub fn read_at(
    signal: &Signal,
    possible: &[Outcome],
    outputs: &Outputs,
    text: &str,
    fields: Option<&ReplyFields>,
) -> VerdictReading {
    let words: Vec<&str> = possible.iter().map(Outcome::as_str).collect();
    let also = signal.words.iter().map(|(word, _)| word.as_str());
    let words: Vec<&str> = words.into_iter().chain(also).collect();
    let mut reading = read(&signal.mark, &words, &outputs.names(), text);
    if let (Mark::Key(_), TextVerdict::Named(word)) = (&signal.mark, &mut reading.verdict) {
        *word = signal.outcome_named(word).to_owned();
    }
    if signal.mark == Mark::Status {
        // Keys of the frontmatter do not count as lines of the text.
        let is_whole =
            text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).starts_with("---");
        let length = fields.filter(|_| is_whole).map_or(0, |head| head.length);
        let below = text.get(length..).unwrap_or_default();
        reading.verdict = failure(&Masked::new(below), &signal.mark, &words).unwrap_or_else(|| {
            fields.map_or(TextVerdict::Nothing, |head| {
                status_verdict(head, status_key(&head.fields, possible, outputs), signal, possible)
            })
        });
    }
    reading
}

/// The key of the outcome among outputs.
pub(crate) const STATUS: &str = "$status";

/// Returns the key of the outcome among the fields of a reply. A plain `status` counts if the gate decides, unless it is an output.
pub(crate) fn status_key(fields: &Map, possible: &[Outcome], outputs: &Outputs) -> &'static str {
    let is_plain = !fields.contains_key(STATUS)
        && fields.contains_key("status")
        && only_exit(possible).is_none()
        && !outputs.names().contains(&"status");
    if is_plain { "status" } else { STATUS }
}

/// Returns the only outcome that passes the gate, if there is one and the gate does not reject: completions need not name it.
pub(crate) fn only_exit(possible: &[Outcome]) -> Option<&Outcome> {
    let mut judging = possible.iter().filter(|outcome| outcome.judges());
    judging.next().filter(|only| **only == Outcome::Complete && judging.next().is_none())
}

/// Returns the verdict of a reply with frontmatter.
fn status_verdict(
    fields: &ReplyFields,
    key: &str,
    signal: &Signal,
    possible: &[Outcome],
) -> TextVerdict {
    let words: Vec<&str> = possible.iter().map(Outcome::as_str).collect();
    match (fields.fields.get(key), &fields.fault) {
        (_, Some(fault)) => TextVerdict::Unreadable(cut(fault, 80)),
        (None, _) if only_exit(possible).is_some() => TextVerdict::Passed,
        (None, _) => TextVerdict::Nothing,
        (Some(status), _) => match status.as_str() {
            Some("_") if only_exit(possible).is_some() => TextVerdict::Passed,
            Some(word) if word.eq_ignore_ascii_case(SUSPEND) => judged("blocked", word, &words),
            Some(word) => judged(signal.outcome_named(word), word, &words),
            None => TextVerdict::Unreadable(cut(&status.to_string(), 80)),
        },
    }
}

/// Returns the fields with the reasons of an agent that suspends its work, as blockers: `reason` as it is, others by name.
pub(crate) fn reasons(fields: &Map) -> Vec<String> {
    let text = |value: &serde_json::Value| {
        value.as_str().map_or_else(|| value.to_string(), |text| text.trim().to_owned())
    };
    let one = |(name, value): (&String, &serde_json::Value)| match name.as_str() {
        "reason" => text(value),
        name => format!("{name}: {}", text(value)),
    };
    fields.iter().map(one).collect()
}

/// Returns the verdict of a text whose `STATUS:` line reports a failure: no other line outweighs that.
fn failure(masked: &Masked<'_>, mark: &Mark, words: &[&str]) -> Option<TextVerdict> {
    let wanted = match mark {
        Mark::Key(key) => Some(key.as_str()),
        Mark::Expects(line) => {
            parse_key(line.trim()).filter(|found| !found.value.is_empty()).map(|found| found.key)
        }
        Mark::Tag { .. } | Mark::Status => None,
    };
    if wanted.is_some_and(|key| key.eq_ignore_ascii_case("status")) {
        return None;
    }
    let last = sections(masked, &["STATUS"], None).into_iter().rfind(|found| found.key == 0)?;
    let word = last.loud.first()?.split_whitespace().next().map(bare)?.to_ascii_lowercase();
    let meant = match word.trim_end_matches([',', ';', ':', '!']) {
        "failed" | "failure" | "fail" | "error" => "failed",
        "blocked" => "blocked",
        _ => return None,
    };
    Some(judged(meant, &format!("STATUS: {word}"), words))
}

/// Returns the outcome that a verdict stands for; `None` if the gate does not have it.
pub fn outcome(signal: &Signal, possible: &[Outcome], verdict: &TextVerdict) -> Option<Outcome> {
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

/// Returns the marks that are looked for at a gate with these outcomes, for messages. They do not include outcomes such as
/// `blocked`.
pub fn looked_for_at(mark: &Mark, possible: &[Outcome]) -> String {
    let judging = possible.iter().filter(|outcome| outcome.judges());
    let words: Vec<&str> = judging.map(Outcome::as_str).collect();
    looked_for(mark, &words)
}

/// Returns the marks that are looked for, for messages.
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
        Mark::Expects(line) if line.trim_end().ends_with(':') => {
            format!("a line `{} <value>`", line.trim())
        }
        Mark::Expects(line) => format!("the line `{line}`"),
        Mark::Status if words == ["complete"] => {
            "frontmatter at the beginning, with what is to be handed on".to_owned()
        }
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

/// Returns the verdict of the last tag, and its end.
fn tag_verdict(masked: &Masked<'_>, tag: &str, words: &[&str]) -> (TextVerdict, usize) {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let loud = masked.loud();
    let Some(start) = places(loud, &open).last() else {
        // A closing tag without an opening one is not a verdict, but not silence either.
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

/// Returns the places of the tag, in any case. A tag next to a backtick does not count: it is a quotation.
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

/// The most items that are taken; the whole text is kept besides.
const ITEM_LIMIT: usize = 50;

/// The longest item, in characters.
const LENGTH_LIMIT: usize = 400;

/// Returns the items below that place, each on one line. Ticked items and lines that give a value do not count.
fn items(masked: &Masked<'_>, from: usize, keys: &[&str]) -> Vec<String> {
    let values = sections(masked, keys, None);
    let mut list: Vec<String> = Vec::new();
    let (mut inside, mut margin) = (false, 0);
    for MaskedLine { start, text, loud } in masked.lines() {
        if start < from {
            continue;
        }
        let rest = loud.trim_start();
        let indent = loud.len() - rest.len();
        let speaks = !loud.starts_with('\0');
        match marker(rest).filter(|_| speaks && (indent < 2 || indent <= margin || !inside)) {
            Some(length) => {
                margin = indent;
                let item = text[indent + length..].trim();
                let ticked = ["[x]", "[X]"].iter().any(|tick| item.starts_with(tick));
                let line = start..start + loud.len() + 1;
                let given = above(&values, line.end)
                    .is_some_and(|part| line.contains(&part.start) && part.key < keys.len());
                inside = !ticked && !given && list.len() < ITEM_LIMIT;
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

/// Returns the verdict of the last line with that key, and the end of its value.
fn key_verdict(
    masked: &Masked<'_>,
    key: &str,
    words: &[&str],
    keys: &[&str],
) -> (TextVerdict, usize) {
    let Some(value) = last_section(masked, key, keys) else { return (TextVerdict::Nothing, 0) };
    let loud =
        value.loud.iter().map(|line| bare(line)).find(|line| !line.is_empty()).unwrap_or_default();
    let shown =
        value.text.iter().map(|line| line.trim()).find(|line| !line.is_empty()).unwrap_or_default();
    (judged(loud, shown, words), value.start)
}

/// Returns whether the text has the line, and its place.
fn line_verdict(masked: &Masked<'_>, wanted: &str, keys: &[&str]) -> (TextVerdict, usize) {
    let wanted = wanted.trim();
    let Some(key) = parse_key(wanted) else {
        let values = sections(masked, keys, None);
        let says = |line: &MaskedLine<'_>| {
            let is_below = above(&values, line.start).is_some_and(|part| part.holds(line.loud));
            !is_below && decorated(line.loud).1.eq_ignore_ascii_case(wanted)
        };
        let found = masked.lines().filter(says).last();
        return found.map_or((TextVerdict::Nothing, 0), |line| (TextVerdict::Passed, line.start));
    };
    let Some(found) = last_section(masked, key.key, keys) else {
        return (TextVerdict::Nothing, 0);
    };
    // A key without a value asks for any value.
    let passes = if key.value.is_empty() {
        !found.value().is_empty()
    } else {
        found.loud[0].eq_ignore_ascii_case(key.value)
    };
    let unreadable = || TextVerdict::Unreadable(cut(found.line.trim(), 80));
    (if passes { TextVerdict::Passed } else { unreadable() }, found.start)
}

/// Returns the values of the keys; the last of each counts. A value continues on the lines below, up to the next key.
fn key_values(masked: &Masked<'_>, mark: &Mark, keys: &[&str]) -> Vec<(String, String)> {
    let mut known = keys.to_vec();
    let tag = match mark {
        Mark::Tag { tag, .. } => Some(tag.as_str()),
        Mark::Key(key) => {
            known.push(key);
            None
        }
        Mark::Expects(line) => {
            known.extend(parse_key(line).map(|found| found.key));
            None
        }
        Mark::Status => None,
    };
    let mut values: Vec<(String, String)> = Vec::new();
    for found in sections(masked, &known, tag) {
        let Some(name) = keys.get(found.key) else { continue };
        values.retain(|(known, _)| known != name);
        values.push(((*name).to_owned(), found.value()));
    }
    values
}

/// A key's value, line by line.
struct Section<'m> {
    /// Its index among the known keys; `usize::MAX` for an unknown key.
    key: usize,
    start: usize,
    /// The line of the key.
    line: &'m str,
    text: Vec<&'m str>,
    loud: Vec<&'m str>,
}

impl Section<'_> {
    /// Returns whether a line below is part of this value: it is indented deeper than the key, or is an item of a list.
    fn holds(&self, line: &str) -> bool {
        depth(line) > depth(self.line)
    }

    /// Returns the value, without the indentation that all lines below the key share.
    fn value(&self) -> String {
        let indent = |line: &&str| line.len() - line.trim_start_matches([' ', '\t']).len();
        let below = self.text[1..].iter().filter(|line| !line.trim().is_empty());
        let shared = below.map(indent).min().unwrap_or_default();
        let below = self.text[1..].iter().map(|line| line.get(shared..).unwrap_or_default());
        let lines: Vec<&str> = self.text[..1].iter().copied().chain(below).collect();
        lines.join("\n").trim().to_owned()
    }
}

/// Returns the indentation of a line; an item of a list counts as deeper than a plain line.
fn depth(line: &str) -> usize {
    let rest = line.trim_start();
    line.len() - rest.len() + usize::from(marker(rest).is_some())
}

/// Returns the value of the last key above that place.
fn above<'s, 'm>(list: &'s [Section<'m>], at: usize) -> Option<&'s Section<'m>> {
    list[..list.partition_point(|section| section.start < at)].last()
}

/// Returns the last value of that key; lines inside the values of the other keys do not count.
fn last_section<'m>(masked: &'m Masked<'_>, key: &str, keys: &[&str]) -> Option<Section<'m>> {
    sections(masked, &[&[key], keys].concat(), None).into_iter().rfind(|found| found.key == 0)
}

fn sections<'m>(masked: &'m Masked<'_>, known: &[&str], tag: Option<&str>) -> Vec<Section<'m>> {
    let mut list: Vec<Section<'m>> = Vec::new();
    let mut inside = false;
    let tag = tag.map(|tag| format!("<{}>", tag.to_ascii_lowercase()));
    for MaskedLine { start, text, loud } in masked.lines() {
        if tag.as_ref().is_some_and(|tag| loud.to_ascii_lowercase().contains(tag)) {
            inside = false;
            continue;
        }
        let open = list.last_mut().filter(|_| inside);
        let is_held = open.as_ref().is_some_and(|section| section.holds(loud));
        let (from, bare) = decorated(loud);
        let found = parse_key(bare).filter(|_| !is_held).and_then(|found| {
            let place = known.iter().position(|known| known.eq_ignore_ascii_case(found.key));
            place.or_else(|| is_loud(found.key).then_some(usize::MAX)).map(|place| (place, found))
        });
        match (found, open) {
            (Some((key, found)), _) => {
                // Both lines have the same length, so the value is at the same place in both.
                let from = from + found.start;
                // YAML's sign before a text of several lines is not part of it.
                let is_mark = matches!(found.value, "|" | "|-" | "|+" | ">" | ">-" | ">+");
                let value = if is_mark { "" } else { found.value };
                list.push(Section {
                    key,
                    start: start + from,
                    line: text,
                    text: vec![&text[from..from + value.len()]],
                    loud: vec![value],
                });
                inside = true;
            }
            (None, Some(section)) => {
                section.text.push(text);
                section.loud.push(loud);
            }
            (None, None) => {}
        }
    }
    list
}

/// Returns whether an unknown key ends the value above: prose is full of colons, but rarely after capitals.
fn is_loud(key: &str) -> bool {
    key.len() > 1 && key.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

/// A `KEY: value` line.
struct Keyed<'m> {
    key: &'m str,
    start: usize,
    value: &'m str,
}

/// Splits `KEY: value`; the key is one word, and emphasis around it is part of neither.
fn parse_key(line: &str) -> Option<Keyed<'_>> {
    let length =
        line.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')).count();
    // `_` may be emphasis at the key's end: `__KEY__: value`.
    let key = line[..length].trim_end_matches('_');
    if key.is_empty() || key.len() > 64 {
        return None;
    }
    let rest = line[key.len()..].trim_start_matches(['*', '_']);
    let value = rest.trim_start_matches([' ', '\t']).strip_prefix(':')?;
    // `https://` and `std::fmt` are not keys.
    if !value.is_empty() && !value.starts_with([' ', '\t', '*', '_']) {
        return None;
    }
    let closing = value.trim_start_matches(['*', '_']);
    let value =
        if closing.is_empty() || closing.starts_with([' ', '\t']) { closing } else { value };
    let value = value.trim_start();
    Some(Keyed { key, start: line.len() - value.len(), value: value.trim_end() })
}

/// Returns a line without Markdown's signs around a word (a heading's sign, a list's marker, emphasis), and the start of the rest.
fn decorated(line: &str) -> (usize, &str) {
    let rest = line.trim_start().trim_start_matches('#').trim_start();
    let rest = marker(rest).map_or(rest, |length| &rest[length..]);
    let inner = rest.trim_start_matches(['*', '_']);
    let start = line.len() - inner.len();
    let word = inner.trim_end();
    let emphasized = inner.len() < rest.len();
    (start, if emphasized { word.trim_end_matches(['*', '_']).trim_end() } else { word })
}

/// Returns a word without emphasis, quotes and a full stop.
fn bare(line: &str) -> &str {
    line.trim()
        .trim_matches(['*', '"', '\''])
        .trim_end_matches('.')
        .trim_matches(['*', '"', '\''])
        .trim()
}

#[cfg(test)]
mod tests;
