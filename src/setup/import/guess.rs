//! Whose file it is, by what stands in it.

use super::import::{System, has};
use super::source::Notation;
use crate::domain::listed;
use crate::files::yaml::{Fault, Node};

/// Returns the system that writes such files; a fault that says what was looked for, where none does.
pub(crate) fn guess(root: &Node<'_>, notation: Notation) -> Result<System, Fault> {
    let workflow = root.get("workflow");
    let steps = root.get("steps").or_else(|| workflow.and_then(|node| node.get("steps")));
    let any_step =
        |keys: &[&str]| steps.is_some_and(|steps| steps.items().iter().any(|step| has(step, keys)));
    if has(root, &["graph"]) {
        return Ok(System::StatusGraph);
    }
    let orbital = workflow.is_some_and(|node| has(node, &["steps", "preset", "max_gate_retries"]))
        || (notation == Notation::Toml && has(root, &["steps", "preset"]));
    if orbital {
        return Ok(System::Orbital);
    }
    if has(root, &["gates", "hops", "workflowTemplates"])
        || workflow.is_some_and(|node| has(node, &["gates", "hops"]))
        || root
            .get("workflows")
            .is_some_and(|node| each(node).any(|node| has(node, &["gates", "hops"])))
    {
        return Ok(System::Aof);
    }
    if root.get("workflows").is_some_and(|node| each(node).any(|node| has(node, &["steps"]))) {
        return Ok(System::Openagents);
    }
    if any_step(&[
        "on_success",
        "on_error",
        "on_approve",
        "on_reject",
        "agents",
        "message",
        "retry_delay",
    ]) {
        return Ok(System::Openagents);
    }
    if any_step(&[
        "expects",
        "on_fail",
        "decision_key",
        "on_decision",
        "loop",
        "depends_on",
        "output_keys",
    ]) || (steps.is_some() && has(root, &["agents", "polling"]))
    {
        return Ok(System::Antfarm);
    }
    if any_step(&["agent"]) {
        let several_lines =
            |step: &Node<'_>| step.get("input").and_then(Node::as_str).is_some_and(is_prose);
        let prose = steps.is_some_and(|steps| steps.items().iter().any(several_lines));
        return Ok(if prose { System::Antfarm } else { System::Openagents });
    }
    if any_step(&["prompt"]) {
        return Ok(System::Orbital);
    }
    Err(unknown(root))
}

/// An instruction has several words; the name of a step has one.
fn is_prose(text: &str) -> bool {
    text.trim().contains(char::is_whitespace)
}

fn each<'n, 's>(node: &'n Node<'s>) -> impl Iterator<Item = &'n Node<'s>> {
    node.items().iter().chain(node.entries().iter().map(|entry| &entry.value))
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
