//! The rules as tables, and properties of every history.

mod briefs;
mod completions;
mod deadlines;
mod depending;
mod differences;
mod dispatching;
mod drift;
mod events;
mod forks;
mod loops;
mod merging;
mod merging_random;
mod people;
mod property;
mod proving;
mod random_forks;
mod random_routes;
mod replay;
mod routes;
mod signing;
mod ssh_made;
mod staffing;
mod texts;
mod validation;
mod ways;
mod world;
