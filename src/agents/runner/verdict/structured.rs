//! The second source: an object in what was printed.

use super::fenced::{Fenced, last_json};
use super::file::{judged, told};
use super::read::{Asked, Said, Source};
use crate::agents::runner::report::report::Report;
use crate::domain::{Map, Outputs};
use crate::files::completion_file::{Answer, answer_of, json_answer};
use crate::files::yaml::Fault;

/// What there is in place of an answer, for messages.
pub(crate) const NO_BLOCK: &str = "the last message has no such block";

/// Returns what an object says; nothing where there is none that answers, with what there is in its place.
pub(crate) fn said(
    asked: &Asked<'_>,
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

type Read = Result<Answer, Vec<Fault>>;

fn found(asked: &Asked<'_>, report: &Report) -> Result<Read, &'static str> {
    if let Some(object) = &report.structured {
        return if answers(asked, object) {
            Ok(answer_of(object.clone()))
        } else {
            Err("the JSON object that was printed has no `outcome`")
        };
    }
    if let Ok(object) = crate::files::json::numbers::read::<Map>(report.text.trim())
        && answers(asked, &object)
    {
        return Ok(json_answer(report.text.trim()));
    }
    let block = match last_json(&report.text) {
        Fenced::Nothing => return Err(NO_BLOCK),
        Fenced::Open => return Err("its last block of JSON has no end"),
        Fenced::Block(block) => block.trim(),
    };
    match crate::files::json::numbers::read::<Map>(block) {
        Ok(object) if answers(asked, &object) && asked.prompt.contains(block) => {
            Err("its last block of JSON stands in the prompt just as it is")
        }
        Ok(object) if answers(asked, &object) => Ok(json_answer(block)),
        Ok(_) => Err("its last block of JSON has no `outcome`"),
        Err(_) => Err("its last block of JSON is not one object that can be read"),
    }
}

/// Tells whether an object is meant to be an answer.
fn answers(asked: &Asked<'_>, object: &Map) -> bool {
    let has_variants = matches!(asked.outputs, Outputs::Variants(_));
    object.contains_key("outcome") || has_variants && object.contains_key("$status")
}
