//! Completion files that wait: how many, and what keeps which of them back. That is judged as when they are taken: what they say is
//! rehearsed. Nothing is held meanwhile, so no watcher passes one over for being looked at.

use crate::domain::CompletionId;
use crate::domain::issue::some;
use crate::files::completion_file;
use crate::files::completion_file::Syntax;
use crate::project::error::error::OpsError;
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;
use crate::storage::inbox::Meant;
use crate::storage::inbox::{FileClass, Witnessed};
use crate::storage::inbox::{InboxFile, InboxFolder, Leftover};
use crate::storage::random::ulid;
use crate::storage::{Inbox, StoreError, journal};
use crate::tasks::apply::change::Planned;
use crate::tasks::complete::would_complete;
use crate::tasks::inbox::intended_visit::bind;
use crate::tasks::inbox::kept_back::is_passing;

/// So many are judged: of more, whoever takes them says what keeps them back.
const MOST: usize = 50;

/// A file that is kept back.
struct KeptBack {
    name: String,
    /// Whether it is among those that somebody has taken: its name is longer there.
    is_taken: bool,
    error: OpsError,
}

/// A file that waits.
struct File {
    item: InboxFile,
    pub(crate) name: String,
    /// The one that it was taken under.
    id: Option<CompletionId>,
    /// The visit that it was found to mean.
    meant: Option<Meant>,
}

impl File {
    fn kept_back(self, error: OpsError) -> KeptBack {
        KeptBack { is_taken: self.item.shelf == InboxFolder::Taken, name: self.name, error }
    }
}

/// Returns how many files wait in the inbox.
pub(crate) fn pending(workspace: &Workspace) -> Result<usize, OpsError> {
    Ok(files(workspace)?.len())
}

/// Says which completion files wait, and for what, or why nobody can tell. While nothing can be committed all wait for that.
pub(crate) fn waiting(workspace: &Workspace, is_halted: bool) -> Vec<Issue> {
    told(workspace, is_halted).unwrap_or_else(|error| {
        let fix = error.fix().unwrap_or_else(|| "make it a folder that you may read".to_owned());
        vec![Issue::new("inbox_unreadable", error.to_string(), fix)]
    })
}

fn told(workspace: &Workspace, is_halted: bool) -> Result<Vec<Issue>, OpsError> {
    let (count, all) =
        if is_halted { (pending(workspace)?, Vec::new()) } else { kept_back(workspace)? };
    let mut attention = Vec::new();
    let free = count - all.len();
    if free > 0 {
        let taken = if is_halted {
            "nothing can be committed now; once it can, `aof watch` takes them, or `aof watch --once`"
        } else {
            "`aof watch` takes them as they come; `aof watch --once` takes them now, and says what keeps one back"
        };
        let problem = format!("{free} {}", waits(free));
        attention.push(Issue::new("inbox_waiting", problem, taken));
    }
    let mut troubles: Vec<(String, Vec<KeptBack>)> = Vec::new();
    for kept in all {
        let problem = kept.error.problem();
        match troubles.iter_mut().find(|(known, _)| *known == problem) {
            Some((_, others)) => others.push(kept),
            None => troubles.push((problem, vec![kept])),
        }
    }
    attention.extend(troubles.iter().map(|(problem, kept)| {
        let names: Vec<&str> = kept.iter().map(|kept| kept.name.as_str()).collect();
        let is_taken = kept.iter().any(|kept| kept.is_taken);
        let back =
            if is_taken { "; to take one back, remove it from `.aof/inbox/.taken`" } else { "" };
        Issue::new(
            "inbox_kept_back",
            format!("{} {} ({}): {problem}", names.len(), waits(names.len()), some(&names)),
            format!(
                "{}; `aof watch` goes on with it then, or `aof watch --once`{back}",
                fix(&kept[0].error)
            ),
        )
    }));
    Ok(attention)
}

fn waits(count: usize) -> &'static str {
    if count == 1 {
        "completion file waits in `.aof/inbox`"
    } else {
        "completion files wait in `.aof/inbox`"
    }
}

/// No command is run again here.
fn fix(error: &OpsError) -> String {
    match error {
        OpsError::Store(StoreError::Exists { path }) => format!("move `{}` away", path.display()),
        error => error.fix().unwrap_or_else(|| "mend that".to_owned()),
    }
}

/// Returns how many files wait in the inbox, and those that nobody could take now.
fn kept_back(workspace: &Workspace) -> Result<(usize, Vec<KeptBack>), OpsError> {
    let files = files(workspace)?;
    let count = files.len();
    let mut all = Vec::new();
    for file in files.into_iter().take(MOST) {
        // Who takes one finishes first what was interrupted; that is not for whoever only looks.
        if journal::is_pending(&workspace.paths) {
            break;
        }
        let rehearsed = planned(workspace, &file)
            .and_then(|planned| planned.map_or(Ok(()), |planned| planned.rehearse(workspace)));
        match rehearsed {
            Err(error) if is_passing(&error) => all.push(file.kept_back(error)),
            _ => {}
        }
    }
    Ok((count, all))
}

fn files(workspace: &Workspace) -> Result<Vec<File>, OpsError> {
    let inbox = Inbox::of(&workspace.paths);
    let fresh = |item: InboxFile| File {
        name: item.name.to_string_lossy().into_owned(),
        item,
        id: None,
        meant: None,
    };
    let taken = inbox.taken()?.into_iter().map(|leftover| match leftover {
        Leftover::Taken(taken) => {
            let (item, id) = (taken.item().clone(), Some(taken.id.clone()));
            File { item, name: taken.name, id, meant: taken.meant }
        }
        Leftover::Stranger(item) => fresh(item),
    });
    let dropped = inbox.scan(workspace.clock()(), &|_| Witnessed::Renamed)?.into_iter();
    let dropped = dropped
        .filter(|candidate| candidate.class != FileClass::Ignored)
        .map(|candidate| fresh(candidate.item));
    Ok(taken.chain(dropped).collect())
}

/// Returns what a file would come to, or what keeps it back; nothing where it is to be refused anyway.
fn planned(workspace: &Workspace, file: &File) -> Result<Option<Planned>, OpsError> {
    let Some(syntax) = Syntax::of(&file.name) else { return Ok(None) };
    let bytes = match Inbox::of(&workspace.paths).peek(&file.item) {
        Ok(Some(bytes)) => bytes,
        Ok(None) | Err(StoreError::WrongKind { .. } | StoreError::TooLarge { .. }) => {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let id = match &file.id {
        Some(id) => id.clone(),
        None => ulid(workspace.clock()())?,
    };
    let Ok(mut completion) = completion_file::parse(&bytes, syntax, &id) else { return Ok(None) };
    bind(&mut completion, file.meant.as_ref());
    would_complete(workspace, &completion).map(Some)
}
