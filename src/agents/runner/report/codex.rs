//! Codex: the events of `codex exec --json`, one a line.

use super::agent_report::{Report, objects, owned_text, sum};
use super::trouble::Trouble;
use crate::agents::runner::output::{RunOutput, plain_text, shortened};
use crate::storage::runs::TokenCounts;

const TOOL: &str = "codex";

/// Returns what Codex reported: the last message, and the last error if no turn was completed after it.
pub(crate) fn codex(output: &RunOutput<'_>) -> Report {
    let mut report = Report::default();
    let mut error: Option<String> = None;
    let mut is_known = false;
    for event in &objects(output.stdout) {
        let kind = event["type"].as_str().unwrap_or_default();
        is_known |= ["thread.", "turn.", "item."].iter().any(|prefix| kind.starts_with(prefix));
        let item = &event["item"];
        let message =
            |of: &serde_json::Value| of["message"].as_str().unwrap_or_default().to_owned();
        match (kind, item["type"].as_str().unwrap_or_default()) {
            ("thread.started", _) => report.told.session = owned_text(&event["thread_id"]),
            ("turn.started", _) => error = None,
            ("turn.completed", _) => {
                // It goes on by itself after an error that it could get over.
                error = None;
                let usage = event["usage"].is_object().then(|| &event["usage"]);
                report.told.tokens = usage.map(|usage| TokenCounts {
                    input: sum(usage, &["input_tokens"]),
                    output: sum(usage, &["output_tokens"]),
                });
            }
            ("turn.failed", _) => error = Some(message(&event["error"])),
            ("error", _) => error = Some(message(event)),
            ("item.completed", "agent_message") => {
                report.text = owned_text(&item["text"]).unwrap_or_default();
            }
            ("item.completed", "error") if report.remarks.len() < 20 => {
                let text = shortened(&plain_text(&message(item)), 300);
                report.remarks.push(format!("`codex` remarks: {text}"));
            }
            _ => {}
        }
    }
    report.trouble = error.map(|message| Trouble::reported(TOOL, None, None, &message));
    if is_known {
        return report;
    }
    report.without_format(
        TOOL,
        output,
        "no events that could be read; start it as `codex exec --json`",
    )
}
