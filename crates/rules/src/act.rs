//! The types of `decide`: acts on a task, actors, decisions and warnings.

use serde::Serialize;
use serde_json::Value;

use aof_domain::{
    AgentId, Completion, ConditionTrouble, Event, GateId, LostDependency, Map, Outcome, Remedy,
    Station, Task, TaskId, TroubleAction, Work, listed,
};

/// The number of times that rejections may send a task to one gate; the next time blocks it (spec 1, 9.9).
pub const LOOP_LIMIT: u32 = 5;

/// A change that a person, an agent or the engine asks for. At a fork, `branch` names the branch that it concerns.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Put a new task, or a hand-made file, at the first gate that applies to it.
    Open,
    /// Open the task, and assign it to an agent at its first gate.
    OpenFor { agent: AgentId },
    /// End the visit.
    Complete(Completion),
    /// Let an automatic gate decide.
    Pass,
    /// End a visit whose gate the rules in force no longer have.
    Move,
    /// Update the role of the open visit and its permitted holders to the rules in force.
    Reroute,
    /// Claim the task.
    Claim { agent: AgentId, branch: Option<GateId> },
    /// Assign the task to an agent, even if another agent holds it.
    Assign { by: Actor, agent: AgentId, branch: Option<GateId> },
    /// Renew a claim.
    Renew { agent: AgentId, branch: Option<GateId>, note: Option<String> },
    /// End a claim that was not renewed.
    Lapse { branch: Option<GateId> },
    /// End a visit that exceeded its time limit, or mark it overdue if no role steps in.
    Timeout { branch: Option<GateId> },
    /// Put the task on hold at its gate.
    Hold { by: Actor, reason: String },
    /// Block the task on exactly these lost dependencies; if there are none, unblock it.
    Depend { lost: Vec<LostDependency> },
    /// Release a claim.
    Release { by: Actor, branch: Option<GateId> },
    /// Unblock a task; without a branch, all blocked branches. A reason is required if the history must record it.
    Unblock { by: Actor, branch: Option<GateId>, reason: Option<String> },
    /// Cancel the task.
    Cancel { by: Actor, reason: String },
    /// Reopen a finished task.
    Reopen { by: Actor, to: GateId, reason: String },
    /// Move the task against the workflow.
    Override { by: Actor, to: GateId, reason: String },
}

impl Act {
    /// Returns the acting agent, unless a signature proves it.
    pub fn unsigned_actor(&self) -> Option<&AgentId> {
        match self {
            Self::Complete(completion) if completion.signature.is_none() => Some(&completion.agent),
            Self::Claim { agent, .. } | Self::Renew { agent, .. } => Some(agent),
            Self::Assign { by, .. }
            | Self::Hold { by, .. }
            | Self::Release { by, .. }
            | Self::Unblock { by, .. }
            | Self::Cancel { by, .. }
            | Self::Reopen { by, .. }
            | Self::Override { by, .. } => by.agent(),
            _ => None,
        }
    }
}

/// The actor, for acts that are open to people and agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// A program. It may do what org.yaml permits, and act on the tasks that it holds.
    Agent(AgentId),
    /// A person, with their agent id in org.yaml, if they have one.
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

/// The engine's answer, unless it refuses.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// The task changes.
    Step(Box<WorkflowStep>),
    /// No change is needed: the completion has ended that visit before, or the agent already has the claim.
    Settled { visit: usize },
}

/// One change of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkflowStep {
    pub task: Task,
    /// Text to append to the body of the file.
    pub work: Option<Work>,
    pub events: Vec<Event>,
    pub warnings: Vec<Warning>,
}

impl WorkflowStep {
    /// Returns a step to that task without events and warnings.
    pub(crate) fn silent(task: Task) -> Self {
        Self { task, work: None, events: Vec::new(), warnings: Vec::new() }
    }

    /// Adds events and warnings for these failed conditions.
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
    /// The text at a gate with a signal has no verdict. Attempts at the gate are counted from 1.
    NoVerdict {
        gate: Station,
        attempt: usize,
        looked_for: String,
        /// The text that was found instead.
        found: Option<String>,
        /// The outcome that is assumed.
        outcome: Outcome,
    },
    /// Outputs that the schema of the gate does not declare were left out.
    UndeclaredOutputs { gate: Station, names: Vec<String> },
    /// Names in the texts of a gate have no value yet.
    MissingValues { gate: GateId, names: Vec<String> },
    /// Values were too long for the texts of a gate.
    CutValues { gate: GateId, names: Vec<String> },
    /// Tasks wait for each other.
    DependencyCircle { tasks: Vec<String> },
    /// A sparse checkout of git lacks the files of tasks.
    TasksLeftOut {
        count: usize,
        /// The command that checks them out.
        command: String,
    },
    /// A condition failed to evaluate (spec 1, 9.8).
    ConditionError(ConditionTrouble),
    /// A hand-made file names an agent that may not have the task.
    NotGiven {
        task: TaskId,
        agent: AgentId,
        #[serde(skip)]
        why: String,
    },
    /// Companions did not move with their task.
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
    /// Returns the warning's code in JSON.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::VagueBlockers { .. } => "vague_blockers",
            Self::NoVerdict { .. } => "no_verdict",
            Self::UndeclaredOutputs { .. } => "undeclared_outputs",
            Self::MissingValues { .. } => "missing_values",
            Self::CutValues { .. } => "cut_values",
            Self::DependencyCircle { .. } => "dependency_circle",
            Self::TasksLeftOut { .. } => "tasks_left_out",
            Self::ConditionError(_) => "gate_condition_error",
            Self::NotGiven { .. } => "not_given",
            Self::CompanionsStay { .. } => "companions_stay",
        }
    }

    /// Returns the problem and the fix as a text.
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
            Self::UndeclaredOutputs { gate, names } => format!(
                "gate `{gate}` does not declare {}: left out of the completion",
                listed(names)
            ),
            Self::CutValues { gate, names } => {
                let names = listed(names);
                format!("the texts of gate `{gate}` have no room for all of {names}: it was cut")
            }
            Self::DependencyCircle { tasks } => {
                let names: Vec<&str> =
                    tasks.iter().chain(tasks.first()).map(String::as_str).collect();
                format!(
                    "these wait for each other, so none of them is handed out: {}; take one out of a `dependsOn`, or out of its `parent`",
                    names.join(" -> ")
                )
            }
            Self::TasksLeftOut { count, command } => {
                let of_tasks =
                    if *count == 1 { "file of 1 task" } else { &format!("files of {count} tasks") };
                format!(
                    "git leaves the {of_tasks} out of this sparse checkout; {command} brings what is missing"
                )
            }
            Self::ConditionError(ConditionTrouble { gate, error, expression, action }) => {
                let action = match action {
                    TroubleAction::Skip => "the gate is passed over",
                    TroubleAction::Enter => "the gate is entered all the same",
                    TroubleAction::Block => "the task is blocked there",
                };
                format!(
                    "the condition of gate `{gate}` failed: {error} in `{expression}`; {action}"
                )
            }
            Self::NotGiven { task, agent, why } => format!(
                "`{task}` begins without `{agent}`, whom its file names: {why}; `{}` gives it to somebody",
                Remedy::Assign.on(task).chosen("agent").flag("claim")
            ),
            Self::CompanionsStay { ignored, filtered, too_large, misnamed } => {
                let reasons = [
                    (ignored, "which git ignores"),
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

    /// Returns the warning's fields for JSON, besides code and message.
    pub fn fields(&self) -> Map {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }
}
