//! Runs another program with a deadline, and git without anything that a repository could make it run.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::error::GitError;

/// Long enough for the largest index, short enough not to hold the writer lock for ever.
const GIT_TIMEOUT: Duration = Duration::from_mins(1);

/// For questions that do not depend on the size of the repository: git answers at once, or hangs.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// The most paths that are safe on one command line.
pub(crate) const PATHS_A_COMMAND: usize = 200;

/// Environment that makes git show the stored history, as this module's readers do: without grafts and replacements.
pub(crate) const TRUE_HISTORY: [(&str, &str); 2] =
    [("GIT_NO_REPLACE_OBJECTS", "1"), ("GIT_GRAFT_FILE", "/dev/null")];

/// The exit status of a program, and its output.
pub(crate) struct GitOutput {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// The process group that a program is started in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupMode {
    /// A group of its own, which is killed as a whole.
    Own,
    /// The group of this process, so that it may prompt at the terminal.
    Shared,
}

/// Runs a program to its end with this input; kills it and its children at the timeout.
pub(crate) fn run(command: Command, input: &[u8], timeout: Duration) -> io::Result<GitOutput> {
    run_in(GroupMode::Own, command, input, timeout)
}

/// Runs a program that inherits the open file as its input, so a lock on that file lasts until the program ends, even if this
/// process dies.
pub(crate) fn run_holding(
    mut command: Command,
    held: &File,
    timeout: Duration,
) -> io::Result<GitOutput> {
    command.stdin(Stdio::from(held.try_clone()?));
    run_with(GroupMode::Own, command, &[], timeout)
}

/// Runs a program in that group; in a shared one, only the program itself is killed.
pub(crate) fn run_in(
    group: GroupMode,
    mut command: Command,
    input: &[u8],
    timeout: Duration,
) -> io::Result<GitOutput> {
    command.stdin(Stdio::piped());
    run_with(group, command, input, timeout)
}

/// Runs a command whose input is already set up.
fn run_with(
    group: GroupMode,
    mut command: Command,
    input: &[u8],
    timeout: Duration,
) -> io::Result<GitOutput> {
    let deadline = Instant::now() + timeout;
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    if group == GroupMode::Own {
        command.process_group(0);
    }
    let mut child = command.spawn()?;
    let stdin = child.stdin.take();
    // The command would keep the inherited file open.
    drop(command);
    let (ended, outputs) = mpsc::channel();
    let streams: [Box<dyn Read + Send>; 2] = [
        Box::new(child.stdout.take().expect("piped above")),
        Box::new(child.stderr.take().expect("piped above")),
    ];
    for (number, mut stream) in streams.into_iter().enumerate() {
        let ended = ended.clone();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = stream.read_to_end(&mut bytes);
            // The receiver is gone once the deadline has passed.
            let _ = ended.send((number, read.map(|_| bytes)));
        });
    }
    let input = input.to_vec();
    if let Some(mut stdin) = stdin {
        thread::spawn(move || {
            // A program that does not read its input reports that by its exit status.
            let _ = stdin.write_all(&input);
        });
    }

    let mut collected = [Vec::new(), Vec::new()];
    for _ in 0..2 {
        let left = deadline.saturating_duration_since(Instant::now());
        match outputs.recv_timeout(left) {
            Ok((number, bytes)) => collected[number] = bytes?,
            Err(_) => return Err(kill(&mut child, group, timeout)),
        }
    }
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= deadline {
            return Err(kill(&mut child, group, timeout));
        }
        thread::sleep(Duration::from_millis(1));
    };
    let [stdout, stderr] = collected;
    Ok(GitOutput { status, stdout, stderr })
}

fn kill(child: &mut std::process::Child, group: GroupMode, timeout: Duration) -> io::Error {
    let leader = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    // The process may just have ended on its own.
    match (group, leader) {
        (GroupMode::Own, Some(leader)) => {
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
        _ => {
            let _ = child.kill();
        }
    }
    let _ = child.wait();
    io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {} s", timeout.as_secs()))
}

/// Returns a git command for a repository that runs no hook and no file monitor, never prompts, and ignores `GIT_*` redirections.
pub(crate) fn git(git_dir: &Path, worktree: &Path) -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        let keep = name.to_str().is_none_or(|name| {
            !name.starts_with("GIT_") || name.starts_with("GIT_CONFIG_") || name == "GIT_EXEC_PATH"
        });
        if !keep {
            command.env_remove(name);
        }
    }
    command
        .current_dir(worktree)
        .env("GIT_DIR", git_dir)
        .env("GIT_WORK_TREE", worktree)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .envs(TRUE_HISTORY)
        .args([
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.untrackedCache=keep",
            "-c",
            "advice.graftFileDeprecated=false",
        ]);
    command
}

/// Returns a git command as the user would run it in that folder, without the variables that git sets for a hook.
pub(crate) fn users_git(folder: &Path) -> Command {
    as_user("git", folder)
}

/// Returns a command as the user would run it in that folder, for a program that starts git.
pub(crate) fn as_user(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_CONFIG",
        "GIT_NAMESPACE",
        "GIT_PREFIX",
        "GIT_QUARANTINE_PATH",
    ] {
        command.env_remove(name);
    }
    command.current_dir(folder);
    command
}

/// Runs a command of [`git`] and returns its output; fails if git does.
pub(crate) fn run_git(command: Command, input: &[u8]) -> Result<Vec<u8>, GitError> {
    run_git_for(command, input, GIT_TIMEOUT)
}

/// Runs a command of [`git`] with this timeout and returns its output; fails if git does.
pub(crate) fn run_git_for(
    command: Command,
    input: &[u8],
    timeout: Duration,
) -> Result<Vec<u8>, GitError> {
    let words = words_of(&command);
    output_of(&words, run(command, input, timeout))
}

/// Runs git with the open file inherited: a lock on it lasts until both processes have ended.
pub(crate) fn run_git_holding(
    command: Command,
    held: &File,
    timeout: Duration,
) -> Result<(), GitError> {
    let words = words_of(&command);
    output_of(&words, run_holding(command, held, timeout)).map(drop)
}

fn words_of(command: &Command) -> String {
    let words: Vec<_> = command
        .get_args()
        .map(|word| word.to_string_lossy().into_owned())
        .skip(8)
        .take(3)
        .collect();
    format!("git {}", words.join(" "))
}

fn output_of(command: &str, finished: io::Result<GitOutput>) -> Result<Vec<u8>, GitError> {
    let command = command.to_owned();
    match finished {
        Err(cause) => Err(GitError::NotRun { command, cause }),
        Ok(finished) if finished.status.success() => Ok(finished.stdout),
        Ok(GitOutput { stderr, .. }) => Err(GitError::Command {
            command,
            detail: String::from_utf8_lossy(&stderr).trim().to_owned(),
        }),
    }
}

/// Returns a path of git's configuration with the home for `~/`.
pub(crate) fn expand_home(path: &str) -> String {
    match (path.strip_prefix("~/"), std::env::var("HOME")) {
        (Some(rest), Ok(home)) => Path::new(&home).join(rest).to_string_lossy().into_owned(),
        _ => path.to_owned(),
    }
}
