//! Workflow files of other systems, converted to ours.

pub(crate) mod antfarm;
pub(crate) mod aof;
pub(crate) mod import_file;
pub(crate) mod names;
pub(crate) mod openagents;
pub(crate) mod orbital;
pub(crate) mod record;
pub(crate) mod source;
pub(crate) mod status_graph;
pub(crate) mod steps;
pub(crate) mod workflow_draft;
