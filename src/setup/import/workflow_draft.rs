//! A workflow of ours as an importer builds it: only what can be written, without any check. It is written in the order of the guide.

use std::collections::HashMap;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::names::Names;
use super::record::Record;
use crate::domain::FieldFate::{Dropped, Kept};
use crate::domain::Period;

/// A workflow.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkflowDraft {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) version: Option<Value>,
    pub(crate) visible_to: Vec<String>,
    pub(crate) context: ContextDraft,
    pub(crate) repeat: Option<RepeatDraft>,
    pub(crate) gates: Vec<GateDraft>,
    #[serde(skip)]
    pub(crate) roles: RolesNeeded,
}

#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct ContextDraft {
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(crate) input: Map<String, Value>,
    /// The protected keys; `None` means the default of the language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) protected: Option<Vec<String>>,
    /// The largest value, in bytes.
    #[serde(rename = "maxBytes", skip_serializing_if = "Option::is_none")]
    pub(crate) max_bytes: Option<u64>,
}

/// The rounds of a workflow.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RepeatDraft {
    pub(crate) until: String,
    pub(crate) max: u64,
    pub(crate) on_exhausted: String,
}

/// A gate, or a branch of a fork.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GateDraft {
    pub(crate) id: String,
    pub(crate) role: String,
    /// The kind of the gate; `None` for a gate of work.
    #[serde(rename = "type")]
    pub(crate) kind: Option<&'static str>,
    pub(crate) description: Option<String>,
    pub(crate) detour: bool,
    /// The list that the gate goes through.
    pub(crate) for_each: Option<String>,
    pub(crate) max_items: Option<u64>,
    pub(crate) verify_each: Option<String>,
    pub(crate) when: Option<String>,
    pub(crate) can_reject: bool,
    pub(crate) require_human: bool,
    /// The time that a task may wait at the gate.
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

/// The limits of agents' runs.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct RunDraft {
    pub(crate) timeout: Option<String>,
    pub(crate) model: Option<String>,
    /// `{delay: 1s}`
    pub(crate) retry: Option<Value>,
    /// The meaning of exit statuses.
    pub(crate) exit: Option<Value>,
}

/// The brief of an agent or a person at a gate.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct BriefDraft {
    pub(crate) role: Option<String>,
    pub(crate) expectations: Vec<String>,
    pub(crate) tips: Vec<String>,
    pub(crate) instructions: Option<String>,
    /// The part that changes when the task returns; `None` means no change.
    pub(crate) reentry: Option<Value>,
}

/// The route of an outcome.
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

/// The reaction when a task was sent back too often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ExhaustedDraft {
    To(String),
    EscalateTo(String),
}

/// A role that a workflow needs.
#[derive(Debug, Clone)]
pub(crate) struct RoleDraft {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    /// True if the role is for people.
    pub(crate) people: bool,
}

/// The roles of a workflow, each once, in the order in which they first appear.
#[derive(Debug, Clone, Default)]
pub(crate) struct RolesNeeded(pub(crate) Vec<RoleDraft>);

/// A workflow as an importer returns it.
pub(crate) struct ReadWorkflow {
    pub(crate) name: String,
    pub(crate) map: Map<String, Value>,
    pub(crate) roles: RolesNeeded,
}

impl RolesNeeded {
    pub(crate) fn add(&mut self, name: &str, description: Option<&str>, people: bool) {
        let description = description.map(str::to_owned);
        match self.0.iter_mut().find(|known| known.name == name) {
            Some(known) => {
                known.people |= people;
                known.description = known.description.take().or(description);
            }
            None => self.0.push(RoleDraft { name: name.to_owned(), description, people }),
        }
    }
}

impl RouteDraft {
    /// Returns the route to a gate or a reserved target.
    pub(crate) fn to(target: impl Into<String>) -> Self {
        Self { to: target.into(), ..Self::default() }
    }

    /// Returns the route on which the task is cancelled.
    pub(crate) fn cancelled() -> Self {
        Self { ends_as: Some("cancelled"), ..Self::to("$end") }
    }
}

impl RunDraft {
    /// Makes a successful exit of the program complete its gate, for sources that ask for no verdict.
    pub(crate) fn end_completes(&mut self) {
        self.exit = Some(json!({"complete": 0}));
    }
}

/// The remark that goes with [`RunDraft::end_completes`].
pub(crate) const END_COMPLETES: &str = "a program that ends well has done its step, as there";

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
    /// Returns a workflow with the name, the description and the version of a record.
    pub(crate) fn begin(
        record: &Record<'_>,
        name_key: &'static str,
        otherwise: (Option<&str>, &str),
        names: &mut Names,
    ) -> Self {
        let name = workflow_name(record, name_key, otherwise, names);
        let description = record.text("description").map(|text| tidy(&text));
        for key in ["description", "version"].into_iter().filter(|key| record.has(key)) {
            record.note(key, Kept, "");
        }
        let version = record.get("version").map(crate::files::yaml::Node::to_value);
        Self { name, description, version, ..Self::default() }
    }

    /// Removes the routes of `complete` that equal the order of the list: to the next gate, and from the last to the end.
    pub(crate) fn drop_default_routes(&mut self) {
        let ids: Vec<String> = self.gates.iter().map(|gate| gate.id.clone()).collect();
        for (index, gate) in self.gates.iter_mut().enumerate() {
            let next = RouteDraft::to(ids.get(index + 1).map_or("$end", String::as_str));
            gate.routes.retain(|(outcome, route)| outcome != "complete" || *route != next);
        }
    }

    /// Unprotects the keys that a gate hands on: they are no longer only the input's.
    pub(crate) fn set_protected_keys(&mut self) {
        let declares = |outputs: &Value, key: &str| {
            let has_key = |shape: &Value| shape["properties"].get(key).is_some();
            has_key(outputs)
                || outputs["oneOf"].as_array().is_some_and(|shapes| shapes.iter().any(has_key))
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

    /// Returns the workflow in the form in which it is written.
    pub(crate) fn finish(mut self) -> ReadWorkflow {
        for (gate, revisited) in self.revisited().into_iter().enumerate() {
            if !revisited {
                self.gates[gate].brief.reentry = None;
            }
        }
        let mut value = serde_json::to_value(&self).expect("a draft is JSON");
        value["gates"].as_array_mut().into_iter().flatten().for_each(prune_gate);
        prune(&mut value);
        let Value::Object(map) = value else { unreachable!("a draft is an object") };
        ReadWorkflow { name: self.name, map, roles: self.roles }
    }

    /// Returns, for each gate, whether a task may return to it: it was sent back to this gate, or past it.
    fn revisited(&self) -> Vec<bool> {
        let mut again = vec![false; self.gates.len()];
        let places: HashMap<&str, usize> =
            self.gates.iter().enumerate().map(|(index, gate)| (gate.id.as_str(), index)).collect();
        for (router, gate) in self.gates.iter().enumerate() {
            for target in gate.targets().filter_map(|target| places.get(target).copied()) {
                if target < router {
                    again[target..router].fill(true);
                }
                again[target] |= target == router || self.gates[target].detour;
            }
        }
        again
    }
}

/// Returns the name of a workflow: that of the record, the one `given` for it, or `fallback`.
pub(crate) fn workflow_name(
    record: &Record<'_>,
    key: &'static str,
    (given, fallback): (Option<&str>, &str),
    names: &mut Names,
) -> String {
    if let Some(name) = record.text(key) {
        let kept = if key == "name" { "" } else { "as `name`" };
        return names.take(&record.at(key), &name, fallback, kept);
    }
    let (name, why) = names.add(given.unwrap_or(fallback), fallback);
    if why.is_some() || given.is_none() {
        let usual = || format!("not given: the workflow is called `{name}`");
        record.added("name", why.unwrap_or_else(usual));
    }
    name
}

fn as_map<S: Serializer>(routes: &[(String, RouteDraft)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(routes.iter().map(|(outcome, route)| {
        let is_plain = *route == RouteDraft::to(&route.to);
        let value = if is_plain { Value::from(route.to.as_str()) } else { json!(route) };
        (outcome, value)
    }))
}

/// Removes the members without information.
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
    prune(&mut gate["brief"]["reentry"]);
    prune(&mut gate["brief"]);
    prune(&mut gate["run"]);
    gate["branches"].as_array_mut().into_iter().flatten().for_each(prune_gate);
    prune(gate);
}

/// Returns a text as it is written into a file: no blanks at the ends of lines, and one line break after several lines.
pub(crate) fn tidy(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    let joined = lines.join("\n").replace('\t', "    ");
    let joined = joined.trim_start_matches('\n');
    if joined.contains('\n') { format!("{joined}\n") } else { joined.to_owned() }
}

/// Returns a duration in our notation, from `1h`, from a form of Go such as `1.5h`, or from seconds. One that cannot be
/// read is dropped.
pub(crate) fn period(record: &Record<'_>, key: &str) -> Option<String> {
    let text = record.text(key)?;
    let plain = text.trim();
    let in_seconds = || format!("{}s", span_in_seconds(plain)?).parse().ok();
    let period: Option<Period> = plain.parse().ok().or_else(in_seconds);
    if period.is_none() {
        record.note(key, Dropped, format!("`{plain}` is no length of time that is known here"));
    }
    period.map(|period| period.to_string())
}

/// Returns the number of seconds of a duration such as `1.5h`, `90000ms` or `300`, rounded up.
fn span_in_seconds(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut sum = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().ok()?;
        let unit = rest[digits..].find(|c: char| c.is_ascii_digit());
        let unit = unit.map_or(rest.len(), |at| digits + at);
        sum += number
            * match &rest[digits..unit] {
                "" | "s" => 1.0,
                "ms" => 0.001,
                "m" => 60.0,
                "h" => 3_600.0,
                "d" => 86_400.0,
                _ => return None,
            };
        rest = &rest[unit..];
    }
    (sum > 0.0 && sum < 1e12).then(|| format!("{:.0}", sum.ceil()).parse().ok()).flatten()
}
