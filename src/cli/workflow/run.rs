//! `aof workflow run`

use std::path::Path;
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser;
use serde_json::{Value, json};

use super::create::missing_roles;
use crate::agents::runner::report::shortened;
use crate::agents::runner::{Pace, RunTarget, preview_of};
use crate::cli::agents::run::{RunOptions, ended, run_and_report, runner_setup};
use crate::cli::agents::{run, trust};
use crate::cli::{CliError, CliResult, Session, context, cyan};
use crate::domain::{Map, PlanChange, Workflow, WorkflowName};
use crate::files::printable::one_line;
use crate::observability::notices::compose::write_notices;
use crate::operations::Call;
use crate::operations::arguments::Arguments;
use crate::operations::content::create_tasks;
use crate::project::error::ProjectError;
use crate::project::rule_lookup::find_workflow;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::setup::create_workflow::{NewWorkflow, WorkflowFate, create_workflow};
use crate::setup::template::Template;
use crate::tasks::create::{NewTask, check_new};
use crate::tasks::plan::DryRun;

/// The longest title that is made from an input, in characters.
const TITLE: usize = 80;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof workflow run feature --input \"Add a dark mode\"
  aof workflow run reviewed spec.md notes.md
  aof workflow run bug-fix --input \"Login fails\" --context issue=123 --context '{\"repo\": \"web\"}'
  aof workflow run feature --input \"Add a dark mode\" --dry-run    every command and prompt

In KEY=VALUE the value is JSON, else a text. A number that JSON would write differently (1.10, 1e3) is a text as well.
The task file is the state: `aof run --task ID` goes on where a run stopped, here or in any clone of the repository.
If WORKFLOW is a template that the project has no workflow of, the workflow is created first (`workflows/NAME.yaml`).
Exit codes: 0 complete, 1 failed, 7 it waits for somebody, 130 stopped.")]
pub(crate) struct WorkflowRunArgs {
    /// The workflow, or a template
    #[arg(value_name = "WORKFLOW")]
    workflow: WorkflowName,
    /// Files that the work is about; the task names them, and begins with them as `files`
    #[arg(value_name = "FILE")]
    files: Vec<String>,
    /// What to do; the first line is the title. The task begins with it as `input`
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    input: Option<String>,
    /// Give it something else to begin with, as in `repo=web,branch=main` or `'{"repo": "web"}'`
    #[arg(long = "context", value_name = "KEY=VALUE|JSON", value_parser = context)]
    context: Vec<Vec<(String, Value)>>,
    /// Add a label; conditions of gates see labels
    #[arg(long = "tag", value_name = "TAG", value_parser = NonEmptyStringValueParser::new())]
    tags: Vec<String>,
    /// Stop after one visit; `aof run --task ID` goes on
    #[arg(long)]
    step: bool,
    #[command(flatten)]
    how: RunOptions,
}

pub(crate) fn run(session: &Session, args: &WorkflowRunArgs) -> CliResult {
    ended(session, &args.how, start(session, args))
}

fn start(session: &Session, args: &WorkflowRunArgs) -> CliResult {
    let workspace = session.workspace_in_background("workflow run")?;
    let mode = if args.how.dry_run { DryRun::Yes } else { DryRun::No };
    let in_force = session.rules(&workspace)?;
    let template = template_to_begin(&in_force.rules, &args.workflow);
    let workflow = match template {
        Some(template) => Workflow { name: args.workflow.clone(), ..template.workflow() },
        None => known(&in_force.rules, &args.workflow)?.clone(),
    };
    // Errors in the task are reported before anything is written for it.
    let new = new_task(&workspace, &workflow, args, &session.directory)?;
    check_new(&workflow, &new)?;
    if mode == DryRun::No {
        trust::require_trust(session, &workspace, &in_force, None, args.how.no_ask)?;
    }
    if let Some(template) = template {
        begin(session, &workspace, &args.workflow, template, mode)?;
        if mode == DryRun::Yes {
            return Ok(ExitCode::SUCCESS);
        }
    }
    if mode == DryRun::No {
        write_notices(&workspace)?;
    }
    let (given, signing) = (&Arguments::default(), None);
    let (workspace_now, in_force) = (&workspace, &in_force);
    let call = Call { workspace: workspace_now, in_force, by: None, given, signing, dry_run: mode };
    let made = create_tasks(&call, std::slice::from_ref(&new))?.changed;
    let changed = made.first().ok_or_else(|| {
        let fix = "create it with `aof new`, and start it with `aof run --task ID`";
        CliError::refused("not_created", "no task was created", fix)
    })?;
    if args.how.dry_run {
        let setup = runner_setup(session, &workspace)?;
        let previews = preview_of(&setup, &workspace, &changed.after, &changed.path)?;
        run::show_previews(session, &previews, &[]);
        return Ok(ExitCode::SUCCESS);
    }
    let id = &changed.after.task.id;
    if !session.output.is_json() {
        let title = one_line(new.title());
        session.output.say(format!("{}: {title}, in `{}`", cyan(id), args.workflow));
    }
    session.warn_all(&changed.warnings);
    let pace = if args.step { Pace::OneVisit } else { Pace::Through };
    run_and_report(session, &workspace, &RunTarget::Task(id.clone()), pace, &args.how)
}

/// Returns the workflow of that name. The error names the templates as well.
fn known<'a>(rules: &'a Rules, name: &WorkflowName) -> Result<&'a Workflow, ProjectError> {
    find_workflow(rules, name).map_err(|mut error| {
        if let ProjectError::Unknown { known, .. } = &mut error {
            for template in Template::ALL.iter().map(ToString::to_string) {
                if !known.contains(&template) {
                    known.push(template);
                }
            }
        }
        error
    })
}

/// Returns the template of that name, if the project does not yet have such a workflow.
fn template_to_begin(rules: &Rules, name: &WorkflowName) -> Option<Template> {
    let project = &rules.project;
    let exists = project.workflow(name).is_some() && !project.implicit_workflow;
    name.as_str().parse().ok().filter(|_| !exists)
}

/// Creates the workflow from its template, or shows that it would. Fails if org.yaml lacks its roles.
fn begin(
    session: &Session,
    workspace: &Workspace,
    name: &WorkflowName,
    template: Template,
    mode: DryRun,
) -> CliResult<()> {
    let output = session.output;
    let new = NewWorkflow { name: name.clone(), template };
    let made = create_workflow(workspace, &new, DryRun::Yes)?;
    if let WorkflowFate::Lacks { roles, agents } = &made.fate {
        return Err(CliError::refused(
            "roles_missing",
            format!("the template `{template}` needs roles that org.yaml lacks"),
            format!(
                "{}\n\nthen commit it, and run this again",
                missing_roles(roles, agents).trim_end()
            ),
        ));
    }
    let path = &made.path;
    match (mode, output.is_json()) {
        (DryRun::Yes, true) => {
            output.data(json!({"dryRun": true, "begins": path, "runs": [], "waits": []}));
        }
        (DryRun::Yes, false) => {
            output.line(format!("dry run: `{name}` would begin as {path}, from the template"));
        }
        (DryRun::No, is_json) => {
            create_workflow(workspace, &new, mode)?;
            if !is_json {
                output.say(format!("began `{name}` from the template: {path}"));
            }
        }
    }
    Ok(())
}

fn new_task(
    workspace: &Workspace,
    workflow: &Workflow,
    args: &WorkflowRunArgs,
    here: &Path,
) -> CliResult<NewTask> {
    let files = files(workspace, &args.files, here)?;
    let text = args.input.as_deref().unwrap_or_default().trim();
    let first = text.lines().next().unwrap_or_default().trim();
    let title = match (first, files.as_slice()) {
        ("", []) => {
            return Err(CliError::refused(
                "missing_input",
                "nothing says what is to be done",
                "say it with `--input \"...\"`, or name a file",
            ));
        }
        ("", files) => format!("{}: {}", workflow.name, files.join(", ")),
        (first, _) => first.to_owned(),
    };
    let mut body = if text == first { String::new() } else { format!("{text}\n") };
    if !files.is_empty() {
        let gap = if body.is_empty() { "" } else { "\n" };
        body = format!("{body}{gap}Files:\n\n- {}\n", files.join("\n- "));
    }
    let mut input: Map = args.context.iter().flatten().cloned().collect();
    let declared = workflow.context.input.as_ref();
    let mut add = |name: &str, value: String| {
        let is_wanted = declared.is_none_or(|declared| declared.contains_key(name));
        if is_wanted && !value.is_empty() {
            input.entry(name).or_insert(value.into());
        }
    };
    add("input", text.to_owned());
    add("files", files.join(" "));
    if declared.is_some() {
        add("task", text.to_owned());
    }
    Ok(NewTask {
        fields: PlanChange {
            title: Some(shortened(&title, TITLE)),
            tags: args.tags.clone(),
            ..PlanChange::default()
        },
        body,
        input,
        workflow: Some(workflow.name.clone()),
        ..NewTask::default()
    })
}

/// Returns the paths of the files in the project. Fails for a file outside of it.
fn files(workspace: &Workspace, names: &[String], here: &Path) -> CliResult<Vec<String>> {
    let root = workspace.paths.root();
    let in_project = |name: &String| {
        let path = here.join(name).canonicalize();
        let path = path.map_err(|cause| CliError::input(name, &cause))?;
        let inside = path.strip_prefix(root).ok().and_then(Path::to_str).map(str::to_owned);
        inside.ok_or_else(|| {
            let root = root.display();
            CliError::refused(
                "outside_project",
                format!("`{name}` is not in the project"),
                format!(
                    "agents work in `{root}`: copy it there, or say what is in it with `--input`"
                ),
            )
        })
    };
    names.iter().map(in_project).collect()
}
