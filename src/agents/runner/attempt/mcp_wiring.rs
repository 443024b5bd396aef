//! How an agent reaches aof's MCP server: whether it does, and the file that tells its client of it.

use serde_json::json;

use super::answer::Mcp;
use super::launch::Facts;
use crate::domain::{Launch, Placeholder, Preset};

/// Returns whether the agent has aof's tools.
pub(crate) fn mcp(launch: &Launch) -> Mcp {
    let mentions = |word: &String| {
        Placeholder::names(word).any(|name| name == Placeholder::McpConfig.as_str())
    };
    let wired = match launch.preset {
        Preset::Claude | Preset::Codex => {
            launch.command.is_empty() || launch.command.iter().any(mentions)
        }
        Preset::Gemini | Preset::Opencode | Preset::Command => launch.command.iter().any(mentions),
    };
    if wired { Mcp::Wired } else { Mcp::Absent }
}

/// Returns what tells an MCP client of aof's server, as this agent.
pub(crate) fn mcp_config(facts: &Facts) -> String {
    let (aof, project) = (facts.aof.to_string_lossy(), facts.project.to_string_lossy());
    let server = json!({
        "command": aof,
        "args": ["-C", project, "mcp"],
        "env": {
            "AOF_AGENT": facts.agent.as_str(),
            "AOF_TASK": facts.ticket.to_string(),
            "AOF_RUN": facts.run,
        },
        // Claude Code hides the tools of other servers until the model searches for them, and the prompt names one of these.
        "alwaysLoad": true,
    });
    format!("{:#}\n", json!({"mcpServers": {"aof": server}}))
}
