//! The answers that are data: the file that `AOF_OUTPUT` names, and a JSON object in what was printed.

use std::fmt;

use super::report::{Report, plain_text, shortened};
use crate::domain::{AgentId, Map, Outcome, Outputs, Signal, Ticket, listed};
use crate::files::completion_file::{Answer, answer, answer_of, json_answer};
use crate::files::json::read;
use crate::files::yaml::Fault;

/// How many faults of an answer are shown, and how many characters of them.
const FAULTS: usize = 5;
const LONGEST: usize = 800;

/// What stands in place of an answer, for messages.
pub(crate) const NO_BLOCK: &str = "the last message has no such block";

/// Returns the answer in the file; nothing for an empty file. Fails with what is wrong with it.
pub(crate) fn in_file(
    asked: &RunQuestion<'_>,
    bytes: Option<&[u8]>,
) -> Result<Option<RunAnswer>, String> {
    let bytes = bytes.filter(|bytes| !bytes.trim_ascii().is_empty());
    let fix = "write JSON with `outcome` and `summary`";
    bytes.map(|bytes| checked(asked, answer(bytes), AnswerSource::OutputFile, fix)).transpose()
}

/// Returns the answer in an object that was printed: apart from the text, as the whole last message, or as the fenced block that
/// ends it. The inner error says what stands in its place.
pub(crate) fn in_output(
    asked: &RunQuestion<'_>,
    report: &Report,
) -> Result<Result<RunAnswer, &'static str>, String> {
    match found(asked, report) {
        Ok(read) => {
            let fix = "give it `outcome` and `summary`";
            checked(asked, read, AnswerSource::Structured, fix).map(Ok)
        }
        Err(instead) => Ok(Err(instead)),
    }
}

/// Compares an answer with the question. Fails with what is wrong, and its fix.
fn checked(
    asked: &RunQuestion<'_>,
    read: Result<Answer, Vec<Fault>>,
    source: AnswerSource,
    fix: &str,
) -> Result<RunAnswer, String> {
    let fields = read.map_err(|faults| {
        let one = |fault: &Fault| match &fault.help {
            Some(help) => format!("{} ({help})", fault.message),
            None => fault.message.clone(),
        };
        let mut list: Vec<String> = faults.iter().take(FAULTS).map(one).collect();
        if faults.len() > FAULTS {
            list.push(format!("and {} more", faults.len() - FAULTS));
        }
        // The faults may quote what an agent wrote.
        let faults = shortened(&plain_text(&list.join("; ")), LONGEST);
        format!("{source} cannot be read: {faults}; {fix}")
    })?;
    let (ticket, agent, possible) = (asked.ticket, asked.agent, listed(&asked.possible));
    if let Some(other) = fields.ticket.as_ref().filter(|other| !means(other, ticket)) {
        return Err(format!(
            "{source} is about `{other}`, and the work is `{ticket}`; leave `task` away"
        ));
    }
    if let Some(other) = fields.agent.as_ref().filter(|other| *other != agent) {
        return Err(format!(
            "{source} is signed by `{other}`, and the work is `{agent}`'s; leave `agent` away"
        ));
    }
    // `_` stands for the only way out there is.
    let outcome = match fields.word().filter(|word| *word != "_" || asked.unsaid.is_none()) {
        Some(word) => {
            let known = asked.possible.iter().find(|outcome| outcome.is_meant_by(word));
            known.cloned().ok_or_else(|| {
                let word = word.chars().take(60).collect::<String>().escape_debug().to_string();
                format!(
                    "{source} has the outcome `{word}`, which is none here; there are {possible}"
                )
            })
        }
        None if fields.outcome.is_some() => Err(format!(
            "{source} has one outcome in `outcome` and another in `$status`; give one of them"
        )),
        None => asked.unsaid.cloned().ok_or_else(|| {
            format!("{source} has no `outcome` that is a text; it is one of {possible}")
        }),
    };
    Ok(RunAnswer { source, outcome: Some(outcome?), fields })
}

/// Returns whether a ticket, which may say less, means the visit.
fn means(said: &Ticket, own: &Ticket) -> bool {
    said.task == own.task
        && said.visit.is_none_or(|visit| own.visit == Some(visit))
        && said.branch.as_ref().is_none_or(|branch| own.branch.as_ref() == Some(branch))
}

fn found(
    asked: &RunQuestion<'_>,
    report: &Report,
) -> Result<Result<Answer, Vec<Fault>>, &'static str> {
    let has_variants = matches!(asked.outputs, Outputs::Variants(_));
    let answers = |object: &Map| {
        object.contains_key("outcome") || has_variants && object.contains_key("$status")
    };
    if let Some(object) = &report.structured {
        let read = answers(object).then(|| answer_of(object.clone()));
        return read.ok_or("the JSON object that was printed has no `outcome`");
    }
    let text = report.text.trim();
    if read::<Map>(text).is_ok_and(|object| answers(&object)) {
        return Ok(json_answer(text));
    }
    let block = match last_json(&report.text) {
        Fenced::Nothing => return Err(NO_BLOCK),
        Fenced::Open => return Err("its last block of JSON has no end"),
        Fenced::Block(block) => block.trim(),
    };
    match read::<Map>(block) {
        Ok(object) if !answers(&object) => Err("its last block of JSON has no `outcome`"),
        Ok(_) if asked.prompt.contains(block) => {
            Err("its last block of JSON stands in the prompt just as it is")
        }
        Ok(_) => Ok(json_answer(block)),
        Err(_) => Err("its last block of JSON is not one object that can be read"),
    }
}

/// What a message ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fenced<'t> {
    /// There is no such block.
    Nothing,
    /// The last one has no end.
    Open,
    /// What stands in the last one.
    Block(&'t str),
}

struct OpenFence {
    sign: u8,
    length: usize,
    is_json: bool,
    from: usize,
}

/// Returns the block fenced as `json` that a message ends with: nothing but blank lines stands behind it. A block inside another
/// block, a quote or deep indentation is an example, and a block without an end is half of one: neither counts.
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
                // What comes behind it may take it back.
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

/// What a run was asked, and how it can say it.
#[derive(Debug, Clone)]
pub(crate) struct RunQuestion<'a> {
    /// The visit that it works at.
    pub ticket: &'a Ticket,
    /// Who works.
    pub agent: &'a AgentId,
    /// The outcomes that the gate or the branch has.
    pub possible: Vec<Outcome>,
    /// Those of the gate's own outcomes that send the task back: they need no success to stand.
    pub back: Vec<Outcome>,
    /// What an answer without an outcome means; only where the gate neither rejects nor decides.
    pub unsaid: Option<&'a Outcome>,
    /// Where the verdict is read from in a text.
    pub signal: Option<&'a Signal>,
    /// What is handed on.
    pub outputs: &'a Outputs,
    /// What exit statuses mean.
    pub exit: &'a [(u8, Outcome)],
    /// The program as people know it, for sentences: `cargo test`.
    pub program: String,
    /// The prompt: a block of JSON that stands in it is not the agent's answer.
    pub prompt: String,
}

impl RunQuestion<'_> {
    /// Returns whether the outcome passes the gate: it needs a run without trouble.
    pub(crate) fn passes(&self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::NeedsReview | Outcome::Blocked | Outcome::Failed => false,
            Outcome::Complete | Outcome::Skip => true,
            Outcome::Decision(_) => !self.back.contains(outcome),
        }
    }
}

/// What a run answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunAnswer {
    /// Where it was found.
    pub source: AnswerSource,
    /// Absent where the engine reads it from the body, or takes what the gate takes silence for.
    pub outcome: Option<Outcome>,
    /// The rest of it. Its own outcome, task and agent were compared with the question.
    pub fields: Answer,
}

/// Where an answer was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerSource {
    /// The file that `AOF_OUTPUT` names.
    OutputFile,
    /// An object in what was printed.
    Structured,
    /// The last message, for a gate's signal.
    Signal,
    ExitStatus,
    /// No attempt had an answer that counts.
    Attempts,
}

impl AnswerSource {
    /// Returns the word for it in records, and its name in sentences.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::OutputFile => ("file", "the file `$AOF_OUTPUT`"),
            Self::Structured => ("structured", "the JSON object that was printed"),
            Self::Signal => ("signal", "the last message"),
            Self::ExitStatus => ("exit", "the exit status"),
            Self::Attempts => ("attempts", "what came of all attempts"),
        }
    }

    /// Returns the word for it in records.
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
