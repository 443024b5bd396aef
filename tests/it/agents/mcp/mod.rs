//! `aof mcp`.

mod arguments;
mod concurrent_calls;
mod identity;
mod protocol;
mod refusals;
mod tokens;
mod tools;
