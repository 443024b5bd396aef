//! Whose file it is: named by the caller, or guessed by what stands in it.

use super::source::Notation;
use crate::domain::listed;
use crate::domain::words::words;
use crate::files::yaml::{Fault, Node};

words!(
    /// Whose file is imported.
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

/// Returns the system that writes such files; a fault that says what was looked for, where none does.
pub(crate) fn guess(root: &Node<'_>, notation: Notation) -> Result<ForeignSystem, Fault> {
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
    let any_step =
        |keys: &[&str]| steps.is_some_and(|steps| steps.items().iter().any(|step| has(step, keys)));
    // An instruction has several words; the name of a step has one.
    let has_prose = |step: &Node<'_>| {
        let input = step.get("input").and_then(Node::as_str);
        input.is_some_and(|text| text.trim().contains(char::is_whitespace))
    };
    let of_openagents =
        ["on_success", "on_error", "on_approve", "on_reject", "agents", "message", "retry_delay"];
    let of_antfarm =
        ["expects", "on_fail", "decision_key", "on_decision", "loop", "depends_on", "output_keys"];
    Ok(if has(root, &["graph"]) {
        ForeignSystem::StatusGraph
    } else if workflow_has(&["steps", "preset", "max_gate_retries"])
        || (notation == Notation::Toml && has(root, &["steps", "preset"]))
    {
        ForeignSystem::Orbital
    } else if has(root, &["gates", "hops", "workflowTemplates"])
        || workflow_has(&["gates", "hops"])
        || some_workflow_has(&["gates", "hops"])
    {
        ForeignSystem::Aof
    } else if some_workflow_has(&["steps"]) || any_step(&of_openagents) {
        ForeignSystem::Openagents
    } else if any_step(&of_antfarm) || (steps.is_some() && has(root, &["agents", "polling"])) {
        ForeignSystem::Antfarm
    } else if any_step(&["agent"]) {
        let prose = steps.is_some_and(|steps| steps.items().iter().any(has_prose));
        if prose { ForeignSystem::Antfarm } else { ForeignSystem::Openagents }
    } else if any_step(&["prompt"]) {
        ForeignSystem::Orbital
    } else {
        return Err(unknown(root));
    })
}

/// Returns whether a mapping has one of these keys, with something behind it.
fn has(node: &Node<'_>, keys: &[&str]) -> bool {
    keys.iter().any(|key| node.get(key).is_some_and(|node| !node.is_null()))
}

fn unknown(root: &Node<'_>) -> Fault {
    let keys: Vec<&str> =
        root.entries().iter().take(8).map(|entry| entry.key.text.as_ref()).collect();
    let span = root.entries().first().map_or(0..0, |entry| entry.key.span.clone());
    if has(root, &["teams", "agents", "roles"]) && !has(root, &["steps", "gates", "hops"]) {
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
