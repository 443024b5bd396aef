//! Plans a change before anything is written: the new file, its path, its commits, its events.
//!
//! A task does not stay at an automatic gate. The gate decides directly after the change that brought the task there: in another commit,
//! in the same move of the branch.

use std::borrow::Cow;

use jiff::civil::DateTime;

use crate::domain::{Event, Task, Timestamp};
use crate::files::task_file::{Defaults, Origin, TaskFile};
use crate::git::{CommitId, Person, can_be_committed};
use crate::project::active_rules::rules_at;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{
    Act, Actor, Decision, Refusal, Rules, Warning, WorkflowStep, Workplace, decide, due_act,
    passes_by_itself,
};
use crate::storage::layout::{archive_path, companions, task_path};
use crate::storage::task_files;
use crate::storage::task_files::TaskPlace;
use crate::storage::{ProjectPath, StoreError};
use crate::tasks::state::commit_message;
use crate::tasks::state::task_state::{Pending, TaskState, TaskVersion, spliced};
use crate::tasks::write::{Companion, Write};

/// The choice between showing a change and making it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DryRun {
    /// Nothing is written.
    Yes,
    /// The operation is carried out.
    No,
}

/// A change that was made, or would be.
pub struct Changed {
    /// The task before the change; `None` for a new task.
    pub before: Option<TaskFile>,
    pub after: TaskFile,
    pub path: ProjectPath,
    /// The commit, if one was made.
    pub commit: Option<CommitId>,
    pub events: Vec<Event>,
    pub warnings: Vec<Warning>,
    /// True if nothing was left to do, because the same change was made before.
    pub settled: bool,
}

/// The decision of an operation about a task.
pub(crate) enum Choice {
    /// A step of the engine.
    Step { step: Box<WorkflowStep>, message: String, author: Person, authored: Timestamp },
    /// The file with a person's edits. The fields that only the engine writes are unchanged.
    File { file: Box<TaskFile>, message: String, author: Person },
    /// The file moves unchanged, with its companions.
    Moved { to: ProjectPath, message: String },
    /// Only the changes pending between HEAD and the worktree are committed.
    Pending,
    /// Nothing: the same change was made before.
    Settled,
}

/// A change, and its write.
pub(crate) struct Plan {
    pub changed: Changed,
    /// `None` if there is nothing to commit.
    pub write: Option<Write>,
}

/// Plans a choice.
pub(crate) fn plan(
    workspace: &Workspace,
    state: &TaskState,
    choice: Choice,
) -> Result<Plan, ProjectError> {
    let (path, now) = (&state.snapshot.path, workspace.now());
    let mut write = Write {
        head_path: state.head_path.clone(),
        from: Some((path.clone(), state.snapshot.bytes.clone())),
        ..Write::of_new_file(Some(state.id.clone()), path.clone(), Vec::new())
    };
    // Pending versions are committed even with `Choice::Settled`: a pending version may be this same change, from a run that was killed.
    if let Pending::Versions(versions) = &state.pending {
        write.versions.clone_from(versions);
    }
    let mut changed = Changed {
        before: Some(state.file.clone()),
        after: state.file.clone(),
        path: path.clone(),
        commit: None,
        events: Vec::new(),
        warnings: Vec::new(),
        settled: matches!(choice, Choice::Settled),
    };
    let mut place = None;
    match choice {
        Choice::Step { step, message, author, authored } => {
            let spliced = match &step.work {
                Some(work) => state.file.update_with_work(&step.task, work),
                None => state.file.update(&step.task),
            };
            changed.after = state.changed(workspace, spliced)?;
            (changed.events, changed.warnings) = (step.events, step.warnings);
            let version = TaskVersion::of(&changed.after, message, Some(author.clone()), authored);
            write.versions.push(version);
            let rules = &state.in_force.rules;
            pass_automatic_gates(rules, &mut changed, &mut write.versions, &author, now)?;
        }
        Choice::File { file, message, author } => {
            changed.after = *file;
            write.versions.push(TaskVersion::of(&changed.after, message, Some(author), now));
        }
        Choice::Moved { to, message } => {
            write.versions.push(TaskVersion::of(&changed.after, message, None, now));
            place = Some(to);
        }
        Choice::Pending | Choice::Settled => {}
    }
    refuse_nul(state.file.nuls(), &changed.after)?;
    write.to = place.unwrap_or_else(|| destination(state, &changed.after));
    if write.to != *path {
        write.is_program = workspace.repository.is_program(state.head.commit, path.as_str())?;
        add_companions(workspace, state, &mut write, &mut changed.warnings)?;
    }
    changed.path.clone_from(&write.to);
    Ok(Plan { changed, write: Some(write).filter(|write| !write.versions.is_empty()) })
}

/// Fails if a change adds a NUL to the `known` ones of a file.
pub(crate) fn refuse_nul(known: usize, after: &TaskFile) -> Result<(), ProjectError> {
    if after.nuls() <= known {
        return Ok(());
    }
    Err(ProjectError::Unfit {
        code: "nul_byte",
        problem: "a text has a NUL character, for which git takes a file for binary".to_owned(),
        fix: "give it again without".into(),
    })
}

/// Returns the choice that adopts a hand-made file at its first gate.
pub(crate) fn adoption_choice(
    workspace: &Workspace,
    state: &TaskState,
) -> Result<Choice, ProjectError> {
    let step = adoption_step(&state.in_force.rules, &state.file, workspace.now())?;
    Ok(Choice::Step {
        message: commit_message::of_adoption(&step.task),
        author: workspace.repository.author_identity()?,
        authored: step.task.updated,
        step: Box::new(step),
    })
}

/// Returns the step that adopts a hand-made task. If the task asks for an agent that may not have it, that is a warning.
pub(crate) fn adoption_step(
    rules: &Rules,
    file: &TaskFile,
    now: Timestamp,
) -> Result<WorkflowStep, Refusal> {
    let Some(agent) = file.wanted_agent() else { return opened(rules, file, &Act::Open, now) };
    opened(rules, file, &Act::OpenFor { agent: agent.clone() }, now).or_else(|refusal| {
        // If the task cannot be adopted at all, that error counts, not the agent's.
        let mut step = opened(rules, file, &Act::Open, now)?;
        let (task, why) = (file.task.id.clone(), refusal.problem());
        step.warnings.push(Warning::NotGiven { task, agent, why });
        Ok(step)
    })
}

fn opened(
    rules: &Rules,
    file: &TaskFile,
    act: &Act,
    now: Timestamp,
) -> Result<WorkflowStep, Refusal> {
    let mut task = Cow::Borrowed(&file.task);
    match file.field("created").filter(|node| !node.is_null()) {
        // The time of creation must be the time of adoption: a later replay could not know when the file was read.
        None => task.to_mut().created = now,
        // A time without a zone is read as its day.
        Some(node) => {
            let text = node.as_str().unwrap_or_default();
            let local = text.parse::<DateTime>().ok().filter(|_| text.contains(':'));
            let zone = &rules.project.timezone;
            let local = local.filter(|_| text.parse::<Timestamp>().is_err());
            if let Some(at) = local.and_then(|at| at.to_zoned(zone.clone()).ok()) {
                task.to_mut().created = at.timestamp();
            }
        }
    }
    match decide(rules, &task, act, now)? {
        Decision::Step(step) => Ok(*step),
        Decision::Settled { .. } => {
            unreachable!("a task at no gate cannot have been opened before")
        }
    }
}

/// Returns the step that must be made before any other change of the task.
pub(crate) fn first_due_step(
    workspace: &Workspace,
    state: &TaskState,
) -> Result<Option<Choice>, ProjectError> {
    match state.file.origin {
        Origin::HandMade => adoption_choice(workspace, state).map(Some),
        Origin::Adopted => step_due_by_rules(workspace, state),
    }
}

/// Returns the step that the rules in force require: they changed since the task reached its gate, or `git reset` reverted the decision
/// of an automatic gate.
pub(crate) fn step_due_by_rules(
    workspace: &Workspace,
    state: &TaskState,
) -> Result<Option<Choice>, ProjectError> {
    let rules = &state.in_force.rules;
    let task = &state.file.task;
    let (act, is_stray) = match due_act(rules, task) {
        Some(act) => (act, false),
        None => match stray_claim(workspace, state)? {
            Some(act) => (act, true),
            None => return Ok(None),
        },
    };
    let Ok(Decision::Step(step)) = decide(rules, task, &act, workspace.now()) else {
        return Ok(None);
    };
    let message = match act {
        _ if is_stray => commit_message::of_reroute(task, &step.task),
        Act::Reroute => commit_message::of_reroute(task, &step.task),
        act => commit_message::of_act(&act, task.history.len(), &step.task),
    };
    Ok(Some(Choice::Step {
        message,
        author: workspace.repository.author_identity()?,
        authored: step.task.updated,
        step,
    }))
}

/// The most versions of org.yaml that are searched for a member of a role.
const MOST_VERSIONS: usize = 100;

/// Returns the release of a claim that a person wrote by hand for an agent that never was in the role (spec 1, 9.13). An agent that was
/// removed from the role keeps its claim.
fn stray_claim(workspace: &Workspace, state: &TaskState) -> Result<Option<Act>, ProjectError> {
    let (rules, task) = (&state.in_force.rules, &state.file.task);
    let Some(head) = state.head.commit else { return Ok(None) };
    for place in held_by_outsiders(rules, task) {
        let mut was_member = false;
        for entry in workspace.repository.log_of(head, &["org.yaml"])?.take(MOST_VERSIONS) {
            let earlier = rules_at(workspace, entry?.id)?;
            let role = earlier.as_ref().and_then(|rules| rules.org.role(place.role));
            was_member =
                role.zip(place.holder).is_some_and(|(role, agent)| role.agents.contains(agent));
            if was_member {
                break;
            }
        }
        if !was_member {
            let branch = place.branch().cloned();
            return Ok(Some(Act::Release { by: Actor::Person(None), branch }));
        }
    }
    Ok(None)
}

/// Returns the workplaces of the task whose holder is not in their role.
pub(crate) fn held_by_outsiders<'t>(rules: &'t Rules, task: &'t Task) -> Vec<Workplace<'t>> {
    let mut places = Workplace::open(rules, task);
    places.retain(|place| {
        let role = rules.org.role(place.role);
        place.holder.zip(role).is_some_and(|(agent, role)| !role.agents.contains(agent))
    });
    places
}

/// Returns the move of a misplaced task file to its place.
pub(crate) fn relocation(state: &TaskState) -> Option<Choice> {
    let to = destination(state, &state.file);
    if to == state.snapshot.path || state.file.origin == Origin::HandMade {
        return None;
    }
    let message = commit_message::of_edit(&state.file.task, &format!("moved to {}", to.folder()));
    Some(Choice::Moved { to, message })
}

/// Lets automatic gates decide until the task is at a gate with work, or has ended. This ends: the rules forbid circles of automatic gates
/// only, and limit how often a gate sends back.
pub(crate) fn pass_automatic_gates(
    rules: &Rules,
    changed: &mut Changed,
    versions: &mut Vec<TaskVersion>,
    author: &Person,
    now: Timestamp,
) -> Result<(), ProjectError> {
    while passes_by_itself(rules, &changed.after.task) {
        let before = &changed.after;
        let Decision::Step(step) = decide(rules, &before.task, &Act::Pass, now)? else { break };
        let defaults =
            Defaults { workflow: step.task.routing.workflow.clone(), created: step.task.created };
        let message = commit_message::of_act(&Act::Pass, before.task.history.len(), &step.task);
        let after = spliced(&defaults, &step.task.id, &changed.path, before.update(&step.task))?;
        versions.push(TaskVersion::of(&after, message, Some(author.clone()), step.task.updated));
        changed.after = after;
        changed.events.extend(step.events);
        changed.warnings.extend(step.warnings);
    }
    Ok(())
}

/// Returns the path where the task's file belongs: the archive for a finished task, otherwise where people put it outside the archive.
pub(crate) fn destination(state: &TaskState, after: &TaskFile) -> ProjectPath {
    let finished = after.origin == Origin::Adopted && after.task.status.is_finished();
    match (finished, state.place) {
        (true, TaskPlace::Active) => archive_path(&state.id, after.task.latest()),
        (false, TaskPlace::Archived) => task_path(&state.id, state.in_force.rules.project.layout),
        _ => state.snapshot.path.clone(),
    }
}

/// Adds the companions to the write of a task that moves. Companions that cannot be committed stay, with a warning, so that they do not
/// block the task: ignored files, files that git would convert, files that are too large, and names that no commit can have.
fn add_companions(
    workspace: &Workspace,
    state: &TaskState,
    write: &mut Write,
    warnings: &mut Vec<Warning>,
) -> Result<(), ProjectError> {
    let (repository, head) = (&workspace.repository, state.head.commit);
    let (mut ignored, mut filtered) = (Vec::new(), Vec::new());
    let (mut too_large, mut misnamed) = (Vec::new(), Vec::new());
    for from in companions(&workspace.paths, &state.snapshot.path)? {
        let (to, name) = (write.to.sibling(from.name())?, from.to_string());
        if !can_be_committed(&name) {
            misnamed.push(name);
            continue;
        }
        let committed = head.map(|commit| repository.blob_id(commit, &name)).transpose()?.flatten();
        if committed.is_none() && repository.is_ignored(&name)? {
            ignored.push(name);
            continue;
        }
        let bytes = match task_files::read(&workspace.paths, &from) {
            Ok(snapshot) => snapshot.bytes,
            Err(StoreError::TooLarge { .. }) => {
                too_large.push(name);
                continue;
            }
            // It was deleted, or the task has just moved: then the write finds that.
            Err(StoreError::Gone { .. }) => continue,
            Err(fault) => return Err(fault.into()),
        };
        if repository.conversion(&name, &bytes)?.is_some()
            || repository.conversion(to.as_str(), &bytes)?.is_some()
        {
            filtered.push(name);
            continue;
        }
        let is_program = repository.is_program(head, &name)?;
        let is_edited = committed.is_some_and(|blob| !repository.is_same_text(&bytes, blob));
        write.companions.push(Companion { from, to, bytes, is_program, is_edited });
    }
    if ![&ignored, &filtered, &too_large, &misnamed].into_iter().all(Vec::is_empty) {
        warnings.push(Warning::CompanionsStay { ignored, filtered, too_large, misnamed });
    }
    Ok(())
}
