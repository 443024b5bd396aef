//! A run as it is shown: live at a terminal, as lines, or as lines of JSON

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

use super::approval;
use super::news::{attempt, line, step, value};
use crate::agents::runner::{Audience, PersonQuestion, RunEvent, RunTarget, StartedAttempt};
use crate::cli::error::CliError;
use crate::cli::output::{Output, cyan, dim, green, json_line, yellow};
use crate::cli::session::Session;
use crate::domain::{AgentId, Completion, GateId, Station, Status, Ticket};
use crate::files::printable::one_line;
use crate::project::author::acting_agent;
use crate::project::git_hints::GitWords;
use crate::project::workspace::Workspace;
use crate::tasks::view::task_view::show;

/// The person who looks on, and who can be asked at a terminal.
pub(crate) struct RunView {
    output: Output,
    live: Option<Live>,
    /// Who can be asked, and where the project is.
    person: Option<(AgentId, PathBuf)>,
    git_words: GitWords,
    stop: Arc<AtomicBool>,
}

impl RunView {
    /// Returns the view; `may_ask` says whether a person at the terminal is asked.
    pub(crate) fn new(
        session: &Session,
        workspace: &Workspace,
        wish: &RunTarget,
        may_ask: bool,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, CliError> {
        let output = session.output;
        let (mut live, mut person) = (None, None);
        if !output.is_json() {
            live = Live::at_terminal(workspace, wish)?;
            if may_ask && Session::at_terminal() {
                // A person whom org.yaml does not know is not asked.
                let who = acting_agent(workspace, &workspace.rules()?.rules.org, None, true);
                let who = who.ok().filter(AgentId::is_human);
                person = who.map(|who| (who, workspace.paths.root().to_owned()));
            }
        }
        let git_words = workspace.git_words.clone();
        Ok(Self { output, live, person, git_words, stop: Arc::clone(stop) })
    }

    /// Returns a sentence of ours whose git commands work here; an agent's text stays as it is.
    fn git_said(&self, news: &RunEvent, text: String) -> String {
        match news {
            RunEvent::WaitingWork(_)
            | RunEvent::Unavailable { .. }
            | RunEvent::Obstacle(_)
            | RunEvent::Remark { .. } => self.git_words.said(text),
            _ => text,
        }
    }

    /// Leaves the terminal as it is now.
    pub(crate) fn close(self) {
        if let Some(live) = self.live {
            live.running.values().for_each(|(bar, _)| bar.abandon());
            live.gates.iter().for_each(|(_, bar)| bar.abandon());
        }
    }
}

impl Audience for RunView {
    fn hear(&mut self, news: &RunEvent) {
        if self.output.is_json() {
            let mut value = json_line(value(news));
            for key in ["text", "why"] {
                if let Some(Value::String(text)) = value.get_mut(key) {
                    *text = self.git_said(news, std::mem::take(text));
                }
            }
            return self.output.line(value.to_string());
        }
        let line = line(news).map(|line| self.git_said(news, line));
        match (&mut self.live, line) {
            (Some(live), line) => live.hear(news, line),
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
        let ask = || approval::ask(self.output, person, root, asked, &self.stop);
        match &self.live {
            Some(live) => live.all.suspend(ask),
            None => ask(),
        }
    }
}

/// How often a spinner turns.
const TURN: Duration = Duration::from_millis(100);
/// More gates than this do not fit on a screen: only those at work are shown.
const MOST: usize = 20;

/// Lines on stderr that are drawn again: one for each gate of the task, else one for each agent at work.
struct Live {
    all: MultiProgress,
    gates: Vec<(GateId, ProgressBar)>,
    /// The visits under way, each with its line and how that begins.
    running: BTreeMap<Ticket, (ProgressBar, String)>,
}

impl Live {
    /// Returns the lines, unless stderr is no terminal or one without a cursor (`TERM=dumb`).
    fn at_terminal(workspace: &Workspace, wish: &RunTarget) -> Result<Option<Self>, CliError> {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        if !std::io::stderr().is_terminal() || all.is_hidden() {
            return Ok(None);
        }
        let mut live = Self { all, gates: Vec::new(), running: BTreeMap::new() };
        if let RunTarget::Task(id) = wish {
            let (view, in_force) = show(workspace, id)?;
            let workflow = in_force.rules.project.workflow(&view.file.task.routing.workflow);
            let gates = workflow.map(|workflow| &workflow.gates[..]).unwrap_or_default();
            for (gate, number) in gates.iter().zip(1..).filter(|_| gates.len() <= MOST) {
                let bar = live.all.add(ProgressBar::new_spinner().with_style(still()));
                bar.set_prefix(dim("·"));
                bar.set_message(dim(format!("{number}/{} {}", gates.len(), gate.id)));
                live.gates.push((gate.id.clone(), bar));
            }
        }
        Ok(Some(live))
    }

    /// Shows a piece of news; `line` is its sentence.
    fn hear(&mut self, news: &RunEvent, line: Option<String>) {
        match news {
            RunEvent::StartedAttempt(started) => return self.start(started),
            RunEvent::Printed { ticket, line } => return self.note(ticket, &dim(one_line(line))),
            RunEvent::Moved { ticket, from, outcome, status, .. } => {
                self.end(ticket, from, outcome, *status);
            }
            RunEvent::AttemptFailed { ticket, .. } => {
                self.note(ticket, &yellow("waits for another attempt"));
            }
            RunEvent::WaitingWork(_)
            | RunEvent::Unavailable { .. }
            | RunEvent::Obstacle(_)
            | RunEvent::Remark { .. } => {}
        }
        if let Some(line) = line {
            // A terminal that cannot be drawn on any more hides nothing: the task files say it all.
            let _ = self.all.println(line);
        }
    }

    fn start(&mut self, started: &StartedAttempt) {
        let text = format!("{} {}{}", step(started), cyan(&started.agent), attempt(started));
        let own = self.gate(&started.station.gate).filter(|_| started.station.branch.is_none());
        let bar = own.unwrap_or_else(|| self.all.add(ProgressBar::new_spinner()));
        bar.set_style(turning());
        bar.set_prefix(String::new());
        bar.set_message(text.clone());
        bar.reset_elapsed();
        bar.enable_steady_tick(TURN);
        self.running.insert(started.ticket.clone(), (bar, text));
    }

    fn note(&self, ticket: &Ticket, note: &str) {
        if let Some((bar, text)) = self.running.get(ticket) {
            bar.set_message(format!("{text}  {note}"));
        }
    }

    fn end(&mut self, ticket: &Ticket, from: &Station, outcome: &str, status: Status) {
        let running = self.running.remove(ticket);
        if let Some(bar) = self.gate(&from.gate) {
            bar.disable_steady_tick();
            bar.set_style(still());
            bar.set_prefix(if status == Status::Blocked { yellow("!") } else { green("✓") });
            bar.set_message(format!("{from} ({})", one_line(outcome)));
        }
        if let Some((bar, _)) = running.filter(|_| from.branch.is_some() || self.gates.is_empty()) {
            bar.finish_and_clear();
        }
    }

    fn gate(&self, id: &GateId) -> Option<ProgressBar> {
        self.gates.iter().find(|(own, _)| own == id).map(|(_, bar)| bar.clone())
    }
}

fn still() -> ProgressStyle {
    ProgressStyle::with_template("{prefix} {wide_msg}").expect("the template is valid")
}

fn turning() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {elapsed:>4} {wide_msg}")
        .expect("the template is valid")
}
