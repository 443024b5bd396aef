//! Errors of files, each with the path, the cause, and a hint.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, io};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rustix::fs::{FileType, Stat};
use serde::{Deserialize, Serialize};

use super::project_path::{BadPath, ProjectPath};
use crate::domain::{Advice, Remedy, TaskId, advice};
use crate::system::disk::NotSynced;

/// A file that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A system call failed; `doing` is a verb.
    #[error("cannot {doing} `{}`: {}", path.display(), plain(cause))]
    Io { doing: &'static str, path: PathBuf, cause: io::Error },
    /// A file was written, but its sync to the disk failed.
    #[error("`{}` was written, but the disk did not confirm it: {}", path.display(), plain(cause))]
    NotDurable { path: PathBuf, cause: io::Error },
    /// No project in the folder where the search began, or above it.
    #[error("no project at `{}` or above it", start.display())]
    NoProject { start: PathBuf },
    #[error(transparent)]
    BadPath(#[from] BadPath),
    /// A symlink, pipe, device or folder where a file (or a folder) is wanted.
    #[error("`{}` is {found}, not {wanted}", path.display())]
    WrongKind { path: PathBuf, found: FileKind, wanted: FileKind },
    #[error("`{}` has {size} bytes, and the limit is {limit}", path.display())]
    TooLarge { path: PathBuf, size: u64, limit: u64 },
    /// A file that changed on every attempt to read it.
    #[error("`{}` is being written", path.display())]
    Unsteady { path: PathBuf },
    #[error("`{}` is gone", path.display())]
    Gone { path: PathBuf },
    #[error("`{}` has changed since it was read", path.display())]
    Changed { path: PathBuf },
    #[error("`{}` already exists", path.display())]
    Exists { path: PathBuf },
    #[error("no task `{id}`")]
    TaskNotFound { id: TaskId },
    /// Two or more files of one task.
    #[error("task `{id}` has {} files: {}", paths.len(), listed(paths))]
    TaskDoubled { id: TaskId, paths: Vec<ProjectPath> },
    /// Another process held a lock for longer than the wait; `holder` is the one that the lock file names.
    #[error("waited {} for `{}`{}", seconds(*waited), path.display(), held_by(holder.as_ref()))]
    LockTimedOut { path: PathBuf, waited: Duration, holder: Option<Holder> },
    /// A network file system, whose locks do not bind other machines; `kind` includes its article.
    #[error("`{}` is on {kind}, where a lock does not hold between machines", path.display())]
    NetworkFileSystem { path: PathBuf, kind: &'static str },
    #[error("cannot get random numbers from the system: {reason}")]
    Random { reason: String },
}

/// The process that holds a lock, as recorded in the lock file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    /// Its command: `aof complete`.
    pub command: String,
    pub since: Timestamp,
}

impl Holder {
    /// Returns the record of this process.
    pub(crate) fn this_process(command: impl Into<String>, since: Timestamp) -> Self {
        Self { pid: std::process::id(), command: command.into(), since }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let command = self.command.escape_debug();
        let since = self.since.to_zoned(TimeZone::system());
        write!(f, "`{command}` (process {}, since {})", self.pid, since.strftime("%b %-d, %H:%M"))
    }
}

impl StoreError {
    /// Returns the error of a system call at a path.
    pub(crate) fn io(doing: &'static str, path: &Path, cause: impl Into<io::Error>) -> Self {
        Self::Io { doing, path: path.to_owned(), cause: cause.into() }
    }

    /// Returns whether the error is a missing right to write.
    pub(crate) fn is_read_only(&self) -> bool {
        use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        matches!(self, Self::Io { cause, .. } if matches!(cause.kind(), PermissionDenied | ReadOnlyFilesystem))
    }

    /// Returns the hint for fixing it.
    pub fn hint(&self) -> Option<Advice> {
        Some(match self {
            Self::Io { doing, path, cause } => return io_hint(doing, path, cause).map(Advice::from),
            Self::NotDurable { .. } => advice![
                "what was to be done is done, unless the power fails before the disk has it: look with ",
                Remedy::Show,
                " before you say it again, and check the disk (`dmesg`)",
            ],
            Self::NoProject { .. } => {
                advice!["start one with ", Remedy::Init, ", or name its folder with `-C DIR`"]
            }
            Self::BadPath(_) => {
                "use a path below the project's folder, with `/` between its parts and no `..`".into()
            }
            Self::WrongKind { found: FileKind::Symlink, path, .. } => {
                format!("git does not follow links either: replace `{}` by what it points to", path.display()).into()
            }
            Self::WrongKind { path, .. } => format!("move `{}` out of the way", path.display()).into(),
            Self::TooLarge { .. } => {
                "move long texts and logs into a file of their own, and name that file in the task".into()
            }
            Self::Unsteady { .. } => "wait until the program that writes it is done, then run the command again".into(),
            Self::Gone { .. } | Self::Changed { .. } => {
                "run the command again: it starts from what stands there now".into()
            }
            Self::Exists { path } => format!("move `{}` away, then run the command again", path.display()).into(),
            Self::TaskNotFound { .. } => advice!["see the ids with ", Remedy::List],
            Self::TaskDoubled { .. } => {
                "keep the right one and remove the others (`git log -- PATH` shows where each comes from)".into()
            }
            Self::LockTimedOut { holder: Some(holder), .. } => {
                format!("wait for process {} to end, or wait longer with `--wait 60s`; nothing was written", holder.pid).into()
            }
            Self::LockTimedOut { holder: None, .. } => "wait longer with `--wait 60s`; nothing was written".into(),
            Self::NetworkFileSystem { .. } => {
                "clone the repository to a local disk and work there; git carries the changes".into()
            }
            Self::Random { .. } => return None,
        })
    }
}

impl From<NotSynced> for StoreError {
    fn from(fault: NotSynced) -> Self {
        Self::NotDurable { path: fault.path, cause: fault.cause }
    }
}

/// Adds the action and the path to the error of a system call.
pub(crate) trait OrIo<T> {
    fn or_io(self, doing: &'static str, path: impl AsRef<Path>) -> Result<T, StoreError>;
}

impl<T, E: Into<io::Error>> OrIo<T> for Result<T, E> {
    fn or_io(self, doing: &'static str, path: impl AsRef<Path>) -> Result<T, StoreError> {
        self.map_err(|cause| StoreError::io(doing, path.as_ref(), cause))
    }
}

/// Returns the hint for an I/O error at a path, by the action.
pub(crate) fn io_hint(doing: &str, path: &Path, cause: &io::Error) -> Option<String> {
    // Creating, renaming and removing need rights on the folder, not on the file.
    let needs_folder =
        ["create", "lock", "look at", "make", "make the folder", "move", "remove", "replace"]
            .contains(&doing);
    let parent = path.parent().filter(|folder| needs_folder && !folder.as_os_str().is_empty());
    Some(match cause.kind() {
        io::ErrorKind::StorageFull => {
            "make room on that disk, then run the command again; nothing was lost".into()
        }
        io::ErrorKind::QuotaExceeded => {
            "make room in your quota, then run the command again; nothing was lost".into()
        }
        io::ErrorKind::PermissionDenied => format!(
            "see who owns it with `ls -ld '{}'`, and give yourself the right to read and write there",
            parent.unwrap_or(path).display()
        ),
        io::ErrorKind::ReadOnlyFilesystem => {
            "mount that file system for writing, or work in a clone elsewhere".into()
        }
        io::ErrorKind::CrossesDevices => {
            format!(
                "`{}` is on another file system; keep the project's folders on one",
                path.display()
            )
        }
        io::ErrorKind::IsADirectory => format!("move `{}` out of the way", path.display()),
        _ if cause.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
            "raise the limit of open files (`ulimit -n 1024`), then run the command again".into()
        }
        _ => return None,
    })
}

/// Returns the system's message as part of a sentence.
pub(crate) fn plain(cause: &io::Error) -> String {
    let text = cause.to_string();
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => text,
    }
}

/// Returns a time in seconds, rounded to tenths.
fn seconds(time: Duration) -> String {
    let tenths = (time.as_secs_f64() * 10.0).round() / 10.0;
    format!("{tenths} s")
}

fn listed(paths: &[ProjectPath]) -> String {
    paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ")
}

fn held_by(holder: Option<&Holder>) -> String {
    holder.map_or_else(String::new, |holder| format!(", held by {holder}"))
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    File,
    Folder,
    Symlink,
    /// A named pipe, a socket, a device.
    Special,
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::Symlink => "a symbolic link",
            Self::Special => "a pipe, socket or device",
        })
    }
}

impl From<FileType> for FileKind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Symlink,
            _ => Self::Special,
        }
    }
}

impl From<fs::FileType> for FileKind {
    fn from(kind: fs::FileType) -> Self {
        match kind {
            _ if kind.is_file() => Self::File,
            _ if kind.is_dir() => Self::Folder,
            _ if kind.is_symlink() => Self::Symlink,
            _ => Self::Special,
        }
    }
}

/// Metadata that distinguishes versions of a file without reading it. If it differs, the file was touched; if it is equal, the
/// file is probably the same. Times are in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FileStat {
    /// The time when the content was written. Programs can set it.
    pub mtime: i64,
    /// The time when the file or its metadata last changed.
    pub ctime: i64,
    pub size: u64,
    pub inode: u64,
}

impl FileStat {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            mtime: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            ctime: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            size: metadata.size(),
            inode: metadata.ino(),
        }
    }

    /// Returns the metadata from a `stat` call in an open folder.
    pub(crate) fn of_stat(stat: &Stat) -> Self {
        Self {
            mtime: nanoseconds(stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0)),
            ctime: nanoseconds(stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0)),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            inode: stat.st_ino,
        }
    }
}

fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    #[test]
    fn the_system_s_refusals_come_with_a_place_and_a_way_out() {
        for (errno, word) in [
            (Errno::NOSPC, "make room"),
            (Errno::DQUOT, "quota"),
            (Errno::ACCESS, "ls -ld 'tasks/AOF-abc.md'"),
            (Errno::ROFS, "mount"),
            (Errno::XDEV, "another file system"),
            (Errno::MFILE, "ulimit"),
        ] {
            let fault = StoreError::io("write", Path::new("tasks/AOF-abc.md"), errno);
            let text = fault.to_string();
            assert!(text.starts_with("cannot write `tasks/AOF-abc.md`: "), "{text}");
            let hint = fault.hint().unwrap_or_default().to_string();
            assert!(hint.contains(word), "{text}: {hint}");
        }
        for (doing, place) in
            [("move", ".aof/inbox"), ("make", ".aof/inbox"), ("read", ".aof/inbox/done.yaml")]
        {
            let fault = StoreError::io(doing, Path::new(".aof/inbox/done.yaml"), Errno::ACCESS);
            let hint = fault.hint().unwrap_or_default().to_string();
            assert!(hint.contains(&format!("`ls -ld '{place}'`")), "{doing}: {hint}");
        }
        let fault = StoreError::io("read", Path::new("x"), Errno::NOSPC);
        assert_eq!(fault.to_string(), "cannot read `x`: no space left on device (os error 28)");
        assert_eq!(StoreError::io("read", Path::new("x"), Errno::IO).hint(), None);
    }

    #[test]
    fn a_wait_is_reported_with_its_length() {
        for (milliseconds, text) in
            [(0, "0 s"), (1_004, "1 s"), (949, "0.9 s"), (250, "0.3 s"), (10_020, "10 s")]
        {
            assert_eq!(seconds(Duration::from_millis(milliseconds)), text);
        }
    }
}
