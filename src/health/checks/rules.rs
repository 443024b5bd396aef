//! The rules: where the worktree's are not those in force, or there are none, and tasks that came to their gate under other ones.

use super::git::failing;
use super::missing_files::is_gone;
use crate::files::config::configuration::PROJECT_FILE;
use crate::git::GitError;
use crate::health::subject::{Found, Subject, count};
use crate::project::active_rules::{BRING_BACK, InForce, Remark};
use crate::project::error::ProjectError;
use crate::project::git_hints::bring_back;
use crate::project::issue::Issue;
use crate::project::rule_files::check_worktree;
use crate::project::workspace::Workspace;
use crate::system::shell::all_quoted;

/// Where git has what is this clone's alone.
pub(crate) fn own_folder(subject: &Subject<'_>) -> Found {
    if subject.index_fault.is_some() {
        return Ok(Vec::new());
    }
    let issue = match subject.workspace.own_folder_is_ours() {
        Err(error @ ProjectError::Git(GitError::OwnFolderInGit(_))) => Some(of_error(&error)),
        asked => asked.err().map(|error| failing(&error)),
    };
    Ok(issue.into_iter().collect())
}

/// Whether there are rules in force, and those that people see.
pub(crate) fn in_force(subject: &Subject<'_>) -> Found {
    let workspace = subject.workspace;
    let project = match &subject.project {
        Ok(project) => project,
        Err(error) => return Ok(vec![of_error(error)]),
    };
    let mut issues = Vec::new();
    for remark in &project.in_force.remarks {
        issues.extend(of_remark(workspace, remark));
    }
    issues.extend(no_rules(workspace, &project.in_force)?);
    Ok(issues)
}

/// Tasks that came to their gate under other rules.
pub(crate) fn drifted(subject: &Subject<'_>) -> Found {
    let drifted = subject.drifted();
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

fn of_error(error: &ProjectError) -> Issue {
    let fix = "see `aof workflow validate`, mend it, and commit".to_owned();
    Issue::new(error.code(), error.to_string(), error.fix().unwrap_or(fix))
}

/// Returns what is to be said of rules that are not those that people see.
fn of_remark(workspace: &Workspace, remark: &Remark) -> Vec<Issue> {
    match remark {
        Remark::Uncommitted(files) => {
            let repository = &workspace.repository;
            // In the middle of a merge, what is there and what is not is git's to tell.
            let is_gone = |file: &&String| {
                repository.go_on().is_none() && is_gone(&repository.worktree_path(file))
            };
            let (gone, others): (Vec<_>, Vec<_>) = files.iter().partition(is_gone);
            let gone = gone.into_iter().map(|file| {
                Issue::new(
                    "rules_not_committed",
                    format!("`{file}` is gone; the committed rules count"),
                    if file == PROJECT_FILE {
                        bring_back(file)
                    } else {
                        format!("{}, or commit that it is gone", bring_back(file))
                    },
                )
            });
            gone.chain(differing(workspace, &others)).collect()
        }
        Remark::Unheeded(file) => vec![Issue::new(
            "rules_not_committed",
            format!(
                "`{}` differs from what is committed; which branch the project lives on is said by what is committed",
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
            "see `aof workflow validate`, mend them, and commit".to_owned(),
        )],
    }
}

/// Files that say something else than what is committed.
fn differing(workspace: &Workspace, files: &[&String]) -> Option<Issue> {
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
    let fix = match (workspace.repository.go_on(), valid) {
        (Some(go_on), true) => {
            format!("it counts once that is done; when all is solved: `git add {named} && {go_on}`")
        }
        (Some(go_on), false) => {
            format!(
                "mend it, see `aof workflow validate`, and go on when all is solved: `git add {named} && {go_on}`"
            )
        }
        (None, true) => {
            format!("commit it to bring it into force: `git commit -m \"rules\" -- {named}`")
        }
        (None, false) => "see `aof workflow validate`, mend it, and commit".to_owned(),
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

/// Where nothing that is committed says which gates there are, whoever likes completes any task.
fn no_rules(workspace: &Workspace, in_force: &InForce) -> Result<Option<Issue>, ProjectError> {
    let Some(commit) = in_force.commit.filter(|_| in_force.rules.project.implicit_workflow) else {
        return Ok(None);
    };
    let is_there = workspace.repository.blob_id(commit, PROJECT_FILE)?.is_some();
    Ok((!is_there).then(|| Issue::new("no_rules", format!(
            "there is no {PROJECT_FILE}, so every task has one gate, and any agent may complete it"
        ), BRING_BACK.to_owned())))
}
