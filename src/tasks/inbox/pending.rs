//! Completion files that wait, and what keeps which of them back; those that were refused, and those that are still being written.
//! Nothing is held meanwhile, so no watcher passes one over for being looked at.

use crate::domain::project::some;
use crate::project::error::ProjectError;
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;
use crate::storage::inbox::{FileClass, InboxFile, Witnessed};
use crate::storage::random::ulid;
use crate::storage::{Inbox, StoreError, journal};
use crate::tasks::complete::would_complete;
use crate::tasks::inbox::deliver::{completion_in, is_passing};

/// So many are judged: of more, whoever takes them says what keeps them back.
const MOST: usize = 50;

/// Returns how many files wait in the inbox.
pub(crate) fn pending(workspace: &Workspace) -> Result<usize, ProjectError> {
    Ok(files(workspace)?.len())
}

/// Says which completion files wait, and for what, or why nobody can tell. While nothing can be committed all wait for that.
pub(crate) fn waiting(workspace: &Workspace, is_halted: bool) -> Vec<Issue> {
    match files(workspace) {
        Ok(files) => issues(workspace, files, is_halted),
        Err(error) => {
            let fix =
                error.fix().unwrap_or_else(|| "make it a folder that you may read".to_owned());
            vec![Issue::new("inbox_unreadable", error.to_string(), fix)]
        }
    }
}

/// What keeps files back, and what to do about it.
struct InboxObstacle {
    problem: String,
    fix: String,
    names: Vec<String>,
    is_taken: bool,
}

fn issues(workspace: &Workspace, files: Vec<InboxFile>, is_halted: bool) -> Vec<Issue> {
    let mut free = files.len();
    let mut obstacles: Vec<InboxObstacle> = Vec::new();
    for file in files.into_iter().take(if is_halted { 0 } else { MOST }) {
        // Who takes one finishes first what was interrupted; that is not for whoever only looks.
        if journal::is_pending(&workspace.paths) {
            break;
        }
        let Err(error) = rehearse(workspace, &file) else { continue };
        if !is_passing(&error) {
            continue;
        }
        free -= 1;
        let problem = error.problem();
        let known = obstacles.iter_mut().find(|known| known.problem == problem);
        if let Some(known) = known {
            known.is_taken |= file.is_taken();
            known.names.push(file.name);
        } else {
            let (fix, is_taken) = (fix(&error), file.is_taken());
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
        issues.push(Issue::new("inbox_waiting", waits(free), fix));
    }
    for InboxObstacle { problem, fix, names, is_taken } in &obstacles {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let back =
            if *is_taken { "; to take one back, remove it from `.aof/inbox/.taken`" } else { "" };
        issues.push(Issue::new(
            "inbox_kept_back",
            format!("{} ({}): {problem}", waits(names.len()), some(&names)),
            format!("{fix}; `aof watch` goes on with it then, or `aof watch --once`{back}"),
        ));
    }
    issues
}

fn waits(count: usize) -> String {
    let waits = if count == 1 { "file waits" } else { "files wait" };
    format!("{count} completion {waits} in `.aof/inbox`")
}

/// No command is run again here.
fn fix(error: &ProjectError) -> String {
    match error {
        ProjectError::Store(StoreError::Exists { path }) => {
            format!("move `{}` away", path.display())
        }
        error => error.fix().unwrap_or_else(|| "mend that".to_owned()),
    }
}

/// Returns what waits: what was taken, then what lies in the inbox.
fn files(workspace: &Workspace) -> Result<Vec<InboxFile>, ProjectError> {
    let inbox = Inbox::of(&workspace.paths);
    let mut files = inbox.taken()?;
    let candidates = inbox.scan(workspace.clock()(), &|_| Witnessed::Renamed)?.into_iter();
    let dropped = candidates.filter(|candidate| candidate.class != FileClass::Ignored);
    files.extend(dropped.map(|candidate| candidate.file));
    Ok(files)
}

/// Judges a file as when it is taken. One that is to be refused meets no error here.
fn rehearse(workspace: &Workspace, file: &InboxFile) -> Result<(), ProjectError> {
    let bytes = match Inbox::of(&workspace.paths).peek(file) {
        Ok(Some(bytes)) => bytes,
        Ok(None) | Err(StoreError::WrongKind { .. } | StoreError::TooLarge { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let id = match &file.id {
        Some(id) => id.clone(),
        None => ulid(workspace.clock()())?,
    };
    match completion_in(file, &bytes, &id) {
        Ok(completion) => would_complete(workspace, &completion)?.rehearse(workspace),
        Err(_) => Ok(()),
    }
}

/// Says how many completions were refused that nobody has looked at, and names the newest.
pub(crate) fn refused(workspace: &Workspace) -> Result<Option<Issue>, ProjectError> {
    let names = Inbox::of(&workspace.paths).refused()?;
    if names.is_empty() {
        return Ok(None);
    }
    let shown: Vec<&str> = names.iter().map(String::as_str).collect();
    let wait = if names.len() == 1 { "completion waits" } else { "completions wait" };
    Ok(Some(Issue::new(
        "refused_waiting",
        format!("{} refused {wait} in `.aof/refused`: {}", names.len(), some(&shown)),
        "`NAME.reason.json` beside each says why; mend it and drop it into `.aof/inbox` again, or remove both files",
    )))
}

/// Returns the names of files that are still being written, each with the error that `aof watch --once` reports.
pub(crate) fn unclosed(workspace: &Workspace) -> Result<Vec<(String, ProjectError)>, ProjectError> {
    let dropped = Inbox::of(&workspace.paths).scan(workspace.clock()(), &|_| Witnessed::Nothing)?;
    let growing = dropped.into_iter().filter(|candidate| candidate.class == FileClass::Growing);
    let unclosed = |name| {
        let error = ProjectError::Unfit {
            code: "still_written",
            problem: "it was written to within the last two seconds: half a file is never read"
                .to_owned(),
            fix: "run this again; `aof watch` takes it by itself".to_owned(),
        };
        (name, error)
    };
    Ok(growing.map(|candidate| unclosed(candidate.file.name)).collect())
}
