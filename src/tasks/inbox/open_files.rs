//! Files of the inbox that somebody has not written to their end, for whoever looks once and goes.

use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::Inbox;
use crate::storage::inbox::scan::{Class, Witnessed};

/// Returns the names of the files that are not taken because of that, each with what is to be said of it.
pub(crate) fn unclosed(workspace: &Workspace) -> Result<Vec<(String, OpsError)>, OpsError> {
    let dropped = Inbox::of(&workspace.paths).scan(workspace.clock()(), &|_| Witnessed::Nothing)?;
    let growing = dropped.into_iter().filter(|candidate| candidate.class == Class::Growing);
    let told = growing.map(|candidate| {
        let error = OpsError::Unfit {
            code: "still_written",
            problem:
                "somebody has it open to write, or writes to it still: half a file is never read"
                    .to_owned(),
            fix: "once it is closed, run this again; `aof watch` takes it by itself then"
                .to_owned(),
        };
        (candidate.item.name.to_string_lossy().into_owned(), error)
    });
    Ok(told.collect())
}
