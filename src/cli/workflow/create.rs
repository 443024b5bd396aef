//! `aof workflow create` and `aof workflow import`.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::render::changes;
use crate::cli::{
    CYAN, CliError, CliResult, DIM, DryRunOption, RED, Session, YELLOW, bold, cyan, of_commit,
    one_of, painted, styled, template, text_input,
};
use crate::domain::{AgentId, FieldFate, ImportRemark, RoleId, WorkflowName, listed};
use crate::files::printable::inert;
use crate::git::GitError;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::setup::create_workflow::{NewWorkflow, WorkflowFate, WorkflowFile, create_workflow};
use crate::setup::import::import_file::Imported;
use crate::setup::import::source::ForeignSystem;
use crate::setup::import_workflow::{
    Fidelity, ImportOutcome, MissingRoles, import_into_project, read_foreign,
};
use crate::setup::template::{RoleCast, Template};
use crate::storage::{ProjectPath, StoreError};
use crate::tasks::plan::DryRun;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof workflow create release --template deploy            workflows/release.yaml, committed
  aof workflow create release --template deploy --dry-run  see the file
  aof workflow create --list                               what each template is for

A workflow whose roles org.yaml lacks is written and not committed; the output says what to add.")]
pub(crate) struct WorkflowCreateArgs {
    /// The name of the workflow
    #[arg(required_unless_present = "list")]
    name: Option<WorkflowName>,
    /// The template that it is made from
    #[arg(long, value_name = "TEMPLATE", value_parser = template(), required_unless_present = "list")]
    template: Option<Template>,
    /// List the templates
    #[arg(long, conflicts_with_all = ["name", "template"])]
    list: bool,
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

pub(crate) fn run_create(session: &Session, args: &WorkflowCreateArgs) -> CliResult {
    let (Some(name), Some(template)) = (&args.name, args.template) else {
        list(session);
        return Ok(ExitCode::SUCCESS);
    };
    let workspace = session.workspace("workflow create")?;
    let new = NewWorkflow { name: name.clone(), template };
    let mode = args.dry_run_option.mode();
    let made = create_workflow(&workspace, &new, mode)?;
    session.warn_of_rules(&made.before);
    if session.output.is_json() {
        session.output.change_data(created_value(&new, &made), mode);
    } else {
        show_created(session, &new, &made, mode);
    }
    Ok(ExitCode::SUCCESS)
}

fn list(session: &Session) {
    let all = Template::ALL.iter();
    let value = |template: &Template| json!({"name": template, "summary": template.summary()});
    let width = all.clone().map(|template| template.as_str().len()).max().unwrap_or(0);
    let line = |template: &Template| {
        format!("{}  {}\n", cyan(format!("{template:<width$}")), template.summary())
    };
    session.output.show(
        || json!({"templates": all.clone().map(value).collect::<Vec<_>>()}),
        || all.clone().map(line).collect(),
    );
}

fn show_created(session: &Session, new: &NewWorkflow, made: &WorkflowFile, mode: DryRun) {
    let output = session.output;
    let (NewWorkflow { name, template }, path) = (new, &made.path);
    if mode == DryRun::Yes {
        output.print(&made.text);
    }
    match &made.fate {
        WorkflowFate::Ready => {
            output.say(format!("dry run: nothing was written; `{path}` could be committed"));
        }
        WorkflowFate::Committed(commit) => {
            let commit = of_commit(Some(commit));
            output.line(format!("began `{name}` from the template `{template}`: {path}{commit}"));
            output.line(format!("\n{}", bold("try next:")));
            let (graph, new) = (
                format!("aof workflow graph {name}"),
                format!("aof new \"...\" --workflow {name}"),
            );
            output.line(format!("  {graph:<38}  see the routes that a task can take"));
            output.line(format!("  {new:<38}  create a task that follows it"));
            let (prove, promises) = (format!("aof workflow prove {name}"), template.promises(name));
            output.line(format!("  {prove:<38}  see that each task can come to an end"));
            output.line(format!(
                "\nThe template keeps these promises. To have them proved, add to project.yaml:\n\npromises:\n{promises}"
            ));
        }
        WorkflowFate::Lacks { roles, agents } => {
            let names: Vec<String> = roles.iter().map(|part| part.role.to_string()).collect();
            let s = if names.len() == 1 { "" } else { "s" };
            let lacks = format!("org.yaml lacks the role{s} {}", listed(&names));
            let outcome = match mode {
                DryRun::Yes => "dry run: nothing was written; it could not be committed yet",
                DryRun::No => &format!("wrote {path}, and did not commit it"),
            };
            let snippet = missing_roles(roles, agents);
            output.say(format!(
                "{outcome}: {lacks}\n\n{snippet}\nthen commit both: `git add org.yaml {path} && git commit -m \"Begin workflow {name}\" -- org.yaml {path}`"
            ));
        }
    }
}

/// Returns the text that org.yaml needs, ready to be pasted.
pub(crate) fn missing_roles(roles: &[RoleCast], agents: &[AgentId]) -> String {
    let parts: String = roles.iter().map(RoleCast::text).collect();
    let mut text = format!("add to `roles` in org.yaml, with agents of yours:\n\n{parts}");
    if !agents.is_empty() {
        text.push_str("\nand to `agents`:\n\n");
        text.extend(agents.iter().map(|agent| format!("  {agent}:\n")));
    }
    text
}

fn created_value(new: &NewWorkflow, made: &WorkflowFile) -> Value {
    let (mut roles, mut agents, mut commit) = (&[][..], &[][..], None);
    match &made.fate {
        WorkflowFate::Lacks { roles: lacking, agents: unknown } => {
            (roles, agents) = (lacking, unknown);
        }
        WorkflowFate::Committed(id) => commit = Some(id),
        WorkflowFate::Ready => {}
    }
    let role = |part: &RoleCast| {
        let (role, does, human) = (&part.role, part.does, part.require_human);
        json!({"role": role, "description": does, "agents": part.agents, "requireHuman": human})
    };
    json!({
        "workflow": new.name,
        "template": new.template,
        "path": made.path,
        "text": made.text,
        "commit": commit,
        "lacking": {"roles": roles.iter().map(role).collect::<Vec<_>>(), "agents": agents},
    })
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The content of the file says which system wrote it. Fields that only say how agents are run are dropped and reported. A file \
with routes that cannot be expressed here is refused (exit code 6), unless --accept-losses is given.

Examples:
  aof workflow import workflow.yml --dry-run     see the workflow, and the report beside it
  aof workflow import config.toml --name loop    write and commit workflows/loop.yaml
  aof workflow import old.json --from openagents")]
pub(crate) struct WorkflowImportArgs {
    /// The file: YAML, JSON or TOML; `-` for stdin
    #[arg(value_name = "FILE")]
    file: String,
    /// The system that wrote it; without it, the content says so
    #[arg(long, value_name = "SYSTEM",
        value_parser = one_of::<ForeignSystem>(ForeignSystem::ALL.iter().map(|system| system.as_str())))]
    from: Option<ForeignSystem>,
    /// The name of the workflow; of several in the file, the one to take
    #[arg(long, value_name = "NAME")]
    name: Option<WorkflowName>,
    /// Import what can be expressed here, and leave out what the report calls lost
    #[arg(long, alias = "lossy")]
    accept_losses: bool,
    /// Add roles that org.yaml lacks, each with an agent to rename
    #[arg(long)]
    with_roles: bool,
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

pub(crate) fn run_import(session: &Session, args: &WorkflowImportArgs) -> CliResult {
    let mode = args.dry_run_option.mode();
    let bytes = match args.file.as_str() {
        "-" => text_input::bytes(Path::new("-"))?,
        name => std::fs::read(session.directory.join(name))
            .map_err(|cause| CliError::input(name, &cause))?,
    };
    let imported = read_foreign(&args.file, &bytes, args.from, args.name.as_ref())?;
    let workspace = workspace(session, mode)?;
    let fidelity = if args.accept_losses { Fidelity::Lossy } else { Fidelity::Whole };
    let roles = if args.with_roles { MissingRoles::AreWritten } else { MissingRoles::AreTold };
    let brought = import_into_project(workspace.as_ref(), &imported, fidelity, roles, mode);
    if session.output.is_json() {
        session.output.change_data(import_value(&imported, &brought?), mode);
    } else {
        // The report also explains a refusal. A dry run prints the workflow, so its report is printed to stderr.
        let report = report(args, &imported);
        match mode {
            DryRun::Yes => session.output.say(report),
            DryRun::No => session.output.line(report),
        }
        show_imported(session, &imported, &brought?, args.with_roles, mode);
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens the project. A dry run does not need one.
fn workspace(session: &Session, mode: DryRun) -> CliResult<Option<Workspace>> {
    let opened = session.workspace("workflow import");
    let is_missing = matches!(
        opened.as_ref().err().and_then(CliError::operation_error),
        Some(
            ProjectError::Store(StoreError::NoProject { .. })
                | ProjectError::Git(GitError::NoRepository { .. })
        )
    );
    if mode == DryRun::Yes && is_missing { Ok(None) } else { opened.map(Some) }
}

/// Returns the fate of each field.
fn report(args: &WorkflowImportArgs, imported: &Imported) -> String {
    let mut lines = vec![format!("{}, read as {}:", bold(inert(&args.file)), imported.system)];
    lines.extend(imported.remarks.iter().map(line));
    let count =
        |fate: FieldFate| imported.remarks.iter().filter(|remark| remark.fate == fate).count();
    let counts =
        FieldFate::ALL.iter().map(|fate| (count(*fate), fate)).filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, fate)| format!("{count} {fate}")).collect();
    lines.push(counts.join(", "));
    lines.join("\n")
}

fn line(remark: &ImportRemark) -> String {
    let place = remark.line.map_or_else(|| "-".to_owned(), |line| line.to_string());
    let style = match remark.fate {
        FieldFate::Kept => DIM,
        FieldFate::Converted | FieldFate::Added => CYAN,
        FieldFate::Dropped => YELLOW,
        FieldFate::Lost => RED,
    };
    let fate = styled(style, format!("{:<9}", remark.fate));
    let note =
        if remark.note.is_empty() { String::new() } else { format!(": {}", inert(&remark.note)) };
    format!("{place:>6}  {fate}  {}{note}", inert(&remark.field))
}

fn show_imported(
    session: &Session,
    imported: &Imported,
    brought: &ImportOutcome,
    with_roles: bool,
    mode: DryRun,
) {
    let output = session.output;
    if mode == DryRun::Yes {
        for (index, (draft, path)) in imported.workflows.iter().zip(&brought.paths).enumerate() {
            let separator = if index > 0 { "---\n" } else { "" };
            output.print(&format!("{separator}# {path}\n{}", draft.text));
        }
    }
    if !brought.diagnostics.is_empty() {
        output.say(format!("\n{}", painted(&brought.diagnostics)));
    }
    let mut lines = Vec::new();
    let paths: Vec<&str> = brought.paths.iter().map(ProjectPath::as_str).collect();
    let paths = paths.join(" ");
    let is_uncommitted = brought.commit.is_none() && mode == DryRun::No;
    if brought.commit.is_some() {
        lines.push(format!("\nimported {paths}{}", of_commit(brought.commit)));
    } else if is_uncommitted {
        lines.push(format!(
            "\nwrote {paths}; not committed, because the rules would not be valid yet"
        ));
    }
    if !brought.known_roles.is_empty() {
        let role =
            |(role, agents): &(RoleId, Vec<AgentId>)| format!("`{role}` ({})", listed(agents));
        let roles: Vec<String> = brought.known_roles.iter().map(role).collect();
        lines.push(format!(
            "\norg.yaml has these roles already; its agents get the work: {}",
            roles.join(", ")
        ));
    }
    if let Some(snippet) = &brought.snippet {
        let lacks = match (with_roles, mode) {
            (true, DryRun::No) => "\nadded to org.yaml; rename the agents to yours:",
            (true, DryRun::Yes) => "\nwould be added to org.yaml:",
            (false, _) => {
                "\norg.yaml lacks roles of this workflow; add them, with agents of yours (`--with-roles` does):"
            }
        };
        lines.push(lacks.to_owned());
        lines.push(snippet.trim_end().to_owned());
    }
    if is_uncommitted {
        lines.push(format!(
            "\nthen see that all is well with `aof workflow validate`, and put it in force:\n  git add org.yaml {paths} && git commit \
             -m \"Import a workflow\" -- org.yaml {paths}"
        ));
    }
    if mode == DryRun::Yes {
        lines.push("dry run: nothing was written".to_owned());
    }
    for line in lines {
        match mode {
            DryRun::Yes => output.say(inert(&line)),
            DryRun::No => output.line(inert(&line)),
        }
    }
}

fn import_value(imported: &Imported, brought: &ImportOutcome) -> Value {
    let workflows = imported.workflows.iter().zip(&brought.paths);
    let workflows = workflows
        .map(|(draft, path)| json!({"name": draft.name, "path": path, "text": draft.text}));
    let missing_roles = brought.missing_roles.iter().map(
        |need| json!({"role": need.role, "description": need.description, "people": need.people}),
    );
    let known = brought.known_roles.iter();
    let known = known.map(|(role, agents)| json!({"role": role, "agents": agents}));
    json!({
        "from": imported.system,
        "workflows": workflows.collect::<Vec<_>>(),
        "report": imported.remarks.iter().map(ImportRemark::to_value).collect::<Vec<_>>(),
        "lackingRoles": missing_roles.collect::<Vec<_>>(),
        "knownRoles": known.collect::<Vec<_>>(),
        "orgSnippet": brought.snippet,
        "diagnostics": changes::diagnostic_values(&brought.diagnostics),
        "commit": brought.commit,
    })
}
