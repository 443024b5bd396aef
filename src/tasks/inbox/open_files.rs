//! Files of the inbox that are still being written, reported by `aof watch --once`.

use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::Inbox;
use crate::storage::inbox::{FileClass, Witnessed};

/// Returns the names of these files, each with the error to report.
pub(crate) fn unclosed(workspace: &Workspace) -> Result<Vec<(String, OpsError)>, OpsError> {
    let dropped = Inbox::of(&workspace.paths).scan(workspace.clock()(), &|_| Witnessed::Nothing)?;
    let growing = dropped.into_iter().filter(|candidate| candidate.class == FileClass::Growing);
    let told = growing.map(|candidate| {
        let error = OpsError::Unfit {
            code: "still_written",
            problem: "it was written to within the last two seconds: half a file is never read"
                .to_owned(),
            fix: "run this again; `aof watch` takes it by itself".to_owned(),
        };
        (candidate.item.name.to_string_lossy().into_owned(), error)
    });
    Ok(told.collect())
}
