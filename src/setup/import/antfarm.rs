//! antfarm: steps in a row, each an agent's, with `KEY: value` replies that fill one shared context.
//!
//! How it counts: `max_retries` of a step and of `on_fail` is how often something is done *again* (so max + 1 runs), and a
//! decision's is compared with the counter of the step that it sends back to. Both are what `maxRetries` means here.

pub(crate) mod gates;
pub(crate) mod handed_on;
pub(crate) mod keys;
pub(crate) mod steps;
pub(crate) mod traffic;
pub(crate) mod verdicts;

use serde_json::{Map, Value};

use super::import::{Read, Roles, run_model, tidy};
use super::names;
use super::names::Names;
use super::record::{Field, Record, join};
use super::report::{At, Ledger};
use super::workflow_draft::{RunSketch, Sketch};
use crate::domain::Period;
use crate::files::yaml::{Fault, Kind, Node};
use gates::Gates;
use steps::read_steps;

/// An agent of the file: what it is for, and how long it may take.
pub(crate) struct Agent {
    id: String,
    description: Option<String>,
    timeout: Option<String>,
}

/// Returns the workflow of the file.
pub(crate) fn read(root: &Node<'static>, stem: &str, ledger: &mut Ledger<'_>) -> Vec<Read> {
    let Some(mut top) = Record::of(root, "", "an antfarm workflow", ledger) else {
        return Vec::new();
    };
    let id = top.text("id", ledger);
    let title = top.text("name", ledger);
    let (name, title) = named(id, title, stem, ledger);
    let mut sketch = Sketch { name, ..Sketch::default() };
    let description = top.text("description", ledger);
    sketch.description = described(title, description, ledger);
    if let Some(field) = top.take("version") {
        ledger.kept(&field.at);
        sketch.version = Some(field.node.to_value());
    }
    if let Some(field) = top.take("context") {
        sketch.input = context(&field, ledger);
    }
    if let Some(field) = top.take("polling") {
        sketch.run = polling(&field, ledger);
    }
    let agents = top.take("agents").map(|field| read_agents(&field, ledger)).unwrap_or_default();
    let steps = if let Some(field) = top.take("steps") {
        read_steps(&field, ledger)
    } else {
        ledger.fault(Fault::new(
            "missing_field",
            root.span.start..root.span.start,
            "an antfarm workflow needs `steps`",
        ));
        Vec::new()
    };
    top.finish(ledger, |key| match key {
        "cron" => Some("when work is looked for is the runner's matter"),
        "notifications" | "notify_url" | "delivery" => Some("whom to tell is in project.yaml"),
        "hooks" => Some("aof runs no commands around a workflow; react to its events instead"),
        "run" | "workspace" => Some("how agents are run is the runner's matter"),
        "acceptance_criteria" | "definition_of_done" | "workflow_objective" => {
            Some("prose about the workflow: put it into the tasks that go through it")
        }
        _ => None,
    });
    let mut roles = Roles::default();
    Gates::new(&mut sketch, &mut roles, &agents, ledger).build(&steps);
    vec![Read::of(&sketch, roles)]
}

/// A text of the file, if it is there.
type Said<'n> = Option<(String, Field<'n>)>;

fn named<'n>(
    id: Said<'n>,
    title: Said<'n>,
    stem: &str,
    ledger: &mut Ledger<'_>,
) -> (String, Said<'n>) {
    let (from, title) = match (id, title) {
        (Some(id), title) => (Some(id), title),
        (None, title) => (title, None),
    };
    let Some((text, field)) = from else {
        ledger.supplied("name", format!("the file has no `id`: the workflow is called `{stem}`"));
        return (stem.to_owned(), title);
    };
    let (name, why) = Names::default().add(&text, stem);
    match why {
        Some(why) => ledger.converted(&field.at, why),
        None if field.at.path == "name" => ledger.kept(&field.at),
        None => ledger.kept_as(&field.at, "as `name`"),
    }
    (name, title)
}

fn described(title: Said<'_>, description: Said<'_>, ledger: &mut Ledger<'_>) -> Option<String> {
    let title = title.map(|(text, field)| {
        ledger.converted(&field.at, "the first line of `description`");
        text.trim().to_owned()
    });
    let description = description.map(|(text, field)| {
        ledger.kept(&field.at);
        tidy(&text)
    });
    match (title, description) {
        (Some(title), Some(text)) => Some(format!("{title}\n\n{}\n", text.trim_end())),
        (title, text) => title.or(text),
    }
}

/// The context of a run: each key with its default. A default that only names a key again is none.
fn context(field: &Field<'_>, ledger: &mut Ledger<'_>) -> Map<String, Value> {
    let mut input = Map::new();
    let Kind::Mapping(entries) = &field.node.kind else {
        ledger.fault(field.wrong("a mapping of keys and defaults"));
        return input;
    };
    let Some(mut record) = Record::of(field.node, &field.at.path, "`context`", ledger) else {
        return input;
    };
    record.called("context".to_owned());
    for entry in entries {
        let at = record.at(&entry.key);
        let key = names::key(&entry.key.text);
        let text = entry.value.as_str().unwrap_or_default();
        let names_a_key = text.trim().starts_with("{{")
            && text.trim().ends_with("}}")
            && text.matches("{{").count() == 1;
        let value = if entry.value.is_null() || names_a_key {
            ledger.converted(
                &at,
                format!("`context.input.{key}`, empty: its value comes with the task"),
            );
            Value::String(String::new())
        } else if text.contains("{{") {
            ledger.converted(
                &at,
                format!("`context.input.{key}`; values are never expanded, so its braces stay as they are"),
            );
            entry.value.to_value()
        } else {
            ledger.kept_as(&at, format!("as `context.input.{key}`"));
            entry.value.to_value()
        };
        input.insert(key, value);
    }
    input
}

fn polling(field: &Field<'_>, ledger: &mut Ledger<'_>) -> RunSketch {
    let Some(mut record) = Record::of(field.node, &field.at.path, "`polling`", ledger) else {
        return RunSketch::default();
    };
    let timeout = record.count("timeoutSeconds", ledger);
    let timeout = timeout.and_then(|(number, field)| {
        seconds(number, &field.at, "the workflow's `run: {timeout}`", ledger)
    });
    let model = record
        .text("model", ledger)
        .and_then(|(model, field)| named_model(model, &field.at, ledger));
    record.finish(ledger, |_| Some("when work is looked for is the runner's matter"));
    RunSketch { timeout, model, delay: None }
}

/// Returns the model, unless it is whichever the program has.
fn named_model(model: String, at: &At, ledger: &mut Ledger<'_>) -> Option<String> {
    if model == "default" {
        ledger.dropped(at, "without a word about it, a program uses its own model");
        return None;
    }
    Some(run_model(model, at, ledger))
}

fn read_agents(field: &Field<'_>, ledger: &mut Ledger<'_>) -> Vec<Agent> {
    let Kind::Sequence(items) = &field.node.kind else {
        ledger.fault(field.wrong("a list of agents"));
        return Vec::new();
    };
    let mut agents = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let Some(mut record) = Record::of(item, &format!("agents.{index}"), "an agent", ledger)
        else {
            continue;
        };
        let id = record.text("id", ledger);
        if let Some((id, _)) = &id {
            record.called(format!("agents.{id}"));
        }
        let description = record.text("description", ledger).map(|(text, field)| {
            ledger.converted(&field.at, "the role's description, for org.yaml");
            text.trim().to_owned()
        });
        let timeout = record.count("timeoutSeconds", ledger);
        let timeout = timeout.and_then(|(number, field)| {
            seconds(number, &field.at, "`run: {timeout}` of its gates", ledger)
        });
        if let Some((id, field)) = id {
            let at = At { path: join(record.path(), "id"), ..field.at };
            ledger.converted(&at, "a role");
            agents.push(Agent { id, description, timeout });
        }
        record.finish(ledger, |key| match key {
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
fn seconds(number: u64, at: &At, what: &str, ledger: &mut Ledger<'_>) -> Option<String> {
    match format!("{number}s").parse::<Period>() {
        Ok(period) => {
            ledger.converted(at, format!("{what}: {period}"));
            Some(period.to_string())
        }
        Err(fault) => {
            ledger.dropped(at, fault.to_string());
            None
        }
    }
}
