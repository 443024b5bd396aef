//! JSON Schemas of the files that people and agents write, for editors and for other programs.
//!
//! The decoders decide what is valid; the tests hold the schemas to the same fields and words.

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
        let own = document.get_mut("$defs").and_then(Value::as_object_mut);
        if let (Self::Project, Some(own)) = (self, own) {
            // A project contains workflows: both share one definition.
            let mut workflow = parsed(Self::Workflow.source());
            own.extend(workflow["$defs"].as_object_mut().map(std::mem::take).unwrap_or_default());
        }
        document
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

fn parsed(source: &str) -> Value {
    serde_json::from_str(source).expect("it is part of the program, and a test reads it")
}

#[cfg(test)]
mod tests;
