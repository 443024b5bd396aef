//! What is shown: data on stdout, everything else on stderr. The only place that prints.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::{AnsiColor, Style};
use serde_json::Value;

use crate::cli::input::arguments::When;
use crate::files::diagnostic::diagnostic::Paint;
use crate::files::printable::inert;

/// The version of what `--json` prints; it changes when a field is taken away or means something else.
pub(crate) const JSON_VERSION: u64 = 1;

/// Whether something that was printed reached nobody: a full disk behind `>`.
static LOST: AtomicBool = AtomicBool::new(false);

/// Whether nobody reads what is printed any more.
static UNHEARD: AtomicBool = AtomicBool::new(false);

/// How things are shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    json: bool,
    colour: When,
}

impl Output {
    pub(crate) fn new(json: bool, colour: When) -> Self {
        let choice = match colour {
            When::Auto => anstream::ColorChoice::Auto,
            When::Always => anstream::ColorChoice::Always,
            When::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
        Self { json, colour }
    }

    /// Returns whether JSON is wanted.
    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Prints a text as it is; colours go where nobody wants them.
    pub(crate) fn print(self, text: &str) {
        let mut stdout = anstream::stdout();
        let Err(cause) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) else {
            return;
        };
        UNHEARD.store(true, Ordering::Relaxed);
        // Whoever closes the pipe has seen enough: `aof task list | head` is no error.
        if cause.kind() != ErrorKind::BrokenPipe && !LOST.swap(true, Ordering::Relaxed) {
            self.say(format!("{} cannot write to standard output: {cause}", styled(RED, "error:")));
        }
    }

    /// Returns whether something that was printed reached nobody.
    pub(crate) fn is_lost(self) -> bool {
        LOST.load(Ordering::Relaxed)
    }

    /// Returns whether nobody reads what is printed any more.
    pub(crate) fn is_unheard(self) -> bool {
        UNHEARD.load(Ordering::Relaxed)
    }

    /// Prints bytes that somebody signs or checks: each as it is, but at a terminal, where none may do harm.
    pub(crate) fn exactly(self, text: &str) {
        let mut stdout = std::io::stdout();
        if stdout.is_terminal() {
            return self.print(&inert(text));
        }
        if stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_err() {
            UNHEARD.store(true, Ordering::Relaxed);
            if !LOST.swap(true, Ordering::Relaxed) {
                self.say(format!("{} cannot write to standard output", styled(RED, "error:")));
            }
        }
    }

    /// Prints one line.
    pub(crate) fn line(self, text: impl AsRef<str>) {
        self.print(&format!("{}\n", text.as_ref()));
    }

    /// Prints data for programs.
    pub(crate) fn data(self, value: Value) {
        self.print(&self.document(value));
    }

    /// Returns data for programs as it is printed.
    pub(crate) fn document(self, mut value: Value) -> String {
        if let Value::Object(map) = &mut value {
            map.insert("jsonVersion".to_owned(), JSON_VERSION.into());
        }
        format!("{value:#}\n")
    }

    /// Says something beside the data.
    pub(crate) fn say(self, text: impl AsRef<str>) {
        let _ = writeln!(anstream::stderr(), "{}", text.as_ref());
    }

    /// Returns how diagnostics for stderr are painted.
    pub(crate) fn paint(self) -> Paint {
        match self.colour {
            When::Always => Paint::Colored,
            When::Auto
                if std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none() =>
            {
                Paint::Colored
            }
            _ => Paint::Plain,
        }
    }
}

/// Returns the text in that style.
pub(crate) fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// What stands out.
pub(crate) const BOLD: Style = Style::new().bold();
/// What went wrong.
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
/// What is to be looked at.
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
/// What went well.
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
/// Names of things.
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();

/// What matters less.
pub(crate) const DIM: Style = Style::new().dimmed();
