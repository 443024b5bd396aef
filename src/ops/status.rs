//! The project at a glance, and what needs somebody's attention.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::ErrorKind;
use std::path::Path;

use serde_json::{Value, json};

use super::archived::archived;
use super::astray::astray;
use super::attention::{behind, misplaced, of_dependencies, of_task, some};
use super::copies::of_doubled;
use super::error::OpsError;
use super::git_points::{left_locks, no_driver, no_identity, of_git, of_index, of_index_behind};
use super::header::NEW;
use super::headers::{Listing, Scope, Unreadable, read_all};
use super::in_force::InForce;
use super::index_behind::Apart;
use super::mending::{WayBack, begin_plainly, missing};
use super::notices::{OutgoingStanding, outgoing};
use super::refused::refused;
use super::rule_points::{no_rules, of_remark, of_rules};
use super::stand::is_drifted;
use super::standing::{self, Pending, Standing};
use super::stayed::stayed as of_stayed;
use super::sync::{RemoteStanding, remote_standing, remote_value};
use super::unmerged::unmerged;
use super::waiting::waiting;
use super::way_back::ways_back;
use super::workspace::Workspace;
use crate::audit::{AuditError, Head, ObjectId};
use crate::format::shell::quoted;
use crate::model::TaskId;
use crate::store::stayed::stayed;
use crate::store::{ProjectPath, intent, layout, tasks};

/// The project at a glance.
pub struct Overview {
    /// What the project is called.
    pub name: Option<String>,
    /// The branch that changes are committed to; nothing while none can be.
    pub branch: Option<String>,
    /// How it stands to its remote, if it has one.
    pub remote: Option<RemoteStanding>,
    /// How many active tasks there are, by status.
    pub counts: BTreeMap<String, usize>,
    /// How many of them came where they are under earlier rules.
    pub drifted: usize,
    /// What needs attention, the most urgent first.
    pub attention: Vec<Attention>,
}

/// Something that somebody should see to.
#[derive(Debug, Clone, PartialEq)]
pub struct Attention {
    /// What kind it is: stable, for JSON.
    pub code: &'static str,
    /// What is the matter.
    pub problem: String,
    /// What to do.
    pub fix: String,
}

/// Returns the project at a glance. `watcher` says whether a watcher runs, as the door that starts it knows.
pub fn overview(workspace: &Workspace, watcher: bool) -> Result<Overview, OpsError> {
    let mut attention = Vec::new();
    let head = workspace.repository.look()?;
    let busy = workspace.head_now().err();
    if let Some(error) = &busy {
        attention.push(Attention {
            code: "git_busy",
            problem: format!("nothing can be committed: {error}"),
            fix: "changes wait until that is done; dropped files stay in the inbox".to_owned(),
        });
    }
    let index_fault = workspace.repository.index_fault();
    let has_index = index_fault.is_none();
    attention.extend(index_fault.map(of_index));
    attention.extend(left_locks(workspace));
    attention.extend(no_identity(workspace));
    if has_index {
        attention.extend(own_folder(workspace));
    }
    let branch = (head.reference != "HEAD").then(|| head.branch().to_owned());
    let in_force = match super::in_force::in_force_and_seen(workspace, &head) {
        Ok(in_force) => in_force,
        Err(error @ (OpsError::InvalidRules(_) | OpsError::Unfit { .. } | OpsError::Store(_))) => {
            attention.push(of_rules(&error));
            return Ok(Overview { name: None, branch, remote: None, counts: BTreeMap::new(), drifted: 0, attention });
        }
        Err(error) => return Err(error),
    };
    for remark in &in_force.remarks {
        attention.extend(of_remark(workspace, remark));
    }
    attention.extend(no_rules(workspace, &in_force)?);
    let mut listing = read_all(workspace, &in_force, Scope::Active);
    listing.tasks.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
    let mut counts = BTreeMap::new();
    for (header, _) in &listing.tasks {
        *counts.entry(header.status.clone()).or_default() += 1;
        attention.extend(of_task(&in_force.rules, header));
    }
    let drifted = listing.tasks.iter().filter(|(header, _)| is_drifted(&in_force.rules, header)).count();
    attention.extend(behind(&in_force.rules, &listing));
    attention.extend(of_dependencies(workspace, &in_force, &listing));
    let committed = committed_files(workspace, &head)?;
    if has_index {
        attention.extend(unmerged(workspace, &mut listing.unreadable)?);
    }
    let stayed = stayed(&workspace.paths);
    // What never was beside a task may be one, by a wrong name.
    listing.beside.retain(|file| stayed.iter().all(|stayed| stayed.path.as_str() != file.path));
    listing.unreadable.append(&mut listing.beside);
    attention.extend(of_doubled(workspace, &head, &mut listing.unreadable));
    attention.extend(of_unreadable(workspace, &in_force, &listing.unreadable));
    let name = in_force.rules.project.name.clone();
    // In the middle of a merge, what differs from HEAD is git's to tell.
    if busy.is_none() {
        attention.extend(misplaced(&listing));
        missing_files(workspace, &committed, &mut attention);
        uncommitted_tasks(workspace, &in_force, &committed, &listing, &mut attention);
        attention.extend(of_stayed(workspace, &stayed, some)?);
        if has_index {
            // Where git cannot be asked, whatever cannot do without it says so.
            let apart = Apart::read(workspace).unwrap_or_default();
            attention.extend(archived(workspace, &committed, &apart.behind)?);
            attention.extend(of_index_behind(&apart));
        }
    }
    let is_halted =
        busy.is_some() || attention.iter().any(|point| matches!(point.code, "own_folder_in_git" | "git_fails"));
    attention.extend(waiting(workspace, is_halted));
    attention.extend(astray(workspace));
    attention.extend(refused(workspace).unwrap_or_else(|error| Some(unread(&error))));
    if has_index {
        attention.extend(no_driver(workspace)?);
    }
    undelivered(workspace, &mut attention)?;
    if intent::is_pending(&workspace.paths) {
        attention.push(Attention {
            code: "unfinished_write",
            problem: "a command was stopped in the middle of a change".to_owned(),
            fix: "the next command that changes a task finishes it".to_owned(),
        });
    }
    if !watcher {
        attention.push(Attention {
            code: "no_watcher",
            problem: "no watcher is running".to_owned(),
            fix: "start one with `aof watch`; without it, commands work but dropped files and edits wait".to_owned(),
        });
    }
    let remote = match &branch {
        Some(_) => remote_standing(workspace, &head, &in_force)?,
        None => None,
    };
    if let Some((code, problem, fix)) = remote.as_ref().and_then(RemoteStanding::attention) {
        attention.push(Attention { code, problem, fix });
    }
    for point in &mut attention {
        for text in [&mut point.problem, &mut point.fix] {
            *text = workspace.git_words.said(std::mem::take(text));
        }
    }
    Ok(Overview { name, branch, remote, counts, drifted, attention })
}

/// Returns the project at a glance as `--json` shows it.
pub fn overview_value(overview: &Overview) -> Value {
    let attention: Vec<Value> = overview
        .attention
        .iter()
        .map(|point| json!({"code": point.code, "problem": point.problem, "fix": point.fix}))
        .collect();
    json!({
        "project": overview.name,
        "branch": overview.branch,
        "remote": overview.remote.as_ref().map(remote_value),
        "counts": overview.counts,
        "drifted": overview.drifted,
        "attention": attention,
    })
}

/// Says where messages do not get through.
fn undelivered(workspace: &Workspace, attention: &mut Vec<Attention>) -> Result<(), OpsError> {
    let messages = outgoing(workspace)?.messages;
    let (dropped, failing): (Vec<_>, Vec<_>) = messages
        .iter()
        .filter(|message| message.error.is_some())
        .partition(|message| message.standing == OutgoingStanding::Dropped);
    for (code, count, what, last, fix) in [
        (
            "notices_failing",
            failing.len(),
            "could not be delivered yet",
            failing.last(),
            "they are tried again; see `aof notices`, or `aof notices --deliver` to try them now",
        ),
        (
            "notices_dropped",
            dropped.len(),
            "given up",
            dropped.last(),
            "see `aof notices`; `aof notices --forget` forgets them",
        ),
    ] {
        let Some(last) = last else { continue };
        let error = last.error.clone().unwrap_or_default();
        let notices = if count == 1 { "notice" } else { "notices" };
        attention.push(Attention {
            code,
            problem: format!("{count} {notices} {what}, the last one to `{}`: {error}", last.channel),
            fix: fix.to_owned(),
        });
    }
    Ok(())
}

fn unread(error: &OpsError) -> Attention {
    let fix = error.fix().unwrap_or_else(|| "make it a folder that you may read".to_owned());
    Attention { code: error.code(), problem: error.problem(), fix }
}

/// Says where git has what is this clone's alone, or cannot be asked.
fn own_folder(workspace: &Workspace) -> Option<Attention> {
    match workspace.own_folder_is_ours() {
        Err(error @ OpsError::Audit(AuditError::OwnFolderInGit(_))) => Some(of_rules(&error)),
        asked => asked.err().map(|error| of_git(&error)),
    }
}

/// Tasks whose file is not what HEAD has: hand-made ones, edits, and what nobody may have done.
fn uncommitted_tasks(
    workspace: &Workspace,
    in_force: &InForce,
    committed: &HashMap<String, ObjectId>,
    listing: &Listing,
    attention: &mut Vec<Attention>,
) {
    let (mut new, mut edited) = (Vec::new(), Vec::new());
    let staged: Vec<_> = hand_made(listing).map(|(_, path)| path).collect();
    let staged = staged_otherwise(workspace, &staged);
    attention.extend(staged.iter().map(|path| Attention {
        code: "task_staged",
        problem: format!("`{path}` is staged otherwise than it stands, and in no commit yet, so nobody takes it up"),
        fix: format!(
            "stage it as it stands (`git add {0}`), or not at all (`git restore --staged {0}`)",
            quoted(path.as_str())
        ),
    }));
    let mut freeze = |id: &TaskId, fields: &[String], fix: String| {
        let problem = format!("{id} was changed by hand in what the engine keeps: {}", fields.join(", "));
        attention.push(Attention { code: "task_frozen", problem, fix });
    };
    for (id, path) in hand_made(listing) {
        match unearned(workspace, in_force, &id, path) {
            fields if fields.is_empty() && staged.contains(path) => {}
            fields if fields.is_empty() => new.push(id),
            fields => freeze(&id, &fields, begin_plainly(&id)),
        }
    }
    for id in changed_files(workspace, committed, listing) {
        // Files that cannot be read are told of already.
        let Ok(standing) = Standing::read(workspace, &id) else { continue };
        match (standing.frozen(), &standing.pending) {
            (Some((fields, fix)), _) => freeze(&id, fields, fix),
            (None, Pending::Versions(_)) => edited.push(id),
            (None, _) => {}
        }
    }
    let new = (new, "hand-made task stands at no gate yet", "hand-made tasks stand at no gate yet");
    let edited = (edited, "edit of a task is not committed", "edits of tasks are not committed");
    for (code, (mut ids, one, many)) in [("not_adopted", new), ("not_committed", edited)] {
        if ids.is_empty() {
            continue;
        }
        ids.sort();
        let names: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
        let what = if ids.len() == 1 { one } else { many };
        attention.push(Attention {
            code,
            problem: format!("{} {what}: {}", ids.len(), some(&names)),
            fix: "`aof watch` takes them up after a moment; `aof watch --once` does it now".to_owned(),
        });
    }
}

/// Returns the tasks that nobody has taken up.
fn hand_made(listing: &Listing) -> impl Iterator<Item = (TaskId, &ProjectPath)> {
    let new = listing.tasks.iter().filter(|(header, _)| header.status == NEW);
    new.filter_map(|(header, path)| Some((header.id.parse().ok()?, path)))
}

/// Returns those of hand-made files that git's index has, and otherwise than they stand.
fn staged_otherwise(workspace: &Workspace, files: &[&ProjectPath]) -> Vec<ProjectPath> {
    if files.is_empty() || workspace.repository.look().is_ok_and(|head| head.commit.is_none()) {
        return Vec::new();
    }
    // Whatever is the matter with the index is told by who looks at it.
    let staged = workspace.repository.staged_below(layout::TASKS).unwrap_or_default();
    let staged: HashMap<String, ObjectId> =
        staged.into_iter().filter_map(|file| Some((file.path, file.staged.filter(|_| file.head.is_none())?))).collect();
    let stands_so = |path: &ProjectPath, blob: &ObjectId| {
        let here = tasks::read(&workspace.paths, path);
        here.is_ok_and(|here| workspace.repository.is_same_text(&here.bytes, *blob))
    };
    let differs = |path: &ProjectPath| staged.get(path.as_str()).is_some_and(|blob| !stands_so(path, blob));
    files.iter().copied().filter(|path| differs(path)).cloned().collect()
}

/// Returns what keeps a hand-made file from being taken up. Where HEAD has such files does not matter, and would have to be looked for.
fn unearned(workspace: &Workspace, in_force: &InForce, id: &TaskId, path: &ProjectPath) -> Vec<String> {
    let Ok(snapshot) = tasks::read(&workspace.paths, path) else { return Vec::new() };
    standing::parse(in_force, id, path, &snapshot.bytes, workspace.now()).map_or(Vec::new(), |file| file.unearned())
}

/// Returns the tasks that were taken up and whose files differ from HEAD's, by content; line ends that git may have written are none.
fn changed_files(workspace: &Workspace, committed: &HashMap<String, ObjectId>, listing: &Listing) -> Vec<TaskId> {
    let mut changed = Vec::new();
    for (header, path) in listing.tasks.iter().filter(|(header, _)| header.status != NEW) {
        let Ok(snapshot) = tasks::read(&workspace.paths, path) else { continue };
        let is_committed = |blob: &ObjectId| workspace.repository.is_same_text(&snapshot.bytes, *blob);
        if !committed.get(path.as_str()).is_some_and(is_committed) {
            changed.extend(header.id.parse::<TaskId>());
        }
    }
    changed
}

/// Returns what HEAD has below `tasks/`.
fn committed_files(workspace: &Workspace, head: &Head) -> Result<HashMap<String, ObjectId>, OpsError> {
    let Some(commit) = head.commit else { return Ok(HashMap::new()) };
    Ok(workspace.repository.list(commit, "tasks")?.into_iter().map(|file| (file.path, file.id)).collect())
}

/// What was committed can be brought back only where something else stands.
fn of_unreadable(workspace: &Workspace, in_force: &InForce, files: &[Unreadable]) -> Vec<Attention> {
    let task = |file: &Unreadable| {
        let path: ProjectPath = file.path.parse().ok()?;
        Some((layout::task_id(path.name())?.ok()?, path))
    };
    let known: Vec<_> = files.iter().filter(|file| !file.diagnostics.is_empty()).filter_map(task).collect();
    let ways = ways_back(workspace, in_force, &known);
    let way = |path: &str| {
        let place = known.iter().position(|(_, known)| known.as_str() == path)?;
        Some(ways[place].clone()).filter(|way| *way != WayBack::Unknown)
    };
    let point = |file: &Unreadable| {
        let help = file.diagnostics.first().and_then(|first| first.help.clone());
        Attention {
            code: "unreadable_task",
            problem: format!("`{}` cannot be read: {}", file.path, file.reason),
            fix: match (&file.diagnostics[..], help, way(&file.path)) {
                ([], ..) if file.path == layout::TASKS => {
                    "make it a folder that you may read and search (`ls -ld tasks` shows it): no task is seen until then"
                        .to_owned()
                }
                ([], ..) => "mend that, or move it out of `tasks/`".to_owned(),
                (_, help, Some(way)) => {
                    let mend = format!("mend it{}", help.map(|help| format!(" ({help})")).unwrap_or_default());
                    way.fix(&mend, &file.path).unwrap_or(mend)
                }
                (_, Some(help), None) => format!("mend it: {help}"),
                (_, None, None) => "mend it, or move it out of `tasks/`".to_owned(),
            },
        }
    };
    files.iter().map(point).collect()
}

/// Active tasks that HEAD has, and no file in the worktree.
fn missing_files(workspace: &Workspace, committed: &HashMap<String, ObjectId>, attention: &mut Vec<Attention>) {
    let mut gone: Vec<(TaskId, ProjectPath)> = committed
        .keys()
        .filter_map(|path| path.parse::<ProjectPath>().ok())
        .filter(|path| !layout::is_archived(path) && is_gone(&path.below(workspace.paths.root())))
        .filter_map(|path| Some((layout::task_id(path.name())?.ok()?, path)))
        .collect();
    if !gone.is_empty() {
        // What was moved stands elsewhere.
        let known = tasks::known_ids(&workspace.paths);
        let moved;
        (moved, gone) = gone.into_iter().partition(|(id, _)| known.binary_search(id).is_ok());
        attention.extend(half_moved(workspace, committed, &moved));
    }
    gone.sort();
    attention.extend(gone.iter().map(|(id, path)| Attention {
        code: "task_missing",
        problem: format!("the file of {id} is gone: `{path}`"),
        fix: missing(id, path),
    }));
}

/// A move of which HEAD has the new place, and the old one still: whoever clones it has the task twice.
fn half_moved(
    workspace: &Workspace,
    committed: &HashMap<String, ObjectId>,
    moved: &[(TaskId, ProjectPath)],
) -> Vec<Attention> {
    let names: HashSet<&str> = moved.iter().map(|(_, path)| path.name()).collect();
    let elsewhere = committed.keys().filter_map(|path| path.parse::<ProjectPath>().ok());
    let elsewhere =
        elsewhere.filter(|path| names.contains(path.name()) && !is_gone(&path.below(workspace.paths.root())));
    let arrived: HashSet<String> = elsewhere.map(|path| path.name().to_owned()).collect();
    let mut left: Vec<_> = moved.iter().filter(|(_, path)| arrived.contains(path.name())).collect();
    left.sort();
    let point = |(id, path): &(TaskId, ProjectPath)| Attention {
        code: "task_left_behind",
        problem: format!("HEAD has {id} twice: `{path}`, which is gone here, as well"),
        fix: format!("commit that it is gone: `git rm {0}`, then `git commit`", quoted(path.as_str())),
    };
    left.into_iter().map(point).collect()
}

/// Returns whether nothing stands there. Where the system does not let anybody look, that is told as what it is.
pub(super) fn is_gone(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}
