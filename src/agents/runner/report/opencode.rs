//! `OpenCode`: the events of `opencode run --format json`, one a line.

use serde_json::Value;

use super::agent_report::{Report, amount, objects, owned_text, sum, text};
use super::trouble::{Trouble, number};
use crate::agents::runner::output::{RunOutput, plain_text};
use crate::storage::runs::TokenCounts;

const TOOL: &str = "opencode";
const EVENTS: [&str; 6] = ["step_start", "step_finish", "text", "tool_use", "error", "reasoning"];

/// Returns what `OpenCode` reported: the texts of the last message, and the last error if it did not finish after it.
pub(crate) fn opencode(output: &RunOutput<'_>) -> Report {
    let mut report = Report::default();
    let mut message: Option<String> = None;
    let mut is_known = false;
    for event in &objects(output.stdout) {
        let Some(kind) = text(&event["type"]) else { continue };
        is_known |= EVENTS.contains(&kind);
        report.told.session = owned_text(&event["sessionID"]).or(report.told.session);
        let part = &event["part"];
        match kind {
            "text" if part.is_object() => {
                let own = text(&part["messageID"]).map(str::to_owned);
                if own != message || own.is_none() {
                    report.text.clear();
                    message = own;
                }
                if !report.text.is_empty() {
                    report.text.push_str("\n\n");
                }
                report.text.push_str(&plain_text(text(&part["text"]).unwrap_or_default()));
            }
            "step_finish" => step(part, &mut report),
            "error" => report.trouble = Some(trouble(event)),
            _ => {}
        }
    }
    if is_known {
        return report;
    }
    let remark = "no events that could be read; start it as `opencode run --format json`";
    report.without_format(TOOL, output, remark)
}

fn step(part: &Value, report: &mut Report) {
    if let Some(cost) = amount(&part["cost"]) {
        report.told.cost_usd = Some(report.told.cost_usd.unwrap_or_default() + cost);
    }
    let tokens = &part["tokens"];
    if tokens.is_object() {
        let input =
            sum(tokens, &["input"]).saturating_add(sum(&tokens["cache"], &["read", "write"]));
        let all = report.told.tokens.get_or_insert(TokenCounts { input: 0, output: 0 });
        all.input = all.input.saturating_add(input);
        all.output = all.output.saturating_add(sum(tokens, &["output", "reasoning"]));
    }
    // It goes on by itself after an error that it could get over.
    if part["reason"] == "stop" {
        report.trouble = None;
    }
}

fn trouble(event: &Value) -> Trouble {
    let error = &event["error"];
    let data = if error["data"].is_object() { &error["data"] } else { error };
    let messages = [&data["message"], &error["message"], &event["message"], error];
    let message = messages.into_iter().find_map(text).unwrap_or_default();
    Trouble::reported(TOOL, number(&data["statusCode"]), text(&error["name"]), message)
}
