//! Files that cannot be read as tasks: they hide none of the others, and nobody overlooks them.

use std::process::ExitCode;

use serde_json::Value;

use super::output::{RED, inert, styled};
use super::session::Session;
use crate::format::diagnostic::render_all;
use crate::ops::{Unreadable, unreadable_value};

/// The exit code of a list that is not whole.
const INCOMPLETE: u8 = 6;

/// Returns the files as `--json` shows them.
pub(super) fn values(files: &[Unreadable]) -> Vec<Value> {
    files.iter().map(unreadable_value).collect()
}

/// Says which files cannot be read and why, and returns the exit code.
pub(super) fn tell(session: &Session, files: &[Unreadable]) -> ExitCode {
    let output = session.output;
    for file in files {
        if session.verbose && !file.diagnostics.is_empty() {
            output.say(format!("{}\n", render_all(&file.diagnostics, output.paint()).trim_end()));
            continue;
        }
        let error = styled(RED, "error:");
        output.say(format!("{error} `{}` cannot be read as a task: {}", inert(&file.path), inert(&file.reason)));
    }
    match files {
        [] => ExitCode::SUCCESS,
        _ => {
            if !session.verbose && files.iter().any(|file| !file.diagnostics.is_empty()) {
                output.say("see where with `-v`");
            }
            ExitCode::from(INCOMPLETE)
        }
    }
}
