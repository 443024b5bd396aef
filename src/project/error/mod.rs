//! Errors of operations: sentence, code, fix.

pub(crate) mod error;
mod facts;
pub(crate) mod reason;
