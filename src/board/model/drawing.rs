//! The parts that all drawings of a workflow share: the words of its routes, and columns for lines that must not meet.

use crate::domain::{Destination, Exhausted, Fork, Gate, JoinStrategy, Outcome, Repeat, Workflow};
use crate::files::printable::one_line;
use crate::rules::{Edge, EdgeKind};

/// Returns the label of a route: the outcomes that take it, and how often.
pub(crate) fn edge_label(workflow: &Workflow, edge: &Edge) -> String {
    let outcomes = edge.outcomes.iter().map(Outcome::as_str).collect::<Vec<_>>().join(" / ");
    match edge.way {
        EdgeKind::On | EdgeKind::Return => outcomes,
        EdgeKind::Back(most) => {
            let gate = workflow.gate(&edge.from).map(|(_, gate)| &gate.exits.on_exhausted);
            let then = match gate {
                Some(Exhausted::Escalate(role)) => format!(", then for {role}"),
                _ => String::new(),
            };
            format!("{outcomes} ({} at most{then})", times(most))
        }
        EdgeKind::Over => "does not apply".to_owned(),
        EdgeKind::Exhausted(most) => format!("sent back {} before", times(most)),
        EdgeKind::Hold => format!("{outcomes} (waits for a person)"),
        EdgeKind::Each => {
            let gate = match &edge.to {
                Destination::Gate(to) => workflow.gate(to).map(|(_, gate)| gate),
                _ => None,
            };
            let list = gate.and_then(Gate::for_each).map(|each| each.list.as_str());
            format!("each of {}", list.unwrap_or_default())
        }
        EdgeKind::Again(_) => workflow.repeat.as_ref().map(rounds).unwrap_or_default(),
    }
}

/// Returns a label in the words of people: nothing for the usual outcome, `sent back`, `yes` and `no` for the others.
pub(crate) fn edge_words(label: &str) -> String {
    let (outcome, rest) =
        label.split_once(" (").map_or((label, ""), |(outcome, rest)| (outcome, rest));
    let word = match outcome {
        "complete" => "",
        "needs_review" => "sent back",
        "true" => "yes",
        "false" => "no",
        other => return other.replace('_', " "),
    };
    if rest.is_empty() { word.to_owned() } else { format!("{word} ({rest}") }
}

/// Returns the condition and the limit of a repeated workflow, in words.
pub(crate) fn rounds(Repeat { until, max, on_exhausted }: &Repeat) -> String {
    let then = exhausted(on_exhausted);
    format!("again until {}; {max} rounds at most, then {then}", one_line(until))
}

/// Returns the condition of a fork's join, in words.
pub(crate) fn joining(fork: &Fork) -> String {
    let how = match fork.join {
        JoinStrategy::All => "all of them pass",
        JoinStrategy::Any => "one of them passes",
        JoinStrategy::Majority => "most of them pass",
    };
    format!("{} branches at once, until {how}", fork.branches.len())
}

/// Returns a number of times in words.
pub(crate) fn times(number: u32) -> String {
    if number == 1 { "once".to_owned() } else { format!("{number} times") }
}

/// Returns the fate of a task that was sent back too often, in words.
pub(crate) fn exhausted(then: &Exhausted) -> String {
    match then {
        Exhausted::Block => "waits for a person".to_owned(),
        Exhausted::Escalate(role) => format!("the work is {role}'s"),
        Exhausted::Route(target) => target.to_string(),
    }
}

/// Returns a column for each span of rows; 0 is the innermost. Short spans are inside; spans that do not meet share a column.
pub(crate) fn columns_of(spans: &[(usize, usize)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by_key(|at| (spans[*at].1 - spans[*at].0, spans[*at].0));
    let (mut columns, mut places) = (Vec::<Vec<usize>>::new(), vec![0; spans.len()]);
    for at in order {
        let meets =
            |other: &usize| spans[*other].0 <= spans[at].1 && spans[at].0 <= spans[*other].1;
        let free = columns.iter().position(|column| !column.iter().any(meets));
        places[at] = free.unwrap_or(columns.len());
        match columns.get_mut(places[at]) {
            Some(column) => column.push(at),
            None => columns.push(vec![at]),
        }
    }
    places
}
