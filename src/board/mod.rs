//! The boards: one view model, and the faces that show it.

pub(crate) mod model;
pub(crate) mod tui;
pub(crate) mod web;
