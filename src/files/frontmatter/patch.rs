//! Replacements of byte ranges, applied in one go.

use std::ops::Range;

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
    pub(crate) fn apply(mut self, source: &str, newline: &str) -> Option<String> {
        // Stable: what was inserted first at one place comes first.
        self.0.sort_by_key(|(range, _)| (range.start, range.end));
        let added: usize = self.0.iter().map(|(_, text)| text.len()).sum();
        let mut out = String::with_capacity(source.len() + added + added / 16);
        let mut at = 0;
        let mut deleted = false;
        for (range, text) in self.0 {
            // Blank lines may go with the neighbours on both sides, and something new may begin among them.
            let start = if deleted { range.start.max(at) } else { range.start };
            deleted = text.is_empty();
            out.push_str(source.get(at..start)?);
            if newline == "\n" {
                out.push_str(&text);
            } else {
                out.push_str(&text.replace('\n', newline));
            }
            at = range.end.max(start);
        }
        out.push_str(source.get(at..)?);
        Some(out)
    }
}
