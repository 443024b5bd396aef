//! Agents: by tool calls, by runners, and by instructions.

mod budgets;
pub(crate) mod forge;
mod hooks;
mod instruction_files;
mod landing;
mod mcp;
mod order;
mod plugin;
mod recipes;
mod runner;
mod sessions;
mod trust;
mod waiting;
mod workspaces;
