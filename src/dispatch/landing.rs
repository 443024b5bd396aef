//! The landing of a task's work on a branch, in this order:
//!
//! ```text
//!   turn             one landing at a time for each target, in order of arrival
//!   join             of the task's head and the target's tip, in a worktree of its own, with the trailer `Aof-Land: TICKET`
//!   checks           on that very tree, after the set-up
//!   note             of what lands                                       kill: nothing has moved
//!   push             accepted as a fast-forward only                     kill: the next landing finds the trailer
//!   local branch     by compare-and-swap                                 kill: the same
//!   entry            the caller completes the visit
//! ```

mod target;

use std::time::{Duration, Instant};

use crate::domain::{
    AgentId, BranchName, CommitName, Digest, Landing, LandingCheck, Task, Ticket, WorkBranch,
};
use crate::files::printable::one_line;
use crate::git::log::trailers::{Trailer, message, parse};
use crate::git::{CommitId, JoinDraft, JoinStyle, Joined};
use crate::history::sync::sync_loop::pause;
use crate::project::error::ProjectError;
use crate::project::task_worktrees::{
    QueuedLanding, SetupFailed, TaskWorktree, TaskWorktrees, USUAL_LIMITS, WorktreeSetup,
};
use crate::project::trust::RulePrograms;
use crate::project::workspace::{Workspace, agent_author};
use crate::rules::Rules;
use crate::system::crash_points;
use crate::tasks::publish::secrets_of;
use crate::tasks::view::task_view::show;
use target::{LandingTarget, TargetTip};

/// The trailer of a landing, with the ticket of its visit.
const TRAILER: &str = "Aof-Land";
/// The most times that a join is made again because the target has moved.
const ROUNDS: u32 = 8;
/// The most files that are named after a conflict.
const MOST_FILES: usize = 20;
/// The most lines of a failed check's output that are quoted.
const MOST_LINES: usize = 50;
/// The most bytes of them.
const MOST_BYTES: usize = 8 * 1024;
/// The time for the remote's answer.
const REMOTE: Duration = Duration::from_mins(2);

/// The arguments of a landing.
pub(crate) struct LandingOrder<'a> {
    /// The visit that it completes.
    pub ticket: &'a Ticket,
    pub agent: &'a AgentId,
    /// The target; by default the branch that the work began at.
    pub onto: Option<&'a BranchName>,
    /// The commands that must succeed, each for the shell.
    pub checks: &'a [String],
    pub style: JoinStyle,
    /// True if nothing is to move: the join is made and checked, and dropped.
    pub is_dry: bool,
    /// Receives what the set-up and the checks print.
    pub printed: &'a mut dyn FnMut(&[u8]),
    pub is_stopped: &'a dyn Fn() -> bool,
}

/// The result of a landing.
pub(crate) enum LandingEnd {
    /// The work is on the target.
    Landed { landing: Landing, work: WorkBranch },
    /// The target had all of it before.
    Nothing { onto: BranchName },
    /// Nothing has moved: this is to be fixed first.
    SentBack { summary: String, blockers: Vec<String> },
}

/// Lands the work of a task. The caller completes the visit with the result, and then calls [`settle`].
pub(crate) fn land(
    workspace: &Workspace,
    mut order: LandingOrder<'_>,
) -> Result<LandingEnd, ProjectError> {
    let (view, in_force) = show(workspace, &order.ticket.task)?;
    let (rules, task) = (&in_force.rules, &view.file.task);
    let worktrees = TaskWorktrees::of(workspace, rules)?;
    let work_head = || {
        worktrees.ensure_committed(&task.id)?;
        worktrees.head_of(&task.id)?.ok_or_else(|| {
            let branch = worktrees.branch_of(&task.id);
            unfit(
                "no_work",
                format!(
                    "there is no branch `{branch}` here, which would have the work at `{}`",
                    task.id
                ),
                format!(
                    "commit the work there, or complete the visit with `aof complete {}`",
                    order.ticket
                ),
            )
        })
    };
    work_head()?;
    let onto = match order.onto {
        Some(onto) => onto.clone(),
        None => worktrees.starting_base(task)?,
    };
    worktrees.ensure_base(&onto)?;
    let queued =
        QueuedLanding { task: task.id.clone(), onto: onto.clone(), since: workspace.now() };
    let mut waits = |before: &QueuedLanding| {
        (order.printed)(format!("waits for `{}`, which lands on `{onto}`", before.task).as_bytes());
    };
    let Some(_turn) = worktrees.take_turn(&queued, &mut waits, order.is_stopped)? else {
        return Err(SetupFailed::Stopped.into_error());
    };
    let target = LandingTarget::find(workspace, &worktrees, &onto)?;
    // Work may have been added while this waited.
    let head = work_head()?;
    let run = LandingRun { workspace, rules, task, worktrees, target, head };
    for round in 0..ROUNDS {
        if let Some(end) = run.attempt(&mut order)? {
            return Ok(end);
        }
        pause(round);
    }
    let problem = format!("`{onto}` has moved each time, and nothing of `{}` is there", task.id);
    Err(unfit("target_moves", problem, "run the command again".to_owned()))
}

/// Forgets the landing of a task once its entry is committed.
pub(crate) fn settle(workspace: &Workspace, ticket: &Ticket) -> Result<(), ProjectError> {
    let rules = workspace.rules()?.rules;
    TaskWorktrees::of(workspace, &rules)?.forget_landing(&ticket.task)
}

/// A landing that has its turn.
struct LandingRun<'a> {
    workspace: &'a Workspace,
    rules: &'a Rules,
    task: &'a Task,
    worktrees: TaskWorktrees,
    target: LandingTarget<'a>,
    /// The newest commit of the work.
    head: CommitId,
}

impl LandingRun<'_> {
    /// Lands the work on the target as it is now. Returns `None` if that has moved meanwhile.
    fn attempt(&self, order: &mut LandingOrder<'_>) -> Result<Option<LandingEnd>, ProjectError> {
        let (repository, onto) = (&self.worktrees.repository, &self.target.onto);
        let before = self.target.fetch(Instant::now() + REMOTE)?;
        let tip = before.commit;
        if let Some(commit) = self.landed_before(order.ticket, tip)? {
            if !order.is_dry {
                self.target.bring(tip)?;
            }
            return self.landing(commit, Vec::new()).map(Some);
        }
        if repository.has_arrived(self.head, tip)? {
            return Ok(Some(LandingEnd::Nothing { onto: onto.clone() }));
        }
        let place = self.worktrees.add_landing(&self.task.id, onto, tip, order.is_stopped);
        let mut place = place.map_err(SetupFailed::into_error)?;
        let end = self.join_and_land(order, &mut place, before);
        self.worktrees.remove_detached(&place.facts.folder)?;
        end
    }

    /// Returns the commit by which all of this visit's work has landed already.
    fn landed_before(
        &self,
        ticket: &Ticket,
        tip: CommitId,
    ) -> Result<Option<CommitId>, ProjectError> {
        let (repository, trailer) = (&self.worktrees.repository, trailer(ticket));
        let since = repository.merge_bases(self.head, tip)?;
        for commit in repository.commits_between(&since, tip)?.commits.into_iter().rev() {
            if parse(&repository.log_entry(commit)?.message).contains(&trailer)
                && repository.has_arrived(self.head, commit)?
            {
                return Ok(Some(commit));
            }
        }
        Ok(None)
    }

    fn join_and_land(
        &self,
        order: &mut LandingOrder<'_>,
        place: &mut TaskWorktree,
        before: TargetTip,
    ) -> Result<Option<LandingEnd>, ProjectError> {
        let (onto, tip) = (&self.target.onto, before.commit);
        let joined = match self.join(order, place, tip)? {
            Joined::Done(commit) => commit,
            Joined::Conflict(files) => return Ok(Some(self.conflict(&files))),
            Joined::Nothing => return Ok(Some(LandingEnd::Nothing { onto: onto.clone() })),
        };
        crash_points::point("land.joined");
        self.refuse_tasks(tip, joined)?;
        let checks = match self.check(order, place)? {
            Ok(checks) => checks,
            Err(failed) => return Ok(Some(failed)),
        };
        if !self.target.leads_to(joined)? {
            return Ok(None);
        }
        let end = self.landing(joined, checks)?;
        self.target.ensure_free(joined)?;
        if order.is_dry {
            return Ok(Some(end));
        }
        if let LandingEnd::Landed { landing, .. } = &end {
            self.worktrees.note_landing(&self.task.id, landing)?;
        }
        crash_points::point("land.checked");
        if !self.target.push(joined, before)? {
            return Ok(None);
        }
        crash_points::point("land.pushed");
        if !self.target.bring(joined)? {
            return Ok(None);
        }
        crash_points::point("land.moved");
        tracing::info!(task = %self.task.id, onto = %onto, commit = %joined, "landed");
        Ok(Some(end))
    }

    fn join(
        &self,
        order: &LandingOrder<'_>,
        place: &TaskWorktree,
        tip: CommitId,
    ) -> Result<Joined, ProjectError> {
        let person = agent_author(&self.rules.org, order.agent)?;
        let (id, title) = (&self.task.id, one_line(&self.task.title));
        let text = match order.style {
            JoinStyle::Merge => message(&format!("Land {id}: {title}"), "", &[]),
            JoinStyle::Squash | JoinStyle::Rebase => message(&format!("{id}: {title}"), "", &[]),
        };
        let draft = JoinDraft {
            style: order.style,
            onto: tip,
            head: self.head,
            person: &person,
            message: &text,
            trailer: &trailer(order.ticket),
        };
        Ok(place.repository()?.join(&draft)?)
    }

    /// Fails if the work changes task files beside the code: only the engine does.
    fn refuse_tasks(&self, tip: CommitId, joined: CommitId) -> Result<(), ProjectError> {
        if self.rules.project.git.branch.is_some() {
            return Ok(());
        }
        let changed = self.workspace.repository.changed_between(tip, joined)?;
        let Some(file) = changed.into_iter().find(|file| file.path.starts_with("tasks/")) else {
            return Ok(());
        };
        Err(unfit(
            "work_changes_tasks",
            format!("the work at `{}` changes `{}`, which only aof does", self.task.id, file.path),
            format!("take that change out of `{}`", self.worktrees.branch_of(&self.task.id)),
        ))
    }

    /// Runs the set-up and the checks on the joined tree. The inner error is the end of a landing that one of them forbids.
    fn check(
        &self,
        order: &mut LandingOrder<'_>,
        place: &mut TaskWorktree,
    ) -> Result<Result<Vec<LandingCheck>, LandingEnd>, ProjectError> {
        let commands: Vec<Vec<String>> =
            order.checks.iter().map(|text| shell_words(text)).collect();
        let checks = commands.iter().map(Vec::as_slice);
        let programs = RulePrograms::of_commands(self.workspace, &self.task.id, checks);
        self.worktrees.ensure_seen(place, &programs, &|_, _| true)?;
        let (programs, secrets) =
            (RulePrograms::read(self.workspace, self.rules), secrets_of(self.rules));
        let printed = &mut *order.printed;
        let mut setup = WorktreeSetup {
            task: self.task,
            branch: None,
            programs: &programs,
            visit: order.ticket.to_string(),
            project: self.workspace.paths.root(),
            secrets: &secrets,
            limits: USUAL_LIMITS,
            printed: &mut |_, bytes| printed(bytes),
            is_stopped: order.is_stopped,
        };
        self.worktrees.set_up(place, &mut setup).map_err(SetupFailed::into_error)?;
        let before = place.repository()?.left_files()?;
        let mut passed = Vec::new();
        for (words, text) in commands.iter().zip(order.checks) {
            let ended = place.run(words, &mut setup).map_err(SetupFailed::into_error)?;
            let mut failed = ended.failure.as_ref().map(|why| {
                let last = ended.last_lines(MOST_LINES, MOST_BYTES);
                if last.is_empty() { why.clone() } else { format!("{why}:\n{last}") }
            });
            // The next one would not see the joined tree.
            let changed = place.repository()?.left_files()?;
            if let Some(file) =
                changed.iter().find(|file| !file.is_untracked && !before.contains(file))
            {
                failed.get_or_insert(format!("changed `{}`, which is committed", file.path));
            }
            if let Some(why) = failed {
                let (onto, text) = (&self.target.onto, one_line(text));
                let summary = format!("Not landed on `{onto}`: the check `{text}` failed");
                let blockers = vec![format!("`{text}` {why}")];
                return Ok(Err(LandingEnd::SentBack { summary, blockers }));
            }
            let digest = Digest::of(&ended.output);
            passed.push(LandingCheck { argv: words.clone(), exit: 0, digest });
        }
        Ok(Ok(passed))
    }

    fn conflict(&self, files: &[String]) -> LandingEnd {
        let (onto, branch) = (&self.target.onto, self.worktrees.branch_of(&self.task.id));
        let one = |file: &String| format!("`{}` is in conflict with `{onto}`", one_line(file));
        let mut blockers: Vec<String> = files.iter().take(MOST_FILES).map(one).collect();
        if files.len() > MOST_FILES {
            blockers.push(format!("{} more files are in conflict", files.len() - MOST_FILES));
        }
        let fix = format!("merge `{onto}` into `{branch}`, resolve the conflicts, and commit");
        LandingEnd::SentBack { summary: format!("Not landed on `{onto}`: {fix}"), blockers }
    }

    /// Returns the end of a landing by that commit. Checks that were noted before a kill count.
    fn landing(
        &self,
        commit: CommitId,
        checks: Vec<LandingCheck>,
    ) -> Result<LandingEnd, ProjectError> {
        let onto = self.target.onto.clone();
        let name = |id: String| id.parse::<CommitName>().expect("it is the name of an object");
        let tree = name(self.worktrees.repository.root_tree(commit)?.to_string());
        let commit = name(commit.to_string());
        let noted = self.worktrees.noted_landing(&self.task.id)?;
        let noted = noted.filter(|noted| checks.is_empty() && noted.commit == commit);
        let landing = noted.unwrap_or(Landing { onto: onto.clone(), commit, tree, checks });
        let base = self.task.work().map_or(onto, |work| work.base.clone());
        let branch = self.worktrees.branch_of(&self.task.id);
        let work = WorkBranch { branch, base, head: name(self.head.to_string()) };
        Ok(LandingEnd::Landed { landing, work })
    }
}

fn trailer(ticket: &Ticket) -> Trailer {
    Trailer::new(TRAILER, &ticket.to_string()).expect("a ticket is letters, digits and signs")
}

/// Returns the words that have the shell run a command.
fn shell_words(text: &str) -> Vec<String> {
    ["sh", "-c", text].map(str::to_owned).to_vec()
}

fn unfit(code: &'static str, problem: String, fix: String) -> ProjectError {
    ProjectError::Unfit { code, problem, fix: fix.into() }
}
