//! Texts from files, from stdin, and from the user's editor.

use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cli::error::CliError;
use crate::cli::session::Session;
use crate::git;

/// Returns the text of a file, or of stdin for `-`.
pub(crate) fn text(name: &str) -> Result<String, CliError> {
    let fault = |cause| CliError::Input {
        name: if name == "-" { "stdin".to_owned() } else { name.to_owned() },
        cause,
    };
    if name == "-" {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text).map_err(fault)?;
        return Ok(text);
    }
    std::fs::read_to_string(name).map_err(fault)
}

/// Returns a text given on the command line; `-` means stdin.
pub(crate) fn given(text: &str) -> Result<String, CliError> {
    if text == "-" { self::text("-") } else { Ok(text.to_owned()) }
}

/// Lets the user edit a text in the editor that git would use, and returns it.
pub(crate) fn edited(session: &Session, text: &str, suffix: &str) -> Result<String, CliError> {
    let bytes = edited_bytes(session, text.as_bytes(), suffix)?;
    String::from_utf8(bytes).map_err(|_| editor_fault("what was edited is not UTF-8".to_owned()))
}

/// Lets the user edit a file's bytes, as they are.
pub(crate) fn edited_bytes(
    session: &Session,
    bytes: &[u8],
    suffix: &str,
) -> Result<Vec<u8>, CliError> {
    let editor = git::editor(&session.directory).unwrap_or_else(editor);
    let file = temporary(suffix)
        .map_err(|cause| editor_fault(format!("cannot make a file to edit: {cause}")))?;
    std::fs::write(file.path(), bytes)
        .map_err(|cause| editor_fault(format!("cannot write the file to edit: {cause}")))?;
    run(&editor, file.path()).map_err(editor_fault)?;
    std::fs::read(file.path())
        .map_err(|cause| editor_fault(format!("cannot read what was edited: {cause}")))
}

/// Keeps what somebody wrote although it could not be used, and returns where.
pub(crate) fn kept(bytes: &[u8], suffix: &str) -> Result<PathBuf, CliError> {
    let fault =
        |cause: std::io::Error| editor_fault(format!("cannot keep what was edited: {cause}"));
    let (_, path) = temporary(suffix).map_err(fault)?.keep().map_err(|error| fault(error.error))?;
    std::fs::write(&path, bytes).map_err(fault)?;
    Ok(path)
}

/// Reads the answer to a yes-or-no question; just pressing enter means yes.
pub(crate) fn agreed() -> bool {
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok_and(|bytes| bytes > 0) && !answer.trim().to_lowercase().starts_with('n')
}

fn temporary(suffix: &str) -> std::io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new().prefix("aof-").suffix(suffix).tempfile()
}

fn editor_fault(problem: String) -> CliError {
    CliError::Editor {
        problem,
        fix: "set `EDITOR` or git's `core.editor`, or give everything on the command line"
            .to_owned(),
    }
}

/// Without git, or where git wants an editor to be named.
fn editor() -> String {
    let named = ["GIT_EDITOR", "VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok());
    named.filter(|editor| !editor.trim().is_empty()).unwrap_or_else(|| "vi".to_owned())
}

/// Like git, an editor may come with arguments, so a shell splits it; the file's name is an argument of its own.
fn run(editor: &str, file: &Path) -> Result<(), String> {
    let status = Command::new("sh")
        .arg("-c")
        .arg(format!("{editor} \"$1\""))
        .arg("aof-editor")
        .arg(file)
        .status()
        .map_err(|cause| format!("cannot start the editor `{editor}`: {cause}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("the editor `{editor}` ended with {status}"))
    }
}
