//! What an operation can fail with; each says what is wrong and what to do about it.

mod facts;
pub(crate) mod reason;

use crate::domain::ImportRemark;
use crate::domain::{IdFault, TaskId, Ticket};
use crate::files::diagnostic::Diagnostic;
use crate::files::frontmatter::SpliceRefusal;
use crate::git::{GitError, RemoteError};
use crate::rules::Refusal;
use crate::storage::fs::project_path::BadPath;
use crate::storage::{ProjectPath, StoreError};

/// Why an operation was not carried out. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The rules said no.
    #[error("{}", .0.problem())]
    Refused(Refusal),
    /// Files.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The repository.
    #[error(transparent)]
    Git(#[from] GitError),
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
    #[error("{}", match (.committed, .left_out) {
        (Some(path), Some(_)) => format!("git leaves the file of task `{id}` out of this checkout: `{path}`"),
        (Some(path), _) => format!("the file of task `{id}` is gone: `{path}`"),
        (None, _) => format!("there is no task `{id}`"),
    })]
    NoTask {
        /// What was asked for.
        id: TaskId,
        /// A task of a similar id.
        nearest: Option<TaskId>,
        /// Its file in HEAD, if only the worktree lacks it.
        committed: Option<ProjectPath>,
        /// How it comes into this checkout, if git leaves it out.
        left_out: Option<String>,
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
    },
    /// The rules in force, or a file of theirs, are invalid.
    #[error("the configuration is invalid")]
    InvalidRules(Vec<Diagnostic>),
    /// The task's file was changed by hand where it is the engine's, or says what only the engine says.
    #[error("{problem}")]
    Frozen {
        /// The task.
        id: TaskId,
        /// Its file.
        path: ProjectPath,
        /// What is wrong.
        problem: String,
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
    /// A change failed, and what it had written could not be put back as it was.
    #[error("{}", match .failure {
        Some(failure) => format!("{}; and what it had written could not be taken back: {}", failure.problem(), .fault.problem()),
        None => format!("what a command failed in could not be taken back yet: {}", .fault.problem()),
    })]
    NotPutBack {
        /// Why it failed; nothing where that was another command's, which said so.
        failure: Option<Box<ProjectError>>,
        /// Why it could not be put back.
        fault: Box<ProjectError>,
        /// Whether it is noted that this is still to be done. Otherwise what was left is finished like anything that a kill leaves.
        noted: bool,
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
        lost: Vec<ImportRemark>,
    },
    /// A name that stands for nothing here.
    #[error("there is no {} `{given}`", .kind.noun())]
    Unknown {
        /// What it should name.
        kind: Named,
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

impl From<Refusal> for ProjectError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl ProjectError {
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
}

impl From<BadPath> for ProjectError {
    fn from(fault: BadPath) -> Self {
        Self::Store(fault.into())
    }
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// An agent.
    Agent,
    /// A commit.
    Commit,
    /// A gate.
    Gate,
    /// A role.
    Role,
    /// A workflow.
    Workflow,
}

impl Named {
    const fn noun(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Commit => "commit",
            Self::Gate => "gate",
            Self::Role => "role",
            Self::Workflow => "workflow",
        }
    }

    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::Agent => "unknown_agent",
            Self::Commit => "unknown_commit",
            Self::Gate => "unknown_gate",
            Self::Role => "unknown_role",
            Self::Workflow => "unknown_workflow",
        }
    }
}
