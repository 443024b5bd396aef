//! Events as JSON and as text.

pub(crate) mod json;
pub(crate) mod line;
pub(crate) mod words;
