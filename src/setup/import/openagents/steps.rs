//! The steps as they are written, each field read once.

use std::collections::HashMap;

use crate::domain::Period;
use crate::setup::import::names::Names;
use crate::setup::import::record::{Field, Record, Said};
use crate::setup::import::report::At;
use crate::setup::import::workflow_draft::{RetryDraft, run_model};

/// A step as the file has it.
pub(crate) struct OpenagentsStep<'r> {
    pub(crate) foreign: String,
    pub(crate) gate: String,
    pub(crate) at: At<'r>,
    pub(crate) kind: StepKind<'r>,
    pub(crate) description: Option<String>,
    pub(crate) input: Option<Said<'r>>,
    pub(crate) routes: Vec<StepRoute<'r>>,
    pub(crate) max_retries: Option<Said<'r, u64>>,
    pub(crate) timeout: Option<Said<'r>>,
    pub(crate) model: Option<String>,
    pub(crate) retry: Option<RetryDraft>,
}

/// What a step is.
pub(crate) enum StepKind<'r> {
    Agent { agent: Option<String> },
    Approval { message: Option<Said<'r>>, who: Option<String> },
    Parallel { agents: Vec<String> },
    Condition { expression: Option<Said<'r>> },
}

/// `on_success: code`.
pub(crate) struct StepRoute<'r> {
    pub(crate) on: &'static str,
    pub(crate) to: Said<'r>,
}

const ROUTES: [&str; 6] =
    ["on_success", "on_error", "on_approve", "on_reject", "on_true", "on_false"];

/// The target that ends a workflow.
pub(crate) const END: &str = "end";

pub(crate) fn read_steps<'r>(field: &Field<'r>) -> Vec<OpenagentsStep<'r>> {
    let mut names = Names::default();
    let records = field.records("a list of steps", "a step", Some("the workflow has no steps"));
    let numbered = records.into_iter().zip(1..);
    let steps: Vec<OpenagentsStep<'_>> = numbered
        .filter_map(|(record, number)| step(record, &field.at.path, number, &mut names))
        .collect();
    check(&steps);
    steps
}

/// Returns the place of each step in the list, by its name there.
pub(crate) fn places<'s>(steps: &'s [OpenagentsStep<'_>]) -> HashMap<&'s str, usize> {
    steps.iter().enumerate().map(|(index, step)| (step.foreign.as_str(), index)).collect()
}

fn step<'r>(
    mut record: Record<'r>,
    parent: &str,
    number: usize,
    names: &mut Names,
) -> Option<OpenagentsStep<'r>> {
    let Some(id) = record.own_name("id", parent) else {
        record.missing(format!("step {number} has no `id`"));
        return None;
    };
    let fallback = format!("step-{number}");
    // `{{task}}` is the task everywhere, so no gate can be called that.
    let gate = if id.value == "task" {
        let (gate, why) = names.add("task-step", &fallback);
        let usual = || format!("`{gate}`: `task` means the task itself in templates");
        id.at.converted(why.unwrap_or_else(usual));
        gate
    } else {
        names.take(&id, &fallback, "")
    };
    let kind = kind(&mut record, &gate)?;
    let description = record.text("description").or_else(|| record.text("name"));
    let description = description.map(|said| said.kept_as("as `description`"));
    let input = record.text("input");
    let routes = ROUTES.into_iter().filter_map(|on| Some(StepRoute { on, to: record.text(on)? }));
    let routes: Vec<StepRoute<'_>> = routes.collect();
    let mut max_retries = record.count("max_retries");
    if let Some(tries) = max_retries.take_if(|tries| tries.value == 0) {
        let message = format!("`{}` is how often a step is tried, so at least 1", tries.at.path);
        tries.value_at().fault("invalid_value", message, "");
    }
    let timeout = record.text("timeout");
    let (mut model, mut retry) = (None, None);
    if let StepKind::Agent { .. } = &kind {
        model = record.text("model").map(|said| run_model(said.value, &said.at));
        retry = record.count("retry_delay").and_then(|said| pause(&said));
    }
    record.finish(|key| match key {
        "retry_delay" | "model" => Some("only a step of one agent has a run of its own"),
        "message" => Some("only approvals show a message"),
        _ => None,
    });
    Some(OpenagentsStep {
        foreign: id.value,
        gate,
        at: id.at,
        kind,
        description,
        input,
        routes,
        max_retries,
        timeout,
        model,
        retry,
    })
}

/// Returns the pause before another try: whole seconds, of thousandths.
fn pause(number: &Said<'_, u64>) -> Option<RetryDraft> {
    if number.value == 0 {
        number.at.dropped("without a pause, the runner has its own");
        return None;
    }
    let delay = Period::of_seconds(number.value.div_ceil(1000)).to_string();
    number.at.converted(format!("`run: {{retry: {{delay: {delay}}}}}`"));
    Some(RetryDraft { delay })
}

fn kind<'r>(record: &mut Record<'r>, gate: &str) -> Option<StepKind<'r>> {
    let told = record.text("type");
    let word = match &told {
        Some(word) => word.value.as_str(),
        // What has no type is an agent's step, unless it can only be another.
        None if record.has("agents") => "parallel",
        None if record.has("on_approve") || record.has("on_reject") => "approval",
        None => "agent",
    };
    let note = |note: &str| told.as_ref().map(|word| word.at.converted(note));
    Some(match word {
        "agent" => {
            let agent = record.text("agent").map(|said| said.converted("`role`"));
            if let Some(word) = &told {
                word.at.dropped("what a gate is anyway");
            }
            StepKind::Agent { agent }
        }
        "approval" => {
            let message = record.text("message");
            let who = record.take_any(&["approver", "agent", "role"]);
            let who = who.and_then(|field| Some(field.text()?.converted("`role`")));
            let _ = note("`requireHuman: true`, with the decisions `approve` and `reject`");
            StepKind::Approval { message, who }
        }
        "parallel" => {
            let agents = record.texts(&["agents"]);
            let agents = agents.map(|said| said.converted("`branches`, one for each agent"));
            let agents = agents.unwrap_or_default();
            if agents.is_empty() {
                record.missing(format!("the parallel step `{gate}` has no `agents`"));
                return None;
            }
            let _ = note("`type: fork`; it passes when every branch does");
            StepKind::Parallel { agents }
        }
        "condition" => {
            let expression = record.take_any(&["condition", "expression", "when", "if"]);
            if let Some(word) = &told {
                word.at.kept();
            }
            StepKind::Condition { expression: expression.and_then(Field::text) }
        }
        other => {
            let at = told.as_ref().map_or_else(|| record.start(), Said::value_at);
            let help = "it is one of `agent`, `approval`, `parallel`, `condition`";
            at.fault("invalid_value", format!("`{other}` is no kind of step"), help);
            return None;
        }
    })
}

/// Names once each, and routes only to what is there.
fn check(steps: &[OpenagentsStep<'_>]) {
    let places = places(steps);
    for (index, step) in steps.iter().enumerate() {
        if places.get(step.foreign.as_str()).is_some_and(|place| *place != index) {
            let message = format!("there are two steps `{}`", step.foreign);
            step.at.fault("duplicate_gate", message, "give each step an id of its own");
        }
        for StepRoute { to: Said { value, at, .. }, .. } in &step.routes {
            if value != END && !places.contains_key(value.as_str()) {
                let message = format!("there is no step `{value}`");
                at.unknown(value, places.keys().copied(), message, "name a step, or `end`");
            }
        }
    }
}
