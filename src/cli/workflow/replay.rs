//! `aof workflow prove --replay DIR`: a story, done through the real commands in a project of its own.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::cli::{CliError, CliResult, Session, dim};
use crate::domain::GateId;
use crate::files::config::configuration::Source;
use crate::files::printable::inert;
use crate::rules::Rules;
use crate::rules::prover::{NEW_TASK, StoryAct};
use crate::system::terminal::all_quoted;

/// Makes a project with these rules in the folder, which is empty or missing, and does the acts there.
pub(super) fn replay(
    session: &Session,
    (rules, files): (&Rules, &[Source]),
    story: &[StoryAct],
    folder: &Path,
) -> CliResult<()> {
    let refuse = |problem: String, fix: &str| CliError::refused("replay_failed", problem, fix);
    let broken = |cause: std::io::Error| {
        refuse(format!("cannot write into `{}`: {cause}", folder.display()), "name another folder")
    };
    fs::create_dir_all(folder).map_err(broken)?;
    if fs::read_dir(folder).map_err(broken)?.next().is_some() {
        let problem = format!("`{}` is not empty", folder.display());
        return Err(refuse(problem, "name a folder that is empty or missing"));
    }
    for file in files {
        let path = folder.join(&file.name);
        fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(broken)?;
        fs::write(path, &file.bytes).map_err(broken)?;
    }
    let branch = rules.project.git.branch.as_ref().map_or("main", |branch| branch.as_str());
    for words in [
        &["init", "-q", "-b", branch][..],
        &["config", "user.name", "Replay"],
        &["config", "user.email", "replay@localhost"],
        &["add", "."],
        &["commit", "-q", "-m", "The rules"],
    ] {
        run(folder, "git", None, words)?;
    }
    let program = std::env::current_exe().map_err(broken)?;
    let aof = |session: Option<&str>, words: &[&str]| {
        run(folder, &program.to_string_lossy(), session, words)
    };
    let mut task = NEW_TASK.to_owned();
    for (act, number) in story.iter().zip(1..) {
        session.output.line(format!("{number:>3}. {}", inert(&act.text)));
        let words: Vec<String> =
            act.command.iter().map(|word| word.replace(NEW_TASK, &task)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.first() {
            // A gate decided by itself, in the commit before.
            None => {}
            Some(&"sweep") => {
                let rest = "the story goes on when that time is over: run `aof sweep` there then";
                session.output.line(format!("     {}", dim(rest)));
                return Ok(());
            }
            Some(_) => {
                let own = act.session.as_deref();
                let before = own.map(|own| format!("AOF_SESSION={own} ")).unwrap_or_default();
                let command = format!("{before}aof {}", all_quoted(words.iter().copied()));
                session.output.line(format!("     {}", dim(inert(&command))));
                let said = aof(own, &[&words[..], &["--json"]].concat())?;
                let said: Value = serde_json::from_str(&said).unwrap_or_default();
                if let Some(id) = said["id"].as_str().filter(|_| words[0] == "new") {
                    id.clone_into(&mut task);
                }
            }
        }
        if story.get(number).is_some_and(|next| next.command.is_empty()) {
            continue;
        }
        let shown: Value =
            serde_json::from_str(&aof(None, &["show", &task, "--json"])?).unwrap_or_default();
        let here = (shown["gate"]["current"].as_str(), shown["status"].as_str());
        let expected = (act.gate.as_ref().map(GateId::as_str), Some(act.status.as_str()));
        if here != expected {
            let problem = format!("the task is at {here:?}, and the story says {expected:?}");
            return Err(refuse(problem, "this is a fault of the prover: please report it"));
        }
    }
    let done =
        format!("{task} is as the story says: `git -C {} log` has each act", folder.display());
    session.output.line(done);
    Ok(())
}

/// Runs a command in the folder without the variables that would lead it elsewhere, and returns what it prints.
fn run(folder: &Path, program: &str, session: Option<&str>, words: &[&str]) -> CliResult<String> {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("GIT_") && !text.starts_with("GIT_CONFIG")
            || ["AOF_AGENT", "AOF_SESSION", "AOF_TASK", "AOF_RUN"].contains(&&*text)
        {
            command.env_remove(&name);
        }
    }
    command.envs(session.map(|session| ("AOF_SESSION", session)));
    let output = command.args(words).current_dir(folder).stdin(Stdio::null()).output();
    let fault = |said: String| {
        let problem = format!("`{}` failed: {}", words.join(" "), said.trim());
        CliError::refused("replay_failed", problem, "the folder has the state before it")
    };
    let output = output.map_err(|cause| fault(cause.to_string()))?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        return Err(fault(String::from_utf8_lossy(&said).into_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
