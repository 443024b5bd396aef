//! Files: layout, atomic writes, the lock, the journal, the inbox. Knows nothing of the rules.
//!
//! Bytes and paths only: nothing here parses a task file. Files below the project's root are accessed through [`Folder`], which
//! follows no symlink, so nothing outside the project is read or written.

pub(crate) mod atomic_write;
pub(crate) mod event_log;
pub mod fs;
pub(crate) mod header_cache;
pub(crate) mod inbox;
pub(crate) mod journal;
pub mod layout;
pub(crate) mod lock;
pub(crate) mod outbox;
pub(crate) mod runs;
pub(crate) mod task_files;

pub use event_log::EventStream;
pub(crate) use fs::error::io_hint;
pub use fs::error::{FileKind, FileStat, Holder, StoreError};
pub use fs::folder::Folder;
pub use fs::project_path::ProjectPath;
pub use fs::random;
pub use fs::temporary_file::Durability;
pub use header_cache::{ArchiveScan, HeaderCache, Hint};
pub(crate) use header_cache::{CacheFile, Deferred, take_header};
pub(crate) use inbox::Inbox;
pub use layout::Paths;
pub use lock::WriterLock;
pub(crate) use lock::network_file_system;
pub use outbox::{Outbox, ReportedCursor};
