//! One workflow: a mapping in project.yaml, or a file of `workflows/`.

use std::ops::Range;

use super::decode::{Faults, FieldReader, parse_node};
use super::gate_file::by_outcome;
use super::locate::Step;
use super::{budget_file, gate_file, run_file};
use crate::yaml::{Node, NodeKind};
use aof_domain::{
    ContextRules, Exhausted, Gate, Map, Outcome, RejectionStrategy, Repeat, Workflow, WorkflowName,
    listed,
};

/// A workflow and the place of its definition.
pub(crate) struct Definition {
    pub(crate) workflow: Workflow,
    /// The path to the workflow in the file.
    pub(crate) steps: Vec<Step>,
    /// The span of its name.
    pub(crate) span: Range<usize>,
    /// True if it is the project's own, by `workflow:` in project.yaml: tasks that name no workflow follow it.
    pub(crate) is_own: bool,
}

/// Reads the workflow of a file, whose fields are at the top or under `workflow`. The file's stem is its default name.
pub(crate) fn read_file(root: &Node<'_>, stem: &str, faults: &Faults) -> Option<Definition> {
    let mut steps = Vec::new();
    let mut node = root;
    if let Some(entry) = root.entry("workflow") {
        let fields = FieldReader::of(root, "a workflow file with `workflow`", faults)?;
        fields.take("workflow");
        fields.refuse_unknown();
        steps.push(Step::Key("workflow".to_owned()));
        node = &entry.value;
    }
    if node.is_null() {
        let span = root.entry("workflow").map_or(0..0, |entry| entry.key.span.clone());
        let help = "add `gates` to it, or remove the file";
        faults.add("empty_workflow", &span, "this file says nothing", help);
        return None;
    }
    let name = stem.parse().ok();
    let span = name_span(node);
    if name.is_none() && span.is_none() {
        let message = "the name of this file is no name for a workflow";
        let help = "add a `name` of letters, digits, `-` and `_`, or rename the file";
        faults.add("missing_field", &(0..0), message, help);
        return None;
    }
    let workflow = read(node, name, faults)?;
    Some(Definition { workflow, steps, span: span.unwrap_or(0..0), is_own: false })
}

/// Reads a workflow; `name` is used if it has none.
pub(crate) fn read(
    node: &Node<'_>,
    name: Option<WorkflowName>,
    faults: &Faults,
) -> Option<Workflow> {
    let fields = FieldReader::of(node, "a workflow", faults)?;
    let written = fields.parsed("name");
    let name = match name {
        Some(name) => written.or(Some(name)),
        None => fields.require("name", written),
    };
    let gates = fields.with("gates", read_gates).flatten();
    let gates = fields.require("gates", gates);
    let workflow = |name, gates| Workflow {
        name,
        description: fields.text("description"),
        version: fields.text("version"),
        visible_to: fields.list("visibleTo").unwrap_or_default(),
        default_outcome: fields.parsed("defaultOutcome").unwrap_or(Outcome::Complete),
        rejection: fields.parsed("rejectionStrategy").unwrap_or(RejectionStrategy::Origin),
        holds_rejections: fields.with("outcomes", read_outcomes).unwrap_or(false),
        timeout: fields.parsed("timeout"),
        lease: fields.parsed("lease"),
        run: fields
            .with("run", |node, faults| run_file::read_limits(node, "a workflow's `run`", faults))
            .unwrap_or_default(),
        budget: fields.with("budget", budget_file::read).unwrap_or_default(),
        context: fields.with("context", read_context).unwrap_or_default(),
        repeat: fields.with("repeat", read_repeat).flatten(),
        gates,
    };
    // Read the rest even if it cannot be used, to report its faults.
    let is_usable = name.is_some() && gates.is_some();
    let workflow = workflow(name.unwrap_or_else(default_name), gates.unwrap_or_default());
    fields.refuse_unknown();
    is_usable.then_some(workflow)
}

/// Returns the name of a workflow without one.
pub(crate) fn default_name() -> WorkflowName {
    "default".parse().expect("it is letters")
}

/// Returns the span of a workflow's name.
pub(crate) fn name_span(node: &Node<'_>) -> Option<Range<usize>> {
    node.get("name").filter(|name| !name.is_null()).map(|name| name.span.clone())
}

fn read_gates(node: &Node<'_>, faults: &Faults) -> Option<Vec<Gate>> {
    let NodeKind::Sequence(items) = &node.kind else {
        let help = "begin each gate with a dash, as in `- id: review`";
        faults.wrong_kind(node, "`gates` is a list of gates", help);
        return None;
    };
    if items.is_empty() {
        let help = "add one, as in `- {id: work, role: worker}`";
        faults.add("no_gates", &node.span, "a workflow needs at least one gate", help);
    }
    let gates: Vec<Gate> = items.iter().filter_map(|item| gate_file::read(item, faults)).collect();
    (gates.len() == items.len()).then_some(gates)
}

/// Reads the effects of outcomes; returns whether a rejection holds the task. Only the effect of `needs_review` can be changed;
/// other effects are refused.
fn read_outcomes(node: &Node<'_>, faults: &Faults) -> bool {
    let mut holds = false;
    for (outcome, entry) in by_outcome(node, "`outcomes` says what each outcome does", faults) {
        let wanted = "what an outcome does is a word";
        let action: Option<String> = parse_node(&entry.value, wanted, faults);
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
                faults.add("unknown_outcome", &entry.key.span, message, help);
                continue;
            }
        };
        holds |= outcome == Outcome::NeedsReview && action == "hold";
        if !allowed.contains(&action.as_str()) {
            let message = if ["advance", "reject", "hold"].contains(&action.as_str()) {
                format!("`{outcome}: {action}` is not possible: {why}")
            } else {
                format!("`{action}` is nothing that an outcome does")
            };
            let help = format!("`{outcome}` takes {}", listed(allowed));
            faults.add("invalid_outcome_action", &entry.value.span, message, help);
        }
    }
    holds
}

/// Reads the rounds of a workflow.
fn read_repeat(node: &Node<'_>, faults: &Faults) -> Option<Repeat> {
    let fields = FieldReader::of(node, "`repeat`", faults)?;
    let until = fields.text("until");
    let until = fields.require("until", until);
    let max = fields.parsed("max").unwrap_or(Repeat::DEFAULT_ROUNDS);
    let on_exhausted =
        fields.with("onExhausted", gate_file::read_exhausted).flatten().unwrap_or_default();
    if max == 0 {
        let help = "use a number from 1, or leave it out";
        fields.fault("max", "invalid_value", "`max: 0` lets no round begin", help);
    }
    if matches!(on_exhausted, Exhausted::Escalate(_)) {
        let message = "after the last round no visit is open that a role could take over";
        let help = "name where the task goes, as in `onExhausted: $fail`, or leave it out: the task is blocked then";
        fields.fault("onExhausted", "invalid_value", message, help);
    }
    fields.refuse_unknown();
    Some(Repeat { until: until?, max, on_exhausted })
}

pub(crate) fn read_context(node: &Node<'_>, faults: &Faults) -> ContextRules {
    let fields = FieldReader::of(node, "`context`", faults);
    let Some(fields) = fields else { return ContextRules::default() };
    let input = fields.with("input", read_input);
    let protected = fields.list("protected");
    let max_bytes = fields.with("maxBytes", read_bytes).flatten();
    fields.refuse_unknown();
    ContextRules { input, protected, max_bytes: max_bytes.unwrap_or(ContextRules::DEFAULT_BYTES) }
}

fn read_input(node: &Node<'_>, faults: &Faults) -> Map {
    if !matches!(node.kind, NodeKind::Mapping(_)) {
        let help = "write `input: {branch: main, repo: null}`; null is for what must be said when a task is made";
        faults.wrong_kind(node, "`input` is a mapping of names and defaults", help);
    }
    let mut input = Map::new();
    for entry in node.entries() {
        let name = entry.key.text.as_ref();
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        if name.is_empty() || name.len() > 64 || !is_plain {
            let message = format!("`{}` is no name for an input", name.escape_debug());
            let help = "use letters, digits, `_` and `-`, at most 64: templates call it `{{name}}`";
            faults.add("invalid_value", &entry.key.span, message, help);
        } else {
            input.insert(name.to_owned(), entry.value.to_value());
        }
    }
    input
}

fn read_bytes(node: &Node<'_>, faults: &Faults) -> Option<usize> {
    let bytes = match &node.kind {
        NodeKind::Number(number) => {
            number.number().as_u64().and_then(|bytes| bytes.try_into().ok())
        }
        _ => None,
    };
    let bytes = bytes.filter(|bytes| *bytes > 0);
    if bytes.is_none() {
        faults.wrong_kind(node, "`maxBytes` is a number of bytes from 1", "");
    }
    bytes
}
