//! Reads the files of a configuration one after the other, and puts together what they say.

use super::config::{Configuration, File, PROJECT_FILE, Reading, Site, Source, Subject};
use super::project_file::{Definition, ProjectFile, Rank, default_name};
use super::workflow_file::workflow;
use super::{org_file, project_file};
use crate::domain::{
    ContextRules, Duty, Exits, Gate, GateKind, HandOut, Layout, Map, OnConditionError, Org,
    Outcome, Project, RejectionStrategy, RunLimits, Severity, Workflow, WorkflowName, listed,
};
use crate::files::diagnostic::diagnostic::Diagnostic;
use crate::files::task_file::conflict_markers;
use crate::files::yaml;
use crate::files::yaml::{Fault, Limits, Node, line_column};

#[derive(Default)]
pub(crate) struct Loading {
    project: ProjectFile,
    org: Org,
    files: Vec<File>,
    workflows: Vec<(usize, Definition)>,
    diagnostics: Vec<Diagnostic>,
}

impl Loading {
    pub(crate) fn file(&mut self, source: &Source, subject: Subject) {
        let (text, broken) = decoded(&source.bytes);
        let parsed = match broken {
            Some(fault) => Err(vec![fault]),
            None => yaml::parse(&text, &Limits::default()).map(Node::into_owned),
        };
        let mut faults = Vec::new();
        match parsed {
            Ok(root) => {
                let definitions = self.read(&root, subject, &mut faults);
                let file = self.files.len();
                self.files.push(File { name: source.name.clone(), text: text.clone(), root });
                for definition in definitions {
                    self.define(file, definition, &mut faults);
                }
            }
            Err(found) => match conflict_markers::in_text(&text) {
                Some(conflict) => faults.push(conflict),
                None => faults.extend(found),
            },
        }
        faults.sort_by_key(|fault| fault.span.start);
        self.diagnostics.extend(Diagnostic::from_faults(&source.name, &text, &faults));
    }

    fn read(
        &mut self,
        root: &Node<'_>,
        subject: Subject,
        faults: &mut Vec<Fault>,
    ) -> Vec<Definition> {
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
                workflow::read_file(root, &stem, faults).into_iter().collect()
            }
        }
    }

    fn define(&mut self, file: usize, definition: Definition, faults: &mut Vec<Fault>) {
        let name = &definition.workflow.name;
        if let Some((other, first)) =
            self.workflows.iter().find(|(_, other)| other.workflow.name == *name)
        {
            let other = &self.files[*other];
            let (line, _) = line_column(&other.text, first.span.start);
            let message = format!("there is already a workflow `{name}`, at {}:{line}", other.name);
            faults.push(
                Fault::new("duplicate_workflow", definition.span.clone(), message)
                    .help("give each workflow a `name` of its own"),
            );
        }
        self.workflows.push((file, definition));
    }

    pub(crate) fn finish(mut self) -> Reading {
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
            layout: file.layout.unwrap_or(Layout::Flat),
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
        let own = self.workflows.iter().find(|(_, definition)| definition.rank == Rank::Own);
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
