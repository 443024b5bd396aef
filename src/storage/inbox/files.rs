//! The inbox and what lies in it: which files may be read, and which are refused unread. Opens nothing.

use std::ffi::{OsStr, OsString};
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
/// The longest name of one, in bytes: a taken file's has its id and a visit besides.
pub(crate) const LONGEST_NAME: usize = 120;

/// The inbox of a project.
#[derive(Debug, Clone)]
pub(crate) struct Inbox<'p> {
    pub(crate) paths: &'p Paths,
}

/// A file of the inbox, taken or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InboxFile {
    pub shelf: InboxFolder,
    pub name: OsString,
}

/// The two folders of the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InboxFolder {
    /// Where files are dropped.
    Inbox,
    /// Where files stand while they are worked on.
    Taken,
}

impl InboxFolder {
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
    pub item: InboxFile,
    pub stat: FileStat,
    pub class: FileClass,
}

/// What may be done with a file in the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileClass {
    /// Take it.
    Ready,
    /// Take it if it can be read as a whole completion; else look again later: whoever closed it may add to it.
    Closed,
    /// Look again later: somebody is still writing it, or may be.
    Growing,
    /// Leave it alone: an editor's or a download's own file.
    Ignored,
    /// Refuse it: it can be no completion file, for this reason.
    Odd(String),
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
    pub(crate) fn peek(&self, item: &InboxFile) -> Result<Option<Vec<u8>>, StoreError> {
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
        FileClass::Ignored
    } else if !metadata.is_file() {
        FileClass::Odd(format!(
            "it is {}: put a file there, not a way to one",
            FileKind::from(metadata.file_type())
        ))
    } else if witnessed == Witnessed::Nothing && !quiet {
        FileClass::Growing
    } else if let Some(oddity) = oddity(&name, metadata) {
        FileClass::Odd(oddity)
    } else if witnessed == Witnessed::Closed && !quiet {
        FileClass::Closed
    } else {
        FileClass::Ready
    };
    Candidate { item: InboxFile { shelf: InboxFolder::Inbox, name }, stat, class }
}

/// Returns why an ordinary file can be no completion file, if it can be none.
fn oddity(name: &OsStr, metadata: &Metadata) -> Option<String> {
    let size = metadata.size();
    let why = match name.to_str() {
        None => "its name is not UTF-8: use letters and digits, as in `AOF-abc.yaml`",
        Some(name) if Syntax::of(name).is_none() => {
            "its name must end in `.yaml`, `.yml`, `.json` or `.md`, which says how to read it"
        }
        Some(name) if name.len() > LONGEST_NAME => "its name is too long: use at most 120 bytes",
        // Whoever has the other name could change what was read.
        Some(_) if metadata.nlink() > 1 => "it has a second name (a hard link): copy it instead",
        Some(_) if size > FILE_LIMIT => {
            return Some(format!(
                "it has {size} bytes, and the limit is {FILE_LIMIT}: put long texts into a file of the project and name that"
            ));
        }
        Some(_) => return None,
    };
    Some(why.to_owned())
}

/// Returns whether the last write is far from now. One that seems to lie ahead is far as well: writing sets the time to now,
/// so it was set by hand (`touch`), or the clock was set back.
fn is_quiet(stat: &FileStat, now: Timestamp) -> bool {
    let quiet = i128::try_from(QUIET.as_nanos()).unwrap_or(i128::MAX);
    (now.as_nanosecond() - i128::from(stat.mtime)).abs() >= quiet
}
