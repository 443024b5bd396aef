//! Suggests, after a refusal, a call that works. Placeholders between `<` and `>` mark what the model itself must fill in: an invented
//! summary would be false.

use std::mem::discriminant;

use serde_json::{Value, json};

use super::open_project::ToolError;
use super::tool_schema::Tool;
use crate::domain::{AgentId, GateId, Map, Outcome, Ticket, nearest};
use crate::files::yaml::{self, ParseLimits};
use crate::operations::fields::{Doors, InputField, InputKind};
use crate::project::error::{Named, ProjectError};
use crate::rules::Refusal;
use crate::rules::outputs::Problem;

const SUMMARY: &str = "<what you did, in one or two sentences>";
const BLOCKER: &str = "<one thing that must be fixed, or that you wait for>";

/// Returns a call.
pub(crate) fn call(tool: &str, arguments: impl Into<Value>) -> Value {
    json!({"tool": tool, "arguments": arguments.into()})
}

/// Returns the call that takes the next task.
pub(crate) fn next_task_call() -> Value {
    call("aof_task_next", json!({}))
}

/// Returns the call that completes a visit.
pub(crate) fn complete_call(ticket: impl std::fmt::Display) -> Value {
    let arguments = json!({"task": ticket.to_string(), "outcome": "<one of outcomes>", "summary": "<what you did>"});
    call("aof_task_complete", arguments)
}

/// Returns the call that looks at a task.
pub(crate) fn get_call(task: impl std::fmt::Display) -> Value {
    call("aof_task_get", json!({"task": task.to_string()}))
}

/// Returns a call that works; `None` if there is none.
pub(crate) fn next_call(
    error: &ToolError,
    tool: &Tool,
    given: &Map,
    state: Option<&Value>,
    agent: Option<&AgentId>,
) -> Option<Value> {
    let is_read = tool.check(given.clone()).is_ok();
    let call = CorrectedCall { tool, map: corrected(tool, given), state, agent };
    Some(match error {
        ToolError::Argument(_) if !is_read => call.done(),
        ToolError::NoCurrent { .. } => next_task_call(),
        ToolError::SeveralCurrent { claims, .. } => {
            call.with_task(&claims.first()?.ticket.to_string())
        }
        ToolError::Argument(fault) => call.with_argument(&fault.name),
        ToolError::Ops(error) => return after_error(error, call),
    })
}

fn after_error(error: &ProjectError, corrected: CorrectedCall<'_>) -> Option<Value> {
    Some(match error {
        ProjectError::Refused(refusal) => return after_refusal(refusal, corrected),
        ProjectError::NoTask { id, nearest: Some(near), .. } => {
            corrected.replacing(id.as_str(), near.as_str())
        }
        ProjectError::NoTask { nearest: None, committed: None, .. } => {
            call("aof_task_list", json!({}))
        }
        ProjectError::Unknown { kind: Named::Agent, .. } => return None,
        ProjectError::Unknown { kind, known, given } => {
            match nearest(given, known.iter().map(String::as_str)) {
                Some(near) => corrected.replacing(given, near),
                None if *kind == Named::Role => call("aof_status", json!({})),
                None => call("aof_workflow_list", json!({})),
            }
        }
        ProjectError::Unfit { code: "empty_comment", .. } => {
            corrected.with("text", json!("<what is to be said>"))
        }
        ProjectError::Unfit { code: "misread_form", .. } => {
            let Some(tags) = corrected.map.get("tags").and_then(Value::as_array) else {
                return Some(corrected.with_argument("metadata"));
            };
            let parts = tags.iter().filter_map(Value::as_str).flat_map(|tag| tag.split([',', ';']));
            let parts = parts.map(|part| part.trim().trim_start_matches('#'));
            let tags: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
            let tags = json!(tags);
            corrected.with("tags", tags)
        }
        ProjectError::Unfit { code: "priority_too_high", .. } => corrected.without("priority"),
        ProjectError::Unfit { code: "nul_byte", .. } => corrected.without_nul(),
        ProjectError::Unfit { code: "missing_title", .. } => {
            corrected.with("title", json!("<what is to be done, in a few words>"))
        }
        ProjectError::Unfit { code: "wrong_role" | "no_parent_held", .. } => next_task_call(),
        ProjectError::Unfit { code: "not_your_parent", .. } => {
            corrected.with("parent", json!("<one of the tasks that you hold>"))
        }
        // The same call again.
        ProjectError::Contended { .. } => corrected.done(),
        _ => return None,
    })
}

fn after_refusal(refusal: &Refusal, corrected: CorrectedCall<'_>) -> Option<Value> {
    let valid_outcomes = match refusal {
        Refusal::MissingOutcome { valid, .. } | Refusal::SkipNotAllowed { valid, .. } => {
            Some(valid)
        }
        Refusal::InvalidOutcome { valid, .. } if refusal.meant().is_none() => Some(valid),
        _ => None,
    };
    // Only the caller knows the outcome: none is suggested.
    if let Some(valid) = valid_outcomes {
        return Some(corrected.with("outcome", one_of(valid.iter().map(Outcome::as_str))));
    }
    if let Some(example) = refusal.example() {
        let corrected = match refusal {
            Refusal::InvalidOutputs { problems, example, .. } => {
                corrected.without_front(problems).with_outputs(problems, example)
            }
            _ => corrected,
        };
        return Some(corrected.with_example(&example));
    }
    Some(match refusal {
        Refusal::TooLong { field, .. } => corrected.with_shorter(field),
        Refusal::ContradictoryStatus { .. } | Refusal::ContradictoryVerdict { .. } => {
            corrected.without("outcome")
        }
        Refusal::WrongTask { assigned, .. } => corrected.with_task(assigned.as_str()),
        Refusal::BranchNeeded { open, .. } | Refusal::NoSuchBranch { open, .. } => {
            let first = || open.first().map(|(ticket, _)| ticket.to_string());
            let ticket = corrected.own_branch().or_else(first)?;
            corrected.with_task(&ticket)
        }
        Refusal::VisitAhead { task, .. } => get_call(task),
        Refusal::OtherGate { ticket, .. } => get_call(&ticket.task),
        Refusal::CompletionReused { .. } => corrected.without("id"),
        Refusal::MissingInput { missing, .. } => corrected.with_input(missing),
        Refusal::UnknownInput { given, .. } => corrected.without_input(given),
        Refusal::UnknownWorkflow { .. } | Refusal::NotVisible { .. } => {
            call("aof_workflow_list", json!({}))
        }
        // Only the agent knows whether to repeat it: its work at this gate differs from what it reported before.
        Refusal::Repeated { ticket, open, .. } => match corrected.own_visit(ticket) {
            Some(ticket) => corrected.repeating(&ticket, open),
            None => next_task_call(),
        },
        Refusal::VisitEnded { .. }
        | Refusal::Finished { .. }
        | Refusal::AssignedToAnother { .. }
        | Refusal::ClaimLost { .. }
        | Refusal::WrongRole { .. }
        | Refusal::HumanRequired { .. }
        | Refusal::NotYourBranch { .. }
        | Refusal::NotClaimed { .. }
        | Refusal::Held { .. }
        | Refusal::ChildrenOpen { .. }
        | Refusal::Blocked { .. }
        | Refusal::NotSeparate { .. } => next_task_call(),
        _ => return None,
    })
}

fn one_of<'w>(words: impl Iterator<Item = &'w str>) -> Value {
    json!(format!("<one of {}>", words.collect::<Vec<_>>().join(", ")))
}

/// A refused call that is being corrected.
struct CorrectedCall<'a> {
    tool: &'a Tool,
    map: Map,
    state: Option<&'a Value>,
    agent: Option<&'a AgentId>,
}

impl CorrectedCall<'_> {
    /// Returns the call. It names the visit, so that it cannot end another one.
    fn done(mut self) -> Value {
        if let Some(state) = self.state.filter(|_| self.tool.takes_task()) {
            let given = self.map.get("task");
            if given.is_none_or(|given| *given == state["task"]) {
                self.map.insert("task".to_owned(), state["ticket"].clone());
            }
        }
        call(self.tool.name, self.map)
    }

    /// Returns true if the agent may work at an open gate or branch.
    fn is_own(&self, place: &Value) -> bool {
        let agent = self.agent.map(AgentId::as_str);
        let agents = place["agents"].as_array();
        agents.is_some_and(|agents| agents.iter().any(|known| known.as_str() == agent))
    }

    /// Returns the open branch at which the agent may work.
    fn own_branch(&self) -> Option<String> {
        let mut branches = self.state?["available"]["branches"].as_array()?.iter();
        let place = branches.find(|branch| self.is_own(branch))?;
        place["ticket"].as_str().map(str::to_owned)
    }

    /// Returns `ticket`, or that of the open branch, if the agent may complete it.
    fn own_visit(&self, ticket: &Ticket) -> Option<String> {
        let is_own = self.is_own(&self.state?["available"]);
        if is_own { Some(ticket.to_string()) } else { self.own_branch() }
    }

    /// Repeats the completion for the next visit, with a summary of its own.
    fn repeating(mut self, ticket: &str, gate: &GateId) -> Value {
        let summary = format!("<what you did at gate `{gate}`, if you mean that one as well>");
        self.map.insert("summary".to_owned(), json!(summary));
        self.with_task(ticket)
    }

    fn with(mut self, name: &str, value: Value) -> Value {
        self.map.insert(name.to_owned(), value);
        self.done()
    }

    fn without(mut self, name: &str) -> Value {
        self.map.shift_remove(name);
        self.done()
    }

    fn with_task(self, task: &str) -> Value {
        self.with("task", json!(task))
    }

    /// Fills in an example of the rules, but keeps the caller's own words.
    fn with_example(mut self, example: &Value) -> Value {
        let is_blank = |value: Option<&Value>| match value {
            Some(Value::String(text)) => text.trim().is_empty(),
            Some(Value::Array(items)) => {
                items.iter().all(|item| item.as_str().is_none_or(|text| text.trim().is_empty()))
            }
            _ => true,
        };
        self.map.insert("outcome".to_owned(), example["outcome"].clone());
        if is_blank(self.map.get("summary")) {
            self.map.insert("summary".to_owned(), json!(SUMMARY));
        }
        if example.get("blockers").is_some() && is_blank(self.map.get("blockers")) {
            self.map.insert("blockers".to_owned(), json!([BLOCKER]));
        }
        self.done()
    }

    /// Keeps the outputs that fit. The agent must fill in the others again, unless only one value is possible.
    fn with_outputs(mut self, problems: &[Problem], example: &Value) -> Self {
        let Some(example) = example.as_object() else { return self };
        let given = self.map.get("outputs").and_then(Value::as_object).cloned().unwrap_or_default();
        let is_wrong = |name: &str| {
            let below = |path: &str| {
                path.strip_prefix(name).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
            };
            given.is_empty() || problems.iter().any(|problem| below(&problem.path))
        };
        let mut outputs = given.clone();
        outputs.retain(|name, _| !is_wrong(name));
        for (name, sample) in example.iter().filter(|(name, _)| is_wrong(name)) {
            let fits = |value: &Value| discriminant(value) == discriminant(sample);
            let is_meant = |key: &String| {
                !example.contains_key(key) && nearest(key, [name.as_str()]).is_some()
            };
            let near = || given.iter().find(|(key, _)| is_meant(key));
            let found = given.get(name).or_else(|| near().map(|(_, value)| value));
            let read = found.and_then(Value::as_str).and_then(|text| text.trim().parse().ok());
            let meant = found.cloned().filter(|_| !given.contains_key(name)).or(read).filter(fits);
            let rule = name.starts_with('$').then(|| sample.clone());
            let words = || json!(format!("<{name}>"));
            outputs.insert(name.clone(), meant.or(rule).unwrap_or_else(words));
        }
        self.map.insert("outputs".to_owned(), Value::Object(outputs));
        self
    }

    /// Replaces a text that is too long, or the file that it comes from.
    fn with_shorter(mut self, field: &str) -> Value {
        let is_file = field == "body" && self.map.shift_remove("file").is_some();
        let name = match field {
            "body" if is_file || self.map.contains_key("text") => "text",
            "comment" => "text",
            "notes" => "rejectionNotes",
            field => field,
        };
        let words = json!("<the same, shorter; the rest belongs into a file that it names>");
        let is_list = self.map.get(name).is_some_and(Value::is_array);
        self.with(name, if is_list { json!([words]) } else { words })
    }

    /// Replaces a text whose frontmatter was refused, or the file that it comes from.
    fn without_front(mut self, problems: &[Problem]) -> Self {
        let has = |code: &str| problems.iter().any(|problem| problem.code() == code);
        let text = self.map.get("text").and_then(Value::as_str).unwrap_or_default();
        let is_fronted = text.trim_start().starts_with("---");
        if has("unreadable_fields") || has("unknown_field") && is_fronted {
            self.map.shift_remove("file");
            self.map.insert("text".to_owned(), json!("<the same text, without frontmatter>"));
        }
        self
    }

    fn with_input(mut self, missing: &[String]) -> Value {
        let mut input =
            self.map.get("context").and_then(Value::as_object).cloned().unwrap_or_default();
        input.extend(missing.iter().map(|name| (name.clone(), json!(format!("<{name}>")))));
        self.map.insert("context".to_owned(), Value::Object(input));
        self.done()
    }

    fn without_input(mut self, unknown: &[String]) -> Value {
        if let Some(Value::Object(input)) = self.map.get_mut("context") {
            input.retain(|name, _| !unknown.contains(name));
        }
        self.done()
    }

    /// Leaves the NUL characters out of all texts.
    fn without_nul(mut self) -> Value {
        for value in self.texts() {
            if let Value::String(text) = value {
                text.retain(|letter| letter != '\0');
            }
        }
        self.done()
    }

    /// Returns the arguments, and the items of those that are lists or maps.
    fn texts(&mut self) -> impl Iterator<Item = &mut Value> {
        self.map.values_mut().flat_map(|value| match value {
            Value::Array(items) => items.iter_mut().collect(),
            Value::Object(fields) => fields.values_mut().collect(),
            value => vec![value],
        })
    }

    /// Replaces a wrong name wherever it is given.
    fn replacing(mut self, given: &str, near: &str) -> Value {
        // A ticket also contains the task.
        let is_given = |text: &str| text.split('@').next() == Some(given);
        for name in self.texts().filter(|name| name.as_str().is_some_and(is_given)) {
            *name = json!(near);
        }
        self.done()
    }

    /// Leaves an argument to the agent to fill in again.
    fn with_argument(self, name: &str) -> Value {
        let words = json!(format!("<{name}>"));
        let given = self.map.get(name);
        if given.and_then(Value::as_str).is_some_and(|text| text.starts_with('<')) {
            return self.done();
        }
        let is_list = given.is_some_and(Value::is_array);
        self.with(name, if is_list { json!([words]) } else { words })
    }
}

/// Returns the arguments as the tool takes them: each under its name, and of its type.
fn corrected(tool: &Tool, given: &Map) -> Map {
    let mut map = Map::new();
    for (name, value) in given {
        let mut names = tool.fields().map(|field| field.name);
        let near = match name.as_str() {
            "id" if tool.takes_task() && names.clone().all(|name| name != "id") => Some("task"),
            name => nearest(name, &mut names),
        };
        let known = tool.fields().find(|field| Some(field.name) == near);
        if let Some(known) = known
            && (known.name == name || !given.contains_key(known.name))
            && let Some(value) = corrected_value(known, value)
        {
            map.entry(known.name.to_owned()).or_insert(value);
        }
    }
    for needed in tool.fields().filter(|field| field.needed.has(Doors::TOOL)) {
        let words = || json!(format!("<{}>", needed.name));
        map.entry(needed.name.to_owned()).or_insert_with(words);
    }
    map
}

/// Returns the argument that is probably meant. `None` if only the agent could know, and may leave it out.
fn corrected_value(field: &InputField, value: &Value) -> Option<Value> {
    let form = field.kind;
    if !field.needed.has(Doors::TOOL) && form.is_absent(value) {
        return None;
    }
    let text = value.as_str().map(str::trim);
    form.read(value).or_else(|| {
        let in_words = || value.to_string().trim_matches('"').to_lowercase();
        Some(match (form, text) {
            // Python's lists and objects are valid YAML.
            (InputKind::Texts | InputKind::Links | InputKind::Object, Some(text))
                if text.starts_with(['[', '{']) =>
            {
                form.read(&yaml::parse(text, &ParseLimits::default()).ok()?.to_value())?
            }
            (InputKind::Object, Some(text)) => {
                let pair = |pair: &str| {
                    let (name, value) = pair.split_once('=')?;
                    let (name, value) = (name.trim().to_owned(), value.trim());
                    Some((name, value.parse().unwrap_or_else(|_| json!(value))))
                };
                Value::Object(text.split(',').map(pair).collect::<Option<Map>>()?)
            }
            // A sentence may have commas.
            (InputKind::Texts, Some(text)) if field.name == "blockers" => json!([text]),
            (InputKind::Texts | InputKind::Links, Some(text)) => {
                text.split(',').map(str::trim).collect()
            }
            (InputKind::Texts | InputKind::Links, None) => json!([format!("<{}>", field.name)]),
            (_, None) if value.as_array().is_some_and(|items| items.len() == 1) => {
                return corrected_value(field, &value[0]);
            }
            (InputKind::Text, _) if value.is_boolean() || value.is_number() => {
                json!(value.to_string())
            }
            (InputKind::Text, _) => json!(format!("<{}>", field.name)),
            (InputKind::Flag, _) => match in_words().as_str() {
                "1" | "yes" | "on" => json!(true),
                "0" | "no" | "off" => json!(false),
                _ => return None,
            },
            (InputKind::Word(words), _) => {
                let words = || words.iter().copied();
                let near = text.and_then(|text| nearest(text, words()));
                near.map_or_else(|| one_of(words()), Value::from)
            }
            _ => return None,
        })
    })
}
