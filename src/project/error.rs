//! The errors of operations: the problem, the fix, the code, whether it is temporary, the JSON.

use std::io::ErrorKind::{NotFound, QuotaExceeded, ReadOnlyFilesystem, StorageFull};

use serde_json::{Value, json};

use crate::domain::{
    Advice, AgentId, Fix, IdFault, ImportRemark, Remedy, TaskId, Ticket, advice, listed, nearest,
};
use crate::files::diagnostic::Diagnostic;
use crate::files::frontmatter::SpliceRefusal;
use crate::git::{GitError, OtherHead, RemoteError};
use crate::project::git_hints::{missing, remote_code, remote_fix, unreadable_hint, untrack_hint};
use crate::rules::Refusal;
use crate::storage::fs::project_path::BadPath;
use crate::storage::{ProjectPath, StoreError, io_hint};
use crate::system::terminal::quoted;

/// The state of a task in another worktree because of which it must not be handed out here.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorktreeDifference {
    /// The agent holds the same visit there.
    Held(AgentId),
    /// The task has ended more visits there.
    Ahead,
    /// Each worktree has visits that the other lacks.
    Diverged,
}

/// The reason why an operation failed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The rules refuse the operation.
    #[error("{}", .0.problem())]
    Refused(Refusal),
    /// An error of files.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An error of the repository.
    #[error(transparent)]
    Git(#[from] GitError),
    /// An error of the remote.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// A claim could not be confirmed by the remote. Nothing is claimed.
    #[error("{problem}")]
    NotConfirmed { code: &'static str, problem: String, fix: Advice },
    /// An agent on another machine claimed it first.
    #[error("`{ticket}` was claimed on another machine first")]
    ClaimLost { ticket: Ticket },
    /// The task must not be handed out here, because its state in another worktree of the repository differs.
    #[error("{}", elsewhere_text(.ticket, .worktree, .difference))]
    TakenElsewhere { ticket: Ticket, worktree: OtherHead, difference: WorktreeDifference },
    /// The text is not an id.
    #[error(transparent)]
    Id(#[from] IdFault),
    /// There is no such task.
    #[error("{}", match (.committed, .left_out) {
        (Some(path), Some(_)) => format!("git leaves the file of task `{id}` out of this checkout: `{path}`"),
        (Some(path), _) => format!("the file of task `{id}` is gone: `{path}`"),
        (None, _) => format!("there is no task `{id}`"),
    })]
    NoTask {
        id: TaskId,
        /// A task with a similar id.
        nearest: Option<TaskId>,
        /// Its file in HEAD, if only the worktree lacks it.
        committed: Option<ProjectPath>,
        /// The command that adds the file to this checkout, if git leaves it out.
        left_out: Option<String>,
        /// The operation of git in progress, which may be the reason: its result is not committed yet.
        underway: Option<String>,
    },
    /// Several tasks fit the text that a person typed. `candidates` are the first of them, with their titles.
    #[error("{count} tasks {fit}{}", candidate_lines(.candidates, *.count))]
    AmbiguousTask { fit: String, candidates: Vec<(TaskId, String)>, count: usize },
    /// The task's file cannot be read.
    #[error("`{path}` cannot be read as a task")]
    UnreadableTask {
        id: TaskId,
        path: ProjectPath,
        diagnostics: Vec<Diagnostic>,
        /// True if HEAD has it there.
        in_head: bool,
    },
    /// The acceptance tests of a task cannot be read; everything else of it can.
    #[error("the tests of `{id}` are invalid")]
    InvalidTests { id: TaskId, diagnostics: Vec<Diagnostic> },
    /// The rules, or one of their files, are invalid.
    #[error("the configuration is invalid")]
    InvalidRules(Vec<Diagnostic>),
    /// Fields of the task file that only the engine may write were changed by hand.
    #[error("{problem}")]
    Frozen { id: TaskId, path: ProjectPath, problem: String, fields: Vec<String>, thaw: String },
    /// The change cannot be made without touching other parts of the file.
    #[error("`{path}` cannot be changed safely: {refusal}")]
    Splice { path: ProjectPath, refusal: SpliceRefusal },
    /// A change failed, and the parts that were written could not be reverted.
    #[error("{}", match .failure {
        Some(failure) => format!("{}; and what it had written could not be reverted: {}", failure.problem(), .fault.problem()),
        None => format!("the failed change of another command could not be reverted yet: {}", .fault.problem()),
    })]
    RestoreFailed {
        /// The failure; `None` if it was another command's change, and that command reported it.
        failure: Option<Box<ProjectError>>,
        fault: Box<ProjectError>,
        /// True if the journal marks it for rollback. Otherwise recovery finishes it, as after a kill.
        noted: bool,
    },
    /// The task kept changing while a command tried to change it.
    #[error("task `{id}` changed each time it was about to be written")]
    Contended { id: TaskId },
    /// The acting agent is unknown.
    #[error("it is unknown which agent you are")]
    NoAgent {
        /// The email of git's user, which no agent has.
        email: Option<String>,
    },
    /// A person is not at a terminal, and no agent is named.
    #[error("git's user acts only at a terminal, and no agent is named")]
    PersonUnseen {
        /// The command without the agent.
        command: String,
        /// The agents that the person may be.
        agents: Vec<AgentId>,
    },
    /// There is a project here already.
    #[error("there is a project here already: `{path}`")]
    ProjectExists { path: ProjectPath },
    /// A file of people who may log in is invalid.
    #[error("the users in `{file}` are invalid")]
    InvalidUsers { file: String, diagnostics: Vec<Diagnostic> },
    /// A file of another system cannot be imported, or would not become a valid workflow.
    #[error("{problem}")]
    InvalidImport { problem: String, diagnostics: Vec<Diagnostic> },
    /// A file of another system has routes that cannot be expressed here.
    #[error("the import would lose routes or checks: {}", .lost.iter().map(|remark| format!("`{}`", remark.field)).collect::<Vec<_>>().join(", "))]
    LossyImport { lost: Vec<ImportRemark> },
    /// A name is unknown here.
    #[error("there is no {} `{given}`", .kind.noun())]
    Unknown { kind: Named, given: String, known: Vec<String> },
    /// The arguments of an operation, or the state of the project, do not allow it.
    #[error("{problem}")]
    Unfit { code: &'static str, problem: String, fix: Advice },
}

impl From<Refusal> for ProjectError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl ProjectError {
    /// Returns the problem, with its causes in the system or git.
    pub fn problem(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text.push_str(&format!(": {error}"));
            cause = error.source();
        }
        if let Self::Git(GitError::NoRepository { .. }) = self {
            text.push_str(&format!("; run `{}` or `git init` there", Fix::from(Remedy::Init)));
        }
        text
    }
}

impl From<BadPath> for ProjectError {
    fn from(fault: BadPath) -> Self {
        Self::Store(fault.into())
    }
}

/// The kind of thing that a name is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    Agent,
    Commit,
    Gate,
    Role,
    Workflow,
}

impl Named {
    const fn noun(self) -> &'static str {
        self.words().0
    }

    pub(crate) const fn code(self) -> &'static str {
        self.words().1
    }

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Agent => ("agent", "unknown_agent"),
            Self::Commit => ("commit", "unknown_commit"),
            Self::Gate => ("gate", "unknown_gate"),
            Self::Role => ("role", "unknown_role"),
            Self::Workflow => ("workflow", "unknown_workflow"),
        }
    }
}

/// The properties of one error, in one place.
#[derive(Default)]
struct ErrorFacts {
    /// The code for the error in JSON.
    code: &'static str,
    fix: Option<Advice>,
    /// True if every other change would fail with it: it concerns the disk, the repository or the rules, not one task.
    is_general: bool,
    /// True if the same command may succeed later, once another process is done.
    passes: bool,
}

impl ErrorFacts {
    fn of(code: &'static str) -> Self {
        Self { code, ..Self::default() }
    }

    fn fix(self, fix: impl Into<Advice>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }

    fn fix_if_any(self, fix: Option<Advice>) -> Self {
        Self { fix, ..self }
    }

    fn general(self) -> Self {
        Self { is_general: true, ..self }
    }

    fn passes(self) -> Self {
        Self { passes: true, ..self }
    }
}

impl ProjectError {
    /// Returns the code for the error in JSON.
    pub fn code(&self) -> &'static str {
        self.facts().code
    }

    /// Returns its fix.
    pub fn advice(&self) -> Option<Advice> {
        self.facts().fix
    }

    /// Returns its fix with the commands of the command line.
    pub fn fix(&self) -> Option<String> {
        self.advice().map(|fix| fix.to_string())
    }

    /// Returns the problem and the fix with operations as `show` names them; for a refusal, an example as well.
    pub fn message(&self, show: impl Fn(&Fix) -> String) -> String {
        match (self, self.advice()) {
            (Self::Refused(refusal), _) => refusal.message(show),
            (_, Some(fix)) => format!("{}\n\n{}", self.problem(), fix.render(show)),
            (_, None) => self.problem(),
        }
    }

    /// Returns whether every other change would fail with the same error.
    pub fn is_general(&self) -> bool {
        self.facts().is_general
    }

    /// Returns whether the error is temporary: the same command may succeed once another process is done.
    pub fn passes(&self) -> bool {
        self.facts().passes
    }

    /// Returns the problem with its fix, for people.
    pub fn with_fix(&self) -> String {
        self.fix().map_or_else(|| self.problem(), |fix| format!("{}; {fix}", self.problem()))
    }

    /// Returns the task files that cause the error: it will probably last until one of them changes.
    pub fn task_files(&self) -> Vec<&ProjectPath> {
        match self {
            Self::Frozen { path, .. }
            | Self::Splice { path, .. }
            | Self::UnreadableTask { path, .. }
            | Self::NoTask { committed: Some(path), .. } => vec![path],
            Self::Store(StoreError::TaskDoubled { paths, .. }) => paths.iter().collect(),
            _ => Vec::new(),
        }
    }

    fn facts(&self) -> ErrorFacts {
        match self {
            Self::Refused(refusal) => ErrorFacts::of(refusal.code()).fix(refusal.fix()),
            Self::Store(error) => of_files(error),
            Self::Git(error) => of_git(error),
            Self::Remote(error) => {
                ErrorFacts::of(remote_code(error)).fix(remote_fix(error)).general().passes()
            }
            Self::NotConfirmed { code, fix, .. } => ErrorFacts::of(code).fix(fix).general().passes(),
            Self::ClaimLost { ticket } => ErrorFacts::of("claim_lost").fix(advice![
                "see who has it with ",
                Remedy::Show.on(&ticket.task),
                ", or take another with ",
                Remedy::Next,
            ]),
            Self::TakenElsewhere { worktree, .. } => ErrorFacts::of("taken_elsewhere").fix(advice![
                merge_hint(worktree),
                "; or take another with ",
                Remedy::Next,
            ]),
            Self::Id(_) => ErrorFacts::of("invalid_id"),
            Self::NoTask { id, nearest, committed, left_out, underway } => {
                ErrorFacts::of("task_not_found").fix(match (committed, underway, left_out, nearest) {
                    (Some(_), Some(reason), ..) => {
                        format!("{reason}; `git status` says what that makes of the file").into()
                    }
                    (_, _, Some(left_out), _) => left_out.as_str().into(),
                    (Some(path), ..) => missing(id, path).into(),
                    (.., Some(near)) => format!("did you mean `{near}`?").into(),
                    _ => advice![Fix::from(Remedy::List).flag("all"), " lists them all"],
                })
            }
            Self::AmbiguousTask { .. } => {
                ErrorFacts::of("ambiguous_task").fix("give more of the id")
            }
            Self::UnreadableTask { path, diagnostics, in_head, .. } => {
                let is_conflict = diagnostics.iter().any(|found| found.code == "conflict_markers");
                ErrorFacts::of("unreadable_task").fix(if is_conflict {
                    "a merge that is still in progress can be taken back with `git merge --abort`".to_owned()
                } else {
                    unreadable_hint(path.as_str(), *in_head)
                })
            }
            Self::InvalidTests { .. } => ErrorFacts::of("invalid_tests"),
            Self::InvalidRules(_) => ErrorFacts::of("workflow_config_invalid").general(),
            Self::Frozen { thaw, .. } => ErrorFacts::of("task_frozen").fix(thaw.as_str()).passes(),
            Self::Splice { path, .. } => ErrorFacts::of("unsafe_change")
                .fix(format!("simplify that part of `{path}`, then try again")),
            Self::RestoreFailed { failure, fault, noted } => {
                let facts = ErrorFacts::of("not_put_back").general().fix(match failure {
                    Some(_) if !noted => advice![
                        "once the disk works again, the next command finishes the change: check with ",
                        Remedy::Show,
                        " before you repeat it",
                    ],
                    Some(_) => fix_then(
                        fault,
                        "the change does not count: the next command first reverts what was written, then you can repeat it",
                    ),
                    None => fix_then(
                        fault,
                        "until then no command changes anything; `git status` shows the file",
                    ),
                });
                // A retry would repeat what the next command finishes anyway.
                ErrorFacts { passes: *noted, ..facts }
            }
            Self::Contended { .. } => {
                ErrorFacts::of("task_restless").fix("try again when nobody edits it").passes()
            }
            Self::PersonUnseen { command, agents } => {
                ErrorFacts::of("no_agent").fix(how_to_name_agent(command, agents))
            }
            Self::NoAgent { email } => {
                let email = email.as_deref().unwrap_or("you@example.org");
                ErrorFacts::of("no_agent").fix(format!(
                    "say it with `--agent ID` or `AOF_AGENT`, or let org.yaml know git's user: `agents: {{human-you: {{email: {email}}}}}`"
                ))
            }
            Self::ProjectExists { path } => ErrorFacts::of("project_exists").fix(format!(
                "nothing was written: edit `{path}` (if you deleted it, `git restore {path}` brings it back), or begin \
                 another project in a folder of its own with `aof init DIR`"
            )),
            Self::InvalidUsers { .. } => ErrorFacts::of("invalid_users"),
            Self::InvalidImport { .. } => ErrorFacts::of("invalid_import"),
            Self::LossyImport { .. } => ErrorFacts::of("lossy_import").fix(
                "nothing was written; change the file, or import the rest of it with `--accept-losses`",
            ),
            Self::Unknown { kind: kind @ Named::Commit, .. } => ErrorFacts::of(kind.code()).fix(
                "name a branch, a tag, or the beginning of a commit's id; `git log --oneline` shows them",
            ),
            Self::Unknown { kind, given, known } => ErrorFacts::of(kind.code()).fix(
                match nearest(given, known.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there is {}", listed(known)),
                },
            ),
            Self::Unfit { code, fix, .. } => {
                ErrorFacts { is_general: *code == "rules_not_committed", ..ErrorFacts::of(code).fix(fix) }
            }
        }
    }
}

fn fix_then(fault: &ProjectError, next: &str) -> Advice {
    fault.advice().map_or_else(|| next.into(), |fix| advice![fix, "; ", next])
}

fn how_to_name_agent(command: &str, agents: &[AgentId]) -> String {
    match agents {
        [] => format!(
            "put an agent into a role of org.yaml, commit that, and name it, as in `{command} --agent ID`"
        ),
        [first, ..] => format!(
            "say which agent you are, as in `{command} --agent {first}`, or in `AOF_AGENT`; org.yaml has {}",
            listed(agents)
        ),
    }
}

fn of_files(error: &StoreError) -> ErrorFacts {
    let facts = match error {
        StoreError::TaskNotFound { .. } => ErrorFacts::of("task_not_found"),
        StoreError::TaskDoubled { .. } => ErrorFacts::of("task_doubled"),
        StoreError::NoProject { .. } => ErrorFacts::of("no_project").general(),
        StoreError::LockTimedOut { .. } => ErrorFacts::of("lock_timeout").general().passes(),
        StoreError::Io { cause, .. } if is_exhausted(cause) => {
            ErrorFacts::of("files").general().passes()
        }
        StoreError::NetworkFileSystem { .. }
        | StoreError::NotDurable { .. }
        | StoreError::Random { .. } => ErrorFacts::of("files").general(),
        _ => ErrorFacts::of("files"),
    };
    facts.fix_if_any(error.hint())
}

fn of_git(error: &GitError) -> ErrorFacts {
    use GitError as E;
    let code = match error {
        E::Waiting { .. } => "git_busy",
        E::Locked { .. } => "git_locked",
        E::NoRepository { .. } => "no_repository",
        E::NoIdentity { .. } => "no_identity",
        E::StagedDifferently { .. } => "staged_elsewise",
        E::Unmerged { .. } => "unmerged",
        E::WouldOverwrite { .. } => "in_the_way",
        E::OwnFolderInGit(_) => "own_folder_in_git",
        _ => "git",
    };
    let facts = ErrorFacts::of(code).fix_if_any(
        match error {
            E::OwnFolderInGit(folder) => Some(untrack_hint(folder)),
            E::Index { .. } => Some("make it again with `git read-tree HEAD`".to_owned()),
            E::NoIndex { .. } => Some("make it again with `git reset`".to_owned()),
            E::NotRun { cause, .. } if cause.kind() == NotFound => {
                Some("see that git is installed, in one of the folders of `PATH`".to_owned())
            }
            E::Io { action, path, source } => io_hint(action, path, source),
            _ => None,
        }
        .map(Advice::from),
    );
    match error {
        E::StagedDifferently { .. }
        | E::Unmerged { .. }
        | E::IntentToAdd { .. }
        | E::Converted { .. } => facts.passes(),
        E::Unchanged
        | E::Moved { .. }
        | E::BadPath { .. }
        | E::BadPerson { .. }
        | E::BadTime { .. } => facts,
        E::Waiting { is_lasting: true, .. } => facts.general().passes().fix(advice![
            "or keep tasks on a branch of their own, whatever is checked out: ",
            Fix::from(Remedy::Init).asked("branch"),
        ]),
        E::Waiting { .. } | E::Locked { .. } | E::FetchNotStored { .. } => facts.general().passes(),
        _ => facts.general(),
    }
}

fn elsewhere_text(
    ticket: &Ticket,
    worktree: &OtherHead,
    difference: &WorktreeDifference,
) -> String {
    let there = worktree.name();
    match difference {
        WorktreeDifference::Held(agent) => format!("`{agent}` has `{ticket}` in {there}"),
        WorktreeDifference::Ahead => format!("`{}` is further along in {there}", ticket.task),
        WorktreeDifference::Diverged => {
            format!("`{}` took another way in {there}", ticket.task)
        }
    }
}

/// Returns a hint for merging the tasks of another worktree.
pub(crate) fn merge_hint(worktree: &OtherHead) -> String {
    let what = worktree.branch.clone().unwrap_or_else(|| worktree.commit.to_string());
    format!("bring its tasks here with `git merge {}`", quoted(&what))
}

/// Returns whether a resource of the system is exhausted.
fn is_exhausted(cause: &std::io::Error) -> bool {
    // Too many open files, here or in the whole system: `ErrorKind` has no variants for these.
    const EMFILE: i32 = 24;
    const ENFILE: i32 = 23;
    matches!(cause.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem)
        || matches!(cause.raw_os_error(), Some(EMFILE | ENFILE))
}

/// Returns a line for each candidate, and one for the rest.
fn candidate_lines(candidates: &[(TaskId, String)], count: usize) -> String {
    let width = candidates.iter().map(|(id, _)| id.as_str().len()).max().unwrap_or(0);
    let lines = candidates.iter().map(|(id, title)| format!("\n  {id:<width$}  {title}"));
    let more = count - candidates.len();
    lines.chain((more > 0).then(|| format!("\n  and {more} more"))).collect()
}

/// Returns an error for `--json` and for the reason file of a refused completion.
pub(crate) fn reason_of(error: &ProjectError) -> Value {
    use ProjectError as E;
    let mut value = json!({"error": error.code()});
    value["message"] = json!(error.message(Fix::to_string));
    match error {
        E::Refused(refusal) => {
            for (key, field) in refusal.fields() {
                value[&key] = field;
            }
        }
        E::Frozen { id, path, fields, .. } => {
            value["task"] = json!(id.as_str());
            value["path"] = json!(path.as_str());
            value["fields"] = json!(fields);
        }
        E::NoTask { id, .. } | E::Contended { id } | E::Store(StoreError::TaskNotFound { id }) => {
            value["task"] = json!(id.as_str());
        }
        E::AmbiguousTask { candidates, count, .. } => {
            let value_of = |(id, title): &(TaskId, String)| json!({"task": id, "title": title});
            value["candidates"] = candidates.iter().map(value_of).collect();
            value["count"] = json!(count);
        }
        E::UnreadableTask { id, path, .. } => {
            value["task"] = json!(id.as_str());
            value["path"] = json!(path.as_str());
        }
        E::Store(StoreError::TaskDoubled { id, paths }) => {
            value["task"] = json!(id.as_str());
            value["paths"] = paths.iter().map(|path| json!(path.as_str())).collect();
        }
        E::Unknown { given, known, .. } => {
            value["given"] = json!(given);
            value["known"] = json!(known);
        }
        E::LossyImport { lost } => {
            value["lost"] = lost.iter().map(ImportRemark::to_value).collect();
        }
        _ => {}
    }
    if let E::UnreadableTask { diagnostics, .. }
    | E::InvalidTests { diagnostics, .. }
    | E::InvalidRules(diagnostics)
    | E::InvalidUsers { diagnostics, .. }
    | E::InvalidImport { diagnostics, .. } = error
    {
        value["diagnostics"] = diagnostics.iter().map(Diagnostic::to_value).collect();
    }
    value
}
