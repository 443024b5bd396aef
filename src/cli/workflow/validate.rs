//! `aof workflow validate`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::cli::error::CliError;
use crate::cli::render::findings;
use crate::cli::session::Session;
use crate::files::config::config::Subject;
use crate::project::rule_check::check_worktree;
use crate::project::workspace::Workspace;
use crate::rules::Rules;

/// Check project.yaml, org.yaml and workflows/ as they stand in the worktree
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Tell only of these files
    files: Vec<PathBuf>,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("workflow validate")?;
    let wanted: Vec<String> =
        args.files.iter().map(|file| named(session, &workspace, file)).collect::<Result<_, _>>()?;
    let (rules, mut diagnostics) = check_worktree(&workspace.repository)?;
    if !wanted.is_empty() {
        diagnostics.retain(|diagnostic| wanted.contains(&diagnostic.file));
    }
    let well = rules.as_ref().map_or_else(|| wanted.join(", "), counts);
    Ok(findings::show_diagnostics(session, &diagnostics, &well))
}

/// Returns the name that diagnostics know a file of the rules by.
fn named(session: &Session, workspace: &Workspace, file: &Path) -> Result<String, CliError> {
    let shown = file.display().to_string();
    let path = session
        .directory
        .join(file)
        .canonicalize()
        .map_err(|cause| CliError::input(shown.clone(), &cause))?;
    let name =
        path.strip_prefix(workspace.paths.root()).ok().and_then(Path::to_str).map(str::to_owned);
    name.filter(|name| Subject::of(name).is_some()).ok_or_else(|| {
        CliError::refused(
            "no_rules_file",
            format!("`{shown}` is no file that rules are read from"),
            "rules are in project.yaml, org.yaml and workflows/*.yaml",
        )
    })
}

fn counts(rules: &Rules) -> String {
    let project = &rules.project;
    if project.implicit_workflow {
        return "no workflow is defined, so every task has one gate, and any agent may complete it"
            .to_owned();
    }
    let number =
        |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let gates = project.workflows.iter().map(|workflow| workflow.gates.len()).sum();
    format!(
        "{}, {}, {}",
        number(project.workflows.len(), "workflow"),
        number(gates, "gate"),
        number(rules.org.roles.len(), "role")
    )
}
