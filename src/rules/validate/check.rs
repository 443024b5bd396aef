//! What can be wrong with a project's rules beyond their shape; all of it is found in one go.

use super::finding::{Checker, Finding};
use super::org;
use crate::domain::{Gate, GateKind, Org, Outcome, Place, Project, Severity, Station, listed};
use crate::rules::workflow::hash::hash;
use crate::rules::workflow::rules::{Conditions, Rules};

/// How many gates a workflow may have: more than people can follow, and few enough to check every way between them.
const MOST_GATES: usize = 1_000;

/// How many branches a fork may have: each is told, and stands in the task's file as long as the fork is open.
const MOST_BRANCHES: usize = 100;

impl Rules {
    /// Checks and compiles the rules. Returns them with what is worth saying about them, or everything that is wrong.
    pub fn new(project: Project, org: Org) -> Result<(Self, Vec<Finding>), Vec<Finding>> {
        let mut conditions = Conditions::new();
        let findings = check(&project, &org, &mut conditions);
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            return Err(findings);
        }
        let workflows = project.workflows.iter();
        let hashes = workflows.map(|own| (own.name.clone(), hash(own))).collect();
        Ok((Self { project, org, conditions, hashes }, findings))
    }
}

/// Returns all there is to say about the rules, and puts the conditions that compile into `conditions`.
pub(crate) fn check(project: &Project, org: &Org, conditions: &mut Conditions) -> Vec<Finding> {
    let mut findings = Vec::new();
    if project.workflow(&project.default_workflow).is_none() {
        let names = project.workflows.iter().map(|workflow| workflow.name.as_str());
        findings.push(Finding {
            severity: Severity::Error,
            code: "unknown_workflow",
            at: Place::Project { field: "defaultWorkflow" },
            range: None,
            message: format!("there is no workflow `{}`", project.default_workflow),
            help: Some(format!("name one of {}", listed(names))),
        });
    }
    for workflow in &project.workflows {
        Checker { project, org, workflow, branch: None, findings: &mut findings }
            .workflow(conditions);
    }
    org::check(project, org, &mut findings);
    findings
}

impl Checker<'_> {
    fn workflow(&mut self, conditions: &mut Conditions) {
        if self.workflow.default_outcome != Outcome::Complete
            && self.workflow.default_outcome != Outcome::Blocked
        {
            let place =
                Place::Workflow { workflow: self.workflow.name.clone(), field: "defaultOutcome" };
            self.say(
                Severity::Warning,
                "dead_default_outcome",
                place,
                format!(
                    "`defaultOutcome: {}` can never apply: it counts only at gates that cannot reject",
                    self.workflow.default_outcome
                ),
                "use `complete`, or leave the field out",
            );
        }
        if self.is_too_large() {
            return;
        }
        for (index, gate) in self.workflow.gates.iter().enumerate() {
            self.identity(index, gate);
            if let Some(duty) = gate.duty() {
                self.role(index, duty);
                self.people(index, gate, duty);
                self.timing(index, gate, duty);
                self.separation(index, duty);
                self.outputs(index, gate, duty);
                self.runs(index, gate, duty);
                if let Some(signal) = &duty.signal {
                    self.signal(index, gate, signal);
                }
            }
            self.rejection(index, gate);
            self.routes(index, gate);
            self.texts(index, gate);
            if let Some(condition) = self.condition(index, gate) {
                conditions.insert((self.workflow.name.clone(), Station::from(&gate.id)), condition);
            }
            if let GateKind::Fork(fork) = &gate.kind {
                self.fork(index, gate, fork, conditions);
            }
        }
        self.visibility();
        self.reach();
    }

    /// Says if there is more than can be checked; then nothing else is looked at.
    fn is_too_large(&mut self) -> bool {
        let before = self.findings.len();
        let branches = |gate: &Gate| gate.fork().map_or(0, |fork| fork.branches.len());
        let (gates, all) =
            (self.workflow.gates.len(), self.workflow.gates.iter().map(branches).sum::<usize>());
        if gates + all > MOST_GATES {
            let what = match all {
                0 => format!("{gates} gates"),
                _ => format!("{gates} gates and {all} branches"),
            };
            self.error(
                "too_many_gates",
                Place::Workflow { workflow: self.workflow.name.clone(), field: "gates" },
                format!("a workflow of {what}: {MOST_GATES} in all is the most"),
                "split it into several workflows",
            );
        }
        for (index, gate) in self
            .workflow
            .gates
            .iter()
            .enumerate()
            .filter(|(_, gate)| branches(gate) > MOST_BRANCHES)
        {
            self.error(
                "too_many_branches",
                self.at(index, "branches"),
                format!(
                    "fork `{}` has {} branches: {MOST_BRANCHES} is the most",
                    gate.id,
                    branches(gate)
                ),
                "split it into several forks, one after the other",
            );
        }
        self.findings.len() > before
    }
}
