//! The files that rules are read from, in a commit or in the worktree; and the rules they say, checked.

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
use crate::project::git_hints::bring_back;
use crate::rules::{Finding, Rules};
use crate::storage::Folder;

/// The files and folders that rules are read from.
pub(crate) const RULE_FILES: [&str; 3] = [PROJECT_FILE, ORG_FILE, WORKFLOWS_FOLDER];

/// The largest file of rules that is read.
pub(crate) const RULES_LIMIT: u64 = 1024 * 1024;

/// Returns which rules a commit has: two commits of the same mark have the same.
pub(crate) fn rules_mark(
    repository: &Repository,
    commit: CommitId,
) -> Result<Vec<TreeFile>, ProjectError> {
    let mut mark = Vec::new();
    for name in [PROJECT_FILE, ORG_FILE] {
        mark.extend(
            repository.blob_id(commit, name)?.map(|id| TreeFile { path: name.to_owned(), id }),
        );
    }
    mark.extend(
        repository
            .list(commit, WORKFLOWS_FOLDER)?
            .into_iter()
            .filter(|file| RuleFile::of(&file.path).is_some()),
    );
    Ok(mark)
}

/// Returns the files of rules that a commit has.
pub(crate) fn committed(
    repository: &Repository,
    commit: CommitId,
) -> Result<Vec<Source>, ProjectError> {
    sources(repository, &rules_mark(repository, commit)?)
}

/// Returns the files of such a mark.
pub(crate) fn sources(
    repository: &Repository,
    mark: &[TreeFile],
) -> Result<Vec<Source>, ProjectError> {
    mark.iter().map(|file| Ok(source(&file.path, &repository.read_blob(file.id)?))).collect()
}

/// Returns the files of rules that stand in the worktree.
pub(crate) fn standing_files(repository: &Repository) -> Result<Vec<Source>, ProjectError> {
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
    let mut workflows: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            Some(format!("{WORKFLOWS_FOLDER}/{}", entry.ok()?.file_name().to_str()?))
        })
        .filter(|name| RuleFile::of(name).is_some())
        .collect();
    workflows.sort();
    let mut names = vec![PROJECT_FILE.to_owned(), ORG_FILE.to_owned()];
    names.append(&mut workflows);
    names
}

/// Reads a file of rules in the worktree, if it is one: a pipe or a folder of that name is not opened.
fn standing_file(repository: &Repository, name: &str) -> Result<Option<Vec<u8>>, ProjectError> {
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
pub(crate) fn uncommitted(
    repository: &Repository,
    commit: CommitId,
) -> Result<Vec<String>, ProjectError> {
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

/// Returns everything to say about the rules of the worktree, and the rules if they are valid.
pub(crate) fn check_worktree(
    repository: &Repository,
) -> Result<(Option<Rules>, Vec<Diagnostic>), ProjectError> {
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
fn gone_project_file(
    repository: &Repository,
    standing: &[Source],
) -> Result<Option<Diagnostic>, ProjectError> {
    let Some(commit) = repository.head_for_reading()?.commit else { return Ok(None) };
    let is_there = standing.iter().any(|source| source.name == PROJECT_FILE);
    if is_there || repository.blob_id(commit, PROJECT_FILE)?.is_none() {
        return Ok(None);
    }
    let message = format!("{PROJECT_FILE} is gone, and what is committed has it");
    let diagnostic =
        Diagnostic::new(Severity::Error, "missing_file", PROJECT_FILE, "", 0..0, &message);
    Ok(Some(diagnostic.help(Some(&bring_back(PROJECT_FILE)))))
}

/// Returns everything to say about the rules of HEAD.
pub(crate) fn check_committed(
    repository: &Repository,
    commit: CommitId,
) -> Result<Vec<Diagnostic>, ProjectError> {
    Ok(match compiled(&committed(repository, commit)?) {
        Ok((_, diagnostics)) | Err(diagnostics) => diagnostics,
    })
}

/// Returns the rules that these files say, with what is to be noted about them, or everything wrong with them.
pub(crate) fn compiled(sources: &[Source]) -> Result<(Rules, Vec<Diagnostic>), Vec<Diagnostic>> {
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
    all.sort_by_key(|diagnostic| (RuleFile::of(&diagnostic.file), diagnostic.span.start));
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

/// Returns what was found, each at its place in the files.
pub(crate) fn placed(configuration: &Configuration, findings: Vec<Finding>) -> Vec<Diagnostic> {
    let place = |finding: Finding| {
        let Finding { severity, code, at, range, message, help } = finding;
        configuration.diagnostic(severity, code, &at, range.as_ref(), &message, help.as_deref())
    };
    findings.into_iter().map(place).collect()
}

/// The valid rules that were read last, and which files they are from: the same files say the same.
#[derive(Default)]
pub(crate) struct LastRules(RefCell<Option<(Vec<TreeFile>, Rc<Rules>)>>);

impl LastRules {
    /// Returns the rules that the files of this mark say, or everything wrong with them.
    pub(super) fn compiled(
        &self,
        repository: &Repository,
        mark: &[TreeFile],
    ) -> Result<Result<Rc<Rules>, Vec<Diagnostic>>, ProjectError> {
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
