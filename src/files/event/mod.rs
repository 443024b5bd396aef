//! Events as JSON and as text.

pub(crate) mod line;
pub(crate) mod render;
