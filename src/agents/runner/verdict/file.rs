//! The first source: the file that `AOF_OUTPUT` names.

use super::read::{Asked, Said, Source};
use crate::agents::runner::attempt::printed::{plain_text, shortened};
use crate::domain::{Outcome, Ticket, listed};
use crate::files::completion_file::{Answer, answer};
use crate::files::yaml::Fault;

/// How many faults are told at once.
const FAULTS: usize = 5;

/// How much is told of them, in characters.
const LONGEST: usize = 800;

/// Returns what the file says, or what is wrong with it. An empty file says nothing.
pub(crate) fn said(asked: &Asked<'_>, bytes: Option<&[u8]>) -> Result<Option<Said>, String> {
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
pub(crate) fn judged(
    asked: &Asked<'_>,
    answer: &Answer,
    source: Source,
) -> Result<Outcome, String> {
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
                listed(asked.possible)
            )
        }),
        None if answer.outcome.is_some() => Err(format!(
            "{source} has one outcome in `outcome` and another in `$status`; give one of them"
        )),
        None => asked.unsaid.cloned().ok_or_else(|| {
            format!(
                "{source} has no `outcome` that is a text; it is one of {}",
                listed(asked.possible)
            )
        }),
    }
}

/// Tells whether the visit is meant by a ticket that may say less.
fn means(said: &Ticket, own: &Ticket) -> bool {
    said.task == own.task
        && said.visit.is_none_or(|visit| own.visit == Some(visit))
        && said.branch.as_ref().is_none_or(|branch| own.branch.as_ref() == Some(branch))
}

/// Returns what is wrong, each with its fix.
pub(crate) fn told(faults: &[Fault]) -> String {
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
