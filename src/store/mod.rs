//! Files: layout, atomic writes, the lock, the inbox. May use `format` and `model`, never `engine`.
//!
//! Bytes and paths only: nothing here knows what a task file says. Whatever is opened below the project's root is reached
//! through [`Folder`], which follows no symlink, so nothing outside the project is read or written.

pub mod atomic;
pub mod contact;
pub mod inbox;
pub mod intent;
pub mod layout;
pub mod outbox;
pub mod presence;
pub mod random;
pub mod runs;
pub mod schemas;
pub mod stayed;
pub mod stream;
pub mod tasks;

mod archived;
mod cache;
mod cursor;
mod error;
mod file_stat;
mod filesystem;
mod folder;
mod horizon;
mod kind;
mod lock;
mod marked;
mod opening;
mod path;
mod staged;
mod walk;

pub use archived::Archived;
pub use cache::HeaderCache;
pub use cursor::Cursor;
pub use error::{StoreError, io_hint};
pub use file_stat::FileStat;
pub use filesystem::network_file_system;
pub use folder::{Durability, Folder};
pub use horizon::Horizon;
pub use inbox::Inbox;
pub use intent::Intent;
pub use kind::Kind;
pub use layout::Paths;
pub use lock::{Holder, WriterLock};
pub use outbox::Outbox;
pub use path::ProjectPath;
pub use runs::Runs;
pub use stream::Stream;
