//! `aof org ...`

use super::reload;
use super::show;
use std::process::ExitCode;

use clap::Subcommand;

use crate::cli::error::CliError;
use crate::cli::render::findings;
use crate::cli::session::Session;
use crate::files::config::config::ORG_FILE;
use crate::project::rule_check::check_worktree;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the roles, who is in them, what they have to do, and who you are
    Show(show::Args),
    /// Check org.yaml as it stands in the worktree
    Validate,
    /// Check the committed rules, and have every task follow them now
    Reload(reload::Args),
}

pub(crate) fn run(session: &Session, command: &Command) -> Result<ExitCode, CliError> {
    match command {
        Command::Show(args) => show::run(session, args),
        Command::Validate => validate(session),
        Command::Reload(args) => reload::run(session, args),
    }
}

fn validate(session: &Session) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("org validate")?;
    let (rules, mut diagnostics) = check_worktree(&workspace.repository)?;
    diagnostics.retain(|diagnostic| diagnostic.file == ORG_FILE);
    let well = match &rules {
        Some(rules) => {
            format!("{} roles, {} agents", rules.org.roles.len(), rules.org.all_agents().len())
        }
        None => format!("{ORG_FILE}; other rules are not, see `aof workflow validate`"),
    };
    Ok(findings::show_diagnostics(session, &diagnostics, &well))
}
