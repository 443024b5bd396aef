//! A project: its settings.

pub(crate) mod project;
pub(crate) mod sync_settings;
