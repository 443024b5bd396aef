//! Shows a run: its events, live or as lines, and its result.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use crate::agents::runner::{
    Audience, PersonQuestion, RunEvent, RunOutcome, RunSummary, RunTarget, StartedAttempt,
    WaitReason, WaitingWork,
};
use crate::cli::task::approval::{self, PersonReply};
use crate::cli::{
    CliResult, Output, Session, counted, cyan, dim, green, json_line, length, merged, now, red,
    with_local_times, yellow,
};
use crate::domain::{AgentId, Blocker, Completion, Status, Ticket, listed};
use crate::files::event::render::step_words;
use crate::files::printable::{inert, one_line};
use crate::project::git_hints::GitCommands;
use crate::project::workspace::{Workspace, acting_agent, warn_in_log};
use crate::tasks::headers::summary::clock;
use crate::tasks::view::task_view::{show as show_task, task_value};
use crate::tasks::view::work_diff::work_diff;

/// The exit code of a program that a signal stopped.
const INTERRUPTED: u8 = 130;
/// The exit code if the work waits for others.
pub(crate) const WAITS: u8 = 7;

/// Shows the result of a run, and returns the exit code.
pub(crate) fn show(
    session: &Session,
    workspace: &Workspace,
    target: &RunTarget,
    result: &RunSummary,
) -> CliResult {
    let mut value = json!({"visits": result.visits});
    let (mut subject, mut last, mut requests) = (String::new(), String::new(), String::new());
    if let RunTarget::Task(id) = target {
        let (view, in_force) = show_task(workspace, id)?;
        let task = &view.file.task;
        subject = format!("{}: ", cyan(id));
        if let Some(visit) = task.history.last() {
            last = one_line(&visit.summary);
            requests = visit.rejection_notes.clone().unwrap_or_else(|| visit.blockers.join("\n"));
        }
        value["context"] = Value::Object(task.context.clone());
        value["task"] = task_value(&in_force.rules, &view.file, &view.path);
    }
    if let RunOutcome::Waiting(waits) = &result.end
        && result.unavailable.is_empty()
    {
        value["waits"] = waits.iter().map(waits_value).collect();
    }
    if let RunOutcome::Paused(pause) = &result.end {
        value["paused"] = json!([pause.to_value()]);
    }
    let (code, error, text) = summary(result, &last);
    if session.output.is_json() {
        let ended = json!({"event": "ended", "success": code == 0, "error": error});
        session.output.line(json_line(merged(ended, value)).to_string());
    } else {
        session.output.line(format!("{subject}{}", session.with_times(&text)));
        // No one works on a failed task, so no one else gets the wishes of its last gate.
        if matches!(result.end, RunOutcome::Finished(Status::Failed)) {
            let lines = requests.lines().map(|line| format!("  {}", inert(line)));
            lines.for_each(|line| session.output.line(line));
        }
    }
    Ok(ExitCode::from(code))
}

/// Returns the exit code, the error for programs, and the line for people.
fn summary(result: &RunSummary, last: &str) -> (u8, Option<String>, String) {
    let visits = counted(result.visits, "visit");
    let unavailable = result.unavailable.iter();
    let unavailable: Vec<String> =
        unavailable.map(|(agent, why)| format!("{agent} cannot work: {}", one_line(why))).collect();
    let unavailable = unavailable.join("; ");
    let given_up = result.given_up.iter();
    let given_up: Vec<String> =
        given_up.map(|(ticket, why)| format!("{ticket} failed: {}", one_line(why))).collect();
    let given_up = given_up.join("; ");
    let left = result.left.iter().map(|(ticket, why)| format!("{ticket} waits: {}", one_line(why)));
    let left = left.collect::<Vec<_>>().join("; ");
    match &result.end {
        RunOutcome::Finished(Status::Complete) => {
            (0, None, format!("{}, {visits}", green("complete")))
        }
        RunOutcome::Finished(status) => {
            let why = if last.is_empty() { String::new() } else { format!(": {last}") };
            (1, Some(format!("the task is {status}{why}")), format!("{}{why}", red(status)))
        }
        RunOutcome::Stopped => {
            let text = "stopped; the task files say where it goes on";
            (INTERRUPTED, Some("it was stopped".to_owned()), text.to_owned())
        }
        RunOutcome::Paused(pause) => {
            let text = format!("{}, {visits} so far", yellow(pause.sentence(now())));
            (WAITS, Some(pause.sentence(now())), text)
        }
        RunOutcome::Hindered(why) => {
            let why = one_line(why);
            (WAITS, Some(why.clone()), format!("{}, {visits} so far: {why}", yellow("waits")))
        }
        _ if !unavailable.is_empty() => {
            let text = format!("{visits}, and {unavailable}");
            let is_trust = result.unavailable.values().all(|why| why.contains("`aof trust"));
            (if is_trust { WAITS } else { 1 }, Some(unavailable), text)
        }
        RunOutcome::Waiting(waits) => {
            let whys: Vec<String> =
                waits.iter().map(|waits| format!("{} {}", waits.station, why(waits))).collect();
            let whys = match &whys[..] {
                [] => "nobody can work at it now; see `aof why`".to_owned(),
                whys => whys.join("; "),
            };
            (WAITS, Some(whys), format!("{}, {visits} so far", yellow("waits")))
        }
        _ if !given_up.is_empty() => {
            let text = format!("{visits}, and {given_up}");
            (1, Some(given_up), text)
        }
        _ if !left.is_empty() => {
            let text = format!("{visits}, and {left}");
            (WAITS, Some(left), text)
        }
        RunOutcome::NothingLeft => (0, None, format!("nothing is left to do, {visits}")),
        RunOutcome::Stepped => (0, None, format!("{visits}; go on with the same command")),
    }
}

/// Returns the line for an event; `None` for events that only a live view shows.
pub(crate) fn line(event: &RunEvent) -> Option<String> {
    Some(match event {
        RunEvent::Printed { .. } => return None,
        RunEvent::StartedAttempt(started) => {
            let (step, attempt) = (step(started), attempt(started));
            format!("{step}: {} at {}{attempt}", started.agent, cyan(&started.ticket))
        }
        RunEvent::AttemptFailed { ticket, attempt, why, again_in } => {
            let then = again_in.map(|time| format!("again in {}", rounded(time)));
            let then = then.unwrap_or_else(|| "that was the last one".to_owned());
            let (warning, why) = (yellow("warning:"), one_line(why));
            format!("{warning} {ticket}: attempt {attempt} failed: {why}; {then}")
        }
        RunEvent::Moved { ticket, from, outcome, summary, to, status, took } => {
            let to = match (to, status) {
                (Some(to), _) => to.to_string(),
                (None, Status::Complete) => green("done"),
                (None, status) => status.to_string(),
            };
            let to = Some(&*to).filter(|to| *to != from.gate.as_str());
            let step = step_words(&from.to_string(), &one_line(outcome), to);
            let took =
                if took.is_zero() { String::new() } else { format!(" after {}", rounded(*took)) };
            let summary = summary.as_ref().map(|text| format!(": {}", one_line(text)));
            format!("{}: {step}{took}{}", cyan(&ticket.task), summary.unwrap_or_default())
        }
        RunEvent::WaitingWork(waits) => waits_line(waits),
        RunEvent::Unavailable { agent, why } => {
            format!("{} {agent} cannot work: {}", yellow("warning:"), one_line(why))
        }
        RunEvent::Paused(pause) => {
            let (note, why) = (yellow("note:"), one_line(&pause.why));
            format!("{note} {}: {why}; {}", pause.sentence(now()), pause.fix())
        }
        RunEvent::Obstacle(text) => format!("{} {}; waiting", yellow("note:"), one_line(text)),
        RunEvent::Remark { ticket, text } => {
            format!("{} {ticket}: {}", yellow("note:"), with_local_times(&one_line(text)))
        }
    })
}

/// Returns the step of the workflow: `Step 2/6: review`.
pub(crate) fn step(started: &StartedAttempt) -> String {
    format!("Step {}/{}: {}", started.step, started.steps, started.station)
}

/// Returns the number of the attempt, from the second one on.
pub(crate) fn attempt(started: &StartedAttempt) -> String {
    match started.attempt {
        1 => String::new(),
        number => dim(format!(", attempt {number} of {}", started.attempts)),
    }
}

/// Returns the line for work that waits.
pub(crate) fn waits_line(waits: &WaitingWork) -> String {
    format!("{} {}: {}", cyan(&waits.ticket), waits.station, with_local_times(&why(waits)))
}

/// Returns the reason why work waits, and how it can continue.
pub(crate) fn why(waits: &WaitingWork) -> String {
    let WaitingWork { ticket, role, agents, .. } = waits;
    let agents = match &agents[..] {
        [] => format!("somebody in role `{role}`"),
        agents => listed(agents),
    };
    let task = &ticket.task;
    match &waits.why {
        WaitReason::People => {
            format!("waits for {agents}; `aof complete {ticket} --outcome ...`")
        }
        WaitReason::Blocked(blockers) => {
            let blockers = one_line(&Blocker::joined(blockers));
            format!("is blocked: {blockers}; `aof unblock {task} --reason ...` lets it go on")
        }
        WaitReason::NotStartable if waits.agents.is_empty() => {
            format!("waits: nobody in role `{role}` may work there now; see `aof why {task}`")
        }
        WaitReason::NotStartable => {
            format!("waits for {agents}: org.yaml does not say how to start any of them (`run`)")
        }
        WaitReason::Held(agent) => {
            let ticket = ticket.clone().without_visit();
            format!("is {agent}'s; `aof release {ticket}` takes it back")
        }
        WaitReason::Tried(why) => one_line(why),
        WaitReason::LooksAgain(at) => format!("waits; its program looks again at {}", clock(*at)),
    }
}

fn rounded(time: Duration) -> String {
    length((time + Duration::from_millis(500)).as_secs())
}

/// Returns an event as JSON.
pub(crate) fn value(event: &RunEvent) -> Value {
    match event {
        RunEvent::StartedAttempt(started) => json!({
            "event": "started",
            "task": started.ticket.task,
            "ticket": started.ticket,
            "gate": started.station,
            "agent": started.agent,
            "attempt": started.attempt,
            "attempts": started.attempts,
            "step": started.step,
            "steps": started.steps,
        }),
        RunEvent::Printed { ticket, line } => {
            let line = one_line(line);
            json!({"event": "printed", "task": ticket.task, "ticket": ticket, "line": line})
        }
        RunEvent::AttemptFailed { ticket, attempt, why, again_in } => json!({
            "event": "attempt_failed",
            "task": ticket.task,
            "ticket": ticket,
            "attempt": attempt,
            "why": why,
            "againIn": again_in.map(|time| time.as_secs()),
        }),
        RunEvent::Moved { ticket, from, outcome, summary, to, status, took } => json!({
            "event": "moved",
            "task": ticket.task,
            "ticket": ticket,
            "from": from,
            "to": to,
            "outcome": outcome,
            "summary": summary,
            "status": status,
            "seconds": took.as_secs(),
        }),
        RunEvent::WaitingWork(waits) => waits_value(waits),
        RunEvent::Unavailable { agent, why } => {
            json!({"event": "unavailable", "agent": agent, "why": why})
        }
        RunEvent::Paused(pause) => {
            merged(json!({"event": "paused", "why": pause.why}), pause.to_value())
        }
        RunEvent::Obstacle(text) => json!({"event": "obstacle", "text": text}),
        RunEvent::Remark { ticket, text } => {
            json!({"event": "remark", "task": ticket.task, "ticket": ticket, "text": text})
        }
    }
}

/// Returns work that waits as JSON.
pub(crate) fn waits_value(waits: &WaitingWork) -> Value {
    let what = match &waits.why {
        WaitReason::People => "people",
        WaitReason::Blocked(_) => "blocked",
        WaitReason::NotStartable => "not_startable",
        WaitReason::Held(_) => "held",
        WaitReason::Tried(_) => "tried",
        WaitReason::LooksAgain(_) => "looks_again",
    };
    json!({
        "event": "waits",
        "task": waits.ticket.task,
        "ticket": waits.ticket,
        "gate": waits.station,
        "role": waits.role,
        "agents": waits.agents,
        "for": what,
        "why": why(waits),
    })
}

/// Shows a run to a person, who can be asked at a terminal.
pub(crate) struct RunView {
    output: Output,
    live: Option<Live>,
    /// The person who can be asked, and the folder of the project.
    person: Option<(AgentId, PathBuf)>,
    git_commands: GitCommands,
    stop: Arc<AtomicBool>,
}

impl RunView {
    /// Returns the view. If `may_ask`, a person at the terminal is asked.
    pub(crate) fn new(
        session: &Session,
        workspace: &Workspace,
        may_ask: bool,
        stop: &Arc<AtomicBool>,
    ) -> CliResult<Self> {
        let output = session.output;
        let mut person = None;
        if !output.is_json() && may_ask && Session::at_terminal() {
            // A person who is not in org.yaml is not asked.
            let who = acting_agent(workspace, &workspace.rules()?.rules.org, None, true);
            let who = who.ok().filter(AgentId::is_human);
            person = who.map(|who| (who, workspace.paths.root().to_owned()));
        }
        let live = if output.is_json() { None } else { Live::at_terminal() };
        let git_commands = workspace.git_commands.clone();
        Ok(Self { output, live, person, git_commands, stop: Arc::clone(stop) })
    }

    /// Returns a sentence of aof with its git commands changed to work here; an agent's text is unchanged.
    fn with_git_prefix(&self, event: &RunEvent, text: String) -> String {
        match event {
            RunEvent::WaitingWork(_)
            | RunEvent::Unavailable { .. }
            | RunEvent::Obstacle(_)
            | RunEvent::Remark { .. } => self.git_commands.with_folder(text),
            _ => text,
        }
    }
}

impl Audience for RunView {
    fn hear(&mut self, event: &RunEvent) {
        if self.output.is_json() {
            let mut value = json_line(value(event));
            for key in ["text", "why"] {
                if let Some(Value::String(text)) = value.get_mut(key) {
                    *text = self.with_git_prefix(event, std::mem::take(text));
                }
            }
            return self.output.line(value.to_string());
        }
        let line = line(event).map(|line| self.with_git_prefix(event, line));
        match (&mut self.live, line) {
            (Some(live), line) => live.hear(event, line),
            (None, Some(line)) => self.output.say(line),
            (None, None) => {}
        }
    }

    fn tick(&mut self) {
        if let Some(live) = &self.live {
            live.running.values().for_each(|(bar, _)| bar.tick());
        }
    }

    fn aside(&mut self, something: &mut dyn FnMut()) {
        match &self.live {
            Some(live) => live.all.suspend(something),
            None => something(),
        }
    }

    fn decide(&mut self, asked: &PersonQuestion<'_>) -> Option<Completion> {
        let (person, root) = self.person.as_ref()?;
        let look = || {
            let opened =
                Workspace::open(root, "aof run".to_owned(), now, Duration::ZERO, warn_in_log);
            let workspace = opened.map_err(|error| error.to_string())?;
            work_diff(&workspace, &asked.file.task, asked.path)
        };
        let ask = || approval::ask(self.output, (person, &look), asked, None, &[], &self.stop);
        let reply = match &self.live {
            Some(live) => live.all.suspend(ask),
            None => ask(),
        };
        match reply {
            PersonReply::Completion(completion) => Some(*completion),
            _ => None,
        }
    }
}

/// The interval of a spinner's turns.
const TURN: Duration = Duration::from_millis(100);

/// Lines on stderr that are redrawn: one for each agent at work.
struct Live {
    all: MultiProgress,
    /// The running visits, each with its line and the fixed start of the line.
    running: BTreeMap<Ticket, (ProgressBar, String)>,
}

impl Live {
    /// Returns the lines. Returns `None` if stderr is not a terminal, or is one without a cursor (`TERM=dumb`).
    fn at_terminal() -> Option<Self> {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let can_draw = std::io::stderr().is_terminal() && !all.is_hidden();
        can_draw.then(|| Self { all, running: BTreeMap::new() })
    }

    /// Shows an event; `line` is its sentence.
    fn hear(&mut self, event: &RunEvent, line: Option<String>) {
        match event {
            RunEvent::StartedAttempt(started) => return self.start(started),
            RunEvent::Printed { ticket, line } => return self.note(ticket, &dim(one_line(line))),
            RunEvent::AttemptFailed { ticket, .. } => {
                self.note(ticket, &yellow("waits for another attempt"));
            }
            RunEvent::Moved { ticket, .. } => {
                if let Some((bar, _)) = self.running.remove(ticket) {
                    bar.finish_and_clear();
                }
            }
            _ => {}
        }
        if let Some(line) = line {
            // If the terminal fails, nothing is lost: the task files have everything.
            let _ = self.all.println(line);
        }
    }

    fn start(&mut self, started: &StartedAttempt) {
        let text = format!("{} {}{}", step(started), cyan(&started.agent), attempt(started));
        let style = ProgressStyle::with_template("{spinner} {elapsed:>4} {wide_msg}");
        let style = style.expect("the template is valid");
        let bar = self.all.add(ProgressBar::new_spinner().with_style(style));
        bar.set_message(text.clone());
        bar.enable_steady_tick(TURN);
        if let Some((before, _)) = self.running.insert(started.ticket.clone(), (bar, text)) {
            before.finish_and_clear();
        }
    }

    fn note(&self, ticket: &Ticket, note: &str) {
        if let Some((bar, text)) = self.running.get(ticket) {
            bar.set_message(format!("{text}  {note}"));
        }
    }
}

impl Drop for Live {
    /// Leaves the terminal as it is.
    fn drop(&mut self) {
        self.running.values().for_each(|(bar, _)| bar.abandon());
    }
}
