//! Commands that change each task that they name in one step: release, renew, assign, hold, unblock, cancel, reopen, override, sign.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::named_tasks::{NamedTasks, TextForm, each};
use crate::cli::render::page::joined;
use crate::cli::text_input;
use crate::cli::{
    ActingAgent, CliError, CliResult, DryRunOption, OfflineOption, Session, SignWith, cyan, green,
    now, yellow,
};
use crate::dispatch::claim;
use crate::domain::{AgentId, Event, GateId, Status, Task, TaskId, Ticket};
use crate::files::printable::inert;
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{NAMESPACE, Rules, explained};
use crate::storage::random::ulid;
use crate::tasks::actions;
use crate::tasks::complete::{parse_completion, sign_file, what_to_sign};
use crate::tasks::headers::dependencies::awaited_now;
use crate::tasks::headers::summary::WAITING;
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::view::task_view::{changed_value, eligible_agents, gates_passed};

// The arguments of each of these commands.
#[derive(Debug, clap::Args)]
pub(crate) struct ActionArgs {
    #[command(flatten)]
    tasks: NamedTasks,
    #[command(flatten)]
    who: ActingAgent,
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RenewArgs {
    #[command(flatten)]
    action: ActionArgs,
    /// The progress so far; it goes into the log
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    note: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct AssignArgs {
    #[command(flatten)]
    action: ActionArgs,
    /// The new holder; an agent of the gate's role
    #[arg(value_name = "AGENT")]
    to: AgentId,
    #[command(flatten)]
    offline_option: OfflineOption,
}

// The engine refuses a missing reason of `hold` and `cancel`, with the fix.
#[derive(Debug, clap::Args)]
pub(crate) struct ReasonArgs {
    #[command(flatten)]
    action: ActionArgs,
    /// Why; whoever works at the task reads this; `-` reads stdin
    #[arg(short = 'm', long, value_name = "TEXT|-", allow_hyphen_values = true)]
    reason: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MoveArgs {
    #[command(flatten)]
    action: ActionArgs,
    /// The gate to which it goes
    #[arg(long, value_name = "GATE")]
    to: GateId,
    /// Why; it goes into the history; `-` reads stdin
    #[arg(short = 'm', long, value_name = "TEXT|-", allow_hyphen_values = true)]
    reason: String,
}

pub(crate) fn release(session: &Session, args: &ActionArgs) -> CliResult {
    act_as_agent(session, ("release", TextForm::None), args, |workspace, ticket, agent, mode| {
        let changed = actions::release(workspace, ticket, Some(agent), mode)?;
        let holder = changed.before.as_ref().and_then(|before| before.task.routing.agent.as_ref());
        let holder = holder.filter(|holder| *holder != agent);
        let holder = holder.map(|holder| format!(", which {holder} had")).unwrap_or_default();
        Ok((format!("given back by {agent}{holder}"), changed))
    })
}

pub(crate) fn renew(session: &Session, args: &RenewArgs) -> CliResult {
    act_as_agent(
        session,
        ("renew", TextForm::None),
        &args.action,
        |workspace, ticket, agent, mode| {
            let note = args.note.as_deref();
            let changed = actions::renew(workspace, ticket, agent, note, mode)?;
            Ok((format!("renewed by {agent}"), changed))
        },
    )
}

pub(crate) fn assign(session: &Session, args: &AssignArgs) -> CliResult {
    act(session, ("assign", TextForm::None), &args.action, |workspace, ticket, by, mode| {
        workspace.network = args.offline_option.network();
        let changed = claim::assign(workspace, ticket, by, &args.to, mode)?;
        Ok((format!("assigned to {}", args.to), changed))
    })
}

pub(crate) fn hold(session: &Session, args: &ReasonArgs) -> CliResult {
    let reason = &args.text()?.unwrap_or_default();
    act(session, ("hold", args.text_form()), &args.action, |workspace, ticket, by, mode| {
        Ok(("held".to_owned(), actions::hold(workspace, ticket, by, reason, mode)?))
    })
}

pub(crate) fn unblock(session: &Session, args: &ReasonArgs) -> CliResult {
    let reason = args.text()?;
    let reason = reason.as_deref();
    act(session, ("unblock", args.text_form()), &args.action, |workspace, ticket, by, mode| {
        let changed = actions::unblock(workspace, ticket, by, reason, mode)?;
        let again = changed.after.task.status == Status::Blocked && ticket.branch.is_none();
        let done = if again { "unblocked, and blocked again at once" } else { "unblocked" };
        Ok((done.to_owned(), changed))
    })
}

pub(crate) fn cancel(session: &Session, args: &ReasonArgs) -> CliResult {
    let reason = &args.text()?.unwrap_or_default();
    act(session, ("cancel", args.text_form()), &args.action, |workspace, ticket, by, mode| {
        Ok(("cancelled".to_owned(), actions::cancel(workspace, ticket, by, reason, mode)?))
    })
}

pub(crate) fn reopen(session: &Session, args: &MoveArgs) -> CliResult {
    let reason = &text_input::given(&args.reason)?;
    act(session, ("reopen", TextForm::One(true)), &args.action, |workspace, ticket, by, mode| {
        let changed = actions::reopen(workspace, ticket, by, &args.to, reason, mode)?;
        Ok((format!("{} (reopened)", gates_passed(&changed)), changed))
    })
}

pub(crate) fn undo(session: &Session, args: &ReasonArgs) -> CliResult {
    let reason = args.text()?;
    let reason = reason.as_deref();
    act(session, ("undo", args.text_form()), &args.action, |workspace, ticket, by, mode| {
        let changed = actions::undo(workspace, ticket, by, reason, mode)?;
        Ok((format!("{} (undone)", gates_passed(&changed)).trim().to_owned(), changed))
    })
}

pub(crate) fn override_to(session: &Session, args: &MoveArgs) -> CliResult {
    let reason = &text_input::given(&args.reason)?;
    act(session, ("override", TextForm::One(true)), &args.action, |workspace, ticket, by, mode| {
        let changed = actions::override_to(workspace, ticket, by, &args.to, reason, mode)?;
        Ok((format!("{} (override)", gates_passed(&changed)), changed))
    })
}

impl ReasonArgs {
    fn text(&self) -> CliResult<Option<String>> {
        self.reason.as_deref().map(text_input::given).transpose()
    }

    fn text_form(&self) -> TextForm {
        TextForm::One(self.reason.is_some())
    }
}

/// Runs `change` for each task, and shows the sentence that it returns and the changed task.
fn act(
    session: &Session,
    (command, text): (&str, TextForm),
    args: &ActionArgs,
    mut change: impl FnMut(
        &mut Workspace,
        &Ticket,
        Option<&AgentId>,
        DryRun,
    ) -> Result<(String, Changed), ProjectError>,
) -> CliResult {
    let (mut workspace, in_force) = session.open(command)?;
    let mode = args.dry_run_option.mode();
    let tasks = args.tasks.find(&workspace, text)?;
    each(session, &mut workspace, &tasks, |workspace, task| {
        let (done, changed) = change(workspace, &task.ticket, args.who.agent.as_ref(), mode)?;
        Ok(show(session, (workspace, &in_force), &changed, &done, mode))
    })
}

/// Runs `change` as the acting agent. Fails if the agent is unknown.
fn act_as_agent(
    session: &Session,
    command: (&str, TextForm),
    args: &ActionArgs,
    change: impl Fn(&Workspace, &Ticket, &AgentId, DryRun) -> Result<(String, Changed), ProjectError>,
) -> CliResult {
    act(session, command, args, |workspace, ticket, named, mode| {
        let agent = session.agent(workspace, &workspace.rules()?, named)?;
        change(workspace, ticket, &agent, mode)
    })
}

/// Shows people the change of a task and the next step. Returns the task for programs.
pub(super) fn show(
    session: &Session,
    (workspace, in_force): (&Workspace, &InForce),
    changed: &Changed,
    done: &str,
    mode: DryRun,
) -> Value {
    let (output, rules) = (session.output, &in_force.rules);
    session.warn_all(&changed.warnings);
    if output.is_json() {
        return changed_value(rules, changed, mode);
    }
    let (remark, now) = match (mode, changed.settled) {
        (DryRun::Yes, _) => (" (dry run: nothing was written)", "it would be"),
        (DryRun::No, true) => (" (nothing changed)", "now"),
        (DryRun::No, false) => ("", "now"),
    };
    output.line(format!("{}: {}{remark}", cyan(&changed.after.task.id), inert(done)));
    let waiting_for = awaited_now(workspace, in_force, &changed.after.task);
    output.line(format!("  {now} {}", state(rules, changed, &waiting_for)));
    if session.verbose {
        let commit = changed.commit.map(|commit| format!(", commit {:.10}", commit.to_string()));
        output.line(format!("  {}{}", changed.path, commit.unwrap_or_default()));
    }
    Value::Null
}

/// Returns the gate of the task and the role or agents whose turn it is.
fn state(rules: &Rules, changed: &Changed, waiting_for: &[TaskId]) -> String {
    let task = &changed.after.task;
    let Some(open) = &task.gate else {
        return match task.status {
            Status::Complete => format!("{}; archived as {}", green("complete"), changed.path),
            end if end.is_finished() => format!("{end}; archived as {}", changed.path),
            _ => "adopted first: it was made by hand, and is at no gate yet".to_owned(),
        };
    };
    let item = open.item.map(|item| format!(", {item}")).unwrap_or_default();
    let turn = match waiting_for {
        [] => turn(rules, changed, task),
        others => format!("{WAITING} for {}", joined(others)),
    };
    let mut state = format!("at {}{item}, {turn}", cyan(&open.current));
    let skipped = changed.events.iter().filter_map(|event| match event {
        Event::Skipped { gate } => Some(gate.as_str()),
        _ => None,
    });
    let skipped: Vec<&str> = skipped.collect();
    if !skipped.is_empty() {
        state.push_str(&format!(" (passed over: {})", skipped.join(", ")));
    }
    state
}

fn turn(rules: &Rules, changed: &Changed, task: &Task) -> String {
    let branches = task.gate.as_ref().map(|open| &open.branches[..]).unwrap_or_default();
    match task.status {
        Status::Blocked => {
            let blockers = task.blockers.iter().map(|blocker| explained(rules, blocker));
            let blockers = blockers.collect::<Vec<_>>().join("; ");
            format!("{}: {}", yellow("blocked"), inert(&blockers))
        }
        status if !branches.is_empty() => {
            let open = branches.iter().filter(|branch| branch.status.is_open());
            let open = open.map(|branch| match &branch.agent {
                Some(agent) => format!("{} ({agent})", branch.id),
                None => format!("{} ({})", branch.id, branch.role),
            });
            let open = open.collect::<Vec<_>>().join(", ");
            format!("{} for {open}", status.as_str().replace('_', " "))
        }
        Status::InProgress => {
            let agent = task.routing.agent.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("in progress with {agent}")
        }
        _ => {
            let names = eligible_agents(rules, &changed.after);
            let names: Vec<&str> = names.iter().map(AgentId::as_str).collect();
            let anybody = task.routing.role.as_ref().is_some_and(|role| rules.is_open(role));
            match &names[..] {
                [] if anybody => "ready for anybody".to_owned(),
                [] => "ready for nobody".to_owned(),
                names => format!("ready for {}", names.join(" or ")),
            }
        }
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof sign done.yaml                       adds the visit, an id and the signature to the file
  aof sign done.yaml --sign-with ~/.ssh/id_ed25519
  aof sign done.yaml --print > to-sign     prints what to sign, for a program of your own:
  ssh-keygen -Y sign -n aof -f KEY to-sign      .. whose signature then goes into the file, as `signature`

The signature is for the visit that is open now, and for nothing else. Then drop the file into .aof/inbox.")]
pub(crate) struct SignArgs {
    /// The completion, as `*.yaml`, `*.json` or `*.md`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print what is to be signed, and change nothing
    #[arg(long, conflicts_with = "sign_with")]
    print: bool,
    #[command(flatten)]
    signing: SignWith,
}

pub(crate) fn run_sign(session: &Session, args: &SignArgs) -> CliResult {
    let workspace = session.workspace("sign")?;
    let output = session.output;
    let name = args.file.display().to_string();
    let bytes = std::fs::read(&args.file).map_err(|cause| CliError::input(&name, &cause))?;
    let id = ulid(now())?;
    if args.print {
        let (completion, _) = parse_completion(&name, &bytes, &id)?;
        if completion.id == id {
            let problem = format!("the completion's id is signed with it, and `{name}` has none");
            let fix = format!("give it one, as in `id: {id}`");
            return Err(CliError::refused("missing_id", problem, fix));
        }
        let wanted = what_to_sign(&workspace, &completion)?;
        if !output.is_json() {
            output.print_exactly(&wanted.text);
            return Ok(ExitCode::SUCCESS);
        }
        output.data(json!({
            "task": wanted.ticket,
            "agent": wanted.agent,
            "completionId": wanted.completion,
            "namespace": NAMESPACE,
            "validKeys": wanted.keys,
            "toSign": wanted.text,
        }));
        return Ok(ExitCode::SUCCESS);
    }
    let (completion, signed) = sign_file(&workspace, &name, &bytes, &id, args.signing.signing())?;
    std::fs::write(&args.file, signed).map_err(|cause| CliError::output(&args.file, &cause))?;
    let signature = completion.signature.as_ref();
    let key = signature.map(|signature| signature.key().fingerprint()).unwrap_or_default();
    let value = json!({
        "task": completion.ticket,
        "agent": completion.agent,
        "completionId": completion.id,
        "key": key,
        "signature": signature.map(ToString::to_string),
    });
    let text = || format!("{name}: signed for {} with {key}\n", completion.ticket);
    output.show(|| value, text);
    Ok(ExitCode::SUCCESS)
}
