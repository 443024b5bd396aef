//! Shows a fault in a file: the line, underlined, with the fix. Only this module uses `annotate_snippets`.
//!
//! The text may come from an untrusted file: invisible characters are replaced, and long lines are cut.

pub mod excerpt;

use std::ops::Range;

use annotate_snippets::renderer::{DEFAULT_LINE_NUM_STYLE, Style};
use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};
use serde_json::{Value, json};

use self::excerpt::{Excerpt, SourceLines, visible_text};
use crate::yaml::{Fault, Label};
use aof_domain::Severity;

/// A finding about a place in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// Its stable code, for programs.
    pub code: &'static str,
    /// The file, as people name it.
    pub file: String,
    /// The place, in bytes of the file.
    pub span: Range<usize>,
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The fault, in one sentence.
    pub message: String,
    pub help: Option<String>,
    excerpt: Option<Excerpt>,
}

/// The colours of rendered diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorMode {
    /// Text alone.
    Plain,
    /// With ANSI colours.
    Colored,
}

impl Diagnostic {
    /// Returns a diagnostic about these bytes of the file.
    pub fn new(
        severity: Severity,
        code: &'static str,
        file: &str,
        source: &str,
        span: Range<usize>,
        message: &str,
    ) -> Self {
        Self::at(severity, code, file, &SourceLines::new(source), span, None, message)
    }

    /// Returns the diagnostic for a fault.
    pub fn from_fault(file: &str, source: &str, fault: &Fault) -> Self {
        Self::of_fault(file, &SourceLines::new(source), fault)
    }

    /// Returns the diagnostics for all faults.
    pub fn from_faults(file: &str, source: &str, faults: &[Fault]) -> Vec<Self> {
        let lines = SourceLines::new(source);
        faults.iter().map(|fault| Self::of_fault(file, &lines, fault)).collect()
    }

    fn of_fault(file: &str, lines: &SourceLines<'_>, fault: &Fault) -> Self {
        let (span, label) = (fault.span.clone(), fault.label.as_ref());
        Self::at(Severity::Error, fault.code, file, lines, span, label, &fault.message)
            .help(fault.help.as_deref())
    }

    fn at(
        severity: Severity,
        code: &'static str,
        file: &str,
        lines: &SourceLines<'_>,
        span: Range<usize>,
        label: Option<&Label>,
        message: &str,
    ) -> Self {
        let (line, column) = lines.line_column(span.start);
        let excerpt = Excerpt::new(lines, &span, label);
        Self {
            severity,
            code,
            file: visible_text(file),
            span,
            line,
            column,
            message: visible_text(message),
            help: None,
            excerpt,
        }
    }

    /// Adds the fix.
    #[must_use]
    pub fn help(mut self, help: Option<&str>) -> Self {
        self.help = help.map(visible_text);
        self
    }

    /// Returns the diagnostic as text, without a final line break.
    pub fn render(&self, paint: ColorMode) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let renderer = match paint {
            ColorMode::Plain => Renderer::plain(),
            ColorMode::Colored => Renderer::styled(),
        };
        let title = level.primary_title(self.message.as_str()).id(self.code);
        let help = self.help.as_deref().map(|help| Level::HELP.message(help));
        let Some(excerpt) = &self.excerpt else {
            let origin = Origin::path(self.file.as_str()).line(self.line).char_column(self.column);
            return renderer.render(&[title.element(origin).elements(help)]);
        };
        let label = excerpt.label.as_ref();
        let snippet = Snippet::source(excerpt.text.as_str())
            .line_start(excerpt.first)
            .annotation(AnnotationKind::Primary.span(excerpt.mark.clone()))
            .annotations(label.map(|(span, text)| {
                AnnotationKind::Context.span(span.clone()).label(text.as_str())
            }));
        let shown = renderer.render(&[title.element(snippet).elements(help)]);
        // The renderer would count the column in the cut line, so we write the place ourselves.
        let (title, rest) = shown.split_once('\n').unwrap_or((&shown, ""));
        format!("{title}\n{}\n{rest}", self.place(excerpt, paint))
    }

    fn place(&self, excerpt: &Excerpt, paint: ColorMode) -> String {
        let style = match paint {
            ColorMode::Plain => Style::new(),
            ColorMode::Colored => DEFAULT_LINE_NUM_STYLE,
        };
        let gutter = excerpt.last().to_string().len();
        format!("{:gutter$}{style}-->{style:#} {}:{}:{}", "", self.file, self.line, self.column)
    }

    /// Returns the place and the message in one line.
    pub fn placed(&self) -> String {
        format!("{}:{}:{}: {}", self.file, self.line, self.column, self.message)
    }

    /// Returns the diagnostic as `--json` shows it.
    pub fn to_value(&self) -> Value {
        json!({
            "severity": self.severity.as_str(),
            "code": self.code,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "help": self.help,
        })
    }
}

/// Returns the diagnostics as text, with blank lines between them.
pub fn render_all(diagnostics: &[Diagnostic], paint: ColorMode) -> String {
    let rendered: Vec<String> =
        diagnostics.iter().map(|diagnostic| diagnostic.render(paint) + "\n").collect();
    rendered.join("\n")
}

#[cfg(test)]
mod tests;
