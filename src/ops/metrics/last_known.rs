//! What was last known of every task, for whoever counts again and again: a file that cannot be read for a moment takes nothing away from
//! what was counted. It is in memory alone, and small: a header is kept as its JSON.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::{Numbers, of_listing};
use crate::engine::Rules;
use crate::ops::error::OpsError;
use crate::ops::header::{Header, follow};
use crate::ops::headers::{Listing, Scope, read_all};
use crate::ops::in_force::InForce;
use crate::ops::workspace::Workspace;

/// What the last count knew.
#[derive(Debug, Default)]
pub struct LastKnown {
    /// The headers, by the task's id.
    headers: HashMap<String, Box<[u8]>>,
}

impl LastKnown {
    /// Counts the project; tasks whose files cannot be read now count as they were when they last could be.
    pub fn numbers(&mut self, workspace: &Workspace, in_force: &InForce) -> Result<Numbers, OpsError> {
        let listing = read_all(workspace, in_force, Scope::All);
        let hidden = self.hidden(&in_force.rules, &listing);
        let numbers = of_listing(workspace, in_force, &listing, &hidden)?;
        self.keep(listing, hidden);
        Ok(numbers)
    }

    /// Returns the tasks that have a file, but none that can be read, as they were.
    fn hidden(&self, rules: &Rules, listing: &Listing) -> Vec<Header> {
        if listing.unreadable.is_empty() {
            return Vec::new();
        }
        let read: HashSet<&str> = listing.tasks.iter().map(|(header, _)| header.id.as_str()).collect();
        let unreadable: HashSet<&str> =
            listing.unreadable.iter().filter_map(|file| Path::new(&file.path).file_stem()?.to_str()).collect();
        let known = unreadable.difference(&read).filter_map(|id| self.headers.get(*id));
        let mut headers: Vec<Header> = known.filter_map(|json| serde_json::from_slice(json).ok()).collect();
        for header in &mut headers {
            follow(rules, header);
        }
        headers
    }

    fn keep(&mut self, listing: Listing, hidden: Vec<Header>) {
        let headers = listing.tasks.into_iter().map(|(header, _)| header).chain(hidden);
        let json = |header: Header| Some((serde_json::to_vec(&header).ok()?.into_boxed_slice(), header.id));
        self.headers = headers.filter_map(json).map(|(json, id)| (id, json)).collect();
    }
}
