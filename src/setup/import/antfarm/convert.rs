//! From a file of antfarm to a workflow: its agents, its context, and the steps.

use super::agents::read_agents;
use super::gates::AntfarmGateBuilder;
use crate::domain::FieldFate::{Converted, Dropped, Kept};
use crate::setup::import::names::{self, Names};
use crate::setup::import::record::{FieldTable, Record};
use crate::setup::import::steps::{StepList, Unnamed};
use crate::setup::import::workflow_draft::{ReadWorkflow, WorkflowDraft};

const OF_FILE: FieldTable = &[
    ("name", Converted, "the first line of `description`"),
    ("cron", Dropped, "when work is looked for is the runner's matter"),
    ("notifications", Dropped, "whom to tell is in project.yaml"),
    ("notify_url", Dropped, "whom to tell is in project.yaml"),
    ("delivery", Dropped, "whom to tell is in project.yaml"),
    ("hooks", Dropped, "aof runs no commands around a workflow; react to its events instead"),
    ("run", Dropped, "how agents are run is the runner's matter"),
    ("workspace", Dropped, "how agents are run is the runner's matter"),
    ("acceptance_criteria", Dropped, PROSE),
    ("definition_of_done", Dropped, PROSE),
    ("workflow_objective", Dropped, PROSE),
];
const PROSE: &str = "prose about the workflow: put it into the tasks that go through it";
const OF_POLLING: FieldTable = &[
    (
        "timeoutSeconds",
        Dropped,
        "of the look for work, not of the work: that is an agent's `timeoutSeconds`",
    ),
    ("model", Dropped, "of the look for work, not of the work: that is an agent's `model`"),
    ("*", Dropped, "when work is looked for is the runner's matter"),
];
/// Returns the workflow of the file.
pub(crate) fn read(top: &Record<'_>, stem: &str) -> Vec<ReadWorkflow> {
    let name_key = if top.has("id") { "id" } else { "name" };
    let mut draft = WorkflowDraft::begin(top, name_key, (None, stem), &mut Names::default());
    if let Some(title) = top.text("name").filter(|_| name_key == "id") {
        let title = title.trim();
        draft.description = Some(match draft.description {
            Some(text) => format!("{title}\n\n{}\n", text.trim_end()),
            None => title.to_owned(),
        });
    }
    read_context(top, &mut draft);
    if let Some(polling) = top.record("polling") {
        polling.finish(&[OF_POLLING]);
    }
    let agents = read_agents(top);
    let steps = StepList::read(top, "id", Unnamed::IsNumbered);
    top.finish(&[OF_FILE]);
    AntfarmGateBuilder::new(&mut draft, &steps, &agents).build();
    vec![draft.finish()]
}

/// Reads the context of a run: each key with its default. A default that only repeats a key does not count.
fn read_context(top: &Record<'_>, draft: &mut WorkflowDraft) {
    for (name, place, node) in top.entries("context", "a mapping of keys and defaults") {
        let key = names::key(name);
        let text = node.as_str().unwrap_or_default().trim();
        let names_a_key =
            text.starts_with("{{") && text.ends_with("}}") && text.matches("{{").count() == 1;
        let value = if node.is_null() || names_a_key {
            let note = format!("`context.input.{key}`, empty: its value comes with the task");
            place.note(Converted, note);
            "".into()
        } else {
            let braces = if text.contains("{{") { "; its braces are never expanded" } else { "" };
            place.note(Kept, format!("as `context.input.{key}`{braces}"));
            node.to_value()
        };
        draft.context.input.insert(key, value);
    }
}
