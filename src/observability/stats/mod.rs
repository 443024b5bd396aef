//! Statistics of the process, computed from task files.

pub(crate) mod breakdowns;
pub(crate) mod gates;
pub(crate) mod numbers;
pub(crate) mod report;
