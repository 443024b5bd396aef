//! `.aof/inbox`: completion files. A file is in exactly one place at any time, even after a kill.
//!
//! A file is taken by renaming `NAME` to `.taken/ID-.VISIT@BRANCH@NAME`; from then on the completion has that id and is for that visit,
//! even after a crash. A file that names its visit, or no task, becomes `.taken/ID-NAME`. A kill leaves:
//! - before the rename: the file in the inbox, for the next delivery;
//! - after it: a [taken](Inbox::taken) file with its id, to be completed again; by the id it counts only once.
//!
//! Files whose names begin with a dot are never taken, so the mark is unambiguous.
//!
//! Nothing here needs the writer lock: two processes that take the same file race for one rename, and only the process that has a taken
//! file [open](Inbox::open) processes it.

use std::cmp::Reverse;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, DirEntry, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::fs::folder::list;
use super::fs::random::{ULID_LENGTH, is_ulid, random_local};
use super::layout::{INBOX, REFUSED, TAKEN, is_debris};
use super::lock::FileLock;
use super::{FileKind, FileStat, Folder, Paths, StoreError};
use crate::domain::{CompletionId, GateId, Ticket};
use crate::files::completion_file::Syntax;
use crate::system::crash_points;

/// The largest completion file that is read.
const FILE_LIMIT: u64 = 1024 * 1024;
/// The longest file name, in bytes: a taken file's name also has the id and a visit.
const LONGEST_NAME: usize = 120;
/// The time for which a file must be unchanged to count as complete, if its closing was not seen.
pub(crate) const QUIET: Duration = Duration::from_secs(2);
/// The suffix of a reason's file, after the name of the refused file.
const REASON: &str = ".reason.json";
/// The number of refused files of one name that get numbers.
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
    /// Its completion's id, once it is taken. A taken file without an id was not put there by aof.
    pub id: Option<CompletionId>,
    /// The visit that it was bound to when it was taken, or when it had to wait.
    pub visit: Option<VisitMark>,
    folder: &'static str,
    /// Its name there.
    file: OsString,
}

/// The visit, or branch of one, that a file is bound to; stored in the file's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VisitMark {
    pub visit: usize,
    /// The branch; `None` outside of forks, and if the file leaves it open.
    pub branch: Option<GateId>,
}

/// A file in the inbox that is not taken yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub file: InboxFile,
    pub stat: FileStat,
    pub class: FileClass,
}

/// The treatment of a file in the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileClass {
    /// Take it.
    Ready,
    /// Take it if it parses as a complete completion; otherwise check again later, since more may be appended.
    Closed,
    /// Check again later: it may still be being written.
    Growing,
    /// Ignore it: a temporary file of an editor or a download.
    Ignored,
    /// Refuse it: it cannot be a completion file, for this reason.
    Odd(String),
}

/// The event of a file in the inbox that the watcher saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Witnessed {
    /// The file was renamed into the inbox, so it is complete.
    Renamed,
    /// The file was closed after writing, and unchanged for a moment since.
    Closed,
    /// No event that shows whether the file is complete.
    Nothing,
}

/// A taken file, read and locked until this is dropped.
#[derive(Debug)]
pub(crate) struct OpenInboxFile {
    pub bytes: Vec<u8>,
    stat: FileStat,
    _lock: FileLock,
}

impl OpenInboxFile {
    /// Returns the time when the file was last changed or renamed.
    pub(crate) fn changed(&self) -> Option<Timestamp> {
        Timestamp::from_nanosecond(self.stat.ctime.into()).ok()
    }
}

impl InboxFile {
    fn dropped(file: OsString) -> Self {
        let name = file.to_string_lossy().into_owned();
        Self { name, id: None, visit: None, folder: INBOX, file }
    }

    /// Returns the taken file of this name.
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
    pub(crate) fn of(ticket: &Ticket) -> Option<Self> {
        Some(Self { visit: ticket.visit?, branch: ticket.branch.clone() })
    }

    /// Splits the name of a taken file, without its id, into the visit mark and the original name.
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
    pub(crate) fn at(paths: &'p Paths) -> Self {
        Self { paths }
    }

    /// Returns the files in the inbox, oldest first, without opening them. `witnessed` returns the event of a file that the watcher saw;
    /// an unwitnessed file is ready once it is unchanged for [`QUIET`].
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
                // The file was taken since the folder was listed.
                Err(cause) if cause.kind() == ErrorKind::NotFound => {}
                Err(cause) => return Err(StoreError::io("look at", &entry.path(), cause)),
            }
        }
        candidates.sort_by(|a, b| (a.stat.mtime, &a.file.file).cmp(&(b.stat.mtime, &b.file.file)));
        Ok(candidates)
    }

    fn entries(&self) -> Result<Vec<DirEntry>, StoreError> {
        let mut entries = list(&self.paths.inbox())?;
        entries.retain(|entry| entry.file_name() != ".taken");
        Ok(entries)
    }

    /// Returns the taken files, oldest ids first, including those of a killed process.
    pub(crate) fn taken(&self) -> Result<Vec<InboxFile>, StoreError> {
        let entries = list(&self.paths.taken())?;
        let mut names: Vec<OsString> = entries.iter().map(DirEntry::file_name).collect();
        names.sort();
        Ok(names.into_iter().map(InboxFile::taken).collect())
    }

    /// Takes a file under that id, and binds it to that visit; `None` if it is gone, because another process took it or its owner removed
    /// it. Not durable until [`Inbox::sync_taken`] returns.
    pub(crate) fn take(
        &self,
        file: &InboxFile,
        id: &CompletionId,
        visit: Option<&VisitMark>,
    ) -> Result<Option<InboxFile>, StoreError> {
        let mark = visit.map(ToString::to_string).unwrap_or_default();
        let name = taken_name(id, &mark, &file.file);
        crash_points::point("inbox.found");
        match self.folder(INBOX)?.move_new(&file.file, &self.folder(TAKEN)?, &name) {
            Ok(()) => {
                crash_points::point("inbox.taken");
                Ok(Some(InboxFile::taken(name)))
            }
            Err(StoreError::Gone { .. }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Syncs the names of the taken files.
    pub(crate) fn sync_taken(&self) -> Result<(), StoreError> {
        self.folder(TAKEN)?.sync()?;
        self.folder(INBOX)?.sync()
    }

    /// Removes the names that taken files had in the inbox. A power cut between the two syncs keeps both names on btrfs, and a file with
    /// two names would be refused.
    pub(crate) fn remove_old_names(&self, taken: &[InboxFile]) -> Result<(), StoreError> {
        let (inbox, folder) = (self.folder(INBOX)?, self.folder(TAKEN)?);
        let inode = |folder: &Folder, name: &OsStr| {
            let found = fs::symlink_metadata(folder.path().join(name)).ok()?;
            (found.is_file() && found.nlink() > 1).then(|| found.ino())
        };
        for file in taken {
            let found = inode(&folder, &file.file);
            if found.is_some() && inode(&inbox, OsStr::new(&file.name)) == found {
                inbox.remove(&file.name)?;
            }
        }
        Ok(())
    }

    /// Reads a file without taking it; `None` if it is gone.
    pub(crate) fn peek(&self, file: &InboxFile) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.folder(file.folder)?.read(&file.file, FILE_LIMIT)?.map(|(bytes, _)| bytes))
    }

    /// Locks and reads a taken file; `None` if another process has it open, or it is gone.
    pub(crate) fn open(&self, file: &InboxFile) -> Result<Option<OpenInboxFile>, StoreError> {
        let folder = self.folder(TAKEN)?;
        let Some((handle, metadata)) = folder.open_to_read(&file.file)? else { return Ok(None) };
        let path = folder.path().join(&file.file);
        let Some(lock) = FileLock::attempt(handle, &path)? else { return Ok(None) };
        // The previous holder of the lock may have removed or renamed the file since it was opened here.
        let read = folder.read(&file.file, FILE_LIMIT)?;
        let read = read.filter(|(_, stat)| stat.inode == metadata.ino());
        Ok(read.map(|(bytes, stat)| OpenInboxFile { bytes, stat, _lock: lock }))
    }

    /// Binds a taken file durably to a visit, by renaming it. A missing file is not an error. The caller has it open.
    pub(crate) fn mark(&self, file: &mut InboxFile, visit: &VisitMark) -> Result<(), StoreError> {
        let Some(id) = &file.id else { return Ok(()) };
        let folder = self.folder(TAKEN)?;
        let name = taken_name(id, &visit.to_string(), OsStr::new(&file.name));
        match folder.move_new(&file.file, &folder, &name) {
            Ok(()) => folder.sync()?,
            Err(StoreError::Gone { .. }) => return Ok(()),
            Err(fault) => return Err(fault),
        }
        *file = InboxFile::taken(name);
        Ok(())
    }

    /// Removes a taken file whose completion has counted, if it is still the file that was opened.
    pub(crate) fn remove_counted(
        &self,
        file: &InboxFile,
        open: &OpenInboxFile,
    ) -> Result<(), StoreError> {
        let folder = self.folder(TAKEN)?;
        match folder.stat(&file.file)? {
            None => Ok(()),
            // No fsync: the history has the id of a file that a power cut brings back.
            Some(stat) if (stat.inode, stat.size) == (open.stat.inode, open.stat.size) => {
                folder.remove(&file.file)
            }
            Some(_) => Err(StoreError::Changed { path: folder.path().join(&file.file) }),
        }
    }

    /// Returns the names of the refused files that are still there, newest first.
    pub(crate) fn refused(&self) -> Result<Vec<String>, StoreError> {
        let Some(folder) = Folder::open_existing(self.paths.root(), REFUSED)? else {
            return Ok(Vec::new());
        };
        let mut names = Vec::new();
        for entry in list(folder.path())? {
            let file = entry.file_name();
            let name = file.to_string_lossy().into_owned();
            if !name.ends_with(REASON) && !is_debris(&name) {
                // Sorted by the time of the reason, which was written at the refusal.
                let refused = folder.stat(with_reason(&file)).ok().flatten().map(|stat| stat.mtime);
                names.push((Reverse(refused), name));
            }
        }
        names.sort();
        Ok(names.into_iter().map(|(_, name)| name).collect())
    }

    /// Returns the visit that a refused file is for, if its reason names it.
    pub(crate) fn refused_ticket(&self, name: &str) -> Option<Ticket> {
        let folder = Folder::open_existing(self.paths.root(), REFUSED).ok()??;
        let reason: Value = folder.read_json(with_reason(name.as_ref())).ok()??;
        reason["ticket"].as_str()?.parse().ok()
    }

    /// Removes refused files and their reasons.
    pub(crate) fn remove_refused(&self, names: &[String]) -> Result<(), StoreError> {
        let refused = self.folder(REFUSED)?;
        names.iter().map(OsStr::new).try_for_each(|name| {
            refused.remove(name)?;
            refused.remove(with_reason(name))
        })
    }

    /// Moves a file and its reason to the refused ones under a free name. Returns the new path; `None` if the file is gone.
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
                // For a frequent name, counting further would take longer each time.
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

/// Returns the reason why an ordinary file cannot be a completion file; `None` if it can.
fn oddity(name: &OsStr, metadata: &Metadata) -> Option<String> {
    let size = metadata.size();
    let why = match name.to_str() {
        None => "its name is not UTF-8: use letters and digits, as in `AOF-abc.yaml`",
        Some(name) if Syntax::of(name).is_none() => {
            "its name must end in `.yaml`, `.yml`, `.json` or `.md`, which says how to read it"
        }
        Some(name) if name.len() > LONGEST_NAME => "its name is too long: use at most 120 bytes",
        // The file could be changed by its other name.
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

/// Returns whether the last write was long ago. A time in the future counts too: it was set by hand (`touch`), or the clock was set back.
fn is_quiet(metadata: &Metadata, now: Timestamp) -> bool {
    let age = now.as_nanosecond() - i128::from(FileStat::of(metadata).mtime);
    age.unsigned_abs() >= QUIET.as_nanos()
}

fn taken_name(id: &CompletionId, mark: &str, name: &OsStr) -> OsString {
    let mut taken = OsString::from(format!("{id}-{mark}"));
    taken.push(name);
    taken
}

/// Returns a file's original name, truncated if too long to add a number and the reason's suffix.
fn refused_name(file: &InboxFile) -> OsString {
    let name = if file.id.is_some() { OsStr::new(&file.name) } else { &file.file };
    if name.len() <= LONGEST_NAME {
        return name.to_owned();
    }
    name.to_string_lossy().chars().take(LONGEST_NAME / 4).collect::<String>().into()
}

/// Writes the reason, then moves the file, so that no refused file lacks a reason. Fails if either name is taken, except by the
/// same reason without a file, which a kill left.
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
        // A left-over reason would only confuse; the error counts.
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
