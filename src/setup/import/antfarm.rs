//! antfarm: steps in a row, each an agent's, with `KEY: value` replies that fill one shared context.
//!
//! How it counts: `max_retries` of a step and of `on_fail` is how often something is done *again* (so max + 1 runs), and a
//! decision's is compared with the counter of the step that it sends back to. Both are what `maxRetries` means here.

pub(crate) mod gates;
pub(crate) mod keys;
pub(crate) mod outputs;
pub(crate) mod steps;

use serde_json::{Map, Value};

use super::names::{self, Names};
use super::record::{Field, Record, Said};
use super::report::{At, ImportReport};
use super::workflow_draft::{ReadWorkflow, RunDraft, WorkflowDraft, run_model, tidy};
use crate::domain::Period;
use crate::files::yaml::{Kind, Node};
use gates::GateBuilder;
use steps::read_steps;

/// An agent of the file: what it is for, and how long it may take.
pub(crate) struct ForeignAgent {
    id: String,
    description: Option<String>,
    timeout: Option<String>,
}

/// Returns the workflow of the file.
pub(crate) fn read<'r>(
    root: &'r Node<'static>,
    stem: &str,
    report: &'r ImportReport<'r>,
) -> Vec<ReadWorkflow> {
    let Some(mut top) = Record::of(root, "", "an antfarm workflow", report) else {
        return Vec::new();
    };
    let (id, title) = (top.text("id"), top.text("name"));
    let (from, title) = if id.is_some() { (id, title) } else { (title, None) };
    let name = if let Some(said) = from {
        Names::default().take(&said, stem, if said.at.path == "name" { "" } else { "as `name`" })
    } else {
        report.added("name", format!("the file has no `id`: the workflow is called `{stem}`"));
        stem.to_owned()
    };
    let mut draft = WorkflowDraft { name, ..WorkflowDraft::default() };
    let title =
        title.map(|said| said.converted("the first line of `description`").trim().to_owned());
    let description = top.text("description").map(|said| tidy(&said.kept()));
    draft.description = match (title, description) {
        (Some(title), Some(text)) => Some(format!("{title}\n\n{}\n", text.trim_end())),
        (title, text) => title.or(text),
    };
    if let Some(field) = top.take("version") {
        field.at.kept();
        draft.version = Some(field.node.to_value());
    }
    if let Some(field) = top.take("context") {
        draft.context.input = context(&field);
    }
    if let Some(field) = top.take("polling") {
        draft.run = polling(&field);
    }
    let agents = top.take("agents").map(|field| read_agents(&field)).unwrap_or_default();
    let steps = if let Some(field) = top.take("steps") {
        read_steps(&field)
    } else {
        let start = At { span: root.span.start..root.span.start, ..top.start() };
        start.fault("missing_field", "an antfarm workflow needs `steps`", "");
        Vec::new()
    };
    top.finish(|key| match key {
        "cron" => Some("when work is looked for is the runner's matter"),
        "notifications" | "notify_url" | "delivery" => Some("whom to tell is in project.yaml"),
        "hooks" => Some("aof runs no commands around a workflow; react to its events instead"),
        "run" | "workspace" => Some("how agents are run is the runner's matter"),
        "acceptance_criteria" | "definition_of_done" | "workflow_objective" => {
            Some("prose about the workflow: put it into the tasks that go through it")
        }
        _ => None,
    });
    GateBuilder::new(&mut draft, &steps, &agents, report).build();
    vec![draft.finish()]
}

/// The context of a run: each key with its default. A default that only names a key again is none.
fn context(field: &Field<'_>) -> Map<String, Value> {
    let mut input = Map::new();
    let Kind::Mapping(entries) = &field.node.kind else {
        field.wrong("a mapping of keys and defaults");
        return input;
    };
    let Some(record) = Record::of(field.node, "context", "`context`", field.at.report) else {
        return input;
    };
    for entry in entries {
        let at = record.at(&entry.key);
        let key = names::key(&entry.key.text);
        let text = entry.value.as_str().unwrap_or_default();
        let names_a_key = text.trim().starts_with("{{")
            && text.trim().ends_with("}}")
            && text.matches("{{").count() == 1;
        let mut value = entry.value.to_value();
        if entry.value.is_null() || names_a_key {
            value = Value::String(String::new());
            at.converted(format!("`context.input.{key}`, empty: its value comes with the task"));
        } else if text.contains("{{") {
            at.converted(format!(
                "`context.input.{key}`; values are never expanded, so its braces stay as they are"
            ));
        } else {
            at.kept_as(format!("as `context.input.{key}`"));
        }
        input.insert(key, value);
    }
    input
}

fn polling(field: &Field<'_>) -> RunDraft {
    let Some(mut record) = Record::of(field.node, &field.at.path, "`polling`", field.at.report)
    else {
        return RunDraft::default();
    };
    let timeout = record.count("timeoutSeconds");
    let timeout = timeout.and_then(|said| seconds(&said, "the workflow's `run: {timeout}`"));
    let model = record.text("model").and_then(named_model);
    record.finish(|_| Some("when work is looked for is the runner's matter"));
    RunDraft { timeout, model, retry: None }
}

/// Returns the model, unless it is whichever the program has.
fn named_model(model: Said<'_>) -> Option<String> {
    if model.value == "default" {
        model.at.dropped("without a word about it, a program uses its own model");
        return None;
    }
    Some(run_model(model.value, &model.at))
}

fn read_agents(field: &Field<'_>) -> Vec<ForeignAgent> {
    let mut agents = Vec::new();
    for mut record in field.records("a list of agents", "an agent", None) {
        let id = record.own_name("id", "agents");
        let description = record
            .text("description")
            .map(|said| said.converted("the role's description, for org.yaml").trim().to_owned());
        let timeout = record.count("timeoutSeconds");
        let timeout = timeout.and_then(|said| seconds(&said, "`run: {timeout}` of its gates"));
        if let Some(id) = id {
            agents.push(ForeignAgent { id: id.converted("a role"), description, timeout });
        }
        record.finish(|key| match key {
            "name" => Some("what an agent is called is in org.yaml"),
            "role" => Some("which tools an agent may use is the runner's matter"),
            "model" => Some("which model an agent uses is said in org.yaml: `run: {model: ...}`"),
            "workspace" => {
                Some("files for an agent's workspace are the runner's matter; texts for a gate go into its `brief`")
            }
            _ => None,
        });
    }
    agents
}

/// Returns a number of seconds as a length of time.
fn seconds(number: &Said<'_, u64>, what: &str) -> Option<String> {
    match format!("{}s", number.value).parse::<Period>() {
        Ok(period) => {
            number.at.converted(format!("{what}: {period}"));
            Some(period.to_string())
        }
        Err(fault) => {
            number.at.dropped(fault.to_string());
            None
        }
    }
}
