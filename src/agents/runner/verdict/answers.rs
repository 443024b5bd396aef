//! The answers that are data: the file that `AOF_OUTPUT` names, and a JSON object in what was printed.

use super::question::{Question, Said, Source};
use crate::agents::runner::output::{plain_text, shortened};
use crate::agents::runner::report::agent_report::Report;
use crate::domain::{Map, Outcome, Outputs, Ticket, listed};
use crate::files::completion_file::{Answer, answer, answer_of, json_answer};
use crate::files::json::numbers::read;
use crate::files::yaml::Fault;

/// How many faults are told at once.
const FAULTS: usize = 5;

/// How much is told of them, in characters.
const LONGEST: usize = 800;

/// Returns what the file says, or what is wrong with it. An empty file says nothing.
pub(crate) fn in_file(asked: &Question<'_>, bytes: Option<&[u8]>) -> Result<Option<Said>, String> {
    let Some(bytes) = bytes.filter(|bytes| !bytes.trim_ascii().is_empty()) else { return Ok(None) };
    let answer = answer(bytes).map_err(|faults| {
        format!(
            "the file `$AOF_OUTPUT` cannot be read: {}; write JSON with `outcome` and `summary`",
            told(&faults)
        )
    })?;
    let outcome = judged(asked, &answer, Source::OutputFile)?;
    Ok(Some(Said::of(answer, outcome, Source::OutputFile)))
}

/// Returns the outcome of an answer, or why it has none that counts.
fn judged(asked: &Question<'_>, answer: &Answer, source: Source) -> Result<Outcome, String> {
    if let Some(ticket) = answer.ticket.as_ref().filter(|ticket| !means(ticket, asked.ticket)) {
        return Err(format!(
            "{source} is about `{ticket}`, and the work is `{}`; leave `task` away",
            asked.ticket
        ));
    }
    if let Some(agent) = answer.agent.as_ref().filter(|agent| *agent != asked.agent) {
        return Err(format!(
            "{source} is signed by `{agent}`, and the work is `{}`'s; leave `agent` away",
            asked.agent
        ));
    }
    // `_` stands for the only way out there is.
    let word = answer.word().filter(|word| *word != "_" || asked.unsaid.is_none());
    match word {
        Some(word) => asked.named(word).cloned().ok_or_else(|| {
            let word = word.chars().take(60).collect::<String>().escape_debug().to_string();
            format!(
                "{source} has the outcome `{word}`, which is none here; there are {}",
                listed(&asked.possible)
            )
        }),
        None if answer.outcome.is_some() => Err(format!(
            "{source} has one outcome in `outcome` and another in `$status`; give one of them"
        )),
        None => asked.unsaid.cloned().ok_or_else(|| {
            format!(
                "{source} has no `outcome` that is a text; it is one of {}",
                listed(&asked.possible)
            )
        }),
    }
}

/// Returns whether the visit is meant by a ticket that may say less.
fn means(said: &Ticket, own: &Ticket) -> bool {
    said.task == own.task
        && said.visit.is_none_or(|visit| own.visit == Some(visit))
        && said.branch.as_ref().is_none_or(|branch| own.branch.as_ref() == Some(branch))
}

/// Returns what is wrong, each with its fix.
fn told(faults: &[Fault]) -> String {
    let one = |fault: &Fault| match &fault.help {
        Some(help) => format!("{} ({help})", fault.message),
        None => fault.message.clone(),
    };
    let mut list: Vec<String> = faults.iter().take(FAULTS).map(one).collect();
    if faults.len() > FAULTS {
        list.push(format!("and {} more", faults.len() - FAULTS));
    }
    // What was written may be quoted in it.
    shortened(&plain_text(&list.join("; ")), LONGEST)
}

/// What there is in place of an answer, for messages.
pub(crate) const NO_BLOCK: &str = "the last message has no such block";

/// Returns what an object says that was printed: apart from the text, as the whole last message, or as the fenced block that ends
/// it. Where none answers, the inner error says what there is in its place.
pub(crate) fn in_output(
    asked: &Question<'_>,
    report: &Report,
) -> Result<Result<Said, &'static str>, String> {
    let read = match found(asked, report) {
        Ok(read) => read,
        Err(instead) => return Ok(Err(instead)),
    };
    let answer = read.map_err(|faults| {
        format!(
            "{} cannot be read: {}; give it `outcome` and `summary`",
            Source::Structured,
            told(&faults)
        )
    })?;
    let outcome = judged(asked, &answer, Source::Structured)?;
    Ok(Ok(Said::of(answer, outcome, Source::Structured)))
}

fn found(
    asked: &Question<'_>,
    report: &Report,
) -> Result<Result<Answer, Vec<Fault>>, &'static str> {
    if let Some(object) = &report.structured {
        return if answers(asked, object) {
            Ok(answer_of(object.clone()))
        } else {
            Err("the JSON object that was printed has no `outcome`")
        };
    }
    if let Ok(object) = read::<Map>(report.text.trim())
        && answers(asked, &object)
    {
        return Ok(json_answer(report.text.trim()));
    }
    let block = match last_json(&report.text) {
        Fenced::Nothing => return Err(NO_BLOCK),
        Fenced::Open => return Err("its last block of JSON has no end"),
        Fenced::Block(block) => block.trim(),
    };
    match read::<Map>(block) {
        Ok(object) if answers(asked, &object) && asked.prompt.contains(block) => {
            Err("its last block of JSON stands in the prompt just as it is")
        }
        Ok(object) if answers(asked, &object) => Ok(json_answer(block)),
        Ok(_) => Err("its last block of JSON has no `outcome`"),
        Err(_) => Err("its last block of JSON is not one object that can be read"),
    }
}

/// Returns whether an object is meant to be an answer.
fn answers(asked: &Question<'_>, object: &Map) -> bool {
    let has_variants = matches!(asked.outputs, Outputs::Variants(_));
    object.contains_key("outcome") || has_variants && object.contains_key("$status")
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
