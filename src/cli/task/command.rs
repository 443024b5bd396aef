//! `aof task ...`

use std::process::ExitCode;

use clap::Subcommand;

use super::{actions, brief, complete, edit, history, list, new, show, sign};
use crate::cli::error::CliError;
use crate::cli::session::Session;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum TaskCommand {
    /// Create a task, or many
    New(new::NewArgs),
    /// Change a task's text: in an editor, or by options
    Edit(edit::EditArgs),
    /// Add a comment at the end of a task's text
    Comment(edit::CommentArgs),
    /// Say that the work at a task's gate is done, rejected or blocked
    Complete(complete::CompleteArgs),
    /// Sign a completion file
    Sign(sign::SignArgs),
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
    List(list::ListArgs),
    /// Show a task
    Show(show::ShowArgs),
    /// Claim your next task, and show what to do
    Next(brief::NextArgs),
    /// Show what an agent is told at a task's gate
    Brief(brief::BriefArgs),
    /// Show a task's way through its gates
    History(history::HistoryArgs),
}

pub(crate) fn run(session: &Session, command: TaskCommand) -> Result<ExitCode, CliError> {
    match command {
        TaskCommand::New(args) => new::run(session, &args),
        TaskCommand::Edit(args) => edit::run(session, &args),
        TaskCommand::Comment(args) => edit::comment(session, &args),
        TaskCommand::Complete(args) => complete::run(session, &args),
        TaskCommand::Sign(args) => sign::run(session, &args),
        TaskCommand::Release(args) => actions::release(session, &args),
        TaskCommand::Renew(args) => actions::renew(session, &args),
        TaskCommand::Assign(args) => actions::assign(session, &args),
        TaskCommand::Hold(args) => actions::hold(session, &args),
        TaskCommand::Unblock(args) => actions::unblock(session, &args),
        TaskCommand::Cancel(args) => actions::cancel(session, &args),
        TaskCommand::Reopen(args) => actions::reopen(session, &args),
        TaskCommand::Override(args) => actions::override_to(session, &args),
        TaskCommand::List(args) => list::run(session, &args),
        TaskCommand::Show(args) => show::run(session, &args),
        TaskCommand::Next(args) => brief::next(session, &args),
        TaskCommand::Brief(args) => brief::run(session, &args),
        TaskCommand::History(args) => history::run(session, &args),
    }
}
