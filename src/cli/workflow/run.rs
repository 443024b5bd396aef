//! `aof workflow run`

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::create::lacking_text;
use crate::agents::runner::output::shortened;
use crate::agents::runner::{Pace, Wish, preview_of};
use crate::cli::agents::run::command::{How, ended, go, project};
use crate::cli::agents::run::preview;
use crate::cli::error::CliError;
use crate::cli::input::arguments::context;
use crate::cli::render::output::{CYAN, styled};
use crate::cli::session::Session;
use crate::domain::{Map, Workflow, WorkflowName};
use crate::files::printable::one_line;
use crate::project::active_rules::InForce;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::setup::create_workflow::{Fate, NewWorkflow, create_workflow};
use crate::setup::template::template::Template;
use crate::tasks::apply::change::DryRun;
use crate::tasks::create::{NewTask, check_new, create};
use crate::tasks::lookup::workflow_named;

/// The longest title that is made of an input, in characters.
const TITLE: usize = 80;

/// Start a task in a workflow, and drive it to its end: its agents are started, people are asked
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof workflow run feature --input \"Add a dark mode\"
  aof workflow run reviewed spec.md notes.md
  aof workflow run bug-fix --input \"Login fails\" --context issue=123 --context '{\"repo\": \"web\"}'
  aof workflow run feature --input \"Add a dark mode\" --dry-run    every command and prompt

In KEY=VALUE the value is JSON, else a text; a number that would not come back as it is typed (1.10, 1e3) is a text, too.
The task file is the state: `aof run --task ID` goes on where a run stood, here or on any machine that has the repository.
A template that the project has no workflow of is begun as one first (`workflows/NAME.yaml`).
Exit codes: 0 complete, 1 failed, 7 it waits for somebody, 130 stopped.")]
pub(crate) struct Args {
    /// The workflow, or a template
    #[arg(value_name = "WORKFLOW")]
    workflow: WorkflowName,
    /// Files that the work is about; the task names them, and begins with them as `files`
    #[arg(value_name = "FILE")]
    files: Vec<String>,
    /// What is to be done; the first line is the title. The task begins with it as `input`
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    input: Option<String>,
    /// Give it something else to begin with, as in `repo=web` or `'{"repo": "web"}'`
    #[arg(long = "context", value_name = "KEY=VALUE|JSON", value_parser = context)]
    context: Vec<Vec<(String, Value)>>,
    /// Label it; conditions of gates see labels
    #[arg(long = "tag", value_name = "TAG", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    tags: Vec<String>,
    /// Stop after one visit; `aof run --task ID` goes on
    #[arg(long)]
    step: bool,
    #[command(flatten)]
    how: How,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    ended(session, &args.how, start(session, args))
}

fn start(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let workspace = session.workspace_in_background("workflow run")?;
    let mode = if args.how.dry_run { DryRun::Yes } else { DryRun::No };
    let in_force = session.rules(&workspace)?;
    let template = lacking(&in_force, &args.workflow);
    let workflow = match template {
        Some(template) => Workflow { name: args.workflow.clone(), ..template.workflow() },
        None => known(&in_force, &args.workflow)?.clone(),
    };
    // Whatever is wrong with the task is said before anything is written for it.
    let new = new_task(&workspace, &workflow, args, &session.directory)?;
    check_new(&workflow, &new)?;
    if let Some(template) = template
        && let Begun::Would = begun(session, &workspace, &args.workflow, template, mode)?
    {
        return Ok(ExitCode::SUCCESS);
    }
    let made = create(&workspace, std::slice::from_ref(&new), None, mode)?;
    let changed = made.first().ok_or_else(|| CliError::Unfit {
        code: "not_created",
        problem: "no task was created".to_owned(),
        fix: "create it with `aof task new`, and start it with `aof run --task ID`".to_owned(),
    })?;
    if args.how.dry_run {
        let previews =
            preview_of(&project(session, &workspace)?, &workspace, &changed.after, &changed.path)?;
        preview::shown(session, &previews, &[]);
        return Ok(ExitCode::SUCCESS);
    }
    let id = &changed.after.task.id;
    if !session.output.is_json() {
        session.output.say(format!(
            "{}: {}, in `{}`",
            styled(CYAN, id),
            one_line(&new.title),
            args.workflow
        ));
    }
    session.warn_all(&changed.warnings);
    let pace = if args.step { Pace::OneVisit } else { Pace::Through };
    go(session, &workspace, &Wish::Task(id.clone()), pace, &args.how)
}

/// Returns the workflow of that name; who mistypes it is told of the templates as well.
fn known<'a>(in_force: &'a InForce, name: &WorkflowName) -> Result<&'a Workflow, OpsError> {
    workflow_named(&in_force.rules, name).map_err(|error| match error {
        OpsError::Unknown { kind, given, mut known } => {
            known.extend(
                Template::ALL
                    .iter()
                    .map(ToString::to_string)
                    .filter(|template| !known.contains(template))
                    .collect::<Vec<_>>(),
            );
            OpsError::Unknown { kind, given, known }
        }
        error => error,
    })
}

/// Whether a workflow was begun from a template.
enum Begun {
    Now,
    Would,
}

/// Returns the template of which the project has no workflow yet.
fn lacking(in_force: &InForce, name: &WorkflowName) -> Option<Template> {
    let project = &in_force.rules.project;
    let is_there = project.workflow(name).is_some() && !project.implicit_workflow;
    name.as_str().parse().ok().filter(|_| !is_there)
}

/// Begins the workflow from its template.
fn begun(
    session: &Session,
    workspace: &Workspace,
    name: &WorkflowName,
    template: Template,
    mode: DryRun,
) -> Result<Begun, CliError> {
    let made =
        create_workflow(workspace, &NewWorkflow { name: name.clone(), template }, DryRun::Yes)?;
    if let Fate::Lacks { roles, agents } = &made.fate {
        return Err(CliError::Unfit {
            code: "roles_missing",
            problem: format!("the template `{template}` needs roles that org.yaml lacks"),
            fix: format!(
                "{}\n\nthen commit it, and run this again",
                lacking_text(roles, agents).trim_end()
            ),
        });
    }
    if mode == DryRun::Yes {
        if session.output.is_json() {
            session.output.data(
                json!({"dryRun": true, "begins": made.path.to_string(), "runs": [], "waits": []}),
            );
        } else {
            session
                .output
                .line(format!("dry run: `{name}` would begin as {}, from the template", made.path));
        }
        return Ok(Begun::Would);
    }
    let made = create_workflow(workspace, &NewWorkflow { name: name.clone(), template }, mode)?;
    if !session.output.is_json() {
        session.output.say(format!("began `{name}` from the template: {}", made.path));
    }
    Ok(Begun::Now)
}

fn new_task(
    workspace: &Workspace,
    workflow: &Workflow,
    args: &Args,
    here: &Path,
) -> Result<NewTask, CliError> {
    let files = files(workspace, &args.files, here)?;
    let text = args.input.as_deref().unwrap_or_default().trim();
    let first = text.lines().next().unwrap_or_default().trim();
    let title = match (first, files.as_slice()) {
        ("", []) => {
            return Err(CliError::Unfit {
                code: "missing_input",
                problem: "nothing says what is to be done".to_owned(),
                fix: "say it with `--input \"...\"`, or name a file".to_owned(),
            });
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
    let mut usual = |name: &str, value: Value| {
        if declared.is_none_or(|declared| declared.contains_key(name))
            && !value.as_str().is_some_and(str::is_empty)
        {
            input.entry(name).or_insert(value);
        }
    };
    usual("input", text.into());
    usual("files", files.join(" ").into());
    if declared.is_some() {
        usual("task", text.into());
    }
    Ok(NewTask {
        title: shortened(&title, TITLE),
        body,
        tags: args.tags.clone(),
        input,
        workflow: Some(workflow.name.clone()),
        ..NewTask::default()
    })
}

/// Returns the files as the project names them.
fn files(workspace: &Workspace, names: &[String], here: &Path) -> Result<Vec<String>, CliError> {
    let root = workspace.paths.root();
    let one = |name: &String| {
        let path = here.join(name);
        let path =
            path.canonicalize().map_err(|cause| CliError::Input { name: name.clone(), cause })?;
        let inside = path.strip_prefix(root).ok().and_then(Path::to_str).map(str::to_owned);
        inside.ok_or_else(|| CliError::Unfit {
            code: "outside_project",
            problem: format!("`{name}` is not in the project"),
            fix: format!(
                "agents work in `{}`: copy it there, or say what is in it with `--input`",
                root.display()
            ),
        })
    };
    names.iter().map(one).collect()
}
