//! The block in AGENTS.md, between two markers. Everything outside of it is somebody else's, and not a byte of that changes.

use std::ops::Range;

use super::agent_files::{Unmergeable, line_break};

const BEGIN: &str = "<!-- AOF:BEGIN";
const END: &str = "<!-- AOF:END -->";
const BLOCK: &str = include_str!("block.md");

/// Returns the text with the block as it should be: in its place, or at the end where there is none yet.
pub(crate) fn merged(text: &str) -> Result<String, Unmergeable> {
    let newline = line_break(text);
    let block = BLOCK.replace('\n', newline);
    if let Some(standing) = standing(text)? {
        let ends = text[standing.clone()].ends_with('\n');
        let block = if ends { block.as_str() } else { block.trim_end() };
        return Ok(format!("{}{block}{}", &text[..standing.start], &text[standing.end..]));
    }
    if text.trim_start_matches('\u{feff}').is_empty() {
        return Ok(format!("{text}{block}"));
    }
    let apart = if text.ends_with('\n') { newline.to_owned() } else { newline.repeat(2) };
    Ok(format!("{text}{apart}{block}"))
}

/// Returns where the block is, its markers and the last line break included.
fn standing(text: &str) -> Result<Option<Range<usize>>, Unmergeable> {
    let mut begin: Option<(usize, usize)> = None;
    let mut block = None;
    let mut at = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let number = index + 1;
        let marker = line.trim();
        if marker.starts_with(BEGIN) {
            if let Some((first, _)) = begin {
                return Err(doubled(number, first));
            }
            begin = Some((number, at));
        } else if marker == END {
            match begin {
                Some((_, start)) if block.is_none() => block = Some(start..at + line.len()),
                Some((first, _)) => return Err(doubled(number, first)),
                None => {
                    return Err(Unmergeable::new(
                        Some(number),
                        format!("`{END}` on line {number} ends a block that never began"),
                        format!("remove line {number}, or put `{BEGIN} -->` above what is ours"),
                    ));
                }
            }
        }
        at += line.len();
    }
    match (begin, block) {
        (Some((number, _)), None) => Err(Unmergeable::new(
            Some(number),
            format!("the block that begins on line {number} never ends"),
            format!("put `{END}` on a line behind it, or remove line {number}"),
        )),
        (_, block) => Ok(block),
    }
}

fn doubled(number: usize, first: usize) -> Unmergeable {
    Unmergeable::new(
        Some(number),
        format!("line {number} is a second marker of the block that begins on line {first}"),
        "leave one block, from its `AOF:BEGIN` to its `AOF:END`, and remove the other marker lines",
    )
}
