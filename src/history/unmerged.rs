//! What to say of task files that git left unmerged, and what solves each.

use std::collections::BTreeMap;

use super::merge_driver::settle::done_anew;
use super::merge_driver::unmerged_tasks::{Left, Remains, left_unmerged};
use crate::domain::issue::{Attention, some};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::system::shell::all_quoted;
use crate::tasks::headers::listing::Unreadable;

/// What kinds there are, in the order in which they are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Mixed,
    MixedAndTouched,
    Unknown,
    Waits,
    OneSided,
    WithoutTheirs,
    Settles,
    Disputed,
    Removed,
    Touched,
    Lawless,
}

/// Returns what of them needs attention. None is told of twice: markers that nobody has to solve are no reason any more why a file
/// cannot be read, and others are reason enough.
pub(crate) fn unmerged(
    workspace: &Workspace,
    unreadable: &mut Vec<Unreadable>,
) -> Result<Vec<Attention>, OpsError> {
    let mut files: BTreeMap<Kind, Vec<String>> = BTreeMap::new();
    let mut refused = Vec::new();
    for left in left_unmerged(workspace)? {
        let is_mixed = left.is_mixed();
        let Left { path, others, remains, .. } = left;
        let kind = match remains {
            _ if is_mixed => Kind::Mixed,
            Remains::OneSided(_) => Kind::OneSided,
            Remains::WithoutTheirs(_) => Kind::WithoutTheirs,
            Remains::Unmerged(merge) if merge.conflicts.is_empty() => Kind::Settles,
            Remains::Unmerged(_) => Kind::Disputed,
            Remains::Refused(own) => {
                unreadable.retain(|own| own.path != path && !others.contains(&own.path));
                let problem = format!("`{path}` is unmerged: {}", own.problem());
                refused.push(Attention { code: "task_unmerged", problem, fix: own.fix() });
                continue;
            }
            Remains::Removed => Kind::Removed,
            Remains::Touched => Kind::Touched,
            Remains::MixedAndTouched => Kind::MixedAndTouched,
            Remains::Unknown(_) => Kind::Unknown,
            Remains::Waits(_) => Kind::Waits,
            Remains::Lawless => Kind::Lawless,
        };
        if matches!(
            kind,
            Kind::Mixed | Kind::MixedAndTouched | Kind::Unknown | Kind::Waits | Kind::Settles
        ) {
            unreadable.retain(|own| own.path != path && !others.contains(&own.path));
        }
        if unreadable.iter().all(|own| own.path != path) {
            files.entry(kind).or_default().push(path);
        }
    }
    refused.extend(files.iter().map(|(kind, paths)| kind.attention(workspace, paths)));
    Ok(refused)
}

impl Kind {
    fn attention(self, workspace: &Workspace, paths: &[String]) -> Attention {
        let names: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
        let names = some(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let named = all_quoted(paths.iter().map(String::as_str));
        let one = paths.len() == 1;
        let (is, them) = if one { ("is", "it") } else { ("are", "them") };
        let (problem, fix) = match self {
            Self::Mixed => (
                format!(
                    "{names} {is} not merged: git took the file of one task for that of another, renamed"
                ),
                format!(
                    "`aof merge-driver --settle` brings {them} right; whoever adds {them} before loses what was done with the other task"
                ),
            ),
            Self::MixedAndTouched => (
                format!(
                    "{names} {is} not merged: git took the file of one task for that of another, renamed, and somebody has changed \
                     {them} by hand since"
                ),
                format!(
                    "keep what you wrote elsewhere, take {them} away with `rm {named}`, and settle again: `aof merge-driver --settle`"
                ),
            ),
            Self::Unknown => (
                format!(
                    "{names} {is} not merged: git took the file of one task for that of another, renamed, and does not tell what the two \
                     were"
                ),
                paths.first().map(|path| done_anew(workspace, path)).unwrap_or_default(),
            ),
            Self::Waits => (
                format!(
                    "{names} {is} not merged: git took the file of another task for {them}, renamed, which has to be solved first"
                ),
                "solve that one, and settle again: `aof merge-driver --settle`".to_owned(),
            ),
            Self::OneSided => (
                format!(
                    "{names} {} as one side left {them}, and nothing of what the other one did",
                    if one { "is staged" } else { "are staged" }
                ),
                format!(
                    "`aof merge-driver --settle` merges {them}; whoever commits {them} now takes back what the other side did"
                ),
            ),
            Self::WithoutTheirs => (
                format!(
                    "{names} {is} unmerged and {} nothing of what comes in: git did not run `aof`",
                    if one { "has" } else { "have" }
                ),
                format!(
                    "`aof merge-driver --settle` merges {them}; whoever adds {them} now takes back what the other side did. \
                     See that git finds `aof` in its `PATH`: `aof doctor`"
                ),
            ),
            Self::Settles => (
                format!("{names} {is} unmerged, and nobody has to decide anything"),
                format!("`aof merge-driver --settle` merges {them} by meaning and stages {them}"),
            ),
            Self::Disputed => (
                format!("{names} {is} unmerged"),
                format!(
                    "`aof merge-driver --settle` merges {them} by meaning, and marks what you have to decide"
                ),
            ),
            Self::Removed => (
                format!("{names}: one side changed {them}, and the other removed {them}"),
                format!(
                    "keep {them} with `git add {named}`, or let {them} go with `git rm {named}`; a history that goes is found by \
                     `aof verify`"
                ),
            ),
            Self::Touched => (
                format!("{names} {is} unmerged, and somebody has changed {them} by hand"),
                format!(
                    "when all is solved, `git add {named}`; or begin anew with `git checkout --merge {named}`"
                ),
            ),
            Self::Lawless => (
                format!(
                    "{names} {is} unmerged, and the branch that is merged into has no rules that are valid"
                ),
                format!("solve {them} by hand, then `git add {named}`"),
            ),
        };
        Attention { code: "task_unmerged", problem, fix }
    }
}
