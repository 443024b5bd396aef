//! What a run said of the work: the sources in their order, held against each other and against how the program ended.
//!
//! 1. the file that `AOF_OUTPUT` names
//! 2. an object apart from the text; else the whole last message, or the last closed block fenced as `json` in it, if it is an
//!    object with `outcome` (or with `$status`, where the gate's outputs declare it)
//! 3. the last message itself, where the gate has a `signal`: the engine reads it
//! 4. the exit status, where the gate says what it means
//!
//! The first that says something counts, and none may contradict it. A pass needs an exit status that is 0 or declared, and a
//! tool that reports no error; a verdict that sends back, blocks or fails stands whatever the exit status. What is said in passing
//! decides nothing, nor does a block that stands in the prompt as it is. One that is copied from elsewhere to the end of the last
//! message cannot be told from an answer.

#[cfg(test)]
mod tests;

use super::answers::{NO_BLOCK, in_file, in_output};
use super::question::{Question, Said, Source, Verdict};
use crate::agents::runner::output::{Exit, RunOutput, last_line, last_lines, plain, tail};
use crate::agents::runner::report::agent_report::Report;
use crate::agents::runner::report::trouble::{Trouble, TroubleKind};
use crate::domain::{Outcome, Signal, listed};
use crate::rules::verdict::{looked_for_at, outcome, read_at};

/// How many of the last lines a blocker holds.
const LINES: usize = 20;
/// How many of them are of the standard error where both have some.
const ERROR_LINES: usize = 8;
/// How long a blocker is at most, in bytes.
const BYTES: usize = 4 * 1024;
/// How much of a text the engine is given to read, in bytes; a task's body takes no more than a little above it.
const TEXT_LIMIT: usize = 60 * 1024;

/// Returns what a run said. `file` is what stands in the file that `AOF_OUTPUT` names, if it is there.
pub(crate) fn verdict(
    asked: &Question<'_>,
    report: &Report,
    printed: &RunOutput<'_>,
    file: Option<&[u8]>,
) -> Verdict {
    match heard(asked, report, printed, file) {
        Ok(Some(said)) => checked(asked, report, printed, said),
        Ok(None) => nothing(asked, report, printed, None),
        Err(why) => nothing(asked, report, printed, Some(why)),
    }
}

/// Returns what the first source says that says something, if no later one disagrees.
fn heard(
    asked: &Question<'_>,
    report: &Report,
    printed: &RunOutput<'_>,
    file: Option<&[u8]>,
) -> Result<Option<Said>, String> {
    let file = in_file(asked, file)?;
    let structured = in_output(asked, report)?.ok();
    if let (Some(one), Some(other)) = (&file, &structured)
        && one.outcome != other.outcome
    {
        return Err(disagreement(one, other.source, other.outcome.as_ref()));
    }
    let text = asked.signal.filter(|_| !report.text.trim().is_empty());
    if let Some(said) = file.or(structured) {
        // Who cannot go on has no verdict to stand by.
        let judges = !matches!(said.outcome, Some(Outcome::Blocked | Outcome::Failed));
        let read = text.filter(|_| judges).and_then(|signal| read(asked, signal, &report.text));
        return match read {
            Some(read) if said.outcome.as_ref() != Some(&read) => {
                Err(disagreement(&said, Source::Signal, Some(&read)))
            }
            _ => Ok(Some(said)),
        };
    }
    let status = declared(asked, printed.exit).filter(|_| report.trouble.is_none());
    if let Some(signal) = text {
        let read = read(asked, signal, &report.text);
        // A status that rejects needs no text; one that passes does not make up for a verdict that is missing.
        match status.filter(|outcome| read.is_none() && !asked.passes(outcome)) {
            Some(outcome) => return Ok(Some(by_status(asked, printed, outcome))),
            None => return from_text(asked, signal, report, read.as_ref()).map(Some),
        }
    }
    let status = status.filter(|outcome| asked.signal.is_none() || !asked.passes(outcome));
    Ok(status.map(|outcome| by_status(asked, printed, outcome)))
}

fn read(asked: &Question<'_>, signal: &Signal, text: &str) -> Option<Outcome> {
    outcome(signal, &asked.possible, &read_at(signal, &asked.possible, asked.outputs, text).verdict)
}

fn from_text(
    asked: &Question<'_>,
    signal: &Signal,
    report: &Report,
    whole: Option<&Outcome>,
) -> Result<Said, String> {
    let body = tail(&report.text, TEXT_LIMIT);
    // Where a text is cut, a quote may lose its beginning: what was quoted must not begin to count.
    if body.len() < report.text.len() && read(asked, signal, body).as_ref() != whole {
        return Err(format!(
            "the last message is {} KiB long, and its last {} KiB read otherwise than the whole; be brief, and end it with {}",
            report.text.len() / 1024,
            TEXT_LIMIT / 1024,
            looked_for_at(&signal.mark, &asked.possible)
        ));
    }
    Ok(Said { body: Some(body.to_owned()), ..Said::alone(Source::Signal, None) })
}

fn disagreement(one: &Said, other: Source, said: Option<&Outcome>) -> String {
    let word = |outcome: Option<&Outcome>| outcome.map_or("nothing", Outcome::as_str).to_owned();
    format!(
        "{} says `{}`, and {other} says `{}`; give one outcome, in one place",
        one.source,
        word(one.outcome.as_ref()),
        word(said)
    )
}

/// Checks what is said against how the run ended.
fn checked(asked: &Question<'_>, report: &Report, printed: &RunOutput<'_>, said: Said) -> Verdict {
    let outcome = match (&said.outcome, asked.signal, &said.body) {
        (None, Some(signal), Some(body)) => read(asked, signal, body),
        (outcome, ..) => outcome.clone(),
    };
    if outcome.as_ref().is_some_and(|outcome| !asked.passes(outcome)) {
        return Verdict::Said(Box::new(said));
    }
    let meant = declared(asked, printed.exit);
    let is_good_end = printed.exit == Exit::SUCCESS || meant.is_some();
    let Some(outcome) = outcome else {
        // A text without a verdict, as the last words of a run that came to no good end, is no review.
        return if is_good_end && report.trouble.is_none() {
            Verdict::Said(Box::new(said))
        } else {
            nothing(asked, report, printed, None)
        };
    };
    let against = match (&report.trouble, meant) {
        (Some(trouble), _) => Some(trouble.why.clone()),
        (None, _) if !is_good_end => Some(summary(asked, printed.exit)),
        (None, Some(meant)) if *meant != outcome => {
            Some(format!("{}, which means `{meant}` here", summary(asked, printed.exit)))
        }
        _ => None,
    };
    match against {
        Some(against) => Verdict::Bad {
            why: format!(
                "{} says `{outcome}`, and {against}; a pass counts only from a run that went well to its end",
                said.source
            ),
        },
        None => Verdict::Said(Box::new(said)),
    }
}

/// Returns what a run is that said nothing that counts; `why` tells what is wrong with what it said.
fn nothing(
    asked: &Question<'_>,
    report: &Report,
    printed: &RunOutput<'_>,
    why: Option<String>,
) -> Verdict {
    let trouble = report.trouble.clone().or_else(|| {
        let has_meaning = declared(asked, printed.exit).is_some();
        (printed.exit != Exit::SUCCESS && !has_meaning).then(|| crash(asked, printed))
    });
    match (trouble, why) {
        (Some(mut trouble), why) => {
            if let Some(why) = why {
                trouble.why = format!("{}; {why}", trouble.why);
            }
            Verdict::Crashed(trouble)
        }
        (None, Some(why)) => Verdict::Bad { why },
        (None, None) => Verdict::Bad { why: silence(asked, report, printed) },
    }
}

/// Says what was looked for, and what was there.
fn silence(asked: &Question<'_>, report: &Report, printed: &RunOutput<'_>) -> String {
    let instead = in_output(asked, report).ok().and_then(Result::err).unwrap_or(NO_BLOCK);
    let instead = if report.text.trim().is_empty() && report.structured.is_none() {
        "there is no last message"
    } else {
        instead
    };
    let mut places = vec![
        "the file `$AOF_OUTPUT` (it is not there, or empty)".to_owned(),
        format!("a block of JSON with `outcome` at the end of the last message ({instead})"),
    ];
    if let Some(signal) = asked.signal {
        places
            .push(format!("{} in the last message", looked_for_at(&signal.mark, &asked.possible)));
    }
    let remarks: Vec<String> = report.remarks.iter().map(|remark| format!("; {remark}")).collect();
    format!(
        "{} and did not say how the work ended: looked for a completion of its own, {}{}; `outcome` is one of {}",
        summary(asked, printed.exit),
        places.join(", "),
        remarks.concat(),
        listed(&asked.possible)
    )
}

/// Returns what the exit status means at the gate.
fn declared<'a>(asked: &Question<'a>, exit: Exit) -> Option<&'a Outcome> {
    match exit {
        Exit::Status(status) => {
            asked.exit.iter().find(|(known, _)| *known == status).map(|(_, outcome)| outcome)
        }
        Exit::Signal(_) | Exit::Unseen => None,
    }
}

/// Returns what the exit status says.
fn by_status(asked: &Question<'_>, printed: &RunOutput<'_>, outcome: &Outcome) -> Said {
    let summary = summary(asked, printed.exit);
    let mut said = Said::alone(Source::ExitStatus, Some(outcome.clone()));
    if !asked.passes(outcome) {
        let tail = last_of_both(printed);
        said.blockers = Some(vec![if tail.is_empty() { summary.clone() } else { tail }]);
    }
    said.summary = Some(summary);
    said
}

/// Returns the trouble of a program that came to no good end, with the last line that it left.
fn crash(asked: &Question<'_>, printed: &RunOutput<'_>) -> Trouble {
    let line = last_line(&plain(printed.stderr)).or_else(|| last_line(&plain(printed.stdout)));
    let line = line.map(|line| format!("; the last thing it printed: {line}")).unwrap_or_default();
    Trouble { kind: TroubleKind::Failed, why: format!("{}{line}", summary(asked, printed.exit)) }
}

fn summary(asked: &Question<'_>, exit: Exit) -> String {
    format!("`{}` {exit}", asked.program)
}

fn last_of_both(printed: &RunOutput<'_>) -> String {
    let (out, error) = (plain(printed.stdout), plain(printed.stderr));
    if out.trim().is_empty() || error.trim().is_empty() {
        return last_lines(if out.trim().is_empty() { &error } else { &out }, LINES, BYTES)
            .to_owned();
    }
    let error = last_lines(&error, ERROR_LINES, BYTES / 2);
    let out = last_lines(&out, LINES - error.lines().count(), BYTES - error.len() - 1);
    format!("{out}\n{error}")
}
