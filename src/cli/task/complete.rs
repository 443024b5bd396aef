//! `aof complete`, and the verbs for one outcome: `aof approve`, `reject`, `block`

use std::sync::Arc;

use serde_json::Value;

use super::actions;
use super::approval::{APPROVED, PersonAnswer, ask_here, blank, has_checks, outcomes_here};
use super::named_tasks::{NamedTask, NamedTasks, TextForm, each};
use crate::cli::length;
use crate::cli::render::prompt_keys::PromptKey;
use crate::cli::{
    ActingAgent, CliError, CliResult, DryRunOption, Session, SignWith, current_run,
    current_session, key_value, object, text_input,
};
use crate::domain::{
    AgentId, Completion, CompletionContent, CompletionId, GateId, Outcome, Ticket, TypedTask,
    approving, listed, rejecting,
};
use crate::files::printable::one_line;
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{Refusal, Rules, Workplace, branch_of};
use crate::system::terminal;
use crate::system::terminal::all_quoted;
use crate::tasks::complete::{add_text, complete, complete_signed, note_run, note_session};
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::state::task_state::TaskState;
use crate::tasks::view::task_view::{ended_visits, show, step_of};

/// The end of the text that opens in the editor.
const HOW_TO_WRITE: &str = "\
#
# Write first what was done, in one or two sentences. Then write a line that begins with `- ` for
# each thing that has to be fixed or that the work waits for. Lines that begin with `#` do not count.
# An empty text cancels.
";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof complete AOF-7qk --outcome complete --summary \"Login works, with tests\"
  aof complete AOF-7qk --outcome needs_review --summary \"Two things are missing\" \\
    --blocker \"The session never expires\" --blocker \"No test for a wrong password\"
  aof complete AOF-7qk@3 --outcome blocked --summary \"Waiting\" --blocker \"No access to staging\"

In KEY=VALUE the value is JSON, else a text. A number that JSON would write differently (1.10, 1e3) is a text as well, except where \
the gate asks for a number.
At a terminal it shows the work and asks for a missing outcome; for a missing summary or missing blockers it opens an editor.
`aof approve`, `reject` and `block` are shorter; `aof undo ID` takes your last step back.
Where org.yaml has a `signingKey` of yours, the completion is signed: with the key of --sign-with, else with the one that git \
signs with (`user.signingKey`), else through the ssh agent.
A ticket such as AOF-7qk@3 counts for that visit alone: if it has ended, nothing happens twice.")]
pub(crate) struct CompleteArgs {
    /// `complete`, `needs_review`, `blocked` or `skip`
    #[arg(short, long, value_name = "OUTCOME")]
    outcome: Option<String>,
    /// The task, or one visit or branch of it, as in `AOF-abc`, `AOF-abc@3` or `AOF-abc@3/security`
    #[arg(value_name = "ID")]
    task: TypedTask,
    /// What was done, in one or two sentences
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    summary: Option<String>,
    /// What has to be fixed, or what the work waits for; once for each thing
    #[arg(short, long = "blocker", value_name = "TEXT", allow_hyphen_values = true)]
    blockers: Vec<String>,
    #[command(flatten)]
    common: CompletionArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof approve AOF-7qk
  aof approve AOF-7qk AOF-m2x -m \"Reads well, and the tests cover it\"

The outcome is `complete`; where the gate has decisions, it is the one that is named `approve` or `approved`.
At a terminal it shows the work first, and asks.")]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    tasks: NamedTasks,
    /// The summary; `Approved` without one; `-` reads stdin
    #[arg(short = 'm', long, value_name = "TEXT|-", allow_hyphen_values = true)]
    summary: Option<String>,
    #[command(flatten)]
    common: CompletionArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof reject AOF-7qk -m \"The session never expires\" -m \"No test for a wrong password\"

The outcome is `needs_review`; where the gate has decisions, it is the one that is named `reject` or `rejected`.
At a terminal it shows the work first, and asks.")]
pub(crate) struct RejectArgs {
    #[command(flatten)]
    pointed: PointedArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  aof block AOF-7qk -m \"No access to the staging server\"

`aof unblock` lets the task go on.")]
pub(crate) struct BlockArgs {
    #[command(flatten)]
    pointed: PointedArgs,
}

// The arguments of the verbs that list what is missing.
#[derive(Debug, clap::Args)]
struct PointedArgs {
    #[command(flatten)]
    tasks: NamedTasks,
    /// What has to be fixed, or what the work waits for; once for each point; `-` reads stdin
    #[arg(short = 'm', long = "blocker", value_name = "TEXT|-", allow_hyphen_values = true)]
    points: Vec<String>,
    /// All of it in a sentence; the first point without one
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    summary: Option<String>,
    #[command(flatten)]
    common: CompletionArgs,
}

// The arguments of all commands that complete a visit.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionArgs {
    /// The gate that you mean: where another one is open by now, nothing is done
    #[arg(long, value_name = "GATE")]
    gate: Option<GateId>,
    /// A note to whoever fixes it
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    notes: Option<String>,
    /// Hand a value on to later gates
    #[arg(long = "output", value_name = "KEY=VALUE", value_parser = key_value)]
    outputs: Vec<(String, serde_json::Value)>,
    /// Record a fact
    #[arg(long = "meta", value_name = "KEY=VALUE", value_parser = key_value)]
    metadata: Vec<(String, serde_json::Value)>,
    /// A text of up to 64 KiB for the body of the task; `-` reads stdin. Frontmatter with `$status` or `outcome` has the outputs too
    #[arg(short, long, value_name = "FILE|-")]
    file: Option<String>,
    /// The id that makes this completion count once, however often it is sent
    #[arg(long, value_name = "COMPLETION-ID")]
    id: Option<CompletionId>,
    #[command(flatten)]
    who: ActingAgent,
    #[command(flatten)]
    signing: SignWith,
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

/// The verb of a command that completes a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CompletionVerb {
    Complete,
    Approve,
    Reject,
    Block,
}

/// The content of a command, for each task that it names.
struct Sent<'a> {
    verb: CompletionVerb,
    outcome: Option<&'a str>,
    summary: Option<String>,
    blockers: Vec<String>,
    args: &'a CompletionArgs,
}

/// Completes a visit. Without an option for the outcome it is the `usual` one, if there is one.
pub(crate) fn run(session: &Session, args: &CompleteArgs, usual: Option<&str>) -> CliResult {
    let (mut workspace, in_force) = session.open("complete")?;
    let ticket = session.ticket(&workspace, &args.task)?;
    let sent = Sent {
        verb: CompletionVerb::Complete,
        outcome: args.outcome.as_deref().or(usual),
        summary: args.summary.clone(),
        blockers: args.blockers.clone(),
        args: &args.common,
    };
    let task = NamedTask { word: args.task.to_string(), ticket };
    say_of_each(session, &mut workspace, &in_force, &sent, &[task])
}

pub(crate) fn approve(session: &Session, args: &ApproveArgs) -> CliResult {
    let (mut workspace, in_force) = session.open("approve")?;
    let tasks = args.tasks.find(session, &workspace, TextForm::One(args.summary.is_some()))?;
    let sent = Sent {
        verb: CompletionVerb::Approve,
        outcome: None,
        summary: args.summary.as_deref().map(text_input::given).transpose()?,
        blockers: Vec::new(),
        args: &args.common,
    };
    say_of_each(session, &mut workspace, &in_force, &sent, &tasks)
}

pub(crate) fn reject(session: &Session, args: &RejectArgs) -> CliResult {
    say_what_is_missing(session, &args.pointed, CompletionVerb::Reject)
}

pub(crate) fn block(session: &Session, args: &BlockArgs) -> CliResult {
    say_what_is_missing(session, &args.pointed, CompletionVerb::Block)
}

fn say_what_is_missing(session: &Session, args: &PointedArgs, verb: CompletionVerb) -> CliResult {
    let (mut workspace, in_force) = session.open(verb.command())?;
    let tasks = args.tasks.find(session, &workspace, TextForm::Points)?;
    let points = args.points.iter().map(|point| text_input::given(point));
    let sent = Sent {
        verb,
        outcome: None,
        summary: args.summary.clone(),
        blockers: points.collect::<CliResult<_>>()?,
        args: &args.common,
    };
    say_of_each(session, &mut workspace, &in_force, &sent, &tasks)
}

fn say_of_each(
    session: &Session,
    workspace: &mut Workspace,
    in_force: &InForce,
    sent: &Sent<'_>,
    tasks: &[NamedTask],
) -> CliResult {
    if sent.args.id.is_some() && tasks.len() > 1 {
        let fix = "leave it out, or name one task";
        return Err(CliError::refused("one_id", "`--id` is for one completion", fix));
    }
    let agent = session.agent(workspace, in_force, sent.args.who.agent.as_ref())?;
    let text = sent.args.file.as_deref().map(text_input::text).transpose()?;
    each(session, workspace, tasks, |workspace, task| {
        let mut completion = completion(workspace, sent, &task.ticket, agent.clone())?;
        if let Some(text) = &text {
            add_text(&mut completion, text.clone());
        }
        perform(session, (workspace, in_force), sent, task, completion)
    })
}

impl Sent<'_> {
    /// Returns the outcome that the command means at a gate with these outcomes.
    fn outcome(&self, outcomes: &[Outcome]) -> Option<String> {
        match self.verb {
            CompletionVerb::Complete => self.outcome.map(str::to_owned),
            // A gate without an approving outcome refuses the word, and lists its outcomes.
            CompletionVerb::Approve => {
                Some(approving(outcomes).map_or_else(|| "approve".to_owned(), ToString::to_string))
            }
            CompletionVerb::Reject => {
                Some(rejecting(outcomes).unwrap_or(&Outcome::NeedsReview).to_string())
            }
            CompletionVerb::Block => Some(Outcome::Blocked.to_string()),
        }
    }
}

/// Completes the visit as the command says. Returns the task for programs.
fn perform(
    session: &Session,
    (workspace, in_force): (&mut Workspace, &InForce),
    sent: &Sent<'_>,
    task: &NamedTask,
    mut completion: Completion,
) -> CliResult<Value> {
    let (rules, args, verb, given) = (&in_force.rules, sent.args, sent.verb, &task.ticket);
    let mode = args.dry_run_option.mode();
    // The other verbs name their outcome themselves.
    let outcomes = match verb {
        CompletionVerb::Complete | CompletionVerb::Block => Vec::new(),
        CompletionVerb::Approve | CompletionVerb::Reject => {
            outcomes_here(workspace, rules, &completion)
        }
    };
    completion.content.outcome = sent.outcome(&outcomes);
    let asks = Session::at_terminal() && !session.output.is_json();
    let says_nothing = completion.content.summary.is_none()
        && completion.content.blockers.is_none()
        && completion.content.body.is_none()
        && (verb != CompletionVerb::Complete
            || completion.content.outcome.is_none() && completion.content.outputs.is_empty());
    if asks && says_nothing {
        let signing = args.signing.signing();
        match ask_here(session, workspace, &completion, signing, mode, &[PromptKey::Comment])? {
            PersonAnswer::Completed(changed) => {
                return Ok(report(session, (workspace, in_force), given, &changed, mode));
            }
            PersonAnswer::Later | PersonAnswer::Undo | PersonAnswer::Ended => {
                session.output.say("left for later; nothing was changed");
                return Ok(Value::Null);
            }
            // The refusal has the reason.
            PersonAnswer::NotAsked => {}
        }
    }
    if completion.content.summary.is_none()
        && let Some(usual) = verb.usual_summary(&outcomes, &completion)
    {
        completion.content.summary = Some(usual);
    }
    if asks && let Some(meant) = ask_if_repeated(session, workspace, &completion)? {
        completion.ticket = meant;
        workspace.restart_wait(session.wait);
    }
    let mut written = None;
    if wants_editor(&completion) && asks {
        // A completion that is refused for other reasons is refused before the person writes a text.
        let seen = complete(workspace, &with_any_text(&completion), DryRun::Yes);
        let seen =
            seen.map_err(|error| refused(sent, task, workspace, rules, &completion.agent, error))?;
        // The text is for the visit that the person sees, even if that ends while they write.
        if let Some(file) = seen.before.filter(|_| completion.ticket.visit.is_none()) {
            completion.ticket =
                file.task.ticket_of(branch_of(rules, &file.task, &completion.agent).as_ref());
        }
        written = Some(edit_texts(session, workspace, rules, &mut completion)?);
        workspace.restart_wait(session.wait);
    }
    if has_checks(rules) {
        // The commands of tests must end with this one.
        terminal::set_on_stop(&Arc::default())
            .map_err(|cause| CliError::input("signals", &cause))?;
    }
    let completed = complete_signed(workspace, &completion, args.signing.signing(), mode);
    let completed = completed.map_err(|error| {
        let kept = written.map(|text| text_input::kept(text.as_bytes(), ".md"));
        if let Some(Ok(path)) = kept {
            session.output.say(format!("what you wrote is kept in `{}`", path.display()));
        }
        refused(sent, task, workspace, rules, &completion.agent, error)
    })?;
    Ok(report(session, (workspace, in_force), given, &completed, mode))
}

impl CompletionVerb {
    fn command(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Block => "block",
        }
    }

    /// Returns the summary of a completion that has none. An agent at a gate that judges nothing must report what was done.
    fn usual_summary(self, outcomes: &[Outcome], completion: &Completion) -> Option<String> {
        let judges = rejecting(outcomes).is_some()
            || approving(outcomes).is_some_and(|outcome| *outcome != Outcome::Complete);
        match self {
            Self::Approve if judges || completion.agent.is_human() => Some(APPROVED.to_owned()),
            Self::Complete | Self::Approve => None,
            // Without blockers, the rules refuse the completion for their absence.
            Self::Reject | Self::Block => {
                let first = completion.content.blockers.iter().flatten().next().cloned();
                first.or_else(|| Some(format!("{}ed", self.command())))
            }
        }
    }
}

/// Shows people the effect of a completion. Returns the task for programs.
pub(crate) fn report(
    session: &Session,
    place: (&Workspace, &InForce),
    given: &Ticket,
    changed: &Changed,
    mode: DryRun,
) -> Value {
    // An agent that a runner started does not learn the workflow, only that its part is done.
    let is_own = |(ticket, _): &(Ticket, String)| ticket.task == given.task;
    if let Some((ticket, _)) = current_run().filter(is_own).filter(|_| !session.output.is_json()) {
        session.warn_all(&changed.warnings);
        let outcome = ended_visits(changed).first().map(|visit| visit.outcome.as_str());
        session
            .output
            .line(format!("{ticket}: {}; your part is done", outcome.unwrap_or_default()));
        return Value::Null;
    }
    actions::show(session, place, changed, &step_of(changed), mode)
}

/// Returns the error of a refused completion, with the beginning of a command that would be accepted: it names the open visit.
fn refused(
    sent: &Sent<'_>,
    named: &NamedTask,
    workspace: &Workspace,
    rules: &Rules,
    agent: &AgentId,
    error: ProjectError,
) -> CliError {
    let lacks_blockers = matches!(
        error,
        ProjectError::Refused(Refusal::MissingBlockers { .. } | Refusal::EmptyBlockers { .. })
    );
    let verb = if lacks_blockers { sent.verb.command() } else { "complete" };
    let given = &named.ticket;
    let command = match &error {
        ProjectError::Refused(Refusal::Repeated { ticket, .. }) => same_command(named, ticket),
        error => {
            let names_none = matches!(error, ProjectError::Refused(_)) && given.visit.is_none();
            let state = names_none.then(|| TaskState::read(workspace, &given.task).ok()).flatten();
            let task = state.map(|state| state.file.task);
            let ticket = task.map(|task| task.ticket_of(branch_of(rules, &task, agent).as_ref()));
            let agent = sent.args.who.agent.as_ref().map(|agent| format!(" --agent {agent}"));
            let ticket = ticket.unwrap_or_else(|| given.clone());
            format!("aof {verb} {ticket}{}", agent.unwrap_or_default())
        }
    };
    CliError::Completion { command, error: Box::new(error) }
}

/// Returns the command as it was given, with that ticket in place of the task's id.
fn same_command(named: &NamedTask, ticket: &Ticket) -> String {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let mut words: Vec<String> = words.collect();
    if let Some(word) = words.iter_mut().find(|word| **word == named.word) {
        *word = ticket.to_string();
    }
    format!("aof {}", all_quoted(words.iter().map(String::as_str)))
}

/// Asks the person whether a repeated completion is meant for the open visit as well. Returns the ticket of that visit; `None` if
/// the completion repeats nothing, or the person answers no.
fn ask_if_repeated(
    session: &Session,
    workspace: &Workspace,
    completion: &Completion,
) -> CliResult<Option<Ticket>> {
    let seen = complete(workspace, &with_any_text(completion), DryRun::Yes);
    let Err(ProjectError::Refused(Refusal::Repeated { ticket, open, gate, at, .. })) = seen else {
        return Ok(None);
    };
    let seconds = u64::try_from(workspace.now().as_second() - at.as_second()).unwrap_or(0);
    let question = format!("You ended {gate} {} ago. Complete {open} too? [y/N] ", length(seconds));
    Ok(session.confirm(&question)?.then_some(ticket))
}

fn completion(
    workspace: &Workspace,
    sent: &Sent<'_>,
    ticket: &Ticket,
    agent: AgentId,
) -> CliResult<Completion> {
    let args = sent.args;
    let mut completion = Completion {
        gate: args.gate.clone(),
        content: CompletionContent {
            outcome: None,
            summary: sent.summary.clone(),
            blockers: (!sent.blockers.is_empty()).then(|| sent.blockers.clone()),
            rejection_notes: args.notes.clone(),
            outputs: object(&args.outputs),
            metadata: object(&args.metadata),
            body: None,
            fields: None,
        },
        ..blank(ticket.clone(), agent)?
    };
    if let Some(id) = &args.id {
        completion.id = id.clone();
    }
    note_session(&mut completion, current_session().as_deref());
    // A completion of another task does not belong to the run.
    if let Some((_, run)) = current_run().filter(|(at, _)| at.task == ticket.task) {
        note_run(&workspace.paths, &mut completion, &run);
    }
    Ok(completion)
}

fn wants_editor(completion: &Completion) -> bool {
    let rejects = matches!(completion.content.outcome.as_deref(), Some("needs_review" | "blocked"));
    completion.content.summary.is_none() || (rejects && completion.content.blockers.is_none())
}

/// Returns the completion with placeholders for the texts that the person must still write.
fn with_any_text(completion: &Completion) -> Completion {
    let text = "to be written".to_owned();
    let mut completion = completion.clone();
    completion.content.summary.get_or_insert(text.clone());
    completion.content.blockers.get_or_insert(vec![text]);
    completion
}

/// Lets a person write the summary and the blockers, like a commit message. Returns the text.
fn edit_texts(
    session: &Session,
    workspace: &Workspace,
    rules: &Rules,
    completion: &mut Completion,
) -> CliResult<String> {
    let (view, _) = show(workspace, &completion.ticket.task)?;
    let task = &view.file.task;
    let mut template = format!("{}\n\n", completion.content.summary.as_deref().unwrap_or_default());
    for blocker in completion.content.blockers.iter().flatten() {
        template.push_str(&format!("- {blocker}\n"));
    }
    let outcome = completion.content.outcome.as_deref().unwrap_or("complete");
    let title = one_line(&task.title);
    template.push_str(&format!("# {} \"{title}\": outcome `{outcome}`\n", task.id));
    if let Some(workplace) = Workplace::find(rules, task, completion.ticket.branch.as_ref()) {
        let outcomes = listed(workplace.outcomes(rules));
        template
            .push_str(&format!("# At gate `{}`; its outcomes: {outcomes}.\n", workplace.station()));
    }
    template.push_str(HOW_TO_WRITE);
    let text = text_input::edited(session, &template, ".md")?;
    let (summary, blockers) = parse_text(&text);
    if summary.is_empty() && blockers.is_empty() {
        let problem = "nothing was written, so nothing was completed".to_owned();
        return Err(CliError::editor(problem, "write a summary, or give it with `--summary`"));
    }
    completion.content.summary = Some(summary);
    completion.content.blockers = (!blockers.is_empty()).then_some(blockers);
    Ok(text)
}

/// Parses the edited text: a summary, and lines of blockers.
fn parse_text(text: &str) -> (String, Vec<String>) {
    let lines = || text.lines().filter(|line| !line.starts_with('#'));
    let blockers =
        lines().filter_map(|line| line.strip_prefix("- ")).map(|line| line.trim().to_owned());
    let summary: Vec<&str> = lines().filter(|line| !line.starts_with("- ")).collect();
    (summary.join("\n").trim().to_owned(), blockers.filter(|blocker| !blocker.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_completion_is_read_like_a_commit_message() {
        let text = "Two things\nto fix.\n\n- first: a\n-  \n- second\n# - no blocker\n";
        assert_eq!(
            parse_text(text),
            ("Two things\nto fix.".to_owned(), vec!["first: a".to_owned(), "second".to_owned()])
        );
        assert_eq!(parse_text("# only comments\n"), (String::new(), Vec::new()));
    }
}
