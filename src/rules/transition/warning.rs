//! What a completion gets told although it counts.

use serde_json::{Value, json};

use crate::domain::{
    AgentId, ConditionTrouble, GateId, Map, Outcome, Priority, Station, TaskId, listed,
};

/// Something worth mending that stops nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// Blockers that do not say what to do (spec 1, 9.5).
    VagueBlockers(Vec<String>),
    /// The text at a gate with a signal came to no verdict.
    NoVerdict {
        /// The gate.
        gate: Station,
        /// Which visit of the gate this was, from 1.
        attempt: usize,
        /// What was looked for.
        looked_for: String,
        /// What was there in its place.
        found: Option<String>,
        /// What it was taken for.
        outcome: Outcome,
    },
    /// Names in the texts of a gate stand for nothing yet.
    MissingValues {
        /// The gate.
        gate: GateId,
        /// The names.
        names: Vec<String>,
    },
    /// Values were too long for the texts of a gate.
    CutValues {
        /// The gate.
        gate: GateId,
        /// The names.
        names: Vec<String>,
    },
    /// `metadata.priority` is no word that counts.
    UnknownPriority(Value),
    /// Tasks wait for each other.
    DependencyCircle(Vec<String>),
    /// A condition failed to evaluate (spec 1, 9.8).
    ConditionError(ConditionTrouble),
    /// A file that was made by hand says whose its task is to be, and the rules do not let it be given to that one.
    NotGiven {
        /// The task.
        task: TaskId,
        /// Whom it names.
        agent: AgentId,
        /// Why not.
        why: String,
    },
    /// Files beside a task did not go where it went.
    CompanionsStay {
        /// Those that git is told to leave out.
        ignored: Vec<String>,
        /// Those that git encrypts, or stores elsewhere, when it takes them in.
        filtered: Vec<String>,
        /// Those that are too large to be committed.
        too_large: Vec<String>,
        /// Those with a name that no commit can have.
        misnamed: Vec<String>,
    },
}

impl Warning {
    /// Returns what is to be said of a priority that is none.
    pub fn of_priority(metadata: &Map) -> Option<Self> {
        let given = metadata.get("priority").filter(|given| !given.is_null())?;
        let known = given.as_str().is_some_and(|word| word.parse::<Priority>().is_ok());
        (!known).then(|| Self::UnknownPriority(given.clone()))
    }

    /// Returns the code that stands for the warning in JSON.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::VagueBlockers(_) => "vague_blockers",
            Self::NoVerdict { .. } => "no_verdict",
            Self::MissingValues { .. } => "missing_values",
            Self::CutValues { .. } => "cut_values",
            Self::UnknownPriority(_) => "unknown_priority",
            Self::DependencyCircle(_) => "dependency_circle",
            Self::ConditionError(_) => "gate_condition_error",
            Self::NotGiven { .. } => "not_given",
            Self::CompanionsStay { .. } => "companions_stay",
        }
    }

    /// Returns what is wrong and how to do better.
    pub fn message(&self) -> String {
        match self {
            Self::VagueBlockers(blockers) => {
                let list: Vec<String> =
                    blockers.iter().map(|text| format!("`{}`", text.trim())).collect();
                let verb = if list.len() == 1 { "does" } else { "do" };
                format!(
                    "{} {verb} not say what to do; name the thing and what it should be, \
                     as in `no error handling when the token has expired` or `coverage is 65%, the target is 80%`",
                    list.join(", ")
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
                format!(
                    "the texts of gate `{gate}` speak of {}, which nobody has handed on",
                    listed(names)
                )
            }
            Self::CutValues { gate, names } => {
                format!(
                    "the texts of gate `{gate}` have no room for all of {}: it was cut",
                    listed(names)
                )
            }
            Self::UnknownPriority(given) => {
                let given = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
                let words = listed(Priority::ALL);
                format!(
                    "`{}` is no priority and counts as `medium`; it is one of {words}",
                    given.escape_debug()
                )
            }
            Self::DependencyCircle(tasks) => {
                let names: Vec<&str> =
                    tasks.iter().chain(tasks.first()).map(String::as_str).collect();
                format!(
                    "these wait for each other, so none of them is handed out: {}; take one out of a `dependsOn`",
                    names.join(" -> ")
                )
            }
            Self::ConditionError(trouble) => {
                let action = if trouble.entered {
                    "the gate is entered all the same"
                } else {
                    "the gate is passed over"
                };
                format!(
                    "the condition of gate `{}` failed: {} in `{}`; {action}",
                    trouble.gate, trouble.error, trouble.expression
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
                let stays = reasons.iter().filter(|(files, _)| !files.is_empty());
                let stays: Vec<String> = stays
                    .map(|(files, why)| {
                        // A name may break the line.
                        format!("{} ({why})", listed(files.iter().map(|file| file.escape_debug())))
                    })
                    .collect();
                format!(
                    "the task has moved without {}: move or remove that yourself",
                    stays.join(" and ")
                )
            }
        }
    }

    /// Returns the fields beside code and message.
    pub fn fields(&self) -> Vec<(&'static str, Value)> {
        match self {
            Self::VagueBlockers(blockers) => vec![("vagueBlockers", json!(blockers))],
            Self::NoVerdict { gate, attempt, looked_for, found, outcome } => vec![
                ("gate", json!(gate.to_string())),
                ("attempt", json!(attempt)),
                ("lookedFor", json!(looked_for)),
                ("found", json!(found)),
                ("outcome", json!(outcome.as_str())),
            ],
            Self::MissingValues { gate, names } | Self::CutValues { gate, names } => {
                vec![("gate", json!(gate.as_str())), ("names", json!(names))]
            }
            Self::UnknownPriority(given) => vec![("given", given.clone())],
            Self::DependencyCircle(tasks) => vec![("tasks", json!(tasks))],
            Self::ConditionError(trouble) => vec![
                ("gate", json!(trouble.gate.as_str())),
                ("expression", json!(trouble.expression)),
                ("error", json!(trouble.error)),
                ("action", json!(if trouble.entered { "enter" } else { "skip" })),
            ],
            Self::CompanionsStay { ignored, filtered, too_large, misnamed } => vec![
                ("ignored", json!(ignored)),
                ("filtered", json!(filtered)),
                ("tooLarge", json!(too_large)),
                ("misnamed", json!(misnamed)),
            ],
            Self::NotGiven { task, agent, .. } => {
                vec![("task", json!(task.as_str())), ("agent", json!(agent.as_str()))]
            }
        }
    }
}
