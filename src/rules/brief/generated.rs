//! What an agent is told where the workflow does not say: by why the task is at the gate. Never names another gate.

use crate::domain::{BriefText, Gate, Outcome, ReviewContext};

/// Why the task is at the gate.
pub(crate) enum Occasion<'a> {
    Work,
    Review,
    Decision,
    Approval,
    Mending(&'a ReviewContext),
    Again(&'a ReviewContext),
}

pub(crate) fn role(gate: &Gate, occasion: &Occasion<'_>) -> String {
    let purpose =
        gate.description.as_deref().map(|text| format!(" ({})", text.trim().trim_end_matches('.')));
    let purpose = purpose.unwrap_or_default();
    match occasion {
        Occasion::Work => format!("You do the work of this task{purpose}."),
        Occasion::Review => {
            format!("You review this task{purpose}: it goes on only if you find it good.")
        }
        Occasion::Decision => format!("You work on this task{purpose}, and decide how it goes on."),
        Occasion::Approval => format!("You decide whether this task is accepted{purpose}."),
        Occasion::Mending(_) => format!("You mend what a review of this task found{purpose}."),
        Occasion::Again(_) => {
            format!(
                "You review this task again{purpose}: it was sent back from here, and somebody has worked on it since."
            )
        }
    }
}

pub(crate) fn expectations(gate: &Gate, occasion: &Occasion<'_>) -> Vec<String> {
    let mut list: Vec<String> =
        gate.description.iter().filter(|_| gate.can_reject()).cloned().collect();
    match occasion {
        Occasion::Work => list.extend([
            gate.description
                .clone()
                .unwrap_or_else(|| "Do what the title and the body of the task ask for".to_owned()),
            "Check your result yourself before you hand it on".to_owned(),
        ]),
        Occasion::Review => list.extend([
            "Compare the result with what the title and the body of the task ask for".to_owned(),
            "Name every fault you find, each as a blocker of its own".to_owned(),
        ]),
        Occasion::Decision => list.extend([
            gate.description
                .clone()
                .unwrap_or_else(|| "Do what the title and the body of the task ask for".to_owned()),
            "Decide by what you found, not by what is wished for".to_owned(),
        ]),
        Occasion::Approval => {
            list.push("Decide by what the title and the body of the task ask for".to_owned());
        }
        Occasion::Mending(review) => {
            list.extend(review.blockers.iter().map(|blocker| format!("Settle: {blocker}")));
            list.push("Break nothing else while you do".to_owned());
        }
        Occasion::Again(review) => {
            list.extend(
                review
                    .blockers
                    .iter()
                    .map(|blocker| format!("Check that this is settled: {blocker}")),
            );
            list.push("Look for faults that the changes brought".to_owned());
        }
    }
    list
}

pub(crate) fn meaning(written: &BriefText, outcome: &Outcome, occasion: &Occasion<'_>) -> String {
    if let Some((_, text)) =
        written.outcomes.iter().find(|(of, _)| of.is_meant_by(outcome.as_str()))
    {
        return text.clone();
    }
    match (outcome, occasion) {
        (Outcome::Complete, Occasion::Work | Occasion::Decision) => {
            "Your work is finished and can go on to the next step."
        }
        (Outcome::Complete, Occasion::Review) => "You found it good; it goes on.",
        (Outcome::Complete, Occasion::Approval) => "You accept it; it goes on.",
        (Outcome::Complete, Occasion::Mending(_)) => "Everything listed is settled; it goes back to be reviewed.",
        (Outcome::Complete, Occasion::Again(_)) => "Everything you asked for is settled; it goes on.",
        (Outcome::NeedsReview, _) => "It needs mending. List each fault in blockers; it goes back to be worked on.",
        (Outcome::Blocked, _) => {
            "You cannot go on: something outside is missing. Name it in blockers; the task waits here."
        }
        (Outcome::Skip, _) => "This step does not apply to the task; it goes on without it.",
        (Outcome::Failed, _) => "You tried and could not do it. Say in the summary what happened.",
        (Outcome::Decision(decision), _) => {
            return format!("You decide: {}.", decision.as_str().replace(['_', '-'], " "));
        }
    }
    .to_owned()
}

pub(crate) fn tips(gate: &Gate) -> Vec<String> {
    if gate.can_reject() {
        vec![
            "Write blockers that somebody else can act upon: the thing, and what it should be"
                .to_owned(),
            "One blocker for each fault".to_owned(),
        ]
    } else {
        vec!["Say in the summary what you did and how you checked it".to_owned()]
    }
}
