//! The files of other systems as workflows of ours: bytes to text, with what became of every field. No I/O, and nothing is
//! judged that the loader judges.
//!
//! The steps: bytes -> tree, and whose file it is (`source`) -> a workflow as written (`workflow_draft`), by the
//! reader of that system -> text (`workflow_text`). What a file says about the way of a task is converted, or reported as lost;
//! anything else may be dropped, and is reported too.

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

/// What a file came to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Imported {
    pub system: ForeignSystem,
    pub workflows: Vec<ImportedWorkflow>,
    /// What became of each field, in the order of the file.
    pub remarks: Vec<ImportRemark>,
}

/// A workflow that was read, as the text of a file of ours.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ImportedWorkflow {
    pub name: WorkflowName,
    pub text: String,
    /// The roles that work in it.
    pub roles: Vec<RoleNeed>,
}

/// A role that org.yaml needs for a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoleNeed {
    pub role: RoleId,
    pub description: Option<String>,
    /// Whether people are meant.
    pub people: bool,
}

impl Imported {
    /// Returns the fields without which a task would go another way.
    pub(crate) fn lost(&self) -> impl Iterator<Item = &ImportRemark> {
        self.remarks.iter().filter(|remark| remark.fate == FieldFate::Lost)
    }
}

/// Reads the workflows in a file of another system. `name` is what one is to be called; of several it picks the one of that
/// name.
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

/// Returns the workflows that are wanted, called as they are to be called.
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
        Ok(RoleNeed { role: name.parse().map_err(invalid)?, description, people })
    };
    Ok(ImportedWorkflow {
        name: read.name.parse().map_err(invalid)?,
        text: workflow_text::render(&read.map),
        roles: read.roles.0.into_iter().map(need).collect::<Result<_, Fault>>()?,
    })
}

/// Returns what a workflow is called whose file says no name: as the file, without the words that systems put behind it.
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
