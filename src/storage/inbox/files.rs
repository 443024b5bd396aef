//! The inbox and what lies in it: which files may be read, and which are refused unread. Opens nothing.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::time::Duration;

use jiff::Timestamp;

use crate::files::completion_file::Syntax;
use crate::storage::fs::folder::list;
use crate::storage::layout::{INBOX, TAKEN, is_debris};
use crate::storage::{FileKind, FileStat, Folder, Paths, StoreError};

/// The largest completion file that is read.
pub(crate) const FILE_LIMIT: u64 = 1024 * 1024;

/// The inbox of a project.
#[derive(Debug, Clone)]
pub(crate) struct Inbox<'p> {
    pub(crate) paths: &'p Paths,
}

/// A file of the inbox, taken or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub shelf: Shelf,
    pub name: OsString,
}

/// The two folders of the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shelf {
    /// Where files are dropped.
    Inbox,
    /// Where files stand while they are worked on.
    Taken,
}

impl Shelf {
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Inbox => INBOX,
            Self::Taken => TAKEN,
        }
    }
}

/// How long a file must have been left alone before it counts as written, when nobody saw it being closed.
pub(crate) const QUIET: Duration = Duration::from_secs(2);

/// Something in the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub item: Item,
    pub stat: FileStat,
    pub class: Class,
}

/// What may be done with a file in the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Class {
    /// Take it.
    Ready,
    /// Take it if it can be read as a whole completion; else look again later: whoever closed it may add to it.
    Closed,
    /// Look again later: somebody is still writing it, or may be.
    Growing,
    /// Leave it alone: an editor's or a download's own file.
    Ignored,
    /// Refuse it: it can be no completion file.
    Odd(Oddity),
}

/// What somebody saw of a file in the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Witnessed {
    /// It was renamed in, so it is whole.
    Renamed,
    /// It was closed after writing, and left alone for a moment since.
    Closed,
    /// Nothing by which it could be said to be whole.
    Nothing,
}

/// Why something can be no completion file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Oddity {
    /// No ordinary file.
    WrongKind(FileKind),
    /// It has further names: whoever has one could change what was read.
    Linked,
    /// Too large.
    TooLarge(u64),
    /// Its name is not UTF-8.
    NotText,
    /// Its name does not say how it is written.
    Suffix,
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongKind(kind) => write!(f, "it is {kind}: put a file there, not a way to one"),
            Self::Linked => f.write_str("it has a second name (a hard link): copy it instead"),
            Self::TooLarge(size) => write!(
                f,
                "it has {size} bytes, and the limit is {FILE_LIMIT}: put long texts into a file of the project and name that"
            ),
            Self::NotText => {
                f.write_str("its name is not UTF-8: use letters and digits, as in `AOF-abc.yaml`")
            }
            Self::Suffix => f.write_str(
                "its name must end in `.yaml`, `.yml`, `.json` or `.md`, which says how to read it",
            ),
        }
    }
}

impl<'p> Inbox<'p> {
    /// Returns the inbox of that project.
    pub(crate) fn of(paths: &'p Paths) -> Self {
        Self { paths }
    }

    /// Returns what is in the inbox, the oldest first. `witnessed` tells what the watcher saw of the file of that name; without
    /// such a witness a file is ready once nobody has written to it for [`QUIET`].
    pub(crate) fn scan(
        &self,
        now: Timestamp,
        witnessed: &dyn Fn(&OsStr) -> Witnessed,
    ) -> Result<Vec<Candidate>, StoreError> {
        let mut candidates = Vec::new();
        for entry in list(&self.paths.inbox())?.iter().filter(|entry| entry.file_name() != ".taken")
        {
            match entry.metadata() {
                Ok(metadata) => {
                    candidates.push(candidate(entry.file_name(), &metadata, now, witnessed));
                }
                // Somebody took it since the folder was listed.
                Err(cause) if cause.kind() == ErrorKind::NotFound => {}
                Err(cause) => return Err(StoreError::io("look at", &entry.path(), cause)),
            }
        }
        candidates.sort_by(|a, b| (a.stat.mtime, &a.item.name).cmp(&(b.stat.mtime, &b.item.name)));
        Ok(candidates)
    }

    /// Returns the names of what is in the inbox, each with its number on the file system. Asks nothing of the files.
    pub(crate) fn lying(&self) -> Result<Vec<(OsString, u64)>, StoreError> {
        let entries = list(&self.paths.inbox())?.into_iter();
        let named = entries.map(|entry| (entry.file_name(), entry.ino()));
        Ok(named.filter(|(name, _)| name != ".taken").collect())
    }

    /// Reads a file that is not taken yet; `None` if it is gone.
    pub(crate) fn peek(&self, item: &Item) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.folder(item.shelf.folder())?.read(&item.name, FILE_LIMIT)?.map(|(bytes, _)| bytes))
    }

    pub(crate) fn folder(&self, inside: &str) -> Result<Folder, StoreError> {
        Folder::create(self.paths.root(), inside)
    }
}

fn candidate(
    name: OsString,
    metadata: &Metadata,
    now: Timestamp,
    witnessed: &dyn Fn(&OsStr) -> Witnessed,
) -> Candidate {
    let stat = FileStat::of(metadata);
    let quiet = is_quiet(&stat, now);
    let witnessed = witnessed(&name);
    let class = if name.to_str().is_some_and(is_debris) {
        Class::Ignored
    } else if !metadata.is_file() {
        Class::Odd(Oddity::WrongKind(metadata.file_type().into()))
    } else if witnessed == Witnessed::Nothing && !quiet {
        Class::Growing
    } else if let Some(oddity) = oddity(&name, metadata) {
        Class::Odd(oddity)
    } else if witnessed == Witnessed::Closed && !quiet {
        Class::Closed
    } else {
        Class::Ready
    };
    Candidate { item: Item { shelf: Shelf::Inbox, name }, stat, class }
}

fn oddity(name: &OsStr, metadata: &Metadata) -> Option<Oddity> {
    match name.to_str() {
        None => Some(Oddity::NotText),
        Some(name) if Syntax::of(name).is_none() => Some(Oddity::Suffix),
        Some(_) if metadata.nlink() > 1 => Some(Oddity::Linked),
        Some(_) if metadata.size() > FILE_LIMIT => Some(Oddity::TooLarge(metadata.size())),
        Some(_) => None,
    }
}

/// Returns whether the last write is far from now. One that seems to lie ahead is far as well: writing sets the time to now,
/// so it was set by hand (`touch`), or the clock was set back.
fn is_quiet(stat: &FileStat, now: Timestamp) -> bool {
    let quiet = i128::try_from(QUIET.as_nanos()).unwrap_or(i128::MAX);
    (now.as_nanosecond() - i128::from(stat.mtime)).abs() >= quiet
}
