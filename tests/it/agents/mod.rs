//! Agents: by tool calls, by runners, and by instructions.

mod instruction_files;
mod mcp;
mod runner;
mod trust;
