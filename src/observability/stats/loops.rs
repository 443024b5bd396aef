//! How often tasks go through the same gates: once is ideal, over three times a sign that something is wrong.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::numbers::{Span, rounded};
use super::verdict::gate_of;
use crate::domain::{Ending, GateId};
use crate::tasks::headers::summary::EndedVisit;
use crate::tasks::headers::summary::TaskSummary;

/// So many passes are no sign yet.
pub(crate) const MANY: u32 = 3;

/// How often tasks went through the same gates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Loops {
    /// How many tasks moved in this time.
    pub tasks: u64,
    /// All their passes.
    pub passes: u64,
    /// How many of them made one pass, two, three.
    pub few: [u64; MANY as usize],
    /// Those that made more, with their passes, the most first.
    pub many: Vec<(String, u32)>,
}

impl Loops {
    /// Counts a task, with its whole history, if anything of it ended in this time.
    pub(crate) fn see(&mut self, task: &TaskSummary, span: &Span) {
        if !task.visits.iter().any(|stay| span.has(stay)) {
            return;
        }
        let passes = passes(task);
        self.tasks += 1;
        self.passes += u64::from(passes);
        match self.few.get_mut(passes as usize - 1) {
            Some(count) => *count += 1,
            None => self.many.push((task.id.to_string(), passes)),
        }
    }

    /// Puts those with the most passes first.
    pub(crate) fn close(&mut self) {
        self.many.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    }

    /// Returns how many passes a task makes on average.
    #[expect(clippy::cast_precision_loss, reason = "counts of visits are far below 2^52")]
    pub(crate) fn average(&self) -> Option<f64> {
        (self.tasks > 0).then(|| self.passes as f64 / self.tasks as f64)
    }
}

impl Serialize for Loops {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let few = self.few.iter().zip(1_u32..);
        let mut counts: Vec<Value> =
            few.map(|(tasks, passes)| json!({"passes": passes, "tasks": tasks})).collect();
        counts.push(json!({"passes": format!("over {MANY}"), "tasks": self.many.len()}));
        let worst = self.many.iter().map(|(task, passes)| json!({"task": task, "passes": passes}));
        json!({
            "tasks": self.tasks,
            "average": self.average().map(rounded),
            "counts": counts,
            "worst": worst.collect::<Vec<_>>(),
        })
        .serialize(serializer)
    }
}

/// Returns how often the task has come to the gate that it came to most often. Waiting on at a gate, be it blocked or in other hands,
/// is no second coming; the branches of a fork are one gate.
fn passes(task: &TaskSummary) -> u32 {
    most_passes(&task.visits, task.current_gate().map(GateId::as_str))
}

/// Returns the same for a task with these ended visits, that may stand at an open one.
pub(crate) fn most_passes(stays: &[EndedVisit], open: Option<&str>) -> u32 {
    let mut entries: Vec<(&str, u32)> = Vec::new();
    let mut enter = |gate| match entries.iter_mut().find(|(known, _)| *known == gate) {
        Some((_, count)) => *count += 1,
        None => entries.push((gate, 1)),
    };
    let mut last: Option<&EndedVisit> = None;
    for stay in stays {
        if stay.ended == Ending::Reopened.as_str() {
            last = None;
            continue;
        }
        if is_new(last, gate_of(stay)) {
            enter(gate_of(stay));
        }
        last = Some(stay);
    }
    if let Some(gate) = open.filter(|gate| is_new(last, gate)) {
        enter(gate);
    }
    entries.into_iter().map(|(_, count)| count).max().unwrap_or(1)
}

/// Returns whether the task came to the gate after that visit, and did not only stay there.
fn is_new(last: Option<&EndedVisit>, gate: &str) -> bool {
    last.is_none_or(|last| gate_of(last) != gate || last.retry.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observability::stats::report::tests::{Story, passed, sent_back};

    #[test]
    fn a_pass_is_another_coming_to_a_gate() {
        let at = |story: Story| passes(&story.task());
        assert_eq!(at(Story::new("a")), 1);
        assert_eq!(at(Story::new("a").then(passed("work", "review"))), 1);
        let once = Story::new("a").then(passed("work", "review")).then(sent_back("review", "work"));
        assert_eq!(at(once.clone()), 2, "it stands at the first gate again");
        let twice = once.then(passed("work", "review")).then(sent_back("review", "work"));
        assert_eq!(at(twice.clone()), 3);
        assert_eq!(at(twice.then(passed("work", "review")).then(passed("review", "$end"))), 3);
    }

    #[test]
    fn who_only_stays_does_not_come_again() {
        let mut blocked = passed("work", "work");
        blocked.ended = "blocked".into();
        let mut timeout = passed("work", "work");
        timeout.ended = "timeout".into();
        let story = Story::new("a").then(blocked).then(timeout).then(passed("work", "review"));
        assert_eq!(passes(&story.task()), 1);
        let again = Story::new("a").then(sent_back("work", "work")).then(passed("work", "review"));
        assert_eq!(passes(&again.task()), 2, "a gate may send a task back to itself");
    }

    #[test]
    fn branches_of_one_fork_are_one_coming() {
        let story = Story::new("a")
            .then(passed("work", "checks"))
            .then(passed("checks/a", ""))
            .then(passed("checks/b", "ship"))
            .then(passed("ship", "$end"));
        assert_eq!(passes(&story.task()), 1);
    }

    #[test]
    fn what_is_taken_up_again_is_another_pass() {
        let mut reopened = passed("work", "work");
        reopened.ended = "reopened".into();
        let story = Story::new("a")
            .then(passed("work", "$end"))
            .then(reopened)
            .then(passed("work", "$end"));
        assert_eq!(passes(&story.task()), 2);
    }
}
