//! What a change comes to before anything is written: the choice of an operation, the new file, its place, its commits, its events.
//!
//! A task does not rest at an automatic gate: the gate decides directly after the change that brought the task there, in a commit of
//! its own, in the same move of the branch.

use std::borrow::Cow;

use crate::domain::{Event, Layout, Timestamp};
use crate::files::task_file::{Defaults, Origin, TaskFile};
use crate::files::yaml::Node;
use crate::git::{CommitId, Person, can_be_committed};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{
    Act, Decision, Refusal, Rules, Warning, WorkflowStep, decide, owed, passes_by_itself,
};
use crate::storage::layout::{archive_path, companions, task_path};
use crate::storage::task_files;
use crate::storage::task_files::TaskPlace;
use crate::storage::{ProjectPath, StoreError};
use crate::tasks::state::commit_message;
use crate::tasks::state::task_state::{Pending, TaskState, TaskVersion, spliced};
use crate::tasks::write::{ByHand, Companion, Write};

/// Whether an operation is carried out, or only shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DryRun {
    /// Nothing is written.
    Yes,
    /// It is carried out.
    No,
}

/// A change that was made, or would be.
pub struct Changed {
    /// The task before it; nothing for a new one.
    pub before: Option<TaskFile>,
    /// The task after it.
    pub after: TaskFile,
    /// Where its file is.
    pub path: ProjectPath,
    /// The commit; nothing where none was made.
    pub commit: Option<CommitId>,
    /// What happened besides.
    pub events: Vec<Event>,
    /// What whoever acted should know.
    pub warnings: Vec<Warning>,
    /// Whether it had been done before.
    pub settled: bool,
}

/// What an operation wants done with a task.
pub(crate) enum Choice {
    /// A step of the engine.
    Step { step: Box<WorkflowStep>, message: String, author: Person, authored: Timestamp },
    /// The file as a person has it, which says nothing else of what is the engine's.
    File { file: Box<TaskFile>, message: String, author: Person },
    /// The file as it is, at another place, with what goes with it.
    Moved { to: ProjectPath, message: String },
    /// Only what lies between HEAD and the worktree is to be committed.
    Pending,
    /// Nothing: it was done before.
    Settled,
}

/// What a choice comes to.
pub(crate) struct Plan {
    pub changed: Changed,
    pub write: Option<Write>,
}

/// Returns what the choice would make of the task.
pub(crate) fn plan(
    workspace: &Workspace,
    state: &TaskState,
    choice: Choice,
) -> Result<Plan, ProjectError> {
    let path = state.snapshot.path.clone();
    let mut write = Write {
        head_path: state.head_path.clone(),
        from: Some((path.clone(), state.snapshot.bytes.clone())),
        ..Write::of_new_file(Some(state.id.clone()), path, Vec::new())
    };
    if let Pending::Versions(versions) = &state.pending {
        write.versions.clone_from(versions);
    }
    let mut after = state.file.clone();
    let (mut events, mut warnings) = (Vec::new(), Vec::new());
    let mut settled = false;
    let mut place = None;
    match choice {
        Choice::Step { step, message, author, authored } => {
            let step = *step;
            let changed = match &step.work {
                Some(work) => state.file.update_with_work(&step.task, work),
                None => state.file.update(&step.task),
            };
            let file = state.changed(workspace, changed)?;
            (events, warnings) = (step.events, step.warnings);
            let bytes = file.bytes().to_vec();
            write.versions.push(TaskVersion {
                bytes,
                message,
                author: Some(author.clone()),
                authored,
            });
            let rules = &state.in_force.rules;
            let passed = pass_on(rules, &state.snapshot.path, file, &author, workspace.now())?;
            after = passed.file;
            write.versions.extend(passed.versions);
            events.extend(passed.events);
            warnings.extend(passed.warnings);
        }
        Choice::File { file, message, author } => {
            after = *file;
            let (bytes, authored) = (after.bytes().to_vec(), workspace.now());
            write.versions.push(TaskVersion { bytes, message, author: Some(author), authored });
        }
        Choice::Moved { to, message } => {
            let (bytes, authored) = (after.bytes().to_vec(), workspace.now());
            write.versions.push(TaskVersion { bytes, message, author: None, authored });
            place = Some(to);
        }
        Choice::Pending => {}
        // What lies between HEAD and the worktree goes all the same: it may be the very change, written and not yet committed.
        Choice::Settled => settled = true,
    }
    write.to = place.unwrap_or_else(|| destination(state, &after));
    if write.to != state.snapshot.path {
        write.is_program =
            workspace.repository.is_program(state.head.commit, state.snapshot.path.as_str())?;
        let Following { companions, edited, left } = following(workspace, state, &write.to)?;
        write.companions = companions;
        if !edited.is_empty() {
            write
                .by_hand
                .push(ByHand { message: commit_message::of_companions(&state.id), files: edited });
        }
        warnings.extend(left);
    }
    let changed = Changed {
        before: Some(state.file.clone()),
        after,
        path: write.to.clone(),
        commit: None,
        events,
        warnings,
        settled,
    };
    Ok(Plan { changed, write: Some(write).filter(|write| !write.versions.is_empty()) })
}

/// Returns how a hand-made file is put at its first gate.
pub(crate) fn adoption(workspace: &Workspace, state: &TaskState) -> Result<Choice, ProjectError> {
    let step = begun(&state.in_force.rules, &state.file, workspace.now())?;
    Ok(Choice::Step {
        message: commit_message::of_adoption(&step.task),
        author: workspace.repository.author_identity()?,
        authored: step.task.updated,
        step: Box::new(step),
    })
}

/// Returns a hand-made task as it is when it is taken up.
pub(crate) fn begun(
    rules: &Rules,
    file: &TaskFile,
    now: Timestamp,
) -> Result<WorkflowStep, Refusal> {
    let Some(agent) = file.wanted_agent() else { return opened(rules, file, &Act::Open, now) };
    opened(rules, file, &Act::OpenFor { agent: agent.clone() }, now).or_else(|refusal| {
        // Where it cannot begin at all, that is what keeps it back.
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
    if file.field("created").is_none_or(Node::is_null) {
        // The file was read a moment ago; nobody could say later when.
        task.to_mut().created = now;
    }
    match decide(rules, &task, act, now)? {
        Decision::Step(step) => Ok(*step),
        Decision::Settled { .. } => {
            unreachable!("a task that stands nowhere cannot have been opened before")
        }
    }
}

/// Returns what has to be done with the task before anything else can be.
pub(crate) fn first_due_step(
    workspace: &Workspace,
    state: &TaskState,
) -> Result<Option<Choice>, ProjectError> {
    match state.file.origin {
        Origin::HandMade => adoption(workspace, state).map(Some),
        Origin::Adopted => step_owed_to_rules(workspace, state),
    }
}

/// Returns what the rules in force want done with a task; nothing where it stands as they have it. They may have changed since it
/// came there, or `git reset` may have taken back what a gate had decided.
pub(crate) fn step_owed_to_rules(
    workspace: &Workspace,
    state: &TaskState,
) -> Result<Option<Choice>, ProjectError> {
    let rules = &state.in_force.rules;
    let task = &state.file.task;
    let Some(act) = owed(rules, task) else { return Ok(None) };
    let Ok(Decision::Step(step)) = decide(rules, task, &act, workspace.now()) else {
        return Ok(None);
    };
    let message = match act {
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

/// Returns how the file of a task is brought to where it belongs; nothing where it stands there.
pub(crate) fn home(state: &TaskState) -> Option<Choice> {
    let to = destination(state, &state.file);
    if to == state.snapshot.path || state.file.origin == Origin::HandMade {
        return None;
    }
    let message = commit_message::of_edit(&state.file.task, &format!("moved to {}", to.folder()));
    Some(Choice::Moved { to, message })
}

/// What gates that decide by themselves did with a task.
pub(crate) struct PassedGates {
    /// The file of the task where it has come to rest.
    pub file: TaskFile,
    /// The commits to be, oldest first.
    pub versions: Vec<TaskVersion>,
    /// What happened besides.
    pub events: Vec<Event>,
    /// What whoever acted should know.
    pub warnings: Vec<Warning>,
}

/// Lets them decide until the task stands where somebody works, or has ended. The rules bound it: a circle of such gates alone is
/// none, and going back is counted.
pub(crate) fn pass_on(
    rules: &Rules,
    path: &ProjectPath,
    file: TaskFile,
    author: &Person,
    now: Timestamp,
) -> Result<PassedGates, ProjectError> {
    let mut passed =
        PassedGates { file, versions: Vec::new(), events: Vec::new(), warnings: Vec::new() };
    while passes_by_itself(rules, &passed.file.task) {
        let Decision::Step(step) = decide(rules, &passed.file.task, &Act::Pass, now)? else {
            break;
        };
        let defaults =
            Defaults { workflow: step.task.routing.workflow.clone(), created: step.task.created };
        let message =
            commit_message::of_act(&Act::Pass, passed.file.task.history.len(), &step.task);
        passed.file = spliced(&defaults, &step.task.id, path, passed.file.update(&step.task))?;
        passed.versions.push(TaskVersion {
            bytes: passed.file.bytes().to_vec(),
            message,
            author: Some(author.clone()),
            authored: step.task.updated,
        });
        passed.events.extend(step.events);
        passed.warnings.extend(step.warnings);
    }
    Ok(passed)
}

/// Finished tasks stand in the archive, active ones do not; otherwise a file stays where people put it.
pub(crate) fn destination(state: &TaskState, after: &TaskFile) -> ProjectPath {
    let layout: Layout = state.in_force.rules.project.layout;
    let here = &state.snapshot.path;
    let finished = after.origin == Origin::Adopted && after.task.status.is_finished();
    match (finished, state.place) {
        (true, TaskPlace::Active) => archive_path(&state.id, after.task.latest()),
        (false, TaskPlace::Archived) => task_path(&state.id, layout),
        _ => here.clone(),
    }
}

/// What becomes of the files beside a task that moves.
pub(crate) struct Following {
    pub companions: Vec<Companion>,
    /// Those that a person changed since HEAD: whoever moves the task did not.
    pub edited: Vec<(ProjectPath, Option<Vec<u8>>)>,
    /// What is told of those that stay.
    pub left: Option<Warning>,
}

/// Returns what goes where the task goes. What git is told to leave out is in no commit because of that; what git converts, encrypts or
/// stores elsewhere would be in the commit as it stands here; and what is too large to be read at once, a recording, say, or has a name that no
/// commit can have, keeps no task from being finished: all these stay.
pub(crate) fn following(
    workspace: &Workspace,
    state: &TaskState,
    to: &ProjectPath,
) -> Result<Following, ProjectError> {
    let (repository, head) = (&workspace.repository, state.head.commit);
    let here = companions(&workspace.paths, &state.snapshot.path)?;
    let there =
        here.iter().map(|path| to.sibling(path.name())).collect::<Result<Vec<ProjectPath>, _>>()?;
    let mut edited = Vec::new();
    let (mut list, mut ignored, mut filtered) = (Vec::new(), Vec::new(), Vec::new());
    let (mut too_large, mut misnamed) = (Vec::new(), Vec::new());
    for (from, to) in here.into_iter().zip(there) {
        if !can_be_committed(from.as_str()) {
            misnamed.push(from.to_string());
            continue;
        }
        let committed =
            head.map(|commit| repository.blob_id(commit, from.as_str())).transpose()?.flatten();
        if committed.is_none() && repository.is_ignored(from.as_str())? {
            ignored.push(from.to_string());
            continue;
        }
        let bytes = match task_files::read(&workspace.paths, &from) {
            Ok(snapshot) => snapshot.bytes,
            Err(StoreError::TooLarge { .. }) => {
                too_large.push(from.to_string());
                continue;
            }
            Err(fault) => return Err(fault.into()),
        };
        if repository.conversion(from.as_str(), &bytes)?.is_some()
            || repository.conversion(to.as_str(), &bytes)?.is_some()
        {
            filtered.push(from.to_string());
            continue;
        }
        let is_program = repository.is_program(head, from.as_str())?;
        if committed.is_some_and(|blob| !repository.is_same_text(&bytes, blob)) {
            edited.push((from.clone(), Some(bytes.clone())));
        }
        list.push(Companion { from, to, bytes, is_program });
    }
    let stays = ![&ignored, &filtered, &too_large, &misnamed].into_iter().all(Vec::is_empty);
    let left = stays.then_some(Warning::CompanionsStay { ignored, filtered, too_large, misnamed });
    Ok(Following { companions: list, edited, left })
}
