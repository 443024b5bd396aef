//! How far an error reaches: whom it meets, which files it is about, and whether it is over by itself.

use std::io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};

use super::error::OpsError;
use crate::git::AuditError;
use crate::storage::{ProjectPath, StoreError};

impl OpsError {
    /// Returns whether every other change would meet the same trouble: it is the disk's, the repository's or the rules', and no
    /// single task's.
    pub fn is_general(&self) -> bool {
        match self {
            Self::Store(StoreError::Io { cause, .. }) => is_exhausted(cause),
            Self::Store(
                StoreError::LockTimedOut { .. }
                | StoreError::NetworkFileSystem { .. }
                | StoreError::NotDurable { .. }
                | StoreError::NoProject { .. }
                | StoreError::Random { .. },
            )
            | Self::InvalidRules(_)
            | Self::Remote(_)
            | Self::NotConfirmed { .. }
            | Self::NotPutBack { .. }
            | Self::Unfit { code: "rules_not_committed", .. } => true,
            Self::Audit(error) => !matches!(
                error,
                AuditError::StagedElsewise { .. }
                    | AuditError::Unmerged { .. }
                    | AuditError::IntentToAdd { .. }
                    | AuditError::Converted { .. }
                    | AuditError::Unchanged
                    | AuditError::Moved { .. }
                    | AuditError::NotWritten
                    | AuditError::BadPath { .. }
                    | AuditError::BadPerson { .. }
                    | AuditError::BadTime { .. }
            ),
            _ => false,
        }
    }

    /// Returns the files of tasks that it is about: unless one of them changes, it hardly ends.
    pub fn task_files(&self) -> Vec<&ProjectPath> {
        match self {
            Self::Frozen { path, .. }
            | Self::Splice { path, .. }
            | Self::UnreadableTask { path, .. }
            | Self::NoTask { committed: Some(path), .. } => {
                vec![path]
            }
            Self::Store(StoreError::TaskDoubled { paths, .. }) => paths.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Returns whether it is over once somebody else is done: what was wanted may then be tried again as it is.
    pub fn passes(&self) -> bool {
        match self {
            Self::Store(StoreError::LockTimedOut { .. })
            | Self::Restless { .. }
            | Self::Frozen { .. }
            | Self::Remote(_)
            | Self::NotConfirmed { .. } => true,
            // What is carried out by whoever comes next would be done twice.
            Self::NotPutBack { noted, .. } => *noted,
            Self::Store(StoreError::Io { cause, .. }) => is_exhausted(cause),
            Self::Audit(error) => matches!(
                error,
                AuditError::Waiting { .. }
                    | AuditError::Locked { .. }
                    | AuditError::NotStored { .. }
                    | AuditError::StagedElsewise { .. }
                    | AuditError::Unmerged { .. }
                    | AuditError::IntentToAdd { .. }
                    | AuditError::Converted { .. }
            ),
            _ => false,
        }
    }
}

/// Returns whether the system has no more of something for anybody.
fn is_exhausted(cause: &std::io::Error) -> bool {
    // Too many open files, here or in the whole system: these have no kind of their own.
    const EMFILE: i32 = 24;
    const ENFILE: i32 = 23;
    matches!(cause.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem)
        || matches!(cause.raw_os_error(), Some(EMFILE | ENFILE))
}
