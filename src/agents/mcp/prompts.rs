//! Prompts: what a person picks from a menu to set the model to work.

use rmcp::model::{ErrorData, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};

use super::current::current;
use super::resources::{brief_of, not_found};
use super::session::{Desk, Project};
use super::tool_error::Trouble;
use crate::domain::{Map, Ticket};

const WORK: &str = "work-next";
const REVIEW: &str = "review-task";

/// Returns the prompts. A server that only looks has none: both end with a completion.
pub(crate) fn listed(desk: &Desk) -> Vec<Prompt> {
    if desk.only_looks() {
        return Vec::new();
    }
    let task =
        PromptArgument::new("task").with_description("The task, as in AOF-7qk").with_required(true);
    vec![
        Prompt::new(WORK, Some("Take the next task, do the work, say how it went"), None),
        Prompt::new(
            REVIEW,
            Some("Look at the work of a task at its gate, and say what you find"),
            Some(vec![task]),
        ),
    ]
}

/// Returns a prompt, filled in.
pub(crate) fn get(desk: &Desk, name: &str, arguments: &Map) -> Result<GetPromptResult, ErrorData> {
    if !listed(desk).iter().any(|prompt| prompt.name == name) {
        let problem = format!("there is no prompt `{name}`; there are `{WORK}` and `{REVIEW}`");
        return Err(ErrorData::invalid_params(problem, None));
    }
    let project = desk.open("prompt").map_err(|error| not_found(&error.into()))?;
    let text = match name {
        WORK => work(&project),
        _ => review(&project, arguments)?,
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}

fn work(project: &Project<'_>) -> String {
    let begun = current(project).ok().and_then(|ticket| brief_of(project, &ticket).ok());
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

fn review(project: &Project<'_>, arguments: &Map) -> Result<String, ErrorData> {
    let Some(named) = arguments.get("task").and_then(serde_json::Value::as_str) else {
        return Err(ErrorData::invalid_params("`review-task` needs `task`, as in AOF-7qk", None));
    };
    let ticket: Ticket =
        named.parse().map_err(|fault: crate::domain::IdFault| not_found(&Trouble::from(fault)))?;
    let brief = brief_of(project, &ticket).map_err(|error| not_found(&error.into()))?;
    Ok(format!(
        "Review the work of this task as its brief asks. Look at what was really done, in the files, not only at what is said of \
         it. Name each thing that has to be mended so that somebody else can mend it: where it is, what is wrong, what would be \
         right.\n\n{brief}"
    ))
}
