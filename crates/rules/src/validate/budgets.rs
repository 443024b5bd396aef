//! Checks that the programs of agents report what budgets limit.

use super::checker::Finding;
use aof_domain::{AgentId, ConfigPlace, Launch, Org, Project, RunBudget, Severity, Workflow};

impl Finding {
    /// Returns the agents whose programs do not report what a budget limits.
    pub(crate) fn about_budgets(project: &Project, org: &Org) -> Vec<Self> {
        let mut findings = Vec::new();
        let workflows = project.workflows.iter().map(|workflow| workflow.budget);
        let budgets: Vec<RunBudget> =
            [project.budgets.task, project.budgets.day].into_iter().chain(workflows).collect();
        let has_cost = budgets.iter().any(|budget| budget.cost.is_some());
        let has_tokens = budgets.iter().any(|budget| budget.tokens.is_some());
        for (id, agent) in org.agents.iter().flatten() {
            let Some(run) = agent.run.as_ref().filter(|_| !is_plain(project, org, id)) else {
                continue;
            };
            let unseen = match (run.reports_cost(), run.reports_tokens()) {
                (false, false) if has_cost && has_tokens => "cost and tokens",
                (false, _) if has_cost => "cost",
                (_, false) if has_tokens => "tokens",
                _ => continue,
            };
            let message =
                format!("`{id}` reports no {unseen}, so a budget does not limit it there");
            findings.push(Finding::new(
                Severity::Warning,
                "unreported_spending",
                ConfigPlace::Agent { agent: id.clone(), field: "run" },
                message,
                help(run),
            ));
        }
        findings
    }
}

fn help(run: &Launch) -> &'static str {
    if run.reports_tokens() {
        "limit its `tokens`, or its `time`"
    } else {
        "limit its `time`; if it prints what a preset does, say so in `reads`"
    }
}

/// Returns whether the agent works only at gates whose exit statuses are the verdict: a plain program, which costs nothing.
fn is_plain(project: &Project, org: &Org, agent: &AgentId) -> bool {
    let parts = project.workflows.iter().flat_map(Workflow::parts);
    let duties = parts.filter_map(|(_, part)| part.duty());
    let mut own =
        duties.filter(|duty| org.roles_of(agent).any(|role| *role == duty.role)).peekable();
    own.peek().is_some() && own.all(|duty| !duty.run.exit.is_empty() || !duty.run.wait.is_empty())
}
