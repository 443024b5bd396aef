//! Git's merges of task files: one file that git asks about, the message of a merge, and what tells git to ask. `ops::merge`
//! does the merging.

mod install;
mod left;
mod message;
mod places;
mod settle;

use std::path::Path;

pub use install::{ATTRIBUTES, Missing, install, missing};
pub(super) use install::{attributes_after, install_here};
pub(super) use left::{Left, Remains, left_unmerged};
pub use settle::{End, Settled, settle};

pub(super) use message::SUPERSEDED;
pub use message::{add_trailers, superseded_trailer};

use super::error::OpsError;
use super::in_force::{rules_at, rules_mark, stand_in};
use super::merge::{FileMerge, Versions, merge_bases, merge_files, merged_as_text};
use super::workspace::Workspace;
use crate::audit::{Marks, Repository};

/// Opens the project in a folder.
pub type Open<'o> = &'o dyn Fn(&Path) -> Result<Workspace, OpsError>;

/// What git has a file merged for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// For whoever merges: what is disputed is marked.
    Result(Marks),
    /// For itself: the two are what branches had that have merged each other since, and nobody sees what comes of them.
    Base,
}

impl Purpose {
    /// Tells by the labels that git gives the sides.
    pub fn of(marks: Marks) -> Self {
        let is_base = marks.ours == "Temporary merge branch 1" && marks.theirs == "Temporary merge branch 2";
        if is_base { Self::Base } else { Self::Result(marks) }
    }
}

/// Merges two versions of a file at a path of the repository around `here`, by the rules that are in force in HEAD.
pub fn drive(
    open: Open<'_>,
    here: &Path,
    path: &str,
    versions: Versions<'_>,
    purpose: &Purpose,
) -> Result<FileMerge, OpsError> {
    let usual = Marks::default();
    let marks = if let Purpose::Result(marks) = purpose { marks } else { &usual };
    let top = Repository::discover(here)?;
    let root = top.worktree_root().to_owned();
    let top = open(&root)?;
    let head = top.repository.look()?.commit;
    let Some((folder, id)) = places::task_at(&top.repository, head, path)? else {
        return merged_as_text(versions, None, marks);
    };
    let project = root.join(folder);
    let rules = match head {
        Some(head) if project.is_dir() => {
            let workspace = open(&project)?;
            match rules_at(&workspace, head)? {
                None if rules_mark(&workspace.repository, head)?.is_empty() => Some(stand_in()?),
                rules => rules,
            }
        }
        _ => None,
    };
    if let Some(rules) = rules {
        return match purpose {
            Purpose::Result(marks) => merge_files(&rules, &id, versions, marks),
            Purpose::Base => merge_bases(&rules, &id, versions),
        };
    }
    let why = "the branch that is merged into has no rules that are valid".to_owned();
    merged_as_text(versions, Some(why), marks)
}
