//! A gate for people, asked at the terminal: yes, no with what to fix, the diff, or later. The answer becomes a completion.

use std::io::{self, BufRead, ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::agents::runner::PersonQuestion;
use crate::cli::arguments::value_of;
use crate::cli::output::{Output, bold, cyan, dim, red, yellow};
use crate::cli::time::now;
use crate::domain::{AgentId, Completion, Map, Outcome};
use crate::files::printable::{inert, one_line};
use crate::storage::ProjectPath;
use crate::storage::random::ulid;

/// How often a wait for a line looks whether the run is to stop.
const TICK: Duration = Duration::from_millis(50);

/// An answer at the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PromptAnswer {
    Outcome(Outcome),
    Diff,
    Later,
}

/// Asks the person. Returns nothing when the decision is not theirs, or not now.
pub(crate) fn ask(
    output: Output,
    person: &AgentId,
    project: &Path,
    asked: &PersonQuestion<'_>,
    stop: &AtomicBool,
) -> Option<Completion> {
    if !asked.opening.agents.contains(person) {
        return None;
    }
    match asked.refused {
        Some(refused) => {
            output.say(format!("{} {}", red("refused:"), inert(&refused.why)));
            output.say(format!("{} {}", bold("hint:"), inert(&refused.fix)));
        }
        None => show_task(output, asked),
    }
    let outcomes: Vec<Outcome> =
        asked.context.outcomes.iter().map(|(outcome, _)| outcome.clone()).collect();
    loop {
        let line = prompt(output, &question(&outcomes), stop)?;
        match answer(&outcomes, &line) {
            Some(PromptAnswer::Later) => return None,
            Some(PromptAnswer::Diff) => show_diff(output, project, asked.path),
            Some(PromptAnswer::Outcome(outcome)) => {
                return completion(output, person, asked, &outcome, stop);
            }
            None => output.say(format!("`{}` is none of these", inert(&line))),
        }
    }
}

fn show_task(output: Output, asked: &PersonQuestion<'_>) {
    let (task, opening) = (&asked.file.task, asked.opening);
    output.say(format!("\n{} {}", cyan(&opening.ticket), bold(one_line(&task.title))));
    output.say(format!("  {}: {}", opening.station, one_line(&asked.context.role)));
    for expected in &asked.context.expectations {
        output.say(format!("  - {}", one_line(expected)));
    }
    if let Some(last) = task.history.last() {
        let who = last.agent.as_ref().map(|agent| format!(" by {agent}")).unwrap_or_default();
        let (station, outcome, summary) = (last.station(), &last.outcome, one_line(&last.summary));
        output.say(dim(format!("  before: {station} ({outcome}){who}: {summary}")));
    }
}

fn question(outcomes: &[Outcome]) -> String {
    let mut answers = Vec::new();
    answers.extend(outcomes.contains(&Outcome::Complete).then(|| "[y]es".to_owned()));
    answers.extend(outcomes.contains(&Outcome::NeedsReview).then(|| "[n]o".to_owned()));
    let is_decision = |outcome: &&Outcome| matches!(outcome, Outcome::Decision(_));
    answers.extend(outcomes.iter().filter(is_decision).map(ToString::to_string));
    answers.push("blocked".to_owned());
    format!("{}, [d]iff, [l]ater? ", answers.join(", "))
}

fn answer(outcomes: &[Outcome], line: &str) -> Option<PromptAnswer> {
    let word = line.trim().to_lowercase();
    let meant =
        |outcome: Outcome| outcomes.contains(&outcome).then_some(PromptAnswer::Outcome(outcome));
    match word.as_str() {
        "y" | "yes" => meant(Outcome::Complete),
        "n" | "no" => meant(Outcome::NeedsReview),
        "d" | "diff" => Some(PromptAnswer::Diff),
        "l" | "later" | "" => Some(PromptAnswer::Later),
        word => outcomes
            .iter()
            .find(|outcome| outcome.is_meant_by(word))
            .cloned()
            .map(PromptAnswer::Outcome),
    }
}

fn completion(
    output: Output,
    person: &AgentId,
    asked: &PersonQuestion<'_>,
    outcome: &Outcome,
    stop: &AtomicBool,
) -> Option<Completion> {
    let before = asked.refused.map(|refused| &refused.completion);
    let before = before.filter(|before| before.outcome.as_deref() == Some(outcome.as_str()));
    let blockers = match outcome {
        Outcome::NeedsReview | Outcome::Blocked => {
            let before = before.and_then(|before| before.blockers.clone()).unwrap_or_default();
            blockers(output, before, stop)?
        }
        _ => Vec::new(),
    };
    let outputs = outputs(output, asked, outcome, before.map(|before| &before.outputs), stop)?;
    let usual = before.and_then(|before| before.summary.clone()).or(blockers.first().cloned());
    let usual = usual.unwrap_or_else(|| match outcome {
        Outcome::Complete => "Approved".to_owned(),
        outcome => format!("Decided: {outcome}"),
    });
    let summary = prompt(output, &format!("A word on it ({}): ", one_line(&usual)), stop)?;
    Some(Completion {
        ticket: asked.opening.ticket.clone(),
        agent: person.clone(),
        outcome: Some(outcome.to_string()),
        summary: Some(if summary.is_empty() { usual } else { summary }),
        blockers: (!blockers.is_empty()).then_some(blockers),
        rejection_notes: None,
        outputs,
        metadata: Map::new(),
        body: None,
        id: ulid(now()).ok()?,
        signature: None,
    })
}

/// Returns what has to be fixed or waited for; nothing when that is left for later.
fn blockers(output: Output, before: Vec<String>, stop: &AtomicBool) -> Option<Vec<String>> {
    output.say("What has to be fixed, or what does it wait for? A line for each; an empty line ends, `l` leaves it for later.");
    if !before.is_empty() {
        output.say(format!("An empty line now keeps: {}", one_line(&before.join("; "))));
    }
    let mut blockers = Vec::new();
    loop {
        let line = prompt(output, "- ", stop)?;
        match line.as_str() {
            "" if !blockers.is_empty() => return Some(blockers),
            "" if !before.is_empty() => return Some(before),
            "" => note(output, "it needs at least one; `l` leaves it for later"),
            line if is_later(line) => return None,
            line => blockers.push(line.to_owned()),
        }
    }
}

/// Returns the outputs that the gate requires with the outcome; nothing when that is left for later.
fn outputs(
    output: Output,
    asked: &PersonQuestion<'_>,
    outcome: &Outcome,
    before: Option<&Map>,
    stop: &AtomicBool,
) -> Option<Map> {
    let mut outputs = Map::new();
    let form = asked.context.outputs.iter().find(|form| form.outcome == *outcome);
    let fields = form.map(|form| form.fields.as_slice()).unwrap_or_default();
    for field in fields.iter().filter(|field| field.required && !field.name.contains(['.', '['])) {
        let about = field.description.as_ref().map(|text| format!("; {}", one_line(text)));
        let kept = before.and_then(|before| before.get(&field.name));
        let keeps =
            kept.map(|value| format!("; an empty line keeps {}", one_line(&value.to_string())));
        let question = format!(
            "{} ({}{}{}): ",
            one_line(&field.name),
            one_line(&field.form),
            about.unwrap_or_default(),
            keeps.unwrap_or_default()
        );
        let value = loop {
            let line = prompt(output, &question, stop)?;
            match (line.as_str(), kept) {
                ("", Some(value)) => break value.clone(),
                ("", None) => note(output, "the gate needs it; `l` leaves it for later"),
                (line, _) if is_later(line) => return None,
                (line, _) => break value_of(line),
            }
        };
        outputs.insert(field.name.clone(), value);
    }
    Some(outputs)
}

fn is_later(line: &str) -> bool {
    matches!(line.to_lowercase().as_str(), "l" | "later")
}

fn note(output: Output, text: &str) {
    output.say(format!("{} {text}", yellow("note:")));
}

/// Returns the typed line without surrounding blanks; nothing when the input has ended, or the run is to stop.
fn prompt(output: Output, text: &str, stop: &AtomicBool) -> Option<String> {
    loop {
        let mut stderr = anstream::stderr();
        let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
        match line(stop)? {
            Ok(line) => return Some(line.trim().to_owned()),
            Err(cause) if cause.kind() == ErrorKind::InvalidData => {
                note(output, "that line is not UTF-8; type it again");
            }
            Err(cause) => {
                output.say(format!("{} cannot read from here: {cause}", yellow("warning:")));
                return None;
            }
        }
    }
}

fn line(stop: &AtomicBool) -> Option<io::Result<String>> {
    let (sender, lines) = mpsc::channel();
    // No signal ends a read. When the run stops, this thread is left waiting, and the program ends soon.
    thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        drop(sender.send(read.map(|count| (count > 0).then_some(line))));
    });
    loop {
        match lines.recv_timeout(TICK) {
            Ok(read) => return read.transpose(),
            Err(RecvTimeoutError::Timeout) if !stop.load(Ordering::Relaxed) => {}
            Err(_) => return None,
        }
    }
}

/// Shows what changed in the project since the task was made, its tasks left out, and the names of untracked files.
fn show_diff(output: Output, project: &Path, task: &ProjectPath) {
    const ALL: [&str; 3] = ["--", ".", ":(exclude)tasks"];
    let (revision, which) = base(project, task);
    output.say(dim(format!("changes since {revision}, {which}:")));
    // Without a pager nothing makes foreign text harmless, so it is printed here.
    let pager = git(project, &["var", "GIT_PAGER"]);
    let is_paged =
        io::stdout().is_terminal() && pager.is_ok_and(|pager| !matches!(pager.trim(), "" | "cat"));
    let shown = if is_paged {
        let command =
            Command::new("git").arg("-C").arg(project).args(["diff", &revision]).args(ALL).status();
        command.map(drop).map_err(|cause| format!("`git` cannot be started: {cause}"))
    } else {
        let words = [&["diff", "--no-color", "--no-ext-diff", &revision][..], &ALL].concat();
        git(project, &words).map(|text| output.say(inert(text.trim_end())))
    };
    let untracked = [&["ls-files", "--others", "--exclude-standard", "-z"][..], &ALL].concat();
    match shown.and_then(|()| git(project, &untracked)) {
        Ok(names) if names.is_empty() => {}
        Ok(names) => {
            output.say(bold("new files that git does not know yet, not shown above:"));
            let names = names.split_terminator('\0');
            names.for_each(|name| output.say(format!("  {}", one_line(name))));
        }
        Err(why) => output.say(inert(&why)),
    }
}

/// Returns the commit before the one that added the task's file, and in words which commit that is.
fn base(project: &Path, task: &ProjectPath) -> (String, &'static str) {
    let last_line = |words: &[&str]| git(project, words).ok()?.lines().last().map(str::to_owned);
    let added = ["log", "--diff-filter=A", "--format=%h", "--", task.as_str()];
    let Some(added) = last_line(&added) else {
        return ("HEAD".to_owned(), "as no commit added the task");
    };
    match last_line(&["rev-parse", "--verify", "--quiet", "--short", &format!("{added}^")]) {
        Some(before) => (before, "the commit before the task was made"),
        None => (added, "the commit that made the task"),
    }
}

/// Returns what git prints.
fn git(project: &Path, words: &[&str]) -> Result<String, String> {
    let output = Command::new("git").arg("-C").arg(project).args(words).output();
    let output = output.map_err(|cause| format!("`git` cannot be started: {cause}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let error = String::from_utf8_lossy(&output.stderr);
    Err(format!("`git {}` ended with {}: {}", words[0], output.status, error.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_letter_or_a_word() {
        let outcomes: Vec<Outcome> = ["complete", "needs_review", "blocked", "Ship_It"]
            .map(|word| word.parse().unwrap())
            .into();
        let meant = |line: &str| match answer(&outcomes, line) {
            Some(PromptAnswer::Outcome(outcome)) => outcome.to_string(),
            Some(other) => format!("{other:?}"),
            None => "nothing".to_owned(),
        };
        let lines = ["y\n", " YES ", "n", "d", "l", "\n", "ship_it", "blocked", "maybe", "skip"];
        assert_eq!(
            lines.map(meant),
            [
                "complete",
                "complete",
                "needs_review",
                "Diff",
                "Later",
                "Later",
                "Ship_It",
                "blocked",
                "nothing",
                "nothing"
            ]
        );
        assert_eq!(answer(&outcomes[3..], "y"), None, "a gate that decides has no yes");
        assert_eq!(question(&outcomes), "[y]es, [n]o, Ship_It, blocked, [d]iff, [l]ater? ");
    }
}
