//! Who looks on while agents work: a terminal that shows it live, lines, or lines of JSON; and whoever can be asked there.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::Value;

use super::approval;
use super::lines::{line, value};
use super::live::Live;
use crate::agents::runner::{Asked, Audience, News, Wish};
use crate::cli::error::CliError;
use crate::cli::output::{JSON_VERSION, Output};
use crate::cli::session::Session;
use crate::domain::{AgentId, Completion};
use crate::project::author::acting_agent;
use crate::project::git_hints::GitWords;
use crate::project::workspace::Workspace;

/// Whether whoever sits at the terminal is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    AtTerminal,
    Never,
}

/// Who looks on.
pub(crate) struct View {
    output: Output,
    live: Option<Live>,
    /// Who can be asked, and where the project is.
    person: Option<(AgentId, PathBuf)>,
    /// How commands of git are written here.
    words: GitWords,
    /// Whether somebody wants all this to stop.
    stop: Arc<AtomicBool>,
}

impl View {
    pub(crate) fn of(
        session: &Session,
        workspace: &Workspace,
        wish: &Wish,
        asking: Asking,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, CliError> {
        let output = session.output;
        let live =
            (!output.is_json()).then(|| Live::at_terminal(workspace, wish)).transpose()?.flatten();
        let person = if asking == Asking::AtTerminal && Session::at_terminal() && !output.is_json()
        {
            let rules = workspace.rules()?;
            // Who is nobody's user here is not asked.
            let who = acting_agent(workspace, &rules.rules.org, None, true)
                .ok()
                .filter(AgentId::is_human);
            who.map(|who| (who, workspace.paths.root().to_owned()))
        } else {
            None
        };
        let words = workspace.git_words.clone();
        Ok(Self { output, live, person, words, stop: Arc::clone(stop) })
    }

    /// Writes commands of git as they have to be here, where it is no agent's text that has them.
    fn said(&self, news: &News, text: String) -> String {
        match news {
            News::Waits(_) | News::Unavailable { .. } | News::Obstacle(_) | News::Remark { .. } => {
                self.words.said(text)
            }
            News::Started(_)
            | News::Printed { .. }
            | News::AttemptFailed { .. }
            | News::Moved { .. } => text,
        }
    }

    pub(crate) fn close(mut self) {
        if let Some(live) = self.live.take() {
            live.close();
        }
    }
}

impl Audience for View {
    fn hear(&mut self, news: &News) {
        if self.output.is_json() {
            let mut told = serde_json::json!({"jsonVersion": JSON_VERSION});
            if let (Value::Object(map), Value::Object(fields)) = (&mut told, value(news)) {
                map.extend(fields);
            }
            for key in ["text", "why"] {
                if let Some(Value::String(text)) = told.get_mut(key) {
                    *text = self.said(news, std::mem::take(text));
                }
            }
            self.output.line(told.to_string());
            return;
        }
        let line = line(news).map(|line| self.said(news, line));
        match &mut self.live {
            Some(live) => live.hear(news, line),
            None => {
                if let Some(line) = line {
                    self.output.say(line);
                }
            }
        }
    }

    fn tick(&mut self) {
        if let Some(live) = &mut self.live {
            live.tick();
        }
    }

    fn aside(&mut self, something: &mut dyn FnMut()) {
        match &self.live {
            Some(live) => live.aside(something),
            None => something(),
        }
    }

    fn decide(&mut self, asked: &Asked<'_>) -> Option<Completion> {
        let (person, root) = self.person.as_ref()?;
        let ask = || approval::ask(self.output, person, root, asked, &self.stop);
        match &self.live {
            Some(live) => live.aside(ask),
            None => ask(),
        }
    }
}
