//! The runner starts agents' programs and completes their tasks with what they say.
//!
//! `scheduling` decides who works at what, `visit` makes attempts until there is a verdict, and the verdict becomes a completion like
//! any other's: there is no second way to change a task, and the state is the task file alone. What a program prints becomes a
//! `report`, and what that says of the work a `verdict`; both are pure. Nothing that an agent writes in passing counts as a yes.

pub(crate) mod attempt;
pub(crate) mod doctor;
pub(crate) mod launch;
pub(crate) mod output;
pub(crate) mod preview;
pub(crate) mod prompt;
pub(crate) mod report;
pub(crate) mod request;
pub(crate) mod run_event;
pub(crate) mod scheduling;
pub(crate) mod secrets;
pub(crate) mod verdict;
pub(crate) mod visit;
pub(crate) mod visit_run;
pub(crate) mod visit_state;

pub use doctor::{Checkup, Depth, checkups};
pub use preview::{Preview, preview, preview_of};
pub use request::{
    Audience, Pace, PersonQuestion, Refused, RunOutcome, RunSummary, RunTarget, RunnerSetup,
};
pub use run_event::{RunEvent, StartedAttempt, WaitReason, WaitingWork};
pub use scheduling::work_loop::work;
