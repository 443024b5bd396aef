//! `aof task edit` and `aof task comment`

use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser;

use super::changed;
use crate::cli::{
    ActingAgent, CliError, CliResult, Rehearsal, Session, key_value, object, text_input,
};
use crate::domain::{TaskId, Ticket};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::tasks::edit::{self, Comment, EditedFields, edit_fields, edit_text, open_manuscript};
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::view::task_view::show;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof task edit AOF-7qk                                 the whole file, in your editor
  aof task edit AOF-7qk --title \"Add login\" --tag auth --untag later
  aof task edit AOF-7qk --meta priority=high --depends AOF-m2x

In KEY=VALUE the value is JSON, else a text. A number that JSON would write differently (1.10, 1e3) is a text as well.")]
pub(crate) struct EditArgs {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    /// What to do, in a few words
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    title: Option<String>,
    /// What to do, in a sentence; an empty text removes it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// What to do, at length, in place of the whole body; `-` reads stdin
    #[arg(long, value_name = "TEXT|-", allow_hyphen_values = true)]
    body: Option<String>,
    /// Add a label
    #[arg(long = "tag", value_name = "TAG", value_parser = NonEmptyStringValueParser::new())]
    tags: Vec<String>,
    /// Remove a label
    #[arg(long = "untag", value_name = "TAG")]
    untags: Vec<String>,
    /// Add a fact, as in `priority=high`
    #[arg(long = "meta", value_name = "KEY=VALUE", value_parser = key_value)]
    metadata: Vec<(String, serde_json::Value)>,
    /// Remove a fact
    #[arg(long = "unset-meta", value_name = "KEY")]
    unset: Vec<String>,
    /// Let it wait for another task
    #[arg(long = "depends", value_name = "ID")]
    depends_on: Vec<TaskId>,
    /// Let it no longer wait for that task
    #[arg(long = "undepends", value_name = "ID")]
    independent_of: Vec<TaskId>,
    #[command(flatten)]
    who: ActingAgent,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CommentArgs {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    /// The comment, as Markdown; `-` reads stdin, and without it an editor opens at a terminal
    #[arg(value_name = "TEXT|-", allow_hyphen_values = true)]
    text: Option<String>,
    #[command(flatten)]
    who: ActingAgent,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &EditArgs) -> CliResult {
    let (workspace, in_force) = session.open("task edit")?;
    let mode = args.rehearsal.mode();
    let id = &args.ticket.task;
    let fields = EditedFields {
        title: args.title.clone(),
        description: args.description.clone(),
        body: args.body.as_deref().map(text_input::given).transpose()?,
        tags: args.tags.clone(),
        untags: args.untags.clone(),
        metadata: object(&args.metadata),
        unset: args.unset.clone(),
        depends_on: args.depends_on.clone(),
        independent_of: args.independent_of.clone(),
    };
    if fields == EditedFields::default() {
        if Session::at_terminal() && !session.output.is_json() {
            return edit_by_hand(session, &workspace, &in_force.rules, args, mode);
        }
        let fix = format!(
            "name it, as in `aof task edit {id} --title \"...\" --tag urgent --meta priority=high`; \
             see `aof task edit --help`"
        );
        let problem = "no change is given, and there is no terminal for an editor";
        return Err(CliError::refused("nothing_to_edit", problem, fix));
    }
    let changed = edit_fields(&workspace, id, args.who.agent.as_ref(), &fields, mode)?;
    Ok(show_edited(session, &in_force.rules, &changed, mode))
}

fn show_edited(session: &Session, rules: &Rules, changed: &Changed, mode: DryRun) -> ExitCode {
    let done = if changed.settled { "nothing to change" } else { "edited" };
    changed::show(session, rules, changed, done, mode);
    ExitCode::SUCCESS
}

/// Opens the editor until its text is accepted, or its author gives up.
fn edit_by_hand(
    session: &Session,
    workspace: &Workspace,
    rules: &Rules,
    args: &EditArgs,
    mode: DryRun,
) -> CliResult {
    let (id, agent) = (&args.ticket.task, args.who.agent.as_ref());
    let suffix = format!("-{id}.md");
    let manuscript = open_manuscript(workspace, id, agent, mode)?;
    let mut text = manuscript.bytes.clone();
    loop {
        text = text_input::edited_bytes(session, &text, &suffix)?;
        let error = match edit_text(workspace, id, agent, &manuscript, &text, mode) {
            Ok(changed) => return Ok(show_edited(session, rules, &changed, mode)),
            Err(error) => error,
        };
        let can_be_corrected = matches!(
            &error,
            ProjectError::UnreadableTask { .. } | ProjectError::Unfit { code: "engine_fields", .. }
        );
        let code = session.fail(&error.into());
        if can_be_corrected {
            session.output.say("\ngo on editing? [Y/n]");
            if text_input::agreed() {
                continue;
            }
        }
        let path = text_input::kept(&text, &suffix)?;
        session.output.say(format!("\nwhat you wrote is kept in `{}`", path.display()));
        return Ok(code);
    }
}

/// Adds a comment.
pub(crate) fn comment(session: &Session, args: &CommentArgs) -> CliResult {
    let (workspace, in_force) = session.open("task comment")?;
    let id = &args.ticket.task;
    let text = match &args.text {
        Some(text) => text_input::given(text)?,
        None if Session::at_terminal() => {
            // A missing task is noticed before anybody writes about it.
            show(&workspace, id)?;
            let hint =
                format!("<!-- Your comment on {id}, as Markdown. This line does not count. -->");
            let text = text_input::edited(session, &format!("\n{hint}\n"), ".md")?;
            text.replace(&hint, "").trim().to_owned()
        }
        // The operation refuses an empty comment.
        None => String::new(),
    };
    let mode = args.rehearsal.mode();
    let comment = Comment { text, agent: args.who.agent.clone() };
    let changed = edit::comment(&workspace, id, &comment, mode)?;
    changed::show(session, &in_force.rules, &changed, "commented", mode);
    Ok(ExitCode::SUCCESS)
}
