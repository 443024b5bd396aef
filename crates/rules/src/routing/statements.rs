//! The statements about a task since its reader last had it: the events of that time, with their texts.
//!
//! The reader is the gate, or the branch of a fork, with the agent that works there. All of it follows from the history and the
//! open visit.

use std::collections::BTreeSet;

use super::reviews::unanswered_at;
use aof_domain::OpenBranch;
use aof_domain::{
    AgentId, Destination, Ending, Outcome, ReviewContext, Station, Task, Timestamp, Verdict, Visit,
};

/// An event of a task, with its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// The kind of event, in a word or two.
    pub kind: &'static str,
    pub agent: Option<AgentId>,
    /// The name of a person who has no id in org.yaml. The rules do not know it.
    pub person: Option<String>,
    /// The time; `None` if the task does not record it.
    pub at: Option<Timestamp>,
    pub text: String,
    /// Blockers and notes that no review of the brief lists.
    pub points: Vec<String>,
}

const BLOCKED: &str = "blocked";
const MOVED: &str = "moved";
const REOPENED: &str = "reopened";
const SENT_BACK: &str = "sent back";
const TIMED_OUT: &str = "timed out";
const UNBLOCKED: &str = "unblocked";

impl Statement {
    fn new(kind: &'static str, at: Option<Timestamp>, text: &str) -> Self {
        let (text, points) = (text.trim().to_owned(), Vec::new());
        Self { kind, agent: None, person: None, at, text, points }
    }

    /// Returns the kind of event, and the agent or person that caused it.
    pub fn heading(&self) -> String {
        let agent = self.agent.as_ref().map(AgentId::as_str);
        match (self.kind, agent.or(self.person.as_deref())) {
            (TIMED_OUT, Some(holder)) => format!("{TIMED_OUT} with {holder}"),
            (kind, Some(by)) => format!("{kind} by {by}"),
            (kind, None) => kind.to_owned(),
        }
    }

    /// Returns the word in the commit for such an act, if a person did it whom the task does not name.
    pub fn word_of_unnamed(&self) -> Option<&'static str> {
        let words = [(MOVED, "override"), (REOPENED, "reopened"), (UNBLOCKED, "unblocked")];
        let found = words.iter().find(|(kind, _)| *kind == self.kind);
        found.filter(|_| self.agent.is_none() && self.person.is_none()).map(|(_, word)| *word)
    }
}

/// Returns the word for the effect of an entry. `again`: it brought the task back to its reader.
fn kind_of(visit: &Visit, again: bool) -> &'static str {
    let outcome = match &visit.outcome {
        Ending::Timeout => return TIMED_OUT,
        Ending::Moved | Ending::Override => return MOVED,
        Ending::Reopened => return REOPENED,
        Ending::Cancelled => return "cancelled",
        Ending::Completed(outcome) => outcome,
    };
    match (outcome, visit.verdict) {
        (Outcome::NeedsReview, _) | (_, Some(Verdict::Reject)) => SENT_BACK,
        (Outcome::Failed, _) => "failed",
        (Outcome::Blocked, _) | (_, Some(Verdict::Hold)) => BLOCKED,
        (Outcome::Decision(_), _) if visit.retry.is_some() => SENT_BACK,
        _ if again && visit.branch.is_none() => "came back",
        (Outcome::Skip, _) => "skipped",
        _ => "handed on",
    }
}

/// Returns the statements since the reader at `here` last had the task, preceded by older rejections that are unanswered; the
/// oldest first. A reader who never had it gets the entries since the task arrived, except usual completions of agents. `reviews`
/// are shown separately.
pub(crate) fn statements<'r>(
    task: &Task,
    here: &Station,
    reviews: &(impl Iterator<Item = &'r ReviewContext> + Clone),
) -> Vec<Statement> {
    let history = &task.history;
    let had = history.iter().rposition(|visit| visit.station() == *here && is_left(visit));
    let arrival = history
        .iter()
        .rposition(|visit| !(visit.leaves_open() || visit.gate == here.gate && visit.stays()));
    let since = match had {
        // The reader's own completion led straight back to it: to the next item, or in another round.
        Some(last_left) if had == arrival => last_left,
        Some(last_left) => last_left + 1,
        None => arrival.unwrap_or_default(),
    };
    let open_fork = history.iter().rposition(|visit| !visit.leaves_open()).map_or(0, |at| at + 1);
    let is_quoted = |at: usize| {
        let visit = &history[at];
        // A branch does not see the completions of the others of its open fork.
        let is_other = at >= open_fork && visit.station() != *here;
        let is_usual = had.is_none()
            && visit.agent.as_ref().is_none_or(|agent| !agent.is_human())
            && matches!(
                &visit.outcome,
                Ending::Completed(Outcome::Complete | Outcome::Skip) | Ending::Moved
            )
            && visit.verdict != Some(Verdict::Reject);
        let is_automatic = visit.agent.is_none() && matches!(visit.outcome, Ending::Completed(_));
        !is_other && !is_usual && !is_automatic
    };
    let mut quoted: BTreeSet<usize> =
        unanswered_at(history).into_iter().flat_map(|at| rejections(history, at)).collect();
    quoted.extend((since..history.len()).filter(|at| is_quoted(*at)));
    let mut list: Vec<Statement> = quoted
        .into_iter()
        .filter_map(|at| {
            let again = had.is_some() && arrival == Some(at);
            of_entry(&history[at], again, reviews.clone())
        })
        .collect();
    list.extend(of_open_visit(task, here, list.last().is_some_and(|last| last.kind == BLOCKED)));
    list.dedup();
    list
}

/// Returns whether the entry took the task from its gate or branch.
fn is_left(visit: &Visit) -> bool {
    match &visit.branch {
        Some(_) => !matches!(visit.verdict, None | Some(Verdict::Hold)),
        None => !visit.stays(),
    }
}

/// Returns the entry of a rejection; of a fork's, those of the branches that rejected.
fn rejections(history: &[Visit], at: usize) -> Vec<usize> {
    let closing = &history[at];
    if closing.join.is_none() {
        return vec![at];
    }
    let of_fork =
        |at: &usize| history[*at].gate == closing.gate && history[*at].entered >= closing.entered;
    let all = (0..=at).rev().take_while(of_fork);
    all.filter(|at| history[*at].verdict == Some(Verdict::Reject)).collect()
}

/// Returns the statement of an entry; `None` if the reviews contain all of a rejection.
fn of_entry<'r>(
    visit: &Visit,
    again: bool,
    reviews: impl Iterator<Item = &'r ReviewContext>,
) -> Option<Statement> {
    let mut known: Vec<&str> = vec![visit.summary.trim()];
    let mut listed: Vec<&str> = Vec::new();
    for review in reviews {
        listed.extend(review.blockers.iter().map(String::as_str));
        known.extend(review.notes.iter().flat_map(|notes| notes.lines()));
    }
    let mark = visit.branch.as_ref().map(|branch| format!("{branch}: ")).unwrap_or_default();
    let is_listed = |text: &str| {
        listed.iter().any(|point| *point == text || point.strip_prefix(mark.as_str()) == Some(text))
    };
    let is_new = |text: &&String| {
        let in_notes =
            |line: &str| known.contains(&line) || known.contains(&&*format!("{mark}{line}"));
        !is_listed(text) && !text.trim().lines().all(in_notes)
    };
    let all = visit.blockers.iter().chain(&visit.rejection_notes);
    let points: Vec<String> = all.filter(is_new).map(|text| text.trim().to_owned()).collect();
    let kind = kind_of(visit, again);
    let (agent, at) = (visit.agent.clone(), Some(visit.exited));
    let mut statement = Statement { agent, points, ..Statement::new(kind, at, &visit.summary) };
    if kind == SENT_BACK && is_listed(&statement.text) {
        statement.text.clear();
    }
    (!statement.text.is_empty() || !statement.points.is_empty()).then_some(statement)
}

/// Returns the statements about events of the open visit without an entry: it was unblocked, took too long, or lost its claim.
fn of_open_visit(task: &Task, here: &Station, was_blocked: bool) -> Vec<Statement> {
    let Some(open) = &task.gate else { return Vec::new() };
    let branch = here.branch.as_ref().and_then(|id| open.branch(id));
    let mut list = Vec::new();
    let mut unblocked = |answer: &Option<String>, at: Option<Timestamp>, is_own: bool| {
        if at.is_some() && (answer.is_some() || (is_own && was_blocked)) {
            list.push(Statement::new(UNBLOCKED, at, answer.as_deref().unwrap_or_default()));
        }
    };
    unblocked(&open.answer, open.resumed, branch.is_none());
    if let Some(part) = branch {
        unblocked(&part.answer, part.resumed, true);
    }
    let overdue = branch.map_or(open.overdue_since(), OpenBranch::overdue_since);
    let too_long = "it took longer than its time limit";
    list.extend(overdue.map(|at| Statement::new(TIMED_OUT, Some(at), too_long)));
    let lost = branch.map_or(&task.routing.lost, |part| &part.lost);
    list.extend(lost.iter().map(|agent| {
        let text = "the claim was not renewed in time";
        Statement { agent: Some(agent.clone()), ..Statement::new(TIMED_OUT, None, text) }
    }));
    list
}

/// Returns the entries that brought the task to its gate and kept it there, the newest first.
pub(crate) fn arrivals<'t>(task: &'t Task, here: &Station) -> Vec<&'t Visit> {
    let mut found = Vec::new();
    for visit in task.history.iter().rev().filter(|visit| !visit.leaves_open()) {
        if visit.to != Some(Destination::Gate(here.gate.clone())) {
            break;
        }
        found.push(visit);
        if !visit.stays() {
            break;
        }
    }
    found
}
