//! The differences of two sets of rules, gate by gate and role by role, in words for people. Values are compared as they serialize,
//! and all of them do, so that no field is forgotten.

use serde::Serialize;
use serde_json::Value;

use aof_domain::words::words;
use aof_domain::{
    AgentId, Branch, Gate, GateId, GateKind, Org, Project, Promise, Role, RoleId, Workflow,
    WorkflowName,
};

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub of: RuleSubject,
    /// The gate; `None` if it concerns the whole workflow.
    pub gate: Option<GateId>,
    pub kind: DifferenceKind,
    /// The details, each in a few words; empty if the kind says everything.
    pub what: Vec<String>,
}

/// The subject of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleSubject {
    Workflow(WorkflowName),
    Role(RoleId),
    Agent(AgentId),
    /// A promise, by its name.
    Promise(String),
}

words!(
    /// The kind of a difference.
    DifferenceKind, "a kind of difference", {
        Added = "added",
        Removed = "removed",
        Changed = "changed",
    }
);

/// Returns the differences: of workflows, then of roles, of agents, and of promises.
pub fn differences(old: (&Project, &Org), new: (&Project, &Org)) -> Vec<Difference> {
    let mut all = Vec::new();
    for before in &old.0.workflows {
        let of = RuleSubject::Workflow(before.name.clone());
        match new.0.workflow(&before.name) {
            Some(after) => of_workflow(&of, before, after, &mut all),
            None => all.push(gone(of, None)),
        }
    }
    for after in new.0.workflows.iter().filter(|after| old.0.workflow(&after.name).is_none()) {
        let of = RuleSubject::Workflow(after.name.clone());
        let what = vec![order(after)];
        all.push(Difference { of, gate: None, kind: DifferenceKind::Added, what });
    }
    for (id, before) in &old.1.roles {
        let of = RuleSubject::Role(id.clone());
        match new.1.role(id) {
            Some(after) => all.extend(changed(of, None, of_role(before, after))),
            None => all.push(gone(of, None)),
        }
    }
    for (id, after) in new.1.roles.iter().filter(|(id, _)| old.1.role(id).is_none()) {
        let (of, what) = (RuleSubject::Role(id.clone()), vec![names(after.agents.iter())]);
        all.push(Difference { of, gate: None, kind: DifferenceKind::Added, what });
    }
    let agents = |org: &Org| org.agents.clone().unwrap_or_default();
    let (known, agents) = (agents(old.1), agents(new.1));
    for (id, before) in &known {
        let of = RuleSubject::Agent(id.clone());
        match agents.get(id) {
            Some(after) => all.extend(changed(of, None, fields(before, after, &[]))),
            None => all.push(gone(of, None)),
        }
    }
    for id in agents.keys().filter(|id| !known.contains_key(*id)) {
        let (of, what) = (RuleSubject::Agent(id.clone()), Vec::new());
        all.push(Difference { of, gate: None, kind: DifferenceKind::Added, what });
    }
    let named = |list: &'_ [Promise], name: &str| list.iter().find(|one| one.name == name).cloned();
    for before in &old.0.promises {
        let of = RuleSubject::Promise(before.name.clone());
        match named(&new.0.promises, &before.name) {
            Some(after) => all.extend(changed(of, None, fields(before, &after, &[]))),
            None => all.push(gone(of, None)),
        }
    }
    for after in &new.0.promises {
        if named(&old.0.promises, &after.name).is_none() {
            let (of, what) = (RuleSubject::Promise(after.name.clone()), vec![after.always.clone()]);
            all.push(Difference { of, gate: None, kind: DifferenceKind::Added, what });
        }
    }
    all
}

fn gone(of: RuleSubject, gate: Option<GateId>) -> Difference {
    Difference { of, gate, kind: DifferenceKind::Removed, what: Vec::new() }
}

fn changed(of: RuleSubject, gate: Option<GateId>, what: Vec<String>) -> Option<Difference> {
    (!what.is_empty()).then_some(Difference { of, gate, kind: DifferenceKind::Changed, what })
}

fn order(workflow: &Workflow) -> String {
    let gates: Vec<&str> = workflow.gates.iter().map(|gate| gate.id.as_str()).collect();
    gates.join(" -> ")
}

fn of_workflow(of: &RuleSubject, old: &Workflow, new: &Workflow, all: &mut Vec<Difference>) {
    let mut what = fields(old, new, &["name", "gates"]);
    let kept = |one: &Workflow, other: &Workflow| -> Vec<GateId> {
        one.gates.iter().map(|gate| gate.id.clone()).filter(|id| other.gate(id).is_some()).collect()
    };
    if kept(old, new) != kept(new, old) {
        what.push(format!("the order is {}", order(new)));
    }
    all.extend(changed(of.clone(), None, what));
    for gate in old.gates.iter().filter(|gate| new.gate(&gate.id).is_none()) {
        all.push(gone(of.clone(), Some(gate.id.clone())));
    }
    for (place, gate) in new.gates.iter().enumerate() {
        let (of, id) = (of.clone(), Some(gate.id.clone()));
        let Some((_, before)) = old.gate(&gate.id) else {
            let before = place.checked_sub(1).map(|place| &new.gates[place].id);
            let after = before.map_or_else(|| "first".to_owned(), |id| format!("after {id}"));
            let role = gate.role().map(|role| format!("role {role}"));
            let what = std::iter::once(after).chain(role).collect();
            all.push(Difference { of, gate: id, kind: DifferenceKind::Added, what });
            continue;
        };
        all.extend(changed(of, id, of_gate(before, gate)));
    }
}

fn of_gate(old: &Gate, new: &Gate) -> Vec<String> {
    let mut what = Vec::new();
    match (&old.kind, &new.kind) {
        (GateKind::Work(old), GateKind::Work(new)) => {
            what.extend(fields(old, new, &[]));
        }
        (GateKind::Condition, GateKind::Condition) => {}
        (GateKind::Fork(old), GateKind::Fork(new)) => {
            what.extend(fields(old, new, &["branches"]));
            for gone in old.branches.iter().filter(|branch| new.branch(branch.id()).is_none()) {
                what.push(format!("branch {} is gone", gone.id()));
            }
            for new in &new.branches {
                match old.branch(new.id()) {
                    Some((_, old)) => what.extend(of_branch(old, new)),
                    None => {
                        what.push(format!("new branch {} (role {})", new.id(), new.duty().role));
                    }
                }
            }
        }
        (old, new) => what.push(format!("type {} -> {}", old.gate_type(), new.gate_type())),
    }
    what.extend(fields(old, new, &["id", "exits", "kind"]));
    for (outcome, route) in &new.exits.routes {
        let mut before = old.exits.routes.iter().filter(|(known, _)| known == outcome);
        match before.next().map(|(_, route)| route) {
            Some(before) if before.to != route.to => {
                what.push(format!("route {outcome}: {} -> {}", before.to, route.to));
            }
            Some(before) => other(&format!("route {outcome}"), before != route, &mut what),
            None => what.push(format!("new route {outcome}: {}", route.to)),
        }
    }
    for (outcome, _) in &old.exits.routes {
        if new.exits.routes.iter().all(|(known, _)| known != outcome) {
            what.push(format!("route {outcome} is gone"));
        }
    }
    what.extend(fields(&old.exits, &new.exits, &["routes"]));
    what
}

fn of_branch(old: &Branch, new: &Branch) -> impl Iterator<Item = String> {
    let texts = of_gate(old.gate(), new.gate()).into_iter();
    texts.map(|text| format!("branch {}: {text}", new.id()))
}

fn of_role(old: &Role, new: &Role) -> Vec<String> {
    let come = names(new.agents.iter().filter(|agent| !old.agents.contains(agent)));
    let gone = names(old.agents.iter().filter(|agent| !new.agents.contains(agent)));
    let lists =
        [("with", come), ("without", gone)].into_iter().filter(|(_, list)| !list.is_empty());
    let mut what: Vec<String> = lists.map(|(word, list)| format!("{word} {list}")).collect();
    other("the order of its agents", what.is_empty() && old.agents != new.agents, &mut what);
    what.extend(fields(old, new, &["agents"]));
    what
}

fn names<'a>(agents: impl Iterator<Item = &'a AgentId>) -> String {
    agents.map(AgentId::as_str).collect::<Vec<_>>().join(", ")
}

fn other(name: &str, differs: bool, what: &mut Vec<String>) {
    what.extend(differs.then(|| format!("{name} differs")));
}

/// Returns the fields in which two values of one type differ, except these; single values with their old and new text.
fn fields(old: &impl Serialize, new: &impl Serialize, but: &[&str]) -> Vec<String> {
    let mut what = Vec::new();
    let whole = |value: Result<Value, _>| {
        let mut value = value.unwrap_or_default();
        value
            .as_object_mut()
            .into_iter()
            .for_each(|map| map.retain(|key, _| !but.contains(&key.as_str())));
        value
    };
    compare("", &whole(serde_json::to_value(old)), &whole(serde_json::to_value(new)), &mut what);
    what
}

/// Compares two values, including inner ones.
fn compare(path: &str, old: &Value, new: &Value, what: &mut Vec<String>) {
    const LONGEST: usize = 60;
    let text = |value: &Value| match value {
        Value::Null => Some("none".to_owned()),
        Value::String(text) => {
            (text.len() <= LONGEST && !text.contains('\n')).then(|| text.clone())
        }
        Value::Array(_) | Value::Object(_) => None,
        plain => Some(plain.to_string()),
    };
    match (old, new) {
        (Value::Object(before), Value::Object(after)) => {
            let gone = before.keys().filter(|key| !after.contains_key(*key));
            for key in after.keys().chain(gone) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                compare(&path, &old[key], &new[key], what);
            }
        }
        _ if old == new => {}
        _ => what.push(match (text(old), text(new)) {
            (Some(old), Some(new)) => format!("{path} {old} -> {new}"),
            _ => format!("{path} differs"),
        }),
    }
}
