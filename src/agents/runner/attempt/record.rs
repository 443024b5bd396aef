//! What the record of an attempt says of how it ended, and what follows from that for the next one. Reads and writes no file.

use super::answer::Before;
use crate::agents::runner::report::report::Report;
use crate::storage::runs::{RunEnding, RunRecord, Tokens, Told};

/// Why an attempt ended whose runner is gone.
pub(crate) const KILLED: &str = "its runner was killed";

/// Returns how the record tells of an attempt that came to nothing.
pub(crate) fn ending(before: &Before) -> (RunEnding, Option<String>) {
    match before {
        Before::TimedOut(_) => (RunEnding::Timeout, None),
        Before::Idle(_) => (RunEnding::Idle, None),
        Before::Interrupted(why) => (RunEnding::Lost, Some(why.clone())),
        Before::Crashed(why) => (RunEnding::Crash, Some(why.clone())),
        Before::Bad(why) | Before::Refused(why) => (RunEnding::BadVerdict, Some(why.clone())),
    }
}

/// Returns what the record keeps of a report.
pub(crate) fn told(report: &Report) -> Told {
    Told {
        session: report.session.clone(),
        model: report.model.clone(),
        cost_usd: report.cost_usd,
        tokens: report.tokens.map(|tokens| Tokens { input: tokens.input, output: tokens.output }),
    }
}

/// Returns whether it has said something that nobody has heard: its runner was killed before.
pub(crate) fn is_unheard(record: &RunRecord) -> bool {
    record.end.as_ref().is_some_and(|end| end.how == RunEnding::Verdict && end.verdict.is_none())
}

/// Returns whether it ended before it had its chance.
pub(crate) fn was_interrupted(record: &RunRecord) -> bool {
    record.end.as_ref().is_some_and(|end| matches!(end.how, RunEnding::Stopped | RunEnding::Lost))
}

/// Returns whether the attempt counts: it had its chance, and nothing came of it.
pub(crate) fn has_failed(record: &RunRecord) -> bool {
    let how = record.end.as_ref().map(|end| end.how);
    matches!(
        how,
        Some(RunEnding::Crash | RunEnding::Timeout | RunEnding::Idle | RunEnding::BadVerdict)
    )
}

/// Returns why it came to nothing.
pub(crate) fn why_of(record: &RunRecord) -> String {
    let Some(end) = &record.end else { return String::new() };
    let usual = match end.how {
        RunEnding::Timeout => "it took too long, and was stopped",
        RunEnding::Idle => "it printed nothing for too long, and was stopped",
        RunEnding::Lost | RunEnding::Verdict => KILLED,
        RunEnding::Stopped => "somebody stopped it",
        _ => "it came to nothing",
    };
    end.reason.clone().unwrap_or_else(|| usual.to_owned())
}
