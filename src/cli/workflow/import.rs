//! `aof workflow import`

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::render::findings;
use crate::cli::{
    CYAN, CliError, CliResult, DIM, RED, Rehearsal, Session, YELLOW, bold, of_commit, one_of,
    painted, styled, text_input,
};
use crate::domain::{FieldFate, ImportRemark, WorkflowName};
use crate::files::printable::inert;
use crate::git::GitError;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::setup::import::import_file::Imported;
use crate::setup::import::source::ForeignSystem;
use crate::setup::import_workflow::{Brought, Fidelity, bring_in, read_foreign, roles_snippet};
use crate::storage::{ProjectPath, StoreError};
use crate::tasks::plan::DryRun;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The content of the file says which system wrote it. Fields that only say how agents are run are dropped and reported. A file
with routes that cannot be expressed here is refused (exit code 6), unless --lossy is given.

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
    /// Import what can be expressed here, and leave out the other routes
    #[arg(long)]
    lossy: bool,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &WorkflowImportArgs) -> CliResult {
    let mode = args.rehearsal.mode();
    let bytes = match args.file.as_str() {
        "-" => text_input::bytes(Path::new("-"))?,
        name => std::fs::read(session.directory.join(name))
            .map_err(|cause| CliError::input(name, &cause))?,
    };
    let imported = read_foreign(&args.file, &bytes, args.from, args.name.as_ref())?;
    let workspace = workspace(session, mode)?;
    let fidelity = if args.lossy { Fidelity::Lossy } else { Fidelity::Whole };
    let brought = bring_in(workspace.as_ref(), &imported, fidelity, mode);
    if session.output.is_json() {
        session.output.data_of_act(value(&imported, &brought?), mode);
    } else {
        // The report explains a refusal as well. A dry run prints the workflow, so its report goes to stderr.
        let report = report(args, &imported);
        match mode {
            DryRun::Yes => session.output.say(report),
            DryRun::No => session.output.line(report),
        }
        show(session, &imported, &brought?, mode);
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens the project. A dry run needs none.
fn workspace(session: &Session, mode: DryRun) -> CliResult<Option<Workspace>> {
    let opened = session.workspace("workflow import");
    let is_missing = matches!(
        opened.as_ref().err().and_then(CliError::ops),
        Some(
            ProjectError::Store(StoreError::NoProject { .. })
                | ProjectError::Git(GitError::NoRepository { .. })
        )
    );
    if mode == DryRun::Yes && is_missing { Ok(None) } else { opened.map(Some) }
}

/// Returns what became of each field.
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

fn show(session: &Session, imported: &Imported, brought: &Brought, mode: DryRun) {
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
    if !brought.lacking.is_empty() {
        let lacks = "\norg.yaml lacks roles of this workflow; add them, with agents of yours:";
        lines.push(lacks.to_owned());
        lines.push(roles_snippet(&brought.lacking).trim_end().to_owned());
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

fn value(imported: &Imported, brought: &Brought) -> Value {
    let workflows = imported.workflows.iter().zip(&brought.paths);
    let workflows = workflows
        .map(|(draft, path)| json!({"name": draft.name, "path": path, "text": draft.text}));
    let lacking = brought.lacking.iter().map(
        |need| json!({"role": need.role, "description": need.description, "people": need.people}),
    );
    let snippet = (!brought.lacking.is_empty()).then(|| roles_snippet(&brought.lacking));
    json!({
        "from": imported.system,
        "workflows": workflows.collect::<Vec<_>>(),
        "report": imported.remarks.iter().map(ImportRemark::to_value).collect::<Vec<_>>(),
        "lackingRoles": lacking.collect::<Vec<_>>(),
        "orgSnippet": snippet,
        "diagnostics": findings::diagnostic_values(&brought.diagnostics),
        "commit": brought.commit,
    })
}
