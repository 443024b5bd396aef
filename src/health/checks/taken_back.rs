//! Steps that a git which was overtaken took off the branch.

use crate::git::GitError;
use crate::health::doctor::{Complaint, Patient};
use crate::history::lost_steps::{is_untouched, put_back, taken_back, told};
use crate::project::error::error::OpsError;

pub(crate) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let workspace = patient.workspace;
    let head = match workspace.head_now() {
        Err(GitError::Waiting { .. }) => return Ok(Vec::new()),
        head => head?,
    };
    let complaints = taken_back(workspace, &head)?.into_iter().map(|one| {
        let point = told(workspace, &one, &head);
        let why = "what was acknowledged is on no branch, and git forgets it in time";
        let complaint = Complaint::wrong(point.code, point.problem, why, point.fix);
        if is_untouched(&one, &head) {
            complaint.cured_by(|workspace| put_back(workspace).map(drop))
        } else {
            complaint
        }
    });
    Ok(complaints.collect())
}
