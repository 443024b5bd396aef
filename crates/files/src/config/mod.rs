//! `project.yaml`, `org.yaml` and `workflows/`, read together.

mod budget_file;
pub mod configuration;
pub mod decode;
pub(crate) mod gate_file;
pub(crate) mod locate;
pub(crate) mod notify_file;
pub(crate) mod org_file;
pub(crate) mod project_file;
pub(crate) mod recurring_file;
mod run_file;
pub mod shape_file;
pub(crate) mod signal_file;
pub(crate) mod workflow_file;
mod workspaces_file;
