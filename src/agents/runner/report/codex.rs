//! Codex: the events of `codex exec --json`, one a line.

use super::objects::{count, inner, objects, word};
use super::report::{Report, Tokens};
use super::trouble::{Reported, Trouble};
use crate::agents::runner::attempt::printed::{
    Exit, Printed, last_line, plain, plain_text, shortened,
};
use crate::domain::Map;

const TOOL: &str = "codex";

/// Returns what Codex reported: the last message, and the last error if no turn was completed after it.
pub(crate) fn codex(printed: &Printed<'_>) -> Report {
    let events = objects(printed.stdout);
    let mut report = Report::default();
    let mut error: Option<String> = None;
    let mut known = false;
    for event in &events {
        let kind = word(event, "type").unwrap_or_default();
        known |=
            kind.starts_with("thread.") || kind.starts_with("turn.") || kind.starts_with("item.");
        match kind {
            "thread.started" => report.session = word(event, "thread_id").map(plain_text),
            "turn.started" => error = None,
            "turn.completed" => {
                // It goes on by itself after an error that it could get over.
                error = None;
                report.tokens = inner(event, "usage").map(|usage| Tokens {
                    input: count(usage, "input_tokens"),
                    output: count(usage, "output_tokens"),
                });
            }
            "turn.failed" => error = Some(inner(event, "error").map(message).unwrap_or_default()),
            "error" => error = Some(message(event)),
            "item.completed" => item(event, &mut report),
            _ => {}
        }
    }
    if !known && printed.exit != Exit::SUCCESS {
        // Without events, what stands on the standard error is an error.
        error = error.or_else(|| last_line(&plain(printed.stderr)));
    }
    if !known {
        report.remarks.push(
            "`codex` printed no events that could be read; start it as `codex exec --json`"
                .to_owned(),
        );
    }
    report.trouble = error
        .map(|message| Trouble::of(TOOL, &Reported { message: &message, ..Reported::default() }));
    report
}

fn message(error: &Map) -> String {
    word(error, "message").unwrap_or_default().to_owned()
}

fn item(event: &Map, report: &mut Report) {
    let Some(item) = inner(event, "item") else { return };
    match word(item, "type").unwrap_or_default() {
        "agent_message" => report.text = word(item, "text").map(plain_text).unwrap_or_default(),
        "error" if report.remarks.len() < 20 => {
            report
                .remarks
                .push(format!("`codex` remarks: {}", shortened(&plain_text(&message(item)), 300)));
        }
        _ => {}
    }
}
