//! Completion files in the inbox: parsing, the visit that each is for, and reports on files that wait or were refused. The watcher
//! delivers the files.
//!
//! A file that names no visit is for the one that was open here when it was dropped, or the one that was open when the scan that finds it
//! begins, if that is earlier. The name under which it is taken keeps that visit.

use std::time::Duration;

use serde_json::{Value, json};

use crate::domain::project::some;
use crate::domain::{Completion, CompletionId, Fix, Remedy, Task, Timestamp, Visit, advice};
use crate::files::completion_file::{self, Syntax};
use crate::files::diagnostic::Diagnostic;
use crate::files::frontmatter::SpliceRefusal;
use crate::files::task_file::TaskFile;
use crate::git::{CommitId, GitError, Head};
use crate::project::active_rules::{InForce, in_force};
use crate::project::error::ProjectError;
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;
use crate::rules::{Refusal, Workplace, branch_of, check_ticket, entry_ticket, may_complete};
use crate::storage::inbox::{FileClass, InboxFile, VisitMark, Witnessed};
use crate::storage::layout::is_archived;
use crate::storage::lock::is_watched;
use crate::storage::random::ulid;
use crate::storage::task_files::find;
use crate::storage::{Inbox, ProjectPath, StoreError, journal};
use crate::tasks::complete::{bind_now, note_session, plan_completion};
use crate::tasks::headers::summary::TaskSummary;
use crate::tasks::state::task_state::committed_task;

/// The most waiting files that are checked. The watcher reports the others when it delivers them.
const MOST_JUDGED: usize = 50;

/// Returns the number of files that wait in the inbox.
pub(crate) fn pending(workspace: &Workspace) -> Result<usize, ProjectError> {
    Ok(files(workspace)?.len())
}

/// A problem that keeps files waiting, and its fix.
struct InboxObstacle {
    problem: String,
    fix: String,
    names: Vec<String>,
    is_taken: bool,
}

/// Returns issues about waiting completion files. `is_halted`: nothing can be committed, so all files wait for that.
pub(crate) fn waiting(workspace: &Workspace, is_halted: bool) -> Vec<Issue> {
    let files = match files(workspace) {
        Ok(files) => files,
        Err(error) => {
            let fix =
                error.fix().unwrap_or_else(|| "make it a folder that you may read".to_owned());
            return vec![Issue::new("inbox_unreadable", error.to_string(), fix)];
        }
    };
    let mut free = files.len();
    let mut obstacles: Vec<InboxObstacle> = Vec::new();
    for file in files.into_iter().take(if is_halted { 0 } else { MOST_JUDGED }) {
        // The watcher recovers interrupted writes first; a report does not.
        if journal::is_pending(&workspace.paths) {
            break;
        }
        let Err(error) = rehearse(workspace, &file) else { continue };
        if !is_temporary(&error) {
            continue;
        }
        free -= 1;
        let problem = error.problem();
        let known = obstacles.iter_mut().find(|known| known.problem == problem);
        if let Some(known) = known {
            known.is_taken |= file.is_taken();
            known.names.push(file.name);
        } else {
            let (fix, is_taken) = (fix_for(&error), file.is_taken());
            obstacles.push(InboxObstacle { problem, fix, names: vec![file.name], is_taken });
        }
    }
    let mut issues = Vec::new();
    if free > 0 {
        let fix = if is_halted {
            "nothing can be committed now; once it can, `aof watch` takes them, or `aof watch --once`"
        } else {
            "`aof watch` takes them as they come; `aof watch --once` takes them now, and says what keeps one back"
        };
        issues.push(Issue::new("inbox_waiting", waiting_text(free), fix));
    }
    for InboxObstacle { problem, fix, names, is_taken } in &obstacles {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let back =
            if *is_taken { "; to take one back, remove it from `.aof/inbox/.taken`" } else { "" };
        issues.push(Issue::new(
            "inbox_kept_back",
            format!("{} ({}): {problem}", waiting_text(names.len()), some(&names)),
            format!("{fix}; `aof watch` goes on with it then, or `aof watch --once`{back}"),
        ));
    }
    issues
}

fn waiting_text(count: usize) -> String {
    let waits = if count == 1 { "file waits" } else { "files wait" };
    format!("{count} completion {waits} in `.aof/inbox`")
}

/// Returns the fix of an error, worded for a file that is retried automatically.
fn fix_for(error: &ProjectError) -> String {
    match error {
        ProjectError::Store(StoreError::Exists { path }) => {
            format!("move `{}` away", path.display())
        }
        error => error.fix().unwrap_or_else(|| "fix that".to_owned()),
    }
}

/// Returns the waiting files: taken ones, then those in the inbox.
fn files(workspace: &Workspace) -> Result<Vec<InboxFile>, ProjectError> {
    let inbox = Inbox::at(&workspace.paths);
    let mut files = inbox.taken()?;
    let candidates = inbox.scan(workspace.clock()(), &|_| Witnessed::Renamed)?.into_iter();
    let dropped = candidates.filter(|candidate| candidate.class != FileClass::Ignored);
    files.extend(dropped.map(|candidate| candidate.file));
    Ok(files)
}

/// Fails if the file cannot be delivered now for a temporary reason. A file that would be refused is not an error.
fn rehearse(workspace: &Workspace, file: &InboxFile) -> Result<(), ProjectError> {
    let bytes = match Inbox::at(&workspace.paths).peek(file) {
        Ok(Some(bytes)) => bytes,
        Ok(None) | Err(StoreError::WrongKind { .. } | StoreError::TooLarge { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let id = match &file.id {
        Some(id) => id.clone(),
        None => ulid(workspace.clock()())?,
    };
    match parse_inbox_file(file, &bytes, &id) {
        Ok(completion) => plan_completion(workspace, &completion)?.rehearse(workspace),
        Err(_) => Ok(()),
    }
}

/// Returns an issue that counts the refused completions and names some, if there are any. Those of visits that have ended are left out.
pub(crate) fn refused(
    workspace: &Workspace,
    active: Option<&[(Box<TaskSummary>, ProjectPath)]>,
) -> Result<Option<Issue>, ProjectError> {
    let inbox = Inbox::at(&workspace.paths);
    let mut names = inbox.refused()?;
    if let Some(active) = active {
        let has_ended = |name: &String| {
            let meant = inbox.refused_ticket(name)?;
            let Some((task, _)) = active.iter().find(|(task, _)| task.id == meant.task) else {
                let found = find(&workspace.paths, &meant.task).ok()?;
                return Some(is_archived(&found.path));
            };
            Some(meant.visit? < task.visit())
        };
        names.retain(|name| has_ended(name) != Some(true));
    }
    if names.is_empty() {
        return Ok(None);
    }
    let shown: Vec<&str> = names.iter().map(String::as_str).collect();
    let wait = if names.len() == 1 { "completion waits" } else { "completions wait" };
    Ok(Some(Issue::new(
        "refused_waiting",
        format!("{} refused {wait} in `.aof/refused`: {}", names.len(), some(&shown)),
        advice![
            "`NAME.reason.json` beside each says why; fix it and drop it into `.aof/inbox` again, or ",
            Fix::from(Remedy::Status).flag("clear"),
        ],
    )))
}

/// Returns the names of files that are still being written, each with the error that `aof watch --once` reports.
pub(crate) fn unclosed(workspace: &Workspace) -> Result<Vec<(String, ProjectError)>, ProjectError> {
    let dropped = Inbox::at(&workspace.paths).scan(workspace.clock()(), &|_| Witnessed::Nothing)?;
    let growing = dropped.into_iter().filter(|candidate| candidate.class == FileClass::Growing);
    let error = || ProjectError::Unfit {
        code: "still_written",
        problem: "it was written to within the last two seconds: half a file is never read"
            .to_owned(),
        fix: "run this again; `aof watch` takes it by itself".into(),
    };
    Ok(growing.map(|candidate| (candidate.file.name, error())).collect())
}

/// The state in which a scan of the inbox began.
pub(crate) struct ScanStart {
    in_force: InForce,
    head: Head,
    pub commit: CommitId,
}

impl ScanStart {
    /// Returns the rules and the commit of HEAD; `None` if there are none, so that all files wait.
    pub(crate) fn now(workspace: &Workspace) -> Option<Self> {
        let head = workspace.repository.head_for_reading().ok()?;
        let commit = head.commit?;
        workspace.repository.note_move(&head, [commit]);
        Some(Self { in_force: in_force(workspace, &head).ok()?, commit, head })
    }

    /// Returns the visit of a file that names none: the one that was open when it was dropped, or, if that is earlier, the one that was
    /// open at the commit at which the scan found it.
    pub(crate) fn visit_of(
        &self,
        workspace: &Workspace,
        completion: &Completion,
        dropped: Option<Timestamp>,
        found: CommitId,
    ) -> Result<Option<VisitMark>, ProjectError> {
        if completion.names_visit() {
            return Ok(None);
        }
        let repository = &workspace.repository;
        let task_at = |commit| {
            let file = committed_task(workspace, &self.in_force, commit, &completion.ticket.task);
            file.ok().flatten().map(|file| file.task)
        };
        let is_adopted = |task: &Task| task.gate.is_some() || !task.history.is_empty();
        let open_visit = |task: Task| {
            let branch = branch_of(&self.in_force.rules, &task, &completion.agent);
            task.gate.map(|open| VisitMark { visit: open.visit, branch })
        };
        let ended_visit = |task: &Task, place: Option<usize>| {
            Some(VisitMark { visit: entry_ticket(task, place?)?.visit?, branch: None })
        };
        let when_dropped = match dropped {
            Some(dropped) if repository.has_moved_since(&self.head, dropped) => {
                let then = repository.commit_at(&self.head, dropped)?.and_then(task_at);
                match then.filter(is_adopted) {
                    Some(task) => open_visit(task),
                    // The file was dropped later, or the reflog does not reach back that far: the entries decide.
                    None => task_at(self.commit).and_then(|task| {
                        let second = dropped.as_second();
                        let is_later = |ended: &Visit| ended.exited.as_second() >= second;
                        ended_visit(&task, task.history.iter().position(is_later))
                    }),
                }
            }
            _ => None,
        };
        let when_found = if let Some(task) = task_at(found).filter(is_adopted) {
            open_visit(task)
        } else {
            // The first visit of a task that was not adopted yet.
            let head = repository.head_for_reading()?;
            let adopted = head.commit.and_then(task_at).filter(|task| task.gate.is_some());
            let first = adopted.and_then(|task| {
                ended_visit(&task, task.history.iter().position(|entry| entry.agent.is_some()))
            });
            let mut now = completion.clone();
            bind_now(workspace, &mut now);
            first.or_else(|| VisitMark::of(&now.ticket))
        };
        Ok([when_dropped, when_found].into_iter().flatten().min_by_key(|mark| mark.visit))
    }
}

/// Returns the conflict of a refused completion that names no visit: its agent could have completed the visit that was open in this
/// clone just before its file was dropped, and that visit has ended since. `None` if it has not.
pub(crate) fn find_lost_visit(
    workspace: &Workspace,
    completion: &Completion,
    dropped: Timestamp,
) -> Result<Option<Refusal>, ProjectError> {
    let (id, agent, repository) =
        (&completion.ticket.task, &completion.agent, &workspace.repository);
    let head = repository.head_for_reading()?;
    let just_before = dropped.saturating_sub(Duration::from_secs(1)).unwrap_or(dropped);
    let then = repository.commit_at(&head, just_before)?;
    let in_force = in_force(workspace, &head)?;
    let task_at = |commit: Option<CommitId>| {
        committed_task(workspace, &in_force, commit?, id).ok().flatten().map(|file| file.task)
    };
    let (Some(then), Some(now)) = (task_at(then), task_at(head.commit)) else { return Ok(None) };
    let rules = &in_force.rules;
    let branch = branch_of(rules, &then, agent);
    let place = Workplace::find(rules, &then, branch.as_ref());
    if place.is_none_or(|place| may_complete(rules, &then, &place, agent).is_err()) {
        return Ok(None);
    }
    Ok(check_ticket(&now, &then.ticket_of(branch.as_ref()), Some(agent)).err())
}

/// The most taken files that a command looks at.
const MOST_REMOVED: usize = 100;

/// Removes taken files whose completions count already: a watcher was killed before it removed them. A running watcher removes them
/// itself. Any failure leaves the file to the next command.
pub(crate) fn remove_counted(workspace: &Workspace) {
    let inbox = Inbox::at(&workspace.paths);
    let taken = inbox.taken().unwrap_or_default();
    if taken.is_empty() || workspace.check_own_folder().is_err() || is_watched(&workspace.paths) {
        return;
    }
    let Ok(head) = workspace.repository.head_for_reading() else { return };
    let (Ok(in_force), Some(commit)) = (in_force(workspace, &head), head.commit) else { return };
    for file in taken.iter().take(MOST_REMOVED) {
        let (Some(id), Ok(Some(open))) = (&file.id, inbox.open(file)) else { continue };
        let Ok(completion) = parse_inbox_file(file, &open.bytes, id) else { continue };
        let task = committed_task(workspace, &in_force, commit, &completion.ticket.task);
        let Ok(Some(TaskFile { task, .. })) = task else { continue };
        let stamp = completion.stamp();
        if task.history.iter().any(|visit| visit.completion.as_ref() == Some(&stamp)) {
            let _ = inbox.remove_counted(file, &open);
        }
    }
}

/// Binds a completion to the visit that was found for its file before, unless it names a visit.
pub(crate) fn bind_to_mark(completion: &mut Completion, mark: Option<&VisitMark>) {
    let ticket = &mut completion.ticket;
    if let (None, Some(mark)) = (ticket.visit, mark) {
        ticket.visit = Some(mark.visit);
        ticket.branch.clone_from(&mark.branch);
        completion.facts.is_bound = true;
    }
}

/// Returns the visit that a waiting completion is for: its own, otherwise the visit that is open in HEAD. `None` if no visit is open, or
/// HEAD's task cannot be read.
pub(crate) fn find_meant_visit(
    workspace: &Workspace,
    completion: &Completion,
) -> Option<VisitMark> {
    let ticket = &completion.ticket;
    if let Some(mark) = VisitMark::of(ticket) {
        return Some(mark);
    }
    let head = workspace.repository.head_for_reading().ok()?;
    let in_force = in_force(workspace, &head).ok()?;
    let task = committed_task(workspace, &in_force, head.commit?, &ticket.task).ok()??.task;
    let visit = task.gate.as_ref()?.visit;
    Some(VisitMark { visit, branch: branch_of(&in_force.rules, &task, &completion.agent) })
}

/// Returns whether the completion should be retried later: the error has another cause, for example that the task's file cannot be read.
pub(crate) fn is_temporary(error: &ProjectError) -> bool {
    match error {
        ProjectError::Store(_)
        | ProjectError::InvalidRules(_)
        | ProjectError::Contended { .. }
        | ProjectError::Frozen { .. }
        | ProjectError::RestoreFailed { .. }
        | ProjectError::UnreadableTask { .. }
        | ProjectError::InvalidTests { .. }
        // The style in which a person wrote the task file; it may change.
        | ProjectError::Splice {
            refusal: SpliceRefusal::Shared { .. } | SpliceRefusal::Shape { .. } | SpliceRefusal::Layout { .. },
            ..
        }
        // HEAD has the task: an editor is replacing the file, or a person deleted it and may restore it.
        | ProjectError::NoTask { committed: Some(_), .. } => true,
        // Before the checks of a gate can run, a person must act.
        ProjectError::Unfit { code, .. } => matches!(
            *code,
            "rules_not_committed"
                | "program_untrusted"
                | "no_base_url"
                | "invalid_base_url"
                | "no_persons_version"
                | "tests_stopped"
        ),
        ProjectError::Git(error) => !matches!(error, GitError::BadPerson { .. } | GitError::BadPath { .. }),
        _ => false,
    }
}

/// Parses a completion file, and binds the completion to the visit that was found before. Fails with the reason of the refusal.
pub(crate) fn parse_inbox_file(
    file: &InboxFile,
    bytes: &[u8],
    id: &CompletionId,
) -> Result<Completion, Value> {
    let Some(syntax) = Syntax::of(&file.name) else {
        let message = "a completion file is named `*.yaml`, `*.json` or `*.md`, so that it is known how to read it";
        return Err(json!({"error": "unknown_suffix", "message": message}));
    };
    let mut completion = completion_file::parse(bytes, syntax, id).map_err(|faults| {
        let text = String::from_utf8_lossy(bytes);
        let first = faults.first().map(|fault| fault.message.as_str()).unwrap_or_default();
        let diagnostics =
            faults.iter().map(|fault| Diagnostic::from_fault(&file.name, &text, fault));
        json!({
            "error": "unreadable_completion",
            "message": format!("{first}\n\nMend the file and drop it into `.aof/inbox` again."),
            "diagnostics": diagnostics.map(|found| found.to_value()).collect::<Vec<_>>(),
        })
    })?;
    // A file has no session, even if it names one.
    note_session(&mut completion, None);
    bind_to_mark(&mut completion, file.visit.as_ref());
    Ok(completion)
}

/// Returns whether a file whose closing was not seen is whole: JSON has an end.
pub(crate) fn has_end(workspace: &Workspace, file: &InboxFile, id: &CompletionId) -> bool {
    Syntax::of(&file.name) == Some(Syntax::Json) && !is_partial(workspace, file, id)
}

/// Returns whether a file that was closed a moment ago is incomplete: a shell that writes with `>` and then `>>` closes it each time.
pub(crate) fn is_partial(workspace: &Workspace, file: &InboxFile, id: &CompletionId) -> bool {
    let bytes = match Inbox::at(&workspace.paths).peek(file) {
        Ok(Some(bytes)) => bytes,
        Err(StoreError::Unsteady { .. }) => return true,
        // Delivery reports the error.
        Ok(None) | Err(_) => return false,
    };
    let Ok(completion) = parse_inbox_file(file, &bytes, id) else { return true };
    // The body of a Markdown file is its last part.
    if Syntax::of(&file.name) == Some(Syntax::Markdown) && completion.content.body.is_none() {
        return true;
    }
    let has_blockers = completion.content.blockers.is_some()
        || completion.content.outcome.as_deref() == Some("complete");
    if completion.content.outcome.is_some() && completion.content.summary.is_some() && has_blockers
    {
        return false;
    }
    // Few gates allow these fields to be missing: the rules decide.
    let planned = plan_completion(workspace, &completion);
    matches!(
        planned,
        Err(ProjectError::Refused(
            Refusal::MissingOutcome { .. }
                | Refusal::MissingSummary { .. }
                | Refusal::MissingBlockers { .. }
        ))
    )
}
