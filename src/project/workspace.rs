//! An opened project: where it is, its repository, the clock and how long to wait; which agent acts, and the author of a commit.

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
use crate::git::{CommitId, GitError, Head, Person, Repository};
use crate::rules::Actor;
use crate::storage::{Holder, Paths, WriterLock};

/// How long others may have git's index before that is told: most are done at once.
const SHORT: Duration = Duration::from_millis(200);

/// What of a project is worked on.
#[derive(Debug, Clone)]
enum WorkspaceKind {
    /// The files in its folder, and what is committed of them.
    Files,
    /// Its commits alone, seen from that folder of their trees.
    Commits(String),
}

/// Whether the remote of a synced project is asked before something is claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// It is: a claim counts once the remote has it.
    Used,
    /// It is not: whoever claims takes the risk that somebody elsewhere does the same.
    Spared,
}

/// What it takes to open a project once more, on another thread.
#[derive(Clone)]
pub struct Seed {
    root: PathBuf,
    ground: WorkspaceKind,
    checkout: PathBuf,
    git_commands: GitCommands,
    command: String,
    clock: Clock,
    wait: Duration,
    tell: Tell,
    network: Network,
}

impl Seed {
    /// Opens it.
    pub fn open(&self) -> Result<Workspace, ProjectError> {
        let command = self.command.clone();
        let workspace = match &self.ground {
            WorkspaceKind::Files => {
                Workspace::at(&self.root, command, self.clock, self.wait, self.tell)
            }
            WorkspaceKind::Commits(folder) => {
                Workspace::for_commits(&self.root, folder, command, self.clock)
            }
        }?;
        let (checkout, git_commands) = (self.checkout.clone(), self.git_commands.clone());
        Ok(Workspace { network: self.network, checkout, git_commands, ..workspace })
    }
}

/// A project that is worked on by one command.
pub struct Workspace {
    pub paths: Paths,
    pub repository: Repository,
    /// Where people work: the same folder, unless the project lives on a branch of its own.
    pub checkout: PathBuf,
    /// The project.yaml there that names the branch, where it says something else than what is committed of it.
    pub(crate) unheeded: Option<PathBuf>,
    /// How commands of git are written for whoever reads them.
    pub git_commands: GitCommands,
    /// What runs, in the words that waiting commands are shown: `aof task complete`.
    pub command: String,
    ground: WorkspaceKind,
    /// Whether its remote is asked before something is claimed.
    pub network: Network,
    clock: Clock,
    wait: Duration,
    deadline: Instant,
    tell: Tell,
    pub(crate) last_rules: LastRules,
    commits: RefCell<Histogram>,
}

impl Workspace {
    /// Opens the project in that very folder, whether or not anything of it stands there yet.
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

    /// Returns it as the branch of its own on which the project of another checkout lives.
    pub(super) fn checked_out_for(
        self,
        checkout: &Path,
        unheeded: Option<PathBuf>,
        git_commands: GitCommands,
    ) -> Self {
        Self { checkout: checkout.to_owned(), unheeded, git_commands, ..self }
    }

    /// Opens the commits of the nearest repository, whether or not it has a worktree, for whoever only reads what they say of the
    /// project in that folder of their trees.
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
        ground: WorkspaceKind,
        command: String,
        clock: Clock,
    ) -> Self {
        Self {
            paths: Paths::at(root),
            repository,
            command,
            ground,
            checkout: root.to_owned(),
            unheeded: None,
            git_commands: GitCommands::default(),
            network: Network::Used,
            clock,
            wait: Duration::ZERO,
            deadline: Instant::now(),
            tell: |_| {},
            last_rules: LastRules::default(),
            commits: RefCell::new(Histogram::new(Histogram::WRITES)),
        }
    }

    /// Opens the project of that folder again: what stands there may be another one by now.
    pub fn reopened(&self, wait: Duration) -> Result<Self, ProjectError> {
        let again = self.seed(wait).open()?;
        Ok(Self { commits: self.commits.clone(), ..again })
    }

    /// Opens the project of another folder of the same worktree.
    pub(crate) fn beside(&self, root: &Path) -> Result<Self, ProjectError> {
        let wait = self.deadline.saturating_duration_since(Instant::now());
        let other = Self::at(root, self.command.clone(), self.clock, wait, self.tell)?;
        Ok(Self { network: self.network, ..other })
    }

    /// Opens it again after somebody was asked, who took their time: the whole wait is still to come.
    pub(crate) fn after_asking(&self) -> Result<Self, ProjectError> {
        self.reopened(self.wait)
    }

    /// Returns what it takes to open the project of that folder again.
    pub fn seed(&self, wait: Duration) -> Seed {
        let root = self.paths.root().to_owned();
        let (ground, command) = (self.ground.clone(), self.command.clone());
        Seed {
            root,
            checkout: self.checkout.clone(),
            git_commands: self.git_commands.clone(),
            ground,
            command,
            clock: self.clock,
            wait,
            tell: self.tell,
            network: self.network,
        }
    }

    /// Returns the time, in whole seconds: histories are for people.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_second((self.clock)().as_second()).expect("a second of a time is a time")
    }

    /// Returns how long it is until then, to the nanosecond; nothing where it is over.
    pub fn until(&self, time: Timestamp) -> Duration {
        Duration::try_from(time.duration_since((self.clock)())).unwrap_or(Duration::ZERO)
    }

    /// Returns what tells the time, to the nanosecond.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Returns how long its commits took, those of several changes at once as one.
    pub fn commit_times(&self) -> Histogram {
        self.commits.borrow().clone()
    }

    pub(crate) fn note_commit(&self, took: Duration) {
        self.commits.borrow_mut().observe(took.as_secs_f64());
    }

    /// Gives a long-running command its full wait again, and has it see what git's configuration says by now.
    pub fn restart_wait(&mut self, wait: Duration) {
        self.deadline = Instant::now() + wait;
        self.repository.forget_cached_settings();
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns the branch; waits while git is in the middle of something.
    pub(crate) fn head(&self) -> Result<Head, ProjectError> {
        let mut told = false;
        loop {
            match self.repository.head() {
                Err(GitError::Waiting { reason }) if Instant::now() < self.deadline => {
                    if !told {
                        (self.tell)(Aside::Wait(&self.git_commands.with_folder(reason)));
                        told = true;
                    }
                    std::thread::sleep(Duration::from_millis(50));
                }
                other => return Ok(other?),
            }
        }
    }

    /// Waits while another git has the index. Where that lasts too long, whoever needs it says so.
    pub(crate) fn wait_for_index(&self) {
        let start = Instant::now();
        let mut told = false;
        while self.repository.is_index_locked() && Instant::now() < self.deadline {
            if !told && start.elapsed() >= SHORT {
                (self.tell)(Aside::Wait("another git process has the index (`.git/index.lock`)"));
                told = true;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        if told {
            info!(seconds = start.elapsed().as_secs_f64(), "waited for git's index");
        }
    }

    /// Returns the branch as it is now, or why nothing can be committed to it; never waits.
    pub fn head_now(&self) -> Result<Head, GitError> {
        self.repository.head()
    }

    /// Returns what git is in the middle of, if it is. Until that is over HEAD is not what files are to be held against.
    pub(crate) fn underway(&self) -> Option<String> {
        match self.head_now() {
            Err(GitError::Waiting { reason }) => Some(reason),
            _ => None,
        }
    }

    /// Tells of what was come upon, and nothing stops at.
    pub(crate) fn warn(&self, text: String) {
        (self.tell)(Aside::Warning(&self.git_commands.with_folder(text)));
    }

    /// Refuses where git has something in `.aof`: records to heal by, completions, messages and what runners left are this clone's own, or
    /// whoever commits them could act for its user. Whoever acts on any of these without the lock asks for it.
    pub fn check_own_folder(&self) -> Result<(), ProjectError> {
        Ok(self.repository.check_own_folder()?)
    }

    /// Takes the right to write; waits for whoever has it.
    pub(crate) fn lock(&self) -> Result<WriterLock, ProjectError> {
        self.check_own_folder()?;
        let holder = Holder::this_process(self.command.clone(), self.now());
        let wait = self.deadline.saturating_duration_since(Instant::now());
        let start = Instant::now();
        let mut waited_for = None;
        let mut tell = |holder: Option<&Holder>| {
            let who = holder.map_or_else(|| "another command".to_owned(), ToString::to_string);
            (self.tell)(Aside::Wait(&format!("{who} is at work")));
            waited_for = Some(who);
        };
        let lock = WriterLock::acquire(&self.paths, &holder, wait, &mut tell)?;
        if let Some(holder) = waited_for {
            info!(?holder, seconds = start.elapsed().as_secs_f64(), "waited for the lock");
        }
        Ok(lock)
    }
}

/// Tells the time. It comes from the door, so that tests can move it.
pub type Clock = fn() -> Timestamp;

/// What a command has to say besides what comes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aside<'a> {
    /// What it waits for.
    Wait(&'a str),
    /// What it came upon, and nothing stops at.
    Warning(&'a str),
}

/// Who is told of it.
pub type Tell = fn(Aside<'_>);

/// Tells the log what is to be known, where nobody reads along.
pub fn warn_in_log(aside: Aside<'_>) {
    if let Aside::Warning(text) = aside {
        warn!("{text}");
    }
}

/// So many commits are looked at sooner than another thread is started.
const FEW: usize = 200;
/// So many are looked at by one thread in one go, at most: neighbours have to do with the same tasks.
const SHARE: usize = 1_000;

/// Has `of` look at the commits, in shares, and tells `each` what it found, in the order of the commits, until `each` breaks off.
pub(crate) fn side_by_side<T: Send>(
    workspace: &Workspace,
    commits: &[CommitId],
    of: impl Fn(&Workspace, &[CommitId]) -> Result<Vec<T>, ProjectError> + Sync,
    each: &mut dyn FnMut(T) -> Result<ControlFlow<()>, ProjectError>,
) -> Result<ControlFlow<()>, ProjectError> {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    if commits.len() <= FEW || cores == 1 {
        for share in commits.chunks(SHARE) {
            if tell(of(workspace, share)?, each)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        return Ok(ControlFlow::Continue(()));
    }
    let shares: Vec<_> =
        commits.chunks(commits.len().div_ceil(cores * 4).clamp(FEW, SHARE)).collect();
    let (seed, next) = (workspace.seed(Duration::ZERO), AtomicUsize::new(0));
    thread::scope(|scope| {
        // Whoever is far ahead waits: what is found and not told yet is kept in memory.
        let (sender, receiver) = mpsc::sync_channel::<(usize, Result<Vec<T>, ProjectError>)>(cores);
        for _ in 0..cores {
            let (sender, seed, next, shares, of) = (sender.clone(), &seed, &next, &shares, &of);
            scope.spawn(move || {
                let own = match seed.open() {
                    Ok(own) => own,
                    Err(error) => return drop(sender.send((0, Err(error)))),
                };
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(share) = shares.get(number) else { return };
                    // Nobody listens any more once something has failed, or was enough.
                    if sender.send((number, of(&own, share))).is_err() {
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
                if tell(found, each)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                wanted += 1;
            }
        }
        Ok(ControlFlow::Continue(()))
    })
}

fn tell<T>(
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

/// Returns the agent that acts: the one named, else the one of git's user in org.yaml. A person's is taken from git's user only
/// at a terminal: anywhere else a program may be behind it.
pub(crate) fn acting_agent(
    workspace: &Workspace,
    org: &Org,
    named: Option<&AgentId>,
    at_terminal: bool,
) -> Result<AgentId, ProjectError> {
    if let Some(agent) = named {
        return Ok(agent.clone());
    }
    let email = workspace.repository.author_identity().ok().map(|person| person.email().to_owned());
    match known_as(workspace, org) {
        Some(agent) if agent.is_human() && !at_terminal => {
            Err(ProjectError::NoAgent { email, human: Some(agent.to_string()) })
        }
        Some(agent) => Ok(agent),
        None => Err(ProjectError::NoAgent { email, human: None }),
    }
}

/// Returns the agent whose address in org.yaml is git's user's.
pub(crate) fn known_as(workspace: &Workspace, org: &Org) -> Option<AgentId> {
    let person = workspace.repository.author_identity().ok()?;
    let agents = org.agents.as_ref()?;
    agents
        .iter()
        .find(|(_, agent)| agent.email.as_deref() == Some(person.email()))
        .map(|(id, _)| id.clone())
}

/// Returns who acts where both people and agents may: the agent named, else git's user.
pub(crate) fn actor(workspace: &Workspace, org: &Org, named: Option<&AgentId>) -> Actor {
    match named {
        Some(agent) if agent.is_human() => Actor::Person(Some(agent.clone())),
        Some(agent) => Actor::Agent(agent.clone()),
        None => Actor::Person(known_as(workspace, org)),
    }
}

/// Returns the agent id of whoever looks: the one named, else the one of git's user, if org.yaml knows one.
pub(crate) fn viewer(workspace: &Workspace, org: &Org, named: Option<&AgentId>) -> Option<AgentId> {
    actor(workspace, org, named).agent().cloned()
}

/// Returns the author of what an agent did. An agent without an address gets one that can never be anybody's.
pub(crate) fn agent_author(org: &Org, agent: &AgentId) -> Result<Person, ProjectError> {
    let email = org
        .agent(agent)
        .and_then(|known| known.email.clone())
        .unwrap_or_else(|| format!("{agent}@aof.invalid"));
    Ok(Person::new(agent.as_str(), &email)?)
}

/// Returns the author of what an actor did: people are who git says they are.
pub(crate) fn actor_author(
    workspace: &Workspace,
    org: &Org,
    actor: &Actor,
) -> Result<Person, ProjectError> {
    match actor {
        Actor::Agent(agent) => agent_author(org, agent),
        Actor::Person(_) => Ok(workspace.repository.author_identity()?),
    }
}
