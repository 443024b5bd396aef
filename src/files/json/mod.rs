//! JSON as the same tree that YAML gives.

pub(crate) mod json;
pub(crate) mod numbers;
