//! The stream is made again: every commit of the branch is told anew, in the order of history, by several threads at once. What is in
//! no commit stays, where its time is. Only the whole new stream takes the place of the old one.

use std::ops::ControlFlow;
use std::time::Instant;

use super::lines::{LeftForStream, OfCommit, StreamedLine, UncommittedLine, of_commit};
use super::record::{Ground, Kept, patiently};
use crate::domain::EventId;
use crate::files::event::line::EventLine;
use crate::git::CommitId;
use crate::history::new_commits::derive_events::EventDeriver;
use crate::history::new_commits::unreported::UnreportedCommits;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::project::workspace::side_by_side;
use crate::storage::EventStream;
use crate::storage::event_log::StreamWriter;
use crate::system::crash_points;

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
    let mut kept = Kept::default();
    let mut write = |lines: &[StreamedLine]| -> Result<(), ProjectError> {
        for line in lines {
            kept.counts.add(line);
        }
        rebuilt.lines += lines.len();
        let text: String = lines.iter().map(|line| line.text.as_str()).collect();
        Ok(rewriting.add(text.as_bytes())?)
    };
    let ground = Ground::look(workspace, None)?;
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
