//! What became of each field of a foreign file, and why, with its line.

use std::ops::Range;

use serde_json::{Value, json};

use crate::domain::words::words;
use crate::files::diagnostic::excerpt::{Lines, inert};
use crate::files::yaml::Fault;

words!(
    /// What became of a field.
    Fate, "a fate", {
        /// It stands in the new file as it stood in the old one.
        Kept = "kept",
        /// It says the same in other words.
        Converted = "converted",
        /// The file does not say it, and the new one has to, or does by a default.
        Added = "added",
        /// It is not in the new file; where a task goes does not depend on it.
        Dropped = "dropped",
        /// It is not in the new file, and a task would go another way for it.
        Lost = "lost",
    }
);

/// One field of the foreign file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Its line, from 1; absent where the file says nothing of it.
    pub line: Option<usize>,
    /// The way to it: `steps.review.on_fail`.
    pub field: String,
    /// What became of it.
    pub fate: Fate,
    /// Why, or into what.
    pub note: String,
}

impl Remark {
    /// Returns the remark as `--json` shows it.
    pub fn to_value(&self) -> Value {
        json!({"line": self.line, "field": self.field, "fate": self.fate.as_str(), "note": self.note})
    }
}

/// Collects the remarks and the faults while a file is read.
pub(crate) struct Ledger<'s> {
    lines: Lines<'s>,
    remarks: Vec<(Option<usize>, Remark)>,
    pub(crate) faults: Vec<Fault>,
}

impl<'s> Ledger<'s> {
    pub(crate) fn new(lines: Lines<'s>) -> Self {
        Self { lines, remarks: Vec::new(), faults: Vec::new() }
    }

    /// Notes what became of a field.
    pub(crate) fn note(&mut self, at: &At, fate: Fate, why: impl Into<String>) {
        let line = self.lines.line_of(at.span.start);
        let remark = Remark { line: Some(line), field: inert(&at.path), fate, note: why.into() };
        self.remarks.push((Some(at.span.start), remark));
    }

    pub(crate) fn kept(&mut self, at: &At) {
        self.note(at, Fate::Kept, "");
    }

    pub(crate) fn kept_as(&mut self, at: &At, what: impl Into<String>) {
        self.note(at, Fate::Kept, what);
    }

    pub(crate) fn converted(&mut self, at: &At, into: impl Into<String>) {
        self.note(at, Fate::Converted, into);
    }

    pub(crate) fn dropped(&mut self, at: &At, why: impl Into<String>) {
        self.note(at, Fate::Dropped, why);
    }

    pub(crate) fn lost(&mut self, at: &At, why: impl Into<String>) {
        self.note(at, Fate::Lost, why);
    }

    /// Notes something that the file does not say, and the new one has to.
    pub(crate) fn supplied(&mut self, field: impl Into<String>, why: impl Into<String>) {
        let field = inert(&field.into());
        self.remarks
            .push((None, Remark { line: None, field, fate: Fate::Added, note: why.into() }));
    }

    pub(crate) fn fault(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// Returns all remarks in the order of the file, those without a line last; or the faults, if there are any.
    pub(crate) fn finish(mut self) -> Result<Vec<Remark>, Vec<Fault>> {
        if !self.faults.is_empty() {
            self.faults.sort_by_key(|fault| fault.span.start);
            return Err(self.faults);
        }
        self.remarks.sort_by_key(|(at, _)| at.unwrap_or(usize::MAX));
        Ok(self.remarks.into_iter().map(|(_, remark)| remark).collect())
    }
}

/// A field of the foreign file: the way to it, and its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) path: String,
    pub(crate) span: Range<usize>,
}
