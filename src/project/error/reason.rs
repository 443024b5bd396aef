//! An error as programs read it.

use serde_json::{Map, Value, json};

use super::ProjectError;
use crate::domain::ImportRemark;
use crate::files::diagnostic::Diagnostic;
use crate::storage::StoreError;

/// Returns an error as the file beside a refused one, and `--json`, show it.
pub(crate) fn reason_of(error: &ProjectError) -> Value {
    let mut map = Map::new();
    map.insert("error".to_owned(), json!(error.code()));
    if let ProjectError::Refused(refusal) = error {
        map.insert("message".to_owned(), json!(refusal.message()));
        map.extend(refusal.fields());
    } else {
        let fix = error.fix().map(|fix| format!("\n\n{fix}")).unwrap_or_default();
        map.insert("message".to_owned(), json!(format!("{}{fix}", error.problem())));
    }
    if let ProjectError::Frozen { id, path, fields, .. } = error {
        map.insert("task".to_owned(), json!(id.as_str()));
        map.insert("path".to_owned(), json!(path.as_str()));
        map.insert("fields".to_owned(), json!(fields));
    }
    if let ProjectError::NoTask { id, .. }
    | ProjectError::UnreadableTask { id, .. }
    | ProjectError::Restless { id }
    | ProjectError::Store(
        StoreError::TaskNotFound { id } | StoreError::TaskDoubled { id, .. },
    ) = error
    {
        map.insert("task".to_owned(), json!(id.as_str()));
    }
    match error {
        ProjectError::UnreadableTask { path, .. } => {
            map.insert("path".to_owned(), json!(path.as_str()));
        }
        ProjectError::Store(StoreError::TaskDoubled { paths, .. }) => {
            map.insert("paths".to_owned(), paths.iter().map(|path| json!(path.as_str())).collect());
        }
        _ => {}
    }
    if let ProjectError::Unknown { given, known, .. } = error {
        map.insert("given".to_owned(), json!(given));
        map.insert("known".to_owned(), json!(known));
    }
    if let ProjectError::LossyImport { lost } = error {
        map.insert("lost".to_owned(), lost.iter().map(ImportRemark::to_value).collect());
    }
    if let ProjectError::UnreadableTask { diagnostics, .. }
    | ProjectError::InvalidRules(diagnostics)
    | ProjectError::InvalidImport { diagnostics, .. } = error
    {
        map.insert(
            "diagnostics".to_owned(),
            diagnostics.iter().map(Diagnostic::to_value).collect(),
        );
    }
    Value::Object(map)
}
