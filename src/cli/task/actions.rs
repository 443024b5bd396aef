//! Commands that change each task that they name in one step: release, renew, assign, hold, unblock, cancel, reopen, override, sign.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::named_tasks::{NamedTasks, TextForm, each};
use crate::cli::text_input;
use crate::cli::{
    ActingAgent, CliError, CliResult, DryRunOption, OfflineOption, Session, SignWith, cyan, green,
    now, yellow,
};
use crate::domain::{AgentId, Event, GateId, Status, Task};
use crate::files::printable::inert;
use crate::operations::arguments::Arguments;
use crate::operations::{Call, CallFault, Operation, table as operation};
use crate::project::active_rules::InForce;
use crate::project::workspace::Workspace;
use crate::rules::{NAMESPACE, Rules, explained};
use crate::storage::random::ulid;
use crate::tasks::complete::{parse_completion, sign_file, what_to_sign};
use crate::tasks::headers::dependencies::awaited_now;
use crate::tasks::headers::summary::{Awaited, WAITING};
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::view::phrases::name;
use crate::tasks::view::task_view::{changed_value, eligible_agents, ended_ticket};

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
    /// Who is to do it: a name in org.yaml
    #[arg(value_name = "NAME")]
    to: String,
    /// Claim it for them now, even if another agent has it: an agent of the gate's role
    #[arg(long)]
    claim: bool,
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
    act(session, &operation::RELEASE, TextForm::None, args, &Arguments::default())
}

pub(crate) fn renew(session: &Session, args: &RenewArgs) -> CliResult {
    let given = Arguments::from_iter([("note", json!(args.note))]);
    act(session, &operation::RENEW, TextForm::None, &args.action, &given)
}

pub(crate) fn assign(session: &Session, args: &AssignArgs) -> CliResult {
    if !args.claim {
        let given = Arguments::from_iter([("assignee", json!([args.to]))]);
        return act(session, &operation::EDIT, TextForm::None, &args.action, &given);
    }
    let given = Arguments::from_iter([("agent", json!(args.to))]);
    act_over(session, &operation::ASSIGN, TextForm::None, &args.action, &given, |workspace| {
        workspace.network = args.offline_option.network();
    })
}

/// Runs an operation with a reason that may be missing.
pub(crate) fn reasoned(session: &Session, operation: &Operation, args: &ReasonArgs) -> CliResult {
    let reason = args.reason.as_deref().map(text_input::given).transpose()?;
    let text = TextForm::One(args.reason.is_some());
    let given = Arguments::from_iter([("reason", json!(reason))]);
    act(session, operation, text, &args.action, &given)
}

/// Runs an operation that moves a task to a gate.
pub(crate) fn moved(session: &Session, operation: &Operation, args: &MoveArgs) -> CliResult {
    let reason = text_input::given(&args.reason)?;
    let given = Arguments::from_iter([("to", json!(args.to)), ("reason", json!(reason))]);
    act(session, operation, TextForm::One(true), &args.action, &given)
}

/// Runs an operation on each task, and shows the result and the changed task.
fn act(
    session: &Session,
    operation: &Operation,
    text: TextForm,
    args: &ActionArgs,
    given: &Arguments,
) -> CliResult {
    act_over(session, operation, text, args, given, |_| {})
}

fn act_over(
    session: &Session,
    operation: &Operation,
    text: TextForm,
    args: &ActionArgs,
    given: &Arguments,
    set: impl Fn(&mut Workspace),
) -> CliResult {
    let (mut workspace, in_force) = session.open(operation.command)?;
    set(&mut workspace);
    let dry_run = args.dry_run_option.mode();
    let tasks = args.tasks.find(session, &workspace, text)?;
    each(session, &mut workspace, &tasks, |workspace, task| {
        let agent = match &args.who.agent {
            named if operation.needs_agent => {
                Some(session.agent(workspace, &workspace.rules()?, named.as_ref())?)
            }
            named => named.clone(),
        };
        let by = agent.as_ref();
        let call = Call { workspace, in_force: &in_force, by, given, signing: None, dry_run };
        let done = operation.run(&call, Some(&task.ticket)).map_err(CallFault::into_error)?;
        let sentence = done.sentence.clone();
        Ok(show(session, (workspace, &in_force), &done.task(), &sentence, dry_run))
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
    let awaited = awaited_now(workspace, in_force, &changed.after.task);
    output.line(format!("  {now} {}", state(rules, changed, &awaited)));
    let due_before = changed.before.as_ref().and_then(|before| before.task.plan.due);
    if let Some(due) = changed.after.task.plan.due.filter(|due| Some(*due) != due_before) {
        output.line(session.with_times(&format!("  due {}", due.in_words())));
    }
    let assignee_before = changed.before.as_ref().map(|before| &before.task.plan.assignee);
    let assignee = &changed.after.task.plan.assignee;
    if !assignee.is_empty() && assignee_before != Some(assignee) {
        let shown = |named: &String| {
            let known = rules.org.agent_named(named);
            known.map_or(inert(named), |agent| name(rules, agent).to_owned())
        };
        let is_free = changed.after.task.routing.agent.is_none();
        let nobody = if is_free { "; no one has it yet" } else { "" };
        let names: Vec<String> = assignee.iter().map(shown).collect();
        output.line(format!("  planned for {}{nobody}", names.join(", ")));
    }
    if session.verbose {
        let commit = changed.commit.map(|commit| format!(", commit {:.10}", commit.to_string()));
        let ticket = ended_ticket(changed).map(|ticket| format!("visit {ticket}, "));
        let (ticket, commit) = (ticket.unwrap_or_default(), commit.unwrap_or_default());
        output.line(format!("  {ticket}{}{commit}", changed.path));
    }
    Value::Null
}

/// Returns the gate of the task and the role or agents whose turn it is.
fn state(rules: &Rules, changed: &Changed, awaited: &Awaited) -> String {
    let task = &changed.after.task;
    let Some(open) = &task.gate else {
        return match task.status {
            Status::Complete => format!("{}; archived as {}", green("complete"), changed.path),
            end if end.is_finished() => format!("{end}; archived as {}", changed.path),
            _ => "adopted first: it was made by hand, and is at no gate yet".to_owned(),
        };
    };
    let item = open.item.map(|item| format!(", {item}")).unwrap_or_default();
    let turn = match awaited.words() {
        None => turn(rules, changed, task),
        Some(awaited) => format!("{WAITING} {awaited}"),
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
