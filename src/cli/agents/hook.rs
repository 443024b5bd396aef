//! `aof hook`

use std::io::{Read, stdin};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde::Deserialize;

use crate::agents::hook::{HookInput, HookSetup, answer};
use crate::cli::{Session, agent_of_environment, current_run, now};

/// The most bytes that are read of stdin.
const LONGEST_INPUT: u64 = 8 << 20;
/// The time in which a client must say what it wants.
const INPUT_TIME: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Claude Code calls this: `aof init --agents --hooks` sets it up, and so does the plugin in `packaging/plugin`. It reads the \
hook's JSON on stdin, and always exits with 0. If it cannot help at once, it prints nothing.

  SessionStart   prints the brief of the tasks that the agent holds, also after the context was summarized
  PreCompact     the same, for the summary
  Stop           sends the agent back to work while it holds an open visit, three times at most in a session

`AOF_AGENT` names the agent; without it nothing is printed, and no session is sent back. `AOF_HOOKS=off` switches all of it off.")]
pub(crate) struct HookArgs {
    /// The event: `SessionStart`, `PreCompact` or `Stop`; others are ignored
    #[arg(value_name = "EVENT")]
    event: Option<String>,
}

/// Answers a hook. A failure is silent: an exit code or a message would get in the way of the session.
pub(crate) fn run(session: &Session, args: &HookArgs) -> ExitCode {
    let is_off = std::env::var_os("AOF_HOOKS").is_some_and(|value| value == "off");
    let agent = agent_of_environment().filter(|agent| !agent.is_human());
    if let (false, Some(event), Some(agent)) = (is_off, &args.event, agent)
        && let Some(input) = read_input()
    {
        let here = session.directory.clone();
        // A folder that was named with `-C` is the only one.
        let is_named = here.as_os_str() != ".";
        let others = [input.cwd.clone(), project_of_client()].into_iter().flatten();
        let folders = others.filter(|_| !is_named).chain([here]).collect();
        let run = current_run().map(|(ticket, _)| ticket);
        let setup = HookSetup { folders, agent, run, clock: now };
        if let Some(text) = answer(&setup, event, &input) {
            session.output.print_exactly(&text);
        }
    }
    ExitCode::SUCCESS
}

/// Returns the folder in which the client was started.
fn project_of_client() -> Option<PathBuf> {
    std::env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from)
}

/// Reads the first JSON object on stdin, whose other end may stay open.
fn read_input() -> Option<HookInput> {
    let (sender, input) = mpsc::channel();
    thread::spawn(move || {
        let mut values = serde_json::Deserializer::from_reader(stdin().lock().take(LONGEST_INPUT));
        drop(sender.send(HookInput::deserialize(&mut values).ok()));
    });
    input.recv_timeout(INPUT_TIME).ok()?
}
