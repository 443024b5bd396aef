//! The run of an ended visit, as the entry keeps it.

use serde::{Deserialize, Serialize};

use crate::domain::{Money, Spending, Visit};
use crate::storage::runs::AgentReport;

/// The source of the verdict of an entry that stopped a task at the end of its budget.
pub(crate) const STOPPED: &str = "budget";

/// The run of an ended visit, with the values that are counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EntryRun {
    pub id: String,
    /// The source of its verdict.
    pub source: String,
    pub spending: Spending,
}

impl EntryRun {
    /// Returns the run of an entry, if a program of an agent made it.
    pub(crate) fn of(visit: &Visit) -> Option<Self> {
        let run = visit.metadata.get("run")?;
        let report = AgentReport {
            cost_usd: run["costUsd"].as_f64(),
            tokens: serde_json::from_value(run["tokens"].clone()).ok(),
            ..AgentReport::default()
        };
        let text = |key: &str| run[key].as_str().map(str::to_owned);
        let seconds = run["seconds"].as_u64().unwrap_or_default();
        let (id, source) = (text("id")?, text("verdict").unwrap_or_default());
        Some(Self { id, source, spending: reported(&report, seconds) })
    }
}

/// Returns the amounts that a program reported.
pub(crate) fn reported(report: &AgentReport, seconds: u64) -> Spending {
    let tokens = report.tokens.unwrap_or_default();
    Spending {
        cost: report.cost_usd.map(Money::reported).unwrap_or_default(),
        tokens: tokens.input.saturating_add(tokens.output),
        seconds,
    }
}
