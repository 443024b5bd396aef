//! The pages as HTML: each is a function of its data. The server and the export make the same ones.

pub(super) mod board_page;
mod charts;
pub(super) mod forms;
mod graph;
pub(super) mod layout;
pub(super) mod markdown;
mod plot;
pub(super) mod project_pages;
pub(super) mod task_page;

pub(crate) use charts::figures_page;
pub(crate) use graph::workflow_svg;
