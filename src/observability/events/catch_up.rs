//! The stream is brought up to date: what was committed since the last time is written behind what is there, and what was left for
//! it in between.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::lines::{LeftForStream, OfCommit, of_commit};
use super::lines::{StreamedLine, UncommittedLine};
use super::rebuild::rebuild_with;
use super::record::{EventCount, Ground, Kept, patiently};
use crate::domain::EventId;
use crate::files::event::line::EventLine;
use crate::git::CommitId;
use crate::history::new_commits::derive_events::EventDeriver;
use crate::history::new_commits::unreported::{Remaining, UnreportedCommits};
use crate::project::error::error::OpsError;
use crate::project::parallel_map::side_by_side;
use crate::project::workspace::Workspace;
use crate::storage::event_log::StreamWriter;
use crate::storage::event_log::{StreamRecord, StreamState};
use crate::storage::{EventStream, ToldCursor};

/// How long whoever else writes is waited for: they are about to write the same.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many commits are told of in one go: their lines are in memory until they are written.
const MOST: usize = 5_000;

/// Returns whether all is in the stream that is to be told.
pub fn are_events_kept(workspace: &Workspace) -> Result<bool, OpsError> {
    is_up_to_date(workspace, &EventStream::of(&workspace.paths))
}

/// Writes what is to be written as long as `go_on` says so, and returns whether something is left. If somebody else writes, they do
/// it.
pub fn keep_events(workspace: &Workspace, go_on: &dyn Fn() -> bool) -> Result<Remaining, OpsError> {
    let stream = EventStream::of(&workspace.paths);
    match stream.writing()? {
        Some(writer) => write_all(workspace, &stream, &writer, go_on),
        None => Ok(Remaining::Commits),
    }
}

/// Writes all that is to be written; something is left only where somebody else has been about to write it for long.
pub fn catch_up_events(workspace: &Workspace) -> Result<Remaining, OpsError> {
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
pub fn event_counts(workspace: &Workspace) -> Result<Vec<EventCount>, OpsError> {
    let missing = catch_up_or_list(workspace)?;
    let record = EventStream::of(&workspace.paths).record::<Kept>()?;
    let mut counts = record.map(|(record, _)| record.kept.counts).unwrap_or_default();
    for line in &missing {
        counts.add(line);
    }
    Ok(counts.list())
}

/// Brings the stream up to date. Returns what could not be written: nothing may be written there, or somebody else is about to, and takes
/// long.
pub(crate) fn catch_up_or_list(workspace: &Workspace) -> Result<Vec<StreamedLine>, OpsError> {
    match catch_up_events(workspace) {
        Ok(Remaining::Nothing) => Ok(Vec::new()),
        Ok(Remaining::Commits) => unwritten(workspace),
        Err(OpsError::Store(fault)) if fault.is_read_only() => unwritten(workspace),
        Err(error) => Err(error),
    }
}

/// Adds to a stream whose end is known, a part at a time; any other one is made again as a whole.
fn write_all(
    workspace: &Workspace,
    stream: &EventStream,
    writer: &StreamWriter,
    go_on: &dyn Fn() -> bool,
) -> Result<Remaining, OpsError> {
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
) -> Result<Remaining, OpsError> {
    let made = rebuild_with(workspace, stream, writer, go_on)?;
    Ok(if made.is_some() { Remaining::Nothing } else { Remaining::Commits })
}

/// Returns what is not in a stream that cannot be written now: what would be added, or all where there is none.
fn unwritten(workspace: &Workspace) -> Result<Vec<StreamedLine>, OpsError> {
    let stream = EventStream::of(&workspace.paths);
    let kept = stream.record::<Kept>()?.map(|(record, _)| record.kept).unwrap_or_default();
    let apart = LeftForStream::of(stream.left()?, &kept.taken).waiting;
    let news = match Ground::look(workspace, Some(&kept.cursor))? {
        Some(ground) => news(workspace, &kept.cursor, &ground, usize::MAX)?,
        None => None,
    };
    Ok(match news {
        Some(news) => lines(workspace, &news, apart)?.0,
        None => apart.into_iter().map(|apart| apart.line).collect(),
    })
}

fn is_up_to_date(workspace: &Workspace, stream: &EventStream) -> Result<bool, OpsError> {
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
fn settle(stream: &EventStream, writer: &StreamWriter) -> Result<StreamState<Kept>, OpsError> {
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
) -> Result<Step, OpsError> {
    for line in strays {
        record.kept.counts.add_read(line);
    }
    let left = LeftForStream::of(stream.left()?, &record.kept.taken);
    left.clear_done(writer)?;
    let apart = left.waiting;
    let Some(ground) = Ground::look(workspace, Some(&record.kept.cursor))? else {
        let lines: Vec<StreamedLine> = apart.iter().map(|apart| apart.line.clone()).collect();
        write(writer, &mut record, &lines, apart)?;
        return Ok(Step::Done(Remaining::Nothing));
    };
    let Some(news) = news(workspace, &record.kept.cursor, &ground, MOST)? else {
        return Ok(Step::Astray);
    };
    let (lines, apart) = lines(workspace, &news, apart)?;
    news.note_in(&mut record.kept.cursor, &ground.head.reference);
    write(writer, &mut record, &lines, apart)?;
    Ok(Step::Done(news.left))
}

fn write(
    writer: &StreamWriter,
    record: &mut StreamRecord<Kept>,
    lines: &[StreamedLine],
    taken: Vec<UncommittedLine>,
) -> Result<(), OpsError> {
    for line in lines {
        record.kept.counts.add(line);
    }
    let taken: Vec<EventId> = taken.into_iter().filter_map(|apart| apart.id).collect();
    record.kept.take(taken.iter().cloned());
    let text: String = lines.iter().map(|line| line.text.as_str()).collect();
    writer.append(record, text.as_bytes())?;
    Ok(writer.clear(&taken)?)
}

/// Returns the commits that are to be told of; nothing where history does not lead to what was told any more.
fn news(
    workspace: &Workspace,
    cursor: &ToldCursor,
    ground: &Ground,
    most: usize,
) -> Result<Option<UnreportedCommits>, OpsError> {
    match UnreportedCommits::begin(workspace, cursor, &ground.head, ground.newest)? {
        Some(last) => UnreportedCommits::since(workspace, cursor, (last, ground.newest), most),
        None => UnreportedCommits::whole(workspace, ground.newest, most).map(Some),
    }
}

/// Returns the lines of the commits, with those that are in none where their time is, and which of these that are.
fn lines(
    workspace: &Workspace,
    news: &UnreportedCommits,
    apart: Vec<UncommittedLine>,
) -> Result<(Vec<StreamedLine>, Vec<UncommittedLine>), OpsError> {
    let mut waiting = apart.into_iter().peekable();
    let (mut lines, mut taken) = (Vec::new(), Vec::new());
    let of = |workspace: &Workspace, share: &[CommitId]| {
        let mut telling = EventDeriver::new(workspace);
        share.iter().map(|commit| of_commit(workspace, &mut telling, news, *commit)).collect()
    };
    let _ = side_by_side(
        workspace,
        &news.commits,
        of,
        &mut |OfCommit { committed, lines: own, .. }| {
            while let Some(apart) = waiting.next_if(|apart| apart.at < committed) {
                lines.push(apart.line.clone());
                taken.push(apart);
            }
            lines.extend(own);
            Ok(ControlFlow::Continue(()))
        },
    )?;
    if news.left == Remaining::Nothing {
        for apart in waiting {
            lines.push(apart.line.clone());
            taken.push(apart);
        }
    }
    Ok((lines, taken))
}
