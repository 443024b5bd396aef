//! What the files of the rules say, checked: rules that are whole, or everything that is wrong with them.

use std::cell::RefCell;
use std::rc::Rc;

use tracing::debug;

use super::error::ProjectError;
use super::rule_sources::{committed, sources, standing_files};
use crate::domain::Severity;
use crate::files::config::configuration::{
    Configuration, ORG_FILE, PROJECT_FILE, Reading, Source, Subject, read,
};
use crate::files::diagnostic::Diagnostic;
use crate::git::{CommitId, Repository, TreeFile};
use crate::project::git_hints::bring_back;
use crate::rules::{Finding, Rules};

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
    let Some(commit) = repository.look()?.commit else { return Ok(None) };
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
