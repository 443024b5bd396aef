//! What can go wrong with files: each case says where, why, and (as a hint) what to do.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::file_info::Kind;
use super::holder::Holder;
use super::project_path::{BadPath, ProjectPath};
use crate::domain::TaskId;
use crate::system::disk::NotSynced;

/// A fault of the file floor.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused.
    #[error("cannot {doing} `{}`: {}", path.display(), plain(cause))]
    Io {
        /// What was tried: a verb.
        doing: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// A file stands as it should, but the disk did not confirm that it will survive a power cut.
    #[error("`{}` was written, but the disk did not confirm it: {}", path.display(), plain(cause))]
    NotDurable {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// No project around the place where the search began.
    #[error("no project at `{}` or above it", start.display())]
    NoProject {
        /// Where the search began.
        start: PathBuf,
    },
    /// A path that does not name a place inside the project.
    #[error(transparent)]
    BadPath(#[from] BadPath),
    /// A symlink, pipe, device or folder where a file (or a folder) is wanted.
    #[error("`{}` is {found}, not {wanted}", path.display())]
    WrongKind {
        /// Where.
        path: PathBuf,
        /// What stands there.
        found: Kind,
        /// What should.
        wanted: Kind,
    },
    /// A file larger than anything of its sort may be.
    #[error("`{}` has {size} bytes, and the limit is {limit}", path.display())]
    TooLarge {
        /// Where.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
        /// The most that is read.
        limit: u64,
    },
    /// A file that changed on every attempt to read it.
    #[error("`{}` is being written", path.display())]
    Unsteady {
        /// Where.
        path: PathBuf,
    },
    /// No file where one was expected.
    #[error("`{}` is gone", path.display())]
    Gone {
        /// Where it should be.
        path: PathBuf,
    },
    /// The content is not what the writer had read.
    #[error("`{}` has changed since it was read", path.display())]
    Changed {
        /// Where.
        path: PathBuf,
    },
    /// The name is taken.
    #[error("`{}` already exists", path.display())]
    Exists {
        /// Where.
        path: PathBuf,
    },
    /// No file of that task.
    #[error("no task `{id}`")]
    TaskNotFound {
        /// What was looked for.
        id: TaskId,
    },
    /// Several files claim to be one task.
    #[error("task `{id}` has {} files: {}", paths.len(), listed(paths))]
    TaskDoubled {
        /// The task.
        id: TaskId,
        /// Its files, two or more.
        paths: Vec<ProjectPath>,
    },
    /// Somebody else kept the writer lock for longer than the wait.
    #[error("waited {} for `{}`{}", seconds(*waited), path.display(), held_by(holder.as_ref()))]
    LockTimedOut {
        /// The lock file.
        path: PathBuf,
        /// How long.
        waited: Duration,
        /// Who has it, as far as the lock file tells.
        holder: Option<Holder>,
    },
    /// A file system whose locks bind no other machine.
    #[error("`{}` is on {kind}, where a lock does not hold between machines", path.display())]
    NetworkFileSystem {
        /// Where.
        path: PathBuf,
        /// The kind of file system, with its article where it needs one.
        kind: &'static str,
    },
    /// The system gives no random numbers.
    #[error("cannot get random numbers from the system: {reason}")]
    Random {
        /// What the system said.
        reason: String,
    },
}

impl StoreError {
    /// Returns the fault of a system call at a path.
    pub(crate) fn io(doing: &'static str, path: &Path, cause: impl Into<io::Error>) -> Self {
        Self::Io { doing, path: path.to_owned(), cause: cause.into() }
    }

    /// Returns whether it is only that nothing may be written there.
    pub fn is_read_only(&self) -> bool {
        let kind = match self {
            Self::Io { cause, .. } => cause.kind(),
            _ => return false,
        };
        matches!(kind, io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
    }

    /// Returns what to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Io { doing, path, cause } => return io_hint(doing, path, cause),
            Self::NotDurable { .. } => {
                "what was to be done is done, unless the power fails before the disk has it: look with `aof task show` before you say \
                 it again, and check the disk (`dmesg`)"
                    .into()
            }
            Self::NoProject { .. } => "start one with `aof init`, or name its folder with `-C DIR`".into(),
            Self::BadPath(_) => {
                "use a path below the project's folder, with `/` between its parts and no `..`".into()
            }
            Self::WrongKind { found: Kind::Symlink, path, .. } => {
                format!("git does not follow links either: replace `{}` by what it points to", path.display())
            }
            Self::WrongKind { path, .. } => format!("move `{}` out of the way", path.display()),
            Self::TooLarge { .. } => {
                "move long texts and logs into a file of their own, and name that file in the task".into()
            }
            Self::Unsteady { .. } => "wait until the program that writes it is done, then run the command again".into(),
            Self::Gone { .. } | Self::Changed { .. } => {
                "run the command again: it starts from what stands there now".into()
            }
            Self::Exists { path } => format!("move `{}` away, then run the command again", path.display()),
            Self::TaskNotFound { .. } => "see the ids with `aof task list`".into(),
            Self::TaskDoubled { .. } => {
                "keep the right one and remove the others (`git log -- PATH` shows where each comes from)".into()
            }
            Self::LockTimedOut { holder: Some(holder), .. } => {
                format!("wait for process {} to end, or wait longer with `--wait 60s`; nothing was written", holder.pid)
            }
            Self::LockTimedOut { holder: None, .. } => "wait longer with `--wait 60s`; nothing was written".into(),
            Self::NetworkFileSystem { .. } => {
                "clone the repository to a local disk and work there; git carries the changes".into()
            }
            Self::Random { .. } => return None,
        })
    }
}

/// Returns what to do about an i/o error at a path, by what was tried there.
pub fn io_hint(doing: &str, path: &Path, cause: &io::Error) -> Option<String> {
    // Whether a name may come, go or change is its folder's to say, whoever owns the file; a lock is a name that comes.
    let is_of_the_folder =
        ["create", "lock", "look at", "make", "make the folder", "move", "remove", "replace"]
            .contains(&doing);
    let denied = matches!(cause.kind(), io::ErrorKind::PermissionDenied);
    let folder =
        path.parent().filter(|folder| is_of_the_folder && denied && !folder.as_os_str().is_empty());
    let place = folder.unwrap_or(path).display();
    Some(match cause.kind() {
        io::ErrorKind::StorageFull => {
            "make room on that disk, then run the command again; nothing was lost".into()
        }
        io::ErrorKind::QuotaExceeded => {
            "make room in your quota, then run the command again; nothing was lost".into()
        }
        io::ErrorKind::PermissionDenied => {
            format!(
                "see who owns it with `ls -ld '{place}'`, and give yourself the right to read and write there"
            )
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "mount that file system for writing, or work in a clone elsewhere".into()
        }
        io::ErrorKind::CrossesDevices => {
            format!("`{place}` is on another file system; keep the project's folders on one")
        }
        io::ErrorKind::IsADirectory => format!("move `{}` out of the way", path.display()),
        _ if cause.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
            "raise the limit of open files (`ulimit -n 1024`), then run the command again".into()
        }
        _ => return None,
    })
}

/// Returns what the system said, as part of a sentence.
pub(crate) fn plain(cause: &io::Error) -> String {
    let text = cause.to_string();
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => text,
    }
}

/// Returns a time in seconds, with a tenth where that says more.
fn seconds(time: Duration) -> String {
    let tenths = (time.as_secs_f64() * 10.0).round() / 10.0;
    format!("{tenths} s")
}

fn listed(paths: &[ProjectPath]) -> String {
    let shown: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
    shown.join(", ")
}

fn held_by(holder: Option<&Holder>) -> String {
    holder.map_or_else(String::new, |holder| format!(", held by {holder}"))
}

impl From<NotSynced> for StoreError {
    fn from(fault: NotSynced) -> Self {
        Self::NotDurable { path: fault.path, cause: fault.cause }
    }
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
            let hint = fault.hint().unwrap_or_default();
            assert!(hint.contains(word), "{text}: {hint}");
        }
        for (doing, place) in
            [("move", ".aof/inbox"), ("make", ".aof/inbox"), ("read", ".aof/inbox/done.yaml")]
        {
            let fault = StoreError::io(doing, Path::new(".aof/inbox/done.yaml"), Errno::ACCESS);
            let hint = fault.hint().unwrap_or_default();
            assert!(hint.contains(&format!("`ls -ld '{place}'`")), "{doing}: {hint}");
        }
        let fault = StoreError::io("read", Path::new("x"), Errno::NOSPC);
        assert_eq!(fault.to_string(), "cannot read `x`: no space left on device (os error 28)");
        assert_eq!(StoreError::io("read", Path::new("x"), Errno::IO).hint(), None);
    }

    #[test]
    fn a_wait_is_told_as_long_as_it_was() {
        for (milliseconds, said) in
            [(0, "0 s"), (1_004, "1 s"), (949, "0.9 s"), (250, "0.3 s"), (10_020, "10 s")]
        {
            assert_eq!(seconds(Duration::from_millis(milliseconds)), said);
        }
    }
}
