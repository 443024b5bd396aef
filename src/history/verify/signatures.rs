//! Judges the signatures of entries: by the rules of the commit before, and by externally trusted keys.

use super::commit_reader::Remerge;
use super::finding::{BrokenRule, HistoryFinding, RuleBreach, short};
use crate::domain::ssh::trusted_keys::TrustedKeys;
use crate::domain::{AgentId, CompletionId, PublicKey, SshSignature, Task, TaskId, Ticket, listed};
use crate::files::allowed_signers;
use crate::files::config::configuration::ORG_FILE;
use crate::git::log::trailers;
use crate::git::{CommitId, LogEntry};
use crate::project::active_rules::rules_at;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{Flaw, NAMESPACE, Rules, entry_ticket, flaw, to_sign};
use crate::tasks::view::task_view::show;

/// Returns the findings about the signatures of the entries at those places, which are new in the commit.
pub(crate) fn judge_entries(
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

/// Returns the places whose agents have other keys in the first parent than at the merge base: the other side did not know keys that
/// were added or revoked since.
pub(crate) fn with_newer_keys(
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
        Flaw::NotVerified => (
            BrokenRule::BadSignature,
            "a passkey that checked who was there".to_owned(),
            "one that did not".to_owned(),
        ),
        Flaw::OtherOrigin { origin } => (
            BrokenRule::BadSignature,
            format!(
                "a signature for a page of `passkeyOrigins`: {}",
                listed(&rules.org.passkey_origins)
            ),
            format!("one for `{}`", origin.escape_debug()),
        ),
    };
    Some((broken, short(&expected), short(&found)))
}

/// Returns the finding about a valid signature of an entry that other rules decided: it does not confirm an entry under these rules.
fn by_other_rules(rules: &Rules, task: &Task, place: usize) -> Option<RuleBreach> {
    let visit = task.history.get(place).filter(|visit| visit.signature.is_some())?;
    let (hash, of_entry) =
        (rules.hash(&task.routing.workflow)?, visit.workflow.as_deref().unwrap_or("none"));
    let expected = format!("a signature under the rules of the commit before, `{hash}`");
    let found = format!("one under the rules `{of_entry}`");
    (of_entry != hash).then(|| (BrokenRule::BadSignature, short(&expected), short(&found)))
}

fn by_anchor(anchor: &TrustedKeys, rules: &Rules, task: &Task, place: usize) -> Option<RuleBreach> {
    let visit = task.history.get(place)?;
    let agent = visit.agent.as_ref()?;
    // Only completions are signed.
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

/// The data needed to check a signature with other tools.
pub(crate) struct Evidence {
    pub ticket: Ticket,
    pub agent: AgentId,
    /// The commit that added the entry; `None` if no commit is found.
    pub commit: Option<CommitId>,
    /// The signed text.
    pub text: String,
    pub signature: SshSignature,
    /// The keys that the agent had in the org.yaml of the commit before, as an `allowed_signers` file.
    pub allowed_signers: String,
}

/// Returns the evidence for the entry that ended the visit that the ticket names, or the branch of it.
pub(crate) fn evidence(workspace: &Workspace, ticket: &Ticket) -> Result<Evidence, ProjectError> {
    let (view, in_force) = show(workspace, &ticket.task)?;
    let task = view.file.task;
    let signed: Vec<(usize, Ticket)> = (0..task.history.len())
        .filter(|place| task.history[*place].signature.is_some())
        .filter_map(|place| Some((place, entry_ticket(&task, place)?)))
        .collect();
    let is_named = |other: &Ticket| {
        other.visit == ticket.visit && (ticket.branch.is_none() || other.branch == ticket.branch)
    };
    let none = || not_signed(ticket, &signed);
    let (place, found) = signed.iter().rfind(|(_, found)| is_named(found)).ok_or_else(none)?;
    let visit = &task.history[*place];
    let (Some(agent), Some(stamp), Some(signature)) =
        (&visit.agent, &visit.completion, &visit.signature)
    else {
        return Err(none());
    };
    let made = find_commit(workspace, &task.id, &stamp.id)?;
    let before = made
        .map(|(_, before)| before)
        .map(|before| rules_at(workspace, before))
        .transpose()?
        .flatten();
    let rules = before.unwrap_or(in_force.rules);
    let text = to_sign(&rules, &task, *place).ok_or_else(none)?;
    let lines = rules
        .org
        .signing_keys(agent)
        .iter()
        .map(|key| allowed_signers::line(agent.as_str(), NAMESPACE, key) + "\n");
    Ok(Evidence {
        ticket: found.clone(),
        agent: agent.clone(),
        commit: made.map(|(commit, _)| commit),
        text,
        signature: signature.clone(),
        allowed_signers: lines.collect(),
    })
}

/// Returns the commit that recorded the completion, and its parent.
fn find_commit(
    workspace: &Workspace,
    id: &TaskId,
    completion: &CompletionId,
) -> Result<Option<(CommitId, CommitId)>, ProjectError> {
    let Some(head) = workspace.repository.head_for_reading()?.commit else { return Ok(None) };
    for entry in workspace.repository.log(head)? {
        let entry = entry?;
        let trailers = trailers::parse(&entry.message);
        let says = |key: &str, value: &str| {
            trailers.iter().any(|one| one.key() == key && one.value() == value)
        };
        if says("Aof-Completion", completion.as_str()) && says("Aof-Task", id.as_str()) {
            let before = entry
                .parents
                .first()
                .copied()
                .filter(|before| workspace.repository.has_commit(*before));
            return Ok(before.map(|before| (entry.id, before)));
        }
    }
    Ok(None)
}

fn not_signed(ticket: &Ticket, signed: &[(usize, Ticket)]) -> ProjectError {
    let fix = match signed {
        [] => format!("nothing in the history of `{}` is signed", ticket.task),
        signed => {
            let tickets: Vec<String> =
                signed.iter().map(|(_, ticket)| format!("`{ticket}`")).collect();
            format!("what is signed: {}", tickets.join(", "))
        }
    };
    ProjectError::Unfit {
        code: "not_signed",
        problem: format!("`{ticket}` names no visit that a signature ended"),
        fix: fix.into(),
    }
}
