//! Gemini CLI: the object of `--output-format json`, or the events of `stream-json`; an error of the first comes as an object on
//! the standard error.

use serde_json::Value;

use super::objects::{count, inner, objects, word};
use super::report::{Report, Tokens};
use super::trouble::{Reported, Trouble, TroubleKind, number};
use crate::agents::runner::attempt::printed::{Exit, Printed, last_line, plain, plain_text};
use crate::domain::Map;

const TOOL: &str = "gemini";

/// Returns what Gemini CLI reported. What its exit status stands for counts before what it says.
pub(crate) fn gemini(printed: &Printed<'_>) -> Report {
    // An event has a type, and a tool's may have an error, too.
    let is_result = |map: &Map| {
        !map.contains_key("type")
            && ["response", "error", "stats"].iter().any(|key| map.contains_key(*key))
    };
    let list = objects(printed.stdout);
    let out = gathered(&list).or_else(|| list.into_iter().rfind(is_result));
    let trouble_map = objects(printed.stderr).into_iter().rfind(|map| map.contains_key("error"));
    let error = [&out, &trouble_map]
        .into_iter()
        .flatten()
        .find_map(|map| map.get("error").filter(|error| !error.is_null()));
    let trouble = trouble(printed, error);
    let mut report = Report::default();
    match &out {
        Some(out) => {
            report.session = word(out, "session_id").map(plain_text);
            if trouble.is_none() {
                report.text = word(out, "response").map(plain_text).unwrap_or_default();
            }
            if let Some(models) = inner(out, "stats").and_then(|stats| inner(stats, "models")) {
                usage(models, &mut report);
            }
        }
        None if trouble.is_none() => {
            let remark = "`gemini` printed no result that could be read; start it with `--output-format json` or `stream-json`";
            report.remarks.push(remark.to_owned());
        }
        None => {
            report.session =
                trouble_map.as_ref().and_then(|map| word(map, "session_id")).map(plain_text);
        }
    }
    report.trouble = trouble;
    report
}

/// Returns the events of a stream as the one object that would have come in their place: the last message is the response.
fn gathered(events: &[Map]) -> Option<Map> {
    let result = events.iter().rfind(|event| word(event, "type") == Some("result"))?;
    let mut response = String::new();
    for event in events {
        match (word(event, "type"), word(event, "role")) {
            (Some("message"), Some("assistant")) => {
                response.push_str(event.get("content").and_then(Value::as_str).unwrap_or_default());
            }
            (Some("message" | "tool_use"), _) => response.clear(),
            _ => {}
        }
    }
    let mut whole = result.clone();
    whole.insert("response".to_owned(), response.into());
    if let Some(session) = events.iter().find_map(|event| event.get("session_id")) {
        whole.insert("session_id".to_owned(), session.clone());
    }
    Some(whole)
}

fn trouble(printed: &Printed<'_>, error: Option<&Value>) -> Option<Trouble> {
    let reported = match error {
        Some(Value::Object(map)) => Some(Reported {
            // Its own exit statuses stand in `code`, too; they are no answers of a server.
            status: number(map.get("code")).filter(|code| *code >= 400),
            name: word(map, "type").filter(|name| *name != "Error").or_else(|| word(map, "status")),
            message: word(map, "message").unwrap_or_default(),
        }),
        Some(Value::String(message)) => Some(Reported { message, ..Reported::default() }),
        _ => None,
    };
    let fixed = match printed.exit {
        Exit::Status(41) => Some((TroubleKind::Unavailable, "it is not logged in")),
        Exit::Status(42) => {
            Some((TroubleKind::Failed, "it does not accept its arguments or the prompt"))
        }
        Exit::Status(52) => Some((TroubleKind::Unavailable, "its configuration is invalid")),
        Exit::Status(53) => Some((
            TroubleKind::Failed,
            "it stopped at its limit of turns; allow more, or ask for less",
        )),
        _ => None,
    };
    let said =
        reported.map(|error| error.message.trim().to_owned()).filter(|message| !message.is_empty());
    if let Some((kind, what)) = fixed {
        let said = said.or_else(|| last_line(&plain(printed.stderr)));
        return Some(Trouble::new(
            kind,
            &format!(
                "`{TOOL}` reports an error: {what}{}",
                said.map(|said| format!(" ({said})")).unwrap_or_default()
            ),
        ));
    }
    reported.map(|error| Trouble::of(TOOL, &error))
}

fn usage(models: &Map, report: &mut Report) {
    let mut sum = Tokens::default();
    let mut most = 0;
    for (name, model) in models {
        let Some(model) = model.as_object() else { continue };
        // A stream tells of all of it, and beside the model.
        let (input, output) = match inner(model, "tokens") {
            Some(tokens) => (
                count(tokens, "prompt"),
                count(tokens, "candidates").saturating_add(count(tokens, "thoughts")),
            ),
            None => (count(model, "input_tokens"), count(model, "output_tokens")),
        };
        sum.input = sum.input.saturating_add(input);
        sum.output = sum.output.saturating_add(output);
        if output >= most {
            most = output;
            report.model = Some(plain_text(name));
        }
        report.tokens = Some(sum);
    }
}
