//! The bytes of a foreign file as a tree, in any notation, and the system that writes such files.

use crate::domain::listed;
use crate::domain::words::words;
use crate::files::diagnostic::excerpt::SourceLines;
use crate::files::json;
use crate::files::toml_tree;
use crate::files::yaml;
use crate::files::yaml::{Fault, Node, ParseLimits};

/// The largest file that is read.
const LARGEST: usize = 16 << 20;

/// Larger limits than for our own files: a file of ten thousand steps is valid, too.
const LIMITS: ParseLimits =
    ParseLimits { depth: 64, nodes: 2_000_000, alias_nodes: 200_000, text: 32 << 20 };

words!(
    /// The system whose file is imported.
    ForeignSystem, "a system", {
        /// Steps of one agent each, with decisions and retries.
        Antfarm = "antfarm",
        /// Steps that name the next one: agents, approvals, parallel agents.
        Openagents = "openagents",
        /// Roles with a frontmatter schema, and a graph over their `$status`.
        StatusGraph = "status-graph",
        /// Steps in TOML, some of them gates.
        Orbital = "orbital",
        /// Earlier files of aof: gates, or hops.
        Aof = "aof",
    }
);

/// A foreign file that could be read.
pub(crate) struct ForeignFile<'s> {
    pub(crate) root: Node<'static>,
    is_toml: bool,
    pub(crate) lines: SourceLines<'s>,
}

/// Returns the text of a file. If it is not a text, returns a readable form of it and the fault.
pub(crate) fn decoded(bytes: &[u8]) -> Result<String, (String, Fault)> {
    let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let fault = if bytes.len() > LARGEST {
        Fault::new("too_large", 0..0, format!("the file is larger than {} MiB", LARGEST >> 20))
            .help("a workflow is a page or two; this may be another file")
    } else if let Err(error) = std::str::from_utf8(bytes) {
        let at = error.valid_up_to();
        let problem = if utf16 { "this is UTF-16, not UTF-8" } else { "this is not UTF-8 text" };
        Fault::new("not_utf8", at..at + 1, problem).help("save the file as UTF-8")
    } else {
        let text = String::from_utf8_lossy(bytes).into_owned();
        if !text.trim().is_empty() {
            return Ok(text);
        }
        Fault::new("empty_file", 0..0, "the file is empty")
            .help("name the file that has the workflow in it")
    };
    let shown = bytes.len().min(LARGEST);
    Err((String::from_utf8_lossy(&bytes[..shown]).into_owned(), fault))
}

/// Reads the text in the notation that its name and its beginning show.
pub(crate) fn read<'s>(name: &str, text: &'s str) -> Result<ForeignFile<'s>, Vec<Fault>> {
    let is_toml = name.to_ascii_lowercase().ends_with(".toml");
    let yaml = || yaml::parse(text, &LIMITS).map(Node::into_owned);
    let (root, is_toml) = match if is_toml { Err(Vec::new()) } else { yaml() } {
        Ok(root) => (root, false),
        // A TOML file may have any name.
        Err(faults) => match toml_tree::parse(text) {
            Ok(root) => (root, true),
            Err(faults) if is_toml => return Err(faults),
            Err(_) => (json_or(text, faults)?, false),
        },
    };
    if root.entries().is_empty() {
        let message = match root.noun() {
            "a mapping" => "this file says nothing".to_owned(),
            noun => format!("a workflow file is a mapping of fields, and this is {noun}"),
        };
        return Err(vec![Fault::new("no_workflow", root.span.clone(), message)]);
    }
    Ok(ForeignFile { root, is_toml, lines: SourceLines::new(text) })
}

/// Reads a text that is not YAML as JSON, if it begins like JSON: some JSON is not YAML.
fn json_or(text: &str, faults: Vec<Fault>) -> Result<Node<'static>, Vec<Fault>> {
    let is_twice = faults.iter().any(|fault| fault.code == "duplicate_key");
    if is_twice || !text.trim_start().starts_with(['{', '[']) {
        return Err(faults);
    }
    json::parse(text).map(Node::into_owned).map_err(|fault| vec![fault])
}

impl ForeignFile<'_> {
    /// Returns the system that writes such files. Otherwise fails with a fault that says what was looked for.
    pub(crate) fn guess_system(&self) -> Result<ForeignSystem, Fault> {
        let root = &self.root;
        if let Some(name) = other_system(root) {
            let message = format!("this is a file of {name}, which is not read here");
            return Err(Fault::new("no_workflow", root.first_key(), message)
                .help("begin with a template that is close to it: `aof workflow create --list`"));
        }
        let workflow = root.get("workflow");
        let workflow_has = |keys: &[&str]| workflow.is_some_and(|node| has(node, keys));
        let some_workflow_has = |keys: &[&str]| {
            let each = |node: &Node<'_>| {
                let values = node.entries().iter().map(|entry| &entry.value);
                node.items().iter().chain(values).any(|node| has(node, keys))
            };
            root.get("workflows").is_some_and(each)
        };
        let steps = root.get("steps").or_else(|| workflow.and_then(|node| node.get("steps")));
        let steps = steps.map(Node::items).unwrap_or_default();
        let any_step = |keys: &[&str]| steps.iter().any(|step| has(step, keys));
        // An instruction has several words; the name of a step has one.
        let has_prose = |step: &Node<'_>| {
            let input = step.get("input").and_then(Node::as_str);
            input.is_some_and(|text| text.trim().contains(char::is_whitespace))
        };
        let of_openagents = [
            "on_success",
            "on_error",
            "on_approve",
            "on_reject",
            "agents",
            "message",
            "retry_delay",
        ];
        let of_antfarm = [
            "expects",
            "on_fail",
            "decision_key",
            "on_decision",
            "loop",
            "depends_on",
            "output_keys",
        ];
        Ok(if has(root, &["graph"]) {
            ForeignSystem::StatusGraph
        } else if workflow_has(&["steps", "preset", "max_gate_retries"])
            || (self.is_toml && has(root, &["steps", "preset"]))
        {
            ForeignSystem::Orbital
        } else if has(root, &["gates", "hops", "workflowTemplates"])
            || workflow_has(&["gates", "hops"])
            || some_workflow_has(&["gates", "hops"])
        {
            ForeignSystem::Aof
        } else if some_workflow_has(&["steps"]) || any_step(&of_openagents) {
            ForeignSystem::Openagents
        } else if any_step(&of_antfarm)
            || (has(root, &["steps"]) && has(root, &["agents", "polling"]))
        {
            ForeignSystem::Antfarm
        } else if any_step(&["agent"]) {
            if steps.iter().any(has_prose) {
                ForeignSystem::Antfarm
            } else {
                ForeignSystem::Openagents
            }
        } else if any_step(&["prompt"]) {
            ForeignSystem::Orbital
        } else {
            return Err(unknown(root));
        })
    }
}

/// Returns the name of another known system that writes such files, so that its files are never read as those of a supported one.
fn other_system(root: &Node<'_>) -> Option<&'static str> {
    let all = |node: &Node<'_>, keys: &[&str]| keys.iter().all(|key| has(node, &[key]));
    let any = |key: &str, keys: &[&str]| {
        root.get(key).is_some_and(|list| list.items().iter().any(|item| has(item, keys)))
    };
    let workflow_has = |keys| root.get("workflow").is_some_and(|node| has(node, keys));
    Some(match () {
        () if any("tasks", &["taskReferenceName"]) => "Conductor",
        () if workflow_has(&["entry_point"]) || any("agents", &["routes"]) => "Conductor",
        () if has(root, &["formula"]) || any("legs", &["id"]) => "gastown",
        () if all(root, &["on", "jobs"]) => "GitHub Actions",
        () if all(root, &["apiVersion", "kind"]) => "Kubernetes (Argo, Tekton)",
        () if all(root, &["StartAt", "States"]) => "AWS Step Functions",
        () if all(root, &["nodes", "connections"]) => "n8n",
        () => return None,
    })
}

/// Returns true if a mapping has one of these keys with a value.
fn has(node: &Node<'_>, keys: &[&str]) -> bool {
    keys.iter().any(|key| node.get(key).is_some_and(|node| !node.is_null()))
}

fn unknown(root: &Node<'_>) -> Fault {
    let keys = root.entries().iter().take(8).map(|entry| entry.key.text.as_ref());
    let span = root.first_key();
    if has(root, &["teams", "agents", "roles"]) {
        return Fault::new("no_workflow", span, "this file says who works, not how: there is no workflow in it").help(
            "import the file that has `gates`, `hops`, `steps` or `graph`; people and agents go into org.yaml by hand",
        );
    }
    let message =
        format!("there is no workflow in this file that is known here: it has {}", listed(keys));
    Fault::new("no_workflow", span, message).help(
        "a workflow has `steps` (antfarm, openagents, orbital), `roles` and `graph` (status-graph), `gates` or `hops` (aof); \
         if it is one of these, say so with `--from`",
    )
}
