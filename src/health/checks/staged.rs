//! What git's index says of task files, where HEAD says otherwise: a person's next `git commit` would take a step back, or bring one in.

use crate::domain::issue::some;
use crate::health::doctor::{Complaint, Patient, count};
use crate::history::stale_index::{Apart, catch_up};
use crate::project::error::error::OpsError;
use crate::system::shell::all_quoted;

pub(crate) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let apart = Apart::read(patient.workspace)?;
    let mut complaints = Vec::new();
    if let Some((problem, fix)) = apart.told() {
        let why = "the next `git commit` would take back what was committed since";
        let complaint = Complaint::wrong("index_behind", problem, why, fix);
        complaints.push(complaint.cured_by(|workspace| catch_up(workspace).map(drop)));
    }
    if let Some((problem, fix)) = apart.taken_out_told() {
        let why = "the next `git commit` would take it out of git, and a task that was taken up never leaves its history";
        complaints.push(Complaint::wrong("task_taken_out", problem, why, fix));
    }
    let names: Vec<&str> = apart.staged.iter().map(|file| file.path.as_str()).collect();
    if !names.is_empty() {
        complaints.push(Complaint::advice(
            "task_staged",
            format!(
                "{} staged and not committed: {}",
                count(names.len(), "task file is", "task files are"),
                some(&names)
            ),
            "a command that changes one that is staged otherwise than it stands is refused, so that what you staged is not lost",
            format!("commit it, or take it back with `git restore --staged {}`", all_quoted(names.iter().copied())),
        ));
    }
    Ok(complaints)
}
