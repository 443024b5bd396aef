//! Prompts: what a person picks from a menu to set the model to work.

use serde_json::{Value, json};

use super::json_rpc::{INVALID_PARAMS, RpcError};
use super::resources::{brief_of, not_found};
use super::session::{OpenProject, ServerSetup};
use super::tool_error::ToolError;
use crate::domain::{IdFault, Map, Ticket};

const WORK: &str = "work-next";
const REVIEW: &str = "review-task";

/// Returns the prompts. A server that only looks has none: both end with a completion.
pub(crate) fn listed(setup: &ServerSetup) -> Value {
    if setup.read_only {
        return json!([]);
    }
    let task = json!({"name": "task", "description": "The task, as in AOF-7qk", "required": true});
    json!([
        {"name": WORK, "description": "Take the next task, do the work, say how it went"},
        {
            "name": REVIEW,
            "description": "Look at the work of a task at its gate, and say what you find",
            "arguments": [task],
        },
    ])
}

/// Returns a prompt, filled in.
pub(crate) fn get(setup: &ServerSetup, name: &str, arguments: &Map) -> Result<Value, RpcError> {
    if setup.read_only || ![WORK, REVIEW].contains(&name) {
        let problem = format!("there is no prompt `{name}`; there are `{WORK}` and `{REVIEW}`");
        return Err(RpcError::new(INVALID_PARAMS, problem));
    }
    let project = setup.open("prompt").map_err(|error| not_found(&error.into()))?;
    let text = if name == WORK { work(&project) } else { review(&project, arguments)? };
    Ok(json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}))
}

fn work(project: &OpenProject<'_>) -> String {
    let begun = project.current().ok().and_then(|ticket| brief_of(project, &ticket).ok());
    let begin = match &begun {
        Some(brief) => format!("You have a task already. This is its brief:\n\n{brief}"),
        None => "Call aof_task_next to take your next task. If there is none, say so and stop."
            .to_owned(),
    };
    format!(
        "{begin}\n\nDo the work that the brief asks for, all of it, and check it against what is expected. Then call \
         aof_task_complete, once, with the outcome that is true: nobody is helped by a gate that was passed too early. If it is \
         refused, read why, mend that, and call again."
    )
}

fn review(project: &OpenProject<'_>, arguments: &Map) -> Result<String, RpcError> {
    let Some(named) = arguments.get("task").and_then(Value::as_str) else {
        return Err(RpcError::new(INVALID_PARAMS, "`review-task` needs `task`, as in AOF-7qk"));
    };
    let ticket: Ticket =
        named.parse().map_err(|fault: IdFault| not_found(&ToolError::from(fault)))?;
    let brief = brief_of(project, &ticket).map_err(|error| not_found(&error.into()))?;
    Ok(format!(
        "Review the work of this task as its brief asks. Look at what was really done, in the files, not only at what is said of \
         it. Name each thing that has to be mended so that somebody else can mend it: where it is, what is wrong, what would be \
         right.\n\n{brief}"
    ))
}
