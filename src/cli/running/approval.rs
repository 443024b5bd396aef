//! A gate for people, asked at the terminal: yes, no with what has to be mended, the diff, or later. What is said becomes a
//! completion like any other.

use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::cli::output::{BOLD, CYAN, DIM, Output, YELLOW, styled};
use crate::cli::session::now;
use crate::format::plain::{inert, one_line};
use crate::model::{AgentId, Completion, Map, Outcome};
use crate::runner::Asked;
use crate::store::random::DeliveryId;

/// How often is looked whether somebody wants to stop, rather than to answer.
const TICK: Duration = Duration::from_millis(50);

/// What somebody said at the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    Outcome(Outcome),
    Diff,
    Later,
}

/// Asks the person; nothing when it is not theirs to say, or not now.
pub(super) fn ask(
    output: Output,
    person: &AgentId,
    project: &Path,
    asked: &Asked<'_>,
    stop: &AtomicBool,
) -> Option<Completion> {
    let opening = asked.opening;
    if !opening.agents.contains(person) {
        return None;
    }
    let task = &asked.file.task;
    output.say(format!("\n{} {}", styled(CYAN, &opening.ticket), styled(BOLD, one_line(&task.title))));
    output.say(format!("  {}: {}", opening.station, one_line(&asked.context.role)));
    for expected in &asked.context.expectations {
        output.say(format!("  - {}", one_line(expected)));
    }
    if let Some(last) = task.history.last() {
        let who = last.agent.as_ref().map(|agent| format!(" by {agent}")).unwrap_or_default();
        let said = one_line(&last.summary);
        output.say(styled(DIM, format!("  before: {} ({}){who}: {said}", last.station(), last.outcome)));
    }
    let outcomes: Vec<Outcome> = asked.context.outcomes.iter().map(|(outcome, _)| outcome.clone()).collect();
    loop {
        let line = prompt(&question(&outcomes), stop)?;
        match answer(&outcomes, &line) {
            Some(Answer::Later) => return None,
            Some(Answer::Diff) => show_diff(output, project, &task.created.to_string()),
            Some(Answer::Outcome(outcome)) => return completion(output, person, asked, &outcome, stop),
            None => output.say(format!("`{}` is none of these", inert(line.trim()))),
        }
    }
}

fn question(outcomes: &[Outcome]) -> String {
    let mut ways = Vec::new();
    if outcomes.contains(&Outcome::Complete) {
        ways.push("[y]es".to_owned());
    }
    if outcomes.contains(&Outcome::NeedsReview) {
        ways.push("[n]o".to_owned());
    }
    ways.extend(outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Decision(_))).map(ToString::to_string));
    ways.push("blocked".to_owned());
    format!("{}, [d]iff, [l]ater? ", ways.join(", "))
}

fn answer(outcomes: &[Outcome], line: &str) -> Option<Answer> {
    let word = line.trim().to_lowercase();
    let meant = |outcome: Outcome| outcomes.contains(&outcome).then_some(Answer::Outcome(outcome));
    match word.as_str() {
        "y" | "yes" => meant(Outcome::Complete),
        "n" | "no" => meant(Outcome::NeedsReview),
        "d" | "diff" => Some(Answer::Diff),
        "l" | "later" | "" => Some(Answer::Later),
        word => outcomes.iter().find(|outcome| outcome.is_meant_by(word)).cloned().map(Answer::Outcome),
    }
}

fn completion(
    output: Output,
    person: &AgentId,
    asked: &Asked<'_>,
    outcome: &Outcome,
    stop: &AtomicBool,
) -> Option<Completion> {
    let mut blockers = Vec::new();
    if matches!(outcome, Outcome::NeedsReview | Outcome::Blocked) {
        output.say("What has to be mended, or is waited for? A line for each; an empty line ends.");
        loop {
            let line = prompt("- ", stop)?;
            match line.trim() {
                "" if blockers.is_empty() => output.say(format!("{} it needs at least one", styled(YELLOW, "note:"))),
                "" => break,
                blocker => blockers.push(blocker.to_owned()),
            }
        }
    }
    let usual = match (outcome, blockers.first()) {
        (_, Some(blocker)) => blocker.clone(),
        (Outcome::Complete, None) => "Approved".to_owned(),
        (outcome, None) => format!("Decided: {outcome}"),
    };
    let summary = prompt(&format!("A word on it ({}): ", one_line(&usual)), stop)?;
    let summary = if summary.trim().is_empty() { usual } else { summary.trim().to_owned() };
    let id = DeliveryId::new(now()).ok()?.completion();
    Some(Completion {
        ticket: asked.opening.ticket.clone(),
        agent: person.clone(),
        outcome: Some(outcome.to_string()),
        summary: Some(summary),
        blockers: (!blockers.is_empty()).then_some(blockers),
        rejection_notes: None,
        outputs: Map::new(),
        metadata: Map::new(),
        body: None,
        id,
    })
}

/// Returns what was typed; nothing when the input has ended, or somebody wants to stop.
fn prompt(text: &str, stop: &AtomicBool) -> Option<String> {
    let mut stderr = anstream::stderr();
    let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
    let (tell, heard) = mpsc::channel();
    // No signal ends the wait for a line. Whoever stops leaves this one waiting, and the program ends soon.
    thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line).unwrap_or(0);
        drop(tell.send((read > 0).then_some(line)));
    });
    loop {
        match heard.recv_timeout(TICK) {
            Ok(line) => return line,
            Err(RecvTimeoutError::Timeout) if !stop.load(Ordering::Relaxed) => {}
            Err(_) => return None,
        }
    }
}

/// Shows what changed since the task was made, task files aside, as git shows it.
fn show_diff(output: Output, project: &Path, since: &str) {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(project).args(arguments);
        command
    };
    let before = git(&["rev-list", "-1", &format!("--before={since}"), "HEAD"]).output();
    let before = before.ok().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let base = before.filter(|base| !base.is_empty()).unwrap_or_else(|| "HEAD".to_owned());
    for arguments in [&["diff", base.as_str(), "--", ".", ":(exclude)tasks"][..], &["status", "--short"]] {
        match git(arguments).status() {
            Ok(status) if status.success() => {}
            Ok(status) => output.say(format!("`git {}` ended with {status}", arguments[0])),
            Err(cause) => output.say(format!("`git` cannot be started: {cause}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_letter_or_a_word() {
        let outcomes: Vec<Outcome> =
            ["complete", "needs_review", "blocked", "Ship_It"].map(|word| word.parse().unwrap()).into();
        let meant = |line: &str| match answer(&outcomes, line) {
            Some(Answer::Outcome(outcome)) => outcome.to_string(),
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
