//! What is wrong with a file, shown with its lines.

pub mod diagnostic;
pub(crate) mod excerpt;
