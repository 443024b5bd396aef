//! What is counted of a visit that has ended: what its entry in the history says, and nothing else. Today's rules have no say, so that
//! two who count agree.

use super::count::Counts;
use crate::domain::{Ending, Outcome};
use crate::observability::stats::loops::passes_in;
use crate::observability::stats::verdict::verdicts;
use crate::tasks::headers::ended_visit::EndedVisit;
use crate::tasks::headers::header::Header;

/// Why a gate was passed over: its condition did not hold.
pub(crate) const CONDITION: &str = "condition_false";
/// Why a gate was passed over: a route led past it.
const ROUTE: &str = "route";
/// Where a task goes that is complete.
const END: &str = "$end";
/// Where a task goes that is called off.
const CANCELLED: &str = "$cancelled";

impl<'h> Counts<'h> {
    /// Counts all that has ended of the task. Each time that it came to the end counts, so that taking it up again takes nothing away.
    pub(crate) fn past(&mut self, header: &'h Header) {
        let workflow = header.workflow.as_str();
        for (index, visit) in header.stays.iter().enumerate() {
            self.ended(workflow, visit);
            if visit.to.as_deref() == Some(END) {
                let end = visit.entered.saturating_add_unsigned(visit.seconds);
                let seconds = u64::try_from(end.saturating_sub(header.created)).unwrap_or(0);
                self.lead_times.entry([workflow]).or_default().observe(seconds);
                self.passes
                    .entry([workflow])
                    .or_default()
                    .0
                    .observe(passes_in(&header.stays[..=index]).into());
            }
        }
    }

    /// Counts an ended visit: of a fork as its branch's, and the one that closes it as the fork's, too.
    fn ended(&mut self, workflow: &'h str, visit: &'h EndedVisit) {
        let (gate, outcome) = (visit.gate.as_str(), visit.ended.as_str());
        self.skewed += u64::from(visit.skewed);
        // Between its end and being taken up again a task was at no gate.
        if outcome != Ending::Reopened.as_str() {
            self.durations.entry([workflow, gate, outcome]).or_default().observe(visit.seconds);
        }
        let fork = gate.split_once('/').map(|(fork, _)| fork);
        let to = match (&visit.to, &visit.join, fork) {
            (_, Some(join), _) => join.fork.as_str(),
            (Some(to), ..) => to,
            (None, _, Some(fork)) => fork,
            (None, _, None) => CANCELLED,
        };
        *self.transitions.entry([workflow, gate, to, outcome]).or_default() += 1;
        self.rejections.entry([workflow, gate]).or_default();
        for verdict in verdicts(visit) {
            *self.rejections.entry([workflow, verdict.station]).or_default() +=
                u64::from(verdict.rejects);
        }
        *self.timeouts.entry([workflow, gate]).or_default() +=
            u64::from(outcome == Ending::Timeout.as_str());
        for gate in &visit.skipped {
            *self.skips.entry([workflow, gate, reason(visit)]).or_default() += 1;
        }
        let Some((join, to)) = visit.join.as_ref().zip(visit.to.as_deref()) else { return };
        let said = if join.failed { "needs_review" } else { "complete" };
        self.durations.entry([workflow, &join.fork, said]).or_default().observe(visit.seconds);
        *self.transitions.entry([workflow, &join.fork, to, said]).or_default() += 1;
    }
}

/// Returns why gates were passed over on the way that the visit took. By itself only `complete` and `skip` lead on, to the next gate
/// that applies; all else goes where a route leads. An entry does not say whether `complete` had one, too: it counts as if not.
fn reason(visit: &EndedVisit) -> &'static str {
    let joined = visit
        .join
        .as_ref()
        .map(|join| if join.failed { Outcome::NeedsReview } else { Outcome::Complete });
    let said = joined.as_ref().map_or(visit.ended.as_str(), Outcome::as_str);
    let goes_on = [Outcome::Complete, Outcome::Skip].iter().any(|outcome| outcome.as_str() == said);
    if goes_on && visit.retry.is_none() { CONDITION } else { ROUTE }
}
