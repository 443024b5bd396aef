//! Checks of the branch that the project is on: the commit that names it, and code beside synced tasks.

use super::context::{CheckContext, CheckResult};
use crate::domain::Org;
use crate::git::Head;
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::issue::Issue;
use crate::project::left_steps::left_steps;
use crate::project::named_branch::{UnpushedPointer, unpushed_pointer};
use crate::project::workspace::Workspace;

/// Reports that no remote has the commit that names the project's branch.
pub(crate) fn check_pointer(context: &CheckContext<'_>) -> CheckResult {
    let issue =
        |UnpushedPointer { problem, fix }| Issue::new("pointer_not_pushed", problem, fix).advice();
    Ok(unpushed_pointer(context.workspace)?.map(issue).into_iter().collect())
}

/// Reports tasks and steps that a move of the project has left behind.
pub(crate) fn check_left_steps(context: &CheckContext<'_>) -> CheckResult {
    let issue = |(problem, fix)| Issue::new("steps_left_behind", problem, fix);
    Ok(left_steps(context.workspace)?.map(issue).into_iter().collect())
}

/// Reports that the first commit of code will stop the sync.
pub(crate) fn check_code(context: &CheckContext<'_>) -> CheckResult {
    let Some(project) = context.project() else { return Ok(Vec::new()) };
    let found = code_beside_sync(context.workspace, &project.in_force, &context.head)?;
    let issue = |(problem, fix)| Issue::new("code_stops_sync", problem, fix).advice();
    Ok(found.map(issue).into_iter().collect())
}

/// The names at the top of a repository that is for tasks alone, besides those that begin with a dot.
const OF_TASKS: [&str; 12] = [
    "project.yaml",
    "org.yaml",
    "workflows",
    "tasks",
    "monitoring",
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    "opencode.json",
    "README.md",
    "LICENSE",
    "docs",
];

/// Returns the problem and the fix if the branch of a synced project has code, and programs among the agents: what they commit there
/// stops the sync.
pub(crate) fn code_beside_sync(
    workspace: &Workspace,
    in_force: &InForce,
    head: &Head,
) -> Result<Option<(String, &'static str)>, ProjectError> {
    let git = &in_force.rules.project.git;
    let Some(commit) = head.commit.filter(|_| git.sync && git.branch.is_none()) else {
        return Ok(None);
    };
    if !has_programs(&in_force.rules.org) {
        return Ok(None);
    }
    let is_code = |name: &str| !name.starts_with('.') && !OF_TASKS.contains(&name);
    if workspace.repository.top_entries(commit, &is_code)?.is_empty() {
        return Ok(None);
    }
    let branch = head.branch();
    Ok(Some((
        format!(
            "tasks share `{branch}` with code, and `git.sync` is on: the first commit of code on `{branch}` stops the sync, and so all \
             claims, until somebody pushes it"
        ),
        "`aof migrate branch` moves the tasks to a branch of their own; or have agents commit on other branches",
    )))
}

fn has_programs(org: &Org) -> bool {
    org.all_agents().into_iter().any(|agent| !agent.is_human())
}
