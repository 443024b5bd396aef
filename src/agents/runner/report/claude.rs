//! Claude Code: the object of `--output-format json`, or the last `result` of `stream-json`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::agent_report::{Report, amount, objects, owned_text, sum, text};
use super::trouble::{Trouble, TroubleKind, number};
use crate::agents::runner::output::{RunOutput, plain_text};
use crate::domain::listed;
use crate::storage::runs::{AgentReport, TokenCounts};

const TOOL: &str = "claude";

/// Returns what Claude Code reported. An error is one whatever its `subtype` says, and its text is not the agent's.
pub(crate) fn claude(output: &RunOutput<'_>) -> Report {
    let events = objects(output.stdout);
    let last = |kind: &str| events.iter().rev().find(|event| event["type"] == kind);
    let Some(result) = last("result") else {
        let remark =
            "no result that could be read; start it with `--output-format json` or `stream-json`";
        return Report::default().without_format(TOOL, output, remark);
    };
    let is_success = text(&result["subtype"]).is_none_or(|subtype| subtype == "success");
    let failed = result["is_error"] == true || !is_success;
    let message = owned_text(&result["result"]).unwrap_or_default();
    // In a stream, the message that tells of an error names its kind.
    let name = last("assistant").and_then(|message| text(&message["error"]));
    let usage = result["usage"].is_object().then(|| &result["usage"]);
    let input = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    let models = result["modelUsage"].as_object();
    let busiest =
        models.and_then(|all| all.iter().max_by_key(|(_, usage)| sum(usage, &["outputTokens"])));
    let first_model = || last("system").and_then(|start| text(&start["model"]));
    Report {
        trouble: failed.then(|| trouble(result, name, &message)),
        text: if failed { String::new() } else { message },
        structured: result["structured_output"].as_object().filter(|_| !failed).cloned(),
        told: AgentReport {
            session: owned_text(&result["session_id"]),
            cost_usd: amount(&result["total_cost_usd"]),
            tokens: usage.map(|usage| TokenCounts {
                input: sum(usage, &input),
                output: sum(usage, &["output_tokens"]),
            }),
            model: busiest.map(|(name, _)| name.as_str()).or_else(first_model).map(plain_text),
        },
        remarks: denials(&result["permission_denials"]).into_iter().collect(),
    }
}

fn trouble(result: &Value, name: Option<&str>, message: &str) -> Trouble {
    let subtype = result["subtype"].as_str().unwrap_or_default();
    let limit = match subtype {
        "error_max_turns" => Some("turns"),
        "error_max_budget_usd" => Some("cost"),
        _ => None,
    };
    if let Some(limit) = limit {
        let why = format!("`claude` stopped at its limit of {limit}; allow more, or ask for less");
        return Trouble::new(TroubleKind::Failed, &why);
    }
    let errors = result["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let errors = errors.take(5).collect::<Vec<_>>().join("; ");
    let messages = [message, &errors, subtype];
    let message = messages.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default();
    Trouble::reported(TOOL, number(&result["api_error_status"]), name, message)
}

fn denials(denied: &Value) -> Option<String> {
    let denied = denied.as_array().filter(|denied| !denied.is_empty())?;
    let tools: BTreeSet<String> =
        denied.iter().filter_map(|denial| owned_text(&denial["tool_name"])).collect();
    let (tools, times) = (listed(tools.iter().take(20)), denied.len());
    Some(format!(
        "`claude` was not allowed to use tools ({tools}; {times} in all); allow them in its settings if the work needs them"
    ))
}
