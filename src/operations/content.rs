//! Operations on what people write: new tasks, edits, comments.

use jiff::civil::Date;

use super::arguments::{ArgumentFault, Arguments};
use super::fields::{InputField, InputKind};
use super::operation::{Call, CallFault, Done};
use crate::domain::{Due, PlanChange, PlanRemoval, TaskPlan, Ticket, TypedDue, TypedDueFault};
use crate::project::error::ProjectError;
use crate::tasks::create::{self, NewTask};
use crate::tasks::edit::{self, Comment, TaskEdit};

pub(crate) const DUE: InputField = InputField::optional(
    "due",
    InputKind::Text,
    "When it is due: a day, as in 2026-12-01, fri, next week, eom or +3d, or a time with its zone",
);

pub(crate) const NOT_BEFORE: InputField = InputField::optional(
    "notBefore",
    InputKind::Text,
    "The day or time before which it is not handed out, in the same forms as `due`",
);

pub(super) fn create(call: &Call<'_>) -> Result<Done, CallFault> {
    Ok(create_tasks(call, &[new_task(call.given, today(call))?])?)
}

/// Creates tasks in one move of the branch.
pub(crate) fn create_tasks(call: &Call<'_>, new: &[NewTask]) -> Result<Done, ProjectError> {
    let changed = create::create(call.workspace, new, call.by, call.dry_run)?;
    Ok(Done { sentence: "created".to_owned(), changed })
}

/// Decodes a new task.
pub(crate) fn new_task(given: &Arguments, today: Date) -> Result<NewTask, ArgumentFault> {
    Ok(NewTask {
        fields: plan_change(given, today)?,
        body: given.text("body").unwrap_or_default(),
        input: given.object("context"),
        workflow: given.parsed("workflow")?,
        is_requested: false,
    })
}

/// Decodes the fields that people own.
fn plan_change(given: &Arguments, today: Date) -> Result<PlanChange, ArgumentFault> {
    Ok(PlanChange {
        title: given.text("title"),
        description: given.text("description"),
        plan: TaskPlan {
            priority: given.text("priority"),
            due: day(given, &DUE, today)?,
            not_before: day(given, &NOT_BEFORE, today)?,
            milestone: given.text("milestone"),
            assignee: given.texts("assignee").unwrap_or_default(),
            links: given.links("links"),
        },
        tags: given.texts("tags").unwrap_or_default(),
        metadata: given.object("metadata"),
        depends_on: given.ids("dependsOn")?,
        parent: given.id("parent")?,
        removal: PlanRemoval {
            keys: given
                .texts("unset")
                .iter()
                .flatten()
                .filter_map(|key| key.parse().ok())
                .collect(),
            tags: given.texts("untag").unwrap_or_default(),
            parent: given.texts("unset").iter().flatten().any(|key| key == "parent"),
            ..PlanRemoval::default()
        },
    })
}

fn day(given: &Arguments, field: &InputField, today: Date) -> Result<Option<Due>, ArgumentFault> {
    let Some(text) = given.text(field.name) else { return Ok(None) };
    let typed: Result<TypedDue, TypedDueFault> = text.parse();
    typed.map(|due| Some(due.on(today))).map_err(|fault| {
        ArgumentFault::new("invalid_argument", field.name, fault.to_string(), field.help)
    })
}

/// Returns the day in the project's time zone.
pub(crate) fn today(call: &Call<'_>) -> Date {
    call.in_force.rules.project.day(call.workspace.now())
}

pub(super) fn edit(call: &Call<'_>, ticket: &Ticket) -> Result<Done, CallFault> {
    let edit = TaskEdit {
        change: plan_change(call.given, today(call))?,
        body: call.given.text("body"),
        body_was: call.given.text("bodyWas"),
    };
    Ok(edit_fields(call, ticket, &edit)?)
}

/// Changes the given fields of a task.
pub(crate) fn edit_fields(
    call: &Call<'_>,
    ticket: &Ticket,
    edit: &TaskEdit,
) -> Result<Done, ProjectError> {
    let changed = edit::edit_fields(call.workspace, &ticket.task, call.by, edit, call.dry_run)?;
    let done = if changed.settled { "nothing to change" } else { "edited" };
    Ok(Done::one(done, changed))
}

pub(super) fn comment(call: &Call<'_>, ticket: &Ticket) -> Result<Done, CallFault> {
    let text = call.given.text("text").or_else(|| call.given.text("reason")).unwrap_or_default();
    let comment = Comment { text, agent: call.by.cloned() };
    let changed = edit::comment(call.workspace, &ticket.task, &comment, call.dry_run)?;
    Ok(Done::one("commented", changed))
}
