//! Texts from files, from stdin, and from the user's editor.

use std::io::Read;
use std::path::Path;
use std::process::Command;

use super::trouble::Trouble;

/// Returns the text of a file, or of stdin for `-`.
pub(super) fn text(name: &str) -> Result<String, Trouble> {
    let fault = |cause| Trouble::Input { name: if name == "-" { "stdin".to_owned() } else { name.to_owned() }, cause };
    if name == "-" {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text).map_err(fault)?;
        return Ok(text);
    }
    std::fs::read_to_string(name).map_err(fault)
}

/// Lets the user edit a text in the editor that git would use, and returns it.
pub(super) fn edited(text: &str, suffix: &str) -> Result<String, Trouble> {
    let editor = editor();
    let fault = |problem: String| Trouble::Editor {
        problem,
        fix: "set `EDITOR`, or give everything on the command line".to_owned(),
    };
    let file = tempfile::Builder::new()
        .prefix("aof-")
        .suffix(suffix)
        .tempfile()
        .map_err(|cause| fault(format!("cannot make a file to edit: {cause}")))?;
    std::fs::write(file.path(), text).map_err(|cause| fault(format!("cannot write the file to edit: {cause}")))?;
    run(&editor, file.path()).map_err(fault)?;
    std::fs::read_to_string(file.path()).map_err(|cause| fault(format!("cannot read what was edited: {cause}")))
}

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
    if status.success() { Ok(()) } else { Err(format!("the editor `{editor}` ended with {status}")) }
}
