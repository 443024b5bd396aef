//! Forms in a task file that would not be read as they are meant, compared with the file's earlier forms.

use crate::files::diagnostic::Diagnostic;
use crate::files::task_file::TaskFile;
use crate::files::task_file::misread::misread;
use crate::project::error::ProjectError;
use crate::storage::ProjectPath;

/// Returns the forms that can be misread and that are new in the file.
pub(crate) fn new_misread(
    path: &ProjectPath,
    before: Option<&TaskFile>,
    after: &TaskFile,
) -> Vec<Diagnostic> {
    let mut found = misread(after);
    // A NUL misleads only git: it is reported, and new ones are refused when a change is made.
    found.retain(|fault| fault.code != "nul_byte");
    if let Some(before) = before.filter(|_| !found.is_empty()) {
        let known = misread(before);
        found.retain(|fault| known.iter().all(|known| known.message != fault.message));
    }
    Diagnostic::from_faults(path.as_str(), &String::from_utf8_lossy(after.bytes()), &found)
}

/// Returns the fixes of these diagnostics.
pub(crate) fn fixes(found: &[Diagnostic]) -> String {
    let fixes: Vec<&str> = found.iter().filter_map(|one| one.help.as_deref()).collect();
    fixes.join("; ")
}

/// Fails if the change adds a form that can be misread. A new task is not written, so no place in its file is named.
pub(crate) fn refuse_misread(
    path: &ProjectPath,
    before: Option<&TaskFile>,
    after: &TaskFile,
) -> Result<(), ProjectError> {
    let found = new_misread(path, before, after);
    let one = |one: &Diagnostic| if before.is_some() { one.placed() } else { one.message.clone() };
    let problem = found.iter().map(one).collect::<Vec<_>>().join("; ");
    if found.is_empty() {
        return Ok(());
    }
    Err(ProjectError::Unfit { code: "misread_form", problem, fix: fixes(&found).into() })
}
