//! The table of operations. A row is all that the doors know of one: tools, addresses, forms and their checks are derived from it.

pub(crate) use super::content::{DUE, NOT_BEFORE};
use super::fields::InputKind::{Links, Object, Text, Texts, Word};
use super::fields::{Doors, InputField};
use super::operation::{Effect, OnTask, Operation, OperationRun};
use super::{completion, content, steps};

const COMMAND: Doors = Doors::COMMAND;
const TOOL: Doors = Doors::TOOL;
const API: Doors = Doors::API;
const PAGE: Doors = Doors::PAGE;
const BOARD: Doors = Doors::BOARD;
/// The doors of people and programs that see more than their own work.
const ALL_BUT_TOOLS: Doors = COMMAND.and(BOARD);
const COMMAND_AND_WEB: Doors = COMMAND.and(API).and(PAGE);

/// The task, in tools that work on one. Other doors name it outside the fields.
pub(crate) const TASK: InputField = InputField::optional(
    "task",
    Text,
    "As in AOF-7qk, or a ticket, as in AOF-7qk@3; left out: the one that you have",
)
.at(TOOL);

/// The visit that a person or program at a board saw: if it has ended, nothing happens.
pub(crate) const TICKET: InputField =
    InputField::required("ticket", Text, "The visit that you saw, as in AOF-7qk@3")
        .at(API.and(PAGE));

const REASON: InputField = InputField::required("reason", Text, "Why").at(ALL_BUT_TOOLS);
const GATE: InputField =
    InputField::required("to", Text, "The gate to which it goes").label("Gate").at(ALL_BUT_TOOLS);

const DESCRIPTION: InputField = InputField::optional("description", Text, "In a sentence");
const DEPENDS_ON: InputField =
    InputField::optional("dependsOn", Texts, "Ids of tasks that must be complete first")
        .at(COMMAND.and(TOOL));
pub(crate) const PRIORITY: InputField = InputField::optional(
    "priority",
    Word(&["critical", "high", "medium", "low"]),
    "How urgent it is",
);
pub(crate) const MILESTONE: InputField =
    InputField::optional("milestone", Text, "The milestone that it belongs to");
pub(crate) const ASSIGNEE: InputField = InputField::optional(
    "assignee",
    Texts,
    "Who is to do it; anyone of the role may still take it",
);
pub(crate) const LINKS: InputField =
    InputField::optional("links", Links, "URLs and paths of documents and the like")
        .at(COMMAND.and(TOOL));
pub(crate) const TAGS: InputField = InputField::optional("tags", Texts, "");
pub(crate) const METADATA: InputField =
    InputField::optional("metadata", Object, "Facts, as in {\"size\": 3}").at(COMMAND.and(TOOL));
pub(crate) const PARENT: InputField = InputField::optional(
    "parent",
    Text,
    "Which of your tasks it is a part of, if you hold several",
)
.at(COMMAND.and(TOOL));

/// Returns an operation that moves a task, or changes who has it, in one step.
const fn step(
    name: &'static str,
    help: &'static str,
    label: &'static str,
    fields: &'static [InputField],
    doors: Doors,
    run: OnTask,
) -> Operation {
    let (effect, needs_agent, run) = (Effect::Settles, false, OperationRun::OnTask(run));
    Operation { name, command: name, help, label, fields, doors, effect, needs_agent, run }
}

pub(crate) const CREATE: Operation = Operation {
    name: "create",
    command: "new",
    help: "Create a task",
    label: "Create",
    fields: &[
        // A list of tasks has the titles in it.
        InputField::required("title", Text, "What is to be done, in a few words")
            .needed_at(TOOL.and(API).and(PAGE)),
        DESCRIPTION,
        InputField::optional("body", Text, "At length, as Markdown"),
        PRIORITY,
        DUE,
        NOT_BEFORE,
        MILESTONE,
        ASSIGNEE,
        LINKS,
        TAGS,
        METADATA,
        DEPENDS_ON,
        PARENT,
        InputField::optional("workflow", Text, "The workflow that it follows").at(ALL_BUT_TOOLS),
        InputField::optional("context", Object, "The values that the workflow begins with")
            .at(COMMAND),
    ],
    doors: Doors::ALL,
    effect: Effect::Adds,
    needs_agent: false,
    run: OperationRun::OnProject(content::create),
};

pub(crate) const EDIT: Operation = Operation {
    name: "edit",
    command: "edit",
    help: "Change a task's text",
    label: "Edit",
    fields: &[
        InputField::optional("title", Text, "What is to be done, in a few words"),
        InputField::optional("body", Text, "At length, as Markdown"),
        InputField::optional("bodyWas", Text, "The text that the new one was made from").at(PAGE),
        DESCRIPTION.at(COMMAND),
        PRIORITY.at(COMMAND.and(PAGE)),
        DUE.at(COMMAND.and(PAGE)),
        NOT_BEFORE.at(COMMAND.and(PAGE)),
        MILESTONE.at(COMMAND.and(PAGE)),
        ASSIGNEE.at(COMMAND.and(PAGE)),
        LINKS.at(COMMAND),
        TAGS.at(COMMAND.and(PAGE)),
        InputField::optional("unset", Texts, "Fields to leave empty").at(PAGE),
        InputField::optional("untag", Texts, "Labels to remove").at(PAGE),
        METADATA.at(COMMAND),
        DEPENDS_ON.at(COMMAND),
        PARENT.at(COMMAND.and(PAGE)),
    ],
    doors: COMMAND.and(PAGE),
    effect: Effect::Settles,
    needs_agent: false,
    run: OperationRun::OnTask(content::edit),
};

pub(crate) const COMMENT: Operation = Operation {
    name: "comment",
    command: "comment",
    help: "Comment a task",
    label: "Comment",
    fields: &[
        TICKET,
        InputField::required("text", Text, "What is to be said, as Markdown")
            .at(COMMAND.and(TOOL))
            .needed_at(TOOL),
        // The first version of the interface has this name for it.
        InputField::required("reason", Text, "The comment").label("Comment").at(BOARD),
        TASK,
    ],
    doors: Doors::ALL,
    effect: Effect::Adds,
    needs_agent: false,
    run: OperationRun::OnTask(content::comment),
};

pub(crate) const COMPLETE: Operation = Operation {
    name: "complete",
    command: "complete",
    help: "End a visit. `id` makes it count once, however often it is sent",
    label: "Complete",
    fields: &[
        TICKET,
        InputField::optional("summary", Text, "What you did; needed unless `text` says it"),
        InputField::optional("outcome", Text, "How it went; needed unless `text` says it")
            .needed_at(API.and(PAGE)),
        InputField::optional("blockers", Texts, "Needed with needs_review and blocked"),
        InputField::optional("rejectionNotes", Text, "A word to the one who fixes it")
            .at(COMMAND.and(TOOL)),
        TASK,
        InputField::optional("gate", Text, "The gate that you mean; refused if another is open")
            .at(COMMAND.and(TOOL)),
        InputField::optional("outputs", Object, "What the brief asks you to hand on"),
        InputField::optional("metadata", Object, "Facts for the record").at(COMMAND.and(TOOL)),
        InputField::optional("text", Text, "Markdown of up to 64 KiB for the task's body").at(TOOL),
        InputField::optional("file", Text, "The same from a file below the project")
            .at(COMMAND.and(TOOL)),
        InputField::optional(
            "id",
            Text,
            "Any id of your own: however often it is sent, it counts once",
        )
        .needed_at(PAGE),
        InputField::optional(
            "signature",
            Text,
            "Only where a refusal asks for it: your SSH signature of its `toSign`",
        )
        .at(TOOL.and(API).and(PAGE)),
    ],
    doors: Doors::ALL,
    effect: Effect::Adds,
    needs_agent: true,
    run: OperationRun::OnTask(completion::complete_visit),
};

pub(crate) const CLAIM: Operation = Operation {
    needs_agent: true,
    ..step("claim", "Take a task", "Take", &[TICKET], ALL_BUT_TOOLS, steps::claim)
};

pub(crate) const RELEASE: Operation = Operation {
    needs_agent: true,
    ..step(
        "release",
        "Give a task back",
        "Give back",
        &[TICKET, TASK],
        COMMAND.and(TOOL).and(API).and(PAGE),
        steps::release,
    )
};

pub(crate) const RENEW: Operation = Operation {
    needs_agent: true,
    ..step(
        "renew",
        "Say that work goes on",
        "Renew",
        &[TASK, InputField::optional("note", Text, "How far you are")],
        COMMAND.and(TOOL),
        steps::renew,
    )
};

pub(crate) const ASSIGN: Operation = step(
    "assign",
    "Give a task to an agent",
    "Assign",
    &[TICKET, InputField::required("agent", Text, "The new holder").label("Agent")],
    COMMAND_AND_WEB,
    steps::assign,
);

// The engine refuses a missing reason of a command, with the fix.
pub(crate) const HOLD: Operation = step(
    "hold",
    "Have a task wait",
    "Hold",
    &[TICKET, REASON.label("Why it has to wait").needed_at(BOARD)],
    COMMAND_AND_WEB,
    steps::hold,
);

pub(crate) const UNBLOCK: Operation = step(
    "unblock",
    "Have a task go on",
    "Unblock",
    &[TICKET, REASON.label("What changed").needed_at(Doors::NONE)],
    ALL_BUT_TOOLS,
    steps::unblock,
);

pub(crate) const CANCEL: Operation = step(
    "cancel",
    "Cancel a task",
    "Cancel the task",
    &[TICKET, REASON.label("Why it is not needed").needed_at(BOARD)],
    COMMAND_AND_WEB,
    steps::cancel,
);

pub(crate) const REOPEN: Operation = step(
    "reopen",
    "Reopen a task",
    "Reopen",
    &[TICKET, GATE, REASON.label("Why")],
    COMMAND_AND_WEB,
    steps::reopen,
);

pub(crate) const OVERRIDE: Operation = step(
    "override",
    "Move a task",
    "Move by hand",
    &[TICKET, GATE, REASON.label("Why")],
    COMMAND_AND_WEB,
    steps::override_to,
);

pub(crate) const UNDO: Operation = step(
    "undo",
    "Take your last step of a task back",
    "Undo",
    &[TICKET, REASON.needed_at(Doors::NONE).at(COMMAND)],
    COMMAND.and(PAGE),
    steps::undo,
);

pub(crate) static OPERATIONS: &[&Operation] = &[
    &CREATE, &EDIT, &COMPLETE, &CLAIM, &RELEASE, &RENEW, &ASSIGN, &HOLD, &UNBLOCK, &COMMENT,
    &CANCEL, &REOPEN, &OVERRIDE, &UNDO,
];

/// Returns the operation of that name, if the door offers it.
pub(crate) fn offered(name: &str, door: Doors) -> Option<&'static Operation> {
    OPERATIONS.iter().copied().find(|own| own.name == name && own.doors.has(door))
}
