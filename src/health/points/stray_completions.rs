//! Completion files that lie where nobody takes them: in the checkout around a project on a branch of its own.

use std::path::Path;

use crate::domain::issue::{Attention, some};
use crate::project::workspace::Workspace;
use crate::storage::inbox::{FileClass, Witnessed};
use crate::storage::layout::INBOX;
use crate::storage::{Inbox, Paths};

/// Says which files lie in an inbox that is not the project's, of the folders around it.
pub(crate) fn astray(workspace: &Workspace) -> Vec<Attention> {
    let own = workspace.paths.root();
    let mut folders = vec![workspace.checkout.clone()];
    folders.extend(workspace.paths.around().map(|around| around.root().to_owned()));
    folders.dedup();
    folders
        .iter()
        .filter(|folder| folder.as_path() != own)
        .filter_map(|folder| told(workspace, folder))
        .collect()
}

fn told(workspace: &Workspace, folder: &Path) -> Option<Attention> {
    let paths = Paths::of_checkout(folder);
    // Where nobody may look, nobody is told to look.
    let dropped = Inbox::of(&paths).scan(workspace.clock()(), &|_| Witnessed::Renamed).ok()?;
    let dropped = dropped.into_iter().filter(|candidate| candidate.class != FileClass::Ignored);
    let names: Vec<String> =
        dropped.map(|candidate| candidate.item.name.to_string_lossy().into_owned()).collect();
    let shown: Vec<&str> = names.iter().map(String::as_str).collect();
    let lie = if names.len() == 1 { "completion file lies" } else { "completion files lie" };
    (!names.is_empty()).then(|| Attention {
        code: "inbox_astray",
        problem: format!(
            "{} {lie} in `{}`, where nobody takes them: {}",
            names.len(),
            folder.join(INBOX).display(),
            some(&shown)
        ),
        fix: format!(
            "the project lives on a branch of its own; move them into `{}`",
            workspace.paths.inbox().display()
        ),
    })
}
