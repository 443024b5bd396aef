//! The project itself: its modules, its tests, its own tasks.

mod advice;
mod architecture;
mod comments;
mod folders;
mod own_project;
mod public_items;
mod test_layout;
