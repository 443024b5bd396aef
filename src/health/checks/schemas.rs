//! Schemas for editors that are missing, or of another version of this program.

use crate::health::doctor::{Complaint, Patient};
use crate::storage::editor_schemas;

pub(crate) fn look(patient: &Patient<'_>) -> Vec<Complaint> {
    let paths = &patient.workspace.paths;
    if editor_schemas::are_current(paths.root()) {
        return Vec::new();
    }
    let complaint = Complaint::advice(
        "schemas_missing",
        "`.aof/schema` does not have the JSON Schemas of this version of aof".to_owned(),
        "your editor cannot check and complete project.yaml and org.yaml with them",
        "any command that writes in `.aof/` makes them, as `aof doctor --fix` does".to_owned(),
    );
    vec![complaint.cured_by(|workspace| Ok(editor_schemas::keep_current(workspace.paths.root())?))]
}
