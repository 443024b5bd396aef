//! `aof brief` and `aof next`

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use super::named_tasks::{NamedTask, NamedTasks, TextForm, each};
use crate::cli::render::page::{TaskPage, not_adopted, warn_of_visit};
use crate::cli::{
    ActingAgent, CliError, CliResult, DryRunOption, OfflineOption, Session, Words,
    agent_of_environment, between, duration, now, words,
};
use crate::dispatch::claim::give_back;
use crate::dispatch::next::{Next, Wanted};
use crate::dispatch::wait_for_work::{LONGEST_WAIT, Patience, next_within};
use crate::domain::{AgentId, Outcome, RoleId, Ticket, TypedTask, listed};
use crate::files::printable::one_line;
use crate::files::task_file::{Origin, TaskFile};
use crate::operations::arguments::Arguments;
use crate::operations::table::CLAIM;
use crate::operations::{Call, CallFault};
use crate::project::active_rules::InForce;
use crate::project::issue::left_out_warning;
use crate::project::rule_lookup::check_agent;
use crate::project::workspace::Workspace;
use crate::rules::brief::GateContext;
use crate::rules::routing::statements::Statement;
use crate::rules::template::as_text;
use crate::rules::{Workplace, branch_of};
use crate::system::terminal;
use crate::tasks::headers::lookup;
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::state::acceptance::test_lines;
use crate::tasks::view::brief::{
    BriefExtent, brief_markdown, brief_value, created_by, output_lines, place_in_loops, plan_texts,
    statement_lines, task_brief, verdict_in_words,
};
use crate::tasks::view::task_view::{brief_of, changed_value, eligible_agents_at, warnings_value};

#[derive(Debug, clap::Args)]
pub(crate) struct BriefArgs {
    /// The task, as in `AOF-abc`, or a branch of it, as in `AOF-abc@3/security`
    #[arg(value_name = "ID")]
    task: TypedTask,
    /// For people, or for a prompt
    #[arg(long, value_name = "FORM", default_value = "text", value_parser = words(FORMATS))]
    format: BriefFormat,
}

/// The format of a brief.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BriefFormat {
    Text,
    Markdown,
    Json,
}

const FORMATS: Words<BriefFormat> = &[
    ("text", BriefFormat::Text, "For reading at a terminal"),
    ("markdown", BriefFormat::Markdown, "Markdown, for a prompt"),
    ("json", BriefFormat::Json, "What `--json` shows"),
];

#[derive(Debug, clap::Args)]
pub(crate) struct NextArgs {
    /// Only of this role
    #[arg(long, value_name = "ROLE")]
    role: Option<RoleId>,
    /// Claim one more, besides what you have; `maxTasks` in org.yaml may limit it
    #[arg(long)]
    another: bool,
    /// If there is nothing to do, wait for work, as in `60` or `5m`: at most 5 minutes. `--wait` is for locks
    #[arg(long, value_name = "SECONDS", value_parser = work_wait)]
    wait_for_work: Option<Duration>,
    #[command(flatten)]
    offline_option: OfflineOption,
    #[command(flatten)]
    who: ActingAgent,
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ClaimArgs {
    #[command(flatten)]
    tasks: NamedTasks,
    #[command(flatten)]
    offline_option: OfflineOption,
    #[command(flatten)]
    who: ActingAgent,
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

pub(crate) fn run(session: &Session, args: &BriefArgs) -> CliResult {
    let workspace = session.workspace("brief")?;
    let ticket = lookup::ticket_to_read(&workspace, &args.task)?;
    let (file, context, in_force) = task_brief(&workspace, &ticket)?;
    session.warn_of_rules(&in_force);
    warn_of_visit(session, &ticket, &file.task);
    if file.origin == Origin::HandMade {
        session.warn(&format!("{} is {}", file.task.id, not_adopted(Some(&context.gate))));
    }
    session.warn_all(&context.warnings);
    if session.output.is_json() || args.format == BriefFormat::Json {
        let mut value = brief_value(&file, &context);
        value["warnings"] = warnings_value(&context.warnings);
        session.output.data(value);
        return Ok(ExitCode::SUCCESS);
    }
    let rules = &in_force.rules;
    let place = Workplace::find(rules, &file.task, context.ticket.branch.as_ref());
    let readers = place.map(|place| eligible_agents_at(rules, &file.task, &place));
    let who = who_option(session, &workspace, &in_force, &readers.unwrap_or_default());
    session.output.print(&if args.format == BriefFormat::Markdown {
        let renewal = format!("`aof renew {}{who}`", context.ticket);
        brief_markdown(&file, &context, &renewal, BriefExtent::Whole)
    } else {
        page(&file, &context, &who)
    });
    Ok(ExitCode::SUCCESS)
}

/// Returns ` --agent ID` for the commands of a brief if they would not act as one of its readers. A person is known by git's user.
fn who_option(
    session: &Session,
    workspace: &Workspace,
    in_force: &InForce,
    readers: &[AgentId],
) -> String {
    let known = session.agent(workspace, in_force, agent_of_environment().as_ref()).ok();
    if known.is_some_and(|known| readers.contains(&known)) {
        return String::new();
    }
    let reader = readers.iter().find(|reader| !reader.is_human());
    reader.map(|reader| format!(" --agent {reader}")).unwrap_or_default()
}

/// Returns the brief as text. `who` is added to its commands.
fn page(file: &TaskFile, context: &GateContext, who: &str) -> String {
    let mut page = TaskPage::new(&file.task);
    page.line(format!("  gate {}, ticket {}", context.gate, context.ticket));
    if let Some(author) = created_by(file) {
        page.line(format!("  {author}"));
    }
    for line in plan_texts(file) {
        page.line(format!("  {line}"));
    }
    if let Some(work) = file.task.work() {
        page.line(format!("  work: {work}"));
    }
    if let Some(place) = place_in_loops(context) {
        page.line(format!("  {place}"));
    }
    if let Some((_, value)) = &context.item {
        page.text(&as_text(value));
    }
    if let Some(escalation) = &context.escalation {
        page.line(format!("  {}", one_line(&escalation.to_string())));
    }
    page.text(context.prompt.as_deref().unwrap_or_default());
    page.text(&context.role);
    page.text(context.instructions.as_deref().unwrap_or_default());
    page.section("Expected", &context.expectations);
    page.head("Outcomes");
    let outcome =
        |(outcome, meaning): &(_, String)| (ToString::to_string(outcome), one_line(meaning));
    page.facts::<String>(&context.outcomes.iter().map(outcome).collect::<Vec<_>>());
    if let Some(verdict) = &context.verdict {
        page.line(format!("  {}", verdict_in_words(verdict)));
    }
    for form in &context.outputs {
        page.section(&format!("Hand on with {}", form.outcome), &output_lines(form));
        page.line(format!("  as in {}", one_line(&form.example.to_string())));
    }
    page.section("Files", &context.files);
    page.section("Checks", &context.check_lines());
    page.section("Tests", &test_lines(file));
    page.section("Tips", &context.tips);
    for review in context.review.iter().chain(&context.earlier) {
        page.review(review, None, now());
    }
    let line = |statement: &Statement| {
        let ago = statement.at.map(|at| format!(", {} ago", between(at, now())));
        statement_lines(statement, &ago.unwrap_or_default()).join("\n- ")
    };
    page.section("Said", &context.statements.iter().map(line).collect::<Vec<_>>());
    let description = file.task.description.as_deref().unwrap_or_default();
    if !(description.trim().is_empty() && file.body().trim().is_empty()) {
        page.head("Task");
        page.text(description);
        page.text(file.body());
    }
    let ticket = &context.ticket;
    page.head("Complete it");
    for (outcome, _) in &context.outcomes {
        let blocker = if matches!(outcome, Outcome::NeedsReview | Outcome::Blocked) {
            " --blocker \"...\""
        } else {
            ""
        };
        page.line(format!(
            "  aof complete {ticket}{who} --outcome {outcome} --summary \"...\"{blocker}"
        ));
    }
    if let Some(end) = context.claimed_until {
        page.line(format!("  aof renew {ticket}{who}   keeps it yours beyond {end}"));
    }
    page.into_text()
}

/// Parses the time that a command waits for work: a number of seconds, or a time with a unit.
fn work_wait(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map(Duration::from_secs);
    let lasts = seconds.or_else(|_| duration(text))?;
    if lasts > LONGEST_WAIT {
        return Err("it is at most 300 seconds".to_owned());
    }
    Ok(lasts)
}

/// Claims the agent's next task, and shows its brief. Releases the claim if the brief cannot be shown.
pub(crate) fn next(session: &Session, args: &NextArgs) -> CliResult {
    let (mut workspace, in_force) = session.open("next")?;
    workspace.network = args.offline_option.network();
    let agent = session.agent(&workspace, &in_force, args.who.agent.as_ref())?;
    let role = args.role.as_ref();
    check_agent(&in_force.rules, &agent, role)?;
    let mode = args.dry_run_option.mode();
    let wanted = if args.another { Wanted::Another } else { Wanted::Next };
    let lasts = args.wait_for_work.unwrap_or_default();
    if !lasts.is_zero() {
        terminal::on_stop(|| {}).map_err(|cause| CliError::input("signals", &cause))?;
    }
    let is_over = || terminal::is_stopped() || terminal::is_output_gone();
    let on_wait = || session.output.say(format!("waiting for work for `{agent}`"));
    let lock_wait = session.wait;
    let patience = Patience { lasts, lock_wait, is_over: &is_over, on_wait: &on_wait };
    match next_within(&workspace, (&agent, role), wanted, mode, &patience)? {
        Next::Task { changed, ticket, .. } => {
            // The rules may have changed during the wait.
            let in_force = workspace.rules()?;
            if !terminal::is_stopped() {
                let value =
                    show_claimed(session, &workspace, &in_force, &agent, &changed, &ticket, mode);
                if session.output.is_json() {
                    session.output.data(value);
                }
            }
            if session.output.is_closed() || terminal::is_stopped() {
                return take_back(session, &workspace, &agent, &changed, &ticket);
            }
        }
        Next::Nothing { .. } if terminal::is_stopped() => {
            return Ok(ExitCode::from(terminal::INTERRUPTED));
        }
        Next::Nothing { roles, waiting, .. } if session.output.is_json() => {
            session.output.data(json!({"task": Value::Null, "roles": roles, "waiting": waiting}));
            session.warn_all(left_out_warning(&workspace).as_slice());
        }
        Next::Nothing { roles, waiting, .. } => {
            let (of_roles, list) = match &roles[..] {
                [] => (String::new(), "aof list".to_owned()),
                [role] => (format!(" in role `{role}`"), format!("aof list --role {role}")),
                roles => (format!(" in roles {}", listed(roles)), "aof list".to_owned()),
            };
            session.output.say(format!("nothing to do for `{agent}`{of_roles}"));
            let tasks = if waiting == 1 { "1 task is" } else { &format!("{waiting} tasks are") };
            if waiting > 0 {
                session
                    .output
                    .say(format!("{tasks} there, but claimed, blocked or waiting; see `{list}`"));
            }
            session.warn_all(left_out_warning(&workspace).as_slice());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Releases a new claim whose brief was not shown as a whole.
fn take_back(
    session: &Session,
    workspace: &Workspace,
    agent: &AgentId,
    changed: &Changed,
    ticket: &Ticket,
) -> CliResult {
    if changed.commit.is_some() && !changed.settled {
        let ticket = changed.after.task.ticket_of(ticket.branch.as_ref());
        give_back(&workspace.reopened(session.wait)?, &ticket, agent)?;
        session.output.say(format!("{ticket} is free again: its brief was not shown"));
    }
    let code = if terminal::is_stopped() { terminal::INTERRUPTED } else { 1 };
    Ok(ExitCode::from(code))
}

/// Claims the named tasks, and shows their briefs.
pub(crate) fn claim(session: &Session, args: &ClaimArgs) -> CliResult {
    let (mut workspace, in_force) = session.open("claim")?;
    workspace.network = args.offline_option.network();
    let agent = session.agent(&workspace, &in_force, args.who.agent.as_ref())?;
    let mode = args.dry_run_option.mode();
    let tasks = args.tasks.find(session, &workspace, TextForm::None)?;
    each(session, &mut workspace, &tasks, |workspace, NamedTask { ticket: given, .. }| {
        let (by, nothing) = (Some(&agent), Arguments::default());
        let (given_values, in_force) = (&nothing, &in_force);
        let call =
            Call { workspace, in_force, by, given: given_values, signing: None, dry_run: mode };
        let changed = CLAIM.run(&call, Some(given)).map_err(CallFault::into_error)?.task();
        let task = &changed.after.task;
        let branch = given.branch.clone();
        let branch = branch.or_else(|| branch_of(&in_force.rules, task, &agent));
        let ticket = task.ticket_of(branch.as_ref());
        Ok(show_claimed(session, workspace, in_force, &agent, &changed, &ticket, mode))
    })
}

/// Shows people the brief of a claimed task. Returns it for programs.
fn show_claimed(
    session: &Session,
    workspace: &Workspace,
    in_force: &InForce,
    agent: &AgentId,
    changed: &Changed,
    ticket: &Ticket,
    mode: DryRun,
) -> Value {
    let rules = &in_force.rules;
    let context = Workplace::find(rules, &changed.after.task, ticket.branch.as_ref())
        .and_then(|workplace| brief_of(workspace, rules, &changed.after, &workplace));
    if session.output.is_json() {
        let mut value =
            context.map_or_else(|| json!({}), |context| brief_value(&changed.after, &context));
        value["task"] = changed_value(rules, changed, mode);
        return value;
    }
    session.warn_all(&changed.warnings);
    if mode == DryRun::Yes {
        session.output.say(format!("{ticket} would be claimed (dry run: nothing was written)"));
    }
    if let Some(context) = context {
        let who = who_option(session, workspace, in_force, std::slice::from_ref(agent));
        session.output.print(&page(&changed.after, &context, &who));
    }
    Value::Null
}
