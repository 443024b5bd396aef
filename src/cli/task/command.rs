//! `aof task ...`

use std::process::ExitCode;

use clap::Subcommand;

use super::{actions, brief, complete, edit, history, list, new, show, sign};
use crate::cli::error::CliError;
use crate::cli::session::Session;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Create a task, or many
    New(new::Args),
    /// Change a task's text: in an editor, or by options
    Edit(edit::Args),
    /// Add a comment at the end of a task's text
    Comment(edit::CommentArgs),
    /// Say that the work at a task's gate is done, rejected or blocked
    Complete(complete::Args),
    /// Sign a completion file
    Sign(sign::Args),
    /// Give a claimed task back
    Release(actions::ReleaseArgs),
    /// Say that you are still at work, so that your claim lasts
    Renew(actions::RenewArgs),
    /// Give a task to an agent, whoever has it now
    Assign(actions::AssignArgs),
    /// Hold a task at its gate until it is unblocked
    Hold(actions::HoldArgs),
    /// Let a blocked or held task go on
    #[command(visible_alias = "resume")]
    Unblock(actions::UnblockArgs),
    /// Cancel a task
    Cancel(actions::CancelArgs),
    /// Reopen a finished task
    Reopen(actions::MoveArgs),
    /// Move a task to a gate against its workflow
    Override(actions::MoveArgs),
    /// List tasks
    #[command(visible_alias = "ls")]
    List(list::Args),
    /// Show a task
    Show(show::Args),
    /// Claim your next task, and show what to do
    Next(brief::NextArgs),
    /// Show what an agent is told at a task's gate
    Brief(brief::Args),
    /// Show a task's way through its gates
    History(history::Args),
}

pub(crate) fn run(session: &Session, command: Command) -> Result<ExitCode, CliError> {
    match command {
        Command::New(args) => new::run(session, &args),
        Command::Edit(args) => edit::run(session, &args),
        Command::Comment(args) => edit::comment(session, &args),
        Command::Complete(args) => complete::run(session, &args),
        Command::Sign(args) => sign::run(session, &args),
        Command::Release(args) => actions::release(session, &args),
        Command::Renew(args) => actions::renew(session, &args),
        Command::Assign(args) => actions::assign(session, &args),
        Command::Hold(args) => actions::hold(session, &args),
        Command::Unblock(args) => actions::unblock(session, &args),
        Command::Cancel(args) => actions::cancel(session, &args),
        Command::Reopen(args) => actions::reopen(session, &args),
        Command::Override(args) => actions::override_to(session, &args),
        Command::List(args) => list::run(session, &args),
        Command::Show(args) => show::run(session, &args),
        Command::Next(args) => brief::next(session, &args),
        Command::Brief(args) => brief::run(session, &args),
        Command::History(args) => history::run(session, &args),
    }
}
