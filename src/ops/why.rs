//! Why a task stands where it stands, who can move it, and what each outcome would do.

use serde_json::{Value, json};

use std::rc::Rc;

use super::dependencies::{circle_around, round};
use super::error::{OpsError, thaw};
use super::following::following;
use super::header::NEW;
use super::in_force::{InForce, in_force_and_seen};
use super::standing::{Pending, Standing, find, parse};
use super::terms::{stepped_in, terms};
use super::view::{is_drifted, taken_up, who};
use super::workspace::Workspace;
use crate::engine::{Act, Decision, LOOP_LIMIT, Passage, Post, Rules, decide, owed, preview, unanswered, would_say};
use crate::format::task_file::{Origin, TaskFile};
use crate::model::{
    AgentId, BranchStatus, Destination, Ending, GateId, Join, OpenBranch, Outcome, RoleId, Status, Task, TaskId,
    Timestamp, Verdict,
};

/// The answer to "why is it there".
pub struct Reason {
    /// The task.
    pub file: TaskFile,
    /// What brought it there, and what it waits for: sentences.
    pub because: Vec<String>,
    /// Who can complete the open visit.
    pub who: Vec<AgentId>,
    /// What each outcome would do.
    pub consequences: Vec<Consequence>,
}

/// What an outcome would do.
#[derive(Debug, Clone, PartialEq)]
pub struct Consequence {
    /// The branch at which it would be said.
    pub branch: Option<GateId>,
    /// The outcome.
    pub outcome: Outcome,
    /// What it would do.
    pub effect: Effect,
}

/// What an outcome does to a task.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// The task goes somewhere.
    Leads {
        /// The way.
        passage: Passage,
        /// How often the gate may send back.
        limit: u32,
        /// Whether it leads to a gate whose wishes nobody has answered yet.
        answers: bool,
    },
    /// The task stays at its gate, and a person decides.
    Holds,
    /// The branch has spoken, or waits; others are still open.
    Speaks(Verdict),
}

/// Returns why the task stands where it stands.
pub fn why(workspace: &Workspace, id: &TaskId) -> Result<(Reason, Rc<InForce>), OpsError> {
    let head = workspace.repository.look()?;
    let in_force = Rc::new(in_force_and_seen(workspace, &head)?);
    let standing = Standing::read_under(workspace, id, head, in_force)?;
    let rules = &standing.in_force.rules;
    let task = &standing.file.task;
    let posts = Post::open(rules, task);
    let consequences = posts.iter().flat_map(|post| {
        let consequence = |outcome: Outcome| {
            let effect = effect(rules, task, post, &outcome)?;
            Some(Consequence { branch: post.branch().cloned(), outcome, effect })
        };
        post.outcomes(rules).into_iter().filter_map(consequence)
    });
    let consequences: Vec<Consequence> = consequences.collect();
    let mut because = because(rules, task);
    because.extend(terms(rules, task));
    if standing.file.origin == Origin::HandMade {
        because.push(beginning(workspace, &standing));
    } else if let Some(act) = owed(rules, task) {
        if act == Act::Pass {
            because.retain(|sentence| sentence != UNCLAIMED);
        }
        because.extend(what_follows(rules, task, &act, workspace.now()));
    } else if task.gate.is_some() && rules.workflow_of(task).is_none() {
        because.push(format!(
            "workflow `{}` is not in the rules any more: nobody can move it before a commit brings that back; `aof task cancel {id} \
             --reason \"...\"` calls it off",
            task.routing.workflow
        ));
    }
    because.extend(drifted(rules, task));
    if let Some(reason) = workspace.underway() {
        because.push(format!("nothing moves it now: {}", workspace.git_words.said(reason)));
    } else if let Pending::Foreign(fields) = &standing.pending {
        because.push(format!(
            "nothing moves it: its file was changed by hand in what the engine keeps ({}); {}",
            fields.join(", "),
            workspace.git_words.said(thaw(fields, &standing.snapshot.path, standing.head_path.as_ref()))
        ));
    }
    if !task.status.is_finished() {
        let circle = task.depends_on.first().and_then(|_| circle_around(workspace, &standing.in_force, id));
        because.extend(circle.map(|circle| {
            format!(
                "these wait for each other, so none of them is handed out: {}; edit `dependsOn` of one",
                round(&circle)
            )
        }));
        because.extend(task.depends_on.iter().filter_map(|other| waits_for(workspace, &standing.in_force, other)));
    }
    let who = who(rules, &standing.file);
    let reason = Reason { because, who, consequences, file: standing.file };
    Ok((reason, standing.in_force))
}

fn effect(rules: &Rules, task: &Task, post: &Post<'_>, outcome: &Outcome) -> Option<Effect> {
    let said = match post.branch() {
        None => outcome.clone(),
        Some(branch) => match would_say(rules, task, branch, outcome)? {
            (_, Some(said)) => said,
            (verdict, None) => return Some(Effect::Speaks(verdict)),
        },
    };
    let passage = preview(rules, task, &said)?;
    let here = post.station().gate;
    if passage.to == Destination::Gate(here.clone()) && passage.retry.is_none() {
        return Some(Effect::Holds);
    }
    let limit = post.fork.unwrap_or(post.gate).exits.retries().unwrap_or(LOOP_LIMIT);
    let waits = |gate: &GateId| *gate != here && passage.to == Destination::Gate(gate.clone());
    let answers = unanswered(&task.history).iter().any(|visit| waits(&visit.gate));
    Some(Effect::Leads { passage, limit, answers })
}

/// Returns the answer as `--json` shows it.
pub fn reason_value(reason: &Reason) -> Value {
    let task = &reason.file.task;
    let outcomes: Vec<Value> = reason
        .consequences
        .iter()
        .map(|consequence| {
            let here = task.gate.as_ref().map(|open| open.current.to_string());
            let mut value = match &consequence.effect {
                Effect::Leads { passage, limit, .. } => way_value(passage, *limit),
                Effect::Holds | Effect::Speaks(_) => json!({"to": here, "stays": true, "skipped": []}),
            };
            value["outcome"] = json!(consequence.outcome.as_str());
            if let Some(branch) = &consequence.branch {
                value["branch"] = json!(branch.as_str());
            }
            value
        })
        .collect();
    json!({
        "task": task.id.as_str(),
        "ticket": task.ticket().to_string(),
        "status": match reason.file.origin {
            Origin::HandMade => NEW,
            Origin::Adopted => task.status.as_str(),
        },
        "gate": task.gate.as_ref().map(|open| open.current.as_str()),
        "because": reason.because,
        "who": reason.who.iter().map(AgentId::as_str).collect::<Vec<_>>(),
        "outcomes": outcomes,
    })
}

fn way_value(passage: &Passage, limit: u32) -> Value {
    let names = |gates: &[GateId]| gates.iter().map(ToString::to_string).collect::<Vec<_>>();
    json!({
        "to": passage.to.to_string(),
        "stays": false,
        "skipped": names(&passage.skipped),
        "cleared": names(&passage.cleared),
        "retry": passage.retry,
        "maxRetries": limit,
        "exhausted": passage.exhausted.as_ref().map(|way| json!({"to": way.to.as_str(), "retry": way.count})),
        "escalatedTo": passage.escalated_to.as_ref().map(RoleId::as_str),
    })
}

/// Says what the rules, which have changed, want done with the task, and who does it.
fn what_follows(rules: &Rules, task: &Task, act: &Act, now: Timestamp) -> Option<String> {
    let does = "`aof watch`, `aof org reload`, or the next command that changes the task,";
    let open = task.gate.as_ref()?;
    let Ok(Decision::Step(step)) = decide(rules, task, act, now) else { return None };
    Some(match (act, step.task.history.last(), &step.task.gate) {
        (Act::Pass, ..) => format!("gate `{}` decides by itself: {does} moves it on", open.current),
        (Act::Move, Some(visit), Some(next)) if next.current == open.current => {
            format!("{}: {does} has it begin there anew", visit.summary)
        }
        (Act::Move, Some(visit), Some(next)) => {
            format!("{}: {does} moves it to gate `{}`", visit.summary, next.current)
        }
        _ => {
            let following = following(task, &step.task);
            format!("the rules have changed: {does} follows them ({})", following.what)
        }
    })
}

/// Says that other rules moved the task last than are in force.
fn drifted(rules: &Rules, task: &Task) -> Option<String> {
    let (ours, now) = (task.workflow_hash.as_deref()?, rules.hash(&task.routing.workflow)?);
    is_drifted(rules, task)
        .then(|| format!("it came there under earlier rules ({ours}); it goes on under those in force ({now})"))
}

/// Says where a hand-made task would begin, or why it cannot.
fn beginning(workspace: &Workspace, standing: &Standing) -> String {
    match taken_up(workspace, &standing.in_force, &standing.file.task) {
        Ok(task) => match &task.gate {
            Some(open) => format!("`aof watch` takes it up, at gate `{}`", open.current),
            None => "`aof watch` takes it up".to_owned(),
        },
        Err(refusal) => format!("it cannot be taken up: {}", refusal.problem()),
    }
}

/// Says what an unfinished task that this one depends on does; nothing where it is complete.
fn waits_for(workspace: &Workspace, in_force: &InForce, other: &TaskId) -> Option<String> {
    let file = find(workspace, other)
        .and_then(|(snapshot, _)| parse(in_force, other, &snapshot.path, &snapshot.bytes, workspace.now()));
    let task = match file {
        Ok(file) => file.task,
        Err(error) => return Some(format!("it is not handed out before `{other}` is complete, and {error}")),
    };
    let what = match (task.status, &task.gate) {
        (Status::Complete, _) => return None,
        (Status::Failed | Status::Cancelled, _) => {
            format!("was {}: take it up again, or edit `dependsOn`", task.status)
        }
        (status, Some(open)) => format!("is {status} at gate `{}`", open.current),
        (_, None) => "stands at no gate yet".to_owned(),
    };
    Some(format!("it is not handed out before `{other}` is complete, which {what}"))
}

const UNCLAIMED: &str = "nobody has claimed it";

fn because(rules: &Rules, task: &Task) -> Vec<String> {
    let mut list = vec![stepped_in(task).unwrap_or_else(|| arrival(task))];
    match task.status {
        Status::Blocked => list.extend(task.blockers.iter().map(|blocker| format!("it is blocked: {blocker}"))),
        Status::Ready | Status::InProgress if task.gate.as_ref().is_some_and(|open| !open.branches.is_empty()) => {
            let branches = task.gate.iter().flat_map(|open| &open.branches);
            list.extend(branches.map(|branch| branch_stands(rules, task, branch)));
        }
        Status::InProgress => {
            list.extend(task.routing.agent.as_ref().map(|agent| format!("`{agent}` has claimed it")));
        }
        Status::Ready if task.gate.is_some() => list.push(UNCLAIMED.to_owned()),
        Status::Ready | Status::Complete | Status::Failed | Status::Cancelled => {}
    }
    if let Some(review) = &task.review {
        let who = review.from_agent.as_ref().map_or_else(|| "a reviewer".to_owned(), |agent| format!("`{agent}`"));
        let count = review.blockers.len();
        let things = if count == 1 { "one thing".to_owned() } else { format!("{count} things") };
        list.push(format!("{who} at gate `{}` wants {things} settled", review.from_gate));
    }
    list
}

fn branch_stands(rules: &Rules, task: &Task, branch: &OpenBranch) -> String {
    let id = &branch.id;
    if branch.status.is_open() && Post::of_branch(rules, task, id).is_none() {
        return format!("branch `{id}` is not in the rules any more, and nothing waits for it");
    }
    match (branch.status, &branch.agent) {
        (BranchStatus::Ready, _) => format!("branch `{id}` waits for role {}", branch.role),
        (BranchStatus::InProgress, Some(agent)) => format!("`{agent}` has claimed branch `{id}`"),
        (BranchStatus::InProgress, None) => format!("somebody works at branch `{id}`"),
        (BranchStatus::Blocked, _) => format!("branch `{id}` is blocked: {}", branch.blockers.join("; ")),
        (BranchStatus::Complete, _) => format!("branch `{id}` has passed it"),
        (BranchStatus::Rejected, _) => format!("branch `{id}` has rejected it"),
        (BranchStatus::Skipped, _) => format!("branch `{id}` does not apply"),
    }
}

fn arrival(task: &Task) -> String {
    // What branches say does not bring a task anywhere.
    let Some(last) = task.history.iter().rev().find(|visit| !visit.leaves_open()) else {
        return match &task.gate {
            Some(open) => format!("it was created at {} and began at gate `{}`", task.created, open.current),
            None => "nobody has taken it up yet: it has no gate".to_owned(),
        };
    };
    let at = last.exited;
    if let (Ending::Said(outcome), None, Some(to)) = (&last.outcome, &last.agent, &last.to) {
        return format!("gate `{}` came to `{outcome}` by itself at {at}, which led to `{to}`", last.gate);
    }
    let who = last.agent.as_ref().map_or_else(|| "somebody".to_owned(), |agent| format!("`{agent}`"));
    let from = last.station();
    match (&last.outcome, &last.to) {
        (Ending::Said(_), Some(to)) if last.join.is_some() => {
            let join = if last.join == Some(Join::Passed) { "passed" } else { "rejected" };
            format!(
                "the branches of gate `{}` {join} it at {at}, the last was `{from}`, which led to `{to}`",
                last.gate
            )
        }
        (Ending::Said(Outcome::NeedsReview), Some(Destination::Gate(to))) if *to == last.gate => {
            format!("{who} said at {at} that it needs mending, at gate `{to}`")
        }
        (Ending::Said(Outcome::NeedsReview), Some(to)) => {
            format!("{who} sent it back from gate `{}` to `{to}` at {at}", last.gate)
        }
        (Ending::Said(Outcome::Blocked), _) => {
            format!("{who} said at {at} that it cannot go on at gate `{}`", last.gate)
        }
        (Ending::Said(outcome), Some(Destination::End)) => {
            format!("{who} ended its last gate `{}` with `{outcome}` at {at}", last.gate)
        }
        (Ending::Said(outcome), Some(to)) => {
            format!("{who} ended gate `{}` with `{outcome}` at {at}, which led to `{to}`", last.gate)
        }
        (Ending::Override, Some(to)) => format!("{who} moved it to `{to}` at {at}: {}", last.summary),
        (Ending::Reopened, Some(to)) => format!("{who} took it up again at `{to}` at {at}: {}", last.summary),
        (Ending::Moved, Some(to)) if *to == Destination::Gate(last.gate.clone()) => {
            format!("the rules changed, and it began anew at `{to}` at {at}: {}", last.summary)
        }
        (Ending::Moved, Some(to)) => {
            format!("the rules changed, and it was moved from `{}` to `{to}` at {at}: {}", last.gate, last.summary)
        }
        (Ending::Cancelled, _) => format!("{who} called it off at {at}: {}", last.summary),
        (outcome, _) => format!("{who} ended gate `{}` with `{outcome}` at {at}", last.gate),
    }
}
