//! The rules in force: the committed ones. Where HEAD's are invalid, the newest valid ones before them stay in force.

use std::path::PathBuf;
use std::rc::Rc;

use serde_json::{Value, json};
use tracing::info;

use super::error::ProjectError;
use super::rule_files::{
    RULE_FILES, check_committed, committed, compiled, rules_mark, standing_files, uncommitted,
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

/// What to do where HEAD has no project.yaml.
pub(crate) const BRING_BACK: &str = "where there was one, bring it back with `git restore --source=\"$(git rev-list -1 HEAD -- \
    project.yaml)^\" --staged --worktree project.yaml` and commit it; else write one, and commit it";

/// The rules in force, and what is to be said about them.
pub struct InForce {
    pub rules: Rc<Rules>,
    /// The commit that they are from; absent for a project without any.
    pub commit: Option<CommitId>,
    pub remarks: Vec<Remark>,
}

/// Something that people should know about the rules in force.
#[derive(Debug, Clone, PartialEq)]
pub enum Remark {
    /// These files say something else in the worktree; it counts once it is committed.
    Uncommitted(Vec<String>),
    /// The project lives on a branch of its own, and this file, which names it, says something else than what is committed of it.
    Unheeded(PathBuf),
    /// The rules of HEAD are invalid; those of an earlier commit stay in force.
    Superseded {
        /// The commit whose rules are in force.
        commit: CommitId,
        /// What is wrong with HEAD's.
        diagnostics: Vec<Diagnostic>,
    },
}

impl InForce {
    /// Returns what a hand-made task file means where it says nothing.
    pub(crate) fn defaults(&self, created: Timestamp) -> Defaults {
        Defaults { workflow: self.rules.project.default_workflow.clone(), created }
    }

    /// Returns what the project is called: as project.yaml has it, else as its folder.
    pub(crate) fn project_name(&self, workspace: &Workspace) -> String {
        let name = self.rules.project.name.clone();
        name.or_else(|| workspace.paths.folder_name()).unwrap_or_default()
    }
}

/// Returns the rules that decide under this HEAD, and whether they are its own.
pub(crate) fn in_force(workspace: &Workspace, head: &Head) -> Result<InForce, ProjectError> {
    let repository = &workspace.repository;
    let Some(commit) = head.commit else {
        return without_commit(repository);
    };
    let mark = rules_mark(repository, commit)?;
    match workspace.last_rules.compiled(repository, &mark)? {
        Ok(rules) => {
            if rules.project.implicit_workflow && mark.iter().all(|file| file.path != PROJECT_FILE)
            {
                never_committed(repository, &mark)?;
            }
            Ok(InForce { rules, commit: Some(commit), remarks: Vec::new() })
        }
        Err(diagnostics) => {
            let (rules, earlier) = newest_valid(repository, commit, &diagnostics)?;
            info!(%commit, inForce = %earlier, "the rules of HEAD are invalid; older ones are in force");
            let remarks = vec![Remark::Superseded { commit: earlier, diagnostics }];
            Ok(InForce { rules: Rc::new(rules), commit: Some(earlier), remarks })
        }
    }
}

/// Returns the rules that were in force under a commit of the past, whatever stands in the worktree now; nothing where it has no
/// rules, or none that were ever valid.
pub(crate) fn rules_at(
    workspace: &Workspace,
    commit: CommitId,
) -> Result<Option<Rc<Rules>>, ProjectError> {
    let repository = &workspace.repository;
    let mark = rules_mark(repository, commit)?;
    if mark.is_empty() {
        return Ok(None);
    }
    match workspace.last_rules.compiled(repository, &mark)? {
        Ok(rules) => Ok(Some(rules)),
        Err(diagnostics) => match newest_valid(repository, commit, &diagnostics) {
            Ok((rules, _)) => Ok(Some(Rc::new(rules))),
            Err(ProjectError::InvalidRules(_)) => Ok(None),
            Err(error) => Err(error),
        },
    }
}

impl Workspace {
    /// Returns the rules that decide now: the committed ones. Reading waits for nobody.
    pub fn rules(&self) -> Result<InForce, ProjectError> {
        in_force_and_seen(self, &self.repository.head_for_reading()?).map_err(|error| match error {
            ProjectError::Unfit { code: code @ "rules_not_committed", problem, .. }
                if journal::is_pending(&self.paths) =>
            {
                ProjectError::Unfit {
                    code,
                    problem,
                    fix: "`aof init` was interrupted here: run it again".to_owned(),
                }
            }
            error => error,
        })
    }
}

/// Returns the rules of a project that has none.
pub(crate) fn stand_in() -> Result<Rc<Rules>, ProjectError> {
    compiled(&[]).map(|(rules, _)| Rc::new(rules)).map_err(ProjectError::InvalidRules)
}

/// Returns the rules that decide under this HEAD, and where the worktree says something else.
pub(crate) fn in_force_and_seen(
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
    in_force.remarks.extend(workspace.unheeded.clone().map(Remark::Unheeded));
    Ok(in_force)
}

fn without_commit(repository: &Repository) -> Result<InForce, ProjectError> {
    never_committed(repository, &[])?;
    Ok(InForce { rules: stand_in()?, commit: None, remarks: Vec::new() })
}

/// Rules that were written but never committed do not count, and nobody means the stand-in then.
fn never_committed(repository: &Repository, committed: &[TreeFile]) -> Result<(), ProjectError> {
    let files = standing_files(repository)?;
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
            fix: BRING_BACK.to_owned(),
        });
    }
    Err(ProjectError::Unfit {
        code: "rules_not_committed",
        problem: format!("the rules of this project are not committed yet: {}", names.join(", ")),
        fix: format!(
            "they count once they are: `git add {0} && git commit -m \"rules\" -- {0}`",
            all_quoted(names.iter().copied())
        ),
    })
}

fn newest_valid(
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

/// The rules in force, seen from outside.
#[derive(Debug)]
pub(crate) struct RulesReport {
    /// The commit that brought them; nothing in a project without any.
    pub since: Option<Since>,
    /// Whether HEAD's are valid; if not, they are not those in force.
    pub valid: bool,
    /// What is to be said of HEAD's.
    pub diagnostics: Vec<Diagnostic>,
    /// Files whose changes are not committed, and do not count.
    pub uncommitted: Vec<String>,
}

/// The commit that brought the rules in force.
#[derive(Debug)]
pub(crate) struct Since {
    pub commit: CommitId,
    /// When it was made.
    pub at: Timestamp,
    /// What it says of itself, in short.
    pub subject: String,
    pub author: String,
}

/// Returns which rules are in force.
pub(crate) fn rules_report(workspace: &Workspace) -> Result<RulesReport, ProjectError> {
    let in_force = workspace.rules()?;
    let mut report =
        RulesReport { since: None, valid: true, diagnostics: Vec::new(), uncommitted: Vec::new() };
    for remark in in_force.remarks {
        match remark {
            Remark::Uncommitted(files) => report.uncommitted = files,
            Remark::Unheeded(file) => report.uncommitted.push(file.display().to_string()),
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
    /// Returns the report as `--json` shows it.
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
