//! The types of `decide`: acts on a task, actors, decisions and warnings.

use serde::Serialize;
use serde_json::Value;

use crate::domain::{
    AgentId, Completion, ConditionTrouble, Event, GateId, LostDependency, Map, Outcome, Priority,
    Station, Task, TaskId, Work, listed,
};

/// How often a gate may be entered by a rejection; the next time blocks the task (spec 1, 9.9).
pub const LOOP_LIMIT: u32 = 5;

/// What somebody wants done with a task. A `branch` names the branch that is meant where the task stands at a fork.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Put a task that stands nowhere, a new one or a hand-made file, at the first gate that applies to it.
    Open,
    /// The same, and give it to an agent there.
    OpenFor { agent: AgentId },
    /// End the visit.
    Complete(Completion),
    /// Let a gate that decides by itself decide.
    Pass,
    /// End a visit that the rules in force have no place for any more.
    Move,
    /// Give the work to the role, and to the people in it, that the rules in force name.
    Reroute,
    /// Take the task.
    Claim { agent: AgentId, branch: Option<GateId> },
    /// Give the task to an agent, whoever has it now.
    Assign { by: Actor, agent: AgentId, branch: Option<GateId> },
    /// Renew a claim.
    Renew { agent: AgentId, branch: Option<GateId>, note: Option<String> },
    /// End a claim that nobody renewed.
    Lapse { branch: Option<GateId> },
    /// End a visit that has taken too long, or mark it where nobody steps in.
    Timeout { branch: Option<GateId> },
    /// Hold the task where it is.
    Hold { by: Actor, reason: String },
    /// Have the task wait for these lost dependencies, and for no others.
    Depend { lost: Vec<LostDependency> },
    /// Give the task back.
    Release { by: Actor, branch: Option<GateId> },
    /// Set a blocked task going again; without a branch, all that are blocked. The reason is needed where the history must say it.
    Unblock { by: Actor, branch: Option<GateId>, reason: Option<String> },
    /// Call the task off.
    Cancel { by: Actor, reason: String },
    /// Reopen a finished task.
    Reopen { by: Actor, to: GateId, reason: String },
    /// Move the task against the workflow.
    Override { by: Actor, to: GateId, reason: String },
}

/// Who acts where both people and agents may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// A program: it may what org.yaml lets it, and what belongs to the tasks that it holds.
    Agent(AgentId),
    /// A person, with the agent id by which org.yaml knows them.
    Person(Option<AgentId>),
}

impl Actor {
    pub fn agent(&self) -> Option<&AgentId> {
        match self {
            Self::Agent(agent) => Some(agent),
            Self::Person(agent) => agent.as_ref(),
        }
    }
}

/// What the engine answers when it does not refuse.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// The task changes.
    Step(Box<WorkflowStep>),
    /// It was done before: the completion ended that visit, or the agent holds it.
    Settled { visit: usize },
}

/// One change of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkflowStep {
    pub task: Task,
    /// A text for the body of the file.
    pub work: Option<Work>,
    pub events: Vec<Event>,
    pub warnings: Vec<Warning>,
}

impl WorkflowStep {
    /// Returns the change to that task of which nothing else is to be told.
    pub(crate) fn silent(task: Task) -> Self {
        Self { task, work: None, events: Vec::new(), warnings: Vec::new() }
    }

    /// Adds that these conditions failed on the way.
    pub(crate) fn met(&mut self, trouble: Vec<ConditionTrouble>) {
        self.events.extend(trouble.iter().cloned().map(Event::ConditionError));
        self.warnings.extend(trouble.into_iter().map(Warning::ConditionError));
    }
}

impl From<WorkflowStep> for Decision {
    fn from(step: WorkflowStep) -> Self {
        Self::Step(Box::new(step))
    }
}

/// A problem that does not stop the act. It serializes as its fields for programs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum Warning {
    /// Blockers that do not say what to do (spec 1, 9.5).
    VagueBlockers { vague_blockers: Vec<String> },
    /// The text at a gate with a signal came to no verdict, in this attempt at the gate, counted from 1.
    NoVerdict {
        gate: Station,
        attempt: usize,
        looked_for: String,
        /// What was there in its place.
        found: Option<String>,
        /// What it was taken for.
        outcome: Outcome,
    },
    /// Names in the texts of a gate stand for nothing yet.
    MissingValues { gate: GateId, names: Vec<String> },
    /// Values were too long for the texts of a gate.
    CutValues { gate: GateId, names: Vec<String> },
    /// `metadata.priority` is no priority.
    UnknownPriority { given: Value },
    /// Tasks wait for each other.
    DependencyCircle { tasks: Vec<String> },
    /// A condition failed to evaluate (spec 1, 9.8).
    ConditionError(ConditionTrouble),
    /// A hand-made file names an agent, and the rules do not let the task be given to that one.
    NotGiven {
        task: TaskId,
        agent: AgentId,
        #[serde(skip)]
        why: String,
    },
    /// Files beside a task did not move with it.
    CompanionsStay {
        ignored: Vec<String>,
        /// Those that git encrypts, or stores elsewhere.
        filtered: Vec<String>,
        too_large: Vec<String>,
        /// Those with a name that cannot be committed.
        misnamed: Vec<String>,
    },
}

impl Warning {
    /// Returns the warning about a `metadata.priority` that is none.
    pub fn of_priority(metadata: &Map) -> Option<Self> {
        let given = metadata.get("priority").filter(|given| !given.is_null())?;
        let known = given.as_str().is_some_and(|word| word.parse::<Priority>().is_ok());
        (!known).then(|| Self::UnknownPriority { given: given.clone() })
    }

    /// Returns the code that stands for the warning in JSON.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::VagueBlockers { .. } => "vague_blockers",
            Self::NoVerdict { .. } => "no_verdict",
            Self::MissingValues { .. } => "missing_values",
            Self::CutValues { .. } => "cut_values",
            Self::UnknownPriority { .. } => "unknown_priority",
            Self::DependencyCircle { .. } => "dependency_circle",
            Self::ConditionError(_) => "gate_condition_error",
            Self::NotGiven { .. } => "not_given",
            Self::CompanionsStay { .. } => "companions_stay",
        }
    }

    /// Returns what is wrong and how to do better.
    pub fn message(&self) -> String {
        match self {
            Self::VagueBlockers { vague_blockers: blockers } => {
                let verb = if blockers.len() == 1 { "does" } else { "do" };
                format!(
                    "{} {verb} not say what to do; name the thing and what it should be, \
                     as in `no error handling when the token has expired` or `coverage is 65%, the target is 80%`",
                    listed(blockers.iter().map(|text| text.trim()))
                )
            }
            Self::NoVerdict { gate, attempt, looked_for, found, outcome } => {
                let there = match found {
                    Some(found) => format!("there is only `{}`", found.escape_debug()),
                    None => "there is none".to_owned(),
                };
                format!(
                    "gate `{gate}` (attempt {attempt}) looked for {looked_for} in the text, and {there}; \
                     what is quoted or code does not count. It was taken for `{outcome}`"
                )
            }
            Self::MissingValues { gate, names } => {
                let names = listed(names);
                format!("the texts of gate `{gate}` speak of {names}, which nobody has handed on")
            }
            Self::CutValues { gate, names } => {
                let names = listed(names);
                format!("the texts of gate `{gate}` have no room for all of {names}: it was cut")
            }
            Self::UnknownPriority { given } => {
                let given = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
                format!(
                    "`{}` is no priority and counts as `medium`; it is one of {}",
                    given.escape_debug(),
                    listed(Priority::ALL)
                )
            }
            Self::DependencyCircle { tasks } => {
                let names: Vec<&str> =
                    tasks.iter().chain(tasks.first()).map(String::as_str).collect();
                format!(
                    "these wait for each other, so none of them is handed out: {}; take one out of a `dependsOn`",
                    names.join(" -> ")
                )
            }
            Self::ConditionError(ConditionTrouble { gate, error, expression, entered }) => {
                let action = if *entered { "entered all the same" } else { "passed over" };
                format!(
                    "the condition of gate `{gate}` failed: {error} in `{expression}`; the gate is {action}"
                )
            }
            Self::NotGiven { task, agent, why } => format!(
                "`{task}` begins without `{agent}`, whom its file names: {why}; `aof task assign {task} AGENT` gives it to \
                 somebody"
            ),
            Self::CompanionsStay { ignored, filtered, too_large, misnamed } => {
                let reasons = [
                    (ignored, "which git is told to ignore"),
                    (
                        filtered,
                        "which git changes on the way into a commit: `filter`, `ident` or `working-tree-encoding`",
                    ),
                    (too_large, "too large to be committed"),
                    (
                        misnamed,
                        "whose name cannot be committed: a control character, an invisible one or a backslash",
                    ),
                ];
                // A name may break the line.
                let files =
                    |files: &Vec<String>| listed(files.iter().map(|file| file.escape_debug()));
                let stays: Vec<String> = reasons
                    .iter()
                    .filter(|(names, _)| !names.is_empty())
                    .map(|(names, why)| format!("{} ({why})", files(names)))
                    .collect();
                format!(
                    "the task has moved without {}: move or remove that yourself",
                    stays.join(" and ")
                )
            }
        }
    }

    /// Returns the fields beside code and message, in their order.
    pub fn fields(&self) -> Map {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }
}
