//! Frozen task files, which no command may change because a person edited engine fields by hand; and stale files.
//!
//! A stale file is an earlier committed version of itself, with or without edits of a person. A checkout that races with a command
//! leaves such a file, and so does an editor that saves late. The edits are merged into HEAD's version.

use std::collections::HashMap;
use std::fmt::Display;

use crate::domain::TaskId;
use crate::files::task_file;
use crate::files::task_file::TaskFile;
use crate::git::{CommitId, Marks};
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{StateChange, explain};
use crate::storage::ProjectPath;
use crate::system::terminal::quoted;
use crate::tasks::merge::file_merge::merge_files;
use crate::tasks::merge::versions::{Conflict, Versions};

/// The field that is reported if HEAD's version cannot be read, so that the changed fields are unknown.
pub(crate) const UNREADABLE_BEFORE: &str = "frontmatter";

pub(crate) fn is_unreadable_before(fields: &[String]) -> bool {
    matches!(fields, [only] if only == UNREADABLE_BEFORE)
}

/// The reason why a task file is frozen.
pub(crate) struct Frozen<'f> {
    /// The fields that are in question: most are written only by the engine.
    pub fields: &'f [String],
    pub problem: &'static str,
    pub fix: String,
}

impl<'f> Frozen<'f> {
    /// Returns the reason why a hand-made file with engine fields is frozen.
    pub(crate) fn unearned(id: &TaskId, fields: &'f [String]) -> Self {
        let fix = format!(
            "take it out of the file: the task stands at no gate yet, and begins once that is gone; then `aof hold {id} --reason \
             \"...\"` blocks it. What a task begins with stands below `context.input`"
        );
        Self { fields, problem: "says what only the engine says", fix }
    }

    /// Returns the reason why a file is frozen that would not be read as it is meant.
    pub(crate) fn misread(places: &'f [String], fix: String) -> Self {
        Self { fields: places, problem: "would not be read as it is meant", fix }
    }

    /// Returns the reason why a file is frozen whose edit is not accepted yet.
    pub(crate) fn unaccepted(
        id: &TaskId,
        path: &ProjectPath,
        before: &ProjectPath,
        keys: &'f [String],
    ) -> Self {
        let fix = format!(
            "{}; or a person accepts it at a terminal with `aof edit {id} --accept`, or with a commit",
            thaw_hint(path, Committed::At(before))
        );
        let problem = "was edited while an agent holds it, in what the rules read";
        Self { fields: keys, problem, fix }
    }

    /// Returns the reason why a stale file is frozen, until it is refreshed.
    pub(crate) fn stale(id: &TaskId) -> Self {
        let fix = format!(
            "`aof watch --once`, or the next command that changes {id}, puts your edits into HEAD's version and keeps the old file"
        );
        Self { fields: &[], problem: "is an earlier version of the task", fix }
    }

    /// Returns the reason why a stale file is frozen whose edits overlap with later commits.
    pub(crate) fn overlapping(path: &ProjectPath, places: &'f [String]) -> Self {
        let fix = format!(
            "`git stash push -- {}` keeps your version in git's stash and puts HEAD's back; then make your change there",
            quoted(path.as_str())
        );
        let problem =
            "is an earlier version of the task, and what you changed has changed in HEAD too";
        Self { fields: places, problem, fix }
    }

    /// Returns the problem as a sentence about `subject`.
    pub(crate) fn of(&self, subject: impl Display) -> String {
        match self.fields {
            [] => format!("{subject} {}", self.problem),
            fields => format!("{subject} {}: {}", self.problem, fields.join(", ")),
        }
    }
}

/// The version that git has of a task whose file was edited by hand.
#[derive(Clone, Copy)]
pub(crate) enum Committed<'p> {
    /// HEAD has the task at that path.
    At(&'p ProjectPath),
    /// HEAD has the task at that path, but it cannot be read there.
    Unreadable(&'p ProjectPath),
    /// HEAD does not have the task; an earlier commit has exactly this file.
    Earlier,
    Never,
}

/// Returns the fix that undoes a hand edit of engine fields.
pub(crate) fn thaw_hint(path: &ProjectPath, committed: Committed<'_>) -> String {
    let named = quoted(path.as_str());
    match committed {
        Committed::Unreadable(before) => format!(
            "what HEAD has cannot be read, so a person decides: if it is another task's file, renamed, rename it back; if this \
             counts (`git diff HEAD -- {}`), commit it yourself: `git add {named} && git commit`",
            quoted(before.as_str())
        ),
        Committed::At(before) if before == path => format!(
            "see the change with `git diff HEAD -- {named}` and take it back with `git restore --source=HEAD \
             --staged --worktree {named}`"
        ),
        Committed::At(before) => format!(
            "it was `{before}`: see the change with `git diff HEAD -- {0} {named}`, take it back with `git restore \
             --source=HEAD --staged --worktree {0}`, and remove `{path}`",
            quoted(before.as_str())
        ),
        Committed::Earlier => format!(
            "a commit took it away, and it says what was committed there before: commit that it is back with \
             `git add {named} && git commit`"
        ),
        Committed::Never => format!(
            "`{path}` was never committed, so its origin is unknown; take out what the engine keeps (`gate`, \
             `gateHistory`, `status`, `blockers`, `reviewContext`, `workflowHash`, `routing` but for `workflow`, and `context` \
             but for `input`) to have it begin again"
        ),
    }
}

/// The most versions of a file that are searched for the base of an edit.
const MOST_VERSIONS: usize = 100;

/// A stale file, brought up to HEAD.
pub(crate) enum Refreshed {
    /// HEAD's version with the person's edits.
    Merged(Vec<u8>),
    /// The edits overlap with later commits in these places.
    Overlaps(Vec<String>),
}

/// Returns HEAD's version of a stale file with the person's edits merged in, or the places where they overlap with later commits.
/// `None` if the file is not stale. `committed` is HEAD's version.
pub(crate) fn refreshed(
    workspace: &Workspace,
    in_force: &InForce,
    path: &ProjectPath,
    head: CommitId,
    [committed, file]: [&TaskFile; 2],
) -> Result<Option<Refreshed>, ProjectError> {
    let Some(base) = base_of(workspace, in_force, path, head, file)? else { return Ok(None) };
    let versions = Versions { base: Some(&base), ours: committed.bytes(), theirs: file.bytes() };
    let merged = merge_files(&in_force.rules, &file.task.id, versions, &Marks::default())?;
    let place = |conflict: &Conflict| match conflict {
        Conflict::Key(key) => key.clone(),
        _ => "body".to_owned(),
    };
    let places: Vec<String> = merged.conflicts.iter().map(place).collect();
    let overlaps = !places.is_empty();
    Ok(Some(if overlaps { Refreshed::Overlaps(places) } else { Refreshed::Merged(merged.bytes) }))
}

/// Returns the committed version that the file is based on: an identical one, otherwise the most similar one with the same engine
/// fields.
fn base_of(
    workspace: &Workspace,
    in_force: &InForce,
    path: &ProjectPath,
    head: CommitId,
    file: &TaskFile,
) -> Result<Option<Vec<u8>>, ProjectError> {
    let (repository, path) = (&workspace.repository, path.as_str());
    let defaults = in_force.defaults(file.task.created);
    let text = String::from_utf8_lossy(file.bytes());
    let mut nearest = None;
    for entry in repository.log_of(head, &[path])?.take(MOST_VERSIONS) {
        let Some(blob) = repository.blob_id(entry?.id, path)? else { continue };
        let bytes = repository.read_blob(blob)?;
        let Ok(version) = task_file::parse(&bytes, &file.task.id, &defaults) else { continue };
        let change = explain(&in_force.rules, Some(&version.task), &file.task);
        if matches!(change, StateChange::Same | StateChange::Edit) && file.continues(&version) {
            let distance = distance(&String::from_utf8_lossy(&bytes), &text);
            if nearest.as_ref().is_none_or(|(least, _)| distance < *least) {
                nearest = Some((distance, bytes));
            }
            if distance == 0 {
                break;
            }
        }
    }
    Ok(nearest.map(|(_, bytes)| bytes))
}

/// Returns the number of lines that only one of two texts has.
fn distance(one: &str, other: &str) -> usize {
    let mut lines: HashMap<&str, isize> = HashMap::new();
    for line in one.lines() {
        *lines.entry(line).or_default() += 1;
    }
    for line in other.lines() {
        *lines.entry(line).or_default() -= 1;
    }
    lines.values().map(|count| count.unsigned_abs()).sum()
}
