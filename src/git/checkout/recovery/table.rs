//! What is done after a kill, as one table: out of where the branch, the index and the files stand. Pure: it looks at nothing and
//! changes nothing.
//!
//! ```text
//!   branch and index              may it come, and is nothing of it somebody's?      what is done
//!   before it                     yes                                                forward: files, index and branch
//!                                 no, or it failed                                   back
//!   there, and the index is not   yes                                                forward: files and index
//!                                 something is somebody's, or it failed              up to it, path by path
//!                                 it may not come                                    nothing
//!   there, and the index as well                                                     nothing: whatever is otherwise is somebody's
//!   further, on any branch                                                           nothing, likewise
//!   elsewhere, on any branch                                                         back, where HEAD has what was before
//!
//!   path by path    the file goes to the aim where it is as on the other side, and so does the entry of the index; all else stays.
//!                   Whoever has staged something else works at that path, and what was put back or removed since stays so
//! ```

/// Where the branch stands that was on its way, and the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stand {
    /// HEAD is that branch, where it was before.
    Before,
    /// HEAD is that branch, where it was to be, and the index has nothing of that: a power cut, or somebody moved the branch alone.
    Ahead,
    /// HEAD is that branch, where it was to be, and so is the index; or it is a later commit on any branch, whose maker had all of it.
    Landed,
    /// HEAD is a commit, on any branch, that does not have what was to come.
    Elsewhere,
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum File {
    /// As before, which may mean that nothing stands there.
    From,
    /// As it was to be, likewise.
    To,
    /// Nothing, and there is a file both before and after.
    Missing,
    /// Nothing, since a sparse checkout leaves it out.
    LeftOut,
    /// Something else.
    Other,
    /// Nobody can tell: it is behind a link or a file, or a filter fails.
    Unknown,
}

/// What the index, or HEAD, has at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entry {
    From,
    To,
    Other,
}

/// What is known of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facts {
    pub head: Entry,
    pub entry: Entry,
    pub file: File,
}

/// Whether it may come at all: nothing comes into aof's own folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    Given,
    Refused,
}

/// Whether the whole of it was tried since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trial {
    NotYet,
    Failed,
}

/// Where paths go, one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aim {
    From,
    To,
}

/// What is done with the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whole {
    /// All of it comes, and the branch with it where it is not there.
    Forward,
    /// Each path that can go there goes; the branch stays where it is.
    Each(Aim),
    /// There is nothing to do.
    Forget,
}

/// What is done with a file, or with an entry of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Stay,
    /// To what the aim has there, or has not.
    Go,
}

/// Says what is to be done with all of it.
pub(crate) fn whole(stand: Stand, leave: Leave, trial: Trial, paths: &[Facts]) -> Whole {
    let is_ours = trial == Trial::NotYet && paths.iter().all(|facts| facts.are_ours(stand));
    match (stand, leave) {
        (Stand::Landed, _) | (Stand::Ahead, Leave::Refused) => Whole::Forget,
        (Stand::Before | Stand::Ahead, Leave::Given) if is_ours => Whole::Forward,
        (Stand::Ahead, Leave::Given) => Whole::Each(Aim::To),
        (Stand::Before | Stand::Elsewhere, _) => Whole::Each(Aim::From),
    }
}

/// Says what is to be done with the file and with the entry of the index, where paths go one by one.
pub(crate) fn steps(aim: Aim, facts: Facts) -> (Step, Step) {
    let go = |goes: bool| if goes { Step::Go } else { Step::Stay };
    let Facts { head, entry, file } = facts;
    match aim {
        // What somebody has committed is theirs.
        Aim::From if head != Entry::From => (Step::Stay, Step::Stay),
        Aim::From => (go(file == File::To && entry != Entry::Other), go(entry == Entry::To)),
        Aim::To => (go(file == File::From && entry == Entry::From), go(entry == Entry::From)),
    }
}

impl Facts {
    /// Says whether nothing at the path is somebody's, as far as can be known.
    fn are_ours(self, stand: Stand) -> bool {
        match (self.file, self.entry) {
            (File::From, Entry::From) | (File::To | File::LeftOut, Entry::From | Entry::To) => true,
            // As for any git that brings a newer version of what is not there.
            (File::Missing, Entry::From) => stand == Stand::Before,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STANDS: [Stand; 4] = [Stand::Before, Stand::Ahead, Stand::Landed, Stand::Elsewhere];
    const FILES: [File; 6] =
        [File::From, File::To, File::Missing, File::LeftOut, File::Other, File::Unknown];
    const ENTRIES: [Entry; 3] = [Entry::From, Entry::To, Entry::Other];

    fn facts() -> Vec<Facts> {
        let mut all = Vec::new();
        for head in ENTRIES {
            for entry in ENTRIES {
                all.extend(FILES.map(|file| Facts { head, entry, file }));
            }
        }
        all
    }

    /// Every state of two paths there is, with what is done.
    fn everything(mut seen: impl FnMut(Stand, Leave, Trial, [Facts; 2], Whole)) {
        let all = facts();
        for stand in STANDS {
            for leave in [Leave::Given, Leave::Refused] {
                for trial in [Trial::NotYet, Trial::Failed] {
                    for one in &all {
                        for other in &all {
                            let paths = [*one, *other];
                            seen(stand, leave, trial, paths, whole(stand, leave, trial, &paths));
                        }
                    }
                }
            }
        }
    }

    fn after(aim: Aim, facts: Facts) -> Facts {
        let (file, entry) = match aim {
            Aim::From => (File::From, Entry::From),
            Aim::To => (File::To, Entry::To),
        };
        let steps = steps(aim, facts);
        Facts {
            file: if steps.0 == Step::Go { file } else { facts.file },
            entry: if steps.1 == Step::Go { entry } else { facts.entry },
            ..facts
        }
    }

    #[test]
    fn what_is_somebodys_is_never_touched() {
        everything(|stand, _, _, paths, whole| {
            for facts in paths {
                let is_theirs = matches!(facts.file, File::Other | File::Unknown | File::LeftOut);
                let is_staged = facts.entry == Entry::Other;
                // Removed, or put back as it was, where the index or the branch had it already.
                let is_undone = matches!(facts.file, File::Missing | File::From)
                    && facts.entry == Entry::To
                    || facts.file == File::Missing && stand != Stand::Before;
                match whole {
                    Whole::Forward => {
                        let is_other = matches!(facts.file, File::Other | File::Unknown);
                        assert!(!(is_other || is_staged || is_undone), "{facts:?} comes");
                    }
                    Whole::Each(aim) => {
                        let (file, entry) = steps(aim, facts);
                        assert!(
                            file == Step::Stay || !(is_theirs || is_staged || is_undone),
                            "{aim:?} {facts:?}"
                        );
                        assert!(entry == Step::Stay || !is_staged, "{aim:?} {facts:?}");
                    }
                    Whole::Forget => {}
                }
            }
        });
    }

    #[test]
    fn what_goes_back_leaves_nothing_of_what_came() {
        everything(|stand, _, _, paths, whole| {
            if whole != Whole::Each(Aim::From) {
                return;
            }
            assert!(matches!(stand, Stand::Before | Stand::Elsewhere));
            for facts in paths.into_iter().filter(|facts| facts.head == Entry::From) {
                let after = after(Aim::From, facts);
                assert_ne!(after.entry, Entry::To, "{facts:?}");
                assert!(after.file != File::To || after.entry == Entry::Other, "{facts:?}");
            }
            // What HEAD has of it, or has otherwise, somebody has committed.
            for facts in paths.into_iter().filter(|facts| facts.head != Entry::From) {
                assert_eq!(after(Aim::From, facts), facts);
            }
        });
    }

    #[test]
    fn what_has_come_is_what_the_next_commit_has() {
        everything(|stand, _, _, paths, whole| {
            if whole == Whole::Each(Aim::To) {
                assert_eq!(stand, Stand::Ahead);
                let after = paths.map(|facts| after(Aim::To, facts));
                assert!(after.iter().all(|facts| facts.entry != Entry::From), "{paths:?}");
            }
        });
    }

    #[test]
    fn the_branch_goes_on_only_where_it_stood_and_may() {
        everything(|stand, leave, trial, _, whole| {
            if matches!(whole, Whole::Forward | Whole::Each(Aim::To)) {
                assert!(matches!(stand, Stand::Before | Stand::Ahead) && leave == Leave::Given);
            }
            assert!(
                whole != Whole::Forward || trial == Trial::NotYet,
                "what failed is not tried for ever"
            );
            assert_eq!(
                stand == Stand::Landed,
                whole == Whole::Forget && (stand, leave) != (Stand::Ahead, Leave::Refused)
            );
        });
    }

    #[test]
    fn done_twice_it_is_as_done_once() {
        for facts in facts() {
            for aim in [Aim::From, Aim::To] {
                let once = after(aim, facts);
                assert_eq!(after(aim, once), once, "{aim:?} {facts:?}");
            }
        }
    }

    #[test]
    fn a_kill_that_nobody_met_is_finished() {
        for entry in [Entry::From, Entry::To] {
            for file in [File::From, File::To] {
                let facts = Facts { head: Entry::From, entry, file };
                let begun = Facts { head: Entry::From, entry: Entry::From, file: File::From };
                let is_on_its_way = (file, entry) != (File::From, Entry::To);
                let whole = whole(Stand::Before, Leave::Given, Trial::NotYet, &[facts, begun]);
                assert_eq!(whole == Whole::Forward, is_on_its_way, "{facts:?}");
            }
        }
    }
}
