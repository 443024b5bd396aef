//! `aof doctor`: everything that is wrong with a project, why it matters and what to do, repaired where that is certain.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::examination::examine;
use super::subject::{CheckContext, View};
use crate::history::sync::remote_state::{RemoteStanding, remote_value};
use crate::project::error::ProjectError;
use crate::project::issue::{Issue, Weight};
use crate::project::workspace::Workspace;
use crate::tasks::plan::DryRun;

/// Returns what is wrong. `watcher` says whether a watcher runs.
pub(crate) fn look_through(
    workspace: &Workspace,
    watcher: bool,
) -> Result<Vec<Issue>, ProjectError> {
    let mut issues = examine(&CheckContext::of(workspace, View::Doctor, watcher)?)?;
    for issue in issues.iter_mut().filter(|issue| issue.why.is_empty()) {
        issue.why = why(issue.code).to_owned();
    }
    Ok(issues)
}

/// What became of an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TreatmentOutcome {
    /// It was told.
    Told,
    /// It would be done away with.
    Curable,
    /// It was done away with.
    Cured,
    /// It could not be: why.
    Uncured(String),
}

/// An issue, and what became of it.
pub(crate) struct Treated {
    pub issue: Issue,
    pub outcome: TreatmentOutcome,
}

impl Treated {
    /// Returns whether something is wrong still.
    pub(crate) fn is_wrong(&self) -> bool {
        self.issue.weight == Weight::Wrong && self.outcome != TreatmentOutcome::Cured
    }
}

/// Does what is certain, one thing after the other.
pub(crate) fn treat(
    workspace: &mut Workspace,
    issues: Vec<Issue>,
    dry_run: DryRun,
) -> Vec<Treated> {
    let treated = issues.into_iter().map(|issue| {
        let outcome = match (&issue.cure, dry_run) {
            (None, _) => TreatmentOutcome::Told,
            (Some(_), DryRun::Yes) => TreatmentOutcome::Curable,
            (Some(cure), DryRun::No) => match cure(workspace) {
                Ok(()) => TreatmentOutcome::Cured,
                Err(error) => {
                    TreatmentOutcome::Uncured(workspace.git_commands.with_folder(error.problem()))
                }
            },
        };
        Treated { issue, outcome }
    });
    treated.collect()
}

/// Leaves everything as it is.
pub(crate) fn leave(issues: Vec<Issue>) -> Vec<Treated> {
    issues.into_iter().map(|issue| Treated { issue, outcome: TreatmentOutcome::Told }).collect()
}

/// Returns what was found, and done, as `--json` shows it.
pub(crate) fn doctor_value(treated: &[Treated]) -> Value {
    let complaints = treated.iter().map(|Treated { issue, outcome }| {
        let (word, error) = match outcome {
            TreatmentOutcome::Told => ("told", None),
            TreatmentOutcome::Curable => ("curable", None),
            TreatmentOutcome::Cured => ("fixed", None),
            TreatmentOutcome::Uncured(error) => ("failed", Some(error)),
        };
        json!({
            "code": issue.code,
            "weight": issue.weight.as_str(),
            "problem": issue.problem,
            "why": issue.why,
            "fix": issue.fix,
            "fixable": issue.cure.is_some(),
            "outcome": word,
            "error": error,
        })
    });
    json!({"ok": !treated.iter().any(Treated::is_wrong), "complaints": complaints.collect::<Vec<_>>()})
}

/// Returns why something matters.
fn why(code: &str) -> &'static str {
    let of_code = |line: &'static str| {
        let (codes, why) = line.trim().split_once(": ")?;
        codes.split(", ").any(|own| own == code).then_some(why)
    };
    WHY.lines().find_map(of_code).unwrap_or("it needs somebody's attention")
}

/// Why things matter, by the codes of issues.
const WHY: &str = "
    own_folder_in_git: whoever commits files there could act for everybody who has the branch, so no command changes anything
    git_fails: nothing is changed before it is known what git has in `.aof`
    index_unreadable: git itself cannot go by it, and no command can commit
    git_busy: no command can commit until that is over
    rules_not_committed: you see other rules than those that decide
    workflow_config_invalid: the rules that people see are not those that decide
    no_rules: whoever likes completes any task, those for people too
    inbox_unreadable: what an agent says there is not taken
    rules_not_followed: somebody may work on what is not theirs any more
    task_unmerged: nothing can be committed until it is settled, and what is added unsolved is lost for one side
    task_stranded: without its workflow it can go nowhere
    dependency_circle, dependency_missing: it will never be handed out
    unreadable_task: no command can touch the task, and nobody is given it
    tasks_left_out: nobody is given them here, and no command can touch them
    task_missing: a task that has no file is not worked on, and HEAD says that it is there
    task_left_behind: whoever clones this has the task at both places, and where it ended at one it goes on at the other
    task_frozen: no command touches the task, so that nothing is overwritten
    archive_changed: the archive shows what was done, and the next `git commit -a` takes the change along
    not_adopted: a task that stands at no gate is nobody's work
    not_committed: what is not committed is in no history, and in no other clone
    inbox_astray: somebody did work that will never count
    inbox_waiting, inbox_kept_back: what an agent said does not count until it is taken
    no_watcher: nobody takes what is dropped into the inbox
    notices_failing, notices_dropped: somebody waits for a message that does not come
    unfinished_write: until it is finished, a file may be ahead of what is committed
    merge_driver_missing: two branches that moved the same task conflict as text, and the task waits until somebody solves that by hand
    merge_driver_not_found: a task that both sides changed is left as ours alone, without a marker: whoever adds it loses what the other side did
    merge_hook_missing: a commit of an outdated index or worktree takes completions back, and nobody is told before `aof verify`
    no_identity: nothing can be committed without a committer
    no_git, git_old: fetching, pushing, unusual indexes and signatures go through git's own program
    index_layout: for this layout of the index git itself is started for each commit, which takes several times as long
    git_locked: while it is there, neither git nor a command can commit
    lock_held: every command that changes something waits for it, and gives up
    repack_pays: each read looks in all of them, and `.git` takes more room than it needs
    cannot_sign: nothing can be committed
    cannot_sign_completions: their completions are refused here without a signature
    signing_key_missing: `git commit -S` and `git tag -s` fail, and completions are signed with whatever key the ssh agent has
    line_endings: files have other bytes than were committed in clones whose git converts them; they count as unedited here
    task_misplaced: people look for open tasks in `tasks`, and for finished ones in `tasks/archive`
    companions_stayed: nobody looks for it there: what belongs to a task stands beside it, and goes where it goes
    index_behind: the next `git commit` would take back what was committed since
    task_taken_out: the next `git commit` would take it out of git, and a task that was taken up never leaves its history
    task_staged: a command that changes one that is staged otherwise than it stands is refused, so that what you staged is not lost
    taken_back: what was acknowledged is on no branch, and git forgets it in time
    temporary_files: they take room, and nobody will ever use them
    refused_waiting: somebody did work that did not count, and may not know it
    remote_ahead: what others did is not seen here, and may be done twice
    remote_diverged: two clones may have moved the same task, and each further step makes it harder to bring them together
    events_damaged: `aof events`, and whoever reads the file, does not see all that happened
    folder_large: git writes the whole listing of a folder anew with each commit, so `.git` grows by it each time
    rules_drifted: a task follows the rules in force: what was promised when it came there may be otherwise by now
    schemas_missing: your editor cannot check and complete project.yaml and org.yaml with them
    cache_damaged: every task file is read once more until it is written anew; nothing else depends on it
    network_file_system: locks there do not hold for everybody, so commands refuse to write
";

/// The project at a glance.
pub(crate) struct Overview {
    /// What the project is called.
    pub name: Option<String>,
    /// The branch that changes are committed to; nothing while none can be.
    pub branch: Option<String>,
    /// How it stands to its remote, if it has one.
    pub remote: Option<RemoteStanding>,
    /// How many active tasks there are, by status.
    pub counts: BTreeMap<String, usize>,
    /// How many of them came to their gate under earlier rules.
    pub drifted: usize,
    /// What needs attention, the most urgent first.
    pub attention: Vec<Issue>,
}

/// Returns the project at a glance. `watcher` says whether a watcher runs.
pub(crate) fn overview(workspace: &Workspace, watcher: bool) -> Result<Overview, ProjectError> {
    let subject = CheckContext::of(workspace, View::Status, watcher)?;
    let attention = examine(&subject)?;
    let mut counts = BTreeMap::new();
    for (header, _) in subject.project().into_iter().flat_map(|project| &project.listing.tasks) {
        *counts.entry(header.state().to_owned()).or_default() += 1;
    }
    let (branch, drifted) = (subject.branch().map(str::to_owned), subject.drifted());
    let (name, remote) = match subject.project {
        Ok(project) => (project.in_force.rules.project.name.clone(), project.remote),
        Err(_) => (None, None),
    };
    Ok(Overview { name, branch, remote, counts, drifted, attention })
}

/// Returns the project at a glance as `--json` shows it.
pub(crate) fn overview_value(overview: &Overview) -> Value {
    let issue = |own: &Issue| json!({"code": own.code, "problem": own.problem, "fix": own.fix});
    json!({
        "project": overview.name,
        "branch": overview.branch,
        "remote": overview.remote.as_ref().map(remote_value),
        "counts": overview.counts,
        "drifted": overview.drifted,
        "attention": overview.attention.iter().map(issue).collect::<Vec<_>>(),
    })
}
