//! The one way a task changes: (rules, task, act, now) -> decision or refusal.

use super::act::{Act, Decision};
use super::refusal::Refusal;
use super::signing::verify;
use super::transition::completion::{agrees, complete, pass};
use super::transition::content;
use super::transition::{actions, claims, dependencies, rule_changes, timeouts};
use super::workflow::rules::Rules;
use crate::domain::{Completion, Task, Timestamp};

/// Decides an act.
pub fn decide(rules: &Rules, task: &Task, act: &Act, now: Timestamp) -> Result<Decision, Refusal> {
    content::reason(act)?;
    let step = match act {
        Act::Complete(completion) => return completed(rules, task, completion, now, true),
        Act::Pass => pass(rules, task, now),
        Act::Move => return rule_changes::move_on(rules, task, now),
        Act::Reroute => return rule_changes::reroute(rules, task, now),
        Act::Open => actions::open(rules, task, now),
        Act::OpenFor { agent } => actions::open_for(rules, task, agent, now),
        Act::Claim { agent, branch } => {
            return claims::claim(rules, task, agent, branch.as_ref(), now);
        }
        Act::Assign { by, agent, branch } => {
            return claims::assign(rules, task, by, agent, branch.as_ref(), now);
        }
        Act::Renew { agent, branch, .. } => claims::renew(rules, task, agent, branch.as_ref(), now),
        Act::Lapse { branch } => timeouts::lapse(rules, task, branch.as_ref(), now),
        Act::Timeout { branch } => timeouts::time_out(rules, task, branch.as_ref(), now),
        Act::Hold { by, reason } => actions::hold(rules, task, by, reason, now),
        Act::Depend { lost } => return dependencies::depend(rules, task, lost, now),
        Act::Release { by, branch } => claims::release(rules, task, by, branch.as_ref(), now),
        Act::Unblock { by, branch, reason } => {
            actions::unblock(rules, task, by, branch.as_ref(), reason.as_deref(), now)
        }
        Act::Cancel { by, reason } => actions::cancel(rules, task, by, reason, now),
        Act::Reopen { by, to, reason } => actions::reopen(rules, task, by, to, reason, now),
        Act::Override { by, to, reason } => actions::override_to(rules, task, by, to, reason, now),
    };
    step.map(Decision::from)
}

/// Decides a completion that nobody has signed yet, as if it were signed. A signature that is there is checked.
pub fn rehearse(
    rules: &Rules,
    task: &Task,
    completion: &Completion,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    completed(rules, task, completion, now, completion.signature.is_some())
}

fn completed(
    rules: &Rules,
    task: &Task,
    completion: &Completion,
    now: Timestamp,
    check_signature: bool,
) -> Result<Decision, Refusal> {
    let decision = complete(rules, task, completion, completion.stamp(), now)?;
    if let Decision::Step(step) = &decision {
        agrees(rules, task, completion)?;
        if check_signature {
            verify::check(rules, &step.task, task.history.len())?;
        }
    }
    Ok(decision)
}
