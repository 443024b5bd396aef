//! The workflows that somebody may start.

use serde_json::{Value, json};

use crate::domain::{AgentId, Workflow};
use crate::rules::Rules;

/// Returns them in the order of the rules; without a viewer, all.
pub(crate) fn startable<'a>(
    rules: &'a Rules,
    viewer: Option<&'a AgentId>,
) -> impl Iterator<Item = &'a Workflow> {
    rules.project.workflows.iter().filter(move |workflow| rules.is_visible(workflow, viewer))
}

/// Returns them as `--json` shows them. `input` says what a task of the workflow begins with: a name that has no value must be
/// given one.
pub(crate) fn workflows_value(rules: &Rules, viewer: Option<&AgentId>) -> Value {
    startable(rules, viewer)
        .map(|workflow| {
            let gates: Vec<&str> = workflow.gates.iter().map(|gate| gate.id.as_str()).collect();
            json!({
                "name": workflow.name.as_str(),
                "description": workflow.description,
                "gates": gates,
                "input": workflow.context.input,
                "default": workflow.name == rules.project.default_workflow,
                "hash": rules.hash(&workflow.name),
            })
        })
        .collect()
}
