//! The door for agents: a server of the Model Context Protocol on stdin and stdout. Translates calls of tools into operations
//! and answers in JSON; decides nothing, and prints nothing but the protocol. `rmcp` and its executor stay in here.
//!
//! Who acts is settled when the server is started, never by what a call says.

use super::server;
use super::session;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::domain::{AgentId, Ticket};
use crate::project::error::error::OpsError;
use crate::project::workspace::{Clock, Network};

/// How a server was started.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    /// A folder in the project.
    pub directory: PathBuf,
    /// The agent that was named; without one, that of git's user acts.
    pub agent: Option<AgentId>,
    /// The visit that it was started for, and the run; a runner names them.
    pub run: Option<(Ticket, String)>,
    /// What the tools may do.
    pub access: Access,
    /// Whether the remote of a synced project is asked before something is claimed.
    pub network: Network,
    /// How long one call waits for another command.
    pub wait: Duration,
    /// What tells the time.
    pub clock: Clock,
}

/// What the tools of a server may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everything that the agent may.
    Full,
    /// Look.
    ReadOnly,
}

/// Why a server did not start, or did not end well.
#[derive(Debug, thiserror::Error)]
pub(crate) enum McpError {
    /// A person acts at a terminal, and behind this door is a program.
    #[error("`{agent}` is a person's, and behind a server is a program")]
    Human {
        /// Who would have acted.
        agent: AgentId,
    },
    /// The system did not give what a server needs.
    #[error("the server cannot run")]
    System(#[from] io::Error),
    /// What is needed to start.
    #[error(transparent)]
    Ops(#[from] OpsError),
}

impl McpError {
    /// Returns what to do about it.
    pub(crate) fn fix(&self) -> Option<String> {
        match self {
            Self::Human { .. } => Some(
                "name the agent of the program with `--agent ID` or `AOF_AGENT`, or let it only look with `--read-only`; \
                 what a person has to say is said at a terminal, with `aof task complete`"
                    .to_owned(),
            ),
            Self::System(_) => None,
            Self::Ops(error) => error.fix(),
        }
    }

    /// Returns the code that stands for it in JSON.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Human { .. } => "human_identity",
            Self::System(_) => "files",
            Self::Ops(error) => error.code(),
        }
    }
}

/// Serves one client until it is gone, or until the process is asked to stop.
pub(crate) fn serve(setup: Setup) -> Result<(), McpError> {
    let desk = session::Desk::new(setup);
    desk.refuse_people()?;
    server::run(desk)
}
