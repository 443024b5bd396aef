//! Brings the event stream up to date with the commits, rebuilds it, and records its progress.

use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tracing::warn;

use super::lines::{
    CommitLines, LineKey, PendingEvents, StreamedLine, UncommittedLine, commit_lines, key_of,
};
use crate::domain::{AgentId, EventId, EventKind, Level, TaskId, Timestamp};
use crate::files::event::line::EventLine;
use crate::git::{CommitId, Head};
use crate::history::commit_events::EventDeriver;
use crate::history::unreported::{Remaining, UnreportedCommits};
use crate::project::error::ProjectError;
use crate::project::workspace::{Workspace, process_in_parallel};
use crate::storage::event_log::{StreamReader, StreamRecord, StreamState, StreamWriter};
use crate::storage::{EventStream, ReportedCursor};
use crate::system::crash_points;

/// The time to wait for another writer, which is about to write the same.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// The number of commits processed at once: their lines are in memory until they are written.
const BATCH_SIZE: usize = 5_000;

/// Returns true if the stream is up to date.
pub fn are_events_kept(workspace: &Workspace) -> Result<bool, ProjectError> {
    is_up_to_date(workspace, &EventStream::at(&workspace.paths))
}

/// Writes missing events as long as `go_on` returns true, and returns whether some are left. If there is another writer, leaves them
/// to it.
pub fn keep_events(
    workspace: &Workspace,
    go_on: &dyn Fn() -> bool,
) -> Result<Remaining, ProjectError> {
    let stream = EventStream::at(&workspace.paths);
    match stream.writing()? {
        Some(writer) => write_all(workspace, &stream, &writer, go_on),
        None => Ok(Remaining::Commits),
    }
}

/// Writes all missing events. Some are left only if another writer has held the stream for too long.
pub fn catch_up_events(workspace: &Workspace) -> Result<Remaining, ProjectError> {
    let stream = EventStream::at(&workspace.paths);
    if is_up_to_date(workspace, &stream)? {
        return Ok(Remaining::Nothing);
    }
    let timeout = workspace.deadline().saturating_duration_since(Instant::now()).min(LOCK_TIMEOUT);
    match lock_stream(&stream, timeout)? {
        Some(writer) => write_all(workspace, &stream, &writer, &|| true),
        None if is_up_to_date(workspace, &stream)? => Ok(Remaining::Nothing),
        None => Ok(Remaining::Commits),
    }
}

/// Brings the stream up to date, and returns the number of each event in it. Reads only commits that are not yet counted. Omits
/// events of kinds that this version does not know.
pub fn event_counts(workspace: &Workspace) -> Result<Vec<EventCount>, ProjectError> {
    catch_up_if_writable(workspace)?;
    let record = EventStream::at(&workspace.paths).record::<StreamProgress>()?;
    let counts = record.map(|(record, _)| record.kept.counts).unwrap_or_default();
    let known = counts.into_iter().filter_map(|((event, workflow, gate), count)| {
        Some(EventCount { kind: event.parse().ok()?, workflow, gate, count })
    });
    Ok(known.collect())
}

/// Brings the stream up to date, unless its file system is read-only.
pub(crate) fn catch_up_if_writable(workspace: &Workspace) -> Result<Remaining, ProjectError> {
    match catch_up_events(workspace) {
        Err(ProjectError::Store(fault)) if fault.is_read_only() => {
            warn!("the event stream is not up to date: {fault}");
            Ok(Remaining::Commits)
        }
        other => other,
    }
}

/// Appends to a stream whose end is known, a part at a time; rebuilds any other stream.
fn write_all(
    workspace: &Workspace,
    stream: &EventStream,
    writer: &StreamWriter,
    go_on: &dyn Fn() -> bool,
) -> Result<Remaining, ProjectError> {
    while go_on() {
        let StreamState::Known(record, strays) = recover(stream, writer)? else {
            return rebuild_all(workspace, stream, writer, go_on);
        };
        match step(workspace, stream, writer, record, &strays)? {
            StreamStep::Done(Remaining::Nothing) => return Ok(Remaining::Nothing),
            StreamStep::Done(Remaining::Commits) => {}
            StreamStep::HistoryLost => return rebuild_all(workspace, stream, writer, go_on),
        }
    }
    Ok(Remaining::Commits)
}

fn rebuild_all(
    workspace: &Workspace,
    stream: &EventStream,
    writer: &StreamWriter,
    go_on: &dyn Fn() -> bool,
) -> Result<Remaining, ProjectError> {
    let made = rebuild_with(workspace, stream, writer, go_on)?;
    Ok(if made.is_some() { Remaining::Nothing } else { Remaining::Commits })
}

fn is_up_to_date(workspace: &Workspace, stream: &EventStream) -> Result<bool, ProjectError> {
    let Some((record, is_whole)) = stream.record::<StreamProgress>()? else { return Ok(false) };
    let reached = match BranchTip::look(workspace, Some(&record.kept.cursor))? {
        Some(BranchTip { head, newest }) => {
            record.kept.cursor.commit(&head.reference) == Some(&newest.to_string())
        }
        None => true,
    };
    Ok(is_whole && reached && stream.left()?.is_empty())
}

/// Returns the state of the stream. Removes lines that a killed writer left unrecorded, because they are written again.
fn recover(
    stream: &EventStream,
    writer: &StreamWriter,
) -> Result<StreamState<StreamProgress>, ProjectError> {
    let left: Vec<EventId> = stream.left()?.into_iter().map(|(id, _)| id).collect();
    let again = |text: &str| {
        EventLine::read(text).is_some_and(|event| {
            event.commit().is_some() || event.id().is_some_and(|id| left.contains(&id))
        })
    };
    Ok(writer.recover(&again)?)
}

/// The outcome of a step.
enum StreamStep {
    Done(Remaining),
    /// The last reported commit is no longer in the history.
    HistoryLost,
}

/// Appends new events after `strays`, the lines that others have appended.
fn step(
    workspace: &Workspace,
    stream: &EventStream,
    writer: &StreamWriter,
    mut record: StreamRecord<StreamProgress>,
    strays: &[String],
) -> Result<StreamStep, ProjectError> {
    for event in strays.iter().filter_map(|line| EventLine::read(line)) {
        record.kept.count(&key_of(&event));
    }
    let left = PendingEvents::of(stream.left()?, &record.kept.taken);
    left.clear_done(writer)?;
    let mut waiting = left.waiting.into_iter().peekable();
    let (mut lines, mut taken, mut rest) = (Vec::new(), Vec::new(), Remaining::Nothing);
    let mut take = |lines: &mut Vec<StreamedLine>, uncommitted: UncommittedLine| {
        lines.push(uncommitted.line);
        taken.extend(uncommitted.id);
    };
    if let Some(tip) = BranchTip::look(workspace, Some(&record.kept.cursor))? {
        let cursor = &record.kept.cursor;
        let unreported =
            match UnreportedCommits::last_reported(workspace, cursor, &tip.head, tip.newest)? {
                Some(last) => {
                    UnreportedCommits::since(workspace, cursor, (last, tip.newest), BATCH_SIZE)?
                }
                None => Some(UnreportedCommits::whole(workspace, tip.newest, BATCH_SIZE)?),
            };
        let Some(unreported) = unreported else { return Ok(StreamStep::HistoryLost) };
        let of = |workspace: &Workspace, share: &[CommitId]| {
            let mut deriver = EventDeriver::new(workspace);
            share
                .iter()
                .map(|commit| commit_lines(workspace, &mut deriver, &unreported, *commit))
                .collect()
        };
        let _ = process_in_parallel(
            workspace,
            &unreported.commits,
            of,
            &mut |derived: CommitLines| {
                while let Some(uncommitted) =
                    waiting.next_if(|uncommitted| uncommitted.at < derived.committed)
                {
                    take(&mut lines, uncommitted);
                }
                lines.extend(derived.lines);
                Ok(ControlFlow::Continue(()))
            },
        )?;
        unreported.note_in(&mut record.kept.cursor, &tip.head.reference);
        rest = unreported.left;
    }
    if rest == Remaining::Nothing {
        waiting.for_each(|uncommitted| take(&mut lines, uncommitted));
    }
    for line in &lines {
        record.kept.count(&line.key);
    }
    record.kept.take(taken.iter().cloned());
    let text: String = lines.iter().map(|line| line.text.as_str()).collect();
    writer.append(&mut record, text.as_bytes())?;
    writer.clear(&taken)?;
    Ok(StreamStep::Done(rest))
}

const PAUSE: Duration = Duration::from_millis(2);
/// The number of ids of events left for the stream that are remembered.
const MOST_TAKEN: usize = 1_000;

/// The record beside the stream.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct StreamProgress {
    /// The commits up to which all events are written.
    pub cursor: ReportedCursor,
    /// The number of each event in the stream, sorted by key.
    pub counts: Vec<(LineKey, u64)>,
    /// The ids of the latest events that were left for the stream and are in it: they may be left again.
    pub taken: Vec<String>,
}

impl StreamProgress {
    fn count(&mut self, key: &LineKey) {
        match self.counts.binary_search_by(|(counted, _)| counted.cmp(key)) {
            Ok(at) => self.counts[at].1 += 1,
            Err(at) => self.counts.insert(at, (key.clone(), 1)),
        }
    }

    /// Notes that these events are now in the stream.
    pub(crate) fn take(&mut self, ids: impl IntoIterator<Item = EventId>) {
        self.taken.extend(ids.into_iter().map(|id| id.to_string()));
        let surplus = self.taken.len().saturating_sub(MOST_TAKEN);
        self.taken.drain(..surplus);
    }
}

/// The branch and its newest commit.
pub(crate) struct BranchTip {
    pub head: Head,
    pub newest: CommitId,
}

impl BranchTip {
    /// Reads the branch. Returns `None` before the first commit. With a cursor, also returns `None` while HEAD is detached: it may be at
    /// any commit for a moment.
    pub(crate) fn look(
        workspace: &Workspace,
        cursor: Option<&ReportedCursor>,
    ) -> Result<Option<Self>, ProjectError> {
        let head = workspace.repository.head_for_reading()?;
        let knows = cursor.is_some_and(|cursor| cursor.commits().next().is_some());
        let Some(newest) = head.commit.filter(|_| head.reference != "HEAD" || !knows) else {
            return Ok(None);
        };
        Ok(Some(Self { head, newest }))
    }
}

/// Locks the stream for writing. Waits for another writer, at most for `timeout`.
pub(crate) fn lock_stream(
    stream: &EventStream,
    timeout: Duration,
) -> Result<Option<StreamWriter>, ProjectError> {
    let until = Instant::now() + timeout;
    loop {
        match stream.writing()? {
            None if Instant::now() < until => thread::sleep(PAUSE),
            outcome => return Ok(outcome),
        }
    }
}

/// The number of an event in the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventCount {
    /// The event.
    pub kind: EventKind,
    /// The workflow; `None` for an event that is not about a task.
    pub workflow: Option<String>,
    /// The main gate of the event, as `gate` or `gate/branch`: the gate that was left, otherwise the one that was entered.
    pub gate: Option<String>,
    /// The number.
    pub count: u64,
}

/// The result of rebuilding the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuilt {
    /// The number of commits read.
    pub commits: usize,
    /// The number of lines of the stream.
    pub lines: usize,
    /// The number of lines that are in no commit, and were kept.
    pub kept: usize,
    /// The number of lines of the old stream that were not events.
    pub damaged: usize,
}

/// Rebuilds the stream. Waits for another writer, and fails if that takes too long.
pub fn rebuild_events(workspace: &Workspace) -> Result<Rebuilt, ProjectError> {
    let stream = EventStream::at(&workspace.paths);
    let timeout = workspace.deadline().saturating_duration_since(Instant::now());
    let writer = lock_stream(&stream, timeout)?.ok_or_else(|| ProjectError::Unfit {
        code: "events_busy",
        problem: format!(
            "somebody else has been writing the event stream for {} s",
            timeout.as_secs()
        ),
        fix: "wait until it is done, or wait longer with `--wait 60s`; nothing was written".into(),
    })?;
    Ok(rebuild_with(workspace, &stream, &writer, &|| true)?.expect("nobody breaks it off"))
}

/// Returns the lines of the stream that are in no commit, and the number of lines that are not events.
fn old_lines(stream: &EventStream) -> Result<(Vec<UncommittedLine>, usize), ProjectError> {
    let (mut old, mut damaged) = (Vec::new(), 0);
    let Some(mut reading) = stream.open()? else { return Ok((old, damaged)) };
    while let Some(text) = reading.line()? {
        match EventLine::read(&text) {
            None => damaged += 1,
            Some(event) if event.commit().is_some() => {}
            Some(_) => old.extend(UncommittedLine::read(&text)),
        }
    }
    Ok((old, damaged))
}

/// Rebuilds the stream in one walk over the history. If `go_on` returns false, changes nothing and returns `None`.
pub(crate) fn rebuild_with(
    workspace: &Workspace,
    stream: &EventStream,
    writer: &StreamWriter,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Rebuilt>, ProjectError> {
    let (mut uncommitted, damaged) = old_lines(stream)?;
    let known: Vec<String> =
        uncommitted.iter().filter_map(|line| line.id.as_ref()).map(ToString::to_string).collect();
    // Events that are left after this point wait for the next writer.
    let left = stream.left()?;
    let pending_ids: Vec<EventId> = left.iter().map(|(id, _)| id.clone()).collect();
    uncommitted.extend(PendingEvents::of(left, &known).waiting);
    uncommitted.sort_by_key(|line| line.at);
    let taken: Vec<EventId> = uncommitted.iter().filter_map(|line| line.id.clone()).collect();
    let mut rebuilt = Rebuilt { commits: 0, lines: 0, kept: uncommitted.len(), damaged };
    let mut uncommitted = uncommitted.into_iter().peekable();
    let mut rewriting = writer.rewrite()?;
    let mut kept = StreamProgress::default();
    let mut write = |lines: &[StreamedLine]| -> Result<(), ProjectError> {
        for line in lines {
            kept.count(&line.key);
        }
        rebuilt.lines += lines.len();
        let text: String = lines.iter().map(|line| line.text.as_str()).collect();
        Ok(rewriting.add(text.as_bytes())?)
    };
    let tip = BranchTip::look(workspace, None)?;
    if let Some(tip) = &tip {
        let unreported = UnreportedCommits::whole(workspace, tip.newest, usize::MAX)?;
        let of = |workspace: &Workspace, share: &[CommitId]| {
            let mut deriver = EventDeriver::new(workspace);
            share
                .iter()
                .map(|commit| commit_lines(workspace, &mut deriver, &unreported, *commit))
                .collect()
        };
        crash_points::point("events.making");
        let made = process_in_parallel(
            workspace,
            &unreported.commits,
            of,
            &mut |commit_lines: CommitLines| {
                if !go_on() {
                    return Ok(ControlFlow::Break(()));
                }
                while let Some(line) = uncommitted.next_if(|line| line.at < commit_lines.committed)
                {
                    write(&[line.line])?;
                }
                write(&commit_lines.lines)?;
                Ok(ControlFlow::Continue(()))
            },
        )?;
        if made.is_break() {
            return Ok(None);
        }
        rebuilt.commits = unreported.commits.len();
    }
    for line in uncommitted {
        write(&[line.line])?;
    }
    if let Some(tip) = tip {
        kept.cursor.set(&tip.head.reference, &tip.newest.to_string());
    }
    kept.take(taken);
    rewriting.finish(kept)?;
    writer.clear(&pending_ids)?;
    Ok(Some(rebuilt))
}

/// A filter of events; an absent field sets no condition.
#[derive(Debug, Clone, Default)]
pub(crate) struct WantedEvents {
    /// Events about this task.
    pub task: Option<TaskId>,
    /// Events of one of these kinds.
    pub kinds: Vec<EventKind>,
    /// Events since then.
    pub since: Option<Timestamp>,
    /// Events in which this agent has a part.
    pub agent: Option<AgentId>,
    /// Events of at least this level.
    pub level: Option<Level>,
}

impl WantedEvents {
    /// Returns true if the filter accepts the event.
    pub(crate) fn take(&self, event: &EventLine) -> bool {
        self.task.as_ref().is_none_or(|task| event.is_about(task))
            && (self.kinds.is_empty() || event.kind.is_some_and(|kind| self.kinds.contains(&kind)))
            && self.since.is_none_or(|since| event.at >= since)
            && self.agent.as_ref().is_none_or(|agent| event.names(agent.as_str()))
            && self.level.is_none_or(|level| event.level >= level)
    }
}

/// A line of the stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StreamLine {
    /// An event, and the text of its line.
    Event(Box<EventLine>, String),
    /// A line that is not an event, by its number.
    Damaged(u64),
}

/// Reads the stream.
pub(crate) struct EventReader {
    stream: EventStream,
    reading: Option<StreamReader>,
    number: u64,
    /// The line that was read last.
    last: Option<String>,
    /// True if events are missing, because the stream is read-only, or another writer is about to add them.
    pub is_behind: bool,
}

impl EventReader {
    /// Brings the stream up to date if it may be written, and opens it.
    pub(crate) fn open(workspace: &Workspace) -> Result<Self, ProjectError> {
        let is_behind = catch_up_if_writable(workspace)? == Remaining::Commits;
        let stream = EventStream::at(&workspace.paths);
        Ok(Self { reading: stream.open()?, stream, number: 0, last: None, is_behind })
    }

    /// Returns the next line; `None` if it is not yet written.
    pub(crate) fn next_line(&mut self) -> Result<Option<StreamLine>, ProjectError> {
        let Some(reading) = &mut self.reading else { return Ok(None) };
        let Some(text) = reading.line()? else { return Ok(None) };
        self.last = Some(text.clone());
        self.number += 1;
        Ok(Some(match EventLine::read(&text) {
            Some(event) => StreamLine::Event(Box::new(event), text),
            None => StreamLine::Damaged(self.number),
        }))
    }

    /// Brings the stream up to date again, and continues in the new file if it was replaced.
    pub(crate) fn refresh(&mut self, workspace: &Workspace) -> Result<(), ProjectError> {
        catch_up_if_writable(workspace)?;
        if self.reading.as_ref().is_some_and(|reading| !reading.is_over()) {
            return Ok(());
        }
        // The old file was read to its end.
        let Some(mut newer) = self.stream.open()? else { return Ok(()) };
        let mut number = 0;
        if let Some(last) = &self.last {
            let mut place = None;
            while let Some(line) = newer.line()? {
                number += 1;
                if line == *last {
                    place = Some((number, newer.place()));
                }
            }
            // If the new file lacks that line, reading continues at its end.
            if let Some((line, place)) = place {
                newer.go_to(place)?;
                number = line;
            }
        }
        self.number = number;
        self.reading = Some(newer);
        Ok(())
    }
}
