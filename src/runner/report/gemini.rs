//! Gemini CLI: the object of `--output-format json`; an error comes as an object on the standard error.

use serde_json::Value;

use super::objects::{count, inner, objects, word};
use super::trouble::{Reported, Trouble, TroubleKind, number};
use super::{Report, Tokens};
use crate::model::Map;
use crate::runner::printed::{Exit, Printed, last_line, plain, plain_text};

const TOOL: &str = "gemini";

/// Returns what Gemini CLI reported. What its exit status stands for counts before what it says.
pub fn gemini(printed: &Printed<'_>) -> Report {
    let is_result = |map: &Map| ["response", "error", "stats"].iter().any(|key| map.contains_key(*key));
    let out = objects(printed.stdout).into_iter().rfind(is_result);
    let trouble_map = objects(printed.stderr).into_iter().rfind(|map| map.contains_key("error"));
    let error =
        [&out, &trouble_map].into_iter().flatten().find_map(|map| map.get("error").filter(|error| !error.is_null()));
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
            let remark = "`gemini` printed no result that could be read; start it with `--output-format json`";
            report.remarks.push(remark.to_owned());
        }
        None => report.session = trouble_map.as_ref().and_then(|map| word(map, "session_id")).map(plain_text),
    }
    report.trouble = trouble;
    report
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
        Exit::Status(42) => Some((TroubleKind::Failed, "it does not accept its arguments or the prompt")),
        Exit::Status(52) => Some((TroubleKind::Unavailable, "its configuration is invalid")),
        Exit::Status(53) => {
            Some((TroubleKind::Failed, "it stopped at its limit of turns; allow more, or ask for less"))
        }
        _ => None,
    };
    let said = reported.map(|error| error.message.trim().to_owned()).filter(|message| !message.is_empty());
    if let Some((kind, what)) = fixed {
        let said = said.or_else(|| last_line(&plain(printed.stderr)));
        return Some(Trouble::new(
            kind,
            &format!("`{TOOL}` reports an error: {what}{}", said.map(|said| format!(" ({said})")).unwrap_or_default()),
        ));
    }
    reported.map(|error| Trouble::of(TOOL, &error))
}

fn usage(models: &Map, report: &mut Report) {
    let mut sum = Tokens::default();
    let mut most = 0;
    for (name, model) in models {
        let Some(tokens) = model.as_object().and_then(|model| inner(model, "tokens")) else { continue };
        let output = count(tokens, "candidates").saturating_add(count(tokens, "thoughts"));
        sum.input = sum.input.saturating_add(count(tokens, "prompt"));
        sum.output = sum.output.saturating_add(output);
        if output >= most {
            most = output;
            report.model = Some(plain_text(name));
        }
        report.tokens = Some(sum);
    }
}
