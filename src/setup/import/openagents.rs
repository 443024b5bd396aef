//! openagents: steps that name the next one, several workflows in a file if need be.
//!
//! How it counts: `max_retries` is how often a step is tried in all, so one less is how often it is done again. Where a step
//! says nothing of errors, an error there goes the way of a success; here it fails the task.

pub(crate) mod gates;
pub(crate) mod steps;

use std::collections::HashSet;

use super::names::{self, Names};
use super::record::{Field, Record};
use super::report::ImportReport;
use super::workflow_draft::{ReadWorkflow, WorkflowDraft, tidy};
use crate::files::yaml::{Kind, Node};
use gates::build;
use steps::read_steps;

/// Returns the workflows of the file: the file is one, or has several under `workflows`.
pub(crate) fn read<'r>(
    root: &'r Node<'static>,
    stem: &str,
    report: &'r ImportReport<'r>,
) -> Vec<ReadWorkflow> {
    let Some(mut top) = Record::of(root, "", "a workflow", report) else { return Vec::new() };
    let mut names = Names::default();
    let Some(field) = top.take("workflows") else {
        return workflow(top, None, stem, &mut names).into_iter().collect();
    };
    let workflows = field.workflows().into_iter();
    let found: Vec<ReadWorkflow> =
        workflows.filter_map(|(key, record)| workflow(record, key, stem, &mut names)).collect();
    if found.is_empty() && !report.has_faults() {
        field.at.fault("no_workflow", "there is no workflow under `workflows`", "");
    }
    top.finish(|key| match key {
        "default_workflow" => Some("`defaultWorkflow` of project.yaml says it; that file is yours"),
        "workflows_dir" => Some("workflows are in `workflows/`"),
        _ => Some("no part of a workflow"),
    });
    found
}

fn workflow(
    mut record: Record<'_>,
    key: Option<&str>,
    stem: &str,
    names: &mut Names,
) -> Option<ReadWorkflow> {
    let id = record.text("id");
    let id = if id.is_none() && key.is_none() { record.text("name") } else { id };
    let foreign = id.as_ref().map_or(key.unwrap_or(stem), |id| &id.value).to_owned();
    let name = if let Some(id) = &id {
        names.take(id, stem, "as `name`")
    } else {
        let (name, why) = names.add(&foreign, stem);
        match why {
            Some(why) => record.report.added(format!("{}.name", record.path), why),
            None if key.is_none() => {
                let why = format!("the file has no `id`: it is called `{name}`");
                record.report.added("name", why);
            }
            None => {}
        }
        name
    };
    let mut draft = WorkflowDraft { name, ..WorkflowDraft::default() };
    draft.description = record.text("description").map(|said| tidy(&said.kept()));
    if let Some(field) = record.take("version") {
        field.at.kept();
        draft.version = Some(field.node.to_value());
    }
    if let Some(field) = record.take("visible_to") {
        draft.visible_to = visible_to(field);
    }
    if let Some(field) = record.take("context") {
        if let Kind::Mapping(entries) = &field.node.kind {
            field.at.kept_as("as `context.input`");
            let entries =
                entries.iter().map(|entry| (names::key(&entry.key.text), entry.value.to_value()));
            draft.context.input = entries.collect();
        } else {
            field.wrong("a mapping of keys and values");
        }
    }
    let Some(field) = record.take("steps") else {
        record.missing(format!("the workflow `{foreign}` has no `steps`"));
        return None;
    };
    let steps = read_steps(&field);
    let report = record.report;
    record.finish(|key| (key == "name").then_some("`id` is its name"));
    build(&mut draft, &steps, report);
    Some(draft.finish())
}

fn visible_to(field: Field<'_>) -> Vec<String> {
    let at = field.at.clone();
    let given = field.texts().map(|said| said.value).unwrap_or_default();
    let mut seen = HashSet::new();
    let mut ours: Vec<String> = given.iter().map(|name| names::plain(name, "agent")).collect();
    ours.retain(|name| seen.insert(name.clone()));
    if ours == given {
        at.kept_as("as `visibleTo`");
    } else {
        at.converted("`visibleTo`, with names that are allowed here");
    }
    ours
}
