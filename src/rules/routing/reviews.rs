//! What rejections want, and which of that nobody has answered yet.

use crate::domain::{
    Destination, Ending, GateId, Join, LostDependency, Outcome, ReviewContext, RoleId, Task,
    Verdict, Visit,
};

/// Returns the review context that an entry makes: of a fork that failed, that of all its branches.
pub(crate) fn review_of(history: &[Visit], index: usize) -> Option<ReviewContext> {
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

/// Returns the texts with the branch that says them.
pub(crate) fn named(branch: &GateId, texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| format!("{branch}: {text}")).collect()
}

/// Returns the entries whose wishes nobody has answered yet, oldest first. They are answered when the gate that has them passes
/// the task or does not apply any more, or a person decides; a gate that rejects again says anew what it wants.
pub fn unanswered(history: &[Visit]) -> Vec<&Visit> {
    unanswered_at(history).into_iter().map(|index| &history[index]).collect()
}

/// Returns what these entries want: of a fork, what all of its branches want.
pub(crate) fn open_wishes(history: &[Visit]) -> Vec<ReviewContext> {
    unanswered_at(history).into_iter().filter_map(|index| review_of(history, index)).collect()
}

/// Returns the places of these entries.
fn unanswered_at(history: &[Visit]) -> Vec<usize> {
    let mut open: Vec<usize> = Vec::new();
    for (index, visit) in history.iter().enumerate() {
        match (&visit.outcome, visit.said()) {
            (Ending::Override | Ending::Reopened | Ending::Cancelled, _) => open.clear(),
            (_, Some(outcome)) if sends_back(visit, outcome) => {
                open.retain(|other| history[*other].gate != visit.gate);
                if !is_settled(visit) {
                    open.push(index);
                }
            }
            // A branch that has spoken while others are open is not its fork.
            (_, Some(Outcome::Blocked | Outcome::Failed) | None) => {}
            (_, Some(_)) => {
                open.retain(|other| {
                    let gate = &history[*other].gate;
                    *gate != visit.gate && !visit.skipped.contains(gate)
                });
            }
        }
    }
    // A decision may lead back as a matter of course; only who says that something needs mending must be answered.
    open.retain(|index| history[*index].said() == Some(&Outcome::NeedsReview));
    open
}

/// A rejection is settled where the workflow sends a task that came back too often somewhere else: that gate has the word.
fn is_settled(visit: &Visit) -> bool {
    let stays = visit.to == Some(Destination::Gate(visit.gate.clone()));
    visit.retry.is_none() && !stays
}

fn sends_back(visit: &Visit, outcome: &Outcome) -> bool {
    *outcome == Outcome::NeedsReview || (visit.retry.is_some() && *outcome != Outcome::Failed)
}

/// Returns what the latest wish is that nobody has answered.
pub(crate) fn review(history: &[Visit]) -> Option<ReviewContext> {
    let told = |visit: &Visit| !visit.blockers.is_empty() || visit.rejection_notes.is_some();
    // That the rules or the clock moved the task since changes nothing of what is wanted.
    let came =
        history.iter().rposition(|visit| !matches!(visit.outcome, Ending::Moved | Ending::Timeout));
    let asks = |index: &usize| history[*index].retry.is_some() && history[*index].join.is_none();
    let last = came.filter(asks).filter(|index| told(&history[*index]));
    let index = last.or_else(|| unanswered_at(history).pop())?;
    let wish = review_of(history, index)?;
    // Who leads back as a matter of course and lists nothing wants nothing.
    Some(if last.is_some() {
        ReviewContext { blockers: history[index].blockers.clone(), ..wish }
    } else {
        wish
    })
}

/// How a task begins to say that nobody is in its role: the text is spec 1, 9.7's own.
const NOBODY: &str = "No agents available for role: ";

/// How it begins to say that it was sent back too often.
pub(crate) const CIRCLE: &str = "Circular rejection loop: ";

/// Returns what stands in the way of a task whose role has nobody.
pub(crate) fn nobody(role: &RoleId) -> String {
    format!("{NOBODY}{role}")
}

/// Returns whether the text says that nobody is in a role.
pub fn is_nobody(text: &str) -> bool {
    text.starts_with(NOBODY)
}

/// Returns whether the text says that the task was sent back too often.
pub fn is_circle(text: &str) -> bool {
    text.starts_with(CIRCLE)
}

/// Returns whether the rules themselves put the text in a task's way, and would do so again where it still holds.
pub(crate) fn is_own(text: &str) -> bool {
    is_nobody(text) || is_circle(text)
}

/// Returns the dependencies on whose loss the task waits. What a completion said of them is its own affair.
pub fn lost_dependencies(task: &Task) -> Vec<LostDependency> {
    // Once it was set going again, what was said is over.
    let waits = task.gate.as_ref().is_some_and(|open| open.resumed.is_none());
    let said = task
        .history
        .last()
        .filter(|_| waits)
        .map(|visit| visit.blockers.as_slice())
        .unwrap_or_default();
    let own = task.blockers.iter().filter(|blocker| !said.contains(blocker));
    own.filter_map(|blocker| LostDependency::read(blocker)).collect()
}
