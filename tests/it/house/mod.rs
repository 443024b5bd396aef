//! The project itself: its modules, its tests, its own tasks.

mod architecture;
mod own_project;
mod test_layout;
