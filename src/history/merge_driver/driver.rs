//! Git's merges of task files: one file that git asks about, the message of a merge, and what tells git to ask. `history::merge::merge`
//! does the merging.

use super::places;
use super::replayed;
use std::path::Path;

use super::replayed::Refused;

use crate::domain::TaskId;
use crate::git::{Marks, Repository};
use crate::history::merge::bases::merge_bases;
use crate::history::merge::merge::{FileMerge, Versions, merge_files};
use crate::history::merge::text_merge::merged as merged_as_text;
use crate::history::merge::trees::id_of;
use crate::history::merge::unrelated_tasks::{of_one_task, of_two_names};
use crate::project::active_rules::{rules_at, stand_in};
use crate::project::error::error::OpsError;
use crate::project::rule_sources::rules_mark;
use crate::project::workspace::Workspace;

/// Opens the project in a folder.
pub(crate) type Open<'o> = &'o dyn Fn(&Path) -> Result<Workspace, OpsError>;

/// What git has a file merged for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// For whoever merges: what is disputed is marked.
    Result(Marks),
    /// For itself: the two are what branches had that have merged each other since, and nobody sees what comes of them.
    Base,
}

/// What came of the versions of a file.
pub(crate) enum Driven {
    /// This; git has it for the file.
    Merged(FileMerge),
    /// Nothing: git makes a commit again that cannot stand here. The file stays as the branch has it onto which it comes.
    Refused(Box<Refused>),
}

impl Purpose {
    /// Tells by the labels that git gives the sides; where a file was moved, its path comes behind.
    pub(crate) fn of(marks: Marks) -> Self {
        let is = |label: &str, name| {
            label.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        };
        let is_base = is(&marks.ours, "Temporary merge branch 1")
            && is(&marks.theirs, "Temporary merge branch 2");
        if is_base { Self::Base } else { Self::Result(marks) }
    }
}

/// Returns the repository around a folder, with all that it has: git runs drivers and hooks for more than one project.
pub(crate) fn whole_repository(here: &Path) -> Result<Repository, OpsError> {
    let nearest = Repository::discover(here)?;
    Ok(if nearest.prefix().is_empty() {
        nearest
    } else {
        Repository::discover(nearest.worktree_root())?
    })
}

/// Merges two versions of a file at a path of the repository around `here`, by the rules that are in force in HEAD.
pub(crate) fn drive(
    open: Open<'_>,
    here: &Path,
    path: &str,
    versions: Versions<'_>,
    purpose: &Purpose,
) -> Result<Driven, OpsError> {
    let usual = Marks::default();
    let marks = if let Purpose::Result(marks) = purpose { marks } else { &usual };
    let top = Repository::discover(here)?;
    let root = top.worktree_root().to_owned();
    let top = open(&root)?;
    let head = top.repository.look()?.commit;
    let Some((folder, id)) = places::task_at(&top.repository, head, path)? else {
        return merged_as_text(versions, None, marks).map(Driven::Merged);
    };
    let (ours, theirs) = (named(&marks.ours), named(&marks.theirs));
    if let Some(kept) = of_two_names(&id, versions, [ours.as_ref(), theirs.as_ref()]) {
        return Ok(Driven::Merged(kept));
    }
    let folder_length = folder.len();
    let project = root.join(folder);
    let in_force = match head {
        Some(head) if project.is_dir() => {
            let workspace = open(&project)?;
            let rules = match rules_at(&workspace, head)? {
                None if rules_mark(&workspace.repository, head)?.is_empty() => Some(stand_in()?),
                rules => rules,
            };
            rules.map(|rules| (workspace, rules, head))
        }
        _ => None,
    };
    if let Some((workspace, rules, head)) = in_force {
        let Purpose::Result(marks) = purpose else {
            return merge_bases(&rules, &id, versions).map(Driven::Merged);
        };
        let merge = merge_files(&rules, &id, versions, marks)?;
        if let Some(replay) = workspace.repository.replay_of(marks)? {
            let file = (&id, &path[folder_length..]);
            if let Some(refused) =
                replayed::refused((&workspace, &rules, head), replay, file, versions, &merge)?
            {
                return Ok(Driven::Refused(Box::new(refused)));
            }
        }
        return Ok(Driven::Merged(merge));
    }
    if let Err(kept) = of_one_task(&id, versions) {
        return Ok(Driven::Merged(kept));
    }
    let why = "the branch that is merged into has no rules that are valid".to_owned();
    merged_as_text(versions, Some(why), marks).map(Driven::Merged)
}

/// Returns the task whose file git says that a side has there: where the two have it at different paths, their labels end in those.
fn named(label: &str) -> Option<TaskId> {
    id_of(label.rsplit_once(':')?.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_says_by_its_labels_whose_file_a_side_has() {
        let id = |label| named(label).map(|id| id.to_string());
        assert_eq!(id("side:tasks/AOF-abc.md").as_deref(), Some("AOF-abc"));
        assert_eq!(
            id("16c250e (of: two):tasks/archive/2026/02/16/AOF-abc.md").as_deref(),
            Some("AOF-abc")
        );
        for label in [
            "side",
            "tasks/AOF-abc.md",
            "16c250e (see tasks/AOF-abc.md)",
            "16c250e (see: AOF-abc.md)",
            "side:notes.md",
        ] {
            assert_eq!(id(label), None, "{label}");
        }
    }

    #[test]
    fn git_says_by_its_labels_what_it_merges_for() {
        let purpose = |ours: &str, theirs: &str| {
            Purpose::of(Marks { size: 7, ours: ours.into(), theirs: theirs.into() })
        };
        for (ours, theirs) in [
            ("Temporary merge branch 1", "Temporary merge branch 2"),
            (
                "Temporary merge branch 1:tasks/AOF-abc.md",
                "Temporary merge branch 2:tasks/archive/2026/02/16/AOF-abc.md",
            ),
        ] {
            assert_eq!(purpose(ours, theirs), Purpose::Base);
        }
        for theirs in [
            "side",
            "16c250e",
            "parent of 16c250e (a subject)",
            "Stashed changes",
            "Temporary merge branch 2",
        ] {
            let purpose = purpose("HEAD", theirs);
            assert!(matches!(purpose, Purpose::Result(_)), "{theirs}");
        }
    }
}
