//! Explains why a task stands where it stands, who can move it, and what each outcome would do.

use std::rc::Rc;

use serde_json::{Value, json};

use crate::domain::{
    AgentId, BranchStatus, Destination, Ending, GateId, Join, OpenBranch, Outcome, RoleId, Status,
    Task, TaskId, Timestamp, Verdict,
};
use crate::files::task_file::{Origin, TaskFile};
use crate::project::active_rules::{InForce, in_force_and_seen};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{
    Act, Deadline, Decision, LOOP_LIMIT, Limit, Passage, Rules, Warning, WorkflowStep, Workplace,
    deadlines, decide, owed, preview, unanswered, would_say,
};
use crate::tasks::headers::dependencies::{circle_around, round};
use crate::tasks::headers::summary::NEW;
use crate::tasks::plan::begun;
use crate::tasks::state::commit_message::rule_effect;
use crate::tasks::state::task_state::{TaskState, find, parse};
use crate::tasks::view::task_view::{is_drifted, who};

/// The answer to "why is it there".
pub(crate) struct TaskExplanation {
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
pub(crate) struct Consequence {
    /// The branch at which it would be said.
    pub branch: Option<GateId>,
    /// The outcome.
    pub outcome: Outcome,
    /// What it would do.
    pub effect: OutcomeEffect,
}

/// What an outcome does to a task.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OutcomeEffect {
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
pub(crate) fn why(
    workspace: &Workspace,
    id: &TaskId,
) -> Result<(TaskExplanation, Rc<InForce>), ProjectError> {
    let head = workspace.repository.look()?;
    let in_force = Rc::new(in_force_and_seen(workspace, &head)?);
    let state = TaskState::read_under(workspace, id, head, in_force)?;
    let rules = &state.in_force.rules;
    let task = &state.file.task;
    let posts = Workplace::open(rules, task);
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
    if state.file.origin == Origin::HandMade {
        because.push(beginning(workspace, &state));
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
    } else if let Some(frozen) = state.frozen() {
        let problem = frozen.of("its file");
        because
            .push(format!("nothing moves it: {problem}; {}", workspace.git_words.said(frozen.fix)));
    }
    if !task.status.is_finished() {
        let circle =
            task.depends_on.first().and_then(|_| circle_around(workspace, &state.in_force, id));
        because.extend(circle.map(|circle| {
            format!(
                "these wait for each other, so none of them is handed out: {}; edit `dependsOn` of one",
                round(&circle)
            )
        }));
        because.extend(
            task.depends_on.iter().filter_map(|other| waits_for(workspace, &state.in_force, other)),
        );
    }
    let who = who(rules, &state.file);
    let reason = TaskExplanation { because, who, consequences, file: state.file };
    Ok((reason, state.in_force))
}

fn effect(
    rules: &Rules,
    task: &Task,
    post: &Workplace<'_>,
    outcome: &Outcome,
) -> Option<OutcomeEffect> {
    let said = match post.branch() {
        None => outcome.clone(),
        Some(branch) => match would_say(rules, task, branch, outcome)? {
            (_, Some(said)) => said,
            (verdict, None) => return Some(OutcomeEffect::Speaks(verdict)),
        },
    };
    let passage = preview(rules, task, &said)?;
    let here = post.station().gate;
    if passage.to == Destination::Gate(here.clone()) && passage.retry.is_none() {
        return Some(OutcomeEffect::Holds);
    }
    let limit = post.fork.unwrap_or(post.gate).exits.retries().unwrap_or(LOOP_LIMIT);
    let waits = |gate: &GateId| *gate != here && passage.to == Destination::Gate(gate.clone());
    let answers = unanswered(&task.history).iter().any(|visit| waits(&visit.gate));
    Some(OutcomeEffect::Leads { passage, limit, answers })
}

/// Returns the answer as `--json` shows it.
pub(crate) fn reason_value(reason: &TaskExplanation) -> Value {
    let task = &reason.file.task;
    let outcomes: Vec<Value> = reason
        .consequences
        .iter()
        .map(|consequence| {
            let here = task.gate.as_ref().map(|open| open.current.to_string());
            let mut value = match &consequence.effect {
                OutcomeEffect::Leads { passage, limit, .. } => way_value(passage, *limit),
                OutcomeEffect::Holds | OutcomeEffect::Speaks(_) => {
                    json!({"to": here, "stays": true, "skipped": []})
                }
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
pub(crate) fn what_follows(
    rules: &Rules,
    task: &Task,
    act: &Act,
    now: Timestamp,
) -> Option<String> {
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
            let following = rule_effect(task, &step.task);
            format!("the rules have changed: {does} follows them ({})", following.what)
        }
    })
}

/// Says that other rules moved the task last than are in force.
pub(crate) fn drifted(rules: &Rules, task: &Task) -> Option<String> {
    let (ours, now) = (task.workflow_hash.as_deref()?, rules.hash(&task.routing.workflow)?);
    is_drifted(rules, task).then(|| {
        format!(
            "it came there under earlier rules ({ours}); it goes on under those in force ({now})"
        )
    })
}

/// Says where a hand-made task would begin, or why it cannot.
pub(crate) fn beginning(workspace: &Workspace, state: &TaskState) -> String {
    match begun(&state.in_force.rules, &state.file, workspace.now()) {
        Ok(WorkflowStep { task, warnings, .. }) => {
            let at = task
                .gate
                .as_ref()
                .map(|open| format!(", at gate `{}`", open.current))
                .unwrap_or_default();
            let given = task
                .routing
                .agent
                .map(|agent| format!(", and gives it to `{agent}`"))
                .unwrap_or_default();
            let mut text = format!("`aof watch` takes it up{at}{given}");
            for without in
                warnings.iter().filter(|warning| matches!(warning, Warning::NotGiven { .. }))
            {
                text.push_str(&format!("; {}", without.message()));
            }
            text
        }
        Err(refusal) => format!("it cannot be taken up: {}", refusal.problem()),
    }
}

/// Says what an unfinished task that this one depends on does; nothing where it is complete.
pub(crate) fn waits_for(
    workspace: &Workspace,
    in_force: &InForce,
    other: &TaskId,
) -> Option<String> {
    let file = find(workspace, other).and_then(|(snapshot, _)| {
        parse(in_force, other, &snapshot.path, &snapshot.bytes, workspace.now())
    });
    let task = match file {
        Ok(file) => file.task,
        Err(error) => {
            return Some(format!("it is not handed out before `{other}` is complete, and {error}"));
        }
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

/// Said of a task that waits for somebody to take it.
pub(crate) const UNCLAIMED: &str = "nobody has claimed it";

/// Says what brought a task where it stands, and what it waits for there.
pub(crate) fn because(rules: &Rules, task: &Task) -> Vec<String> {
    let mut list = vec![stepped_in(task).unwrap_or_else(|| arrival(task))];
    match task.status {
        Status::Blocked => {
            list.extend(task.blockers.iter().map(|blocker| format!("it is blocked: {blocker}")));
        }
        Status::Ready | Status::InProgress
            if task.gate.as_ref().is_some_and(|open| !open.branches.is_empty()) =>
        {
            let branches = task.gate.iter().flat_map(|open| &open.branches);
            list.extend(branches.map(|branch| branch_stands(rules, task, branch)));
        }
        Status::InProgress => {
            list.extend(
                task.routing.agent.as_ref().map(|agent| format!("`{agent}` has claimed it")),
            );
        }
        Status::Ready if task.gate.is_some() => list.push(UNCLAIMED.to_owned()),
        Status::Ready | Status::Complete | Status::Failed | Status::Cancelled => {}
    }
    if let Some(review) = &task.review {
        let who = review
            .from_agent
            .as_ref()
            .map_or_else(|| "a reviewer".to_owned(), |agent| format!("`{agent}`"));
        let count = review.blockers.len();
        let things = if count == 1 { "one thing".to_owned() } else { format!("{count} things") };
        list.push(format!("{who} at gate `{}` wants {things} settled", review.from_gate));
    }
    list
}

fn branch_stands(rules: &Rules, task: &Task, branch: &OpenBranch) -> String {
    let id = &branch.id;
    if branch.status.is_open() && Workplace::of_branch(rules, task, id).is_none() {
        return format!("branch `{id}` is not in the rules any more, and nothing waits for it");
    }
    match (branch.status, &branch.agent) {
        (BranchStatus::Ready, _) => format!("branch `{id}` waits for role {}", branch.role),
        (BranchStatus::InProgress, Some(agent)) => format!("`{agent}` has claimed branch `{id}`"),
        (BranchStatus::InProgress, None) => format!("somebody works at branch `{id}`"),
        (BranchStatus::Blocked, _) => {
            format!("branch `{id}` is blocked: {}", branch.blockers.join("; "))
        }
        (BranchStatus::Complete, _) => format!("branch `{id}` has passed it"),
        (BranchStatus::Rejected, _) => format!("branch `{id}` has rejected it"),
        (BranchStatus::Skipped, _) => format!("branch `{id}` does not apply"),
    }
}

fn arrival(task: &Task) -> String {
    // What branches say does not bring a task anywhere.
    let Some(last) = task.history.iter().rev().find(|visit| !visit.leaves_open()) else {
        return match &task.gate {
            Some(open) => {
                format!("it was created at {} and began at gate `{}`", task.created, open.current)
            }
            None => "nobody has taken it up yet: it has no gate".to_owned(),
        };
    };
    let at = last.exited;
    if let (Ending::Said(outcome), None, Some(to)) = (&last.outcome, &last.agent, &last.to) {
        return format!(
            "gate `{}` came to `{outcome}` by itself at {at}, which led to `{to}`",
            last.gate
        );
    }
    let who =
        last.agent.as_ref().map_or_else(|| "somebody".to_owned(), |agent| format!("`{agent}`"));
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
            format!(
                "{who} ended gate `{}` with `{outcome}` at {at}, which led to `{to}`",
                last.gate
            )
        }
        (Ending::Override, Some(to)) => {
            format!("{who} moved it to `{to}` at {at}: {}", last.summary)
        }
        (Ending::Reopened, Some(to)) => {
            format!("{who} took it up again at `{to}` at {at}: {}", last.summary)
        }
        (Ending::Moved, Some(to)) if *to == Destination::Gate(last.gate.clone()) => {
            format!("the rules changed, and it began anew at `{to}` at {at}: {}", last.summary)
        }
        (Ending::Moved, Some(to)) => {
            format!(
                "the rules changed, and it was moved from `{}` to `{to}` at {at}: {}",
                last.gate, last.summary
            )
        }
        (Ending::Cancelled, _) => format!("{who} called it off at {at}: {}", last.summary),
        (outcome, _) => format!("{who} ended gate `{}` with `{outcome}` at {at}", last.gate),
    }
}

/// Returns what runs, what has run out, and what stands still.
pub(crate) fn terms(rules: &Rules, task: &Task) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    if let Some(open) = &task.gate {
        told.extend(open.held.map(|since| {
            format!(
                "a person holds it since {since}: nothing is completed until it is set going again"
            )
        }));
        told.extend(
            open.overdue
                .map(|since| format!("it took too long at {since}, and nobody steps in for that")),
        );
        told.extend(open.branches.iter().filter_map(overdue));
    }
    told.extend(deadlines(rules, task).iter().map(|deadline| sentence(rules, task, deadline)));
    told
}

fn overdue(own: &OpenBranch) -> Option<String> {
    own.overdue.map(|since| {
        format!("branch `{}` took too long at {since}, and nobody steps in for that", own.id)
    })
}

fn sentence(rules: &Rules, task: &Task, deadline: &Deadline) -> String {
    let at = deadline.at;
    let what = deadline
        .branch
        .as_ref()
        .map_or_else(|| "it".to_owned(), |branch| format!("branch `{branch}`"));
    let post = Workplace::meant(rules, task, deadline.branch.as_ref());
    match deadline.limit {
        Limit::Lease => {
            let agent =
                post.and_then(|post| post.holder).map(ToString::to_string).unwrap_or_default();
            format!(
                "the claim of `{agent}` ends at {at} unless it is renewed: `aof task renew {}`",
                task.id
            )
        }
        Limit::Timeout => match post.and_then(|post| post.duty.escalate_to.as_ref()) {
            Some(role) => format!("{what} has time until {at}; then role `{role}` steps in"),
            None => format!("{what} has time until {at}; then it is marked overdue"),
        },
    }
}

/// Returns how a visit that took too long brought the task where it is.
pub(crate) fn stepped_in(task: &Task) -> Option<String> {
    let last = task.history.last().filter(|visit| visit.outcome == Ending::Timeout)?;
    let had =
        last.agent.as_ref().map(|agent| format!(", which `{agent}` had,")).unwrap_or_default();
    let role = last
        .escalated_to
        .as_ref()
        .map(|role| format!("; role `{role}` stepped in"))
        .unwrap_or_default();
    Some(format!(
        "its visit of gate `{}`{had} took too long at {}{role}",
        last.station(),
        last.exited
    ))
}
