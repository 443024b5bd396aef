//! Something to say about the rules, and where the checks put it.

use std::ops::Range;

use crate::domain::{Org, Place, Project, Severity, Workflow};

/// Something to say about the rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub severity: Severity,
    /// What kind it is: stable, for JSON.
    pub code: &'static str,
    pub at: Place,
    /// The bytes within a text that are meant, where it is one.
    pub range: Option<Range<usize>>,
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

pub(crate) struct Checker<'a> {
    pub(crate) project: &'a Project,
    pub(crate) org: &'a Org,
    pub(crate) workflow: &'a Workflow,
    /// The branch that is looked at: what is said is said of it, not of its gate.
    pub(crate) branch: Option<usize>,
    pub(crate) findings: &'a mut Vec<Finding>,
}

impl Checker<'_> {
    pub(crate) fn at(&self, gate: usize, field: &'static str) -> Place {
        let workflow = self.workflow.name.clone();
        match self.branch {
            Some(branch) => Place::Branch { workflow, gate, branch, outcome: None, field },
            None => Place::Gate { workflow, gate, field },
        }
    }

    pub(crate) fn error(
        &mut self,
        code: &'static str,
        at: Place,
        message: String,
        help: impl Into<String>,
    ) {
        self.say(Severity::Error, code, at, message, help);
    }

    pub(crate) fn say(
        &mut self,
        severity: Severity,
        code: &'static str,
        at: Place,
        message: String,
        help: impl Into<String>,
    ) {
        self.findings.push(Finding {
            severity,
            code,
            at,
            range: None,
            message,
            help: Some(help.into()),
        });
    }
}
