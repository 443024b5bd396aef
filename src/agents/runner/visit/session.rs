//! The session of an attempt. At a visit that returns to its agent, the agent's session goes on where the program can continue it.

use crate::agents::runner::attempt::Attempt;
use crate::domain::{Preset, Ticket};
use crate::rules::entry_ticket;
use crate::storage::runs::{RunEnding, RunRecord, Runs, SessionStart};

/// Returns the beginning of the session of an attempt; `None` if its program cannot continue one. `here` has the earlier attempts at this
/// visit.
pub(super) fn session_start(
    attempt: &Attempt<'_>,
    runs: &Runs,
    here: &[RunRecord],
) -> Option<SessionStart> {
    if !attempt.launch.can_resume() || !attempt.bounds.resumes {
        return None;
    }
    let is_lost = |record: &&RunRecord| record.ending() == Some(RunEnding::NoSession);
    if let Some(lost) = here.iter().rfind(is_lost) {
        return Some(SessionStart::Lost { why: lost.failure_reason() });
    }
    // A session in which an attempt failed may fail again.
    let has_failed =
        here.iter().any(|record| record.agent == *attempt.agent && record.has_failed());
    let earlier = earlier_visit(attempt).filter(|_| !has_failed);
    Some(earlier.map_or(SessionStart::New, |ticket| resumed(attempt, runs, &ticket)))
}

/// Returns the last visit of the same place, if the agent had it. A new round and another item are other work.
fn earlier_visit(attempt: &Attempt<'_>) -> Option<Ticket> {
    let (task, opening) = (&attempt.open.file.task, &attempt.open.opening);
    let item = task.gate.as_ref().and_then(|open| open.item).map(|item| item.index);
    let entries = task.history.iter().enumerate().rev();
    let (place, visit) =
        entries.take_while(|(_, visit)| visit.round.is_none()).find(|(_, visit)| {
            visit.station() == opening.station && visit.item.map(|item| item.index) == item
        })?;
    entry_ticket(task, place).filter(|_| visit.agent.as_ref() == Some(attempt.agent))
}

/// Returns the session of the agent's last attempt at the visit, to be continued.
fn resumed(attempt: &Attempt<'_>, runs: &Runs, ticket: &Ticket) -> SessionStart {
    let mut records = runs.records(Some(&ticket.task));
    records.retain(|record| record.ticket == *ticket && record.agent == *attempt.agent);
    records.sort_by_key(|record| record.attempt);
    if records.is_empty() {
        return SessionStart::Lost { why: format!("no run of {ticket} is kept in this clone") };
    }
    let session = |record: &RunRecord| {
        let report = &record.end.as_ref()?.agent_report;
        let id = report.session.clone().filter(|id| is_plain(id))?;
        let (before_cost, before_tokens) = match record.session {
            Some(SessionStart::Resumed { cost_usd, tokens, .. }) => (cost_usd, tokens),
            _ => (None, None),
        };
        // Claude Code reports the cost of the whole session, and Codex its tokens.
        let is_codex = attempt.launch.preset == Preset::Codex;
        let cost_usd = report.cost_usd.filter(|_| !is_codex);
        let tokens = report.tokens.filter(|_| is_codex);
        Some(SessionStart::Resumed {
            id,
            cost_usd: cost_usd.map(|own| own + before_cost.unwrap_or_default()),
            tokens: tokens.map(|own| own.plus(before_tokens.unwrap_or_default())),
        })
    };
    let lost = || SessionStart::Lost { why: format!("the run of {ticket} told no session") };
    records.iter().rev().find_map(session).unwrap_or_else(lost)
}

/// Returns whether a program reads the text as the name of a session, and never as an option.
fn is_plain(id: &str) -> bool {
    let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !id.is_empty() && id.len() <= 128 && !id.starts_with('-') && id.chars().all(is_known)
}
