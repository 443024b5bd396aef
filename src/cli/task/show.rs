//! `aof show` and `aof history`.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::render::page::{
    TaskPage, branches, joined, not_adopted, place, status, turn, warn_of_visit,
};
use crate::cli::{
    CliError, CliResult, Session, bold, counted, cyan, green, indented, length, local_time, red,
    yellow,
};
use crate::domain::{
    Ending, GateId, Outcome, Priority, RoleId, Status, Ticket, Timestamp, TypedTask, Visit,
};
use crate::files::printable::{inert, one_line};
use crate::files::task_file::Origin;
use crate::history::verify::signatures::evidence;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{NAMESPACE, Rules, escalation, explained};
use crate::tasks::headers::lookup;
use crate::tasks::headers::summary::{ChildProgress, TaskSummary};
use crate::tasks::state::acceptance::{test_lines, tests_in_worktree};
use crate::tasks::view::brief::plan_lines;
use crate::tasks::view::task_view::{
    HistoryView, TaskView, history, history_value, named_entries, show,
};

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    task: TypedTask,
}

pub(crate) fn run_show(session: &Session, args: &ShowArgs) -> CliResult {
    let workspace = session.workspace("show")?;
    let ticket = lookup::ticket_to_read(&workspace, &args.task)?;
    let (view, in_force) = show(&workspace, &ticket.task)?;
    session.warn_of_rules(&in_force);
    warn_of_visit(session, &ticket, &view.file.task);
    if let Some(frozen) = &view.frozen {
        let problem = &frozen.problem;
        session.warn(&inert(&format!("it is frozen: {problem}; this is what HEAD has")));
        session.output.say(format!("  {}", inert(&frozen.fix)));
    }
    if let Err(error @ ProjectError::InvalidTests { .. }) =
        tests_in_worktree(&workspace, &ticket.task, &view.path, &view.file)
    {
        session.warn(&format!("{error}: `aof test {}` says why", ticket.task));
    }
    let task = &view.file.task;
    let named = named_entries(&workspace, &in_force, &view.path, task)?;
    if session.output.is_json() {
        let mut value = view.value(&in_force.rules);
        for place in &named {
            value["gateHistory"][*place]["namedNotSeen"] = json!(true);
        }
        if !view.children.is_empty() {
            let states =
                view.children.iter().map(|child| (child.id.to_string(), json!(child.state())));
            value["children"] = Value::Object(states.collect());
        }
        if let Some(frozen) = view.frozen {
            value["frozen"] = json!(frozen.fields);
        }
        session.output.data(value);
    } else {
        let file = workspace.git_commands.path(&view.path);
        let named = named.iter().map(|place| &task.history[*place]).collect::<Vec<_>>();
        session.output.print(&page(&in_force.rules, &view, (&file, &named), workspace.now()));
    }
    Ok(ExitCode::SUCCESS)
}

fn page(
    rules: &Rules,
    view: &TaskView,
    (file, named): (&str, &[&Visit]),
    now: Timestamp,
) -> String {
    let task = &view.file.task;
    let mut page = TaskPage::new(task);
    let mut facts = facts(rules, view, file, now);
    let named = named.iter().filter_map(|visit| {
        let (station, outcome) = (visit.station(), &visit.outcome);
        Some(format!("{}: {NOT_SEEN} ({outcome} at {station})", visit.agent.as_ref()?))
    });
    facts.extend(named.map(|entry| ("people", entry)));
    page.facts(&facts);
    let branches = branches(rules, task);
    if !branches.is_empty() {
        page.head("Branches");
        page.facts(&branches);
    }
    let child = |child: &TaskSummary| {
        format!("{} ({}): {}", child.id, child.state(), one_line(&child.title))
    };
    page.section("Children", &view.children.iter().map(child).collect::<Vec<_>>());
    page.text(task.description.as_deref().unwrap_or_default());
    page.section("Tests", &test_lines(&view.file));
    let blockers = task.blockers.iter().map(|blocker| explained(rules, blocker));
    page.section("Blocked by", &blockers.collect::<Vec<_>>());
    if let Some(review) = &task.review {
        page.review(review, Some(&review.from_gate), now);
    }
    page.text(view.file.body());
    page.into_text()
}

fn facts(
    rules: &Rules,
    view: &TaskView,
    file: &str,
    now: Timestamp,
) -> Vec<(&'static str, String)> {
    let task = &view.file.task;
    let mut facts = Vec::new();
    if view.file.origin == Origin::HandMade {
        let gate = view.context.as_ref().map(|context| &context.gate);
        facts.push(("status", not_adopted(gate)));
    } else {
        facts.push(("status", status(task, &view.waiting_for)));
        facts.push(("gate", place(task, now).unwrap_or_default()));
        if task.gate.as_ref().is_some_and(|open| open.branches.is_empty()) {
            facts.push(("who", turn(rules, &view.file)));
        }
    }
    let escalation = escalation(task, None).map(|reason| one_line(&reason.to_string()));
    facts.extend(escalation.map(|text| ("escalated", text)));
    let answer = task.gate.as_ref().and_then(|open| open.answer.as_deref());
    facts.extend(answer.map(|text| ("unblocked", one_line(text))));
    if rules.is_drifted(task) {
        let drifted = "the task came here under earlier rules; `aof why` says what that means";
        facts.push(("rules", drifted.to_owned()));
    }
    if rules.project.workflows.len() > 1 {
        facts.push(("workflow", task.routing.workflow.to_string()));
    }
    let has_priority = task.priority() != Priority::Medium;
    if has_priority {
        facts.push(("priority", task.priority().to_string()));
    }
    facts.extend(plan_lines(&task.plan));
    facts.push(("tags", one_line(&task.tags.join(", "))));
    let metadata = task
        .metadata
        .iter()
        .filter(|(key, _)| !(has_priority && task.plan.priority.is_none() && *key == "priority"));
    let metadata = metadata.map(|(key, value)| match value.as_str() {
        Some(text) => format!("{key}={}", one_line(text)),
        None => format!("{key}={value}"),
    });
    facts.push(("metadata", inert(&metadata.collect::<Vec<_>>().join(", "))));
    facts.push(("depends on", joined(&task.depends_on)));
    facts.extend(task.parent.as_ref().map(|parent| ("part of", parent.to_string())));
    if !view.children.is_empty() {
        facts
            .push(("progress", format!("{} children complete", ChildProgress::of(&view.children))));
    }
    facts.extend(task.created_by.as_ref().map(|agent| ("created by", agent.to_string())));
    if view.file.origin == Origin::Adopted {
        facts.push(("updated", local_time(task.updated)));
    }
    facts.push(("file", inert(file)));
    facts.retain(|(_, fact)| !fact.is_empty());
    facts
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof history AOF-7qk
  aof history AOF-7qk@3 --export DIR      what was signed at that visit, for `ssh-keygen -Y verify`")]
pub(crate) struct HistoryArgs {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    task: TypedTask,
    /// Write what was signed at that visit, the signature and the keys into this folder, for `ssh-keygen -Y verify`
    #[arg(long, value_name = "DIR")]
    export: Option<PathBuf>,
}

pub(crate) fn run_history(session: &Session, args: &HistoryArgs) -> CliResult {
    let workspace = session.workspace("history")?;
    let ticket = lookup::ticket_to_read(&workspace, &args.task)?;
    if let Some(folder) = &args.export {
        return export(session, &workspace, &ticket, folder);
    }
    let (view, in_force) = history(&workspace, &ticket.task)?;
    session.warn_of_rules(&in_force);
    warn_of_visit(session, &ticket, &view.task);
    let ended = view.task.history.iter().enumerate();
    let mut visits: Vec<String> =
        ended.map(|(place, visit)| ended_visit(visit, view.named.contains(&place))).collect();
    visits.extend(open_visit(&view));
    if visits.is_empty() && !session.output.is_json() {
        session.output.say(format!("{} has no history: it is at no gate yet", view.task.id));
    }
    session.output.show(|| history_value(&view), || visits.join("\n"));
    Ok(ExitCode::SUCCESS)
}

/// Writes the files that `ssh-keygen` needs to check a signature.
fn export(session: &Session, workspace: &Workspace, ticket: &Ticket, folder: &Path) -> CliResult {
    let found = evidence(workspace, ticket)?;
    std::fs::create_dir_all(folder).map_err(|cause| CliError::output(folder, &cause))?;
    let files = [
        ("completion", found.text),
        ("completion.sig", format!("{}\n", found.signature)),
        ("allowed_signers", found.allowed_signers),
    ];
    for (name, text) in &files {
        let path = folder.join(name);
        // An existing file is never overwritten: it may be the list that ssh itself uses.
        let file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
        file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|cause| {
            if cause.kind() != ErrorKind::AlreadyExists {
                return CliError::output(&path, &cause);
            }
            let problem = format!("`{}` exists already, and is not overwritten", path.display());
            let fix = "name another folder, or one that does not exist yet";
            CliError::refused("file_exists", problem, fix)
        })?;
    }
    let (ticket, agent) = (found.ticket, found.agent);
    let check = format!(
        "ssh-keygen -Y verify -f allowed_signers -I {agent} -n {NAMESPACE} -s completion.sig < completion"
    );
    let folder = folder.display().to_string();
    let value = || {
        json!({
            "task": ticket,
            "agent": agent,
            "commit": found.commit,
            "folder": folder,
            "files": files.each_ref().map(|(name, _)| *name),
            "check": check,
        })
    };
    let text = || {
        format!(
            "{ticket}: what `{agent}` signed, and the keys that counted then\ncheck it in `{folder}`:\n  {check}\n"
        )
    };
    session.output.show(value, text);
    Ok(ExitCode::SUCCESS)
}

/// Returns the text of a visit: its gate, and a line for each known fact.
fn visit_text(place: &str, facts: Vec<(&str, Option<String>)>) -> String {
    let lines = facts.into_iter().filter_map(|(name, fact)| {
        let fact = fact.filter(|fact| !fact.is_empty())?;
        let gap = if fact.starts_with('\n') { "" } else { " " };
        Some(format!("  {name}:{gap}{fact}\n"))
    });
    format!("Gate: {place}\n{}", lines.collect::<String>())
}

/// The note on a person whose commit has only the name.
const NOT_SEEN: &str = "named, not seen";

fn ended_visit(visit: &Visit, is_named: bool) -> String {
    let names = |gates: &[GateId]| gates.iter().map(GateId::as_str).collect::<Vec<_>>().join(", ");
    let join = visit.join.map(|join| match &visit.unfinished[..] {
        [] => join.to_string(),
        left => format!("{join} (not finished: {})", names(left)),
    });
    let signed = visit.signature.as_ref().map(|by| format!("with {}", by.key().fingerprint()));
    let text = |text: &String| indented(text.trim(), "    ");
    visit_text(
        &format!("{}{}", cyan(visit.station()), of_role(visit.role.as_ref())),
        vec![
            (
                "Agent",
                visit.agent.as_ref().map(|agent| {
                    if is_named { format!("{agent} ({NOT_SEEN})") } else { agent.to_string() }
                }),
            ),
            ("Signed", signed),
            ("Duration", Some(length(visit.duration()))),
            ("Ended", Some(local_time(visit.exited))),
            ("Outcome", Some(format!("{}{}", outcome(&visit.outcome), destination(visit)))),
            ("Skipped", Some(names(&visit.skipped))),
            ("Join", join),
            ("Summary", Some(text(&visit.summary))),
            ("Blockers", Some(blockers(&visit.blockers))),
            ("Notes", visit.rejection_notes.as_ref().map(text)),
        ],
    )
}

fn open_visit(view: &HistoryView) -> Option<String> {
    let task = &view.task;
    let (open, lasting) = (task.gate.as_ref()?, view.open_seconds?);
    let state = match task.status {
        Status::InProgress => "in progress".to_owned(),
        Status::Blocked => yellow("blocked"),
        _ => "waiting".to_owned(),
    };
    let mut facts = vec![
        ("Item", open.item.map(|item| item.to_string())),
        ("Agent", task.routing.agent.as_ref().map(ToString::to_string)),
        ("Duration", Some(format!("{} ({state})", length(lasting)))),
    ];
    for branch in &open.branches {
        let agent = branch.agent.as_ref().map(|agent| format!(", {agent}")).unwrap_or_default();
        let (id, role, status) = (&branch.id, &branch.role, branch.status);
        facts.push(("Branch", Some(format!("{id} ({role}): {status}{agent}"))));
    }
    facts.push(("Blockers", Some(blockers(&task.blockers))));
    let review = task.review.as_ref().map(|review| {
        format!("{} from {}", counted(review.blockers.len(), "blocker"), review.from_gate)
    });
    facts.push(("Review context", review));
    let role = of_role(task.routing.role.as_ref());
    Some(visit_text(&format!("{}{role} {}", cyan(&open.current), bold("[CURRENT]")), facts))
}

fn of_role(role: Option<&RoleId>) -> String {
    role.map(|role| format!(" ({role})")).unwrap_or_default()
}

fn outcome(ending: &Ending) -> String {
    match ending {
        Ending::Completed(Outcome::Complete) => green(ending),
        Ending::Completed(Outcome::NeedsReview) => red(ending),
        Ending::Completed(Outcome::Blocked) => yellow(ending),
        _ => ending.to_string(),
    }
}

/// Returns the destination of the visit; empty if the task stayed.
fn destination(visit: &Visit) -> String {
    let left = visit.to.as_ref().filter(|_| !visit.stays());
    let item = visit.to_item.map(|item| format!(", {item}")).unwrap_or_default();
    let round = visit.round.map(|round| format!(", round {round}")).unwrap_or_default();
    left.map(|to| format!(" -> {}{item}{round}", to.noun())).unwrap_or_default()
}

fn blockers<T: ToString>(list: &[T]) -> String {
    list.iter().map(|blocker| "\n    - ".to_owned() + &one_line(&blocker.to_string())).collect()
}
