//! The summaries of all tasks, from a cache where the files have not changed.
//!
//! Git follows renames when it merges, so an active task may end up in the archive. HEAD says which those are, so that no list has to
//! walk the whole archive.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::num::NonZeroUsize;
use std::time::Instant;

use serde_json::{Value, json};
use tracing::debug;

use crate::domain::{Status, TaskId, Timestamp, WorkflowName, listed};
use crate::files::diagnostic::Diagnostic;
use crate::files::task_file::Defaults;
use crate::git::{CommitId, ObjectId, Repository};
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::layout::{ARCHIVE, is_archived, task_id};
use crate::storage::task_files;
use crate::storage::task_files::{Stray, TaskEntry, WalkEntry};
use crate::storage::{
    ArchiveScan, FileStat, HeaderCache, Hint, Paths, ProjectPath, StoreError, journal,
};
use crate::tasks::headers::summary::{SCHEMA, TaskSummary};
use crate::tasks::state::task_state::parse_with;

/// So many files are parsed sooner than another thread is started.
const FEW: usize = 64;

/// A list of tasks, and what could not be read.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The tasks that were wanted, with their files.
    pub tasks: Vec<(TaskSummary, ProjectPath)>,
    /// Tasks that wait for each other in circles, and are never handed out.
    pub circles: Vec<Vec<String>>,
    /// Files that cannot be read as tasks, with why.
    pub unreadable: Vec<Unreadable>,
    /// Files with the name of a companion that do not stand beside their task: what stayed of one that was finished or moved, or nobody's.
    /// Which of these only the archive tells, and it is long: no list asks it.
    pub(crate) beside: Vec<Unreadable>,
}

/// A file that cannot be read as a task.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unreadable {
    /// The file.
    pub path: String,
    /// Why, in one sentence.
    pub reason: String,
    /// Where in it, if it is the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Unreadable {
    fn whole(path: String, reason: String) -> Self {
        Self { path, reason, diagnostics: Vec::new() }
    }

    /// Returns the file, with line and column where its text is what is wrong.
    pub(crate) fn place(&self) -> String {
        match self.diagnostics.first() {
            Some(first) => format!("{}:{}:{}", self.path, first.line, first.column),
            None => self.path.clone(),
        }
    }
}

/// Which files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListScope {
    /// Those of active tasks, wherever git put them.
    Active,
    /// Those of the tasks that finished on the last day there is, too.
    Recent,
    /// Those of finished ones too.
    All,
}

/// Reads the summaries of all tasks; only those that changed since they were last looked at are parsed.
pub(crate) fn read_all(workspace: &Workspace, in_force: &InForce, scope: ListScope) -> Listing {
    let start = Instant::now();
    let paths = &workspace.paths;
    let looked = workspace.clock()();
    let mut listing = Listing::default();
    let entries = entries(workspace, scope, &mut listing);
    let mut cache = HeaderCache::<TaskSummary>::load(paths, SCHEMA);
    let (known, missed): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| cache.get(&entry.path, &entry.stat).is_some());
    let (cached, read) = (known.len(), missed.len());
    let mut kept: Vec<ProjectPath> = known.into_iter().map(|entry| entry.path).collect();
    for (entry, read) in
        missed.iter().zip(read_missed(paths, &in_force.rules.project.default_workflow, &missed))
    {
        match read {
            Ok((task, stat)) => {
                // What a hand-made file leaves open comes from the rules, which may change without it.
                let back = if task.is_new {
                    Some(task)
                } else {
                    cache.put(&entry.path, stat, task, looked)
                };
                match back {
                    Some(task) => listing.tasks.push((task, entry.path.clone())),
                    None => kept.push(entry.path.clone()),
                }
            }
            // It went away since the folder was listed: finished, or moved by a person. Who wants all of them misses none.
            Err(ProjectError::Store(StoreError::Gone { .. })) => {
                let wanted = Some(entry).filter(|_| scope == ListScope::All);
                let default = &in_force.rules.project.default_workflow;
                listing
                    .tasks
                    .extend(wanted.and_then(|entry| read_moved(paths, default, &entry.id)));
            }
            Err(error) => listing.unreadable.push(unreadable(entry.path.as_str(), error)),
        }
    }
    let standing: HashSet<&str> = kept
        .iter()
        .chain(listing.tasks.iter().map(|(_, path)| path))
        .map(ProjectPath::as_str)
        .collect();
    forget_missing(&mut cache, &standing, scope);
    // The cache only saves time: a project that cannot be written to is listed all the same.
    let _ = cache.save(paths);
    listing.tasks.extend(kept.into_iter().filter_map(|path| Some((cache.take(&path)?, path))));
    if scope == ListScope::Active {
        listing.tasks.retain(|(task, path)| !is_archived(path) || is_misplaced(task, path));
    }
    for (task, _) in &mut listing.tasks {
        task.follow(&in_force.rules);
    }
    let seconds = start.elapsed().as_secs_f64();
    debug!(cached, read, unreadable = listing.unreadable.len(), seconds, "looked at the tasks");
    listing.unreadable.sort_by(|a, b| a.path.cmp(&b.path));
    listing
}

/// Returns the task files, and says which cannot be any. Two active files of one id are neither: a list would show one task twice,
/// or only what one of them says.
fn entries(workspace: &Workspace, scope: ListScope, listing: &mut Listing) -> Vec<TaskEntry> {
    let paths = &workspace.paths;
    // Before the active ones are gone through: one that is brought back meanwhile is among those then.
    let open = if scope == ListScope::All { Vec::new() } else { open_in_archive(workspace) };
    let mut strays = Vec::new();
    let mut task = |entry: WalkEntry| match entry {
        WalkEntry::Task(entry) => Some(entry),
        WalkEntry::Stray(stray) => {
            strays.push(stray);
            None
        }
    };
    let mut active: Vec<TaskEntry> = task_files::walk_active(paths).filter_map(&mut task).collect();
    let mut archived: Vec<TaskEntry> = match scope {
        ListScope::Active => Vec::new(),
        ListScope::Recent => task_files::walk_latest(paths).filter_map(&mut task).collect(),
        ListScope::All => task_files::walk_archived(paths).filter_map(&mut task).collect(),
    };
    tell_apart(strays, &archived, listing);
    let unreadable = &mut listing.unreadable;
    archived.retain(|entry| open.iter().all(|other| other.path != entry.path));
    archived.extend(open);
    let mut files: HashMap<TaskId, Vec<ProjectPath>> = HashMap::with_capacity(active.len());
    active.retain(|entry| {
        let known = files.entry(entry.id.clone()).or_default();
        // A file that is replaced while its folder is listed may be listed twice.
        let is_new = !known.contains(&entry.path);
        known.extend(is_new.then(|| entry.path.clone()));
        is_new
    });
    active.retain(|entry| files[&entry.id].len() == 1);
    let stands = |path: &ProjectPath| path.below(paths.root()).exists();
    let mut arrived = HashSet::new();
    let mut both = Vec::new();
    for entry in archived {
        let others = files.get(&entry.id).map(Vec::as_slice).unwrap_or_default();
        match others.iter().find(|path| stands(path)) {
            None => {
                if !others.is_empty() {
                    arrived.insert(entry.id.clone());
                }
                both.push(entry);
            }
            // On its way into the archive a task is in both places for a moment; or it was brought back meanwhile.
            Some(_) if journal::is_pending(paths) || !stands(&entry.path) => {}
            Some(_) => {
                let (id, other) = (&entry.id, &others[0]);
                let reason =
                    format!("task `{id}` is active as `{other}` too: remove one of the two");
                unreadable.push(Unreadable::whole(entry.path.to_string(), reason));
            }
        }
    }
    active.retain(|entry| !arrived.contains(&entry.id));
    active.append(&mut both);
    for (id, mut paths) in
        files.into_iter().filter(|(id, paths)| paths.len() > 1 && !arrived.contains(id))
    {
        paths.sort();
        let counts = match task_files::counting(&id, &paths) {
            Some(path) => format!("`{path}` counts where the task is named, and no list has it"),
            None => "nobody can tell which one counts, so no command touches it".to_owned(),
        };
        let count = paths.len();
        let reason = format!(
            "task `{id}` has {count} files, {}: {counts}; remove all but one",
            listed(&paths)
        );
        unreadable.push(Unreadable::whole(paths[0].to_string(), reason));
    }
    active
}

/// What has a companion's name is no task, wherever its task stands. In the archive it is somebody's only if it is that of a finished one.
fn tell_apart(strays: Vec<Stray>, archived: &[TaskEntry], listing: &mut Listing) {
    if strays.is_empty() {
        return;
    }
    let finished: HashSet<&str> = archived.iter().map(|entry| entry.path.name()).collect();
    for stray in strays {
        let task = stray.companion_of();
        let Stray { path, reason } = stray;
        let is_beside =
            task.is_some_and(|task| !path.starts_with(ARCHIVE) || finished.contains(task.as_str()));
        let among = if is_beside { &mut listing.beside } else { &mut listing.unreadable };
        among.push(Unreadable::whole(path.display().to_string(), reason.to_string()));
    }
}

type Read = Result<(TaskSummary, FileStat), ProjectError>;

/// Reads and parses files, with every core when there are many.
fn read_missed(paths: &Paths, workflow: &WorkflowName, missed: &[TaskEntry]) -> Vec<Read> {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let share = missed.len().div_ceil(cores).max(FEW);
    let read = |share: &[TaskEntry]| {
        share
            .iter()
            .map(|entry| read_summary(paths, workflow, &entry.id, &entry.path))
            .collect::<Vec<_>>()
    };
    if missed.len() <= share {
        return read(missed);
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            missed.chunks(share).map(|share| scope.spawn(move || read(share))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Vec<Read>>| match thread.join() {
            Ok(read) => read,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().flat_map(join).collect()
    })
}

/// Reads the task wherever it is now.
fn read_moved(
    paths: &Paths,
    workflow: &WorkflowName,
    id: &TaskId,
) -> Option<(TaskSummary, ProjectPath)> {
    let path = task_files::find(paths, id).ok()?.path;
    let (task, _) = read_summary(paths, workflow, id, &path).ok()?;
    Some((task, path))
}

fn read_summary(paths: &Paths, workflow: &WorkflowName, id: &TaskId, path: &ProjectPath) -> Read {
    let snapshot = task_files::read(paths, path)?;
    // A file that does not say when it was made is as old as it was last written.
    let created =
        Timestamp::from_nanosecond(snapshot.stat.mtime.into()).unwrap_or(Timestamp::UNIX_EPOCH);
    let defaults = Defaults { workflow: workflow.clone(), created };
    let file = parse_with(&defaults, id, &snapshot.path, &snapshot.bytes)?;
    Ok((TaskSummary::of(&file), snapshot.stat))
}

/// Forgets the files that are not there any more, as far as they were looked for.
fn forget_missing(
    cache: &mut HeaderCache<TaskSummary>,
    standing: &HashSet<&str>,
    scope: ListScope,
) {
    let looked_for =
        |path: &str| scope == ListScope::All || !path.starts_with(&format!("{ARCHIVE}/"));
    cache.retain(|path| standing.contains(path) || !looked_for(path));
}

pub(crate) fn unreadable(path: &str, error: ProjectError) -> Unreadable {
    match error {
        ProjectError::UnreadableTask { diagnostics, .. } => {
            let reason = diagnostics.first().map(|first| first.message.clone()).unwrap_or_default();
            Unreadable { path: path.to_owned(), reason, diagnostics }
        }
        other => Unreadable::whole(path.to_owned(), other.to_string()),
    }
}

/// Returns what cannot be read as `--json` shows it.
pub(crate) fn unreadable_value(file: &Unreadable) -> Value {
    let diagnostics: Vec<Value> = file.diagnostics.iter().map(Diagnostic::to_value).collect();
    json!({"path": file.path, "reason": file.reason, "diagnostics": diagnostics})
}

/// Returns whether the task's file stands where it does not belong. One that nobody has taken up stands where people put it.
pub(crate) fn is_misplaced(task: &TaskSummary, path: &ProjectPath) -> bool {
    !task.is_new && task.is_finished() != is_archived(path)
}

/// So many files that changed in the archive are looked at again rather than noted each time.
const FEW_CHANGED: usize = 16;

/// Returns the files in the archive whose tasks may go on. What HEAD has decides which they are; those that are not there are left
/// out. What a person did and has not committed is not seen.
pub(crate) fn open_in_archive(workspace: &Workspace) -> Vec<TaskEntry> {
    let paths = &workspace.paths;
    if !paths.root().join(ARCHIVE).is_dir() {
        return Vec::new();
    }
    // Where git cannot tell, the archive is as it should be, as far as anybody knows; whoever commits meets the same.
    let open = committed(workspace).unwrap_or_default();
    let entry = |path: ProjectPath| {
        let data =
            fs::symlink_metadata(path.below(paths.root())).ok().filter(fs::Metadata::is_file)?;
        Some(TaskEntry { id: task_id(path.name())?.ok()?, stat: FileStat::of(&data), path })
    };
    open.into_iter().filter_map(entry).collect()
}

fn is_task(path: &ProjectPath) -> bool {
    task_id(path.name()).is_some_and(|id| id.is_ok())
}

/// Returns those that HEAD has: what was seen of an earlier commit, and what has changed since. What is kept is said of a commit, so
/// nothing but its own content goes into it: what stands in the worktree just now may be gone, or come back, at the next look.
fn committed(workspace: &Workspace) -> Result<BTreeSet<ProjectPath>, ProjectError> {
    let repository = &workspace.repository;
    let Some(head) = repository.look()?.commit else { return Ok(BTreeSet::new()) };
    let known = ArchiveScan::load(&workspace.paths).and_then(|known| {
        let since =
            known.commit.parse::<CommitId>().ok().filter(|since| repository.has_commit(*since))?;
        Some((since, known.paths().collect::<BTreeSet<ProjectPath>>()))
    });
    let Some((since, before)) = known else {
        let mut open = BTreeSet::new();
        for file in repository.list(head, ARCHIVE)? {
            see(repository, &mut open, &file.path, Some(file.id))?;
        }
        note(workspace, head, &open);
        return Ok(open);
    };
    if since == head {
        return Ok(before);
    }
    let mut open = before.clone();
    let changed = repository.changed_below(ARCHIVE, since, head)?;
    for file in &changed {
        see(repository, &mut open, &file.path, file.after)?;
    }
    if open != before || changed.len() > FEW_CHANGED {
        note(workspace, head, &open);
    }
    Ok(open)
}

/// Puts a file that a commit has there among the open ones, or takes it from them.
fn see(
    repository: &Repository,
    open: &mut BTreeSet<ProjectPath>,
    path: &str,
    content: Option<ObjectId>,
) -> Result<(), ProjectError> {
    let Ok(path) = path.parse::<ProjectPath>() else { return Ok(()) };
    let content = content.filter(|_| is_task(&path));
    match content.map(|content| repository.read_blob(content)).transpose()? {
        Some(bytes) if !says_finished(&bytes) => drop(open.insert(path)),
        _ => drop(open.remove(&path)),
    }
    Ok(())
}

fn note(workspace: &Workspace, head: CommitId, open: &BTreeSet<ProjectPath>) {
    let seen = ArchiveScan {
        commit: head.to_string(),
        open: open.iter().map(ToString::to_string).collect(),
    };
    // It only saves time: a project that cannot be written to is listed all the same.
    let _ = seen.save(&workspace.paths);
}

/// A file of thousands is soon asked: the key stands at the beginning of a line, above the body.
fn says_finished(bytes: &[u8]) -> bool {
    let lines = bytes.split(|byte| *byte == b'\n').skip(1).map(<[u8]>::trim_ascii_end);
    let status =
        lines.take_while(|line| *line != b"---").find_map(|line| line.strip_prefix(b"status:"));
    let said = status.and_then(|value| std::str::from_utf8(value).ok()).unwrap_or_default();
    let said =
        said.split_once(" #").map_or(said, |(said, _)| said).trim().trim_matches(['"', '\'']);
    said.parse::<Status>().is_ok_and(Status::is_finished)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_read_above_the_body_and_only_there() {
        for text in [
            "---\nid: AOF-abc\nstatus: complete\n---\n",
            "---\r\nstatus: 'failed' # at last\r\n---\r\n",
            "---\nstatus:   \"cancelled\"\n---\nstatus: ready\n",
        ] {
            assert!(says_finished(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "---\nstatus: ready\n---\n",
            "---\ntitle: x\n---\nstatus: complete\n",
            "---\nmetadata:\n  status: complete\nstatus: in_progress\n---\n",
            "---\nstatus: Complete\n---\n",
        ] {
            assert!(!says_finished(text.as_bytes()), "{text}");
        }
    }
}
