//! Keys that a mapping defines twice.

use super::error::Fault;
use super::node::Entry;
use super::position::line_column;

/// Up to here comparing every pair is cheaper than sorting.
const FEW: usize = 16;

/// Reports every key that was defined before in the same mapping, with both lines.
pub(crate) fn report_duplicates(source: &str, entries: &[Entry<'_>], faults: &mut Vec<Fault>) {
    if entries.len() <= FEW {
        for (index, later) in entries.iter().enumerate() {
            if let Some(first) = entries[..index].iter().find(|e| e.key.text == later.key.text) {
                faults.push(duplicate(source, first, later));
            }
        }
        return;
    }
    let mut order: Vec<&Entry<'_>> = entries.iter().collect();
    order.sort_by(|a, b| (&a.key.text, a.key.span.start).cmp(&(&b.key.text, b.key.span.start)));
    for same in order.chunk_by(|a, b| a.key.text == b.key.text) {
        faults.extend(same[1..].iter().map(|later| duplicate(source, same[0], later)));
    }
}

fn duplicate(source: &str, first: &Entry<'_>, later: &Entry<'_>) -> Fault {
    let key = &later.key.text;
    let (first_line, _) = line_column(source, first.key.span.start);
    let (line, _) = line_column(source, later.key.span.start);
    Fault::new(
        "duplicate_key",
        later.key.span.clone(),
        format!("the key `{key}` on line {line} is already defined on line {first_line}"),
    )
    .label(first.key.span.clone(), "first defined here")
    .help("keep one of the two")
}
