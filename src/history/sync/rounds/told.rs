//! What is told of a sync that has ended: what came, what went, and how far the two sides are apart.

use super::Rounds;
use crate::git::{CommitId, Distance};
use crate::history::sync::sync::{End, Line, Synced};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::system::shell::quoted;

/// So many commits are told of one by one.
const MOST_TOLD: usize = 100;

impl Rounds<'_> {
    /// Returns how it went.
    pub(crate) fn told(self, end: End) -> Result<Synced, OpsError> {
        let repository = &self.workspace.repository;
        let (from, _) = self.begun;
        let now = repository.look()?.commit;
        // What went there came from here.
        let theirs = self.went.map_or(self.tip, |(before, _)| before);
        let has_come = match (theirs, now) {
            (Some(theirs), Some(now)) => end == End::Rehearsed || repository.led_to(theirs, now)?,
            _ => false,
        };
        let came = if has_come { lines(self.workspace, from, theirs)? } else { Vec::new() };
        let went = match &self.went {
            Some((before, up_to)) => lines(self.workspace, *before, Some(*up_to))?,
            None => Vec::new(),
        };
        let Distance { ahead, behind } = match (now, self.tip) {
            (Some(now), Some(tip)) => repository.distance(now, tip)?,
            (Some(now), None) => {
                Distance { ahead: repository.all_since(&[], now)?.commits.len(), behind: 0 }
            }
            (None, _) => Distance::default(),
        };
        let Self { upstream, merge, superseded, offered: rounds, .. } = self;
        let again = match self.wish.remote {
            Some(remote) => format!("aof sync --remote {}", quoted(remote)),
            None => "aof sync".to_owned(),
        };
        Ok(Synced { upstream, again, came, went, merge, superseded, rounds, ahead, behind, end })
    }
}

/// Returns the newest commits that led to one and not to the other.
fn lines(
    workspace: &Workspace,
    known: Option<CommitId>,
    until: Option<CommitId>,
) -> Result<Vec<Line>, OpsError> {
    let Some(until) = until.filter(|until| Some(*until) != known) else { return Ok(Vec::new()) };
    let commits = workspace.repository.all_since(known.as_slice(), until)?.commits;
    commits
        .iter()
        .rev()
        .take(MOST_TOLD)
        .map(|commit| {
            let entry = workspace.repository.log_entry(*commit)?;
            let subject = entry.message.lines().next().unwrap_or_default().to_owned();
            Ok(Line { commit: *commit, subject, author: entry.author.name().to_owned() })
        })
        .collect()
}
