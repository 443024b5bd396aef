//! Brings the event stream up to date with the commits, or makes it anew, and remembers how far it goes.

use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tracing::warn;

use super::lines::{
    LeftForStream, LineKey, OfCommit, StreamedLine, UncommittedLine, key_of, of_commit,
};
use crate::domain::{AgentId, EventId, EventKind, Level, TaskId, Timestamp};
use crate::files::event::line::EventLine;
use crate::git::{CommitId, Head};
use crate::history::commit_events::EventDeriver;
use crate::history::unreported::{Remaining, UnreportedCommits};
use crate::project::error::ProjectError;
use crate::project::workspace::{Workspace, side_by_side};
use crate::storage::event_log::{StreamReader, StreamRecord, StreamState, StreamWriter};
use crate::storage::{EventStream, ToldCursor};
use crate::system::crash_points;

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
    let record = EventStream::of(&workspace.paths).record::<StreamProgress>()?;
    let counts = record.map(|(record, _)| record.kept.counts).unwrap_or_default();
    let known = counts.into_iter().filter_map(|((event, workflow, gate), count)| {
        Some(EventCount { kind: event.parse().ok()?, workflow, gate, count })
    });
    Ok(known.collect())
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
            StreamStep::Done(Remaining::Nothing) => return Ok(Remaining::Nothing),
            StreamStep::Done(Remaining::Commits) => {}
            StreamStep::HistoryLost => return remake(workspace, stream, writer, go_on),
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
    let Some((record, is_whole)) = stream.record::<StreamProgress>()? else { return Ok(false) };
    let reached = match BranchTip::look(workspace, Some(&record.kept.cursor))? {
        Some(BranchTip { head, newest }) => {
            record.kept.cursor.commit(&head.reference) == Some(&newest.to_string())
        }
        None => true,
    };
    Ok(is_whole && reached && stream.left()?.is_empty())
}

/// Returns how the stream stands; what a kill left unrecorded is taken out, for it is written again.
fn settle(
    stream: &EventStream,
    writer: &StreamWriter,
) -> Result<StreamState<StreamProgress>, ProjectError> {
    let left: Vec<EventId> = stream.left()?.into_iter().map(|(id, _)| id).collect();
    let again = |text: &str| {
        EventLine::read(text).is_some_and(|event| {
            event.commit().is_some() || event.id().is_some_and(|id| left.contains(&id))
        })
    };
    Ok(writer.settle(&again)?)
}

/// What a step came to.
enum StreamStep {
    Done(Remaining),
    /// History does not lead to what was told any more.
    HistoryLost,
}

/// Adds what is new, behind these lines that others have added.
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
    let left = LeftForStream::of(stream.left()?, &record.kept.taken);
    left.clear_done(writer)?;
    let mut waiting = left.waiting.into_iter().peekable();
    let (mut lines, mut taken, mut rest) = (Vec::new(), Vec::new(), Remaining::Nothing);
    let mut take = |lines: &mut Vec<StreamedLine>, apart: UncommittedLine| {
        lines.push(apart.line);
        taken.extend(apart.id);
    };
    if let Some(ground) = BranchTip::look(workspace, Some(&record.kept.cursor))? {
        let cursor = &record.kept.cursor;
        let news =
            match UnreportedCommits::last_reported(workspace, cursor, &ground.head, ground.newest)?
            {
                Some(last) => {
                    UnreportedCommits::since(workspace, cursor, (last, ground.newest), MOST)?
                }
                None => Some(UnreportedCommits::whole(workspace, ground.newest, MOST)?),
            };
        let Some(news) = news else { return Ok(StreamStep::HistoryLost) };
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
        record.kept.count(&line.key);
    }
    record.kept.take(taken.iter().cloned());
    let text: String = lines.iter().map(|line| line.text.as_str()).collect();
    writer.append(&mut record, text.as_bytes())?;
    writer.clear(&taken)?;
    Ok(StreamStep::Done(rest))
}

const PAUSE: Duration = Duration::from_millis(2);
/// How many ids of what was left for the stream are remembered.
const MOST_TAKEN: usize = 1_000;

/// What is kept beside the stream.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct StreamProgress {
    /// Up to which commits all is written.
    pub cursor: ToldCursor,
    /// How often each event is in the stream, in the order of the keys.
    pub counts: Vec<(LineKey, u64)>,
    /// What was left for the stream and is in it, the last of it: somebody may leave it again.
    pub taken: Vec<String>,
}

impl StreamProgress {
    fn count(&mut self, key: &LineKey) {
        match self.counts.binary_search_by(|(own, _)| own.cmp(key)) {
            Ok(at) => self.counts[at].1 += 1,
            Err(at) => self.counts.insert(at, (key.clone(), 1)),
        }
    }

    /// Notes what is in the stream now.
    pub(crate) fn take(&mut self, ids: impl IntoIterator<Item = EventId>) {
        self.taken.extend(ids.into_iter().map(|id| id.to_string()));
        let surplus = self.taken.len().saturating_sub(MOST_TAKEN);
        self.taken.drain(..surplus);
    }
}

/// The branch, and where it is.
pub(crate) struct BranchTip {
    pub head: Head,
    pub newest: CommitId,
}

impl BranchTip {
    /// Looks; there is nothing to tell of before the first commit. Where no branch is checked out only those are told of anything
    /// who know of none: it may be any commit, for a moment.
    pub(crate) fn look(
        workspace: &Workspace,
        cursor: Option<&ToldCursor>,
    ) -> Result<Option<Self>, ProjectError> {
        let head = workspace.repository.head_for_reading()?;
        let knows = cursor.is_some_and(|cursor| cursor.commits().next().is_some());
        let Some(newest) = head.commit.filter(|_| head.reference != "HEAD" || !knows) else {
            return Ok(None);
        };
        Ok(Some(Self { head, newest }))
    }
}

/// Takes the right to write the stream; waits that long for whoever has it.
pub(crate) fn patiently(
    stream: &EventStream,
    patience: Duration,
) -> Result<Option<StreamWriter>, ProjectError> {
    let until = Instant::now() + patience;
    loop {
        match stream.writing()? {
            None if Instant::now() < until => thread::sleep(PAUSE),
            outcome => return Ok(outcome),
        }
    }
}

/// How often an event is in the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventCount {
    /// The event.
    pub kind: EventKind,
    /// The workflow; an event about no task has none.
    pub workflow: Option<String>,
    /// The gate that it is about first of all, as `gate` or `gate/branch`: the one that was left, or else the one that was entered.
    pub gate: Option<String>,
    /// How often.
    pub count: u64,
}

/// What became of a stream that was made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuilt {
    /// How many commits were told.
    pub commits: usize,
    /// How many lines the stream has.
    pub lines: usize,
    /// How many of them are in no commit, and were kept.
    pub kept: usize,
    /// How many lines of the old one were no events.
    pub damaged: usize,
}

/// Makes the stream again. Waits for whoever writes it.
pub fn rebuild_events(workspace: &Workspace) -> Result<Rebuilt, ProjectError> {
    let stream = EventStream::of(&workspace.paths);
    let patience = workspace.deadline().saturating_duration_since(Instant::now());
    let writer = patiently(&stream, patience)?.ok_or_else(|| ProjectError::Unfit {
        code: "events_busy",
        problem: format!(
            "somebody else has been writing the event stream for {} s",
            patience.as_secs()
        ),
        fix: "wait until it is done, or wait longer with `--wait 60s`; nothing was written"
            .to_owned(),
    })?;
    Ok(rebuild_with(workspace, &stream, &writer, &|| true)?.expect("nobody breaks it off"))
}

/// Returns the lines of the stream that are in no commit, and how many are no events.
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

/// Makes the stream again, in one walk over history. Nothing is returned, and nothing changed, where `go_on` says that it is enough.
pub(crate) fn rebuild_with(
    workspace: &Workspace,
    stream: &EventStream,
    writer: &StreamWriter,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Rebuilt>, ProjectError> {
    let (mut apart, damaged) = old_lines(stream)?;
    let known: Vec<String> =
        apart.iter().filter_map(|line| line.id.as_ref()).map(ToString::to_string).collect();
    // What is left from here on waits for the next writer.
    let left = stream.left()?;
    let over: Vec<EventId> = left.iter().map(|(id, _)| id.clone()).collect();
    apart.extend(LeftForStream::of(left, &known).waiting);
    apart.sort_by_key(|line| line.at);
    let taken: Vec<EventId> = apart.iter().filter_map(|line| line.id.clone()).collect();
    let mut rebuilt = Rebuilt { commits: 0, lines: 0, kept: apart.len(), damaged };
    let mut apart = apart.into_iter().peekable();
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
    let ground = BranchTip::look(workspace, None)?;
    if let Some(ground) = &ground {
        let news = UnreportedCommits::whole(workspace, ground.newest, usize::MAX)?;
        let of = |workspace: &Workspace, share: &[CommitId]| {
            let mut telling = EventDeriver::new(workspace);
            share.iter().map(|commit| of_commit(workspace, &mut telling, &news, *commit)).collect()
        };
        crash_points::point("events.making");
        let made = side_by_side(workspace, &news.commits, of, &mut |of_commit: OfCommit| {
            if !go_on() {
                return Ok(ControlFlow::Break(()));
            }
            while let Some(line) = apart.next_if(|line| line.at < of_commit.committed) {
                write(&[line.line])?;
            }
            write(&of_commit.lines)?;
            Ok(ControlFlow::Continue(()))
        })?;
        if made.is_break() {
            return Ok(None);
        }
        rebuilt.commits = news.commits.len();
    }
    for line in apart {
        write(&[line.line])?;
    }
    if let Some(ground) = ground {
        kept.cursor.set(&ground.head.reference, &ground.newest.to_string());
    }
    kept.take(taken);
    rewriting.finish(kept)?;
    writer.clear(&over)?;
    Ok(Some(rebuilt))
}

/// Which events are wanted; what is not said is no condition.
#[derive(Debug, Clone, Default)]
pub(crate) struct WantedEvents {
    /// Those about this task.
    pub task: Option<TaskId>,
    /// Those of one of these kinds.
    pub kinds: Vec<EventKind>,
    /// Those since then.
    pub since: Option<Timestamp>,
    /// Those that this agent did, or met.
    pub agent: Option<AgentId>,
    /// Those that are at least as bad.
    pub level: Option<Level>,
}

impl WantedEvents {
    /// Returns whether that event is wanted.
    pub(crate) fn take(&self, event: &EventLine) -> bool {
        self.task.as_ref().is_none_or(|task| event.is_about(task))
            && (self.kinds.is_empty() || event.kind.is_some_and(|kind| self.kinds.contains(&kind)))
            && self.since.is_none_or(|since| event.at >= since)
            && self.agent.as_ref().is_none_or(|agent| event.names(agent.as_str()))
            && self.level.is_none_or(|level| event.level >= level)
    }
}

/// What a line of the stream is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StreamLine {
    /// An event, and the line as it stands.
    Event(Box<EventLine>, String),
    /// No event: the number of the line.
    Damaged(u64),
}

/// The stream, being read.
pub(crate) struct EventReader {
    stream: EventStream,
    reading: Option<StreamReader>,
    number: u64,
    /// The line that was read last.
    last: Option<String>,
    /// Whether something is not in the stream yet: nothing may be written there, or somebody else is about to.
    pub is_behind: bool,
}

impl EventReader {
    /// Opens the stream, brought up to date where it may be written.
    pub(crate) fn open(workspace: &Workspace) -> Result<Self, ProjectError> {
        let is_behind = catch_up_if_writable(workspace)? == Remaining::Commits;
        let stream = EventStream::of(&workspace.paths);
        Ok(Self { reading: stream.open()?, stream, number: 0, last: None, is_behind })
    }

    /// Returns the next line, if there is one by now.
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

    /// Has the stream brought up to date again, and goes over to the one that has taken its place, if one has.
    pub(crate) fn refresh(&mut self, workspace: &Workspace) -> Result<(), ProjectError> {
        catch_up_if_writable(workspace)?;
        if self.reading.as_ref().is_some_and(|reading| !reading.is_over()) {
            return Ok(());
        }
        // What is left of the old one was written before the new one was begun.
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
            // Where that line is not in it any more, what is in it was told as well as it can be.
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
