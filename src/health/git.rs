//! Checks of git around the project: its state, locks, settings, index, remote, signing programs and merge driver.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Unit;

use super::context::{CheckContext, CheckResult, count};
use crate::domain::project::{FEW, some};
use crate::git::{Distance, GitError, Storage, is_program_installed};
use crate::history::git_race_repair::{IndexDifferences, catch_up, restore_steps};
use crate::history::merge_driver::{HOOK_LINE, has_uncommitted_attributes, install, missing};
use crate::history::staged_check::{StagedFault, merge_commands, overtaken_merge, staged_faults};
use crate::history::sync::remote_state::RemoteStanding;
use crate::project::error::{ProjectError, WorktreeDifference, merge_hint};
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;
use crate::storage::{Holder, StoreError, WriterLock};
use crate::system::terminal::all_quoted;
use crate::system::text::age;
use crate::tasks::other_worktrees::differing_tasks;
use crate::tasks::recovery::dropped_steps::{dropped_steps, lost_steps_issue};

/// The oldest version of git that has every feature used here.
const OLDEST: (u32, u32) = (2, 34);

/// The age from which a lock is probably left over: a running git holds one for less, except while a commit message is written.
const OLD_LOCK: Duration = Duration::from_mins(5);

/// Longer than a working command holds the writer lock, in seconds.
const LONG: f64 = 60.0;

/// The default limits of `git gc --auto`.
const USUAL: Storage = Storage { loose: 6_700, packs: 50 };

/// The commands that set git's user.
const SAY_WHO: &str = "`git config user.name \"Your Name\"` and `git config user.email \"you@example.org\"`; with \
                       `--global`, for every repository that does not say otherwise";

/// Reports a merge or rebase in progress, and an index that cannot be read.
pub(crate) fn check_busy(context: &CheckContext<'_>) -> CheckResult {
    let busy = context.busy.as_ref().map(|error| {
        Issue::new(
            "git_busy",
            format!("nothing can be committed: {error}"),
            "changes wait until that is done; dropped files stay in the inbox",
        )
    });
    let index = context.index_fault.as_ref().map(|fault| match fault {
        ProjectError::Git(GitError::NotRun { .. }) => failing(fault),
        fault => Issue { code: "index_unreadable", ..failing(fault) },
    });
    Ok(busy.into_iter().chain(index).collect())
}

/// Returns the issue that git fails.
pub(crate) fn failing(error: &ProjectError) -> Issue {
    let fix = error.fix().unwrap_or_else(|| "see `git status`".to_owned());
    Issue::new("git_fails", error.problem(), fix)
}

/// Reports that git has no committer, so nothing can be committed.
pub(crate) fn check_identity(context: &CheckContext<'_>) -> CheckResult {
    let Err(GitError::NoIdentity { missing }) = context.workspace.repository.identity() else {
        return Ok(Vec::new());
    };
    let problem = format!(
        "nothing can be committed: git does not know who you are, since {missing} is not set"
    );
    Ok(vec![Issue::new("no_identity", problem, SAY_WHO)])
}

/// Reports that a hanging command holds the writer lock, which it frees when it ends.
pub(crate) fn check_writer_lock(context: &CheckContext<'_>) -> CheckResult {
    let workspace = context.workspace;
    let us = Holder::this_process(workspace.command.clone(), workspace.now());
    let holder = match WriterLock::acquire(&workspace.paths, &us, Duration::ZERO, &mut |_| {}) {
        Ok(_) => return Ok(Vec::new()),
        Err(StoreError::LockTimedOut { holder, .. }) => holder,
        Err(error) => return Err(error.into()),
    };
    let held =
        |holder: &Holder| (workspace.now() - holder.since).total(Unit::Second).unwrap_or(0.0);
    if holder.as_ref().is_some_and(|holder| held(holder) < LONG) {
        return Ok(Vec::new());
    }
    let who = holder.map_or_else(
        || "a process that did not say who it is".to_owned(),
        |holder| holder.to_string(),
    );
    Ok(vec![Issue::new(
        "lock_held",
        format!("`.aof/lock` is held by {who}"),
        "see what that process does (`fuser .aof/lock` finds it), and end it if it hangs: the lock goes with it",
    )])
}

/// Reports old locks of git. Those that a killed command of ours left are in its journal, and recovery removes them.
pub(crate) fn check_git_locks(context: &CheckContext<'_>) -> CheckResult {
    let locks = match context.workspace.repository.lock_files() {
        Err(error) if !context.is_doctor() => return Ok(vec![failing(&error.into())]),
        locks => locks?,
    };
    let old = locks.into_iter().filter(|(_, old)| *old >= OLD_LOCK);
    let issues = old.map(|(path, old)| {
        let is_of_remote = path.to_string_lossy().contains("/refs/remotes/");
        let what = if is_of_remote { "fetched" } else { "committed" };
        Issue::new(
            "git_locked",
            format!("nothing can be {what}: `{}` is {} old", path.display(), age(old)),
            "if no git is running, and no editor with a commit message is open, remove that file",
        )
    });
    Ok(issues.collect())
}

/// Reports that git is missing or too old.
pub(crate) fn check_git_version(context: &CheckContext<'_>) -> CheckResult {
    Ok(version_of(context.workspace.repository.git_version().as_deref()).into_iter().collect())
}

fn version_of(version: Option<&str>) -> Option<Issue> {
    let Some(version) = version else {
        let fix = "install it, and see that it is in `PATH`";
        return Some(Issue::new("no_git", "there is no program `git`", fix));
    };
    let mut numbers =
        version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse::<u32>().ok());
    let found = (numbers.next()?, numbers.next()?);
    (found < OLDEST).then(|| {
        let problem = format!(
            "git is version {}.{}, and {}.{} is the oldest that works",
            found.0, found.1, OLDEST.0, OLDEST.1
        );
        Issue::new("git_old", problem, "install a newer one").advice()
    })
}

/// Reports index layouts for which each commit must start git.
pub(crate) fn check_index_layout(context: &CheckContext<'_>) -> CheckResult {
    let slow = [
        (
            "core.splitIndex",
            "true",
            "git config core.splitIndex false && git update-index --no-split-index",
        ),
        (
            "index.version",
            "4",
            "git config --unset index.version && git update-index --index-version 2",
        ),
        ("core.sparseCheckout", "true", "git sparse-checkout disable"),
        ("index.sparse", "true", "git config index.sparse false"),
    ];
    let mut issues = Vec::new();
    for (name, value, fix) in slow {
        if context.workspace.repository.setting(name)?.as_deref() == Some(value) {
            let fix = format!("if nothing else needs it: `{fix}`");
            issues.push(Issue::new("index_layout", format!("`{name}` is `{value}`"), fix).advice());
        }
    }
    Ok(issues)
}

/// Reports loose objects or packs that git's maintenance does not pack: they are slower to search, and take more room than one pack.
pub(crate) fn check_loose_objects(context: &CheckContext<'_>) -> CheckResult {
    let repository = &context.workspace.repository;
    let Storage { loose, packs } = repository.storage()?;
    let limits = repository.packing_limits()?;
    // Git estimates the numbers, and packs objects after the next commit.
    let more = |limit: usize| limit.saturating_add(limit / 4);
    let most = limits.map_or(USUAL, |on| Storage { loose: more(on.loose), packs: more(on.packs) });
    if loose <= most.loose && packs <= most.packs {
        return Ok(Vec::new());
    }
    let why = match limits {
        None => "its maintenance is switched off (`gc.auto`, `maintenance.auto`)",
        Some(_) => "its maintenance has not packed them; `.git/gc.log` may say why",
    };
    let problem = format!("git has {loose} loose objects and {packs} packs: {why}");
    let issue = Issue::new("repack_pays", problem, "`git gc`; `aof doctor --fix` does it").advice();
    Ok(vec![issue.repaired_by(|workspace| Ok(workspace.repository.repack()?))])
}

/// Reports task files whose index entry is not the committed one: the next `git commit` would change them.
pub(crate) fn check_index(context: &CheckContext<'_>) -> CheckResult {
    let read;
    let differences = match context.project() {
        _ if context.is_doctor() => {
            read = IndexDifferences::read(context.workspace)?;
            &read
        }
        Some(project) => &project.index,
        None => return Ok(Vec::new()),
    };
    let mut issues = Vec::new();
    if let Some((problem, fix)) = differences.stale_issue() {
        let issue = Issue::new("index_behind", problem, fix);
        issues.push(issue.repaired_by(|workspace| catch_up(workspace).map(drop)));
    }
    if let Some((problem, fix)) = differences.unstaged_issue() {
        issues.push(Issue::new("task_taken_out", problem, fix));
    }
    let names: Vec<&str> = differences.staged.iter().map(|file| file.path.as_str()).collect();
    let overtaken = if names.is_empty() { None } else { overtaken_merge_issue(context)? };
    if let Some(issue) = overtaken {
        issues.push(issue);
    } else if context.is_doctor() && !names.is_empty() {
        let files = count(names.len(), "task file is", "task files are");
        let named = all_quoted(names.iter().copied());
        issues.push(
            Issue::new(
                "task_staged",
                format!("{files} staged and not committed: {}", some(&names)),
                format!("commit it, or take it back with `git restore --staged {named}`"),
            )
            .advice(),
        );
    }
    Ok(issues)
}

/// Returns the issue of a merge that aof has overtaken.
fn overtaken_merge_issue(context: &CheckContext<'_>) -> Result<Option<Issue>, ProjectError> {
    let repository = &context.workspace.repository;
    let mut faults = staged_faults(repository)?;
    let Some(paths) = faults.remove(&StagedFault::AddsEntries) else { return Ok(None) };
    let Some(branch) = overtaken_merge(repository, &paths)? else { return Ok(None) };
    let names: Vec<&str> = paths.iter().map(String::as_str).collect();
    let problem = format!(
        "git has written a merge of `{branch}` and not committed it, since a step was committed meanwhile: {}",
        some(&names)
    );
    Ok(Some(Issue::new("merge_overtaken", problem, merge_commands(&branch))))
}

/// Reports steps that git commands dropped from the branch.
pub(crate) fn check_lost_steps(context: &CheckContext<'_>) -> CheckResult {
    let workspace = context.workspace;
    if matches!(context.busy, Some(GitError::Waiting { .. })) {
        return Ok(Vec::new());
    }
    let lost = match dropped_steps(workspace, &context.head) {
        // The checks that need the history report its faults.
        Err(_) if !context.is_doctor() => return Ok(Vec::new()),
        lost => lost?,
    };
    let issues = lost.into_iter().map(|one| {
        let issue = lost_steps_issue(workspace, &one, &context.head);
        if one.partial {
            issue
        } else {
            issue.repaired_by(|workspace| restore_steps(workspace).map(drop))
        }
    });
    Ok(issues.collect())
}

pub(crate) fn check_remote(context: &CheckContext<'_>) -> CheckResult {
    // Without a remote, or without a choice among several, there is nothing to compare.
    let Some(standing) = context.project().and_then(|project| project.remote.as_ref()) else {
        return Ok(Vec::new());
    };
    let mut issues: Vec<Issue> = Vec::new();
    if let Some((code, problem, fix)) = standing.attention() {
        issues.push(Issue::new(code, problem, fix));
    }
    let RemoteStanding { upstream, distance, .. } = standing;
    let Some(Distance { ahead, behind }) = distance.filter(|_| context.is_doctor()) else {
        return Ok(issues);
    };
    let (name, branch) = (upstream.name(), context.branch().unwrap_or_default());
    let (remote, there) = (&upstream.remote, upstream.branch());
    let (ours, theirs) = (count(ahead, "commit", "commits"), count(behind, "commit", "commits"));
    match (ahead, behind) {
        (_, 0) => {}
        (0, _) => issues.push(
            Issue::new(
                "remote_ahead",
                format!("`{name}` has {theirs} that `{branch}` has not"),
                format!("bring it: `aof sync`, or `git pull --ff-only {remote} {there}`"),
            )
            .advice(),
        ),
        _ => issues.push(Issue::new(
            "remote_diverged",
            format!("`{branch}` and `{name}` have diverged: {ours} here, {theirs} there"),
            format!(
                "bring them together: `aof sync`, or `git pull --no-rebase {remote} {there}` and `git push {remote} HEAD:{there}`"
            ),
        )),
    }
    Ok(issues)
}

pub(crate) fn check_signing(context: &CheckContext<'_>) -> CheckResult {
    let repository = &context.workspace.repository;
    let agents = context
        .project()
        .into_iter()
        .flat_map(|project| project.in_force.rules.org.agents.iter().flatten());
    let signers: Vec<&str> = agents
        .filter(|(_, agent)| !agent.signing_keys.is_empty())
        .map(|(id, _)| id.as_str())
        .collect();
    let trouble = repository.signing_problem()?;
    let lost_key = repository.missing_ssh_key()?.filter(|_| trouble.is_none()).map(|file| {
        Issue::new(
            "signing_key_missing",
            format!(
                "git is to sign with `{}` (`user.signingKey`), and there is no such file",
                file.display()
            ),
            "put the key there, or name another one with `git config user.signingKey FILE`",
        )
        .advice()
    });
    let commits = trouble.map(|trouble| {
        Issue::new(
            "cannot_sign",
            format!("commits are to be signed (`commit.gpgSign`), and cannot be: {trouble}"),
            "install the program or name a key that is there (`git config user.signingKey FILE`); or switch it off with `git config commit.gpgSign false`",
        )
    });
    let missing = repository.missing_ssh_program()?.filter(|_| !signers.is_empty());
    let completions = missing.map(|program| {
        Issue::new(
            "cannot_sign_completions",
            format!("{} must sign (`signingKey` in org.yaml), and there is no program `{program}`", some(&signers)),
            "install OpenSSH, name the program with `git config gpg.ssh.program`, or complete from a machine that has it",
        )
    });
    Ok(commits.into_iter().chain(lost_key).chain(completions).collect())
}

/// The line without which git does not ask for the driver.
const LINE: &str = "the line `tasks/**/*.md merge=aof -text` in `.gitattributes`";

pub(crate) fn check_merge_driver(context: &CheckContext<'_>) -> CheckResult {
    if context.is_doctor() {
        return check_merge_setup(context.workspace);
    }
    if context.project().is_none() || context.index_fault.is_some() {
        return Ok(Vec::new());
    }
    // In a clone that lacks the driver, git silently merges task files as text.
    let missing = missing(&context.workspace.repository)?;
    let problem = "git merges tasks as text in this clone: its configuration does not know the merge driver of `.gitattributes`";
    let issue = Issue::new("merge_driver_missing", problem, "`aof doctor --fix` puts it in place");
    Ok(Some(issue).filter(|_| missing.driver && !missing.attributes).into_iter().collect())
}

fn check_merge_setup(workspace: &Workspace) -> CheckResult {
    let missing = missing(&workspace.repository)?;
    let mut issues = Vec::new();
    let mut lacking = Vec::new();
    if missing.attributes && has_uncommitted_attributes(workspace)? {
        issues.push(Issue::new(
            "merge_driver_missing",
            format!("git does not merge tasks by their meaning; missing: {LINE}, which has changes that are not committed"),
            "commit them, or take them back; then `aof doctor --fix` adds the line, in a commit of its own",
        ));
    } else if missing.attributes {
        lacking.push(LINE);
    }
    if missing.driver {
        lacking.push("the command in git's configuration (`merge.aof.driver`)");
    }
    let hooks = listed_paths(&missing.hooks.ours);
    let advice =
        |problem: String, fix: String| Issue::new("merge_hook_missing", problem, fix).advice();
    if !lacking.is_empty() {
        if !missing.hooks.ours.is_empty() {
            lacking.push(&hooks);
        }
        let issue = Issue::new(
            "merge_driver_missing",
            format!("git does not merge tasks by their meaning; missing: {}", lacking.join(", ")),
            "`aof doctor --fix` puts it in place; `.gitattributes` in a commit of its own",
        );
        issues.push(issue.repaired_by(put_in_place));
    } else if !missing.hooks.ours.is_empty() {
        let problem = format!("git's hooks are not as aof makes them: {hooks}");
        let fix = "`aof doctor --fix` puts them in place".to_owned();
        issues.push(advice(problem, fix).repaired_by(put_in_place));
    }
    if !is_program_installed("aof") {
        issues.push(Issue::new(
            "merge_driver_not_found",
            "no folder of `PATH` has `aof`, so git cannot run it when it merges",
            "put `aof` into a folder of `PATH`, as git sees it; `aof merge-driver --settle` merges what was left",
        ));
    }
    if !missing.hooks.foreign.is_empty() {
        let hooks = listed_paths(&missing.hooks.foreign);
        let others = "for `pre-commit` and other hook managers see docs/guides/merging.md";
        issues.push(if missing.hooks.is_elsewhere {
            Issue::new(
                "merge_hook_missing",
                format!("git looks for hooks where `core.hooksPath` says, and these do not call aof's check: {hooks}"),
                format!("add the line `{HOOK_LINE}` to each of them, and make it executable; {others}"),
            )
        } else {
            let problem = format!("hooks that are not aof's do not call it: {hooks}");
            let fix = format!("have each of them run `{HOOK_LINE}`, and make it executable; {others}");
            advice(problem, fix)
        });
    }
    Ok(issues)
}

fn listed_paths(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
    names.join(", ")
}

fn put_in_place(workspace: &mut Workspace) -> Result<(), ProjectError> {
    if install(workspace)? {
        return Ok(());
    }
    Err(ProjectError::Unfit {
        code: "merge_driver_missing",
        problem: "`.gitattributes` has changes that are not committed".to_owned(),
        fix: "commit them, then run `aof doctor --fix` again".into(),
    })
}

/// Reports tasks that another worktree of the repository holds, or has moved on: they are not handed out here.
pub(crate) fn check_worktrees(context: &CheckContext<'_>) -> CheckResult {
    let workspace = context.workspace;
    let (Some(project), Some(head)) = (context.project(), context.head.commit) else {
        return Ok(Vec::new());
    };
    let mut issues = Vec::new();
    for other in workspace.repository.other_heads()? {
        let tasks = differing_tasks(workspace, &project.in_force, head, &other)?;
        if tasks.is_empty() {
            continue;
        }
        let named: Vec<String> = tasks
            .iter()
            .take(FEW)
            .map(|(id, difference)| {
                let what = match difference {
                    WorktreeDifference::Held(agent) => format!("held by `{agent}`"),
                    WorktreeDifference::Ahead => "further along".to_owned(),
                    WorktreeDifference::Diverged => "took another way".to_owned(),
                };
                format!("{id} ({what})")
            })
            .collect();
        let more = if tasks.len() > FEW { ", ..." } else { "" };
        let (count, there) = (count(tasks.len(), "task differs", "tasks differ"), other.name());
        let problem = format!("{count} in {there}: {}{more}", named.join(", "));
        let issue = Issue::new("worktrees_differ", problem, merge_hint(&other));
        issues.push(issue.because("they are not handed out here meanwhile").advice());
    }
    Ok(issues)
}

#[cfg(test)]
mod tests {
    use super::version_of;

    #[test]
    fn old_versions_are_reported() {
        let code = |version: Option<&str>| version_of(version).map(|issue| issue.code);
        assert_eq!(code(None), Some("no_git"));
        assert_eq!(code(Some("git version 2.30.2")), Some("git_old"));
        assert_eq!(code(Some("git version 1.8.3.1")), Some("git_old"));
        for new in [
            "git version 2.34.0",
            "git version 2.47.1 (Apple Git-155)",
            "git version 3.0.0.windows.1",
            "nonsense",
        ] {
            assert_eq!(code(Some(new)), None, "{new}");
        }
    }
}
