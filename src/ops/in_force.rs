//! The rules that decide: the committed ones. Where HEAD's are invalid, the newest valid ones before them stay in force.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use tracing::{debug, info};

use super::error::{OpsError, bring_back};
use super::workspace::Workspace;
use crate::audit::{CommitId, Head, Repository, TreeFile, with_lf};
use crate::engine::{Finding, Rules};
use crate::format::config::{Configuration, ORG_FILE, PROJECT_FILE, Reading, Source, Subject, WORKFLOWS_FOLDER, read};
use crate::format::diagnostic::Diagnostic;
use crate::format::shell::all_quoted;
use crate::format::task_file::Defaults;
use crate::model::{Severity, Timestamp};
use crate::store::Folder;

/// The files and folders that rules are read from.
pub(super) const RULE_FILES: [&str; 3] = [PROJECT_FILE, ORG_FILE, WORKFLOWS_FOLDER];

/// The largest file of rules that is read.
pub(super) const RULES_LIMIT: u64 = 1024 * 1024;

/// What to do where HEAD has no project.yaml.
pub(super) const BRING_BACK: &str = "where there was one, bring it back with `git restore --source=\"$(git rev-list -1 HEAD -- \
    project.yaml)^\" --staged --worktree project.yaml` and commit it; else write one, and commit it";

/// The rules in force, and what is to be said about them.
pub struct InForce {
    /// The rules.
    pub rules: Rc<Rules>,
    /// The commit that they are from; absent for a project without any.
    pub commit: Option<CommitId>,
    /// What people should know.
    pub remarks: Vec<Remark>,
}

/// The valid rules that were read last, and which files they are from: the same files say the same.
#[derive(Default)]
pub(super) struct LastRules(RefCell<Option<(Vec<TreeFile>, Rc<Rules>)>>);

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
    pub(super) fn defaults(&self, created: Timestamp) -> Defaults {
        Defaults { workflow: self.rules.project.default_workflow.clone(), created }
    }

    /// Returns what the project is called: as project.yaml has it, else as its folder.
    pub(super) fn project_name(&self, workspace: &Workspace) -> String {
        let name = self.rules.project.name.clone();
        name.or_else(|| workspace.paths.folder_name()).unwrap_or_default()
    }
}

/// Returns the rules that decide under this HEAD, and whether they are its own.
pub(super) fn in_force(workspace: &Workspace, head: &Head) -> Result<InForce, OpsError> {
    let repository = &workspace.repository;
    let Some(commit) = head.commit else {
        return without_commit(repository);
    };
    let mark = rules_mark(repository, commit)?;
    match workspace.last_rules.compiled(repository, &mark)? {
        Ok(rules) => {
            if rules.project.implicit_workflow && mark.iter().all(|file| file.path != PROJECT_FILE) {
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
pub(super) fn rules_at(workspace: &Workspace, commit: CommitId) -> Result<Option<Rc<Rules>>, OpsError> {
    let repository = &workspace.repository;
    let mark = rules_mark(repository, commit)?;
    if mark.is_empty() {
        return Ok(None);
    }
    match workspace.last_rules.compiled(repository, &mark)? {
        Ok(rules) => Ok(Some(rules)),
        Err(diagnostics) => match newest_valid(repository, commit, &diagnostics) {
            Ok((rules, _)) => Ok(Some(Rc::new(rules))),
            Err(OpsError::InvalidRules(_)) => Ok(None),
            Err(error) => Err(error),
        },
    }
}

/// Returns the rules of a project that has none.
pub(super) fn stand_in() -> Result<Rc<Rules>, OpsError> {
    compiled(&[]).map(|(rules, _)| Rc::new(rules)).map_err(OpsError::InvalidRules)
}

/// Returns the rules that decide under this HEAD, and where the worktree says something else.
pub(super) fn in_force_and_seen(workspace: &Workspace, head: &Head) -> Result<InForce, OpsError> {
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

impl LastRules {
    /// Returns the rules that the files of this mark say, or everything wrong with them.
    fn compiled(
        &self,
        repository: &Repository,
        mark: &[TreeFile],
    ) -> Result<Result<Rc<Rules>, Vec<Diagnostic>>, OpsError> {
        if let Some((_, rules)) = self.0.borrow().as_ref().filter(|(known, _)| known == mark) {
            return Ok(Ok(Rc::clone(rules)));
        }
        debug!(files = mark.len(), "reading the rules");
        Ok(compiled(&sources(repository, mark)?).map(|(rules, _)| {
            let rules = Rc::new(rules);
            *self.0.borrow_mut() = Some((mark.to_vec(), Rc::clone(&rules)));
            rules
        }))
    }
}

/// Returns everything to say about the rules of the worktree, and the rules if they are valid.
pub fn check_worktree(repository: &Repository) -> Result<(Option<Rules>, Vec<Diagnostic>), OpsError> {
    let sources = standing_files(repository)?;
    let gone = gone_project_file(repository, &sources)?;
    Ok(match (compiled(&sources), gone) {
        (Ok((rules, diagnostics)), None) => (Some(rules), diagnostics),
        (Ok((_, mut diagnostics)) | Err(mut diagnostics), gone) => {
            diagnostics.splice(..0, gone);
            (None, diagnostics)
        }
    })
}

/// Without project.yaml the others would be valid, and mean that anybody may do anything.
fn gone_project_file(repository: &Repository, standing: &[Source]) -> Result<Option<Diagnostic>, OpsError> {
    let Some(commit) = repository.look()?.commit else { return Ok(None) };
    let is_there = standing.iter().any(|source| source.name == PROJECT_FILE);
    if is_there || repository.blob_id(commit, PROJECT_FILE)?.is_none() {
        return Ok(None);
    }
    let message = format!("{PROJECT_FILE} is gone, and what is committed has it");
    let diagnostic = Diagnostic::new(Severity::Error, "missing_file", PROJECT_FILE, "", 0..0, &message);
    Ok(Some(diagnostic.help(Some(&bring_back(PROJECT_FILE)))))
}

/// Returns everything to say about the rules of HEAD.
pub fn check_committed(repository: &Repository, commit: CommitId) -> Result<Vec<Diagnostic>, OpsError> {
    Ok(match compiled(&committed(repository, commit)?) {
        Ok((_, diagnostics)) | Err(diagnostics) => diagnostics,
    })
}

/// Returns which rules a commit has: two commits of the same mark have the same.
pub fn rules_mark(repository: &Repository, commit: CommitId) -> Result<Vec<TreeFile>, OpsError> {
    let mut mark = Vec::new();
    for name in [PROJECT_FILE, ORG_FILE] {
        mark.extend(repository.blob_id(commit, name)?.map(|id| TreeFile { path: name.to_owned(), id }));
    }
    mark.extend(
        repository.list(commit, WORKFLOWS_FOLDER)?.into_iter().filter(|file| Subject::of(&file.path).is_some()),
    );
    Ok(mark)
}

fn without_commit(repository: &Repository) -> Result<InForce, OpsError> {
    never_committed(repository, &[])?;
    Ok(InForce { rules: stand_in()?, commit: None, remarks: Vec::new() })
}

/// Rules that were written but never committed do not count, and nobody means the stand-in then.
fn never_committed(repository: &Repository, committed: &[TreeFile]) -> Result<(), OpsError> {
    let files = standing_files(repository)?;
    if files.is_empty() {
        return Ok(());
    }
    let mut names: Vec<&str> = files.iter().map(|source| source.name.as_str()).collect();
    names.retain(|name| committed.iter().all(|file| file.path != *name));
    if names.is_empty() {
        return Err(OpsError::Unfit {
            code: "rules_not_committed",
            problem: format!("no {PROJECT_FILE} is committed, and without it nothing says which gates there are"),
            fix: BRING_BACK.to_owned(),
        });
    }
    Err(OpsError::Unfit {
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
) -> Result<(Rules, CommitId), OpsError> {
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
    Err(OpsError::InvalidRules(diagnostics.to_vec()))
}

/// Returns the rules that these files say, with what is to be noted about them, or everything wrong with them.
pub(super) fn compiled(sources: &[Source]) -> Result<(Rules, Vec<Diagnostic>), Vec<Diagnostic>> {
    let Reading { configuration, faults } = read(sources);
    let judged = Rules::new(configuration.project.clone(), configuration.org.clone());
    if faults.is_empty() {
        return match judged {
            Ok((rules, findings)) => Ok((rules, placed(&configuration, findings))),
            Err(findings) => Err(placed(&configuration, findings)),
        };
    }
    let mut findings = judged.map_or_else(|findings| findings, |(_, findings)| findings);
    findings.retain(|finding| stands(&configuration, &faults, finding));
    let mut all = faults;
    all.extend(placed(&configuration, findings));
    // One file after the other, each from top to bottom.
    all.sort_by_key(|diagnostic| (Subject::of(&diagnostic.file), diagnostic.span.start));
    Err(all)
}

/// Returns whether an error is one although not everything could be read: it is not about what could not.
fn stands(configuration: &Configuration, faults: &[Diagnostic], finding: &Finding) -> bool {
    let about = match finding.code {
        "unknown_role" => faults.iter().any(|fault| fault.file == ORG_FILE),
        "unknown_workflow" => true,
        _ => false,
    };
    finding.severity == Severity::Error && !about && configuration.is_whole_at(&finding.at)
}

pub(super) fn placed(configuration: &Configuration, findings: Vec<Finding>) -> Vec<Diagnostic> {
    let place = |finding: Finding| {
        let Finding { severity, code, at, range, message, help } = finding;
        configuration.diagnostic(severity, code, &at, range.as_ref(), &message, help.as_deref())
    };
    findings.into_iter().map(place).collect()
}

/// Returns the files of rules that a commit has.
pub(super) fn committed(repository: &Repository, commit: CommitId) -> Result<Vec<Source>, OpsError> {
    sources(repository, &rules_mark(repository, commit)?)
}

fn sources(repository: &Repository, mark: &[TreeFile]) -> Result<Vec<Source>, OpsError> {
    mark.iter().map(|file| Ok(source(&file.path, &repository.read_blob(file.id)?))).collect()
}

pub(super) fn standing_files(repository: &Repository) -> Result<Vec<Source>, OpsError> {
    let mut sources = Vec::new();
    for name in standing_names(repository) {
        if let Some(bytes) = standing_file(repository, &name)? {
            sources.push(source(&name, &bytes));
        }
    }
    Ok(sources)
}

/// Returns the names of the files that rules are read from, whether or not they are there.
fn standing_names(repository: &Repository) -> Vec<String> {
    let folder = repository.worktree_path(WORKFLOWS_FOLDER);
    let mut workflows: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(format!("{WORKFLOWS_FOLDER}/{}", entry.ok()?.file_name().to_str()?)))
        .filter(|name| Subject::of(name).is_some())
        .collect();
    workflows.sort();
    let mut names = vec![PROJECT_FILE.to_owned(), ORG_FILE.to_owned()];
    names.append(&mut workflows);
    names
}

/// Reads a file of rules in the worktree, if it is one: a pipe or a folder of that name is not opened.
fn standing_file(repository: &Repository, name: &str) -> Result<Option<Vec<u8>>, OpsError> {
    let path = repository.worktree_path(name);
    let root = repository.worktree_path("");
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
    match Folder::open_existing(&root, folder) {
        Ok(Some(folder)) => Ok(folder.read(file, RULES_LIMIT)?.map(|(bytes, _)| bytes)),
        Ok(None) => Ok(None),
        Err(_) if !path.exists() => Ok(None),
        Err(fault) => Err(fault.into()),
    }
}

fn source(name: &str, bytes: &[u8]) -> Source {
    Source { name: name.to_owned(), bytes: bytes.to_vec() }
}

/// Returns the files of rules in which the worktree differs from the commit. Line endings alone are no difference, because git
/// may write its own on checkout; a file that cannot be read is one: it only warns.
fn uncommitted(repository: &Repository, commit: CommitId) -> Result<Vec<String>, OpsError> {
    let before = rules_mark(repository, commit)?;
    let mut names: Vec<String> =
        before.iter().map(|file| file.path.clone()).chain(standing_names(repository)).collect();
    names.sort();
    names.dedup();
    let mut differing = Vec::new();
    for name in names {
        let committed = before.iter().find(|file| file.path == name);
        let same = match (standing_file(repository, &name), committed) {
            (Ok(None), None) => true,
            (Ok(Some(now)), Some(file)) => {
                repository.is_same_text(&now, file.id) || with_lf(&now) == with_lf(&repository.read_blob(file.id)?)
            }
            _ => false,
        };
        if !same {
            differing.push(name);
        }
    }
    Ok(differing)
}
