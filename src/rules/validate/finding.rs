//! Something to say about the rules, and where the checks put it.

use std::ops::Range;

use crate::domain::{Gate, Org, Outcome, Place, Project, Severity, Workflow};
use crate::rules::workflow::rules::Conditions;

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

impl Finding {
    pub(crate) fn new(
        severity: Severity,
        code: &'static str,
        at: Place,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        let (message, help) = (message.into(), Some(help.into()));
        Self { severity, code, at, range: None, message, help }
    }
}

/// The checks of one workflow: each says what it finds about the gate or branch at hand.
pub(crate) struct RuleChecker<'a> {
    pub(crate) project: &'a Project,
    pub(crate) org: &'a Org,
    pub(crate) workflow: &'a Workflow,
    /// The place of the gate in the list.
    pub(crate) index: usize,
    /// The gate, or the branch as a gate.
    pub(crate) gate: &'a Gate,
    /// The place of the branch in its fork, where one is at hand.
    pub(crate) branch: Option<usize>,
    /// The conditions that compile.
    pub(crate) conditions: &'a mut Conditions,
    pub(crate) findings: &'a mut Vec<Finding>,
}

impl RuleChecker<'_> {
    pub(crate) fn place(&self, outcome: Option<&Outcome>, field: &'static str) -> Place {
        let (workflow, gate) = (self.workflow.name.clone(), self.index);
        match (self.branch, outcome.cloned()) {
            (Some(branch), outcome) => Place::Branch { workflow, gate, branch, outcome, field },
            (None, Some(outcome)) => Place::Route { workflow, gate, outcome, field },
            (None, None) => Place::Gate { workflow, gate, field },
        }
    }

    pub(crate) fn say(
        &mut self,
        severity: Severity,
        code: &'static str,
        at: Place,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.findings.push(Finding::new(severity, code, at, message, help));
    }

    /// Reports an error in a field of the gate.
    pub(crate) fn error(
        &mut self,
        code: &'static str,
        field: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.say(Severity::Error, code, self.place(None, field), message, help);
    }

    pub(crate) fn warn(
        &mut self,
        code: &'static str,
        field: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.say(Severity::Warning, code, self.place(None, field), message, help);
    }

    /// Reports an error in a field of the workflow.
    pub(crate) fn workflow_error(
        &mut self,
        code: &'static str,
        field: &'static str,
        message: String,
        help: impl Into<String>,
    ) {
        let at = Place::Workflow { workflow: self.workflow.name.clone(), field };
        self.say(Severity::Error, code, at, message, help);
    }

    /// Reports an error in the route of an outcome.
    pub(crate) fn route_error(
        &mut self,
        code: &'static str,
        outcome: &Outcome,
        message: String,
        help: impl Into<String>,
    ) {
        self.say(Severity::Error, code, self.place(Some(outcome), "to"), message, help);
    }

    /// Reports a field of the gate that nothing would read.
    pub(crate) fn ignored(&mut self, field: &'static str, why: &str, help: &str) {
        let key = if field == "separateFrom" { "by" } else { field };
        self.error("dead_field", field, format!("`{key}` would be ignored: {why}"), help);
    }
}
