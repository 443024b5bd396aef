//! Events that are in no commit. They are left where they happen, in one small file each, and whoever writes the stream next puts
//! them into it: neither a refusal nor a message that is given up waits for the stream.

use std::collections::HashSet;
use std::rc::Rc;

use tracing::warn;

use crate::domain::{Event, EventId};
use crate::files::event::line::Origin;
use crate::history::new_commits::new_commits::Happened;
use crate::observability::events::derive::{Apart, Line};
use crate::project::active_rules::in_force;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::rules::Refusal;
use crate::storage::EventStream;
use crate::storage::event_log::StreamWriter;
use crate::storage::layout::EVENTS;
use crate::tasks::state::task_state::Standing;

/// Leaves what is to be said of a completion that came after another one of the same visit. `delivery` is what makes it this one.
pub(crate) fn leave_conflict(
    workspace: &Workspace,
    refusal: &Refusal,
    delivery: &str,
) -> Result<(), OpsError> {
    let Refusal::VisitEnded { ticket, gate, agent: Some(loser), winner, .. } = refusal else {
        return Ok(());
    };
    let rules = in_force(workspace, &workspace.repository.look()?)?.rules;
    let task = Standing::read(workspace, &ticket.task)?.file.task;
    leave(
        workspace,
        &Happened {
            mark: format!("conflict {ticket} {delivery}"),
            at: workspace.now(),
            later: 0,
            project: rules.project.name.clone(),
            task: Some(Rc::new(task)),
            events: vec![Event::Conflict {
                gate: gate.clone(),
                winner: winner.clone(),
                loser: loser.clone(),
            }],
        },
    )
}

/// Leaves events that are in no commit.
pub(crate) fn leave(workspace: &Workspace, happened: &Happened) -> Result<(), OpsError> {
    let stream = EventStream::of(&workspace.paths);
    let id = EventId::of(&happened.mark);
    for event in &happened.events {
        let line = Line::of(workspace, happened, event, Origin::Nowhere(&id));
        stream.leave(&id, &line.text)?;
    }
    Ok(())
}

/// What was left for the stream.
pub(crate) struct ForStream {
    /// What is not in it yet, the oldest first.
    pub waiting: Vec<Apart>,
    /// What is in it already, or can never be: it is no event of the id that the file is named by.
    done: Vec<EventId>,
}

impl ForStream {
    /// Sorts what was left, when those of the ids in `taken` are in the stream.
    pub(crate) fn of(left: Vec<(EventId, String)>, taken: &[String]) -> Self {
        let taken: HashSet<&str> = taken.iter().map(String::as_str).collect();
        let (mut waiting, mut done) = (Vec::new(), Vec::new());
        for (id, line) in left {
            let apart = Apart::read(&line).filter(|apart| apart.id.as_ref() == Some(&id));
            match apart {
                Some(apart) if !taken.contains(id.as_str()) => waiting.push(apart),
                Some(_) => done.push(id),
                None => {
                    warn!(
                        "`{EVENTS}/{id}.json` is no event of that id: it is not taken into the event stream"
                    );
                    done.push(id);
                }
            }
        }
        waiting.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
        Self { waiting, done }
    }

    /// Removes what nobody waits for any more.
    pub(crate) fn clear_done(&self, writer: &StreamWriter) -> Result<(), OpsError> {
        Ok(writer.clear(&self.done)?)
    }
}
