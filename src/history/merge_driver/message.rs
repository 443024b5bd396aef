//! The message of a merge commit: it lists the completions that count no more, and no others.

use std::collections::BTreeSet;
use std::path::Path;

use super::driver::{Open, whole_repository};
use super::places;
use crate::domain::AgentId;
use crate::git::log::trailers;
use crate::git::log::trailers::Trailer;
use crate::git::{CommitId, Repository};
use crate::history::merge::commits::{ever_superseded_between, superseded_between};
use crate::project::error::error::OpsError;
use crate::rules::merge::Superseded;

/// The key of these trailers.
pub(crate) const SUPERSEDED: &str = "Aof-Superseded";

/// Returns the trailer of an entry that counts no more: its visit, its completion, by whom, and what it said.
pub(crate) fn superseded_trailer(superseded: &Superseded) -> Option<Trailer> {
    let entry = &superseded.visit;
    let completion = entry.completion.as_ref().map_or("-", |stamp| stamp.id.as_str());
    let by = entry.agent.as_ref().map_or("nobody", AgentId::as_str);
    Trailer::new(
        SUPERSEDED,
        &format!("{} {completion} by {by} ({})", superseded.ticket, entry.outcome),
    )
    .ok()
}

/// Returns the message with what the merge under way supersedes, and without what an older message says of that and is not so here: git
/// makes a merge again with the message that it had elsewhere. What else it says stays, and so does all of it where no merge is under way.
pub(crate) fn list_superseded(
    open: Open<'_>,
    here: &Path,
    message: &str,
) -> Result<String, OpsError> {
    let top = &whole_repository(here)?;
    let heads = top.merge_heads();
    let Some(head) = top.look()?.commit.filter(|_| !heads.is_empty()) else {
        return Ok(message.to_owned());
    };
    let mut lines: Vec<Trailer> = Vec::new();
    for theirs in &heads {
        for folder in projects(top, head, *theirs)?.iter().filter(|folder| is_here(top, folder)) {
            let workspace = open(&top.worktree_root().join(folder))?;
            let superseded = superseded_between(&workspace, head, *theirs)?;
            lines.extend(superseded.iter().filter_map(superseded_trailer));
        }
    }
    let known = trailers::parse(said(message));
    let untrue = match &heads[..] {
        [theirs] => untrue(open, top, (head, *theirs), &known)?,
        _ => Vec::new(),
    };
    lines.retain(|line| known.iter().all(|own| own != line));
    let lines: Vec<String> = lines.iter().map(Trailer::to_string).collect();
    Ok(with_lines(&without_lines(message, &untrue), &lines))
}

/// Returns those of these trailers that say of an entry that it counts no more, and that no merge of the two commits says. Where that is
/// not known for certain, it is none.
fn untrue<'t>(
    open: Open<'_>,
    top: &Repository,
    (head, theirs): (CommitId, CommitId),
    said: &'t [Trailer],
) -> Result<Vec<&'t Trailer>, OpsError> {
    let mut untrue: Vec<&Trailer> = said.iter().filter(|own| own.key() == SUPERSEDED).collect();
    if untrue.is_empty() {
        return Ok(untrue);
    }
    let folders = projects(top, head, theirs)?;
    if top.merge_bases(head, theirs)?.is_empty()
        || !folders.iter().all(|folder| is_here(top, folder))
    {
        return Ok(Vec::new());
    }
    for folder in folders {
        let workspace = open(&top.worktree_root().join(folder))?;
        let Some(known) = ever_superseded_between(&workspace, head, theirs)? else {
            return Ok(Vec::new());
        };
        let known: Vec<Trailer> = known.iter().filter_map(superseded_trailer).collect();
        untrue.retain(|own| !known.contains(own));
    }
    Ok(untrue)
}

/// Returns the folders of the projects whose tasks the other commit changed, from wherever the two are taken to have parted.
fn projects(
    top: &Repository,
    head: CommitId,
    theirs: CommitId,
) -> Result<BTreeSet<String>, OpsError> {
    let mut folders = BTreeSet::new();
    for base in top.merge_bases(head, theirs)? {
        for file in top.changed_between(base, theirs)? {
            folders.extend(places::task_at(top, Some(head), &file.path)?.map(|(folder, _)| folder));
        }
    }
    Ok(folders)
}

fn is_here(top: &Repository, folder: &str) -> bool {
    top.worktree_root().join(folder).is_dir()
}

/// Ends what is said, where git shows what is committed below it.
const SCISSORS: &str = "------------------------ >8 ------------------------";

/// Returns a message without what git shows below it.
fn said(message: &str) -> &str {
    let mut lines = message.split_inclusive('\n');
    let below = lines.by_ref().take_while(|line| !line.contains(SCISSORS)).map(str::len).sum();
    &message[..below]
}

/// Takes these out of the trailers of a message, and nothing else.
fn without_lines(message: &str, untrue: &[&Trailer]) -> String {
    if untrue.is_empty() {
        return message.to_owned();
    }
    let untrue: Vec<String> = untrue.iter().map(ToString::to_string).collect();
    let (above, block) = message.split_at(trailers::text_above(said(message)).len());
    let (block, below) = block.split_at(said(message).len() - above.len());
    let kept: String = block
        .split_inclusive('\n')
        .filter(|line| !untrue.iter().any(|own| own == line.trim_end()))
        .collect();
    // Where none is left, nothing stands apart from what is above.
    let kept = if kept.trim().is_empty() { "\n".to_owned() } else { kept };
    format!("{above}{kept}{below}")
}

/// Puts trailers at the end of a message, before the remarks that git takes out again. A message that begins like a remark is none: it
/// was given on the command line, and git takes nothing out of that.
fn with_lines(message: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return message.to_owned();
    }
    let (mut end, mut at) = (0, 0);
    for line in said(message).split_inclusive('\n') {
        at += line.len();
        if !line.trim().is_empty() && !line.starts_with('#') {
            end = at;
        }
    }
    let end = if message[..end].trim().is_empty() { at } else { end };
    let (text, remarks) = message.split_at(end);
    let last = text.trim_end().rsplit("\n\n").next().unwrap_or_default();
    let is_trailers = text.contains("\n\n")
        && last
            .lines()
            .all(|line| line.split_once(": ").is_some_and(|(key, _)| !key.contains(' ')));
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
        assert_eq!(
            with(&format!("Merge\n\n# Please\n{below}")),
            format!("Merge\n\nTRAILER\n\n# Please\n{below}")
        );
        assert_eq!(with_lines("Merge\n", &[]), "Merge\n");
    }

    #[test]
    fn what_is_untrue_is_taken_out_and_nothing_else() {
        let one = Trailer::new(SUPERSEDED, "AOF-abc@0 one by agent-7 (complete)").unwrap();
        let two = Trailer::new(SUPERSEDED, "AOF-abc@1 two by agent-7 (complete)").unwrap();
        let without = |message: &str| without_lines(message, &[&one]);
        assert_eq!(without(&format!("Merge\n\n{one}\n")), "Merge\n");
        assert_eq!(without(&format!("Merge\n\n{one}\n{two}\n")), format!("Merge\n\n{two}\n"));
        assert_eq!(without(&format!("Merge\n\nWhy: so\n{one}\n")), "Merge\n\nWhy: so\n");
        let quoted = format!("Merge\n\nIt said:\n{one}\n\nWhy: so\n");
        assert_eq!(
            without(&format!("{quoted}{one}\n\n# Please\n")),
            format!("{quoted}\n# Please\n")
        );
        let below = format!("# {SCISSORS}\ndiff --git a/x b/x\n+{one}\n");
        assert_eq!(without(&format!("Merge\n\n{one}\n{below}")), format!("Merge\n{below}"));
        assert_eq!(without_lines(&quoted, &[]), quoted);
    }
}
