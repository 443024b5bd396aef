//! The tests that go through the binary: real processes, real git, whole outputs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to fail where it stands")]
#![allow(clippy::format_collect, reason = "texts of tests are short")]
#![allow(clippy::too_many_lines, reason = "a story with its whole outputs is one test")]

mod agents;
mod cli;
mod contract;
mod git;
mod health;
mod house;
mod inbox;
mod merge;
mod observability;
mod recovery;
mod setup;
mod support;
mod sync;
mod tasks;
mod verify;
mod workflows;
