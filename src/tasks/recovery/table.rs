//! Decides, in one table, about a file whose command was killed, or failed and could not roll back. Pure.
//!
//! ```text
//!   HEAD's branch   record   the file is         would the engine make it of HEAD's?   what is done
//!   its own         finish   in any state        yes                                   committed
//!                            as it was to be     no, and HEAD is unchanged             restored: no command has reported that it was made
//!                                                no, and HEAD has something else       stays: it is frozen, and shown
//!                            otherwise           no                                    stays, frozen and shown too
//!   its own         undo     as it was to be     in any case                           restored: its command reported a failure
//!   another         either   as it was to be     in any case                           restored: it was never meant for that branch
//!   the last two             otherwise           yes                                   stays, with a warning
//!                                                no                                    stays
//!
//!   HEAD has the same file         stays
//!   the branch has moved           stays, whatever the file is: the change counts, and this table is not asked
//! ```
//! A file is restored only if a commit has its old bytes; otherwise it stays, with a warning.

use crate::storage::journal::RecoveryAim;

/// The state of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileState {
    /// Its old version: nothing was written, or it was restored.
    Before,
    /// Exactly the recorded new version.
    AsIntended,
    /// The recorded new version, and no commit has the old one.
    Unrecoverable,
    /// Any other version: the file has changed since.
    Other,
}

/// The engine's verdict on the difference between the file and HEAD's version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EngineVerdict {
    /// There is no difference.
    Same,
    /// The engine would have made the difference, or anyone may.
    Made,
    /// The difference is not a permitted change.
    Foreign,
    /// Unknown: the task cannot be read, or has two files. Reading the task reports that.
    Unknown,
}

/// The facts that the decision about a recorded file depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecoveryFacts {
    /// True if HEAD is the branch that was to move; otherwise git kept the file when it switched branches.
    pub is_own_branch: bool,
    pub aim: RecoveryAim,
    pub file: FileState,
    /// True if HEAD's version of the file is the same as when the record was made.
    pub is_head_unchanged: bool,
    pub verdict: EngineVerdict,
}

/// The action for the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecoveryStep {
    /// The file is committed.
    Commit,
    /// The old version is restored.
    PutBack,
    /// The file stays, with a warning.
    Warn,
    /// The file stays.
    Leave,
}

/// Returns the action for a recorded file.
pub(crate) fn recovery_step(facts: RecoveryFacts) -> RecoveryStep {
    let RecoveryFacts { is_own_branch, aim, file, is_head_unchanged, verdict } = facts;
    let is_to_be_finished = is_own_branch && aim == RecoveryAim::Finish;
    let is_intact = file == FileState::AsIntended && is_head_unchanged;
    match (is_to_be_finished, verdict) {
        (true, EngineVerdict::Made) => RecoveryStep::Commit,
        (true, EngineVerdict::Foreign) if is_intact => RecoveryStep::PutBack,
        (_, EngineVerdict::Same) | (true, EngineVerdict::Foreign | EngineVerdict::Unknown) => {
            RecoveryStep::Leave
        }
        (false, verdict) => match (file, verdict) {
            (FileState::AsIntended, _) => RecoveryStep::PutBack,
            (FileState::Unrecoverable | FileState::Other, EngineVerdict::Made) => {
                RecoveryStep::Warn
            }
            _ => RecoveryStep::Leave,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERDICTS: [EngineVerdict; 4] =
        [EngineVerdict::Same, EngineVerdict::Made, EngineVerdict::Foreign, EngineVerdict::Unknown];

    fn everything() -> Vec<RecoveryFacts> {
        let mut all = Vec::new();
        for (is_own_branch, is_head_unchanged) in
            [(true, true), (true, false), (false, true), (false, false)]
        {
            for aim in [RecoveryAim::Finish, RecoveryAim::Undo] {
                for file in [
                    FileState::Before,
                    FileState::AsIntended,
                    FileState::Unrecoverable,
                    FileState::Other,
                ] {
                    all.extend(VERDICTS.map(|verdict| RecoveryFacts {
                        is_own_branch,
                        aim,
                        file,
                        is_head_unchanged,
                        verdict,
                    }));
                }
            }
        }
        all
    }

    fn is_to_be_finished(facts: RecoveryFacts) -> bool {
        facts.is_own_branch && facts.aim == RecoveryAim::Finish
    }

    #[test]
    fn only_unfailed_steps_of_the_engine_for_that_branch_are_committed() {
        for facts in everything() {
            let is_ours = is_to_be_finished(facts) && facts.verdict == EngineVerdict::Made;
            assert_eq!(recovery_step(facts) == RecoveryStep::Commit, is_ours, "{facts:?}");
        }
    }

    #[test]
    fn files_of_people_are_never_put_back() {
        for facts in
            everything().into_iter().filter(|facts| recovery_step(*facts) == RecoveryStep::PutBack)
        {
            assert_eq!(facts.file, FileState::AsIntended, "{facts:?}");
            assert_ne!(facts.verdict, EngineVerdict::Same, "{facts:?}: somebody committed it");
            assert!(!is_to_be_finished(facts) || facts.is_head_unchanged, "{facts:?}");
        }
    }

    #[test]
    fn a_stopped_command_freezes_nothing_if_only_the_rules_changed() {
        for facts in everything() {
            let is_as_left = facts.file == FileState::AsIntended && facts.is_head_unchanged;
            if is_as_left && facts.verdict == EngineVerdict::Foreign {
                assert_eq!(recovery_step(facts), RecoveryStep::PutBack, "{facts:?}");
            }
        }
    }

    #[test]
    fn an_uncommittable_step_is_put_back_or_reported() {
        for facts in everything().into_iter().filter(|facts| !is_to_be_finished(*facts)) {
            let could_be_committed =
                facts.verdict == EngineVerdict::Made && facts.file != FileState::Before;
            let step = recovery_step(facts);
            assert!(
                !could_be_committed || matches!(step, RecoveryStep::PutBack | RecoveryStep::Warn),
                "{facts:?}: {step:?}"
            );
            assert!(step != RecoveryStep::Warn || could_be_committed, "{facts:?}");
        }
    }

    #[test]
    fn a_reverted_step_stays_reverted() {
        for facts in
            everything().into_iter().filter(|facts| recovery_step(*facts) == RecoveryStep::PutBack)
        {
            // The version before may be an edit, which only its author may commit; it was to be committed too only on its own branch.
            for verdict in VERDICTS {
                let after = RecoveryFacts { file: FileState::Before, verdict, ..facts };
                assert!(
                    matches!(recovery_step(after), RecoveryStep::Leave | RecoveryStep::Commit),
                    "{after:?}"
                );
                assert!(
                    is_to_be_finished(after) || recovery_step(after) == RecoveryStep::Leave,
                    "{after:?}"
                );
            }
        }
    }
}
