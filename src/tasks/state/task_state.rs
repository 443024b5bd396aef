//! The state of a task: its file in the worktree, HEAD's version, and the difference.

use std::borrow::Cow;
use std::rc::Rc;

use crate::domain::{Task, TaskId, Timestamp, Visit, nearest};
use crate::files::diagnostic::Diagnostic;
use crate::files::task_file;
use crate::files::task_file::{Defaults, Origin, Spliced, TaskFile};
use crate::files::yaml::Fault;
use crate::git::{CommitId, Head, ObjectId, Person};
use crate::project::active_rules::{InForce, in_force};
use crate::project::error::ProjectError;
use crate::project::issue::left_out;
use crate::project::workspace::{Workspace, agent_author};
use crate::rules::{Act, ReplayedAct, StateChange, explain, flaw};
use crate::storage::layout::task_path;
use crate::storage::task_files;
use crate::storage::task_files::{FoundFile, Snapshot, TaskPlace};
use crate::storage::{ProjectPath, StoreError, layout};
use crate::tasks::state::commit_message;
use crate::tasks::state::frozen::{
    Committed, Frozen, Refreshed, UNREADABLE_BEFORE, is_unreadable_before, refreshed, thaw_hint,
};
use crate::tasks::state::misread::{fixes, new_misread};
use crate::tasks::state::read_keys::{is_claimed, read_keys_changed};

/// A task as read, with the rules in force at that moment.
pub(crate) struct TaskState {
    pub id: TaskId,
    pub head: Head,
    pub in_force: Rc<InForce>,
    pub snapshot: Snapshot,
    pub place: TaskPlace,
    pub file: TaskFile,
    /// The file's path in HEAD; `None` if HEAD does not have it.
    pub head_path: Option<ProjectPath>,
    pub pending: Pending,
    /// The fix that undoes a change of engine fields, if there is one.
    thaw: String,
}

/// The difference between HEAD's and the worktree's file.
pub(crate) enum Pending {
    Nothing,
    /// Versions to commit before anything else, oldest first: a person's edit, or the engine's versions from before a crash. The
    /// last one is the file.
    Versions(Vec<TaskVersion>),
    /// A change of these fields, which only the engine may make.
    Foreign(Vec<String>),
    /// The file is an earlier version of itself. The bytes are HEAD's version with the person's edits.
    Stale(Vec<u8>),
    /// The file is an earlier version of itself, with edits of a person that overlap with later commits in these places.
    Overlap(Vec<String>),
    /// An edit of these keys, which the rules read, was found while an agent holds the task. A person accepts or reverts it.
    Unaccepted(Vec<String>),
    /// A task at no gate yet has these fields, which only the engine may write.
    Unearned(Vec<String>),
    /// A hand-made file, or an edit, has these forms that can be misread. With the fix.
    Misread(Vec<String>, String),
}

/// One version of a file, with the message of its commit.
#[derive(Clone)]
pub(crate) struct TaskVersion {
    pub bytes: Vec<u8>,
    pub message: String,
    /// `None` for git's user, who need not be configured before the commit.
    pub author: Option<Person>,
    pub authored: Timestamp,
}

impl TaskVersion {
    /// Returns a version with the file's bytes.
    pub(crate) fn of(
        file: &TaskFile,
        message: String,
        author: Option<Person>,
        authored: Timestamp,
    ) -> Self {
        Self { bytes: file.bytes().to_vec(), message, author, authored }
    }
}

impl TaskState {
    /// Reads the task, the branch and the rules. Takes no lock.
    pub(crate) fn read(workspace: &Workspace, id: &TaskId) -> Result<Self, ProjectError> {
        let head = workspace.head()?;
        let in_force = Rc::new(in_force(workspace, &head)?);
        Self::read_under(workspace, id, head, in_force)
    }

    /// Reads the task with a HEAD and rules that are read already.
    pub(crate) fn read_under(
        workspace: &Workspace,
        id: &TaskId,
        head: Head,
        in_force: Rc<InForce>,
    ) -> Result<Self, ProjectError> {
        let repository = &workspace.repository;
        let (snapshot, place) = find(workspace, id)?;
        let head_path = head_path(workspace, &head, id, &snapshot.path)?;
        let blob = match (head.commit, &head_path) {
            (Some(commit), Some(path)) => repository.blob_id(commit, path.as_str())?,
            _ => None,
        };
        // Other line endings are not an edit: git may have converted them.
        let (bytes, is_committed) = match blob {
            Some(blob) if repository.hash_blob(&snapshot.bytes) == blob => {
                (Cow::Borrowed(&snapshot.bytes), true)
            }
            Some(blob) if repository.is_same_text(&snapshot.bytes, blob) => {
                (Cow::Owned(repository.read_blob(blob)?), true)
            }
            _ => (Cow::Borrowed(&snapshot.bytes), false),
        };
        let file = parse(&in_force, id, &snapshot.path, &bytes, workspace.now())
            .map_err(|error| noting_head(error, blob.is_some()))?;
        if let Some(before) = &head_path {
            refuse_copy(workspace, id, &snapshot.path, before)?;
        }
        let (id, pending, thaw) = (id.clone(), Pending::Nothing, String::new());
        let mut state =
            Self { id, head, in_force, snapshot, place, file, head_path, pending, thaw };
        state.pending = state.compare(workspace, blob, is_committed)?;
        if let Pending::Foreign(fields) = &state.pending {
            let committed = match &state.head_path {
                Some(path) if is_unreadable_before(fields) => Committed::Unreadable(path),
                Some(path) => Committed::At(path),
                None if state.was_committed(workspace)? => Committed::Earlier,
                None => Committed::Never,
            };
            state.thaw = thaw_hint(&state.snapshot.path, committed);
        }
        let dropped_fields = state.file.dropped_fields();
        if !dropped_fields.is_empty()
            && !matches!(
                state.pending,
                Pending::Foreign(_)
                    | Pending::Unaccepted(_)
                    | Pending::Stale(_)
                    | Pending::Overlap(_)
            )
        {
            state.pending = Pending::Unearned(dropped_fields);
        }
        let is_new = state.file.origin == Origin::HandMade;
        let is_edit = matches!(
            state.pending,
            Pending::Nothing | Pending::Versions(_) | Pending::Unaccepted(_)
        );
        if is_edit && (is_new || !is_committed) {
            // Forms that the task has committed are read as before.
            let before = state.committed_file(workspace).filter(|_| !is_new);
            let found = new_misread(&state.snapshot.path, before.as_ref(), &state.file);
            if !found.is_empty() {
                let places = found.iter().map(Diagnostic::placed).collect();
                state.pending = Pending::Misread(places, fixes(&found));
            }
        }
        Ok(state)
    }

    /// Returns an error if the task is frozen.
    pub(crate) fn ensure_unfrozen(&self) -> Result<(), ProjectError> {
        let Some(frozen) = self.frozen() else { return Ok(()) };
        let (id, path) = (self.id.clone(), self.snapshot.path.clone());
        let is_foreign = matches!(self.pending, Pending::Foreign(_));
        let problem = frozen.of(if is_foreign { format!("`{path}`") } else { format!("`{id}`") });
        let (fields, mut thaw) = (frozen.fields.to_vec(), frozen.fix);
        if is_foreign && self.head_path.is_some() && !is_unreadable_before(&fields) {
            thaw.push_str(&format!(
                "; if you meant to move the task, do that first, then `aof override {id} --to GATE --reason \"...\"`"
            ));
        }
        Err(ProjectError::Frozen { id, path, problem, fields, thaw })
    }

    /// Returns the reason why the task is frozen, with its fix.
    pub(crate) fn frozen(&self) -> Option<Frozen<'_>> {
        let path = &self.snapshot.path;
        let before = self.head_path.as_ref().unwrap_or(path);
        match &self.pending {
            Pending::Nothing | Pending::Versions(_) => None,
            Pending::Foreign(fields) => Some(Frozen {
                fields,
                problem: "was changed by hand in what the engine keeps",
                fix: self.thaw.clone(),
            }),
            Pending::Unaccepted(keys) => Some(Frozen::unaccepted(&self.id, path, before, keys)),
            Pending::Stale(_) => Some(Frozen::stale(&self.id)),
            Pending::Overlap(places) => Some(Frozen::overlapping(path, places)),
            Pending::Unearned(fields) => Some(Frozen::unearned(&self.id, fields)),
            Pending::Misread(places, fix) => Some(Frozen::misread(places, fix.clone())),
        }
    }

    /// Returns HEAD's version of a frozen task, which is the one that counts; `None` if HEAD has none that can be read.
    pub(crate) fn committed_file(&self, workspace: &Workspace) -> Option<TaskFile> {
        let (commit, path) = (self.head.commit?, self.head_path.as_ref()?);
        let blob = workspace.repository.blob_id(commit, path.as_str()).ok()??;
        let bytes = workspace.repository.read_blob(blob).ok()?;
        let defaults = self.in_force.defaults(self.file.task.created);
        task_file::parse(&bytes, &self.id, &defaults).ok()
    }

    /// Returns the changed file.
    pub(crate) fn changed(
        &self,
        workspace: &Workspace,
        changed: Spliced,
    ) -> Result<TaskFile, ProjectError> {
        spliced(&self.in_force.defaults(workspace.now()), &self.id, &self.snapshot.path, changed)
    }

    fn is_moved(&self) -> bool {
        self.head_path.as_ref().is_some_and(|path| *path != self.snapshot.path)
    }

    /// Compares the file with HEAD's version.
    fn compare(
        &self,
        workspace: &Workspace,
        blob: Option<ObjectId>,
        is_committed: bool,
    ) -> Result<Pending, ProjectError> {
        let before = match blob {
            _ if is_committed && !self.is_moved() => return Ok(Pending::Nothing),
            None if self.file.origin == Origin::HandMade => return Ok(Pending::Nothing),
            None => None,
            Some(_) if is_committed => Some(self.file.clone()),
            Some(blob) => {
                let bytes = workspace.repository.read_blob(blob)?;
                let defaults = self.in_force.defaults(self.file.task.created);
                match task_file::parse(&bytes, &self.id, &defaults) {
                    Ok(file) => Some(file),
                    // HEAD's version is unreadable, so the other changes of the person who repaired it are unknown.
                    Err(_) => return Ok(Pending::Foreign(vec![UNREADABLE_BEFORE.to_owned()])),
                }
            }
        };
        let before = before.as_ref();
        if let Some(before) = before.filter(|before| !self.file.continues(before)) {
            let has_history = before.field("gateHistory").is_some();
            let field = if has_history { "gateHistory" } else { "gate" };
            return self.stale_or_foreign(workspace, Some(before), vec![field.to_owned()]);
        }
        let task_before = before.map(|file| &file.task);
        let keys = before
            .filter(|before| is_claimed(before))
            .map(|before| read_keys_changed(&self.in_force.rules, before, &self.file));
        let keys = keys.unwrap_or_default();
        match explain(&self.in_force.rules, task_before, &self.file.task) {
            StateChange::Same | StateChange::Edit | StateChange::Act(_) if !keys.is_empty() => {
                Ok(Pending::Unaccepted(keys))
            }
            StateChange::Same | StateChange::Edit => {
                let edited = before.is_none_or(|before| *before != self.file);
                let what = match (self.is_moved(), edited) {
                    (true, true) => "moved and edited by hand",
                    (true, false) => "moved by hand",
                    (false, _) => "edited by hand",
                };
                let message = commit_message::of_edit(&self.file.task, what);
                Ok(self.one_version(workspace, message))
            }
            // A crash never leaves an entry without the signature that org.yaml requires.
            StateChange::Act(_) if self.has_flaw(task_before) => {
                Ok(Pending::Foreign(vec!["gateHistory".to_owned()]))
            }
            StateChange::Act(found) => Ok(Pending::Versions(self.ahead(task_before, &found)?)),
            StateChange::Foreign(_)
                if self.is_ahead_of(task_before) && self.was_committed(workspace)? =>
            {
                let message = commit_message::of_restoration(&self.file.task);
                Ok(self.one_version(workspace, message))
            }
            StateChange::Foreign(fields) => {
                let fields = fields.into_iter().map(str::to_owned).collect();
                self.stale_or_foreign(workspace, before, fields)
            }
        }
    }

    fn stale_or_foreign(
        &self,
        workspace: &Workspace,
        before: Option<&TaskFile>,
        fields: Vec<String>,
    ) -> Result<Pending, ProjectError> {
        let path = &self.snapshot.path;
        let refreshed = match (self.head.commit, before) {
            (Some(head), Some(before)) if self.head_path.as_ref() == Some(path) => {
                refreshed(workspace, &self.in_force, path, head, [before, &self.file])?
            }
            _ => None,
        };
        Ok(match refreshed {
            None => Pending::Foreign(fields),
            Some(Refreshed::Merged(bytes)) => Pending::Stale(bytes),
            Some(Refreshed::Overlaps(places)) => Pending::Overlap(places),
        })
    }

    fn has_flaw(&self, before: Option<&Task>) -> bool {
        let known = before.map_or(0, |task| task.history.len());
        let task = &self.file.task;
        (known..task.history.len()).any(|place| flaw(&self.in_force.rules, task, place).is_some())
    }

    /// Returns the versions that the engine was about to commit when it was killed: one for the act, and one for each automatic
    /// gate after it. A person's edits of the same file go with the act.
    fn ahead(
        &self,
        before: Option<&Task>,
        found: &ReplayedAct,
    ) -> Result<Vec<TaskVersion>, ProjectError> {
        let Some(first) = found.states.first() else { return Ok(Vec::new()) };
        let author = self.author(&found.act, first)?;
        let acts = std::iter::once(&found.act).chain(std::iter::repeat(&Act::Pass));
        let mut versions = Vec::with_capacity(found.states.len());
        let mut known = before.map_or(0, |task| task.history.len());
        for (state, act) in found.states.iter().zip(acts) {
            let bytes = if versions.len() + 1 < found.states.len() {
                let path = &self.snapshot.path;
                let earlier = self
                    .file
                    .rewind(state)
                    .map_err(|refusal| ProjectError::Splice { path: path.clone(), refusal })?;
                earlier.text().as_bytes().to_vec()
            } else {
                self.file.bytes().to_vec()
            };
            let message = match (act, before) {
                // The claiming agent got no answer, so it learns of the claim in the same way as of a hand-out.
                (Act::Claim { agent, branch }, _) => {
                    commit_message::of_hand_out(agent, branch.as_ref(), state)
                }
                (Act::Reroute, Some(before)) => commit_message::of_reroute(before, state),
                _ => commit_message::of_act(act, known, state),
            };
            known = state.history.len();
            let (author, authored) = (author.clone(), state.updated);
            versions.push(TaskVersion { bytes, message, author, authored });
        }
        Ok(versions)
    }

    /// Returns the author of the act that led to `after`, as far as it is known; `None` for git's user.
    fn author(&self, act: &Act, after: &Task) -> Result<Option<Person>, ProjectError> {
        let agent = match (act, after.history.last()) {
            (Act::Complete(completion), _) => Some(&completion.agent),
            (Act::Claim { agent, .. } | Act::Renew { agent, .. }, _) => Some(agent),
            (_, Some(Visit { agent: Some(agent), exited, .. }))
                if !agent.is_human() && *exited == after.updated =>
            {
                Some(agent)
            }
            _ => None,
        };
        agent.map(|agent| agent_author(&self.in_force.rules.org, agent)).transpose()
    }

    fn is_ahead_of(&self, before: Option<&Task>) -> bool {
        before.is_some_and(|before| before.history.len() < self.file.task.history.len())
    }

    /// Returns whether exactly this file was committed before. Then a later commit has reverted it by mistake, as `git commit`
    /// does with an index that it read too early.
    fn was_committed(&self, workspace: &Workspace) -> Result<bool, ProjectError> {
        let Some(commit) = self.head.commit else { return Ok(false) };
        let (path, bytes) = (self.snapshot.path.as_str(), &self.snapshot.bytes);
        Ok(workspace.repository.has_had_text(commit, path, bytes)?)
    }

    /// Returns the file as one commit of git's user.
    fn one_version(&self, workspace: &Workspace, message: String) -> Pending {
        Pending::Versions(vec![TaskVersion::of(&self.file, message, None, workspace.now())])
    }
}

/// The number of times that a file is found again because it was moved before it was read.
const MOVES: usize = 3;

/// Finds and reads the file of a task.
pub(crate) fn find(
    workspace: &Workspace,
    id: &TaskId,
) -> Result<(Snapshot, TaskPlace), ProjectError> {
    let paths = &workspace.paths;
    let mut moves = 0;
    loop {
        let found = find_path(workspace, id)?;
        match task_files::read(paths, &found.path) {
            // Another command moved it into the archive, or back, after it was found.
            Err(StoreError::Gone { .. }) if moves < MOVES => moves += 1,
            read => return Ok((read?, found.place)),
        }
    }
}

fn find_path(workspace: &Workspace, id: &TaskId) -> Result<FoundFile, ProjectError> {
    let paths = &workspace.paths;
    task_files::find(paths, id).map_err(|error| match error {
        StoreError::TaskNotFound { id } => {
            let head = workspace.repository.head_for_reading().ok().and_then(|head| head.commit);
            let committed = head.and_then(|commit| path_in(workspace, commit, &id).ok().flatten());
            let known = task_files::known_ids(paths);
            let nearest = nearest(id.as_str(), known.iter().map(TaskId::as_str))
                .and_then(|text| text.parse().ok());
            let left_out = committed.as_ref().and_then(|path| left_out(workspace, path));
            let underway = workspace.underway();
            ProjectError::NoTask { id, nearest, committed, left_out, underway }
        }
        other => other.into(),
    })
}

/// Fails if the task has files in two places: it was copied, and either may be the right one.
fn refuse_copy(
    workspace: &Workspace,
    id: &TaskId,
    path: &ProjectPath,
    before: &ProjectPath,
) -> Result<(), ProjectError> {
    // While a finished task moves into the archive, it is in both for a moment.
    let active = [path, before].iter().all(|path| !layout::is_archived(path));
    if path != before && active && before.below(workspace.paths.root()).is_file() {
        let (id, paths) = (id.clone(), vec![path.clone(), before.clone()]);
        return Err(StoreError::TaskDoubled { id, paths }.into());
    }
    Ok(())
}

/// Parses a task file. The error has each fault with its line.
pub(crate) fn parse(
    in_force: &InForce,
    id: &TaskId,
    path: &ProjectPath,
    bytes: &[u8],
    now: Timestamp,
) -> Result<TaskFile, ProjectError> {
    parse_with(&in_force.defaults(now), id, path, bytes)
}

/// Parses a task file with these defaults.
pub(crate) fn parse_with(
    defaults: &Defaults,
    id: &TaskId,
    path: &ProjectPath,
    bytes: &[u8],
) -> Result<TaskFile, ProjectError> {
    task_file::parse(bytes, id, defaults)
        .map_err(|faults| unreadable(id, path, &String::from_utf8_lossy(bytes), &faults))
}

/// Returns a changed task file from its spliced text, which is parsed already.
pub(crate) fn spliced(
    defaults: &Defaults,
    id: &TaskId,
    path: &ProjectPath,
    spliced: Spliced,
) -> Result<TaskFile, ProjectError> {
    let source = spliced.map_err(|refusal| ProjectError::Splice { path: path.clone(), refusal })?;
    task_file::read(&source, id, defaults)
        .map_err(|faults| unreadable(id, path, source.text(), &faults))
}

fn unreadable(id: &TaskId, path: &ProjectPath, text: &str, faults: &[Fault]) -> ProjectError {
    let diagnostics =
        faults.iter().map(|fault| Diagnostic::from_fault(path.as_str(), text, fault)).collect();
    let (id, path, in_head) = (id.clone(), path.clone(), false);
    ProjectError::UnreadableTask { id, path, diagnostics, in_head }
}

/// Notes whether HEAD has a file that cannot be read, so that the hint can name the way to restore it.
pub(crate) fn noting_head(error: ProjectError, in_head: bool) -> ProjectError {
    match error {
        ProjectError::UnreadableTask { id, path, diagnostics, .. } => {
            ProjectError::UnreadableTask { id, path, diagnostics, in_head }
        }
        other => other,
    }
}

/// Returns the task's path in HEAD: usually the same path, unless people have moved the file.
fn head_path(
    workspace: &Workspace,
    head: &Head,
    id: &TaskId,
    path: &ProjectPath,
) -> Result<Option<ProjectPath>, ProjectError> {
    let Some(commit) = head.commit else { return Ok(None) };
    if workspace.repository.blob_id(commit, path.as_str())?.is_some() {
        return Ok(Some(path.clone()));
    }
    path_in(workspace, commit, id)
}

/// Returns the path of the task's file in a commit.
pub(crate) fn path_in(
    workspace: &Workspace,
    commit: CommitId,
    id: &TaskId,
) -> Result<Option<ProjectPath>, ProjectError> {
    let name = format!("{id}.md");
    let files = workspace.repository.list(commit, "tasks")?;
    let found = files.into_iter().find(|file| file.path.rsplit('/').next() == Some(&name));
    Ok(found.map(|file| file.path.parse()).transpose()?)
}

/// Returns the task's file in a commit; `None` if it has none or it is unreadable.
pub(crate) fn committed_task(
    workspace: &Workspace,
    in_force: &InForce,
    commit: CommitId,
    id: &TaskId,
) -> Result<Option<TaskFile>, ProjectError> {
    let usual = task_path(id, in_force.rules.project.layout);
    let bytes = match workspace.repository.read(commit, usual.as_str())? {
        Some(bytes) => bytes,
        None => match path_in(workspace, commit, id)? {
            Some(path) => workspace.repository.read(commit, path.as_str())?.unwrap_or_default(),
            None => return Ok(None),
        },
    };
    Ok(task_file::parse(&bytes, id, &in_force.defaults(workspace.now())).ok())
}
