//! Events as JSON and as text.

pub mod line;
pub mod render;
