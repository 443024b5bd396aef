//! What stood in the folder of a project's own branch when a git was killed there: it was moved aside, and is a person's to look through.

use crate::domain::issue::some;
use crate::health::doctor::{Complaint, Patient, count};
use crate::project::branch_checkout::left_aside;

pub(crate) fn look(patient: &Patient<'_>) -> Vec<Complaint> {
    let folders: Vec<String> =
        left_aside(patient.workspace).iter().map(|folder| folder.display().to_string()).collect();
    let names: Vec<&str> = folders.iter().map(String::as_str).collect();
    let complaint = Complaint::wrong(
        "branch_set_aside",
        format!(
            "{} kept of a checkout that was killed: {}",
            count(names.len(), "folder is", "folders are"),
            some(&names)
        ),
        "a completion that was dropped in its `.aof/inbox` waits for ever, and edits in it are in no commit",
        "move what is yours to where it belongs, its `.aof/inbox` into `.aof/branch/.aof/inbox`, then remove the folder".to_owned(),
    );
    Some(complaint).filter(|_| !names.is_empty()).into_iter().collect()
}
