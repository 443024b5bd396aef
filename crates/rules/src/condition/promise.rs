//! Promises: conditions on the way that a task has taken, with functions that only they may call.
//!
//! Each call stands for one value that the way decides, step by step. A compiled promise reads these values by names of its own.

use std::ops::Range;

use oxc_ast::ast::{Argument, CallExpression, Expression};
use oxc_span::{GetSpan, Span};
use serde_json::{Value, json};

use super::split::Fact;
use super::{Condition, ConditionError, ConditionFault, FaultKind, check_calls};
use aof_domain::{
    AgentId, Destination, Ending, Outcome, Promise, Station, Verdict, Visit, Workflow,
    did_you_mean, listed,
};

/// The functions that promises may call, each with an example.
pub(crate) const FUNCTIONS: [(&str, &str); 5] = [
    ("passed", "passed('review')"),
    ("passedBy", "passedBy('review')"),
    ("human", "human('review')"),
    ("before", "before('work', 'review')"),
    ("count", "count('review', 'needs_review')"),
];

/// The largest number that counts can be compared with.
const MOST_COUNT: u32 = 100;

/// The name by which promises read whether the task is complete.
const ENDED: &str = "ended";

/// A call of a function, with the texts that it is given.
#[derive(Debug)]
pub(crate) struct FunctionCall {
    pub(crate) function: &'static str,
    pub(crate) texts: Vec<(String, Range<usize>)>,
    pub(crate) range: Range<usize>,
}

impl FunctionCall {
    /// Reads a call of one of these functions, each with an example of its use.
    pub(crate) fn read(
        call: &CallExpression<'_>,
        functions: &[(&'static str, &str)],
    ) -> Result<Self, ConditionFault> {
        let refuse = |span: Span, message: String, help: String| {
            ConditionFault::new(FaultKind::Refused, span, message, help)
        };
        let span = call.callee.span();
        let name = match &call.callee {
            Expression::Identifier(name) => name.name.as_str(),
            _ => "",
        };
        let Some((function, example)) = functions.iter().find(|known| known.0 == name) else {
            return Err(if functions.is_empty() {
                let message = "a condition can only call methods, by their names".to_owned();
                refuse(span, message, "for example `tags.includes('api')`".to_owned())
            } else {
                let known = listed(functions.iter().map(|(name, _)| name));
                let help = format!("promises can call {known}");
                refuse(span, format!("there is no function `{name}`"), help)
            });
        };
        let bytes = |span: Span| span.start as usize..span.end as usize;
        let text = |argument: &Argument<'_>| match argument.as_expression()?.without_parentheses() {
            Expression::StringLiteral(text) => Some((text.value.to_string(), bytes(text.span))),
            _ => None,
        };
        let texts: Option<Vec<_>> = call.arguments.iter().map(text).collect();
        let takes = 1 + example.matches(", ").count();
        let Some(texts) = texts.filter(|texts| texts.len() == takes) else {
            let message = format!("`{function}` takes names between quotes");
            return Err(refuse(call.span, message, format!("for example `{example}`")));
        };
        Ok(Self { function, texts, range: bytes(call.span) })
    }
}

/// A value that the way of a task decides.
#[derive(Debug, Clone)]
enum Watched {
    Passed(Station),
    PassedBy(Station),
    Human(Station),
    /// Null if the first gate was not passed; then true if the second one was passed after it.
    Before(Station, Station),
    Count(Station, Outcome),
}

/// A promise that compiled.
#[derive(Debug, Clone)]
pub(crate) struct CompiledPromise {
    pub(crate) promise: Promise,
    condition: Condition,
    watched: Vec<(String, Watched)>,
    /// The facts of a task on which it depends beside its way; `None` if the prover cannot tell tasks apart by them.
    pub(crate) facts: Option<Vec<Fact>>,
    /// The count above which counts do not differ.
    most: u64,
}

impl CompiledPromise {
    /// Checks and compiles a promise about the workflow, which may read `names`, or returns its faults.
    pub(crate) fn compile(
        promise: &Promise,
        workflow: &Workflow,
        names: &[&str],
    ) -> Result<Self, Vec<ConditionFault>> {
        let names = [names, &[ENDED]].concat();
        let calls = check_calls(&promise.always, &names, &FUNCTIONS)?;
        let mut source = promise.always.clone();
        let (mut watched, mut faults) = (Vec::new(), Vec::new());
        for (index, call) in calls.into_iter().enumerate() {
            // The name is as long as the call, so that places in the source stay.
            let name = format!("${}{index}", call.function);
            source.replace_range(call.range.clone(), &format!("{name:<0$}", call.range.len()));
            match Watched::of(&call, workflow) {
                Ok(found) => watched.push((name, found)),
                Err(fault) => faults.push(fault),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let condition = Condition { source: source.into(), asked: None };
        let mut facts = condition.facts();
        let with = facts.iter().flatten().filter_map(|fact| match fact {
            Fact::Way(with) => Some(with),
            _ => None,
        });
        let largest = with.flatten().filter_map(Value::as_f64).fold(0.0, f64::max);
        let most = (1..=MOST_COUNT).find(|count| f64::from(*count) > largest);
        facts = facts.filter(|_| most.is_some());
        let most = most.unwrap_or(MOST_COUNT).into();
        Ok(Self { promise: promise.clone(), condition, watched, facts, most })
    }

    /// Returns the values of a task that was nowhere.
    pub(crate) fn begin(&self) -> Vec<Value> {
        let value = |watched: &Watched| match watched {
            Watched::Passed(_) | Watched::Human(_) => json!(false),
            Watched::PassedBy(_) | Watched::Before(..) => Value::Null,
            Watched::Count(..) => json!(0),
        };
        self.watched.iter().map(|(_, watched)| value(watched)).collect()
    }

    /// Changes the values by an entry that was added to the history.
    pub(crate) fn follow(&self, workflow: &Workflow, values: &mut [Value], entry: &Visit) {
        let passed = |station: &Station| passed(workflow, station, entry);
        for ((_, watched), value) in self.watched.iter().zip(values) {
            match watched {
                Watched::Passed(at) => {
                    *value = passed(at).map_or(value.take(), |(passed, _)| json!(passed));
                }
                Watched::Human(at) => {
                    let is_human = entry.agent.as_ref().is_some_and(AgentId::is_human);
                    *value =
                        passed(at).map_or(value.take(), |(passed, _)| json!(passed && is_human));
                }
                Watched::PassedBy(at) => {
                    let agent = entry.agent.as_ref().map(|agent| json!(agent.as_str()));
                    let by = |(passed, _)| agent.filter(|_| passed).unwrap_or_default();
                    *value = passed(at).map_or(value.take(), by);
                }
                Watched::Before(first, then) => {
                    if let Some((passed, _)) = passed(first) {
                        *value = if passed { json!(false) } else { Value::Null };
                    } else if let Some((passed, _)) = passed(then).filter(|_| !value.is_null()) {
                        *value = json!(passed);
                    }
                }
                Watched::Count(at, outcome) => {
                    if passed(at).is_some_and(|(_, said)| said.is_meant_by(outcome.as_str())) {
                        *value = json!((value.as_u64().unwrap_or_default() + 1).min(self.most));
                    }
                }
            }
        }
    }

    /// Returns the agents that the promise names.
    pub(crate) fn agents(&self) -> Vec<AgentId> {
        let ways = self.facts.iter().flatten().filter_map(|fact| match fact {
            Fact::Way(with) => Some(with),
            _ => None,
        });
        let mut agents: Vec<AgentId> =
            ways.flatten().filter_map(|text| text.as_str()?.parse().ok()).collect();
        agents.sort();
        agents.dedup();
        agents
    }

    /// Returns whether the promise holds for a task with these values and that scope of conditions.
    pub(crate) fn holds(
        &self,
        values: &[Value],
        ended: bool,
        scope: &[(&str, &Value)],
    ) -> Result<bool, ConditionError> {
        let ended = json!(ended);
        let own = self.watched.iter().map(|(name, _)| name.as_str()).zip(values);
        let all: Vec<_> = scope.iter().copied().chain(own).chain([(ENDED, &ended)]).collect();
        self.condition.evaluate(&all)
    }
}

impl Watched {
    fn of(call: &FunctionCall, workflow: &Workflow) -> Result<Self, ConditionFault> {
        let at = |index: usize| station(workflow, &call.texts[index]);
        Ok(match call.function {
            "passed" => Self::Passed(at(0)?),
            "passedBy" => Self::PassedBy(worked(workflow, at(0)?, &call.texts[0].1)?),
            "human" => Self::Human(worked(workflow, at(0)?, &call.texts[0].1)?),
            "before" => Self::Before(at(0)?, at(1)?),
            _ => Self::Count(at(0)?, outcome(workflow, &at(0)?, &call.texts[1])?),
        })
    }
}

/// Returns whether the entry passes the gate or branch, and the outcome; `None` if it ends no visit there by a completion.
fn passed<'e>(
    workflow: &Workflow,
    station: &Station,
    entry: &'e Visit,
) -> Option<(bool, &'e Outcome)> {
    if entry.gate != station.gate {
        return None;
    }
    if station.branch.is_some() {
        return match &entry.outcome {
            Ending::Completed(said) if entry.branch == station.branch => {
                Some((entry.verdict == Some(Verdict::Pass), said))
            }
            _ => None,
        };
    }
    let (said, (_, gate)) = (entry.gate_outcome()?, workflow.gate(&entry.gate)?);
    let leaves = entry.to != Some(Destination::Gate(entry.gate.clone()));
    // Each way out of a detour leads back.
    let is_back = !gate.detour && (entry.retry.is_some() || workflow.goes_back(gate, said));
    // A fork without a branch that applies has judged nothing.
    let is_judged = gate.fork().is_none() || entry.agent.is_some();
    let passes = said.judges() && *said != Outcome::NeedsReview && leaves && !is_back && is_judged;
    Some((passes, said))
}

fn station(
    workflow: &Workflow,
    (text, range): &(String, Range<usize>),
) -> Result<Station, ConditionFault> {
    let known: Vec<Station> = workflow.parts().map(|(station, _)| station).collect();
    let found = known.iter().find(|station| station.to_string() == *text);
    found.cloned().ok_or_else(|| {
        let names: Vec<String> = known.iter().map(ToString::to_string).collect();
        let message = format!("workflow `{}` has no gate `{}`", workflow.name, text.escape_debug());
        let help = did_you_mean(text, names.iter().map(String::as_str));
        unknown(range, message, help.unwrap_or_else(|| format!("name one of {}", listed(&names))))
    })
}

/// Returns the place if somebody works there, who may be asked for.
fn worked(
    workflow: &Workflow,
    at: Station,
    range: &Range<usize>,
) -> Result<Station, ConditionFault> {
    let mut own = workflow.parts().filter(|(station, _)| station.gate == at.gate);
    if own.any(|(station, part)| station == at && part.duty().is_some()) {
        return Ok(at);
    }
    let branches = workflow.parts().filter(|(station, _)| station.gate == at.gate).skip(1);
    let branches: Vec<String> = branches.map(|(station, _)| station.to_string()).collect();
    let help = match &branches[..] {
        [] => "name a gate at which somebody works".to_owned(),
        branches => format!("name one of its branches: {}", listed(branches)),
    };
    Err(unknown(range, format!("nobody passes gate `{at}` alone"), help))
}

fn outcome(
    workflow: &Workflow,
    station: &Station,
    (text, range): &(String, Range<usize>),
) -> Result<Outcome, ConditionFault> {
    let own = workflow.parts().filter(|(at, _)| at == station);
    let mut known: Vec<Outcome> =
        own.flat_map(|(_, gate)| gate.exits.decisions().cloned()).collect();
    known.extend_from_slice(Outcome::BUILT_IN);
    let found = known.iter().find(|outcome| outcome.is_meant_by(text));
    found.cloned().ok_or_else(|| {
        let message = format!("gate `{station}` has no outcome `{}`", text.escape_debug());
        unknown(range, message, format!("name one of {}", listed(&known)))
    })
}

fn unknown(range: &Range<usize>, message: String, help: String) -> ConditionFault {
    ConditionFault { kind: FaultKind::UnknownName, message, range: range.clone(), help: Some(help) }
}
