//! Why a task stands where it stands, who can move it, and what each outcome would do.

use std::rc::Rc;

use serde_json::{Value, json};

use crate::domain::{AgentId, Destination, GateId, Outcome, RoleId, Task, TaskId, Verdict};
use crate::files::task_file::{Origin, TaskFile};
use crate::project::active_rules::{InForce, in_force_and_seen};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{
    Act, LOOP_LIMIT, Passage, Rules, Workplace, owed, preview, unanswered, would_say,
};
use crate::tasks::headers::dependencies::{circle_around, round};
use crate::tasks::headers::summary::NEW;
use crate::tasks::state::task_state::TaskState;
use crate::tasks::view::deadlines::terms;
use crate::tasks::view::reasons::{
    UNCLAIMED, because, beginning, drifted, waits_for, what_follows,
};
use crate::tasks::view::task_view::who;

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
