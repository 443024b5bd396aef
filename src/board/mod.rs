//! The boards: one view model, and its views at the terminal and on the web.

pub(crate) mod model;
mod pages;
pub(crate) mod tui;
pub(crate) mod web;
