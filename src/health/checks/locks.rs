//! Locks that are in everybody's way. The writer lock goes with its process; what a kill of ours left of git's is known by the record
//! of the write, and healed. Any other lock is somebody's, and is only told of.

use std::path::Path;
use std::time::Duration;

use jiff::Unit;

use crate::domain::age as in_words;
use crate::health::doctor::{Complaint, Patient};
use crate::health::points::git::OLD_LOCK;
use crate::project::error::error::OpsError;
use crate::storage::{Holder, StoreError, WriterLock};

/// No command of ours holds the lock that long.
const LONG: f64 = 60.0;

pub(crate) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let mut complaints: Vec<Complaint> = writer(patient)?.into_iter().collect();
    for (path, age) in patient.workspace.repository.lock_files()? {
        if age >= OLD_LOCK {
            complaints.push(of_git(&path, age));
        }
    }
    Ok(complaints)
}

fn writer(patient: &Patient<'_>) -> Result<Option<Complaint>, OpsError> {
    let workspace = patient.workspace;
    let us = Holder::this_process(workspace.command.clone(), workspace.now());
    match WriterLock::acquire(&workspace.paths, &us, Duration::ZERO, &mut |_| {}) {
        Ok(_) => Ok(None),
        Err(StoreError::LockTimedOut { holder, .. }) => {
            let held = |holder: &Holder| {
                (workspace.now() - holder.since).total(Unit::Second).unwrap_or(0.0)
            };
            if holder.as_ref().is_some_and(|holder| held(holder) < LONG) {
                return Ok(None);
            }
            let who = holder.map_or_else(
                || "a process that did not say who it is".to_owned(),
                |holder| holder.to_string(),
            );
            Ok(Some(Complaint::wrong(
                "lock_held",
                format!("`.aof/lock` is held by {who}"),
                "every command that changes something waits for it, and gives up",
                "see what that process does (`fuser .aof/lock` finds it), and end it if it hangs: the lock goes with it".to_owned(),
            )))
        }
        Err(error) => Err(error.into()),
    }
}

fn of_git(path: &Path, age: Duration) -> Complaint {
    Complaint::wrong(
        "git_locked",
        format!("`{}` is {} old", path.display(), in_words(age)),
        "while it is there, neither git nor a command can commit",
        "if no git is running, and no editor with a commit message is open, remove that file; aof removes only locks of its own"
            .to_owned(),
    )
}
