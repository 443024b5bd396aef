//! The git repository: reads what is committed, and commits changes. Knows neither `rules` nor `storage`.
//!
//! A transition passes through here twice. `prepare` writes blobs, trees and the commit from bytes in memory, on no branch; `begin`,
//! `lock_index` and `finish` make them durable and move the branch by compare-and-swap, and the user's index with it, under git's own
//! locks. Trees are spliced from HEAD's and never built from the index; no hook runs; staged, modified and untracked files stay
//! untouched. After a kill, `clear_stale` and `update_stale_entries` recover.
//!
//! All paths are the project's, with `/`. The caller holds the project's writer lock; a user's git may run at any time.

pub mod attributes;
pub mod checkout;
pub mod index;
pub mod log;
pub mod objects;
pub mod remote;
pub mod remote_answers;
pub mod repository;
pub mod signing;
pub mod transaction;

pub mod command;
pub mod error;
pub mod id;
pub mod text_merge;

pub use attributes::with_lf;
pub use checkout::join::{JoinDraft, JoinStyle, Joined};
pub use checkout::recovery::CheckoutRecovery;
pub use checkout::work_branches::{LeftFile, NewCheckout};
pub use checkout::worktrees::{BranchSource, LinkedWorktree, OtherHead, Worktree};
pub use error::{GitError, OwnFolder, Unsettled};
pub use id::{CommitId, ObjectId};
pub use index::entries::StagedFile;
pub use index::entries::UncommittedChanges;
pub use index::entries::{ConflictSides, StagedVersion, Unmerged};
pub use log::ancestry::Distance;
pub use log::lost_commits::DroppedSteps;
pub use log::lost_commits::{COMPANIONS_EDITED, SYNCED};
pub use log::merge_commit::MergeInProgress;
pub use log::merge_commit::{MergeDraft, Unshared};
pub use log::tree_diff::ChangedFile;
pub use objects::commit::LogEntry;
pub use objects::commit::Person;
pub use remote::Prompts;
pub use remote_answers::{PushRefusal, Pushed, RemoteError, Upstream};
pub use repository::environment::Hooks;
pub use repository::environment::{editor, is_program_installed};
pub use repository::handle::HistoryOverride;
pub use repository::handle::{Repository, TreeFile};
pub use repository::maintenance::{Maintenance, Storage};
pub use repository::references::Head;
pub use signing::{PromptPlace, SshKey};
pub use text_merge::{Comparison, Marks, MergedText, merge_texts, merge_texts_by};
pub use transaction::locks::{BranchLock, CrashKind, IncomingFiles, Locks};
pub use transaction::part::PartDraft;
pub use transaction::prepare::can_be_committed;
pub use transaction::prepare::{CommitDraft, FileChange, Prepared};
pub use transaction::publish::Published;

#[cfg(test)]
mod tests;
