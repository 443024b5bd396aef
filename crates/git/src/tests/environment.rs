//! A repository in a temp folder, and git commands that see no configuration but its own.

use std::cell::Cell;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::error::At;
use crate::transaction::publish::{Published, RecordLocks};
use crate::{CommitDraft, FileChange, GitError, Locks, Person, Prepared, Repository};
use aof_system::disk::Unsynced;

/// Lines that `git fsck` may print about a sound repository.
const QUIET: [&str; 3] = ["dangling ", "notice:", "hint:"];

/// Local settings, which a developer's configuration does not change.
const SETTINGS: &str = "\
[user]
	name = Ada Lovelace
	email = ada@example.org
[commit]
	gpgSign = false
[core]
	autocrlf = false
	hooksPath = .git/hooks
";

/// Where the repositories are: in memory, if nobody asked for another place. A disk with a journal takes long to make files where as
/// many were just deleted.
static PARENT: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let is_asked = std::env::var_os("TMPDIR").is_some();
    if is_asked || !memory.is_dir() { std::env::temp_dir() } else { memory.to_owned() }
});

/// The path of git. By its name and with a `PATH` of its own, it would start in a copy of this process's memory.
static GIT: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = std::env::var_os("PATH").unwrap();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join("git"));
    found.find(|path| path.is_file()).unwrap()
});

pub(crate) struct TestRepository {
    folder: tempfile::TempDir,
    clock: Cell<i64>,
}

impl TestRepository {
    /// An empty repository, with an identity of its own.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir_in(&*PARENT).unwrap();
        let test = Self { folder, clock: Cell::new(1_700_000_000) };
        fs::create_dir(test.folder.path().join("home")).unwrap();
        fs::create_dir(test.root()).unwrap();
        // Samples of hooks take longer to write than all the rest.
        test.git(&["init", "-q", "-b", "main", "--template="]);
        fs::create_dir(test.path(".git/info")).unwrap();
        let config = fs::OpenOptions::new().append(true).open(test.path(".git/config"));
        config.unwrap().write_all(SETTINGS.as_bytes()).unwrap();
        test
    }

    /// A repository with two source files and three tasks committed.
    pub(crate) fn with_tasks() -> Self {
        let test = Self::empty();
        for (path, content) in [
            ("src/x.txt", "x\n"),
            ("src/y.txt", "y\n"),
            ("tasks/AOF-aaa.md", "task a\n"),
            ("tasks/AOF-bbb.md", "task b\n"),
            ("tasks/ccc/AOF-ccc.md", "task c\n"),
        ] {
            test.write(path, content);
        }
        test.git(&["add", "."]);
        test.git(&["commit", "-qm", "start"]);
        test
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// A place beside the repository.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn open(&self) -> Repository {
        Repository::discover(&self.root()).unwrap()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let temp = path.with_extension("new");
        fs::write(&temp, content).unwrap();
        fs::rename(temp, path).unwrap();
    }

    /// Runs git in the worktree; it must succeed. Returns its output.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.root(), arguments)
    }

    pub(crate) fn git_in(&self, folder: &Path, arguments: &[&str]) -> String {
        let (done, text) = self.try_git(folder, arguments);
        assert!(done, "git {arguments:?}: {text}");
        text
    }

    /// Runs git; returns whether it succeeded, and its output on both streams.
    pub(crate) fn try_git(&self, folder: &Path, arguments: &[&str]) -> (bool, String) {
        self.clock.set(self.clock.get() + 1);
        let date = format!("{} +0000", self.clock.get());
        let output = Command::new(&*GIT)
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.folder.path().join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", self.folder.path().join("home/gitconfig"))
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date)
            .env("GIT_EDITOR", "true")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        (output.status.success(), text)
    }

    /// Returns the output of `git status`. It refreshes no index, so that later changes in the same tick are still seen.
    pub(crate) fn status(&self) -> String {
        self.git(&["--no-optional-locks", "status", "--porcelain"])
    }

    pub(crate) fn assert_sound(&self) {
        let (sound, text) = self.try_git(&self.root(), &["fsck", "--strict", "--full"]);
        let complaint = text
            .lines()
            .find(|line| !line.is_empty() && !QUIET.iter().any(|start| line.starts_with(start)));
        assert!(sound && complaint.is_none(), "{text}");
        for folder in [self.path(".git"), self.path(".git/refs/heads")] {
            for entry in fs::read_dir(folder).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                assert!(
                    !name.starts_with("aof-") && !name.contains(".lock"),
                    "{name} was left over"
                );
            }
        }
    }

    /// Asserts that the worktree, the index and HEAD agree without git reading a file again, and with it.
    pub(crate) fn assert_clean(&self) {
        assert_eq!(self.status(), "");
        assert_eq!(self.git(&["diff-index", "--cached", "HEAD"]), "");
        let tree = self.git(&["rev-parse", "HEAD^{tree}"]);
        assert_eq!(self.git(&["write-tree"]), tree, "the index's cached trees are wrong");
        self.assert_sound();
    }
}

pub(crate) fn put(path: &str, content: &str) -> FileChange {
    FileChange::plain(&path, content.as_bytes().to_vec())
}

pub(crate) fn delete(path: &str) -> FileChange {
    FileChange::deleted(&path)
}

pub(crate) fn draft(changes: Vec<FileChange>) -> CommitDraft {
    CommitDraft {
        changes,
        worktree_versions: Vec::new(),
        message: "AOF-aaa: implement -> review (complete)\n\nDone.\n\nAof-Task: AOF-aaa\n"
            .to_owned(),
        author: Person::new("agent-7", "agent-7@aof.invalid").unwrap(),
        authored: Timestamp::from_second(1_700_001_000).unwrap(),
        committer: Person::new("Ada Lovelace", "ada@example.org").unwrap(),
        committed: Timestamp::from_second(1_700_002_000).unwrap(),
    }
}

pub(crate) fn soon() -> Instant {
    Instant::now() + Duration::from_secs(10)
}

#[allow(clippy::unnecessary_wraps, reason = "the shape of an intent")]
pub(crate) fn no_intent(_: &Locks) -> io::Result<Vec<Unsynced>> {
    Ok(Vec::new())
}

#[allow(clippy::needless_pass_by_value, reason = "tests write the list in place")]
/// Performs steps 4 to 6 as the operations do: prepare, write the files, publish, unlink deleted files.
pub(crate) fn commit(
    test: &TestRepository,
    repository: &Repository,
    changes: Vec<FileChange>,
) -> Result<Published, GitError> {
    let prepared = repository.prepare(&repository.head()?, &draft(changes.clone()))?;
    write_and_publish(test, repository, &changes, &prepared)
}

/// Moves the branch to the prepared commits; `intent` receives the locks, `write_files` is called while the index is
/// locked.
pub(crate) fn publish(
    repository: &Repository,
    prepared: &Prepared,
    deadline: Instant,
    record: RecordLocks<'_>,
    write_files: &mut dyn FnMut() -> Vec<Unsynced>,
) -> Result<Published, GitError> {
    let publication = repository.begin(prepared, deadline)?;
    let unsynced =
        record(publication.locks()).at("record the intended locks on", Path::new("x"))?;
    publication.lock_index(unsynced)?.finish(write_files())
}

pub(crate) fn write_and_publish(
    test: &TestRepository,
    repository: &Repository,
    changes: &[FileChange],
    prepared: &Prepared,
) -> Result<Published, GitError> {
    let root = repository.prefix();
    let full =
        |path: &str| if root.is_empty() { path.to_owned() } else { format!("{root}/{path}") };
    for change in changes {
        if let Some(content) = &change.content {
            test.write(&full(&change.path), str::from_utf8(content).unwrap());
        }
    }
    let published = publish(repository, prepared, soon(), &mut no_intent, &mut Vec::new)?;
    for change in changes {
        if change.content.is_none() {
            fs::remove_file(test.path(&full(&change.path))).unwrap();
        }
    }
    Ok(published)
}
