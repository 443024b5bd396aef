//! The record of an attempt at a visit: what a missing one means.

use super::VisitRun;
use crate::agents::runner::work_finder::VisitEnd;
use crate::storage::StoreError;
use crate::storage::runs::{Ruling, RunAttempt, RunEnding, RunRecord};

impl VisitRun<'_> {
    /// Reports a record that could not be written. A completion does not depend on it.
    pub(super) fn report_unkept(&self, kept: Result<(), StoreError>) {
        if let Err(fault) = kept {
            self.remark(format!("the record of the attempt could not be kept: {fault}"));
        }
    }
}

/// Records the completion that an answer became, or the reason why it does not count.
pub(super) fn note_ruling(
    record: &mut RunRecord,
    folder: &RunAttempt,
    ruling: Result<Ruling, String>,
) -> Result<(), StoreError> {
    if let Some(end) = &mut record.end {
        end.how = if ruling.is_ok() { RunEnding::Verdict } else { RunEnding::BadVerdict };
        end.reason = ruling.as_ref().err().cloned();
        end.verdict = ruling.ok();
    }
    folder.note(record)
}

/// Returns the end of a visit whose attempt has no record: it would not count, and another one would follow without end.
pub(super) fn without_record(fault: &StoreError) -> VisitEnd {
    let fix = "see that this file can be written, then run the command again";
    let fix = fault.hint().map_or_else(|| fix.to_owned(), |hint| hint.to_string());
    VisitEnd::Broken(format!("the record of the attempt could not be kept: {fault}; {fix}"))
}
