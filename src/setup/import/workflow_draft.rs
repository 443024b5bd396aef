//! A workflow of ours as an importer builds it: only what can be written, nothing judged. Shows itself as values in the order of
//! the guide.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

/// A workflow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sketch {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) version: Option<Value>,
    pub(crate) visible_to: Vec<String>,
    pub(crate) run: RunSketch,
    pub(crate) input: Map<String, Value>,
    /// Absent means as the language has it.
    pub(crate) protected: Option<Vec<String>>,
    pub(crate) gates: Vec<GateSketch>,
}

/// A gate.
#[derive(Debug, Clone, Default)]
pub(crate) struct GateSketch {
    pub(crate) id: String,
    pub(crate) kind: KindSketch,
    pub(crate) description: Option<String>,
    pub(crate) when: Option<String>,
    pub(crate) detour: bool,
    pub(crate) routes: Vec<(String, RouteSketch)>,
    pub(crate) on_failure: Option<RouteSketch>,
    pub(crate) max_retries: Option<u64>,
    pub(crate) on_exhausted: Option<ExhaustedSketch>,
    pub(crate) metadata: Map<String, Value>,
}

/// What a gate is.
#[derive(Debug, Clone)]
pub(crate) enum KindSketch {
    Work(WorkSketch),
    Condition,
    Fork { branches: Vec<(String, WorkSketch)>, strategy: &'static str },
}

impl Default for KindSketch {
    fn default() -> Self {
        Self::Work(WorkSketch::default())
    }
}

/// What bounds the runs of agents.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunSketch {
    pub(crate) timeout: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) delay: Option<String>,
}

impl RunSketch {
    fn value(&self) -> Option<Value> {
        let mut map = Map::new();
        put(&mut map, "timeout", self.timeout.as_ref().map(|text| json!(text)));
        put(&mut map, "model", self.model.as_ref().map(|text| json!(text)));
        put(&mut map, "retry", self.delay.as_ref().map(|delay| json!({"delay": delay})));
        (!map.is_empty()).then_some(Value::Object(map))
    }
}

/// The work of a gate or a branch.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorkSketch {
    pub(crate) role: String,
    pub(crate) can_reject: bool,
    pub(crate) require_human: bool,
    /// How long a task may wait there.
    pub(crate) timeout: Option<String>,
    pub(crate) run: RunSketch,
    pub(crate) outputs: Option<Value>,
    pub(crate) signal: Option<Value>,
    pub(crate) brief: BriefSketch,
}

/// What whoever works is told.
#[derive(Debug, Clone, Default)]
pub(crate) struct BriefSketch {
    pub(crate) role: Option<String>,
    pub(crate) expectations: Vec<String>,
    pub(crate) tips: Vec<String>,
    pub(crate) instructions: Option<String>,
    /// What stands in the place of `instructions` when the task comes back; absent means the same.
    pub(crate) again: Option<String>,
}

/// Whether a task may come to a gate more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visits {
    Once,
    Again,
}

/// Where an outcome leads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RouteSketch {
    pub(crate) to: String,
    pub(crate) prompt: Option<String>,
    pub(crate) clear: Vec<String>,
    pub(crate) cancelled: bool,
}

/// What happens when a task was sent back often enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExhaustedSketch {
    To(String),
    EscalateTo(String),
}

impl RouteSketch {
    /// Returns the route to a gate or a reserved target.
    pub(crate) fn to(target: impl Into<String>) -> Self {
        Self { to: target.into(), ..Self::default() }
    }

    /// Returns the route on which the task is called off.
    pub(crate) fn cancelled() -> Self {
        Self { to: "$end".to_owned(), cancelled: true, ..Self::default() }
    }

    fn value(&self) -> Value {
        if self.prompt.is_none() && self.clear.is_empty() && !self.cancelled {
            return json!(self.to);
        }
        self.mapping()
    }

    fn mapping(&self) -> Value {
        let mut map = Map::new();
        map.insert("to".to_owned(), json!(self.to));
        put(&mut map, "as", self.cancelled.then(|| json!("cancelled")));
        put(&mut map, "prompt", self.prompt.as_ref().map(|text| json!(text)));
        put(&mut map, "clear", (!self.clear.is_empty()).then(|| json!(self.clear)));
        Value::Object(map)
    }
}

impl Sketch {
    /// Leaves out the routes of `complete` that only say what the order of the list says: the next gate, the end behind the last.
    pub(crate) fn leave_out_what_the_order_says(&mut self) {
        let ids: Vec<String> = self.gates.iter().map(|gate| gate.id.clone()).collect();
        for (index, gate) in self.gates.iter_mut().enumerate() {
            let next = RouteSketch::to(ids.get(index + 1).map_or("$end", String::as_str));
            gate.routes.retain(|(outcome, route)| outcome != "complete" || *route != next);
        }
    }

    /// Returns the workflow as values, in the order that people read them.
    pub(crate) fn to_map(&self) -> Map<String, Value> {
        let mut map = Map::new();
        map.insert("name".to_owned(), json!(self.name));
        put(&mut map, "description", self.description.as_ref().map(|text| json!(text)));
        put(&mut map, "version", self.version.clone());
        put(&mut map, "visibleTo", (!self.visible_to.is_empty()).then(|| json!(self.visible_to)));
        put(&mut map, "run", self.run.value());
        let mut context = Map::new();
        put(
            &mut context,
            "input",
            (!self.input.is_empty()).then(|| Value::Object(self.input.clone())),
        );
        put(&mut context, "protected", self.protected.as_ref().map(|keys| json!(keys)));
        put(&mut map, "context", (!context.is_empty()).then_some(Value::Object(context)));
        let gates =
            self.gates.iter().zip(self.visits()).map(|(gate, visits)| gate.value(visits)).collect();
        map.insert("gates".to_owned(), Value::Array(gates));
        map
    }

    /// Returns for each gate whether a task may come to it again: it was sent back to it, or past it.
    fn visits(&self) -> Vec<Visits> {
        let mut visits = vec![Visits::Once; self.gates.len()];
        let places: HashMap<&str, usize> =
            self.gates.iter().enumerate().map(|(index, gate)| (gate.id.as_str(), index)).collect();
        for (router, gate) in self.gates.iter().enumerate() {
            for target in gate.targets().filter_map(|target| places.get(target).copied()) {
                if target < router {
                    visits[target..router].fill(Visits::Again);
                }
                if self.gates[target].detour {
                    visits[target] = Visits::Again;
                }
            }
        }
        visits
    }
}

impl GateSketch {
    /// Returns a gate of work.
    pub(crate) fn work(id: impl Into<String>, work: WorkSketch) -> Self {
        Self { id: id.into(), kind: KindSketch::Work(work), ..Self::default() }
    }

    /// Returns the work of a gate that has some.
    pub(crate) fn worked(&mut self) -> Option<&mut WorkSketch> {
        match &mut self.kind {
            KindSketch::Work(work) => Some(work),
            KindSketch::Condition | KindSketch::Fork { .. } => None,
        }
    }

    /// Returns everything that the routes of the gate lead to.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &str> {
        let exhausted = match &self.on_exhausted {
            Some(ExhaustedSketch::To(target)) => Some(target.as_str()),
            _ => None,
        };
        let routes = self.routes.iter().map(|(_, route)| route).chain(&self.on_failure);
        routes.map(|route| route.to.as_str()).chain(exhausted)
    }

    fn value(&self, visits: Visits) -> Value {
        let mut map = Map::new();
        map.insert("id".to_owned(), json!(self.id));
        let mut after = Map::new();
        match &self.kind {
            KindSketch::Work(work) => {
                map.insert("role".to_owned(), json!(work.role));
                work.put(&mut after, visits);
            }
            KindSketch::Condition => {
                map.insert("type".to_owned(), json!("condition"));
            }
            KindSketch::Fork { branches, strategy } => {
                map.insert("type".to_owned(), json!("fork"));
                let branch = |(id, work): &(String, WorkSketch)| {
                    let mut map = Map::new();
                    map.insert("id".to_owned(), json!(id));
                    map.insert("role".to_owned(), json!(work.role));
                    work.put(&mut map, visits);
                    Value::Object(map)
                };
                after.insert("branches".to_owned(), branches.iter().map(branch).collect());
                put(&mut after, "joinStrategy", (*strategy != "all").then(|| json!(strategy)));
            }
        }
        put(&mut map, "description", self.description.as_ref().map(|text| json!(text)));
        put(&mut map, "detour", self.detour.then(|| json!(true)));
        put(&mut map, "when", self.when.as_ref().map(|text| json!(text)));
        for key in ["canReject", "requireHuman", "timeout", "run", "signal"] {
            put(&mut map, key, after.shift_remove(key));
        }
        let routes: Map<String, Value> =
            self.routes.iter().map(|(outcome, route)| (outcome.clone(), route.value())).collect();
        put(&mut map, "routes", (!routes.is_empty()).then_some(Value::Object(routes)));
        put(&mut map, "onFailure", self.on_failure.as_ref().map(RouteSketch::mapping));
        put(&mut map, "maxRetries", self.max_retries.map(|number| json!(number)));
        let exhausted = self.on_exhausted.as_ref().map(|exhausted| match exhausted {
            ExhaustedSketch::To(target) => json!({"to": target}),
            ExhaustedSketch::EscalateTo(role) => json!({"escalateTo": role}),
        });
        put(&mut map, "onExhausted", exhausted);
        map.extend(after);
        put(
            &mut map,
            "metadata",
            (!self.metadata.is_empty()).then(|| Value::Object(self.metadata.clone())),
        );
        Value::Object(map)
    }
}

impl WorkSketch {
    /// Puts the fields of the work.
    fn put(&self, map: &mut Map<String, Value>, visits: Visits) {
        put(map, "canReject", self.can_reject.then(|| json!(true)));
        put(map, "requireHuman", self.require_human.then(|| json!(true)));
        put(map, "timeout", self.timeout.as_ref().map(|text| json!(text)));
        put(map, "run", self.run.value());
        put(map, "signal", self.signal.clone());
        put(map, "outputs", self.outputs.clone());
        let mut brief = Map::new();
        put(&mut brief, "role", self.brief.role.as_ref().map(|text| json!(text)));
        put(
            &mut brief,
            "expectations",
            (!self.brief.expectations.is_empty()).then(|| json!(self.brief.expectations)),
        );
        put(&mut brief, "tips", (!self.brief.tips.is_empty()).then(|| json!(self.brief.tips)));
        put(&mut brief, "instructions", self.brief.instructions.as_ref().map(|text| json!(text)));
        let again = self.brief.again.as_ref().filter(|_| visits == Visits::Again);
        put(&mut brief, "reentry", again.map(|text| json!({"instructions": text})));
        put(map, "brief", (!brief.is_empty()).then_some(Value::Object(brief)));
    }
}

/// Puts a value that is there.
pub(crate) fn put(map: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), value);
    }
}
