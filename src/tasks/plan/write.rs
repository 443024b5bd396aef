//! One change on its way to disk: the files, and the commits that it is to become. Touches nothing.

use crate::domain::{Digest, TaskId, Timestamp};
use crate::git::{Change, Draft, Person};
use crate::storage::ProjectPath;
use crate::storage::journal::{CreatedFile, FileBefore, IntendedWrite, MovedCompanion};
use crate::tasks::state::task_state::FileVersion;

/// One change on its way to disk: of a task, or a new file of the rules.
pub(crate) struct Write {
    /// The task; absent for a file of the rules.
    pub id: Option<TaskId>,
    pub head_path: Option<ProjectPath>,
    /// The file as it was read; nothing for a new one.
    pub from: Option<(ProjectPath, Vec<u8>)>,
    pub to: ProjectPath,
    /// Whether the file can be run, where it moves.
    pub is_program: bool,
    /// The commits to be, oldest first; the last one's bytes are the file's.
    pub versions: Vec<FileVersion>,
    /// Files that go with the task.
    pub companions: Vec<Companion>,
    /// Files that are no task's and are written in the commit of the last version: the configuration of a new project.
    pub beside: Vec<Beside>,
    /// What people did with other files of the task: the commits that go first, oldest first.
    pub by_hand: Vec<ByHand>,
    /// What stood there before a command that was stopped, and is finished by this one; nothing where that is `from`.
    pub recorded: Option<FileBefore>,
}

/// A commit of what a person did with files of a task that move no gate.
#[derive(Clone)]
pub(crate) struct ByHand {
    pub message: String,
    /// The files, each with what it says; with nothing where it is gone.
    pub files: Vec<(ProjectPath, Option<Vec<u8>>)>,
}

/// A file that is no task's.
#[derive(Clone)]
pub(crate) struct Beside {
    pub path: ProjectPath,
    /// What it says, and what HEAD has; nothing for a new one.
    pub before: Option<Vec<u8>>,
    pub bytes: Vec<u8>,
}

/// A file beside a task file, which moves with it.
pub(crate) struct Companion {
    pub from: ProjectPath,
    pub to: ProjectPath,
    pub bytes: Vec<u8>,
    pub is_program: bool,
}

impl Write {
    /// Returns the write of a new file: of a task, or of the rules.
    pub(crate) fn of_new_file(
        id: Option<TaskId>,
        to: ProjectPath,
        versions: Vec<FileVersion>,
    ) -> Self {
        Self {
            id,
            head_path: None,
            from: None,
            to,
            is_program: false,
            versions,
            companions: Vec::new(),
            beside: Vec::new(),
            by_hand: Vec::new(),
            recorded: None,
        }
    }

    /// Returns what the file is to say.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.versions.last().map_or(&[], |version| &version.bytes)
    }

    /// Returns how many commits it is to become.
    pub(crate) fn commits(&self) -> usize {
        self.by_hand.len() + self.versions.len()
    }

    /// Returns whether one of them is git's user's.
    pub(crate) fn is_by_user(&self) -> bool {
        !self.by_hand.is_empty() || self.versions.iter().any(|version| version.author.is_none())
    }

    /// Returns what is recorded of it before anything is written.
    pub(crate) fn intended(&self) -> IntendedWrite {
        let made = |(path, before, bytes): (&ProjectPath, Option<&[u8]>, &[u8])| CreatedFile {
            path: path.clone(),
            sha256: Digest::of(bytes),
            before: before.map(Digest::of),
        };
        let old = |(path, bytes): &(ProjectPath, Vec<u8>)| FileBefore {
            path: path.clone(),
            sha256: Digest::of(bytes),
        };
        let moved = |file: &Companion| MovedCompanion {
            from: file.from.clone(),
            to: file.to.clone(),
            sha256: Digest::of(&file.bytes),
        };
        let beside = self
            .beside
            .iter()
            .map(|file| (&file.path, file.before.as_deref(), file.bytes.as_slice()));
        let before = self.from.as_ref().map(|(_, before)| before.as_slice());
        let own = (!self.beside.is_empty() || self.id.is_none())
            .then(|| (&self.to, before, self.bytes()));
        IntendedWrite {
            task: self.id.clone(),
            old: self.recorded.clone().or_else(|| self.from.as_ref().map(old)),
            new: self.to.clone(),
            sha256: Digest::of(self.bytes()),
            companions: self.companions.iter().map(moved).collect(),
            made: beside.chain(own).map(made).collect(),
        }
    }

    /// Returns what stands in the worktree, and no commit may have yet.
    fn standing(&self) -> Vec<Change> {
        let own = self.from.iter().filter(|_| self.head_path.is_none());
        let own = own.map(|(path, bytes)| Change::plain(path, bytes.clone()));
        let beside =
            self.companions.iter().map(|file| Change::plain(&file.from, file.bytes.clone()));
        own.chain(beside).collect()
    }

    /// Returns the commits that it is to become, oldest first.
    pub(crate) fn drafts(&self, user: &Person, committer: &Person, now: Timestamp) -> Vec<Draft> {
        let draft = |changes, message: &str, author: &Person, authored| Draft {
            changes,
            standing: Vec::new(),
            message: message.to_owned(),
            author: author.clone(),
            authored,
            committer: committer.clone(),
            committed: now,
        };
        let change = |(path, bytes): &(ProjectPath, Option<Vec<u8>>)| match bytes {
            Some(bytes) => Change::plain(path, bytes.clone()),
            None => Change::gone(path),
        };
        let by_hand = self.by_hand.iter().map(|by_hand| {
            let changes = by_hand.files.iter().map(change).collect();
            draft(changes, &by_hand.message, user, now)
        });
        let mut drafts: Vec<Draft> = by_hand.collect();
        let mut at = self.head_path.clone();
        let here = self.from.as_ref().map_or(&self.to, |(path, _)| path);
        let last = self.versions.len().saturating_sub(1);
        for (index, version) in self.versions.iter().enumerate() {
            let path = if index == last { &self.to } else { here };
            let is_program = self.is_program;
            let own = Change { is_program, ..Change::plain(path, version.bytes.clone()) };
            let left = at.filter(|old| old != path).map(|old| Change::gone(&old));
            let changes = std::iter::once(own).chain(left).collect();
            let author = version.author.as_ref().unwrap_or(user);
            drafts.push(draft(changes, &version.message, author, version.authored));
            at = Some(path.clone());
        }
        if let Some(last) = drafts.last_mut().filter(|_| !self.versions.is_empty()) {
            for Companion { from, to, bytes, is_program } in &self.companions {
                let copy = Change::plain(to, bytes.clone());
                last.changes.push(Change::gone(from));
                last.changes.push(Change { is_program: *is_program, ..copy });
            }
            let beside = self.beside.iter();
            last.changes.extend(beside.map(|file| Change::plain(&file.path, file.bytes.clone())));
            last.standing = self.standing();
        }
        drafts
    }
}
