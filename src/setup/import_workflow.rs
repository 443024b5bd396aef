//! Imports workflows of other systems into the project: checks them with the existing rules, writes and commits them.

use super::import::import_file::{Imported, ImportedWorkflow, RoleNeed, import};
use super::import::source::ForeignSystem;
use super::planned_files::{PlannedFiles, new_file, write_planned};
use crate::domain::{Org, Role, Severity, WorkflowName};
use crate::files::config::configuration::{Reading, Source, WORKFLOWS_FOLDER, read};
use crate::files::diagnostic::Diagnostic;
use crate::git::{CommitId, Head};
use crate::project::error::ProjectError;
use crate::project::rule_files::{RULES_LIMIT, worktree_rule_files};
use crate::project::rule_files::{compiled, diagnostics_of};
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::storage::ProjectPath;
use crate::tasks::plan::DryRun;
use crate::tasks::write::PlainFile;
use crate::tasks::write::existing_file;

/// Whether routes of the source may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fidelity {
    /// They may not.
    Whole,
    /// They may.
    Lossy,
}

/// The result of an import, or of its dry run.
pub(crate) struct ImportOutcome {
    /// The files, in the order of the workflows.
    pub paths: Vec<ProjectPath>,
    /// The roles that org.yaml lacks.
    pub missing_roles: Vec<RoleNeed>,
    /// Other diagnostics of the rules with the new files.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether the rules are valid with the new files, so that they can be committed.
    pub valid: bool,
    /// The commit; nothing if none was made.
    pub commit: Option<CommitId>,
}

/// Reads a file of another system.
pub(crate) fn read_foreign(
    file: &str,
    bytes: &[u8],
    system: Option<ForeignSystem>,
    name: Option<&WorkflowName>,
) -> Result<Imported, ProjectError> {
    import(file, bytes, system, name).map_err(|diagnostics| ProjectError::InvalidImport {
        problem: format!("`{file}` cannot be imported"),
        diagnostics,
    })
}

/// Imports the workflows into the project; without a project, only checks them.
///
/// Files are committed if the rules are valid with them. If org.yaml lacks a role they are not, and the files are left in the worktree,
/// for a person to complete and commit.
pub(crate) fn import_into_project(
    workspace: Option<&Workspace>,
    imported: &Imported,
    fidelity: Fidelity,
    dry_run: DryRun,
) -> Result<ImportOutcome, ProjectError> {
    let lost: Vec<_> = imported.lost().cloned().collect();
    if fidelity == Fidelity::Whole && !lost.is_empty() {
        return Err(ProjectError::LossyImport { lost });
    }
    let files: Vec<PlainFile> =
        imported.workflows.iter().map(file).collect::<Result<_, ProjectError>>()?;
    let mut brought = check_rules(workspace, imported, &files)?;
    if let Some(workspace) = workspace.filter(|_| dry_run == DryRun::No) {
        brought.commit = write(workspace, &files, &message(imported), brought.valid)?;
    }
    Ok(brought)
}

/// Writes the files, and commits them if the rules are valid with them.
fn write(
    workspace: &Workspace,
    files: &[PlainFile],
    message: &str,
    is_committed: bool,
) -> Result<Option<CommitId>, ProjectError> {
    let plan = |head: &Head| match existing_file(
        workspace,
        head,
        files.iter().map(|file| &file.path),
    )? {
        Some(path) => Err(ProjectError::Unfit {
            code: "file_exists",
            problem: format!("there is a `{path}` already"),
            fix: format!(
                "nothing was written: use another name (`--name`), or remove `{path}` and commit that first"
            ),
        }),
        None => Ok(PlannedFiles { outcome: (), files: files.to_vec(), is_committed }),
    };
    Ok(write_planned(workspace, DryRun::No, message, plan)?.1)
}

/// Returns the text to add to org.yaml for these roles.
pub(crate) fn roles_snippet(missing_roles: &[RoleNeed]) -> String {
    let mut text = String::from("roles:\n");
    for need in missing_roles {
        let agent =
            if need.people { "human-you".to_owned() } else { format!("agent-{}", need.role) };
        text.push_str(&format!("  {}:\n", need.role));
        if let Some(description) = &need.description {
            let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
            text.push_str(&format!("    description: {}\n", serde_json::Value::from(line)));
        }
        text.push_str(&format!("    agents: [{agent}]\n"));
        if need.people {
            text.push_str("    requireHuman: true\n");
        }
    }
    text
}

fn file(draft: &ImportedWorkflow) -> Result<PlainFile, ProjectError> {
    let path = format!("{WORKFLOWS_FOLDER}/{}.yaml", draft.name).parse()?;
    if draft.text.len() as u64 > RULES_LIMIT {
        return Err(ProjectError::InvalidImport {
            problem: format!(
                "the workflow `{}` would be larger than {} MiB, which no file of rules may be",
                draft.name,
                RULES_LIMIT >> 20
            ),
            diagnostics: Vec::new(),
        });
    }
    Ok(new_file(path, draft.text.clone()))
}

/// Checks the rules with the new files, alone and with the roles that org.yaml lacks. Fails if they are invalid even with these roles.
fn check_rules(
    workspace: Option<&Workspace>,
    imported: &Imported,
    files: &[PlainFile],
) -> Result<ImportOutcome, ProjectError> {
    let mut sources = match workspace {
        Some(workspace) => worktree_rule_files(&workspace.repository)?,
        None => Vec::new(),
    };
    let is_new = |name: &str| files.iter().any(|file| file.path.as_str() == name);
    sources.retain(|source| !is_new(&source.name));
    let added =
        files.iter().map(|file| Source { name: file.path.to_string(), bytes: file.bytes.clone() });
    sources.extend(added);
    let Reading { mut configuration, faults } = read(&sources);
    let missing_roles = missing_roles(&configuration.org, imported);
    for need in &missing_roles {
        configuration.org.roles.push((need.role.clone(), placeholder_role(need)));
    }
    let findings = match Rules::new(configuration.project.clone(), configuration.org.clone()) {
        Ok((_, findings)) | Err(findings) => diagnostics_of(&configuration, findings),
    };
    let mut diagnostics: Vec<Diagnostic> = faults.into_iter().chain(findings).collect();
    diagnostics.retain(|found| is_new(&found.file) && found.code != "no_default_workflow");
    if diagnostics.iter().any(|found| found.severity == Severity::Error) {
        return Err(ProjectError::InvalidImport {
            problem: "what the file says is no valid workflow here".to_owned(),
            diagnostics,
        });
    }
    let compiled = compiled(&sources);
    let valid = workspace.is_some() && compiled.is_ok();
    if let (Some(_), Err(faults)) = (workspace, compiled) {
        // Other errors; missing roles are reported as such.
        let error =
            |found: &Diagnostic| found.severity == Severity::Error && found.code != "unknown_role";
        diagnostics.extend(faults.into_iter().filter(error));
    }
    let paths = files.iter().map(|file| file.path.clone()).collect();
    Ok(ImportOutcome { paths, missing_roles, diagnostics, valid, commit: None })
}

fn missing_roles(org: &Org, imported: &Imported) -> Vec<RoleNeed> {
    let mut missing_roles: Vec<RoleNeed> = Vec::new();
    for need in imported.workflows.iter().flat_map(|draft| &draft.roles) {
        let known = org.roles.iter().any(|(role, _)| *role == need.role);
        match missing_roles.iter_mut().find(|other| other.role == need.role) {
            Some(other) => other.people |= need.people,
            None if known => {}
            None => missing_roles.push(need.clone()),
        }
    }
    missing_roles
}

/// Returns a role with a placeholder agent, for a role that org.yaml lacks.
fn placeholder_role(need: &RoleNeed) -> Role {
    let agent = if need.people { "human-you" } else { "agent-1" };
    Role { agents: agent.parse().into_iter().collect(), ..Role::default() }
}

fn message(imported: &Imported) -> String {
    let names: Vec<String> =
        imported.workflows.iter().map(|draft| draft.name.to_string()).collect();
    let word = if names.len() == 1 { "workflow" } else { "workflows" };
    format!("Import the {word} {} from {}", names.join(", "), imported.system)
}
