//! What happened, for logs and notices. Events are derived from what was decided; losing one loses no fact.

use super::{AgentId, GateId, RoleId};

/// Something that a person, a log or a metric may want to know (spec 1, section 9).
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A condition failed to evaluate.
    ConditionError(ConditionTrouble),
    /// A gate was passed over.
    Skipped {
        /// The gate.
        gate: GateId,
    },
    /// A task stands at a gate whose role has nobody.
    BlockedNoAgents {
        /// The gate.
        gate: GateId,
        /// The role.
        role: RoleId,
    },
    /// A task was sent back to one gate too often.
    CircularLoop {
        /// The gate that it was sent back to.
        gate: GateId,
        /// The gate that sent it.
        from: GateId,
        /// How often it was sent back there.
        count: u32,
    },
    /// A completion came for a visit that had ended.
    Conflict {
        /// The gate of that visit.
        gate: GateId,
        /// Whose completion counted.
        winner: Option<AgentId>,
        /// Whose did not.
        loser: AgentId,
    },
}

/// A condition that failed to evaluate (spec 1, 9.8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionTrouble {
    /// The gate whose condition it is.
    pub gate: GateId,
    /// The condition.
    pub expression: String,
    /// What went wrong.
    pub error: String,
    /// Whether the gate was entered all the same.
    pub entered: bool,
}
