//! The conflict markers that a merge leaves in a file.

use std::ops::Range;

use crate::files::yaml::Fault;

/// The code of their fault.
pub(crate) const CODE: &str = "conflict_markers";

/// Returns whether a line is such a marker.
pub(crate) fn is_conflict_marker(line: &[u8]) -> bool {
    let bare = line.trim_ascii_end();
    line.starts_with(b"<<<<<<< ")
        || line.starts_with(b">>>>>>> ")
        || line.starts_with(b"||||||| ")
        || bare == b"======="
}

/// Returns the number of the line there, from 1.
pub(crate) fn line_number(bytes: &[u8], offset: usize) -> usize {
    bytes[..offset].split(|&b| b == b'\n').count()
}

/// Returns the fault for the first marker, which is at that range.
pub(crate) fn conflicted(bytes: &[u8], marker: Range<usize>) -> Fault {
    let line = line_number(bytes, marker.start);
    let length = bytes[marker.clone()].trim_ascii_end().len();
    let span = marker.start..marker.start + length;
    let lines = bytes.split(|&byte| byte == b'\n');
    let last = lines
        .enumerate()
        .filter(|(_, line)| is_conflict_marker(line))
        .last()
        .map_or(line, |(at, _)| at + 1);
    Fault::new(CODE, span, format!("line {line} is a merge conflict marker")).help(format!(
        "keep what counts of lines {line} to {last}, take the markers out, then `git add` the file and commit"
    ))
}

/// Returns the fault for the markers in a text that could not be read, if it has any. They explain its other faults.
pub(crate) fn in_text(text: &str) -> Option<Fault> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if is_conflict_marker(line.as_bytes()) {
            return Some(conflicted(text.as_bytes(), at..at + line.len()));
        }
        at += line.len();
    }
    None
}
