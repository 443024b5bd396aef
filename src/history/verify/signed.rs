//! Signatures of entries: as the rules of the commit before want them, and by the keys that somebody trusts from outside.

use super::again::Again;
use super::finding::{Broken, Wrong};
use super::judge::Judge;
use super::text::short;
use crate::domain::ssh::trusted_keys::TrustedKeys;
use crate::domain::{PublicKey, Task, TaskId, listed};
use crate::files::config::configuration::ORG_FILE;
use crate::git::{CommitId, LogEntry};
use crate::project::active_rules::rules_at;
use crate::project::error::error::OpsError;
use crate::rules::{Flaw, NAMESPACE, Rules, flaw, to_sign};

/// Returns what is wrong with the signatures of the entries at those places, which the commit brought.
pub(crate) fn of_entries(
    anchor: Option<&TrustedKeys>,
    (rules, entry): (&Rules, &LogEntry),
    id: &TaskId,
    task: &Task,
    places: impl IntoIterator<Item = usize>,
) -> Vec<Wrong> {
    let wrong = |(broken, expected, found)| Wrong::new(entry, Some(id), broken, expected, found);
    places
        .into_iter()
        .filter_map(|place| {
            of_rules(rules, task, place).or_else(|| of_anchor(anchor?, rules, task, place))
        })
        .map(wrong)
        .collect()
}

/// Returns those of the places whose agents have other keys in `first` now than they had wherever it parted from the other side: a
/// side that left before keys were added or revoked knew nothing of them.
pub(crate) fn by_newer_keys(
    judge: &Judge<'_>,
    again: &Again,
    first: CommitId,
    rules: &Rules,
    (task, places): (&Task, Vec<usize>),
) -> Result<Vec<usize>, OpsError> {
    let mut newer = places;
    for base in again.bases() {
        if newer.is_empty() {
            break;
        }
        let repository = &judge.workspace.repository;
        if repository.blob_id(base, ORG_FILE)? == repository.blob_id(first, ORG_FILE)? {
            return Ok(Vec::new());
        }
        let before = rules_at(judge.workspace, base)?;
        newer.retain(|place| {
            let agent = task.history.get(*place).and_then(|visit| visit.agent.as_ref());
            let known = |agent| {
                before.as_ref().map(|before| before.org.signing_keys(agent)).unwrap_or_default()
            };
            agent.is_some_and(|agent| known(agent) != rules.org.signing_keys(agent))
        });
    }
    Ok(newer)
}

fn of_rules(rules: &Rules, task: &Task, place: usize) -> Option<(Broken, String, String)> {
    let visit = task.history.get(place)?;
    let name = visit.agent.as_ref().map(ToString::to_string).unwrap_or_default();
    let keys = visit.agent.as_ref().map(|agent| rules.org.signing_keys(agent)).unwrap_or_default();
    let keys = listed(keys.iter().map(PublicKey::fingerprint));
    let by_own = format!("a signature by a key of `{name}`: {keys}");
    let Some(flaw) = flaw(rules, task, place) else { return of_other_rules(rules, task, place) };
    let (broken, expected, found) = match flaw {
        Flaw::Missing => (Broken::Unsigned, by_own, format!("entry {} without one", place + 1)),
        Flaw::OtherText => (
            Broken::BadSignature,
            format!("a signature of what entry {} says", place + 1),
            "one of something else: of another visit, another project, other rules, or other words"
                .to_owned(),
        ),
        Flaw::OtherUse { namespace } => (
            Broken::BadSignature,
            format!("a signature made for `{NAMESPACE}`"),
            format!("one made for `{}`", namespace.escape_debug()),
        ),
        Flaw::OtherKey { key } => {
            (Broken::UntrustedKey, by_own, format!("one by {}", key.fingerprint()))
        }
        Flaw::NoKey { key } => (
            Broken::UntrustedKey,
            format!("a key of `{name}` in the org.yaml of the commit before"),
            format!("none, and a signature by {}", key.fingerprint()),
        ),
    };
    Some((broken, short(&expected), short(&found)))
}

/// Returns what is wrong with a signature that holds, and of an entry that was decided by other rules: what was said under those is not
/// said under these.
fn of_other_rules(rules: &Rules, task: &Task, place: usize) -> Option<(Broken, String, String)> {
    let visit = task.history.get(place).filter(|visit| visit.signature.is_some())?;
    let (hash, own) =
        (rules.hash(&task.routing.workflow)?, visit.workflow.as_deref().unwrap_or("none"));
    let expected = format!("a signature under the rules of the commit before, `{hash}`");
    let found = format!("one under the rules `{own}`");
    (own != hash).then(|| (Broken::BadSignature, short(&expected), short(&found)))
}

fn of_anchor(
    anchor: &TrustedKeys,
    rules: &Rules,
    task: &Task,
    place: usize,
) -> Option<(Broken, String, String)> {
    let visit = task.history.get(place)?;
    let agent = visit.agent.as_ref()?;
    // Whatever no completion made, nobody signs.
    to_sign(rules, task, place)?;
    match &visit.signature {
        Some(signature) if anchor.trusts(signature.key(), agent, NAMESPACE, visit.exited) => None,
        Some(signature) => Some((
            Broken::UntrustedKey,
            format!("a key that is trusted as `{agent}`'s at {}", visit.exited),
            format!("{}, which is not", signature.key().fingerprint()),
        )),
        None if anchor.names(agent, NAMESPACE, visit.exited) => Some((
            Broken::Unsigned,
            format!("a signature by the trusted key of `{agent}`"),
            format!("entry {} without one, and an org.yaml that wants none", place + 1),
        )),
        None => None,
    }
}
