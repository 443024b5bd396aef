//! What became of each field of a foreign file, and why, with its line.

use std::cell::RefCell;
use std::ops::Range;

use crate::domain::{FieldFate, ImportRemark, nearest};
use crate::files::diagnostic::excerpt::{Lines, inert};
use crate::files::yaml::Fault;

/// Collects the remarks and the faults while a file is read.
pub(crate) struct ImportReport<'s> {
    lines: Lines<'s>,
    /// Each with its place in the file; those without one come last.
    remarks: RefCell<Vec<(usize, ImportRemark)>>,
    faults: RefCell<Vec<Fault>>,
}

/// A field of the foreign file: the way to it, and its bytes.
#[derive(Clone)]
pub(crate) struct At<'r> {
    pub(crate) path: String,
    pub(crate) span: Range<usize>,
    pub(crate) report: &'r ImportReport<'r>,
}

impl<'s> ImportReport<'s> {
    pub(crate) fn new(lines: Lines<'s>) -> Self {
        Self { lines, remarks: RefCell::default(), faults: RefCell::default() }
    }

    /// Notes something that the file does not say, and the new one has to.
    pub(crate) fn added(&self, field: impl AsRef<str>, why: impl Into<String>) {
        let field = inert(field.as_ref());
        let remark = ImportRemark { line: None, field, fate: FieldFate::Added, note: why.into() };
        self.remarks.borrow_mut().push((usize::MAX, remark));
    }

    pub(crate) fn fault(&self, fault: Fault) {
        self.faults.borrow_mut().push(fault);
    }

    pub(crate) fn has_faults(&self) -> bool {
        !self.faults.borrow().is_empty()
    }

    /// Returns all remarks in the order of the file, those without a line last; or the faults, if there are any.
    pub(crate) fn finish(self) -> Result<Vec<ImportRemark>, Vec<Fault>> {
        let mut faults = self.faults.into_inner();
        if !faults.is_empty() {
            faults.sort_by_key(|fault| fault.span.start);
            return Err(faults);
        }
        let mut remarks = self.remarks.into_inner();
        remarks.sort_by_key(|(at, _)| *at);
        Ok(remarks.into_iter().map(|(_, remark)| remark).collect())
    }
}

impl At<'_> {
    fn note(&self, fate: FieldFate, note: impl Into<String>) {
        let line = Some(self.report.lines.line_of(self.span.start));
        let remark = ImportRemark { line, field: inert(&self.path), fate, note: note.into() };
        self.report.remarks.borrow_mut().push((self.span.start, remark));
    }

    pub(crate) fn kept(&self) {
        self.note(FieldFate::Kept, "");
    }

    pub(crate) fn kept_as(&self, what: impl Into<String>) {
        self.note(FieldFate::Kept, what);
    }

    pub(crate) fn converted(&self, into: impl Into<String>) {
        self.note(FieldFate::Converted, into);
    }

    pub(crate) fn dropped(&self, why: impl Into<String>) {
        self.note(FieldFate::Dropped, why);
    }

    pub(crate) fn lost(&self, why: impl Into<String>) {
        self.note(FieldFate::Lost, why);
    }

    /// Reports that the field cannot be read as it is.
    pub(crate) fn fault(&self, code: &'static str, message: impl Into<String>, help: &str) {
        let fault = Fault::new(code, self.span.clone(), message.into());
        self.report.fault(if help.is_empty() { fault } else { fault.help(help) });
    }

    /// Reports that a name leads to nothing, with the nearest one that is there.
    pub(crate) fn unknown<'n>(
        &self,
        name: &str,
        known: impl IntoIterator<Item = &'n str>,
        message: impl Into<String>,
        otherwise: &str,
    ) {
        let near = nearest(name, known).map(|near| format!("did you mean `{near}`?"));
        self.fault("unknown_gate", message, near.as_deref().unwrap_or(otherwise));
    }

    /// Returns a slot of the text that the field holds.
    pub(crate) fn slot(&self, slot: &str) -> Self {
        Self { path: format!("{}: {{{{{slot}}}}}", self.path), ..self.clone() }
    }
}
