//! Agents: by tool calls, by runners, and by instructions.

mod budgets;
pub(crate) mod forge;
mod instruction_files;
mod mcp;
mod order;
mod recipes;
mod runner;
mod sessions;
mod trust;
mod waiting;
