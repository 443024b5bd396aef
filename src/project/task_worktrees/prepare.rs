//! Makes a task's worktree: adds it, copies files into it, and runs the set-up.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{TaskWorktree, TaskWorktrees, WorkspaceFacts, WorktreeNote, branch_in, kept_reference};
use crate::domain::{BranchName, GateId, Task, TaskId};
use crate::git::{CommitId, NewCheckout, Repository};
use crate::project::error::ProjectError;
use crate::project::trust::{ProgramKind, RulePrograms};
use crate::storage::{Folder, StoreError};
use crate::system::process::{Secrets, Stream};
use crate::system::terminal::quoted;

/// The file that names what is copied into new worktrees.
const INCLUDED: &str = ".worktreeinclude";
/// The most bytes of the output that an error quotes.
const MOST_QUOTED: usize = 500;
/// The most bytes of a file that is copied.
const MOST_COPIED: u64 = 1 << 30;

/// The circumstances in which a worktree is made.
pub(crate) struct WorktreeSetup<'a> {
    pub task: &'a Task,
    /// The fork's branch that is worked at.
    pub branch: Option<&'a GateId>,
    pub programs: &'a RulePrograms,
    /// The visit, or the task, that programs find in `AOF_TASK`.
    pub visit: String,
    /// The project's folder.
    pub project: &'a Path,
    /// The values that are masked in the output that is kept.
    pub secrets: &'a Secrets,
    /// The time that a program may take, and print nothing.
    pub limits: (Duration, Duration),
    /// Receives what programs print.
    pub printed: &'a mut dyn FnMut(Stream, &[u8]),
    pub is_stopped: &'a dyn Fn() -> bool,
}

/// The reason why a set-up failed.
#[derive(Debug)]
pub(crate) enum SetupFailed {
    /// A program of it failed; another attempt may succeed.
    Program(String),
    /// It was to stop.
    Stopped,
    Error(ProjectError),
}

impl SetupFailed {
    /// Returns the error of a command that needed the worktree.
    pub(crate) fn into_error(self) -> ProjectError {
        let (problem, fix) = match self {
            Self::Error(error) => return error,
            Self::Program(why) => (
                format!("the set-up of the workspace failed: {why}"),
                "correct that, and call this again",
            ),
            Self::Stopped => ("this was stopped".to_owned(), "call it again"),
        };
        ProjectError::Unfit { code: "workspace_setup_failed", problem, fix: fix.into() }
    }
}

impl<E: Into<ProjectError>> From<E> for SetupFailed {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

impl TaskWorktrees {
    /// Returns the task's worktree with the right to work there, and makes it if it is missing. Its set-up has run then.
    pub(crate) fn prepare(
        &self,
        mut setup: WorktreeSetup<'_>,
    ) -> Result<TaskWorktree, SetupFailed> {
        let task = &setup.task.id;
        if self.tasks_branch.is_none() {
            return Err(ProjectError::Unfit {
                code: "workspace_beside_tasks",
                problem: "workspaces need the tasks on a branch of their own".to_owned(),
                fix: "move them there with `aof migrate branch`".into(),
            }
            .into());
        }
        let lock_name = match setup.branch {
            Some(branch) => format!("{task}.{branch}.lock"),
            None => format!("{task}.lock"),
        };
        let Some((lock, _)) = self.lock(&lock_name, setup.is_stopped)? else {
            return Err(SetupFailed::Stopped);
        };
        let base = self.starting_base(setup.task)?;
        let branch = self.branch_of(task);
        let (folder, note) = match setup.branch {
            Some(_) => {
                let folder = self.folder_of(task, setup.branch);
                let head = match self.head_of(task)? {
                    Some(head) => head,
                    None => self.start_of(setup.task, &base)?,
                };
                let note = self.add_detached(task, &folder, (&base, head), setup.is_stopped)?;
                (folder, note)
            }
            None => self.add(setup.task, &base, setup.is_stopped)?,
        };
        let (base, is_detached) = (note.base.clone(), setup.branch.is_some());
        let (task, compared) = (task.clone(), self.tip(&base)?);
        let facts = WorkspaceFacts { folder, branch, base, is_detached };
        let mut made = TaskWorktree { task, facts, compared, note, _lock: lock };
        if !made.note.is_prepared {
            self.set_up(&mut made, &mut setup)?;
        }
        Ok(made)
    }

    /// Returns the branch that the task's work begins at, or began at.
    pub(crate) fn starting_base(&self, task: &Task) -> Result<BranchName, ProjectError> {
        if let Some(base) = self.base_of(task)? {
            return Ok(base);
        }
        let base = match &self.settings.base {
            Some(base) => base.clone(),
            None => branch_in(&self.checkout)?.ok_or_else(|| ProjectError::Unfit {
                code: "workspace_base_missing",
                problem: format!(
                    "no branch is checked out in `{}`, so work has nothing to begin at",
                    self.checkout.display()
                ),
                fix: "check a branch out, or name one in project.yaml: `workspaces: {base: main}`"
                    .into(),
            })?,
        };
        self.ensure_base(&base)?;
        Ok(base)
    }

    /// Fails if that is a branch of tasks, or of the work at one.
    pub(crate) fn ensure_base(&self, base: &BranchName) -> Result<(), ProjectError> {
        let is_own =
            Some(base) == self.tasks_branch.as_ref() || self.task_of(base.as_str()).is_some();
        if is_own {
            return Err(ProjectError::Unfit {
                code: "workspace_base_missing",
                problem: format!("`{base}` is a branch of aof's own, and work neither begins nor lands there"),
                fix: "name a branch of the code: `workspaces: {base: main}` in project.yaml, or `aof land --onto main`".into(),
            });
        }
        Ok(())
    }

    /// Returns the worktree on the task's branch; adds it, and the branch, if they are missing.
    fn add(
        &self,
        task: &Task,
        base: &BranchName,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<(PathBuf, WorktreeNote), SetupFailed> {
        let noted = self.note_of(&task.id)?;
        let seen = noted.as_ref().map(|note| note.seen.clone()).unwrap_or_default();
        let new = WorktreeNote { seen, ..WorktreeNote::new(base) };
        if let Some(found) = self.worktree_of(&task.id)? {
            // Without a note, nobody knows what set-up made: its files are taken for the agent's.
            let unknown = WorktreeNote { is_prepared: true, ..new };
            return Ok((found.folder, noted.unwrap_or(unknown)));
        }
        let name = self.branch_of(&task.id);
        let checkout = match self.head_of(&task.id)? {
            Some(head) => {
                let is_known = noted.is_some() || self.is_known(task, head)?;
                if !is_known {
                    return Err(branch_taken(&name).into());
                }
                NewCheckout::Branch(name.as_str())
            }
            None => NewCheckout::NewBranch(name.as_str(), self.start_of(task, base)?),
        };
        let folder = self.folder_of(&task.id, None);
        self.add_in(&folder, checkout, is_stopped, || {
            // Git forgets its record of an earlier worktree there.
            self.salvage(&task.id, None)?;
            // From here on, the branch is known to be the task's.
            self.write_note(&task.id, &new)
        })?;
        Ok((folder, new))
    }

    /// Returns whether a branch with the task's name is that of its work: its history or a kept reference has it.
    fn is_known(&self, task: &Task, head: CommitId) -> Result<bool, ProjectError> {
        let kept = self.repository.commit_named(&kept_reference(&task.id))?;
        let noted = task.work().and_then(|work| work.head.as_str().parse().ok());
        for known in kept.into_iter().chain(noted) {
            if self.repository.is_ancestor(known, head)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the commit at which a new branch begins: the task's latest work, else the base.
    fn start_of(&self, task: &Task, base: &BranchName) -> Result<CommitId, ProjectError> {
        if let Some(work) = task.work() {
            let head: CommitId = work.head.as_str().parse().expect("it is the name of a commit");
            if self.repository.has_commit(head) {
                return Ok(head);
            }
            return Err(ProjectError::Unfit {
                code: "workspace_work_missing",
                problem: format!(
                    "the work at `{}` is at the commit {head}, which is not here",
                    task.id
                ),
                fix: format!(
                    "get it from where it was done: `git fetch REMOTE {0}:{0}`",
                    quoted(work.branch.as_str())
                )
                .into(),
            });
        }
        self.tip(base)?.ok_or_else(|| ProjectError::Unfit {
            code: "workspace_base_missing",
            problem: format!("there is no branch `{base}` here, and work begins at it"),
            fix: format!("create it, or get it: `git fetch origin {0}:{0}`", quoted(base.as_str()))
                .into(),
        })
    }

    /// Returns a new worktree with a detached HEAD at a commit, in place of the one that was there.
    pub(super) fn add_detached(
        &self,
        task: &TaskId,
        folder: &Path,
        (base, commit): (&BranchName, CommitId),
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<WorktreeNote, SetupFailed> {
        self.remove_detached(folder)?;
        self.add_in(folder, NewCheckout::Detached(commit), is_stopped, || Ok(()))?;
        let seen = self.note_of(task)?.map(|note| note.seen).unwrap_or_default();
        Ok(WorktreeNote { seen, ..WorktreeNote::new(base) })
    }

    /// Adds a worktree in a folder, which must be free, after a preparation. One process of git does that at a time.
    fn add_in(
        &self,
        folder: &Path,
        checkout: NewCheckout<'_>,
        is_stopped: &dyn Fn() -> bool,
        before: impl FnOnce() -> Result<(), ProjectError>,
    ) -> Result<(), SetupFailed> {
        let Some((_lock, held)) = self.lock("lock", is_stopped)? else {
            return Err(SetupFailed::Stopped);
        };
        // A process of git was killed there: nobody has worked in what it left.
        let all = self.repository.linked_worktrees()?;
        if all.iter().any(|one| one.folder == folder && !one.is_whole) {
            self.repository.remove_work_folder(folder, true)?;
        }
        ensure_free(folder)?;
        before()?;
        self.repository.add_work_folder(folder, checkout, &held)?;
        Ok(())
    }

    /// Copies files, and runs the set-up. Notes what that made.
    pub(crate) fn set_up(
        &self,
        made: &mut TaskWorktree,
        setup: &mut WorktreeSetup<'_>,
    ) -> Result<(), SetupFailed> {
        if !self.settings.setup.is_empty() {
            setup.programs.check(|program| program.kind == ProgramKind::Setup)?;
        }
        self.ensure_seen(made, setup.programs, &|kind, _| kind == ProgramKind::Setup)?;
        let repository = made.repository()?;
        made.note.is_mixed |= !repository.left_files()?.is_empty();
        self.copy_files(&made.facts.folder)?;
        for words in &self.settings.setup {
            let ended = made.run(words, setup)?;
            if let Some(why) = &ended.failure {
                let said = ended.last_lines(1, MOST_QUOTED);
                let said = if said.is_empty() { said } else { format!(": {}", said.trim()) };
                return Err(SetupFailed::Program(format!("`{}` {why}{said}", words.join(" "))));
            }
        }
        for file in repository.left_files()? {
            let blob = repository.hash_file(&made.facts.folder.join(&file.path));
            made.note.made.insert(file.path, blob.map(|blob| blob.to_string()).unwrap_or_default());
        }
        made.note.is_prepared = true;
        if !made.facts.is_detached {
            self.write_note(&made.task, &made.note)?;
        }
        Ok(())
    }

    /// Copies the untracked files that the settings and `.worktreeinclude` name, unless they are there already.
    fn copy_files(&self, folder: &Path) -> Result<(), ProjectError> {
        let included = self.checkout.join(INCLUDED);
        let included = included.is_file().then_some(included);
        if self.settings.copy.is_empty() && included.is_none() {
            return Ok(());
        }
        let from = Repository::discover(&self.checkout)?;
        for path in from.untracked_files(&self.settings.copy, included.as_deref())? {
            let text = String::from_utf8_lossy(path.as_bytes()).into_owned();
            if text.starts_with(".aof/") || text.contains("/.aof/") {
                continue;
            }
            let (above, name) = text.rsplit_once('/').unwrap_or(("", &text));
            let source = Folder::open(from.worktree_root(), above)?;
            let Some((bytes, _)) = source.read(name, MOST_COPIED)? else { continue };
            // A link that the branch has on the way is refused.
            match Folder::create(folder, above)?.create_new(name, &bytes) {
                Ok(()) => {}
                Err(StoreError::Exists { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
            let place = folder.join(&text);
            fs::metadata(from.worktree_root().join(&text))
                .and_then(|meta| fs::set_permissions(&place, meta.permissions()))
                .map_err(|cause| StoreError::io("set the permissions of", &place, cause))?;
        }
        Ok(())
    }
}

/// Fails if something is in the place of a new worktree.
fn ensure_free(folder: &Path) -> Result<(), ProjectError> {
    let is_free = fs::read_dir(folder).map_or_else(
        |error| error.kind() == std::io::ErrorKind::NotFound,
        |mut entries| entries.next().is_none(),
    );
    if is_free && !folder.is_symlink() {
        return Ok(());
    }
    Err(ProjectError::Unfit {
        code: "workspace_folder_taken",
        problem: format!("`{}` is in the way: a workspace belongs there", folder.display()),
        fix: "move it elsewhere; if it is a worktree that was moved or lost its `.git`, `git worktree repair` brings it back".into(),
    })
}

fn branch_taken(name: &BranchName) -> ProjectError {
    let quoted = quoted(name.as_str());
    ProjectError::Unfit {
        code: "workspace_branch_taken",
        problem: format!("the branch `{name}` exists, and no visit of the task made it"),
        fix: format!(
            "rename it, `git branch -m {quoted} OTHER`, or choose another `workspaces.prefix`"
        )
        .into(),
    }
}
