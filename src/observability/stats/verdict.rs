//! What an ended visit says of the work before it: the one place that tells what counts as a verdict and what as a rejection.

use std::collections::HashSet;

use crate::domain::{Ending, Outcome};
use crate::rules::Rules;
use crate::tasks::headers::summary::EndedVisit;
use crate::tasks::headers::summary::TaskSummary;

/// Returns the gate of a visit, without the branch.
pub(crate) fn gate_of(stay: &EndedVisit) -> &str {
    stay.gate.split_once('/').map_or(stay.gate.as_str(), |(gate, _)| gate)
}

/// Returns whether the visit was that of a branch.
pub(crate) fn is_of_branch(stay: &EndedVisit) -> bool {
    stay.gate.contains('/')
}

/// Returns whether time passed at a gate in it: taking up a finished task is an entry, but no visit.
pub(crate) fn took_time(stay: &EndedVisit) -> bool {
    stay.ended != Ending::Reopened.as_str()
}

/// Returns whether a completion settled the visit. Who is blocked, or has failed, has settled nothing.
pub(crate) fn is_settled(stay: &EndedVisit) -> bool {
    let undecided = [Outcome::Blocked, Outcome::Failed];
    stay.completed && !undecided.iter().any(|outcome| outcome.as_str() == stay.ended.as_str())
}

/// What a visit says of the work at one station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict<'a> {
    /// The gate, or the branch of it.
    pub station: &'a str,
    /// Whether it wants something mended, or sent the task back.
    pub rejects: bool,
}

/// Returns what the visit says: for its own gate or branch, and, where it closed a fork, for that.
pub(crate) fn verdicts(stay: &EndedVisit) -> impl Iterator<Item = Verdict<'_>> {
    let own = is_settled(stay).then(|| Verdict {
        station: &stay.gate,
        // What closes a fork goes the fork's way, which says nothing of the branch.
        rejects: stay.rejected || (stay.retry.is_some() && !is_of_branch(stay)),
    });
    let joined =
        stay.join.as_ref().map(|join| Verdict { station: &join.fork, rejects: join.failed });
    own.into_iter().chain(joined)
}

/// Returns what the visit says for a whole gate, if it does: branches speak for it together.
pub(crate) fn gate_verdict(stay: &EndedVisit) -> Option<Verdict<'_>> {
    verdicts(stay).find(|verdict| !verdict.station.contains('/'))
}

/// The gates whose completions can send a task back. Where all work passes, passing says nothing.
#[derive(Debug, Default)]
pub(crate) struct Judges<'a>(HashSet<(&'a str, &'a str)>);

impl<'a> Judges<'a> {
    /// Returns those that the rules have, and those that did so under earlier rules.
    pub(crate) fn of(rules: &'a Rules, tasks: &[&'a TaskSummary]) -> Self {
        let gates = rules.project.workflows.iter().flat_map(|workflow| {
            let judges = workflow.gates.iter().filter(|gate| gate.can_reject());
            judges.map(|gate| (workflow.name.as_str(), gate.id.as_str()))
        });
        let seen = tasks.iter().flat_map(|task| {
            let rejections =
                task.visits.iter().filter_map(gate_verdict).filter(|verdict| verdict.rejects);
            rejections.map(|verdict| (task.routing.workflow.as_str(), verdict.station))
        });
        Self(gates.chain(seen).collect())
    }

    /// Returns what the visit says, if it was at one of these gates.
    pub(crate) fn verdict<'t>(
        &self,
        task: &TaskSummary,
        stay: &'t EndedVisit,
    ) -> Option<Verdict<'t>> {
        gate_verdict(stay)
            .filter(|verdict| self.0.contains(&(task.routing.workflow.as_str(), verdict.station)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observability::stats::report::tests::{passed, sent_back};
    use crate::tasks::headers::summary::JoinedFork;

    fn said(stay: &EndedVisit) -> Vec<(&str, bool)> {
        verdicts(stay).map(|verdict| (verdict.station, verdict.rejects)).collect()
    }

    #[test]
    fn what_counts_as_a_verdict() {
        assert_eq!(said(&passed("work", "review")), [("work", false)]);
        assert_eq!(said(&sent_back("review", "work")), [("review", true)]);
        for undecided in ["blocked", "failed"] {
            let mut stay = passed("work", "work");
            stay.ended = undecided.into();
            assert_eq!(said(&stay), [], "{undecided}");
        }
        let mut late = passed("work", "work");
        (late.ended, late.completed) = ("timeout".into(), false);
        assert_eq!(said(&late), []);
        let mut decision = passed("review", "work");
        (decision.ended, decision.retry) = ("needs_fixes".into(), Some(1));
        assert_eq!(
            said(&decision),
            [("review", true)],
            "a gate's own word that leads back is a rejection, too"
        );
    }

    #[test]
    fn a_fork_speaks_when_it_is_closed() {
        let mut stay = passed("checks/security", "");
        assert_eq!(said(&stay), [("checks/security", false)]);
        assert_eq!(gate_verdict(&stay), None);
        stay.join = Some(Box::new(JoinedFork { fork: "checks".into(), failed: true }));
        stay.retry = Some(1);
        assert_eq!(said(&stay), [("checks/security", false), ("checks", true)]);
        assert_eq!(gate_verdict(&stay), Some(Verdict { station: "checks", rejects: true }));
    }
}
