//! project.yaml: the project's settings, and usually its workflow.

use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::budget_file;
use super::decode::{Faults, FieldReader, one_or_many, parse_key, text_of};
use super::locate::Step;
use super::notify_file;
use super::recurring_file;
use super::run_file;
use super::workflow_file;
use super::workflow_file::{Definition, default_name};
use super::workspaces_file;
use crate::yaml::{Fault, Node, NodeKind};
use aof_domain::{
    Git, HandOut, IdPrefix, Promise, Recurring, RunBudgets, RunLimits, SquashPolicy, Subscription,
    TaskLayout, WorkflowName, WorkspaceSettings,
};

/// The content of project.yaml; everything in it is optional.
#[derive(Default)]
pub(crate) struct ProjectFile {
    pub(crate) name: Option<String>,
    pub(crate) owner: Option<String>,
    pub(crate) id_prefix: Option<IdPrefix>,
    pub(crate) timezone: Option<TimeZone>,
    pub(crate) layout: Option<TaskLayout>,
    pub(crate) hand_out: Option<HandOut>,
    pub(crate) commit_edits: Option<bool>,
    pub(crate) git: Option<Git>,
    pub(crate) squashes: Option<SquashPolicy>,
    pub(crate) run: Option<RunLimits>,
    pub(crate) workspaces: Option<WorkspaceSettings>,
    pub(crate) notify: Vec<Subscription>,
    pub(crate) budgets: RunBudgets,
    pub(crate) recurring: Vec<Recurring>,
    pub(crate) promises: Vec<Promise>,
    pub(crate) default_workflow: Option<WorkflowName>,
    pub(crate) workflows: Vec<Definition>,
}

/// Reads the file as far as possible.
pub(crate) fn read(root: &Node<'_>, faults: &Faults) -> ProjectFile {
    let mut file = ProjectFile::default();
    if root.is_null() {
        return file;
    }
    let Some(fields) = FieldReader::of(root, "project.yaml", faults) else { return file };
    if let Some(project) = fields.below("project", "`project`") {
        // A name that looks like a number is normalized: signatures contain it, and older ones must stay valid.
        file.name = match project.take("name").map(|node| &node.kind) {
            Some(NodeKind::Number(number)) => Some(number.number().to_string()),
            _ => project.text("name"),
        };
        file.id_prefix = project.parsed("idPrefix");
        file.owner = project.text("owner");
        file.timezone = project.with("timezone", timezone).flatten();
        project.refuse_unknown();
    }
    file.workflows = read_workflows(&fields);
    file.default_workflow = fields.parsed("defaultWorkflow");
    file.hand_out = fields.parsed("handOut");
    if let Some(tasks) = fields.below("tasks", "`tasks`") {
        file.layout = tasks.parsed("layout");
        tasks.refuse_unknown();
    }
    if let Some(watch) = fields.below("watch", "`watch`") {
        file.commit_edits = watch.flag("commitEdits");
        watch.refuse_unknown();
    }
    if let Some(verify) = fields.below("verify", "`verify`") {
        file.squashes = verify.parsed("squash");
        verify.refuse_unknown();
    }
    if let Some(git) = fields.below("git", "`git`") {
        let unsaid = Git::default();
        file.git = Some(Git {
            sync: git.flag("sync").unwrap_or(unsaid.sync),
            remote: git.parsed("remote"),
            branch: git.parsed("branch"),
            every: git.parsed("every").unwrap_or(unsaid.every),
        });
        git.refuse_unknown();
    }
    file.run = fields
        .with("run", |node, faults| run_file::read_limits(node, "the project's `run`", faults));
    file.workspaces = fields.with("workspaces", workspaces_file::read).flatten();
    file.notify = notify_file::read(&fields, true);
    file.budgets = fields.with("budget", budget_file::read_budgets).unwrap_or_default();
    file.recurring = fields.with("recurring", recurring_file::read).unwrap_or_default();
    file.promises = fields.with("promises", promises).unwrap_or_default();
    fields.refuse_unknown_but(|key| match key {
        "sync" | "remote" | "branch" | "every" => {
            Some(format!("write it under `git`, as in `git: {{{key}: ...}}`"))
        }
        "name" | "idPrefix" | "owner" | "timezone" => {
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

/// Reads what the project promises of its workflows.
fn promises(node: &Node<'_>, faults: &Faults) -> Vec<Promise> {
    let mut found: Vec<Promise> = Vec::new();
    for item in one_or_many(node) {
        let Some(fields) = FieldReader::of(item, "a promise", faults) else { continue };
        let (name, always) = (fields.required::<String>("name"), fields.required("always"));
        let workflow = fields.parsed("workflow");
        fields.refuse_unknown();
        let (Some(name), Some(always)) = (name, always) else { continue };
        if name.trim().is_empty() {
            faults.invalid(item, "a promise has no name", "say in `name` what always holds");
        }
        if found.iter().any(|other| other.name == name) {
            let message = format!("there is already a promise `{name}`");
            faults.invalid(item, message, "give each a `name` of its own");
        }
        found.push(Promise { name, always, workflow });
    }
    found
}

/// Reads the name of a time zone. The list of zones is part of the program: rules must not depend on the machine.
fn timezone(node: &Node<'_>, faults: &Faults) -> Option<TimeZone> {
    let name = text_of(node).unwrap_or_default();
    let zone = TimeZoneDatabase::bundled().get(&name).ok();
    if zone.is_none() {
        let message = format!("`{}` is not a time zone", name.escape_debug());
        faults.invalid(node, message, "write its IANA name, as in `Europe/Berlin`");
    }
    zone
}

fn read_workflows(fields: &FieldReader<'_, '_>) -> Vec<Definition> {
    let faults = fields.faults;
    let (single, several) = (fields.take("workflow"), fields.take("workflows"));
    // An empty `workflow` or `workflows` must not fall back to the workflow without gates.
    for (key, node) in [("workflow", single), ("workflows", several)] {
        if node.is_none() && fields.has(key) {
            let help = "add `gates` to it, or remove the line";
            fields.fault(key, "empty_workflow", format!("`{key}` says nothing"), help);
        }
    }
    if single.is_some() && several.is_some() {
        let message = "`workflow` and `workflows` exclude each other";
        faults.push(
            Fault::new("conflicting_fields", fields.key_span("workflows"), message)
                .label(fields.key_span("workflow"), "the other is here")
                .help("move the one workflow into `workflows`, and name it in `defaultWorkflow`"),
        );
    }
    let mut found = Vec::new();
    if let Some(node) = single {
        let span = workflow_file::name_span(node).unwrap_or_else(|| fields.key_span("workflow"));
        let steps = vec![Step::Key("workflow".into())];
        let workflow = workflow_file::read(node, Some(default_name()), faults);
        found.extend(workflow.map(|w| Definition { workflow: w, steps, span, is_own: true }));
    }
    let Some(node) = several else { return found };
    let mut define = |workflow: Option<_>, step, span| {
        let steps = vec![Step::Key("workflows".into()), step];
        found.extend(workflow.map(|w| Definition { workflow: w, steps, span, is_own: false }));
    };
    match &node.kind {
        NodeKind::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                let span = workflow_file::name_span(item).unwrap_or_else(|| item.span.clone());
                define(workflow_file::read(item, None, faults), Step::Index(index), span);
            }
        }
        NodeKind::Mapping(entries) => {
            for entry in entries {
                let key = &entry.key;
                let Some(name) = parse_key::<WorkflowName>(key, faults) else { continue };
                let workflow = workflow_file::read(&entry.value, Some(name.clone()), faults);
                if let Some(other) = workflow.as_ref().filter(|workflow| workflow.name != name) {
                    let span = workflow_file::name_span(&entry.value);
                    let message = format!(
                        "this says `{}`, and the workflow stands under `{name}`",
                        other.name
                    );
                    let help = "remove `name`: the key is the name";
                    faults.add("name_mismatch", &span.unwrap_or(key.span.clone()), message, help);
                }
                define(workflow, Step::Key(key.text.clone().into_owned()), key.span.clone());
            }
        }
        _ => {
            let wanted = "`workflows` is a list of workflows, or a mapping of names and workflows";
            faults.wrong_kind(node, wanted, "");
            return found;
        }
    }
    if node.items().is_empty() && node.entries().is_empty() {
        let help = "add a workflow to it, or remove the line";
        faults.add("empty_workflow", &node.span, "`workflows` says nothing", help);
    }
    found
}
