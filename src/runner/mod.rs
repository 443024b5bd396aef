//! The runner: starts agents' programs and takes what they say to `ops`. What they print is a `report`.
//!
//! Both modules are pure: no I/O, clock, randomness, environment.

pub mod printed;
pub mod report;
