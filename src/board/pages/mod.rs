//! The pages as HTML: each is a function of its data. The server and the export make the same ones.

pub(crate) mod board_page;
mod charts;
pub(crate) mod forms;
mod frame_words;
mod graph;
pub(crate) mod layout;
pub(crate) mod markdown;
mod parts;
mod plot;
pub(crate) mod project_pages;
pub(crate) mod task_page;

pub(crate) use charts::figures_page;
pub(crate) use graph::{is_about, workflow_svg};
