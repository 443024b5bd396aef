//! Files that cannot be read as tasks: they hide none of the others, and nobody overlooks them.

use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;

use super::output::{RED, styled};
use crate::cli::session::Session;
use crate::files::diagnostic::diagnostic::render_all;
use crate::files::printable::inert;
use crate::tasks::headers::listing::{Unreadable, unreadable_value};

/// The exit code of a list that is not whole.
const INCOMPLETE: u8 = 6;
/// So many files are named before it is enough.
const MANY: usize = 20;

/// Returns the files as `--json` shows them.
pub(crate) fn values(files: &[Unreadable]) -> Vec<Value> {
    files.iter().map(unreadable_value).collect()
}

/// Says which files cannot be read and why, and returns the exit code.
pub(crate) fn tell(session: &Session, files: &[Unreadable]) -> ExitCode {
    let output = session.output;
    let shown = if session.verbose { files.len() } else { files.len().min(MANY) };
    for file in &files[..shown] {
        if session.verbose && !file.diagnostics.is_empty() {
            output.say(format!("{}\n", render_all(&file.diagnostics, output.paint()).trim_end()));
            continue;
        }
        let error = styled(RED, "error:");
        // A folder is none, and hides some.
        let what =
            if is_task_file(&file.path) { "cannot be read as a task" } else { "cannot be read" };
        output.say(format!("{error} `{}` {what}: {}", inert(&file.place()), inert(&file.reason)));
    }
    if shown < files.len() {
        output.say(format!("... and {} more", files.len() - shown));
    }
    if files.is_empty() {
        return ExitCode::SUCCESS;
    }
    if !session.verbose && files.iter().any(|file| !file.diagnostics.is_empty()) {
        output.say("see more of each, and all of them, with `-v`");
    }
    ExitCode::from(INCOMPLETE)
}

fn is_task_file(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|end| end == "md")
}
