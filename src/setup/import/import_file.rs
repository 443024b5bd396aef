//! Converts files of other systems to workflow files, with a remark on every field. No I/O; checks nothing that the loader checks.
//!
//! The steps: bytes -> tree and system (`source`) -> workflow (`workflow_draft`), by the reader of that system -> text
//! (`workflow_text`). A field about the route of a task is converted, or reported as lost; any other may be dropped, and is reported
//! too.

use super::aof;
use super::names;
use super::openagents;
use super::record::{ImportReport, Record};
use super::source;
use super::source::ForeignSystem;
use super::workflow_draft::{ReadWorkflow, RoleDraft};
use super::{antfarm, orbital, status_graph};
use crate::domain::{FieldFate, IdFault, ImportRemark, RoleId, WorkflowName, listed};
use crate::files::diagnostic::Diagnostic;
use crate::files::workflow_text;
use crate::files::yaml::Fault;

/// The result of reading a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Imported {
    pub system: ForeignSystem,
    pub workflows: Vec<ImportedWorkflow>,
    /// A remark on each field, in the order of the file.
    pub remarks: Vec<ImportRemark>,
}

/// An imported workflow, with the text of its file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ImportedWorkflow {
    pub name: WorkflowName,
    pub text: String,
    /// The roles that work in it.
    pub roles: Vec<RoleNeed>,
    /// The roles, or agents, that alone may see the workflow.
    pub viewers: Vec<RoleNeed>,
}

/// A role that org.yaml needs for a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoleNeed {
    pub role: RoleId,
    pub description: Option<String>,
    /// True if only people may be in the role.
    pub people: bool,
    /// True if the workflow names the role among those that may see it.
    pub views: bool,
}

impl Imported {
    /// Returns the fields whose loss changes the routes of tasks.
    pub(crate) fn lost(&self) -> impl Iterator<Item = &ImportRemark> {
        self.remarks.iter().filter(|remark| remark.fate == FieldFate::Lost)
    }
}

/// Reads the workflows in a file of another system. `name` renames a single one, or selects one of several.
pub(crate) fn import(
    file: &str,
    bytes: &[u8],
    system: Option<ForeignSystem>,
    name: Option<&WorkflowName>,
) -> Result<Imported, Vec<Diagnostic>> {
    let text = source::decoded(bytes)
        .map_err(|(text, fault)| vec![Diagnostic::from_fault(file, &text, &fault)])?;
    read(file, &text, system, name).map_err(|faults| Diagnostic::from_faults(file, &text, &faults))
}

fn read(
    file: &str,
    text: &str,
    system: Option<ForeignSystem>,
    name: Option<&WorkflowName>,
) -> Result<Imported, Vec<Fault>> {
    let foreign = source::read(file, text)?;
    let system = system.map_or_else(|| foreign.guess_system(), Ok).map_err(|fault| vec![fault])?;
    let report = ImportReport::new(foreign.lines);
    let top = Record::root(&foreign.root, &report);
    let stem = stem(file);
    let found = match system {
        ForeignSystem::Antfarm => antfarm::convert::read(&top, &stem),
        ForeignSystem::Openagents => openagents::read(&top, &stem),
        ForeignSystem::StatusGraph => status_graph::convert::read(&top, &stem),
        ForeignSystem::Orbital => orbital::read(&top, &stem),
        ForeignSystem::Aof => aof::read(&top, &stem),
    };
    let remarks = report.finish()?;
    let rendered = select_workflows(found, name)
        .and_then(|found| found.into_iter().map(render_workflow).collect::<Result<_, _>>());
    Ok(Imported { system, workflows: rendered.map_err(|fault| vec![fault])?, remarks })
}

/// Returns the selected workflows, with their final names.
fn select_workflows(
    mut found: Vec<ReadWorkflow>,
    name: Option<&WorkflowName>,
) -> Result<Vec<ReadWorkflow>, Fault> {
    if found.is_empty() {
        return Err(Fault::new("no_workflow", 0..0, "there is no workflow in this file"));
    }
    let Some(name) = name else { return Ok(found) };
    if let [only] = found.as_mut_slice() {
        name.as_str().clone_into(&mut only.name);
        only.map.insert("name".to_owned(), name.as_str().into());
        return Ok(found);
    }
    let known: Vec<String> = found.iter().map(|read| read.name.clone()).collect();
    found.retain(|read| read.name == name.as_str());
    if found.is_empty() {
        let message =
            format!("this file has {} workflows, and none is called `{name}`", known.len());
        return Err(Fault::new("unknown_workflow", 0..0, message).help(format!(
            "name one of {}, or leave `--name` out for all of them",
            listed(known)
        )));
    }
    Ok(found)
}

fn render_workflow(read: ReadWorkflow) -> Result<ImportedWorkflow, Fault> {
    let invalid = |fault: IdFault| Fault::new("invalid_value", 0..0, fault.to_string());
    let need = |RoleDraft { name, description, people }| {
        Ok(RoleNeed { role: name.parse().map_err(invalid)?, description, people, views: false })
    };
    let viewers = read.map.get("visibleTo").and_then(serde_json::Value::as_array);
    let viewer = |name: &serde_json::Value| {
        let role = name.as_str()?.parse().ok()?;
        let description = Some("May see the workflow and start it".to_owned());
        Some(RoleNeed { role, description, people: false, views: true })
    };
    Ok(ImportedWorkflow {
        viewers: viewers.into_iter().flatten().filter_map(viewer).collect(),
        name: read.name.parse().map_err(invalid)?,
        text: workflow_text::render(&read.map),
        roles: read.roles.0.into_iter().map(need).collect::<Result<_, Fault>>()?,
    })
}

/// Returns the name of a workflow that has none: that of its file, without suffixes.
fn stem(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or_default();
    let mut stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    if matches!(stem, "" | "workflow" | "config" | "project" | "-") {
        stem = "imported";
    }
    names::plain(stem, "imported")
}

#[cfg(test)]
mod tests;
