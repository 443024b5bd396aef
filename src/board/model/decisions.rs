//! The decisions that wait for the reader, in the words of people.

use crate::domain::{Destination, Outcome, Ticket, approving, rejecting};
use crate::rules::Rules;
use crate::tasks::headers::listing::Listing;
use crate::tasks::headers::waiting::WaitingDecision;
use crate::tasks::view::phrases;

/// A decision that waits for the reader, as boards offer it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DecisionCard {
    pub ticket: Ticket,
    pub gate: String,
    pub choices: Vec<DecisionChoice>,
    /// True if the gate asks for values, so that a form must open.
    pub asks: bool,
}

/// An outcome of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecisionChoice {
    pub outcome: String,
    /// The outcome as an act, as in `Approve`.
    pub label: String,
    /// The places that it leads to, as in `done`; empty if the task stays.
    pub leads: String,
    pub approves: bool,
    pub rejects: bool,
}

impl DecisionCard {
    pub(super) fn of(rules: &Rules, listing: &Listing, wait: &WaitingDecision) -> Self {
        let task = listing.tasks.iter().find(|(task, _)| task.id == wait.ticket.task);
        let workflow = task.and_then(|(task, _)| rules.workflow_of(task));
        let [approved, rejected] = [approving(&wait.outcomes), rejecting(&wait.outcomes)];
        let choice = |(outcome, to): (&Outcome, &Option<Destination>)| {
            let (approves, rejects) = (approved == Some(outcome), rejected == Some(outcome));
            let to = to.as_ref().zip(workflow);
            DecisionChoice {
                outcome: outcome.to_string(),
                label: phrases::act(outcome.as_str(), approves, rejects),
                leads: to.map(|(to, flow)| phrases::leads_to(flow, to)).unwrap_or_default(),
                approves,
                rejects,
            }
        };
        let choices = wait.outcomes.iter().zip(&wait.leads).map(choice).collect();
        let (ticket, gate) = (wait.ticket.clone(), wait.gate.to_string());
        Self { ticket, gate, choices, asks: wait.asks }
    }

    /// Returns the choice that approves the work.
    pub(crate) fn approval(&self) -> Option<&DecisionChoice> {
        self.choices.iter().find(|choice| choice.approves)
    }
}
