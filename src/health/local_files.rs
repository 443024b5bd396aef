//! Checks of the files that only this clone has: caches, temporary files, schemas, the event stream, the inbox and
//! the outbox.

use std::path::Path;

use super::context::{CheckContext, CheckResult, count};
use crate::domain::project::some;
use crate::domain::{Remedy, advice};
use crate::files::event::line::EventLine;
use crate::health::{git, rules};
use crate::observability::events::catch_up::rebuild_events;
use crate::observability::notices::delivery::{OutgoingState, outgoing};
use crate::project::error::ProjectError;
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;
use crate::storage::inbox::{FileClass, Witnessed};
use crate::storage::layout::{INBOX, are_schemas_current, keep_schemas_current};
use crate::storage::runs::{OutlivedRun, Runs};
use crate::storage::{
    EventStream, HeaderCache, Inbox, Paths, atomic_write, journal, network_file_system,
};
use crate::tasks::headers::summary::{HEADERS, TaskSummary};
use crate::tasks::inbox::{refused, waiting};
use crate::tasks::recovery::recover::recover_if_pending;

/// Reports a damaged cache: it costs time, but loses nothing.
pub(crate) fn check_cache(context: &CheckContext<'_>) -> CheckResult {
    if !context.cache_damaged {
        return Ok(Vec::new());
    }
    let issue = Issue::new(
        "cache_damaged",
        "the cache of task headers, `.aof/cache`, is damaged",
        advice!["`aof doctor --fix` removes it; the next ", Remedy::List, " makes it again"],
    );
    Ok(vec![issue.advice().repaired_by(|workspace| {
        Ok(HeaderCache::<TaskSummary>::remove_damaged(&workspace.paths, HEADERS)?)
    })])
}

/// Reports a file system whose locks do not bind all machines that can write there.
pub(crate) fn check_file_system(context: &CheckContext<'_>) -> CheckResult {
    let root = context.workspace.paths.root();
    let issue = network_file_system(root)?.map(|kind| {
        Issue::new(
            "network_file_system",
            format!("`{}` is on {kind}", root.display()),
            "work in a clone on a local disk, and let git carry it over the network",
        )
    });
    Ok(issue.into_iter().collect())
}

/// Reports a change that a command did not finish.
pub(crate) fn check_unfinished_write(context: &CheckContext<'_>) -> CheckResult {
    if context.project().is_none() || !journal::is_pending(&context.workspace.paths) {
        return Ok(Vec::new());
    }
    let issue = Issue::new(
        "unfinished_write",
        "a command was stopped in the middle of a change",
        "the next command that changes a task finishes it, or takes it back; `aof doctor --fix` does",
    );
    Ok(vec![issue.repaired_by(|workspace| recover_if_pending(workspace).map(drop))])
}

/// Reports agents' programs that outlived their runners.
pub(crate) fn check_outlived_programs(context: &CheckContext<'_>) -> CheckResult {
    let issue = |outlived: &OutlivedRun| {
        let fix = "the next `aof run` ends it, and so does `aof doctor --fix`";
        Issue::new("agent_outlived_runner", outlived.sentence(), fix).repaired_by(|workspace| {
            Ok(Runs::at(&workspace.paths).end_outlived(workspace.now()).map(drop)?)
        })
    };
    Ok(Runs::at(&context.workspace.paths).outlived()?.iter().map(issue).collect())
}

/// Reports temporary files that killed commands left.
pub(crate) fn check_temporary_files(context: &CheckContext<'_>) -> CheckResult {
    let workspace = context.workspace;
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
    Ok(vec![issue.repaired_by(remove_temporary_files)])
}

fn remove_temporary_files(workspace: &mut Workspace) -> Result<(), ProjectError> {
    let lock = workspace.lock()?;
    atomic_write::sweep_tasks(&lock)?;
    atomic_write::sweep_local(&lock, workspace.clock()().into())?;
    workspace.repository.sweep_temps()?;
    Ok(())
}

/// Reports schemas for editors that are missing, or of another version of aof.
pub(crate) fn check_schemas(context: &CheckContext<'_>) -> CheckResult {
    if are_schemas_current(context.workspace.paths.root()) {
        return Ok(Vec::new());
    }
    let issue = Issue::new(
        "schemas_missing",
        "`.aof/schema` does not have the JSON Schemas of this version of aof",
        "any command that writes in `.aof/` makes them, as `aof doctor --fix` does",
    );
    Ok(vec![
        issue.advice().repaired_by(|workspace| Ok(keep_schemas_current(workspace.paths.root())?)),
    ])
}

/// Reports damaged lines inside the event stream. A torn last line is repaired by the next write.
pub(crate) fn check_event_stream(context: &CheckContext<'_>) -> CheckResult {
    let Some(mut reading) = EventStream::at(&context.workspace.paths).open()? else {
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
    Ok(vec![issue.repaired_by(|workspace| rebuild_events(workspace).map(drop))])
}

pub(crate) fn check_inbox(context: &CheckContext<'_>) -> CheckResult {
    let workspace = context.workspace;
    let mut issues = Vec::new();
    if context.project().is_some() {
        let mut blocking = git::check_busy(context)?;
        blocking.extend(rules::check_own_folder(context)?);
        let is_blocked = context.busy.is_some()
            || blocking.iter().any(|issue| matches!(issue.code, "own_folder_in_git" | "git_fails"));
        issues.extend(waiting(workspace, is_blocked));
        issues.extend(check_other_inboxes(workspace));
    }
    if context.is_doctor() || context.project().is_some() {
        issues.extend(
            match refused(workspace, context.project().map(|project| &project.listing.tasks[..])) {
                Err(error) if !context.is_doctor() => {
                    let fix = "make it a folder that you may read".to_owned();
                    Some(Issue::new(error.code(), error.problem(), error.fix().unwrap_or(fix)))
                }
                found => found?,
            },
        );
    }
    Ok(issues)
}

/// Reports that no watcher runs: commands work without one, dropped files wait.
pub(crate) fn check_watcher(context: &CheckContext<'_>) -> CheckResult {
    if context.watcher || context.project().is_none() {
        return Ok(Vec::new());
    }
    let waits = |issue: &Issue| matches!(issue.code, "inbox_waiting" | "inbox_kept_back");
    if context.is_doctor() && !check_inbox(context)?.iter().any(waits) {
        return Ok(Vec::new());
    }
    let fix =
        "start one with `aof watch`; without it, commands work but dropped files and edits wait";
    Ok(vec![Issue::new("no_watcher", "no watcher is running", fix)])
}

/// Reports completion files in inboxes of the folders around the project, which are not its own.
fn check_other_inboxes(workspace: &Workspace) -> Vec<Issue> {
    let root = workspace.paths.root();
    let mut folders = vec![workspace.checkout.clone()];
    folders.extend(workspace.paths.around().map(|around| around.root().to_owned()));
    folders.dedup();
    folders
        .iter()
        .filter(|folder| folder.as_path() != root)
        .filter_map(|folder| other_inbox_issue(workspace, folder))
        .collect()
}

fn other_inbox_issue(workspace: &Workspace, folder: &Path) -> Option<Issue> {
    let paths = Paths::of_checkout(folder);
    // An inbox that cannot be read is not reported.
    let dropped = Inbox::at(&paths).scan(workspace.clock()(), &|_| Witnessed::Renamed).ok()?;
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

pub(crate) fn check_notices(context: &CheckContext<'_>) -> CheckResult {
    let mut issues = Vec::new();
    if context.project().is_none() {
        return Ok(issues);
    }
    let messages = outgoing(context.workspace)?;
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
