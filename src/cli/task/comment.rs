//! `aof task comment`

use std::process::ExitCode;

use super::shown;
use crate::cli::error::CliError;
use crate::cli::input::arguments::{Rehearsal, Who};
use crate::cli::input::text;
use crate::cli::session::Session;
use crate::domain::{TaskId, Ticket};
use crate::project::workspace::Workspace;
use crate::tasks::edit::{Comment, comment};
use crate::tasks::view::task_view::show;

/// Say something about a task, at the end of its body
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    /// What is to be said, as Markdown; `-` reads stdin, and without it an editor opens at a terminal
    #[arg(value_name = "TEXT|-", allow_hyphen_values = true)]
    text: Option<String>,
    #[command(flatten)]
    who: Who,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("task comment")?;
    let in_force = session.rules(&workspace)?;
    let id = &args.ticket.task;
    let text = match &args.text {
        Some(text) => text::given(text)?,
        None if Session::at_terminal() => written(session, &workspace, id)?,
        // What says nothing is refused where every door's comments are.
        None => String::new(),
    };
    let mode = args.rehearsal.mode();
    let changed = comment(&workspace, id, &Comment { text, agent: args.who.agent.clone() }, mode)?;
    shown::changed(session, &in_force.rules, &changed, "commented", mode);
    Ok(ExitCode::SUCCESS)
}

fn written(session: &Session, workspace: &Workspace, id: &TaskId) -> Result<String, CliError> {
    // A task that is not there is found missing before anybody writes about it.
    show(workspace, id)?;
    let hint =
        format!("<!-- What is to be said about {id}, as Markdown. This line does not count. -->\n");
    let text = text::edited(session, &format!("\n{hint}"), ".md")?;
    Ok(text.replace(hint.trim_end(), "").trim().to_owned())
}
