//! Files: layout, atomic writes, the lock, the journal, the inbox. Knows nothing of the rules.
//!
//! Bytes and paths only: nothing here knows what a task file says. Whatever is opened below the project's root is reached
//! through [`Folder`], which follows no symlink, so nothing outside the project is read or written.

pub(crate) mod event_log;
pub mod fs;
pub(crate) mod inbox;
pub(crate) mod outbox;
pub(crate) mod runs;
pub(crate) mod tasks;

pub(crate) mod cursor;
pub(crate) mod editor_schemas;
pub(crate) mod hints;
pub(crate) mod journal;
pub mod layout;

pub(crate) mod header_cache;
pub(crate) mod lock;
pub(crate) mod watcher_presence;

pub use cursor::Cursor;
pub use event_log::event_log::Stream;
pub use fs::error::{StoreError, io_hint};
pub use fs::file_info::{FileStat, Kind};
pub use fs::filesystem_check::network_file_system;
pub use fs::folder::{Durability, Folder};
pub use fs::holder::Holder;
pub use fs::project_path::ProjectPath;
pub use fs::random;
pub use header_cache::HeaderCache;
pub use hints::{ArchiveScan, DueHorizon, Hint};
pub use inbox::inbox::Inbox;
pub use journal::Intent;
pub use layout::Paths;
pub use lock::WriterLock;
pub use outbox::outbox::Outbox;
pub use runs::runs::Runs;
