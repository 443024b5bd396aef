//! The tool that reports the outcome of a visit.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use serde_json::{Value, json};

use super::next_call::{get_call, next_task_call};
use super::open_project::{OpenProject, ToolError};
use super::tool_schema::Tool;
use crate::domain::{AgentId, BODY_LIMIT, Blocker, Completion, Exhausted, Outcome, RoleId, Status};
use crate::git::PromptPlace;
use crate::operations::arguments::Arguments;
use crate::operations::completion::completion;
use crate::operations::table as operation;
use crate::project::error::ProjectError;
use crate::rules::{Flaw, Refusal, Workplace};
use crate::tasks::complete::{
    Signing, add_text, complete, complete_signed, note_run, note_session, plan_completion,
};
use crate::tasks::headers::dependencies::awaited_now;
use crate::tasks::headers::summary::WAITING;
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::state::task_state::TaskState;
use crate::tasks::view::task_view::{eligible_agents, ended_ticket, ended_visits, warnings_value};

pub(crate) const COMPLETE: Tool = Tool {
    name: "aof_task_complete",
    title: "Say how a task went",
    description: r#"Mark your current task as done at its gate. Call it once, when the work is finished or cannot go on; where the task goes then is not your concern.

outcome:
- "complete": your work is done and ready to go on
- "needs_review": you reviewed it and found problems that somebody else has to fix; list them in blockers
- "blocked": something outside stops you; name it in blockers
- "skip", "failed", or a decision of this gate: only where `outcomes` of the brief names it
summary: what you did, in one or two sentences. blockers: one entry for each thing, so concrete that somebody can act on it: "No error handling for expired tokens", not "needs work".

Examples:
{"outcome": "complete", "summary": "Added login with tokens; 14 tests, coverage 85%"}
{"outcome": "needs_review", "summary": "Two things to fix", "blockers": ["No error handling for expired tokens", "Coverage is 65%, the target is 80%"], "rejectionNotes": "The rest is fine"}
{"outcome": "blocked", "summary": "Cannot go on without the API description", "blockers": ["The platform team has not sent the API description"]}

A refusal changes nothing and says how to put it right."#,
    arguments: operation::COMPLETE.fields,
    answer: &[
        ("task", "string"),
        ("ticket", "string|null"),
        ("outcome", "string"),
        ("gate", "string|null"),
        ("status", "string"),
        ("settled", "boolean"),
        ("commit", "string|null"),
        ("message", "string"),
        ("warnings", "array"),
        ("nextCall", "object|null"),
    ],
    effect: operation::COMPLETE.effect,
};

/// Adds to the schema of the arguments the outcomes that this agent may need: those of the visit that the server was started for,
/// otherwise those of all gates that its roles work at or step into. The outcome is required if each of these gates needs one.
pub(crate) fn name_outcomes(schema: &mut Value, project: &OpenProject<'_>) {
    let rules = project.rules();
    let of_run = project.run().and_then(|(ticket, _)| {
        let task = TaskState::read(&project.workspace, &ticket.task).ok()?.file.task;
        let place = Workplace::find(rules, &task, ticket.branch.as_ref())?;
        Some((place.outcomes(rules), needs_outcome(&place)))
    });
    let (outcomes, is_needed) = of_run.unwrap_or_else(|| outcomes_of_roles(project));
    if outcomes.is_empty() {
        return;
    }
    let words: Vec<&str> = outcomes.iter().map(Outcome::as_str).collect();
    schema["properties"]["outcome"]["enum"] = json!(words);
    if is_needed {
        schema["required"] = json!(["outcome"]);
    }
}

/// Returns the outcomes of the gates that the agent's roles work at or step into, and true if each of these gates needs one.
pub(crate) fn outcomes_of_roles(project: &OpenProject<'_>) -> (Vec<Outcome>, bool) {
    let rules = project.rules();
    let agent = project.agent().ok();
    let roles: Vec<&RoleId> = agent.iter().flat_map(|agent| rules.org.roles_of(agent)).collect();
    let (mut outcomes, mut is_needed) = (Vec::new(), true);
    for workflow in &rules.project.workflows {
        let branches = workflow.gates.iter().filter_map(|gate| Some((gate, gate.fork()?)));
        let branches = branches.flat_map(|(gate, fork)| {
            fork.branches.iter().map(move |branch| Workplace::at_branch(gate, branch))
        });
        let places: Vec<_> =
            workflow.gates.iter().filter_map(Workplace::at).chain(branches).collect();
        // A role that tasks are escalated to may step in at any gate.
        let steps_in = workflow.gates.iter().any(|gate| {
            matches!(&gate.exits.on_exhausted, Exhausted::Escalate(role) if roles.contains(&role))
        });
        let is_own = |place: &&Workplace<'_>| {
            roles.is_empty()
                || steps_in
                || roles.contains(&place.role)
                || place.duty.escalate_to.as_ref().is_some_and(|role| roles.contains(&role))
                || rules.is_open(place.role)
        };
        for place in places.iter().filter(is_own) {
            is_needed &= needs_outcome(place);
            for outcome in place.outcomes(rules) {
                if !outcomes.contains(&outcome) {
                    outcomes.push(outcome);
                }
            }
        }
    }
    (outcomes, is_needed)
}

/// Returns true if a completion without `outcome` is refused at the place, whatever else it contains.
fn needs_outcome(place: &Workplace<'_>) -> bool {
    place.judges() && place.duty.signal.is_none() && !place.gate.exits.decides()
}

pub(crate) fn complete_task(
    project: &OpenProject<'_>,
    given: &Arguments,
) -> Result<Value, ToolError> {
    let (agent, ticket) = (project.agent()?, project.task(given)?);
    let mut completion = completion(given, &ticket, &agent, project.workspace.now())?;
    if let Some(text) = body_text(project, given)? {
        add_text(&mut completion, text);
    }
    note_session(&mut completion, Some(project.session()));
    // Other tasks that the agent completes are not part of its run.
    if let Some((_, run)) = project.run().filter(|(at, _)| at.task == completion.ticket.task) {
        note_run(&project.workspace.paths, &mut completion, run);
    }
    if project.dry_run == DryRun::Yes {
        // A dry run of `complete` would run the checks of the gate.
        plan_completion(&project.workspace, &completion)?;
        return Ok(Value::Null);
    }
    let changed = complete_visit(project, &completion)?;
    let task = &changed.after.task;
    let ended = ended_visits(&changed);
    let outcome = ended.first().map(|visit| visit.outcome.to_string()).unwrap_or_default();
    let again =
        if changed.settled { "this was counted before, and nothing was done twice; " } else { "" };
    // The answer names only the agent's own gate. An agent that needs the next gate asks for the task.
    let gate = ended.first().map(|visit| visit.station().to_string());
    let now = match (&gate, task.status) {
        (Some(gate), Status::Blocked) => {
            format!("`{gate}` ended with `{outcome}`; {} waits until somebody unblocks it", task.id)
        }
        (Some(gate), _) => format!("`{gate}` ended with `{outcome}`; your part is done"),
        (None, status) => format!("{} is {status}", task.id),
    };
    Ok(json!({
        "task": task.id.as_str(),
        "ticket": ended_ticket(&changed),
        "outcome": outcome,
        "gate": gate,
        "status": task.status.as_str(),
        "settled": changed.settled,
        "commit": changed.commit.map(|commit| commit.to_string()),
        "message": format!("{again}{now}"),
        "warnings": warnings_value(&changed.warnings),
        "nextCall": next_task_call(),
    }))
}

/// Completes the visit. Signs if a signature is required and needs no prompt; otherwise the refusal has the text to sign.
fn complete_visit(
    project: &OpenProject<'_>,
    completion: &Completion,
) -> Result<Changed, ProjectError> {
    let refused = match complete(&project.workspace, completion, DryRun::No) {
        Err(ProjectError::Refused(Refusal::Signature(wanted))) if wanted.flaw == Flaw::Missing => {
            wanted
        }
        done => return done,
    };
    let signing = Signing { key_file: None, asking: PromptPlace::Window };
    match complete_signed(&project.workspace, completion, signing, DryRun::No) {
        Err(ProjectError::Unfit { code: "cannot_sign", .. }) => {
            Err(Refusal::Signature(refused).into())
        }
        done => done,
    }
}

/// Returns the text for the task's body.
fn body_text(project: &OpenProject<'_>, given: &Arguments) -> Result<Option<String>, ToolError> {
    let Some(name) = given.text("file") else { return Ok(given.text("text")) };
    if given.text("text").is_some() {
        let problem = "`text` and `file` both bring a text".to_owned();
        let fix = "give one of them";
        return Err(ToolError::argument("invalid_argument", "file", problem, fix));
    }
    read_file(project, &name).map(Some)
}

/// Returns the state of a task in a sentence, and the agent's next call: for more work, unless the task waits for the agent again.
pub(crate) fn task_standing(project: &OpenProject<'_>, changed: &Changed) -> (String, Value) {
    let task = &changed.after.task;
    let id = &task.id;
    let Some(open) = &task.gate else {
        return (format!("{id} is {}", task.status), next_task_call());
    };
    let agents: Vec<AgentId> = eligible_agents(project.rules(), &changed.after);
    let names: Vec<&str> = agents.iter().map(AgentId::as_str).collect();
    let awaited = awaited_now(&project.workspace, &project.in_force, task).words();
    let turn = match (task.status, &names[..]) {
        _ if let Some(awaited) = &awaited => format!("{WAITING} {awaited}"),
        (Status::Blocked, _) => format!("blocked: {}", Blocker::joined(&task.blockers)),
        (status, []) => status.to_string().replace('_', " "),
        (status, names) => {
            format!("{} for {}", status.to_string().replace('_', " "), names.join(" or "))
        }
    };
    let open_posts = Workplace::open(project.rules(), task);
    let is_next = project.viewer().is_some_and(|me| agents.contains(&me)) && !open_posts.is_empty();
    let next = if is_next { next_task_call() } else { get_call(id) };
    (format!("{id} is now at gate `{}`, {turn}", open.current), next)
}

/// The folders of git and of the engine, compared without regard to case, as some file systems do.
const PRIVATE_FOLDERS: [&str; 2] = [".git", ".aof"];

/// Returns the text of the file that the argument `file` names.
fn read_file(project: &OpenProject<'_>, name: &str) -> Result<String, ToolError> {
    let by_path = "name one by its path from the project's folder";
    let unreadable =
        |cause: io::Error| file_error(format!("cannot read `{name}`: {cause}"), by_path);
    let root = project.workspace.paths.root().canonicalize().map_err(unreadable)?;
    let path = root.join(name).canonicalize().map_err(unreadable)?;
    let Ok(inside) = path.strip_prefix(&root) else {
        return Err(file_error(format!("`{name}` is no file below the project"), by_path));
    };
    ensure_shared(project, name, inside)?;
    let seen = fs::metadata(&path).map_err(unreadable)?;
    // Opening a pipe would wait for its other end.
    if !seen.is_file() {
        return Err(file_error(format!("`{name}` is no file below the project"), by_path));
    }
    let mut text = Vec::new();
    let file = File::open(&path).map_err(unreadable)?;
    file.take(BODY_LIMIT as u64 + 1).read_to_end(&mut text).map_err(unreadable)?;
    if text.len() > BODY_LIMIT {
        let bytes = usize::try_from(seen.len()).unwrap_or(usize::MAX).max(text.len());
        return Err(Refusal::TooLong { field: "body", bytes, limit: BODY_LIMIT }.into());
    }
    String::from_utf8(text)
        .map_err(|_| file_error(format!("`{name}` is no text in UTF-8"), "give a file of text"))
}

/// Fails for files that are not shared: those of git and aof, and ignored ones. `inside` has no links left.
fn ensure_shared(project: &OpenProject<'_>, name: &str, inside: &Path) -> Result<(), ToolError> {
    let by_text = "hand on what you wrote yourself in `text`";
    let is_private = |part: &OsStr| {
        PRIVATE_FOLDERS.iter().any(|folder| part.to_string_lossy().eq_ignore_ascii_case(folder))
    };
    if inside.iter().any(is_private) {
        return Err(file_error(
            format!("`{name}` is in a folder that belongs to git or to aof"),
            by_text,
        ));
    }
    let Some(inside) = inside.to_str() else {
        return Err(file_error(format!("the path of `{name}` is no text in UTF-8"), by_text));
    };
    if project.workspace.repository.is_ignored(inside)? {
        return Err(file_error(
            format!("git ignores `{name}`, so it is not for the record"),
            by_text,
        ));
    }
    Ok(())
}

fn file_error(problem: String, fix: &str) -> ToolError {
    ToolError::argument("invalid_argument", "file", problem, fix)
}
