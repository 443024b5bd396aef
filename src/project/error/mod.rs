//! Errors of operations: code, sentence, fix.

pub(crate) mod code;
pub(crate) mod error;
pub(crate) mod fix;
pub(crate) mod kind;
pub(crate) mod reach;
pub(crate) mod reason;
