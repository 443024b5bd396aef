//! Reads the output formats of agents' programs, in linear time.

use std::collections::BTreeSet;

use serde_json::Value;

use super::report::{
    Exit, Report, RunOutput, Trouble, TroubleKind, amount, last_line, number, objects, owned_text,
    plain, plain_text, printed_limit, shortened, sum, text,
};
use super::usage_limit::UsageLimit;
use crate::domain::{Map, Reads, listed};
use crate::files::json;
use crate::storage::runs::{AgentReport, TokenCounts};

#[cfg(test)]
mod tests;

/// Reads an output in that format.
pub(crate) fn read(reads: Reads, output: &RunOutput<'_>) -> Report {
    let mut report = match reads {
        Reads::Claude => claude(output),
        Reads::Codex => codex(output),
        Reads::Gemini => gemini(output),
        Reads::Opencode => opencode(output),
        Reads::Json => return one_object(output),
        Reads::Text => return all_text(output),
    };
    report.limit = match &report.trouble {
        Some(trouble) => report.limit.or_else(|| trouble.limit.clone()),
        None => report.limit.or_else(|| printed_limit(output)),
    };
    report
}

/// Returns the report of a program that prints only its message.
pub(crate) fn all_text(output: &RunOutput<'_>) -> Report {
    Report { text: plain(output.stdout), ..Report::default() }
}

/// Returns the report of a program that prints only one JSON object.
pub(crate) fn one_object(output: &RunOutput<'_>) -> Report {
    let mut report = all_text(output);
    let text = String::from_utf8_lossy(output.stdout);
    match json::read_printed::<Map>(text.trim_start_matches('\u{feff}')) {
        Ok(map) => report.structured = Some(map),
        Err(_) if report.text.trim().is_empty() => {}
        Err(error) => {
            let why = json::reason(&error);
            report.unread = Some(format!("what was printed is not one JSON object: {why}"));
        }
    }
    report
}

/// Returns the report of Claude Code. An error counts whatever its `subtype`, and its text is not the agent's.
pub(crate) fn claude(output: &RunOutput<'_>) -> Report {
    let events = objects(output.stdout);
    let last = |kind: &str| events.iter().rev().find(|event| event["type"] == kind);
    let Some(result) = last("result") else {
        let remark =
            "no result that could be read; start it with `--output-format json` or `stream-json`";
        let limit = limit_in_events(&events).filter(|_| output.exit != Exit::SUCCESS);
        return Report { limit, ..Report::default() }.without_format("claude", output, remark);
    };
    let is_success = text(&result["subtype"]).is_none_or(|subtype| subtype == "success");
    let failed = result["is_error"] == true || !is_success;
    let message = owned_text(&result["result"]).unwrap_or_default();
    // In a stream, the message of an error has the name of its kind.
    let name = last("assistant").and_then(|message| text(&message["error"]));
    let usage = result["usage"].is_object().then(|| &result["usage"]);
    let input = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    let models = result["modelUsage"].as_object();
    let busiest =
        models.and_then(|all| all.iter().max_by_key(|(_, usage)| sum(usage, &["outputTokens"])));
    let first_model = || last("system").and_then(|start| text(&start["model"]));
    Report {
        trouble: failed.then(|| claude_trouble(result, name, &message)),
        text: if failed { String::new() } else { message },
        structured: result["structured_output"].as_object().filter(|_| !failed).cloned(),
        agent: AgentReport {
            session: owned_text(&result["session_id"]),
            cost_usd: amount(&result["total_cost_usd"]),
            tokens: usage.map(|usage| TokenCounts {
                input: sum(usage, &input),
                output: sum(usage, &["output_tokens"]),
            }),
            model: busiest.map(|(name, _)| name.as_str()).or_else(first_model).map(plain_text),
        },
        remarks: denials(&result["permission_denials"]).into_iter().collect(),
        limit: limit_in_events(&events).filter(|_| failed),
        unread: None,
    }
}

/// Returns the limit that Claude's events report, unless the model continued after it.
fn limit_in_events(events: &[Value]) -> Option<UsageLimit> {
    let mut limit = None;
    for event in events {
        let info = Some(&event["rate_limit_info"]).filter(|info| info.is_object()).unwrap_or(event);
        let is_message = event["error"].is_null() && event["message"]["model"] != "<synthetic>";
        match event["type"].as_str() {
            Some("rate_limit_event") if info["status"] == "rejected" => {
                let kind = info["rateLimitType"].as_str().unwrap_or("usage").replace('_', " ");
                let words = format!("resets {}", info["resetsAt"]);
                limit = Some(UsageLimit { why: format!("its {kind} limit is used up"), words });
            }
            Some("rate_limit_event") => limit = None,
            Some("assistant") if is_message => limit = None,
            _ => {}
        }
    }
    limit
}

fn claude_trouble(result: &Value, name: Option<&str>, message: &str) -> Trouble {
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
    Trouble::reported("claude", number(&result["api_error_status"]), name, message)
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

/// Returns the report of Codex: the last message, and the last error if no turn was completed after it.
pub(crate) fn codex(output: &RunOutput<'_>) -> Report {
    let mut report = Report::default();
    let mut error: Option<String> = None;
    let mut is_known = false;
    for event in &objects(output.stdout) {
        let kind = event["type"].as_str().unwrap_or_default();
        is_known |= ["thread.", "turn.", "item."].iter().any(|prefix| kind.starts_with(prefix));
        let item = &event["item"];
        let message = |of: &Value| of["message"].as_str().unwrap_or_default().to_owned();
        match (kind, item["type"].as_str().unwrap_or_default()) {
            ("thread.started", _) => report.agent.session = owned_text(&event["thread_id"]),
            ("turn.started", _) => error = None,
            ("turn.completed", _) => {
                // Codex continues after an error that it recovered from.
                error = None;
                let usage = event["usage"].is_object().then(|| &event["usage"]);
                report.agent.tokens = usage.map(|usage| TokenCounts {
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
    report.trouble = error.map(|message| Trouble::reported("codex", None, None, &message));
    if is_known {
        return report;
    }
    report.without_format(
        "codex",
        output,
        "no events that could be read; start it as `codex exec --json`",
    )
}

/// Returns the report of Gemini CLI. Its exit status has precedence over its message.
pub(crate) fn gemini(output: &RunOutput<'_>) -> Report {
    // Unlike a result, an event has a type; a tool's event may have an error.
    let is_result = |value: &Value| {
        value.get("type").is_none()
            && ["response", "error", "stats"].iter().any(|key| value.get(key).is_some())
    };
    let list = objects(output.stdout);
    let result = join_stream(&list).or_else(|| list.into_iter().rfind(is_result));
    let errors = objects(output.stderr).into_iter().rfind(|value| value.get("error").is_some());
    let mut both = result.iter().chain(&errors).map(|object| &object["error"]);
    let error = both.find(|error| !error.is_null());
    let mut report = Report { trouble: gemini_trouble(output, error), ..Report::default() };
    if let Some(object) = result.as_ref().or(errors.as_ref()) {
        report.agent.session = owned_text(&object["session_id"]);
    }
    if let Some(result) = &result {
        if report.trouble.is_none() {
            report.text = owned_text(&result["response"]).unwrap_or_default();
        }
        add_usage(&result["stats"]["models"], &mut report);
    } else if report.trouble.is_none() {
        let remark = "`gemini` printed no result that could be read; start it with `--output-format json` or `stream-json`";
        report.unread = Some(remark.to_owned());
    }
    report
}

/// Joins the events of a stream into the object of the other format: the last message is the response.
fn join_stream(events: &[Value]) -> Option<Value> {
    let mut whole = events.iter().rfind(|event| event["type"] == "result")?.clone();
    let mut response = String::new();
    for event in events {
        match (event["type"].as_str(), event["role"].as_str()) {
            (Some("message"), Some("assistant")) => {
                response.push_str(event["content"].as_str().unwrap_or_default());
            }
            (Some("message" | "tool_use"), _) => response.clear(),
            _ => {}
        }
    }
    whole["response"] = response.into();
    if let Some(session) = events.iter().find_map(|event| event.get("session_id")) {
        whole["session_id"] = session.clone();
    }
    Some(whole)
}

fn gemini_trouble(output: &RunOutput<'_>, error: Option<&Value>) -> Option<Trouble> {
    let message = error.and_then(|error| error.as_str().or_else(|| text(&error["message"])));
    let message = message.unwrap_or_default();
    let (kind, what) = match output.exit {
        Exit::Status(41) => (TroubleKind::Unavailable, "it is not logged in"),
        Exit::Status(42) => (TroubleKind::Failed, "it does not accept its arguments or the prompt"),
        Exit::Status(52) => (TroubleKind::Unavailable, "its configuration is invalid"),
        Exit::Status(53) => {
            (TroubleKind::Failed, "it stopped at its limit of turns; allow more, or ask for less")
        }
        _ => {
            let error = error.filter(|error| error.is_object() || error.is_string())?;
            // `code` may also be an exit status, which is below 400.
            let status = number(&error["code"]).filter(|code| *code >= 400);
            let name = text(&error["type"]).filter(|name| *name != "Error");
            let name = name.or_else(|| text(&error["status"]));
            return Some(Trouble::reported("gemini", status, name, message));
        }
    };
    let message = Some(message.trim().to_owned()).filter(|message| !message.is_empty());
    let message = message.or_else(|| last_line(&plain(output.stderr)));
    let message = message.map(|message| format!(" ({message})")).unwrap_or_default();
    Some(Trouble::new(kind, &format!("`gemini` reports an error: {what}{message}")))
}

fn add_usage(models: &Value, report: &mut Report) {
    let mut all = TokenCounts { input: 0, output: 0 };
    let mut most = 0;
    for (name, model) in models.as_object().into_iter().flatten() {
        // A stream has the tokens in the model, an object has them under `tokens`.
        let (input, output) = match &model["tokens"] {
            tokens @ Value::Object(_) => {
                (sum(tokens, &["prompt"]), sum(tokens, &["candidates", "thoughts"]))
            }
            _ => (sum(model, &["input_tokens"]), sum(model, &["output_tokens"])),
        };
        all.input = all.input.saturating_add(input);
        all.output = all.output.saturating_add(output);
        if output >= most {
            most = output;
            report.agent.model = Some(plain_text(name));
        }
        report.agent.tokens = Some(all);
    }
}

const EVENTS: [&str; 6] = ["step_start", "step_finish", "text", "tool_use", "error", "reasoning"];

/// Returns the report of `OpenCode`: the texts of the last message, and the last error if it did not finish after it.
pub(crate) fn opencode(output: &RunOutput<'_>) -> Report {
    let mut report = Report::default();
    let mut message: Option<String> = None;
    let mut is_known = false;
    for event in &objects(output.stdout) {
        let Some(kind) = text(&event["type"]) else { continue };
        is_known |= EVENTS.contains(&kind);
        report.agent.session = owned_text(&event["sessionID"]).or(report.agent.session);
        let part = &event["part"];
        match kind {
            "text" if part.is_object() => {
                let id = text(&part["messageID"]).map(str::to_owned);
                if id != message || id.is_none() {
                    report.text.clear();
                    message = id;
                }
                if !report.text.is_empty() {
                    report.text.push_str("\n\n");
                }
                report.text.push_str(&plain_text(text(&part["text"]).unwrap_or_default()));
            }
            "step_finish" => add_step(part, &mut report),
            "error" => report.trouble = Some(opencode_trouble(event)),
            _ => {}
        }
    }
    if is_known {
        return report;
    }
    let remark = "no events that could be read; start it as `opencode run --format json`";
    report.without_format("opencode", output, remark)
}

fn add_step(part: &Value, report: &mut Report) {
    if let Some(cost) = amount(&part["cost"]) {
        report.agent.cost_usd = Some(report.agent.cost_usd.unwrap_or_default() + cost);
    }
    let tokens = &part["tokens"];
    if tokens.is_object() {
        let input =
            sum(tokens, &["input"]).saturating_add(sum(&tokens["cache"], &["read", "write"]));
        let all = report.agent.tokens.get_or_insert(TokenCounts { input: 0, output: 0 });
        all.input = all.input.saturating_add(input);
        all.output = all.output.saturating_add(sum(tokens, &["output", "reasoning"]));
    }
    // OpenCode continues after an error that it recovered from.
    if part["reason"] == "stop" {
        report.trouble = None;
    }
}

fn opencode_trouble(event: &Value) -> Trouble {
    let error = &event["error"];
    let data = if error["data"].is_object() { &error["data"] } else { error };
    let messages = [&data["message"], &error["message"], &event["message"], error];
    let message = messages.into_iter().find_map(text).unwrap_or_default();
    let status = number(&data["statusCode"]);
    let mut trouble = Trouble::reported("opencode", status, text(&error["name"]), message);
    // The value may be a number or a text.
    let wait = &data["responseHeaders"]["retry-after"];
    if status == Some(429) && !wait.is_null() {
        let wait = format!("retry-after: {wait}");
        let limit = UsageLimit::detect(status, None, &format!("{message}; {wait}"));
        trouble.limit = limit.map(|limit| limit.with_reset(&wait));
    }
    trouble
}
