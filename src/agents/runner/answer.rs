//! Structured answers: the file that `AOF_OUTPUT` names, and a JSON object in the output.

use std::fmt;

use super::report::{Report, plain_text, shortened};
use crate::domain::{AgentId, CompletionContent, Map, Outcome, Outputs, Signal, Ticket, listed};
use crate::files::completion_file::{Answer, answer, answer_of, json_answer};
use crate::files::json::{Nul, in_whole_characters, read_printed};
use crate::files::yaml::Fault;
use crate::system::process::Secrets;
use crate::tasks::complete::mask_secrets;
use crate::tasks::headers::entry_run::STOPPED;

/// The number of faults of an answer that are shown, and the limit of their characters.
const MOST_FAULTS: usize = 5;
const LONGEST_FAULTS: usize = 800;

/// The reason, for messages, why there is no answer in the last message.
pub(crate) const NO_BLOCK: &str = "the last message has no such block";

/// Returns the answer in the file; `None` if the file is absent or empty. Fails with the faults of the answer.
pub(crate) fn in_file(
    asked: &RunQuestion<'_>,
    bytes: Option<&[u8]>,
) -> Result<Option<RunAnswer>, String> {
    let bytes = bytes.filter(|bytes| !bytes.trim_ascii().is_empty());
    let fix = "write JSON with `outcome` and `summary`";
    let read = |bytes: &[u8]| {
        // With a NUL in it, git would take the task's file for binary.
        let Ok(text) = str::from_utf8(bytes) else { return answer(bytes) };
        let text = text.replace('\0', "\u{fffd}");
        let is_json = text.trim_start().starts_with('{');
        let text =
            if is_json { in_whole_characters(&text, Nul::Replaced) } else { text.as_str().into() };
        answer(text.as_bytes())
    };
    bytes.map(|bytes| check(asked, read(bytes), AnswerSource::OutputFile, fix)).transpose()
}

/// Returns the answer in a printed object: apart from the text, as the whole last message, or as the fenced block at its end. The
/// inner error is the reason why there is none.
pub(crate) fn in_output(
    asked: &RunQuestion<'_>,
    report: &Report,
) -> Result<Result<RunAnswer, &'static str>, String> {
    match find(asked, report) {
        Ok(read) => {
            let fix = "give it `outcome` and `summary`";
            check(asked, read, AnswerSource::Structured, fix).map(Ok)
        }
        Err(instead) => Ok(Err(instead)),
    }
}

/// Compares an answer with the question. Fails with the problem and its fix.
fn check(
    asked: &RunQuestion<'_>,
    read: Result<Answer, Vec<Fault>>,
    source: AnswerSource,
    fix: &str,
) -> Result<RunAnswer, String> {
    let answer = read.map_err(|faults| {
        let one = |fault: &Fault| match &fault.help {
            Some(help) => format!("{} ({help})", fault.message),
            None => fault.message.clone(),
        };
        let mut list: Vec<String> = faults.iter().take(MOST_FAULTS).map(one).collect();
        if faults.len() > MOST_FAULTS {
            list.push(format!("and {} more", faults.len() - MOST_FAULTS));
        }
        // The faults may quote what an agent wrote.
        let faults = shortened(&plain_text(&list.join("; ")), LONGEST_FAULTS);
        format!("{source} cannot be read: {faults}; {fix}")
    })?;
    let (ticket, agent, possible) = (asked.ticket, asked.agent, listed(&asked.possible));
    if let Some(other) = answer.ticket.as_ref().filter(|other| !is_same_visit(other, ticket)) {
        return Err(format!(
            "{source} is about `{other}`, and the work is `{ticket}`; leave `task` away"
        ));
    }
    if let Some(other) = answer.agent.as_ref().filter(|other| *other != agent) {
        return Err(format!(
            "{source} is signed by `{other}`, and the work is `{agent}`'s; leave `agent` away"
        ));
    }
    // `_` stands for the only outcome of the gate.
    let outcome = match answer.word().filter(|word| *word != "_" || asked.default.is_none()) {
        Some(word) => {
            let known = asked.possible.iter().find(|outcome| outcome.is_meant_by(word));
            known.cloned().ok_or_else(|| {
                let word = word.chars().take(60).collect::<String>().escape_debug().to_string();
                format!(
                    "{source} has the outcome `{word}`, which is none here; there are {possible}"
                )
            })
        }
        None if answer.content.outcome.is_some() => Err(format!(
            "{source} has one outcome in `outcome` and another in `$status`; give one of them"
        )),
        None => asked.default.cloned().ok_or_else(|| {
            format!("{source} has no `outcome` that is a text; it is one of {possible}")
        }),
    };
    Ok(RunAnswer { source, outcome: Some(outcome?), content: answer.content })
}

/// Returns true if a ticket, which may be less precise, names the visit.
fn is_same_visit(given: &Ticket, claimed: &Ticket) -> bool {
    given.task == claimed.task
        && given.visit.is_none_or(|visit| claimed.visit == Some(visit))
        && given.branch.as_ref().is_none_or(|branch| claimed.branch.as_ref() == Some(branch))
}

/// Finds the answer in the output, unchecked. Fails with the reason if there is none.
fn find(
    asked: &RunQuestion<'_>,
    report: &Report,
) -> Result<Result<Answer, Vec<Fault>>, &'static str> {
    let has_outputs = !matches!(asked.outputs, Outputs::Open);
    let declared = asked.outputs.names();
    // If the outcome may be left out, declared outputs are an answer.
    let hands_on = |object: &Map| {
        let is_declared = object.keys().all(|key| declared.contains(&key.as_str()));
        asked.default.is_some() && !object.is_empty() && is_declared
    };
    let is_answer = |object: &Map| {
        object.contains_key("outcome")
            || has_outputs && object.contains_key("$status")
            || hands_on(object)
    };
    if let Some(object) = &report.structured {
        let read = is_answer(object).then(|| answer_of(object.clone()));
        return read.ok_or("the JSON object that was printed has no `outcome`");
    }
    let text = report.text.trim();
    if read_printed::<Map>(text).is_ok_and(|object| is_answer(&object)) {
        return Ok(json_answer(text));
    }
    let block = match last_json(&report.text) {
        Fenced::Nothing => return Err(NO_BLOCK),
        Fenced::Open => return Err("its last block of JSON has no end"),
        Fenced::Block(block) => block.trim(),
    };
    match read_printed::<Map>(block) {
        Ok(object) if !is_answer(&object) => Err("its last block of JSON has no `outcome`"),
        Ok(_) if asked.prompt.contains(block) => {
            Err("its last block of JSON stands in the prompt just as it is")
        }
        Ok(_) => Ok(json_answer(block)),
        Err(_) => Err("its last block of JSON is not one object that can be read"),
    }
}

/// The fenced block of JSON at the end of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fenced<'t> {
    /// The message has no fenced block.
    Nothing,
    /// The block has no end.
    Open,
    /// The content of the block.
    Block(&'t str),
}

struct OpenFence {
    sign: u8,
    length: usize,
    is_json: bool,
    from: usize,
}

/// Returns the block fenced as `json` at the end of a message; only blank lines may follow it. A block inside another block, in a quote
/// or indented by four is an example, and does not count.
fn last_json(text: &str) -> Fenced<'_> {
    let mut found = Fenced::Nothing;
    let mut open: Option<OpenFence> = None;
    let mut start = 0;
    for whole in text.split_inclusive('\n') {
        let end = start + whole.len();
        let line = whole.trim_end();
        let rest = line.trim_start_matches(' ');
        let is_shallow = line.len() - rest.len() < 4;
        match &open {
            Some(fence) if is_shallow && closes(rest, fence) => {
                if fence.is_json {
                    found = Fenced::Block(&text[fence.from..start]);
                }
                open = None;
            }
            None if is_shallow && !rest.is_empty() => {
                open = opens(rest, end);
                // Text after a block may revoke it.
                found = Fenced::Nothing;
            }
            None if !rest.is_empty() => found = Fenced::Nothing,
            _ => {}
        }
        start = end;
    }
    if open.is_some_and(|fence| fence.is_json) { Fenced::Open } else { found }
}

fn opens(rest: &str, from: usize) -> Option<OpenFence> {
    let sign = *rest.as_bytes().first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = rest.bytes().take_while(|byte| *byte == sign).count();
    let word = rest[length..].trim();
    let is_fence = length >= 3 && (sign == b'~' || !word.contains('`'));
    is_fence.then(|| OpenFence { sign, length, is_json: word.eq_ignore_ascii_case("json"), from })
}

fn closes(rest: &str, fence: &OpenFence) -> bool {
    let length = rest.bytes().take_while(|byte| *byte == fence.sign).count();
    length >= fence.length && rest[length..].is_empty()
}

/// The question to an agent, with the possible answers.
#[derive(Debug, Clone)]
pub(crate) struct RunQuestion<'a> {
    pub ticket: &'a Ticket,
    pub agent: &'a AgentId,
    /// The outcomes of the gate or branch.
    pub possible: Vec<Outcome>,
    /// The gate's decisions that send the task back: they count with any exit status.
    pub back: Vec<Outcome>,
    /// The outcome of an answer that names none; only if the gate neither rejects nor decides.
    pub default: Option<&'a Outcome>,
    /// The position of the verdict in a text.
    pub signal: Option<&'a Signal>,
    pub outputs: &'a Outputs,
    /// The outcomes of exit statuses.
    pub exit: &'a [(u8, Outcome)],
    /// The program's name for sentences: `cargo test`.
    pub program: String,
    /// The prompt: a block of JSON copied from it is not the agent's answer.
    pub prompt: String,
}

impl RunQuestion<'_> {
    /// Returns true if the outcome passes the gate: only a successful run may pass.
    pub(crate) fn passes(&self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::NeedsReview | Outcome::Blocked | Outcome::Failed => false,
            Outcome::Complete | Outcome::Skip => true,
            Outcome::Decision(_) => !self.back.contains(outcome),
        }
    }
}

/// The answer of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunAnswer {
    /// The place where the answer was found.
    pub source: AnswerSource,
    /// The outcome; `None` if the engine reads it from the body.
    pub outcome: Option<Outcome>,
    /// The other content of the answer.
    pub content: CompletionContent,
}

impl RunAnswer {
    /// Returns the answer with every secret masked.
    pub(crate) fn masked(mut self, secrets: &Secrets) -> Self {
        mask_secrets(secrets, &mut self.content);
        self
    }
}

/// The source of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerSource {
    /// The file that `AOF_OUTPUT` names.
    OutputFile,
    /// A JSON object in the output.
    Structured,
    /// The last message, for a gate's signal.
    Signal,
    ExitStatus,
    /// The failure of all attempts.
    Attempts,
    /// The end of the task's budget.
    Budget,
}

impl AnswerSource {
    /// Returns the source's word in records, and its name in sentences.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::OutputFile => ("file", "the file `$AOF_OUTPUT`"),
            Self::Structured => ("structured", "the JSON object that was printed"),
            Self::Signal => ("signal", "the last message"),
            Self::ExitStatus => ("exit", "the exit status"),
            Self::Attempts => ("attempts", "what came of all attempts"),
            Self::Budget => (STOPPED, "the budget"),
        }
    }

    /// Returns the source's word in records.
    pub(crate) fn word(self) -> &'static str {
        self.names().0
    }
}

impl fmt::Display for AnswerSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.names().1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_at_the_end_counts() {
        for (text, found) in [
            ("", Fenced::Nothing),
            ("```json\n{\"a\": 1}\n```", Fenced::Block("{\"a\": 1}\n")),
            ("```json\n1\n```\ntext\n~~~ JSON \r\n2\r\n~~~\r\n \n", Fenced::Block("2\r\n")),
            ("```json\n1\n```\n\nNo, that is wrong.\n", Fenced::Nothing),
            ("```json\n1\n```\n```\n2\n```\n", Fenced::Nothing),
            ("```json\n1\n```\n```json\n2", Fenced::Open),
            ("```json\n1\n~~~\n```\n", Fenced::Block("1\n~~~\n")),
            ("````markdown\n```json\n1\n```\n````\n", Fenced::Nothing),
            ("````\n```json\n1\n```\n", Fenced::Nothing),
            ("> ```json\n> 1\n> ```\n", Fenced::Nothing),
            ("    ```json\n    1\n    ```\n", Fenced::Nothing),
            ("text ```json\n1\n```\n", Fenced::Nothing),
            ("```jsonc\n1\n```\n", Fenced::Nothing),
            ("```json `x`\n1\n```\n", Fenced::Nothing),
        ] {
            assert_eq!(last_json(text), found, "{text:?}");
        }
    }
}
