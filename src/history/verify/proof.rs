//! What proves a change of a task: that this engine would have made it, or that an earlier version did.

use super::commit_reader::is_new;
use crate::domain::{Task, TaskId};
use crate::files::task_file::{Defaults, parse_hand_made_as_written};
use crate::git::Repository;
use crate::history::touched_tasks::FileVersion;
use crate::project::error::ProjectError;
use crate::rules::{Proof, Rules, prove, rehashed};

/// A proof, or the breach that was found, and whether the entries name the rules by the hash of an earlier version.
type Proved = (Proof, bool);

/// Proves a change by what its files say. Earlier versions took up what a hand-made file said of `routing.agent`, `reviewContext`, `blockers` and
/// `context`.
pub(crate) fn prove_change(
    repository: &Repository,
    rules: &Rules,
    (before, files): (Option<&Task>, &[FileVersion]),
    (id, after): (&TaskId, &Task),
) -> Result<Proved, ProjectError> {
    let proved = prove_states(rules, before, after);
    if !is_breach(&proved.0) || is_new(after) || !before.is_none_or(is_new) {
        return Ok(proved);
    }
    // A file that does not say when it was made was read a moment before it was taken up.
    let defaults =
        Defaults { workflow: rules.project.default_workflow.clone(), created: after.created };
    for (_, content) in files {
        let bytes = repository.read_blob(*content)?;
        let Some(written) = parse_hand_made_as_written(&bytes, id, &defaults) else { continue };
        let earlier = prove_states(rules, Some(&written), after);
        if !is_breach(&earlier.0) {
            return Ok(earlier);
        }
    }
    Ok(proved)
}

/// Proves a change by the states alone.
fn prove_states(rules: &Rules, before: Option<&Task>, after: &Task) -> Proved {
    let proof = prove(rules, before, after);
    if is_breach(&proof)
        && let Some((before, after)) = rehashed(rules, before, after)
    {
        let other = prove(rules, before.as_ref(), &after);
        // No engine changes the hash alone.
        if !matches!(other, Proof::Breach(_) | Proof::Kept) {
            return (other, true);
        }
    }
    (proof, false)
}

fn is_breach(proof: &Proof) -> bool {
    matches!(proof, Proof::Breach(_))
}
