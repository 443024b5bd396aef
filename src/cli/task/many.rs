//! Many tasks from one file of JSON: a list of `{title, description, body, tags, metadata, context, workflow, dependsOn}`. All that is
//! wrong with it is told at once.

use serde_json::{Map, Value};

use crate::cli::error::CliError;
use crate::domain::nearest;
use crate::files::json::json;
use crate::project::error::error::OpsError;
use crate::rules::Rules;
use crate::tasks::create::{NewTask, check_new};
use crate::tasks::lookup::workflow_named;

/// What an entry may have, and what each is.
const FIELDS: [(&str, Kind); 8] = [
    ("title", Kind::Text),
    ("description", Kind::Text),
    ("body", Kind::Text),
    ("tags", Kind::Texts),
    ("metadata", Kind::Object),
    ("context", Kind::Object),
    ("workflow", Kind::Text),
    ("dependsOn", Kind::Texts),
];
/// So many faults are told before it is enough.
const FEW: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Texts,
    Object,
}

impl Kind {
    const fn noun(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Texts => "a list of texts",
            Self::Object => "an object",
        }
    }

    fn is(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Texts => value.as_array().is_some_and(|list| list.iter().all(Value::is_string)),
            Self::Object => value.is_object(),
        }
    }
}

/// Reads the file of that name.
pub(crate) fn many(name: &str, text: &str, rules: &Rules) -> Result<Vec<NewTask>, CliError> {
    let name = if name == "-" { "standard input".to_owned() } else { format!("`{name}`") };
    let unfit = |problem: String| CliError::Unfit {
        code: "invalid_tasks",
        problem,
        fix: "give a list of objects, as in `[{\"title\": \"Add login\", \"tags\": [\"auth\"]}]`"
            .to_owned(),
    };
    let value: Value = crate::files::json::numbers::read(text)
        .map_err(|error| unfit(format!("{name} is no JSON: {error}")))?;
    if let Some(twice) = json::said_twice(text) {
        return Err(unfit(format!("{name} cannot be taken: {twice}")));
    }
    let Value::Array(entries) = &value else {
        return Err(unfit(format!("{name} is {}, not a list of tasks", noun(&value))));
    };
    let (mut tasks, mut faults) = (Vec::new(), Vec::new());
    for (index, entry) in entries.iter().enumerate() {
        let before = faults.len();
        let mut fault = |fault| faults.push(format!("task {}: {fault}", index + 1));
        let found = entry_of(entry, &mut fault);
        let Some(task) = found.filter(|_| faults.len() == before) else { continue };
        match check(rules, &task) {
            Ok(()) => tasks.push(task),
            Err(unfit) => faults.push(format!("task {}: {}", index + 1, unfit.problem())),
        }
    }
    if faults.is_empty() {
        return Ok(tasks);
    }
    let more = faults.len().saturating_sub(FEW);
    faults.truncate(FEW);
    if more > 0 {
        faults.push(format!("and {more} more"));
    }
    Err(unfit(format!("{name} cannot be taken: {}", faults.join("; "))))
}

/// Holds a task against its workflow, as making it does: then nobody would know any more which one it was.
fn check(rules: &Rules, task: &NewTask) -> Result<(), OpsError> {
    let workflow = task.workflow.as_ref().unwrap_or(&rules.project.default_workflow);
    check_new(workflow_named(rules, workflow)?, task)
}

fn entry_of(entry: &Value, fault: &mut dyn FnMut(String)) -> Option<NewTask> {
    let Value::Object(fields) = entry else {
        fault(format!("it is {}, not an object", noun(entry)));
        return None;
    };
    let mut is_titled = fields.get("title").is_some_and(|title| !title.is_null());
    for (name, value) in fields {
        match FIELDS.iter().find(|(known, _)| known == name) {
            None => fault(match nearest(name, FIELDS.iter().map(|(known, _)| *known)) {
                Some(meant) => {
                    is_titled |= meant == "title";
                    format!("there is no field `{name}`; did you mean `{meant}`?")
                }
                None => format!("there is no field `{name}`"),
            }),
            // What is said to be nothing is left open.
            Some(_) if value.is_null() => {}
            Some((_, kind)) if !kind.is(value) => {
                fault(format!("`{name}` is {}, and this is {}", kind.noun(), noun(value)));
            }
            Some(_) => {}
        }
    }
    let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let texts = |name: &str| {
        fields.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    };
    let object =
        |name: &str| fields.get(name).and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
    if !is_titled {
        fault("it has no `title`".to_owned());
    }
    let workflow = text("workflow").map(|name| name.parse()).transpose();
    let depends_on: Result<Vec<_>, _> = texts("dependsOn").map(str::parse).collect();
    let workflow =
        workflow.map_err(|wrong: crate::domain::IdFault| fault(wrong.to_string())).ok()?;
    let depends_on =
        depends_on.map_err(|wrong: crate::domain::IdFault| fault(wrong.to_string())).ok()?;
    Some(NewTask {
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
        Value::String(_) => "a text",
        Value::Array(list) if list.iter().all(Value::is_string) => "a list of texts",
        Value::Array(_) => "a list of other things",
        Value::Object(_) => "an object",
    }
}
