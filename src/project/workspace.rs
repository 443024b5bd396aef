//! An opened project: its folder, repository, clock and wait limit; the acting agent, and the author of a commit.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tracing::{info, warn};

use super::error::ProjectError;
use super::git_hints::GitCommands;
use super::rule_files::LastRules;
use crate::domain::histogram::Histogram;
use crate::domain::{AgentId, Org, Timestamp};
use crate::git::{CommitId, GitError, Head, Maintenance, Person, Repository};
use crate::rules::Actor;
use crate::storage::{Holder, Paths, WriterLock};

/// The time for which git's index may be locked before that is reported: most locks are short.
const SHORT: Duration = Duration::from_millis(200);

/// The part of a project that a workspace reads.
#[derive(Debug, Clone)]
enum WorkspaceKind {
    /// Its files, and their commits.
    Files,
    /// Only its commits, below that folder of their trees.
    Commits(String),
}

/// The use of the network to confirm claims in a synced project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Claims are confirmed: a claim counts once the remote has it.
    Used,
    /// Claims are not confirmed: an agent on another machine may claim the same task.
    Spared,
}

/// Opens the same project again, on another thread.
#[derive(Clone)]
pub struct WorkspaceOpener {
    root: PathBuf,
    kind: WorkspaceKind,
    checkout: PathBuf,
    git_commands: GitCommands,
    command: String,
    clock: Clock,
    wait: Duration,
    tell: Tell,
    network: Network,
    is_person_seen: bool,
}

impl WorkspaceOpener {
    /// Opens the project.
    pub fn open(&self) -> Result<Workspace, ProjectError> {
        let command = self.command.clone();
        let workspace = match &self.kind {
            WorkspaceKind::Files => {
                Workspace::at(&self.root, command, self.clock, self.wait, self.tell)
            }
            WorkspaceKind::Commits(folder) => {
                Workspace::for_commits(&self.root, folder, command, self.clock)
            }
        }?;
        let (checkout, git_commands) = (self.checkout.clone(), self.git_commands.clone());
        let (network, is_person_seen) = (self.network, self.is_person_seen);
        Ok(Workspace { checkout, git_commands, network, is_person_seen, ..workspace })
    }
}

/// A project opened by one command.
pub struct Workspace {
    pub paths: Paths,
    pub repository: Repository,
    /// The folder where people work: the project's own, unless the project is kept on a branch of its own.
    pub checkout: PathBuf,
    /// The project.yaml there that names the branch, if it has uncommitted changes.
    pub(crate) uncommitted_project_file: Option<PathBuf>,
    /// The form of git commands in messages.
    pub git_commands: GitCommands,
    /// The running command, as waiting commands show it: `aof complete`.
    pub command: String,
    kind: WorkspaceKind,
    /// The use of the network to confirm claims.
    pub network: Network,
    /// True if the door has seen the person who acts: at a terminal, or by a login.
    pub is_person_seen: bool,
    /// True if agents that act are the committers too, as in a run.
    pub agents_commit: bool,
    clock: Clock,
    wait: Duration,
    deadline: Instant,
    tell: Tell,
    pub(crate) last_rules: LastRules,
    commits: RefCell<Histogram>,
    /// Set after a commit; git's maintenance starts when it is dropped.
    maintenance: RefCell<Option<Maintenance>>,
}

impl Workspace {
    /// Opens the project in exactly that folder, even if it has no files yet.
    pub fn at(
        root: &Path,
        command: String,
        clock: Clock,
        wait: Duration,
        tell: Tell,
    ) -> Result<Self, ProjectError> {
        Ok(Self::of_files(root, Repository::discover(root)?, command, clock, wait, tell))
    }

    pub(super) fn of_files(
        root: &Path,
        repository: Repository,
        command: String,
        clock: Clock,
        wait: Duration,
        tell: Tell,
    ) -> Self {
        let begun = Self::begin(root, repository, WorkspaceKind::Files, command, clock);
        Self { wait, deadline: Instant::now() + wait, tell, ..begun }
    }

    /// Returns the workspace as the checkout of a project's own branch, opened from another checkout.
    pub(super) fn checked_out_for(
        self,
        checkout: &Path,
        uncommitted_project_file: Option<PathBuf>,
        git_commands: GitCommands,
    ) -> Self {
        Self { checkout: checkout.to_owned(), uncommitted_project_file, git_commands, ..self }
    }

    /// Opens the commits of the nearest repository, with or without a worktree, to read the history of the project in that folder of
    /// their trees.
    pub(crate) fn for_commits(
        start: &Path,
        folder: &str,
        command: String,
        clock: Clock,
    ) -> Result<Self, ProjectError> {
        let repository = Repository::for_commits(start, folder)?;
        Ok(Self::begin(
            start,
            repository,
            WorkspaceKind::Commits(folder.to_owned()),
            command,
            clock,
        ))
    }

    fn begin(
        root: &Path,
        repository: Repository,
        kind: WorkspaceKind,
        command: String,
        clock: Clock,
    ) -> Self {
        Self {
            paths: Paths::at(root),
            repository,
            command,
            kind,
            checkout: root.to_owned(),
            uncommitted_project_file: None,
            git_commands: GitCommands::default(),
            network: Network::Used,
            is_person_seen: false,
            agents_commit: false,
            clock,
            wait: Duration::ZERO,
            deadline: Instant::now(),
            tell: |_| {},
            last_rules: LastRules::default(),
            commits: RefCell::new(Histogram::new(Histogram::WRITES)),
            maintenance: RefCell::default(),
        }
    }

    /// Opens the project of the same folder again, which may have been replaced by another one.
    pub fn reopened(&self, wait: Duration) -> Result<Self, ProjectError> {
        let again = self.opener(wait).open()?;
        Ok(Self { commits: self.commits.clone(), ..again })
    }

    /// Opens the project of another folder of the same worktree.
    pub(crate) fn beside(&self, root: &Path) -> Result<Self, ProjectError> {
        let wait = self.deadline.saturating_duration_since(Instant::now());
        let other = Self::at(root, self.command.clone(), self.clock, wait, self.tell)?;
        Ok(Self { network: self.network, is_person_seen: self.is_person_seen, ..other })
    }

    /// Opens the project again with its full wait, after a person took time to answer.
    pub(crate) fn reopened_with_full_wait(&self) -> Result<Self, ProjectError> {
        self.reopened(self.wait)
    }

    /// Returns an opener for the project of that folder.
    pub fn opener(&self, wait: Duration) -> WorkspaceOpener {
        let root = self.paths.root().to_owned();
        let (kind, command) = (self.kind.clone(), self.command.clone());
        WorkspaceOpener {
            root,
            checkout: self.checkout.clone(),
            git_commands: self.git_commands.clone(),
            kind,
            command,
            clock: self.clock,
            wait,
            tell: self.tell,
            network: self.network,
            is_person_seen: self.is_person_seen,
        }
    }

    /// Returns the workspace of a door that has seen the person who acts, or has not.
    pub(crate) fn with_person_seen(self, is_person_seen: bool) -> Self {
        Self { is_person_seen, ..self }
    }

    /// Returns the current time, in whole seconds: histories are for people.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_second((self.clock)().as_second()).expect("a second of a time is a time")
    }

    /// Returns the time until then, to the nanosecond; zero if it is past.
    pub fn until(&self, time: Timestamp) -> Duration {
        Duration::try_from(time.duration_since((self.clock)())).unwrap_or(Duration::ZERO)
    }

    /// Returns the clock, which is exact to the nanosecond.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Returns the durations of its commits; a batch counts as one.
    pub fn commit_times(&self) -> Histogram {
        self.commits.borrow().clone()
    }

    pub(crate) fn record_commit_time(&self, took: Duration) {
        self.commits.borrow_mut().observe(took.as_secs_f64());
        self.request_maintenance();
    }

    /// Requests git's maintenance after a move of the branch; it starts when this command ends or begins its next work.
    pub(crate) fn request_maintenance(&self) {
        let mut requested = self.maintenance.borrow_mut();
        if requested.is_none() {
            *requested = self.repository.maintenance(self.paths.maintenance());
        }
    }

    /// Gives a long-running command its full wait again, reads git's configuration again, and starts the requested maintenance.
    pub fn restart_wait(&mut self, wait: Duration) {
        self.maintenance.take();
        self.deadline = Instant::now() + wait;
        self.repository.forget_cached_settings();
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns the branch; waits while a merge, a rebase or a similar operation is in progress.
    pub(crate) fn head(&self) -> Result<Head, ProjectError> {
        let mut is_reported = false;
        loop {
            match self.repository.head() {
                Err(GitError::Waiting { reason, is_lasting: false })
                    if Instant::now() < self.deadline =>
                {
                    if !is_reported {
                        (self.tell)(ProgressMessage::Wait(&self.git_commands.with_folder(reason)));
                        is_reported = true;
                    }
                    std::thread::sleep(Duration::from_millis(50));
                }
                other => return Ok(other?),
            }
        }
    }

    /// Waits while another git process holds the index. After a timeout, the function that needs the index reports the lock.
    pub(crate) fn wait_for_index(&self) {
        let start = Instant::now();
        let mut is_reported = false;
        while self.repository.is_index_locked() && Instant::now() < self.deadline {
            if !is_reported && start.elapsed() >= SHORT {
                (self.tell)(ProgressMessage::Wait(
                    "another git process has the index (`.git/index.lock`)",
                ));
                is_reported = true;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        if is_reported {
            info!(seconds = start.elapsed().as_secs_f64(), "waited for git's index");
        }
    }

    /// Returns the current branch, or the reason why nothing can be committed to it. Never waits.
    pub fn head_now(&self) -> Result<Head, GitError> {
        self.repository.head()
    }

    /// Returns the operation of git that is in progress, if any. Until it ends, files must not be compared with HEAD.
    pub(crate) fn underway(&self) -> Option<String> {
        match self.head_now() {
            Err(GitError::Waiting { reason, .. }) => Some(reason),
            _ => None,
        }
    }

    /// Reports a warning.
    pub(crate) fn warn(&self, text: String) {
        (self.tell)(ProgressMessage::Warning(&self.git_commands.with_folder(text)));
    }

    /// Fails if git tracks anything in `.aof`. Its journal, completions, messages and runs belong to this clone alone: otherwise,
    /// anyone who commits them could act for its user. All code that uses them without the lock must call this.
    pub fn check_own_folder(&self) -> Result<(), ProjectError> {
        Ok(self.repository.check_own_folder()?)
    }

    /// Takes the writer lock; waits for its holder.
    pub(crate) fn lock(&self) -> Result<WriterLock, ProjectError> {
        self.check_own_folder()?;
        self.lock_at(&self.paths)
    }

    /// Takes the lock of another folder; waits for its holder.
    pub(crate) fn lock_at(&self, paths: &Paths) -> Result<WriterLock, ProjectError> {
        let holder = Holder::this_process(self.command.clone(), self.now());
        let wait = self.deadline.saturating_duration_since(Instant::now());
        let start = Instant::now();
        let mut waited_for = None;
        let mut tell = |holder: Option<&Holder>| {
            let who = holder.map_or_else(|| "another command".to_owned(), ToString::to_string);
            (self.tell)(ProgressMessage::Wait(&format!("{who} is at work")));
            waited_for = Some(who);
        };
        let lock = WriterLock::acquire(paths, &holder, wait, &mut tell)?;
        if let Some(holder) = waited_for {
            info!(?holder, seconds = start.elapsed().as_secs_f64(), "waited for the lock");
        }
        Ok(lock)
    }
}

/// Returns the time. The caller passes the clock, so that tests can set it.
pub type Clock = fn() -> Timestamp;

/// A message of a command besides its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressMessage<'a> {
    /// The reason for waiting.
    Wait(&'a str),
    /// A warning, which stops nothing.
    Warning(&'a str),
    /// Something that was done besides.
    Note(&'a str),
}

/// Receives progress messages.
pub type Tell = fn(ProgressMessage<'_>);

/// Logs warnings, for commands that run unattended.
pub fn warn_in_log(aside: ProgressMessage<'_>) {
    match aside {
        ProgressMessage::Warning(text) => warn!("{text}"),
        ProgressMessage::Note(text) => info!("{text}"),
        ProgressMessage::Wait(_) => {}
    }
}

/// Up to this many commits are processed faster than another thread starts.
const FEW: usize = 200;
/// The most commits in one share of a thread: neighbours often concern the same tasks.
const SHARE: usize = 1_000;

/// Processes the commits with `of` in shares on several threads, and passes the results to `each` in the order of the commits, until
/// `each` breaks.
pub(crate) fn process_in_parallel<T: Send>(
    workspace: &Workspace,
    commits: &[CommitId],
    of: impl Fn(&Workspace, &[CommitId]) -> Result<Vec<T>, ProjectError> + Sync,
    each: &mut dyn FnMut(T) -> Result<ControlFlow<()>, ProjectError>,
) -> Result<ControlFlow<()>, ProjectError> {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    if commits.len() <= FEW || cores == 1 {
        for share in commits.chunks(SHARE) {
            if pass_on(of(workspace, share)?, each)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        return Ok(ControlFlow::Continue(()));
    }
    let shares: Vec<_> =
        commits.chunks(commits.len().div_ceil(cores * 4).clamp(FEW, SHARE)).collect();
    let (opener, next) = (workspace.opener(Duration::ZERO), AtomicUsize::new(0));
    thread::scope(|scope| {
        // A bounded channel: results that are not passed on yet use memory.
        let (sender, receiver) = mpsc::sync_channel::<(usize, Result<Vec<T>, ProjectError>)>(cores);
        for _ in 0..cores {
            let (sender, opener, next, shares, of) = (sender.clone(), &opener, &next, &shares, &of);
            scope.spawn(move || {
                let opened = match opener.open() {
                    Ok(opened) => opened,
                    Err(error) => return drop(sender.send((0, Err(error)))),
                };
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(share) = shares.get(number) else { return };
                    // The receiver is gone after a failure or a break.
                    if sender.send((number, of(&opened, share))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut early: BTreeMap<usize, Vec<T>> = BTreeMap::new();
        let mut wanted = 0;
        for (number, found) in receiver {
            early.insert(number, found?);
            while let Some(found) = early.remove(&wanted) {
                if pass_on(found, each)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                wanted += 1;
            }
        }
        Ok(ControlFlow::Continue(()))
    })
}

fn pass_on<T>(
    found: Vec<T>,
    each: &mut dyn FnMut(T) -> Result<ControlFlow<()>, ProjectError>,
) -> Result<ControlFlow<()>, ProjectError> {
    for one in found {
        if each(one)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Returns the acting agent: the named one, otherwise that of git's user in org.yaml. A person's id is taken from git's user only if
/// the person is seen: otherwise a program may be acting. Fails if there is no such agent.
pub(crate) fn acting_agent(
    workspace: &Workspace,
    org: &Org,
    named: Option<&AgentId>,
    is_seen: bool,
) -> Result<AgentId, ProjectError> {
    let known = named.cloned().or_else(|| known_as(workspace, org));
    match known {
        Some(agent) if named.is_some() || is_seen || !agent.is_human() => Ok(agent),
        _ if is_seen => {
            let user = workspace.repository.author_identity().ok();
            Err(ProjectError::NoAgent { email: user.map(|person| person.email().to_owned()) })
        }
        _ => Err(unseen(workspace, org)),
    }
}

fn unseen(workspace: &Workspace, org: &Org) -> ProjectError {
    let agents = org.all_agents().into_iter().filter(|agent| !agent.is_human()).cloned().collect();
    ProjectError::PersonUnseen { command: workspace.command.clone(), agents }
}

/// Returns the agent with the email of git's user, as author; a committer that is a program has precedence.
pub(crate) fn known_as(workspace: &Workspace, org: &Org) -> Option<AgentId> {
    let repository = &workspace.repository;
    let known = |user: Person| org.agent_by_email(user.email());
    let committer = repository.identity().ok().and_then(known);
    let author = || repository.author_identity().ok().and_then(known);
    committer.filter(|agent| !agent.is_human()).or_else(author)
}

/// Returns the writer of a change that people and agents may make: the named agent, otherwise git's user, who may be an agent.
pub(crate) fn actor(workspace: &Workspace, org: &Org, named: Option<&AgentId>) -> Actor {
    match named.cloned().or_else(|| known_as(workspace, org)) {
        Some(agent) if !agent.is_human() => Actor::Agent(agent),
        person => Actor::Person(person),
    }
}

/// Returns the actor of an act that decides a task's route, its holder, or the keys that its rules read. Git's user counts as a person
/// only if the door has seen one; otherwise an agent must be named.
pub(crate) fn deciding_actor(
    workspace: &Workspace,
    org: &Org,
    named: Option<&AgentId>,
) -> Result<Actor, ProjectError> {
    match actor(workspace, org, named) {
        Actor::Person(_) if named.is_none() && !workspace.is_person_seen => {
            Err(unseen(workspace, org))
        }
        actor => Ok(actor),
    }
}

/// Returns the agent id of the reader: the named one, otherwise that of git's user, if org.yaml has it.
pub(crate) fn viewer(workspace: &Workspace, org: &Org, named: Option<&AgentId>) -> Option<AgentId> {
    actor(workspace, org, named).agent().cloned()
}

/// Returns the commit author for an agent. An agent without an email gets an address that cannot exist.
pub(crate) fn agent_author(org: &Org, agent: &AgentId) -> Result<Person, ProjectError> {
    Ok(Person::new(agent.as_str(), &org.email_of(agent))?)
}

/// Returns the commit author for an actor. A person is git's user, unless another person with an email is named, as at a board with
/// logins.
pub(crate) fn actor_author(
    workspace: &Workspace,
    org: &Org,
    actor: &Actor,
) -> Result<Person, ProjectError> {
    match actor {
        Actor::Agent(agent) => agent_author(org, agent),
        Actor::Person(Some(agent))
            if org.agent(agent).is_some_and(|known| known.email.is_some())
                && known_as(workspace, org).as_ref() != Some(agent) =>
        {
            agent_author(org, agent)
        }
        Actor::Person(_) => Ok(workspace.repository.author_identity()?),
    }
}
