//! New tasks.

use crate::domain::{
    AgentId, Map, Org, Permission, PlanChange, Project, Routing, Status, Task, TaskId, TaskPlan,
    Timestamp, Workflow, WorkflowName,
};
use crate::files::task_file;
use crate::files::task_file::Defaults;
use crate::git::log::trailers;
use crate::git::{CommitId, Person};
use crate::project::error::ProjectError;
use crate::project::rule_lookup::find_workflow;
use crate::project::workspace::Workspace;
use crate::project::workspace::{actor, actor_author};
use crate::rules::{Act, Actor, Decision, Refusal, Rules, WorkflowStep, begin, decide};
use crate::storage::Paths;
use crate::storage::layout::task_path;
use crate::storage::random::random_local;
use crate::storage::task_files::is_taken;
use crate::tasks::apply::commit_unless_changed;
use crate::tasks::edit::{check_dependencies, check_title};
use crate::tasks::headers::children::CreatorTasks;
use crate::tasks::headers::dependencies::refuse_circle;
use crate::tasks::plan::{Changed, DryRun, pass_automatic_gates, refuse_nul};
use crate::tasks::recovery::recover::recover_if_pending;
use crate::tasks::state::commit_message::{self, with_named};
use crate::tasks::state::misread::refuse_misread;
use crate::tasks::state::task_state::{TaskVersion, parse_with};
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
    pub is_told: bool,
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
        let in_force = crate::project::active_rules::in_force(workspace, &head)?;
        let rules = &in_force.rules;
        let by = actor(workspace, &rules.org, agent);
        ensure_permitted(&rules.org, &by)?;
        let author = actor_author(workspace, &rules.org, &by)?;
        let now = workspace.now();
        let mut writes = Vec::new();
        let mut made = Vec::new();
        let mut last = last_of_second(workspace, head.commit, now)?;
        let mut creator_tasks = match &by {
            Actor::Agent(agent) => Some(CreatorTasks::of(workspace, &in_force, agent)),
            Actor::Person(_) => None,
        };
        for new in wanted {
            check_dependencies(workspace, None, &new.fields)?;
            let mut task = task(&workspace.paths, rules, new, last.as_ref(), now)?;
            ensure_visible(rules, &task, &by)?;
            if let Some(creator_tasks) = &mut creator_tasks {
                creator_tasks.adopt(&mut task, new.is_told)?;
            }
            if task.parent.is_some() && !task.depends_on.is_empty() {
                refuse_circle(workspace, &in_force, &task)?;
            }
            last = Some(task.id.clone());
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

fn task(
    paths: &Paths,
    rules: &Rules,
    new: &NewTask,
    last: Option<&TaskId>,
    now: Timestamp,
) -> Result<Task, ProjectError> {
    let project = &rules.project;
    check_title(new.title())?;
    let workflow = new.workflow.clone().unwrap_or_else(|| project.default_workflow.clone());
    let definition = find_workflow(rules, &workflow)?;
    let new = NewTask { input: begin(definition, &new.input)?, ..new.clone() };
    Ok(new_from(&new, fresh_id(paths, project, last)?, workflow, now))
}

/// Returns the task of HEAD's commit, if that was made in this second.
fn last_of_second(
    workspace: &Workspace,
    head: Option<CommitId>,
    now: Timestamp,
) -> Result<Option<TaskId>, ProjectError> {
    let Some(head) = head else { return Ok(None) };
    let entry = workspace.repository.log_entry(head)?;
    let task = trailers::parse(&entry.message).into_iter().find(|line| line.key() == "Aof-Task");
    Ok(task.filter(|_| entry.authored == now).and_then(|line| line.value().parse().ok()))
}

/// The length of the random part of an id.
const LOCAL_LENGTH: usize = 5;

/// Draws random ids until one is free. Tasks of one second sort by their ids: the new one sorts soon after `last`.
pub(crate) fn fresh_id(
    paths: &Paths,
    project: &Project,
    last: Option<&TaskId>,
) -> Result<TaskId, ProjectError> {
    let mut last = last.map(|last| last.local().to_owned());
    loop {
        let local = match last.as_deref().map(local_after).transpose()?.flatten() {
            Some(next) => next,
            None => random_local(LOCAL_LENGTH)?,
        };
        let id = TaskId::compose(&project.id_prefix, &local)?;
        if !is_taken(paths, &id)? {
            return Ok(id);
        }
        last = last.map(|_| local);
    }
}

/// Returns the id of a project's first task: the same in each project, so that guides can name it; a fresh one if it is taken.
pub(crate) fn first_id(paths: &Paths, project: &Project) -> Result<TaskId, ProjectError> {
    let id = TaskId::compose(&project.id_prefix, "first")?;
    if is_taken(paths, &id)? { fresh_id(paths, project, None) } else { Ok(id) }
}

/// Returns a random part of an id that sorts soon after `local`; `None` if there is no room.
fn local_after(local: &str) -> Result<Option<String>, ProjectError> {
    const RADIX: u32 = 36;
    // Random, since another clone may create a task after the same one.
    let step = random_local(2)?;
    let number = |text: &str| u32::from_str_radix(text, RADIX);
    let (Ok(number), Ok(step)) = (number(local), number(&step)) else { return Ok(None) };
    let mut rest = number.saturating_add(step + 1);
    if local.len() != LOCAL_LENGTH || rest >= RADIX.pow(5) {
        return Ok(None);
    }
    let mut digits = Vec::new();
    for _ in 0..LOCAL_LENGTH {
        digits.extend(char::from_digit(rest % RADIX, RADIX));
        rest /= RADIX;
    }
    Ok(Some(digits.iter().rev().collect()))
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
