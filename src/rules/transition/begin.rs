//! What a task begins with.

use crate::domain::{Map, Workflow};
use crate::rules::refusal::Refusal;

/// Returns the input of a new task: what was said of it, and the workflow's defaults for the rest.
pub fn begin(workflow: &Workflow, given: &Map) -> Result<Map, Refusal> {
    let Some(declared) = &workflow.context.input else { return Ok(given.clone()) };
    let unknown: Vec<String> =
        given.keys().filter(|name| !declared.contains_key(*name)).cloned().collect();
    if !unknown.is_empty() {
        let known = declared.keys().cloned().collect();
        return Err(Refusal::UnknownInput {
            workflow: workflow.name.clone(),
            given: unknown,
            known,
        });
    }
    let mut input = Map::new();
    let mut missing = Vec::new();
    for (name, default) in declared {
        let value = given.get(name).unwrap_or(default);
        if value.is_null() {
            missing.push(name.clone());
        } else {
            input.insert(name.clone(), value.clone());
        }
    }
    if missing.is_empty() {
        Ok(input)
    } else {
        Err(Refusal::MissingInput { workflow: workflow.name.clone(), missing })
    }
}
