//! Checks a project's rules beyond their shape, and finds all faults at once.

use std::ops::Range;

use crate::condition::ConditionFault;
use crate::condition::promise::CompiledPromise;
use crate::workflow::rules::{Conditions, Rules, condition_names, workflow_hash};
use aof_domain::{
    AgentId, ConfigPlace, Fix, Fork, Gate, GateKind, HandOut, Launch, Org, Outcome, Placeholder,
    Project, Remedy, Role, RoleId, RunLimits, Severity, WorkFolder, Workflow, did_you_mean, listed,
    nearest,
};

/// The most gates of a workflow: more than people can follow, and few enough to check every way between them.
const MOST_GATES: usize = 1_000;

/// The most branches of a fork: each is listed, and is in the task's file as long as the fork is open.
const MOST_BRANCHES: usize = 100;

impl Rules {
    /// Checks and compiles the rules. Returns them with the warnings and notes about them, or fails with all findings.
    pub fn new(project: Project, org: Org) -> Result<(Self, Vec<Finding>), Vec<Finding>> {
        let mut conditions = Conditions::default();
        let findings = check(&project, &org, &mut conditions);
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            return Err(findings);
        }
        let workflows = project.workflows.iter();
        let hashes = workflows.map(|one| (one.name.clone(), workflow_hash(one))).collect();
        Ok((Self { project, org, conditions, hashes }, findings))
    }

    /// Returns whether agents work in worktrees of their tasks somewhere.
    pub fn has_worktrees(&self) -> bool {
        let all = all_run_limits(&self.project, &self.org);
        all.iter().any(|(_, limits)| limits.workspace == Some(WorkFolder::Worktree))
    }
}

/// Returns all findings about the rules, and puts the conditions that compile into `conditions`.
fn check(project: &Project, org: &Org, conditions: &mut Conditions) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut named = vec![("defaultWorkflow", &project.default_workflow)];
    let of_rules = project.recurring.iter().filter_map(|rule| rule.workflow.as_ref());
    named.extend(of_rules.map(|name| ("recurring", name)));
    let of_promises = project.promises.iter().filter_map(|promise| promise.workflow.as_ref());
    named.extend(of_promises.map(|name| ("promises", name)));
    for (field, name) in named.into_iter().filter(|(_, name)| project.workflow(name).is_none()) {
        let names = project.workflows.iter().map(|workflow| workflow.name.as_str());
        findings.push(Finding::new(
            Severity::Error,
            "unknown_workflow",
            ConfigPlace::Project { field },
            format!("there is no workflow `{name}`"),
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
    check_promises(project, conditions, &mut findings);
    check_org(project, org, &mut findings);
    check_work_folders(project, org, &mut findings);
    findings
}

/// Checks and compiles the promises.
fn check_promises(project: &Project, conditions: &mut Conditions, findings: &mut Vec<Finding>) {
    for (index, promise) in project.promises.iter().enumerate() {
        let Some(workflow) = project.workflow(project.promised(promise)) else { continue };
        match CompiledPromise::compile(promise, workflow, &condition_names()) {
            Ok(promise) => conditions.promises.push(promise),
            Err(faults) => {
                let at = ConfigPlace::Promise { index, field: "always" };
                findings.extend(Finding::of_source("invalid_promise", &at, faults));
            }
        }
    }
}

/// Checks that tasks are on a branch of their own where agents work in worktrees: such a worktree has the files of another branch.
fn check_work_folders(project: &Project, org: &Org, findings: &mut Vec<Finding>) {
    if project.git.branch.is_some() {
        return;
    }
    for (at, limits) in all_run_limits(project, org) {
        if limits.workspace == Some(WorkFolder::Worktree) {
            let message = "`workspace: worktree` needs the tasks on a branch of their own";
            let fix = format!("move them there with `{}`", Fix::from(Remedy::MigrateBranch));
            findings.push(Finding::new(
                Severity::Error,
                "workspace_beside_tasks",
                at,
                message,
                fix,
            ));
        }
    }
}

/// Returns the limits of runs wherever the rules set some.
fn all_run_limits<'a>(project: &'a Project, org: &'a Org) -> Vec<(ConfigPlace, &'a RunLimits)> {
    let mut places = vec![(ConfigPlace::Project { field: "run" }, &project.run)];
    for workflow in &project.workflows {
        let name = &workflow.name;
        places
            .push((ConfigPlace::Workflow { workflow: name.clone(), field: "run" }, &workflow.run));
        for (gate, found) in workflow.gates.iter().enumerate() {
            let limits = found.duty().map(|duty| &duty.run.limits);
            let at = ConfigPlace::Gate { workflow: name.clone(), gate, field: "run" };
            places.extend(limits.map(|limits| (at, limits)));
            let branches = found.fork().map(|fork| fork.branches.as_slice()).unwrap_or_default();
            places.extend(branches.iter().enumerate().map(|(branch, found)| {
                let workflow = name.clone();
                let at =
                    ConfigPlace::Branch { workflow, gate, branch, outcome: None, field: "run" };
                (at, &found.duty().run.limits)
            }));
        }
    }
    let roles = org.roles.iter();
    places.extend(
        roles.map(|(id, role)| (ConfigPlace::Role { role: id.clone(), field: "run" }, &role.run)),
    );
    for (id, agent) in org.agents.iter().flatten() {
        let at = ConfigPlace::Agent { agent: id.clone(), field: "run" };
        places.extend(agent.run.as_ref().map(|run| (at, &run.limits)));
    }
    places
}

impl RuleChecker<'_> {
    fn workflow(&mut self) {
        let workflow = self.workflow;
        let Workflow { name, default_outcome, .. } = workflow;
        if !matches!(default_outcome, Outcome::Complete | Outcome::Blocked) {
            self.say(
                Severity::Warning,
                "dead_default_outcome",
                ConfigPlace::Workflow { workflow: name.clone(), field: "defaultOutcome" },
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
            self.for_each();
            if let GateKind::Fork(fork) = &gate.kind {
                self.fork(fork);
            }
        }
        self.staffing();
        self.visibility();
        self.rounds();
        self.reach();
    }

    /// Checks the exits of a fork, and each of its branches as a gate.
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

    /// Reports a workflow that is too large to check; nothing else of it is then checked.
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

    /// Checks that `visibleTo` names known roles and agents.
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

/// A finding about the rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub severity: Severity,
    /// The kind of the finding: stable, for JSON.
    pub code: &'static str,
    pub at: ConfigPlace,
    /// The range of bytes within a text, if the place is one.
    pub range: Option<Range<usize>>,
    pub message: String,
    /// The fix.
    pub help: Option<String>,
}

impl Finding {
    pub(crate) fn new(
        severity: Severity,
        code: &'static str,
        at: ConfigPlace,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        let (message, help) = (message.into(), Some(help.into()));
        Self { severity, code, at, range: None, message, help }
    }

    /// Returns the faults in the source of a condition at that place.
    fn of_source(
        code: &'static str,
        at: &ConfigPlace,
        faults: Vec<ConditionFault>,
    ) -> impl Iterator<Item = Self> {
        faults.into_iter().map(move |fault| {
            let (message, help) = (fault.message, fault.help);
            let (severity, range) = (Severity::Error, Some(fault.range));
            Self { severity, code, at: at.clone(), range, message, help }
        })
    }
}

/// The checks of one workflow: each reports its findings about the current gate or branch.
pub(crate) struct RuleChecker<'a> {
    pub(crate) project: &'a Project,
    pub(crate) org: &'a Org,
    pub(crate) workflow: &'a Workflow,
    /// The index of the gate in the list.
    pub(crate) index: usize,
    /// The gate, or the branch as a gate.
    pub(crate) gate: &'a Gate,
    /// The index of the branch in its fork, if the checks are about one.
    pub(crate) branch: Option<usize>,
    /// The conditions that compile.
    pub(crate) conditions: &'a mut Conditions,
    pub(crate) findings: &'a mut Vec<Finding>,
}

impl RuleChecker<'_> {
    pub(crate) fn place(&self, outcome: Option<&Outcome>, field: &'static str) -> ConfigPlace {
        let (workflow, gate) = (self.workflow.name.clone(), self.index);
        match (self.branch, outcome.cloned()) {
            (Some(branch), outcome) => {
                ConfigPlace::Branch { workflow, gate, branch, outcome, field }
            }
            (None, Some(outcome)) => ConfigPlace::Route { workflow, gate, outcome, field },
            (None, None) => ConfigPlace::Gate { workflow, gate, field },
        }
    }

    pub(crate) fn say(
        &mut self,
        severity: Severity,
        code: &'static str,
        at: ConfigPlace,
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
        let at = ConfigPlace::Workflow { workflow: self.workflow.name.clone(), field };
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

    /// Reports the faults in the source of a condition.
    pub(crate) fn condition_errors(&mut self, at: &ConfigPlace, faults: Vec<ConditionFault>) {
        self.findings.extend(Finding::of_source("invalid_condition", at, faults));
    }

    /// Reports a field of the gate that nothing would read.
    pub(crate) fn ignored(&mut self, field: &'static str, why: &str, help: &str) {
        let key = if field == "separateFrom" { "by" } else { field };
        self.error("dead_field", field, format!("`{key}` would be ignored: {why}"), help);
    }
}

/// Reports all findings about org.yaml.
fn check_org(project: &Project, org: &Org, findings: &mut Vec<Finding>) {
    for (id, found) in &org.roles {
        role(org, id, found, findings);
    }
    for (id, agent) in org.agents.iter().flatten() {
        if let Some(run) = &agent.run {
            launch(org, id, run, findings);
        }
    }
    let mut agents = org.agents.iter().flatten();
    if project.name.is_none()
        && let Some((id, _)) = agents.find(|(_, agent)| !agent.signing_keys.is_empty())
    {
        // The signed text names the project, so that a signature is not valid for another one.
        let message = "the project has no name, so what is signed here is signed for every project without one";
        findings.push(Finding::new(
            Severity::Warning,
            "unnamed_project",
            ConfigPlace::Agent { agent: id.clone(), field: "signingKey" },
            message,
            "name it in project.yaml, as in `project: {name: Shop}`",
        ));
    }
    shared(project, org, findings);
    findings.extend(Finding::about_budgets(project, org));
}

fn role(org: &Org, id: &RoleId, role: &Role, findings: &mut Vec<Finding>) {
    let at = |field| ConfigPlace::Role { role: id.clone(), field };
    let mut say = |severity, code, at, message: String, help: &str| {
        findings.push(Finding::new(severity, code, at, message, help));
    };
    if role.agents.is_empty() {
        let message =
            format!("role `{id}` has no agents: tasks that come to its gates are blocked");
        let help = "list at least one, as in `agents: [agent-1]`";
        say(Severity::Warning, "role_without_agents", at("agents"), message, help);
    }
    let nobody = !role.agents.is_empty() && role.agents.iter().all(|agent| org.room(agent) == 0);
    if let Some(way) = role.hand_out.filter(|way| *way != HandOut::Ask && nobody) {
        let message = format!(
            "`handOut: {way}` hands nothing out: nobody in role `{id}` takes tasks that way"
        );
        let help =
            "people are handed tasks if they have `maxTasks` under `agents`, as in `maxTasks: 3`";
        say(Severity::Warning, "hands_out_to_nobody", at("handOut"), message, help);
    }
    for (index, agent) in role.agents.iter().enumerate() {
        let at = ConfigPlace::Member { role: id.clone(), index };
        if role.agents[..index].contains(agent) {
            let message = format!("`{agent}` stands twice in role `{id}`");
            say(Severity::Error, "duplicate_agent", at, message, "remove one of the two");
        } else if !org.is_registered(agent) {
            let known = org.agents.iter().flatten().map(|(id, _)| id.as_str());
            let help = match did_you_mean(agent.as_str(), known) {
                Some(question) => format!("{question} or add `{agent}` to `agents`"),
                None => format!("add `{agent}` to `agents`, or remove it here"),
            };
            let message =
                format!("`{agent}` is not in the `agents` of this file and is handed no work");
            say(Severity::Warning, "unregistered_agent", at, message, &help);
        }
    }
}

/// Returns whether the roles work beside each other as branches of one fork, and nowhere one after the other.
fn only_beside(project: &Project, one: &RoleId, other: &RoleId) -> bool {
    let has = |gate: &Gate, role| gate.roles().contains(&role);
    let gates =
        || project.workflows.iter().flat_map(|one| one.gates.iter().map(move |gate| (one, gate)));
    let is_beside = |gate: &Gate| has(gate, one) && has(gate, other);
    let follows = |(workflow, gate): (&Workflow, &Gate)| {
        has(gate, one) && workflow.gates.iter().any(|next| next.id != gate.id && has(next, other))
    };
    gates().any(|(_, gate)| is_beside(gate)) && !gates().any(follows)
}

fn shared(project: &Project, org: &Org, findings: &mut Vec<Finding>) {
    for agent in org.all_agents() {
        let roles: Vec<&RoleId> = org.roles_of(agent).collect();
        let pairs = roles
            .iter()
            .enumerate()
            .flat_map(|(at, one)| roles[at + 1..].iter().rev().map(move |other| (*one, *other)));
        let mut pairs = pairs.filter(|(one, other)| !only_beside(project, one, other));
        let Some((first, last)) = pairs.next() else { continue };
        let agents = org.role(last).map(|role| role.agents.as_slice()).unwrap_or_default();
        let index = agents.iter().position(|other| other == agent).unwrap_or(0);
        findings.push(Finding::new(
            Severity::Note,
            "shared_agent",
            ConfigPlace::Member { role: last.clone(), index },
            format!("`{agent}` is in {} roles: {}", roles.len(), listed(&roles)),
            format!(
                "fine for a small team; note that it may review its own work where `{first}` hands on to `{last}`"
            ),
        ));
    }
}

/// Reports the faults in the settings for starting the agent.
fn launch(org: &Org, id: &AgentId, launch: &Launch, findings: &mut Vec<Finding>) {
    let mut say = |severity, code, message: String, help: &str| {
        let at = ConfigPlace::Agent { agent: id.clone(), field: "run" };
        findings.push(Finding::new(severity, code, at, message, help));
    };
    if id.is_human() {
        let message = format!("`{id}` is a person: nothing is started for people");
        let help = "remove `run`, or give the program an id of its own";
        say(Severity::Error, "dead_field", message, help);
    } else if org.roles_of(id).next().is_none() {
        let message = format!("`{id}` is in no role: it is never started");
        say(Severity::Warning, "runs_for_nobody", message, "add it to the `agents` of a role");
    }
    for name in launch.command.iter().flat_map(|word| Placeholder::names(word)) {
        let known = Placeholder::ALL.iter().map(|known| known.as_str());
        if name.parse::<Placeholder>().is_err()
            && let Some(near) = nearest(name, known)
        {
            let message = format!("`{{{name}}}` is passed to the program as it stands");
            let help = format!("did you mean `{{{near}}}`?");
            say(Severity::Warning, "unknown_placeholder", message, &help);
        }
    }
}
