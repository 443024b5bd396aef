//! The rules in force: the committed ones. If those of HEAD are invalid, the newest valid ones before them stay in force.

use std::path::PathBuf;
use std::rc::Rc;

use serde_json::{Value, json};
use tracing::info;

use super::error::ProjectError;
use super::rule_files::{
    RULE_FILES, check_committed, committed, compiled, rule_blobs, uncommitted, worktree_rule_files,
};
use super::workspace::Workspace;
use crate::domain::Timestamp;
use crate::files::config::configuration::PROJECT_FILE;
use crate::files::diagnostic::Diagnostic;
use crate::files::task_file::Defaults;
use crate::git::{CommitId, Head, Repository, TreeFile};
use crate::rules::Rules;
use crate::storage::journal;
use crate::system::terminal::all_quoted;

/// The fix if HEAD has no project.yaml.
pub(crate) const RESTORE_PROJECT_FILE: &str = "where there was one, bring it back with `git restore --source=\"$(git rev-list -1 HEAD -- \
    project.yaml)^\" --staged --worktree project.yaml` and commit it; else write one, and commit it";

/// The rules in force, with remarks about them.
pub struct InForce {
    pub rules: Rc<Rules>,
    /// The commit that they are from; `None` for a project without any.
    pub commit: Option<CommitId>,
    pub remarks: Vec<Remark>,
}

/// Something that people should know about the rules in force.
#[derive(Debug, Clone, PartialEq)]
pub enum Remark {
    /// These files differ in the worktree; the changes count once they are committed.
    Uncommitted(Vec<String>),
    /// The project is kept on a branch of its own, and this file, which names the branch, has uncommitted changes.
    UncommittedProjectFile(PathBuf),
    /// The rules of HEAD are invalid; those of an earlier commit stay in force.
    Superseded {
        /// The commit whose rules are in force.
        commit: CommitId,
        /// The faults of HEAD's rules.
        diagnostics: Vec<Diagnostic>,
    },
}

impl InForce {
    /// Returns the defaults for fields that a hand-made task file lacks.
    pub(crate) fn defaults(&self, created: Timestamp) -> Defaults {
        Defaults { workflow: self.rules.project.default_workflow.clone(), created }
    }

    /// Returns the project's name: from project.yaml, otherwise that of its folder.
    pub(crate) fn project_name(&self, workspace: &Workspace) -> String {
        let name = self.rules.project.name.clone();
        name.or_else(|| workspace.paths.folder_name()).unwrap_or_default()
    }
}

/// Returns the rules in force under this HEAD, with a remark if they are those of an earlier commit.
pub(crate) fn in_force(workspace: &Workspace, head: &Head) -> Result<InForce, ProjectError> {
    let repository = &workspace.repository;
    let Some(commit) = head.commit else {
        return rules_without_commit(repository);
    };
    let blobs = rule_blobs(repository, commit)?;
    match workspace.last_rules.compiled(repository, &blobs)? {
        Ok(rules) => {
            if rules.project.implicit_workflow && blobs.iter().all(|file| file.path != PROJECT_FILE)
            {
                refuse_uncommitted_rules(repository, &blobs)?;
            }
            // The project may have moved while this command waited for the lock: then only its pointer is left.
            if let Some(branch) = &rules.project.git.branch
                && rules.project.implicit_workflow
                && blobs.len() == 1
                && head.reference != "HEAD"
                && branch.as_str() != head.branch()
            {
                return Err(ProjectError::Unfit {
                    code: "project_moved",
                    problem: format!("the project has moved to the branch `{branch}`"),
                    fix: "run the command again: it works there".into(),
                });
            }
            Ok(InForce { rules, commit: Some(commit), remarks: Vec::new() })
        }
        Err(diagnostics) => {
            let (rules, earlier) = newest_valid_rules(repository, commit, &diagnostics)?;
            info!(%commit, inForce = %earlier, "the rules of HEAD are invalid; older ones are in force");
            let remarks = vec![Remark::Superseded { commit: earlier, diagnostics }];
            Ok(InForce { rules: Rc::new(rules), commit: Some(earlier), remarks })
        }
    }
}

/// Returns the rules in force at an earlier commit, independent of the worktree; `None` if that history has no valid rules.
pub(crate) fn rules_at(
    workspace: &Workspace,
    commit: CommitId,
) -> Result<Option<Rc<Rules>>, ProjectError> {
    let repository = &workspace.repository;
    let blobs = rule_blobs(repository, commit)?;
    if blobs.is_empty() {
        return Ok(None);
    }
    match workspace.last_rules.compiled(repository, &blobs)? {
        Ok(rules) => Ok(Some(rules)),
        Err(diagnostics) => match newest_valid_rules(repository, commit, &diagnostics) {
            Ok((rules, _)) => Ok(Some(Rc::new(rules))),
            Err(ProjectError::InvalidRules(_)) => Ok(None),
            Err(error) => Err(error),
        },
    }
}

impl Workspace {
    /// Returns the rules in force, the committed ones. Never waits for a lock.
    pub fn rules(&self) -> Result<InForce, ProjectError> {
        rules_with_remarks(self, &self.repository.head_for_reading()?).map_err(
            |error| match error {
                ProjectError::Unfit { code: code @ "rules_not_committed", problem, .. }
                    if journal::is_pending(&self.paths) =>
                {
                    ProjectError::Unfit {
                        code,
                        problem,
                        fix: "`aof init` was interrupted here: run it again".into(),
                    }
                }
                error => error,
            },
        )
    }
}

/// Returns the default rules of a project that defines none.
pub(crate) fn default_rules() -> Result<Rc<Rules>, ProjectError> {
    compiled(&[]).map(|(rules, _)| Rc::new(rules)).map_err(ProjectError::InvalidRules)
}

/// Returns the rules in force under this HEAD, with remarks about rule files of the worktree that differ.
pub(crate) fn rules_with_remarks(
    workspace: &Workspace,
    head: &Head,
) -> Result<InForce, ProjectError> {
    let differing = match head.commit {
        Some(commit) => uncommitted(&workspace.repository, commit)?,
        None => Vec::new(),
    };
    let mut in_force = in_force(workspace, head)?;
    if !differing.is_empty() {
        in_force.remarks.insert(0, Remark::Uncommitted(differing));
    }
    in_force
        .remarks
        .extend(workspace.uncommitted_project_file.clone().map(Remark::UncommittedProjectFile));
    Ok(in_force)
}

fn rules_without_commit(repository: &Repository) -> Result<InForce, ProjectError> {
    refuse_uncommitted_rules(repository, &[])?;
    Ok(InForce { rules: default_rules()?, commit: None, remarks: Vec::new() })
}

/// Fails if the worktree has rules that were never committed: the default rules would not be what was intended.
fn refuse_uncommitted_rules(
    repository: &Repository,
    committed: &[TreeFile],
) -> Result<(), ProjectError> {
    let files = worktree_rule_files(repository)?;
    if files.is_empty() {
        return Ok(());
    }
    let mut names: Vec<&str> = files.iter().map(|source| source.name.as_str()).collect();
    names.retain(|name| committed.iter().all(|file| file.path != *name));
    if names.is_empty() {
        return Err(ProjectError::Unfit {
            code: "rules_not_committed",
            problem: format!(
                "no {PROJECT_FILE} is committed, and without it nothing says which gates there are"
            ),
            fix: RESTORE_PROJECT_FILE.into(),
        });
    }
    Err(ProjectError::Unfit {
        code: "rules_not_committed",
        problem: format!("the rules of this project are not committed yet: {}", names.join(", ")),
        fix: format!(
            "they count once they are: `git add {0} && git commit -m \"rules\" -- {0}`",
            all_quoted(names.iter().copied())
        )
        .into(),
    })
}

fn newest_valid_rules(
    repository: &Repository,
    from: CommitId,
    diagnostics: &[Diagnostic],
) -> Result<(Rules, CommitId), ProjectError> {
    for entry in repository.log_of(from, &RULE_FILES)? {
        let id = entry?.id;
        let sources = committed(repository, id)?;
        if sources.is_empty() {
            break;
        }
        if let Ok((rules, _)) = compiled(&sources) {
            return Ok((rules, id));
        }
    }
    Err(ProjectError::InvalidRules(diagnostics.to_vec()))
}

/// A report on the rules in force.
#[derive(Debug)]
pub(crate) struct RulesReport {
    /// The commit that introduced them; `None` if no rules are committed.
    pub since: Option<Since>,
    /// True if HEAD's rules are valid; if not, they are not in force.
    pub valid: bool,
    /// The diagnostics of HEAD's rules.
    pub diagnostics: Vec<Diagnostic>,
    /// Files whose changes are not committed, and do not count.
    pub uncommitted: Vec<String>,
}

/// The commit that introduced the rules in force.
#[derive(Debug)]
pub(crate) struct Since {
    pub commit: CommitId,
    /// The time when it was made.
    pub at: Timestamp,
    /// The first line of its message.
    pub subject: String,
    pub author: String,
}

/// Returns the report on the rules in force.
pub(crate) fn rules_report(workspace: &Workspace) -> Result<RulesReport, ProjectError> {
    let in_force = workspace.rules()?;
    let mut report =
        RulesReport { since: None, valid: true, diagnostics: Vec::new(), uncommitted: Vec::new() };
    for remark in in_force.remarks {
        match remark {
            Remark::Uncommitted(files) => report.uncommitted = files,
            Remark::UncommittedProjectFile(file) => {
                report.uncommitted.push(file.display().to_string());
            }
            Remark::Superseded { diagnostics, .. } => {
                (report.valid, report.diagnostics) = (false, diagnostics);
            }
        }
    }
    let Some(commit) = in_force.commit else { return Ok(report) };
    if report.valid {
        report.diagnostics = check_committed(&workspace.repository, commit)?;
    }
    if let Some(entry) = workspace.repository.log_of(commit, &RULE_FILES)?.next() {
        let entry = entry?;
        report.since = Some(Since {
            commit: entry.id,
            at: entry.committed,
            subject: entry.message.lines().next().unwrap_or_default().to_owned(),
            author: entry.author.name().to_owned(),
        });
    }
    Ok(report)
}

impl RulesReport {
    /// Returns the report for `--json`.
    pub(crate) fn to_value(&self) -> Value {
        let since = self.since.as_ref().map(|since| {
            json!({
                "commit": since.commit.to_string(),
                "at": since.at,
                "subject": since.subject,
                "author": since.author,
            })
        });
        json!({
            "since": since,
            "valid": self.valid,
            "diagnostics": self.diagnostics.iter().map(Diagnostic::to_value).collect::<Vec<_>>(),
            "uncommitted": self.uncommitted,
        })
    }
}
