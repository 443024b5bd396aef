//! Which rules are in force, since when, and what is wrong with those that are not.

use serde_json::{Value, json};

use super::active_rules::Remark;
use super::error::ProjectError;
use super::rule_check::check_committed;
use super::rule_sources::RULE_FILES;
use super::workspace::Workspace;
use crate::domain::Timestamp;
use crate::files::diagnostic::Diagnostic;
use crate::git::CommitId;

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
    /// Its id.
    pub commit: CommitId,
    /// When it was made.
    pub at: Timestamp,
    /// What it says of itself, in short.
    pub subject: String,
    /// Who made it.
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
