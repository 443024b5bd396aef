//! The configuration as a whole: project.yaml, org.yaml and `workflows/`, read together, with everything wrong in any of them.
//!
//! Only shapes are judged here. What the rules mean is the engine's to judge: it names places as nouns, and
//! [`Configuration::diagnostic`] finds them in the files.

use std::ops::Range;

use super::decode::Faults;
use super::locate::{Step, find, within};
use super::project_file::ProjectFile;
use super::workflow_file;
use super::workflow_file::{Definition, default_name};
use super::{org_file, project_file};
use crate::domain::{
    ConfigPlace, ContextRules, Duty, Exits, Gate, GateKind, HandOut, Map, OnConditionError, Org,
    Outcome, Project, RejectionStrategy, RunLimits, Severity, TaskLayout, Workflow, WorkflowName,
    listed,
};
use crate::files::conflict_markers;
use crate::files::diagnostic::Diagnostic;
use crate::files::yaml;
use crate::files::yaml::{Fault, Limits, Node, line_column};

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
    pub fn is_whole_at(&self, at: &ConfigPlace) -> bool {
        let (ConfigPlace::Gate { workflow, .. }
        | ConfigPlace::Route { workflow, .. }
        | ConfigPlace::Branch { workflow, .. }
        | ConfigPlace::Workflow { workflow, .. }) = at
        else {
            return true;
        };
        let gates = ConfigPlace::Workflow { workflow: workflow.clone(), field: "gates" };
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
        at: &ConfigPlace,
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
    pub fn locate(&self, at: &ConfigPlace) -> (&str, Range<usize>) {
        let (file, span) = self.span(at, None);
        (file.map_or(home(at), |file| file.name.as_str()), span)
    }

    fn span(&self, at: &ConfigPlace, part: Option<&Range<usize>>) -> (Option<&File>, Range<usize>) {
        let Some((file, steps)) = self.way(at) else { return (None, 0..0) };
        let (whole, node) = find(&file.text, &file.root, &steps);
        let part = part.zip(node).and_then(|(part, node)| within(&file.text, node, part));
        (Some(file), part.unwrap_or(whole))
    }

    /// Returns the file of a place and the way to it from the top of the file.
    fn way(&self, at: &ConfigPlace) -> Option<(&File, Vec<Step>)> {
        let key = |key: &str| Step::Key(key.to_owned());
        let (file, mut steps) = match at {
            ConfigPlace::Workflow { workflow, .. }
            | ConfigPlace::Gate { workflow, .. }
            | ConfigPlace::Route { workflow, .. }
            | ConfigPlace::Branch { workflow, .. } => {
                let (_, site) = self.definitions.iter().find(|(own, _)| own == workflow)?;
                (self.files.get(site.file)?, site.steps.clone())
            }
            _ => (self.files.iter().find(|file| file.name == home(at))?, Vec::new()),
        };
        if let ConfigPlace::Gate { gate, .. }
        | ConfigPlace::Route { gate, .. }
        | ConfigPlace::Branch { gate, .. } = at
        {
            steps.extend([key("gates"), Step::Index(*gate)]);
        }
        let field = match at {
            ConfigPlace::Project { field }
            | ConfigPlace::Workflow { field, .. }
            | ConfigPlace::Gate { field, .. } => field,
            ConfigPlace::Route { outcome: Outcome::Failed, field, .. } => {
                steps.push(key("onFailure"));
                field
            }
            ConfigPlace::Route { outcome, field, .. } => {
                steps.extend(["routes", outcome.as_str()].map(key));
                field
            }
            ConfigPlace::Branch { branch, outcome, field, .. } => {
                steps.extend([key("branches"), Step::Index(*branch)]);
                steps.extend(outcome.iter().flat_map(|o| ["routes", o.as_str()].map(key)));
                field
            }
            ConfigPlace::Role { role, field } => {
                steps.extend([key("roles"), Step::Id(role.to_string())]);
                field
            }
            ConfigPlace::Member { role, index } => {
                steps.extend([key("roles"), key(role.as_str()), key("agents")]);
                steps.push(Step::Index(*index));
                return Some((file, steps));
            }
            ConfigPlace::Agent { agent, field } => {
                steps.extend([key("agents"), Step::Id(agent.to_string())]);
                field
            }
        };
        steps.extend(field.split('.').map(key));
        Some((file, steps))
    }
}

/// Returns the file in which a place would be.
fn home(at: &ConfigPlace) -> &'static str {
    match at {
        ConfigPlace::Role { .. } | ConfigPlace::Member { .. } | ConfigPlace::Agent { .. } => {
            ORG_FILE
        }
        _ => PROJECT_FILE,
    }
}

/// Reads the files of a configuration one after the other, and puts together what they say.
#[derive(Default)]
struct Loading {
    project: ProjectFile,
    org: Org,
    files: Vec<File>,
    workflows: Vec<(usize, Definition)>,
    diagnostics: Vec<Diagnostic>,
}

impl Loading {
    fn file(&mut self, source: &Source, subject: Subject) {
        let (text, broken) = decoded(&source.bytes);
        let parsed = match broken {
            Some(fault) => Err(vec![fault]),
            None => yaml::parse(&text, &Limits::default()).map(Node::into_owned),
        };
        let faults = Faults::default();
        match parsed {
            Ok(root) => {
                let definitions = self.read(&root, subject, &faults);
                let file = self.files.len();
                self.files.push(File { name: source.name.clone(), text: text.clone(), root });
                for definition in definitions {
                    self.define(file, definition, &faults);
                }
            }
            Err(found) => match conflict_markers::in_text(&text) {
                Some(conflict) => faults.push(conflict),
                None => found.into_iter().for_each(|fault| faults.push(fault)),
            },
        }
        let mut faults = faults.into_inner();
        faults.sort_by_key(|fault| fault.span.start);
        self.diagnostics.extend(Diagnostic::from_faults(&source.name, &text, &faults));
    }

    fn read(&mut self, root: &Node<'_>, subject: Subject, faults: &Faults) -> Vec<Definition> {
        match subject {
            Subject::Project => {
                self.project = project_file::read(root, faults);
                std::mem::take(&mut self.project.workflows)
            }
            Subject::Org => {
                self.org = org_file::read(root, faults);
                Vec::new()
            }
            Subject::Workflow(stem) => {
                workflow_file::read_file(root, &stem, faults).into_iter().collect()
            }
        }
    }

    fn define(&mut self, file: usize, definition: Definition, faults: &Faults) {
        let name = &definition.workflow.name;
        if let Some((other, first)) =
            self.workflows.iter().find(|(_, other)| other.workflow.name == *name)
        {
            let other = &self.files[*other];
            let (line, _) = line_column(&other.text, first.span.start);
            let message = format!("there is already a workflow `{name}`, at {}:{line}", other.name);
            faults.add(
                "duplicate_workflow",
                &definition.span,
                message,
                "give each workflow a `name` of its own",
            );
        }
        self.workflows.push((file, definition));
    }

    fn finish(mut self) -> Reading {
        let implicit_workflow = self.workflows.is_empty();
        let default_workflow = self.default_workflow().unwrap_or_else(|diagnostic| {
            // Whatever else is wrong may be why.
            if self.diagnostics.is_empty() {
                self.diagnostics.push(diagnostic);
            }
            default_name()
        });
        let mut workflows = Vec::new();
        let mut definitions = Vec::new();
        for (file, definition) in self.workflows {
            definitions
                .push((definition.workflow.name.clone(), Site { file, steps: definition.steps }));
            workflows.push(definition.workflow);
        }
        if implicit_workflow {
            workflows.push(implicit());
        }
        let file = std::mem::take(&mut self.project);
        let project = Project {
            name: file.name,
            owner: file.owner,
            id_prefix: file.id_prefix.unwrap_or_default(),
            layout: file.layout.unwrap_or(TaskLayout::Flat),
            hand_out: file.hand_out.unwrap_or(HandOut::Ask),
            commit_edits: file.commit_edits.unwrap_or(true),
            git: file.git.unwrap_or_default(),
            notify: file.notify,
            workflows,
            default_workflow,
            implicit_workflow,
        };
        let configuration =
            Configuration { project, org: self.org, files: self.files, definitions };
        Reading { configuration, faults: self.diagnostics }
    }

    /// Returns the workflow of tasks that name none: the one that is said to be, the project's own, the only one, or the one
    /// that is called so. Which of several comes first in a list decides nothing.
    fn default_workflow(&self) -> Result<WorkflowName, Diagnostic> {
        if let Some(name) = &self.project.default_workflow {
            return Ok(name.clone());
        }
        let name = |(_, definition): &(usize, Definition)| definition.workflow.name.clone();
        let own = self.workflows.iter().find(|(_, definition)| definition.is_own);
        match (own, self.workflows.as_slice()) {
            (Some(own), _) => Ok(name(own)),
            (None, []) => Ok(default_name()),
            (None, [only]) => Ok(name(only)),
            (None, several) => {
                let names: Vec<WorkflowName> = several.iter().map(name).collect();
                if names.contains(&default_name()) {
                    return Ok(default_name());
                }
                let (file, first) = &several[0];
                let file = &self.files[*file];
                let message = format!("none of the {} workflows is the default", names.len());
                let span = first.span.clone();
                Err(Diagnostic::new(
                    Severity::Error,
                    "no_default_workflow",
                    &file.name,
                    &file.text,
                    span,
                    &message,
                )
                .help(Some(&format!(
                    "add `defaultWorkflow: {}` to {PROJECT_FILE}, or name another of {}",
                    names[0],
                    listed(&names)
                ))))
            }
        }
    }
}

/// Returns the text of a file without a byte order mark, and what is wrong where it is none.
fn decoded(bytes: &[u8]) -> (String, Option<Fault>) {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes).into_owned();
    let fault = std::str::from_utf8(bytes).err().map(|error| {
        // Up to the first wrong byte the lossy text is the same.
        let at = error.valid_up_to();
        Fault::new("not_utf8", at..at + 1, "this is not UTF-8 text").help("save the file as UTF-8")
    });
    (text, fault)
}

/// Returns the workflow of a project that has none (spec 1, 10.2): work is done when its agent says so.
fn implicit() -> Workflow {
    let gate = Gate {
        id: "complete".parse().expect("it is letters"),
        description: None,
        when: None,
        on_condition_error: OnConditionError::Skip,
        detour: false,
        exits: Exits::default(),
        metadata: Map::new(),
        kind: GateKind::Work(Box::new(Duty::of("default".parse().expect("it is letters")))),
    };
    Workflow {
        name: default_name(),
        description: None,
        version: None,
        visible_to: Vec::new(),
        timeout: None,
        lease: None,
        run: RunLimits::default(),
        context: ContextRules::default(),
        default_outcome: Outcome::Complete,
        rejection: RejectionStrategy::Origin,
        holds_rejections: false,
        gates: vec![gate],
    }
}

#[cfg(test)]
mod tests;
