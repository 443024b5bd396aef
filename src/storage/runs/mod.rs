//! `.aof/runs`: what agents did that were run.

mod attempt;
mod record;
mod visits;

pub(crate) use attempt::{RunAttempt, RunFile};
pub(crate) use record::{
    AgentReport, Ruling, RunEnd, RunEnding, RunRecord, TokenCounts, TranscriptMark,
};
pub(crate) use visits::{LatestRun, RunRight, Runs, VisitRuns};

#[cfg(test)]
mod tests;
