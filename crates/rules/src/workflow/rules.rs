//! The rules: a project's validated workflows and org chart, with compiled conditions and workflow hashes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::condition::Condition;
use crate::condition::promise::CompiledPromise;
use aof_domain::workflow::gate::Mark;
use aof_domain::workflow::shape::{Others, ShapeKind};
use aof_domain::{
    AgentId, Channel, ContextRules, Digest, Duty, Exhausted, Exits, ForEach, Fork, Gate, GateId,
    GateKind, Map, Org, Outcome, Outputs, Period, PlanKey, Project, Repeat, RoleId, Route,
    RunBudget, Shape, Signal, Station, Task, Workflow, WorkflowName,
};

/// The compiled conditions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conditions {
    /// The conditions of gates and branches.
    pub(crate) when: BTreeMap<(WorkflowName, Station), Condition>,
    /// The conditions that end the rounds of a workflow.
    pub(crate) until: BTreeMap<WorkflowName, Condition>,
    pub(crate) promises: Vec<CompiledPromise>,
}

/// Returns the names that a condition may use (spec 1, 3.2), and those of people's plan.
pub(crate) fn condition_names() -> Vec<&'static str> {
    ["tags", "metadata", "gateHistory"].into_iter().chain(PlanKey::names()).collect()
}

/// Returns the names that the condition of an automatic gate may use: also the outputs of gates, in `context`.
pub(crate) fn deciding_names() -> Vec<&'static str> {
    let mut names = condition_names();
    names.insert(3, "context");
    names
}

/// Validated rules.
#[derive(Debug, Clone)]
pub struct Rules {
    pub project: Project,
    pub org: Org,
    pub(crate) conditions: Conditions,
    pub(crate) hashes: BTreeMap<WorkflowName, String>,
}

impl Rules {
    /// Returns the workflow that the task names, if it exists.
    pub fn workflow_of(&self, task: &Task) -> Option<&Workflow> {
        self.project.workflow(&task.routing.workflow)
    }

    /// Returns the budget of the task.
    pub fn budget_of(&self, task: &Task) -> RunBudget {
        let own = self.workflow_of(task).map(|workflow| workflow.budget).unwrap_or_default();
        own.or(self.project.budgets.task)
    }

    /// Returns the hash of a workflow, as recorded in histories: 16 hexadecimal digits.
    pub fn hash(&self, workflow: &WorkflowName) -> Option<&str> {
        self.hashes.get(workflow).map(String::as_str)
    }

    /// Returns whether the task is at a gate, and other rules than these moved it there.
    pub fn is_drifted(&self, task: &Task) -> bool {
        let (begun, now) = (task.workflow_hash.as_deref(), self.hash(&task.routing.workflow));
        task.gate.is_some() && begun.zip(now).is_some_and(|(begun, now)| begun != now)
    }

    /// Returns whether the agent may list and start the workflow. Git's user without an agent id may.
    pub fn is_visible(&self, workflow: &Workflow, agent: Option<&AgentId>) -> bool {
        let Some(agent) = agent else { return true };
        let named = |name: &str| workflow.visible_to.iter().any(|viewer| viewer == name);
        workflow.visible_to.is_empty()
            || named(agent.as_str())
            || self.org.roles_of(agent).any(|role| named(role.as_str()))
    }

    /// Returns all notification channels.
    pub fn channels(&self) -> impl Iterator<Item = &Channel> {
        let agents = self.org.agents.iter().flatten().flat_map(|(_, agent)| &agent.notify);
        let roles = self.org.roles.iter().flat_map(|(_, role)| &role.notify);
        self.project.notify.iter().chain(roles).chain(agents).map(|entry| &entry.channel)
    }

    /// Returns the task's own role, which counts only under the stand-in workflow, since that names none.
    pub(crate) fn own_role<'t>(&self, task: &'t Task) -> Option<&'t RoleId> {
        task.routing.role.as_ref().filter(|_| self.project.implicit_workflow)
    }

    /// Returns whether any agent may do the work of the role: it is the stand-in workflow's, and org.yaml does not define it.
    pub fn is_open(&self, role: &RoleId) -> bool {
        self.project.implicit_workflow && self.org.role(role).is_none()
    }

    pub(crate) fn condition(&self, workflow: &Workflow, station: Station) -> Option<&Condition> {
        self.conditions.when.get(&(workflow.name.clone(), station))
    }
}

/// Returns the hash of the parts of the workflow that decide: 16 hexadecimal digits. Comments, layout and texts do not change it.
///
/// Signed histories contain these hashes, so the hashed parts are listed here, independently of the types.
pub(crate) fn workflow_hash(workflow: &Workflow) -> String {
    let Workflow {
        name,
        description: _,
        version: _,
        visible_to: _,
        default_outcome,
        rejection,
        holds_rejections,
        timeout,
        lease: _,
        run: _,
        budget: _,
        repeat,
        context,
        gates,
    } = workflow;
    let gates: Vec<Value> = gates.iter().map(|gate| Value::Object(of_gate(gate))).collect();
    let mut parts = json!({
        "name": name.as_str(),
        "defaultOutcome": default_outcome.as_str(),
        "rejectionStrategy": rejection.as_str(),
        "holdsRejections": holds_rejections,
        "timeout": timeout.map(Period::seconds),
        "context": of_context(context),
        "gates": gates,
    });
    if let Some(Repeat { until, max, on_exhausted }) = repeat {
        parts["repeat"] = json!([until, max, of_exhausted(on_exhausted)]);
    }
    Digest::of(parts.to_string().as_bytes()).as_str()[..16].to_owned()
}

fn of_gate(gate: &Gate) -> Map {
    let Gate {
        id,
        description: _,
        when,
        on_condition_error,
        detour,
        wait_for,
        check,
        delivery: _,
        exits,
        metadata: _,
        kind,
    } = gate;
    let mut fields = Map::new();
    fields.insert("id".to_owned(), json!(id.as_str()));
    fields.insert("when".to_owned(), json!(when));
    fields.insert("onConditionError".to_owned(), json!(on_condition_error.as_str()));
    fields.insert("detour".to_owned(), json!(detour));
    fields.insert("exits".to_owned(), of_exits(exits));
    // Keys that workflows did not always have are hashed only if they are present: old hashes stay.
    if let Some(wait_for) = wait_for {
        fields.insert("waitFor".to_owned(), json!(wait_for.as_str()));
    }
    if !check.is_empty() {
        fields.insert("check".to_owned(), json!(check));
    }
    fields.insert(
        "work".to_owned(),
        match kind {
            GateKind::Work(duty) => of_duty(duty),
            GateKind::Condition => Value::Null,
            GateKind::Fork(Fork { branches, join }) => json!({
                "join": join.as_str(),
                "branches": branches.iter().map(|branch| Value::Object(of_gate(branch.gate()))).collect::<Vec<_>>(),
            }),
        },
    );
    fields
}

fn of_duty(duty: &Duty) -> Value {
    let Duty {
        role,
        can_reject,
        can_skip,
        require_human,
        timeout,
        escalate_to,
        lease: _,
        for_each,
        separate_from,
        separate_by,
        outputs,
        signal,
        files: _,
        brief: _,
        run: _,
    } = duty;
    let mut parts = json!({
        "role": role.as_str(),
        "canReject": can_reject,
        "canSkip": can_skip,
        "requireHuman": require_human,
        "timeout": timeout.map(Period::seconds),
        "escalateTo": escalate_to.as_ref().map(RoleId::as_str),
        "separateFrom": separate_from.iter().map(GateId::as_str).collect::<Vec<_>>(),
        "separateBy": separate_by.as_str(),
        "outputs": of_outputs(outputs),
        "signal": signal.as_ref().map(of_signal),
    });
    if let Some(ForEach { list, max_items, verify_each }) = for_each {
        parts["forEach"] = json!([list, max_items, verify_each.as_ref().map(GateId::as_str)]);
    }
    parts
}

fn of_context(ContextRules { input, protected, max_bytes }: &ContextRules) -> Value {
    json!({"input": input, "protected": protected, "maxBytes": max_bytes})
}

fn of_outputs(outputs: &Outputs) -> Value {
    match outputs {
        Outputs::Open => Value::Null,
        Outputs::One(shape) => of_shape(shape),
        Outputs::Variants(variants) => variants
            .iter()
            .map(|variant| json!([variant.status, of_shape(&variant.shape)]))
            .collect(),
    }
}

/// Returns the parts of a shape that decide; its texts for readers are left out.
fn of_shape(shape: &Shape) -> Value {
    json!({
        "kinds": shape.kinds.iter().map(of_kind).collect::<Vec<_>>(),
        "values": shape.values,
        "anyOf": shape.any_of.iter().map(of_shape).collect::<Vec<_>>(),
    })
}

fn of_kind(kind: &ShapeKind) -> Value {
    let bounds = match kind {
        ShapeKind::Object(fields) => json!({
            "properties": fields.properties.iter().map(|(name, shape)| json!([name, of_shape(shape)])).collect::<Vec<_>>(),
            "required": fields.required,
            "others": fields.others == Others::Welcome,
        }),
        ShapeKind::List(list) => {
            json!([list.items.as_deref().map(of_shape), list.length.least, list.length.most])
        }
        ShapeKind::Text(length) => json!([length.least, length.most]),
        ShapeKind::Number(interval) | ShapeKind::Integer(interval) => {
            json!([interval.least, interval.most])
        }
        ShapeKind::Bool | ShapeKind::Null => Value::Null,
    };
    json!([kind.word(), bounds])
}

fn of_signal(Signal { mark, missing, words }: &Signal) -> Value {
    let missing = missing.as_ref().map(Outcome::as_str);
    let word = |outcome: &Option<Outcome>| json!(outcome.as_ref().map(Outcome::as_str));
    let mark = match mark {
        Mark::Tag { tag, pass, fail } => json!(["tag", tag, word(pass), word(fail)]),
        Mark::Key(key) => json!(["key", key]),
        Mark::Expects(line) => json!(["expects", line]),
        Mark::Status => json!(["status"]),
    };
    let mut value = json!({"mark": mark, "missing": missing});
    if !words.is_empty() {
        let word = |(word, outcome): &(String, Outcome)| json!([word, outcome.as_str()]);
        value["words"] = words.iter().map(word).collect();
    }
    value
}

fn of_exits(exits: &Exits) -> Value {
    // `written` returns the routes of outcomes and of failures.
    let Exits { routes: _, on_failure: _, reject_to, max_retries, on_exhausted } = exits;
    let written = exits.written();
    let routes: Vec<Value> =
        written.map(|(outcome, route)| json!([outcome.as_str(), of_route(route)])).collect();
    json!({
        "routes": routes,
        "rejectTo": reject_to.as_ref().map(GateId::as_str),
        "maxRetries": max_retries,
        "onExhausted": of_exhausted(on_exhausted),
    })
}

fn of_exhausted(exhausted: &Exhausted) -> Value {
    match exhausted {
        Exhausted::Block => Value::Null,
        Exhausted::Escalate(role) => json!({"escalateTo": role.as_str()}),
        Exhausted::Route(target) => json!({"to": target.to_string()}),
    }
}

fn of_route(route: &Route) -> Value {
    let Route { to, prompt: _, clear } = route;
    json!({"to": to.to_string(), "clear": clear.iter().map(GateId::as_str).collect::<Vec<_>>()})
}
