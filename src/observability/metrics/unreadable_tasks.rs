//! Tasks whose files cannot be read now, as they were committed last when they could be: nothing that was counted is taken away by an
//! edit under way.

use std::collections::HashSet;

use crate::project::active_rules::InForce;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::{ProjectPath, layout};
use crate::tasks::headers::header::{Header, follow, header};
use crate::tasks::headers::listing::Listing;
use crate::tasks::state::task_state::parse_with;

/// How many earlier versions of a file are looked at for one that can be read.
const LOOK_BACK: usize = 100;

/// Returns the tasks that have a file, but none that can be read.
pub(crate) fn of(
    workspace: &Workspace,
    in_force: &InForce,
    listing: &Listing,
) -> Result<Vec<Header>, OpsError> {
    let mut hidden = Vec::new();
    if listing.unreadable.is_empty() {
        return Ok(hidden);
    }
    let mut read: HashSet<String> =
        listing.tasks.iter().map(|(header, _)| header.id.clone()).collect();
    for file in &listing.unreadable {
        let Ok(path) = file.path.parse::<ProjectPath>() else { continue };
        if let Some(mut header) =
            committed(workspace, in_force, &path)?.filter(|header| read.insert(header.id.clone()))
        {
            follow(&in_force.rules, &mut header);
            hidden.push(header);
        }
    }
    Ok(hidden)
}

fn committed(
    workspace: &Workspace,
    in_force: &InForce,
    path: &ProjectPath,
) -> Result<Option<Header>, OpsError> {
    let (Some(Ok(id)), repository) = (layout::task_id(path.name()), &workspace.repository) else {
        return Ok(None);
    };
    let Some(head) = repository.look()?.commit else { return Ok(None) };
    for entry in repository.log_of(head, &[path.as_str()])?.take(LOOK_BACK) {
        let entry = entry?;
        let Some(bytes) = repository.read(entry.id, path.as_str())? else { continue };
        if let Ok(file) = parse_with(&in_force.defaults(entry.committed), &id, path, &bytes) {
            return Ok(Some(header(&file)));
        }
    }
    Ok(None)
}
