//! What an entry of the history wants mended, or waits for.

use crate::domain::{GateId, Join, ReviewContext, Verdict, Visit};
use crate::rules::routing::fork::named;

/// Returns what the entry at that place wants: of a fork that failed, what all of its branches want.
pub(crate) fn wish(history: &[Visit], index: usize) -> Option<ReviewContext> {
    let visit = history.get(index)?;
    if visit.join == Some(Join::Failed) {
        return Some(of_branches(history, index));
    }
    Some(ReviewContext {
        from_gate: visit.gate.clone(),
        from_agent: visit.agent.clone(),
        from_role: visit.role.clone(),
        timestamp: visit.exited,
        blockers: wants(visit),
        notes: visit.rejection_notes.clone(),
    })
}

/// Returns what all the branches want that did not pass the task, each text with its branch.
fn of_branches(history: &[Visit], closed: usize) -> ReviewContext {
    let first = history[..closed]
        .iter()
        .rposition(|visit| !visit.leaves_open())
        .map_or(0, |before| before + 1);
    let spoken = &history[first..=closed];
    let latest = spoken.iter().enumerate().filter(|(place, visit)| {
        let again = spoken[place + 1..].iter().any(|later| later.branch == visit.branch);
        !again && matches!(visit.verdict, Some(Verdict::Reject | Verdict::Hold))
    });
    let against: Vec<(&GateId, &Visit)> =
        latest.filter_map(|(_, visit)| Some((visit.branch.as_ref()?, visit))).collect();
    let rejecting: Vec<&Visit> = against
        .iter()
        .map(|(_, visit)| *visit)
        .filter(|visit| visit.verdict == Some(Verdict::Reject))
        .collect();
    // Where one branch alone rejects, it is known who did.
    let alone = <[&Visit; 1]>::try_from(rejecting).ok().map(|[visit]| visit);
    let notes: Vec<String> = against
        .iter()
        .filter_map(|(branch, visit)| {
            visit.rejection_notes.as_ref().map(|notes| format!("{branch}: {notes}"))
        })
        .collect();
    ReviewContext {
        from_gate: history[closed].gate.clone(),
        from_agent: alone.and_then(|visit| visit.agent.clone()),
        from_role: alone.and_then(|visit| visit.role.clone()),
        timestamp: history[closed].exited,
        blockers: against.iter().flat_map(|(branch, visit)| named(branch, &wants(visit))).collect(),
        notes: (!notes.is_empty()).then(|| notes.join("\n\n")),
    }
}

/// Returns what an entry lists; a decision may hold a task without a list, and then what it was about says why.
pub(crate) fn wants(visit: &Visit) -> Vec<String> {
    match &visit.blockers[..] {
        [] => vec![visit.summary.clone()],
        blockers => blockers.to_vec(),
    }
}
