//! `aof task ...`

use super::actions;
use super::brief;
use super::comment;
use super::complete;
use super::edit;
use super::history;
use super::list;
use super::new;
use super::next;
use super::show;
use super::sign;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::cli::error::CliError;
use crate::cli::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a task, or many
    New(new::Args),
    /// Change what people say of a task
    Edit(edit::Args),
    /// Say something about a task
    Comment(comment::Args),
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
    /// Hold a task where it is, until it is unblocked
    Hold(actions::HoldArgs),
    /// Set a blocked or held task going again
    #[command(visible_alias = "resume")]
    Unblock(actions::UnblockArgs),
    /// Call a task off
    Cancel(actions::CancelArgs),
    /// Take a finished task up again
    Reopen(actions::ReopenArgs),
    /// Move a task to a gate against its workflow
    Override(actions::OverrideArgs),
    /// List tasks
    #[command(visible_alias = "ls")]
    List(list::Args),
    /// Show a task
    Show(show::Args),
    /// Take your next task, and show what is to be done
    Next(next::Args),
    /// Show what an agent is told at a task's gate
    Brief(brief::Args),
    /// Show a task's way through its gates
    History(history::Args),
}

/// Adds the arguments of a command to its description.
pub(crate) type Describe = fn(clap::Command) -> clap::Command;

/// Every command, with what describes it.
pub(crate) const ALONE: &[(&str, Describe)] = &[
    ("new", new::Args::augment_args),
    ("edit", edit::Args::augment_args),
    ("comment", comment::Args::augment_args),
    ("complete", complete::Args::augment_args),
    ("sign", sign::Args::augment_args),
    ("release", actions::ReleaseArgs::augment_args),
    ("renew", actions::RenewArgs::augment_args),
    ("assign", actions::AssignArgs::augment_args),
    ("hold", actions::HoldArgs::augment_args),
    ("unblock", actions::UnblockArgs::augment_args),
    ("cancel", actions::CancelArgs::augment_args),
    ("reopen", actions::ReopenArgs::augment_args),
    ("override", actions::OverrideArgs::augment_args),
    ("list", list::Args::augment_args),
    ("show", show::Args::augment_args),
    ("next", next::Args::augment_args),
    ("brief", brief::Args::augment_args),
    ("history", history::Args::augment_args),
];

pub(crate) fn run(session: &Session, command: Command) -> Result<ExitCode, CliError> {
    match command {
        Command::New(args) => new::run(session, &args),
        Command::Edit(args) => edit::run(session, &args),
        Command::Comment(args) => comment::run(session, &args),
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
        Command::Next(args) => next::run(session, &args),
        Command::Brief(args) => brief::run(session, &args),
        Command::History(args) => history::run(session, &args),
    }
}
