//! The claim of a visit that is run: taken where nobody has it, and given back where nothing came of it.

use std::thread;
use std::time::{Duration, Instant};

use super::news::News;
use super::project::Project;
use super::visit::{ANEW, Assignment, PAUSE, Run, VisitEnd};
use crate::dispatch::claimable_work::claim;
use crate::project::error::error::OpsError;
use crate::tasks::actions::release;
use crate::tasks::apply::change::DryRun;

/// How long giving back is tried.
const PATIENCE: Duration = Duration::from_secs(10);

impl Run<'_> {
    /// Takes the claim; returns how the visit ended where that cannot be.
    pub(crate) fn take(&self) -> Result<Option<VisitEnd>, OpsError> {
        loop {
            let claimed = claim(
                &self.workspace(),
                &self.assignment.ticket,
                &self.assignment.agent,
                DryRun::No,
            );
            match claimed {
                Ok(changed) => {
                    self.claimed.set(!changed.settled);
                    return Ok(None);
                }
                Err(OpsError::Refused(refusal)) => {
                    return Ok(Some(VisitEnd::Overtaken(OpsError::Refused(refusal).to_string())));
                }
                // A merge, or whoever has the lock, ends some time.
                Err(error) if error.passes() => {
                    if !self.sleep(ANEW) {
                        return Ok(Some(VisitEnd::Stopped));
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Gives back what was claimed. Where that cannot be done it is told: nobody else can work at it then.
pub(crate) fn give_back(project: &Project, assignment: &Assignment, news: &dyn Fn(News)) {
    let Assignment { ticket, agent, .. } = assignment;
    let begun = Instant::now();
    let fault = loop {
        match project
            .open()
            .and_then(|workspace| release(&workspace, ticket, Some(agent), DryRun::No))
        {
            // It went by itself meanwhile.
            Ok(_) | Err(OpsError::Refused(_)) => return,
            Err(error) if error.passes() && begun.elapsed() < PATIENCE => thread::sleep(PAUSE),
            Err(error) => break error,
        }
    };
    let text =
        format!("{}; `aof task release {ticket} --agent {agent}` gives it back", fault.problem());
    news(News::Remark { ticket: ticket.clone(), text });
}
