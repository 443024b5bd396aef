//! The runner starts agents' programs and completes their tasks with their answers.
//!
//! `work_loop` assigns work to agents. `visit` makes attempts until there is a verdict, which becomes a completion like any other:
//! there is no second way to change a task, and the task file alone holds the state. The output of a program becomes a `report`, and
//! the report a `verdict`; both are pure. Nothing that an agent writes in passing counts as a pass.

pub(crate) mod answer;
pub(crate) mod attempt;
pub(crate) mod doctor;
pub(crate) mod launch;
pub(crate) mod preview;
pub(crate) mod prompt;
pub(crate) mod report;
pub(crate) mod report_formats;
pub(crate) mod run_types;
pub(crate) mod usage_limit;
pub(crate) mod verdict;
pub(crate) mod visit;
pub(crate) mod work_finder;
pub(crate) mod work_loop;

pub use doctor::{Checkup, Depth, checkups};
pub use preview::{Preview, preview, preview_of};
pub use run_types::{
    Audience, Pace, PersonQuestion, Refused, RunEvent, RunOutcome, RunSummary, RunTarget,
    RunnerSetup, StartedAttempt, WaitReason, WaitingWork,
};
pub use work_loop::work;
