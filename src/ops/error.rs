//! What an operation can fail with; each says what is wrong and what to do about it.

use std::io::ErrorKind;

use super::way_back::WayBack;
use crate::audit::{AuditError, OwnFolder, RemoteError};
use crate::engine::Refusal;
use crate::format::diagnostic::Diagnostic;
use crate::format::frontmatter::SpliceRefusal;
use crate::format::import::Remark;
use crate::format::shell::quoted;
use crate::model::{IdFault, TaskId, Ticket, listed, nearest};
use crate::store::layout::is_archived;
use crate::store::{ProjectPath, StoreError, io_hint};

/// Why an operation was not carried out. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpsError {
    /// The rules said no.
    #[error("{}", .0.problem())]
    Refused(Refusal),
    /// Files.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The repository.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// The remote.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// A claim could not be confirmed by the remote. Nothing is claimed.
    #[error("{problem}")]
    NotConfirmed {
        /// The code in JSON.
        code: &'static str,
        /// What is wrong.
        problem: String,
        /// What to do.
        fix: String,
    },
    /// Somebody on another machine claimed it first.
    #[error("`{ticket}` was claimed on another machine first")]
    ClaimLost {
        /// What was claimed.
        ticket: Ticket,
    },
    /// A text that is no id.
    #[error(transparent)]
    Id(#[from] IdFault),
    /// There is no such task.
    #[error("{}", match .committed {
        Some(path) => format!("the file of task `{id}` is gone: `{path}`"),
        None => format!("there is no task `{id}`"),
    })]
    NoTask {
        /// What was asked for.
        id: TaskId,
        /// A task of a similar id.
        nearest: Option<TaskId>,
        /// Its file in HEAD, if only the worktree lacks it.
        committed: Option<ProjectPath>,
        /// What git is in the middle of, which may be why: what it makes of the file is in no commit yet.
        underway: Option<String>,
    },
    /// The task's file cannot be read.
    #[error("`{path}` cannot be read as a task")]
    UnreadableTask {
        /// The task.
        id: TaskId,
        /// Its file.
        path: ProjectPath,
        /// Everything wrong with it.
        diagnostics: Vec<Diagnostic>,
        /// How it comes to be readable again, as far as that was looked for.
        way_back: WayBack,
    },
    /// The rules in force, or a file of theirs, are invalid.
    #[error("the configuration is invalid")]
    InvalidRules(Vec<Diagnostic>),
    /// The task's file was changed by hand where it is the engine's.
    #[error("`{path}` was changed by hand in what the engine keeps: {}", .fields.join(", "))]
    Frozen {
        /// The task.
        id: TaskId,
        /// Its file.
        path: ProjectPath,
        /// The fields.
        fields: Vec<String>,
        /// How it is taken back.
        thaw: String,
    },
    /// The change cannot be made without touching more than it.
    #[error("`{path}` cannot be changed safely: {refusal}")]
    Splice {
        /// The file.
        path: ProjectPath,
        /// Why not.
        refusal: SpliceRefusal,
    },
    /// The task kept changing while it was worked on.
    #[error("task `{id}` changed each time it was about to be written")]
    Restless {
        /// The task.
        id: TaskId,
    },
    /// Nobody is named who acts.
    #[error("it is not known which agent you are")]
    NoAgent {
        /// The user's address that no agent has.
        email: Option<String>,
        /// An agent of that address that is a person's, away from a terminal.
        human: Option<String>,
    },
    /// There is a project here already.
    #[error("there is a project here already: `{path}`")]
    ProjectExists {
        /// The file that says so.
        path: ProjectPath,
    },
    /// A file of another system cannot be imported, or what it would become is no workflow.
    #[error("{problem}")]
    InvalidImport {
        /// What is wrong.
        problem: String,
        /// Everything wrong with it.
        diagnostics: Vec<Diagnostic>,
    },
    /// A file of another system says of the way of a task what cannot be said here.
    #[error("the import would lose where tasks go: {}", .lost.iter().map(|remark| format!("`{}`", remark.field)).collect::<Vec<_>>().join(", "))]
    LossyImport {
        /// What would be lost.
        lost: Vec<Remark>,
    },
    /// A name that stands for nothing here.
    #[error("there is no {} `{given}`", .kind.noun())]
    Unknown {
        /// What it should name.
        kind: Kind,
        /// The name.
        given: String,
        /// What there is.
        known: Vec<String>,
    },
    /// What was given for a new task or an edit does not fit.
    #[error("{problem}")]
    Unfit {
        /// The code in JSON.
        code: &'static str,
        /// What is wrong.
        problem: String,
        /// What to do.
        fix: String,
    },
}

/// What a name is the name of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Of an agent.
    Agent,
    /// Of a commit.
    Commit,
    /// Of a gate.
    Gate,
    /// Of a role.
    Role,
    /// Of a workflow.
    Workflow,
}

impl Kind {
    const fn noun(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Commit => "commit",
            Self::Gate => "gate",
            Self::Role => "role",
            Self::Workflow => "workflow",
        }
    }

    const fn code(self) -> &'static str {
        match self {
            Self::Agent => "unknown_agent",
            Self::Commit => "unknown_commit",
            Self::Gate => "unknown_gate",
            Self::Role => "unknown_role",
            Self::Workflow => "unknown_workflow",
        }
    }
}

impl From<Refusal> for OpsError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl OpsError {
    /// Returns what is wrong, with what the system or git said of it.
    pub fn problem(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text.push_str(&format!(": {error}"));
            cause = error.source();
        }
        text
    }

    /// Returns whether every other change would meet the same trouble: it is the disk's, the repository's or the rules', and no
    /// single task's.
    pub fn is_general(&self) -> bool {
        match self {
            Self::Store(StoreError::Io { cause, .. }) => is_exhausted(cause),
            Self::Store(
                StoreError::LockTimedOut { .. }
                | StoreError::NetworkFileSystem { .. }
                | StoreError::NotDurable { .. }
                | StoreError::NoProject { .. }
                | StoreError::Random { .. },
            )
            | Self::InvalidRules(_)
            | Self::Remote(_)
            | Self::NotConfirmed { .. }
            | Self::Unfit { code: "rules_not_committed", .. } => true,
            Self::Audit(error) => !matches!(
                error,
                AuditError::StagedElsewise { .. }
                    | AuditError::Unmerged { .. }
                    | AuditError::IntentToAdd { .. }
                    | AuditError::Unchanged
                    | AuditError::Moved { .. }
                    | AuditError::NotWritten
                    | AuditError::BadPath { .. }
                    | AuditError::BadPerson { .. }
                    | AuditError::BadTime { .. }
            ),
            _ => false,
        }
    }

    /// Returns the files of tasks that it is about: unless one of them changes, it hardly ends.
    pub fn task_files(&self) -> Vec<&ProjectPath> {
        match self {
            Self::Frozen { path, .. }
            | Self::UnreadableTask { path, .. }
            | Self::NoTask { committed: Some(path), .. } => {
                vec![path]
            }
            Self::Store(StoreError::TaskDoubled { paths, .. }) => paths.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Returns whether it is over once somebody else is done: what was wanted may then be tried again as it is.
    pub fn passes(&self) -> bool {
        match self {
            Self::Store(StoreError::LockTimedOut { .. })
            | Self::Restless { .. }
            | Self::Frozen { .. }
            | Self::Remote(_)
            | Self::NotConfirmed { .. } => true,
            Self::Store(StoreError::Io { cause, .. }) => is_exhausted(cause),
            Self::Audit(error) => matches!(
                error,
                AuditError::Waiting { .. }
                    | AuditError::Locked { .. }
                    | AuditError::NotStored { .. }
                    | AuditError::StagedElsewise { .. }
                    | AuditError::Unmerged { .. }
                    | AuditError::IntentToAdd { .. }
            ),
            _ => false,
        }
    }

    /// Returns the code that stands for the error in JSON.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::Store(StoreError::TaskNotFound { .. }) | Self::NoTask { .. } => "task_not_found",
            Self::Store(StoreError::NoProject { .. }) => "no_project",
            Self::Store(StoreError::TaskDoubled { .. }) => "task_doubled",
            Self::Store(StoreError::LockTimedOut { .. }) => "lock_timeout",
            Self::Store(_) => "files",
            Self::Audit(AuditError::Waiting { .. }) => "git_busy",
            Self::Audit(AuditError::Locked { .. }) => "git_locked",
            Self::Audit(AuditError::NoRepository { .. }) => "no_repository",
            Self::Audit(AuditError::NoIdentity { .. }) => "no_identity",
            Self::Audit(AuditError::StagedElsewise { .. }) => "staged_elsewise",
            Self::Audit(AuditError::Unmerged { .. }) => "unmerged",
            Self::Audit(AuditError::InTheWay { .. }) => "in_the_way",
            Self::Audit(AuditError::OwnFolderInGit(_)) => "own_folder_in_git",
            Self::Audit(_) => "git",
            Self::Remote(error) => error.code(),
            Self::ClaimLost { .. } => "claim_lost",
            Self::Id(_) => "invalid_id",
            Self::UnreadableTask { .. } => "unreadable_task",
            Self::InvalidRules(_) => "workflow_config_invalid",
            Self::Frozen { .. } => "task_frozen",
            Self::Splice { .. } => "unsafe_change",
            Self::Restless { .. } => "task_restless",
            Self::NoAgent { .. } => "no_agent",
            Self::ProjectExists { .. } => "project_exists",
            Self::InvalidImport { .. } => "invalid_import",
            Self::LossyImport { .. } => "lossy_import",
            Self::Unknown { kind, .. } => kind.code(),
            Self::Unfit { code, .. } | Self::NotConfirmed { code, .. } => code,
        }
    }

    /// Returns what to do about it.
    pub fn fix(&self) -> Option<String> {
        Some(match self {
            Self::Refused(refusal) => refusal.fix(),
            Self::Store(error) => return error.hint(),
            Self::Audit(AuditError::OwnFolderInGit(folder)) => take_out(folder),
            Self::Remote(error) => error.fix(),
            Self::ClaimLost { ticket } => {
                format!("see who has it with `aof task show {}`, or take another with `aof task next`", ticket.task)
            }
            Self::Audit(AuditError::Index { .. }) => "make it anew with `git read-tree HEAD`".to_owned(),
            Self::Audit(AuditError::NoIndex { .. }) => "make it anew with `git reset`".to_owned(),
            Self::Audit(AuditError::NotRun { cause, .. }) if cause.kind() == ErrorKind::NotFound => {
                "see that git is installed, in one of the folders of `PATH`".to_owned()
            }
            Self::Audit(AuditError::Io { action, path, source }) => return io_hint(action, path, source),
            Self::UnreadableTask { path, way_back, .. } if *way_back != WayBack::Unknown => {
                return way_back.fix("mend it", path.as_str());
            }
            Self::UnreadableTask { path, diagnostics, .. } if diagnostics.iter().all(|found| found.help.is_none()) => {
                format!("mend it there; `git log -p -- {}` shows what it said before", quoted(path.as_str()))
            }
            Self::Audit(_)
            | Self::Id(_)
            | Self::UnreadableTask { .. }
            | Self::InvalidRules(_)
            | Self::InvalidImport { .. } => return None,
            Self::LossyImport { .. } => {
                "nothing was written; change the file, or import the rest of it with `--lossy`".to_owned()
            }
            Self::NoTask { committed: Some(_), underway: Some(reason), .. } => {
                format!("{reason}; `git status` says what that makes of the file")
            }
            Self::NoTask { id, committed: Some(path), underway: None, .. } => missing(id, path),
            Self::NoTask { nearest: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::NoTask { nearest: None, .. } => "see what there is with `aof task list --all`".to_owned(),
            Self::Frozen { thaw, .. } => thaw.clone(),
            Self::Splice { path, .. } => format!("write that part of `{path}` more plainly, then try again"),
            Self::Restless { .. } => "try again when nobody edits it".to_owned(),
            Self::NoAgent { human: Some(human), .. } => format!(
                "git's user is `{human}`, and a person acts at a terminal; a program says who it is with `--agent ID` or `AOF_AGENT`"
            ),
            Self::NoAgent { email, .. } => {
                let email = email.as_deref().unwrap_or("you@example.org");
                format!(
                    "say it with `--agent ID` or `AOF_AGENT`, or let org.yaml know git's user: `agents: {{human-you: {{email: {email}}}}}`"
                )
            }
            Self::ProjectExists { path } => format!(
                "nothing was written: edit `{path}` (if you deleted it, `git restore {path}` brings it back), or begin \
                 another project in a folder of its own with `aof init DIR`"
            ),
            Self::Unknown { kind: Kind::Commit, .. } => {
                "name a branch, a tag, or the beginning of a commit's id; `git log --oneline` shows them".to_owned()
            }
            Self::Unknown { given, known, .. } => match nearest(given, known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there is {}", listed(known)),
            },
            Self::Unfit { fix, .. } | Self::NotConfirmed { fix, .. } => fix.clone(),
        })
    }
}

/// Returns what to do about a file that HEAD has and the worktree lacks.
pub(super) fn missing(id: &TaskId, path: &ProjectPath) -> String {
    let back = bring_back(path.as_str());
    if is_archived(path) {
        return back;
    }
    // A commit without the file would take its history away, and `aof verify` says so for good.
    format!("{back}; if it is not to be done, call it off then: `aof task cancel {id} --reason \"...\"`")
}

/// Says how a file comes back that HEAD has.
pub(super) fn bring_back(path: &str) -> String {
    format!("bring it back with `git restore --source=HEAD --staged --worktree {}`", quoted(path))
}

/// Returns how aof's own folder comes out of git; what is not the clone's own goes first, so that nothing is done with it behind that.
fn take_out(OwnFolder { name, is_committed, is_staged, around }: &OwnFolder) -> String {
    let name = quoted(name);
    let git = match around {
        // It says where it works, or it would be taken for one of the project's worktree.
        Some(around) => format!("git -C {}", quoted(&around.display().to_string())),
        None => "git".to_owned(),
    };
    if !is_staged {
        return format!(
            "delete there what is not yours, and commit that it was taken out: `{git} commit -m \"{name} is local\"`"
        );
    }
    let commit =
        if *is_committed { format!(", and commit that: `{git} commit -m \"{name} is local\"`") } else { String::new() };
    format!(
        "see what git has there with `{git} ls-files {name}`, delete what is not yours, and take it out with `{git} rm -r --cached {name}`{commit}"
    )
}

/// What is said to be changed where nobody can tell, since what HEAD has cannot be read.
pub(super) const UNREADABLE_BEFORE: &str = "frontmatter";

pub(super) fn is_unreadable_before(fields: &[String]) -> bool {
    matches!(fields, [only] if only == UNREADABLE_BEFORE)
}

/// Returns how to take back what was changed by hand in these fields of a task file; what HEAD has is no way back if it cannot be read.
pub(super) fn thaw(fields: &[String], path: &ProjectPath, head_path: Option<&ProjectPath>) -> String {
    let named = quoted(path.as_str());
    match head_path {
        Some(before) if is_unreadable_before(fields) => format!(
            "what HEAD has cannot be read, so a person has to say that this counts: see it with `git diff HEAD -- {}`, then \
             commit it yourself: `git add {named} && git commit`",
            quoted(before.as_str())
        ),
        Some(before) if before == path => {
            format!(
                "see the change with `git diff HEAD -- {named}` and take it back with `git restore --source=HEAD \
                 --staged --worktree {named}`"
            )
        }
        Some(before) => format!(
            "it was `{before}`: see the change with `git diff HEAD -- {0} {named}`, take it back with `git restore \
             --source=HEAD --staged --worktree {0}`, and remove `{path}`",
            quoted(before.as_str())
        ),
        None => format!(
            "`{path}` was never committed, so nobody can say how it came to stand there; take out what the engine keeps (`gate`, \
             `gateHistory`, `status`, `blockers`, `reviewContext`, `workflowHash`, `routing` but for `workflow`, and `context` but for \
             `input`) to have it begin anew, or commit it yourself if you trust it: `git add {named} && git commit`"
        ),
    }
}

/// Returns what to do about what a task at no gate yet cannot say by itself.
pub(super) fn begin_plainly(id: &TaskId) -> String {
    format!(
        "it stands at no gate yet, so take that out of the file, and it begins; then `aof task hold {id} --reason \"...\"` blocks it and \
         `aof task assign {id} AGENT` gives it to somebody. What a task begins with stands below `context.input`"
    )
}

/// Returns whether the system has no more of something for anybody.
fn is_exhausted(cause: &std::io::Error) -> bool {
    use std::io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    // Too many open files, here or in the whole system: these have no kind of their own.
    const EMFILE: i32 = 24;
    const ENFILE: i32 = 23;
    matches!(cause.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem)
        || matches!(cause.raw_os_error(), Some(EMFILE | ENFILE))
}
