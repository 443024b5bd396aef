//! `$status` in a text's frontmatter, in its simple form: a key and a value a line.

use super::{TextVerdict, judged};

/// Returns the verdict and the values of the keys that were asked for.
pub(crate) fn read(
    text: &str,
    words: &[&str],
    keys: &[&str],
) -> (TextVerdict, Vec<(String, String)>) {
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
        several => TextVerdict::Unreadable(crate::rules::verdict::cut(&several.join(", "), 80)),
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
