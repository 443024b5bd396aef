//! The configuration as a whole: reads project.yaml, org.yaml and `workflows/` together, and reports all faults.
//!
//! Only the syntax and types are checked here. `rules` validates the meaning: it names places in the model, and
//! [`Configuration::diagnostic`] finds them in the files.

use std::ops::Range;

use jiff::tz::TimeZone;

use super::decode::Faults;
use super::locate::{Step, find, within};
use super::project_file::ProjectFile;
use super::workflow_file;
use super::workflow_file::{Definition, default_name};
use super::{org_file, project_file};
use crate::diagnostic::Diagnostic;
use crate::yaml;
use crate::yaml::{Fault, Node, ParseLimits, line_column};
use aof_domain::{
    ConfigPlace, ContextRules, Duty, Exits, Gate, GateKind, HandOut, Map, OnConditionError, Org,
    Outcome, Project, RejectionStrategy, RunBudget, RunLimits, Severity, SquashPolicy, TaskLayout,
    Workflow, WorkflowName, listed,
};

/// The project's own file, in its root.
pub const PROJECT_FILE: &str = "project.yaml";
/// The file of roles and agents.
pub const ORG_FILE: &str = "org.yaml";
/// The folder of more workflows, one per file.
pub const WORKFLOWS_FOLDER: &str = "workflows";

/// A file of the configuration, by its path in the project: `workflows/release.yaml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// The kind of a file of the configuration, by its path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleFile {
    /// The project's settings.
    Project,
    /// Roles and agents.
    Org,
    /// One workflow, with the file's stem: the default for its name.
    Workflow(String),
}

impl RuleFile {
    /// Returns the kind of a file, if it belongs to the configuration.
    pub fn at(name: &str) -> Option<Self> {
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

/// A configuration without faults of syntax and types.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// The content of project.yaml and `workflows/`.
    pub project: Project,
    /// The content of org.yaml; empty without one.
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

/// The place where a workflow is defined.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub(crate) file: usize,
    pub(crate) steps: Vec<Step>,
}

/// The result of reading the files of a configuration.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The readable part; all of it if there are no faults.
    pub configuration: Configuration,
    /// All faults of syntax and types in any of the files.
    pub faults: Vec<Diagnostic>,
}

/// Reads the configuration; fails with all faults in any of the files.
pub fn load(sources: &[Source]) -> Result<Configuration, Vec<Diagnostic>> {
    let Reading { configuration, faults } = read(sources);
    if faults.is_empty() { Ok(configuration) } else { Err(faults) }
}

/// Reads the files as far as possible. Ignores files that do not belong to a configuration; all of them may be missing.
pub fn read(sources: &[Source]) -> Reading {
    let mut loading = Loading::default();
    let mut sources: Vec<(RuleFile, &Source)> = sources
        .iter()
        .filter_map(|source| RuleFile::at(&source.name).map(|subject| (subject, source)))
        .collect();
    sources.sort_by(|a, b| a.0.cmp(&b.0));
    for (subject, source) in sources {
        loading.file(source, subject);
    }
    loading.finish()
}

impl Configuration {
    /// Returns whether findings about a place are valid despite faults elsewhere: all gates of its workflow could be read.
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
            self.path_to(&gates).and_then(|(file, steps)| find(&file.text, &file.root, &steps).1);
        let read = self.project.workflow(workflow).map_or(0, |workflow| workflow.gates.len());
        written.is_some_and(|node| node.items().len() == read)
    }

    /// Returns the diagnostic for a finding at a place; `part` is the range within the text there.
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
            file.map_or((default_file(at), ""), |file| (file.name.as_str(), file.text.as_str()));
        Diagnostic::new(severity, code, name, text, span, message).help(help)
    }

    /// Returns the file of a place, and its byte range: the value's, or that of its parent if it is missing.
    fn span(&self, at: &ConfigPlace, part: Option<&Range<usize>>) -> (Option<&File>, Range<usize>) {
        let Some((file, steps)) = self.path_to(at) else { return (None, 0..0) };
        let (whole, node) = find(&file.text, &file.root, &steps);
        let part = part.zip(node).and_then(|(part, node)| within(&file.text, node, part));
        (Some(file), part.unwrap_or(whole))
    }

    /// Returns the file of a place, and the path to it in the file.
    fn path_to(&self, at: &ConfigPlace) -> Option<(&File, Vec<Step>)> {
        let key = |key: &str| Step::Key(key.to_owned());
        let (file, mut steps) = match at {
            ConfigPlace::Workflow { workflow, .. }
            | ConfigPlace::Gate { workflow, .. }
            | ConfigPlace::Route { workflow, .. }
            | ConfigPlace::Branch { workflow, .. } => {
                let (_, site) = self.definitions.iter().find(|(name, _)| name == workflow)?;
                (self.files.get(site.file)?, site.steps.clone())
            }
            _ => (self.files.iter().find(|file| file.name == default_file(at))?, Vec::new()),
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
            ConfigPlace::Promise { index, field } => {
                steps.extend([key("promises"), Step::Index(*index)]);
                field
            }
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
fn default_file(at: &ConfigPlace) -> &'static str {
    match at {
        ConfigPlace::Role { .. } | ConfigPlace::Member { .. } | ConfigPlace::Agent { .. } => {
            ORG_FILE
        }
        _ => PROJECT_FILE,
    }
}

/// Reads the files of a configuration one after the other, and collects their content.
#[derive(Default)]
struct Loading {
    project: ProjectFile,
    org: Org,
    files: Vec<File>,
    workflows: Vec<(usize, Definition)>,
    diagnostics: Vec<Diagnostic>,
}

impl Loading {
    fn file(&mut self, source: &Source, subject: RuleFile) {
        let (text, broken) = decoded(&source.bytes);
        let parsed = match broken {
            Some(fault) => Err(vec![fault]),
            None => yaml::parse(&text, &ParseLimits::default()).map(Node::into_owned),
        };
        let faults = Faults::default();
        match parsed {
            Ok(root) => {
                let definitions = self.read(&root, subject, &faults);
                let file = self.files.len();
                self.files.push(File { name: source.name.clone(), text: text.clone(), root });
                for definition in definitions {
                    self.add_definition(file, definition, &faults);
                }
            }
            Err(found) => match yaml::conflict_in(&text) {
                Some(conflict) => faults.push(conflict),
                None => found.into_iter().for_each(|fault| faults.push(fault)),
            },
        }
        let mut faults = faults.into_inner();
        faults.sort_by_key(|fault| fault.span.start);
        self.diagnostics.extend(Diagnostic::from_faults(&source.name, &text, &faults));
    }

    fn read(&mut self, root: &Node<'_>, subject: RuleFile, faults: &Faults) -> Vec<Definition> {
        match subject {
            RuleFile::Project => {
                self.project = project_file::read(root, faults);
                std::mem::take(&mut self.project.workflows)
            }
            RuleFile::Org => {
                self.org = org_file::read(root, faults);
                Vec::new()
            }
            RuleFile::Workflow(stem) => {
                workflow_file::read_file(root, &stem, faults).into_iter().collect()
            }
        }
    }

    fn add_definition(&mut self, file: usize, definition: Definition, faults: &Faults) {
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
            // Another fault may be the cause.
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
            timezone: file.timezone.unwrap_or(TimeZone::UTC),
            commit_edits: file.commit_edits.unwrap_or(true),
            git: file.git.unwrap_or_default(),
            squashes: file.squashes.unwrap_or(SquashPolicy::Accept),
            run: file.run.unwrap_or_default(),
            workspaces: file.workspaces.unwrap_or_default(),
            notify: file.notify,
            budgets: file.budgets,
            recurring: file.recurring,
            promises: file.promises,
            workflows,
            default_workflow,
            implicit_workflow,
        };
        let configuration =
            Configuration { project, org: self.org, files: self.files, definitions };
        Reading { configuration, faults: self.diagnostics }
    }

    /// Returns the default workflow: the configured one, the project's own, the only one, or the one named `default`. The order
    /// of a list does not matter.
    fn default_workflow(&self) -> Result<WorkflowName, Diagnostic> {
        if let Some(name) = &self.project.default_workflow {
            return Ok(name.clone());
        }
        let name = |(_, definition): &(usize, Definition)| definition.workflow.name.clone();
        let found = self.workflows.iter().find(|(_, definition)| definition.is_own);
        match (found, self.workflows.as_slice()) {
            (Some(found), _) => Ok(name(found)),
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

/// Decodes a file without its byte order mark; with a fault if it is not UTF-8.
fn decoded(bytes: &[u8]) -> (String, Option<Fault>) {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes).into_owned();
    let fault = std::str::from_utf8(bytes).err().map(|error| {
        // Up to the first invalid byte, the lossy text is the same.
        let at = error.valid_up_to();
        Fault::new("not_utf8", at..at + 1, "this is not UTF-8 text").help("save the file as UTF-8")
    });
    (text, fault)
}

/// Returns the workflow of a project without one (spec 1, 10.2): work is complete when its agent says so.
fn implicit() -> Workflow {
    let gate = Gate {
        id: "complete".parse().expect("it is letters"),
        description: None,
        when: None,
        on_condition_error: OnConditionError::Skip,
        detour: false,
        wait_for: None,
        check: Vec::new(),
        delivery: false,
        exits: Exits::default(),
        metadata: Map::new(),
        kind: GateKind::Work(Box::new(Duty::new("default".parse().expect("it is letters")))),
    };
    Workflow {
        name: default_name(),
        description: None,
        version: None,
        visible_to: Vec::new(),
        timeout: None,
        lease: None,
        run: RunLimits::default(),
        budget: RunBudget::default(),
        context: ContextRules::default(),
        default_outcome: Outcome::Complete,
        rejection: RejectionStrategy::Origin,
        holds_rejections: false,
        repeat: None,
        gates: vec![gate],
    }
}

#[cfg(test)]
mod tests;
