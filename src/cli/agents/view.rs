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
use crate::agents::runner::{Audience, PersonQuestion, RunEvent, StartedAttempt};
use crate::cli::{CliResult, Output, Session, cyan, dim, json_line, yellow};
use crate::domain::{AgentId, Completion, Ticket};
use crate::files::printable::one_line;
use crate::project::author::acting_agent;
use crate::project::git_hints::GitWords;
use crate::project::workspace::Workspace;

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
        may_ask: bool,
        stop: &Arc<AtomicBool>,
    ) -> CliResult<Self> {
        let output = session.output;
        let mut person = None;
        if !output.is_json() && may_ask && Session::at_terminal() {
            // A person whom org.yaml does not know is not asked.
            let who = acting_agent(workspace, &workspace.rules()?.rules.org, None, true);
            let who = who.ok().filter(AgentId::is_human);
            person = who.map(|who| (who, workspace.paths.root().to_owned()));
        }
        let live = if output.is_json() { None } else { Live::at_terminal() };
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

/// Lines on stderr that are drawn again: one for each agent at work.
struct Live {
    all: MultiProgress,
    /// The visits under way, each with its line and how that begins.
    running: BTreeMap<Ticket, (ProgressBar, String)>,
}

impl Live {
    /// Returns the lines, unless stderr is no terminal or one without a cursor (`TERM=dumb`).
    fn at_terminal() -> Option<Self> {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let can_draw = std::io::stderr().is_terminal() && !all.is_hidden();
        can_draw.then(|| Self { all, running: BTreeMap::new() })
    }

    /// Shows a piece of news; `line` is its sentence.
    fn hear(&mut self, news: &RunEvent, line: Option<String>) {
        match news {
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
            // A terminal that cannot be drawn on any more hides nothing: the task files say it all.
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
