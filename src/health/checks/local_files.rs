//! What is this clone's alone: caches, temporary files, schemas, the event stream, and where they are.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::files::event::line::EventLine;
use crate::health::subject::{Found, Subject, count};
use crate::observability::events::rebuild::rebuild_events;
use crate::project::error::ProjectError;
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;
use crate::storage::atomic_write;
use crate::storage::layout::{are_schemas_current, keep_schemas_current};
use crate::storage::{EventStream, HeaderCache, journal, network_file_system};
use crate::tasks::headers::summary::{SCHEMA, TaskSummary};
use crate::tasks::recovery::recover::heal_if_pending;

/// A damaged cache costs time and no fact.
pub(crate) fn cache(subject: &Subject<'_>) -> Found {
    if !subject.cache_damaged {
        return Ok(Vec::new());
    }
    let issue = Issue::new(
        "cache_damaged",
        "the cache of task headers, `.aof/cache`, is damaged",
        "`aof doctor --fix` removes it; the next `aof task list` makes it again",
    );
    Ok(vec![issue.advice().cured_by(|workspace| {
        Ok(HeaderCache::<TaskSummary>::remove_damaged(&workspace.paths, SCHEMA)?)
    })])
}

/// A file system whose locks do not hold for everybody who can write there.
pub(crate) fn file_system(subject: &Subject<'_>) -> Found {
    let root = subject.workspace.paths.root();
    let issue = network_file_system(root)?.map(|kind| {
        Issue::new(
            "network_file_system",
            format!("`{}` is on {kind}", root.display()),
            "work in a clone on a local disk, and let git carry it over the network",
        )
    });
    Ok(issue.into_iter().collect())
}

/// A change that a command did not finish.
pub(crate) fn unfinished(subject: &Subject<'_>) -> Found {
    if subject.project().is_none() || !journal::is_pending(&subject.workspace.paths) {
        return Ok(Vec::new());
    }
    let issue = Issue::new(
        "unfinished_write",
        "a command was stopped in the middle of a change",
        "the next command that changes a task finishes it, or takes it back; `aof doctor --fix` does",
    );
    Ok(vec![issue.cured_by(|workspace| heal_if_pending(workspace).map(drop))])
}

/// Temporary files that nobody is writing any more: a kill leaves them.
pub(crate) fn temporary_files(subject: &Subject<'_>) -> Found {
    let workspace = subject.workspace;
    let ours = atomic_write::abandoned(&workspace.paths, workspace.clock()().into())?;
    let all = ours + workspace.repository.abandoned_temps()?.len();
    if all == 0 {
        return Ok(Vec::new());
    }
    let files = count(all, "temporary file was", "temporary files were");
    let issue = Issue::new(
        "temporary_files",
        format!("{files} left by commands that were killed"),
        "`aof doctor --fix` removes them",
    );
    Ok(vec![issue.cured_by(sweep)])
}

fn sweep(workspace: &mut Workspace) -> Result<(), ProjectError> {
    let lock = workspace.lock()?;
    atomic_write::sweep_tasks(&lock)?;
    atomic_write::sweep_local(&lock, workspace.clock()().into())?;
    workspace.repository.sweep_temps()?;
    Ok(())
}

/// Schemas for editors that are missing, or of another version of aof.
pub(crate) fn schemas(subject: &Subject<'_>) -> Found {
    if are_schemas_current(subject.workspace.paths.root()) {
        return Ok(Vec::new());
    }
    let issue = Issue::new(
        "schemas_missing",
        "`.aof/schema` does not have the JSON Schemas of this version of aof",
        "any command that writes in `.aof/` makes them, as `aof doctor --fix` does",
    );
    Ok(vec![issue.advice().cured_by(|workspace| Ok(keep_schemas_current(workspace.paths.root())?))])
}

/// How many events of each kind were written, as the record has it.
#[derive(Deserialize)]
struct Written {
    counts: Vec<(IgnoredAny, u64)>,
}

/// Lines of the event stream that are no events, and events that are gone from its middle. Its ends heal by themselves.
pub(crate) fn event_stream(subject: &Subject<'_>) -> Found {
    let stream = EventStream::of(&subject.workspace.paths);
    // The record goes first: what is written meanwhile is more than it knows of.
    let record = stream.record::<Written>()?;
    let Some(mut reading) = stream.open()? else { return Ok(Vec::new()) };
    let (mut events, mut damaged) = (0, 0);
    while let Some(line) = reading.line()? {
        match EventLine::read(&line) {
            Some(_) => events += 1,
            None => damaged += 1,
        }
    }
    let written: u64 =
        record.iter().flat_map(|(record, _)| &record.kept.counts).map(|(_, many)| many).sum();
    let gone = usize::try_from(written.saturating_sub(events)).unwrap_or(usize::MAX);
    let problem = match (damaged, gone) {
        (0, 0) => return Ok(Vec::new()),
        (0, gone) => {
            format!("{} gone from `.aof/events.jsonl`", count(gone, "event is", "events are"))
        }
        (damaged, 0) => {
            format!("{} of `.aof/events.jsonl` no event", count(damaged, "line is", "lines are"))
        }
        (damaged, gone) => format!(
            "{} of `.aof/events.jsonl` no event, and {} gone",
            count(damaged, "line is", "lines are"),
            count(gone, "event is", "events are")
        ),
    };
    let issue = Issue::new(
        "events_damaged",
        problem,
        "`aof events rebuild` makes it again from history; `aof doctor --fix` does it",
    );
    Ok(vec![issue.cured_by(|workspace| rebuild_events(workspace).map(drop))])
}
