//! `.aof/inbox`: completion files. A file is in exactly one place at any time, whoever dies when.
//!
//! `NAME` is taken by renaming it to `.taken/ID-NAME`; from then on that id is the completion's, over crashes. A kill leaves:
//! - before the rename: the file in the inbox, to be taken by whoever looks next;
//! - after it: the file among the [`Inbox::taken`] ones, with its id, to be completed (again: the id makes it count once).
//!
//! A taken file that has to wait is renamed once more, to `.taken/ID-.VISIT@BRANCH@NAME`. No file is taken whose name begins with
//! a dot, so no name is mistaken for one with such a mark.
//!
//! Nothing here needs the writer lock: two who take the same file race for one rename, and whoever has a taken file
//! [open](Inbox::open) is the only one who works on it.

use std::cmp::Reverse;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{DirEntry, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::fs::folder::list;
use super::fs::random::{ULID_LENGTH, is_ulid, random_local};
use super::layout::{INBOX, REFUSED, TAKEN, is_debris};
use super::lock::FileLock;
use super::{FileKind, FileStat, Folder, Paths, StoreError};
use crate::domain::{CompletionId, GateId};
use crate::files::completion_file::Syntax;
use crate::system::crash_points;

/// The largest completion file that is read.
const FILE_LIMIT: u64 = 1024 * 1024;
/// The longest name of one, in bytes: a taken file's has its id and a visit besides.
const LONGEST_NAME: usize = 120;
/// How long a file must have been left alone before it counts as written, when nobody saw it being closed.
pub(crate) const QUIET: Duration = Duration::from_secs(2);
/// What the file of a reason ends with, after the name of the refused file.
const REASON: &str = ".reason.json";
/// How many refused files of one name are numbered.
const COUNTED: usize = 9;

/// The inbox of a project.
#[derive(Debug, Clone)]
pub(crate) struct Inbox<'p> {
    paths: &'p Paths,
}

/// A file of the inbox, taken or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InboxFile {
    /// The name that it was dropped under.
    pub name: String,
    /// Its completion's id, once it is taken. A file among the taken ones without an id was put there by somebody else.
    pub id: Option<CompletionId>,
    /// The visit that it was found to mean when it had to wait.
    pub visit: Option<VisitMark>,
    folder: &'static str,
    /// Its name there.
    file: OsString,
}

/// A visit of the task that a file is about, or a branch of one; kept over crashes in the file's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VisitMark {
    pub visit: usize,
    /// The branch; absent outside of forks, and where it was left open.
    pub branch: Option<GateId>,
}

/// Something in the inbox that is not taken yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub file: InboxFile,
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

/// A taken file, read. Nobody else works on it until this is dropped.
#[derive(Debug)]
pub(crate) struct OpenInboxFile {
    pub bytes: Vec<u8>,
    stat: FileStat,
    _lock: FileLock,
}

impl InboxFile {
    fn dropped(file: OsString) -> Self {
        let name = file.to_string_lossy().into_owned();
        Self { name, id: None, visit: None, folder: INBOX, file }
    }

    /// Returns the file that has this name among the taken ones.
    fn taken(file: OsString) -> Self {
        let parts = file.to_str().and_then(|text| {
            let (id, rest) = text.split_at_checked(ULID_LENGTH).filter(|(id, _)| is_ulid(id))?;
            let (visit, name) = VisitMark::split(rest.strip_prefix('-')?);
            Some((id.parse().ok()?, visit, name.to_owned()))
        });
        let Some((id, visit, name)) = parts else {
            return Self { folder: TAKEN, ..Self::dropped(file) };
        };
        Self { name, id: Some(id), visit, folder: TAKEN, file }
    }

    pub(crate) fn is_taken(&self) -> bool {
        self.folder == TAKEN
    }
}

impl VisitMark {
    /// Divides the name of a taken file, without its id, into the mark and the name that it was dropped under.
    fn split(name: &str) -> (Option<Self>, &str) {
        let marked = || {
            let (visit, rest) = name.strip_prefix('.')?.split_once('@')?;
            let (branch, name) = rest.split_once('@')?;
            let visit = Some(visit).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
            let branch = if branch.is_empty() { None } else { Some(branch.parse().ok()?) };
            Some((Self { visit: visit?.parse().ok()?, branch }, name))
        };
        marked().map_or((None, name), |(mark, name)| (Some(mark), name))
    }
}

impl fmt::Display for VisitMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}@{}@", self.visit, self.branch.as_ref().map_or("", GateId::as_str))
    }
}

impl<'p> Inbox<'p> {
    /// Returns the inbox of that project.
    pub(crate) fn of(paths: &'p Paths) -> Self {
        Self { paths }
    }

    /// Returns what is in the inbox, the oldest first, without opening it. `witnessed` tells what the watcher saw of the file of that
    /// name; without such a witness a file is ready once nobody has written to it for [`QUIET`].
    pub(crate) fn scan(
        &self,
        now: Timestamp,
        witnessed: &dyn Fn(&OsStr) -> Witnessed,
    ) -> Result<Vec<Candidate>, StoreError> {
        let mut candidates = Vec::new();
        for entry in self.entries()? {
            let name = entry.file_name();
            match entry.metadata() {
                Ok(metadata) => {
                    let class = class_of(&name, &metadata, now, witnessed(&name));
                    let stat = FileStat::of(&metadata);
                    candidates.push(Candidate { file: InboxFile::dropped(name), stat, class });
                }
                // Somebody took it since the folder was listed.
                Err(cause) if cause.kind() == ErrorKind::NotFound => {}
                Err(cause) => return Err(StoreError::io("look at", &entry.path(), cause)),
            }
        }
        candidates.sort_by(|a, b| (a.stat.mtime, &a.file.file).cmp(&(b.stat.mtime, &b.file.file)));
        Ok(candidates)
    }

    /// Returns the names of what is in the inbox, each with its inode. Asks nothing of the files.
    pub(crate) fn names(&self) -> Result<Vec<(OsString, u64)>, StoreError> {
        Ok(self.entries()?.iter().map(|entry| (entry.file_name(), entry.ino())).collect())
    }

    fn entries(&self) -> Result<Vec<DirEntry>, StoreError> {
        let mut entries = list(&self.paths.inbox())?;
        entries.retain(|entry| entry.file_name() != ".taken");
        Ok(entries)
    }

    /// Returns what stands taken: after a crash, the files of whoever was killed; the oldest ids first.
    pub(crate) fn taken(&self) -> Result<Vec<InboxFile>, StoreError> {
        let entries = list(&self.paths.taken())?;
        let mut names: Vec<OsString> = entries.iter().map(DirEntry::file_name).collect();
        names.sort();
        Ok(names.into_iter().map(InboxFile::taken).collect())
    }

    /// Takes a file under that id; nothing if it is gone: somebody else was faster, or its owner took it back. A power cut may
    /// take that back until [`Inbox::sync_taken`] returns.
    pub(crate) fn take(
        &self,
        file: &InboxFile,
        id: &CompletionId,
    ) -> Result<Option<InboxFile>, StoreError> {
        let name = taken_name(id, "", &file.file);
        match self.folder(INBOX)?.move_new(&file.file, &self.folder(TAKEN)?, &name) {
            Ok(()) => Ok(Some(InboxFile::taken(name))),
            Err(StoreError::Gone { .. }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Has the ids of what stands taken survive a power cut.
    pub(crate) fn sync_taken(&self) -> Result<(), StoreError> {
        self.folder(TAKEN)?.sync()?;
        self.folder(INBOX)?.sync()
    }

    /// Reads a file without taking it; nothing if it is gone.
    pub(crate) fn peek(&self, file: &InboxFile) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.folder(file.folder)?.read(&file.file, FILE_LIMIT)?.map(|(bytes, _)| bytes))
    }

    /// Locks and reads a taken file; nothing where another process works on it, or where it is gone.
    pub(crate) fn open(&self, file: &InboxFile) -> Result<Option<OpenInboxFile>, StoreError> {
        let folder = self.folder(TAKEN)?;
        let Some((handle, metadata)) = folder.open_to_read(&file.file)? else { return Ok(None) };
        let path = folder.path().join(&file.file);
        let Some(lock) = FileLock::attempt(handle, &path)? else { return Ok(None) };
        // The lock goes with the file wherever that is moved: whoever had it until now may have settled it since it was opened.
        let read = folder.read(&file.file, FILE_LIMIT)?;
        let read = read.filter(|(_, stat)| stat.inode == metadata.ino());
        Ok(read.map(|(bytes, stat)| OpenInboxFile { bytes, stat, _lock: lock }))
    }

    /// Has a taken file say which visit it means, over crashes too; one that is gone need not. Whoever does so has it open.
    pub(crate) fn mark(&self, file: &InboxFile, visit: &VisitMark) -> Result<(), StoreError> {
        let Some(id) = &file.id else { return Ok(()) };
        let folder = self.folder(TAKEN)?;
        let name = taken_name(id, &visit.to_string(), OsStr::new(&file.name));
        match folder.move_new(&file.file, &folder, &name) {
            Ok(()) => folder.sync(),
            Err(StoreError::Gone { .. }) => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    /// Removes a taken file whose completion is in the history, if it still is the file that was opened.
    pub(crate) fn settle(&self, file: &InboxFile, open: &OpenInboxFile) -> Result<(), StoreError> {
        let folder = self.folder(TAKEN)?;
        match folder.stat(&file.file)? {
            None => Ok(()),
            // No fsync: a file that comes back has its id, and the history knows it.
            Some(stat) if (stat.inode, stat.size) == (open.stat.inode, open.stat.size) => {
                folder.remove(&file.file)
            }
            Some(_) => Err(StoreError::Changed { path: folder.path().join(&file.file) }),
        }
    }

    /// Returns the names of the files that were refused, and that nobody took away, the last one first.
    pub(crate) fn refused(&self) -> Result<Vec<String>, StoreError> {
        let Some(folder) = Folder::open_existing(self.paths.root(), REFUSED)? else {
            return Ok(Vec::new());
        };
        let mut names = Vec::new();
        for entry in list(folder.path())? {
            let file = entry.file_name();
            let name = file.to_string_lossy().into_owned();
            if !name.ends_with(REASON) && !is_debris(&name) {
                // The reason was written when it was refused; the file may be as old as it likes.
                let refused = folder.stat(with_reason(&file)).ok().flatten().map(|stat| stat.mtime);
                names.push((Reverse(refused), name));
            }
        }
        names.sort();
        Ok(names.into_iter().map(|(_, name)| name).collect())
    }

    /// Moves a file to the refused ones under a name that is free, beside its reason, and returns where it is now; nothing if it is gone.
    pub(crate) fn refuse(
        &self,
        file: &InboxFile,
        reason: &Value,
    ) -> Result<Option<PathBuf>, StoreError> {
        let from = self.folder(file.folder)?;
        let refused = self.folder(REFUSED)?;
        let text = format!("{reason:#}\n");
        let wanted = refused_name(file);
        if from.kind(&file.file)?.is_none() {
            return Ok(None);
        }
        let mut attempt = 1;
        loop {
            let name = match attempt {
                1 => wanted.clone(),
                2..=COUNTED => tagged(&wanted, &attempt.to_string()),
                // A name that everybody uses: counting on would take longer each time.
                _ => tagged(&wanted, &random_local(6)?),
            };
            match put_aside(&from, &file.file, &refused, &name, text.as_bytes()) {
                Ok(()) => {
                    refused.sync()?;
                    from.sync()?;
                    return Ok(Some(refused.path().join(name)));
                }
                Err(StoreError::Exists { .. }) => attempt += 1,
                Err(StoreError::Gone { .. }) => return Ok(None),
                Err(fault) => return Err(fault),
            }
        }
    }

    fn folder(&self, inside: &str) -> Result<Folder, StoreError> {
        Folder::create(self.paths.root(), inside)
    }
}

fn class_of(name: &OsStr, metadata: &Metadata, now: Timestamp, witnessed: Witnessed) -> FileClass {
    let is_quiet = is_quiet(metadata, now);
    if name.to_str().is_some_and(is_debris) {
        FileClass::Ignored
    } else if !metadata.is_file() {
        let kind = FileKind::from(metadata.file_type());
        FileClass::Odd(format!("it is {kind}: put a file there, not a way to one"))
    } else if witnessed == Witnessed::Nothing && !is_quiet {
        FileClass::Growing
    } else if let Some(oddity) = oddity(name, metadata) {
        FileClass::Odd(oddity)
    } else if witnessed == Witnessed::Closed && !is_quiet {
        FileClass::Closed
    } else {
        FileClass::Ready
    }
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
fn is_quiet(metadata: &Metadata, now: Timestamp) -> bool {
    let age = now.as_nanosecond() - i128::from(FileStat::of(metadata).mtime);
    age.unsigned_abs() >= QUIET.as_nanos()
}

fn taken_name(id: &CompletionId, mark: &str, name: &OsStr) -> OsString {
    let mut taken = OsString::from(format!("{id}-{mark}"));
    taken.push(name);
    taken
}

/// Returns the name that a file came under, cut where that leaves no room for a number and for the reason's suffix.
fn refused_name(file: &InboxFile) -> OsString {
    let name = if file.id.is_some() { OsStr::new(&file.name) } else { &file.file };
    if name.len() <= LONGEST_NAME {
        return name.to_owned();
    }
    name.to_string_lossy().chars().take(LONGEST_NAME / 4).collect::<String>().into()
}

/// Writes the reason, then moves the file, so that no file is without. What has the name of either keeps it; but the same reason
/// without a file is what a kill left in between.
fn put_aside(
    from: &Folder,
    file: &OsStr,
    refused: &Folder,
    name: &OsStr,
    text: &[u8],
) -> Result<(), StoreError> {
    if refused.kind(name)?.is_some() {
        return Err(StoreError::Exists { path: refused.path().join(name) });
    }
    let reason = with_reason(name);
    match refused.create_new(&reason, text) {
        Err(StoreError::Exists { path }) => {
            let standing = refused.read(&reason, FILE_LIMIT).ok().flatten();
            if standing.is_none_or(|(standing, _)| standing != text) {
                return Err(StoreError::Exists { path });
            }
        }
        created => created?,
    }
    crash_points::point("inbox.reason-written");
    from.move_new(file, refused, name).inspect_err(|_| {
        // A reason for nothing confuses, no more; the fault is what counts.
        if let Ok(None) = refused.kind(name) {
            let _ = refused.remove(&reason);
        }
    })
}

fn with_reason(name: &OsStr) -> OsString {
    let mut reason = name.to_owned();
    reason.push(REASON);
    reason
}

/// Returns the name with a tag before its suffix: `done-2.yaml`.
fn tagged(name: &OsStr, tag: &str) -> OsString {
    let path = Path::new(name);
    let mut tagged = path.file_stem().unwrap_or(name).to_owned();
    tagged.push(format!("-{tag}"));
    if let Some(suffix) = path.extension() {
        tagged.push(".");
        tagged.push(suffix);
    }
    tagged
}

#[cfg(test)]
mod tests;
