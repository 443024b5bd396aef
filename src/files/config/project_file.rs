//! project.yaml: the project's settings, and usually its workflow.

use std::ops::Range;

use super::decode::{Fields, parse_key, wrong_kind};
use super::locate::Step;
use super::notify_file;
use super::notify_file::Whose;
use super::workflow_file::definition::{self, Definition, Rank};
use crate::domain::{Git, HandOut, IdPrefix, Layout, Subscription, Workflow, WorkflowName};
use crate::files::yaml::{Fault, Kind, Node};

/// What project.yaml says; everything in it is optional.
#[derive(Default)]
pub(crate) struct ProjectFile {
    pub(crate) name: Option<String>,
    pub(crate) owner: Option<String>,
    pub(crate) id_prefix: Option<IdPrefix>,
    pub(crate) layout: Option<Layout>,
    pub(crate) hand_out: Option<HandOut>,
    pub(crate) commit_edits: Option<bool>,
    pub(crate) git: Option<Git>,
    pub(crate) notify: Vec<Subscription>,
    pub(crate) default_workflow: Option<WorkflowName>,
    pub(crate) workflows: Vec<Definition>,
}

/// Returns the name of a workflow that says none.
pub(crate) fn default_name() -> WorkflowName {
    "default".parse().expect("it is a letter and letters")
}

/// Returns what the file says, as far as it can be read.
pub(crate) fn read(root: &Node<'_>, faults: &mut Vec<Fault>) -> ProjectFile {
    if root.is_null() {
        return ProjectFile::default();
    }
    let Some(mut fields) = Fields::of(root, "project.yaml", faults) else {
        return ProjectFile::default();
    };
    let mut file = ProjectFile::default();
    if let Some(mut project) =
        fields.take("project").and_then(|node| Fields::of(node, "`project`", faults))
    {
        file.name = name(&mut project, faults);
        file.id_prefix = project.parsed("idPrefix", faults);
        file.owner = project.text("owner", faults);
        project.refuse_unknown(faults);
    }
    read_workflows(&mut fields, &mut file, faults);
    file.default_workflow = fields.parsed("defaultWorkflow", faults);
    file.hand_out = fields.parsed("handOut", faults);
    if let Some(mut tasks) =
        fields.take("tasks").and_then(|node| Fields::of(node, "`tasks`", faults))
    {
        file.layout = tasks.parsed("layout", faults);
        tasks.refuse_unknown(faults);
    }
    if let Some(mut watch) =
        fields.take("watch").and_then(|node| Fields::of(node, "`watch`", faults))
    {
        file.commit_edits = watch.flag("commitEdits", faults);
        watch.refuse_unknown(faults);
    }
    if let Some(mut git) = fields.take("git").and_then(|node| Fields::of(node, "`git`", faults)) {
        let unsaid = Git::default();
        file.git = Some(Git {
            sync: git.flag("sync", faults).unwrap_or(unsaid.sync),
            remote: git.parsed("remote", faults),
            branch: git.parsed("branch", faults),
            every: git.parsed("every", faults).unwrap_or(unsaid.every),
        });
        git.refuse_unknown(faults);
    }
    file.notify = notify_file::read(&mut fields, Whose::Project, faults);
    fields.refuse_unknown_but(faults, |key| match key {
        "sync" | "remote" | "branch" | "every" => {
            Some(format!("write it under `git`, as in `git: {{{key}: ...}}`"))
        }
        "name" | "idPrefix" | "owner" => {
            Some(format!("write it under `project`, as in `project: {{{key}: ...}}`"))
        }
        "gates" | "rejectionStrategy" | "outcomes" | "defaultOutcome" => {
            Some("write it under `workflow`, indented".to_owned())
        }
        "roles" | "agents" => Some(format!("`{key}` belongs into org.yaml")),
        _ => None,
    });
    file
}

/// Returns the name. One that looks like a number is that number's text: signatures are of it, and older ones have to stay good.
fn name(project: &mut Fields<'_, '_>, faults: &mut Vec<Fault>) -> Option<String> {
    match project.take("name").map(|node| &node.kind) {
        Some(Kind::Number(number)) => Some(number.number().to_string()),
        _ => project.text("name", faults),
    }
}

fn read_workflows(fields: &mut Fields<'_, '_>, file: &mut ProjectFile, faults: &mut Vec<Fault>) {
    // A process that is announced and not there must not fall back to the one without any gates.
    for key in ["workflow", "workflows"] {
        if fields.take(key).is_none() && fields.has(key) {
            faults.push(
                Fault::new("empty_workflow", fields.key_span(key), format!("`{key}` says nothing"))
                    .help("add `gates` to it, or remove the line"),
            );
        }
    }
    let (own, several) = (fields.take("workflow"), fields.take("workflows"));
    if own.is_some() && several.is_some() {
        faults.push(
            Fault::new(
                "conflicting_fields",
                fields.key_span("workflows"),
                "`workflow` and `workflows` exclude each other",
            )
            .label(fields.key_span("workflow"), "the other is here")
            .help("move the one workflow into `workflows`, and name it in `defaultWorkflow`"),
        );
    }
    if let Some(node) = own {
        let span = definition::name_span(node).unwrap_or_else(|| fields.key_span("workflow"));
        let workflow = definition::read(node, Some(default_name()), faults);
        file.define(workflow, vec![Step::Key("workflow".into())], span, Rank::Own);
    }
    let Some(node) = several else { return };
    let steps = |step| vec![Step::Key("workflows".into()), step];
    match &node.kind {
        Kind::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                let span = definition::name_span(item).unwrap_or_else(|| item.span.clone());
                let workflow = definition::read(item, None, faults);
                file.define(workflow, steps(Step::Index(index)), span, Rank::OneOfMany);
            }
        }
        Kind::Mapping(entries) => {
            for entry in entries {
                let key = &entry.key;
                let Some(name) = parse_key::<WorkflowName>(key, faults) else { continue };
                let workflow = definition::read(&entry.value, Some(name.clone()), faults);
                if let Some(other) = workflow.as_ref().filter(|workflow| workflow.name != name) {
                    faults.push(
                        Fault::new(
                            "name_mismatch",
                            definition::name_span(&entry.value).unwrap_or_else(|| key.span.clone()),
                            format!(
                                "this says `{}`, and the workflow stands under `{name}`",
                                other.name
                            ),
                        )
                        .help("remove `name`: the key is the name"),
                    );
                }
                file.define(
                    workflow,
                    steps(Step::Key(key.text.clone().into_owned())),
                    key.span.clone(),
                    Rank::OneOfMany,
                );
            }
        }
        _ => faults.push(wrong_kind(
            node,
            "`workflows` is a list of workflows, or a mapping of names and workflows",
        )),
    }
    if node.items().is_empty()
        && node.entries().is_empty()
        && matches!(node.kind, Kind::Sequence(_) | Kind::Mapping(_))
    {
        faults.push(
            Fault::new("empty_workflow", node.span.clone(), "`workflows` says nothing")
                .help("add a workflow to it, or remove the line"),
        );
    }
}

impl ProjectFile {
    fn define(
        &mut self,
        workflow: Option<Workflow>,
        steps: Vec<Step>,
        span: Range<usize>,
        rank: Rank,
    ) {
        self.workflows.extend(workflow.map(|workflow| Definition { workflow, steps, span, rank }));
    }
}
