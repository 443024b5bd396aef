//! Caches that are damaged. They cost time and no fact: what they held is read from the task files again.

use crate::health::doctor::Complaint;
use crate::project::workspace::Workspace;
use crate::storage::HeaderCache;
use crate::tasks::headers::header::{Header, SCHEMA};

pub(crate) fn look(workspace: &Workspace) -> Vec<Complaint> {
    if !HeaderCache::<Header>::is_damaged(&workspace.paths, SCHEMA) {
        return Vec::new();
    }
    let complaint = Complaint::advice(
        "cache_damaged",
        "the cache of task headers, `.aof/cache`, is damaged".to_owned(),
        "every task file is read once more until it is written anew; nothing else depends on it",
        "`aof doctor --fix` removes it; the next `aof task list` makes it again".to_owned(),
    );
    vec![
        complaint.cured_by(|workspace| {
            Ok(HeaderCache::<Header>::remove_damaged(&workspace.paths, SCHEMA)?)
        }),
    ]
}
