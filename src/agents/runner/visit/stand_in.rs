//! Another agent of the role, which tries a visit after the attempts of the first one have failed.

use super::{VisitRun, VisitStop};
use crate::agents::runner::attempt::Attempt;
use crate::agents::runner::usage_limit::find_pause;
use crate::domain::{AgentId, Outcome};
use crate::rules::Workplace;
use crate::tasks::view::task_view::eligible_agents_at;

impl VisitRun<'_> {
    /// Returns an agent that can be started here, and that has not failed at the visit; `None` at gates with a route for failures.
    pub(super) fn stand_in(&self, attempt: &Attempt<'_>) -> Result<Option<AgentId>, VisitStop> {
        let (open, rules) = (attempt.open, &attempt.open.in_force.rules);
        if attempt.workplace.outcomes(rules).contains(&Outcome::Failed) {
            return Ok(None);
        }
        let failures = self.failures()?;
        let has_failed = |agent: &AgentId| failures.iter().any(|record| record.agent == *agent);
        let now = (self.project.clock)();
        let can_start = |agent: &AgentId| {
            let launch = rules.org.agent(agent).and_then(|known| known.run.as_ref());
            launch.is_some_and(|launch| find_pause(&self.workspace().paths, launch, now).is_none())
        };
        let place = Workplace { holder: None, ..attempt.workplace };
        let mut others = eligible_agents_at(rules, &open.file.task, &place).into_iter();
        Ok(others.find(|agent| {
            self.assignment.stand_ins.contains(agent) && !has_failed(agent) && can_start(agent)
        }))
    }
}
