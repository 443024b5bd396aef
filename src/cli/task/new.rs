//! `aof task new`

use std::process::ExitCode;

use super::many::many;
use super::shown;
use crate::cli::error::CliError;
use crate::cli::input::arguments::{Rehearsal, Who, context, key_value, object};
use crate::cli::input::text;
use crate::cli::session::Session;
use crate::domain::{TaskId, WorkflowName};
use crate::tasks::create::{NewTask, create};
use crate::tasks::view::changed::changed_value;

/// Create a task, or many
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof task new \"Add login\"
  aof task new \"Add login\" --tag auth --meta priority=high --body - < login.md
  aof task new \"Ship it\" --depends AOF-7qk
  echo '[{\"title\": \"One\"}, {\"title\": \"Two\", \"tags\": [\"api\"]}]' | aof task new --from -

In KEY=VALUE the value is JSON, else a text; a number that would not come back as it is typed (1.10, 1e3) is a text, too, and so \
it is in JSON.")]
pub(crate) struct Args {
    /// What is to be done, in a few words
    #[arg(required_unless_present = "from", allow_hyphen_values = true)]
    title: Option<String>,
    /// What is to be done, in a sentence
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// What is to be done, at length, as Markdown; `-` reads stdin
    #[arg(long, value_name = "TEXT|-", allow_hyphen_values = true)]
    body: Option<String>,
    /// Label it; conditions of gates see labels
    #[arg(long = "tag", value_name = "TAG", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    tags: Vec<String>,
    /// Note a fact, as in `priority=high`; conditions of gates see facts
    #[arg(long = "meta", value_name = "KEY=VALUE", value_parser = key_value)]
    metadata: Vec<(String, serde_json::Value)>,
    /// Give it something to start with, as in `repo=web` or `'{"repo": "web"}'`
    #[arg(long = "context", value_name = "KEY=VALUE|JSON", value_parser = context)]
    context: Vec<Vec<(String, serde_json::Value)>>,
    /// The workflow that it follows
    #[arg(long, value_name = "NAME")]
    workflow: Option<WorkflowName>,
    /// A task that must be complete before this one is handed out
    #[arg(long = "depends", value_name = "ID")]
    depends_on: Vec<TaskId>,
    /// Create one task for each object in this JSON file, a list; `-` reads stdin
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["title", "description", "body", "tags", "metadata", "context", "workflow", "depends_on"])]
    from: Option<String>,
    #[command(flatten)]
    who: Who,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("task new")?;
    let in_force = session.rules(&workspace)?;
    let wanted = match &args.from {
        Some(name) => many(name, &text::text(name)?, &in_force.rules)?,
        None => vec![one(args)?],
    };
    let mode = args.rehearsal.mode();
    let tasks = create(&workspace, &wanted, args.who.agent.as_ref(), mode)?;
    if args.from.is_some() && session.output.is_json() {
        let values: Vec<_> =
            tasks.iter().map(|changed| changed_value(&in_force.rules, changed, mode)).collect();
        session.output.data(serde_json::json!({"tasks": values}));
    } else {
        if tasks.is_empty() {
            session.output.say("nothing was created: the list is empty");
        }
        for changed in &tasks {
            let done = format!("created, {}", changed.path);
            shown::changed(session, &in_force.rules, changed, &done, mode);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn one(args: &Args) -> Result<NewTask, CliError> {
    let body = args.body.as_deref().map(text::given).transpose()?.unwrap_or_default();
    Ok(NewTask {
        title: args.title.clone().unwrap_or_default(),
        description: args.description.clone(),
        body,
        tags: args.tags.clone(),
        metadata: object(&args.metadata),
        input: object(&args.context.concat()),
        workflow: args.workflow.clone(),
        depends_on: args.depends_on.clone(),
    })
}
