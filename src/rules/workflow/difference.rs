//! What differs between two sets of rules, gate by gate and role by role, in words for people. It tells; it decides nothing.

use crate::domain::{
    AgentId, Branch, Duty, Exhausted, Gate, GateId, GateKind, Org, Project, RoleId, Workflow,
    WorkflowName,
};

/// Something that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Where: a workflow, or a role.
    pub of: Subject,
    /// Which gate of the workflow; nothing where it is about the whole.
    pub gate: Option<GateId>,
    /// What kind of difference it is.
    pub kind: DifferenceKind,
    /// What it is, each in a few words; nothing where the kind says it all.
    pub what: Vec<String>,
}

/// What a difference is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A workflow.
    Workflow(WorkflowName),
    /// A role.
    Role(RoleId),
}

/// What kind of difference it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceKind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It is another than it was.
    Changed,
}

impl DifferenceKind {
    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

/// Returns what differs, workflows first.
pub fn differences(old: (&Project, &Org), new: (&Project, &Org)) -> Vec<Difference> {
    let mut all = Vec::new();
    for before in &old.0.workflows {
        match new.0.workflow(&before.name) {
            Some(after) => of_workflow(before, after, &mut all),
            None => all.push(whole(&before.name, DifferenceKind::Removed, Vec::new())),
        }
    }
    for after in new.0.workflows.iter().filter(|after| old.0.workflow(&after.name).is_none()) {
        let gates: Vec<&str> = after.gates.iter().map(|gate| gate.id.as_str()).collect();
        all.push(whole(&after.name, DifferenceKind::Added, vec![gates.join(" -> ")]));
    }
    of_roles(old.1, new.1, &mut all);
    all
}

fn whole(name: &WorkflowName, kind: DifferenceKind, what: Vec<String>) -> Difference {
    Difference { of: Subject::Workflow(name.clone()), gate: None, kind, what }
}

fn of_workflow(old: &Workflow, new: &Workflow, all: &mut Vec<Difference>) {
    let mut what = Words::default();
    what.turn("rejectionStrategy", old.rejection.as_str(), new.rejection.as_str());
    what.turn("defaultOutcome", old.default_outcome.as_str(), new.default_outcome.as_str());
    what.shown("timeout", old.timeout.as_ref(), new.timeout.as_ref());
    what.shown("lease", old.lease.as_ref(), new.lease.as_ref());
    what.other("context", old.context != new.context);
    what.other("needs_review", old.holds_rejections != new.holds_rejections);
    what.other("visibleTo", old.visible_to != new.visible_to);
    let kept = |one: &Workflow, other: &Workflow| -> Vec<GateId> {
        one.gates.iter().map(|gate| gate.id.clone()).filter(|id| other.gate(id).is_some()).collect()
    };
    if kept(old, new) != kept(new, old) {
        let order: Vec<String> = new.gates.iter().map(|gate| gate.id.to_string()).collect();
        what.0.push(format!("the order is {}", order.join(" -> ")));
    }
    if !what.0.is_empty() {
        all.push(whole(&new.name, DifferenceKind::Changed, what.0));
    }
    let of = || Subject::Workflow(new.name.clone());
    for gate in old.gates.iter().filter(|gate| new.gate(&gate.id).is_none()) {
        all.push(Difference {
            of: of(),
            gate: Some(gate.id.clone()),
            kind: DifferenceKind::Removed,
            what: Vec::new(),
        });
    }
    for (place, gate) in new.gates.iter().enumerate() {
        let Some((_, before)) = old.gate(&gate.id) else {
            let after = place
                .checked_sub(1)
                .map_or_else(|| "first".to_owned(), |at| format!("after {}", new.gates[at].id));
            let role = gate.role().map(|role| format!("role {role}"));
            let what = std::iter::once(after).chain(role).collect();
            all.push(Difference {
                of: of(),
                gate: Some(gate.id.clone()),
                kind: DifferenceKind::Added,
                what,
            });
            continue;
        };
        let what = of_gate(before, gate);
        if !what.is_empty() {
            all.push(Difference {
                of: of(),
                gate: Some(gate.id.clone()),
                kind: DifferenceKind::Changed,
                what,
            });
        }
    }
}

fn of_gate(old: &Gate, new: &Gate) -> Vec<String> {
    let mut what = Words::default();
    match (&old.kind, &new.kind) {
        (GateKind::Work(old), GateKind::Work(new)) => of_duty(old, new, &mut what),
        (GateKind::Condition, GateKind::Condition) => {}
        (GateKind::Fork(old), GateKind::Fork(new)) => {
            what.turn("joinStrategy", old.join.as_str(), new.join.as_str());
            for gone in old.branches.iter().filter(|own| new.branch(own.id()).is_none()) {
                what.0.push(format!("branch {} is gone", gone.id()));
            }
            for own in &new.branches {
                match old.branch(own.id()) {
                    Some((_, before)) => of_branch(before, own, &mut what),
                    None => {
                        what.0.push(format!("new branch {} (role {})", own.id(), own.duty().role));
                    }
                }
            }
        }
        (old, new) => what.turn("type", kind(old), kind(new)),
    }
    what.shown("when", old.when.as_ref(), new.when.as_ref());
    what.other("onConditionError", old.on_condition_error != new.on_condition_error);
    what.other("detour", old.detour != new.detour);
    for (outcome, route) in &new.exits.routes {
        let before =
            old.exits.routes.iter().find(|(known, _)| known == outcome).map(|(_, route)| route);
        match before {
            Some(before) if before.to != route.to => {
                what.0.push(format!("route {outcome}: {} -> {}", before.to, route.to));
            }
            Some(before) => what.other(&format!("route {outcome}"), before != route),
            None => what.0.push(format!("new route {outcome}: {}", route.to)),
        }
    }
    for (outcome, _) in &old.exits.routes {
        if new.exits.routes.iter().all(|(known, _)| known != outcome) {
            what.0.push(format!("route {outcome} is gone"));
        }
    }
    what.shown("rejectTo", old.exits.reject_to.as_ref(), new.exits.reject_to.as_ref());
    what.shown("maxRetries", old.exits.max_retries.as_ref(), new.exits.max_retries.as_ref());
    what.turn(
        "onExhausted",
        &exhausted(&old.exits.on_exhausted),
        &exhausted(&new.exits.on_exhausted),
    );
    what.other("onFailure", old.exits.on_failure != new.exits.on_failure);
    what.other("description", old.description != new.description);
    what.other("metadata", old.metadata != new.metadata);
    what.0
}

fn of_branch(old: &Branch, new: &Branch, what: &mut Words) {
    let own = of_gate(old.gate(), new.gate());
    what.0.extend(own.into_iter().map(|text| format!("branch {}: {text}", new.id())));
}

fn of_duty(old: &Duty, new: &Duty, what: &mut Words) {
    what.turn("role", old.role.as_str(), new.role.as_str());
    what.flag("canReject", old.can_reject, new.can_reject);
    what.flag("canSkip", old.can_skip, new.can_skip);
    what.flag("requireHuman", old.require_human, new.require_human);
    what.shown("timeout", old.timeout.as_ref(), new.timeout.as_ref());
    what.shown("lease", old.lease.as_ref(), new.lease.as_ref());
    what.shown("escalateTo", old.escalate_to.as_ref(), new.escalate_to.as_ref());
    what.other(
        "separateFrom",
        old.separate_from != new.separate_from || old.separate_by != new.separate_by,
    );
    what.other("outputs", old.outputs != new.outputs);
    what.other("signal", old.signal != new.signal);
    what.other("files", old.files != new.files);
    what.other("brief", old.brief != new.brief);
}

const fn kind(kind: &GateKind) -> &'static str {
    match kind {
        GateKind::Work(_) => "work",
        GateKind::Condition => "condition",
        GateKind::Fork(_) => "fork",
    }
}

fn exhausted(way: &Exhausted) -> String {
    match way {
        Exhausted::Block => "block".to_owned(),
        Exhausted::Escalate(role) => format!("escalate to {role}"),
        Exhausted::Route(target) => target.to_string(),
    }
}

fn of_roles(old: &Org, new: &Org, all: &mut Vec<Difference>) {
    let mut add = |role: &RoleId, kind, what| {
        all.push(Difference { of: Subject::Role(role.clone()), gate: None, kind, what });
    };
    let names =
        |agents: &[AgentId]| agents.iter().map(AgentId::to_string).collect::<Vec<_>>().join(", ");
    for (id, before) in &old.roles {
        let Some(after) = new.role(id) else {
            add(id, DifferenceKind::Removed, Vec::new());
            continue;
        };
        let mut what = Words::default();
        let only = |one: &[AgentId], other: &[AgentId]| -> Vec<AgentId> {
            one.iter().filter(|agent| !other.contains(agent)).cloned().collect()
        };
        let (gone, come) =
            (only(&before.agents, &after.agents), only(&after.agents, &before.agents));
        if !come.is_empty() {
            what.0.push(format!("with {}", names(&come)));
        }
        if !gone.is_empty() {
            what.0.push(format!("without {}", names(&gone)));
        }
        what.flag("requireHuman", before.require_human, after.require_human);
        if !what.0.is_empty() {
            add(id, DifferenceKind::Changed, what.0);
        }
    }
    for (id, after) in new.roles.iter().filter(|(id, _)| old.role(id).is_none()) {
        add(id, DifferenceKind::Added, vec![names(&after.agents)]);
    }
}

/// Differences, in words.
#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    fn turn(&mut self, name: &str, old: &str, new: &str) {
        if old != new {
            self.0.push(format!("{name} {old} -> {new}"));
        }
    }

    fn flag(&mut self, name: &str, old: bool, new: bool) {
        self.turn(name, if old { "true" } else { "false" }, if new { "true" } else { "false" });
    }

    fn shown<T: ToString>(&mut self, name: &str, old: Option<&T>, new: Option<&T>) {
        let text = |value: Option<&T>| value.map_or_else(|| "none".to_owned(), ToString::to_string);
        self.turn(name, &text(old), &text(new));
    }

    fn other(&mut self, name: &str, differs: bool) {
        if differs {
            self.0.push(format!("{name} differs"));
        }
    }
}
