//! The tasks that a command names: all are found before the first changes, then each is changed separately.

use std::convert::Infallible;
use std::process::ExitCode;
use std::str::FromStr;

use serde_json::{Value, json};

use crate::cli::arguments::command;
use crate::cli::{CliError, CliResult, Session};
use crate::domain::{Ticket, TypedTask, listed};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::system::terminal::all_quoted;
use crate::tasks::headers::lookup;
use crate::tasks::state::task_state;

/// A word in the place of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskWord(String);

impl FromStr for TaskWord {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

// The tasks of a command. No doc comment: clap would use it as the description of each command with these arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct NamedTasks {
    /// The tasks, as in `AOF-abc`; a visit is `AOF-abc@3`, a branch of a fork `AOF-abc@3/security`
    #[arg(value_name = "ID", required = true)]
    words: Vec<TaskWord>,
}

/// A task that a command names.
#[derive(Debug, Clone)]
pub(crate) struct NamedTask {
    /// The word that named it.
    pub word: String,
    pub ticket: Ticket,
}

/// The form in which a command takes its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextForm {
    None,
    /// One `-m`; true if it is given.
    One(bool),
    /// Any number of `-m`.
    Points,
}

impl NamedTasks {
    /// Returns the tasks. Fails if a word names no task, or two words name the same one.
    pub(super) fn find(
        &self,
        session: &Session,
        workspace: &Workspace,
        text: TextForm,
    ) -> CliResult<Vec<NamedTask>> {
        let words: Vec<&str> = self.words.iter().map(|word| word.0.as_str()).collect();
        let typed: Vec<Option<TypedTask>> = words.iter().map(|word| word.parse().ok()).collect();
        // From the first word that names no task on, all words may be a text without quotes.
        let is_text = |place: &usize| match &typed[*place] {
            Some(_) if text == TextForm::None || is_id(words[*place]) => false,
            Some(typed) => lookup::ticket(workspace, typed).is_err_and(|error| is_missing(&error)),
            None => true,
        };
        let start = (0..words.len()).find(is_text).unwrap_or(words.len());
        let texts: Vec<&str> = words
            .iter()
            .zip(&typed)
            .filter(|(_, typed)| typed.is_none())
            .map(|found| *found.0)
            .collect();
        if !texts.is_empty() {
            let are = if texts.len() == 1 { "is not a task" } else { "are not tasks" };
            let problem = format!("{} {are}", listed(&texts));
            return Err(CliError::refused("not_a_task", problem, fix(&words, start, text)));
        }
        let mut found: Vec<NamedTask> = Vec::new();
        for (place, (typed, word)) in typed.iter().flatten().zip(&words).enumerate() {
            let ticket = session.ticket(workspace, typed).map_err(|error| {
                if place != start || !is_missing(&error) {
                    return error.into();
                }
                let fix = fix(&words, start, text);
                let fix = error
                    .advice()
                    .map_or_else(|| fix.clone(), |way| format!("{}; {fix}", way.render(command)));
                let (code, problem) = ("task_not_found", error.problem());
                CliError::Command { code, problem, fix: Some(fix), exit_code: 3 }
            })?;
            if words.len() > 1 {
                // A single task is reported by its own operation.
                task_state::find(workspace, &ticket.task)?;
            }
            let is_same = |named: &&NamedTask| {
                let branches = named.ticket.branch.as_ref().zip(ticket.branch.as_ref());
                named.ticket.task == ticket.task && branches.is_none_or(|(one, other)| one == other)
            };
            if let Some(first) = found.iter().find(is_same) {
                let (id, problem) = (&ticket.task, listed([first.word.as_str(), word]));
                let problem = format!("task `{id}` is named twice, by {problem}");
                return Err(CliError::refused("named_twice", problem, "name it once"));
            }
            found.push(NamedTask { word: (*word).to_owned(), ticket });
        }
        Ok(found)
    }
}

fn is_missing(error: &ProjectError) -> bool {
    matches!(
        error,
        ProjectError::Unfit { code: "task_not_found", .. } | ProjectError::NoTask { .. }
    )
}

/// Returns true if the word looks like a whole id, and not like a part of one or a text.
fn is_id(word: &str) -> bool {
    word.split_once('-').is_some_and(|(prefix, _)| !prefix.contains(char::is_lowercase))
}

/// Returns the fix if the words from that place on are a text: the command as it should be.
fn fix(words: &[&str], start: usize, form: TextForm) -> String {
    if matches!(form, TextForm::None | TextForm::One(true)) {
        return "each word is a task here: `aof list` shows them".to_owned();
    }
    let mut command: Vec<String> = std::env::args().skip(1).collect();
    let (texts, mut at) = (&words[start..], 1);
    for (place, word) in words.iter().enumerate() {
        let Some(found) = command.iter().skip(at).position(|known| known == word) else { break };
        at += found;
        if place < start {
            at += 1;
        } else {
            command.remove(at);
        }
    }
    if start == 0 {
        command.push("ID".to_owned());
    }
    let mut command = all_quoted(command.iter().map(String::as_str));
    // Points have quotes, unlike the words of one text.
    let texts = match form {
        TextForm::Points if texts.iter().any(|text| text.contains(char::is_whitespace)) => {
            texts.iter().map(|text| (*text).to_owned()).collect()
        }
        _ => vec![texts.join(" ")],
    };
    for text in &texts {
        let is_plain = !text.contains(['"', '\\', '$', '`', '!']);
        let quoted = if is_plain { format!("\"{text}\"") } else { all_quoted([text.as_str()]) };
        command.push_str(&format!(" -m {quoted}"));
    }
    format!("each word is a task here, and `-m` is the text: `aof {command}`")
}

/// Runs `act` for each task. A refusal for one task stops no other. The answer for one task is its own; for several, it reports
/// each, and the exit code is the highest.
pub(super) fn each(
    session: &Session,
    workspace: &mut Workspace,
    tasks: &[NamedTask],
    mut act: impl FnMut(&mut Workspace, &NamedTask) -> CliResult<Value>,
) -> CliResult {
    let is_json = session.output.is_json();
    if let [only] = tasks {
        let value = act(workspace, only)?;
        if is_json {
            session.output.data(value);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let (mut done, mut failed, mut worst) = (Vec::new(), Vec::new(), 0);
    for task in tasks {
        workspace.restart_wait(session.wait);
        match act(workspace, task) {
            Ok(value) => done.push(value),
            Err(error) => {
                worst = worst.max(error.exit_code());
                let mut value = session.tell_failed(&error);
                value["task"] = json!(task.ticket);
                failed.push(value);
            }
        }
    }
    if is_json {
        session.output.data(json!({"tasks": done, "failed": failed}));
    }
    Ok(ExitCode::from(worst))
}
