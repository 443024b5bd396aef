//! The stream is brought up to date: what was committed since the last time is written behind what is there, and what was left for
//! it in between.

use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::counts::Counts;
use super::derive::{Apart, Line, OfCommit, of_commit};
use super::rebuild::rebuild_with;
use super::uncommitted::ForStream;
use crate::domain::EventId;
use crate::files::event::line::EventLine;
use crate::git::{CommitId, Head};
use crate::history::new_commits::derive_events::Telling;
use crate::history::new_commits::news::{Left, News};
use crate::project::error::error::OpsError;
use crate::project::parallel_map::side_by_side;
use crate::project::workspace::Workspace;
use crate::storage::event_log::StreamWriter;
use crate::storage::event_log::{StreamRecord, StreamState};
use crate::storage::{Cursor, EventStream};

/// How long whoever else writes is waited for: they are about to write the same.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);
/// How many commits are told of in one go: their lines are in memory until they are written.
const MOST: usize = 5_000;
/// So many ids of what was left for the stream are remembered.
const MOST_TAKEN: usize = 1_000;

/// What is kept beside the stream.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// Up to which commits all is written.
    pub cursor: Cursor,
    pub counts: Counts,
    /// What was left for the stream and is in it, the last of it: somebody may leave it again.
    pub taken: Vec<String>,
}

impl Kept {
    /// Notes what is in the stream now.
    pub(crate) fn take(&mut self, ids: impl IntoIterator<Item = EventId>) {
        self.taken.extend(ids.into_iter().map(|id| id.to_string()));
        let surplus = self.taken.len().saturating_sub(MOST_TAKEN);
        self.taken.drain(..surplus);
    }
}

/// The branch, and where it is.
pub(crate) struct Ground {
    pub head: Head,
    pub newest: CommitId,
}

impl Ground {
    /// Looks; there is nothing to tell of before the first commit. Where no branch is checked out only those are told of anything
    /// who know of none: it may be any commit, for a moment.
    pub(crate) fn look(
        workspace: &Workspace,
        cursor: Option<&Cursor>,
    ) -> Result<Option<Self>, OpsError> {
        let head = workspace.repository.look()?;
        let knows = cursor.is_some_and(|cursor| cursor.commits().next().is_some());
        let Some(newest) = head.commit.filter(|_| head.reference != "HEAD" || !knows) else {
            return Ok(None);
        };
        Ok(Some(Self { head, newest }))
    }
}

/// Returns whether all is in the stream that is to be told.
pub fn are_events_kept(workspace: &Workspace) -> Result<bool, OpsError> {
    is_up_to_date(workspace, &EventStream::of(&workspace.paths))
}

/// Writes what is to be written as long as `go_on` says so, and returns whether something is left. If somebody else writes, they do
/// it.
pub fn keep_events(workspace: &Workspace, go_on: &dyn Fn() -> bool) -> Result<Left, OpsError> {
    let stream = EventStream::of(&workspace.paths);
    match stream.writing()? {
        Some(writer) => write_all(workspace, &stream, &writer, go_on),
        None => Ok(Left::Commits),
    }
}

/// Writes all that is to be written; something is left only where somebody else has been about to write it for long.
pub fn catch_up_events(workspace: &Workspace) -> Result<Left, OpsError> {
    let stream = EventStream::of(&workspace.paths);
    if is_up_to_date(workspace, &stream)? {
        return Ok(Left::Nothing);
    }
    let patience = workspace.deadline().saturating_duration_since(Instant::now()).min(PATIENCE);
    match patiently(&stream, patience)? {
        Some(writer) => write_all(workspace, &stream, &writer, &|| true),
        None if is_up_to_date(workspace, &stream)? => Ok(Left::Nothing),
        None => Ok(Left::Commits),
    }
}

/// Adds to a stream whose end is known, a part at a time; any other one is made again as a whole.
fn write_all(
    workspace: &Workspace,
    stream: &EventStream,
    writer: &StreamWriter,
    go_on: &dyn Fn() -> bool,
) -> Result<Left, OpsError> {
    while go_on() {
        let StreamState::Known(record, strays) = settle(stream, writer)? else {
            return remake(workspace, stream, writer, go_on);
        };
        match step(workspace, stream, writer, record, &strays)? {
            Step::Done(Left::Nothing) => return Ok(Left::Nothing),
            Step::Done(Left::Commits) => {}
            Step::Astray => return remake(workspace, stream, writer, go_on),
        }
    }
    Ok(Left::Commits)
}

fn remake(
    workspace: &Workspace,
    stream: &EventStream,
    writer: &StreamWriter,
    go_on: &dyn Fn() -> bool,
) -> Result<Left, OpsError> {
    let made = rebuild_with(workspace, stream, writer, go_on)?;
    Ok(if made.is_some() { Left::Nothing } else { Left::Commits })
}

/// Returns what is not in a stream that cannot be written now: what would be added, or all where there is none.
pub(crate) fn unwritten(workspace: &Workspace) -> Result<Vec<Line>, OpsError> {
    let stream = EventStream::of(&workspace.paths);
    let kept = stream.record::<Kept>()?.map(|(record, _)| record.kept).unwrap_or_default();
    let apart = ForStream::of(stream.left()?, &kept.taken).waiting;
    let news = match Ground::look(workspace, Some(&kept.cursor))? {
        Some(ground) => news(workspace, &kept.cursor, &ground, usize::MAX)?,
        None => None,
    };
    Ok(match news {
        Some(news) => lines(workspace, &news, apart)?.0,
        None => apart.into_iter().map(|apart| apart.line).collect(),
    })
}

/// Takes the right to write the stream; waits that long for whoever has it.
pub(crate) fn patiently(
    stream: &EventStream,
    patience: Duration,
) -> Result<Option<StreamWriter>, OpsError> {
    let until = Instant::now() + patience;
    loop {
        match stream.writing()? {
            None if Instant::now() < until => thread::sleep(PAUSE),
            outcome => return Ok(outcome),
        }
    }
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
    Done(Left),
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
    let left = ForStream::of(stream.left()?, &record.kept.taken);
    left.clear_done(writer)?;
    let apart = left.waiting;
    let Some(ground) = Ground::look(workspace, Some(&record.kept.cursor))? else {
        let lines: Vec<Line> = apart.iter().map(|apart| apart.line.clone()).collect();
        write(writer, &mut record, &lines, apart)?;
        return Ok(Step::Done(Left::Nothing));
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
    lines: &[Line],
    taken: Vec<Apart>,
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
    cursor: &Cursor,
    ground: &Ground,
    most: usize,
) -> Result<Option<News>, OpsError> {
    match News::begin(workspace, cursor, &ground.head, ground.newest)? {
        Some(last) => News::since(workspace, cursor, (last, ground.newest), most),
        None => News::whole(workspace, ground.newest, most).map(Some),
    }
}

/// Returns the lines of the commits, with those that are in none where their time is, and which of these that are.
fn lines(
    workspace: &Workspace,
    news: &News,
    apart: Vec<Apart>,
) -> Result<(Vec<Line>, Vec<Apart>), OpsError> {
    let mut waiting = apart.into_iter().peekable();
    let (mut lines, mut taken) = (Vec::new(), Vec::new());
    let of = |workspace: &Workspace, share: &[CommitId]| {
        let mut telling = Telling::new(workspace);
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
    if news.left == Left::Nothing {
        for apart in waiting {
            lines.push(apart.line.clone());
            taken.push(apart);
        }
    }
    Ok((lines, taken))
}
