//! The git repository: what is committed, and how a change is committed. May use `format` and `model`, never `engine` or `store`.

mod commit;
mod error;
mod head;
mod id;
mod identity;
mod index;
mod locks;
mod log;
mod objects;
mod pack;
mod publish;
mod reference;
mod repository;
mod sign;
mod spawn;
pub mod trailers;
mod tree;

pub use commit::{Change, Draft, Prepared};
pub use error::AuditError;
pub use head::Head;
pub use id::{CommitId, NotAnId, ObjectId};
pub use identity::Person;
pub use locks::{BranchLock, Cleared, LockFile, Locks};
pub use log::{ChangedFile, Log, LogEntry};
pub use publish::{Intent, Published, WriteFiles};
pub use repository::{Repository, TreeFile};

#[cfg(test)]
mod tests;
