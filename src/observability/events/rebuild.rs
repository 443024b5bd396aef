//! The stream is made again: every commit of the branch is told anew, in the order of history, by several threads at once. What is in
//! no commit stays, behind the commit behind which it stood. Only the whole new stream takes the place of the old one.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::time::Instant;

use super::lines::{LeftForStream, OfCommit, of_commit};
use super::lines::{StreamedLine, UncommittedLine};
use super::record::{Ground, Kept, patiently};
use crate::domain::{EventId, Timestamp};
use crate::files::event::line::EventLine;
use crate::git::CommitId;
use crate::history::new_commits::derive_events::EventDeriver;
use crate::history::new_commits::unreported::UnreportedCommits;
use crate::project::error::error::OpsError;
use crate::project::parallel_map::side_by_side;
use crate::project::workspace::Workspace;
use crate::storage::EventStream;
use crate::storage::event_log::{StreamRewrite, StreamWriter};
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
pub fn rebuild_events(workspace: &Workspace) -> Result<Rebuilt, OpsError> {
    let stream = EventStream::of(&workspace.paths);
    let patience = workspace.deadline().saturating_duration_since(Instant::now());
    let writer = patiently(&stream, patience)?.ok_or_else(|| OpsError::Unfit {
        code: "events_busy",
        problem: format!(
            "somebody else has been writing the event stream for {} s",
            patience.as_secs()
        ),
        fix: "wait until it is done, or wait longer with `--wait 60s`; nothing was written"
            .to_owned(),
    })?;
    match rebuild_with(workspace, &stream, &writer, &|| true)? {
        Some(rebuilt) => Ok(rebuilt),
        None => unreachable!("nobody breaks it off"),
    }
}

/// A line that is in no commit, where it stands in the old stream.
struct Old {
    apart: UncommittedLine,
    /// The commit of the line before it.
    after: Option<String>,
}

/// Returns the lines of the stream that are in no commit, and how many are no events.
fn old_lines(stream: &EventStream) -> Result<(Vec<Old>, usize), OpsError> {
    let (mut old, mut damaged) = (Vec::new(), 0);
    let Some(mut reading) = stream.open()? else { return Ok((old, damaged)) };
    let mut after: Option<String> = None;
    while let Some(text) = reading.line()? {
        match EventLine::read(&text) {
            None => damaged += 1,
            Some(event) => match event.commit() {
                Some(commit) if after.as_deref() != Some(commit) => after = Some(commit.to_owned()),
                Some(_) => {}
                None => {
                    old.extend(
                        UncommittedLine::read(&text)
                            .map(|apart| Old { apart, after: after.clone() }),
                    );
                }
            },
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
) -> Result<Option<Rebuilt>, OpsError> {
    let (old, damaged) = old_lines(stream)?;
    let ids: Vec<EventId> = old.iter().filter_map(|old| old.apart.id.clone()).collect();
    // What is left from here on waits for the next writer.
    let left = stream.left()?;
    let over: Vec<EventId> = left.iter().map(|(id, _)| id.clone()).collect();
    let left =
        LeftForStream::of(left, &ids.iter().map(ToString::to_string).collect::<Vec<_>>()).waiting;
    let added: Vec<EventId> = left.iter().filter_map(|apart| apart.id.clone()).collect();
    let ground = Ground::look(workspace, None)?;
    let news = match &ground {
        Some(ground) => Some(UnreportedCommits::whole(workspace, ground.newest, usize::MAX)?),
        None => None,
    };
    let commits = news.as_ref().map_or(0, |news| news.commits.len());
    let mut making = Making::new(writer.rewrite()?, Places::of(old, left, news.as_ref()));
    if let Some(news) = &news {
        let of = |workspace: &Workspace, share: &[CommitId]| {
            let mut telling = EventDeriver::new(workspace);
            share.iter().map(|commit| of_commit(workspace, &mut telling, news, *commit)).collect()
        };
        crash_points::point("events.making");
        let made = side_by_side(workspace, &news.commits, of, &mut |of_commit| {
            if !go_on() {
                return Ok(ControlFlow::Break(()));
            }
            making.add(&of_commit)?;
            Ok(ControlFlow::Continue(()))
        })?;
        if made.is_break() {
            return Ok(None);
        }
    }
    let (rewriting, mut kept, mut rebuilt) = making.end()?;
    if let Some(ground) = ground {
        kept.cursor.set(&ground.head.reference, &ground.newest.to_string());
    }
    kept.take(ids.into_iter().chain(added));
    rewriting.finish(kept)?;
    writer.clear(&over)?;
    (rebuilt.commits, rebuilt.damaged) = (commits, damaged);
    Ok(Some(rebuilt))
}

/// Where the lines that are in no commit go.
struct Places {
    /// What stood before all commits.
    first: Vec<StreamedLine>,
    /// By commit.
    behind: HashMap<String, Vec<StreamedLine>>,
    /// By time, the oldest first: the commits before them are not in this history, or they are new.
    by_time: std::iter::Peekable<std::vec::IntoIter<(Timestamp, StreamedLine)>>,
}

impl Places {
    fn of(old: Vec<Old>, left: Vec<UncommittedLine>, news: Option<&UnreportedCommits>) -> Self {
        let commits = news.filter(|_| !old.is_empty()).into_iter().flat_map(|news| &news.commits);
        let history: HashSet<String> = commits.map(ToString::to_string).collect();
        let (mut first, mut behind, mut by_time) =
            (Vec::new(), HashMap::<_, Vec<StreamedLine>>::new(), Vec::new());
        for Old { apart, after } in old {
            match after {
                None => first.push(apart.line),
                Some(commit) if history.contains(&commit) => {
                    behind.entry(commit).or_default().push(apart.line);
                }
                Some(_) => by_time.push((apart.at, apart.line)),
            }
        }
        by_time.extend(left.into_iter().map(|apart| (apart.at, apart.line)));
        by_time.sort_by_key(|(at, _)| *at);
        Self { first, behind, by_time: by_time.into_iter().peekable() }
    }
}

/// The new stream while it is being made.
struct Making<'w> {
    rewriting: StreamRewrite<'w>,
    places: Places,
    kept: Kept,
    rebuilt: Rebuilt,
}

impl<'w> Making<'w> {
    fn new(rewriting: StreamRewrite<'w>, places: Places) -> Self {
        let rebuilt = Rebuilt { commits: 0, lines: 0, kept: 0, damaged: 0 };
        Self { rewriting, places, kept: Kept::default(), rebuilt }
    }

    fn add(&mut self, told: &OfCommit) -> Result<(), OpsError> {
        let mut apart = std::mem::take(&mut self.places.first);
        while let Some((_, line)) = self.places.by_time.next_if(|(at, _)| *at < told.committed) {
            apart.push(line);
        }
        self.write(&apart)?;
        self.rebuilt.kept += apart.len();
        self.write(&told.lines)?;
        let behind = self.places.behind.remove(&told.commit.to_string()).unwrap_or_default();
        self.rebuilt.kept += behind.len();
        self.write(&behind)
    }

    fn write(&mut self, lines: &[StreamedLine]) -> Result<(), OpsError> {
        for line in lines {
            self.kept.counts.add(line);
        }
        self.rebuilt.lines += lines.len();
        let text: String = lines.iter().map(|line| line.text.as_str()).collect();
        Ok(self.rewriting.add(text.as_bytes())?)
    }

    fn end(mut self) -> Result<(StreamRewrite<'w>, Kept, Rebuilt), OpsError> {
        let mut rest = std::mem::take(&mut self.places.first);
        rest.extend(self.places.by_time.by_ref().map(|(_, line)| line));
        self.rebuilt.kept += rest.len();
        self.write(&rest)?;
        Ok((self.rewriting, self.kept, self.rebuilt))
    }
}
