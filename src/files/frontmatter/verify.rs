//! The proof that a changed text says what it should.

use super::expected::Expected;
use super::split::{Frontmatter, parse};

/// Reads a changed file whole and checks it against the original: the frontmatter says what is expected, what stands before it is
/// the same, and from the closing fence on it is `rest`.
pub(crate) fn verify<'n>(
    original: &Frontmatter<'_>,
    expected: &Expected<'_>,
    rest: &str,
    changed: &'n str,
) -> Result<Frontmatter<'n>, String> {
    let new = match parse(changed.as_bytes()) {
        Ok(new) => new,
        Err(faults) => {
            let fault = faults.first();
            let (line, _) = fault.map_or((0, 0), |f| f.line_column(changed));
            let message = fault.map_or("unreadable", |f| f.message.as_str());
            return Err(format!("the result would not be readable: line {line}: {message}"));
        }
    };
    if !expected.is_said_by(&new.root) {
        return Err("the result would not say what the edit means".to_owned());
    }
    let before =
        [&original.split.bom, &original.split.open].map(|range| &original.text[range.clone()]);
    let after = [&new.split.bom, &new.split.open].map(|range| &changed[range.clone()]);
    if before != after || new.rest() != rest {
        return Err("the result would change the text outside the frontmatter".to_owned());
    }
    Ok(new)
}
