//! The facts of a run that the entry of its visit keeps.

use std::time::Duration;

use serde_json::{Value, json};

use crate::agents::runner::answer::AnswerSource;
use crate::domain::CompletionId;
use crate::storage::runs::RunRecord;

/// Returns the facts of a run that its entry keeps.
pub(super) fn run_value(
    run: &CompletionId,
    source: AnswerSource,
    record: Option<&RunRecord>,
    took: Duration,
) -> Value {
    let end = record.and_then(|record| record.end.as_ref());
    let transcript = end.and_then(|end| end.transcript.as_ref());
    let report = end.map(|end| end.agent_report.clone()).unwrap_or_default();
    let mut value = json!({
        "id": run.as_str(),
        "verdict": source.word(),
        "seconds": took.as_secs(),
        "transcript": transcript.map(|mark| format!("sha256:{}", mark.sha256)),
        "model": report.model,
        "costUsd": report.cost_usd,
        "tokens": report.tokens,
        "session": record.and_then(|record| Some(record.session.as_ref()?.fact())),
    });
    if let Value::Object(map) = &mut value {
        map.retain(|_, value| !value.is_null());
    }
    value
}
