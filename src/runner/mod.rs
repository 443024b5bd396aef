//! The runner: starts agents' programs and takes what they say to `ops`. What they print is a `report`; what that says of the
//! work is a `verdict`; `answer` tells them how to say it.
//!
//! These are pure: no I/O, clock, randomness, environment. Nothing that an agent writes in passing is taken for a yes.

pub mod answer;
pub mod printed;
pub mod report;
pub mod verdict;
