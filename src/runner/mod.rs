//! The runner: starts agents' programs and takes what they say to `ops`. What they print is a `report`; what that says of the
//! work is a `verdict`; `answer` tells them how to say it.
//!
//! These are pure: no I/O, clock, randomness, environment. Nothing that an agent writes in passing is taken for a yes. `rounds`
//! says who works at what, `visit` makes attempts until there is a verdict, and the verdict becomes a completion like any other's:
//! there is no second way to change a task, and the state is the task file alone.

pub mod answer;
mod attempt;
mod attend;
mod claim;
mod doctor;
mod hand_in;
mod launch;
mod news;
mod preview;
pub mod printed;
mod project;
mod prompt;
mod record;
mod recover;
pub mod report;
mod rounds;
mod secrets;
mod standing;
mod telling;
mod trial;
pub mod verdict;
mod visit;
mod wiring;
mod wish;

pub use doctor::{Checkup, Depth, checkups};
pub use news::{News, Started, Waits, Why};
pub use preview::{Preview, preview, preview_of};
pub use project::Project;
pub use rounds::{Refused, work};
pub use wish::{Account, Asked, Audience, End, Pace, Wish};
