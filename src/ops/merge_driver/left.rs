//! Task files that git left unmerged, and how each of them stands. Only reads.

use std::collections::BTreeMap;

use super::replayed::{Refused, refused};
use crate::audit::{CommitId, Marks, Sides, StagedVersion, Unmerged};
use crate::engine::Rules;
use crate::format::task_file::{self, Defaults};
use crate::model::{TaskId, Timestamp};
use crate::ops::error::OpsError;
use crate::ops::in_force::{rules_at, rules_mark, stand_in};
use crate::ops::merge::{FileMerge, Versions, merge_files, merged_as_text};
use crate::ops::workspace::Workspace;
use crate::store::{ProjectPath, StoreError, layout, tasks};

/// A task file that git left unmerged.
pub(in crate::ops) struct Left {
    /// Where it belongs.
    pub path: String,
    /// Other places at which git has a version of it.
    pub others: Vec<String>,
    /// What both sides had, ours, and theirs.
    pub sides: Sides,
    /// What stood at each of these paths when it was looked at.
    pub stood: Vec<(String, Stood)>,
    /// How it stands.
    pub remains: Remains,
}

/// What stands at a path in the worktree.
#[derive(PartialEq, Eq)]
pub(in crate::ops) enum Stood {
    /// Nothing.
    Nothing,
    /// A file that says this.
    File(Vec<u8>),
    /// A link, or whatever else a person has put there.
    Other,
}

impl Stood {
    /// Returns what stands there now.
    pub(in crate::ops) fn at(workspace: &Workspace, path: &str) -> Result<Self, OpsError> {
        Ok(match tasks::read(&workspace.paths, &path.parse::<ProjectPath>()?) {
            Ok(file) => Self::File(file.bytes),
            Err(StoreError::Gone { .. }) => Self::Nothing,
            Err(_) => Self::Other,
        })
    }
}

/// How a file stands that git left unmerged.
pub(in crate::ops) enum Remains {
    /// Nobody has changed it: this comes of merging it by its meaning.
    Unmerged(Box<FileMerge>),
    /// The same, and what stands there is ours alone, without a marker: whoever takes it for merged loses what comes in.
    WithoutTheirs(Box<FileMerge>),
    /// Git makes a commit again that cannot stand here.
    Refused(Box<Refused>),
    /// One side changed it, and the other has it nowhere.
    Removed,
    /// Somebody has changed it since, or it is no file on one of the sides.
    Touched,
    /// What it means cannot be told: the branch that is merged into has no rules that are valid.
    Lawless,
}

/// Returns the task files of the project that git left unmerged.
pub(in crate::ops) fn left_unmerged(workspace: &Workspace) -> Result<Vec<Left>, OpsError> {
    let repository = &workspace.repository;
    let mut cases: BTreeMap<TaskId, Vec<Unmerged>> = BTreeMap::new();
    for unmerged in repository.unmerged()?.into_iter().filter(|own| own.path.starts_with("tasks/")) {
        if let Some(Ok(id)) = layout::task_id(unmerged.path.rsplit('/').next().unwrap_or_default()) {
            cases.entry(id).or_default().push(unmerged);
        }
    }
    if cases.is_empty() {
        return Ok(Vec::new());
    }
    let Some(head) = repository.look()?.commit else { return Ok(Vec::new()) };
    let rules = match rules_at(workspace, head)? {
        None if rules_mark(repository, head)?.is_empty() => Some(stand_in()?),
        rules => rules,
    };
    cases.iter().map(|(id, unmerged)| left((workspace, rules.as_deref(), head), id, unmerged)).collect()
}

fn left(
    (workspace, rules, head): (&Workspace, Option<&Rules>, CommitId),
    id: &TaskId,
    unmerged: &[Unmerged],
) -> Result<Left, OpsError> {
    let repository = &workspace.repository;
    let mut paths: Vec<String> = unmerged.iter().map(|own| own.path.clone()).collect();
    let of = |side: fn(&Unmerged) -> Option<StagedVersion>| unmerged.iter().find_map(side);
    let mut sides = [of(|own| own.base), of(|own| own.ours), of(|own| own.theirs)];
    // What one side moved stands merged in another place.
    let staged = repository.staged(&format!("/{id}.md"))?;
    if let Some((path, version)) = staged.into_iter().find(|(path, _)| path.starts_with("tasks/")) {
        paths.push(path);
        sides[1] = sides[1].or(Some(version));
        sides[2] = sides[2].or(Some(version));
    }
    let plain = |path, remains| Ok(Left { path, others: Vec::new(), sides, stood: Vec::new(), remains });
    let [base, Some(ours), Some(theirs)] = sides else { return plain(paths.swap_remove(0), Remains::Removed) };
    if !sides.into_iter().flatten().all(StagedVersion::is_file) {
        return plain(paths.swap_remove(0), Remains::Touched);
    }
    let Some(rules) = rules else { return plain(paths.swap_remove(0), Remains::Lawless) };
    let base = base.map(|base| repository.read_blob(base.content)).transpose()?;
    let (ours, theirs) = (repository.read_blob(ours.content)?, repository.read_blob(theirs.content)?);
    let versions = Versions { base: base.as_deref(), ours: &ours, theirs: &theirs };
    let merge = Box::new(merge_files(rules, id, versions, &Marks::default())?);
    let place = place(rules, id, &paths, [&merge.bytes, &ours, &theirs]);
    let as_text = merged_as_text(versions, None, &Marks::default())?.bytes;
    let known = [&ours, &theirs, &merge.bytes, &as_text];
    let (mut stood, mut is_known, mut is_ours) = (Vec::new(), true, true);
    for path in &paths {
        let standing = Stood::at(workspace, path)?;
        match &standing {
            Stood::File(bytes) => {
                let is_git_s = repository.written_unmerged(path)? == Some(repository.hash_blob(bytes));
                is_known &= is_git_s || known.contains(&bytes);
                is_ours &= *bytes == ours;
            }
            Stood::Nothing => {}
            Stood::Other => is_known = false,
        }
        stood.push((path.clone(), standing));
    }
    let refused = match repository.replay_stopped() {
        Some(replay) => refused((workspace, rules, head), replay, (id, &paths[place]), versions, &merge)?,
        None => None,
    };
    let remains = if let Some(refused) = refused {
        Remains::Refused(Box::new(refused))
    } else if !is_known {
        Remains::Touched
    } else if paths.len() == 1 && is_ours && merge.bytes != ours {
        Remains::WithoutTheirs(merge)
    } else {
        Remains::Unmerged(merge)
    };
    let path = paths.swap_remove(place);
    Ok(Left { path, others: paths, sides, stood, remains })
}

/// Returns which of the paths is where the task belongs: in the archive when it is finished. Markers may keep what was merged from
/// saying so; then it is as far as one of the sides is.
fn place(rules: &Rules, id: &TaskId, paths: &[String], [merged, ours, theirs]: [&[u8]; 3]) -> usize {
    let is_finished = |bytes| is_finished(rules, id, bytes);
    let belongs_there = is_finished(merged).unwrap_or_else(|| [ours, theirs].map(is_finished).contains(&Some(true)));
    paths.iter().position(|path| is_archived(path) == belongs_there).unwrap_or_default()
}

/// Returns whether these bytes say that the task is finished, if they can be read.
fn is_finished(rules: &Rules, id: &TaskId, bytes: &[u8]) -> Option<bool> {
    let defaults = Defaults { workflow: rules.project.default_workflow.clone(), created: Timestamp::UNIX_EPOCH };
    task_file::parse(bytes, id, &defaults).ok().map(|file| file.task.status.is_finished())
}

fn is_archived(path: &str) -> bool {
    path.strip_prefix(layout::ARCHIVE).is_some_and(|rest| rest.starts_with('/'))
}
