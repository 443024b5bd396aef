//! Companions that stayed where they were when their task was finished: the command that finished it named them, once.

use super::attention::Attention;
use super::error::OpsError;
use super::workspace::Workspace;
use crate::format::shell::all_quoted;
use crate::store::intent;
use crate::store::stayed::Stayed;

/// Says which ones, and how the first of them goes where its task is.
pub(super) fn stayed(
    workspace: &Workspace,
    found: &[Stayed],
    naming: fn(&[&str]) -> String,
) -> Result<Option<Attention>, OpsError> {
    // What is on its way into the archive may be looked at in between.
    let Some(first) = found.first().filter(|_| !intent::is_pending(&workspace.paths)) else { return Ok(None) };
    let names: Vec<String> = found.iter().map(|stayed| stayed.path.as_str().escape_debug().to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let stayed = match &names[..] {
        [_] => "file stayed behind when its task was finished",
        _ => "files stayed behind when their tasks were finished",
    };
    Ok(Some(Attention {
        code: "companions_stayed",
        problem: format!("{} {stayed}: {}", names.len(), naming(&names)),
        fix: fix(workspace, first)?,
    }))
}

fn fix(workspace: &Workspace, Stayed { path, task }: &Stayed) -> Result<String, OpsError> {
    let to = task.sibling(path.name())?;
    let head = workspace.repository.look()?.commit;
    let blob = head.map(|head| workspace.repository.blob_id(head, path.as_str())).transpose()?;
    let named = all_quoted([path.as_str(), to.as_str()]);
    Ok(match blob.flatten() {
        Some(_) => format!("move it beside its task (`git mv {named}`) or remove it, and commit that"),
        None => format!("move it beside its task (`mv {named}`), or remove it"),
    })
}
