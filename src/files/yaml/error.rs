//! What is wrong with a text, where, and what to do about it.

use std::fmt;
use std::ops::Range;

use super::position::line_column;

/// One thing wrong with a text, at a byte range of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// A stable name for programs, such as `duplicate_key`.
    pub code: &'static str,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Where, in bytes of the text that was read.
    pub span: Range<usize>,
    /// A second place that explains the first, such as the first definition of a duplicate key.
    pub label: Option<Label>,
    pub help: Option<String>,
}

/// A second place of a [`Fault`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Where, in bytes of the text that was read.
    pub span: Range<usize>,
    pub text: String,
}

impl Fault {
    /// Returns a fault without a second place and without help.
    pub fn new(code: &'static str, span: Range<usize>, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), span, label: None, help: None }
    }

    /// Adds the fix.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds a second place.
    #[must_use]
    pub fn label(mut self, span: Range<usize>, text: impl Into<String>) -> Self {
        self.label = Some(Label { span, text: text.into() });
        self
    }

    /// Returns line and column of the fault in the text that was read, both from 1.
    pub fn line_column(&self, source: &str) -> (usize, usize) {
        line_column(source, self.span.start)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}
