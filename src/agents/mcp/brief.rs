//! The brief of a gate, cut to what fits into a conversation.

use serde_json::{Value, json};

use super::next_call::call;
use crate::files::task_file::TaskFile;
use crate::rules::brief::GateContext;
use crate::tasks::view::brief::brief_value;
use crate::tasks::view::brief_markdown::brief_markdown;

/// How many bytes of a text are shown at once.
pub(crate) const LONGEST_TEXT: usize = 20 * 1024;

/// Returns the brief as JSON.
pub(crate) fn value(file: &TaskFile, context: &GateContext) -> Value {
    let mut value = brief_value(file, context);
    cut_body(&mut value, 0);
    value
}

/// Returns the brief as Markdown, with how to say that it is done.
pub(crate) fn markdown(file: &TaskFile, context: &GateContext) -> String {
    let text = brief_markdown(file, context, "aof_task_renew");
    let (shown, cut) = beginning(&text, LONGEST_TEXT);
    let ticket = &context.ticket;
    let rest = if cut {
        format!("\n\n(cut here; the rest by aof_task_get with task {ticket})\n")
    } else {
        String::new()
    };
    format!(
        "{shown}{rest}\n## Say how it went\n\nCall aof_task_complete with `task`: `{ticket}`, `outcome`: one of those above, and \
         `summary`: what you did.\n"
    )
}

/// Cuts a task's `body` to what begins at that byte and fits, and says how to get the rest.
pub(crate) fn cut_body(value: &mut Value, from: usize) {
    let Some(body) = value["body"].as_str().map(str::to_owned) else { return };
    let from = body.floor_char_boundary(from);
    let (shown, cut) = beginning(&body[from..], LONGEST_TEXT);
    if from > 0 || cut {
        value["body"] = json!(shown);
        value["bodyBytes"] = json!(body.len());
    }
    if cut {
        value["truncated"] = json!(true);
        value["rest"] =
            call("aof_task_get", json!({"task": value["id"], "offset": from + shown.len()}));
    }
}

/// Returns the beginning of a text, and whether there is more.
pub(crate) fn beginning(text: &str, bytes: usize) -> (&str, bool) {
    let end = text.floor_char_boundary(bytes);
    (&text[..end], end < text.len())
}
