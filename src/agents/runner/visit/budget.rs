//! The budgets that a visit needs before each attempt.

use std::time::Duration;

use super::{VisitRun, VisitStop};
use crate::agents::runner::answer::{AnswerSource, RunAnswer};
use crate::agents::runner::attempt::Attempt;
use crate::agents::runner::usage_limit::day_pause;
use crate::agents::runner::work_finder::VisitEnd;
use crate::domain::{CompletionContent, Outcome};
use crate::tasks::headers::spending::TaskBudget;

impl VisitRun<'_> {
    /// Ends the visit if the budget of its task or of the day is spent. Looks, which nobody pays for, are free.
    pub(super) fn check_budgets(&self, attempt: &Attempt<'_>) -> Result<(), VisitStop> {
        if attempt.open.opening.looks_every.is_some() {
            return Ok(());
        }
        let (file, in_force) = (&attempt.open.file, &attempt.open.in_force);
        let budget = TaskBudget::read(&self.workspace(), &in_force.rules, file);
        if let Some(budget) = budget.filter(|all| all.budget.is_spent(&all.spent)) {
            let text = format!("the task's budget is used up: spent {}", budget.words());
            return Err(self.stop_task(text)?.into());
        }
        match day_pause(&self.workspace(), in_force) {
            Some(pause) => Err(VisitEnd::Paused(pause).into()),
            None => Ok(()),
        }
    }

    /// Blocks the task with the sums. Its budget counts again from the time when a person lets it go on.
    fn stop_task(&self, text: String) -> Result<VisitEnd, VisitStop> {
        let content = CompletionContent {
            summary: Some(text.clone()),
            blockers: Some(vec![text.clone()]),
            ..CompletionContent::default()
        };
        let outcome = Some(Outcome::Blocked);
        let answer = RunAnswer { source: AnswerSource::Budget, outcome, content };
        Ok(match self.complete(answer, &self.fresh_id()?, None, Duration::ZERO)? {
            Ok(_) => VisitEnd::OverBudget(text),
            Err(why) => VisitEnd::Unavailable(why),
        })
    }
}
