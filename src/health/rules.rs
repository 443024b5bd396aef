//! Checks of the rules, of tasks that wait or do not follow them, and of the size of task folders.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::time::Duration;

use super::context::{CheckContext, CheckResult, CheckedProject, count};
use crate::domain::project::some;
use crate::domain::{Blocker, LostDependency, Status, TaskId, TaskLayout};
use crate::files::config::configuration::PROJECT_FILE;
use crate::git::GitError;
use crate::health::git::failing;
use crate::health::task_files::is_gone;
use crate::project::active_rules::{InForce, RESTORE_PROJECT_FILE, Remark};
use crate::project::error::ProjectError;
use crate::project::git_hints::restore_hint;
use crate::project::issue::Issue;
use crate::project::proofs::alarms;
use crate::project::rule_files::check_worktree;
use crate::project::trust::RulePrograms;
use crate::project::workspace::Workspace;
use crate::rules::{Finding, Rules, explained, unstaffed};
use crate::storage::layout::{TASKS, task_path};
use crate::storage::task_files::{WalkEntry, walk_active};
use crate::system::terminal::all_quoted;
use crate::tasks::apply::change_all;
use crate::tasks::automatic::follow_rules;
use crate::tasks::headers::dependencies::{Dependencies, circle_text, waiting_in_circles};
use crate::tasks::headers::summary::TaskSummary;
use crate::tasks::plan::{Choice, DryRun};
use crate::tasks::state::acceptance::tests_in_worktree;
use crate::tasks::state::commit_message;
use crate::tasks::view::task_view::show;

/// Reports files of `.aof`, which belongs to this clone alone, that are in git.
pub(crate) fn check_own_folder(context: &CheckContext<'_>) -> CheckResult {
    if context.index_fault.is_some() {
        return Ok(Vec::new());
    }
    let issue = match context.workspace.check_own_folder() {
        Err(error @ ProjectError::Git(GitError::OwnFolderInGit(_))) => {
            Some(rules_error_issue(&error))
        }
        checked => checked.err().map(|error| failing(&error)),
    };
    Ok(issue.into_iter().collect())
}

/// Reports that no rules are in force, or that they differ from those in the worktree.
pub(crate) fn check_rules_in_force(context: &CheckContext<'_>) -> CheckResult {
    let workspace = context.workspace;
    let project = match &context.project {
        Ok(project) => project,
        Err(error) => return Ok(vec![rules_error_issue(error)]),
    };
    let mut issues = Vec::new();
    for remark in &project.in_force.remarks {
        issues.extend(remark_issues(workspace, remark));
    }
    issues.extend(no_rules_issue(workspace, &project.in_force)?);
    Ok(issues)
}

/// Reports programs of the rules that do not run, because this machine's user has not trusted them.
pub(crate) fn check_programs(context: &CheckContext<'_>) -> CheckResult {
    let Some(project) = context.project() else { return Ok(Vec::new()) };
    let state = match RulePrograms::read(context.workspace, &project.in_force.rules).state() {
        Ok(state) => state,
        Err(error) => return Ok(vec![failing(&error)]),
    };
    let places: Vec<&str> =
        state.untrusted().into_iter().map(|program| program.place.as_str()).collect();
    let problem = match places.as_slice() {
        [] => return Ok(Vec::new()),
        [one] => format!("the program of {one} is not trusted on this machine, so it does not run"),
        many => format!(
            "{} programs are not trusted on this machine, so they do not run: {}",
            many.len(),
            some(many)
        ),
    };
    let fix = "see what they run with `aof trust`, which asks before it trusts them";
    Ok(vec![Issue::new("program_untrusted", problem, fix).advice()])
}

/// Reports gates of the rules in force that no agent can complete, because every eligible agent must have worked at
/// conflicting gates before.
pub(crate) fn check_staffing(context: &CheckContext<'_>) -> CheckResult {
    let Some(CheckedProject { in_force, .. }) = context.project() else { return Ok(Vec::new()) };
    let found = unstaffed(&in_force.rules.project, &in_force.rules.org).into_iter();
    let issue = |finding: Finding| {
        Issue::new(finding.code, finding.message, finding.help.unwrap_or_default())
    };
    Ok(found.map(|finding| issue(finding).advice()).collect())
}

/// Reports promises that the rules in force break.
pub(crate) fn check_promises(context: &CheckContext<'_>) -> CheckResult {
    let Some(CheckedProject { in_force, .. }) = context.project() else { return Ok(Vec::new()) };
    let project = &in_force.rules.project;
    let promised: BTreeSet<_> = project.promises.iter().map(|one| project.promised(one)).collect();
    let mut issues = Vec::new();
    for workflow in promised.into_iter().filter_map(|name| project.workflow(name)) {
        let alarms = alarms(context.workspace, in_force, workflow)?;
        let broken =
            alarms.iter().filter(|alarm| alarm.code == "broken_promise" && alarm.is_certain);
        let fix = format!("`aof workflow prove {}` tells how a task breaks it", workflow.name);
        issues.extend(
            broken.map(|alarm| Issue::new("promise_broken", alarm.message.clone(), fix.clone())),
        );
    }
    Ok(issues)
}

/// Reports tasks whose acceptance tests are invalid. `aof doctor` reads the files of tests too.
pub(crate) fn check_tests(context: &CheckContext<'_>) -> CheckResult {
    let Some(project) = context.project() else { return Ok(Vec::new()) };
    let is_bad = |task: &TaskSummary| {
        let in_file = || {
            let view = show(context.workspace, &task.id).map(|(view, _)| view);
            let tests = view.and_then(|view| {
                tests_in_worktree(context.workspace, &task.id, &view.path, &view.file)
            });
            matches!(tests, Err(ProjectError::InvalidTests { .. }))
        };
        task.has_bad_tests || task.has_tests_file && context.is_doctor() && in_file()
    };
    let bad = project.listing.tasks.iter().filter(|(task, _)| is_bad(task));
    let bad: Vec<&str> = bad.map(|(task, _)| task.id.as_str()).collect();
    let Some(first) = bad.first() else { return Ok(Vec::new()) };
    let problem = format!("the tests of {} are invalid", some(&bad));
    let fix = format!("`aof test {first}` says what is wrong");
    Ok(vec![Issue::new("invalid_tests", problem, fix)])
}

/// Reports tasks that reached their gate under earlier rules.
pub(crate) fn check_drift(context: &CheckContext<'_>) -> CheckResult {
    let drifted = context.drifted();
    if drifted == 0 {
        return Ok(Vec::new());
    }
    let tasks = count(drifted, "task came", "tasks came");
    Ok(vec![
        Issue::new(
            "rules_drifted",
            format!("{tasks} to a gate under earlier rules"),
            "nothing, if the change was meant; `aof why ID` says where a task can go now",
        )
        .advice(),
    ])
}

fn rules_error_issue(error: &ProjectError) -> Issue {
    let fix = "see `aof workflow validate`, fix it, and commit".to_owned();
    Issue::new(error.code(), error.to_string(), error.fix().unwrap_or(fix))
}

/// Returns the issues of one remark about the rules in force.
fn remark_issues(workspace: &Workspace, remark: &Remark) -> Vec<Issue> {
    match remark {
        Remark::Uncommitted(files) => {
            let repository = &workspace.repository;
            // During a merge a missing file may be part of it.
            let is_gone = |file: &&String| {
                repository.continue_command().is_none() && is_gone(&repository.worktree_path(file))
            };
            let (gone, others): (Vec<_>, Vec<_>) = files.iter().partition(is_gone);
            let gone = gone.into_iter().map(|file| {
                Issue::new(
                    "rules_not_committed",
                    format!("`{file}` is gone; the committed rules count"),
                    if file == PROJECT_FILE {
                        restore_hint(file)
                    } else {
                        format!("{}, or commit that it is gone", restore_hint(file))
                    },
                )
            });
            gone.chain(differing_files_issue(workspace, &others)).collect()
        }
        Remark::UncommittedProjectFile(file) => vec![Issue::new(
            "rules_not_committed",
            format!(
                "`{}` differs from what is committed; the committed file says which branch the project is on",
                file.display()
            ),
            "commit it where it stands to bring it into force, or take it back".to_owned(),
        )],
        Remark::Superseded { commit, diagnostics } => vec![Issue::new(
            "workflow_config_invalid",
            format!(
                "the committed rules are invalid ({}); those of commit {} stay in force",
                diagnostics.first().map(|first| first.message.clone()).unwrap_or_default(),
                &commit.to_string()[..7]
            ),
            "see `aof workflow validate`, fix them, and commit".to_owned(),
        )],
    }
}

/// Returns the issue that rule files differ from the committed ones.
fn differing_files_issue(workspace: &Workspace, files: &[&String]) -> Option<Issue> {
    let valid = match check_worktree(&workspace.repository) {
        _ if files.is_empty() => return None,
        Ok((rules, _)) => rules.is_some(),
        Err(error) => {
            return Some(Issue::new(
                "rules_not_committed",
                format!("{error}; the committed rules count"),
                error.fix().unwrap_or_else(|| "make it a file that you may read".to_owned()),
            ));
        }
    };
    let names = || files.iter().map(|file| file.as_str());
    let files_text = names().collect::<Vec<_>>().join(", ");
    let named = all_quoted(names());
    let fix = match (workspace.repository.continue_command(), valid) {
        (Some(go_on), true) => {
            format!("it counts once that is done; when all is solved: `git add {named} && {go_on}`")
        }
        (Some(go_on), false) => {
            format!(
                "fix it, see `aof workflow validate`, and go on when all is solved: `git add {named} && {go_on}`"
            )
        }
        (None, true) => {
            format!("commit it to bring it into force: `git commit -m \"rules\" -- {named}`")
        }
        (None, false) => "see `aof workflow validate`, fix it, and commit".to_owned(),
    };
    let one = files.len() == 1;
    let differ = if one { "differs" } else { "differ" };
    let fault = match (valid, one) {
        (true, _) => "",
        (false, true) => ", and is invalid",
        (false, false) => ", and are invalid",
    };
    Some(Issue::new(
        "rules_not_committed",
        format!("{files_text} {differ} from what is committed{fault}; the committed rules count"),
        fix,
    ))
}

/// Returns the issue that no project.yaml is committed, so any agent may complete any task.
fn no_rules_issue(
    workspace: &Workspace,
    in_force: &InForce,
) -> Result<Option<Issue>, ProjectError> {
    let Some(commit) = in_force.commit.filter(|_| in_force.rules.project.implicit_workflow) else {
        return Ok(None);
    };
    let is_there = workspace.repository.blob_id(commit, PROJECT_FILE)?.is_some();
    Ok((!is_there).then(|| Issue::new("no_rules", format!(
            "there is no {PROJECT_FILE}, so every task has one gate, and any agent may complete it"
        ), RESTORE_PROJECT_FILE.to_owned())))
}

/// The time that each batch waits for the lock.
const WAIT: Duration = Duration::from_secs(10);

/// Reports tasks that cannot move. `aof doctor` leaves out blocked and overdue ones: they are not a fault of the
/// project.
pub(crate) fn check_stuck_tasks(context: &CheckContext<'_>) -> CheckResult {
    let Some(CheckedProject { in_force, listing, .. }) = context.project() else {
        return Ok(Vec::new());
    };
    let mut issues = Vec::new();
    for (header, _) in &listing.tasks {
        issues.extend(stuck_task_issue(&in_force.rules, header));
    }
    issues.retain(|issue| {
        !context.is_doctor() || !matches!(issue.code, "task_blocked" | "task_overdue")
    });
    Ok(issues)
}

/// Returns the reason why a task cannot move.
fn stuck_task_issue(rules: &Rules, header: &TaskSummary) -> Option<Issue> {
    let id = &header.id;
    if header.status == Status::Blocked {
        return Some(Issue::new(
            "task_blocked",
            match &header.blockers[..] {
                [] => format!("{id} is blocked, and nobody said why"),
                blockers => {
                    let blockers = blockers.iter().map(|blocker| explained(rules, blocker));
                    format!("{id} is blocked: {}", blockers.collect::<Vec<_>>().join("; "))
                }
            },
            unblock_hint(header),
        ));
    }
    if header.exceeds_time_limit() {
        return Some(Issue::new(
            "task_overdue",
            format!("{id} has taken too long, and nobody steps in for that"),
            format!(
                "see `aof why {id}`; `aof assign {id} AGENT --claim` gives it to somebody else"
            ),
        ));
    }
    (header.gate.is_some() && rules.workflow_of(header).is_none()).then(|| {
        Issue::new(
            "task_stranded",
            format!(
                "{id} follows workflow `{}`, which the rules no longer have",
                header.routing.workflow
            ),
            format!("bring it back in a commit; or `aof cancel {id} --reason \"...\"`"),
        )
    })
}

/// Reports tasks that wait for each other, or for tasks that do not exist.
pub(crate) fn check_dependencies(context: &CheckContext<'_>) -> CheckResult {
    let Some(CheckedProject { in_force, listing, .. }) = context.project() else {
        return Ok(Vec::new());
    };
    let circle = |circle: &Vec<String>| {
        Issue::new(
            "dependency_circle",
            format!(
                "these wait for each other, so none of them is handed out: {}",
                circle_text(circle)
            ),
            format!(
                "see `aof why {}`; then take one out of a `dependsOn`: `aof edit ID --undepends ID`",
                circle[0]
            ),
        )
    };
    let dependencies = Dependencies::read(context.workspace, in_force, listing);
    let missing = |header: &TaskSummary, missing: &TaskId| {
        Issue::new(
            "dependency_missing",
            format!("{} waits for {missing}, and there is no such task", header.id),
            format!(
                "bring its file back, or go on without it: `aof edit {} --undepends {missing}`",
                header.id
            ),
        )
    };
    let mut all: Vec<Issue> = waiting_in_circles(listing).iter().map(circle).collect();
    for (header, _) in &listing.tasks {
        all.extend(dependencies.missing_for(header).into_iter().map(|id| missing(header, id)));
    }
    Ok(all)
}

/// Reports tasks at gates that new rules have changed, to which these rules have not been applied yet.
pub(crate) fn check_unapplied_rules(context: &CheckContext<'_>) -> CheckResult {
    let Some(CheckedProject { in_force, listing, .. }) = context.project() else {
        return Ok(Vec::new());
    };
    let waiting = listing.tasks.iter().filter(|(task, _)| task.has_due_act(&in_force.rules));
    let ids: Vec<&str> = waiting.map(|(header, _)| header.id.as_str()).collect();
    let what = match ids.len() {
        0 => return Ok(Vec::new()),
        1 => "task stands where the rules have",
        _ => "tasks stand where the rules have",
    };
    let issue = Issue::new(
        "rules_not_followed",
        format!("{} {what} changed: {}", ids.len(), some(&ids)),
        "`aof watch` has them follow; `aof org reload` does it now, and so does `aof doctor --fix`",
    );
    Ok(vec![issue.repaired_by(|workspace| {
        let go_on = &mut |_: Duration| ControlFlow::Continue(());
        let settled = follow_rules(workspace, WAIT, DryRun::No, go_on)?;
        settled.failures.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
    })])
}

/// Returns a hint for unblocking a blocked task.
fn unblock_hint(header: &TaskSummary) -> String {
    let id = &header.id;
    let lost = header.blockers.iter().filter_map(Blocker::lost).next_back();
    match lost.map(LostDependency::task) {
        Some(lost) => format!(
            "take {lost} up again: `aof reopen {lost} --to GATE --reason \"...\"`; \
             or go on without it: `aof edit {id} --undepends {lost}`"
        ),
        None if !header.blockers.is_empty() && header.blockers.iter().all(Blocker::is_nobody) => {
            "put somebody into the role in org.yaml, and commit that: it goes on by itself"
                .to_owned()
        }
        None => format!("see `aof why {id}`; then `aof unblock {id} --reason \"...\"`"),
    }
}

/// From this many tasks on, a folder's listing adds more to `.git` per transition than everything else.
const LARGE: usize = 1_000;

pub(crate) fn check_folder_sizes(context: &CheckContext<'_>) -> CheckResult {
    let mut folders: BTreeMap<String, usize> = BTreeMap::new();
    for entry in walk_active(&context.workspace.paths) {
        if let WalkEntry::Task(entry) = entry {
            *folders.entry(entry.path.folder().to_owned()).or_default() += 1;
        }
    }
    let layout = context.project().map(|project| project.in_force.rules.project.layout);
    let large = folders.into_iter().filter(|(_, tasks)| *tasks > LARGE);
    let issues = large.map(|(folder, tasks)| {
        let tasks = count(tasks, "active task", "active tasks");
        let issue = |fix: &str| {
            Issue::new("folder_large", format!("`{folder}` has {tasks}"), fix).advice()
        };
        match layout {
            Some(TaskLayout::Sharded) if folder == TASKS => {
                issue("`aof doctor --fix` moves them to `tasks/ab/`, where new ones go").repaired_by(move_to_shards)
            }
            _ if folder == TASKS => issue(
                "write `tasks: {layout: sharded}` into project.yaml and commit it; then `aof doctor --fix` moves them",
            ),
            _ => issue("spread them over several folders: `git mv` is enough, a task may stand anywhere below `tasks/`"),
        }
    });
    Ok(issues.collect())
}

/// Moves the tasks directly in `tasks/` to the folders for new ones, each in a commit of its own.
fn move_to_shards(workspace: &mut Workspace) -> Result<(), ProjectError> {
    let flat: Vec<TaskId> = walk_active(&workspace.paths)
        .filter_map(|entry| match entry {
            WalkEntry::Task(entry) if entry.path.folder() == TASKS => Some(entry.id),
            _ => None,
        })
        .collect();
    change_all(workspace, WAIT, &flat, &|task| {
        let to = task_path(&task.id, TaskLayout::Sharded);
        if task.snapshot.path.folder() != TASKS {
            return Ok(Choice::Settled);
        }
        let message =
            commit_message::of_edit(&task.file.task, &format!("moved to {}", to.folder()));
        Ok(Choice::Moved { to, message })
    })
}
