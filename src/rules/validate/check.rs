//! Everything that can be wrong with a project's rules beyond their shape, found in one go.

use super::finding::{Finding, RuleChecker};
use super::org;
use crate::domain::{
    AgentId, Fork, Gate, GateKind, Org, Outcome, Place, Project, Severity, Workflow, did_you_mean,
    listed,
};
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
fn check(project: &Project, org: &Org, conditions: &mut Conditions) -> Vec<Finding> {
    let mut findings = Vec::new();
    if project.workflow(&project.default_workflow).is_none() {
        let names = project.workflows.iter().map(|workflow| workflow.name.as_str());
        findings.push(Finding::new(
            Severity::Error,
            "unknown_workflow",
            Place::Project { field: "defaultWorkflow" },
            format!("there is no workflow `{}`", project.default_workflow),
            format!("name one of {}", listed(names)),
        ));
    }
    for workflow in &project.workflows {
        let Some(gate) = workflow.gates.first() else { continue };
        let findings = &mut findings;
        let (index, branch, conditions) = (0, None, &mut *conditions);
        RuleChecker { project, org, workflow, index, gate, branch, conditions, findings }
            .workflow();
    }
    org::check(project, org, &mut findings);
    findings
}

impl RuleChecker<'_> {
    fn workflow(&mut self) {
        let workflow = self.workflow;
        let Workflow { name, default_outcome, .. } = workflow;
        if !matches!(default_outcome, Outcome::Complete | Outcome::Blocked) {
            self.say(
                Severity::Warning,
                "dead_default_outcome",
                Place::Workflow { workflow: name.clone(), field: "defaultOutcome" },
                format!(
                    "`defaultOutcome: {default_outcome}` can never apply: it counts only at gates that cannot reject"
                ),
                "use `complete`, or leave the field out",
            );
        }
        if self.is_too_large() {
            return;
        }
        for (index, gate) in workflow.gates.iter().enumerate() {
            (self.index, self.gate) = (index, gate);
            if let Some((first, _)) = workflow.gate(&gate.id).filter(|(first, _)| *first < index) {
                let ordinal = first + 1;
                let message = format!(
                    "gate `{}` is defined twice: it is also number {ordinal} of this list",
                    gate.id
                );
                let help = "give each gate of a workflow a name of its own";
                self.error("duplicate_gate", "id", message, help);
            }
            if let Some(duty) = gate.duty() {
                self.duty(duty);
            }
            self.rejection();
            self.routes();
            self.texts();
            self.condition();
            if let GateKind::Fork(fork) = &gate.kind {
                self.fork(fork);
            }
        }
        self.visibility();
        self.reach();
    }

    /// Checks the exits of a fork and all that its branches are, each of them as a gate.
    fn fork(&mut self, fork: &Fork) {
        let (gate, branches) = (self.gate, &fork.branches);
        if branches.len() < 2 {
            let message = format!("fork `{}` has fewer than two branches", gate.id);
            let help = "add branches, or make it a gate with a `role`";
            self.error("fork_without_branches", "branches", message, help);
        }
        self.fork_exits();
        let Some(fork) = self.gate.fork() else { return };
        for (number, branch) in fork.branches.iter().enumerate() {
            (self.branch, self.gate) = (Some(number), branch.gate());
            let id = branch.id();
            if branches[..number].iter().any(|other| other.id() == id) {
                let message = format!("branch `{id}` is defined twice");
                let help = "give each branch of a fork a name of its own";
                self.error("duplicate_branch", "id", message, help);
            }
            if self.workflow.gate(id).is_some() {
                let message = format!(
                    "branch `{id}` is named like a gate of the workflow: nobody could tell which is meant"
                );
                self.error("branch_named_like_gate", "id", message, "give it a name of its own");
            }
            self.duty(branch.duty());
            self.texts();
            self.branch_exits(branch);
            self.brief_outcomes();
            self.condition();
        }
        (self.branch, self.gate) = (None, gate);
    }

    /// Says if there is more than can be checked; then nothing else is looked at.
    fn is_too_large(&mut self) -> bool {
        let before = self.findings.len();
        let workflow = self.workflow;
        let branches = |gate: &Gate| gate.fork().map_or(0, |fork| fork.branches.len());
        let gates = workflow.gates.len();
        let all = workflow.gates.iter().map(branches).sum::<usize>();
        if gates + all > MOST_GATES {
            let what = match all {
                0 => format!("{gates} gates"),
                _ => format!("{gates} gates and {all} branches"),
            };
            let message = format!("a workflow of {what}: {MOST_GATES} in all is the most");
            let help = "split it into several workflows";
            self.workflow_error("too_many_gates", "gates", message, help);
        }
        for (index, gate) in workflow.gates.iter().enumerate() {
            if branches(gate) > MOST_BRANCHES {
                self.index = index;
                let (id, count) = (&gate.id, branches(gate));
                let message =
                    format!("fork `{id}` has {count} branches: {MOST_BRANCHES} is the most");
                let help = "split it into several forks, one after the other";
                self.error("too_many_branches", "branches", message, help);
            }
        }
        self.findings.len() > before
    }

    /// Who may see the workflow must be somebody.
    fn visibility(&mut self) {
        let org = self.org;
        let roles = org.roles.iter().map(|(role, _)| role.as_str());
        let agents = org.all_agents().into_iter().map(AgentId::as_str);
        let known: Vec<&str> = roles.chain(agents).collect();
        for name in &self.workflow.visible_to {
            if !known.contains(&name.as_str()) {
                let help = did_you_mean(name, known.iter().copied())
                    .unwrap_or_else(|| "name roles or agents of org.yaml".to_owned());
                let message = format!("`{name}` is no role and no agent");
                self.workflow_error("unknown_viewer", "visibleTo", message, help);
            }
        }
    }
}
