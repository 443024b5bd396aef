//! Gemini CLI: the object of `--output-format json`, or the events of `stream-json`; an error of the first comes as an object on
//! the standard error.

use serde_json::Value;

use super::agent_report::{Report, objects, owned_text, sum, text};
use super::trouble::{Trouble, TroubleKind, number};
use crate::agents::runner::output::{Exit, RunOutput, last_line, plain, plain_text};
use crate::storage::runs::TokenCounts;

const TOOL: &str = "gemini";

/// Returns what Gemini CLI reported. Its exit status counts before its message.
pub(crate) fn gemini(output: &RunOutput<'_>) -> Report {
    // An event has a type, and a tool's may have an error, too.
    let is_result = |value: &Value| {
        value.get("type").is_none()
            && ["response", "error", "stats"].iter().any(|key| value.get(key).is_some())
    };
    let list = objects(output.stdout);
    let result = gathered(&list).or_else(|| list.into_iter().rfind(is_result));
    let errors = objects(output.stderr).into_iter().rfind(|value| value.get("error").is_some());
    let mut both = result.iter().chain(&errors).map(|object| &object["error"]);
    let error = both.find(|error| !error.is_null());
    let mut report = Report { trouble: trouble(output, error), ..Report::default() };
    if let Some(object) = result.as_ref().or(errors.as_ref()) {
        report.told.session = owned_text(&object["session_id"]);
    }
    if let Some(result) = &result {
        if report.trouble.is_none() {
            report.text = owned_text(&result["response"]).unwrap_or_default();
        }
        usage(&result["stats"]["models"], &mut report);
    } else if report.trouble.is_none() {
        let remark = "`gemini` printed no result that could be read; start it with `--output-format json` or `stream-json`";
        report.remarks.push(remark.to_owned());
    }
    report
}

/// Returns the events of a stream as the one object that would have come in their place: the last message is the response.
fn gathered(events: &[Value]) -> Option<Value> {
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

fn trouble(output: &RunOutput<'_>, error: Option<&Value>) -> Option<Trouble> {
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
            // Its own exit statuses stand in `code`, too; they are no answers of a server.
            let status = number(&error["code"]).filter(|code| *code >= 400);
            let name = text(&error["type"]).filter(|name| *name != "Error");
            let name = name.or_else(|| text(&error["status"]));
            return Some(Trouble::reported(TOOL, status, name, message));
        }
    };
    let said = Some(message.trim().to_owned()).filter(|said| !said.is_empty());
    let said = said.or_else(|| last_line(&plain(output.stderr)));
    let said = said.map(|said| format!(" ({said})")).unwrap_or_default();
    Some(Trouble::new(kind, &format!("`{TOOL}` reports an error: {what}{said}")))
}

fn usage(models: &Value, report: &mut Report) {
    let mut all = TokenCounts { input: 0, output: 0 };
    let mut most = 0;
    for (name, model) in models.as_object().into_iter().flatten() {
        // A stream has the tokens beside the model, an object has them below.
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
            report.told.model = Some(plain_text(name));
        }
        report.told.tokens = Some(all);
    }
}
