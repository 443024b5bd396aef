//! The live view at a terminal: for one task a line for each of its gates, else one for each agent at work. It is drawn on
//! stderr; where that is no terminal, or one without a cursor, there is none.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::lines::{attempt, step};
use crate::agents::runner::{News, Wish};
use crate::cli::error::CliError;
use crate::cli::output::{CYAN, DIM, GREEN, YELLOW, styled};
use crate::domain::{GateId, Status, Ticket, WorkflowName};
use crate::files::printable::one_line;
use crate::project::workspace::Workspace;
use crate::tasks::view::task_view::show;

/// How often a spinner turns.
const TURN: Duration = Duration::from_millis(100);
/// More gates than this do not fit on a screen: only those at work are shown.
const MOST: usize = 20;

/// The lines that are drawn.
pub(crate) struct Live {
    all: MultiProgress,
    /// The gates of the task's workflow, each with its line.
    gates: Vec<(GateId, ProgressBar)>,
    /// Who is at work, each with its line and what that begins with.
    running: BTreeMap<Ticket, (ProgressBar, String)>,
}

impl Live {
    /// Returns the view, if stderr is a terminal that lines can be drawn on again: `TERM=dumb` is none.
    pub(crate) fn at_terminal(
        workspace: &Workspace,
        wish: &Wish,
    ) -> Result<Option<Self>, CliError> {
        if !std::io::stderr().is_terminal() {
            return Ok(None);
        }
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        // What is hidden swallows the lines above it too.
        if all.is_hidden() {
            return Ok(None);
        }
        let mut live = Self { all, gates: Vec::new(), running: BTreeMap::new() };
        if let Wish::Task(id) = wish {
            let (view, in_force) = show(workspace, id)?;
            let name: &WorkflowName = &view.file.task.routing.workflow;
            let gates = in_force
                .rules
                .project
                .workflow(name)
                .map(|workflow| workflow.gates.as_slice())
                .unwrap_or_default();
            live.gates_of(gates.iter().map(|gate| gate.id.clone()).collect());
        }
        Ok(Some(live))
    }

    fn gates_of(&mut self, gates: Vec<GateId>) {
        if gates.len() > MOST {
            return;
        }
        let count = gates.len();
        for (id, number) in gates.into_iter().zip(1..) {
            let bar = self.all.add(ProgressBar::new_spinner().with_style(still()));
            bar.set_prefix(styled(DIM, "·"));
            bar.set_message(styled(DIM, format!("{number}/{count} {id}")));
            self.gates.push((id, bar));
        }
    }

    /// Shows what happened; `line` is what is said of it.
    pub(crate) fn hear(&mut self, news: &News, line: Option<String>) {
        match news {
            News::Started(started) => {
                let text = format!(
                    "{} {}{}",
                    step(started),
                    styled(CYAN, &started.agent),
                    attempt(started)
                );
                let bar = match self
                    .gate(&started.station.gate)
                    .filter(|_| started.station.branch.is_none())
                {
                    Some(bar) => bar,
                    None => self.all.add(ProgressBar::new_spinner()),
                };
                bar.set_style(turning());
                bar.set_prefix(String::new());
                bar.set_message(text.clone());
                bar.reset_elapsed();
                bar.enable_steady_tick(TURN);
                self.running.insert(started.ticket.clone(), (bar, text));
                return;
            }
            News::Printed { ticket, line } => {
                if let Some((bar, text)) = self.running.get(ticket) {
                    bar.set_message(format!("{text}  {}", styled(DIM, one_line(line))));
                }
                return;
            }
            News::Moved { ticket, from, outcome, status, .. } => {
                let running = self.running.remove(ticket);
                let (sign, style) =
                    if *status == Status::Blocked { ("!", YELLOW) } else { ("✓", GREEN) };
                let text = format!("{from} ({})", one_line(outcome));
                if let Some(bar) = self.gate(&from.gate) {
                    bar.disable_steady_tick();
                    bar.set_style(still());
                    bar.set_prefix(styled(style, sign));
                    bar.set_message(text);
                }
                if let Some((bar, _)) =
                    running.filter(|_| from.branch.is_some() || self.gates.is_empty())
                {
                    bar.finish_and_clear();
                }
            }
            News::AttemptFailed { ticket, .. } => {
                if let Some((bar, text)) = self.running.get(ticket) {
                    bar.set_message(format!(
                        "{text}  {}",
                        styled(YELLOW, "waits for another attempt")
                    ));
                }
            }
            News::Waits(_) | News::Unavailable { .. } | News::Obstacle(_) | News::Remark { .. } => {
            }
        }
        if let Some(line) = line {
            // A view that cannot be drawn any more hides nothing: the task files say it all.
            let _ = self.all.println(line);
        }
    }

    pub(crate) fn tick(&self) {
        for (bar, _) in self.running.values() {
            bar.tick();
        }
    }

    /// Does something that needs the terminal for itself.
    pub(crate) fn aside<T>(&self, something: impl FnOnce() -> T) -> T {
        self.all.suspend(something)
    }

    /// Leaves the terminal as it is now.
    pub(crate) fn close(self) {
        for (bar, _) in self.running.values() {
            bar.abandon();
        }
        for (_, bar) in &self.gates {
            bar.abandon();
        }
    }

    fn gate(&self, id: &GateId) -> Option<ProgressBar> {
        self.gates.iter().find(|(own, _)| own == id).map(|(_, bar)| bar.clone())
    }
}

fn still() -> ProgressStyle {
    ProgressStyle::with_template("{prefix} {wide_msg}").expect("it names what there is")
}

fn turning() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {elapsed:>4} {wide_msg}")
        .expect("it names what there is")
}
