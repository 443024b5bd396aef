//! The project as the server finds it, opened anew for each call: rules, tasks and git's user may have changed since the last.

use super::serve::{Access, McpError, Setup};
use super::tool_error::Trouble;
use crate::domain::{AgentId, Org, Ticket};
use crate::project::active_rules::InForce;
use crate::project::author::acting_agent;
use crate::project::error::error::OpsError;
use crate::project::workspace::{Workspace, warn_in_log};
use crate::rules::Rules;

/// How the server was started.
pub(crate) struct Desk {
    pub(crate) setup: Setup,
}

/// The project during one call.
pub(crate) struct Project<'d> {
    desk: &'d Desk,
    pub(crate) workspace: Workspace,
    pub(crate) in_force: InForce,
}

impl Desk {
    pub(crate) fn new(setup: Setup) -> Self {
        Self { setup }
    }

    pub(crate) fn only_looks(&self) -> bool {
        self.setup.access == Access::ReadOnly
    }

    /// Opens the project for a call of that tool.
    pub(crate) fn open(&self, tool: &str) -> Result<Project<'_>, OpsError> {
        let workspace = self.workspace(tool)?;
        let in_force = workspace.rules()?;
        Ok(Project { desk: self, workspace, in_force })
    }

    pub(crate) fn workspace(&self, tool: &str) -> Result<Workspace, OpsError> {
        let Setup { directory, wait, clock, network, .. } = &self.setup;
        // Nobody reads what a short wait is for.
        let mut workspace =
            Workspace::open(directory, format!("aof mcp ({tool})"), *clock, *wait, warn_in_log)?;
        workspace.network = *network;
        Ok(workspace)
    }

    /// Refuses to act for a person: anybody may be behind the program that sends the calls.
    pub(crate) fn refuse_people(&self) -> Result<(), McpError> {
        if self.only_looks() {
            return Ok(());
        }
        let named = self.setup.agent.clone();
        // Whatever keeps the project from being opened is told by each call.
        let of_git = || self.open("start").ok().and_then(|project| project.viewer());
        match named.or_else(of_git).filter(AgentId::is_human) {
            Some(agent) => Err(McpError::Human { agent }),
            None => Ok(()),
        }
    }
}

impl Project<'_> {
    pub(crate) fn rules(&self) -> &Rules {
        &self.in_force.rules
    }

    fn org(&self) -> &Org {
        &self.in_force.rules.org
    }

    /// Returns the visit that the server was started for, and the run.
    pub(crate) fn run(&self) -> Option<&(Ticket, String)> {
        self.desk.setup.run.as_ref()
    }

    /// Returns who acts.
    pub(crate) fn agent(&self) -> Result<AgentId, Trouble> {
        Ok(acting_agent(&self.workspace, self.org(), self.named(), false)?)
    }

    /// Returns who looks: a person may.
    pub(crate) fn viewer(&self) -> Option<AgentId> {
        acting_agent(&self.workspace, self.org(), self.named(), true).ok()
    }

    fn named(&self) -> Option<&AgentId> {
        self.desk.setup.agent.as_ref()
    }
}
