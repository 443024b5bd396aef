//! `aof demo`: a project in a temporary folder, the real watcher, scripted agents, one person.

pub(crate) mod command;
pub(crate) mod script;
pub(crate) mod stage;
