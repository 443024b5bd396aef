//! What a completion gets told although it counts.

use serde_json::{Value, json};

use crate::model::ConditionTrouble;

/// Something worth mending that stops nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// Blockers that do not say what to do (spec 1, 9.5).
    VagueBlockers(Vec<String>),
    /// A condition failed to evaluate (spec 1, 9.8).
    ConditionError(ConditionTrouble),
}

impl Warning {
    /// Returns the code that stands for the warning in JSON.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::VagueBlockers(_) => "vague_blockers",
            Self::ConditionError(_) => "gate_condition_error",
        }
    }

    /// Returns what is wrong and how to do better.
    pub fn message(&self) -> String {
        match self {
            Self::VagueBlockers(blockers) => {
                let list: Vec<String> = blockers.iter().map(|text| format!("`{}`", text.trim())).collect();
                let verb = if list.len() == 1 { "does" } else { "do" };
                format!(
                    "{} {verb} not say what to do; name the thing and what it should be, \
                     as in `no error handling when the token has expired` or `coverage is 65%, the target is 80%`",
                    list.join(", ")
                )
            }
            Self::ConditionError(trouble) => {
                let action =
                    if trouble.entered { "the gate is entered all the same" } else { "the gate is passed over" };
                format!(
                    "the condition of gate `{}` failed: {} in `{}`; {action}",
                    trouble.gate, trouble.error, trouble.expression
                )
            }
        }
    }

    /// Returns the fields beside code and message.
    pub fn fields(&self) -> Vec<(&'static str, Value)> {
        match self {
            Self::VagueBlockers(blockers) => vec![("vagueBlockers", json!(blockers))],
            Self::ConditionError(trouble) => vec![
                ("gate", json!(trouble.gate.as_str())),
                ("expression", json!(trouble.expression)),
                ("error", json!(trouble.error)),
                ("action", json!(if trouble.entered { "enter" } else { "skip" })),
            ],
        }
    }
}
