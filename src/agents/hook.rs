//! Hooks of a coding agent: its session is told what it holds when it begins and before its context is summarized, and is sent back
//! to work if it stops before it is done.
//!
//! A hook never gets in the way: if the project, its lock or its disk cannot be used at once, it says nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::agents::mcp::resources::brief_text;
use crate::dispatch::next::{Claim, claimed};
use crate::domain::{AgentId, Ticket, Timestamp};
use crate::files::printable::one_line;
use crate::project::workspace::{Clock, Workspace};
use crate::storage::header_cache::Hint;
use crate::tasks::view::brief::task_brief;

/// The time for which a hook waits for another command.
const WAIT: Duration = Duration::from_millis(100);
/// The most times that a session is sent back to its work.
const MOST_STOPS: u32 = 3;
/// The most bytes of a session's name: longer ones are no client's.
const LONGEST_SESSION: usize = 200;
/// The most sessions whose stops are counted.
const MOST_SESSIONS: usize = 100;
/// The most bytes of briefs: clients cut longer texts.
const LONGEST_BRIEFS: usize = 8000;
/// The most briefs that are printed.
const MOST_BRIEFS: usize = 3;

/// The words of a client, as JSON on stdin.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct HookInput {
    session_id: String,
    /// The folder in which the session works.
    pub(crate) cwd: Option<PathBuf>,
    /// The cause of the beginning of a session, as in `startup` or `compact`.
    source: String,
    /// True if the session works because it was sent back.
    stop_hook_active: bool,
}

/// The agent of a session, and its project.
pub(crate) struct HookSetup {
    /// The folders in which the project is searched.
    pub folders: Vec<PathBuf>,
    pub agent: AgentId,
    /// The visit of the run that started the session. The runner looks after that.
    pub run: Option<Ticket>,
    pub clock: Clock,
}

/// Returns the text to print for an event; `None` if there is nothing to say.
pub(crate) fn answer(setup: &HookSetup, event: &str, input: &HookInput) -> Option<String> {
    let is_run = setup.run.is_some();
    match event {
        // The prompt of a run has the brief.
        "SessionStart" if is_run && input.source != "compact" => None,
        "SessionStart" | "PreCompact" => {
            let workspace = setup.open()?;
            let held = setup.held(&workspace)?;
            // Whoever cannot write here cannot complete a task either.
            drop(workspace.lock().ok()?);
            briefs(&workspace, &setup.agent, &held)
        }
        "Stop" if !is_run => {
            let workspace = setup.open()?;
            let held = setup.held(&workspace)?;
            let _lock = workspace.lock().ok()?;
            let count = SessionStops::count(&workspace, input)?;
            let reason = reason(&setup.agent, &held, count);
            Some(format!("{}\n", json!({"decision": "block", "reason": reason})))
        }
        _ => None,
    }
}

impl HookSetup {
    fn open(&self) -> Option<Workspace> {
        self.folders.iter().find_map(|folder| {
            Workspace::open(folder, "aof hook".to_owned(), self.clock, WAIT, |_| {}).ok()
        })
    }

    /// Returns the open visits of the session; `None` if there are none.
    fn held(&self, workspace: &Workspace) -> Option<Vec<Claim>> {
        let in_force = workspace.rules().ok()?;
        let mut held = claimed(workspace, &in_force, &self.agent, None);
        held.retain(|claim| {
            !claim.held && self.run.as_ref().is_none_or(|run| run.task == claim.ticket.task)
        });
        (!held.is_empty()).then_some(held)
    }
}

fn briefs(workspace: &Workspace, agent: &AgentId, held: &[Claim]) -> Option<String> {
    let shown = held.len().min(MOST_BRIEFS);
    let of = |claim: &Claim| {
        let (file, context, _) = task_brief(workspace, &claim.ticket).ok()?;
        Some(brief_text(&file, &context, LONGEST_BRIEFS / shown))
    };
    let briefs: Vec<String> = held.iter().take(shown).filter_map(of).collect();
    let others = match held.len() - shown {
        0 => String::new(),
        others => format!(" and {others} more, which aof_status lists"),
    };
    let head = format!("You are `{agent}`, and hold the tasks below{others}. This is your brief.");
    (!briefs.is_empty()).then(|| format!("{head}\n\n{}", briefs.join("\n")))
}

fn reason(agent: &AgentId, held: &[Claim], count: u32) -> String {
    let line = |claim: &Claim| format!("- `{}`: {}", claim.ticket, one_line(&claim.title));
    let lines: Vec<String> = held.iter().take(MOST_SESSIONS).map(line).collect();
    format!(
        "`{agent}` still holds:\n{}\n\nBefore you stop, end each of these visits. `aof brief ID` and aof_task_get have its brief.\n\
         - Done: aof_task_complete with an outcome of the brief, or `aof complete ID --outcome complete --summary \"...\"`.\n\
         - You cannot go on, or need an answer: outcome `blocked`, with a blocker that says what you wait for.\n\
         - Not yours: aof_task_release, or `aof release ID`.\n\
         A session is sent back {MOST_STOPS} times at most; this is time {count}.",
        lines.join("\n")
    )
}

/// `.aof/hooks`: how many times each session was sent back to its work.
#[derive(Debug, Default, Serialize, Deserialize)]
struct SessionStops(BTreeMap<String, StopCount>);

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct StopCount {
    count: u32,
    at: Timestamp,
}

impl Hint for SessionStops {
    const NAME: &str = "hooks";
}

impl SessionStops {
    /// Counts a stop of the session, which must be sent back, and returns the number. `None` if it may stop, or cannot be counted.
    fn count(workspace: &Workspace, input: &HookInput) -> Option<u32> {
        let session = &input.session_id;
        if session.is_empty() || session.len() > LONGEST_SESSION {
            return None;
        }
        let mut all = Self::load(&workspace.paths).unwrap_or_default();
        let before = all.0.remove(session).map_or(0, |stop| stop.count);
        // The record of a session that was sent back may be lost.
        if before >= MOST_STOPS || before == 0 && input.stop_hook_active {
            return None;
        }
        while all.0.len() >= MOST_SESSIONS {
            let oldest = all.0.iter().min_by_key(|(_, stop)| stop.at);
            let name = oldest.map(|(name, _)| name.clone())?;
            all.0.remove(&name);
        }
        let count = before + 1;
        all.0.insert(session.clone(), StopCount { count, at: workspace.now() });
        all.save(&workspace.paths).ok()?;
        Some(count)
    }
}
