//! `aof task ...`

pub(crate) mod actions;
pub(crate) mod brief;
pub(crate) mod command;
pub(crate) mod comment;
pub(crate) mod complete;
pub(crate) mod edit;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod many;
pub(crate) mod new;
pub(crate) mod next;
pub(crate) mod show;
pub(crate) mod shown;
pub(crate) mod sign;
pub(crate) mod why;
