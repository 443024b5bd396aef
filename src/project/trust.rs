//! The programs that the rules and the tests of tasks name, and whether this machine's user has trusted them (`aof trust`).
//!
//! Rules are received by push, and so are the tests of tasks: none of their programs runs before the user has seen it. Trust covers the
//! words, the added environment, and the content of the tracked files and folders that these name; not the files that those load. The
//! record is a file in the user's state folder, one for each project of a repository.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde::{Deserialize, Serialize};

use super::error::ProjectError;
use super::workspace::Workspace;
use crate::domain::acceptance::AcceptanceTest;
use crate::domain::{AgentId, Channel, Digest, Preset, Subscription, TaskId};
use crate::git::{ObjectId, Repository};
use crate::rules::Rules;
use crate::storage::StoreError;
use crate::storage::layout::BRANCH;

/// The variable that trusts programs without a terminal, by their common hash.
pub(crate) const VARIABLE: &str = "AOF_TRUST";
/// The number of characters of a hash that are shown, and must be given.
const SHOWN: usize = 32;

/// The source of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProgramKind {
    /// `aof run`, for an agent.
    Agent,
    /// A notice.
    Notice,
    /// A test of a task.
    Test,
    /// The set-up of a workspace.
    Setup,
}

/// A program that the rules name, as it is on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RuleProgram {
    pub kind: ProgramKind,
    /// The place where the rules name it.
    pub place: String,
    /// Its words, with placeholders; for a preset, the preset's name.
    pub command: Vec<String>,
    /// The added variables.
    pub environment: Vec<(String, String)>,
    /// The tracked files that its words or variables name, alone or by their folder, each with its blob.
    pub files: BTreeMap<String, String>,
}

impl RuleProgram {
    fn new(kind: ProgramKind, place: String, command: Vec<String>) -> Self {
        Self { kind, place, command, environment: Vec::new(), files: BTreeMap::new() }
    }

    /// Returns whether trust in the other one is trust in this one, regardless of the place where the rules name it.
    fn is_like(&self, other: &Self) -> bool {
        let content = |one: &Self| {
            (one.kind, one.command.clone(), one.environment.clone(), one.files.clone())
        };
        content(self) == content(other)
    }
}

/// The programs of the rules, or of a task's tests, to be compared with the record before each start of one.
#[derive(Debug, Clone, Default)]
pub(crate) struct RulePrograms {
    /// The task whose tests they are.
    task: Option<TaskId>,
    /// The programs without their files, each with the folder in which it runs.
    named: Vec<(RuleProgram, PathBuf)>,
    record: PathBuf,
    repository: PathBuf,
}

/// The programs, and those that the user has trusted.
pub(crate) struct TrustState {
    pub programs: Vec<RuleProgram>,
    /// The programs that the user trusted last.
    pub recorded: Vec<RuleProgram>,
    /// The task whose tests they are.
    pub task: Option<TaskId>,
    by_variable: bool,
}

/// The file of a repository's trusted programs.
#[derive(Serialize, Deserialize)]
struct TrustRecord {
    repository: String,
    programs: Vec<RuleProgram>,
}

impl RulePrograms {
    /// Returns the programs that the rules name.
    pub(crate) fn read(workspace: &Workspace, rules: &Rules) -> Self {
        let mut named = Vec::new();
        let org = &rules.org;
        for (id, launch) in
            org.agents.iter().flatten().filter_map(|(id, agent)| Some((id, agent.run.as_ref()?)))
        {
            let command = match launch.command.as_slice() {
                [] => vec![launch.preset.to_string()],
                words => words.to_vec(),
            };
            let program = RuleProgram {
                environment: launch.env.clone(),
                ..RuleProgram::new(ProgramKind::Agent, agent_place(id), command)
            };
            named.push((program, workspace.checkout.clone()));
        }
        for words in &rules.project.workspaces.setup {
            let place = "the set-up of workspaces".to_owned();
            let program = RuleProgram::new(ProgramKind::Setup, place, words.clone());
            named.push((program, workspace.checkout.clone()));
        }
        let everybody = ("the project".to_owned(), &rules.project.notify);
        let roles = org.roles.iter().map(|(id, role)| (format!("role `{id}`"), &role.notify));
        let agents = org.agents.iter().flatten();
        let agents = agents.map(|(id, agent)| (agent_place(id), &agent.notify));
        for (whom, list) in std::iter::once(everybody).chain(roles).chain(agents) {
            for Subscription { channel, .. } in list {
                let Channel::Command(words) = channel else { continue };
                let place = format!("notices of {whom}");
                let program = RuleProgram::new(ProgramKind::Notice, place, words.clone());
                named.push((program, workspace.paths.root().to_owned()));
            }
        }
        Self::recorded_for(workspace, None, named)
    }

    /// Returns the programs that these tests of a task run.
    pub(crate) fn of_tests(workspace: &Workspace, task: &TaskId, tests: &[AcceptanceTest]) -> Self {
        Self::of_commands(workspace, task, tests.iter().filter_map(AcceptanceTest::command))
    }

    /// Returns the programs of these commands, which check the work at a task.
    pub(crate) fn of_commands<'a>(
        workspace: &Workspace,
        task: &TaskId,
        commands: impl Iterator<Item = &'a [String]>,
    ) -> Self {
        let mut named: Vec<(RuleProgram, PathBuf)> = Vec::new();
        for words in commands {
            if named.iter().any(|(known, _)| known.command == words) {
                continue;
            }
            let place = format!("the tests of {task}");
            let program = RuleProgram::new(ProgramKind::Test, place, words.to_vec());
            named.push((program, workspace.checkout.clone()));
        }
        Self::recorded_for(workspace, Some(task.clone()), named)
    }

    fn recorded_for(
        workspace: &Workspace,
        task: Option<TaskId>,
        named: Vec<(RuleProgram, PathBuf)>,
    ) -> Self {
        let repository = workspace.repository.common_dir().to_owned();
        let repository = fs::canonicalize(&repository).unwrap_or(repository);
        // The project is part of the key: a repository may have several.
        let of = format!("{}\0{}", repository.display(), workspace.repository.prefix());
        let name = Digest::of(of.as_bytes());
        let record = state_folder().join("aof/trust").join(format!("{name}.json"));
        Self { task, named, record, repository }
    }

    /// Compares the programs, as they are now, with the record.
    pub(crate) fn state(&self) -> Result<TrustState, ProjectError> {
        let mut programs = Vec::new();
        for (program, folder) in &self.named {
            let mut files = named_files(program, folder)?;
            // The tasks' branch is another worktree, below the folder where programs run.
            let branch = folder.join(BRANCH);
            if branch.join(".git").exists() {
                let there = named_files(program, &branch)?.into_iter();
                files.extend(there.map(|(path, content)| (format!("{BRANCH}/{path}"), content)));
            }
            programs.push(RuleProgram { files, ..program.clone() });
        }
        let mut recorded = self.read_record()?;
        recorded.retain(|program| (program.kind == ProgramKind::Test) == self.task.is_some());
        let task = self.task.clone();
        let mut state = TrustState { programs, recorded, task, by_variable: false };
        // The tests of other features run the programs of their own rules.
        let is_test = cfg!(debug_assertions)
            && env::var(VARIABLE).is_ok_and(|given| given == "every program of a test");
        state.by_variable = is_test || is_given(&state.hash());
        Ok(state)
    }

    /// Returns the tracked scripts and settings that these programs name, in the folder where people work or in another worktree: each by
    /// its whole path. Tests and data in a folder that a program names are not among them. `wanted` receives the kind and the place.
    pub(crate) fn scripts_in(
        &self,
        folder: &Path,
        wanted: &dyn Fn(ProgramKind, &str) -> bool,
    ) -> Result<BTreeSet<String>, ProjectError> {
        let mut files = BTreeSet::new();
        for (program, usual) in self.named.iter().filter(|(one, _)| wanted(one.kind, &one.place)) {
            for folder in [usual.as_path(), folder] {
                let values = program.environment.iter().map(|(_, value)| value);
                let texts: Vec<&String> = program.command.iter().chain(values).collect();
                files.extend(named_scripts(&texts, folder)?.into_keys());
            }
        }
        Ok(files)
    }

    fn read_record(&self) -> Result<Vec<RuleProgram>, ProjectError> {
        match fs::read(&self.record) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)
                .map_or(Vec::new(), |record: TrustRecord| record.programs)),
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(cause) => Err(StoreError::io("read", &self.record, cause).into()),
        }
    }

    /// Fails if the agent's program is not trusted.
    pub(crate) fn check_agent(&self, agent: &AgentId) -> Result<(), ProjectError> {
        let place = agent_place(agent);
        self.check(|program| program.kind == ProgramKind::Agent && program.place == place)
    }

    /// Fails if the command of the channel is not trusted. Other channels start no program.
    pub(crate) fn check_channel(&self, channel: &Channel) -> Result<(), ProjectError> {
        let Channel::Command(words) = channel else { return Ok(()) };
        self.check(|program| program.kind == ProgramKind::Notice && program.command == *words)
    }

    /// Fails if one of these programs is not trusted.
    pub(crate) fn check(&self, wanted: impl Fn(&RuleProgram) -> bool) -> Result<(), ProjectError> {
        let state = self.state()?;
        match state.untrusted().into_iter().find(|program| wanted(program)) {
            Some(program) => Err(state.refusal(program)),
            None => Ok(()),
        }
    }

    /// Records that the user trusts these programs, and no others of the rules, or of the task's tests.
    pub(crate) fn record(&self, mut programs: Vec<RuleProgram>) -> Result<(), ProjectError> {
        let place = self.task.as_ref().map(|task| format!("the tests of {task}"));
        let is_other = |program: &RuleProgram| match &place {
            Some(place) => program.place != *place,
            None => program.kind == ProgramKind::Test,
        };
        programs.extend(self.read_record()?.into_iter().filter(is_other));
        self.write_record(programs)
    }

    /// Records that the user trusts no programs, or none of the task's tests.
    pub(crate) fn revoke(&self) -> Result<(), ProjectError> {
        if self.task.is_some() { self.record(Vec::new()) } else { self.write_record(Vec::new()) }
    }

    fn write_record(&self, programs: Vec<RuleProgram>) -> Result<(), ProjectError> {
        let failed = |cause| ProjectError::from(StoreError::io("write", &self.record, cause));
        let folder = self.record.parent().expect("it is in a folder");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        let repository = self.repository.to_string_lossy().into_owned();
        let record = serde_json::to_vec_pretty(&TrustRecord { repository, programs });
        let record = record.expect("a record is JSON");
        let new = self.record.with_extension(format!("{}.new", std::process::id()));
        let written =
            fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new);
        let written =
            written.and_then(|mut file| file.write_all(&record).and_then(|()| file.sync_all()));
        written.and_then(|()| fs::rename(&new, &self.record)).map_err(failed)
    }
}

impl TrustState {
    /// Returns the programs that do not run.
    pub(crate) fn untrusted(&self) -> Vec<&RuleProgram> {
        let is_new = |program: &&RuleProgram| !self.recorded.iter().any(|one| one.is_like(program));
        self.programs.iter().filter(|_| !self.by_variable).filter(is_new).collect()
    }

    /// Returns the program that was trusted in the same place as this one.
    pub(crate) fn trusted_before(&self, program: &RuleProgram) -> Option<&RuleProgram> {
        // A task has many tests, and they have no names.
        let is_same =
            |one: &RuleProgram| one.kind != ProgramKind::Test || one.command == program.command;
        let here = |one: &&RuleProgram| one.kind == program.kind && one.place == program.place;
        self.recorded.iter().filter(here).find(|known| is_same(known))
    }

    /// Returns the common hash of all programs.
    pub(crate) fn hash(&self) -> String {
        let all = serde_json::to_vec(&self.programs).expect("programs are JSON");
        Digest::of(&all).as_str()[..SHOWN].to_owned()
    }

    /// Returns the refusal to start this program.
    pub(crate) fn refusal(&self, program: &RuleProgram) -> ProjectError {
        let change = if self.trusted_before(program).is_some() {
            "was changed since you trusted it"
        } else {
            "is not trusted on this machine"
        };
        let (who, task) = match &self.task {
            Some(task) => ("they", format!(" {task}")),
            None => ("the rules", String::new()),
        };
        // Other programs of the same run may be trusted by the variable already.
        let given = env::var(VARIABLE).ok().filter(|given| !given.is_empty());
        let given = given.map(|given| given + ",").unwrap_or_default();
        ProjectError::Unfit {
            code: "program_untrusted",
            problem: format!("the program of {} {change}, so it does not run", program.place),
            fix: format!(
                "see what {who} run, and trust it, with `aof trust{task}`; without a terminal, set `{VARIABLE}={}`",
                given + &self.hash()
            ).into(),
        }
    }
}

/// Returns the place of an agent's program.
pub(crate) fn agent_place(agent: &AgentId) -> String {
    format!("agent `{agent}`")
}

/// Returns whether the variable names that hash.
pub(crate) fn is_given(hash: &str) -> bool {
    env::var(VARIABLE).is_ok_and(|given| given.split([' ', ',']).any(|one| one == hash))
}

/// Returns the user's state folder.
fn state_folder() -> PathBuf {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let named = env::var_os("XDG_STATE_HOME").map(PathBuf::from).and_then(absolute);
    named.unwrap_or_else(|| env::home_dir().unwrap_or_default().join(".local/state"))
}

/// Returns the tracked files that the program may run, each with the blob of its content in the worktree. Includes too many files rather
/// than too few. Of what a landing checks, only scripts count: each landing may bring tests and data.
fn named_files(
    program: &RuleProgram,
    folder: &Path,
) -> Result<BTreeMap<String, String>, ProjectError> {
    let (words, checks) = checks_apart(&program.command);
    let values = program.environment.iter().map(|(_, value)| value);
    let mut files = files_named_by(&words.into_iter().chain(values).collect::<Vec<_>>(), folder)?;
    files.extend(named_scripts(&checks, folder)?);
    Ok(files)
}

/// Returns the words of a command; for `aof land`, without the checks, which come second.
fn checks_apart(command: &[String]) -> (Vec<&String>, Vec<&String>) {
    let is_aof = |word: &String| word == "{aof}" || word == "aof" || word.ends_with("/aof");
    let is_landing = matches!(command, [first, second, ..] if is_aof(first) && second == "land");
    let (mut words, mut checks, mut is_check) = (Vec::new(), Vec::new(), false);
    for word in command {
        let is_given = is_landing && (is_check || word.starts_with("--check="));
        if is_given {
            checks.push(word);
        } else {
            words.push(word);
        }
        is_check = !is_check && word == "--check";
    }
    (words, checks)
}

/// Returns the tracked scripts and settings that these texts name, each with the blob of its content.
fn named_scripts(
    texts: &[&String],
    folder: &Path,
) -> Result<BTreeMap<String, String>, ProjectError> {
    let names: HashSet<String> = texts.iter().flat_map(|text| names_in(text, folder)).collect();
    let mut files = files_named_by(texts, folder)?;
    files.retain(|path, _| {
        path.starts_with('.') || names.contains(path) && is_script(&folder.join(path))
    });
    Ok(files)
}

/// Returns the tracked files that these texts name, alone or by their folder, each with the blob of its content.
fn files_named_by(
    texts: &[&String],
    folder: &Path,
) -> Result<BTreeMap<String, String>, ProjectError> {
    let repository = Repository::discover(folder)?;
    let root = repository.worktree_root();
    let is_program = |(path, _): &(String, ObjectId)| {
        // Tasks are texts, and change all the time.
        !repository.own_path(path).is_some_and(|path| path.starts_with("tasks/"))
    };
    let tracked: Vec<_> = repository.tracked_files()?.into_iter().filter(is_program).collect();
    let mut names: Vec<String> = texts.iter().flat_map(|text| names_in(text, root)).collect();
    let mut seen = HashSet::new();
    let mut found = BTreeMap::new();
    while let Some(name) = names.pop() {
        if name == repository.prefix() || !seen.insert(name.clone()) {
            continue;
        }
        for place in [root.join(&name), folder.join(&name)] {
            names.extend(link_target(&place, root));
        }
        let matching = |is_named: &dyn Fn(&str) -> bool| -> Vec<&(String, ObjectId)> {
            let of = |path: &str| {
                is_named(path) || repository.own_path(path).is_some_and(|inner| is_named(&inner))
            };
            tracked.iter().filter(|(path, _)| of(path)).collect()
        };
        let mut files = matching(&|path| is_meant(path, &name));
        if files.is_empty() {
            let last = name.rsplit('/').next().unwrap_or_default();
            files = matching(&|path| path.rsplit('/').next() == Some(last));
        }
        for (path, committed) in files {
            let file = root.join(path);
            names.extend(link_target(&file, root));
            // A submodule is a folder; its id is that of a commit.
            let content = repository.hash_file(&file).unwrap_or(*committed);
            let is_executable =
                fs::metadata(&file).is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0);
            let runs = if is_executable { ", executable" } else { "" };
            found.insert(path.clone(), format!("{content}{runs}"));
        }
    }
    Ok(found)
}

/// The extensions of files that interpreters run.
const SCRIPTS: [&str; 12] =
    ["sh", "bash", "zsh", "py", "js", "mjs", "cjs", "ts", "rb", "pl", "php", "lua"];

/// Returns whether a file can run as a program, by its name, its permissions or its first line.
fn is_script(file: &Path) -> bool {
    let extension = file.extension().and_then(|extension| extension.to_str());
    let is_executable =
        || fs::metadata(file).is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0);
    let begins = || {
        let mut first = [0; 2];
        fs::File::open(file).and_then(|mut file| file.read_exact(&mut first)).is_ok()
            && first == *b"#!"
    };
    extension.is_some_and(|extension| SCRIPTS.contains(&extension)) || is_executable() || begins()
}

/// Characters that represent others in a name: a placeholder, or a pattern of the shell.
const WILD: [char; 6] = ['{', '}', '*', '?', '[', ']'];

/// Returns the paths that a text may name, from the folder of the program or from the top of the worktree.
fn names_in(text: &str, root: &Path) -> Vec<String> {
    let text = text.replace("{project}", "").replace(&format!("{}/", root.display()), "/");
    let text = text.replace(&format!("{BRANCH}/"), "");
    let ends = |c: char| !c.is_alphanumeric() && !"._-+/".contains(c) && !WILD.contains(&c);
    let words = std::iter::once(text.as_str()).chain(text.split(ends));
    let mut names = Vec::new();
    for word in words {
        // The value of an option may follow its letter: `-Cbin`.
        let value = word.strip_prefix('-').and_then(|option| option.get(1..));
        for word in std::iter::once(word).chain(value) {
            let mut parts: Vec<&str> = Vec::new();
            for part in word.split('/') {
                match part {
                    "" | "." => {}
                    ".." => drop(parts.pop()),
                    part => parts.push(part),
                }
            }
            // Coding agents start programs that their settings in the repository name.
            if let Some(tool) = parts.last().and_then(|name| name.parse::<Preset>().ok()) {
                let settings = [".TOOL", "TOOL.json", "TOOL.jsonc"];
                names.extend(settings.map(|name| name.replace("TOOL", tool.as_str())));
                names.extend((tool == Preset::Claude).then(|| ".mcp.json".to_owned()));
            }
            names.push(parts.join("/"));
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Returns whether the name means this tracked file, or a folder that contains it. An open name means its folder.
fn is_meant(path: &str, name: &str) -> bool {
    let is_below =
        |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    let Some((before, rest)) = name.split_once(WILD) else {
        return path == name || is_below(name) || path.ends_with(&format!("/{name}"));
    };
    let after = rest.rsplit(WILD).next().unwrap_or_default();
    if let Some((folder, _)) = before.rsplit_once('/') {
        return is_below(folder);
    }
    let is_open = !format!("{before}{after}").contains(char::is_alphanumeric);
    !is_open && path.starts_with(before) && path.ends_with(after)
}

/// Returns the path in the worktree to which a link leads, if that is another path.
fn link_target(path: &Path, root: &Path) -> Option<String> {
    let target = fs::canonicalize(path).ok()?;
    let inside = target.strip_prefix(fs::canonicalize(root).ok()?).ok()?;
    Some(inside.to_str()?.to_owned()).filter(|inside| !inside.is_empty())
}
