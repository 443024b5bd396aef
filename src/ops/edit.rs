//! What people write in a task: title, description, body, tags, metadata; and comments.

use super::author::{actor, actor_author};
use super::error::OpsError;
use super::message;
use super::transaction::{Changed, Choice, DryRun, change};
use super::workspace::Workspace;
use crate::engine::{Actor, Change, Refusal, explain};
use crate::format::task_file::{self, TaskFile};
use crate::model::{AgentId, Permission, TaskId, Timestamp};

/// Replaces the file by what `rewrite` makes of it: a person's editor, or given fields. Only what is people's may differ.
pub fn edit(
    workspace: &Workspace,
    id: &TaskId,
    agent: Option<&AgentId>,
    dry_run: DryRun,
    rewrite: &mut dyn FnMut(&[u8], &TaskFile) -> Result<Vec<u8>, OpsError>,
) -> Result<Changed, OpsError> {
    change(workspace, id, dry_run, &mut |standing| {
        let rules = &standing.in_force.rules;
        let by = actor(workspace, &rules.org, agent);
        if let Actor::Agent(agent) = &by {
            let holds = standing.file.task.routing.agent.as_ref() == Some(agent);
            let may = rules.org.agent(agent).is_some_and(|known| known.may.contains(&Permission::Edit));
            if !holds && !may {
                return Err(Refusal::NotPermitted { agent: agent.clone(), act: Permission::Edit }.into());
            }
        }
        let bytes = rewrite(&standing.snapshot.bytes, &standing.file)?;
        if bytes == standing.snapshot.bytes {
            return Ok(Choice::Settled);
        }
        let path = &standing.snapshot.path;
        let after = super::standing::parse(&standing.in_force, id, path, &bytes, workspace.now())?;
        let unchanged_history = after.raw.get("gateHistory") == standing.file.raw.get("gateHistory");
        match explain(rules, Some(&standing.file.task), &after.task) {
            Change::Same | Change::Edit if unchanged_history => {}
            Change::Foreign(fields) => return Err(not_yours(&fields.join(", "))),
            _ => return Err(not_yours("gate, status, gateHistory")),
        }
        let message = message::of_edit(&after.task, "edited");
        Ok(Choice::Bytes { bytes, message, author: actor_author(workspace, &rules.org, &by)? })
    })
}

fn not_yours(fields: &str) -> OpsError {
    OpsError::Unfit {
        code: "engine_fields",
        problem: format!("the edit changes what the engine keeps: {fields}"),
        fix: "title, description, body, tags, metadata, dependsOn, tests and keys of your own are yours; \
              a task is moved with `aof task complete` or `aof task override`"
            .to_owned(),
    }
}

/// A remark on a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// What is said.
    pub text: String,
    /// The agent that says it; absent for a person.
    pub agent: Option<AgentId>,
}

/// Appends a comment to the body of the task.
pub fn comment(workspace: &Workspace, id: &TaskId, comment: &Comment, dry_run: DryRun) -> Result<Changed, OpsError> {
    if comment.text.trim().is_empty() {
        return Err(OpsError::Unfit {
            code: "empty_comment",
            problem: "the comment says nothing".to_owned(),
            fix: "give its text, as in `aof task comment ID \"...\"`".to_owned(),
        });
    }
    change(workspace, id, dry_run, &mut |standing| {
        let org = &standing.in_force.rules.org;
        let by = actor(workspace, org, comment.agent.as_ref());
        let author = actor_author(workspace, org, &by)?;
        let name = by.agent().map_or_else(|| author.name().to_owned(), ToString::to_string);
        let now: Timestamp = workspace.now();
        let bytes = task_file::with_comment(&standing.snapshot.bytes, &name, now, &comment.text);
        Ok(Choice::Bytes { bytes, message: message::of_comment(&standing.file.task, &by, &comment.text), author })
    })
}
