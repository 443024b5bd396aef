//! The operations of aof: one table of what people, agents and programs may do, with the function that runs each.
//!
//! A door offers the operations of [`table::OPERATIONS`]: it decodes a request into [`arguments::Arguments`], calls [`operation::Operation::run`],
//! and renders what was [`Done`].

pub(crate) mod arguments;
pub(crate) mod completion;
pub(crate) mod content;
pub(crate) mod fields;
mod operation;
mod steps;
pub(crate) mod table;

pub(crate) use operation::{Call, CallFault, Effect, Operation};
