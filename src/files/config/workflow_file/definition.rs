//! One workflow: a mapping in project.yaml, or a file of `workflows/`.

use super::context;
use super::gate;
use std::ops::Range;

use super::brief::by_outcome;
use crate::domain::{Gate, Outcome, RejectionStrategy, Workflow, WorkflowName, listed};
use crate::files::config::decode::{Fields, parse_node, wrong_kind};
use crate::files::config::locate::Step;
use crate::files::config::run_file;
use crate::files::yaml::{Fault, Kind, Node};

/// A workflow and where it is defined.
pub(crate) struct Definition {
    pub(crate) workflow: Workflow,
    /// The way from the top of the file to the workflow.
    pub(crate) steps: Vec<Step>,
    /// What names it, in the text.
    pub(crate) span: Range<usize>,
    /// Whether tasks that name no workflow follow this one when nothing else is said.
    pub(crate) rank: Rank,
}

/// How a workflow is defined.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rank {
    /// By `workflow:` in project.yaml: the project's own.
    Own,
    /// As one of several.
    OneOfMany,
}

/// Returns the workflow of a file: its fields stand at the top, or under `workflow`. The file's name is its name if it says
/// none.
pub(crate) fn read_file(
    root: &Node<'_>,
    stem: &str,
    faults: &mut Vec<Fault>,
) -> Option<Definition> {
    let mut steps = Vec::new();
    let mut node = root;
    if let Some(entry) = root.entry("workflow") {
        let mut fields = Fields::of(root, "a workflow file with `workflow`", faults)?;
        fields.take("workflow");
        fields.refuse_unknown(faults);
        steps.push(Step::Key("workflow".to_owned()));
        node = &entry.value;
    }
    if node.is_null() {
        let span = root.entry("workflow").map_or(0..0, |entry| entry.key.span.clone());
        faults.push(
            Fault::new("empty_workflow", span, "this file says nothing")
                .help("add `gates` to it, or remove the file"),
        );
        return None;
    }
    let name = stem.parse().ok();
    if name.is_none() && name_span(node).is_none() {
        faults.push(
            Fault::new("missing_field", 0..0, "the name of this file is no name for a workflow")
                .help("add a `name` of letters, digits, `-` and `_`, or rename the file"),
        );
        return None;
    }
    let span = name_span(node).unwrap_or(0..0);
    let workflow = read(node, name, faults)?;
    Some(Definition { workflow, steps, span, rank: Rank::OneOfMany })
}

/// Returns the workflow that the node says. `name` counts where it has none of its own.
pub(crate) fn read(
    node: &Node<'_>,
    name: Option<WorkflowName>,
    faults: &mut Vec<Fault>,
) -> Option<Workflow> {
    let mut fields = Fields::of(node, "a workflow", faults)?;
    let written = fields.parsed("name", faults);
    let name = match name {
        Some(name) => written.or(Some(name)),
        None => fields.require("name", written, faults),
    };
    let description = fields.text("description", faults);
    let default_outcome = fields.parsed("defaultOutcome", faults).unwrap_or(Outcome::Complete);
    let rejection = fields.parsed("rejectionStrategy", faults).unwrap_or(RejectionStrategy::Origin);
    let gates = fields.take("gates").and_then(|node| read_gates(node, faults));
    let holds_rejections = fields.take("outcomes").is_some_and(|node| read_outcomes(node, faults));
    let gates = fields.require("gates", gates, faults);
    let version = fields.text("version", faults);
    let visible_to = fields.list("visibleTo", faults).unwrap_or_default();
    let timeout = fields.parsed("timeout", faults);
    let lease = fields.parsed("lease", faults);
    let run =
        fields.take("run").map(|node| run_file::read_limits(node, faults)).unwrap_or_default();
    let context =
        fields.take("context").map(|node| context::read(node, faults)).unwrap_or_default();
    fields.refuse_unknown(faults);
    Some(Workflow {
        name: name?,
        description,
        version,
        visible_to,
        default_outcome,
        rejection,
        holds_rejections,
        timeout,
        lease,
        run,
        context,
        gates: gates?,
    })
}

/// Returns where a workflow says its name.
pub(crate) fn name_span(node: &Node<'_>) -> Option<Range<usize>> {
    node.get("name").filter(|name| !name.is_null()).map(|name| name.span.clone())
}

fn read_gates(node: &Node<'_>, faults: &mut Vec<Fault>) -> Option<Vec<Gate>> {
    let Kind::Sequence(items) = &node.kind else {
        faults.push(
            wrong_kind(node, "`gates` is a list of gates")
                .help("begin each gate with a dash, as in `- id: review`"),
        );
        return None;
    };
    if items.is_empty() {
        faults.push(
            Fault::new("no_gates", node.span.clone(), "a workflow needs at least one gate")
                .help("add one, as in `- {id: work, role: worker}`"),
        );
    }
    let gates: Vec<Gate> = items.iter().filter_map(|item| gate::read(item, faults)).collect();
    (gates.len() == items.len()).then_some(gates)
}

/// Reads what each outcome does, and returns whether a rejection is held. What an outcome does is fixed but for
/// `needs_review`: anything else would turn the process upside down, so it is refused.
fn read_outcomes(node: &Node<'_>, faults: &mut Vec<Fault>) -> bool {
    let mut holds = false;
    for (outcome, entry) in by_outcome(node, "`outcomes` says what each outcome does", faults) {
        let action: Option<String> =
            parse_node(&entry.value, "what an outcome does is a word", faults);
        let Some(action) = action else { continue };
        let (allowed, why): (&[&str], &str) = match outcome {
            Outcome::Complete => (&["advance"], "finished work would not move on"),
            Outcome::NeedsReview => {
                (&["reject", "hold"], "work that failed a review would pass it")
            }
            Outcome::Blocked => (&["hold"], "a task that cannot go on would leave its gate"),
            Outcome::Skip => (&["advance"], "a gate that does not apply would keep its task"),
            Outcome::Failed | Outcome::Decision(_) => {
                let message = format!(
                    "`{outcome}` is not one of the outcomes that a workflow has everywhere"
                );
                let help = "say where it leads in the `routes` of the gate that has it, or in its `onFailure`";
                faults.push(
                    Fault::new("unknown_outcome", entry.key.span.clone(), message).help(help),
                );
                continue;
            }
        };
        holds |= outcome == Outcome::NeedsReview && action == "hold";
        if !allowed.contains(&action.as_str()) {
            let known = ["advance", "reject", "hold"].contains(&action.as_str());
            let message = if known {
                format!("`{outcome}: {action}` is not possible: {why}")
            } else {
                format!("`{action}` is nothing that an outcome does")
            };
            let span = entry.value.span.clone();
            faults.push(
                Fault::new("invalid_outcome_action", span, message)
                    .help(format!("`{outcome}` takes {}", listed(allowed))),
            );
        }
    }
    holds
}
