//! `OpenCode`: the events of `opencode run --format json`, one a line.

use serde_json::Value;

use super::objects::{amount, count, inner, objects, word};
use super::report::Report;
use super::trouble::{Reported, Trouble, TroubleKind, number};
use crate::agents::runner::attempt::printed::{Exit, Printed, last_line, plain, plain_text};
use crate::domain::Map;

const TOOL: &str = "opencode";

/// Returns what `OpenCode` reported: the texts of the last message, and the last error if it did not finish after it.
pub(crate) fn opencode(printed: &Printed<'_>) -> Report {
    let events = objects(printed.stdout);
    let mut report = Report::default();
    let mut message: Option<String> = None;
    let mut known = false;
    for event in &events {
        let Some(kind) = word(event, "type") else { continue };
        known |= matches!(
            kind,
            "step_start" | "step_finish" | "text" | "tool_use" | "error" | "reasoning"
        );
        if let Some(session) = word(event, "sessionID") {
            report.session = Some(plain_text(session));
        }
        match (kind, inner(event, "part")) {
            ("text", Some(part)) => {
                let own = word(part, "messageID").map(str::to_owned);
                if own != message || own.is_none() {
                    report.text.clear();
                    message = own;
                }
                if !report.text.is_empty() {
                    report.text.push_str("\n\n");
                }
                report.text.push_str(&plain_text(word(part, "text").unwrap_or_default()));
            }
            ("step_finish", Some(part)) => step(part, &mut report),
            ("error", _) => report.trouble = Some(trouble(event)),
            _ => {}
        }
    }
    if !known {
        if printed.exit != Exit::SUCCESS
            && let Some(message) = last_line(&plain(printed.stderr))
        {
            // Without events, what stands on the standard error is an error.
            report.trouble =
                Some(Trouble::of(TOOL, &Reported { message: &message, ..Reported::default() }));
        }
        let remark = "`opencode` printed no events that could be read; start it as `opencode run --format json`";
        report.remarks.push(remark.to_owned());
    }
    report
}

fn step(part: &Map, report: &mut Report) {
    if let Some(cost) = amount(part, "cost") {
        report.cost_usd = Some(report.cost_usd.unwrap_or_default() + cost);
    }
    if let Some(tokens) = inner(part, "tokens") {
        let cache = inner(tokens, "cache")
            .map(|cache| count(cache, "read").saturating_add(count(cache, "write")));
        let sum = report.tokens.get_or_insert_default();
        sum.input = sum
            .input
            .saturating_add(count(tokens, "input"))
            .saturating_add(cache.unwrap_or_default());
        sum.output = sum
            .output
            .saturating_add(count(tokens, "output"))
            .saturating_add(count(tokens, "reasoning"));
    }
    // It goes on by itself after an error that it could get over.
    if word(part, "reason") == Some("stop") {
        report.trouble = None;
    }
}

fn trouble(event: &Map) -> Trouble {
    let none = Map::new();
    let error = inner(event, "error").unwrap_or(&none);
    let data = inner(error, "data").unwrap_or(error);
    let message =
        word(data, "message").or_else(|| word(error, "message")).or_else(|| word(event, "message"));
    let reported = Reported {
        status: number(data.get("statusCode")),
        name: word(error, "name"),
        message: message.or_else(|| word(event, "error")).unwrap_or_default(),
    };
    let mut trouble = Trouble::of(TOOL, &reported);
    // It knows best whether to try again is of use; what needs a person stays so.
    if data.get("isRetryable") == Some(&Value::Bool(true)) && trouble.kind == TroubleKind::Failed {
        trouble.kind = TroubleKind::Transient;
    }
    trouble
}
