//! The block fenced as `json` that a message ends with: nothing but blank lines stands behind it. A block inside another block, a quote or deep indentation is an example, and a
//! block without an end is half of one: neither counts.

/// What a message ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fenced<'t> {
    /// There is no such block.
    Nothing,
    /// The last one has no end.
    Open,
    /// What stands in the last one.
    Block(&'t str),
}

struct Open {
    sign: u8,
    length: usize,
    is_json: bool,
    from: usize,
}

/// Returns the block fenced as `json` that ends the message.
pub(crate) fn last_json(text: &str) -> Fenced<'_> {
    let mut found = Fenced::Nothing;
    let mut open: Option<Open> = None;
    let mut start = 0;
    for whole in text.split_inclusive('\n') {
        let end = start + whole.len();
        let line = whole.trim_end();
        let rest = line.trim_start_matches(' ');
        let is_shallow = line.len() - rest.len() < 4;
        match &open {
            Some(fence) if is_shallow && closes(rest, fence) => {
                if fence.is_json {
                    found = Fenced::Block(&text[fence.from..start]);
                }
                open = None;
            }
            None if is_shallow && !rest.is_empty() => {
                open = opens(rest, end);
                // What comes behind it may take it back.
                found = Fenced::Nothing;
            }
            None if !rest.is_empty() => found = Fenced::Nothing,
            _ => {}
        }
        start = end;
    }
    if open.is_some_and(|fence| fence.is_json) { Fenced::Open } else { found }
}

fn opens(rest: &str, from: usize) -> Option<Open> {
    let sign = *rest.as_bytes().first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = rest.bytes().take_while(|byte| *byte == sign).count();
    let word = rest[length..].trim();
    let is_fence = length >= 3 && (sign == b'~' || !word.contains('`'));
    is_fence.then(|| Open { sign, length, is_json: word.eq_ignore_ascii_case("json"), from })
}

fn closes(rest: &str, fence: &Open) -> bool {
    let length = rest.bytes().take_while(|byte| *byte == fence.sign).count();
    length >= fence.length && rest[length..].is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_at_the_end_counts() {
        for (text, found) in [
            ("", Fenced::Nothing),
            ("```json\n{\"a\": 1}\n```", Fenced::Block("{\"a\": 1}\n")),
            ("```json\n1\n```\ntext\n~~~ JSON \r\n2\r\n~~~\r\n \n", Fenced::Block("2\r\n")),
            ("```json\n1\n```\n\nNo, that is wrong.\n", Fenced::Nothing),
            ("```json\n1\n```\n```\n2\n```\n", Fenced::Nothing),
            ("```json\n1\n```\n```json\n2", Fenced::Open),
            ("```json\n1\n~~~\n```\n", Fenced::Block("1\n~~~\n")),
            ("````markdown\n```json\n1\n```\n````\n", Fenced::Nothing),
            ("````\n```json\n1\n```\n", Fenced::Nothing),
            ("> ```json\n> 1\n> ```\n", Fenced::Nothing),
            ("    ```json\n    1\n    ```\n", Fenced::Nothing),
            ("text ```json\n1\n```\n", Fenced::Nothing),
            ("```jsonc\n1\n```\n", Fenced::Nothing),
            ("```json `x`\n1\n```\n", Fenced::Nothing),
        ] {
            assert_eq!(last_json(text), found, "{text:?}");
        }
    }
}
