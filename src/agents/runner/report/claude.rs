//! Claude Code: the object of `--output-format json`, or the last `result` of `stream-json`.

use serde_json::Value;

use super::objects::{amount, count, inner, objects, word};
use super::report::{Report, Tokens};
use super::trouble::{Reported, Trouble, TroubleKind, number};
use crate::agents::runner::attempt::printed::{Exit, Printed, last_line, plain, plain_text};
use crate::domain::{Map, listed};

const TOOL: &str = "claude";

/// Returns what Claude Code reported. An error is one whatever its `subtype` says, and its text is not the agent's.
pub(crate) fn claude(printed: &Printed<'_>) -> Report {
    let list = objects(printed.stdout);
    let kind = |wanted: &'static str| {
        let list = &list;
        list.iter().rev().filter(move |map| word(map, "type") == Some(wanted))
    };
    let Some(result) = kind("result").next() else { return unreadable(printed) };
    let failed = result.get("is_error") == Some(&Value::Bool(true)) || !is_success(result);
    // In a stream, the message that tells of an error names its kind.
    let name = kind("assistant").next().and_then(|message| word(message, "error"));
    let usage = inner(result, "usage");
    let model = inner(result, "modelUsage").and_then(busiest);
    let text = word(result, "result").map(plain_text).unwrap_or_default();
    Report {
        trouble: failed.then(|| trouble(result, name, &text)),
        text: if failed { String::new() } else { text },
        structured: inner(result, "structured_output").filter(|_| !failed).cloned(),
        session: word(result, "session_id").map(plain_text),
        cost_usd: amount(result, "total_cost_usd"),
        tokens: usage.map(|usage| Tokens {
            input: ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]
                .into_iter()
                .fold(0, |sum: u64, key| sum.saturating_add(count(usage, key))),
            output: count(usage, "output_tokens"),
        }),
        model: model
            .or_else(|| kind("system").find_map(|start| word(start, "model")))
            .map(plain_text),
        remarks: denials(result).into_iter().collect(),
    }
}

fn is_success(result: &Map) -> bool {
    word(result, "subtype").is_none_or(|subtype| subtype == "success")
}

fn trouble(result: &Map, name: Option<&str>, text: &str) -> Trouble {
    let subtype = word(result, "subtype").unwrap_or_default();
    match subtype {
        "error_max_turns" => {
            return Trouble::new(
                TroubleKind::Failed,
                "`claude` stopped at its limit of turns; allow more, or ask for less",
            );
        }
        "error_max_budget_usd" => {
            return Trouble::new(
                TroubleKind::Failed,
                "`claude` stopped at its limit of cost; allow more, or ask for less",
            );
        }
        _ => {}
    }
    let errors =
        result.get("errors").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let errors: Vec<&str> = errors.iter().filter_map(Value::as_str).take(5).collect();
    let errors = errors.join("; ");
    let message = [text, &errors, subtype]
        .into_iter()
        .find(|text| !text.trim().is_empty())
        .unwrap_or_default();
    let status = number(result.get("api_error_status"));
    Trouble::of(TOOL, &Reported { status, name, message })
}

/// Returns the model that wrote most.
fn busiest(models: &Map) -> Option<&str> {
    let written = |usage: &Value| {
        usage.as_object().map(|usage| count(usage, "outputTokens")).unwrap_or_default()
    };
    models.iter().max_by_key(|(_, usage)| written(usage)).map(|(name, _)| name.as_str())
}

fn denials(result: &Map) -> Option<String> {
    let denied = result.get("permission_denials").and_then(Value::as_array)?;
    let mut tools: Vec<String> = Vec::new();
    for tool in denied.iter().filter_map(|denial| word(denial.as_object()?, "tool_name")) {
        let tool = plain_text(tool);
        if !tools.contains(&tool) && tools.len() < 20 {
            tools.push(tool);
        }
    }
    let what = if tools.is_empty() { "tools".to_owned() } else { listed(tools) };
    (!denied.is_empty()).then(|| {
        let times = if denied.len() == 1 { "once".to_owned() } else { format!("{} times", denied.len()) };
        format!("`claude` was not allowed to use {what} ({times}); allow it in its settings if the work needs it")
    })
}

fn unreadable(printed: &Printed<'_>) -> Report {
    let mut report = Report::default();
    if printed.exit != Exit::SUCCESS {
        // Without an object, what stands on the standard error is an error.
        let message = last_line(&plain(printed.stderr)).unwrap_or_default();
        report.trouble = (!message.is_empty())
            .then(|| Trouble::of(TOOL, &Reported { message: &message, ..Reported::default() }));
    }
    report.remarks.push(
        "`claude` printed no result that could be read; start it with `--output-format json` or `stream-json`"
            .to_owned(),
    );
    report
}
