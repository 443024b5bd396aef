//! `aof runner doctor`: checks that the agents with a `run` in org.yaml can be started, and answer. Changes no task.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use super::launch::{LaunchFacts, command, mcp_config, missing, secrets};
use super::report::{Exit, Report, RunOutput, last_line, plain, shortened};
use super::report_formats::read;
use super::run_types::RunnerSetup;
use crate::domain::{AgentId, Launch, Preset, RoleId, RunBounds};
use crate::files::printable::one_line;
use crate::project::error::ProjectError;
use crate::project::trust::RulePrograms;
use crate::system::process::{
    Attendant, How, Orphans, Printed, ProcessLimits, Program, Room, Secrets, Stream, Transcript,
};

/// The time limits for a program to print its version, and to answer.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);
const ANSWER_TIMEOUT: Duration = Duration::from_mins(2);
/// The number of characters of an answer that are shown.
const LONGEST: usize = 200;
const QUESTION: &str = "This only checks that you can be reached. Use no tools, change no files. Answer with the word `ready`.\n";

/// The result of checking one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkup {
    pub agent: AgentId,
    pub roles: Vec<RoleId>,
    pub preset: Preset,
    /// The program, or the reason why there is none.
    pub program: Result<PathBuf, String>,
    /// The program's version; `None` if it was not asked, or printed none.
    pub version: Option<String>,
    /// The unset variables that the agent needs.
    pub missing: Vec<String>,
    /// The agent's answer, or the reason why there is none; `None` if it was not asked.
    pub answer: Option<Result<String, String>>,
}

impl Checkup {
    /// Returns true if the checks found nothing that prevents a run.
    pub fn is_well(&self) -> bool {
        self.program.is_ok() && self.missing.is_empty() && !matches!(self.answer, Some(Err(_)))
    }
}

/// The depth of the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Checks that the agent can be started.
    Start,
    /// Also checks that the agent answers: it is started, which may cost something.
    Answer,
}

/// Checks the agents with a `run`, or only the named ones.
pub fn checkups(
    project: &RunnerSetup,
    named: &[AgentId],
    depth: Depth,
) -> Result<Vec<Checkup>, ProjectError> {
    let workspace = project.open()?;
    let in_force = workspace.rules()?;
    let trust = RulePrograms::read(&workspace, &in_force.rules);
    let org = &in_force.rules.org;
    let wanted =
        org.agents.iter().flatten().filter(|(id, _)| named.is_empty() || named.contains(id));
    let started = wanted.filter_map(|(id, agent)| Some((id, agent.run.as_ref()?)));
    Ok(started
        .map(|(id, launch)| {
            let trusted = trust.check_agent(id).map_err(|error| {
                format!("{}; {}", error.problem(), error.fix().unwrap_or_default())
            });
            checkup(project, id, org.roles_of(id).cloned().collect(), launch, depth, trusted)
        })
        .collect())
}

fn checkup(
    project: &RunnerSetup,
    agent: &AgentId,
    roles: Vec<RoleId>,
    launch: &Launch,
    depth: Depth,
    trusted: Result<(), String>,
) -> Checkup {
    let words = command(launch, &facts(project, agent, launch, Path::new("/nowhere"))).words;
    let program = trusted
        .and_then(|()| find_program(words.first().map_or("", String::as_str), &project.root));
    let missing: Vec<String> = missing(launch).cloned().collect();
    // An unknown program may do anything with `--version`.
    let asked = program.as_ref().ok().filter(|_| launch.preset != Preset::Command);
    let version = asked.and_then(|path| version(project, path));
    let ready = depth == Depth::Answer && program.is_ok() && missing.is_empty();
    let answer = ready.then(|| answer(project, agent, launch));
    let (agent, preset) = (agent.clone(), launch.preset);
    Checkup { agent, roles, preset, program, version, missing, answer }
}

/// Returns the path of a program, searched as the system does.
fn find_program(name: &str, project: &Path) -> Result<PathBuf, String> {
    let is_program = |path: &PathBuf| {
        fs::metadata(path)
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(project.join(name))
            .filter(is_program)
            .ok_or_else(|| format!("`{name}` is no program that can be run"));
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).map(|folder| folder.join(name)).find(is_program).ok_or_else(|| {
        format!("`{name}` is in no folder of `PATH`; install it, or give its path in `command`")
    })
}

fn version(project: &RunnerSetup, program: &Path) -> Option<String> {
    let program = Program::new([program.as_os_str(), "--version".as_ref()], &project.root)?;
    let (_, printed) =
        run_and_listen(program, VERSION_TIMEOUT, VERSION_TIMEOUT, &Secrets::new([])).ok()?;
    last_line(&plain(&printed.stdout.bytes)).filter(|line| line.len() < 100)
}

fn answer(project: &RunnerSetup, agent: &AgentId, launch: &Launch) -> Result<String, String> {
    let folder =
        tempfile::TempDir::new().map_err(|cause| format!("no folder for its files: {cause}"))?;
    let facts = facts(project, agent, launch, folder.path());
    for (path, text) in
        [(&facts.prompt_file, &facts.prompt), (&facts.mcp_config, &mcp_config(&facts))]
    {
        fs::write(path, text).map_err(|cause| format!("`{}`: {cause}", path.display()))?;
    }
    let program = command(launch, &facts).program(&project.root).ok_or("its command is empty")?;
    let bounds = RunBounds::of(&[&launch.limits]);
    let time = Duration::from_secs(bounds.timeout.seconds()).min(ANSWER_TIMEOUT);
    let idle = Duration::from_secs(bounds.idle.seconds());
    let (how, printed) = run_and_listen(program, time, idle, &secrets(launch, agent)?)?;
    let exit = match how {
        How::Exited(status) => Exit::from_status(status),
        How::Signalled(signal) => Exit::Signal(signal),
        How::TimedOut | How::Idle | How::Stopped(()) => {
            return Err(format!("it did not answer within {} s", time.as_secs()));
        }
    };
    let output = RunOutput { stdout: &printed.stdout.bytes, stderr: &printed.stderr.bytes, exit };
    let Report { text, structured, trouble, .. } = read(launch.reads(), &output);
    let in_file = || last_line(&plain(&fs::read(&facts.output_file).ok()?));
    let answer = Some(shortened(&one_line(&text), LONGEST))
        .filter(|text| !text.is_empty())
        .or_else(|| structured.map(|object| serde_json::Value::Object(object).to_string()))
        .or_else(in_file);
    match (trouble, exit, answer) {
        (Some(trouble), ..) => Err(trouble.why),
        (None, Exit::SUCCESS, answer) => answer.ok_or("it ended well, and said nothing".to_owned()),
        (None, exit, answer) => {
            let last = answer.or_else(|| last_line(&plain(output.stderr)));
            let last = last.map(|line| format!(": {line}")).unwrap_or_default();
            Err(format!("it {exit}{last}"))
        }
    }
}

fn facts(project: &RunnerSetup, agent: &AgentId, launch: &Launch, folder: &Path) -> LaunchFacts {
    let name = "it is letters";
    LaunchFacts {
        ticket: "AOF-doctor@0".parse().expect(name),
        station: "doctor".parse().expect(name),
        workflow: "doctor".parse().expect(name),
        agent: agent.clone(),
        email: format!("{agent}@aof.invalid"),
        signing_key: None,
        project: project.root.clone(),
        workspace: None,
        aof: project.aof.clone(),
        attempt: 1,
        run: "doctor".to_owned(),
        model: launch.limits.model.clone(),
        resume: None,
        prompt: QUESTION.to_owned(),
        prompt_file: folder.join("prompt.md"),
        output_file: folder.join("output"),
        mcp_config: folder.join("mcp.json"),
    }
}

/// Keeps the output of a program, and never stops it.
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

/// Runs a program, and returns its end and its output.
pub(crate) fn run_and_listen(
    program: Program,
    time: Duration,
    idle: Duration,
    secrets: &Secrets,
) -> Result<(How<()>, Printed), String> {
    let running = program.start().map_err(|error| error.to_string())?;
    let mut listener = Listener(Transcript::new(std::io::sink(), secrets, Room::default()));
    let limits = ProcessLimits {
        time,
        idle: Some(idle),
        grace: Duration::from_secs(2),
        orphans: Orphans::Killed,
    };
    let ended = running.wait(&limits, &mut listener).map_err(|lost| lost.to_string())?;
    Ok((ended.how, listener.0.finish()))
}
