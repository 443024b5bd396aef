//! A workflow of ours as an importer builds it: only what can be written, nothing judged. It is written in the order of the guide.

use std::collections::HashMap;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::report::At;
use crate::domain::Period;

/// A workflow.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkflowDraft {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) version: Option<Value>,
    pub(crate) visible_to: Vec<String>,
    pub(crate) run: RunDraft,
    pub(crate) context: ContextDraft,
    pub(crate) gates: Vec<GateDraft>,
    #[serde(skip)]
    pub(crate) roles: RolesNeeded,
}

#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct ContextDraft {
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(crate) input: Map<String, Value>,
    /// Absent means as the language has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) protected: Option<Vec<String>>,
}

/// A gate, or a branch of a fork.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GateDraft {
    pub(crate) id: String,
    pub(crate) role: String,
    /// Absent for a gate of work.
    #[serde(rename = "type")]
    pub(crate) kind: Option<&'static str>,
    pub(crate) description: Option<String>,
    pub(crate) detour: bool,
    pub(crate) when: Option<String>,
    pub(crate) can_reject: bool,
    pub(crate) require_human: bool,
    /// How long a task may wait there.
    pub(crate) timeout: Option<String>,
    pub(crate) run: RunDraft,
    pub(crate) signal: Option<Value>,
    #[serde(serialize_with = "as_map")]
    pub(crate) routes: Vec<(String, RouteDraft)>,
    pub(crate) on_failure: Option<RouteDraft>,
    pub(crate) max_retries: Option<u64>,
    pub(crate) on_exhausted: Option<ExhaustedDraft>,
    pub(crate) outputs: Option<Value>,
    pub(crate) brief: BriefDraft,
    pub(crate) branches: Vec<GateDraft>,
    pub(crate) metadata: Map<String, Value>,
}

/// What bounds the runs of agents.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct RunDraft {
    pub(crate) timeout: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) retry: Option<RetryDraft>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct RetryDraft {
    pub(crate) delay: String,
}

/// What whoever works is told.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct BriefDraft {
    pub(crate) role: Option<String>,
    pub(crate) expectations: Vec<String>,
    pub(crate) tips: Vec<String>,
    pub(crate) instructions: Option<String>,
    /// What replaces it when the task comes back; absent means the same.
    pub(crate) reentry: Option<ReentryDraft>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct ReentryDraft {
    pub(crate) instructions: String,
}

/// Where an outcome leads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct RouteDraft {
    pub(crate) to: String,
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub(crate) ends_as: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prompt: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) clear: Vec<String>,
}

/// What happens when a task was sent back often enough.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ExhaustedDraft {
    To(String),
    EscalateTo(String),
}

/// The roles of a workflow, each once, in the order in which they come up.
#[derive(Debug, Clone, Default)]
pub(crate) struct RolesNeeded(pub(crate) Vec<(String, Option<String>, bool)>);

/// A workflow as an importer leaves it.
pub(crate) struct ReadWorkflow {
    pub(crate) name: String,
    pub(crate) map: Map<String, Value>,
    pub(crate) roles: RolesNeeded,
}

impl RolesNeeded {
    pub(crate) fn add(&mut self, name: &str, description: Option<&str>) {
        self.put(name, description, false);
    }

    pub(crate) fn add_people(&mut self, name: &str, description: Option<&str>) {
        self.put(name, description, true);
    }

    fn put(&mut self, name: &str, description: Option<&str>, people: bool) {
        let description = description.map(str::to_owned);
        match self.0.iter_mut().find(|(known, ..)| known == name) {
            Some((_, known, known_people)) => {
                *known_people |= people;
                *known = known.take().or(description);
            }
            None => self.0.push((name.to_owned(), description, people)),
        }
    }
}

impl RouteDraft {
    /// Returns the route to a gate or a reserved target.
    pub(crate) fn to(target: impl Into<String>) -> Self {
        Self { to: target.into(), ..Self::default() }
    }

    /// Returns the route on which the task is called off.
    pub(crate) fn cancelled() -> Self {
        Self { ends_as: Some("cancelled"), ..Self::to("$end") }
    }
}

impl GateDraft {
    pub(crate) fn route(&mut self, outcome: &str, route: RouteDraft) {
        self.routes.push((outcome.to_owned(), route));
    }

    /// Returns everything that the routes of the gate lead to.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &str> {
        let exhausted = match &self.on_exhausted {
            Some(ExhaustedDraft::To(target)) => Some(target.as_str()),
            _ => None,
        };
        let routes = self.routes.iter().map(|(_, route)| route).chain(&self.on_failure);
        routes.map(|route| route.to.as_str()).chain(exhausted)
    }
}

impl WorkflowDraft {
    /// Leaves out the routes of `complete` that only say what the order of the list says: the next gate, the end behind the last.
    pub(crate) fn leave_out_what_the_order_says(&mut self) {
        let ids: Vec<String> = self.gates.iter().map(|gate| gate.id.clone()).collect();
        for (index, gate) in self.gates.iter_mut().enumerate() {
            let next = RouteDraft::to(ids.get(index + 1).map_or("$end", String::as_str));
            gate.routes.retain(|(outcome, route)| outcome != "complete" || *route != next);
        }
    }

    /// Leaves a key that a gate hands on to that gate: it is no longer only the input's.
    pub(crate) fn protect_the_rest(&mut self) {
        let declares = |outputs: &Value, key: &str| {
            let own = |shape: &Value| shape["properties"].get(key).is_some();
            own(outputs) || outputs["oneOf"].as_array().is_some_and(|shapes| shapes.iter().any(own))
        };
        let outputs: Vec<&Value> =
            self.gates.iter().filter_map(|gate| gate.outputs.as_ref()).collect();
        let is_free = |key: &&str| !outputs.iter().any(|outputs| declares(outputs, key));
        let kept: Vec<String> =
            ["task", "repo", "branch"].into_iter().filter(is_free).map(str::to_owned).collect();
        if kept.len() < 3 {
            self.context.protected = Some(kept);
        }
    }

    /// Returns the workflow as it is written.
    pub(crate) fn finish(mut self) -> ReadWorkflow {
        for (gate, comes_again) in self.comes_again().into_iter().enumerate() {
            if !comes_again {
                self.gates[gate].brief.reentry = None;
            }
        }
        let mut value = serde_json::to_value(&self).expect("a draft is JSON");
        prune(&mut value["run"]);
        value["gates"].as_array_mut().into_iter().flatten().for_each(prune_gate);
        prune(&mut value);
        let Value::Object(map) = value else { unreachable!("a draft is an object") };
        ReadWorkflow { name: self.name, map, roles: self.roles }
    }

    /// Returns for each gate whether a task may come to it again: it was sent back to it, or past it.
    fn comes_again(&self) -> Vec<bool> {
        let mut again = vec![false; self.gates.len()];
        let places: HashMap<&str, usize> =
            self.gates.iter().enumerate().map(|(index, gate)| (gate.id.as_str(), index)).collect();
        for (router, gate) in self.gates.iter().enumerate() {
            for target in gate.targets().filter_map(|target| places.get(target).copied()) {
                if target < router {
                    again[target..router].fill(true);
                }
                again[target] |= self.gates[target].detour;
            }
        }
        again
    }
}

fn as_map<S: Serializer>(routes: &[(String, RouteDraft)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(routes.iter().map(|(outcome, route)| {
        let is_plain = *route == RouteDraft::to(&route.to);
        let value =
            if is_plain { Value::from(route.to.as_str()) } else { serde_json::json!(route) };
        (outcome, value)
    }))
}

/// Leaves out the members that say nothing.
fn prune(object: &mut Value) {
    if let Value::Object(map) = object {
        map.retain(|_, value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Object(map) => !map.is_empty(),
            _ => true,
        });
    }
}

fn prune_gate(gate: &mut Value) {
    prune(&mut gate["brief"]);
    prune(&mut gate["run"]);
    gate["branches"].as_array_mut().into_iter().flatten().for_each(prune_gate);
    prune(gate);
}

/// Returns a text as it is written into a file: no blanks at the ends of lines, and one line break behind several lines.
pub(crate) fn tidy(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    let joined = lines.join("\n").replace('\t', "    ");
    let joined = joined.trim_start_matches('\n');
    if joined.contains('\n') { format!("{joined}\n") } else { joined.to_owned() }
}

/// Returns a length of time as ours are written; the forms of Go and of `ms` are understood. One that cannot be read is dropped.
pub(crate) fn period(text: &str, at: &At<'_>) -> Option<Period> {
    let plain = text.trim();
    let in_seconds = || format!("{}s", span_in_seconds(plain)?).parse().ok();
    let period = plain.parse().ok().or_else(in_seconds);
    if period.is_none() {
        at.dropped(format!("`{plain}` is no length of time that is known here"));
    }
    period
}

/// Returns how long a run of an agent may take.
pub(crate) fn run_period(text: &str, at: &At<'_>) -> Option<String> {
    let period = period(text, at)?;
    at.converted(format!("`run: {{timeout: {period}}}`"));
    Some(period.to_string())
}

/// Returns the model that an agent is told to use.
pub(crate) fn run_model(model: String, at: &At<'_>) -> String {
    at.converted(format!("`run: {{model: {model}}}`"));
    model
}

/// Returns how many seconds a time such as `1.5h`, `90000ms` or `300` is, rounded up.
fn span_in_seconds(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut sum = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().ok()?;
        let unit =
            rest[digits..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| digits + at);
        let seconds = match &rest[digits..unit] {
            "" | "s" => 1.0,
            "ms" => 0.001,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        sum += number * seconds;
        rest = &rest[unit..];
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked: it is in range"
    )]
    (sum > 0.0 && sum < 1e12).then(|| sum.ceil() as u64)
}
