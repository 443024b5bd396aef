//! What a change comes to, before anything is written: choices, new files, commits to be.

pub mod choice;
pub(crate) mod due;
pub(crate) mod gates;
pub(crate) mod place;
pub(crate) mod write;
