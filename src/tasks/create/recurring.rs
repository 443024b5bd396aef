//! Tasks that come again and again. Each clone makes the same bytes for a period, so that a merge has one task: its id is that of rule
//! and period, its times are the beginning of the period, and its author is no person.

use std::collections::HashMap;

use jiff::SignedDuration;
use jiff::civil::Date;

use crate::domain::{Digest, Recurring, TaskId, Timestamp};
use crate::files::config::configuration::PROJECT_FILE;
use crate::git::log::walk::{LOOK_BACK, Log};
use crate::git::{CommitId, Head, Person};
use crate::project::active_rules::{InForce, in_force, rules_at};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::storage::layout::task_path;
use crate::storage::task_files::{self, WalkEntry, is_taken};
use crate::tasks::apply::commit_unless_changed;
use crate::tasks::create::{NewTask, new_task, plan_new_task};
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::recovery::recover::recover_if_pending;

/// The most earlier periods that are looked at for an open task.
const EARLIER: usize = 100;

/// The periods for which nothing is left to make, by the names of rules.
#[derive(Debug, Default)]
pub(crate) struct SettledPeriods(HashMap<String, Date>);

/// Makes the tasks of the present periods that no commit has made yet. Missed periods before are not made up for. The next check tries
/// again if the branch moves meanwhile.
pub(crate) fn make_recurring(
    workspace: &Workspace,
    settled: &mut SettledPeriods,
    dry_run: DryRun,
) -> Result<Vec<Changed>, ProjectError> {
    recover_if_pending(workspace)?;
    let head = workspace.head()?;
    let in_force = in_force(workspace, &head)?;
    let (rules, mut made) = (&in_force.rules, Vec::new());
    for rule in &rules.project.recurring {
        let zone = &rules.project.timezone;
        let Some((day, start)) = rule.recurrence.latest(workspace.now(), zone) else { continue };
        if settled.0.get(&rule.name) == Some(&day) {
            continue;
        }
        let id = id_of(rules, &rule.name, day)?;
        let Some(commit) = head.commit else { continue };
        let is_over = was_made(workspace, rules, commit, &id)?
            || start < valid_since(workspace, commit, rule)?;
        if !is_over && rule.skip_if_open && is_one_open(workspace, rules, rule, start)? {
            continue;
        }
        if !is_over {
            let changed = match make(workspace, &head, &in_force, rule, id, start, dry_run) {
                // One wrong rule must not stop the others, nor time limits.
                Err(error) if !error.passes() && !error.is_general() => {
                    let problem = error.with_fix();
                    workspace.warn(format!(
                        "the recurring task `{}` cannot be made: {problem}",
                        rule.name
                    ));
                    settled.0.insert(rule.name.clone(), day);
                    continue;
                }
                made => made?,
            };
            let Some(changed) = changed else { return Ok(made) };
            made.push(changed);
            if dry_run == DryRun::No {
                // The next one is decided at the new commit.
                return Ok(made);
            }
            continue;
        }
        settled.0.insert(rule.name.clone(), day);
    }
    Ok(made)
}

/// Returns the id of the task of a period.
fn id_of(rules: &Rules, name: &str, day: Date) -> Result<TaskId, ProjectError> {
    let digest = Digest::of(format!("{name}\n{day}").as_bytes());
    Ok(TaskId::compose(&rules.project.id_prefix, &digest.as_str()[..10])?)
}

/// Returns whether the task exists, or existed in the history: a cancelled, archived or removed one counts.
fn was_made(
    workspace: &Workspace,
    rules: &Rules,
    head: CommitId,
    id: &TaskId,
) -> Result<bool, ProjectError> {
    if is_taken(&workspace.paths, id)? {
        return Ok(true);
    }
    let path = in_repository(workspace, task_path(id, rules.project.layout).as_str());
    let mut log = Log::start(&workspace.repository, head, vec![path])?;
    Ok(log.next().transpose()?.is_some())
}

/// Returns the time of the commit since which the rule has had these times. A period that began before is none of its.
fn valid_since(
    workspace: &Workspace,
    head: CommitId,
    rule: &Recurring,
) -> Result<Timestamp, ProjectError> {
    let mut since = Timestamp::MAX;
    let path = in_repository(workspace, PROJECT_FILE);
    for entry in Log::start(&workspace.repository, head, vec![path])?.take(LOOK_BACK) {
        let entry = entry?;
        let is_same =
            |other: &Recurring| other.name == rule.name && other.recurrence == rule.recurrence;
        let there = rules_at(workspace, entry.id)?;
        if !there.is_some_and(|rules| rules.project.recurring.iter().any(is_same)) {
            break;
        }
        since = entry.authored;
    }
    Ok(since)
}

/// Returns whether a task of an earlier period is open.
fn is_one_open(
    workspace: &Workspace,
    rules: &Rules,
    rule: &Recurring,
    start: Timestamp,
) -> Result<bool, ProjectError> {
    let active: Vec<TaskId> = task_files::walk_active(&workspace.paths)
        .filter_map(|entry| match entry {
            WalkEntry::Task(task) => Some(task.id),
            WalkEntry::Stray(_) => None,
        })
        .collect();
    let mut before = start;
    for _ in 0..EARLIER {
        let Ok(earlier) = before.checked_sub(SignedDuration::from_secs(1)) else { break };
        let found = rule.recurrence.latest(earlier, &rules.project.timezone);
        let Some((day, began)) = found else { break };
        if active.contains(&id_of(rules, &rule.name, day)?) {
            return Ok(true);
        }
        before = began;
    }
    Ok(false)
}

/// Makes the task of a period. Returns `None` if the branch has moved since.
fn make(
    workspace: &Workspace,
    head: &Head,
    in_force: &InForce,
    rule: &Recurring,
    id: TaskId,
    start: Timestamp,
    dry_run: DryRun,
) -> Result<Option<Changed>, ProjectError> {
    let (fields, body) = (rule.fields.clone(), rule.body.clone());
    let workflow = rule.workflow.clone();
    let new = NewTask { fields, body, workflow, ..NewTask::default() };
    let task = new_task(&in_force.rules, &new, id, start)?;
    let author = Person::new("aof", "aof@aof.invalid")?;
    let (write, mut changed) = plan_new_task(&in_force.rules, &task, &new.body, &author, start)?;
    if dry_run == DryRun::Yes {
        return Ok(Some(changed));
    }
    let is_current = || Ok(workspace.head_now().ok().as_ref() == Some(head));
    let commits = commit_unless_changed(workspace, head, &[write], is_current)?;
    Ok(commits.map(|commits| {
        changed.commit = commits.first().copied();
        changed
    }))
}

fn in_repository(workspace: &Workspace, path: &str) -> String {
    let prefix = workspace.repository.prefix();
    if prefix.is_empty() { path.to_owned() } else { format!("{prefix}/{path}") }
}
