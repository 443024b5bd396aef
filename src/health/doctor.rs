//! `aof doctor`: finds the faults of a project, explains why they matter and how to fix them, and makes the safe
//! repairs.

use serde_json::{Value, json};

use super::context::{CheckContext, View};
use super::examination::examine;
use crate::project::error::ProjectError;
use crate::project::issue::{Issue, Weight};
use crate::project::workspace::Workspace;
use crate::tasks::plan::DryRun;

/// Returns every issue of a project, each with its reason. `watcher`: a watcher runs.
pub(crate) fn find_issues(
    workspace: &Workspace,
    watcher: bool,
) -> Result<Vec<Issue>, ProjectError> {
    let mut issues = examine(&CheckContext::read(workspace, View::Doctor, watcher)?)?;
    for issue in issues.iter_mut().filter(|issue| issue.why.is_empty()) {
        issue.why = why(issue.code).to_owned();
    }
    Ok(issues)
}

/// The outcome of repairing an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RepairOutcome {
    /// The issue was only reported.
    Reported,
    /// The issue would be repaired.
    Repairable,
    /// The issue was repaired.
    Repaired,
    /// The repair failed, for this reason.
    Failed(String),
}

/// An issue, and the outcome of its repair.
pub(crate) struct HandledIssue {
    pub issue: Issue,
    pub outcome: RepairOutcome,
}

impl HandledIssue {
    /// Returns whether the fault remains.
    pub(crate) fn is_wrong(&self) -> bool {
        self.issue.weight == Weight::Wrong && self.outcome != RepairOutcome::Repaired
    }
}

/// Repairs, one after the other, the issues that have a repair.
pub(crate) fn repair_issues(
    workspace: &mut Workspace,
    issues: Vec<Issue>,
    dry_run: DryRun,
) -> Vec<HandledIssue> {
    let handled = issues.into_iter().map(|issue| {
        let outcome = match (&issue.repair, dry_run) {
            (None, _) => RepairOutcome::Reported,
            (Some(_), DryRun::Yes) => RepairOutcome::Repairable,
            (Some(repair), DryRun::No) => match repair(workspace) {
                Ok(()) => RepairOutcome::Repaired,
                Err(error) => {
                    RepairOutcome::Failed(workspace.git_commands.with_folder(error.problem()))
                }
            },
        };
        HandledIssue { issue, outcome }
    });
    handled.collect()
}

/// Reports the issues, and repairs nothing.
pub(crate) fn report_issues(issues: Vec<Issue>) -> Vec<HandledIssue> {
    issues
        .into_iter()
        .map(|issue| HandledIssue { issue, outcome: RepairOutcome::Reported })
        .collect()
}

/// Returns the issues for `--json`, each with the outcome of its repair.
pub(crate) fn doctor_value(handled: &[HandledIssue]) -> Value {
    let complaints = handled.iter().map(|HandledIssue { issue, outcome }| {
        let (word, error) = match outcome {
            RepairOutcome::Reported => ("told", None),
            RepairOutcome::Repairable => ("curable", None),
            RepairOutcome::Repaired => ("fixed", None),
            RepairOutcome::Failed(error) => ("failed", Some(error)),
        };
        json!({
            "code": issue.code,
            "weight": issue.weight.as_str(),
            "problem": issue.problem,
            "why": issue.why,
            "fix": issue.fix,
            "fixable": issue.repair.is_some(),
            "outcome": word,
            "error": error,
        })
    });
    json!({"ok": !handled.iter().any(HandledIssue::is_wrong), "complaints": complaints.collect::<Vec<_>>()})
}

/// Returns the reason why an issue of this code matters.
fn why(code: &str) -> &'static str {
    let of_code = |line: &'static str| {
        let (codes, why) = line.trim().split_once(": ")?;
        codes.split(", ").any(|known| known == code).then_some(why)
    };
    WHY.lines().find_map(of_code).unwrap_or("it needs somebody's attention")
}

/// The reasons why issues matter, by their codes.
const WHY: &str = "
    own_folder_in_git: whoever commits files there could act for everybody who has the branch, so no command changes anything
    git_fails: no command changes anything before it knows what git has in `.aof`
    index_unreadable: git itself cannot use it, and no command can commit
    git_busy: no command can commit until that is over
    rules_not_committed: the rules that you see are not those in force
    workflow_config_invalid: the rules that people see are not those in force
    invalid_tests: a gate with `check: tests` refuses every completion until they are fixed
    program_untrusted: whoever can push decides what these programs are; agents are not started and messages wait until you have looked
    no_rules: any agent can complete any task, even one that is meant for people
    inbox_unreadable: completions that agents drop there are not processed
    rules_not_followed: somebody may work on a task that is no longer theirs
    task_unmerged: nothing can be committed until it is resolved, and `git add` of an unresolved file loses what one side did
    task_stranded: without its workflow the task cannot move
    dependency_circle, dependency_missing: it will never be handed out
    unreadable_task: no command can change the task, and nobody is handed it
    tasks_left_out: nobody is handed them here, and no command can change them
    task_missing: nobody works on a task that has no file, and HEAD still has it
    task_left_behind: every clone has two files of the task, and one may still be open when the other is finished
    task_frozen: no command changes the task, so that nothing is overwritten
    archive_changed: the archive is the record of finished work, and the next `git commit -a` would commit the change
    not_adopted: a task that is at no gate is handed to nobody
    not_committed: what is not committed is in no history, and in no other clone
    inbox_astray: somebody did work that will never count
    inbox_waiting, inbox_kept_back: a completion does not count until it is processed
    no_watcher: nothing processes what is dropped into the inbox
    notices_failing, notices_dropped: somebody waits for a message that does not come
    agent_outlived_runner: it may change files that other agents work at, and what it says no longer counts
    unfinished_write: until it is finished, a file may be ahead of what is committed
    merge_driver_missing: two branches that moved the same task conflict as text, and the task waits until somebody resolves that by hand
    merge_driver_not_found: git merges tasks as text, so it asks you where two histories or two states of a task meet
    merge_hook_missing: a commit from an outdated index or worktree reverts completions, and nothing reports that before `aof verify`
    no_identity: nothing can be committed without a committer
    no_git, git_old: fetching, pushing, unusual indexes and signatures go through git's own program
    index_layout: for this layout of the index git itself is started for each commit, which takes several times as long
    git_locked: while it is there, git cannot change what it locks, and commands wait for it
    lock_held: every command that changes something waits for it, then times out
    repack_pays: each read searches all of them, and `.git` takes more room than it needs
    cannot_sign: nothing can be committed
    cannot_sign_completions: their completions are refused here without a signature
    signing_key_missing: `git commit -S` and `git tag -s` fail, and completions are signed with whatever key the ssh agent has
    line_endings: in clones whose git converts line ends, files differ from what was committed; they count as unedited here
    task_misplaced: people look for open tasks in `tasks`, and for finished ones in `tasks/archive`
    companions_stayed: nobody looks for it there: files that belong to a task stay beside it, and move with it
    index_behind: the next `git commit` would take back what was committed since
    task_taken_out: the next `git commit` would delete it from git, and an adopted task must stay in the history
    task_staged: commands refuse to change a task whose staged version differs from its file, so that what you staged is not lost
    merge_overtaken: the files are the branch's, and the next commit here would be wrong
    taken_back: work that was acknowledged is on no branch, and git will delete it in time
    temporary_files: they take room, and nothing will ever use them
    refused_waiting: somebody did work that did not count, and may not know it
    remote_ahead: what others did is not seen here, and may be done twice
    remote_diverged: two clones may have moved the same task, and each further step makes it harder to bring them together
    code_stops_sync: agents wait, and the watcher hands out nothing meanwhile
    pointer_not_pushed: commands in other clones then depend on what was fetched there
    events_damaged: `aof events`, and every other reader of the file, misses events
    folder_large: git writes the whole listing of a folder again with each commit, so `.git` grows by that much each time
    nobody_is_separate: tasks that come to this gate stay there
    rules_drifted: a task follows the rules in force, which may differ from those under which it came to its gate
    schemas_missing: your editor cannot check and complete project.yaml and org.yaml with them
    cache_damaged: every task file is read again until the cache is rebuilt; nothing else depends on it
    network_file_system: locks there do not hold for everybody, so commands refuse to write
";
