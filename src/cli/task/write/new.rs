//! `aof new`

use std::collections::BTreeMap;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::edit::{PlanOptions, call};
use super::list::ListedTasks;
use crate::cli::task::actions;
use crate::cli::{
    ActingAgent, CliError, CliResult, DryRunOption, Session, context, cyan, object, text_input,
};
use crate::domain::{PlanChange, WorkflowName};
use crate::operations::arguments::Arguments;
use crate::operations::content::create_tasks;
use crate::tasks::create::NewTask;
use crate::tasks::view::task_view::changed_value;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof new \"Add login\"
  aof new \"Add login\" --tag auth --priority high --body - < login.md
  aof new \"Ship it\" --depends AOF-7qk
  aof new --from plan.md                    a task for each `- [ ]`, with the text indented below it
  echo '[{\"title\": \"One\"}, {\"title\": \"Two\", \"tags\": [\"api\"]}]' | aof new --from -

In KEY=VALUE the value is JSON, else a text. A number that JSON would write differently (1.10, 1e3) is a text as well, in JSON too.")]
pub(crate) struct NewArgs {
    /// What to do, in a few words; at a terminal it is asked for
    #[arg(allow_hyphen_values = true)]
    title: Option<String>,
    #[command(flatten)]
    plan: PlanOptions,
    /// Give it something to start with, as in `repo=web,branch=main` or `'{"repo": "web"}'`
    #[arg(long = "context", value_name = "KEY=VALUE|JSON", value_parser = context)]
    context: Vec<Vec<(String, Value)>>,
    /// The workflow that it follows
    #[arg(long, value_name = "NAME")]
    workflow: Option<WorkflowName>,
    /// Create one task for each object in this file, a list or one on each line, or for each `- [ ]` of Markdown; `-` reads stdin
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["title", "context", "workflow", "PlanOptions"])]
    from: Option<String>,
    #[command(flatten)]
    who: ActingAgent,
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

pub(crate) fn run_new(session: &Session, args: &NewArgs) -> CliResult {
    let (workspace, in_force) = session.open("new")?;
    let rules = &in_force.rules;
    let mode = args.dry_run_option.mode();
    let nothing = Arguments::default();
    let call = call((&workspace, &in_force), args.who.agent.as_ref(), &nothing, mode);
    let mut tasks = Vec::new();
    let mut earlier = BTreeMap::new();
    let mut refused = None;
    if let Some(name) = &args.from {
        let today = rules.project.day(workspace.now());
        let mut list = ListedTasks::parse(name, &text_input::text(name)?, rules, today)?;
        earlier = list.take_created(&workspace);
        let mut ids = earlier.clone();
        loop {
            let (names, next): (Vec<_>, Vec<_>) = list.take_next(&ids, mode)?.into_iter().unzip();
            if next.is_empty() {
                break;
            }
            let created = match create_tasks(&call, &next) {
                Ok(created) => created.changed,
                // The tasks that exist by now are shown. With the cause removed, the same list creates the others.
                Err(error) if !tasks.is_empty() => {
                    refused = Some(error);
                    break;
                }
                Err(error) => return Err(error.into()),
            };
            let created_ids = created.iter().map(|changed| changed.after.task.id.clone());
            ids.extend(
                names.into_iter().zip(created_ids).filter_map(|(name, id)| Some((name?, id))),
            );
            tasks.extend(created);
        }
    } else {
        let new = NewTask {
            fields: PlanChange {
                title: Some(title(session, args.title.as_ref())?),
                ..args.plan.change(session, &workspace, rules)?
            },
            body: args.plan.body()?.unwrap_or_default(),
            input: object(&args.context.concat()),
            workflow: args.workflow.clone(),
            is_requested: false,
        };
        tasks = create_tasks(&call, &[new])?.changed;
    }
    if args.from.is_some() && session.output.is_json() {
        let values = tasks.iter().map(|changed| changed_value(rules, changed, mode));
        let mut value = json!({"tasks": values.collect::<Vec<_>>()});
        if !earlier.is_empty() {
            value["existing"] = json!(earlier);
        }
        session.output.data(value);
        return refused.map_or(Ok(ExitCode::SUCCESS), |error| Err(error.into()));
    }
    for (reference, id) in &earlier {
        session.output.line(format!("{}: `ref: {reference}` exists already", cyan(id)));
    }
    if tasks.is_empty() && earlier.is_empty() {
        session.output.say("nothing was created: the list is empty");
    }
    for changed in &tasks {
        let value = actions::show(
            session,
            (&workspace, &in_force),
            changed,
            &format!("created, {}", changed.path),
            mode,
        );
        if session.output.is_json() {
            session.output.data(value);
        }
    }
    refused.map_or(Ok(ExitCode::SUCCESS), |error| Err(error.into()))
}

/// Returns the title: the given one, or what the person types.
fn title(session: &Session, given: Option<&String>) -> CliResult<String> {
    if let Some(title) = given {
        return Ok(title.clone());
    }
    if !Session::at_terminal() || session.output.is_json() {
        let fix = "give it a title, as in `aof new \"Add login\"`";
        return Err(CliError::refused("missing_title", "a task needs a title".to_owned(), fix));
    }
    text_input::line("Title: ")
}
