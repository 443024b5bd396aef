//! Tasks that came to their gate under other rules than those in force.

use crate::health::doctor::{Complaint, Patient, count};

pub(crate) fn look(patient: &Patient<'_>) -> Vec<Complaint> {
    let drifted = patient.overview.drifted;
    let complaint = Complaint::advice(
        "rules_drifted",
        format!("{} to a gate under earlier rules", count(drifted, "task came", "tasks came")),
        "a task follows the rules in force: what was promised when it came there may be otherwise by now",
        "nothing, if the change was meant; `aof why ID` says where a task can go now".to_owned(),
    );
    Some(complaint).filter(|_| drifted > 0).into_iter().collect()
}
