//! The one way a task changes: (rules, task, act, now) -> decision or refusal.

use super::completion::{agrees, check_reason, complete, pass};
use super::rule_changes::depend;
use super::visit::Transition;
use crate::domain::{Completion, Task, Timestamp};
use crate::rules::act::{Act, Decision};
use crate::rules::refusal::Refusal;
use crate::rules::signing;
use crate::rules::workflow::rules::Rules;

/// Decides an act.
pub fn decide(rules: &Rules, task: &Task, act: &Act, now: Timestamp) -> Result<Decision, Refusal> {
    check_reason(act)?;
    let transition = Transition { rules, task, now };
    let step = match act {
        Act::Complete(completion) => return completed(transition, completion, true),
        Act::Move => return transition.move_on(),
        Act::Reroute => return transition.reroute(),
        Act::Claim { agent, branch } => return transition.claim(agent, branch.as_ref()),
        Act::Assign { by, agent, branch } => {
            return transition.assign(by, agent, branch.as_ref());
        }
        Act::Depend { lost } => return depend(&transition, lost),
        Act::Pass => pass(&transition),
        Act::Open => transition.enter(),
        Act::OpenFor { agent } => transition.enter_for(agent),
        Act::Renew { agent, branch, .. } => transition.renew(agent, branch.as_ref()),
        Act::Lapse { branch } => transition.lapse(branch.as_ref()),
        Act::Timeout { branch } => transition.time_out(branch.as_ref()),
        Act::Hold { by, reason } => transition.hold(by, reason),
        Act::Release { by, branch } => transition.release(by, branch.as_ref()),
        Act::Unblock { by, branch, reason } => {
            transition.unblock(by, branch.as_ref(), reason.as_deref())
        }
        Act::Cancel { by, reason } => transition.cancel(by, reason),
        Act::Reopen { by, to, reason } => transition.reopen(by, to, reason),
        Act::Override { by, to, reason } => transition.override_to(by, to, reason),
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
    completed(Transition { rules, task, now }, completion, completion.signature.is_some())
}

fn completed(
    transition: Transition<'_>,
    completion: &Completion,
    check_signature: bool,
) -> Result<Decision, Refusal> {
    let Transition { rules, task, .. } = transition;
    let decision = complete(&transition, completion, completion.stamp())?;
    if let Decision::Step(step) = &decision {
        agrees(rules, task, completion)?;
        if check_signature {
            signing::check(rules, &step.task, task.history.len())?;
        }
    }
    Ok(decision)
}
