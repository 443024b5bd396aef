//! `OpenCode`: the events of `opencode run --format json`, one a line.

use serde_json::Value;

use super::agent_report::{Report, amount, objects, owned_text, sum, text};
use super::trouble::{Reported, Trouble, TroubleKind, number};
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
        if let Some(session) = owned_text(&event["sessionID"]) {
            report.session = Some(session);
        }
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
    if !is_known {
        let remark = "no events that could be read; start it as `opencode run --format json`";
        report.without_format(TOOL, output, remark);
    }
    report
}

fn step(part: &Value, report: &mut Report) {
    if let Some(cost) = amount(&part["cost"]) {
        report.cost_usd = Some(report.cost_usd.unwrap_or_default() + cost);
    }
    let tokens = &part["tokens"];
    if tokens.is_object() {
        let all = report.tokens.get_or_insert(TokenCounts { input: 0, output: 0 });
        let input =
            sum(tokens, &["input"]).saturating_add(sum(&tokens["cache"], &["read", "write"]));
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
    let mut trouble = Trouble::of(
        TOOL,
        &Reported {
            status: number(&data["statusCode"]),
            name: text(&error["name"]),
            message: messages.into_iter().find_map(text).unwrap_or_default(),
        },
    );
    // It knows best whether to try again is of use; what needs a person stays so.
    if data["isRetryable"] == true && trouble.kind == TroubleKind::Failed {
        trouble.kind = TroubleKind::Transient;
    }
    trouble
}
