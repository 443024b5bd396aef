//! Hands out work: claims waiting tasks for agents, and blocks or unblocks tasks whose dependencies have ended. The rules decide
//! which agent gets which work; this module carries that out, in batches.
//!
//! A decision holds for the commit that it was made on. If the branch has moved when the lock is taken, nothing of the batch is
//! written, and all is decided again. So two processes never give one task to two agents, and no agent gets more than its limit.
//!
//! In a synced project `synced_assignment` makes the claims, since they count once the remote has them.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::claim::{is_shared, is_task_error};
use super::workplaces::{agent_loads, waiting};
use crate::domain::{AgentId, HandOut, LostDependency, TaskId, Ticket};
use crate::git::{CommitId, GitError, Head};
use crate::project::active_rules::{InForce, in_force};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::project::workspace::agent_author;
use crate::rules::{Act, Rules, UnclaimedWork, dispatch};
use crate::tasks::actions::decide_act;
use crate::tasks::apply::{BATCH_SIZE, carry_out_together};
use crate::tasks::headers::dependencies::Dependencies;
use crate::tasks::headers::list::is_ready;
use crate::tasks::headers::listing::{ListScope, read_all};
use crate::tasks::other_worktrees::{ensure_free_elsewhere, lock_claims};
use crate::tasks::plan::{Changed, Choice, DryRun, first_due_step};
use crate::tasks::recovery::recover::recover_if_pending;
use crate::tasks::state::commit_message;
use crate::tasks::state::task_state::TaskState;

/// The most times that everything is decided again because another process committed first.
const ATTEMPTS: usize = 100;

/// The assignments, and the tasks that were blocked or unblocked by their dependencies.
#[derive(Default)]
pub(crate) struct HandOutResult {
    /// The assignments, most urgent first.
    pub given: Vec<WorkAssignment>,
    pub dependents: Vec<DependencyChange>,
    /// True if any role has its work handed out; otherwise agents ask for it.
    pub hands_out: bool,
    /// The number of openings that are left because no agent has room for them, or may work there.
    pub left: usize,
    /// True if work is left that `sync_and_hand_out` must hand out.
    pub to_share: bool,
    /// The reason why the remote confirmed no more assignments.
    pub unconfirmed: Option<ProjectError>,
    /// Tasks that need a person, with the reason.
    pub failures: Vec<(TaskId, ProjectError)>,
}

/// Work that was given to an agent.
pub(crate) struct WorkAssignment {
    pub ticket: Ticket,
    /// The agent that got it.
    pub agent: AgentId,
    /// The claim; `None` in a dry run.
    pub changed: Option<Box<Changed>>,
}

/// A task that was blocked or unblocked by its dependencies.
pub(crate) struct DependencyChange {
    pub task: TaskId,
    /// The ended dependencies that block it; empty if it is unblocked.
    pub lost: Vec<LostDependency>,
    /// The change; `None` in a dry run.
    pub changed: Option<Box<Changed>>,
}

/// The commit at which nothing was left to hand out. The watcher resets it regularly, since uncommitted changes may bring new work.
#[derive(Debug, Default)]
pub(crate) struct NothingToHandOut(Option<CommitId>);

/// Returns whether the rules require any work to be handed out.
pub(crate) fn hands_out(rules: &Rules) -> bool {
    rules.org.roles.iter().any(|(_, role)| rules.project.hand_out_policy(role) != HandOut::Ask)
}

/// A change of a task that the rules require.
pub(crate) enum Want {
    Give(Ticket, AgentId),
    Depend(TaskId, Vec<LostDependency>),
}

impl Want {
    pub(crate) fn task(&self) -> &TaskId {
        match self {
            Self::Give(ticket, _) => &ticket.task,
            Self::Depend(task, _) => task,
        }
    }
}

/// Hands out waiting work, and blocks or unblocks tasks that depend on ended ones. Calls `rest` between batches with the time that
/// one took; it returns whether to continue.
pub(crate) fn hand_out(
    workspace: &mut Workspace,
    wait: Duration,
    exhausted: &mut NothingToHandOut,
    dry_run: DryRun,
    rest: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<HandOutResult, ProjectError> {
    let mut done = HandOutResult::default();
    let mut passed_over = HashSet::new();
    for _ in 0..ATTEMPTS {
        workspace.restart_wait(wait);
        recover_if_pending(workspace)?;
        let mut head = workspace.head()?;
        if exhausted.0.is_some() && exhausted.0 == head.commit {
            break;
        }
        let in_force = Rc::new(in_force(workspace, &head)?);
        done.hands_out = hands_out(&in_force.rules);
        let (mut wants, left) = find_wants(workspace, &in_force, &passed_over);
        done.left = left;
        if dry_run == DryRun::No && is_shared(workspace, &in_force) {
            let all = wants.len();
            wants.retain(|want| matches!(want, Want::Depend(..)));
            done.to_share = wants.len() < all;
        }
        if wants.is_empty() {
            exhausted.0 = head.commit;
            break;
        }
        if dry_run == DryRun::Yes {
            workspace.check_own_folder()?;
            for want in wants {
                done.note(want, None);
            }
            break;
        }
        // The decision holds until another process commits.
        while !wants.is_empty() {
            let start = Instant::now();
            let batch = next_batch(&mut wants, |want| want.task().clone());
            let last = carry_out(workspace, &head, &in_force, batch, &mut done, &mut passed_over)?;
            if rest(start.elapsed()).is_break() {
                return Ok(done);
            }
            workspace.restart_wait(wait);
            head = workspace.head()?;
            if last.is_none() || head.commit != last {
                break;
            }
        }
    }
    Ok(done)
}

/// Returns the changes to make now, and the number of openings that no agent gets.
pub(crate) fn find_wants(
    workspace: &Workspace,
    in_force: &InForce,
    passed_over: &HashSet<TaskId>,
) -> (Vec<Want>, usize) {
    let listing = read_all(workspace, in_force, ListScope::Recent);
    let dependencies = Dependencies::read(workspace, in_force, &listing);
    let headers = || listing.tasks.iter().map(|(header, _)| &**header);
    let considered = |id: &TaskId| !passed_over.contains(id);
    let depend = headers()
        .filter(|task| considered(&task.id))
        .filter_map(|task| Some(Want::Depend(task.id.clone(), dependencies.changes_for(task)?)));
    let mut wants: Vec<Want> = depend.collect();
    let rules = &in_force.rules;
    if !hands_out(rules) {
        return (wants, 0);
    }
    let handed = |place: &UnclaimedWork| {
        rules
            .org
            .role(&place.role)
            .is_some_and(|role| rules.project.hand_out_policy(role) != HandOut::Ask)
    };
    let places: Vec<UnclaimedWork> = headers()
        .filter(|header| is_ready(header, &dependencies) && considered(&header.id))
        .flat_map(|header| waiting(in_force, header, workspace.now()))
        .filter(handed)
        .collect();
    let given = dispatch(rules, &places, &agent_loads(headers(), workspace.now()));
    let left = places.len() - given.len();
    wants.extend(given.into_iter().map(|(place, agent)| Want::Give(place.ticket.clone(), agent)));
    (wants, left)
}

/// Takes the first item of every task out of the list, as many as one batch may have. The rest keeps its order.
pub(crate) fn next_batch<T>(items: &mut Vec<T>, task: impl Fn(&T) -> TaskId) -> Vec<T> {
    let mut seen = HashSet::new();
    let (batch, rest) = std::mem::take(items)
        .into_iter()
        .partition(|item| seen.len() < BATCH_SIZE && seen.insert(task(item)));
    *items = rest;
    batch
}

/// Carries out a batch. Returns the last commit; `None` if everything must be decided again.
fn carry_out(
    workspace: &Workspace,
    head: &Head,
    in_force: &Rc<InForce>,
    batch: Vec<Want>,
    done: &mut HandOutResult,
    passed_over: &mut HashSet<TaskId>,
) -> Result<Option<CommitId>, ProjectError> {
    let (mut wants, mut chosen) = (Vec::new(), Vec::new());
    let mut as_decided = true;
    let mut last = None;
    let _claims = lock_claims(workspace, DryRun::No)?;
    for want in batch {
        match choose_for(workspace, head, in_force, &want) {
            Ok(choice) => {
                wants.push(want);
                chosen.push(choice);
            }
            Err(error) => {
                as_decided = false;
                done.pass_over(&want, error, passed_over)?;
            }
        }
    }
    for (want, result) in wants.into_iter().zip(carry_out_together(workspace, head, chosen)?) {
        as_decided &= matches!(result, Ok(Some(_)));
        match result {
            Ok(Some(changed)) if changed.settled => drop(passed_over.insert(want.task().clone())),
            Ok(Some(changed)) => {
                last = changed.commit.or(last);
                done.note(want, Some(Box::new(changed)));
            }
            // The branch or the file has changed since the decision.
            Ok(None) => {}
            Err(error) => done.pass_over(&want, error, passed_over)?,
        }
    }
    Ok(last.filter(|_| as_decided))
}

/// Returns the task with the step that carries out the want.
pub(crate) fn choose_for(
    workspace: &Workspace,
    head: &Head,
    in_force: &Rc<InForce>,
    want: &Want,
) -> Result<(TaskState, Choice), ProjectError> {
    let state = TaskState::read_under(workspace, want.task(), head.clone(), Rc::clone(in_force))?;
    state.ensure_unfrozen()?;
    if first_due_step(workspace, &state)?.is_some() {
        return Err(ProjectError::Contended { id: want.task().clone() });
    }
    let choice = match want {
        Want::Give(ticket, agent) => {
            ensure_free_elsewhere(workspace, &state, ticket.branch.as_ref())?;
            let act = Act::Claim { agent: agent.clone(), branch: ticket.branch.clone() };
            match decide_act(workspace, &state, &act, agent_author(&in_force.rules.org, agent)?)? {
                Choice::Step { step, author, authored, .. } => {
                    let message =
                        commit_message::of_hand_out(agent, ticket.branch.as_ref(), &step.task);
                    Choice::Step { step, message, author, authored }
                }
                settled => settled,
            }
        }
        Want::Depend(_, lost) => {
            let act = Act::Depend { lost: lost.clone() };
            decide_act(workspace, &state, &act, workspace.repository.author_identity()?)?
        }
    };
    Ok((state, choice))
}

/// Returns whether a person must handle the staged version of the task's file. Without a report the task would silently be passed
/// over each time.
fn needs_person(error: &ProjectError) -> bool {
    matches!(
        error,
        ProjectError::Git(
            GitError::StagedDifferently { .. }
                | GitError::Unmerged { .. }
                | GitError::IntentToAdd { .. }
        )
    )
}

impl HandOutResult {
    /// Adds the results that the remote confirmed.
    pub(crate) fn add(&mut self, shared: Self) {
        self.given.extend(shared.given);
        self.failures.extend(shared.failures);
        self.left = shared.left;
        (self.to_share, self.unconfirmed) = (shared.to_share, shared.unconfirmed);
    }

    pub(crate) fn note(&mut self, want: Want, changed: Option<Box<Changed>>) {
        match want {
            Want::Give(ticket, agent) => self.given.push(WorkAssignment { ticket, agent, changed }),
            Want::Depend(task, lost) => {
                self.dependents.push(DependencyChange { task, lost, changed });
            }
        }
    }

    /// Passes over a task this time. Fails with an error that concerns more than the task.
    pub(crate) fn pass_over(
        &mut self,
        want: &Want,
        error: ProjectError,
        passed_over: &mut HashSet<TaskId>,
    ) -> Result<(), ProjectError> {
        if error.is_general() {
            return Err(error);
        }
        let task = want.task().clone();
        passed_over.insert(task.clone());
        if !is_task_error(&error) || needs_person(&error) {
            self.failures.push((task, error));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_one_item_a_task_and_later_ones_keep_their_order() {
        let task = |item: &(&str, i32)| format!("AOF-{}", item.0).parse().unwrap();
        let mut pending =
            vec![("aaa", 1), ("bbb", 1), ("aaa", 2), ("ccc", 1), ("aaa", 3), ("bbb", 2)];
        assert_eq!(next_batch(&mut pending, task), [("aaa", 1), ("bbb", 1), ("ccc", 1)]);
        assert_eq!(next_batch(&mut pending, task), [("aaa", 2), ("bbb", 2)]);
        assert_eq!(next_batch(&mut pending, task), [("aaa", 3)]);
    }
}
