//! What an agent is told at a gate, and nothing else: who it is here, what is expected, what each outcome means, advice
//! (spec 1, 4.2). Generated texts never name another gate: agents do not learn the workflow.

use super::post::Post;
use super::rules::Rules;
use crate::model::{Brief, BriefText, Gate, Outcome, ReviewContext, Station, Task, Ticket};

/// The brief of a task's open visit.
#[derive(Debug, Clone, PartialEq)]
pub struct GateContext {
    /// The visit.
    pub ticket: Ticket,
    /// Who the agent is here, in plain words.
    pub role: String,
    /// The gate, or the branch of it.
    pub gate: Station,
    /// A checklist.
    pub expectations: Vec<String>,
    /// What each outcome means here.
    pub outcomes: Vec<(Outcome, String)>,
    /// Practical advice.
    pub tips: Vec<String>,
    /// Instructions at length.
    pub instructions: Option<String>,
    /// What the last rejection wants.
    pub review: Option<ReviewContext>,
}

/// Returns the brief of the open visit; nothing when the task stands at no gate of its workflow, or at a fork.
pub fn brief(rules: &Rules, task: &Task) -> Option<GateContext> {
    Some(brief_at(rules, task, &Post::of(rules, task)?))
}

/// Returns the brief at a post of the open visit: the gate's, or a branch's.
pub fn brief_at(rules: &Rules, task: &Task, post: &Post<'_>) -> GateContext {
    let gate = post.gate;
    let own = task.review.as_ref().and_then(|review| own_wishes(post, review));
    // Wishes are for whoever mends; the gate that has them is told what it asked for, as a checklist.
    let occasion = match &task.review {
        Some(review) if review.from_gate == post.station().gate => match &own {
            Some(own) => Occasion::Again(own),
            None => Occasion::Review,
        },
        Some(review) if !gate.can_reject() => Occasion::Mending(review),
        _ if gate.can_reject() => Occasion::Review,
        _ if post.requires_human(rules) => Occasion::Approval,
        _ => Occasion::Work,
    };
    let written = written(&post.duty.brief, &occasion);
    GateContext {
        ticket: task.ticket_of(post.branch()),
        role: written.role.clone().unwrap_or_else(|| role(gate, &occasion)),
        gate: post.station(),
        expectations: written.expectations.clone().unwrap_or_else(|| expectations(gate, &occasion)),
        outcomes: post
            .outcomes(rules)
            .into_iter()
            .map(|outcome| {
                let meaning = meaning(written, &outcome, &occasion);
                (outcome, meaning)
            })
            .collect(),
        tips: written.tips.clone().unwrap_or_else(|| tips(gate)),
        instructions: written.instructions.clone(),
        review: task.review.clone(),
    }
}

/// Returns what of a review the post itself asked for: of a fork's, a branch has only its own part.
fn own_wishes(post: &Post<'_>, review: &ReviewContext) -> Option<ReviewContext> {
    let Some(branch) = post.branch() else { return Some(review.clone()) };
    let mark = format!("{branch}: ");
    let own: Vec<String> =
        review.blockers.iter().filter_map(|text| text.strip_prefix(&mark)).map(str::to_owned).collect();
    (!own.is_empty()).then(|| ReviewContext { blockers: own, ..review.clone() })
}

/// Why the task is at the gate.
enum Occasion<'a> {
    Work,
    Review,
    Approval,
    Mending(&'a ReviewContext),
    Again(&'a ReviewContext),
}

fn written<'a>(brief: &'a Brief, occasion: &Occasion<'_>) -> &'a BriefText {
    match occasion {
        Occasion::Mending(_) => &brief.reentry,
        _ => &brief.entry,
    }
}

fn role(gate: &Gate, occasion: &Occasion<'_>) -> String {
    let purpose = gate.description.as_deref().map(|text| format!(" ({})", text.trim().trim_end_matches('.')));
    let purpose = purpose.unwrap_or_default();
    match occasion {
        Occasion::Work => format!("You do the work of this task{purpose}."),
        Occasion::Review => format!("You review this task{purpose}: it goes on only if you find it good."),
        Occasion::Approval => format!("You decide whether this task is accepted{purpose}."),
        Occasion::Mending(_) => format!("You mend what a review of this task found{purpose}."),
        Occasion::Again(_) => {
            format!(
                "You review this task again{purpose}: it was sent back from here, and somebody has worked on it since."
            )
        }
    }
}

fn expectations(gate: &Gate, occasion: &Occasion<'_>) -> Vec<String> {
    let mut list: Vec<String> = gate.description.iter().filter(|_| gate.can_reject()).cloned().collect();
    match occasion {
        Occasion::Work => list.extend([
            gate.description.clone().unwrap_or_else(|| "Do what the title and the body of the task ask for".to_owned()),
            "Check your result yourself before you hand it on".to_owned(),
        ]),
        Occasion::Review => list.extend([
            "Compare the result with what the title and the body of the task ask for".to_owned(),
            "Name every fault you find, each as a blocker of its own".to_owned(),
        ]),
        Occasion::Approval => list.push("Decide by what the title and the body of the task ask for".to_owned()),
        Occasion::Mending(review) => {
            list.extend(review.blockers.iter().map(|blocker| format!("Settle: {blocker}")));
            list.push("Break nothing else while you do".to_owned());
        }
        Occasion::Again(review) => {
            list.extend(review.blockers.iter().map(|blocker| format!("Check that this is settled: {blocker}")));
            list.push("Look for faults that the changes brought".to_owned());
        }
    }
    list
}

fn meaning(written: &BriefText, outcome: &Outcome, occasion: &Occasion<'_>) -> String {
    if let Some((_, text)) = written.outcomes.iter().find(|(of, _)| of == outcome) {
        return text.clone();
    }
    match (outcome, occasion) {
        (Outcome::Complete, Occasion::Work) => "Your work is finished and can go on to the next step.",
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

fn tips(gate: &Gate) -> Vec<String> {
    if gate.can_reject() {
        vec![
            "Write blockers that somebody else can act upon: the thing, and what it should be".to_owned(),
            "One blocker for each fault".to_owned(),
        ]
    } else {
        vec!["Say in the summary what you did and how you checked it".to_owned()]
    }
}
