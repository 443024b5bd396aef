//! JSON Schemas of the files that people and agents write, for editors and for other programs.
//!
//! The decoders decide what is valid; the tests hold the schemas to the same fields and words.

use std::iter;

use serde_json::Value;

use aof_domain::words::words;

words!(
    /// The kind of file that a schema describes.
    Schema, "a kind of file", {
        /// The frontmatter of a task file.
        Task = "task",
        /// project.yaml
        Project = "project",
        /// org.yaml
        Org = "org",
        /// A file of `workflows/`.
        Workflow = "workflow",
        /// A completion file.
        Completion = "completion",
        /// The `--json` output of a refusal.
        Refusal = "refusal",
        /// A line of the event stream.
        Event = "event",
    }
);

impl Schema {
    /// Returns the self-contained schema, draft 2020-12.
    pub fn document(self) -> Value {
        let mut document = parsed(self.source());
        let defs = document.get_mut("$defs").and_then(Value::as_object_mut);
        if let (Self::Project, Some(defs)) = (self, defs) {
            // A project contains workflows: both share one definition.
            let mut workflow = parsed(Self::Workflow.source());
            defs.extend(workflow["$defs"].as_object_mut().map(std::mem::take).unwrap_or_default());
        }
        document
    }

    /// Returns the schema as an indented text.
    pub fn text(self) -> String {
        match self {
            Self::Project => format!("{:#}", self.document()),
            _ => indented(self.source()),
        }
    }

    /// Returns a text that identifies the schemas of this build.
    pub fn edition() -> String {
        let length: usize = Self::ALL.iter().map(|schema| schema.source().len()).sum();
        format!("{} {length}\n", env!("CARGO_PKG_VERSION"))
    }

    const fn source(self) -> &'static str {
        match self {
            Self::Task => include_str!("schema/task.json"),
            Self::Project => include_str!("schema/project.json"),
            Self::Org => include_str!("schema/org.json"),
            Self::Workflow => include_str!("schema/workflow.json"),
            Self::Completion => include_str!("schema/completion.json"),
            Self::Refusal => include_str!("schema/refusal.json"),
            Self::Event => include_str!("schema/event.json"),
        }
    }
}

/// Indents JSON as `serde_json` does, without parsing it, which would take most of a short command's time.
fn indented(json: &str) -> String {
    fn new_line(text: &mut String, depth: usize) {
        text.push('\n');
        text.extend(iter::repeat_n("  ", depth));
    }
    let mut text = String::with_capacity(2 * json.len());
    let (mut depth, mut rest) = (0, json.trim_start());
    while let Some(first) = rest.chars().next() {
        let mut taken = 1;
        match first {
            '{' | '[' if rest[1..].trim_start().starts_with(['}', ']']) => {
                text.push_str(if first == '{' { "{}" } else { "[]" });
                taken = rest.find(['}', ']']).map_or(1, |end| end + 1);
            }
            '{' | '[' => {
                depth += 1;
                text.push(first);
                new_line(&mut text, depth);
            }
            '}' | ']' => {
                depth -= 1;
                new_line(&mut text, depth);
                text.push(first);
            }
            ',' => {
                text.push(',');
                new_line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            '"' => {
                let mut is_escaped = true;
                let end = rest.find(|c| {
                    let is_end = c == '"' && !is_escaped;
                    is_escaped = c == '\\' && !is_escaped;
                    is_end
                });
                taken = end.map_or(rest.len(), |end| end + 1);
                text.push_str(&rest[..taken]);
            }
            _ => {
                taken = rest.find([',', '}', ']', '\n', ' ']).unwrap_or(rest.len());
                text.push_str(&rest[..taken]);
            }
        }
        rest = rest[taken..].trim_start();
    }
    text
}

fn parsed(source: &str) -> Value {
    serde_json::from_str(source).expect("it is part of the program, and a test reads it")
}

#[cfg(test)]
mod tests;
