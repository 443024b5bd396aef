//! One change on its way to disk: its files and its commits.
//!
//! Every file is whole under its name at any moment. The folders are synced together with that of the branch, once it has moved:
//! until then a power cut may leave an old file where the branch is new, which `heal` brings forward.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::path::PathBuf;

use crate::domain::{Digest, TaskId, Timestamp};
use crate::git::{Draft, FileChange, Head, Person};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::atomic_write;
use crate::storage::atomic_write::{Over, StagedWrite};
use crate::storage::journal::{CreatedFile, FileBefore, IntendedWrite, MovedCompanion};
use crate::storage::{Folder, Paths, ProjectPath, StoreError, WriterLock};
use crate::system::crash_points;
use crate::system::disk::Unsynced;
use crate::tasks::state::commit_message::of_companions;
use crate::tasks::state::task_state::TaskVersion;

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
    pub versions: Vec<TaskVersion>,
    /// Files that go with the task.
    pub companions: Vec<Companion>,
    /// Files that are no task's and are written in the commit of the last version: the configuration of a new project.
    pub beside: Vec<Beside>,
    /// What stood there before a command that was stopped, and is finished by this one; nothing where that is `from`.
    pub recorded: Option<FileBefore>,
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
    /// Whether a person changed it since HEAD: the edit is a commit of its own, before the others.
    pub is_edited: bool,
}

impl Write {
    /// Returns the write of a new file: of a task, or of the rules.
    pub(crate) fn of_new_file(
        id: Option<TaskId>,
        to: ProjectPath,
        versions: Vec<TaskVersion>,
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
            recorded: None,
        }
    }

    /// Returns what the file is to say.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.versions.last().map_or(&[], |version| &version.bytes)
    }

    fn edited(&self) -> impl Iterator<Item = &Companion> {
        self.companions.iter().filter(|file| file.is_edited)
    }

    /// Returns how many commits it is to become.
    pub(crate) fn commits(&self) -> usize {
        usize::from(self.edited().next().is_some()) + self.versions.len()
    }

    /// Returns whether one of them is git's user's.
    pub(crate) fn is_by_user(&self) -> bool {
        self.edited().next().is_some() || self.versions.iter().any(|own| own.author.is_none())
    }

    /// Returns what is recorded of it before anything is written.
    pub(crate) fn intended(&self) -> IntendedWrite {
        let made = |path: &ProjectPath, before: Option<&[u8]>, bytes: &[u8]| CreatedFile {
            path: path.clone(),
            sha256: Digest::of(bytes),
            before: before.map(Digest::of),
        };
        let old = |(path, bytes): &(ProjectPath, Vec<u8>)| {
            let (path, sha256) = (path.clone(), Digest::of(bytes));
            FileBefore { path, sha256 }
        };
        let moved = |file: &Companion| {
            let (from, to) = (file.from.clone(), file.to.clone());
            MovedCompanion { from, to, sha256: Digest::of(&file.bytes) }
        };
        let beside = self.beside.iter();
        let mut created: Vec<CreatedFile> =
            beside.map(|file| made(&file.path, file.before.as_deref(), &file.bytes)).collect();
        if !self.beside.is_empty() || self.id.is_none() {
            let before = self.from.as_ref().map(|(_, before)| before.as_slice());
            created.push(made(&self.to, before, self.bytes()));
        }
        IntendedWrite {
            task: self.id.clone(),
            old: self.recorded.clone().or_else(|| self.from.as_ref().map(old)),
            new: self.to.clone(),
            sha256: Digest::of(self.bytes()),
            companions: self.companions.iter().map(moved).collect(),
            made: created,
        }
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
        let mut drafts = Vec::new();
        let edited: Vec<FileChange> =
            self.edited().map(|file| FileChange::plain(&file.from, file.bytes.clone())).collect();
        if let (false, Some(id)) = (edited.is_empty(), &self.id) {
            drafts.push(draft(edited, &of_companions(id), user, now));
        }
        let mut at = self.head_path.clone();
        let here = self.from.as_ref().map_or(&self.to, |(path, _)| path);
        let last = self.versions.len().saturating_sub(1);
        for (index, version) in self.versions.iter().enumerate() {
            let path = if index == last { &self.to } else { here };
            let is_program = self.is_program;
            let own = FileChange { is_program, ..FileChange::plain(path, version.bytes.clone()) };
            let left = at.filter(|old| old != path).map(|old| FileChange::gone(&old));
            let changes = std::iter::once(own).chain(left).collect();
            let author = version.author.as_ref().unwrap_or(user);
            drafts.push(draft(changes, &version.message, author, version.authored));
            at = Some(path.clone());
        }
        if let Some(last) = drafts.last_mut().filter(|_| !self.versions.is_empty()) {
            for Companion { from, to, bytes, is_program, .. } in &self.companions {
                let copy = FileChange::plain(to, bytes.clone());
                last.changes.push(FileChange::gone(from));
                last.changes.push(FileChange { is_program: *is_program, ..copy });
            }
            let beside = self.beside.iter();
            last.changes
                .extend(beside.map(|file| FileChange::plain(&file.path, file.bytes.clone())));
            let own = self.from.iter().filter(|_| self.head_path.is_none());
            last.standing = own
                .map(|(path, bytes)| (path, bytes))
                .chain(self.companions.iter().map(|file| (&file.from, &file.bytes)))
                .map(|(path, bytes)| FileChange::plain(path, bytes.clone()))
                .collect();
        }
        drafts
    }
}

/// The files of one write, in the order in which they get their names.
pub(crate) type StagedFiles = Vec<StagedWrite>;

/// How many writes are staged ahead at most: each keeps its files and their folders open.
const AHEAD: usize = 32;

/// Fails where a file is in the place of one that moves. This is checked before the record is written: recovery could not tell that
/// the file was there before.
pub(crate) fn look_in_the_way(paths: &Paths, writes: &[Write]) -> Result<(), StoreError> {
    for write in writes {
        let moves = write.from.as_ref().is_some_and(|(path, _)| *path != write.to);
        let own = moves.then_some(&write.to);
        for path in own.into_iter().chain(write.companions.iter().map(|companion| &companion.to)) {
            let folder = Folder::open_existing(paths.root(), path.folder())?;
            if let Some(folder) = folder
                && folder.kind(path.name())?.is_some()
            {
                return Err(StoreError::Exists { path: folder.path().join(path.name()) });
            }
        }
    }
    Ok(())
}

/// Writes the files of these changes, of the first ones if there are many, under temporary names.
pub(crate) fn stage(lock: &WriterLock, writes: &[Write]) -> Result<Vec<StagedFiles>, StoreError> {
    writes.iter().take(AHEAD).map(|write| stage_one(lock, write)).collect()
}

/// Returns those that are not on the disk yet. They are synced before [`PlacedFiles::put`] is called.
pub(crate) fn unsynced(staged: &mut [StagedFiles]) -> Result<Vec<Unsynced>, StoreError> {
    staged.iter_mut().flatten().filter_map(|file| file.unsynced().transpose()).collect()
}

fn stage_one(lock: &WriterLock, write: &Write) -> Result<StagedFiles, StoreError> {
    let mut files = Vec::new();
    for file in &write.beside {
        let over = file.before.clone().map_or(Over::Nothing, Over::Only);
        files.push(StagedWrite::new(lock, &file.path, over, &file.bytes)?);
    }
    let bytes = write.bytes();
    let over = match &write.from {
        Some((path, before)) if *path == write.to && before == bytes => None,
        Some((path, before)) if *path == write.to => Some(Over::Only(before.clone())),
        // What stands where it goes is somebody's, even where git knows nothing of it.
        Some(_) | None => Some(Over::Nothing),
    };
    if let Some(over) = over {
        files.push(StagedWrite::new(lock, &write.to, over, bytes)?.runnable_if(write.is_program)?);
    }
    for companion in &write.companions {
        let file = StagedWrite::new(lock, &companion.to, Over::Nothing, &companion.bytes)?;
        files.push(file.runnable_if(companion.is_program)?);
    }
    Ok(files)
}

/// Files that have their names by now.
#[derive(Default)]
pub(crate) struct PlacedFiles {
    paths: BTreeSet<ProjectPath>,
    /// Each folder once, still to be synced.
    folders: BTreeMap<PathBuf, Unsynced>,
}

impl PlacedFiles {
    /// Gives the files their names; what was not staged yet is. Returns their folders.
    pub(crate) fn put(
        &mut self,
        lock: &WriterLock,
        writes: &[Write],
        staged: &mut [StagedFiles],
    ) -> Result<Vec<Unsynced>, StoreError> {
        let rest = writes.iter().skip(staged.len());
        for files in &mut *staged {
            self.put_one(files)?;
        }
        for write in rest {
            self.put_one(&mut stage_one(lock, write)?)?;
        }
        Ok(mem::take(&mut self.folders).into_values().collect())
    }

    fn put_one(&mut self, files: &mut StagedFiles) -> Result<(), StoreError> {
        for file in files {
            file.put()?;
            self.paths.insert(file.path().clone());
            let folder = file.folder();
            if !self.folders.contains_key(folder.path()) {
                self.folders.insert(folder.path().to_owned(), folder.unsynced()?);
            }
        }
        crash_points::point("ops.file-written");
        Ok(())
    }

    /// Says whether none has its name.
    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Undoes it. A file that somebody changed in the meantime stays as they left it, and so does one that was in the way.
    pub(crate) fn put_back(&self, lock: &WriterLock, writes: &[Write]) -> Result<(), StoreError> {
        for write in writes {
            let own = write.from.as_ref().filter(|(path, _)| *path == write.to);
            let before = own.map(|(_, before)| before.as_slice());
            self.put_one_back(lock, &write.to, write.bytes(), before)?;
            for companion in &write.companions {
                self.put_one_back(lock, &companion.to, &companion.bytes, None)?;
            }
            for file in &write.beside {
                self.put_one_back(lock, &file.path, &file.bytes, file.before.as_deref())?;
            }
        }
        Ok(())
    }

    fn put_one_back(
        &self,
        lock: &WriterLock,
        path: &ProjectPath,
        bytes: &[u8],
        before: Option<&[u8]>,
    ) -> Result<(), StoreError> {
        if !self.paths.contains(path) {
            return Ok(());
        }
        let done = match before {
            None => atomic_write::remove_if(lock, path, bytes),
            Some(before) => atomic_write::replace_if(lock, path, bytes, before),
        };
        match done {
            Err(StoreError::WrongKind { .. }) => Ok(()),
            other => accept_changed(other),
        }
    }
}

/// Removes the old files of tasks that moved, if they still are what was read.
pub(crate) fn remove_moved(lock: &WriterLock, writes: &[Write]) -> Result<(), StoreError> {
    for write in writes {
        if let Some((path, before)) = write.from.as_ref().filter(|(path, _)| *path != write.to) {
            accept_changed(atomic_write::remove_if(lock, path, before))?;
        }
        for companion in &write.companions {
            accept_changed(atomic_write::remove_if(lock, &companion.from, &companion.bytes))?;
        }
    }
    Ok(())
}

fn accept_changed(result: Result<(), StoreError>) -> Result<(), StoreError> {
    match result {
        Err(StoreError::Changed { .. } | StoreError::Gone { .. }) => Ok(()),
        other => other,
    }
}

/// Returns which of the files is there already, in the worktree or in HEAD.
pub(crate) fn existing_file<'f>(
    workspace: &Workspace,
    head: &Head,
    files: impl IntoIterator<Item = &'f ProjectPath>,
) -> Result<Option<&'f ProjectPath>, ProjectError> {
    for path in files {
        let stands = path.below(workspace.paths.root()).symlink_metadata().is_ok();
        let blob = |commit| workspace.repository.blob_id(commit, path.as_str());
        if stands || head.commit.map(blob).transpose()?.flatten().is_some() {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
