//! `aof mcp`.

mod arguments;
mod concurrent_calls;
mod identity;
mod protocol;
mod refusals;
mod sent_forms;
mod tokens;
mod tools;
