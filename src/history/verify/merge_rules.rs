//! Judges the rules at a merge: a merge adds nothing to what its sides have.

use std::collections::{BTreeMap, HashSet};

use super::finding::{BrokenRule, HistoryFinding};
use super::remerge::Remerge;
use super::words::short;
use crate::files::config::configuration::Subject;
use crate::git::{Comparison, LogEntry, ObjectId, Repository, merge_texts_by};
use crate::project::error::ProjectError;

/// The content of a file, where it is.
type Content = Option<Vec<u8>>;

/// Judges the rule files: each is as merging the sides makes it.
pub(crate) fn judge(
    repository: &Repository,
    entry: &LogEntry,
    remerge: &Remerge,
) -> Result<Vec<HistoryFinding>, ProjectError> {
    let mut files: BTreeMap<String, (usize, Option<ObjectId>)> = BTreeMap::new();
    // Whatever a side had may stand where two changes dispute.
    let mut lines = SideLines::default();
    for parent in entry.parents.iter().filter(|parent| repository.has_commit(**parent)) {
        for file in repository.changed_between(*parent, entry.id)? {
            if Subject::of(&file.path).is_none() {
                continue;
            }
            lines.add(file.before.map(|id| repository.read_blob(id)).transpose()?);
            let own = files.entry(file.path).or_insert((0, file.after));
            own.0 += 1;
        }
    }
    let mut wrong = Vec::new();
    for (path, (sides, after)) in files {
        if let Some(expected) = expected(repository, entry, remerge, &path, sides)?
            && !expected.allow(after.map(|id| repository.read_blob(id)).transpose()?, &lines)
        {
            let words = short(&format!("`{path}` as it comes of both sides"));
            let found = if sides < entry.parents.len() {
                "what one side says alone, without what the other one changed"
            } else {
                "something that no side says; the rules change in commits of their own"
            };
            wrong.push(HistoryFinding::new(entry, None, BrokenRule::RulesInMerge, words, found));
        }
    }
    Ok(wrong)
}

/// What may come of a file of the rules.
#[derive(Default)]
struct ExpectedRules {
    /// One of these.
    whole: Vec<Content>,
    /// Or anything made of lines that some side has.
    disputed: bool,
}

impl ExpectedRules {
    fn allow(&self, after: Content, lines: &SideLines) -> bool {
        self.whole.contains(&after) || self.disputed && after.is_none_or(|after| lines.hold(&after))
    }
}

/// Returns what may come of the file; nothing where it is as a side had it, and more cannot be said.
fn expected(
    repository: &Repository,
    entry: &LogEntry,
    remerge: &Remerge,
    path: &str,
    sides: usize,
) -> Result<Option<ExpectedRules>, ProjectError> {
    let mut expected = ExpectedRules::default();
    let bases: Vec<_> = remerge.bases().collect();
    let (&[ours, theirs], false) = (&entry.parents[..], bases.is_empty()) else {
        return Ok(
            (sides == entry.parents.len()).then_some(ExpectedRules { disputed: true, ..expected })
        );
    };
    let read = |commit| repository.read(commit, path);
    let (ours, theirs) = (read(ours)?, read(theirs)?);
    for base in bases {
        let base = read(base)?;
        match (&base, &ours, &theirs) {
            _ if ours == theirs || theirs == base => expected.whole.push(ours.clone()),
            _ if ours == base => expected.whole.push(theirs.clone()),
            (Some(base), Some(ours), Some(theirs)) => {
                // Git compares by histogram, or as it was told to. Where lines repeat, there is more than one answer.
                let mut answers = Vec::new();
                for by in [Comparison::Shortest, Comparison::Minimal, Comparison::Unique] {
                    let both = merge_texts_by(base, ours, theirs, by)?;
                    expected.disputed |=
                        !both.agree() || answers.iter().any(|answer| *answer != both.ours);
                    answers.push(both.ours);
                }
                expected.whole.extend(answers.into_iter().map(Some));
            }
            _ => expected.disputed = true,
        }
        // What one side has added may be a file of the other's, renamed.
        expected.disputed |= base.is_none() && ours != theirs;
    }
    Ok(Some(expected))
}

/// The lines of all that the sides say.
#[derive(Default)]
struct SideLines(HashSet<Vec<u8>>);

impl SideLines {
    fn add(&mut self, content: Content) {
        let content = content.unwrap_or_default();
        self.0.extend(
            content.split(|byte| *byte == b'\n').map(|line| line.trim_ascii_end().to_vec()),
        );
    }

    fn hold(&self, content: &[u8]) -> bool {
        content
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::trim_ascii_end)
            .all(|line| line.is_empty() || self.0.contains(line))
    }
}
