//! A write: the files of one change, and its commits.
//!
//! A file is complete whenever it is visible under its name. The folders are synced only after the branch has moved, together with the
//! branch's: until then a power cut may leave an old file where the branch is new, which `recover` updates.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::path::PathBuf;

use crate::domain::{Digest, TaskId, Timestamp};
use crate::git::{CommitDraft, FileChange, Head, Person};
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

/// A change to be written and committed: of a task, or of files that are not a task's.
pub(crate) struct Write {
    /// The task; `None` if the file is not a task's.
    pub id: Option<TaskId>,
    /// The path of the file in HEAD.
    pub head_path: Option<ProjectPath>,
    /// Path and bytes of the file as it was read; `None` for a new file.
    pub from: Option<(ProjectPath, Vec<u8>)>,
    pub to: ProjectPath,
    /// True if a file that moves is executable.
    pub is_program: bool,
    /// The versions to commit, oldest first. The file gets the last one.
    pub versions: Vec<TaskVersion>,
    /// Files that move with the task.
    pub companions: Vec<Companion>,
    /// Files that go into the commit of the last version, such as the configuration of a new project.
    pub plain_files: Vec<PlainFile>,
    /// For a write that finishes an interrupted one: the file before that one, if it differs from `from`.
    pub recorded: Option<FileBefore>,
}

/// A file that is neither a task's nor a companion: configuration, workflows, `.gitattributes`.
#[derive(Clone)]
pub(crate) struct PlainFile {
    pub path: ProjectPath,
    /// The bytes in the worktree and in HEAD; `None` for a new file.
    pub before: Option<Vec<u8>>,
    pub bytes: Vec<u8>,
}

/// A file beside a task file, which moves with it.
pub(crate) struct Companion {
    pub from: ProjectPath,
    pub to: ProjectPath,
    pub bytes: Vec<u8>,
    pub is_program: bool,
    /// True if a person edited it since HEAD. The edit becomes a commit before the others.
    pub is_edited: bool,
}

impl Write {
    /// Returns the write of a new file.
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
            plain_files: Vec::new(),
            recorded: None,
        }
    }

    /// Returns the bytes that the file gets.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.versions.last().map_or(&[], |version| &version.bytes)
    }

    fn edited_companions(&self) -> impl Iterator<Item = &Companion> {
        self.companions.iter().filter(|file| file.is_edited)
    }

    /// Returns the number of its commits.
    pub(crate) fn commit_count(&self) -> usize {
        usize::from(self.edited_companions().next().is_some()) + self.versions.len()
    }

    /// Returns whether git's user is the author of one of its commits.
    pub(crate) fn is_by_user(&self) -> bool {
        self.edited_companions().next().is_some()
            || self.versions.iter().any(|version| version.author.is_none())
    }

    /// Returns its journal record.
    pub(crate) fn intended(&self) -> IntendedWrite {
        let created_file = |path: &ProjectPath, before: Option<&[u8]>, bytes: &[u8]| CreatedFile {
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
        let plain_files = self.plain_files.iter();
        let mut created: Vec<CreatedFile> = plain_files
            .map(|file| created_file(&file.path, file.before.as_deref(), &file.bytes))
            .collect();
        if !self.plain_files.is_empty() || self.id.is_none() {
            let before = self.from.as_ref().map(|(_, before)| before.as_slice());
            created.push(created_file(&self.to, before, self.bytes()));
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

    /// Returns the drafts of its commits, oldest first.
    pub(crate) fn drafts(
        &self,
        user: &Person,
        committer: &Person,
        now: Timestamp,
    ) -> Vec<CommitDraft> {
        let draft = |changes, message: &str, author: &Person, authored| CommitDraft {
            changes,
            worktree_versions: Vec::new(),
            message: message.to_owned(),
            author: author.clone(),
            authored,
            committer: committer.clone(),
            committed: now,
        };
        let mut drafts = Vec::new();
        let edited: Vec<FileChange> = self
            .edited_companions()
            .map(|file| FileChange::plain(&file.from, file.bytes.clone()))
            .collect();
        if let (false, Some(id)) = (edited.is_empty(), &self.id) {
            drafts.push(draft(edited, &of_companions(id), user, now));
        }
        let mut committed_path = self.head_path.clone();
        let current_path = self.from.as_ref().map_or(&self.to, |(path, _)| path);
        let last = self.versions.len().saturating_sub(1);
        for (index, version) in self.versions.iter().enumerate() {
            let path = if index == last { &self.to } else { current_path };
            let is_program = self.is_program;
            let file = FileChange { is_program, ..FileChange::plain(path, version.bytes.clone()) };
            let removed =
                committed_path.filter(|old| old != path).map(|old| FileChange::deleted(&old));
            let changes = std::iter::once(file).chain(removed).collect();
            let author = version.author.as_ref().unwrap_or(user);
            drafts.push(draft(changes, &version.message, author, version.authored));
            committed_path = Some(path.clone());
        }
        if let Some(last) = drafts.last_mut().filter(|_| !self.versions.is_empty()) {
            for Companion { from, to, bytes, is_program, .. } in &self.companions {
                let copy = FileChange::plain(to, bytes.clone());
                last.changes.push(FileChange::deleted(from));
                last.changes.push(FileChange { is_program: *is_program, ..copy });
            }
            let plain_files = self.plain_files.iter();
            last.changes
                .extend(plain_files.map(|file| FileChange::plain(&file.path, file.bytes.clone())));
            let moved = self.from.iter().filter(|_| self.head_path.is_none());
            last.worktree_versions = moved
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

/// The most writes that are staged in advance. Each keeps its files and their folders open.
const MOST_STAGED: usize = 32;

/// Fails if another file is at the destination of a move. Call it before the journal is written: recovery could not know whose file it
/// is.
pub(crate) fn ensure_destinations_free(paths: &Paths, writes: &[Write]) -> Result<(), StoreError> {
    for write in writes {
        let moves = write.from.as_ref().is_some_and(|(path, _)| *path != write.to);
        let to = moves.then_some(&write.to);
        for path in to.into_iter().chain(write.companions.iter().map(|companion| &companion.to)) {
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

/// Writes the files of the first writes under temporary names.
pub(crate) fn stage(lock: &WriterLock, writes: &[Write]) -> Result<Vec<StagedFiles>, StoreError> {
    writes.iter().take(MOST_STAGED).map(|write| stage_one(lock, write)).collect()
}

/// Returns the staged files that are not on the disk yet. The caller syncs them before [`PlacedFiles::put`].
pub(crate) fn unsynced(staged: &mut [StagedFiles]) -> Vec<Unsynced> {
    staged.iter_mut().flatten().filter_map(StagedWrite::unsynced).collect()
}

fn stage_one(lock: &WriterLock, write: &Write) -> Result<StagedFiles, StoreError> {
    let mut files = Vec::new();
    for file in &write.plain_files {
        let over = file.before.clone().map_or(Over::Nothing, Over::Only);
        files.push(StagedWrite::new(lock, &file.path, over, &file.bytes)?);
    }
    let bytes = write.bytes();
    let over = match &write.from {
        Some((path, before)) if *path == write.to && before == bytes => None,
        Some((path, before)) if *path == write.to => Some(Over::Only(before.clone())),
        // An existing file belongs to a person, even if git does not track it.
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

/// Files that have been renamed to their final names.
#[derive(Default)]
pub(crate) struct PlacedFiles {
    paths: BTreeSet<ProjectPath>,
    /// Their folders, not synced yet.
    folders: BTreeMap<PathBuf, Unsynced>,
}

impl PlacedFiles {
    /// Renames the staged files to their final names, and stages and renames the rest. Returns the folders to sync.
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
                self.folders.insert(folder.path().to_owned(), folder.unsynced());
            }
        }
        crash_points::point("ops.file-written");
        Ok(())
    }

    /// Returns whether no file has its final name.
    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Restores the files as they were before. Files that were changed meanwhile stay, and so do files that blocked the write.
    pub(crate) fn put_back(&self, lock: &WriterLock, writes: &[Write]) -> Result<(), StoreError> {
        for write in writes {
            let replaced = write.from.as_ref().filter(|(path, _)| *path == write.to);
            let before = replaced.map(|(_, before)| before.as_slice());
            self.put_one_back(lock, &write.to, write.bytes(), before)?;
            for companion in &write.companions {
                self.put_one_back(lock, &companion.to, &companion.bytes, None)?;
            }
            for file in &write.plain_files {
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
        let restored = match before {
            None => atomic_write::remove_if(lock, path, bytes),
            Some(before) => atomic_write::replace_if(lock, path, bytes, before),
        };
        match restored {
            Err(StoreError::WrongKind { .. }) => Ok(()),
            other => accept_changed(other),
        }
    }
}

/// Removes the old files of tasks that moved, unless they were changed.
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

/// Returns the first of the files that exists in the worktree or in HEAD.
pub(crate) fn existing_file<'f>(
    workspace: &Workspace,
    head: &Head,
    files: impl IntoIterator<Item = &'f ProjectPath>,
) -> Result<Option<&'f ProjectPath>, ProjectError> {
    for path in files {
        let exists = path.below(workspace.paths.root()).symlink_metadata().is_ok();
        let blob = |commit| workspace.repository.blob_id(commit, path.as_str());
        if exists || head.commit.map(blob).transpose()?.flatten().is_some() {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
