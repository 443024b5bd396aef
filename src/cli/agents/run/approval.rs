//! A gate for people, asked at the terminal: yes, no with what has to be mended, the diff, or later. What is said becomes a
//! completion like any other.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::changes;
use super::prompt::prompt;
use crate::agents::runner::{Asked, Refused};
use crate::cli::input::arguments::value_of;
use crate::cli::render::output::{BOLD, CYAN, DIM, Output, RED, YELLOW, styled};
use crate::cli::session::now;
use crate::domain::{AgentId, Completion, Map, Outcome};
use crate::files::printable::{inert, one_line};
use crate::storage::random::ulid;

/// What somebody said at the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    Outcome(Outcome),
    Diff,
    Later,
}

/// Asks the person; nothing when it is not theirs to say, or not now.
pub(crate) fn ask(
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
    match asked.refused {
        Some(refused) => tell_refused(output, refused),
        None => tell_subject(output, asked),
    }
    let outcomes: Vec<Outcome> =
        asked.context.outcomes.iter().map(|(outcome, _)| outcome.clone()).collect();
    loop {
        let line = prompt(output, &question(&outcomes), stop)?;
        match answer(&outcomes, &line) {
            Some(Answer::Later) => return None,
            Some(Answer::Diff) => changes::show(output, project, asked.path),
            Some(Answer::Outcome(outcome)) => {
                return completion(output, person, asked, &outcome, stop);
            }
            None => output.say(format!("`{}` is none of these", inert(&line))),
        }
    }
}

fn tell_refused(output: Output, refused: &Refused) {
    output.say(format!("{} {}", styled(RED, "refused:"), inert(&refused.why)));
    output.say(format!("{} {}", styled(BOLD, "hint:"), inert(&refused.fix)));
}

fn tell_subject(output: Output, asked: &Asked<'_>) {
    let (task, opening) = (&asked.file.task, asked.opening);
    output.say(format!(
        "\n{} {}",
        styled(CYAN, &opening.ticket),
        styled(BOLD, one_line(&task.title))
    ));
    output.say(format!("  {}: {}", opening.station, one_line(&asked.context.role)));
    for expected in &asked.context.expectations {
        output.say(format!("  - {}", one_line(expected)));
    }
    if let Some(last) = task.history.last() {
        let who = last.agent.as_ref().map(|agent| format!(" by {agent}")).unwrap_or_default();
        let said = one_line(&last.summary);
        output.say(styled(
            DIM,
            format!("  before: {} ({}){who}: {said}", last.station(), last.outcome),
        ));
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
    ways.extend(
        outcomes
            .iter()
            .filter(|outcome| matches!(outcome, Outcome::Decision(_)))
            .map(ToString::to_string),
    );
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
        word => {
            outcomes.iter().find(|outcome| outcome.is_meant_by(word)).cloned().map(Answer::Outcome)
        }
    }
}

fn completion(
    output: Output,
    person: &AgentId,
    asked: &Asked<'_>,
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
    let usual = match (before.and_then(|before| before.summary.clone()), outcome, blockers.first())
    {
        (Some(before), ..) => before,
        (_, _, Some(blocker)) => blocker.clone(),
        (_, Outcome::Complete, None) => "Approved".to_owned(),
        (_, outcome, None) => format!("Decided: {outcome}"),
    };
    let summary = prompt(output, &format!("A word on it ({}): ", one_line(&usual)), stop)?;
    let summary = if summary.is_empty() { usual } else { summary };
    let id = ulid(now()).ok()?;
    Some(Completion {
        ticket: asked.opening.ticket.clone(),
        agent: person.clone(),
        outcome: Some(outcome.to_string()),
        summary: Some(summary),
        blockers: (!blockers.is_empty()).then_some(blockers),
        rejection_notes: None,
        outputs,
        metadata: Map::new(),
        body: None,
        id,
        signature: None,
    })
}

/// Returns what is to be mended or waited for; nothing when that is left for later.
fn blockers(output: Output, before: Vec<String>, stop: &AtomicBool) -> Option<Vec<String>> {
    output
        .say("What has to be mended, or is waited for? A line for each; an empty line ends, `l` leaves it for later.");
    if !before.is_empty() {
        output.say(format!("An empty line now keeps: {}", one_line(&before.join("; "))));
    }
    let mut blockers = Vec::new();
    loop {
        let line = prompt(output, "- ", stop)?;
        match line.as_str() {
            "" if !blockers.is_empty() => return Some(blockers),
            "" if !before.is_empty() => return Some(before),
            "" => output.say(format!(
                "{} it needs at least one; `l` leaves it for later",
                styled(YELLOW, "note:")
            )),
            line if is_later(line) => return None,
            line => blockers.push(line.to_owned()),
        }
    }
}

/// Returns what the gate wants to be handed on with the outcome; nothing when that is left for later.
fn outputs(
    output: Output,
    asked: &Asked<'_>,
    outcome: &Outcome,
    before: Option<&Map>,
    stop: &AtomicBool,
) -> Option<Map> {
    let mut outputs = Map::new();
    let form = asked.context.outputs.iter().find(|form| form.outcome == *outcome);
    let fields = form.map(|form| form.fields.as_slice()).unwrap_or_default();
    for field in fields.iter().filter(|field| field.required && !field.name.contains(['.', '['])) {
        let about = field
            .description
            .as_ref()
            .map(|text| format!("; {}", one_line(text)))
            .unwrap_or_default();
        let kept = before.and_then(|before| before.get(&field.name));
        let usual = kept
            .map(|value| format!("; an empty line keeps {}", one_line(&value.to_string())))
            .unwrap_or_default();
        let question =
            format!("{} ({}{about}{usual}): ", one_line(&field.name), one_line(&field.form));
        let value = loop {
            let line = prompt(output, &question, stop)?;
            match (line.as_str(), kept) {
                ("", Some(value)) => break value.clone(),
                ("", None) => {
                    output.say(format!(
                        "{} the gate needs it; `l` leaves it for later",
                        styled(YELLOW, "note:")
                    ));
                }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_letter_or_a_word() {
        let outcomes: Vec<Outcome> = ["complete", "needs_review", "blocked", "Ship_It"]
            .map(|word| word.parse().unwrap())
            .into();
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
