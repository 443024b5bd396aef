//! Reads a template: finds the holes, and refuses what looks like one. Linear in the length of the text.

use super::fault::Fault;
use super::{Piece, Reference, Template};

/// How many faults are told of one text.
const FAULT_LIMIT: usize = 50;

/// The longest name, in bytes: three identifiers and two dots.
const NAME_LIMIT: usize = 3 * 64 + 2;

pub(crate) fn parse(text: &str) -> Result<Template, Vec<Fault>> {
    let mut pieces = Vec::new();
    let mut faults = Vec::new();
    let mut plain = String::new();
    let mut at = 0;
    while let Some(found) = text[at..].find("{{") {
        let open = at + found;
        if text[..open].ends_with('\\') && open > at {
            // The backslash is part of what has not been copied yet.
            plain.push_str(&text[at..open - 1]);
            let braces = text[open..].bytes().take_while(|byte| *byte == b'{').count();
            plain.push_str(&text[open..open + braces]);
            at = open + braces;
            continue;
        }
        plain.push_str(&text[at..open]);
        let (end, hole) = hole(text, open);
        match hole {
            Ok(name) => {
                if !plain.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                }
                pieces.push(Piece::Hole(Reference { name: name.to_owned(), range: open..end }));
            }
            Err(fault) => faults.push(fault),
        }
        at = end;
        if faults.len() == FAULT_LIMIT {
            break;
        }
    }
    plain.push_str(&text[at..]);
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    if faults.is_empty() { Ok(Template { pieces }) } else { Err(faults) }
}

/// Reads the hole that opens there. Returns where it ends, and the name in it.
fn hole(text: &str, open: usize) -> (usize, Result<&str, Fault>) {
    let (braces, closing) =
        if text[open..].starts_with("{{{") { ("{{{", "}}}") } else { ("{{", "}}") };
    let start = open + braces.len();
    // What lies behind the next opening braces is theirs: so every byte is looked at a few times, and no more.
    let next = text[start..].find("{{").map(|next| start + next);
    let inside = &text[start..next.unwrap_or(text.len())];
    let Some(close) = inside.find(closing).map(|close| start + close) else {
        return match next {
            Some(next) if !inside.contains("}}") => (next, Err(Fault::nested(open..next))),
            _ => (start + inside.len(), Err(Fault::unclosed(open..start, braces))),
        };
    };
    let end = close + closing.len();
    (end, named(text[start..close].trim(), open..end))
}

fn named(name: &str, range: std::ops::Range<usize>) -> Result<&str, Fault> {
    let Some(first) = name.chars().next() else { return Err(Fault::empty(range)) };
    if "#^/>!&=%".contains(first) {
        return Err(Fault::section(range, first));
    }
    if let Some((name, filter)) = name.split_once('|')
        && is_name(name.trim())
    {
        return Err(Fault::filter(range, name.trim(), filter.trim()));
    }
    if is_name(name) { Ok(name) } else { Err(Fault::name(range, name)) }
}

fn is_name(text: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    text.len() <= NAME_LIMIT && text.split('.').count() <= 3 && text.split('.').all(is_word)
}
