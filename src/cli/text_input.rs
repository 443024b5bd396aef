//! Reads texts from files, from stdin, and from the person's editor.

use std::fs;
use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::{CliError, CliResult};
use super::session::Session;
use crate::git;

/// Returns the bytes of a file, or of stdin for `-`.
pub(crate) fn bytes(path: &Path) -> CliResult<Vec<u8>> {
    if path.as_os_str() != "-" {
        return fs::read(path).map_err(|cause| CliError::input(path.display(), &cause));
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|cause| CliError::input("stdin", &cause))?;
    Ok(bytes)
}

/// Returns the text of a file, or of stdin for `-`. Fails if it is not UTF-8.
pub(crate) fn text(name: &str) -> CliResult<String> {
    String::from_utf8(bytes(Path::new(name))?).map_err(|_| {
        let cause = std::io::Error::other("stream did not contain valid UTF-8");
        CliError::input(if name == "-" { "stdin" } else { name }, &cause)
    })
}

/// Returns a text given on the command line; `-` means stdin.
pub(crate) fn given(text: &str) -> CliResult<String> {
    if text == "-" { self::text("-") } else { Ok(text.to_owned()) }
}

/// Opens a text in git's editor, and returns the edited text.
pub(crate) fn edited(session: &Session, text: &str, suffix: &str) -> CliResult<String> {
    let bytes = edited_bytes(session, text.as_bytes(), suffix)?;
    String::from_utf8(bytes).map_err(|_| fault("what was edited is not UTF-8".to_owned()))
}

/// Opens bytes in git's editor, and returns the edited bytes.
pub(crate) fn edited_bytes(session: &Session, bytes: &[u8], suffix: &str) -> CliResult<Vec<u8>> {
    let editor = git::editor(&session.directory).unwrap_or_else(editor);
    let file =
        temporary(suffix).map_err(|cause| fault(format!("cannot make a file to edit: {cause}")))?;
    fs::write(file.path(), bytes)
        .map_err(|cause| fault(format!("cannot write the file to edit: {cause}")))?;
    // Like git: a shell splits an editor command with arguments, and the file is one more argument.
    let script = format!("{editor} \"$1\"");
    let status = Command::new("sh").args(["-c", &script, "aof-editor"]).arg(file.path()).status();
    match status {
        Err(cause) => Err(fault(format!("cannot start the editor `{editor}`: {cause}"))),
        Ok(status) if !status.success() => {
            Err(fault(format!("the editor `{editor}` ended with {status}")))
        }
        Ok(_) => fs::read(file.path())
            .map_err(|cause| fault(format!("cannot read what was edited: {cause}"))),
    }
}

/// Keeps a refused text in a temporary file, and returns its path.
pub(crate) fn kept(bytes: &[u8], suffix: &str) -> CliResult<PathBuf> {
    let fault = |cause: std::io::Error| fault(format!("cannot keep what was edited: {cause}"));
    let (_, path) = temporary(suffix).map_err(fault)?.keep().map_err(|error| fault(error.error))?;
    fs::write(&path, bytes).map_err(fault)?;
    Ok(path)
}

/// Asks for a line.
pub(crate) fn line(question: &str) -> CliResult<String> {
    let mut stderr = anstream::stderr();
    let _ = write!(stderr, "{question}").and_then(|()| stderr.flush());
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(|cause| fault(format!("cannot read from here: {cause}")))?;
    Ok(line.trim().to_owned())
}

/// Reads the answer to a yes-or-no question; an empty line means yes.
pub(crate) fn agreed() -> bool {
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok_and(|bytes| bytes > 0) && !answer.trim().to_lowercase().starts_with('n')
}

fn temporary(suffix: &str) -> std::io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new().prefix("aof-").suffix(suffix).tempfile()
}

fn fault(problem: String) -> CliError {
    let fix = "set `EDITOR` or git's `core.editor`, or give everything on the command line";
    CliError::editor(problem, fix)
}

/// Returns the editor to use if git does not name one.
fn editor() -> String {
    let named = ["GIT_EDITOR", "VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok());
    named.filter(|editor| !editor.trim().is_empty()).unwrap_or_else(|| "vi".to_owned())
}
