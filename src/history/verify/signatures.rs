//! Judges the signatures of entries: by the rules of the commit before, and by keys that are trusted from outside.

use super::finding::{BrokenRule, HistoryFinding};
use super::remerge::Remerge;
use super::words::{RuleBreach, short};
use crate::domain::ssh::trusted_keys::TrustedKeys;
use crate::domain::{PublicKey, Task, TaskId, listed};
use crate::files::config::configuration::ORG_FILE;
use crate::git::{CommitId, LogEntry};
use crate::project::active_rules::rules_at;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{Flaw, NAMESPACE, Rules, flaw, to_sign};

/// Returns what is wrong with the signatures of the entries at those places, which the commit brought.
pub(crate) fn of_entries(
    anchor: Option<&TrustedKeys>,
    (rules, entry): (&Rules, &LogEntry),
    id: &TaskId,
    task: &Task,
    places: impl IntoIterator<Item = usize>,
) -> Vec<HistoryFinding> {
    let wrong =
        |(broken, expected, found)| HistoryFinding::new(entry, Some(id), broken, expected, found);
    places
        .into_iter()
        .filter_map(|place| {
            by_rules(rules, task, place).or_else(|| by_anchor(anchor?, rules, task, place))
        })
        .map(wrong)
        .collect()
}

/// Returns those of the places whose agents have other keys in the first parent than where the two sides parted: the other side did not
/// know of keys that were added or revoked since.
pub(crate) fn by_newer_keys(
    workspace: &Workspace,
    remerge: &Remerge,
    first: CommitId,
    rules: &Rules,
    (task, places): (&Task, Vec<usize>),
) -> Result<Vec<usize>, ProjectError> {
    let mut newer = places;
    for base in remerge.bases() {
        if newer.is_empty() {
            break;
        }
        let repository = &workspace.repository;
        if repository.blob_id(base, ORG_FILE)? == repository.blob_id(first, ORG_FILE)? {
            return Ok(Vec::new());
        }
        let before = rules_at(workspace, base)?;
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

fn by_rules(rules: &Rules, task: &Task, place: usize) -> Option<RuleBreach> {
    let visit = task.history.get(place)?;
    let name = visit.agent.as_ref().map(ToString::to_string).unwrap_or_default();
    let keys = visit.agent.as_ref().map(|agent| rules.org.signing_keys(agent)).unwrap_or_default();
    let keys = listed(keys.iter().map(PublicKey::fingerprint));
    let by_own = format!("a signature by a key of `{name}`: {keys}");
    let Some(flaw) = flaw(rules, task, place) else { return by_other_rules(rules, task, place) };
    let (broken, expected, found) = match flaw {
        Flaw::Missing => (BrokenRule::Unsigned, by_own, format!("entry {} without one", place + 1)),
        Flaw::OtherText => (
            BrokenRule::BadSignature,
            format!("a signature of what entry {} says", place + 1),
            "one of something else: of another visit, another project, other rules, or other words"
                .to_owned(),
        ),
        Flaw::OtherUse { namespace } => (
            BrokenRule::BadSignature,
            format!("a signature made for `{NAMESPACE}`"),
            format!("one made for `{}`", namespace.escape_debug()),
        ),
        Flaw::OtherKey { key } => {
            (BrokenRule::UntrustedKey, by_own, format!("one by {}", key.fingerprint()))
        }
        Flaw::NoKey { key } => (
            BrokenRule::UntrustedKey,
            format!("a key of `{name}` in the org.yaml of the commit before"),
            format!("none, and a signature by {}", key.fingerprint()),
        ),
    };
    Some((broken, short(&expected), short(&found)))
}

/// Returns what is wrong with a signature that holds, and of an entry that was decided by other rules: what was said under those is not
/// said under these.
fn by_other_rules(rules: &Rules, task: &Task, place: usize) -> Option<RuleBreach> {
    let visit = task.history.get(place).filter(|visit| visit.signature.is_some())?;
    let (hash, own) =
        (rules.hash(&task.routing.workflow)?, visit.workflow.as_deref().unwrap_or("none"));
    let expected = format!("a signature under the rules of the commit before, `{hash}`");
    let found = format!("one under the rules `{own}`");
    (own != hash).then(|| (BrokenRule::BadSignature, short(&expected), short(&found)))
}

fn by_anchor(anchor: &TrustedKeys, rules: &Rules, task: &Task, place: usize) -> Option<RuleBreach> {
    let visit = task.history.get(place)?;
    let agent = visit.agent.as_ref()?;
    // Whatever no completion made, nobody signs.
    to_sign(rules, task, place)?;
    match &visit.signature {
        Some(signature) if anchor.trusts(signature.key(), agent, NAMESPACE, visit.exited) => None,
        Some(signature) => Some((
            BrokenRule::UntrustedKey,
            format!("a key that is trusted as `{agent}`'s at {}", visit.exited),
            format!("{}, which is not", signature.key().fingerprint()),
        )),
        None if anchor.names(agent, NAMESPACE, visit.exited) => Some((
            BrokenRule::Unsigned,
            format!("a signature by the trusted key of `{agent}`"),
            format!("entry {} without one, and an org.yaml that wants none", place + 1),
        )),
        None => None,
    }
}
