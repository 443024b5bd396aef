//! New tasks.

pub(crate) mod recurring;

use jiff::SignedDuration;

use crate::domain::{
    AgentId, Map, Org, Permission, PlanChange, Project, Routing, Status, Task, TaskId, TaskPlan,
    Timestamp, Workflow, WorkflowName,
};
use crate::files::task_file;
use crate::files::task_file::Defaults;
use crate::git::log::trailers;
use crate::git::{CommitId, LogEntry, Person};
use crate::project::active_rules::{InForce, in_force};
use crate::project::error::ProjectError;
use crate::project::rule_lookup::find_workflow;
use crate::project::workspace::Workspace;
use crate::project::workspace::{actor, actor_author};
use crate::rules::{Act, Actor, Decision, Refusal, Rules, WorkflowStep, begin, decide};
use crate::storage::Paths;
use crate::storage::StoreError;
use crate::storage::layout::task_path;
use crate::storage::random::random_local;
use crate::storage::task_files::is_taken;
use crate::tasks::apply::commit_unless_changed;
use crate::tasks::edit::{check_dependencies, check_title, resolve_names};
use crate::tasks::headers::children::CreatorTasks;
use crate::tasks::headers::dependencies::refuse_circle;
use crate::tasks::plan::{Changed, DryRun, pass_automatic_gates, refuse_nul};
use crate::tasks::recovery::recover::recover_if_pending;
use crate::tasks::state::commit_message::{self, with_named};
use crate::tasks::state::misread::refuse_misread;
use crate::tasks::state::task_state::{TaskVersion, committed_task, parse_with};
use crate::tasks::write::Write;

/// The content of a new task, as given by its creator.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewTask {
    /// Its fields, with the title.
    pub fields: PlanChange,
    /// The work to do, in full.
    pub body: String,
    /// `context.input`.
    pub input: Map,
    /// Its workflow; absent means the project's default.
    pub workflow: Option<WorkflowName>,
    /// True if an agent may create the task without holding one: a person asked for it.
    pub is_requested: bool,
}

impl NewTask {
    /// Returns a task with that title alone.
    pub fn titled(title: impl Into<String>) -> Self {
        let fields = PlanChange { title: Some(title.into()), ..PlanChange::default() };
        Self { fields, ..Self::default() }
    }

    /// Returns the title; an empty one if there is none.
    pub fn title(&self) -> &str {
        self.fields.title.as_deref().unwrap_or_default()
    }
}

/// The most new tasks in one move of the branch.
const BATCH: usize = 200;

/// Creates the tasks, one commit each, and returns them in order. A batch that fails creates none of its tasks.
pub fn create(
    workspace: &Workspace,
    wanted: &[NewTask],
    agent: Option<&AgentId>,
    dry_run: DryRun,
) -> Result<Vec<Changed>, ProjectError> {
    let mut made = Vec::with_capacity(wanted.len());
    for batch in wanted.chunks(BATCH) {
        made.extend(create_batch(workspace, batch, agent, dry_run)?);
    }
    Ok(made)
}

fn create_batch(
    workspace: &Workspace,
    wanted: &[NewTask],
    agent: Option<&AgentId>,
    dry_run: DryRun,
) -> Result<Vec<Changed>, ProjectError> {
    loop {
        recover_if_pending(workspace)?;
        let head = workspace.head()?;
        let in_force = in_force(workspace, &head)?;
        let rules = &in_force.rules;
        let by = actor(workspace, &rules.org, agent);
        ensure_permitted(&rules.org, &by)?;
        let author = actor_author(workspace, &rules.org, &by)?;
        let now = workspace.now();
        let mut writes = Vec::new();
        let mut made = Vec::new();
        let mut last = last_created(workspace, &in_force, head.commit, now);
        let mut creator_tasks = match &by {
            Actor::Agent(agent) => Some(CreatorTasks::of(workspace, &in_force, agent)),
            Actor::Person(_) => None,
        };
        for new in wanted {
            check_dependencies(workspace, None, &new.fields)?;
            let id = fresh_id(&workspace.paths, &rules.project, last.as_ref().map(|last| &last.0))?;
            let created = last.map_or(now, |(_, last)| created_after(last, now));
            let mut task = new_task(rules, new, id, created)?;
            ensure_visible(rules, &task, &by)?;
            if let Some(creator_tasks) = &mut creator_tasks {
                creator_tasks.adopt(&mut task, new.is_requested)?;
            }
            if task.parent.is_some() && !task.depends_on.is_empty() {
                refuse_circle(workspace, &in_force, &task)?;
            }
            last = Some((task.id.clone(), task.created));
            let (mut write, changed) = plan_new_task(rules, &task, &new.body, &author, now)?;
            refuse_nul(0, &changed.after)?;
            refuse_misread(&changed.path, None, &changed.after)?;
            for version in &mut write.versions {
                version.message =
                    with_named(workspace, agent, std::mem::take(&mut version.message));
            }
            made.push(changed);
            writes.push(write);
        }
        if dry_run == DryRun::Yes || writes.is_empty() {
            workspace.check_own_folder()?;
            return Ok(made);
        }
        let is_current = || Ok(workspace.head_now().ok().as_ref() == Some(&head));
        if let Some(commits) = commit_unless_changed(workspace, &head, &writes, is_current)? {
            made.iter_mut().zip(commits).for_each(|(made, commit)| made.commit = Some(commit));
            return Ok(made);
        }
    }
}

/// Plans a new task at its first gate. Returns the write, and the change to show.
pub(crate) fn plan_new_task(
    rules: &Rules,
    task: &Task,
    body: &str,
    author: &Person,
    now: Timestamp,
) -> Result<(Write, Changed), ProjectError> {
    let Decision::Step(step) = decide(rules, task, &Act::Open, now)? else {
        unreachable!("a task at no gate cannot have been opened before");
    };
    let path = task_path(&task.id, rules.project.layout);
    let defaults = Defaults { workflow: task.routing.workflow.clone(), created: now };
    let bytes = task_file::create(&step.task, body).into_bytes();
    let after = parse_with(&defaults, &task.id, &path, &bytes)?;
    let message = commit_message::of_act(&Act::Open, 0, &step.task);
    let mut versions = vec![TaskVersion::of(&after, message, Some(author.clone()), now)];
    let WorkflowStep { events, warnings, .. } = *step;
    let (before, commit, settled) = (None, None, false);
    let mut changed = Changed { before, after, path, commit, events, warnings, settled };
    pass_automatic_gates(rules, &mut changed, &mut versions, author, now)?;
    let write = Write::of_new_file(Some(task.id.clone()), changed.path.clone(), versions);
    Ok((write, changed))
}

/// Returns a new task that is at no gate yet.
pub fn new_from(new: &NewTask, id: TaskId, workflow: WorkflowName, now: Timestamp) -> Task {
    let mut context = Map::new();
    if !new.input.is_empty() {
        context.insert("input".to_owned(), new.input.clone().into());
    }
    let mut task = Task {
        id,
        title: String::new(),
        description: None,
        status: Status::Ready,
        created: now,
        created_by: None,
        updated: now,
        routing: Routing::of(workflow),
        gate: None,
        history: Vec::new(),
        review: None,
        blockers: Vec::new(),
        context,
        workflow_hash: None,
        plan: TaskPlan::default(),
        tags: Vec::new(),
        metadata: Map::new(),
        depends_on: Vec::new(),
        parent: None,
    };
    task.change(&new.fields);
    task
}

/// Checks title and input of a new task against a workflow, which may not exist yet.
pub fn check_new(workflow: &Workflow, new: &NewTask) -> Result<(), ProjectError> {
    check_title(new.title())?;
    begin(workflow, &new.input)?;
    Ok(())
}

/// Returns a new task that is at no gate yet, as the rules want it.
pub(crate) fn new_task(
    rules: &Rules,
    new: &NewTask,
    id: TaskId,
    created: Timestamp,
) -> Result<Task, ProjectError> {
    let project = &rules.project;
    check_title(new.title())?;
    let workflow = new.workflow.clone().unwrap_or_else(|| project.default_workflow.clone());
    let definition = find_workflow(rules, &workflow)?;
    let mut new = NewTask { input: begin(definition, &new.input)?, ..new.clone() };
    resolve_names(rules, &mut new.fields)?;
    Ok(new_from(&new, id, workflow, created))
}

/// Returns the task that was created last, and its time: HEAD's, otherwise one of this second.
fn last_created(
    workspace: &Workspace,
    in_force: &InForce,
    head: Option<CommitId>,
    now: Timestamp,
) -> Option<(TaskId, Timestamp)> {
    let entries = workspace.repository.log(head?).ok()?.map_while(Result::ok);
    let created = |entry: LogEntry| {
        let lines = trailers::parse(&entry.message);
        let value = |key| Some(lines.iter().find(|line| line.key() == key)?.value());
        let id = value("Aof-Task").filter(|_| value("Aof-Event") == Some("created"))?;
        let file = committed_task(workspace, in_force, entry.id, &id.parse().ok()?).ok()??;
        Some((file.task.id, file.task.created))
    };
    let is_recent = |entry: &LogEntry| Some(entry.id) == head || entry.authored == now;
    let mut tasks = entries.take_while(is_recent).filter_map(created);
    let newest = tasks.next()?;
    // An adopted task has the time that its file says.
    let is_now = |task: &(TaskId, Timestamp)| task.1.as_second() == now.as_second();
    if is_now(&newest) { Some(newest) } else { tasks.find(is_now).or(Some(newest)) }
}

/// Returns the time of a new task. Lists and hand-out sort by it: in the second of the last task it is a fraction later.
fn created_after(last: Timestamp, now: Timestamp) -> Timestamp {
    if last.as_second() != now.as_second() {
        return now;
    }
    let is_room = last.subsec_millisecond() < 999;
    let step = if is_room { SignedDuration::from_millis(1) } else { SignedDuration::from_nanos(1) };
    last.checked_add(step).unwrap_or(last)
}

/// Draws random ids until one is free. `last` is the id of the task created before.
pub(crate) fn fresh_id(
    paths: &Paths,
    project: &Project,
    last: Option<&TaskId>,
) -> Result<TaskId, ProjectError> {
    loop {
        let id = TaskId::compose(&project.id_prefix, &draw(last)?)?;
        if !is_taken(paths, &id)? {
            return Ok(id);
        }
    }
}

/// Draws the random part of an id. A digit is among the first three characters, so that a word that a person types is not the
/// beginning of a new id.
fn draw(last: Option<&TaskId>) -> Result<String, StoreError> {
    let pair = last.and_then(pair_after).map_or_else(|| random_local(2), Ok)?;
    loop {
        let local = format!("{pair}{}", random_local(3)?);
        if local[..3].contains(|c: char| c.is_ascii_digit()) {
            return Ok(local);
        }
    }
}

/// Returns the first two characters of the id after `last`. A burst begins with each of the 1296 pairs before one is repeated.
fn pair_after(last: &TaskId) -> Option<String> {
    const RADIX: u32 = 36;
    // Pairs that follow each other are far apart: the step is near the golden section, and has no factor in common with 36.
    const STEP: u32 = 803;
    let number = u32::from_str_radix(&last.local()[..2], RADIX).ok()? + STEP;
    let digits = [number / RADIX % RADIX, number % RADIX];
    digits.into_iter().map(|digit| char::from_digit(digit, RADIX)).collect()
}

/// Returns the id of a project's first task: the same in each project, so that guides can name it; a fresh one if it is taken.
pub(crate) fn first_id(paths: &Paths, project: &Project) -> Result<TaskId, ProjectError> {
    let id = TaskId::compose(&project.id_prefix, "first")?;
    if is_taken(paths, &id)? { fresh_id(paths, project, None) } else { Ok(id) }
}

/// Fails if the agent may not see the task's workflow.
fn ensure_visible(rules: &Rules, task: &Task, by: &Actor) -> Result<(), Refusal> {
    match (rules.workflow_of(task), by.agent()) {
        (Some(workflow), Some(agent)) if !rules.is_visible(workflow, Some(agent)) => {
            Err(Refusal::NotVisible {
                workflow: workflow.name.clone(),
                agent: agent.clone(),
                viewers: workflow.visible_to.clone(),
            })
        }
        _ => Ok(()),
    }
}

fn ensure_permitted(org: &Org, by: &Actor) -> Result<(), ProjectError> {
    let Actor::Agent(agent) = by else { return Ok(()) };
    if org.agent(agent).is_some_and(|known| known.may.contains(&Permission::New)) {
        return Ok(());
    }
    Err(Refusal::NotPermitted { agent: agent.clone(), act: Permission::New }.into())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Returns the number of different pairs, and the lengths of the unique beginnings, added.
    fn spread(mut ids: Vec<String>) -> (usize, usize) {
        ids.sort();
        let common = |a: usize, b: usize| {
            let pairs = ids.get(a).zip(ids.get(b)).into_iter();
            let pairs = pairs.flat_map(|(a, b)| a.chars().zip(b.chars()));
            pairs.take_while(|(a, b)| a == b).count()
        };
        let length = |at: usize| common(at, at.wrapping_sub(1)).max(common(at, at + 1)) + 1;
        let total = (0..ids.len()).map(length).sum();
        (ids.iter().map(|id| &id[..2]).collect::<HashSet<_>>().len(), total)
    }

    fn burst(length: usize) -> Vec<String> {
        let next = |last: &String| draw(Some(&format!("AOF-{last}").parse().unwrap())).ok();
        std::iter::successors(draw(None).ok(), next).take(length).collect()
    }

    #[test]
    fn ids_spread() {
        for _ in 0..20 {
            let (pairs, total) = spread(burst(1000));
            assert!(pairs == 1000 && total <= 2600, "{pairs} pairs, {total} characters");
            let beginnings = burst(12).iter().map(|id| id.as_bytes()[0]).collect::<HashSet<_>>();
            assert!(beginnings.len() >= 10, "{beginnings:?}");
            // Between other commits, nothing is known of the last task.
            let (pairs, total) = spread((0..1000).map(|_| draw(None).unwrap()).collect());
            assert!(pairs >= 500 && total <= 2800, "{pairs} pairs, {total} characters");
        }
    }

    #[test]
    fn a_common_word_is_not_the_beginning_of_a_new_id() {
        let words = "make test tests fix the add done all and bug build check code docs edit error file for from help into \
                     list login new next not now page review run show start status task update with";
        let words: Vec<&str> = words.split_whitespace().collect();
        assert_eq!(words.len(), 36);
        for local in burst(5000) {
            let id: TaskId = format!("AOF-{local}").parse().unwrap();
            assert!(!words.iter().any(|word| id.begins_with(word)), "{id}");
        }
    }

    #[test]
    fn a_second_has_room_for_many_tasks() {
        let now: Timestamp = "2026-02-16T12:00:00Z".parse().unwrap();
        let times = std::iter::successors(Some(now), |last| Some(created_after(*last, now)));
        let times: Vec<Timestamp> = times.take(3000).collect();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(times[999].to_string(), "2026-02-16T12:00:00.999Z");
        assert_eq!(times[2999].as_second(), now.as_second());
    }
}
