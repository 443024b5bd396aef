//! `aof edit` and `comment`, and the fields that people plan.

use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser;
use serde_json::{Value, json};

use crate::cli::task::actions;
use crate::cli::task::named_tasks::{NamedTasks, TextForm, each};
use crate::cli::{
    ActingAgent, CliError, CliResult, DryRunOption, Session, Words, key_value, object, one_of,
    text_input, words,
};
use crate::domain::{
    AgentId, Link, PlanChange, PlanKey, PlanRemoval, Priority, TaskId, TaskPlan, TypedDue,
    TypedTask,
};
use crate::operations::arguments::Arguments;
use crate::operations::content::edit_fields;
use crate::operations::table::COMMENT;
use crate::operations::{Call, CallFault};
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::tasks::edit::{self, TaskEdit, edit_text, open_for_edit};
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::view::task_view::show;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof edit AOF-7qk                                 the whole file, in your editor
  aof edit AOF-7qk --title \"Add login\" --tag auth --untag later
  aof edit AOF-7qk AOF-m2x --priority high --milestone spring
  aof edit AOF-7qk --accept                        takes what was found in the file

In KEY=VALUE the value is JSON, else a text. A number that JSON would write differently (1.10, 1e3) is a text as well.")]
pub(crate) struct EditArgs {
    #[command(flatten)]
    tasks: NamedTasks,
    /// What to do, in a few words
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    title: Option<String>,
    #[command(flatten)]
    plan: PlanOptions,
    /// Remove it; may be given more than once
    #[arg(long, value_name = "FIELD", value_parser = one_of::<PlanKey>(PlanKey::names()))]
    unset: Vec<PlanKey>,
    /// Remove a link
    #[arg(long = "unlink", value_name = "URL")]
    unlinks: Vec<String>,
    /// Remove a label
    #[arg(long = "untag", value_name = "TAG")]
    untags: Vec<String>,
    /// Remove a fact
    #[arg(long = "unset-meta", value_name = "KEY")]
    unset_metadata: Vec<String>,
    /// Let it no longer wait for that task
    #[arg(long = "undepends", value_name = "ID")]
    independent_of: Vec<TypedTask>,
    /// Make it a part of no task
    #[arg(long = "unparent", conflicts_with = "parent")]
    orphan: bool,
    /// Accept what was edited in the file while an agent holds the task
    #[arg(long)]
    accept: bool,
    #[command(flatten)]
    who: ActingAgent,
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

const PRIORITIES: Words<Priority> = &[
    ("critical", Priority::Critical, "Before everything else"),
    ("high", Priority::High, "Before the usual"),
    ("medium", Priority::Medium, "The usual"),
    ("low", Priority::Low, "When nothing else waits"),
];

// The fields of a task that people plan.
#[derive(Debug, clap::Args)]
pub(super) struct PlanOptions {
    /// What to do, in a sentence; an empty text removes it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// What to do, at length, as Markdown, in place of what is there; `-` reads stdin
    #[arg(long, value_name = "TEXT|-", allow_hyphen_values = true)]
    body: Option<String>,
    /// How urgent it is; conditions of gates see it
    #[arg(short, long, value_name = "PRIORITY", value_parser = words(PRIORITIES))]
    priority: Option<Priority>,
    /// When it is due: a day, as in `2026-12-01`, `fri`, `next week`, `eom` or `+3d`, or a time with its zone
    #[arg(long, value_name = "DATE")]
    due: Option<TypedDue>,
    /// Hand it out no earlier: a day or a time, as with `--due`
    #[arg(long, value_name = "DATE")]
    not_before: Option<TypedDue>,
    /// The milestone that it belongs to
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    milestone: Option<String>,
    /// Who is to do it; anyone of the role may still take it; may be given more than once
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    assignee: Vec<String>,
    /// Add a link to a pull request, a document or the like
    #[arg(long = "link", value_name = "URL", value_parser = link)]
    links: Vec<Link>,
    /// Add a label; conditions of gates see labels
    #[arg(short, long = "tag", value_name = "TAG", value_parser = NonEmptyStringValueParser::new())]
    tags: Vec<String>,
    /// Add a fact, as in `size=3`; conditions of gates see facts
    #[arg(long = "meta", value_name = "KEY=VALUE", value_parser = key_value)]
    metadata: Vec<(String, Value)>,
    /// A task that must be complete before this one is handed out
    #[arg(long = "depends", value_name = "ID")]
    depends_on: Vec<TypedTask>,
    /// The task that this one is a part of
    #[arg(long, value_name = "ID")]
    parent: Option<TypedTask>,
}

fn link(url: &str) -> Result<Link, String> {
    if url.trim().is_empty() {
        return Err("a link is a URL or a path".to_owned());
    }
    Ok(Link { title: None, url: url.to_owned() })
}

impl PlanOptions {
    pub(super) fn body(&self) -> CliResult<Option<String>> {
        self.body.as_deref().map(text_input::given).transpose()
    }

    /// Returns the fields as a change.
    pub(super) fn change(
        &self,
        session: &Session,
        workspace: &Workspace,
        rules: &Rules,
    ) -> CliResult<PlanChange> {
        let today = rules.project.day(workspace.now());
        Ok(PlanChange {
            title: None,
            description: self.description.clone(),
            plan: TaskPlan {
                priority: self.priority.map(|priority| priority.to_string()),
                due: self.due.map(|due| due.on(today)),
                not_before: self.not_before.map(|day| day.on(today)),
                milestone: self.milestone.clone(),
                assignee: self.assignee.clone(),
                links: self.links.clone(),
            },
            tags: self.tags.clone(),
            metadata: object(&self.metadata),
            depends_on: session.tasks(workspace, &self.depends_on)?,
            parent: session.tasks(workspace, &self.parent)?.pop(),
            removal: PlanRemoval::default(),
        })
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof comment AOF-7qk -m \"The tokens are in the vault\"
  aof comment AOF-7qk AOF-m2x -m - < notes.md")]
pub(crate) struct CommentArgs {
    #[command(flatten)]
    tasks: NamedTasks,
    /// The comment, as Markdown; `-` reads stdin, and without it an editor opens at a terminal
    #[arg(short = 'm', long, value_name = "TEXT|-", allow_hyphen_values = true)]
    text: Option<String>,
    #[command(flatten)]
    who: ActingAgent,
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

pub(crate) fn run_edit(session: &Session, args: &EditArgs) -> CliResult {
    let (mut workspace, in_force) = session.open("edit")?;
    let mode = args.dry_run_option.mode();
    let tasks = args.tasks.find(session, &workspace, TextForm::None)?;
    let id = &tasks[0].ticket.task;
    let edit = TaskEdit {
        change: PlanChange {
            title: args.title.clone(),
            removal: PlanRemoval {
                keys: args.unset.clone(),
                links: args.unlinks.clone(),
                tags: args.untags.clone(),
                metadata: args.unset_metadata.clone(),
                depends_on: session.tasks(&workspace, &args.independent_of)?,
                parent: args.orphan,
            },
            ..args.plan.change(session, &workspace, &in_force.rules)?
        },
        body: args.plan.body()?,
        body_was: None,
    };
    let agent = args.who.agent.as_ref();
    if args.accept {
        if edit != TaskEdit::default() {
            let problem = "`--accept` takes the file as it stands, and more changes are given";
            return Err(CliError::refused("not_accepted", problem, "make them after that"));
        }
        return each(session, &mut workspace, &tasks, |workspace, task| {
            let changed = edit::accept(workspace, &task.ticket.task, agent, mode)?;
            Ok(show_edited(session, (workspace, &in_force), &changed, mode))
        });
    }
    if edit == TaskEdit::default() {
        if tasks.len() == 1 && Session::at_terminal() && !session.output.is_json() {
            return edit_by_hand(session, (&workspace, &in_force), (id, args), mode);
        }
        let fix = format!(
            "name it, as in `aof edit {id} --title \"...\" --tag urgent --priority high`; \
             see `aof edit --help`"
        );
        let problem = match tasks.len() {
            1 => "no change is given, and there is no terminal for an editor",
            _ => "no change is given, and an editor is for one task",
        };
        return Err(CliError::refused("nothing_to_edit", problem, fix));
    }
    let nothing = Arguments::default();
    each(session, &mut workspace, &tasks, |workspace, task| {
        let call = call((workspace, &in_force), agent, &nothing, mode);
        let changed = edit_fields(&call, &task.ticket, &edit)?.task();
        Ok(show_edited(session, (workspace, &in_force), &changed, mode))
    })
}

fn show_edited(
    session: &Session,
    place: (&Workspace, &InForce),
    changed: &Changed,
    mode: DryRun,
) -> Value {
    let done = if changed.settled { "nothing to change" } else { "edited" };
    actions::show(session, place, changed, done, mode)
}

/// Opens the editor until its text is accepted, or the person gives up.
fn edit_by_hand(
    session: &Session,
    (workspace, in_force): (&Workspace, &InForce),
    (id, args): (&TaskId, &EditArgs),
    mode: DryRun,
) -> CliResult {
    let agent = args.who.agent.as_ref();
    let suffix = format!("-{id}.md");
    let opened = open_for_edit(workspace, id, agent, mode)?;
    let mut text = opened.bytes.clone();
    loop {
        text = text_input::edited_bytes(session, &text, &suffix)?;
        let error = match edit_text(workspace, id, agent, &opened, &text, mode) {
            Ok(changed) => {
                show_edited(session, (workspace, in_force), &changed, mode);
                return Ok(ExitCode::SUCCESS);
            }
            Err(error) => error,
        };
        let can_be_corrected = matches!(
            &error,
            ProjectError::UnreadableTask { .. }
                | ProjectError::Unfit { code: "engine_fields" | "misread_form", .. }
        );
        let code = session.fail(&error.into());
        if can_be_corrected {
            session.output.say("\nedit it again? [Y/n]");
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
    let (mut workspace, in_force) = session.open("comment")?;
    let tasks = args.tasks.find(session, &workspace, TextForm::One(args.text.is_some()))?;
    let text = match &args.text {
        Some(text) => text_input::given(text)?,
        None if Session::at_terminal() => {
            // A missing task is reported before the person writes about it.
            for task in &tasks {
                show(&workspace, &task.ticket.task)?;
            }
            let ids: Vec<String> = tasks.iter().map(|task| task.ticket.task.to_string()).collect();
            let ids = ids.join(", ");
            let hint =
                format!("<!-- Your comment on {ids}, as Markdown. This line does not count. -->");
            let text = text_input::edited(session, &format!("\n{hint}\n"), ".md")?;
            text.replace(&hint, "").trim().to_owned()
        }
        // The operation refuses an empty comment.
        None => String::new(),
    };
    let mode = args.dry_run_option.mode();
    let (agent, given) = (args.who.agent.as_ref(), Arguments::from_iter([("text", json!(text))]));
    each(session, &mut workspace, &tasks, |workspace, task| {
        let call = call((workspace, &in_force), agent, &given, mode);
        let done = COMMENT.run(&call, Some(&task.ticket)).map_err(CallFault::into_error)?;
        let sentence = done.sentence.clone();
        Ok(actions::show(session, (workspace, &in_force), &done.task(), &sentence, mode))
    })
}

/// Returns the call of an operation by the acting agent or person.
pub(super) fn call<'c>(
    (workspace, in_force): (&'c Workspace, &'c InForce),
    by: Option<&'c AgentId>,
    given: &'c Arguments,
    dry_run: DryRun,
) -> Call<'c> {
    Call { workspace, in_force, by, given, signing: None, dry_run }
}
