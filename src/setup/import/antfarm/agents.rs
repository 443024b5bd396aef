//! The agents of a file: the purpose of each, and the limits of its runs.

use crate::domain::FieldFate::{Converted, Dropped};
use crate::domain::Period;
use crate::setup::import::record::{FieldTable, Record, join};
use crate::setup::import::workflow_draft::RunDraft;

const OF_AGENT: FieldTable = &[
    ("id", Converted, "a role"),
    ("description", Converted, "the role's description, for org.yaml"),
    ("timeoutSeconds", Converted, "`run: {timeout}` of its gates"),
    ("name", Dropped, "what an agent is called is in org.yaml"),
    ("role", Dropped, "which tools an agent may use is the runner's matter"),
    ("model", Converted, "`run: {model}` of its gates; `default` is the program's own model"),
    ("pollingModel", Dropped, "of the look for work, not of the work"),
    (
        "workspace",
        Dropped,
        "files for an agent's workspace are the runner's matter; texts for a gate go into its `brief`",
    ),
];

/// An agent of the file: its purpose, and the limits of its runs.
pub(crate) struct ForeignAgent {
    pub(crate) id: String,
    pub(crate) description: Option<String>,
    pub(crate) run: RunDraft,
}

pub(crate) fn read_agents(top: &Record<'_>) -> Vec<ForeignAgent> {
    let mut agents = Vec::new();
    for mut record in top.records("agents", "a list of agents", "an agent") {
        let description = record.text("description").map(|text| text.trim().to_owned());
        let run = read_run(&record);
        if let Some(id) = record.text("id") {
            record.path = join("agents", &id);
            agents.push(ForeignAgent { id, description, run });
        }
        record.finish(&[OF_AGENT]);
    }
    agents
}

/// Returns the limits of a run. The model named `default` is the program's own.
pub(crate) fn read_run(record: &Record<'_>) -> RunDraft {
    let minutes = || record.count("timeout_minutes").map(|minutes| minutes.saturating_mul(60));
    let seconds = record.count("timeoutSeconds").or_else(minutes);
    let timeout = seconds.and_then(|seconds| format!("{seconds}s").parse::<Period>().ok());
    let model = record.text("model").filter(|model| model != "default");
    RunDraft { timeout: timeout.map(|period| period.to_string()), model, ..RunDraft::default() }
}
