//! What proves a change of a task: that this engine would have done it, or that an earlier build of it did.

use super::judge::{Judge, is_new};
use crate::domain::{Task, TaskId};
use crate::files::task_file::{Defaults, parse_hand_made_as_written};
use crate::history::touched_tasks::Version;
use crate::project::error::error::OpsError;
use crate::rules::{Proof, Rules, prove, rehashed};

/// What was found of a change.
pub(crate) struct Proved {
    pub proof: Proof,
    /// Whether the rules are named otherwise than they are named now.
    pub is_renamed: bool,
}

impl Proved {
    /// Proves a change by the states alone. Another version of the engine may have called the same rules something else.
    pub(crate) fn by_states(rules: &Rules, before: Option<&Task>, after: &Task) -> Self {
        let proof = prove(rules, before, after);
        if let Proof::Breach(_) = proof
            && let Some((before, after)) = rehashed(rules, before, after)
        {
            let other = prove(rules, before.as_ref(), &after);
            // Nothing that an engine does changes this name alone, whatever it calls the rules.
            if !matches!(other, Proof::Breach(_) | Proof::Kept) {
                return Self { proof: other, is_renamed: true };
            }
        }
        Self { proof, is_renamed: false }
    }

    fn is_breach(&self) -> bool {
        matches!(self.proof, Proof::Breach(_))
    }
}

impl Judge<'_> {
    /// Proves a change by what its files say. Until that was ruled out, what a hand-made file said of `routing.agent`, `reviewContext`,
    /// `blockers` and `context` was taken up with it: that was the engine's doing, and nobody moved anything by hand.
    pub(crate) fn proved(
        &self,
        rules: &Rules,
        (before, files): (Option<&Task>, &[Version]),
        (id, after): (&TaskId, &Task),
    ) -> Result<Proved, OpsError> {
        let proved = Proved::by_states(rules, before, after);
        if !proved.is_breach() || is_new(after) || !before.is_none_or(is_new) {
            return Ok(proved);
        }
        // A file that does not say when it was made was read a moment before it was taken up.
        let defaults =
            Defaults { workflow: rules.project.default_workflow.clone(), created: after.created };
        for (_, content) in files {
            let bytes = self.workspace.repository.read_blob(*content)?;
            let Some(written) = parse_hand_made_as_written(&bytes, id, &defaults) else { continue };
            let earlier = Proved::by_states(rules, Some(&written), after);
            if !earlier.is_breach() {
                return Ok(earlier);
            }
        }
        Ok(proved)
    }
}
