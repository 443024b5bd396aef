//! What becomes of a file that a command was stopped in, or failed in and could not put back, as one table. Pure: it looks at nothing
//! and changes nothing.
//!
//! ```text
//!   HEAD's branch    the record    the file stands     would the engine make it of HEAD's?    what is done
//!   its own          finish        in any way          yes                                    committed
//!                                  as it was to be     no, and HEAD has what it had           back: nobody was told of it
//!                                                      no, and HEAD has something else        nothing: it is frozen, and shown
//!                                  otherwise           no                                     nothing, likewise
//!   its own          undo          as it was to be     in any case                            back: somebody was told that it failed
//!   another          either        as it was to be     in any case                            back: it was never meant for that one
//!   the last two                   otherwise           yes                                    told: the next change of the task has it
//!                                                      no                                     nothing
//!
//!   HEAD has what stands there     nothing
//!   the branch got there           nothing, whatever stands there: it counts, and nobody asks here
//! ```
//! A file goes back only to what it is known to have been: where no commit has that, it stays, and that is told like the rest.

use crate::storage::journal::RecoveryAim;

/// Which branch HEAD is, where the one that was to move did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stand {
    /// The one that was to move.
    Own,
    /// Another one: git carried the file along.
    Another,
}

/// How the file stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum File {
    /// As before: nothing of it was written, or somebody put it back.
    Before,
    /// As it was to be, to the byte.
    Meant,
    /// Likewise, and what it was before is in no commit.
    Stuck,
    /// Otherwise: somebody has changed it since.
    Other,
}

/// What HEAD has of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    /// What it had when the record was made.
    Before,
    /// Something else.
    Since,
}

/// What the engine says of the file and HEAD's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// There is no difference.
    Same,
    /// It would have made that, or anybody may.
    Made,
    /// Nobody may have done that.
    Foreign,
    /// It cannot tell: the task cannot be read, or has two files. That is shown when somebody asks for the task.
    Unknown,
}

/// What is known of a file on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facts {
    pub stand: Stand,
    pub aim: RecoveryAim,
    pub file: File,
    pub head: Entry,
    pub verdict: Verdict,
}

/// What is done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It is committed.
    Commit,
    /// It becomes what it was before.
    Back,
    /// It stays, and that is told.
    Tell,
    /// It stays.
    Stay,
}

/// Says what is to be done with a file on record.
pub(crate) fn step(facts: Facts) -> Step {
    let Facts { stand, aim, file, head, verdict } = facts;
    match (stand, aim, verdict) {
        (Stand::Own, RecoveryAim::Finish, Verdict::Made) => Step::Commit,
        (Stand::Own, RecoveryAim::Finish, Verdict::Foreign)
            if (file, head) == (File::Meant, Entry::Before) =>
        {
            Step::Back
        }
        (_, _, Verdict::Same)
        | (Stand::Own, RecoveryAim::Finish, Verdict::Foreign | Verdict::Unknown) => Step::Stay,
        (Stand::Another, _, _) | (_, RecoveryAim::Undo, _) => match (file, verdict) {
            (File::Meant, _) => Step::Back,
            (File::Stuck | File::Other, Verdict::Made) => Step::Tell,
            _ => Step::Stay,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everything() -> Vec<Facts> {
        let mut all = Vec::new();
        for stand in [Stand::Own, Stand::Another] {
            for aim in [RecoveryAim::Finish, RecoveryAim::Undo] {
                for file in [File::Before, File::Meant, File::Stuck, File::Other] {
                    for head in [Entry::Before, Entry::Since] {
                        let verdicts =
                            [Verdict::Same, Verdict::Made, Verdict::Foreign, Verdict::Unknown];
                        all.extend(verdicts.map(|verdict| Facts {
                            stand,
                            aim,
                            file,
                            head,
                            verdict,
                        }));
                    }
                }
            }
        }
        all
    }

    fn is_to_be_finished(facts: Facts) -> bool {
        (facts.stand, facts.aim) == (Stand::Own, RecoveryAim::Finish)
    }

    #[test]
    fn what_is_committed_is_what_the_engine_made_for_that_branch_and_nobody_was_told_failed() {
        for facts in everything() {
            let is_ours = is_to_be_finished(facts) && facts.verdict == Verdict::Made;
            assert_eq!(step(facts) == Step::Commit, is_ours, "{facts:?}");
        }
    }

    #[test]
    fn what_is_somebodys_is_never_put_back() {
        for facts in everything().into_iter().filter(|facts| step(*facts) == Step::Back) {
            assert_eq!(facts.file, File::Meant, "{facts:?}");
            assert_ne!(facts.verdict, Verdict::Same, "{facts:?}: somebody committed it");
            assert!(!is_to_be_finished(facts) || facts.head == Entry::Before, "{facts:?}");
        }
    }

    #[test]
    fn nothing_of_a_stopped_command_is_frozen_where_nobody_changed_anything_but_the_rules() {
        for facts in everything() {
            let is_as_left = (facts.file, facts.head) == (File::Meant, Entry::Before);
            if is_as_left && facts.verdict == Verdict::Foreign {
                assert_eq!(step(facts), Step::Back, "{facts:?}");
            }
        }
    }

    #[test]
    fn what_is_not_to_be_committed_is_put_back_or_told_as_long_as_anybody_could_commit_it() {
        for facts in everything().into_iter().filter(|facts| !is_to_be_finished(*facts)) {
            let could_be_committed = facts.verdict == Verdict::Made && facts.file != File::Before;
            let step = step(facts);
            assert!(
                !could_be_committed || matches!(step, Step::Back | Step::Tell),
                "{facts:?}: {step:?}"
            );
            assert!(step != Step::Tell || could_be_committed, "{facts:?}");
        }
    }

    #[test]
    fn what_was_put_back_stays_so() {
        let verdicts = [Verdict::Same, Verdict::Made, Verdict::Foreign, Verdict::Unknown];
        for facts in everything().into_iter().filter(|facts| step(*facts) == Step::Back) {
            // What it was before may be an edit, which is its author's to commit; only on its own branch it was to be committed as well.
            for verdict in verdicts {
                let after = Facts { file: File::Before, verdict, ..facts };
                assert!(matches!(step(after), Step::Stay | Step::Commit), "{after:?}");
                assert!(is_to_be_finished(after) || step(after) == Step::Stay, "{after:?}");
            }
        }
    }
}
