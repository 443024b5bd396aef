//! The configuration as a whole: project.yaml, org.yaml and `workflows/`, read together, with everything wrong in any of them.
//!
//! Only shapes are judged here. What the rules mean is the engine's to judge: it names places as nouns, and
//! [`Configuration::diagnostic`] finds them in the files.

use std::ops::Range;

use super::loading::Loading;
use super::locate::{Step, find, within};
use crate::domain::{Org, Outcome, Place, Project, Severity, WorkflowName};
use crate::files::diagnostic::diagnostic::Diagnostic;
use crate::files::yaml::Node;

/// The project's own file, at its top.
pub const PROJECT_FILE: &str = "project.yaml";
/// Who there is, beside it.
pub const ORG_FILE: &str = "org.yaml";
/// The folder of further workflows, one a file.
pub const WORKFLOWS_FOLDER: &str = "workflows";

/// A file of the configuration, by its name from the top of the project: `workflows/release.yaml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// What a file of the configuration is about; its name says so.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The project.
    Project,
    /// Who there is.
    Org,
    /// One workflow; the file's name without its suffix, which is the workflow's name if it says none.
    Workflow(String),
}

impl Subject {
    /// Returns what a file of that name is about, if it belongs to the configuration.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            PROJECT_FILE => Some(Self::Project),
            ORG_FILE => Some(Self::Org),
            _ => {
                let file = name.strip_prefix(WORKFLOWS_FOLDER)?.strip_prefix('/')?;
                let stem = file.strip_suffix(".yaml").or_else(|| file.strip_suffix(".yml"))?;
                let hidden = stem.is_empty() || stem.starts_with('.') || stem.contains('/');
                (!hidden).then(|| Self::Workflow(stem.to_owned()))
            }
        }
    }
}

/// A configuration whose shape is sound.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// What project.yaml and `workflows/` say.
    pub project: Project,
    /// What org.yaml says; nobody where there is none.
    pub org: Org,
    pub(crate) files: Vec<File>,
    pub(crate) definitions: Vec<(WorkflowName, Site)>,
}

/// A file that was read.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) root: Node<'static>,
}

/// Where a workflow is defined.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub(crate) file: usize,
    pub(crate) steps: Vec<Step>,
}

/// What the files of a configuration say together.
#[derive(Debug, Clone)]
pub struct Reading {
    /// What could be read of it: all, where there are no faults.
    pub configuration: Configuration,
    /// Everything that is wrong with the shape of any of the files.
    pub faults: Vec<Diagnostic>,
}

/// Returns the configuration that the files say together, or everything that is wrong with the shape of any of them.
pub fn load(sources: &[Source]) -> Result<Configuration, Vec<Diagnostic>> {
    let Reading { configuration, faults } = read(sources);
    if faults.is_empty() { Ok(configuration) } else { Err(faults) }
}

/// Returns what the files say as far as they can be read. Files that are no part of a configuration are passed over; all of
/// them may be missing.
pub fn read(sources: &[Source]) -> Reading {
    let mut loading = Loading::default();
    let mut sources: Vec<(Subject, &Source)> = sources
        .iter()
        .filter_map(|source| Subject::of(&source.name).map(|subject| (subject, source)))
        .collect();
    sources.sort_by(|a, b| a.0.cmp(&b.0));
    for (subject, source) in sources {
        loading.file(source, subject);
    }
    loading.finish()
}

impl Configuration {
    /// Returns whether what is said of a place holds although other things could not be read: all gates before it could.
    pub fn is_whole_at(&self, at: &Place) -> bool {
        let (Place::Gate { workflow, .. }
        | Place::Route { workflow, .. }
        | Place::Branch { workflow, .. }
        | Place::Workflow { workflow, .. }) = at
        else {
            return true;
        };
        let gates = Place::Workflow { workflow: workflow.clone(), field: "gates" };
        let written =
            self.way(&gates).and_then(|(file, steps)| find(&file.text, &file.root, &steps).1);
        let read = self.project.workflow(workflow).map_or(0, |workflow| workflow.gates.len());
        written.is_some_and(|node| node.items().len() == read)
    }

    /// Returns the diagnostic for what was found at a place; `part` is what is meant of the text that stands there.
    pub fn diagnostic(
        &self,
        severity: Severity,
        code: &'static str,
        at: &Place,
        part: Option<&Range<usize>>,
        message: &str,
        help: Option<&str>,
    ) -> Diagnostic {
        let (file, span) = self.span(at, part);
        let (name, text) =
            file.map_or((home(at), ""), |file| (file.name.as_str(), file.text.as_str()));
        Diagnostic::new(severity, code, name, text, span, message).help(help)
    }

    /// Returns the file of a place, and its bytes there: the value's, or those of what it would be part of.
    pub fn locate(&self, at: &Place) -> (&str, Range<usize>) {
        let (file, span) = self.span(at, None);
        (file.map_or(home(at), |file| file.name.as_str()), span)
    }

    fn span(&self, at: &Place, part: Option<&Range<usize>>) -> (Option<&File>, Range<usize>) {
        let Some((file, steps)) = self.way(at) else { return (None, 0..0) };
        let (whole, node) = find(&file.text, &file.root, &steps);
        let part = part.zip(node).and_then(|(part, node)| within(&file.text, node, part));
        (Some(file), part.unwrap_or(whole))
    }

    /// Returns the file of a place and the way to it from the top of the file.
    fn way(&self, at: &Place) -> Option<(&File, Vec<Step>)> {
        let keys =
            |field: &str| field.split('.').map(|key| Step::Key(key.to_owned())).collect::<Vec<_>>();
        let named = |name: &str| self.files.iter().find(|file| file.name == name);
        let workflow = |name: &WorkflowName| {
            let (_, site) = self.definitions.iter().find(|(own, _)| own == name)?;
            Some((self.files.get(site.file)?, site.steps.clone()))
        };
        let (file, mut steps, field) = match at {
            Place::Project { field } => (named(PROJECT_FILE)?, Vec::new(), *field),
            Place::Workflow { workflow: name, field } => {
                let (file, steps) = workflow(name)?;
                (file, steps, *field)
            }
            Place::Gate { workflow: name, gate, field } => {
                let (file, mut steps) = workflow(name)?;
                steps.extend([Step::Key("gates".to_owned()), Step::Index(*gate)]);
                (file, steps, *field)
            }
            Place::Route { workflow: name, gate, outcome, field } => {
                let (file, mut steps) = workflow(name)?;
                steps.extend([Step::Key("gates".to_owned()), Step::Index(*gate)]);
                match outcome {
                    Outcome::Failed => steps.push(Step::Key("onFailure".to_owned())),
                    other => steps
                        .extend(["routes", other.as_str()].map(|key| Step::Key(key.to_owned()))),
                }
                (file, steps, *field)
            }
            Place::Branch { workflow: name, gate, branch, outcome, field } => {
                let (file, mut steps) = workflow(name)?;
                steps.extend([Step::Key("gates".to_owned()), Step::Index(*gate)]);
                steps.extend([Step::Key("branches".to_owned()), Step::Index(*branch)]);
                if let Some(outcome) = outcome {
                    steps.extend(["routes", outcome.as_str()].map(|key| Step::Key(key.to_owned())));
                }
                (file, steps, *field)
            }
            Place::Role { role, field } => (
                named(ORG_FILE)?,
                vec![Step::Key("roles".to_owned()), Step::Id(role.to_string())],
                *field,
            ),
            Place::Member { role, index } => {
                let steps = ["roles", role.as_str(), "agents"].map(|key| Step::Key(key.to_owned()));
                return Some((
                    named(ORG_FILE)?,
                    steps.into_iter().chain([Step::Index(*index)]).collect(),
                ));
            }
            Place::Agent { agent, field } => (
                named(ORG_FILE)?,
                vec![Step::Key("agents".to_owned()), Step::Id(agent.to_string())],
                *field,
            ),
        };
        steps.extend(keys(field));
        Some((file, steps))
    }
}

/// Returns the file in which a place would be.
fn home(at: &Place) -> &'static str {
    match at {
        Place::Project { .. }
        | Place::Workflow { .. }
        | Place::Gate { .. }
        | Place::Route { .. }
        | Place::Branch { .. } => PROJECT_FILE,
        Place::Role { .. } | Place::Member { .. } | Place::Agent { .. } => ORG_FILE,
    }
}

#[cfg(test)]
mod tests;
