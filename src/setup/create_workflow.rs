//! Adds a workflow file in a commit of its own. Existing rule files are never changed.

use super::planned_files::{PlannedFiles, new_file, write_planned};
use super::template::{Founder, RoleCast, Template};
use crate::domain::{AgentId, Severity, WorkflowName};
use crate::files::config::configuration::{RuleFile, Source, WORKFLOWS_FOLDER};
use crate::files::diagnostic::Diagnostic;
use crate::git::{CommitId, Head};
use crate::project::active_rules::{InForce, in_force};
use crate::project::error::ProjectError;
use crate::project::rule_files::committed;
use crate::project::rule_files::compiled;
use crate::project::workspace::Workspace;
use crate::project::workspace::known_as;
use crate::storage::ProjectPath;
use crate::tasks::plan::DryRun;
use crate::tasks::state::commit_message;
use crate::tasks::write::existing_file;

/// A workflow to create from a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewWorkflow {
    /// The name of the workflow.
    pub name: WorkflowName,
    /// The template of the workflow.
    pub template: Template,
}

/// A workflow that was created, or would be.
pub(crate) struct WorkflowFile {
    /// The path of the file.
    pub path: ProjectPath,
    /// The text of the file.
    pub text: String,
    /// The rules that were in force before.
    pub before: InForce,
    /// The result.
    pub fate: WorkflowFate,
}

/// The result of creating a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WorkflowFate {
    /// The file is committed, and in force.
    Committed(CommitId),
    /// A dry run: it could be committed.
    Ready,
    /// The rules first need these roles: the file must be committed together with an org.yaml that has them.
    Lacks {
        /// The missing roles, with suggested agents.
        roles: Vec<RoleCast>,
        /// The suggested agents that are missing under `agents` in org.yaml; empty if it has no `agents`.
        agents: Vec<AgentId>,
    },
}

/// Creates the workflow. Overwrites no file, and does not touch org.yaml. Fails if a workflow of that name exists.
pub(crate) fn create_workflow(
    workspace: &Workspace,
    new: &NewWorkflow,
    dry_run: DryRun,
) -> Result<WorkflowFile, ProjectError> {
    let message = commit_message::of_workflow(&new.name, new.template.as_str());
    let plan = |head: &Head| {
        let before = in_force(workspace, head)?;
        let path = free_path(workspace, head, &before, &new.name)?;
        let text = new.template.workflow_file();
        let fate = check_rules(workspace, head, &before, new, &path, &text)?;
        let files = vec![new_file(path.clone(), text.clone())];
        let is_committed = fate == WorkflowFate::Ready;
        let outcome = WorkflowFile { path, text, before, fate };
        Ok(PlannedFiles { outcome, files, is_committed })
    };
    let (mut made, commit) = write_planned(workspace, dry_run, &message, plan)?;
    if let Some(commit) = commit {
        made.fate = WorkflowFate::Committed(commit);
    }
    Ok(made)
}

/// Returns the path of the new file. Fails if a workflow of that name is in the worktree or in HEAD.
fn free_path(
    workspace: &Workspace,
    head: &Head,
    before: &InForce,
    name: &WorkflowName,
) -> Result<ProjectPath, ProjectError> {
    let workflow_exists = |at: &str| {
        ProjectError::Unfit {
        code: "workflow_exists",
        problem: format!("there is a workflow `{name}` already: `{at}`"),
        fix: "choose another name; a workflow that is there is changed in its file, and by committing that".into(),
    }
    };
    let paths = ["yaml", "yml"].map(|suffix| format!("{WORKFLOWS_FOLDER}/{name}.{suffix}").parse());
    let paths = paths.into_iter().collect::<Result<Vec<ProjectPath>, _>>()?;
    if let Some(path) = existing_file(workspace, head, &paths)? {
        return Err(workflow_exists(path.as_str()));
    }
    let project = &before.rules.project;
    if !project.implicit_workflow && project.workflow(name).is_some() {
        return Err(workflow_exists("project.yaml"));
    }
    Ok(format!("{WORKFLOWS_FOLDER}/{name}.yaml").parse()?)
}

/// Checks HEAD's rules with the file: they are valid, or roles are missing. Fails with any other error.
fn check_rules(
    workspace: &Workspace,
    head: &Head,
    before: &InForce,
    new: &NewWorkflow,
    path: &ProjectPath,
    text: &str,
) -> Result<WorkflowFate, ProjectError> {
    let mut sources: Vec<Source> = head
        .commit
        .map(|commit| committed(&workspace.repository, commit))
        .transpose()?
        .unwrap_or_default();
    sources.push(Source { name: path.to_string(), bytes: text.as_bytes().to_vec() });
    debug_assert_eq!(RuleFile::at(path.as_str()), Some(RuleFile::Workflow(new.name.to_string())));
    let Err(diagnostics) = compiled(&sources) else { return Ok(WorkflowFate::Ready) };
    let lacks = |fault: &Diagnostic| fault.code == "unknown_role" && fault.file == path.as_str();
    if !diagnostics.iter().filter(|one| one.severity == Severity::Error).all(lacks) {
        return Err(ProjectError::InvalidRules(diagnostics));
    }
    let org = &before.rules.org;
    let user = workspace.repository.author_identity()?;
    let mut founder = Founder::new(user.name(), user.email());
    founder.agent = known_as(workspace, org).unwrap_or(founder.agent);
    let workflow = new.template.workflow();
    let lacking: Vec<_> =
        workflow.roles().into_iter().filter(|role| org.role(role).is_none()).collect();
    let roles = new.template.cast(&lacking, &founder);
    let mut agents: Vec<AgentId> = roles.iter().flat_map(|part| part.agents.clone()).collect();
    agents.retain(|agent| !org.is_registered(agent));
    agents.sort();
    agents.dedup();
    Ok(WorkflowFate::Lacks { roles, agents })
}
