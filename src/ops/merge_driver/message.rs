//! The message of a merge commit: it lists the completions that count no more.

use std::collections::BTreeSet;

use super::{Open, places};
use crate::audit::trailers::{self, Trailer};
use crate::audit::{CommitId, Repository};
use crate::engine::merge::Superseded;
use crate::model::AgentId;
use crate::ops::error::OpsError;
use crate::ops::merge::superseded_between;

/// The key of these trailers.
pub(in crate::ops) const SUPERSEDED: &str = "Aof-Superseded";

/// Returns the trailer of an entry that counts no more: its visit, its completion, by whom, and what it said.
pub fn superseded_trailer(superseded: &Superseded) -> Option<Trailer> {
    let entry = &superseded.visit;
    let completion = entry.completion.as_ref().map_or("-", |stamp| stamp.id.as_str());
    let by = entry.agent.as_ref().map_or("nobody", AgentId::as_str);
    Trailer::new(SUPERSEDED, &format!("{} {completion} by {by} ({})", superseded.ticket, entry.outcome)).ok()
}

/// Returns the message with what the merge under way supersedes; the message as it is where that is nothing.
pub fn add_trailers(open: Open<'_>, here: &std::path::Path, message: &str) -> Result<String, OpsError> {
    let top = Repository::discover(here)?;
    let root = top.worktree_root().to_owned();
    let top = open(&root)?;
    let Some(head) = top.repository.look()?.commit else { return Ok(message.to_owned()) };
    let mut lines: Vec<Trailer> = Vec::new();
    for theirs in top.repository.merge_heads() {
        for folder in projects(&top.repository, head, theirs)? {
            let workspace = open(&root.join(folder))?;
            let superseded = superseded_between(&workspace, head, theirs)?;
            lines.extend(superseded.iter().filter_map(superseded_trailer));
        }
    }
    let known = trailers::parse(message);
    lines.retain(|line| known.iter().all(|own| own != line));
    let lines: Vec<String> = lines.iter().map(Trailer::to_string).collect();
    Ok(with_lines(message, &lines))
}

/// Returns the folders of the projects whose tasks the other commit changed.
fn projects(top: &Repository, head: CommitId, theirs: CommitId) -> Result<BTreeSet<String>, OpsError> {
    match top.merge_bases(head, theirs)?.first() {
        Some(base) => projects_between(top, *base, theirs),
        None => Ok(BTreeSet::new()),
    }
}

/// Returns the folders of the projects whose tasks two commits have otherwise.
pub(super) fn projects_between(
    top: &Repository,
    head: CommitId,
    other: CommitId,
) -> Result<BTreeSet<String>, OpsError> {
    let mut folders = BTreeSet::new();
    for file in top.changed_between(head, other)? {
        let place = places::task_at(top, Some(head), &file.path)?;
        folders.extend(place.map(|(folder, _)| folder).filter(|folder| top.worktree_root().join(folder).is_dir()));
    }
    Ok(folders)
}

/// Ends what is said, where git shows what is committed below it.
const SCISSORS: &str = "------------------------ >8 ------------------------";

/// Puts trailers at the end of a message, before the remarks that git takes out again. A message that begins like a remark is none: it
/// was given on the command line, and git takes nothing out of that.
fn with_lines(message: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return message.to_owned();
    }
    let mut said = 0;
    let mut at = 0;
    for line in message.split_inclusive('\n') {
        if line.contains(SCISSORS) {
            break;
        }
        at += line.len();
        if !line.trim().is_empty() && !line.starts_with('#') {
            said = at;
        }
    }
    let said = if message[..said].trim().is_empty() { at } else { said };
    let (text, remarks) = message.split_at(said);
    let last = text.trim_end().rsplit("\n\n").next().unwrap_or_default();
    let is_trailers = text.contains("\n\n")
        && last.lines().all(|line| line.split_once(": ").is_some_and(|(key, _)| !key.contains(' ')));
    let apart = if is_trailers { "\n" } else { "\n\n" };
    format!("{}{apart}{}\n{remarks}", text.trim_end(), lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailers_stand_behind_what_is_said_and_before_remarks() {
        let lines = ["Aof-Superseded: AOF-abc@0 one by agent-7 (complete)".to_owned()];
        let with = |message: &str| with_lines(message, &lines).replace(&lines[0], "TRAILER");
        assert_eq!(with("Merge branch 'side'\n"), "Merge branch 'side'\n\nTRAILER\n");
        assert_eq!(with("Merge\n\n# Please enter\n#\n"), "Merge\n\nTRAILER\n\n# Please enter\n#\n");
        assert_eq!(with("Merge\n\nWhy: so\n"), "Merge\n\nWhy: so\nTRAILER\n");
        assert_eq!(with("Merge: it\n"), "Merge: it\n\nTRAILER\n");
        assert_eq!(with("#12 is done\n"), "#12 is done\n\nTRAILER\n");
        let below = format!("# {SCISSORS}\ndiff --git a/x b/x\n+Why: so\n");
        assert_eq!(with(&format!("Merge\n\n# Please\n{below}")), format!("Merge\n\nTRAILER\n\n# Please\n{below}"));
        assert_eq!(with_lines("Merge\n", &[]), "Merge\n");
    }
}
