//! Events that are in no commit. They are left where they happen, in one small file each, and whoever writes the stream next puts
//! them into it: neither a refusal nor a message that is given up waits for the stream.

use std::rc::Rc;

use super::derive::{Apart, Line};
use crate::engine::Refusal;
use crate::format::event_line::Origin;
use crate::model::{Digest, Event};
use crate::ops::error::OpsError;
use crate::ops::happened::Happened;
use crate::ops::in_force::in_force;
use crate::ops::standing::Standing;
use crate::ops::workspace::Workspace;
use crate::store::Stream;

/// Leaves what is to be said of a completion that came after another one of the same visit. `delivery` is what makes it this one.
pub(in crate::ops) fn leave_conflict(workspace: &Workspace, refusal: &Refusal, delivery: &str) -> Result<(), OpsError> {
    let Refusal::VisitEnded { ticket, gate, agent: Some(loser), winner, .. } = refusal else { return Ok(()) };
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
            events: vec![Event::Conflict { gate: gate.clone(), winner: winner.clone(), loser: loser.clone() }],
        },
    )
}

/// Leaves events that are in no commit.
pub(in crate::ops) fn leave(workspace: &Workspace, happened: &Happened) -> Result<(), OpsError> {
    let stream = Stream::of(&workspace.paths);
    let id = format!("aof_{}", &Digest::of(happened.mark.as_bytes()).as_str()[..32]);
    for event in &happened.events {
        let line = Line::of(workspace, happened, event, Origin::Nowhere(&id));
        stream.leave(&id, &line.text)?;
    }
    Ok(())
}

/// Returns what was left and is not in the stream yet, the oldest first.
pub(super) fn waiting(stream: &Stream, taken: &[String]) -> Result<Vec<Apart>, OpsError> {
    let left = stream.left()?.into_iter().filter(|(id, _)| !taken.contains(id));
    let mut waiting: Vec<Apart> = left.filter_map(|(_, line)| Apart::read(&line)).collect();
    waiting.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
    Ok(waiting)
}
