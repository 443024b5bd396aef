//! The git repository: what is committed, and how a change is committed. May use `format` and `model`, never `engine` or `store`.
//!
//! A transition passes through here twice. `prepare` writes blobs, trees and the commit from bytes in memory, on no branch;
//! `publish` makes them durable and moves the branch by compare-and-swap, and the user's index with it, under git's own locks.
//! Trees are spliced from HEAD's and never built from the index; no hook is run; nothing that is staged, modified or
//! untracked is touched. After a kill, `clear_stale` and `settle_index` put things right.
//!
//! All paths are the project's, with `/`. The caller holds the project's writer lock; a user's git may run at any time.

mod answers;
mod attributes;
mod below;
mod beside;
mod bring;
mod coming;
mod commit;
mod commit_bytes;
mod compared;
mod configuration;
mod deflate;
mod difference;
mod entries;
mod error;
mod fetch;
mod finish;
mod git_file;
mod given_up;
mod head;
mod id;
mod identity;
mod in_the_way;
mod index;
mod index_copy;
mod join;
mod left_behind;
mod left_git;
mod left_out;
mod line_ends;
mod locks;
mod log;
mod merging;
mod naming;
mod objects;
mod occupant;
mod open;
mod overtaken;
mod own_folder;
mod pack;
mod paint;
mod paths;
mod placed;
mod publish;
mod quarantine;
mod reach;
mod reading;
mod reference;
mod remote;
mod replayed;
mod repository;
mod said;
mod settle;
mod shallow;
mod sign;
mod spawn;
mod ssh;
mod staged_below;
mod storage;
mod surroundings;
mod taken_back;
mod texts;
mod to_commit;
pub mod trailers;
mod tree;
mod under_way;
mod unmerged;
mod upstream;
mod worktrees;

pub use coming::Coming;
pub use commit::{Change, Draft, Prepared};
pub use compared::ChangedFile;
pub use error::{AuditError, Unsettled};
pub use finish::Finished;
pub use head::Head;
pub use id::{CommitId, NotAnId, ObjectId};
pub use identity::Person;
pub use join::{MergeDraft, Unshared};
pub use left_behind::LeftBehind;
pub use line_ends::{with_crlf, with_lf};
pub use locks::{BranchLock, Cleared, End, Files, LockFile, Locks};
pub use log::Log;
pub use merging::Hooks;
pub use occupant::Occupant;
pub use overtaken::{BESIDE_A_TASK, SYNCED};
pub use own_folder::OwnFolder;
pub use paths::can_be_committed;
pub use publish::{Intent, Published, WriteFiles};
pub use reach::{Distance, Reach};
pub use remote::Prompts;
pub use replayed::{Replay, Way};
pub use repository::{Repository, TreeFile};
pub use said::LogEntry;
pub use shallow::Pretence;
pub use ssh::{Asking, SshKey};
pub use staged_below::StagedFile;
pub use storage::Storage;
pub use surroundings::{editor, is_program_there};
pub use taken_back::TakenBack;
pub use texts::{Both, Comparison, Marks, merge_texts, merge_texts_by};
pub use under_way::UnderWay;
pub use unmerged::{Sides, StagedVersion, Unmerged};
pub use upstream::{Pushed, RemoteError, Upstream};
pub use worktrees::{BranchSource, Stage, Worktree};

#[cfg(test)]
mod tests;
