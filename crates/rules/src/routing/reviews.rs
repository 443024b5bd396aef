//! The changes that rejections request, and the requests that are unanswered.

use crate::workflow::rules::Rules;
use aof_domain::{
    AgentId, Blocker, Destination, Ending, GateId, Join, LostDependency, Outcome, ReviewContext,
    Task, Verdict, Visit, listed,
};

/// Returns the review context of an entry; for a failed fork, of all its branches.
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

/// Returns the requests of all branches that did not pass, each text with its branch.
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
    // If only one branch rejects, its agent is named.
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

/// Returns the requests of an entry; for a decision without a list, its summary.
pub(crate) fn wants(visit: &Visit) -> Vec<String> {
    match &visit.blockers[..] {
        [] => vec![visit.summary.clone()],
        blockers => blockers.to_vec(),
    }
}

/// Returns the texts, each with the branch.
pub(crate) fn named(branch: &GateId, texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| format!("{branch}: {text}")).collect()
}

/// Returns the entries with unanswered requests, oldest first. A request is answered when its gate passes the task or is skipped,
/// or a person decides; a new rejection of the gate replaces it.
pub fn unanswered(history: &[Visit]) -> Vec<&Visit> {
    unanswered_at(history).into_iter().map(|index| &history[index]).collect()
}

/// Returns the unanswered requests; for a fork, those of all its branches.
pub(crate) fn open_requests(history: &[Visit]) -> Vec<ReviewContext> {
    unanswered_at(history).into_iter().filter_map(|index| review_of(history, index)).collect()
}

/// Returns the requests that the open visit must answer, then those of earlier rejections that are unanswered too, oldest first;
/// each with whether it moved the task. A failed attempt is not a review: earlier requests still count.
pub fn standing_reviews(task: &Task) -> Vec<(ReviewContext, bool)> {
    let entry_of = |review: &ReviewContext| {
        let is_own =
            |visit: &&Visit| visit.gate == review.from_gate && visit.exited == review.timestamp;
        task.history.iter().rfind(is_own)
    };
    let has_failed = |visit: &Visit| visit.gate_outcome() == Some(&Outcome::Failed);
    let mut open = open_requests(&task.history);
    let latest = task.review.clone().filter(|review| !entry_of(review).is_some_and(has_failed));
    let latest = latest.or_else(|| open.pop().filter(|_| task.gate.is_some()));
    let is_latest = |review: &ReviewContext| {
        latest.as_ref().is_some_and(|latest| {
            (&review.from_gate, review.timestamp) == (&latest.from_gate, latest.timestamp)
        })
    };
    open.retain(|review| !is_latest(review));
    let all = latest.clone().into_iter().chain(open);
    let moved = |review: &ReviewContext| !entry_of(review).is_some_and(Visit::stays);
    all.map(|review| (review.clone(), moved(&review))).collect()
}

/// Returns the last rejection by an agent that its gate has not answered, if the work that it asked for was done since: its points count as
/// settled until the agent decides again.
pub fn settled_since_rejection(task: &Task, agent: &AgentId) -> Option<ReviewContext> {
    let is_theirs = |review: &ReviewContext| review.from_agent.as_ref() == Some(agent);
    let mut reviews = standing_reviews(task).into_iter().map(|(review, _)| review);
    let review = reviews.find(is_theirs)?;
    let is_entry =
        |visit: &Visit| visit.gate == review.from_gate && visit.exited == review.timestamp;
    let place = task.history.iter().rposition(is_entry)?;
    let Some(Destination::Gate(back)) = &task.history[place].to else { return None };
    let is_work = |visit: &Visit| visit.gate == *back && visit.to.is_some();
    let does = |visit: &Visit| is_work(visit) && visit.gate_outcome() == Some(&Outcome::Complete);
    task.history[place + 1..].iter().any(does).then_some(review)
}

/// Returns the open requests of reviews: each point in one line, with its notes.
pub fn open_points(task: &Task) -> Vec<String> {
    let points = |(review, _): (ReviewContext, _)| review.blockers.into_iter().chain(review.notes);
    standing_reviews(task).into_iter().flat_map(points).collect()
}

/// Returns the indexes of the entries with unanswered requests.
pub(crate) fn unanswered_at(history: &[Visit]) -> Vec<usize> {
    let mut open: Vec<usize> = Vec::new();
    for (index, visit) in history.iter().enumerate() {
        match (&visit.outcome, visit.gate_outcome()) {
            (Ending::Override | Ending::Reopened | Ending::Cancelled, _) => open.clear(),
            (_, Some(outcome)) if sends_back(visit, outcome) => {
                open.retain(|other| history[*other].gate != visit.gate);
                if !is_answered(visit) {
                    open.push(index);
                }
            }
            // An entry of a branch while others are open is not an entry of the fork.
            (_, Some(Outcome::Blocked | Outcome::Failed) | None) => {}
            (_, Some(_)) => {
                open.retain(|other| {
                    let gate = &history[*other].gate;
                    *gate != visit.gate && !visit.skipped.contains(gate)
                });
            }
        }
    }
    // A decision may lead back regularly; only `needs_review` must be answered.
    open.retain(|index| history[*index].gate_outcome() == Some(&Outcome::NeedsReview));
    open
}

/// Returns whether a rejection is settled: if the workflow sends the task elsewhere after too many returns, that gate decides.
fn is_answered(visit: &Visit) -> bool {
    let stays = visit.to == Some(Destination::Gate(visit.gate.clone()));
    visit.retry.is_none() && !stays
}

fn sends_back(visit: &Visit, outcome: &Outcome) -> bool {
    *outcome == Outcome::NeedsReview || (visit.retry.is_some() && *outcome != Outcome::Failed)
}

/// Returns the latest unanswered request.
pub(crate) fn review(history: &[Visit]) -> Option<ReviewContext> {
    let has_any = |visit: &Visit| !visit.blockers.is_empty() || visit.rejection_notes.is_some();
    // Moves by changed rules or timeouts do not answer a request.
    let came =
        history.iter().rposition(|visit| !matches!(visit.outcome, Ending::Moved | Ending::Timeout));
    let asks = |index: &usize| history[*index].retry.is_some() && history[*index].join.is_none();
    let last = came.filter(asks).filter(|index| has_any(&history[*index]));
    let index = last.or_else(|| unanswered_at(history).pop())?;
    let latest = review_of(history, index)?;
    // A regular way back without a list has no requests.
    Some(if last.is_some() {
        ReviewContext { blockers: history[index].blockers.clone(), ..latest }
    } else {
        latest
    })
}

/// Returns a blocker. If it is about a role without agents, adds the agents of the role that are missing in `agents` of org.yaml.
pub fn explained(rules: &Rules, blocker: &Blocker) -> String {
    let role = blocker.empty_role().and_then(|role| rules.org.role(&role));
    let agents = role.map(|role| role.agents.as_slice()).unwrap_or_default();
    let unknown: Vec<&AgentId> =
        agents.iter().filter(|agent| !rules.org.is_registered(agent)).collect();
    match &unknown[..] {
        [] => blocker.to_string(),
        [one] => format!("{blocker} (`{one}` is in it, but not in `agents` of org.yaml)"),
        all => format!("{blocker} ({} are in it, but not in `agents` of org.yaml)", listed(all)),
    }
}

/// Returns the lost dependencies that block the task. Blockers from a completion with the same text do not count.
pub fn lost_dependencies(task: &Task) -> Vec<LostDependency> {
    // Once the task was unblocked, the blockers of the last completion no longer count.
    let waits = task.gate.as_ref().is_some_and(|open| open.resumed.is_none());
    let given = task
        .history
        .last()
        .filter(|_| waits)
        .map(|visit| visit.blockers.as_slice())
        .unwrap_or_default();
    let lost = task.blockers.iter().filter_map(Blocker::lost);
    lost.filter(|lost| !given.contains(&lost.to_string())).cloned().collect()
}
