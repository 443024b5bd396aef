//! The runner: starts agents' programs and hands their verdicts to `tasks`. What they print is a `report`; what that says of the
//! work is a `verdict`; `answer` tells them how to say it.
//!
//! These are pure: no I/O, clock, randomness, environment. Nothing that an agent writes in passing is taken for a yes. `rounds`
//! says who works at what, `visit` makes attempts until there is a verdict, and the verdict becomes a completion like any other's:
//! there is no second way to change a task, and the state is the task file alone.

pub(crate) mod attempt;
pub(crate) mod report;
pub(crate) mod rounds;
pub(crate) mod verdict;

pub(crate) mod claim;
pub(crate) mod doctor;
pub(crate) mod hand_in;
pub(crate) mod news;
pub(crate) mod news_of_run;
pub(crate) mod preview;
pub(crate) mod project;
pub(crate) mod recover;
pub(crate) mod request;
pub(crate) mod secrets;
pub(crate) mod visit;
pub(crate) mod visit_state;

pub use doctor::{Checkup, Depth, checkups};
pub use news::{News, Started, Waits, Why};
pub use preview::{Preview, preview, preview_of};
pub use project::Project;
pub use request::{Account, Asked, Audience, End, Pace, Wish};
pub use rounds::asking::Refused;
pub use rounds::work::work;
