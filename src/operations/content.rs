//! Operations on what people write: new tasks, edits, comments.

use super::arguments::{ArgumentFault, Arguments};
use super::fields::{InputField, InputKind};
use super::operation::{Call, CallFault, Done};
use crate::domain::{Due, DueFault, Link, TaskPlan, Ticket};
use crate::project::error::ProjectError;
use crate::tasks::create::{self, NewTask};
use crate::tasks::edit::{self, Comment, EditedFields};

pub(crate) const DUE: InputField = InputField::optional(
    "due",
    InputKind::Text,
    "When it is due: a day, as in 2026-12-01, or a time with its zone",
);

pub(super) fn create(call: &Call<'_>) -> Result<Done, CallFault> {
    Ok(create_tasks(call, &[new_task(call.given)?])?)
}

/// Creates tasks in one move of the branch.
pub(crate) fn create_tasks(call: &Call<'_>, new: &[NewTask]) -> Result<Done, ProjectError> {
    let changed = create::create(call.workspace, new, call.by, call.dry_run)?;
    Ok(Done { sentence: "created".to_owned(), changed })
}

/// Decodes a new task.
pub(crate) fn new_task(given: &Arguments) -> Result<NewTask, ArgumentFault> {
    let links = given.texts("links").unwrap_or_default();
    Ok(NewTask {
        title: given.text("title").unwrap_or_default(),
        description: given.text("description"),
        body: given.text("body").unwrap_or_default(),
        plan: TaskPlan {
            priority: given.text("priority"),
            due: due(given)?,
            milestone: given.text("milestone"),
            links: links.into_iter().map(|url| Link { title: None, url }).collect(),
        },
        tags: given.texts("tags").unwrap_or_default(),
        metadata: given.object("metadata"),
        input: given.object("context"),
        workflow: given.parsed("workflow")?,
        depends_on: given.ids("dependsOn")?,
        parent: given.id("parent")?,
        is_told: false,
    })
}

fn due(given: &Arguments) -> Result<Option<Due>, ArgumentFault> {
    let Some(text) = given.text("due") else { return Ok(None) };
    text.parse().map(Some).map_err(|fault: DueFault| {
        ArgumentFault::new("invalid_argument", "due", fault.to_string(), DUE.help)
    })
}

pub(super) fn edit(call: &Call<'_>, ticket: &Ticket) -> Result<Done, CallFault> {
    let fields = EditedFields {
        title: call.given.text("title"),
        body: call.given.text("body"),
        body_was: call.given.text("bodyWas"),
        ..EditedFields::default()
    };
    Ok(edit_fields(call, ticket, &fields)?)
}

/// Changes the given fields of a task.
pub(crate) fn edit_fields(
    call: &Call<'_>,
    ticket: &Ticket,
    fields: &EditedFields,
) -> Result<Done, ProjectError> {
    let changed = edit::edit_fields(call.workspace, &ticket.task, call.by, fields, call.dry_run)?;
    let done = if changed.settled { "nothing to change" } else { "edited" };
    Ok(Done::one(done, changed))
}

pub(super) fn comment(call: &Call<'_>, ticket: &Ticket) -> Result<Done, CallFault> {
    let text = call.given.text("text").or_else(|| call.given.text("reason")).unwrap_or_default();
    let comment = Comment { text, agent: call.by.cloned() };
    let changed = edit::comment(call.workspace, &ticket.task, &comment, call.dry_run)?;
    Ok(Done::one("commented", changed))
}
