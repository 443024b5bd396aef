//! Edits into bytes: gather, patch, verify. The only way a frontmatter is ever changed.

use std::ops::Range;

use thiserror::Error;

use super::change::gather;
use super::edit::Edit;
use super::render::Renderer;
use super::split::{Frontmatter, parse};

/// Why a file was left alone.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SpliceRefusal {
    /// The edit would change a value that is written once and used in several places.
    #[error(
        "`{path}` on line {line} is shared by an anchor or alias (`&`, `*`); write the value out first"
    )]
    Shared { path: String, line: usize },
    /// The edit expects something else at this place.
    #[error("`{path}` on line {line} is {found}, not {expected}")]
    Shape { path: String, line: usize, found: &'static str, expected: &'static str },
    /// A list is shorter than the edit supposes.
    #[error("`{path}` does not exist: the list ends after {length}")]
    OutOfRange { path: String, length: usize },
    /// The place is written in a way that cannot be changed without touching its surroundings.
    #[error("line {line} cannot be changed in place: {reason}")]
    Layout { line: usize, reason: &'static str },
    /// The changed text does not say what it should, so it was thrown away.
    #[error("the edit of {paths} was not made: {reason}")]
    Unverified { paths: String, reason: String },
}

impl SpliceRefusal {
    /// Returns a stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Shared { .. } => "frontmatter_shared",
            Self::Shape { .. } => "frontmatter_shape",
            Self::OutOfRange { .. } => "frontmatter_out_of_range",
            Self::Layout { .. } => "frontmatter_layout",
            Self::Unverified { .. } => "frontmatter_unverified",
        }
    }
}

/// Returns the file with the edits made, in order, and with `rest` from the closing fence on (`file.rest()` where nothing changes
/// there); every byte that they are not about is as it was. What is returned is what was read back from the new bytes to prove
/// them: whoever writes it need not read it again. A result that cannot be proved is refused.
pub fn splice(
    file: &Frontmatter<'_>,
    edits: &[Edit],
    rest: &str,
) -> Result<Frontmatter<'static>, SpliceRefusal> {
    let (text, split) = (file.text(), &file.split);
    let changes = gather(text, &file.root, edits)?;
    let newline = if text[split.open.clone()].ends_with("\r\n") { "\r\n" } else { "\n" };
    let patches = Renderer::new(file).root(&changes)?;
    let unverified = |reason: String| {
        let paths: Vec<String> = edits.iter().map(|edit| format!("`{}`", edit.path)).collect();
        SpliceRefusal::Unverified { paths: paths.join(", "), reason }
    };
    let mut result = patches
        .apply(&text[..split.close.start], newline)
        .ok_or_else(|| unverified("two of its changes overlap".to_owned()))?;
    result.push_str(rest);
    let new = verify(file, edits, rest, &result).map_err(unverified)?;
    Ok(new.into_owned())
}

/// Reads a changed file whole and checks it against the original: the frontmatter says what the edits mean, what stands before it
/// is the same, and from the closing fence on it is `rest`.
fn verify<'n>(
    original: &Frontmatter<'_>,
    edits: &[Edit],
    rest: &str,
    changed: &'n str,
) -> Result<Frontmatter<'n>, String> {
    let new = parse(changed.as_bytes()).map_err(|faults| {
        let fault = faults.first();
        let (line, _) = fault.map_or((0, 0), |f| f.line_column(changed));
        let message = fault.map_or("unreadable", |f| f.message.as_str());
        format!("the result would not be readable: line {line}: {message}")
    })?;
    let mut expected = original.root.to_value();
    let is_made = edits.iter().all(|edit| edit.act.apply(&mut expected, &edit.path.0).is_ok());
    if !is_made || !new.root.says(&expected) {
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

/// Replacements, in any order, of parts of one text.
#[derive(Default)]
pub(crate) struct Patches(Vec<(Range<usize>, String)>);

impl Patches {
    pub(crate) fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.replace(at..at, text);
    }

    pub(crate) fn delete(&mut self, range: Range<usize>) {
        self.replace(range, "");
    }

    pub(crate) fn replace(&mut self, range: Range<usize>, text: impl Into<String>) {
        let text = text.into();
        if !(range.is_empty() && text.is_empty()) {
            self.0.push((range, text));
        }
    }

    /// Returns the text with all replacements made, their line breaks written as `newline`; `None` if two overlap that
    /// are no deletions.
    fn apply(mut self, source: &str, newline: &str) -> Option<String> {
        // Stable: what was inserted first at one place comes first.
        self.0.sort_by_key(|(range, _)| (range.start, range.end));
        let mut out = String::with_capacity(source.len() * 2);
        let mut at = 0;
        let mut deleted = false;
        for (range, text) in self.0 {
            // Blank lines may go with the neighbours on both sides, and something new may begin among them.
            let start = if deleted { range.start.max(at) } else { range.start };
            deleted = text.is_empty();
            out.push_str(source.get(at..start)?);
            out.push_str(&text.replace('\n', newline));
            at = range.end.max(start);
        }
        out.push_str(source.get(at..)?);
        Some(out)
    }
}
