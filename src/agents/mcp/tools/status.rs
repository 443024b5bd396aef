//! `aof_status`

use serde_json::{Value, json};

use super::tool::{Effect, Tool};
use crate::agents::mcp::arguments::Given;
use crate::agents::mcp::schema::Field;
use crate::agents::mcp::session::Project;
use crate::agents::mcp::tool_error::{Trouble, in_tools};
use crate::dispatch::next::claimed;
use crate::domain::RoleId;
use crate::health::status::overview::{overview, overview_value};
use crate::storage::watcher_presence::is_watched;

/// So many points are told before it is enough.
const FEW: usize = 20;

pub(crate) const TOOL: Tool = Tool {
    name: "aof_status",
    title: "Project at a glance",
    description: "Look at the project: who you are, what you have, how many tasks there are by status, and what needs somebody's \
                  attention.",
    arguments: &[],
    answer: &[
        ("project", Field::MaybeText),
        ("branch", Field::MaybeText),
        ("remote", Field::MaybeObject),
        ("agent", Field::MaybeText),
        ("roles", Field::List),
        ("current", Field::List),
        ("counts", Field::Object),
        ("attention", Field::List),
    ],
    effect: Effect::Looks,
    run,
};

fn run(project: &Project<'_>, _: &Given) -> Result<Value, Trouble> {
    let mut all = overview(&project.workspace, is_watched(&project.workspace.paths))?;
    let points = all.attention.len();
    all.attention.truncate(FEW);
    for point in &mut all.attention {
        point.fix = in_tools(&point.fix);
    }
    let mut value = overview_value(&all);
    let agent = project.viewer();
    let roles: Vec<&RoleId> =
        agent.iter().flat_map(|agent| project.rules().org.roles_of(agent)).collect();
    let claims =
        agent.iter().flat_map(|agent| claimed(&project.workspace, &project.in_force, agent, None));
    value["agent"] = json!(agent.as_ref().map(ToString::to_string));
    value["roles"] = roles.iter().map(ToString::to_string).collect();
    value["current"] = claims
        .map(|claim| json!({"task": claim.ticket.to_string(), "title": claim.title}))
        .collect();
    if points > FEW {
        value["attentionTotal"] = json!(points);
    }
    Ok(value)
}
