//! Whether the agents that org.yaml says how to start can be started, and answer. Changes no task.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::launch::{Facts, command, mcp_config};
use super::output::{Exit, RunOutput, last_line, plain, shortened};
use super::report::agent_report::Report;
use super::report::read::read;
use super::request::RunnerSetup;
use crate::domain::{AgentId, Launch, Preset, RoleId, RunBounds};
use crate::files::printable::one_line;
use crate::project::error::error::OpsError;
use crate::system::process::{
    Attendant, How, Limits, Orphans, Program, Room, Secrets, Stream, Transcript,
};

/// How long a program has to tell its version.
const VERSION: Duration = Duration::from_secs(20);
/// How long it has to answer at most.
const ANSWER: Duration = Duration::from_mins(2);
/// How much of its answer is shown, in characters.
const LONGEST: usize = 200;
/// What it is asked.
const QUESTION: &str = "This only checks that you can be reached. Use no tools, change no files. Answer with the word `ready`.\n";

/// What was found out about one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkup {
    /// Who.
    pub agent: AgentId,
    /// Its roles.
    pub roles: Vec<RoleId>,
    /// How it is started.
    pub preset: Preset,
    /// The program, or why there is none.
    pub program: Result<PathBuf, String>,
    /// What the program says of its version; absent where it was not asked.
    pub version: Option<String>,
    /// The variables that it needs and that are not set.
    pub missing: Vec<String>,
    /// What it answered, or why it did not; absent where it was not asked.
    pub answer: Option<Result<String, String>>,
}

impl Checkup {
    /// Returns whether nothing stands in the way of a run, as far as was looked.
    pub fn is_well(&self) -> bool {
        self.program.is_ok() && self.missing.is_empty() && !matches!(self.answer, Some(Err(_)))
    }
}

/// How far to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Whether it can be started.
    Start,
    /// Whether it answers, too: it is started, which may cost something.
    Answer,
}

/// Looks at each of the agents that can be started; at those that are named alone, where some are.
pub fn checkups(
    project: &RunnerSetup,
    named: &[AgentId],
    depth: Depth,
) -> Result<Vec<Checkup>, OpsError> {
    let in_force = project.open()?.rules()?;
    let org = &in_force.rules.org;
    let agents = org.agents.iter().flatten();
    let wanted = agents.filter(|(id, _)| named.is_empty() || named.contains(id));
    let started = wanted.filter_map(|(id, agent)| Some((id, agent.run.as_ref()?)));
    Ok(started
        .map(|(id, launch)| {
            let roles = org.roles_of(id).cloned().collect();
            checkup(project, id, roles, launch, depth)
        })
        .collect())
}

fn checkup(
    project: &RunnerSetup,
    agent: &AgentId,
    roles: Vec<RoleId>,
    launch: &Launch,
    depth: Depth,
) -> Checkup {
    let facts = facts(project, agent, launch, Path::new("/nowhere"));
    let name = command(launch, &facts).words.into_iter().next().unwrap_or_default();
    let program = found(&name, &project.root);
    let is_set = |name: &&String| env::var_os(name).is_some_and(|value| !value.is_empty());
    let missing: Vec<String> =
        launch.secrets.iter().filter(|name| !is_set(name)).cloned().collect();
    // What a program of somebody's own makes of `--version` nobody knows.
    let version = program
        .as_ref()
        .ok()
        .filter(|_| launch.preset != Preset::Command)
        .and_then(|path| version(project, path));
    let ready = program.is_ok() && missing.is_empty();
    let answer = (depth == Depth::Answer && ready).then(|| answer(project, agent, launch));
    Checkup {
        agent: agent.clone(),
        roles,
        preset: launch.preset,
        program,
        version,
        missing,
        answer,
    }
}

/// Returns where the program is, as the system looks for it.
fn found(name: &str, project: &Path) -> Result<PathBuf, String> {
    let is_program = |path: &Path| {
        fs::metadata(path)
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        let path = project.join(name);
        return if is_program(&path) {
            Ok(path)
        } else {
            Err(format!("`{name}` is no program that can be run"))
        };
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    let mut places = env::split_paths(&folders).map(|folder| folder.join(name));
    places.find(|path| is_program(path)).ok_or_else(|| {
        format!("`{name}` is in no folder of `PATH`; install it, or give its path in `command`")
    })
}

fn version(project: &RunnerSetup, program: &Path) -> Option<String> {
    let program = Program::of([program.as_os_str(), "--version".as_ref()], &project.root)?;
    let (_, printed) = run(program, VERSION, VERSION, &[]).ok()?;
    last_line(&plain(&printed.stdout.bytes)).filter(|line| line.len() < 100)
}

fn answer(project: &RunnerSetup, agent: &AgentId, launch: &Launch) -> Result<String, String> {
    let folder =
        tempfile::TempDir::new().map_err(|cause| format!("no folder for its files: {cause}"))?;
    let facts = facts(project, agent, launch, folder.path());
    let write = |path: &Path, text: &str| {
        fs::write(path, text).map_err(|cause| format!("`{}`: {cause}", path.display()))
    };
    write(&facts.prompt_file, &facts.prompt)?;
    write(&facts.mcp_config, &mcp_config(&facts))?;
    let command = command(launch, &facts);
    let mut program = Program::of(command.words, &project.root).ok_or("its command is empty")?;
    program.environment =
        command.environment.into_iter().map(|(name, value)| (name, value.into())).collect();
    program.input = command.stdin.into_bytes();
    let secrets: Vec<(String, String)> = launch
        .secrets
        .iter()
        .filter_map(|name| Some((name.clone(), env::var(name).ok()?)))
        .collect();
    let bounds = RunBounds::of(&[&launch.limits]);
    let time = Duration::from_secs(bounds.timeout.seconds()).min(ANSWER);
    let (how, printed) = run(program, time, Duration::from_secs(bounds.idle.seconds()), &secrets)?;
    let exit = match how {
        How::Exited(status) => Exit::Status(u8::try_from(status).unwrap_or(u8::MAX)),
        How::Signalled(signal) => Exit::Signal(signal),
        How::TimedOut | How::Idle | How::Stopped(()) => {
            return Err(format!("it did not answer within {} s", time.as_secs()));
        }
    };
    let printed = RunOutput { stdout: &printed.stdout.bytes, stderr: &printed.stderr.bytes, exit };
    let Report { text, structured, trouble, .. } = read(launch.reads(), &printed);
    let words = shortened(&one_line(&text), LONGEST);
    let said = Some(words)
        .filter(|text| !text.is_empty())
        .or_else(|| structured.map(|object| serde_json::Value::Object(object).to_string()));
    let file = fs::read(&facts.output_file).ok().and_then(|bytes| last_line(&plain(&bytes)));
    match (trouble, exit, said.or(file)) {
        (Some(trouble), _, _) => Err(trouble.why),
        (None, Exit::SUCCESS, Some(said)) => Ok(said),
        (None, Exit::SUCCESS, None) => Err("it ended well, and said nothing".to_owned()),
        (None, exit, said) => {
            let last =
                said.or_else(|| last_line(&plain(printed.stderr))).map(|line| format!(": {line}"));
            Err(format!("it {exit}{}", last.unwrap_or_default()))
        }
    }
}

fn facts(project: &RunnerSetup, agent: &AgentId, launch: &Launch, folder: &Path) -> Facts {
    let name = "it is letters";
    Facts {
        ticket: "AOF-doctor@0".parse().expect(name),
        station: "doctor".parse().expect(name),
        workflow: "doctor".parse().expect(name),
        agent: agent.clone(),
        project: project.root.clone(),
        aof: project.aof.clone(),
        attempt: 1,
        run: "doctor".to_owned(),
        model: launch.limits.model.clone(),
        prompt: QUESTION.to_owned(),
        prompt_file: folder.join("prompt.md"),
        output_file: folder.join("output"),
        mcp_config: folder.join("mcp.json"),
    }
}

/// Listens, and lets it be.
struct Listener(Transcript<std::io::Sink>);

impl Attendant for Listener {
    type Reason = ();

    fn printed(&mut self, stream: Stream, bytes: &[u8]) {
        self.0.take(stream, bytes);
    }

    fn wants_end(&mut self) -> Option<()> {
        None
    }
}

fn run(
    program: Program,
    time: Duration,
    idle: Duration,
    secrets: &[(String, String)],
) -> Result<(How<()>, crate::system::process::Printed), String> {
    let running = program.start().map_err(|error| error.to_string())?;
    let secrets = Secrets::new(secrets.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let mut listener = Listener(Transcript::new(std::io::sink(), &secrets, Room::default()));
    let limits =
        Limits { time, idle: Some(idle), grace: Duration::from_secs(2), orphans: Orphans::Killed };
    let ended = running.wait(&limits, &mut listener).map_err(|lost| lost.to_string())?;
    Ok((ended.how, listener.0.finish()))
}
