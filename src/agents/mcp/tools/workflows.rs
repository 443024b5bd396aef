//! `aof_workflow_list`

use serde_json::{Value, json};

use super::tool::{Effect, Tool};
use crate::agents::mcp::arguments::Given;
use crate::agents::mcp::next_call::call;
use crate::agents::mcp::schema::Field;
use crate::agents::mcp::session::Project;
use crate::agents::mcp::tool_error::Trouble;
use crate::tasks::lookup::workflows_value;

pub(crate) const TOOL: Tool = Tool {
    name: "aof_workflow_list",
    title: "List workflows",
    description: "List the workflows that you may start with aof_workflow_start. `input` names the values that one begins with: null \
                  must be given in `context`, anything else is what it is unless you say.",
    arguments: &[],
    answer: &[("workflows", Field::List), ("nextCall", Field::MaybeObject)],
    effect: Effect::Looks,
    run,
};

#[expect(clippy::unnecessary_wraps, reason = "every tool is run in the same way")]
fn run(project: &Project<'_>, _: &Given) -> Result<Value, Trouble> {
    let mut workflows = workflows_value(project.rules(), project.viewer().as_ref());
    for workflow in workflows.as_array_mut().into_iter().flatten() {
        if let Value::Object(map) = workflow {
            map.shift_remove("hash");
            map.retain(|_, value| !value.is_null());
        }
    }
    let first = workflows.as_array().and_then(|all| all.first()).map(|first| first["name"].clone());
    let next = first.map(|name| {
        call("aof_workflow_start", json!({"workflow": name, "title": "<what is to be done>"}))
    });
    Ok(json!({"workflows": workflows, "nextCall": next}))
}
