//! The event stream: lines in it that are no events, and events that are gone from its middle. Its ends heal by themselves.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::files::event::line::EventLine;
use crate::health::doctor::{Complaint, Patient, count};
use crate::observability::events::rebuild_events;
use crate::project::error::error::OpsError;
use crate::storage::EventStream;

/// How many events of each kind were written, as the record has it.
#[derive(Deserialize)]
struct Written {
    counts: Vec<(IgnoredAny, u64)>,
}

pub(crate) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let stream = EventStream::of(&patient.workspace.paths);
    // The record goes first: what is written meanwhile is more than it knows of.
    let record = stream.record::<Written>()?;
    let Some(mut reading) = stream.open()? else { return Ok(Vec::new()) };
    let (mut events, mut damaged) = (0, 0);
    while let Some(line) = reading.line()? {
        match EventLine::read(&line) {
            Some(_) => events += 1,
            None => damaged += 1,
        }
    }
    let written: u64 =
        record.iter().flat_map(|(record, _)| &record.kept.counts).map(|(_, many)| many).sum();
    let gone = usize::try_from(written.saturating_sub(events)).unwrap_or(usize::MAX);
    let problem = match (damaged, gone) {
        (0, 0) => return Ok(Vec::new()),
        (0, gone) => {
            format!("{} gone from `.aof/events.jsonl`", count(gone, "event is", "events are"))
        }
        (damaged, 0) => {
            format!("{} of `.aof/events.jsonl` no event", count(damaged, "line is", "lines are"))
        }
        (damaged, gone) => format!(
            "{} of `.aof/events.jsonl` no event, and {} gone",
            count(damaged, "line is", "lines are"),
            count(gone, "event is", "events are")
        ),
    };
    let complaint = Complaint::wrong(
        "events_damaged",
        problem,
        "`aof events`, and whoever reads the file, does not see all that happened",
        "`aof events rebuild` makes it again from history; `aof doctor --fix` does it".to_owned(),
    );
    Ok(vec![complaint.cured_by(|workspace| rebuild_events(workspace).map(drop))])
}
