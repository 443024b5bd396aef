//! The stream is read: whole lines from the beginning, and, by whoever follows it, whatever comes after them. Another stream that takes
//! its place is read on behind the line that was read last.

use super::catch_up::catch_up_if_writable;
use crate::domain::{AgentId, EventKind, Level, TaskId, Timestamp};
use crate::files::event::line::EventLine;
use crate::history::unreported::Remaining;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::EventStream;
use crate::storage::event_log::StreamReader;

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
