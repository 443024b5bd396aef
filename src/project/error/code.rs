//! The codes that programs know errors by.

use super::error::OpsError;
use crate::git::AuditError;
use crate::storage::StoreError;

impl OpsError {
    /// Returns the code that stands for the error in JSON.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::Store(StoreError::TaskNotFound { .. }) | Self::NoTask { .. } => "task_not_found",
            Self::Store(StoreError::NoProject { .. }) => "no_project",
            Self::Store(StoreError::TaskDoubled { .. }) => "task_doubled",
            Self::Store(StoreError::LockTimedOut { .. }) => "lock_timeout",
            Self::Store(_) => "files",
            Self::Audit(AuditError::Waiting { .. }) => "git_busy",
            Self::Audit(AuditError::Locked { .. }) => "git_locked",
            Self::Audit(AuditError::NoRepository { .. }) => "no_repository",
            Self::Audit(AuditError::NoIdentity { .. }) => "no_identity",
            Self::Audit(AuditError::StagedElsewise { .. }) => "staged_elsewise",
            Self::Audit(AuditError::Unmerged { .. }) => "unmerged",
            Self::Audit(AuditError::InTheWay { .. }) => "in_the_way",
            Self::Audit(AuditError::OwnFolderInGit(_)) => "own_folder_in_git",
            Self::Audit(_) => "git",
            Self::Remote(error) => error.code(),
            Self::ClaimLost { .. } => "claim_lost",
            Self::Id(_) => "invalid_id",
            Self::UnreadableTask { .. } => "unreadable_task",
            Self::InvalidRules(_) => "workflow_config_invalid",
            Self::Frozen { .. } => "task_frozen",
            Self::Splice { .. } => "unsafe_change",
            Self::NotPutBack { .. } => "not_put_back",
            Self::Restless { .. } => "task_restless",
            Self::NoAgent { .. } => "no_agent",
            Self::ProjectExists { .. } => "project_exists",
            Self::InvalidImport { .. } => "invalid_import",
            Self::LossyImport { .. } => "lossy_import",
            Self::Unknown { kind, .. } => kind.code(),
            Self::Unfit { code, .. } | Self::NotConfirmed { code, .. } => code,
        }
    }
}
