//! `aof_task_get`

use serde_json::Value;

use super::tool::{Effect, Tool};
use crate::agents::mcp::arguments::Given;
use crate::agents::mcp::brief::cut_body;
use crate::agents::mcp::schema::{Argument, Field, Form};
use crate::agents::mcp::session::Project;
use crate::agents::mcp::tool_error::Trouble;
use crate::rules::Post;
use crate::tasks::view::brief::{brief_of, brief_value};
use crate::tasks::view::task_view::{frozen, show, task_value};

pub(crate) const TOOL: Tool = Tool {
    name: "aof_task_get",
    title: "Look at a task",
    description: "Look at a task: where it stands, its text, and `gate_context`, what is expected at its gate. Without `task`, the one \
                  that you have. Changes nothing. Long texts come in parts: `truncated` is true, and `rest` is the call for what \
                  follows.",
    arguments: &[
        crate::agents::mcp::tools::tool::TASK,
        Argument::optional("history", Form::Flag, "Also who did what at which gate"),
        Argument::optional("offset", Form::Count, "Begin `body` at this byte"),
    ],
    answer: &[
        ("id", Field::Text),
        ("ticket", Field::Text),
        ("title", Field::Text),
        ("status", Field::Text),
        ("body", Field::Text),
        ("available", Field::Object),
    ],
    effect: Effect::Looks,
    run,
};

fn run(project: &Project<'_>, given: &Given) -> Result<Value, Trouble> {
    let ticket = given.task(project)?;
    let (view, _) = show(&project.workspace, &ticket.task)?;
    let rules = project.rules();
    let mut value = task_value(rules, &view.file, &view.path);
    let post = Post::meant(rules, &view.file.task, ticket.branch.as_ref());
    let context = post.and_then(|post| brief_of(rules, &view.file, &post)).or(view.context);
    if let (Value::Object(map), Some(context)) = (&mut value, &context) {
        let Value::Object(told) = brief_value(&view.file, context) else {
            unreachable!("a brief is an object")
        };
        for (key, told) in told {
            map.insert(key, told);
        }
    }
    if let Value::Object(map) = &mut value {
        map.entry("title").or_insert_with(|| view.file.task.title.clone().into());
        map.entry("status").or_insert_with(|| crate::tasks::headers::header::NEW.into());
        if !given.flag("history") {
            map.shift_remove("gateHistory");
        }
        if let Some(frozen) = frozen(&project.workspace, &ticket.task) {
            map.insert("frozen".to_owned(), frozen.fields.into());
            map.insert("fix".to_owned(), frozen.fix.into());
        }
    }
    cut_body(&mut value, given.count("offset").unwrap_or(0));
    Ok(value)
}
