//! `aof task ...`

use super::assign;
use super::brief;
use super::cancel;
use super::comment;
use super::complete;
use super::edit;
use super::history;
use super::hold;
use super::list;
use super::new;
use super::next;
use super::override_;
use super::release;
use super::renew;
use super::reopen;
use super::show;
use super::sign;
use super::unblock;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::cli::error::Trouble;
use crate::cli::session::Session;
use crate::cli::single_command::Describe;

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
    Release(release::Args),
    /// Say that you are still at work, so that your claim lasts
    Renew(renew::Args),
    /// Give a task to an agent, whoever has it now
    Assign(assign::Args),
    /// Hold a task where it is, until it is unblocked
    Hold(hold::Args),
    /// Set a blocked or held task going again
    #[command(visible_alias = "resume")]
    Unblock(unblock::Args),
    /// Call a task off
    Cancel(cancel::Args),
    /// Take a finished task up again
    Reopen(reopen::Args),
    /// Move a task to a gate against its workflow
    Override(override_::Args),
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

/// Every command, with what describes it.
pub(crate) const ALONE: &[(&str, Describe)] = &[
    ("new", new::Args::augment_args),
    ("edit", edit::Args::augment_args),
    ("comment", comment::Args::augment_args),
    ("complete", complete::Args::augment_args),
    ("sign", sign::Args::augment_args),
    ("release", release::Args::augment_args),
    ("renew", renew::Args::augment_args),
    ("assign", assign::Args::augment_args),
    ("hold", hold::Args::augment_args),
    ("unblock", unblock::Args::augment_args),
    ("cancel", cancel::Args::augment_args),
    ("reopen", reopen::Args::augment_args),
    ("override", override_::Args::augment_args),
    ("list", list::Args::augment_args),
    ("show", show::Args::augment_args),
    ("next", next::Args::augment_args),
    ("brief", brief::Args::augment_args),
    ("history", history::Args::augment_args),
];

pub(crate) fn run(session: &Session, command: Command) -> Result<ExitCode, Trouble> {
    match command {
        Command::New(args) => new::run(session, &args),
        Command::Edit(args) => edit::run(session, &args),
        Command::Comment(args) => comment::run(session, &args),
        Command::Complete(args) => complete::run(session, &args),
        Command::Sign(args) => sign::run(session, &args),
        Command::Release(args) => release::run(session, &args),
        Command::Renew(args) => renew::run(session, &args),
        Command::Assign(args) => assign::run(session, &args),
        Command::Hold(args) => hold::run(session, &args),
        Command::Unblock(args) => unblock::run(session, &args),
        Command::Cancel(args) => cancel::run(session, &args),
        Command::Reopen(args) => reopen::run(session, &args),
        Command::Override(args) => override_::run(session, &args),
        Command::List(args) => list::run(session, &args),
        Command::Show(args) => show::run(session, &args),
        Command::Next(args) => next::run(session, &args),
        Command::Brief(args) => brief::run(session, &args),
        Command::History(args) => history::run(session, &args),
    }
}
