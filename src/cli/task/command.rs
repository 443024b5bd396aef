//! The commands for tasks: `aof new`, `aof list` and the others, also as `aof task VERB`.

use clap::Subcommand;

use super::write::{edit, new};
use super::{actions, brief, complete, decide, history, list, search, show, test};
use crate::cli::{CliResult, Session};
use crate::domain::Outcome;
use crate::operations::table as operation;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum TaskCommand {
    /// Create a task, or many
    #[command(visible_alias = "add")]
    New(new::NewArgs),
    /// Change a task's text: in an editor, or by options
    Edit(edit::EditArgs),
    /// Add a comment at the end of a task's text
    Comment(edit::CommentArgs),
    /// Say that the work at a task's gate is done, rejected or blocked
    Complete(complete::CompleteArgs),
    /// Say that the work at a task's gate is done: `complete` with that outcome
    Done(complete::CompleteArgs),
    /// Approve the work at a task's gate
    Approve(complete::ApproveArgs),
    /// Reject the work at a task's gate, and say what has to be fixed
    Reject(complete::RejectArgs),
    /// Say what the work at a task's gate waits for
    Block(complete::BlockArgs),
    /// Decide what waits for you, one task after another
    Decide(decide::DecideArgs),
    /// Take your last step of a task back, while nothing followed
    #[command(after_help = "\
The task returns to the gate that it left, by an override; a finished one is reopened there.

Example:
  aof undo AOF-7qk")]
    Undo(actions::ReasonArgs),
    /// Sign a completion file
    Sign(actions::SignArgs),
    /// Give a claimed task back
    Release(actions::ActionArgs),
    /// Say that you are still at work, so that your claim does not expire
    #[command(after_help = "\
Where a workflow or a gate has a `lease`, a claim that is not renewed ends, and the task is free again.

Example:
  aof renew AOF-7qk --note \"The tests pass, the docs are missing\"")]
    Renew(actions::RenewArgs),
    /// Give a task to an agent, whoever has it now
    #[command(after_help = "\
Examples:
  aof assign AOF-7qk ann                           plans it for ann; no one has it yet
  aof assign AOF-7qk agent-2 --claim               has agent-2 take it now
  aof assign AOF-7qk@3/security human-ann --claim  a branch of it")]
    Assign(actions::AssignArgs),
    /// Hold a task at its gate until it is unblocked
    #[command(after_help = "\
Nothing is completed while a task is held, and its time limits stand still. Whoever has claimed it keeps it.

Example:
  aof hold AOF-7qk -m \"The customer wants to talk first\"
  aof unblock AOF-7qk")]
    Hold(actions::ReasonArgs),
    /// Let a blocked or held task go on
    #[command(visible_alias = "resume")]
    Unblock(actions::ReasonArgs),
    /// Cancel a task
    Cancel(actions::ReasonArgs),
    /// Reopen a finished task
    Reopen(actions::MoveArgs),
    /// Move a task to a gate against its workflow
    Override(actions::MoveArgs),
    /// List tasks
    #[command(visible_alias = "ls")]
    List(list::ListArgs),
    /// Search tasks: in titles, labels, summaries and texts
    #[command(after_help = "\
All words must be there, whole or in their beginnings, in upper or lower case. A match in the title comes before one in a \
label, then what was said in completions, then the text; of equal ones, the task changed last.

Examples:
  aof search login                   also finds \"logins\"
  aof search login \"session cookie\"  the second is a phrase")]
    Search(search::SearchArgs),
    /// Show a task
    Show(show::ShowArgs),
    /// Run a task's acceptance tests
    Test(test::TestArgs),
    /// Claim your next task, and show what to do
    Next(brief::NextArgs),
    /// Claim a certain task, and show what to do
    #[command(visible_alias = "start")]
    Claim(brief::ClaimArgs),
    /// Show what an agent is told at a task's gate
    Brief(brief::BriefArgs),
    /// Show a task's way through its gates
    #[command(visible_alias = "log")]
    History(history::HistoryArgs),
}

pub(crate) fn run(session: &Session, command: &TaskCommand) -> CliResult {
    match command {
        TaskCommand::New(args) => new::run_new(session, args),
        TaskCommand::Edit(args) => edit::run_edit(session, args),
        TaskCommand::Comment(args) => edit::comment(session, args),
        TaskCommand::Complete(args) => complete::run(session, args, None),
        TaskCommand::Done(args) => complete::run(session, args, Some(Outcome::Complete.as_str())),
        TaskCommand::Approve(args) => complete::approve(session, args),
        TaskCommand::Reject(args) => complete::reject(session, args),
        TaskCommand::Block(args) => complete::block(session, args),
        TaskCommand::Decide(args) => decide::run(session, args),
        TaskCommand::Undo(args) => actions::reasoned(session, &operation::UNDO, args),
        TaskCommand::Claim(args) => brief::claim(session, args),
        TaskCommand::Sign(args) => actions::run_sign(session, args),
        TaskCommand::Release(args) => actions::release(session, args),
        TaskCommand::Renew(args) => actions::renew(session, args),
        TaskCommand::Assign(args) => actions::assign(session, args),
        TaskCommand::Hold(args) => actions::reasoned(session, &operation::HOLD, args),
        TaskCommand::Unblock(args) => actions::reasoned(session, &operation::UNBLOCK, args),
        TaskCommand::Cancel(args) => actions::reasoned(session, &operation::CANCEL, args),
        TaskCommand::Reopen(args) => actions::moved(session, &operation::REOPEN, args),
        TaskCommand::Override(args) => actions::moved(session, &operation::OVERRIDE, args),
        TaskCommand::List(args) => list::run(session, args),
        TaskCommand::Search(args) => search::run(session, args),
        TaskCommand::Show(args) => show::run_show(session, args),
        TaskCommand::Test(args) => test::run(session, args),
        TaskCommand::Next(args) => brief::next(session, args),
        TaskCommand::Brief(args) => brief::run(session, args),
        TaskCommand::History(args) => history::run_history(session, args),
    }
}
