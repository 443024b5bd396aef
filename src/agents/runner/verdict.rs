//! The verdict of a run: its sources in their order, compared with each other and with the end of the program.
//!
//! 1. the file that `AOF_OUTPUT` names
//! 2. an object apart from the text; otherwise the whole last message, or the last closed block fenced as `json` in it, if it is an
//!    object with `outcome` (or with `$status`, if the gate's outputs declare it)
//! 3. the last message itself, if the gate has a `signal`: the engine reads it
//! 4. the exit status, if the gate declares its meaning
//!
//! The first source with an answer counts, and no other may contradict it. A pass needs an exit status that is 0 or declared, and a
//! tool that reports no error; a verdict that sends back, blocks or fails counts with any exit status. Remarks elsewhere decide
//! nothing, nor does a block that is copied from the prompt. A block that is copied from elsewhere to the end of the last message
//! cannot be distinguished from an answer.

use super::answer::{AnswerSource, NO_BLOCK, RunAnswer, RunQuestion, in_file, in_output};
use super::report::{
    Exit, Report, RunOutput, Trouble, TroubleKind, last_line, last_lines, plain, shortened, tail,
};
use crate::domain::{CompletionContent, Outcome, Signal, listed};
use crate::files::completion_file::front_of;
use crate::rules::verdict::{looked_for_at, outcome, read_at};

#[cfg(test)]
mod tests;

/// The number of the last lines that a blocker holds.
const BLOCKER_LINES: usize = 20;
/// The number of these lines that are from the standard error if both streams have some.
const ERROR_LINES: usize = 8;
/// The largest size of a blocker in bytes.
const BLOCKER_BYTES: usize = 4 * 1024;
/// The number of characters of a result that become its summary.
const SUMMARY_LENGTH: usize = 200;
/// The number of bytes of a text that the engine reads; the limit of a task's body is little more.
const TEXT_LIMIT: usize = 60 * 1024;

/// Returns the answer of a run. `file` is the content of the file that `AOF_OUTPUT` names, if it is there.
pub(crate) fn verdict(
    asked: &RunQuestion<'_>,
    report: &Report,
    output: &RunOutput<'_>,
    file: Option<&[u8]>,
) -> Result<RunAnswer, Trouble> {
    let declared = |status| asked.exit.iter().find(|(known, _)| *known == status);
    let exit_outcome = match output.exit {
        Exit::Status(status) => declared(status).map(|(_, outcome)| outcome),
        Exit::Signal(_) | Exit::Unseen => None,
    };
    let summary = format!("`{}` {}", asked.program, output.exit);
    let run = EndedRun { asked, report, output, exit_outcome, summary };
    match run.first_answer(file) {
        Ok(Some(answer)) => run.check(answer),
        Ok(None) => Err(run.trouble(None)),
        Err(why) => Err(run.trouble(Some(why))),
    }
}

/// An ended run and its output.
struct EndedRun<'a> {
    asked: &'a RunQuestion<'a>,
    report: &'a Report,
    output: &'a RunOutput<'a>,
    /// The outcome that the gate declares for the exit status.
    exit_outcome: Option<&'a Outcome>,
    /// The end of the program, in a sentence.
    summary: String,
}

impl EndedRun<'_> {
    /// Returns the answer of the first source that has one. Fails if a later source contradicts it.
    fn first_answer(&self, file: Option<&[u8]>) -> Result<Option<RunAnswer>, String> {
        let Self { asked, report, .. } = self;
        let file = in_file(asked, file)?;
        let structured = in_output(asked, report)?.ok();
        if let (Some(one), Some(other)) = (&file, &structured)
            && one.outcome != other.outcome
        {
            return Err(disagreement(one, other.source, other.outcome.as_ref()));
        }
        let signal = asked.signal.filter(|_| !report.text.trim().is_empty());
        let in_text = signal.and_then(|signal| self.read(signal, &report.text));
        if let Some(answer) = file.or(structured) {
            // `blocked` and `failed` do not judge the work: a text does not contradict them.
            let judges = !matches!(answer.outcome, Some(Outcome::Blocked | Outcome::Failed));
            return match &in_text {
                Some(other) if judges && answer.outcome.as_ref() != Some(other) => {
                    Err(disagreement(&answer, AnswerSource::Signal, Some(other)))
                }
                _ => Ok(Some(answer)),
            };
        }
        let by_status = self.exit_outcome.filter(|_| report.trouble.is_none());
        // If a text decides, an exit status may reject, but a pass needs the text's verdict.
        let by_status =
            by_status.filter(|outcome| asked.signal.is_none() || !asked.passes(outcome));
        match signal.filter(|_| by_status.is_none() || in_text.is_some()) {
            Some(signal) => self.answer_of_text(signal, in_text.as_ref()).map(Some),
            None => Ok(by_status.map(|outcome| self.answer_of_status(outcome))),
        }
    }

    fn read(&self, signal: &Signal, text: &str) -> Option<Outcome> {
        let possible = &self.asked.possible;
        let fields = front_of(text);
        let reading = read_at(signal, possible, self.asked.outputs, text, fields.as_ref());
        outcome(signal, possible, &reading.verdict)
    }

    /// Returns the text as the answer, which the engine reads. `whole` is the outcome of the whole text.
    fn answer_of_text(
        &self,
        signal: &Signal,
        whole: Option<&Outcome>,
    ) -> Result<RunAnswer, String> {
        let text = &self.report.text;
        let body = tail(text, TEXT_LIMIT);
        // A cut may remove the beginning of a quote, so that quoted words would count.
        if body.len() < text.len() && self.read(signal, body).as_ref() != whole {
            return Err(format!(
                "the last message is {} KiB long, and its last {} KiB read otherwise than the whole; be brief, and end it with {}",
                text.len() / 1024,
                TEXT_LIMIT / 1024,
                looked_for_at(&signal.mark, &self.asked.possible)
            ));
        }
        let (body, fields) = (Some(body.to_owned()), front_of(body).map(Box::new));
        let content = CompletionContent { body, fields, ..CompletionContent::default() };
        Ok(RunAnswer { source: AnswerSource::Signal, outcome: None, content })
    }

    /// Returns the answer of the exit status. If it does not pass, the last printed lines are its blocker. If all declared statuses
    /// pass, the last message is the result.
    fn answer_of_status(&self, outcome: &Outcome) -> RunAnswer {
        let text = tail(self.report.text.trim(), TEXT_LIMIT);
        let only_passes = self.asked.exit.iter().all(|(_, outcome)| self.asked.passes(outcome));
        if only_passes && !text.is_empty() {
            let fields = front_of(text).map(Box::new);
            let rest = &text[fields.as_ref().map_or(0, |front| front.length)..];
            let line = rest.lines().find(|line| !line.trim().is_empty());
            let summary =
                line.map_or_else(|| self.summary.clone(), |line| shortened(line, SUMMARY_LENGTH));
            let (summary, body) = (Some(summary), Some(text.to_owned()));
            let content =
                CompletionContent { summary, body, fields, ..CompletionContent::default() };
            return RunAnswer {
                source: AnswerSource::ExitStatus,
                outcome: Some(outcome.clone()),
                content,
            };
        }
        let summary = self.summary.clone();
        let blocker = || match last_of_both(self.output) {
            lines if lines.is_empty() => summary.clone(),
            lines => lines,
        };
        let blockers = (!self.asked.passes(outcome)).then(|| vec![blocker()]);
        let content =
            CompletionContent { summary: Some(summary), blockers, ..CompletionContent::default() };
        RunAnswer { source: AnswerSource::ExitStatus, outcome: Some(outcome.clone()), content }
    }

    /// Compares the answer with the end of the run.
    fn check(&self, answer: RunAnswer) -> Result<RunAnswer, Trouble> {
        let outcome = match (&answer.outcome, self.asked.signal, &answer.content.body) {
            (None, Some(signal), Some(body)) => self.read(signal, body),
            (outcome, ..) => outcome.clone(),
        };
        if outcome.as_ref().is_some_and(|outcome| !self.asked.passes(outcome)) {
            return Ok(answer);
        }
        let ended_well = self.output.exit == Exit::SUCCESS || self.exit_outcome.is_some();
        let against = match (&self.report.trouble, self.exit_outcome, &outcome) {
            (Some(trouble), ..) => trouble.why.clone(),
            _ if !ended_well => self.summary.clone(),
            (None, Some(meant), Some(outcome)) if meant != outcome => {
                format!("{}, which means `{meant}` here", self.summary)
            }
            _ => return Ok(answer),
        };
        // The last words of a failed run count only with a verdict.
        let Some(outcome) = outcome else { return Err(self.trouble(None)) };
        let why = format!(
            "{} says `{outcome}`, and {against}; a pass counts only from a run that went well to its end",
            answer.source
        );
        Err(Trouble { kind: TroubleKind::BadAnswer, why, limit: None })
    }

    /// Returns the reason why the run has no answer that counts. `why` is the fault of the answer that it gave.
    fn trouble(&self, why: Option<String>) -> Trouble {
        let crashed = self.output.exit != Exit::SUCCESS && self.exit_outcome.is_none();
        let trouble = self.report.trouble.clone().or_else(|| crashed.then(|| self.crash()));
        match (trouble, why) {
            (Some(trouble), None) => trouble,
            (Some(Trouble { kind, why, .. }), Some(more)) => {
                Trouble { kind, why: format!("{why}; {more}"), limit: None }
            }
            (None, why) => {
                let why = why.unwrap_or_else(|| self.describe_silence());
                Trouble { kind: TroubleKind::BadAnswer, why, limit: None }
            }
        }
    }

    /// Describes where an answer was searched, and what was found instead.
    fn describe_silence(&self) -> String {
        let Self { asked, report, .. } = self;
        let instead = match in_output(asked, report) {
            _ if report.text.trim().is_empty() && report.structured.is_none() => {
                "there is no last message"
            }
            Ok(Err(instead)) => instead,
            _ => NO_BLOCK,
        };
        let signal = asked.signal.map(|signal| {
            format!(", {} in the last message", looked_for_at(&signal.mark, &asked.possible))
        });
        let remarks = report.remarks.iter().chain(&report.unread);
        let remarks = remarks.fold(String::new(), |all, text| all + "; " + text);
        format!(
            "{} and did not say how the work ended: looked for a completion of its own, the file `$AOF_OUTPUT` (it is not there, or \
             empty), a block of JSON with `outcome` at the end of the last message ({instead}){}{remarks}; `outcome` is one of {}",
            self.summary,
            signal.unwrap_or_default(),
            listed(&asked.possible)
        )
    }

    /// Returns the trouble of a failed program, with its last printed line.
    fn crash(&self) -> Trouble {
        let line = last_line(&plain(self.output.stderr));
        let line = line.or_else(|| last_line(&plain(self.output.stdout)));
        let line = line.map(|line| format!("; the last thing it printed: {line}"));
        let why = format!("{}{}", self.summary, line.unwrap_or_default());
        Trouble { kind: TroubleKind::Failed, why, limit: None }
    }
}

fn disagreement(one: &RunAnswer, other: AnswerSource, stated: Option<&Outcome>) -> String {
    let word = |outcome: Option<&Outcome>| outcome.map_or("nothing", Outcome::as_str).to_owned();
    format!(
        "{} says `{}`, and {other} says `{}`; give one outcome, in one place",
        one.source,
        word(one.outcome.as_ref()),
        word(stated)
    )
}

fn last_of_both(output: &RunOutput<'_>) -> String {
    let (out, error) = (plain(output.stdout), plain(output.stderr));
    if out.trim().is_empty() || error.trim().is_empty() {
        return last_lines(
            if out.trim().is_empty() { &error } else { &out },
            BLOCKER_LINES,
            BLOCKER_BYTES,
        )
        .to_owned();
    }
    let error = last_lines(&error, ERROR_LINES, BLOCKER_BYTES / 2);
    let out =
        last_lines(&out, BLOCKER_LINES - error.lines().count(), BLOCKER_BYTES - error.len() - 1);
    format!("{out}\n{error}")
}
