//! Mentions of people in a text, as in `@ann`.

use super::distinct;

/// Returns the names after `@` in a text, each once. Code spans and e-mail addresses mention nobody.
pub fn mentioned(text: &str) -> Vec<&str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let (mut names, mut at) = (Vec::new(), 0);
    while let Some(found) = text[at..].find(['@', '`']) {
        let start = at + found;
        if text[start..].starts_with('`') {
            at = end_of_code(text, start);
            continue;
        }
        let behind = &text[start + 1..];
        let length = behind.find(|c| !is_of_name(c)).unwrap_or(behind.len());
        let is_inside = text[..start]
            .ends_with(|c: char| c.is_alphanumeric() || "._%+-/@".contains(c))
            || behind[length..].starts_with(|c: char| c.is_alphanumeric() || c == '@');
        // A full stop ends the sentence, not the name.
        let name = behind[..length].trim_end_matches(['.', '-', '_']);
        names.extend(Some(name).filter(|name| !is_inside && !name.is_empty()));
        at = start + 1 + length;
    }
    distinct(names).collect()
}

/// Returns the end of the code that begins with the backticks at `start`: behind as many of them again, as in Markdown. Three or more that
/// are never closed reach to the end of the text; fewer are no code.
fn end_of_code(text: &str, start: usize) -> usize {
    let ticks = |from: usize| text[from..].bytes().take_while(|byte| *byte == b'`').count();
    let (wanted, mut at) = (ticks(start), start + ticks(start));
    while let Some(found) = text[at..].find('`') {
        let count = ticks(at + found);
        at += found + count;
        if count == wanted {
            return at;
        }
    }
    if wanted >= 3 { text.len() } else { start + wanted }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_mentions_names_outside_code_and_addresses() {
        for (text, names) in [
            ("@ann", &["ann"][..]),
            ("Please look, @ann. And (@human-ben), **@bot-7**!", &["ann", "human-ben", "bot-7"]),
            ("@ann and @ann again", &["ann"]),
            ("@a.b-c_d... @-", &["a.b-c_d"]),
            ("line\n@ann\n\n- @ben", &["ann", "ben"]),
            ("ann@example.org, ann.@ben, a+@b, @ann@example.org, @@ann", &[]),
            ("https://example.org/@ann", &[]),
            ("`@ann` and ``a ` @ben`` but @cy", &["cy"]),
            ("```\n@ann\n```\n@ben", &["ben"]),
            ("```\n@ann", &[]),
            ("a ` alone, @ann", &["ann"]),
            ("@annä @日本 ä@ann", &[]),
            ("日本@ann 日本 @ben", &["ben"]),
            ("@ @. no one", &[]),
            ("", &[]),
        ] {
            assert_eq!(mentioned(text), names, "{text}");
        }
    }
}
