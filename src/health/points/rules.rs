//! What `aof status` says of the rules: where the worktree's are not those in force, or there are none.

use crate::domain::issue::Attention;
use crate::files::config::config::PROJECT_FILE;
use crate::health::status::gone::is_gone;
use crate::project::active_rules::{BRING_BACK, InForce, Remark};
use crate::project::error::error::OpsError;
use crate::project::git_hints::bring_back;
use crate::project::rule_check::check_worktree;
use crate::project::workspace::Workspace;
use crate::system::shell::all_quoted;

/// Without rules in force nothing else can be told.
pub(crate) fn of_rules(error: &OpsError) -> Attention {
    Attention {
        code: error.code(),
        problem: error.to_string(),
        fix: error
            .fix()
            .unwrap_or_else(|| "see `aof workflow validate`, mend it, and commit".to_owned()),
    }
}

/// Returns what is to be said of rules that are not those that people see.
pub(crate) fn of_remark(workspace: &Workspace, remark: &Remark) -> Vec<Attention> {
    match remark {
        Remark::Uncommitted(files) => {
            let repository = &workspace.repository;
            // In the middle of a merge, what is there and what is not is git's to tell.
            let is_gone = |file: &&String| {
                repository.go_on().is_none() && is_gone(&repository.worktree_path(file))
            };
            let (gone, others): (Vec<_>, Vec<_>) = files.iter().partition(is_gone);
            let gone = gone.into_iter().map(|file| Attention {
                code: "rules_not_committed",
                problem: format!("`{file}` is gone; the committed rules count"),
                fix: if file == PROJECT_FILE {
                    bring_back(file)
                } else {
                    format!("{}, or commit that it is gone", bring_back(file))
                },
            });
            gone.chain(differing(workspace, &others)).collect()
        }
        Remark::Unheeded(file) => vec![Attention {
            code: "rules_not_committed",
            problem: format!(
                "`{}` differs from what is committed; which branch the project lives on is said by what is committed",
                file.display()
            ),
            fix: "commit it where it stands to bring it into force, or take it back".to_owned(),
        }],
        Remark::Superseded { commit, diagnostics } => vec![Attention {
            code: "workflow_config_invalid",
            problem: format!(
                "the committed rules are invalid ({}); those of commit {} stay in force",
                diagnostics.first().map(|first| first.message.clone()).unwrap_or_default(),
                &commit.to_string()[..7]
            ),
            fix: "see `aof workflow validate`, mend them, and commit".to_owned(),
        }],
    }
}

/// Files that say something else than what is committed.
fn differing(workspace: &Workspace, files: &[&String]) -> Option<Attention> {
    let valid = match check_worktree(&workspace.repository) {
        _ if files.is_empty() => return None,
        Ok((rules, _)) => rules.is_some(),
        Err(error) => {
            return Some(Attention {
                code: "rules_not_committed",
                problem: format!("{error}; the committed rules count"),
                fix: error.fix().unwrap_or_else(|| "make it a file that you may read".to_owned()),
            });
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
    Some(Attention {
        code: "rules_not_committed",
        problem: format!(
            "{files_text} {differ} from what is committed{fault}; the committed rules count"
        ),
        fix,
    })
}

/// Where nothing that is committed says which gates there are, whoever likes completes any task.
pub(crate) fn no_rules(
    workspace: &Workspace,
    in_force: &InForce,
) -> Result<Option<Attention>, OpsError> {
    let Some(commit) = in_force.commit.filter(|_| in_force.rules.project.implicit_workflow) else {
        return Ok(None);
    };
    let is_there = workspace.repository.blob_id(commit, PROJECT_FILE)?.is_some();
    Ok((!is_there).then(|| Attention {
        code: "no_rules",
        problem: format!(
            "there is no {PROJECT_FILE}, so every task has one gate, and any agent may complete it"
        ),
        fix: BRING_BACK.to_owned(),
    }))
}
