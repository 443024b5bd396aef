//! What would keep changes from being committed, as far as that can be told without the lock. Nothing is written.

use std::collections::BTreeMap;
use std::slice;

use crate::git::{Change, Draft};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::tasks::apply::change::Planned;
use crate::tasks::plan::write::Write;
use crate::tasks::publish::commit::drafts;
use crate::tasks::publish::file_writes;

/// Meets what would keep a change from being committed.
pub(crate) fn rehearse(workspace: &Workspace, planned: &Planned) -> Result<(), OpsError> {
    if planned.writes.is_empty() {
        return Ok(());
    }
    // What is done first is there when the rest is: what a person staged of a new file, say, is in it.
    file_writes::look_in_the_way(&workspace.paths, &planned.writes)?;
    Ok(workspace.repository.rehearse(&planned.head, &drafts(workspace, &planned.writes)?)?)
}

/// Returns what would keep each of these changes from being committed, each by itself. Git's index and trees are read once for all that
/// nothing is in the way of.
pub(crate) fn rehearse_each(workspace: &Workspace, all: &[&Planned]) -> Vec<Option<OpsError>> {
    match all {
        [] => Vec::new(),
        [one] => vec![rehearse(workspace, one).err()],
        several if go_together(workspace, several).is_ok_and(|together| together) => {
            several.iter().map(|_| None).collect()
        }
        several => {
            let (one, other) = several.split_at(several.len() / 2);
            let mut troubles = rehearse_each(workspace, one);
            troubles.extend(rehearse_each(workspace, other));
            troubles
        }
    }
}

/// Returns whether nothing is in the way of any of them: then one commit of all that they would write could be made.
fn go_together(workspace: &Workspace, all: &[&Planned]) -> Result<bool, OpsError> {
    let Some(first) =
        all.first().filter(|first| all.iter().all(|planned| planned.head == first.head))
    else {
        return Ok(false);
    };
    let mut changes: BTreeMap<String, Change> = BTreeMap::new();
    let mut standing = Vec::new();
    let mut last = None;
    for write in all.iter().flat_map(|planned| &planned.writes) {
        let writes: &[Write] = slice::from_ref(write);
        file_writes::look_in_the_way(&workspace.paths, writes)?;
        for mut draft in drafts(workspace, writes)? {
            changes.extend(draft.changes.drain(..).map(|change| (change.path.clone(), change)));
            standing.append(&mut draft.standing);
            last = Some(draft);
        }
    }
    let Some(last) = last else { return Ok(true) };
    let draft = Draft { changes: changes.into_values().collect(), standing, ..last };
    workspace.repository.rehearse(&first.head, slice::from_ref(&draft))?;
    Ok(true)
}
