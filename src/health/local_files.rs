//! Checks of what only this clone has: caches, temporary files, schemas, the event stream, the inbox and the outbox.

use std::path::Path;

use super::subject::{CheckContext, CheckResult, count};
use crate::domain::project::some;
use crate::files::event::line::EventLine;
use crate::health::{git, rules};
use crate::observability::events::catch_up::rebuild_events;
use crate::observability::notices::delivery::{OutgoingState, outgoing};
use crate::project::error::ProjectError;
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;
use crate::storage::inbox::{FileClass, Witnessed};
use crate::storage::layout::{INBOX, are_schemas_current, keep_schemas_current};
use crate::storage::{
    EventStream, HeaderCache, Inbox, Paths, atomic_write, journal, network_file_system,
};
use crate::tasks::headers::summary::{SCHEMA, TaskSummary};
use crate::tasks::inbox::{refused, waiting};
use crate::tasks::recovery::recover::recover_if_pending;

/// A damaged cache costs time and no fact.
pub(crate) fn cache(subject: &CheckContext<'_>) -> CheckResult {
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
pub(crate) fn file_system(subject: &CheckContext<'_>) -> CheckResult {
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
pub(crate) fn unfinished(subject: &CheckContext<'_>) -> CheckResult {
    if subject.project().is_none() || !journal::is_pending(&subject.workspace.paths) {
        return Ok(Vec::new());
    }
    let issue = Issue::new(
        "unfinished_write",
        "a command was stopped in the middle of a change",
        "the next command that changes a task finishes it, or takes it back; `aof doctor --fix` does",
    );
    Ok(vec![issue.cured_by(|workspace| recover_if_pending(workspace).map(drop))])
}

/// Temporary files that nobody is writing any more: a kill leaves them.
pub(crate) fn temporary_files(subject: &CheckContext<'_>) -> CheckResult {
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
pub(crate) fn schemas(subject: &CheckContext<'_>) -> CheckResult {
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

/// Lines of the event stream that are no events. Its ends heal by themselves.
pub(crate) fn event_stream(subject: &CheckContext<'_>) -> CheckResult {
    let Some(mut reading) = EventStream::of(&subject.workspace.paths).open()? else {
        return Ok(Vec::new());
    };
    let mut damaged = 0;
    while let Some(line) = reading.line()? {
        damaged += usize::from(EventLine::read(&line).is_none());
    }
    if damaged == 0 {
        return Ok(Vec::new());
    }
    let issue = Issue::new(
        "events_damaged",
        format!("{} of `.aof/events.jsonl` no event", count(damaged, "line is", "lines are")),
        "`aof events rebuild` makes it again from history; `aof doctor --fix` does it",
    );
    Ok(vec![issue.cured_by(|workspace| rebuild_events(workspace).map(drop))])
}

pub(crate) fn check_inbox(subject: &CheckContext<'_>) -> CheckResult {
    let workspace = subject.workspace;
    let mut issues = Vec::new();
    if subject.project().is_some() {
        let mut halting = git::busy(subject)?;
        halting.extend(rules::own_folder(subject)?);
        let is_halted = subject.busy.is_some()
            || halting.iter().any(|own| matches!(own.code, "own_folder_in_git" | "git_fails"));
        issues.extend(waiting(workspace, is_halted));
        issues.extend(astray(workspace));
    }
    if subject.is_doctor() || subject.project().is_some() {
        issues.extend(match refused(workspace) {
            Err(error) if !subject.is_doctor() => {
                let fix = "make it a folder that you may read".to_owned();
                Some(Issue::new(error.code(), error.problem(), error.fix().unwrap_or(fix)))
            }
            found => found?,
        });
    }
    Ok(issues)
}

/// Commands work without a watcher; dropped files do not.
pub(crate) fn watcher(subject: &CheckContext<'_>) -> CheckResult {
    if subject.watcher || subject.project().is_none() {
        return Ok(Vec::new());
    }
    let waits = |issue: &Issue| matches!(issue.code, "inbox_waiting" | "inbox_kept_back");
    if subject.is_doctor() && !check_inbox(subject)?.iter().any(waits) {
        return Ok(Vec::new());
    }
    let fix =
        "start one with `aof watch`; without it, commands work but dropped files and edits wait";
    Ok(vec![Issue::new("no_watcher", "no watcher is running", fix)])
}

/// Says which files lie in an inbox that is not the project's, of the folders around it.
fn astray(workspace: &Workspace) -> Vec<Issue> {
    let own = workspace.paths.root();
    let mut folders = vec![workspace.checkout.clone()];
    folders.extend(workspace.paths.around().map(|around| around.root().to_owned()));
    folders.dedup();
    folders
        .iter()
        .filter(|folder| folder.as_path() != own)
        .filter_map(|folder| astray_in(workspace, folder))
        .collect()
}

fn astray_in(workspace: &Workspace, folder: &Path) -> Option<Issue> {
    let paths = Paths::of_checkout(folder);
    // Where nobody may look, nobody is told to look.
    let dropped = Inbox::of(&paths).scan(workspace.clock()(), &|_| Witnessed::Renamed).ok()?;
    let dropped = dropped.into_iter().filter(|candidate| candidate.class != FileClass::Ignored);
    let names: Vec<String> = dropped.map(|candidate| candidate.file.name).collect();
    let shown: Vec<&str> = names.iter().map(String::as_str).collect();
    let lie = if names.len() == 1 { "completion file lies" } else { "completion files lie" };
    (!names.is_empty()).then(|| {
        Issue::new(
            "inbox_astray",
            format!(
                "{} {lie} in `{}`, where nobody takes them: {}",
                names.len(),
                folder.join(INBOX).display(),
                some(&shown)
            ),
            format!(
                "the project lives on a branch of its own; move them into `{}`",
                workspace.paths.inbox().display()
            ),
        )
    })
}

pub(crate) fn check_notices(subject: &CheckContext<'_>) -> CheckResult {
    let mut issues = Vec::new();
    if subject.project().is_none() {
        return Ok(issues);
    }
    let messages = outgoing(subject.workspace)?;
    let (dropped, failing): (Vec<_>, Vec<_>) = messages
        .iter()
        .filter(|message| message.error.is_some())
        .partition(|message| message.state == OutgoingState::Dropped);
    for (code, count, what, last, fix) in [
        (
            "notices_failing",
            failing.len(),
            "could not be delivered yet",
            failing.last(),
            "they are tried again; see `aof notices`, or `aof notices --deliver` to try them now",
        ),
        (
            "notices_dropped",
            dropped.len(),
            "given up",
            dropped.last(),
            "see `aof notices`; `aof notices --forget` forgets them",
        ),
    ] {
        let Some(last) = last else { continue };
        let error = last.error.clone().unwrap_or_default();
        let notices = if count == 1 { "notice" } else { "notices" };
        issues.push(Issue::new(
            code,
            format!("{count} {notices} {what}, the last one to `{}`: {error}", last.channel),
            fix,
        ));
    }
    Ok(issues)
}
