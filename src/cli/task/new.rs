//! `aof task new`

use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser;
use serde_json::{Map, Value, json};

use super::changed;
use crate::cli::arguments::{ActingAgent, Rehearsal, context, key_value, object};
use crate::cli::error::CliError;
use crate::cli::session::Session;
use crate::cli::text_input;
use crate::domain::{IdFault, TaskId, WorkflowName, nearest};
use crate::files::json;
use crate::project::error::error::OpsError;
use crate::rules::Rules;
use crate::tasks::create::{NewTask, check_new, create};
use crate::tasks::headers::lookup::workflow_named;
use crate::tasks::view::changed::changed_value;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof task new \"Add login\"
  aof task new \"Add login\" --tag auth --meta priority=high --body - < login.md
  aof task new \"Ship it\" --depends AOF-7qk
  echo '[{\"title\": \"One\"}, {\"title\": \"Two\", \"tags\": [\"api\"]}]' | aof task new --from -

In KEY=VALUE the value is JSON, else a text. A number that JSON would write differently (1.10, 1e3) is a text as well, in JSON too.")]
pub(crate) struct NewArgs {
    /// What to do, in a few words
    #[arg(required_unless_present = "from", allow_hyphen_values = true)]
    title: Option<String>,
    /// What to do, in a sentence
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// What to do, at length, as Markdown; `-` reads stdin
    #[arg(long, value_name = "TEXT|-", allow_hyphen_values = true)]
    body: Option<String>,
    /// Add a label; conditions of gates see labels
    #[arg(long = "tag", value_name = "TAG", value_parser = NonEmptyStringValueParser::new())]
    tags: Vec<String>,
    /// Add a fact, as in `priority=high`; conditions of gates see facts
    #[arg(long = "meta", value_name = "KEY=VALUE", value_parser = key_value)]
    metadata: Vec<(String, Value)>,
    /// Give it something to start with, as in `repo=web` or `'{"repo": "web"}'`
    #[arg(long = "context", value_name = "KEY=VALUE|JSON", value_parser = context)]
    context: Vec<Vec<(String, Value)>>,
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
    who: ActingAgent,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &NewArgs) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("task new")?;
    let in_force = session.rules(&workspace)?;
    let rules = &in_force.rules;
    let wanted = match &args.from {
        Some(name) => listed(name, &text_input::text(name)?, rules)?,
        None => vec![one(args)?],
    };
    let mode = args.rehearsal.mode();
    let tasks = create(&workspace, &wanted, args.who.agent.as_ref(), mode)?;
    if args.from.is_some() && session.output.is_json() {
        let values: Vec<_> =
            tasks.iter().map(|changed| changed_value(rules, changed, mode)).collect();
        session.output.data(json!({"tasks": values}));
        return Ok(ExitCode::SUCCESS);
    }
    if tasks.is_empty() {
        session.output.say("nothing was created: the list is empty");
    }
    for changed in &tasks {
        changed::show(session, rules, changed, &format!("created, {}", changed.path), mode);
    }
    Ok(ExitCode::SUCCESS)
}

fn one(args: &NewArgs) -> Result<NewTask, CliError> {
    let body = args.body.as_deref().map(text_input::given).transpose()?.unwrap_or_default();
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

const TEXT: &str = "a text";
const TEXTS: &str = "a list of texts";
const OBJECT: &str = "an object";
/// The fields of a task in a list, and what each is.
const FIELDS: [(&str, &str); 8] = [
    ("title", TEXT),
    ("description", TEXT),
    ("body", TEXT),
    ("tags", TEXTS),
    ("metadata", OBJECT),
    ("context", OBJECT),
    ("workflow", TEXT),
    ("dependsOn", TEXTS),
];
/// How many faults of a list are shown.
const FEW: usize = 10;

/// Reads a JSON list of tasks. Fails with everything that is wrong with it.
fn listed(name: &str, text: &str, rules: &Rules) -> Result<Vec<NewTask>, CliError> {
    let name = if name == "-" { "standard input".to_owned() } else { format!("`{name}`") };
    let fix = "give a list of objects, as in `[{\"title\": \"Add login\", \"tags\": [\"auth\"]}]`";
    let refused = |problem: String| CliError::refused("invalid_tasks", problem, fix);
    let value: Value =
        json::read(text).map_err(|error| refused(format!("{name} is no JSON: {error}")))?;
    if let Some(twice) = json::said_twice(text) {
        return Err(refused(format!("{name} cannot be taken: {twice}")));
    }
    let Value::Array(entries) = &value else {
        return Err(refused(format!("{name} is {}, not a list of tasks", noun(&value))));
    };
    let (mut tasks, mut faults) = (Vec::new(), Vec::new());
    for (entry, number) in entries.iter().zip(1..) {
        let checked = |task| match check(rules, &task) {
            Ok(()) => Ok(task),
            Err(error) => Err(vec![error.problem()]),
        };
        match task_of(entry).and_then(checked) {
            Ok(task) => tasks.push(task),
            Err(own) => faults.extend(own.iter().map(|fault| format!("task {number}: {fault}"))),
        }
    }
    if faults.is_empty() {
        return Ok(tasks);
    }
    let more = faults.len().saturating_sub(FEW);
    faults.truncate(FEW);
    faults.extend((more > 0).then(|| format!("and {more} more")));
    Err(refused(format!("{name} cannot be taken: {}", faults.join("; "))))
}

/// Checks a task as its creation does, while it is known which task of the list it is.
fn check(rules: &Rules, task: &NewTask) -> Result<(), OpsError> {
    let workflow = task.workflow.as_ref().unwrap_or(&rules.project.default_workflow);
    check_new(workflow_named(rules, workflow)?, task)
}

fn task_of(entry: &Value) -> Result<NewTask, Vec<String>> {
    let Value::Object(fields) = entry else {
        return Err(vec![format!("it is {}, not an object", noun(entry))]);
    };
    let mut faults = Vec::new();
    let mut is_titled = fields.get("title").is_some_and(|title| !title.is_null());
    for (name, value) in fields {
        let Some((_, kind)) = FIELDS.iter().find(|(known, _)| known == name) else {
            let meant = nearest(name, FIELDS.iter().map(|(known, _)| *known));
            is_titled |= meant == Some("title");
            let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
            faults.push(format!("there is no field `{name}`{meant}"));
            continue;
        };
        // `null` leaves a field out.
        if !value.is_null() && noun(value) != *kind {
            faults.push(format!("`{name}` is {kind}, and this is {}", noun(value)));
        }
    }
    let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let texts = |name: &str| {
        fields.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    };
    let object =
        |name: &str| fields.get(name).and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
    if !is_titled {
        faults.push("it has no `title`".to_owned());
    }
    let mut wrong_id = |fault: IdFault| faults.push(fault.to_string());
    let workflow = text("workflow").map(|name| name.parse()).transpose();
    let workflow = workflow.map_err(&mut wrong_id).ok().flatten();
    let depends_on: Result<Vec<TaskId>, _> = texts("dependsOn").map(str::parse).collect();
    let depends_on = depends_on.map_err(&mut wrong_id).unwrap_or_default();
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(NewTask {
        title: text("title").unwrap_or_default(),
        description: text("description"),
        body: text("body").unwrap_or_default(),
        tags: texts("tags").map(str::to_owned).collect(),
        metadata: object("metadata"),
        input: object("context"),
        workflow,
        depends_on,
    })
}

fn noun(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "`true` or `false`",
        Value::Number(_) => "a number",
        Value::String(_) => TEXT,
        Value::Array(list) if list.iter().all(Value::is_string) => TEXTS,
        Value::Array(_) => "a list of other things",
        Value::Object(_) => OBJECT,
    }
}
