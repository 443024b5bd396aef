//! The summaries of all tasks, from a cache if the files have not changed.
//!
//! Git follows renames in merges, so an active task may end up in the archive. These are found by HEAD, so that no list needs to walk
//! the whole archive.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::num::NonZeroUsize;
use std::thread::ScopedJoinHandle;
use std::time::Instant;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tracing::debug;

use crate::domain::{Status, TaskId, Timestamp, WorkflowName, listed};
use crate::files::diagnostic::Diagnostic;
use crate::files::task_file::{Defaults, TaskFile};
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::layout::{ARCHIVE, is_archived, task_id};
use crate::storage::task_files;
use crate::storage::task_files::{Stray, TaskEntry, WalkEntry};
use crate::storage::{
    ArchiveScan, FileStat, HeaderCache, Hint, Paths, ProjectPath, StoreError, journal,
};
use crate::tasks::headers::summary::{ChildProgress, HEADERS, TaskSummary};
use crate::tasks::state::task_state::parse_with;

/// Up to this many files, starting another thread does not pay off.
const FEW: usize = 64;

/// A list of tasks, and the unreadable files.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The tasks, with their paths.
    pub tasks: Vec<(Box<TaskSummary>, ProjectPath)>,
    /// The tasks that a filter left out. Freeing thousands of them costs more than finding them, and a process that ends need not
    /// free them.
    pub(crate) left_out: Vec<(Box<TaskSummary>, ProjectPath)>,
    /// The depth of each task in a tree, in the order of the list; only if a tree was requested.
    pub depths: Option<Vec<usize>>,
    /// The progress of the children of tasks, listed or not.
    pub progress: HashMap<TaskId, ChildProgress>,
    /// The tasks about which the reader may decide now, if that was asked for.
    pub waiting: HashSet<TaskId>,
    /// The quality of each task's match with the search.
    pub matches: HashMap<TaskId, Match>,
    /// Circles of tasks that wait for each other, and are never handed out.
    pub circles: Vec<Vec<String>>,
    /// Files that cannot be read as tasks, with the reason.
    pub unreadable: Vec<Unreadable>,
    /// Files named like companions that are not next to their task: left over from a finished or moved task, or of no task. Only a
    /// walk through the long archive could distinguish them, and no list makes one.
    pub(crate) beside: Vec<Unreadable>,
    /// True if the cache of summaries could not be read.
    pub(crate) is_cache_damaged: bool,
}

impl Listing {
    /// Returns the tasks in the order of [`TaskSummary::urgency`].
    pub(crate) fn by_urgency(&self, now: Timestamp) -> Vec<&(Box<TaskSummary>, ProjectPath)> {
        let mut tasks: Vec<_> = self.tasks.iter().collect();
        tasks.sort_by_cached_key(|(task, _)| (task.urgency(now), task.id.clone()));
        tasks
    }
}

/// The field in which a term was found, most significant first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SearchField {
    Id,
    Title,
    Tags,
    /// The texts of completions: summaries, blockers and notes.
    Summary,
    Body,
}

impl SearchField {
    /// The fields that are searched as texts, in order.
    pub(crate) const TEXTS: [Self; 4] = [Self::Title, Self::Tags, Self::Summary, Self::Body];

    /// Returns its name in `--json`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Title => "title",
            Self::Tags => "tags",
            Self::Summary => "summary",
            Self::Body => "body",
        }
    }

    /// Returns the score of a term that was found in the field. A whole word scores more than the beginning of one, and a field more
    /// than later ones.
    pub(crate) fn worth(self, is_whole: bool) -> u32 {
        2 * (Self::Body as u32 - self as u32) + 1 + u32::from(is_whole)
    }
}

/// The quality of a task's match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Match {
    /// The sum over the terms; the higher, the better.
    pub score: u32,
    /// The least significant field in which a term was found.
    pub field: SearchField,
}

/// A file that cannot be read as a task.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unreadable {
    pub path: String,
    pub reason: String,
    /// The faults in its text, if any.
    pub diagnostics: Vec<Diagnostic>,
}

impl Unreadable {
    fn whole(path: String, reason: String) -> Self {
        Self { path, reason, diagnostics: Vec::new() }
    }

    /// Returns the path, with line and column of the first fault if there is one.
    pub(crate) fn place(&self) -> String {
        match self.diagnostics.first() {
            Some(first) => format!("{}:{}:{}", self.path, first.line, first.column),
            None => self.path.clone(),
        }
    }
}

/// The files that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListScope {
    /// Active tasks, also those that git moved into the archive.
    Active,
    /// Also tasks of the latest day in the archive.
    Recent,
    /// Also tasks of the days in the archive that a day of any time zone may touch.
    Days,
    /// Also all finished tasks.
    All,
}

/// Reads the summaries of all tasks; parses only files that changed since the last time.
pub(crate) fn read_all(workspace: &Workspace, in_force: &InForce, scope: ListScope) -> Listing {
    let start = Instant::now();
    let (paths, workflow) = (&workspace.paths, &in_force.rules.project.default_workflow);
    let looked = workspace.clock()();
    let mut listing = Listing::default();
    // Listed before the active ones, so that a file that moves back meanwhile is not missed.
    let open = if scope == ListScope::All { Vec::new() } else { open_in_archive(workspace) };
    let (walked, mut cache) = std::thread::scope(|threads| {
        let walk = threads.spawn(|| walk(paths, scope));
        // The first thread loads the cache, since the system gives it memory in larger parts.
        let cache = HeaderCache::<Box<TaskSummary>>::load(paths, HEADERS);
        (joined(walk), cache)
    });
    listing.is_cache_damaged = cache.is_replaced;
    let entries = entries(paths, walked, open, &mut listing);
    let (known, missed): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| cache.get(&entry.path, &entry.stat).is_some());
    let (cached, changed) = (known.len(), missed.len());
    let mut kept: Vec<ProjectPath> = known.into_iter().map(|entry| entry.path).collect();
    let read = |entry: &TaskEntry| read_summary(paths, workflow, &entry.id, &entry.path);
    for (entry, read) in missed.iter().zip(read_many(&missed, read)) {
        match read {
            // Not cached: a hand-made file's defaults are those of the rules, which may change.
            Ok(task) if task.is_new => listing.tasks.push((task, entry.path.clone())),
            Ok(task) => match cache.put(&entry.path, task.file, task, looked) {
                Some(task) => listing.tasks.push((task, entry.path.clone())),
                None => kept.push(entry.path.clone()),
            },
            // The task was finished or moved since the folder was listed: a list of all tasks looks for it.
            Err(ProjectError::Store(StoreError::Gone { .. })) if scope == ListScope::All => {
                let moved = task_files::find(paths, &entry.id).ok().map(|found| found.path);
                listing.tasks.extend(moved.and_then(|path| {
                    Some((read_summary(paths, workflow, &entry.id, &path).ok()?, path))
                }));
            }
            Err(ProjectError::Store(StoreError::Gone { .. })) => {}
            Err(error) => listing.unreadable.push(unreadable(entry.path.as_str(), error)),
        }
    }
    let read_now = listing.tasks.iter().map(|(_, path)| path);
    forget_gone(&mut cache, kept.iter().chain(read_now), scope);
    // A failure is ignored: the cache only saves time, and a read-only project can still be listed.
    let _ = cache.save(paths);
    listing.tasks.extend(kept.into_iter().filter_map(|path| {
        let (file, mut task) = cache.take(&path)?;
        task.file = file;
        Some((task, path))
    }));
    if scope == ListScope::Active {
        listing.tasks.retain(|(task, path)| !is_archived(path) || is_misplaced(task, path));
    }
    for (task, _) in &mut listing.tasks {
        task.follow(&in_force.rules);
    }
    let seconds = start.elapsed().as_secs_f64();
    debug!(
        cached,
        read = changed,
        unreadable = listing.unreadable.len(),
        seconds,
        "looked at the tasks"
    );
    listing.unreadable.sort_by(|a, b| a.path.cmp(&b.path));
    listing
}

/// The entries found below `tasks/`.
struct Walked {
    /// By id.
    active: Vec<TaskEntry>,
    archived: Vec<TaskEntry>,
    strays: Vec<Stray>,
}

fn walk(paths: &Paths, scope: ListScope) -> Walked {
    let mut strays = Vec::new();
    let mut task = |entry: WalkEntry| match entry {
        WalkEntry::Task(entry) => Some(entry),
        WalkEntry::Stray(stray) => {
            strays.push(stray);
            None
        }
    };
    let mut active: Vec<TaskEntry> = task_files::walk_active(paths).filter_map(&mut task).collect();
    active.sort_by(|a, b| a.id.cmp(&b.id).then_with(|| a.path.cmp(&b.path)));
    // A file that is replaced while its folder is listed may be listed twice.
    active.dedup_by(|a, b| a.path == b.path);
    let archived: Vec<TaskEntry> = match scope {
        ListScope::Active => Vec::new(),
        ListScope::Recent => task_files::walk_latest(paths, 1).filter_map(&mut task).collect(),
        ListScope::Days => task_files::walk_latest(paths, 3).filter_map(&mut task).collect(),
        ListScope::All => task_files::walk_archived(paths).filter_map(&mut task).collect(),
    };
    Walked { active, archived, strays }
}

/// Returns the task files, and adds the others to `listing`. `open`: the unfinished ones in the archive. Two active files with one id
/// are both left out: the list would show one task twice, or only one of its versions.
fn entries(
    paths: &Paths,
    walked: Walked,
    open: Vec<TaskEntry>,
    listing: &mut Listing,
) -> Vec<TaskEntry> {
    let Walked { mut active, mut archived, strays } = walked;
    // A companion in the archive belongs to a task only if that is finished.
    let finished: HashSet<&str> = archived.iter().map(|entry| entry.path.name()).collect();
    for stray in strays {
        let is_beside = stray.companion_of().is_some_and(|task| {
            !stray.path.starts_with(ARCHIVE) || finished.contains(task.as_str())
        });
        let list = if is_beside { &mut listing.beside } else { &mut listing.unreadable };
        list.push(Unreadable::whole(stray.path.display().to_string(), stray.reason.to_string()));
    }
    archived.retain(|entry| open.iter().all(|other| other.path != entry.path));
    archived.extend(open);
    let stands = |path: &ProjectPath| path.below(paths.root()).exists();
    let mut entries = Vec::new();
    for entry in archived {
        let start = active.partition_point(|other| other.id < entry.id);
        let same = active[start..].iter().take_while(|other| other.id == entry.id);
        match same.clone().find(|other| stands(&other.path)) {
            None => {
                let count = same.count();
                active.drain(start..start + count);
                entries.push(entry);
            }
            // While a task moves into the archive, it is in both places; or it was moved back meanwhile.
            Some(_) if journal::is_pending(paths) || !stands(&entry.path) => {}
            Some(other) => {
                let other = &other.path;
                let id = &entry.id;
                let reason =
                    format!("task `{id}` is active as `{other}` too: remove one of the two");
                listing.unreadable.push(Unreadable::whole(entry.path.to_string(), reason));
            }
        }
    }
    let mut doubled = HashSet::new();
    for same in active.chunk_by(|a, b| a.id == b.id).filter(|same| same.len() > 1) {
        let id = &same[0].id;
        let files: Vec<ProjectPath> = same.iter().map(|entry| entry.path.clone()).collect();
        let counts = match task_files::counting(id, &files) {
            Some(path) => format!("`{path}` counts where the task is named, and no list has it"),
            None => "it is unclear which one counts, so no command touches it".to_owned(),
        };
        let (count, list) = (files.len(), listed(&files));
        let reason = format!("task `{id}` has {count} files, {list}: {counts}; remove all but one");
        listing.unreadable.push(Unreadable::whole(files[0].to_string(), reason));
        doubled.insert(id.clone());
    }
    entries.extend(active.into_iter().filter(|entry| !doubled.contains(&entry.id)));
    entries
}

/// Removes files that no longer exist from a cache, as far as the list covers them.
pub(crate) fn forget_gone<'p, H: Serialize + DeserializeOwned>(
    cache: &mut HeaderCache<H>,
    standing: impl Iterator<Item = &'p ProjectPath> + Clone,
    scope: ListScope,
) {
    if cache.len() > standing.clone().count() {
        let standing: HashSet<&str> = standing.map(ProjectPath::as_str).collect();
        let archive = format!("{ARCHIVE}/");
        let is_covered = |path: &str| scope == ListScope::All || !path.starts_with(&archive);
        cache.retain(|path| standing.contains(path) || !is_covered(path));
    }
}

/// Reads files, on all cores if there are many.
pub(crate) fn read_many<F: Sync, R: Send>(files: &[F], read: impl Fn(&F) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let share = files.len().div_ceil(cores).max(FEW);
    if files.len() <= share {
        return files.iter().map(read).collect();
    }
    std::thread::scope(|scope| {
        let read = &read;
        let start = |share| scope.spawn(move || <[F]>::iter(share).map(read).collect::<Vec<R>>());
        let threads: Vec<_> = files.chunks(share).map(start).collect();
        threads.into_iter().flat_map(joined).collect()
    })
}

/// Returns the result of a thread.
pub(crate) fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Reads the summary of one file. It does not follow the rules in force yet.
pub(crate) fn read_summary(
    paths: &Paths,
    workflow: &WorkflowName,
    id: &TaskId,
    path: &ProjectPath,
) -> Result<Box<TaskSummary>, ProjectError> {
    let (file, stat) = read_file(paths, workflow, id, path)?;
    let mut summary = Box::new(TaskSummary::of(&file));
    summary.file = stat;
    Ok(summary)
}

/// Reads a task's file as it is now.
pub(crate) fn read_file(
    paths: &Paths,
    workflow: &WorkflowName,
    id: &TaskId,
    path: &ProjectPath,
) -> Result<(TaskFile, FileStat), ProjectError> {
    let snapshot = task_files::read(paths, path)?;
    // Without a creation time, the modification time counts.
    let created =
        Timestamp::from_nanosecond(snapshot.stat.mtime.into()).unwrap_or(Timestamp::UNIX_EPOCH);
    let defaults = Defaults { workflow: workflow.clone(), created };
    Ok((parse_with(&defaults, id, &snapshot.path, &snapshot.bytes)?, snapshot.stat))
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

/// Returns an unreadable file for `--json`.
pub(crate) fn unreadable_value(file: &Unreadable) -> Value {
    let diagnostics: Vec<Value> = file.diagnostics.iter().map(Diagnostic::to_value).collect();
    json!({"path": file.path, "reason": file.reason, "diagnostics": diagnostics})
}

/// Returns whether the task's file is in the wrong place, archive or not. A file that is not adopted may be anywhere.
pub(crate) fn is_misplaced(task: &TaskSummary, path: &ProjectPath) -> bool {
    !task.is_new && task.is_finished() != is_archived(path)
}

/// Up to this many changed files in the archive are read each time, without updating the cached scan.
const FEW_CHANGED: usize = 16;

/// Returns the files in the archive whose tasks are unfinished according to HEAD, and that exist in the worktree.
pub(crate) fn open_in_archive(workspace: &Workspace) -> Vec<TaskEntry> {
    let paths = &workspace.paths;
    if !paths.root().join(ARCHIVE).is_dir() {
        return Vec::new();
    }
    // If git fails, assume none; a commit reports the same error.
    let open = open_in_head(workspace).unwrap_or_default();
    let entry = |path: ProjectPath| {
        let data =
            fs::symlink_metadata(path.below(paths.root())).ok().filter(fs::Metadata::is_file)?;
        Some(TaskEntry { id: task_id(path.name())?.ok()?, stat: FileStat::of(&data), path })
    };
    open.into_iter().filter_map(entry).collect()
}

/// Returns the paths in HEAD's archive whose tasks are unfinished: from the cached scan of an earlier commit, updated by the changes
/// since.
fn open_in_head(workspace: &Workspace) -> Result<BTreeSet<ProjectPath>, ProjectError> {
    let repository = &workspace.repository;
    let Some(head) = repository.head_for_reading()?.commit else { return Ok(BTreeSet::new()) };
    let known = ArchiveScan::load(&workspace.paths).and_then(|known| {
        let since = known.commit.parse().ok().filter(|since| repository.has_commit(*since))?;
        Some((since, known.paths().collect::<BTreeSet<ProjectPath>>()))
    });
    let (before, changed) = match known {
        Some((since, before)) if since == head => return Ok(before),
        Some((since, before)) => {
            let changed = repository.changed_below(ARCHIVE, since, head)?.into_iter();
            (Some(before), changed.map(|file| (file.path, file.after)).collect::<Vec<_>>())
        }
        None => {
            let files = repository.list(head, ARCHIVE)?.into_iter();
            (None, files.map(|file| (file.path, Some(file.id))).collect())
        }
    };
    let mut open = before.clone().unwrap_or_default();
    for (path, content) in &changed {
        let Ok(path) = path.parse::<ProjectPath>() else { continue };
        let content = content.filter(|_| task_id(path.name()).is_some_and(|id| id.is_ok()));
        match content.map(|content| repository.read_blob(content)).transpose()? {
            Some(bytes) if !says_finished(&bytes) => open.insert(path),
            _ => open.remove(&path),
        };
    }
    if before.as_ref() != Some(&open) || changed.len() > FEW_CHANGED {
        let names = open.iter().map(ToString::to_string).collect();
        // The scan only saves time: a read-only project can still be listed.
        let _ = ArchiveScan { commit: head.to_string(), open: names }.save(&workspace.paths);
    }
    Ok(open)
}

/// Returns whether the frontmatter has a finished status, without parsing it.
fn says_finished(bytes: &[u8]) -> bool {
    let lines = bytes.split(|byte| *byte == b'\n').skip(1).map(<[u8]>::trim_ascii_end);
    let status =
        lines.take_while(|line| *line != b"---").find_map(|line| line.strip_prefix(b"status:"));
    let word = status.and_then(|value| std::str::from_utf8(value).ok()).unwrap_or_default();
    let word =
        word.split_once(" #").map_or(word, |(word, _)| word).trim().trim_matches(['"', '\'']);
    word.parse::<Status>().is_ok_and(Status::is_finished)
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
