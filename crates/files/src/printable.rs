//! Untrusted texts made safe to print: nothing in them moves the cursor or reverses a line.

/// Returns the text safe for a terminal: control characters and those that reorder a line are escaped.
pub fn inert(text: &str) -> String {
    let harmless = |c: char| matches!(c, '\n' | '\t') || !(c.is_control() || reorders(c));
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|c| push_inert(&mut shown, c, !harmless(c)));
    shown
}

/// Returns whether the character changes the direction of a text, so that a line shows another order than it has.
pub fn reorders(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Adds the character, or its escape.
pub fn push_inert(shown: &mut String, c: char, is_escaped: bool) {
    if is_escaped {
        shown.extend(c.escape_default());
    } else {
        shown.push(c);
    }
}

/// Returns the text as one line, safe for a terminal.
pub fn one_line(text: &str) -> String {
    if is_one_line(text) {
        return text.to_owned();
    }
    inert(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Returns whether the text is certainly such a line, as a fast check: most texts are, and lists have very many.
pub fn is_one_line(text: &str) -> bool {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    is_plain && !text.starts_with(' ') && !text.ends_with(' ') && !text.contains("  ")
}

/// Returns whether a character prints as itself on one line. Characters that reorder text are escaped, so that nothing hides in a diff.
pub fn is_printable(c: char) -> bool {
    !matches!(c,
        '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}')
        && (c as u32) & 0xfffe != 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_controls_are_shown_escaped() {
        assert_eq!(inert("a\tb\nä 👩\u{200d}💻"), "a\tb\nä 👩\u{200d}💻");
        assert_eq!(inert("\r\u{1b}[2J\u{9b}\u{202e}"), "\\r\\u{1b}[2J\\u{9b}\\u{202e}");
    }
}
