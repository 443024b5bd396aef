//! The brief: what an agent is told at a gate.

use serde_json::Value;

use crate::domain::workflow::shape::ShapeKind;
use crate::domain::{
    Brief, BriefText, Destination, Gate, GateId, Outcome, ReviewContext, Station, Task, Ticket,
    Timestamp, Visit, Workflow,
};
use crate::rules::act::Warning;
use crate::rules::outputs::{Field, example, fields, shape_of};
use crate::rules::routing::reviews::open_wishes;
use crate::rules::routing::workplace::Workplace;
use crate::rules::template::{Body, Template, Values};
use crate::rules::transition::claims::{Limit, deadlines};
use crate::rules::verdict::looked_for_at;
use crate::rules::workflow::rules::Rules;

/// The brief of a task's open visit.
#[derive(Debug, Clone, PartialEq)]
pub struct GateContext {
    pub ticket: Ticket,
    /// What whoever sent the task here says of it.
    pub prompt: Option<String>,
    /// Who the agent is here, in plain words.
    pub role: String,
    /// The gate, or the branch of it.
    pub gate: Station,
    pub expectations: Vec<String>,
    /// What each outcome means here.
    pub outcomes: Vec<(Outcome, String)>,
    pub tips: Vec<String>,
    pub instructions: Option<String>,
    /// What in a text stands for the outcome, where the gate reads it there.
    pub verdict: Option<String>,
    /// What is to be handed on with each outcome; nothing where anything goes.
    pub outputs: Vec<OutputForm>,
    /// What the work may touch, as patterns of paths; nothing where nobody says.
    pub files: Vec<String>,
    /// What the last rejection wants.
    pub review: Option<ReviewContext>,
    /// What earlier rejections want that nobody has answered either, oldest first.
    pub earlier: Vec<ReviewContext>,
    /// When the claim ends unless it is renewed.
    pub claimed_until: Option<Timestamp>,
    /// What could not be filled in.
    pub warnings: Vec<Warning>,
}

/// What is to be handed on with an outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputForm {
    pub outcome: Outcome,
    pub fields: Vec<Field>,
    /// Outputs as they could be.
    pub example: Value,
}

/// Returns the brief of the open visit; nothing when the task stands at no gate of its workflow, or at a fork.
pub(crate) fn brief(rules: &Rules, task: &Task, body: &Body<'_>) -> Option<GateContext> {
    brief_at(rules, task, &Workplace::of(rules, task)?, body)
}

/// Returns the brief at a post of the open visit: the gate's, or a branch's. Nothing when the task's workflow is gone.
pub(crate) fn brief_at(
    rules: &Rules,
    task: &Task,
    post: &Workplace<'_>,
    body: &Body<'_>,
) -> Option<GateContext> {
    let workflow = rules.workflow_of(task)?;
    let gate = post.gate;
    let own = task.review.as_ref().and_then(|review| own_wishes(post, review));
    let mut gaps = Gaps::default();
    let values = Values { workflow, task, body, incoming: None };
    let entered = entered_by(task, &post.station().gate);
    let prompt = entered.and_then(|visit| Some((visit, prompt_of(workflow, visit)?))).map(
        |(visit, prompt)| {
            let values = Values { incoming: Some(visit), ..values };
            gaps.fill(&values, prompt)
        },
    );
    // Wishes are for whoever mends; the gate that has them is told what it asked for, as a checklist.
    let occasion = match &task.review {
        Some(review) if review.from_gate == post.station().gate => match &own {
            Some(own) => Occasion::Again(own),
            None => Occasion::Review,
        },
        Some(review) if !gate.can_reject() => Occasion::Mending(review),
        _ if gate.can_reject() => Occasion::Review,
        _ if gate.exits.decides() => Occasion::Decision,
        _ if post.requires_human(rules) => Occasion::Approval,
        _ => Occasion::Work,
    };
    let mut written = filled(written(&post.duty.brief, &occasion, entered), &values, &mut gaps);
    // What is to be done, and what its outcomes mean, does not change because it has to be done again.
    let entry = &post.duty.brief.entry;
    for (outcome, text) in &entry.outcomes {
        if written.outcomes.iter().all(|(of, _)| !of.is_meant_by(outcome.as_str())) {
            written.outcomes.push((outcome.clone(), gaps.fill(&values, text)));
        }
    }
    let instructions = written.instructions.take();
    let instructions =
        instructions.or_else(|| entry.instructions.as_ref().map(|text| gaps.fill(&values, text)));
    Some(GateContext {
        ticket: task.ticket_of(post.branch()),
        prompt,
        role: written.role.clone().unwrap_or_else(|| role(gate, &occasion)),
        gate: post.station(),
        expectations: written.expectations.clone().unwrap_or_else(|| expectations(gate, &occasion)),
        outcomes: post
            .outcomes(rules)
            .into_iter()
            .map(|outcome| {
                let meaning = meaning(&written, &outcome, &occasion);
                (outcome, meaning)
            })
            .collect(),
        tips: written.tips.clone().unwrap_or_else(|| tips(gate)),
        instructions,
        verdict: post
            .duty
            .signal
            .as_ref()
            .map(|signal| looked_for_at(&signal.mark, &post.gate.possible())),
        outputs: forms(post, rules),
        files: post.duty.files.clone(),
        review: task.review.clone(),
        earlier: earlier(task),
        claimed_until: deadlines(rules, task)
            .into_iter()
            .find(|end| end.limit == Limit::Lease && end.branch.as_ref() == post.branch())
            .map(|end| end.at),
        warnings: gaps.warnings(&gate.id),
    })
}

/// Returns what of a review the post itself asked for: of a fork's, a branch has only its own part.
fn own_wishes(post: &Workplace<'_>, review: &ReviewContext) -> Option<ReviewContext> {
    let Some(branch) = post.branch() else { return Some(review.clone()) };
    let mark = format!("{branch}: ");
    let own: Vec<String> = review
        .blockers
        .iter()
        .filter_map(|text| text.strip_prefix(&mark))
        .map(str::to_owned)
        .collect();
    (!own.is_empty()).then(|| ReviewContext { blockers: own, ..review.clone() })
}

/// Returns the entry that brought the task to where it stands; neither waiting there counts, nor what other branches of an open
/// fork have said.
fn entered_by<'a>(task: &'a Task, gate: &GateId) -> Option<&'a Visit> {
    let waited = |visit: &Visit| visit.gate == *gate && visit.said() == Some(&Outcome::Blocked);
    let visit = task.history.iter().rev().find(|visit| !visit.leaves_open() && !waited(visit))?;
    (visit.to == Some(Destination::Gate(gate.clone()))).then_some(visit)
}

/// Returns what the route that an entry took says to whoever comes next. At a fork it is the fork's, whatever was said last.
fn prompt_of<'a>(workflow: &'a Workflow, visit: &Visit) -> Option<&'a str> {
    let (_, gate) = workflow.gate(&visit.gate)?;
    gate.exits.route(visit.said()?)?.prompt.as_deref()
}

/// Returns the rejections that nobody has answered, but for the one that the review is about.
fn earlier(task: &Task) -> Vec<ReviewContext> {
    let latest = task.review.as_ref().map(|review| (&review.from_gate, review.timestamp));
    let mut open = open_wishes(&task.history);
    open.retain(|wish| latest != Some((&wish.from_gate, wish.timestamp)));
    open
}

/// Returns what is to be handed on, outcome by outcome, as far as somebody declares it.
fn forms(post: &Workplace<'_>, rules: &Rules) -> Vec<OutputForm> {
    let judging = |outcome: &Outcome| {
        matches!(outcome, Outcome::Complete | Outcome::Decision(_))
            || post.duty.outputs.shape(outcome.as_str()).is_some()
    };
    let outcomes = post
        .outcomes(rules)
        .into_iter()
        .filter(|outcome| judging(outcome) && *outcome != Outcome::Blocked);
    let form = |outcome: Outcome| {
        let shape = shape_of(post.duty, &outcome)?;
        let open = shape.kinds.iter().all(
            |kind| !matches!(kind, ShapeKind::Object(fields) if !fields.properties.is_empty()),
        );
        (!open).then(|| OutputForm { fields: fields(&shape), example: example(&shape), outcome })
    };
    outcomes.filter_map(form).collect()
}

/// What could not be filled in.
#[derive(Default)]
struct Gaps {
    missing: Vec<String>,
    cut: Vec<String>,
}

impl Gaps {
    fn fill(&mut self, values: &Values<'_>, text: &str) -> String {
        // A text that is no template has been refused when the rules were read.
        let Ok(template) = Template::parse(text) else { return text.to_owned() };
        let rendered = template.render(|reference| values.find(reference));
        for (all, new) in [(&mut self.missing, rendered.missing), (&mut self.cut, rendered.cut)] {
            all.extend(new.into_iter().filter(|name| !all.contains(name)).collect::<Vec<_>>());
        }
        rendered.text
    }

    fn warnings(self, gate: &GateId) -> Vec<Warning> {
        let missing = (!self.missing.is_empty())
            .then(|| Warning::MissingValues { gate: gate.clone(), names: self.missing });
        let cut = (!self.cut.is_empty())
            .then(|| Warning::CutValues { gate: gate.clone(), names: self.cut });
        missing.into_iter().chain(cut).collect()
    }
}

/// Returns the texts with their holes filled.
fn filled(written: &BriefText, values: &Values<'_>, gaps: &mut Gaps) -> BriefText {
    let mut fill = |text: &String| gaps.fill(values, text);
    BriefText {
        role: written.role.as_ref().map(&mut fill),
        expectations: written
            .expectations
            .as_ref()
            .map(|list| list.iter().map(&mut fill).collect()),
        outcomes: written
            .outcomes
            .iter()
            .map(|(outcome, text)| (outcome.clone(), fill(text)))
            .collect(),
        tips: written.tips.as_ref().map(|list| list.iter().map(&mut fill).collect()),
        instructions: written.instructions.as_ref().map(&mut fill),
    }
}

/// Returns the texts for the occasion. A decision that led back without a word of blame is a return, too.
fn written<'a>(
    brief: &'a Brief,
    occasion: &Occasion<'_>,
    entered: Option<&Visit>,
) -> &'a BriefText {
    let returned = entered.is_some_and(|visit| visit.retry.is_some());
    match occasion {
        Occasion::Mending(_) => &brief.reentry,
        Occasion::Work | Occasion::Decision | Occasion::Approval
            if returned && brief.reentry != BriefText::default() =>
        {
            &brief.reentry
        }
        _ => &brief.entry,
    }
}

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
    let task = "Do what the title and the body of the task ask for";
    let work = || gate.description.clone().unwrap_or_else(|| task.to_owned());
    match occasion {
        Occasion::Work => {
            list.extend([work(), "Check your result yourself before you hand it on".to_owned()]);
        }
        Occasion::Review => list.extend([
            "Compare the result with what the title and the body of the task ask for".to_owned(),
            "Name every fault you find, each as a blocker of its own".to_owned(),
        ]),
        Occasion::Decision => {
            list.extend([work(), "Decide by what you found, not by what is wished for".to_owned()]);
        }
        Occasion::Approval => {
            list.push("Decide by what the title and the body of the task ask for".to_owned());
        }
        Occasion::Mending(review) => {
            list.extend(review.blockers.iter().map(|blocker| format!("Settle: {blocker}")));
            list.push("Break nothing else while you do".to_owned());
        }
        Occasion::Again(review) => {
            let checks = review.blockers.iter();
            list.extend(checks.map(|blocker| format!("Check that this is settled: {blocker}")));
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
