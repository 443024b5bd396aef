//! Codex: the events of `codex exec --json`, one a line.

use serde_json::Value;

use super::agent_report::{Report, objects, owned_text, sum};
use super::trouble::{Reported, Trouble};
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
        match kind {
            "thread.started" => report.session = owned_text(&event["thread_id"]),
            "turn.started" => error = None,
            "turn.completed" => {
                // It goes on by itself after an error that it could get over.
                error = None;
                let usage = event["usage"].is_object().then(|| &event["usage"]);
                report.tokens = usage.map(|usage| TokenCounts {
                    input: sum(usage, &["input_tokens"]),
                    output: sum(usage, &["output_tokens"]),
                });
            }
            "turn.failed" => error = Some(message(&event["error"])),
            "error" => error = Some(message(event)),
            "item.completed" => item(&event["item"], &mut report),
            _ => {}
        }
    }
    report.trouble = error.map(|message| Trouble::of(TOOL, &Reported::message(&message)));
    if !is_known {
        let remark = "no events that could be read; start it as `codex exec --json`";
        report.without_format(TOOL, output, remark);
    }
    report
}

fn message(error: &Value) -> String {
    error["message"].as_str().unwrap_or_default().to_owned()
}

fn item(item: &Value, report: &mut Report) {
    match item["type"].as_str().unwrap_or_default() {
        "agent_message" => report.text = owned_text(&item["text"]).unwrap_or_default(),
        "error" if report.remarks.len() < 20 => {
            let message = shortened(&plain_text(&message(item)), 300);
            report.remarks.push(format!("`codex` remarks: {message}"));
        }
        _ => {}
    }
}
