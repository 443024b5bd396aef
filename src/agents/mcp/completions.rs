//! Completion of the arguments of prompts and resource templates: ids, gates, roles, outcomes.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::complete_tool::outcomes_of_roles;
use super::json_rpc::{INVALID_PARAMS, RpcError, RpcRequest};
use super::open_project::{OpenProject, ServerSetup};
use super::resources::is_referable;
use crate::domain::{Map, Outcome};
use crate::tasks::headers::list::{ListRequest, Sort, list};

/// The largest number of values that the protocol allows in one answer.
const MOST_VALUES: usize = 100;

/// Returns the values of an argument that begin with the typed text, in any case; ids also without their prefix.
pub(crate) fn complete_argument(
    setup: &ServerSetup,
    request: &RpcRequest,
) -> Result<Value, RpcError> {
    let (reference, argument) = (request.object("ref")?, request.object("argument")?);
    let text = |map: &Map, key: &str| map.get(key)?.as_str().map(str::to_owned);
    let named = text(&reference, "uri").or_else(|| text(&reference, "name"));
    if !named.as_deref().is_some_and(|named| is_referable(setup, named)) {
        let problem = "`ref` names neither a prompt nor a resource template of this server";
        return Err(RpcError::new(INVALID_PARAMS, problem));
    }
    let Some((name, typed)) = text(&argument, "name").zip(text(&argument, "value")) else {
        return Err(RpcError::new(INVALID_PARAMS, "`argument` needs the texts `name` and `value`"));
    };
    // Without a project, or rules in force, the list is empty; a call of the tool reports the reason.
    let known = setup.open("completion").map(|project| values(&project, &name)).unwrap_or_default();
    let typed = typed.to_lowercase();
    let begins = |value: &String| {
        let value = value.to_lowercase();
        let is_task = matches!(name.as_str(), "task" | "id");
        let bare = value.split_once('-').filter(|_| is_task).map(|(_, bare)| bare.to_owned());
        value.starts_with(&typed) || bare.is_some_and(|bare| bare.starts_with(&typed))
    };
    let mut found: Vec<String> = known.into_iter().filter(begins).collect();
    let total = found.len();
    found.truncate(MOST_VALUES);
    let has_more = total > found.len();
    Ok(json!({"completion": {"values": found, "total": total, "hasMore": has_more}}))
}

/// Returns all values of an argument, in the order of the project.
fn values(project: &OpenProject<'_>, argument: &str) -> Vec<String> {
    let rules = project.rules();
    let gates = || rules.project.workflows.iter().flat_map(|workflow| &workflow.gates);
    let mut all: Vec<String> = match argument {
        "task" | "id" => {
            let tasks = list(
                &project.workspace,
                &project.in_force,
                &ListRequest::default(),
                Sort::Priority,
            );
            tasks.tasks.iter().map(|(task, _)| task.id.to_string()).collect()
        }
        "gate" => gates().map(|gate| gate.id.to_string()).collect(),
        "role" => rules.org.roles.iter().map(|(role, _)| role.to_string()).collect(),
        "outcome" => outcomes_of_roles(project).0.iter().map(Outcome::to_string).collect(),
        _ => Vec::new(),
    };
    let mut seen = HashSet::new();
    all.retain(|value| seen.insert(value.clone()));
    all
}
