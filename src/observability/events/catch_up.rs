//! The stream is brought up to date: what was committed since the last time is written behind what is there, and what was left for
//! it in between.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tracing::warn;

use super::lines::{LeftForStream, OfCommit, StreamedLine, UncommittedLine, of_commit};
use super::rebuild::rebuild_with;
use super::record::{EventCount, Ground, Kept, patiently};
use crate::domain::EventId;
use crate::files::event::line::EventLine;
use crate::git::CommitId;
use crate::history::new_commits::derive_events::EventDeriver;
use crate::history::new_commits::unreported::{Remaining, UnreportedCommits};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::project::workspace::side_by_side;
use crate::storage::EventStream;
use crate::storage::event_log::StreamWriter;
use crate::storage::event_log::{StreamRecord, StreamState};

/// How long whoever else writes is waited for: they are about to write the same.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many commits are told of in one go: their lines are in memory until they are written.
const MOST: usize = 5_000;

/// Returns whether all is in the stream that is to be told.
pub fn are_events_kept(workspace: &Workspace) -> Result<bool, ProjectError> {
    is_up_to_date(workspace, &EventStream::of(&workspace.paths))
}

/// Writes what is to be written as long as `go_on` says so, and returns whether something is left. If somebody else writes, they do
/// it.
pub fn keep_events(
    workspace: &Workspace,
    go_on: &dyn Fn() -> bool,
) -> Result<Remaining, ProjectError> {
    let stream = EventStream::of(&workspace.paths);
    match stream.writing()? {
        Some(writer) => write_all(workspace, &stream, &writer, go_on),
        None => Ok(Remaining::Commits),
    }
}

/// Writes all that is to be written; something is left only where somebody else has been about to write it for long.
pub fn catch_up_events(workspace: &Workspace) -> Result<Remaining, ProjectError> {
    let stream = EventStream::of(&workspace.paths);
    if is_up_to_date(workspace, &stream)? {
        return Ok(Remaining::Nothing);
    }
    let patience = workspace.deadline().saturating_duration_since(Instant::now()).min(PATIENCE);
    match patiently(&stream, patience)? {
        Some(writer) => write_all(workspace, &stream, &writer, &|| true),
        None if is_up_to_date(workspace, &stream)? => Ok(Remaining::Nothing),
        None => Ok(Remaining::Commits),
    }
}

/// Returns how often each event is in the stream, which is brought up to date first; that reads what was committed since, and
/// nothing of what was counted already. Events of kinds that this version does not know are left out.
pub fn event_counts(workspace: &Workspace) -> Result<Vec<EventCount>, ProjectError> {
    catch_up_if_writable(workspace)?;
    let record = EventStream::of(&workspace.paths).record::<Kept>()?;
    Ok(record.map(|(record, _)| record.kept.counts.list()).unwrap_or_default())
}

/// Brings the stream up to date, unless nothing may be written there.
pub(crate) fn catch_up_if_writable(workspace: &Workspace) -> Result<Remaining, ProjectError> {
    match catch_up_events(workspace) {
        Err(ProjectError::Store(fault)) if fault.is_read_only() => {
            warn!("the event stream is not up to date: {fault}");
            Ok(Remaining::Commits)
        }
        other => other,
    }
}

/// Adds to a stream whose end is known, a part at a time; any other one is made again as a whole.
fn write_all(
    workspace: &Workspace,
    stream: &EventStream,
    writer: &StreamWriter,
    go_on: &dyn Fn() -> bool,
) -> Result<Remaining, ProjectError> {
    while go_on() {
        let StreamState::Known(record, strays) = settle(stream, writer)? else {
            return remake(workspace, stream, writer, go_on);
        };
        match step(workspace, stream, writer, record, &strays)? {
            Step::Done(Remaining::Nothing) => return Ok(Remaining::Nothing),
            Step::Done(Remaining::Commits) => {}
            Step::Astray => return remake(workspace, stream, writer, go_on),
        }
    }
    Ok(Remaining::Commits)
}

fn remake(
    workspace: &Workspace,
    stream: &EventStream,
    writer: &StreamWriter,
    go_on: &dyn Fn() -> bool,
) -> Result<Remaining, ProjectError> {
    let made = rebuild_with(workspace, stream, writer, go_on)?;
    Ok(if made.is_some() { Remaining::Nothing } else { Remaining::Commits })
}

fn is_up_to_date(workspace: &Workspace, stream: &EventStream) -> Result<bool, ProjectError> {
    let Some((record, is_whole)) = stream.record::<Kept>()? else { return Ok(false) };
    let reached = match Ground::look(workspace, Some(&record.kept.cursor))? {
        Some(Ground { head, newest }) => {
            record.kept.cursor.commit(&head.reference) == Some(&newest.to_string())
        }
        None => true,
    };
    Ok(is_whole && reached && stream.left()?.is_empty())
}

/// Returns how the stream stands; what a kill left unrecorded is taken out, for it is written again.
fn settle(stream: &EventStream, writer: &StreamWriter) -> Result<StreamState<Kept>, ProjectError> {
    let left: Vec<EventId> = stream.left()?.into_iter().map(|(id, _)| id).collect();
    let again = |text: &str| {
        EventLine::read(text).is_some_and(|event| {
            event.commit().is_some() || event.id().is_some_and(|id| left.contains(&id))
        })
    };
    Ok(writer.settle(&again)?)
}

/// What a step came to.
enum Step {
    Done(Remaining),
    /// History does not lead to what was told any more.
    Astray,
}

/// Adds what is new, behind these lines that others have added.
fn step(
    workspace: &Workspace,
    stream: &EventStream,
    writer: &StreamWriter,
    mut record: StreamRecord<Kept>,
    strays: &[String],
) -> Result<Step, ProjectError> {
    for line in strays {
        record.kept.counts.add_read(line);
    }
    let left = LeftForStream::of(stream.left()?, &record.kept.taken);
    left.clear_done(writer)?;
    let mut waiting = left.waiting.into_iter().peekable();
    let (mut lines, mut taken, mut rest) = (Vec::new(), Vec::new(), Remaining::Nothing);
    let mut take = |lines: &mut Vec<StreamedLine>, apart: UncommittedLine| {
        lines.push(apart.line);
        taken.extend(apart.id);
    };
    if let Some(ground) = Ground::look(workspace, Some(&record.kept.cursor))? {
        let cursor = &record.kept.cursor;
        let news = match UnreportedCommits::begin(workspace, cursor, &ground.head, ground.newest)? {
            Some(last) => UnreportedCommits::since(workspace, cursor, (last, ground.newest), MOST)?,
            None => Some(UnreportedCommits::whole(workspace, ground.newest, MOST)?),
        };
        let Some(news) = news else { return Ok(Step::Astray) };
        let of = |workspace: &Workspace, share: &[CommitId]| {
            let mut telling = EventDeriver::new(workspace);
            share.iter().map(|commit| of_commit(workspace, &mut telling, &news, *commit)).collect()
        };
        let _ = side_by_side(workspace, &news.commits, of, &mut |told: OfCommit| {
            while let Some(apart) = waiting.next_if(|apart| apart.at < told.committed) {
                take(&mut lines, apart);
            }
            lines.extend(told.lines);
            Ok(ControlFlow::Continue(()))
        })?;
        news.note_in(&mut record.kept.cursor, &ground.head.reference);
        rest = news.left;
    }
    if rest == Remaining::Nothing {
        waiting.for_each(|apart| take(&mut lines, apart));
    }
    for line in &lines {
        record.kept.counts.add(line);
    }
    record.kept.take(taken.iter().cloned());
    let text: String = lines.iter().map(|line| line.text.as_str()).collect();
    writer.append(&mut record, text.as_bytes())?;
    writer.clear(&taken)?;
    Ok(Step::Done(rest))
}
