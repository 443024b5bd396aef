//! Moves a living project onto a branch of its own.
//!
//! The new branch begins at HEAD with a commit that removes everything else, so all commits that were judged stay in its history. The
//! branch of the code gets one commit: the project goes, and a project.yaml comes that names the branch. Before that commit, an
//! interrupted move is continued by repeating it; no other command changes the project meanwhile (`project_moved`).
//!
//! ```text
//!   prepare   both commits, on no branch; everything that can fail fails here     nothing happened
//!   branch    the new branch is created                                           repeated: goes on with it
//!   checkout  it is checked out in `.aof/branch`                                   the same
//!   state     `.aof/` moves there, entry by entry                                  the same
//!   pointer   branch, index and worktree of the code move to the other commit     the journal finishes it
//! ```

use std::path::PathBuf;

use super::local_state::{movable, move_local};
use crate::domain::BranchName;
use crate::files::config::configuration::{ORG_FILE, PROJECT_FILE, Source, WORKFLOWS_FOLDER, read};
use crate::git::{BranchSource, CommitId, Head, PartDraft, Repository, Worktree};
use crate::history::merge_driver::ATTRIBUTES;
use crate::project::error::ProjectError;
use crate::project::named_branch::git_in;
use crate::project::open::{FOLDER, check_out_locked, home, refuse_occupied, unfinished_checkout};
use crate::project::workspace::Workspace;
use crate::setup::init::{branch_of_code, pointer_file, unfit};
use crate::storage::Paths;
use crate::storage::layout::TASKS;
use crate::storage::lock::is_watched;
use crate::storage::runs::Runs;
use crate::system::crash_points;
use crate::tasks::plan::DryRun;
use crate::tasks::recovery::recover::{FastForwardOutcome, lock_recovered, move_branch};

/// The files and folders of a project, at the top of its repository. `.gitattributes` is the code's as well.
const OF_PROJECT: [&str; 5] = [PROJECT_FILE, ORG_FILE, WORKFLOWS_FOLDER, TASKS, ATTRIBUTES];

/// A project that was moved, or would be.
pub(crate) struct MovedProject {
    pub branch: BranchName,
    /// The folder of the project now.
    pub root: PathBuf,
    /// The branch of the code, and its commit before.
    pub code: String,
    pub before: CommitId,
    /// The files and folders of the project.
    pub names: Vec<String>,
    /// The entries of `.aof/` that move.
    pub local: Vec<String>,
    /// The first commit of the branch, and that of the code's branch; `None` in a dry run.
    pub commits: Option<(CommitId, CommitId)>,
    /// True if an interrupted move was finished, and nothing else was left to do.
    pub is_finished: bool,
}

/// Moves the project onto the branch.
pub(crate) fn move_to_branch(
    workspace: &Workspace,
    branch: &BranchName,
    dry_run: DryRun,
) -> Result<MovedProject, ProjectError> {
    let (repository, root) = (&workspace.repository, workspace.paths.root());
    refuse_place(repository)?;
    if let Err(error @ ProjectError::Unfit { .. }) = branch_of_code(repository) {
        return Err(error);
    }
    let lock = match dry_run {
        DryRun::Yes => None,
        DryRun::No => Some(lock_recovered(workspace)?.0),
    };
    let head = workspace.head()?;
    let Some(commit) = head.commit else {
        return Err(unfit(
            "no_commit_yet",
            format!("nothing is committed on `{}` yet", head.branch()),
            "commit the project first".to_owned(),
        ));
    };
    if let Some(finished) = finished(workspace, branch, (&head, commit))? {
        if lock.is_some() {
            // The recovery opened a new inbox here.
            move_local(root, &finished.root)?;
        }
        return Ok(finished);
    }
    refuse_in_use(&workspace.paths)?;
    refuse_uncommitted(repository)?;
    let Some(file) = repository.read(commit, PROJECT_FILE)? else {
        return Err(unfit(
            "rules_not_committed",
            "project.yaml is not committed".to_owned(),
            "write one, and commit it: it will name the branch".to_owned(),
        ));
    };
    let file = with_branch(&file, branch)?;
    let begun = begun(repository, branch, commit)?;
    repository.identity()?;
    let home = home(root, repository);
    let is_of_project = |name: &str| OF_PROJECT.contains(&name);
    let entries = repository.top_entries(commit, &is_of_project)?;
    let mut moved = MovedProject {
        branch: branch.clone(),
        root: home.join(FOLDER),
        code: head.branch().to_owned(),
        before: commit,
        names: entries.into_iter().map(|(name, _)| name).collect(),
        local: movable(root)?,
        commits: None,
        is_finished: false,
    };
    let checkout = repository.worktree_of(branch.as_str());
    match &checkout {
        Some(Worktree { folder, is_whole: false }) => return Err(unfinished_checkout(folder)),
        Some(_) => {}
        None => refuse_occupied(&home, branch)?,
    }
    let Some(lock) = lock else { return Ok(moved) };
    let (first, pointer) = write_commits(workspace, branch, commit, (begun, file))?;
    repository.check_fast_forward(&head, pointer)?;
    if begun.is_none() {
        repository.create_branch(branch.as_str(), first)?;
    }
    crash_points::point("migrate.branch-made");
    moved.root = match checkout {
        Some(Worktree { folder, .. }) => folder,
        None => check_out_locked(&home, repository, branch, &BranchSource::Here, &lock)?,
    };
    crash_points::point("migrate.checked-out");
    move_local(root, &moved.root)?;
    crash_points::point("migrate.state-moved");
    let subject = format!("commit: Tasks live on the branch {branch}");
    match move_branch(workspace, &lock, &head, pointer, &subject)? {
        FastForwardOutcome::Done => {}
        FastForwardOutcome::Moved => {
            return Err(unfit(
                "unsettled",
                format!("`{}` moved meanwhile", head.branch()),
                "run the command again; it continues where it stopped".to_owned(),
            ));
        }
        FastForwardOutcome::Blocked(error) => return Err(error.into()),
    }
    crash_points::point("migrate.pointed");
    moved.commits = Some((first, pointer));
    Ok(moved)
}

/// Writes the first commit of the branch, unless it exists, and that of the code's branch.
fn write_commits(
    workspace: &Workspace,
    branch: &BranchName,
    parent: CommitId,
    (begun, file): (Option<CommitId>, Vec<u8>),
) -> Result<(CommitId, CommitId), ProjectError> {
    let write = |keeps: &dyn Fn(&str) -> bool, file, message: &str| {
        let files = &[(PROJECT_FILE, file)];
        let draft = PartDraft { parent, keeps, files, message, at: workspace.now() };
        workspace.repository.write_part(&draft)
    };
    let is_of_project = |name: &str| OF_PROJECT.contains(&name);
    let first = match begun {
        Some(first) => first,
        None => write(&is_of_project, file, &first_message(branch))?,
    };
    let is_of_code = |name: &str| !is_of_project(name) || name == ATTRIBUTES;
    let pointer = pointer_file(branch).into_bytes();
    let message = format!("Tasks live on the branch {branch}");
    Ok((first, write(&is_of_code, pointer, &message)?))
}

fn refuse_in_use(paths: &Paths) -> Result<(), ProjectError> {
    let (what, fix) = if is_watched(paths) {
        ("`aof watch` runs", "stop it, and start it again afterwards")
    } else if Runs::at(paths).has_live()? {
        ("`aof run` has agents at work", "let them end, or stop it")
    } else {
        return Ok(());
    };
    Err(unfit("project_in_use", format!("{what} in this project"), fix.to_owned()))
}

/// Returns the moved project if HEAD names its branch already: the last steps of an interrupted move are those of a recovery.
fn finished(
    workspace: &Workspace,
    branch: &BranchName,
    (head, commit): (&Head, CommitId),
) -> Result<Option<MovedProject>, ProjectError> {
    let (repository, root) = (&workspace.repository, workspace.paths.root());
    let named = git_in(repository, commit).and_then(|git| git.branch);
    let Some(named) = named else { return Ok(None) };
    let checkout = repository.worktree_of(named.as_str());
    let (Some(Worktree { folder, .. }), true) = (checkout, named == *branch) else {
        return Err(unfit(
            "own_branch_already",
            format!("the project has the branch `{named}` already"),
            "every command works there".to_owned(),
        ));
    };
    Ok(Some(MovedProject {
        branch: named,
        root: folder,
        code: head.branch().to_owned(),
        before: commit,
        names: Vec::new(),
        local: movable(root)?,
        commits: None,
        is_finished: true,
    }))
}

fn refuse_place(repository: &Repository) -> Result<(), ProjectError> {
    if !repository.prefix().is_empty() {
        return Err(unfit(
            "project_in_folder",
            format!("the project is in the folder `{}` of its repository", repository.prefix()),
            "only a project at the top of its repository can move to a branch of its own"
                .to_owned(),
        ));
    }
    if !repository.is_main_worktree() {
        return Err(unfit(
            "linked_worktree",
            format!("`{}` is a linked worktree", repository.worktree_root().display()),
            "run this in the main worktree, which `git worktree list` names first".to_owned(),
        ));
    }
    Ok(())
}

fn refuse_uncommitted(repository: &Repository) -> Result<(), ProjectError> {
    // `.gitattributes` stays as it is.
    let files = repository.changed_or_new_below(&OF_PROJECT[..4])?;
    let Some(first) = files.first() else { return Ok(()) };
    let more = match files.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Err(unfit(
        "uncommitted",
        format!(
            "`{first}`{more} differs from what is committed: it would not move with the project"
        ),
        "commit it, or put it elsewhere; `git status` shows all".to_owned(),
    ))
}

fn first_message(branch: &BranchName) -> String {
    format!("Begin {branch}: the project without the code")
}

/// Returns the first commit of the branch if an interrupted move made it, and the project is still as it was. Fails if the branch is
/// another one.
fn begun(
    repository: &Repository,
    branch: &BranchName,
    head: CommitId,
) -> Result<Option<CommitId>, ProjectError> {
    let Some(source) = repository.branch_source(branch.as_str(), None)? else { return Ok(None) };
    let exists = |fix: String| {
        Err(unfit("branch_exists", format!("there is a branch `{branch}` already"), fix))
    };
    let other = "name another: `aof migrate branch NAME`".to_owned();
    let tip = repository.commit_named(&format!("refs/heads/{branch}"))?;
    let (BranchSource::Here, Some(tip)) = (source, tip) else { return exists(other) };
    let entry = repository.log_entry(tip)?;
    let [parent] = entry.parents[..] else { return exists(other) };
    if entry.message.trim_end() != first_message(branch) {
        return exists(other);
    }
    let is_of_project = |name: &str| OF_PROJECT.contains(&name);
    let is_same = repository.top_entries(parent, &is_of_project)?
        == repository.top_entries(head, &is_of_project)?;
    if is_same && repository.is_ancestor(parent, head)? {
        return Ok(Some(tip));
    }
    exists(format!(
        "it is of a move that was interrupted, and the project has changed since: remove it with `git worktree remove {FOLDER}` and \
         `git branch -D {branch}`, and run this again"
    ))
}

/// Returns the project.yaml with `git.branch` added. Everything else stays as it is.
fn with_branch(file: &[u8], branch: &BranchName) -> Result<Vec<u8>, ProjectError> {
    let project = |bytes: &[u8]| {
        let source = Source { name: PROJECT_FILE.to_owned(), bytes: bytes.to_vec() };
        read(&[source]).configuration.project
    };
    let mut wanted = project(file);
    wanted.git.branch = Some(branch.clone());
    let text = str::from_utf8(file).ok().and_then(|text| branch_added(text, branch));
    match text.map(String::into_bytes).filter(|bytes| project(bytes) == wanted) {
        Some(bytes) => Ok(bytes),
        None => Err(unfit(
            "unwritable_project_file",
            "`git.branch` cannot be added to project.yaml, which has a form that is too unusual".to_owned(),
            "write `git:` there on a line of its own, with its keys below, commit that, and run this again".to_owned(),
        )),
    }
}

fn branch_added(text: &str, branch: &BranchName) -> Option<String> {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let Some(at) = line_at(text, |line| line.starts_with("git:")) else {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { end };
        return Some(format!(
            "{text}{gap}{end}# These tasks have a branch of their own.{end}git:{end}  branch: {branch}{end}"
        ));
    };
    let (before, rest) = text.split_at(at);
    let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
    let value = line["git:".len()..].trim();
    if let Some(inside) = value.strip_prefix('{') {
        let rest = &rest[rest.len() - after.len() - usize::from(rest.len() > line.len())..];
        return Some(format!("{before}git: {{branch: {branch}, {inside}{rest}"));
    }
    if !value.is_empty() && !value.starts_with('#') {
        return None;
    }
    let is_key = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let next = after.lines().find(is_key)?;
    let indent = &next[..next.len() - next.trim_start_matches(' ').len()];
    (!indent.is_empty()).then(|| format!("{before}{line}\n{indent}branch: {branch}{end}{after}"))
}

/// Returns the place of the first line that is wanted.
fn line_at(text: &str, is_wanted: impl Fn(&str) -> bool) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if is_wanted(line) {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// Returns the commands that take the move back, while nothing else was committed or pushed. The branch stays, under another name.
pub(crate) fn way_back(moved: &MovedProject) -> String {
    let MovedProject { branch, before, .. } = moved;
    format!(
        "git reset --keep {} && cp -a {FOLDER}/.aof/. .aof/ && git worktree remove {FOLDER} && git branch -m {branch} {branch}-before",
        &before.to_string()[..7]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_branch_is_added_to_any_usual_form() {
        let branch: BranchName = "aof".parse().unwrap();
        for (before, after) in [
            (
                "project: {name: x}",
                "project: {name: x}\n\n# These tasks have a branch of their own.\ngit:\n  branch: aof\n",
            ),
            (
                "git: {sync: true} # so\nproject: {}\n",
                "git: {branch: aof, sync: true} # so\nproject: {}\n",
            ),
            ("git: {\n  sync: true}\n", "git: {branch: aof, \n  sync: true}\n"),
            ("git: # so\n\n    sync: true\n", "git: # so\n    branch: aof\n\n    sync: true\n"),
            ("git:\r\n  sync: true\r\n", "git:\r\n  branch: aof\r\n  sync: true\r\n"),
        ] {
            let added = with_branch(before.as_bytes(), &branch).unwrap();
            assert_eq!(String::from_utf8(added).unwrap(), after);
        }
        for unusual in ["{git: {sync: true}}\n", "git: &x\n  sync: true\n", "'git': {sync: true}\n"]
        {
            assert_eq!(
                with_branch(unusual.as_bytes(), &branch).unwrap_err().code(),
                "unwritable_project_file"
            );
        }
    }
}
