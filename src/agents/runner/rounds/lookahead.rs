//! What the last look at all tasks showed that agents can do, so that a short visit does not cost another look. It is forgotten
//! when it is no longer known to be all, and in what order.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::dispatch::next::Besides;
use crate::domain::{AgentId, TaskId, Ticket};

/// How long it holds: others work at the same tasks.
const FRESH: Duration = Duration::from_secs(1);

/// What is ahead of each agent.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    agents: BTreeMap<AgentId, (Instant, Besides)>,
}

impl Ahead {
    /// Keeps what a look just showed.
    pub(crate) fn put(&mut self, agent: &AgentId, besides: Besides) {
        self.agents.insert(agent.clone(), (Instant::now(), besides));
    }

    /// Takes out what the agent is to do next, if that is known.
    pub(crate) fn next(&mut self, agent: &AgentId) -> Option<Ticket> {
        let (looked, besides) = self.agents.get_mut(agent)?;
        besides.tickets.pop_front().filter(|_| looked.elapsed() < FRESH)
    }

    /// Returns whether other tasks wait for this one.
    pub(crate) fn awaits(&self, id: &TaskId) -> bool {
        self.agents.values().any(|(_, besides)| besides.awaited.contains(id))
    }

    /// Forgets it all.
    pub(crate) fn forget(&mut self) {
        self.agents.clear();
    }
}
