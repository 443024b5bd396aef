//! What a workflow says to the agents at a gate.

use crate::domain::Outcome;

/// What agents are told at a gate, and what they are told when the task comes back to it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Brief {
    /// On first entry.
    pub entry: BriefText,
    /// After a rejection; absent parts are generated, not taken from `entry`.
    pub reentry: BriefText,
}

/// The parts of a brief; what is absent is generated.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BriefText {
    /// Who the agent is here, in plain words.
    pub role: Option<String>,
    /// A checklist.
    pub expectations: Option<Vec<String>>,
    /// What each outcome means here.
    pub outcomes: Vec<(Outcome, String)>,
    /// Practical advice.
    pub tips: Option<Vec<String>>,
    /// Instructions at length.
    pub instructions: Option<String>,
}
