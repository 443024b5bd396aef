//! Edits of the fields that people own (title, description, plan, body, tags, metadata, dependencies), and comments.

use std::borrow::Cow;

use crate::domain::{AgentId, BODY_LIMIT, Permission, PlanChange, PlanKey, Remedy, TaskId, advice};
use crate::files::task_file::TaskFile;
use crate::git::merge_texts;
use crate::project::error::ProjectError;
use crate::project::rule_lookup::{check_agent, find_agent};
use crate::project::workspace::{Workspace, actor, actor_author, deciding_actor};
use crate::rules::{Actor, Refusal, Rules, StateChange, explain};
use crate::storage::ProjectPath;
use crate::tasks::apply::{NextStep, apply, change, due_step_or};
use crate::tasks::headers::dependencies::refuse_circle;
use crate::tasks::plan::{Changed, Choice, DryRun};
use crate::tasks::state::acceptance::loses_boxes;
use crate::tasks::state::commit_message::{self, with_named};
use crate::tasks::state::misread::refuse_misread;
use crate::tasks::state::read_keys::read_keys_changed;
use crate::tasks::state::task_state::{Pending, TaskState, find, parse};

/// An edit of the fields that people own, and of the body.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct TaskEdit {
    pub change: PlanChange,
    /// The new body.
    pub body: Option<String>,
    /// The body that the new one was derived from. Changes made meanwhile are kept; if both changed the same lines, nothing is
    /// written.
    pub body_was: Option<String>,
}

/// A task file as it was when a person began to edit it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EditableFile {
    pub path: ProjectPath,
    pub bytes: Vec<u8>,
}

/// Returns the file of a task for an edit. Adopts a hand-made task first. Fails if the agent may not edit it.
pub(crate) fn open_for_edit(
    workspace: &Workspace,
    id: &TaskId,
    agent: Option<&AgentId>,
    dry_run: DryRun,
) -> Result<EditableFile, ProjectError> {
    let mut opened = None;
    change(workspace, id, dry_run, &mut |state| {
        ensure_permitted(state, &actor(workspace, &state.in_force.rules.org, agent))?;
        let snapshot = &state.snapshot;
        opened =
            Some(EditableFile { path: snapshot.path.clone(), bytes: state.file.bytes().to_vec() });
        Ok(Choice::Settled)
    })?;
    opened.ok_or_else(|| ProjectError::Contended { id: id.clone() })
}

/// Replaces the file by the edited text. Fails if the task changed meanwhile, or if the edit changes fields of the engine.
pub(crate) fn edit_text(
    workspace: &Workspace,
    id: &TaskId,
    agent: Option<&AgentId>,
    original: &EditableFile,
    edited: &[u8],
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    rewrite(workspace, id, agent, dry_run, &|state| {
        if state.file.bytes() != original.bytes {
            return Err(ProjectError::Unfit {
                code: "edit_conflict",
                problem: format!("task `{id}` changed while you edited it"),
                fix: format!(
                    "see what changed with `git log -p -1 -- {}`, then edit it again",
                    state.snapshot.path
                )
                .into(),
            });
        }
        let path = &state.snapshot.path;
        parse(&state.in_force, id, path, edited, workspace.now())
    })
}

/// Changes the given fields. No other byte of the file changes.
pub(crate) fn edit_fields(
    workspace: &Workspace,
    id: &TaskId,
    agent: Option<&AgentId>,
    edit: &TaskEdit,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    if let Some(title) = &edit.change.title {
        check_title(title)?;
    }
    check_dependencies(workspace, Some(id), &edit.change)?;
    rewrite(workspace, id, agent, dry_run, &|state| {
        let file = &state.file;
        let mut change = edit.change.clone();
        resolve_names(&state.in_force.rules, &mut change)?;
        let mut after = file.task.clone();
        after.change(&change);
        let changed = match &edit.body {
            Some(body) => file.update_with_body(&after, &edit.merged_body(id, file, body)?),
            None => file.update(&after),
        };
        state.changed(workspace, changed)
    })
}

impl TaskEdit {
    /// Returns the new body, merged with the changes that others made since it was read.
    fn merged_body<'b>(
        &self,
        id: &TaskId,
        file: &TaskFile,
        body: &'b str,
    ) -> Result<Cow<'b, str>, ProjectError> {
        let current = file.body().replace("\r\n", "\n");
        let Some(was) = self.body_was.as_deref().filter(|was| *was != current) else {
            return Ok(Cow::Borrowed(body));
        };
        let merged = merge_texts(was.as_bytes(), current.as_bytes(), body.as_bytes())?;
        match String::from_utf8(merged.ours.clone()) {
            Ok(text) if merged.agree() => Ok(Cow::Owned(text)),
            _ => Err(ProjectError::Unfit {
                code: "edit_conflict",
                problem: format!("task `{id}` changed while you edited it, in the same lines"),
                fix: "your text is below: take what you need into the body as it is now".into(),
            }),
        }
    }
}

/// Replaces the names of assignees by their ids. Fails if org.yaml lacks one.
pub(crate) fn resolve_names(rules: &Rules, change: &mut PlanChange) -> Result<(), ProjectError> {
    for name in &mut change.plan.assignee {
        *name = find_agent(rules, name)?.to_string();
    }
    Ok(())
}

/// Fails if the title is blank.
pub(crate) fn check_title(title: &str) -> Result<(), ProjectError> {
    if !title.trim().is_empty() {
        return Ok(());
    }
    Err(ProjectError::Unfit {
        code: "missing_title",
        problem: "a task needs a title".to_owned(),
        fix: "say what is to be done in a few words, as in `Add login`".into(),
    })
}

/// Fails if a dependency, or the parent, does not exist or is the task itself.
pub(crate) fn check_dependencies(
    workspace: &Workspace,
    id: Option<&TaskId>,
    change: &PlanChange,
) -> Result<(), ProjectError> {
    for dependency in change.depends_on.iter().chain(&change.parent) {
        if Some(dependency) == id {
            return Err(ProjectError::Unfit {
                code: "depends_on_itself",
                problem: format!(
                    "task `{dependency}` would wait for itself, and never be handed out"
                ),
                fix: "name another task".into(),
            });
        }
        find(workspace, dependency)?;
    }
    Ok(())
}

/// Replaces the file by the result of `rewritten`. Fails if that changes fields of the engine, or makes a circle of dependencies.
fn rewrite(
    workspace: &Workspace,
    id: &TaskId,
    agent: Option<&AgentId>,
    dry_run: DryRun,
    rewritten: &dyn Fn(&TaskState) -> Result<TaskFile, ProjectError>,
) -> Result<Changed, ProjectError> {
    change(workspace, id, dry_run, &mut |state| {
        let rules = &state.in_force.rules;
        let by = actor(workspace, &rules.org, agent);
        ensure_permitted(state, &by)?;
        let after = rewritten(state)?;
        if after.bytes() == state.file.bytes() {
            return Ok(Choice::Settled);
        }
        refuse_misread(&state.snapshot.path, Some(&state.file), &after)?;
        let unchanged_history = after.has_history_of(&state.file);
        match explain(rules, Some(&state.file.task), &after.task) {
            StateChange::Same | StateChange::Edit if unchanged_history => {}
            StateChange::Foreign(fields) => return Err(engine_fields(&fields.join(", "))),
            _ => return Err(engine_fields("gate, status, gateHistory")),
        }
        let (before, after_edit) = (&state.file.task, &after.task);
        if after_edit.parent != before.parent
            || after_edit.depends_on.iter().any(|other| !before.depends_on.contains(other))
        {
            refuse_circle(workspace, &state.in_force, after_edit)?;
        }
        if !read_keys_changed(rules, &state.file, &after).is_empty()
            || loses_boxes(rules, &state.file, &after)
        {
            deciding_actor(workspace, &rules.org, agent)?;
        }
        let message = commit_message::of_edit(&after.task, "edited");
        let message = with_named(workspace, agent, message);
        let author = actor_author(workspace, &rules.org, &by)?;
        Ok(Choice::File { file: Box::new(after), message, author })
    })
}

/// Commits the edit that was found in the worktree while an agent holds the task, as a person's. Fails if the actor is not known to
/// be a person.
pub(crate) fn accept(
    workspace: &Workspace,
    id: &TaskId,
    agent: Option<&AgentId>,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    let changed = apply(workspace, id, dry_run, &mut |state| {
        if !matches!(state.pending, Pending::Unaccepted(_)) {
            return due_step_or(workspace, state, |_| Ok(Choice::Settled));
        }
        let org = &state.in_force.rules.org;
        let by = actor(workspace, org, agent);
        if !workspace.is_person_seen || matches!(by, Actor::Agent(_)) {
            return Err(ProjectError::Unfit {
                code: "not_accepted",
                problem: format!("only a person at a terminal accepts the edit of `{id}`"),
                fix: "a person gives this command at a terminal, or commits the file with git"
                    .into(),
            });
        }
        let before = state.committed_file(workspace);
        refuse_misread(&state.snapshot.path, before.as_ref(), &state.file)?;
        let message = commit_message::of_edit(&state.file.task, "edit accepted");
        let author = actor_author(workspace, org, &by)?;
        let file = Box::new(state.file.clone());
        Ok(NextStep::Do(Choice::File { file, message, author }))
    })?;
    changed.ok_or_else(|| ProjectError::Contended { id: id.clone() })
}

/// Fails if an agent edits a task that it has not claimed, unless org.yaml permits it. People may edit every task.
fn ensure_permitted(state: &TaskState, by: &Actor) -> Result<(), ProjectError> {
    let Actor::Agent(agent) = by else { return Ok(()) };
    let holds = state.file.task.is_held_by(agent);
    let org = &state.in_force.rules.org;
    if holds || org.agent(agent).is_some_and(|known| known.may.contains(&Permission::Edit)) {
        return Ok(());
    }
    Err(Refusal::NotPermitted { agent: agent.clone(), act: Permission::Edit }.into())
}

fn engine_fields(fields: &str) -> ProjectError {
    let plan = PlanKey::names().collect::<Vec<_>>().join(", ");
    ProjectError::Unfit {
        code: "engine_fields",
        problem: format!("the edit changes fields that only the engine writes: {fields}"),
        fix: advice![
            format!(
                "you may edit title, description, {plan}, links, body, tags, metadata, dependsOn, parent, tests and your own keys; "
            ),
            Remedy::Complete,
            " and ",
            Remedy::Override,
            " move a task",
        ],
    }
}

/// A comment on a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Comment {
    pub text: String,
    /// The author; `None` for a person.
    pub agent: Option<AgentId>,
}

/// Appends a comment to the body of the task.
pub(crate) fn comment(
    workspace: &Workspace,
    id: &TaskId,
    comment: &Comment,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    if comment.text.len() > BODY_LIMIT {
        return Err(Refusal::TooLong {
            field: "comment",
            bytes: comment.text.len(),
            limit: BODY_LIMIT,
        }
        .into());
    }
    if comment.text.trim().is_empty() {
        return Err(ProjectError::Unfit {
            code: "empty_comment",
            problem: "the comment is empty".to_owned(),
            fix: advice!["give its text, as in ", Remedy::Comment.on(id).asked("m")],
        });
    }
    change(workspace, id, dry_run, &mut |state| {
        let (rules, task) = (&state.in_force.rules, &state.file.task);
        let by = actor(workspace, &rules.org, comment.agent.as_ref());
        let author = actor_author(workspace, &rules.org, &by)?;
        if let Actor::Agent(agent) = &by
            && task.routing.agent.as_ref() != Some(agent)
            && task.branches().all(|branch| branch.agent.as_ref() != Some(agent))
        {
            check_agent(rules, agent, None)?;
        }
        let name = by.agent().map_or_else(|| author.name().to_owned(), ToString::to_string);
        let commented = state.file.with_comment(&name, workspace.now(), &comment.text);
        let file = state.changed(workspace, commented)?;
        let message = commit_message::of_comment(&state.file.task, &by, &comment.text);
        let message = with_named(workspace, comment.agent.as_ref(), message);
        Ok(Choice::File { file: Box::new(file), message, author })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Map, PlanRemoval};
    use crate::files::frontmatter::SpliceRefusal;
    use crate::files::task_file::{Defaults, parse as read_file};

    const FILE: &str = "---\r\ntitle: Login   # short\r\ntags: [a, b] # keep\r\nmetadata:\r\n  priority: low\r\n  # why\r\n  n: 3\r\n---\r\nbody";

    fn edited(edit: &TaskEdit) -> Result<String, SpliceRefusal> {
        let defaults = Defaults {
            workflow: "default".parse().unwrap(),
            created: "2026-02-16T12:00:00Z".parse().unwrap(),
        };
        let gate = "gate:\r\n  current: work\r\n  entered: 2026-02-16T12:00:00Z\r\n  visit: 0\r\nstatus: ready\r\n";
        let text = FILE.replacen("---\r\n", &format!("---\r\n{gate}"), 1);
        let file = read_file(text.as_bytes(), &"AOF-abc".parse().unwrap(), &defaults).unwrap();
        let mut after = file.task.clone();
        after.change(&edit.change);
        let changed = match &edit.body {
            Some(body) => file.update_with_body(&after, body),
            None => file.update(&after),
        };
        Ok(changed?.text().replacen(gate, "", 1))
    }

    #[test]
    fn only_what_is_named_changes() {
        assert_eq!(edited(&TaskEdit::default()).unwrap(), FILE);
        let change = PlanChange {
            title: Some(" Login page ".to_owned()),
            tags: vec!["c".to_owned(), "b".to_owned()],
            metadata: Map::from_iter([("priority".to_owned(), "high".into())]),
            removal: PlanRemoval {
                tags: vec!["a".to_owned()],
                metadata: vec!["n".to_owned()],
                ..PlanRemoval::default()
            },
            ..PlanChange::default()
        };
        let text = edited(&TaskEdit { change, ..TaskEdit::default() }).unwrap();
        assert!(text.contains("title: Login page   # short\r\ntags: [b, c] # keep\r\n"), "{text}");
        assert!(
            text.contains("  priority: high\r\n  # why\r\n") && !text.contains("n: 3"),
            "{text}"
        );
        assert!(text.ends_with("---\r\nbody"), "{text}");
    }

    #[test]
    fn another_body_takes_the_line_endings_of_the_file() {
        let body = |text: &str| {
            edited(&TaskEdit { body: Some(text.to_owned()), ..TaskEdit::default() }).unwrap()
        };
        assert!(body("one\n---\ntwo").ends_with("---\r\n\r\none\r\n---\r\ntwo\r\n"));
        assert!(body("").ends_with("  n: 3\r\n---\r\n"));
    }
}
