//! What a receiver printed or answered, as a part of a line: it is foreign text.

/// Returns the text in one line, with nothing that a terminal obeys.
pub(crate) fn in_one_line(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_one_line_that_no_terminal_obeys() {
        assert_eq!(
            in_one_line(b" no\x1b[31m\r\nsuch\tchannel\x07 \xff\n"),
            "no?[31m such channel? \u{fffd}"
        );
        assert_eq!(in_one_line(b" \n"), "");
    }
}
