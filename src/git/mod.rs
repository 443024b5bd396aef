//! The git repository: reads what is committed, and commits changes. Knows neither `rules` nor `storage`.
//!
//! A transition passes through here twice. `prepare` writes blobs, trees and the commit from bytes in memory, on no branch; `begin`,
//! `lock_index` and `finish` make them durable and move the branch by compare-and-swap, and the user's index with it, under git's own
//! locks. Trees are spliced from HEAD's and never built from the index; no hook runs; staged, modified and untracked files stay
//! untouched. After a kill, `clear_stale` and `update_stale_entries` recover.
//!
//! All paths are the project's, with `/`. The caller holds the project's writer lock; a user's git may run at any time.

pub(crate) mod attributes;
pub(crate) mod checkout;
pub(crate) mod index;
pub(crate) mod log;
pub(crate) mod objects;
pub(crate) mod remote;
pub(crate) mod remote_answers;
pub(crate) mod repository;
pub(crate) mod signing;
pub(crate) mod transaction;

pub(crate) mod command;
pub(crate) mod error;
pub(crate) mod id;
pub(crate) mod text_merge;

pub(crate) use attributes::with_lf;
pub(crate) use checkout::recovery::CheckoutRecovery;
pub(crate) use checkout::worktrees::{BranchSource, OtherHead, Worktree};
pub(crate) use error::{GitError, OwnFolder, Unsettled};
pub(crate) use id::{CommitId, ObjectId};
pub(crate) use index::entries::StagedFile;
pub(crate) use index::entries::UncommittedChanges;
pub(crate) use index::entries::{ConflictSides, StagedVersion, Unmerged};
pub(crate) use log::ancestry::Distance;
pub(crate) use log::lost_commits::DroppedSteps;
pub(crate) use log::lost_commits::{COMPANIONS_EDITED, SYNCED};
pub(crate) use log::merge_commit::MergeInProgress;
pub(crate) use log::merge_commit::{MergeDraft, Unshared};
pub(crate) use log::tree_diff::ChangedFile;
pub(crate) use objects::commit::LogEntry;
pub(crate) use objects::commit::Person;
pub(crate) use remote::Prompts;
pub(crate) use remote_answers::{Pushed, RemoteError, Upstream};
pub(crate) use repository::environment::Hooks;
pub(crate) use repository::environment::{editor, is_program_installed};
pub(crate) use repository::handle::HistoryOverride;
pub(crate) use repository::handle::{Repository, TreeFile};
pub(crate) use repository::maintenance::{Maintenance, Storage};
pub(crate) use repository::references::Head;
pub(crate) use signing::{PromptPlace, SshKey};
pub(crate) use text_merge::{Comparison, Marks, MergedText, merge_texts, merge_texts_by};
pub(crate) use transaction::locks::{BranchLock, CrashKind, IncomingFiles, Locks};
pub(crate) use transaction::prepare::can_be_committed;
pub(crate) use transaction::prepare::{CommitDraft, FileChange, Prepared};
pub(crate) use transaction::publish::Published;

#[cfg(test)]
mod tests;
