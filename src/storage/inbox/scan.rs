//! Looking at the inbox: what is there, and what of it may be read. Opens nothing.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, DirEntry, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use super::inbox::{Inbox, Item, Shelf};
use crate::storage::fs::file_names::{is_debris, is_readable};
use crate::storage::{FileStat, Kind, StoreError};

/// The largest completion file that is read.
pub(crate) const FILE_LIMIT: u64 = 1024 * 1024;

/// How long a file must have been left alone before it counts as written, when nobody saw it being closed.
pub(crate) const QUIET: Duration = Duration::from_secs(2);

/// Something in the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Which file.
    pub item: Item,
    /// What the system tells of it.
    pub stat: FileStat,
    /// What may be done with it.
    pub class: Class,
}

/// What may be done with a file in the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Class {
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
pub enum Witnessed {
    /// It was renamed in, so it is whole.
    Renamed,
    /// It was closed after writing, and left alone for a moment since.
    Closed,
    /// Nothing by which it could be said to be whole.
    Nothing,
}

/// Why something can be no completion file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Oddity {
    /// No ordinary file.
    WrongKind(Kind),
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

impl Inbox<'_> {
    /// Returns what is in the inbox, the oldest first. `witnessed` tells what the watcher saw of the file of that name; without such
    /// a witness a file is taken once nobody has written to it for [`QUIET`].
    pub fn scan(
        &self,
        now: Timestamp,
        witnessed: &dyn Fn(&OsStr) -> Witnessed,
    ) -> Result<Vec<Candidate>, StoreError> {
        let mut candidates = Vec::new();
        for entry in self.entries()? {
            let entry = entry?;
            if let Some(metadata) = look(&entry)? {
                candidates.push(candidate(entry.file_name(), &metadata, now, witnessed));
            }
        }
        candidates.sort_by(|a, b| (a.stat.mtime, &a.item.name).cmp(&(b.stat.mtime, &b.item.name)));
        Ok(candidates)
    }

    /// Returns the names of what is in the inbox, each with its number on the file system. Asks nothing of the files.
    pub fn lying(&self) -> Result<Vec<(OsString, u64)>, StoreError> {
        let entries = self.entries()?;
        entries.map(|entry| entry.map(|entry| (entry.file_name(), entry.ino()))).collect()
    }

    /// Lists the inbox, without the folder of taken files, which is ours.
    fn entries(
        &self,
    ) -> Result<impl Iterator<Item = Result<DirEntry, StoreError>> + use<>, StoreError> {
        let folder = self.paths.inbox();
        let listing = match fs::read_dir(&folder) {
            Ok(listing) => Some(listing),
            Err(cause) if cause.kind() == ErrorKind::NotFound => None,
            Err(cause) => return Err(unlisted(&folder, cause)),
        };
        let entries = listing.into_iter().flatten();
        let entries = entries.map(move |entry| {
            entry.map_err(|cause| StoreError::io("list the folder", &folder, cause))
        });
        Ok(entries.filter(|entry| !matches!(entry, Ok(entry) if entry.file_name() == ".taken")))
    }
}

/// Returns why a folder cannot be listed: something else may stand there, or in place of one above it.
pub(crate) fn unlisted(folder: &Path, cause: io::Error) -> StoreError {
    let stands = |path: &&Path| path.symlink_metadata().is_ok_and(|data| !data.is_dir());
    let in_its_place = folder
        .ancestors()
        .take(2)
        .find(stands)
        .filter(|_| cause.kind() == ErrorKind::NotADirectory);
    match in_its_place.and_then(|path| Some((path, path.symlink_metadata().ok()?))) {
        Some((path, data)) => StoreError::WrongKind {
            path: path.to_owned(),
            found: data.file_type().into(),
            wanted: Kind::Folder,
        },
        None => StoreError::io("list the folder", folder, cause),
    }
}

/// Returns what the system tells of the entry; nothing if somebody took it since the folder was listed.
fn look(entry: &DirEntry) -> Result<Option<Metadata>, StoreError> {
    match entry.metadata() {
        Ok(metadata) => Ok(Some(metadata)),
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(StoreError::io("look at", &entry.path(), cause)),
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
        Some(name) if !is_readable(name) => Some(Oddity::Suffix),
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
