//! The steps as they are written, each field read once.

use std::collections::HashMap;

use crate::domain::{Period, nearest};
use crate::files::yaml::{Fault, Kind};
use crate::setup::import::import::run_model;
use crate::setup::import::names::Names;
use crate::setup::import::record::{Field, Record, join};
use crate::setup::import::report::{At, Ledger};

/// A step as the file has it.
pub(crate) struct Step {
    pub(crate) foreign: String,
    pub(crate) gate: String,
    pub(crate) at: At,
    pub(crate) kind: Kindred,
    pub(crate) description: Option<String>,
    pub(crate) input: Option<(String, At)>,
    pub(crate) routes: Vec<Way>,
    pub(crate) max_retries: Option<(u64, At)>,
    pub(crate) timeout: Option<(String, At)>,
    pub(crate) model: Option<String>,
    pub(crate) delay: Option<String>,
}

/// What a step is.
pub(crate) enum Kindred {
    Agent { agent: Option<String> },
    Approval { message: Option<(String, At)>, who: Option<String> },
    Parallel { agents: Vec<String> },
    Condition { expression: Option<(String, At)> },
}

/// `on_success: code`.
pub(crate) struct Way {
    pub(crate) on: &'static str,
    pub(crate) to: String,
    pub(crate) at: At,
}

const ROUTES: [&str; 6] =
    ["on_success", "on_error", "on_approve", "on_reject", "on_true", "on_false"];

/// The target that ends a workflow.
pub(crate) const END: &str = "end";

pub(crate) fn read_steps(field: &Field<'_>, ledger: &mut Ledger<'_>) -> Vec<Step> {
    let Kind::Sequence(items) = &field.node.kind else {
        ledger.fault(field.wrong("a list of steps"));
        return Vec::new();
    };
    if items.is_empty() {
        ledger.fault(Fault::new("no_gates", field.node.span.clone(), "the workflow has no steps"));
    }
    let mut names = Names::default();
    let mut steps: Vec<Step> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let path = format!("{}.{}", field.at.path, index + 1);
        let Some(record) = Record::of(item, &path, "a step", ledger) else { continue };
        steps.extend(step(record, &field.at.path, index + 1, &mut names, ledger));
    }
    check(&steps, ledger);
    steps
}

/// Returns the place of each step in the list, by its name there.
pub(crate) fn places(steps: &[Step]) -> HashMap<&str, usize> {
    steps.iter().enumerate().map(|(index, step)| (step.foreign.as_str(), index)).collect()
}

fn step(
    mut record: Record<'_>,
    parent: &str,
    number: usize,
    names: &mut Names,
    ledger: &mut Ledger<'_>,
) -> Option<Step> {
    let Some((foreign, field)) = record.text("id", ledger) else {
        let message = format!("step {number} has no `id`");
        ledger.fault(Fault::new("missing_field", record.start(), message));
        return None;
    };
    record.called(join(parent, &foreign));
    // `{{task}}` is the task everywhere, so no gate can be called that.
    let wanted = if foreign == "task" { "task-step" } else { &foreign };
    let (gate, why) = names.add(wanted, &format!("step-{number}"));
    let at = At { path: join(record.path(), "id"), ..field.at };
    match why {
        Some(why) => ledger.converted(&at, why),
        None if wanted != foreign => {
            ledger.converted(&at, format!("`{gate}`: `task` means the task itself in templates"));
        }
        None => ledger.kept(&at),
    }
    let kind = kind(&mut record, &gate, ledger)?;
    let description = record
        .text("description", ledger)
        .or_else(|| record.text("name", ledger))
        .map(|(text, field)| {
            ledger.kept_as(&field.at, "as `description`");
            text
        });
    let input = record.text("input", ledger).map(|(text, field)| (text, field.at));
    let mut routes = Vec::new();
    for on in ROUTES {
        if let Some((to, field)) = record.text(on, ledger) {
            routes.push(Way { on, to, at: field.at });
        }
    }
    let max_retries = record.count("max_retries", ledger).and_then(|(number, field)| {
        if number == 0 {
            let message =
                format!("`{}` is how often a step is tried, so at least 1", field.at.path);
            ledger.fault(Fault::new("invalid_value", field.node.span.clone(), message));
            return None;
        }
        Some((number, field.at))
    });
    let timeout = record.text("timeout", ledger).map(|(text, field)| (text, field.at));
    let (model, delay) = match &kind {
        Kindred::Agent { .. } => (
            record.text("model", ledger).map(|(model, field)| run_model(model, &field.at, ledger)),
            record
                .count("retry_delay", ledger)
                .and_then(|(number, field)| delay(number, &field.at, ledger)),
        ),
        Kindred::Approval { .. } | Kindred::Parallel { .. } | Kindred::Condition { .. } => {
            (None, None)
        }
    };
    record.finish(ledger, |key| match key {
        "retry_delay" | "model" => Some("only a step of one agent has a run of its own"),
        "message" => Some("only approvals show a message"),
        _ => None,
    });
    Some(Step {
        foreign,
        gate,
        at,
        kind,
        description,
        input,
        routes,
        max_retries,
        timeout,
        model,
        delay,
    })
}

/// Returns the pause before another try: whole seconds, of thousandths.
fn delay(number: u64, at: &At, ledger: &mut Ledger<'_>) -> Option<String> {
    if number == 0 {
        ledger.dropped(at, "without a pause, the runner has its own");
        return None;
    }
    let period = Period::of_seconds(number.div_ceil(1000));
    ledger.converted(at, format!("`run: {{retry: {{delay: {period}}}}}`"));
    Some(period.to_string())
}

fn kind(record: &mut Record<'_>, gate: &str, ledger: &mut Ledger<'_>) -> Option<Kindred> {
    let told = record.text("type", ledger);
    let word = match &told {
        Some((word, _)) => word.as_str(),
        // What has no type is an agent's step, unless it can only be another.
        None if record.has("agents") => "parallel",
        None if record.has("on_approve") || record.has("on_reject") => "approval",
        None => "agent",
    };
    let kind = match word {
        "agent" => {
            let agent = record.text("agent", ledger).map(|(text, field)| {
                ledger.converted(&field.at, "`role`");
                text
            });
            Kindred::Agent { agent }
        }
        "approval" => {
            let message = record.text("message", ledger).map(|(text, field)| (text, field.at));
            let who = record.take_any(&["approver", "agent", "role"]).and_then(|field| {
                let text = field.text(ledger)?;
                ledger.converted(&field.at, "`role`");
                Some(text)
            });
            Kindred::Approval { message, who }
        }
        "parallel" => {
            let agents = record.take("agents").and_then(|field| {
                let agents = field.texts(ledger)?;
                ledger.converted(&field.at, "`branches`, one for each agent");
                Some(agents)
            });
            let agents = agents.unwrap_or_default();
            if agents.is_empty() {
                let message = format!("the parallel step `{gate}` has no `agents`");
                ledger.fault(Fault::new("missing_field", record.start(), message));
                return None;
            }
            Kindred::Parallel { agents }
        }
        "condition" => {
            let expression = record.take_any(&["condition", "expression", "when", "if"]);
            let expression = expression.and_then(|field| Some((field.text(ledger)?, field.at)));
            Kindred::Condition { expression }
        }
        other => {
            let span = told.as_ref().map_or(0..0, |(_, field)| field.node.span.clone());
            let fault = Fault::new("invalid_value", span, format!("`{other}` is no kind of step"));
            ledger.fault(fault.help("it is one of `agent`, `approval`, `parallel`, `condition`"));
            return None;
        }
    };
    if let Some((word, field)) = &told {
        match word.as_str() {
            "agent" => ledger.dropped(&field.at, "what a gate is anyway"),
            "approval" => {
                ledger.converted(
                    &field.at,
                    "`requireHuman: true`, with the decisions `approve` and `reject`",
                );
            }
            "parallel" => {
                ledger.converted(&field.at, "`type: fork`; it passes when every branch does");
            }
            _ => ledger.kept(&field.at),
        }
    }
    Some(kind)
}

/// Names once each, and routes only to what is there.
fn check(steps: &[Step], ledger: &mut Ledger<'_>) {
    let places = places(steps);
    for (index, step) in steps.iter().enumerate() {
        if places.get(step.foreign.as_str()).is_some_and(|place| *place != index) {
            let message = format!("there are two steps `{}`", step.foreign);
            let fault = Fault::new("duplicate_gate", step.at.span.clone(), message);
            ledger.fault(fault.help("give each step an id of its own"));
        }
        for way in &step.routes {
            if way.to == END || places.contains_key(way.to.as_str()) {
                continue;
            }
            let fault = Fault::new(
                "unknown_gate",
                way.at.span.clone(),
                format!("there is no step `{}`", way.to),
            );
            ledger.fault(match nearest(&way.to, places.keys().copied()) {
                Some(near) => fault.help(format!("did you mean `{near}`?")),
                None => fault.help("name a step, or `end`"),
            });
        }
    }
}
