//! Byte offsets as lines and columns.

/// Returns the line and the column (in characters) of a byte offset, both from 1. An offset past the end means the end.
pub(crate) fn line_column(source: &str, offset: usize) -> (usize, usize) {
    let mut end = offset.min(source.len());
    while !source.is_char_boundary(end) {
        end -= 1;
    }
    let before = &source[..end];
    let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    // A byte order mark is no column a person could see.
    let column = before[start..].chars().filter(|&c| c != '\u{feff}').count() + 1;
    (line, column)
}
