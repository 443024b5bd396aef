//! Prints data to stdout, and everything else to stderr. No other module prints.

use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::arguments::AGENT;
use crate::files::diagnostic::{ColorMode, Diagnostic, render_all};
use crate::files::printable::inert;
use crate::tasks::plan::DryRun;

/// The version of the output of `--json`. It changes when a field is removed or changes its meaning.
pub(crate) const JSON_VERSION: u64 = 1;

/// True if printed data was lost, as on a full disk.
static LOST: AtomicBool = AtomicBool::new(false);

/// True if stdout is closed.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// The output of the program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    json: bool,
    is_paged: bool,
}

impl Output {
    pub(crate) fn new(json: bool, colour: ColorChoice) -> Self {
        colour.write_global();
        Self { json, is_paged: false }
    }

    /// Lets long texts go through a pager.
    pub(crate) fn paged(self, is_paged: bool) -> Self {
        Self { is_paged, ..self }
    }

    /// Prints a text that may be long: through git's pager, if it has more lines than the terminal. Agents, CI and terminals that
    /// can do nothing get it at once.
    pub(crate) fn page(self, text: &str) {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
        let is_for_people =
            self.is_paged && !self.json && !is_dumb && !is_set(AGENT) && !is_set("CI");
        let rows = terminal_size::terminal_size_of(std::io::stdout()).map(|(_, rows)| rows.0);
        let is_long = rows.is_some_and(|rows| text.lines().count() >= usize::from(rows));
        if !(is_for_people && is_long && pager().is_some_and(|pager| self.through(&pager, text))) {
            self.print(text);
        }
    }

    /// Shows a text with the program; returns whether that could be started.
    fn through(self, pager: &str, text: &str) -> bool {
        let mut command = Command::new("sh");
        command.args(["-c", pager]).stdin(Stdio::piped());
        // As git does: less ends if the text fits, keeps colours, and leaves the text on the screen.
        for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
            if std::env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
        let Ok(mut child) = command.spawn() else { return false };
        let choice = AutoStream::choice(&std::io::stdout());
        let mut bytes = AutoStream::new(Vec::with_capacity(text.len()), choice);
        let coloured = bytes.write_all(text.as_bytes()).map(|()| bytes.into_inner());
        if let (Some(mut stdin), Ok(bytes)) = (child.stdin.take(), coloured) {
            // The reader may leave before the end.
            let _ = stdin.write_all(&bytes);
        }
        // A shell that cannot start the program says so by its exit status.
        child.wait().is_ok_and(|status| !matches!(status.code(), Some(126 | 127)))
    }

    /// Returns true if `--json` was given.
    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Prints a text; colours are removed if stdout does not support them.
    pub(crate) fn print(self, text: &str) {
        // All at once: the stream would write each line separately.
        let choice = AutoStream::choice(&std::io::stdout());
        let mut bytes = AutoStream::new(Vec::with_capacity(text.len()), choice);
        match bytes.write_all(text.as_bytes()) {
            Ok(()) => self.write(&bytes.into_inner()),
            Err(cause) => self.lose(&cause),
        }
    }

    /// Prints a text that is signed or checked: unchanged, except that it is made harmless at a terminal.
    pub(crate) fn print_exactly(self, text: &str) {
        if std::io::stdout().is_terminal() {
            return self.print(&inert(text));
        }
        self.write(text.as_bytes());
    }

    fn write(self, bytes: &[u8]) {
        let mut stdout = std::io::stdout();
        if let Err(cause) = stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            self.lose(&cause);
        }
    }

    /// Notes that stdout accepts no more output.
    fn lose(self, cause: &std::io::Error) {
        CLOSED.store(true, Ordering::Relaxed);
        // A reader may close the pipe early: `aof list | head` is not an error.
        if cause.kind() != ErrorKind::BrokenPipe && !LOST.swap(true, Ordering::Relaxed) {
            self.say(format!("{} cannot write to standard output: {cause}", red("error:")));
        }
    }

    /// Returns true if printed data was lost.
    pub(crate) fn is_lost(self) -> bool {
        LOST.load(Ordering::Relaxed)
    }

    /// Returns true if stdout is closed.
    pub(crate) fn is_closed(self) -> bool {
        CLOSED.load(Ordering::Relaxed)
    }

    /// Prints one line.
    pub(crate) fn line(self, text: impl AsRef<str>) {
        self.print(&format!("{}\n", text.as_ref()));
    }

    /// Prints a JSON document.
    pub(crate) fn data(self, value: impl Serialize) {
        // JSON has no escape codes to remove.
        self.write(self.document(value).as_bytes());
    }

    /// Prints a JSON document with `--json`, otherwise a text.
    pub(crate) fn show<T: Serialize>(
        self,
        value: impl FnOnce() -> T,
        text: impl FnOnce() -> String,
    ) {
        if self.json { self.data(value()) } else { self.print(&text()) }
    }

    /// Prints a JSON document about a change, with `dryRun` if nothing was done.
    pub(crate) fn change_data(self, value: impl Serialize, mode: DryRun) {
        let mut value = json!(value);
        if mode == DryRun::Yes {
            value["dryRun"] = json!(true);
        }
        self.data(value);
    }

    /// Returns a JSON document in the form in which it is printed.
    pub(crate) fn document(self, value: impl Serialize) -> String {
        let document = Document { value, json_version: JSON_VERSION };
        serde_json::to_string_pretty(&document).expect("documents are objects with texts as keys")
            + "\n"
    }

    /// Prints one line to stderr.
    pub(crate) fn say(self, text: impl AsRef<str>) {
        let _ = writeln!(anstream::stderr(), "{}", text.as_ref());
    }

    /// Prints diagnostics to stderr, if there are any.
    pub(crate) fn say_diagnostics(self, diagnostics: &[Diagnostic]) {
        if !diagnostics.is_empty() {
            self.say(format!("{}\n", painted(diagnostics)));
        }
    }
}

/// Returns the pager that git would use; `None` if it is none, or git does not say.
fn pager() -> Option<String> {
    let output = Command::new("git").args(["var", "GIT_PAGER"]).output().ok()?;
    let pager = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !pager.is_empty() && pager != "cat").then_some(pager)
}

/// An object, with the version of its form.
#[derive(Serialize)]
struct Document<T> {
    #[serde(flatten)]
    value: T,
    #[serde(rename = "jsonVersion")]
    json_version: u64,
}

/// Returns diagnostics in the form for people.
pub(crate) fn painted(diagnostics: &[Diagnostic]) -> String {
    render_all(diagnostics, ColorMode::Colored).trim_end().to_owned()
}

/// Returns one line of a stream of JSON, whose first field is `jsonVersion`.
pub(crate) fn json_line(fields: Value) -> Value {
    merged(json!({"jsonVersion": JSON_VERSION}), fields)
}

/// Returns an object with the fields of another one after its own.
pub(crate) fn merged(mut value: Value, more: Value) -> Value {
    if let (Value::Object(map), Value::Object(more)) = (&mut value, more) {
        map.extend(more);
    }
    value
}

/// Returns the largest width of the output: `COLUMNS`, otherwise the terminal's width. In a file or a pipe, lines are not limited.
pub(crate) fn width() -> usize {
    let named =
        std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|width| *width > 0);
    let terminal = || terminal_size::terminal_size_of(std::io::stdout());
    named.or_else(|| terminal().map(|(width, _)| usize::from(width.0))).unwrap_or(usize::MAX)
}

/// Returns a text as lines of at most `room` columns; words are never broken.
pub(crate) fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.width().saturating_add(1 + word.width()) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Returns the first items of a list, and the number of the others.
pub(crate) fn first_of<T: Display>(items: &[T], few: usize) -> String {
    let shown: Vec<String> = items.iter().take(few).map(ToString::to_string).collect();
    let more = items.len().saturating_sub(few);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

/// Returns the lines of a text, made harmless, all but the first indented.
pub(crate) fn indented(text: &str, indent: &str) -> String {
    text.lines().map(inert).collect::<Vec<_>>().join(&format!("\n{indent}"))
}

/// Returns the first seven characters of a commit's id.
pub(crate) fn short(commit: impl Display) -> String {
    commit.to_string().chars().take(7).collect()
}

/// Returns `, commit 1a2b3c4` if there is a commit.
pub(crate) fn of_commit(commit: Option<impl Display>) -> String {
    commit.map(|commit| format!(", commit {}", short(commit))).unwrap_or_default()
}

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const BLUE: Style = AnsiColor::Blue.on_default().bold();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();

/// Returns the text in that style.
pub(crate) fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Styles a heading.
pub(crate) fn bold(text: impl Display) -> String {
    styled(BOLD, text)
}

/// Styles what matters less.
pub(crate) fn dim(text: impl Display) -> String {
    styled(DIM, text)
}

/// Styles an error.
pub(crate) fn red(text: impl Display) -> String {
    styled(RED, text)
}

/// Styles a warning.
pub(crate) fn yellow(text: impl Display) -> String {
    styled(YELLOW, text)
}

/// Styles a success.
pub(crate) fn green(text: impl Display) -> String {
    styled(GREEN, text)
}

/// Styles a name.
pub(crate) fn cyan(text: impl Display) -> String {
    styled(CYAN, text)
}
