//! `aof workflow import`

use std::io::Read;
use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};

use crate::cli::error::CliError;
use crate::cli::input::arguments::Rehearsal;
use crate::cli::render::output::{BOLD, CYAN, DIM, RED, YELLOW, styled};
use crate::cli::session::Session;
use crate::domain::WorkflowName;
use crate::domain::{FieldFate, ImportRemark};
use crate::files::diagnostic::diagnostic::{Diagnostic, render_all};
use crate::files::printable::inert;
use crate::git::AuditError;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::setup::import::foreign_system::ForeignSystem;
use crate::setup::import::import_file::Imported;
use crate::setup::import_workflow::{Brought, Fidelity, bring_in, read_foreign, roles_snippet};
use crate::storage::{ProjectPath, StoreError};
use crate::tasks::apply::change::DryRun;

/// Make a workflow of another system's file, and say what became of each of its fields
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Whose file it is, is seen by what stands in it. Fields that only say how agents are run are dropped and told; a file
that says of the way of a task what cannot be said here is refused (exit code 6), unless --lossy.

Examples:
  aof workflow import workflow.yml --dry-run     see the workflow, and the report beside it
  aof workflow import config.toml --name loop    write and commit workflows/loop.yaml
  aof workflow import old.json --from openagents")]
pub(crate) struct Args {
    /// The file: YAML, JSON or TOML; `-` for stdin
    #[arg(value_name = "FILE")]
    file: String,
    /// Whose file it is; without it, that is seen by what stands in it
    #[arg(long, value_name = "SYSTEM", value_parser = system())]
    from: Option<ForeignSystem>,
    /// What the workflow is called; of several in the file, the one to take
    #[arg(long, value_name = "NAME")]
    name: Option<WorkflowName>,
    /// Import what can be said here, and leave out the rest of where tasks go
    #[arg(long)]
    lossy: bool,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

fn system() -> impl TypedValueParser<Value = ForeignSystem> {
    PossibleValuesParser::new(ForeignSystem::ALL.iter().map(|system| system.as_str()))
        .try_map(|word| word.parse::<ForeignSystem>())
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let mode = args.rehearsal.mode();
    let bytes = bytes(session, &args.file)?;
    let imported = read_foreign(&args.file, &bytes, args.from, args.name.as_ref())?;
    let workspace = workspace(session, mode)?;
    let fidelity = if args.lossy { Fidelity::Lossy } else { Fidelity::Whole };
    let brought = bring_in(workspace.as_ref(), &imported, fidelity, mode);
    if !session.output.is_json() {
        report(session, args, &imported, mode);
    }
    let brought = brought?;
    if session.output.is_json() {
        session.output.data(value(&imported, &brought, mode));
    } else {
        show(session, &imported, &brought, mode);
    }
    Ok(ExitCode::SUCCESS)
}

fn bytes(session: &Session, name: &str) -> Result<Vec<u8>, CliError> {
    let fault = |cause| CliError::Input {
        name: if name == "-" { "stdin".to_owned() } else { name.to_owned() },
        cause,
    };
    if name == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(fault)?;
        return Ok(bytes);
    }
    std::fs::read(session.directory.join(name)).map_err(fault)
}

/// Opens the project. A rehearsal needs none.
fn workspace(session: &Session, mode: DryRun) -> Result<Option<Workspace>, CliError> {
    match session.workspace("workflow import") {
        Err(CliError::Ops(error))
            if mode == DryRun::Yes
                && matches!(
                    *error,
                    OpsError::Store(StoreError::NoProject { .. })
                        | OpsError::Audit(AuditError::NoRepository { .. })
                ) =>
        {
            Ok(None)
        }
        other => other.map(Some),
    }
}

/// Tells what became of each field. A rehearsal's data is the workflow, so its report goes beside it.
fn report(session: &Session, args: &Args, imported: &Imported, mode: DryRun) {
    let mut lines =
        vec![format!("{}, read as {}:", styled(BOLD, inert(&args.file)), imported.system)];
    lines.extend(imported.remarks.iter().map(line));
    let count =
        |fate: FieldFate| imported.remarks.iter().filter(|remark| remark.fate == fate).count();
    let counts: Vec<String> = FieldFate::ALL
        .iter()
        .filter(|fate| count(**fate) > 0)
        .map(|fate| format!("{} {fate}", count(*fate)))
        .collect();
    lines.push(counts.join(", "));
    let text = lines.join("\n");
    match mode {
        DryRun::Yes => session.output.say(text),
        DryRun::No => session.output.line(text),
    }
}

fn line(remark: &ImportRemark) -> String {
    let place = remark.line.map_or_else(|| "-".to_owned(), |line| line.to_string());
    let fate = match remark.fate {
        FieldFate::Kept => styled(DIM, format!("{:<9}", remark.fate)),
        FieldFate::Converted | FieldFate::Added => styled(CYAN, format!("{:<9}", remark.fate)),
        FieldFate::Dropped => styled(YELLOW, format!("{:<9}", remark.fate)),
        FieldFate::Lost => styled(RED, format!("{:<9}", remark.fate)),
    };
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
        output.say(format!("\n{}", render_all(&brought.diagnostics, output.paint()).trim_end()));
    }
    let mut lines = Vec::new();
    let paths: Vec<&str> = brought.paths.iter().map(ProjectPath::as_str).collect();
    let paths = paths.join(" ");
    match (brought.commit, mode) {
        (Some(commit), _) => {
            lines.push(format!("\nimported {paths}, commit {:.7}", commit.to_string()));
        }
        (None, DryRun::Yes) => {}
        (None, DryRun::No) => {
            lines.push(format!(
                "\nwrote {paths}; not committed, because the rules would not be valid yet"
            ));
        }
    }
    if !brought.lacking.is_empty() {
        lines.push(
            "\norg.yaml lacks roles of this workflow; add them, with agents of yours:".to_owned(),
        );
        lines.push(roles_snippet(&brought.lacking).trim_end().to_owned());
    }
    if brought.commit.is_none() && mode == DryRun::No {
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

fn value(imported: &Imported, brought: &Brought, mode: DryRun) -> Value {
    let workflows: Vec<Value> = imported
        .workflows
        .iter()
        .zip(&brought.paths)
        .map(|(draft, path)| json!({"name": draft.name.as_str(), "path": path.as_str(), "text": draft.text}))
        .collect();
    let lacking: Vec<Value> = brought
        .lacking
        .iter()
        .map(|need| json!({"role": need.role.as_str(), "description": need.description, "people": need.people}))
        .collect();
    let snippet = (!lacking.is_empty()).then(|| roles_snippet(&brought.lacking));
    let mut value = json!({
        "from": imported.system.as_str(),
        "workflows": workflows,
        "report": imported.remarks.iter().map(ImportRemark::to_value).collect::<Vec<Value>>(),
        "lackingRoles": lacking,
        "orgSnippet": snippet,
        "diagnostics": brought.diagnostics.iter().map(Diagnostic::to_value).collect::<Vec<Value>>(),
        "commit": brought.commit.map(|commit| commit.to_string()),
    });
    if mode == DryRun::Yes {
        value["dryRun"] = json!(true);
    }
    value
}
