//! The label sets that the rules in force can have. They are shown with 0 before anything happens, because a counter that appears with 1 shows no
//! increase.

use crate::domain::{Branch, Destination, Gate, GateKind, Outcome, Workflow};
use crate::rules::{Edge, EdgeKind, Rules, edges};

/// A gate in force, or a branch of one.
#[derive(Debug)]
pub(crate) struct KnownSeries {
    pub workflow: String,
    pub gate: String,
    /// Whose work it is; a fork and a condition have none.
    pub role: Option<String>,
    /// How a visit there can end.
    pub outcomes: Vec<String>,
    /// Where each outcome can lead.
    pub ways: Vec<(String, String)>,
    /// Whether tasks may pass it over because of its condition.
    pub conditional: bool,
    /// Whether it is a branch: the task stands at its fork.
    pub branch: bool,
}

/// Returns the gates of all workflows in their order, each fork with its branches behind it.
pub(crate) fn of(rules: &Rules) -> Vec<KnownSeries> {
    rules.project.workflows.iter().flat_map(of_workflow).collect()
}

fn of_workflow(workflow: &Workflow) -> Vec<KnownSeries> {
    let edges = edges(workflow);
    let mut all = Vec::new();
    for gate in &workflow.gates {
        let mut ways = Vec::new();
        for edge in edges.iter().filter(|edge| edge.from == gate.id) {
            for to in ends(&edges, edge) {
                ways.extend(
                    edge.outcomes.iter().map(|outcome| (to.to_string(), outcome.to_string())),
                );
            }
        }
        let outcomes = outcomes(gate);
        // A picture leaves out that who is blocked stays.
        let blocked = Outcome::Blocked.to_string();
        if outcomes.contains(&blocked) && !ways.iter().any(|(_, outcome)| *outcome == blocked) {
            ways.push((gate.id.to_string(), blocked));
        }
        all.push(known(workflow, gate, gate.id.to_string(), ways));
        for branch in gate.fork().map(|fork| fork.branches.as_slice()).unwrap_or_default() {
            all.push(of_branch(workflow, gate, branch));
        }
    }
    all
}

/// Returns where a way can end: at its gate, or where that leads which tasks pass over.
fn ends<'e>(edges: &'e [Edge], edge: &'e Edge) -> Vec<&'e Destination> {
    let mut ends = vec![&edge.to];
    // A gate is passed over by a way that goes on; what is sent back to it comes to it.
    let mut last = Some(&edge.to).filter(|_| edge.way == EdgeKind::On);
    while let Some(Destination::Gate(gate)) = last {
        last = edges
            .iter()
            .find(|over| over.from == *gate && over.way == EdgeKind::Over)
            .map(|over| &over.to);
        ends.extend(last);
    }
    ends
}

fn of_branch(workflow: &Workflow, fork: &Gate, branch: &Branch) -> KnownSeries {
    let gate = branch.gate();
    let ways = outcomes(gate).into_iter().map(|outcome| (fork.id.to_string(), outcome)).collect();
    KnownSeries { branch: true, ..known(workflow, gate, format!("{}/{}", fork.id, gate.id), ways) }
}

fn known(
    workflow: &Workflow,
    gate: &Gate,
    name: String,
    ways: Vec<(String, String)>,
) -> KnownSeries {
    KnownSeries {
        workflow: workflow.name.to_string(),
        gate: name,
        role: gate.role().map(ToString::to_string),
        outcomes: outcomes(gate),
        ways,
        conditional: gate.when.is_some() && gate.kind != GateKind::Condition,
        branch: false,
    }
}

fn outcomes(gate: &Gate) -> Vec<String> {
    let joined = [Outcome::Complete, Outcome::NeedsReview];
    let outcomes = match &gate.kind {
        GateKind::Work(_) => gate.possible(),
        GateKind::Condition => gate.exits.decisions().cloned().collect(),
        GateKind::Fork(_) => joined
            .into_iter()
            .filter(|said| *said == Outcome::Complete || gate.can_reject())
            .collect(),
    };
    outcomes.iter().map(ToString::to_string).collect()
}
