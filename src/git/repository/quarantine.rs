//! What a push brings, before it is accepted: git keeps its objects in a folder of their own until the hook has agreed. Only reads.
//!
//! The folder is taken from the environment that git sets for its hooks, and only believed where it lies among the objects of the
//! repository that is judged: a variable that was left over from elsewhere brings in no foreign object.

use std::fs;
use std::path::Path;

use crate::git::error::{AuditError, During};

/// The variable in which git names the folder to a hook.
const QUARANTINE: &str = "GIT_QUARANTINE_PATH";

/// Lets the repository, whose objects are in that folder, read what is in quarantine as well.
pub(crate) fn see_through(git: &git2::Repository, objects: &Path) -> Result<(), AuditError> {
    let Some(named) = std::env::var_os(QUARANTINE) else { return Ok(()) };
    let (Ok(folder), Ok(objects)) = (fs::canonicalize(&named), fs::canonicalize(objects)) else {
        return Ok(());
    };
    let Some(text) = folder.to_str().filter(|_| folder.starts_with(&objects) && folder != objects)
    else {
        return Ok(());
    };
    let doing = || format!("read what was pushed, in `{text}`");
    git.odb().during(doing)?.add_disk_alternate(text).during(doing)
}
