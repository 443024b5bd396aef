//! The tool that hands out work, and waits for it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tracing::warn;

use super::next_call::complete_call;
use super::open_project::{OpenProject, ToolError};
use super::resources::brief_json;
use super::tool_schema::Tool;
use crate::dispatch::claim::give_back;
use crate::dispatch::next::{Next, Wanted};
use crate::dispatch::wait_for_work::{LONGEST_WAIT, Patience, next_within};
use crate::domain::{AgentId, RoleId, Ticket, listed};
use crate::operations::Effect;
use crate::operations::arguments::Arguments;
use crate::operations::fields::{InputField, InputKind};
use crate::project::issue::left_out_warning;
use crate::project::rule_lookup::check_agent;
use crate::rules::{Warning, Workplace};
use crate::system::terminal;
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::view::brief::task_brief;
use crate::tasks::view::task_view::{brief_of, show, warnings_value};

/// The most calls of a process that wait for work at once: each has a thread.
const MOST_WAITS: usize = 64;

static WAITS: AtomicUsize = AtomicUsize::new(0);

pub(crate) const NEXT: Tool = Tool {
    name: "aof_task_next",
    title: "Take the next task",
    description: "Take your next task and read what is to be done. Call it when you begin, and after each completion. It gives the \
                  task that you have already, else the most urgent one that you may do, which is yours from then on.\n\
                  `task.gate_context` says what is expected of you: `expectations` is your checklist, `outcomes` what you may answer \
                  and when. `task.reviewContext` is what a reviewer wants fixed: do that first. `task` is null when there is nothing \
                  to do: stop then, or call again with `wait`.",
    arguments: &[
        InputField::optional("role", InputKind::Text, "Only work of this role"),
        InputField::optional("another", InputKind::Flag, "One more, besides what you have"),
        InputField::optional(
            "wait",
            InputKind::Count,
            "If there is nothing to do, wait so many seconds for work, at most 300",
        ),
    ],
    answer: &[
        ("task", "object|string|null"),
        ("message", "string"),
        ("warnings", "array"),
        ("nextCall", "object|null"),
    ],
    effect: Effect::Settles,
};

pub(crate) fn next_task(project: &OpenProject<'_>, given: &Arguments) -> Result<Value, ToolError> {
    let agent = project.agent()?;
    let role: Option<RoleId> = given.id("role")?;
    check_agent(project.rules(), &agent, role.as_ref())?;
    let lasts = wait(given)?;
    if let Some((ticket, _)) = project.run() {
        return task_of_run(project, ticket);
    }
    let wanted = if given.flag("another") { Wanted::Another } else { Wanted::Next };
    // A call that is only tried does not wait.
    let waits = !lasts.is_zero() && project.dry_run == DryRun::No;
    let place = if waits { WaitPlace::take() } else { None };
    let call = &project.call_of_client;
    let patience = Patience {
        lasts: if place.is_some() { lasts } else { Duration::ZERO },
        lock_wait: project.lock_wait(),
        is_over: &|| call.is_over() || terminal::is_stopped(),
        on_wait: &|| call.leave(),
    };
    let workspace = &project.workspace;
    let searched = (&agent, role.as_ref());
    let found = next_within(workspace, searched, wanted, project.dry_run, &patience)?;
    let (changed, ticket) = match found {
        Next::Task { changed, ticket, .. } => (changed, ticket),
        Next::Nothing { roles, waiting, .. } => {
            let others = match waiting {
                0 => String::new(),
                1 => "; 1 task is there, but taken, blocked or waiting".to_owned(),
                count => format!("; {count} tasks are there, but taken, blocked or waiting"),
            };
            let of =
                if roles.is_empty() { String::new() } else { format!(" in {}", listed(&roles)) };
            let is_refused = waits && place.is_none();
            let busy = if is_refused { "; too many calls wait already" } else { "" };
            let mut answer = no_task(&format!("nothing to do for `{agent}`{of}{others}{busy}"));
            answer["warnings"] = warnings_value(left_out_warning(workspace).as_slice());
            return Ok(answer);
        }
    };
    release_if_lost(project, &agent, &ticket, &changed);
    // The rules may have changed during the wait.
    let rules = &workspace.rules()?.rules;
    let workplace = Workplace::find(rules, &changed.after.task, ticket.branch.as_ref());
    let context =
        workplace.and_then(|workplace| brief_of(workspace, rules, &changed.after, &workplace));
    let (ticket, task) = match &context {
        Some(context) => (context.ticket.to_string(), brief_json(&changed.after, context)),
        None => {
            (ticket.to_string(), json!({"id": ticket.task.as_str(), "ticket": ticket.to_string()}))
        }
    };
    Ok(claimed_task(&ticket, &task, &changed.warnings))
}

/// Returns the time that a call waits for work.
fn wait(given: &Arguments) -> Result<Duration, ToolError> {
    let seconds = given.count("wait").unwrap_or(0);
    let lasts = Duration::from_secs(u64::try_from(seconds).unwrap_or(u64::MAX));
    if lasts > LONGEST_WAIT {
        let longest = LONGEST_WAIT.as_secs();
        let problem = format!("`wait` is {seconds}, and at most {longest} seconds");
        let fix = format!("wait {longest} seconds, and call again if there was no work");
        return Err(ToolError::argument("invalid_argument", "wait", problem, fix));
    }
    Ok(lasts)
}

/// A place among the calls that wait, until it is dropped.
struct WaitPlace;

impl WaitPlace {
    /// Takes a place; `None` if there is none left.
    fn take() -> Option<Self> {
        let place = Self;
        (WAITS.fetch_add(1, Ordering::Relaxed) < MOST_WAITS).then_some(place)
    }
}

impl Drop for WaitPlace {
    fn drop(&mut self) {
        WAITS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Has a new claim released if the answer does not reach the client.
fn release_if_lost(project: &OpenProject<'_>, agent: &AgentId, ticket: &Ticket, claim: &Changed) {
    if claim.commit.is_none() || claim.settled {
        return;
    }
    let (setup, agent) = (project.setup().clone(), agent.clone());
    let ticket = claim.after.task.ticket_of(ticket.branch.as_ref());
    project.call_of_client.on_loss(move || {
        let released = setup
            .open(NEXT.name)
            .and_then(|project| give_back(&project.workspace, &ticket, &agent));
        if let Err(error) = released {
            warn!("{ticket} was claimed for a client that is gone, and not released: {error}");
        }
    });
}

/// Returns the answer of a server that was started for one visit: it hands out no other work.
fn task_of_run(project: &OpenProject<'_>, ticket: &Ticket) -> Result<Value, ToolError> {
    let (view, _) = show(&project.workspace, &ticket.task)?;
    let task = &view.file.task;
    let open =
        ticket.visit.is_none_or(|visit| task.gate.as_ref().is_some_and(|open| open.visit == visit));
    if !open || task.gate.is_none() {
        return Ok(no_task(&format!("{ticket} is what you were started for, and it is done")));
    }
    let (file, context, _) = task_brief(&project.workspace, ticket)?;
    Ok(claimed_task(&context.ticket.to_string(), &brief_json(&file, &context), &context.warnings))
}

fn claimed_task(ticket: &str, task: &Value, warnings: &[Warning]) -> Value {
    json!({
        "task": task,
        "message": format!("{ticket} is yours: do what its brief expects, then say how it went"),
        "warnings": warnings_value(warnings),
        "nextCall": complete_call(ticket),
    })
}

fn no_task(message: &str) -> Value {
    json!({"task": null, "message": message, "warnings": [], "nextCall": null})
}
