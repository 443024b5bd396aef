//! Reads the rule files of a commit or of the worktree, and compiles them to rules.

use std::cell::RefCell;
use std::fs;
use std::rc::Rc;

use tracing::debug;

use super::error::ProjectError;
use crate::domain::Severity;
use crate::files::config::configuration::{
    Configuration, ORG_FILE, PROJECT_FILE, Reading, RuleFile, Source, WORKFLOWS_FOLDER, read,
};
use crate::files::diagnostic::Diagnostic;
use crate::git::{CommitId, Repository, TreeFile, with_lf};
use crate::project::git_hints::restore_hint;
use crate::rules::{Finding, Rules};
use crate::storage::Folder;

/// The files and folders that rules are read from.
pub(crate) const RULE_FILES: [&str; 3] = [PROJECT_FILE, ORG_FILE, WORKFLOWS_FOLDER];

/// The largest rule file that is read, in bytes.
pub(crate) const RULES_LIMIT: u64 = 1024 * 1024;

/// Returns the rule files of a commit with their blobs: commits with the same blobs have the same rules.
pub(crate) fn rule_blobs(
    repository: &Repository,
    commit: CommitId,
) -> Result<Vec<TreeFile>, ProjectError> {
    let mut blobs = Vec::new();
    for name in [PROJECT_FILE, ORG_FILE] {
        blobs.extend(
            repository.blob_id(commit, name)?.map(|id| TreeFile { path: name.to_owned(), id }),
        );
    }
    blobs.extend(
        repository
            .list(commit, WORKFLOWS_FOLDER)?
            .into_iter()
            .filter(|file| RuleFile::at(&file.path).is_some()),
    );
    Ok(blobs)
}

/// Returns the rule files of a commit with their contents.
pub(crate) fn committed(
    repository: &Repository,
    commit: CommitId,
) -> Result<Vec<Source>, ProjectError> {
    sources(repository, &rule_blobs(repository, commit)?)
}

/// Returns the contents of these rule files.
pub(crate) fn sources(
    repository: &Repository,
    blobs: &[TreeFile],
) -> Result<Vec<Source>, ProjectError> {
    blobs.iter().map(|file| Ok(source(&file.path, &repository.read_blob(file.id)?))).collect()
}

/// Returns the rule files of the worktree with their contents.
pub(crate) fn worktree_rule_files(repository: &Repository) -> Result<Vec<Source>, ProjectError> {
    let mut sources = Vec::new();
    for name in worktree_rule_names(repository) {
        if let Some(bytes) = read_worktree_file(repository, &name)? {
            sources.push(source(&name, &bytes));
        }
    }
    Ok(sources)
}

/// Returns the names of the worktree's rule files; project.yaml and org.yaml always, even if they are missing.
fn worktree_rule_names(repository: &Repository) -> Vec<String> {
    let folder = repository.worktree_path(WORKFLOWS_FOLDER);
    let mut workflows: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            Some(format!("{WORKFLOWS_FOLDER}/{}", entry.ok()?.file_name().to_str()?))
        })
        .filter(|name| RuleFile::at(name).is_some())
        .collect();
    workflows.sort();
    let mut names = vec![PROJECT_FILE.to_owned(), ORG_FILE.to_owned()];
    names.append(&mut workflows);
    names
}

/// Reads a rule file of the worktree, if it is a regular file: a pipe or a folder of that name is not opened.
fn read_worktree_file(
    repository: &Repository,
    name: &str,
) -> Result<Option<Vec<u8>>, ProjectError> {
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

/// Returns the rule files in which the worktree differs from the commit. Different line endings do not count, since git may write
/// its own on checkout. A file that cannot be read counts: the result is only used for warnings.
pub(crate) fn uncommitted(
    repository: &Repository,
    commit: CommitId,
) -> Result<Vec<String>, ProjectError> {
    let before = rule_blobs(repository, commit)?;
    let mut names: Vec<String> = before
        .iter()
        .map(|file| file.path.clone())
        .chain(worktree_rule_names(repository))
        .collect();
    names.sort();
    names.dedup();
    let mut differing = Vec::new();
    for name in names {
        let committed = before.iter().find(|file| file.path == name);
        let same = match (read_worktree_file(repository, &name), committed) {
            (Ok(None), None) => true,
            (Ok(Some(now)), Some(file)) => {
                repository.is_same_text(&now, file.id)
                    || with_lf(&now) == with_lf(&repository.read_blob(file.id)?)
            }
            _ => false,
        };
        if !same {
            differing.push(name);
        }
    }
    Ok(differing)
}

/// Returns the rules of the worktree if they are valid, and their diagnostics.
pub(crate) fn check_worktree(
    repository: &Repository,
) -> Result<(Option<Rules>, Vec<Diagnostic>), ProjectError> {
    let sources = worktree_rule_files(repository)?;
    let gone = missing_project_file(repository, &sources)?;
    Ok(match (compiled(&sources), gone) {
        (Ok((rules, diagnostics)), None) => (Some(rules), diagnostics),
        (Ok((_, mut diagnostics)) | Err(mut diagnostics), gone) => {
            diagnostics.splice(..0, gone);
            (None, diagnostics)
        }
    })
}

/// Returns a diagnostic if project.yaml is committed but missing: without it, the other files would allow anyone to do anything.
fn missing_project_file(
    repository: &Repository,
    worktree: &[Source],
) -> Result<Option<Diagnostic>, ProjectError> {
    let Some(commit) = repository.head_for_reading()?.commit else { return Ok(None) };
    let is_there = worktree.iter().any(|source| source.name == PROJECT_FILE);
    if is_there || repository.blob_id(commit, PROJECT_FILE)?.is_none() {
        return Ok(None);
    }
    let message = format!("{PROJECT_FILE} is gone, and what is committed has it");
    let diagnostic =
        Diagnostic::new(Severity::Error, "missing_file", PROJECT_FILE, "", 0..0, &message);
    Ok(Some(diagnostic.help(Some(&restore_hint(PROJECT_FILE)))))
}

/// Returns the diagnostics of the rules of HEAD.
pub(crate) fn check_committed(
    repository: &Repository,
    commit: CommitId,
) -> Result<Vec<Diagnostic>, ProjectError> {
    Ok(match compiled(&committed(repository, commit)?) {
        Ok((_, diagnostics)) | Err(diagnostics) => diagnostics,
    })
}

/// Compiles these files to rules and diagnostics. Fails with all errors if they are invalid.
pub(crate) fn compiled(sources: &[Source]) -> Result<(Rules, Vec<Diagnostic>), Vec<Diagnostic>> {
    let Reading { configuration, faults } = read(sources);
    let judged = Rules::new(configuration.project.clone(), configuration.org.clone());
    if faults.is_empty() {
        return match judged {
            Ok((rules, findings)) => Ok((rules, diagnostics_of(&configuration, findings))),
            Err(findings) => Err(diagnostics_of(&configuration, findings)),
        };
    }
    let mut findings = judged.map_or_else(|findings| findings, |(_, findings)| findings);
    findings.retain(|finding| is_reliable(&configuration, &faults, finding));
    let mut all = faults;
    all.extend(diagnostics_of(&configuration, findings));
    // Sorted by file, each from top to bottom.
    all.sort_by_key(|diagnostic| (RuleFile::at(&diagnostic.file), diagnostic.span.start));
    Err(all)
}

/// Returns whether an error holds although some files could not be read: it does not depend on them.
fn is_reliable(configuration: &Configuration, faults: &[Diagnostic], finding: &Finding) -> bool {
    let depends_on_unread = match finding.code {
        "unknown_role" => faults.iter().any(|fault| fault.file == ORG_FILE),
        "unknown_workflow" => true,
        _ => false,
    };
    finding.severity == Severity::Error
        && !depends_on_unread
        && configuration.is_whole_at(&finding.at)
}

/// Returns the findings as diagnostics, each at its place in the files.
pub(crate) fn diagnostics_of(
    configuration: &Configuration,
    findings: Vec<Finding>,
) -> Vec<Diagnostic> {
    let place = |finding: Finding| {
        let Finding { severity, code, at, range, message, help } = finding;
        configuration.diagnostic(severity, code, &at, range.as_ref(), &message, help.as_deref())
    };
    findings.into_iter().map(place).collect()
}

/// A cache of the last valid rules, and the blobs that they were compiled from.
#[derive(Default)]
pub(crate) struct LastRules(RefCell<Option<(Vec<TreeFile>, Rc<Rules>)>>);

impl LastRules {
    /// Returns the rules of these files, or all their errors.
    pub(super) fn compiled(
        &self,
        repository: &Repository,
        blobs: &[TreeFile],
    ) -> Result<Result<Rc<Rules>, Vec<Diagnostic>>, ProjectError> {
        if let Some((_, rules)) = self.0.borrow().as_ref().filter(|(known, _)| known == blobs) {
            return Ok(Ok(Rc::clone(rules)));
        }
        debug!(files = blobs.len(), "reading the rules");
        Ok(compiled(&sources(repository, blobs)?).map(|(rules, _)| {
            let rules = Rc::new(rules);
            *self.0.borrow_mut() = Some((blobs.to_vec(), Rc::clone(&rules)));
            rules
        }))
    }
}
