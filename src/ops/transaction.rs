//! The one way a task changes on disk.
//!
//! ```text
//!   read and decide     no lock held; a refusal ends here
//!   lock                the writer lock; what a crash left is healed; unchanged since it was read? else from the start
//!   prepare             objects of the commits, under temporary names    kill: temporary files, which git sweeps
//!   intent              `.aof/intent` names the files and git's locks    kill: the record, nothing else
//!   stage               the files under temporary names; they, the record and the objects synced   kill: temporary files, swept by `heal`
//!   write               the files, each replaced whole                   kill: files ahead of HEAD -> committed by `heal`
//!   commit              the branch and the index move                    <- the commit point
//!   sync                the folders of the files and of the branch       power cut: some old, some new -> brought forward by `heal`
//!   settle              the old file of a moved task goes, the intent is blanked   kill: both are cleared by `heal`
//! ```
//! If the commit fails, the files are put back as they were; nothing is left half-done.

use std::cell::RefCell;
use std::time::Instant;

use tracing::{info, warn};

use super::adopt;
use super::automatic::{owed_first, pass_on};
use super::error::OpsError;
use super::files::{self, Named};
use super::heal;
use super::standing::{Pending, Standing, Version};
use super::workspace::Workspace;
use crate::audit::{AuditError, Change, CommitId, Draft, Head, Person, Prepared};
use crate::engine::{Step, Warning};
use crate::format::task_file::{Origin, TaskFile};
use crate::model::{Digest, Event, Layout, TaskId, Timestamp};
use crate::stop;
use crate::store::intent::{self, Intent, Made, Old, Write as Intended};
use crate::store::layout::{archive_path, companions, task_path};
use crate::store::tasks::{self, Place, Snapshot};
use crate::store::{ProjectPath, StoreError, WriterLock};

/// How often an operation starts again at least because somebody else was faster; it goes on as long as one waits for a lock.
const ATTEMPTS: usize = 100;

/// Whether an operation is carried out, or only shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DryRun {
    /// Nothing is written.
    Yes,
    /// It is carried out.
    No,
}

/// A change that was made, or would be.
pub struct Changed {
    /// The task before it; nothing for a new one.
    pub before: Option<TaskFile>,
    /// The task after it.
    pub after: TaskFile,
    /// Where its file is.
    pub path: ProjectPath,
    /// The commit; nothing where none was made.
    pub commit: Option<CommitId>,
    /// What happened besides.
    pub events: Vec<Event>,
    /// What whoever acted should know.
    pub warnings: Vec<Warning>,
    /// Whether it had been done before.
    pub settled: bool,
}

/// What an operation wants done with a task.
pub(super) enum Choice {
    /// A step of the engine.
    Step { step: Box<Step>, message: String, author: Person, authored: Timestamp },
    /// The file as a person has it, which says nothing else of what is the engine's.
    File { file: Box<TaskFile>, message: String, author: Person },
    /// The file as it is, at another place, with what goes with it.
    Moved { to: ProjectPath, message: String },
    /// Only what lies between HEAD and the worktree is to be committed.
    Pending,
    /// Nothing: it was done before.
    Settled,
}

/// One change on its way to disk: of a task, or a new file of the rules.
pub(super) struct Write {
    /// The task; absent for a file of the rules.
    pub id: Option<TaskId>,
    pub head_path: Option<ProjectPath>,
    /// The file as it was read; nothing for a new one.
    pub from: Option<(ProjectPath, Vec<u8>)>,
    pub to: ProjectPath,
    /// The commits to be, oldest first; the last one's bytes are the file's.
    pub versions: Vec<Version>,
    /// Files that go with the task.
    pub companions: Vec<Companion>,
    /// Files that are no task's and are written in the commit of the last version: the configuration of a new project.
    pub beside: Vec<Beside>,
}

/// A file that is no task's.
#[derive(Clone)]
pub(super) struct Beside {
    pub path: ProjectPath,
    /// What it says, and what HEAD has; nothing for a new one.
    pub before: Option<Vec<u8>>,
    pub bytes: Vec<u8>,
}

/// A file beside a task file, which moves with it.
pub(super) struct Companion {
    pub from: ProjectPath,
    pub to: ProjectPath,
    pub bytes: Vec<u8>,
}

/// Reads the task, lets `decide` choose, and carries it out. A hand-made task is adopted
/// first, and one that rests at a gate which decides by itself goes on first.
pub(super) fn change(
    workspace: &Workspace,
    id: &TaskId,
    dry_run: DryRun,
    decide: &mut dyn FnMut(&Standing) -> Result<Choice, OpsError>,
) -> Result<Changed, OpsError> {
    for attempt in 1.. {
        if attempt > ATTEMPTS && Instant::now() >= workspace.deadline() {
            break;
        }
        heal::heal_if_pending(workspace)?;
        let mut standing = Standing::read(workspace, id)?.thawed()?;
        if let Some(choice) = due_first(workspace, &standing)? {
            if standing.file.origin == Origin::Adopted {
                // What is said now is meant for the visit that is open now: deciding it binds it to that, and it is decided
                // again when the task has gone on.
                let _ = decide(&standing);
            }
            if dry_run == DryRun::No {
                carry_out(workspace, &standing, choice, dry_run)?;
                continue;
            }
            let first = plan(workspace, &standing, choice)?;
            standing.snapshot.bytes = first.write.map(|write| write.bytes().to_vec()).unwrap_or_default();
            standing.file = first.changed.after;
        }
        let choice = decide(&standing)?;
        if let Some(changed) = carry_out(workspace, &standing, choice, dry_run)? {
            return Ok(changed);
        }
    }
    Err(OpsError::Restless { id: id.clone() })
}

/// Returns what has to be done with the task before anything else can be.
fn due_first(workspace: &Workspace, standing: &Standing) -> Result<Option<Choice>, OpsError> {
    match standing.file.origin {
        Origin::HandMade => adopt::choose(workspace, standing).map(Some),
        Origin::Adopted => owed_first(workspace, standing),
    }
}

/// Carries a choice out; nothing if the task or the branch changed since they were read.
pub(super) fn carry_out(
    workspace: &Workspace,
    standing: &Standing,
    choice: Choice,
    dry_run: DryRun,
) -> Result<Option<Changed>, OpsError> {
    let plan = plan(workspace, standing, choice)?;
    let Some(write) = plan.write.filter(|_| dry_run == DryRun::No) else {
        return Ok(Some(plan.changed));
    };
    let commit = commit_if_current(workspace, standing, write)?;
    Ok(commit.map(|commit| Changed { commit: Some(commit), ..plan.changed }))
}

/// What a choice comes to.
pub(super) struct Plan {
    pub changed: Changed,
    pub write: Option<Write>,
}

/// Returns what the choice would make of the task.
pub(super) fn plan(workspace: &Workspace, standing: &Standing, choice: Choice) -> Result<Plan, OpsError> {
    let mut write = Write {
        id: Some(standing.id.clone()),
        head_path: standing.head_path.clone(),
        from: Some((standing.snapshot.path.clone(), standing.snapshot.bytes.clone())),
        to: standing.snapshot.path.clone(),
        versions: Vec::new(),
        companions: Vec::new(),
        beside: Vec::new(),
    };
    if let Pending::Versions(versions) = &standing.pending {
        write.versions.clone_from(versions);
    }
    let mut after = standing.file.clone();
    let (mut events, mut warnings) = (Vec::new(), Vec::new());
    let mut settled = false;
    let mut place = None;
    match choice {
        Choice::Step { step, message, author, authored } => {
            let step = *step;
            let changed = match &step.work {
                Some(work) => standing.file.update_with_work(&step.task, work),
                None => standing.file.update(&step.task),
            };
            let file = standing.changed(workspace, changed)?;
            (events, warnings) = (step.events, step.warnings);
            let bytes = file.bytes().to_vec();
            write.versions.push(Version { bytes, message, author: Some(author.clone()), authored });
            let rules = &standing.in_force.rules;
            let passed = pass_on(rules, &standing.snapshot.path, file, &author, workspace.now())?;
            after = passed.file;
            write.versions.extend(passed.versions);
            events.extend(passed.events);
            warnings.extend(passed.warnings);
        }
        Choice::File { file, message, author } => {
            after = *file;
            let (bytes, authored) = (after.bytes().to_vec(), workspace.now());
            write.versions.push(Version { bytes, message, author: Some(author), authored });
        }
        Choice::Moved { to, message } => {
            let (bytes, authored) = (after.bytes().to_vec(), workspace.now());
            write.versions.push(Version { bytes, message, author: None, authored });
            place = Some(to);
        }
        Choice::Pending => {}
        // What lies between HEAD and the worktree goes all the same: it may be the very change, written and not yet committed.
        Choice::Settled => settled = true,
    }
    write.to = place.unwrap_or_else(|| destination(standing, &after));
    if write.to != standing.snapshot.path {
        write.companions = companions_of(workspace, standing, &write.to)?;
    }
    let changed = Changed {
        before: Some(standing.file.clone()),
        after,
        path: write.to.clone(),
        commit: None,
        events,
        warnings,
        settled,
    };
    Ok(Plan { changed, write: Some(write).filter(|write| !write.versions.is_empty()) })
}

/// Commits the write under the lock, unless the task or the branch changed since they were read.
fn commit_if_current(workspace: &Workspace, standing: &Standing, write: Write) -> Result<Option<CommitId>, OpsError> {
    let lock = workspace.lock()?;
    if heal::heal(workspace, &lock)? {
        return Ok(None);
    }
    if !is_current(workspace, &standing.snapshot, &write)? {
        return Ok(None);
    }
    match commit(workspace, &lock, &standing.head, &[write]) {
        Ok(commits) => Ok(commits.last().copied()),
        // What was read is looked at once more under git's own lock. Whatever git is in the middle of by now is waited for when
        // the branch is read again.
        Err(
            OpsError::Audit(AuditError::Moved { .. } | AuditError::Waiting { .. })
            | OpsError::Store(StoreError::Changed { .. }),
        ) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns whether the file is what was read. What is replaced is compared again as late as can be, so for that it is enough
/// that the system sees no difference.
fn is_current(workspace: &Workspace, read: &Snapshot, write: &Write) -> Result<bool, StoreError> {
    let replaced = write.to == read.path && write.bytes() != read.bytes;
    Ok(replaced && read.seems_current(&workspace.paths) || read.is_current(&workspace.paths)?)
}

/// Commits writes of different tasks, each version a commit of its own, in one move of the branch. Returns the last commit of
/// each write.
pub(super) fn commit(
    workspace: &Workspace,
    lock: &WriterLock,
    head: &Head,
    writes: &[Write],
) -> Result<Vec<CommitId>, OpsError> {
    let committed = commit_unhealed(workspace, lock, head, writes);
    if let Err(error) = &committed
        && !matches!(error, OpsError::Store(StoreError::NotDurable { .. }))
    {
        // The index may have moved before the branch could not. If that cannot be healed now the record stays, and the next
        // command heals it; what is told is why the commit failed.
        let _ = heal::heal(workspace, lock);
    }
    committed
}

/// The same for whoever heals: what a failure leaves stays on record.
pub(super) fn commit_unhealed(
    workspace: &Workspace,
    lock: &WriterLock,
    head: &Head,
    writes: &[Write],
) -> Result<Vec<CommitId>, OpsError> {
    let start = Instant::now();
    files::look_in_the_way(lock, writes)?;
    let prepared = prepare(workspace, head, writes)?;
    stop::point("ops.prepared");

    let staged = RefCell::new(Vec::new());
    let mut named = Named::default();
    let failure = RefCell::new(None);
    let published = workspace.repository.publish(
        &prepared,
        workspace.deadline(),
        &mut |locks| {
            let intended = writes.iter().map(Write::intended).collect();
            let record = Intent { pid: std::process::id(), writes: intended, locks: serde_json::to_value(locks).ok() };
            let written = intent::write(lock, &record).map_err(std::io::Error::other)?;
            stop::point("ops.intent-written");
            let waiting = files::stage(lock, writes).and_then(|files| {
                let mut staged = staged.borrow_mut();
                *staged = files;
                let mut waiting = files::unsynced(&mut staged)?;
                waiting.extend(written.unsynced(lock)?);
                Ok(waiting)
            });
            waiting.map_err(|error| {
                let told = std::io::Error::other(error.to_string());
                failure.replace(Some(error));
                told
            })
        },
        &mut || named.put(lock, writes, &mut staged.borrow_mut()).map_err(|error| failure.replace(Some(error))).ok(),
    );
    let published = match published {
        Ok(published) => published,
        Err(error) => {
            named.put_back(lock, writes)?;
            return Err(failure.into_inner().map_or_else(|| error.into(), OpsError::from));
        }
    };
    stop::point("ops.committed");
    if let Some(fault) = published.not_synced {
        // The record stays: it is what the next command goes by if a power cut takes some of it back.
        return Err(StoreError::from(fault).into());
    }
    let settled = files::settle(lock, writes);
    stop::point("ops.settled");
    if let Err(fault) = settled.and_then(|()| intent::clear(lock)) {
        // The commit stands, so this is no failure of the act. The record stays, and the next command goes on from there.
        warn!("the commit is made, and not all is cleared away behind it: {fault}");
    }
    let took = start.elapsed();
    workspace.note_commit(took);
    let commits = last_of_each(&prepared, writes);
    for (write, commit) in writes.iter().zip(&commits) {
        let task = write.id.as_ref().map(TaskId::as_str);
        info!(taskId = task, %commit, path = write.to.as_str(), seconds = took.as_secs_f64(), "committed");
    }
    Ok(commits)
}

/// Writes the commits of these writes on top of the branch, on no branch yet.
pub(super) fn prepare(workspace: &Workspace, head: &Head, writes: &[Write]) -> Result<Prepared, OpsError> {
    let committer = workspace.repository.identity()?;
    let by_user = writes.iter().flat_map(|write| &write.versions).any(|version| version.author.is_none());
    let user = if by_user { workspace.repository.author_identity()? } else { committer.clone() };
    let now = workspace.now();
    let drafts: Vec<Draft> = writes.iter().flat_map(|write| drafts(write, &user, &committer, now)).collect();
    Ok(workspace.repository.prepare_batch(head, &drafts)?)
}

/// Returns the last commit of each write.
pub(super) fn last_of_each(prepared: &Prepared, writes: &[Write]) -> Vec<CommitId> {
    let commits: Vec<CommitId> = prepared.commits().collect();
    let mut made = 0;
    let last = |write: &Write| {
        made += write.versions.len();
        commits[made - 1]
    };
    writes.iter().map(last).collect()
}

fn drafts(write: &Write, user: &Person, committer: &Person, now: Timestamp) -> Vec<Draft> {
    let mut at = write.head_path.clone();
    let last = write.versions.len().saturating_sub(1);
    let here = write.from.as_ref().map_or(&write.to, |(path, _)| path);
    let mut drafts = Vec::new();
    for (index, version) in write.versions.iter().enumerate() {
        let path = if index == last { &write.to } else { here };
        let mut changes = vec![Change { path: path.to_string(), content: Some(version.bytes.clone()) }];
        if let Some(old) = at.filter(|old| old != path) {
            changes.push(Change { path: old.to_string(), content: None });
        }
        if index == last {
            for companion in &write.companions {
                changes.push(Change { path: companion.from.to_string(), content: None });
                changes.push(Change { path: companion.to.to_string(), content: Some(companion.bytes.clone()) });
            }
            for file in &write.beside {
                changes.push(Change { path: file.path.to_string(), content: Some(file.bytes.clone()) });
            }
        }
        at = Some(path.clone());
        drafts.push(Draft {
            changes,
            message: version.message.clone(),
            author: version.author.as_ref().unwrap_or(user).clone(),
            authored: version.authored,
            committer: committer.clone(),
            committed: now,
        });
    }
    drafts
}

/// Finished tasks stand in the archive, active ones do not; otherwise a file stays where people put it.
pub(super) fn destination(standing: &Standing, after: &TaskFile) -> ProjectPath {
    let layout: Layout = standing.in_force.rules.project.layout;
    let here = &standing.snapshot.path;
    let finished = after.origin == Origin::Adopted && after.task.status.is_finished();
    match (finished, standing.place) {
        (true, Place::Active) => archive_path(&standing.id, after.task.latest()),
        (false, Place::Archived) => task_path(&standing.id, layout),
        _ => here.clone(),
    }
}

/// Returns what goes where the task goes. What git is told to leave out is in no commit because of that, and what is too large to
/// be read at once, a recording, say, keeps no task from being finished: both stay.
fn companions_of(workspace: &Workspace, standing: &Standing, to: &ProjectPath) -> Result<Vec<Companion>, OpsError> {
    let repository = &workspace.repository;
    let mut list = Vec::new();
    for path in companions(&workspace.paths, &standing.snapshot.path)? {
        let committed = standing.head.commit.map(|commit| repository.blob_id(commit, path.as_str())).transpose()?;
        if committed.flatten().is_none() && repository.is_ignored(path.as_str())? {
            continue;
        }
        let bytes = match tasks::read(&workspace.paths, &path) {
            Ok(snapshot) => snapshot.bytes,
            Err(StoreError::TooLarge { .. }) => continue,
            Err(fault) => return Err(fault.into()),
        };
        let target = to.sibling(path.name())?;
        list.push(Companion { from: path, to: target, bytes });
    }
    Ok(list)
}

impl Write {
    pub(super) fn bytes(&self) -> &[u8] {
        self.versions.last().map_or(&[], |version| &version.bytes)
    }

    fn intended(&self) -> Intended {
        let made = |(path, before, bytes): (&ProjectPath, Option<&[u8]>, &[u8])| Made {
            path: path.clone(),
            sha256: Digest::of(bytes),
            before: before.map(Digest::of),
        };
        let beside = self.beside.iter().map(|file| (&file.path, file.before.as_deref(), file.bytes.as_slice()));
        let before = self.from.as_ref().map(|(_, before)| before.as_slice());
        let own = (!self.beside.is_empty() || self.id.is_none()).then(|| (&self.to, before, self.bytes()));
        Intended {
            task: self.id.clone(),
            old: self.from.as_ref().map(|(path, bytes)| Old { path: path.clone(), sha256: Digest::of(bytes) }),
            new: self.to.clone(),
            sha256: Digest::of(self.bytes()),
            companions: self.companions.iter().map(|file| (file.from.clone(), file.to.clone())).collect(),
            made: beside.chain(own).map(made).collect(),
        }
    }
}
