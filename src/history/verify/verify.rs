//! Whether the history of the project is what its engine has made: every commit is judged by the one before it and the rules that were
//! in force there. Goes by git alone, whatever stands in the worktree; changes nothing.

use super::pushed;
use super::shared;
use super::text;
use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::finding::{Broken, Wrong};

use super::judge::{Judge, Judged};
use crate::domain::TaskId;
use crate::domain::ssh::trusted_keys::TrustedKeys;
use crate::git::{CommitId, Pretence};
use crate::history::touched_tasks::{doubled, doubled_by};
use crate::project::error::error::Named;
use crate::project::error::error::OpsError;
use crate::project::parallel_map::side_by_side;
use crate::project::workspace::Workspace;

/// Which commits are judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Range {
    /// Where they begin.
    pub from: From,
    /// Those that led to this one.
    pub until: String,
}

/// Where a range of commits begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum From {
    /// With the first one.
    Beginning,
    /// Behind this one, which has to be one of those that led there: what was judged once stays.
    Anchor(String),
    /// With those that did not lead to this one, as `A..B` has it.
    Beside(String),
}

/// What a history is worth.
#[derive(Debug, Default)]
pub(crate) struct Verified {
    /// How many commits were looked at.
    pub commits: usize,
    /// How many changes of tasks they make.
    pub changes: usize,
    /// How many of these name their rules otherwise than this version does.
    pub renamed: usize,
    /// What is wrong, the oldest first.
    pub wrong: Vec<Wrong>,
    /// Where the history ends that is here, if it is not all.
    pub ends: Vec<CommitId>,
    /// By what git shows another history than the one that was judged.
    pub pretences: Vec<Pretence>,
}

impl Verified {
    /// Returns what is wrong, makes the history worth less, and was not put right since by somebody who may.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Wrong> {
        self.wrong.iter().filter(|wrong| wrong.covered.is_none() && wrong.broken.is_fault())
    }
}

/// Judges the commits. Signatures are judged by the keys that the commit before has, and by those that are trusted from outside, where
/// somebody says which these are.
pub(crate) fn verify(
    workspace: &Workspace,
    range: &Range,
    anchor: Option<&TrustedKeys>,
) -> Result<Verified, OpsError> {
    let repository = &workspace.repository;
    let named = |name: &str| {
        repository.commit_named(name)?.ok_or_else(|| OpsError::Unknown {
            kind: Named::Commit,
            given: name.to_owned(),
            known: Vec::new(),
        })
    };
    if range.until.starts_with('.') {
        return Err(OpsError::Unfit {
            code: "bad_range",
            problem: "`...` names what two commits do not share, which is no stretch of history"
                .to_owned(),
            fix: "write `A..B`".to_owned(),
        });
    }
    if range.until == "HEAD" && repository.look()?.commit.is_none() {
        return Ok(Verified::default());
    }
    let until = named(&range.until)?;
    match &range.from {
        From::Beginning => judged(workspace, &[], until, anchor),
        From::Beside(other) => judged(workspace, &[named(other)?], until, anchor),
        From::Anchor(from) => {
            let from = named(from)?;
            let mut verified = judged(workspace, &[from], until, anchor)?;
            verified.wrong.extend(pushed::forced(repository, from, until)?);
            let lost = shared::superseded(workspace, (from, until), None, &verified.wrong)?;
            verified.wrong.extend(lost);
            Ok(verified)
        }
    }
}

/// Judges the commits that led to `until`, and to none of the others.
pub(crate) fn judged(
    workspace: &Workspace,
    since: &[CommitId],
    until: CommitId,
    anchor: Option<&TrustedKeys>,
) -> Result<Verified, OpsError> {
    let repository = &workspace.repository;
    let reach = repository.all_since(since, until)?;
    let pretences = repository.pretences()?;
    let mut verified = Verified {
        commits: reach.commits.len(),
        ends: reach.ends,
        pretences,
        ..Verified::default()
    };
    let mut telling: Vec<(CommitId, Judged)> = Vec::new();
    let of = |workspace: &Workspace, share: &[CommitId]| {
        let mut judge = Judge::new(workspace, anchor);
        share.iter().map(|commit| Ok((*commit, judge.of(*commit)?))).collect()
    };
    let _ = side_by_side(workspace, &reach.commits, of, &mut |(commit, judged): (
        CommitId,
        Judged,
    )| {
        verified.changes += judged.changes;
        verified.renamed += judged.renamed;
        if !judged.wrong.is_empty() || !judged.overridden.is_empty() || !judged.mended.is_empty() {
            telling.push((commit, judged));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    // Whoever may, and moves a task on with a reason, has seen where it stood.
    let (mut overridden, mut mended): (HashMap<TaskId, CommitId>, HashMap<TaskId, CommitId>) =
        Default::default();
    for (commit, judged) in telling.iter_mut().rev() {
        for wrong in &mut judged.wrong {
            let by = match wrong.broken {
                Broken::MovedByHand | Broken::WrongResult | Broken::NotAllowed => &overridden,
                Broken::Unreadable | Broken::SaidByHand => &mended,
                _ => continue,
            };
            let later = wrong.task.as_ref().and_then(|task| by.get(task).copied());
            // What was done on another branch has not seen it.
            let has_seen =
                later.map(|later| repository.led_to(*commit, later)).transpose()?.unwrap_or(false);
            wrong.covered = later.filter(|_| has_seen);
        }
        overridden.extend(judged.overridden.iter().map(|task| (task.clone(), *commit)));
        mended.extend(judged.mended.iter().map(|task| (task.clone(), *commit)));
    }
    for wrong in of_doubled(workspace, until)? {
        let is_told = |known: &Wrong| {
            (known.broken, known.commit, &known.task)
                == (Broken::Doubled, wrong.commit, &wrong.task)
        };
        if !telling.iter().any(|(_, judged)| judged.wrong.iter().any(is_told)) {
            telling.push((wrong.commit, Judged { wrong: vec![wrong], ..Judged::default() }));
        }
    }
    telling
        .sort_by_cached_key(|(commit, _)| reach.commits.iter().position(|known| known == commit));
    verified.wrong = telling.into_iter().flat_map(|(_, judged)| judged.wrong).collect();
    Ok(verified)
}

/// Returns the tasks that have several files still, each with the commit that brought the second one.
fn of_doubled(workspace: &Workspace, until: CommitId) -> Result<Vec<Wrong>, OpsError> {
    let repository = &workspace.repository;
    let told = doubled(workspace, until)?.into_iter().map(|(id, path)| {
        let entry = repository.log_entry(doubled_by(repository, &id, until)?)?;
        let (expected, found) =
            ("one file of a task".to_owned(), format!("`{path}` besides another one"));
        Ok(Wrong::new(&entry, Some(&id), Broken::Doubled, expected, text::short(&found)))
    });
    told.collect()
}

/// Returns what was found as `--json` shows it.
pub(crate) fn verified_value(verified: &Verified) -> Value {
    let tasks: BTreeSet<_> = verified.open().filter_map(|wrong| wrong.task.as_ref()).collect();
    json!({
        "ok": verified.open().next().is_none(),
        "commits": verified.commits,
        "changes": verified.changes,
        "otherHashes": verified.renamed,
        "findings": verified.wrong.iter().map(Wrong::value).collect::<Vec<_>>(),
        "tasks": tasks.into_iter().map(TaskId::as_str).collect::<Vec<_>>(),
        "shallow": verified.ends.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "ignored": verified.pretences.iter().map(|pretence| pretence.word()).collect::<Vec<_>>(),
    })
}
