//! What the message of a merge says: nothing that only a commit of the engine says, and of what was superseded only what is true.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::again::Again;
use super::finding::{Broken, Wrong};
use super::judge::Judge;
use super::text::short;
use crate::domain::{Task, TaskId};
use crate::git::LogEntry;
use crate::git::log::trailers;
use crate::history::merge_driver::message::SUPERSEDED;
use crate::history::touched_tasks::is_of_another_project;
use crate::project::error::error::OpsError;

/// The trailers of the engine's own commits.
pub(crate) const OWN: [&str; 6] =
    ["Aof-Task", "Aof-Gate", "Aof-Outcome", "Aof-Agent", "Aof-Completion", "Aof-Event"];

/// Returns what is wrong with the trailers of a merge, which made these tasks.
pub(crate) fn of(
    judge: &mut Judge<'_>,
    entry: &LogEntry,
    again: &Again,
    afters: &BTreeMap<TaskId, Rc<Task>>,
) -> Result<Vec<Wrong>, OpsError> {
    let said = trailers::parse(&entry.message);
    let wrong = |expected: &str, found| {
        Wrong::new(
            entry,
            None,
            Broken::WrongTrailer,
            expected.to_owned(),
            short(&format!("`{found}`")),
        )
    };
    let own = said.iter().filter(|trailer| OWN.contains(&trailer.key()));
    let mut all: Vec<Wrong> =
        own.map(|trailer| wrong("a merge, which does no step itself", trailer)).collect();
    let mut superseded = said.iter().filter(|trailer| trailer.key() == SUPERSEDED).peekable();
    if superseded.peek().is_none() || matches!(again, Again::CutOff) {
        return Ok(all);
    }
    let known = again.superseded(judge, entry, afters)?;
    for trailer in superseded.filter(|trailer| !known.contains(trailer.value())) {
        let named = trailer.value().split('@').next().unwrap_or_default();
        // Another project of the repository has merges of its own.
        let is_here = afters.keys().any(|id| id.as_str() == named);
        if is_here || !is_of_another_project(&judge.workspace.repository, entry, named)? {
            all.push(wrong("an entry that the merge superseded", trailer));
        }
    }
    Ok(all)
}
