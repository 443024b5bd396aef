//! Events as JSON and as text.

pub(crate) mod json;
pub(crate) mod line;
pub(crate) mod summary;
pub(crate) mod text;
