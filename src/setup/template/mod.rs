//! Templates of new projects.

pub mod people;
pub mod template;
