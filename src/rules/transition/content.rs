//! What a completion must say, and how much it may.

use crate::domain::{BODY_LIMIT, Completion, Map, Outcome};
use crate::rules::act::Act;
use crate::rules::refusal::Refusal;
use crate::rules::routing::workplace::Workplace;
use crate::rules::workflow::rules::Rules;

/// The longest summary, note or blocker that the history takes, in bytes.
pub(crate) const TEXT_LIMIT: usize = 16 * 1024;

/// The most that outputs, metadata or all blockers together may have, in bytes: an entry stays for ever, and a frontmatter ends.
pub(crate) const OBJECT_LIMIT: usize = 32 * 1024;

/// Returns the outcome that the completion means at the gate, or why it means none.
pub(crate) fn outcome(
    rules: &Rules,
    post: &Workplace<'_>,
    default: &Outcome,
    completion: &Completion,
) -> Result<Outcome, Refusal> {
    let valid = post.outcomes(rules);
    let gate = post.station();
    let word = match completion.outcome.as_deref() {
        Some(word) => word,
        None if post.judges() => return Err(Refusal::MissingOutcome { gate, valid }),
        None => default.as_str(),
    };
    if let Some(outcome) = valid.iter().find(|outcome| outcome.is_meant_by(word)) {
        return Ok(outcome.clone());
    }
    Err(match word.parse() {
        Ok(Outcome::Skip) => {
            Refusal::SkipNotAllowed { gate, human: post.requires_human(rules), valid }
        }
        Ok(Outcome::NeedsReview) => Refusal::RejectNotAllowed { gate, valid },
        _ => Refusal::InvalidOutcome { given: word.to_owned(), gate, valid },
    })
}

/// Refuses a reason or a note that is too long to be kept.
pub(crate) fn reason(act: &Act) -> Result<(), Refusal> {
    let (field, text) = match act {
        Act::Hold { reason, .. }
        | Act::Cancel { reason, .. }
        | Act::Reopen { reason, .. }
        | Act::Override { reason, .. } => ("reason", Some(reason)),
        Act::Unblock { reason, .. } => ("reason", reason.as_ref()),
        Act::Renew { note, .. } => ("note", note.as_ref()),
        _ => return Ok(()),
    };
    within(field, text.map_or(0, String::len), TEXT_LIMIT)
}

fn within(field: &'static str, bytes: usize, limit: usize) -> Result<(), Refusal> {
    if bytes > limit { Err(Refusal::TooLong { field, bytes, limit }) } else { Ok(()) }
}

/// Refuses a completion that says too little for its outcome, or too much for a history.
pub(crate) fn content(outcome: &Outcome, completion: &Completion) -> Result<(), Refusal> {
    let outcome = || outcome.clone();
    if completion.summary.as_deref().is_none_or(|summary| summary.trim().is_empty()) {
        return Err(Refusal::MissingSummary { outcome: outcome() });
    }
    let blockers = completion.blockers.as_deref();
    if matches!(outcome(), Outcome::NeedsReview | Outcome::Blocked) {
        let Some(blockers) = blockers else {
            return Err(Refusal::MissingBlockers { outcome: outcome() });
        };
        if blockers.iter().all(|blocker| blocker.trim().is_empty()) {
            return Err(Refusal::EmptyBlockers { outcome: outcome() });
        }
    }
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let json = |object: &Map| serde_json::to_string(object).map_or(0, |text| text.len());
    let blockers = blockers.unwrap_or_default().iter().map(String::len);
    within("summary", length(&completion.summary), TEXT_LIMIT)?;
    within("rejectionNotes", length(&completion.rejection_notes), TEXT_LIMIT)?;
    within("blockers", blockers.clone().max().unwrap_or(0), TEXT_LIMIT)?;
    within("outputs", json(&completion.outputs), OBJECT_LIMIT)?;
    within("metadata", json(&completion.metadata), OBJECT_LIMIT)?;
    within("blockers", blockers.sum(), OBJECT_LIMIT)?;
    within("body", length(&completion.body), BODY_LIMIT)
}

/// Words that, alone, name nothing that could be mended.
const EMPTY_WORDS: &str = "a again all and bad better broken change changes doesnt done enough fix fixes fixing good \
     great improve improvement improvements incomplete is issue issues it looks more much need needed needs nice no not \
     ok please poor problem problems quality redo required review rework some something stuff the this to todo very \
     work working works wrong";

/// Returns the blockers that name nothing in particular: every word of them fits any work.
pub(crate) fn vague(blockers: &[String]) -> Vec<String> {
    blockers.iter().filter(|blocker| is_vague(blocker)).cloned().collect()
}

fn is_vague(text: &str) -> bool {
    let is_empty = |word: &str| EMPTY_WORDS.split_whitespace().any(|known| known == word);
    text.split(|c: char| !c.is_alphanumeric() && c != '\'')
        .map(|word| word.replace('\'', "").to_lowercase())
        .filter(|word| !word.is_empty())
        .all(|word| is_empty(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_a_complaint_from_a_blocker() {
        for text in [
            "needs work",
            "Not good enough",
            "needs improvement",
            "fix it",
            "...",
            "this doesn't work",
            "wrong!",
        ] {
            assert!(is_vague(text), "{text}");
        }
        for text in [
            "coverage at 65%, need 80%",
            "missing error handling for expired tokens",
            "waiting for the API specification",
            "typo in README",
            "テストが足りない",
        ] {
            assert!(!is_vague(text), "{text}");
        }
    }
}
