//! Whether a completion is signed as the rules want it: by a key of its agent's, over the entry that comes of it. Judges the entry
//! alone, so that a history can be judged like a completion that comes.

use super::canonical::{canonical, ticket};
use super::ssh::holds;
use crate::domain::{Ending, Task, Ticket};
use crate::rules::refusal::{Flaw, NAMESPACE, Refusal, ToSign};
use crate::rules::workflow::rules::Rules;

/// Returns what is wrong with the signature of the entry of that place, by the keys that these rules name; nothing where it is as it should
/// be, and where none is wanted.
pub fn flaw(rules: &Rules, task: &Task, place: usize) -> Option<Flaw> {
    let entry = task.history.get(place)?;
    let keys = entry.agent.as_ref().map(|agent| rules.org.signing_keys(agent)).unwrap_or_default();
    let Some(signature) = &entry.signature else {
        // Whatever else ends a visit is nobody's word.
        let is_said = matches!(entry.outcome, Ending::Said(_)) && entry.completion.is_some();
        return (is_said && !keys.is_empty()).then_some(Flaw::Missing);
    };
    if signature.namespace() != NAMESPACE {
        return Some(Flaw::OtherUse { namespace: signature.namespace().to_owned() });
    }
    let key = || signature.key().clone();
    let text = canonical(rules.project.name.as_deref(), task, place);
    match (keys, text) {
        ([], _) | (_, None) => Some(Flaw::NoKey { key: key() }),
        (keys, _) if !keys.contains(signature.key()) => Some(Flaw::OtherKey { key: key() }),
        (_, Some(text)) => (!holds(signature, text.as_bytes())).then_some(Flaw::OtherText),
    }
}

/// Returns what is signed of an entry; nothing where no completion made it.
pub fn to_sign(rules: &Rules, task: &Task, place: usize) -> Option<String> {
    canonical(rules.project.name.as_deref(), task, place)
}

/// Returns the ticket of the visit that the entry of that place ended.
pub fn entry_ticket(task: &Task, place: usize) -> Option<Ticket> {
    task.history.get(place).map(|entry| ticket(task, place, entry))
}

/// Returns why the entry of that place is not taken, if its signature is not as it should be.
pub(crate) fn check(rules: &Rules, task: &Task, place: usize) -> Result<(), Refusal> {
    let Some(flaw) = flaw(rules, task, place) else { return Ok(()) };
    let (Some(entry), Some(text)) = (task.history.get(place), to_sign(rules, task, place)) else {
        return Ok(());
    };
    let (Some(agent), Some(stamp)) = (&entry.agent, &entry.completion) else { return Ok(()) };
    Err(Refusal::Signature(Box::new(ToSign {
        flaw,
        ticket: ticket(task, place, entry),
        agent: agent.clone(),
        completion: stamp.id.clone(),
        keys: rules.org.signing_keys(agent).to_vec(),
        text,
    })))
}
