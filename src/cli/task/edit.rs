//! `aof task edit`

use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser;

use super::shown;
use crate::cli::error::CliError;
use crate::cli::input::arguments::{Rehearsal, Who, key_value, object};
use crate::cli::input::text;
use crate::cli::session::Session;
use crate::domain::{TaskId, Ticket};
use crate::project::workspace::Workspace;
use crate::tasks::apply::change::{Changed, DryRun};
use crate::tasks::edit::{Fields, edit_fields, edit_text, open_manuscript};

/// Change what people say of a task: in an editor, or by these options
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof task edit AOF-7qk                                 the whole file, in your editor
  aof task edit AOF-7qk --title \"Add login\" --tag auth --untag later
  aof task edit AOF-7qk --meta priority=high --depends AOF-m2x

In KEY=VALUE the value is JSON, else a text; a number that would not come back as it is typed (1.10, 1e3) is a text, too.")]
pub(crate) struct Args {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    /// What is to be done, in a few words
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    title: Option<String>,
    /// What is to be done, in a sentence; an empty text takes it away
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// What is to be done, at length, in the place of the whole body; `-` reads stdin
    #[arg(long, value_name = "TEXT|-", allow_hyphen_values = true)]
    body: Option<String>,
    /// Label it
    #[arg(long = "tag", value_name = "TAG", value_parser = NonEmptyStringValueParser::new())]
    tags: Vec<String>,
    /// Take a label away
    #[arg(long = "untag", value_name = "TAG")]
    untags: Vec<String>,
    /// Note a fact, as in `priority=high`
    #[arg(long = "meta", value_name = "KEY=VALUE", value_parser = key_value)]
    metadata: Vec<(String, serde_json::Value)>,
    /// Take a fact away
    #[arg(long = "unset-meta", value_name = "KEY")]
    unset: Vec<String>,
    /// Let it wait for another task
    #[arg(long = "depends", value_name = "ID")]
    depends_on: Vec<TaskId>,
    /// Let it not wait for that task any more
    #[arg(long = "undepends", value_name = "ID")]
    independent_of: Vec<TaskId>,
    #[command(flatten)]
    who: Who,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("task edit")?;
    let in_force = session.rules(&workspace)?;
    let mode = args.rehearsal.mode();
    let id = &args.ticket.task;
    let fields = fields(args)?;
    let changed = if fields != Fields::default() {
        edit_fields(&workspace, id, args.who.agent.as_ref(), &fields, mode)?
    } else if Session::at_terminal() && !session.output.is_json() {
        match by_hand(session, &workspace, args, mode)? {
            Attempt::Taken(changed) => *changed,
            Attempt::GivenUp(code) => return Ok(code),
        }
    } else {
        return Err(CliError::Unfit {
            code: "nothing_to_edit",
            problem: "it is not said what is to change, and there is no terminal for an editor"
                .to_owned(),
            fix: format!(
                "name it, as in `aof task edit {id} --title \"...\" --tag urgent --meta priority=high`; \
                 see `aof task edit --help`"
            ),
        });
    };
    let done = if changed.settled { "nothing to change" } else { "edited" };
    shown::changed(session, &in_force.rules, &changed, done, mode);
    Ok(ExitCode::SUCCESS)
}

fn fields(args: &Args) -> Result<Fields, CliError> {
    Ok(Fields {
        title: args.title.clone(),
        description: args.description.clone(),
        body: args.body.as_deref().map(text::given).transpose()?,
        tags: args.tags.clone(),
        untags: args.untags.clone(),
        metadata: object(&args.metadata),
        unset: args.unset.clone(),
        depends_on: args.depends_on.clone(),
        independent_of: args.independent_of.clone(),
    })
}

/// What came of editing by hand.
enum Attempt {
    Taken(Box<Changed>),
    /// It could not be taken, and that has been said.
    GivenUp(ExitCode),
}

/// Opens the editor on the file until what comes back can be taken, or its author gives up.
fn by_hand(
    session: &Session,
    workspace: &Workspace,
    args: &Args,
    mode: DryRun,
) -> Result<Attempt, CliError> {
    let id = &args.ticket.task;
    let agent = args.who.agent.as_ref();
    let suffix = format!("-{id}.md");
    let manuscript = open_manuscript(workspace, id, agent, mode)?;
    let mut text = manuscript.bytes.clone();
    loop {
        text = text::edited_bytes(session, &text, &suffix)?;
        let trouble: CliError = match edit_text(workspace, id, agent, &manuscript, &text, mode) {
            Ok(changed) => return Ok(Attempt::Taken(Box::new(changed))),
            Err(error) => error.into(),
        };
        let code = trouble.show(session);
        if trouble.is_mendable() {
            session.output.say("\ngo on editing? [Y/n]");
            if text::agreed() {
                continue;
            }
        }
        let path = text::kept(&text, &suffix)?;
        session.output.say(format!("\nwhat you wrote is kept in `{}`", path.display()));
        return Ok(Attempt::GivenUp(code));
    }
}
