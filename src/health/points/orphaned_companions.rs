//! Companions that stayed where they were when their task was finished, which the command that finished it named once, or when a person
//! moved it.

use crate::domain::issue::Attention;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::journal;
use crate::storage::layout::is_archived;
use crate::storage::tasks::orphaned_companions::Stayed;
use crate::system::shell::all_quoted;

/// Says which ones, and how the first of each kind goes where its task is.
pub(crate) fn stayed(
    workspace: &Workspace,
    found: &[Stayed],
    naming: fn(&[&str]) -> String,
) -> Result<Vec<Attention>, OpsError> {
    // What is on its way into the archive may be looked at in between.
    if journal::is_pending(&workspace.paths) {
        return Ok(Vec::new());
    }
    let (finished, moved): (Vec<_>, Vec<_>) =
        found.iter().partition(|stayed| is_archived(&stayed.task));
    let mut points = Vec::new();
    for (list, one, many) in
        [(finished, "was finished", "were finished"), (moved, "was moved", "were moved")]
    {
        let Some(first) = list.first() else { continue };
        let names: Vec<String> =
            list.iter().map(|stayed| stayed.path.as_str().escape_debug().to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let stayed = match &names[..] {
            [_] => format!("file stayed behind when its task {one}"),
            _ => format!("files stayed behind when their tasks {many}"),
        };
        points.push(Attention {
            code: "companions_stayed",
            problem: format!("{} {stayed}: {}", names.len(), naming(&names)),
            fix: fix(workspace, first)?,
        });
    }
    Ok(points)
}

fn fix(workspace: &Workspace, Stayed { path, task }: &Stayed) -> Result<String, OpsError> {
    let to = task.sibling(path.name())?;
    let head = workspace.repository.look()?.commit;
    let blob = head.map(|head| workspace.repository.blob_id(head, path.as_str())).transpose()?;
    let named = all_quoted([path.as_str(), to.as_str()]);
    Ok(match blob.flatten() {
        Some(_) => {
            format!("move it beside its task (`git mv {named}`) or remove it, and commit that")
        }
        None => format!("move it beside its task (`mv {named}`), or remove it"),
    })
}
