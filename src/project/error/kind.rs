//! What a name is the name of that stands for nothing here.

/// What a name is the name of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Of an agent.
    Agent,
    /// Of a commit.
    Commit,
    /// Of a gate.
    Gate,
    /// Of a role.
    Role,
    /// Of a workflow.
    Workflow,
}

impl Kind {
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Commit => "commit",
            Self::Gate => "gate",
            Self::Role => "role",
            Self::Workflow => "workflow",
        }
    }

    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::Agent => "unknown_agent",
            Self::Commit => "unknown_commit",
            Self::Gate => "unknown_gate",
            Self::Role => "unknown_role",
            Self::Workflow => "unknown_workflow",
        }
    }
}
