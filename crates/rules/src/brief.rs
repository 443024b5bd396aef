//! The brief: the instructions that an agent gets at a gate.

use serde_json::Value;

use crate::act::Warning;
use crate::outputs::{Field, example, fields, shape_of};
use crate::routing::loops;
use crate::routing::reviews::standing_reviews;
use crate::routing::statements::{Statement, arrivals, statements};
use crate::routing::workplace::Workplace;
use crate::template::{Body, Template, Values};
use crate::transition::claims::{Escalation, Limit, deadlines, escalation};
use crate::verdict::looked_for_at;
use crate::workflow::rules::Rules;
use aof_domain::workflow::shape::ShapeKind;
use aof_domain::{
    BriefText, Gate, GateCheck, GateId, LoopItem, Outcome, Remedy, ReviewContext, Station, Target,
    Task, Ticket, Timestamp, Visit, WaitFor, Workflow,
};

/// The brief of a task's open visit.
#[derive(Debug, Clone, PartialEq)]
pub struct GateContext {
    pub ticket: Ticket,
    /// The prompt of the route that led here.
    pub prompt: Option<String>,
    /// The item of a loop that the visit is about, with its value.
    pub item: Option<(LoopItem, Value)>,
    /// The number of the round and the most rounds, if the workflow is repeated.
    pub round: Option<(u32, u32)>,
    /// The description of the agent's role.
    pub role: String,
    /// The gate, or the branch of it.
    pub gate: Station,
    pub expectations: Vec<String>,
    /// The meaning of each outcome here.
    pub outcomes: Vec<(Outcome, String)>,
    pub tips: Vec<String>,
    pub instructions: Option<String>,
    /// The form in which a text states the outcome, if the gate reads it from the text.
    pub verdict: Option<String>,
    /// The outputs declared for each outcome; empty if none are declared.
    pub outputs: Vec<OutputForm>,
    /// Path patterns of the files that the work may change; empty if not declared.
    pub files: Vec<String>,
    /// The checks that must pass before the task leaves the gate.
    pub checks: Vec<GateCheck>,
    /// The changes that the last rejection requests.
    pub review: Option<ReviewContext>,
    /// Requests of earlier rejections that are unanswered too, oldest first.
    pub earlier: Vec<ReviewContext>,
    /// The statements since the reader last had the task, and the other texts of the rejections, oldest first.
    pub statements: Vec<Statement>,
    /// The reason why the visit belongs to another role than its gate's.
    pub escalation: Option<Escalation>,
    /// The end of the claim, unless it is renewed.
    pub claimed_until: Option<Timestamp>,
    /// Values that could not be filled in.
    pub warnings: Vec<Warning>,
}

/// The outputs of an outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputForm {
    pub outcome: Outcome,
    pub fields: Vec<Field>,
    /// Example outputs.
    pub example: Value,
}

impl GateContext {
    /// Returns a sentence for each check.
    pub fn check_lines(&self) -> Vec<String> {
        let task = &self.ticket.task;
        let line = |check: &GateCheck| match check {
            GateCheck::Tests => format!(
                "The task passes only if its tests do: try them with `{}`. Your own changes of them do not count",
                Remedy::Test.on(task).flag("committed")
            ),
            GateCheck::Checklist => {
                "The task passes only if each box of its text is ticked, `- [x]`".to_owned()
            }
        };
        self.checks.iter().map(line).collect()
    }
}

/// Returns the brief of the open visit; `None` if the task is at no gate of its workflow, or at a fork.
pub fn brief(rules: &Rules, task: &Task, body: &Body<'_>) -> Option<GateContext> {
    brief_at(rules, task, &Workplace::of(rules, task)?, body)
}

/// Returns the brief for a workplace of the open visit: the gate, or a branch. `None` if the task's workflow is gone.
pub fn brief_at(
    rules: &Rules,
    task: &Task,
    workplace: &Workplace<'_>,
    body: &Body<'_>,
) -> Option<GateContext> {
    let workflow = rules.workflow_of(task)?;
    let gate = workplace.gate;
    let mut reviews = standing_reviews(task).into_iter();
    let (review, has_come_back) = reviews.next().unzip();
    let earlier: Vec<ReviewContext> = reviews.map(|(review, _)| review).collect();
    let requests = review.as_ref().and_then(|review| place_requests(workplace, review));
    let mut gaps = Gaps::default();
    let values = Values { workflow, task, body, incoming: None };
    let arrivals = arrivals(task, &workplace.station());
    // A failed attempt or a time limit does not remove the prompt that the task arrived with.
    let prompt = arrivals.iter().find_map(|visit| Some((*visit, prompt_of(workflow, visit)?)));
    let prompt = prompt.map(|(visit, prompt)| {
        let values = Values { incoming: Some(visit), ..values };
        gaps.fill(&values, prompt)
    });
    // Requests are for the agent that makes the changes; the gate that requested them gets a checklist of them.
    let occasion = match review.as_ref().filter(|_| has_come_back == Some(true)) {
        Some(review) if review.from_gate == workplace.station().gate => match &requests {
            Some(_) => Occasion::Again,
            None => Occasion::Review,
        },
        Some(_) if !gate.can_reject() => Occasion::Mending,
        _ if gate.can_reject() => Occasion::Review,
        _ if gate.exits.decides() => Occasion::Decision,
        _ if workplace.requires_human(rules) => Occasion::Approval,
        _ => Occasion::Work,
    };
    let mut written = filled(written(workplace, &occasion, &arrivals), &values, &mut gaps);
    // A repeated visit falls back to the texts of the first one.
    let entry = &workplace.duty.brief.entry;
    for (outcome, text) in &entry.outcomes {
        if written.outcomes.iter().all(|(of, _)| !of.is_meant_by(outcome.as_str())) {
            written.outcomes.push((outcome.clone(), gaps.fill(&values, text)));
        }
    }
    let instructions = written.instructions.take();
    let instructions =
        instructions.or_else(|| entry.instructions.as_ref().map(|text| gaps.fill(&values, text)));
    let review = requests.filter(|_| matches!(occasion, Occasion::Again)).or(review);
    Some(GateContext {
        ticket: task.ticket_of(workplace.branch()),
        prompt,
        item: loops::item_value(workflow, task),
        round: workflow.repeat.as_ref().map(|repeat| (loops::round(&task.history), repeat.max)),
        role: written.role.clone().unwrap_or_else(|| role(gate, &occasion)),
        gate: workplace.station(),
        expectations: written.expectations.clone().unwrap_or_else(|| expectations(gate, &occasion)),
        outcomes: workplace
            .outcomes(rules)
            .into_iter()
            .map(|outcome| {
                let meaning = meaning(&written, &outcome, &occasion);
                (outcome, meaning)
            })
            .collect(),
        tips: {
            let tips = written.tips.clone().unwrap_or_else(|| tips(gate));
            tips.into_iter()
                .chain(gate.wait_for.map(|WaitFor::Children| CHILDREN.to_owned()))
                .collect()
        },
        instructions,
        verdict: workplace
            .duty
            .signal
            .as_ref()
            .map(|signal| looked_for_at(&signal.mark, &workplace.gate.possible())),
        outputs: forms(workplace, rules),
        files: workplace.duty.files.clone(),
        checks: gate.check.clone(),
        statements: statements(task, &workplace.station(), &review.iter().chain(&earlier)),
        review,
        earlier,
        escalation: escalation(task, workplace.branch()),
        claimed_until: deadlines(rules, task)
            .into_iter()
            .find(|end| end.limit == Limit::Lease && end.branch.as_ref() == workplace.branch())
            .map(|end| end.at),
        warnings: gaps.warnings(&gate.id),
    })
}

/// Returns the requests that the workplace itself made; of a fork's review, only the branch's part.
fn place_requests(workplace: &Workplace<'_>, review: &ReviewContext) -> Option<ReviewContext> {
    let Some(branch) = workplace.branch() else { return Some(review.clone()) };
    let mark = format!("{branch}: ");
    let requests: Vec<String> = review
        .blockers
        .iter()
        .filter_map(|text| text.strip_prefix(&mark))
        .map(str::to_owned)
        .collect();
    (!requests.is_empty()).then(|| ReviewContext { blockers: requests, ..review.clone() })
}

/// Returns the prompt of the route that an entry took. At a fork, the route is the fork's.
fn prompt_of<'a>(workflow: &'a Workflow, visit: &Visit) -> Option<&'a str> {
    let (_, gate) = workflow.gate(&visit.gate)?;
    let route = gate.exits.route(visit.gate_outcome()?)?;
    // If the route could not be taken, its prompt is for another gate.
    let is_taken = !visit.stays() || route.to == Target::Gate(visit.gate.clone());
    route.prompt.as_deref().filter(|_| is_taken)
}

/// Returns the declared outputs, by outcome.
fn forms(workplace: &Workplace<'_>, rules: &Rules) -> Vec<OutputForm> {
    let judging = |outcome: &Outcome| {
        matches!(outcome, Outcome::Complete | Outcome::Decision(_))
            || workplace.duty.outputs.shape(outcome.as_str()).is_some()
    };
    let outcomes = workplace
        .outcomes(rules)
        .into_iter()
        .filter(|outcome| judging(outcome) && *outcome != Outcome::Blocked);
    let form = |outcome: Outcome| {
        let shape = shape_of(workplace.duty, &outcome)?;
        let open = shape.kinds.iter().all(
            |kind| !matches!(kind, ShapeKind::Object(fields) if !fields.properties.is_empty()),
        );
        (!open).then(|| OutputForm { fields: fields(&shape), example: example(&shape), outcome })
    };
    outcomes.filter_map(form).collect()
}

/// The names that could not be filled in, or only in part.
#[derive(Default)]
struct Gaps {
    missing: Vec<String>,
    cut: Vec<String>,
}

impl Gaps {
    fn fill(&mut self, values: &Values<'_>, text: &str) -> String {
        // Invalid templates are rejected when the rules are read.
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

/// Returns the texts for the occasion. A decision that led back without requests is a return too. A detour is entered only by such
/// a return, so its first texts are meant for it.
fn written<'a>(
    workplace: &Workplace<'a>,
    occasion: &Occasion,
    arrivals: &[&Visit],
) -> &'a BriefText {
    let brief = &workplace.duty.brief;
    // Another attempt after a failure is the same work again.
    let is_attempt =
        |visit: &Visit| visit.stays() && visit.gate_outcome() == Some(&Outcome::Failed);
    let returned = arrivals.iter().any(|visit| visit.retry.is_some() && !is_attempt(visit));
    let has_reentry = brief.reentry != BriefText::default();
    match occasion {
        Occasion::Mending if has_reentry || !workplace.gate.detour => &brief.reentry,
        Occasion::Work | Occasion::Decision | Occasion::Approval if returned && has_reentry => {
            &brief.reentry
        }
        _ => &brief.entry,
    }
}

/// The reason why the task is at the gate.
pub(crate) enum Occasion {
    Work,
    Review,
    Decision,
    Approval,
    Mending,
    Again,
}

pub(crate) fn role(gate: &Gate, occasion: &Occasion) -> String {
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
        Occasion::Mending => format!("You fix what a review of this task found{purpose}."),
        Occasion::Again => {
            format!(
                "You review this task again{purpose}: it was sent back from here, and somebody has worked on it since."
            )
        }
    }
}

pub(crate) fn expectations(gate: &Gate, occasion: &Occasion) -> Vec<String> {
    let task = "Do what the title and the body of the task ask for";
    // The role already has the gate's description, and the review has its own list.
    let work = gate.description.is_none().then_some(task);
    let rest: &[&str] = match occasion {
        Occasion::Work => &["Check your result yourself before you hand it on"],
        Occasion::Review => &[
            "Compare the result with what the title and the body of the task ask for",
            "Name every fault you find, each as a blocker of its own",
        ],
        Occasion::Decision => &["Decide by what you found, not by what is wished for"],
        Occasion::Approval => &["Decide by what the title and the body of the task ask for"],
        Occasion::Mending => {
            &["Settle each thing that was sent back", "Break nothing else while you do"]
        }
        Occasion::Again => &[
            "Check that each thing you sent back is settled",
            "Look for faults that the changes brought",
        ],
    };
    let work = work.filter(|_| matches!(occasion, Occasion::Work | Occasion::Decision));
    work.iter().chain(rest).map(|text| (*text).to_owned()).collect()
}

pub(crate) fn meaning(written: &BriefText, outcome: &Outcome, occasion: &Occasion) -> String {
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
        (Outcome::Complete, Occasion::Mending) => "Everything listed is settled; it goes back to be reviewed.",
        (Outcome::Complete, Occasion::Again) => "Everything you asked for is settled; it goes on.",
        (Outcome::NeedsReview, _) => "It needs fixes. List each fault in blockers; it goes back to be worked on.",
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

/// The tip at a gate that waits for children.
const CHILDREN: &str =
    "The task goes on from here once each of its children is complete or cancelled";

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
