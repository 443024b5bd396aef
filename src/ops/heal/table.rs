//! What becomes of a file that a command was stopped in, as one table. Pure: it looks at nothing and changes nothing.
//!
//! ```text
//!   the file stands     would the engine make it of HEAD's?    what is done
//!   in any way          yes                                    committed
//!   as it was to be     no, and HEAD has what it had           back to what it was before: nobody was told of it
//!                       no, and HEAD has something else        nothing: it is frozen, and shown
//!   otherwise           no                                     nothing, likewise
//!
//!   HEAD has what stands there     nothing
//!   the branch got there           nothing, whatever stands there: it counts, and nobody asks here
//! ```
//! A file goes back only to what it is known to have been: where no commit has that, it stays.

/// How the file stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum File {
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
pub(super) enum Entry {
    /// What it had when the record was made.
    Before,
    /// Something else.
    Since,
}

/// What the engine says of the file and HEAD's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
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
pub(super) struct Facts {
    pub file: File,
    pub head: Entry,
    pub verdict: Verdict,
}

/// What is done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It is committed.
    Commit,
    /// It becomes what it was before.
    Back,
    /// It stays.
    Stay,
}

/// Says what is to be done with a file on record.
pub(super) fn step(facts: Facts) -> Step {
    let Facts { file, head, verdict } = facts;
    match verdict {
        Verdict::Made => Step::Commit,
        Verdict::Foreign if (file, head) == (File::Meant, Entry::Before) => Step::Back,
        Verdict::Same | Verdict::Foreign | Verdict::Unknown => Step::Stay,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERDICTS: [Verdict; 4] = [Verdict::Same, Verdict::Made, Verdict::Foreign, Verdict::Unknown];

    fn everything() -> Vec<Facts> {
        let mut all = Vec::new();
        for file in [File::Before, File::Meant, File::Stuck, File::Other] {
            for head in [Entry::Before, Entry::Since] {
                all.extend(VERDICTS.map(|verdict| Facts { file, head, verdict }));
            }
        }
        all
    }

    #[test]
    fn what_is_committed_is_what_the_engine_made() {
        for facts in everything() {
            assert_eq!(step(facts) == Step::Commit, facts.verdict == Verdict::Made, "{facts:?}");
        }
    }

    #[test]
    fn what_is_somebodys_is_never_put_back() {
        for facts in everything().into_iter().filter(|facts| step(*facts) == Step::Back) {
            assert_eq!((facts.file, facts.head), (File::Meant, Entry::Before), "{facts:?}");
            assert_ne!(facts.verdict, Verdict::Same, "{facts:?}: somebody committed it");
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
    fn what_was_put_back_stays_so() {
        for facts in everything().into_iter().filter(|facts| step(*facts) == Step::Back) {
            // What it was before may be an edit, which was to be committed as well.
            for verdict in VERDICTS {
                let after = Facts { file: File::Before, verdict, ..facts };
                assert!(matches!(step(after), Step::Stay | Step::Commit), "{after:?}");
            }
        }
    }
}
