//! Completions that were refused, and that nobody has looked at.

use super::{Complaint, Patient, count};
use crate::ops::attention::some;
use crate::ops::error::OpsError;
use crate::store::Inbox;

pub(super) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let names = Inbox::of(&patient.workspace.paths).refused()?;
    let shown: Vec<&str> = names.iter().map(String::as_str).collect();
    let complaint = Complaint::wrong(
        "refused_waiting",
        format!(
            "{} in `.aof/refused`: {}",
            count(names.len(), "refused completion waits", "refused completions wait"),
            some(&shown)
        ),
        "somebody did work that did not count, and may not know it",
        "`NAME.reason.json` beside each says why; mend it and drop it into `.aof/inbox` again, or remove both files"
            .to_owned(),
    );
    Ok(Some(complaint).filter(|_| !names.is_empty()).into_iter().collect())
}
