//! The board at a terminal: state, keys, panes, and the loop that joins them.

mod detail;
mod draw;
mod events;
mod form;
mod key_table;
mod project_view;
mod run;
mod screen;
mod state;
mod text;
mod theme;
mod update;
mod worker;

#[cfg(test)]
mod tests;

pub(crate) use run::{TuiOptions, TuiProject, run};
pub(crate) use state::TuiEvent;
pub(crate) use theme::Theme;
