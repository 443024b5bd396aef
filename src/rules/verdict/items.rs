//! The items of the lists in a text: what a reviewer wants mended, one by one.

use super::cut;
use super::key::gives;
use super::mask::{Masked, MaskedLine, marker};

/// How many items are taken; the text as a whole is kept beside them.
const ITEM_LIMIT: usize = 50;

/// The longest item, in characters.
const LENGTH_LIMIT: usize = 400;

/// Returns the items below that place, each on one line. What is ticked off is none, nor is a line that gives a value.
pub(crate) fn items(masked: &Masked<'_>, from: usize, keys: &[&str]) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    let mut inside = false;
    for MaskedLine { start, text, loud } in masked.lines() {
        if start < from {
            continue;
        }
        let rest = loud.trim_start();
        let indent = loud.len() - rest.len();
        let speaks = !loud.starts_with('\0');
        match marker(rest).filter(|_| speaks && (indent < 2 || !inside)) {
            Some(length) => {
                let item = text[indent + length..].trim();
                let ticked = ["[x]", "[X]"].iter().any(|tick| item.starts_with(tick));
                inside = !ticked && !gives(loud, keys) && list.len() < ITEM_LIMIT;
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
