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
use super::merge::{FileMerge, Versions, merge_files, merged_as_text};
use super::workspace::Workspace;
use crate::audit::{Marks, Repository};

/// Opens the project in a folder.
pub type Open<'o> = &'o dyn Fn(&Path) -> Result<Workspace, OpsError>;

/// Merges two versions of a file at a path of the repository around `here`, by the rules that are in force in HEAD.
pub fn drive(
    open: Open<'_>,
    here: &Path,
    path: &str,
    versions: Versions<'_>,
    marks: &Marks,
) -> Result<FileMerge, OpsError> {
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
        return merge_files(&rules, &id, versions, marks);
    }
    let why = "the branch that is merged into has no rules that are valid".to_owned();
    merged_as_text(versions, Some(why), marks)
}
