//! The rules that decide: the committed ones. Where HEAD's are invalid, the newest valid ones before them stay in force.

use super::error::OpsError;
use crate::audit::{CommitId, Head, Repository, TreeFile};
use crate::engine::{Finding, Rules};
use crate::format::config::{Configuration, ORG_FILE, PROJECT_FILE, Reading, Source, Subject, WORKFLOWS_FOLDER, read};
use crate::format::diagnostic::Diagnostic;
use crate::format::task_file::Defaults;
use crate::model::{Severity, Timestamp};
use crate::store::Folder;

/// The files and folders that rules are read from.
const RULE_FILES: [&str; 3] = [PROJECT_FILE, ORG_FILE, WORKFLOWS_FOLDER];

/// The largest file of rules that is read.
const RULES_LIMIT: u64 = 1024 * 1024;

/// The rules in force, and what is to be said about them.
pub struct InForce {
    /// The rules.
    pub rules: Rules,
    /// The commit that they are from; absent for a project without any.
    pub commit: Option<CommitId>,
    /// What people should know.
    pub notices: Vec<Notice>,
}

/// Something that people should know about the rules in force.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// These files say something else in the worktree; it counts once it is committed.
    Uncommitted(Vec<String>),
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
}

pub(super) fn in_force(repository: &Repository, head: &Head) -> Result<InForce, OpsError> {
    let Some(commit) = head.commit else {
        return without_commit(repository);
    };
    let differing: Vec<String> = uncommitted(repository, Some(commit))?;
    let mut notices = if differing.is_empty() { Vec::new() } else { vec![Notice::Uncommitted(differing)] };
    match compiled(&committed(repository, commit)?) {
        Ok((rules, _)) => {
            if rules.project.implicit_workflow && repository.read(commit, PROJECT_FILE)?.is_none() {
                never_committed(repository)?;
            }
            Ok(InForce { rules, commit: Some(commit), notices })
        }
        Err(diagnostics) => {
            let (rules, earlier) = newest_valid(repository, commit, &diagnostics)?;
            notices.push(Notice::Superseded { commit: earlier, diagnostics });
            Ok(InForce { rules, commit: Some(earlier), notices })
        }
    }
}

/// Returns everything to say about the rules of the worktree, and the rules if they are valid.
pub fn check_worktree(repository: &Repository) -> Result<(Option<Rules>, Vec<Diagnostic>), OpsError> {
    match compiled(&standing_files(repository)?) {
        Ok((rules, diagnostics)) => Ok((Some(rules), diagnostics)),
        Err(diagnostics) => Ok((None, diagnostics)),
    }
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
    never_committed(repository)?;
    let (rules, _) = compiled(&[]).map_err(OpsError::InvalidRules)?;
    Ok(InForce { rules, commit: None, notices: Vec::new() })
}

/// Rules that were written but never committed do not count, and nobody means the stand-in then.
fn never_committed(repository: &Repository) -> Result<(), OpsError> {
    let files = standing_files(repository)?;
    if files.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = files.iter().map(|source| source.name.as_str()).collect();
    Err(OpsError::Unfit {
        code: "rules_not_committed",
        problem: format!("the rules of this project are not committed yet: {}", names.join(", ")),
        fix: format!("they count once they are: `git add {0} && git commit -m \"rules\" -- {0}`", names.join(" ")),
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

fn placed(configuration: &Configuration, findings: Vec<Finding>) -> Vec<Diagnostic> {
    let place = |finding: Finding| {
        let Finding { severity, code, at, range, message, help } = finding;
        configuration.diagnostic(severity, code, &at, range.as_ref(), &message, help.as_deref())
    };
    findings.into_iter().map(place).collect()
}

fn committed(repository: &Repository, commit: CommitId) -> Result<Vec<Source>, OpsError> {
    let mut sources = Vec::new();
    for name in [PROJECT_FILE, ORG_FILE] {
        if let Some(bytes) = repository.read(commit, name)? {
            sources.push(source(name, &bytes));
        }
    }
    for file in repository.list(commit, WORKFLOWS_FOLDER)? {
        if Subject::of(&file.path).is_some() {
            sources.push(source(&file.path, &repository.read_blob(file.id)?));
        }
    }
    Ok(sources)
}

fn standing_files(repository: &Repository) -> Result<Vec<Source>, OpsError> {
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
fn uncommitted(repository: &Repository, commit: Option<CommitId>) -> Result<Vec<String>, OpsError> {
    let before = commit.map(|commit| committed(repository, commit)).transpose()?.unwrap_or_default();
    let mut names: Vec<String> =
        before.iter().map(|source| source.name.clone()).chain(standing_names(repository)).collect();
    names.sort();
    names.dedup();
    let committed =
        |name: &str| before.iter().find(|source| source.name == name).map(|source| without_cr(&source.bytes));
    let standing = |name: &str| standing_file(repository, name).map(|now| now.map(|bytes| without_cr(&bytes)));
    names.retain(|name| !standing(name).is_ok_and(|now| now == committed(name)));
    Ok(names)
}

fn without_cr(bytes: &[u8]) -> Vec<u8> {
    let before_newline = |at: usize| bytes.get(at..at + 2) == Some(b"\r\n");
    bytes.iter().enumerate().filter(|(at, _)| !before_newline(*at)).map(|(_, byte)| *byte).collect()
}
