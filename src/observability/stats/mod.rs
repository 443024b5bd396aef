//! Statistics of the process, computed from task files.

pub(crate) mod agents;
pub(crate) mod gates;
pub(crate) mod loops;
pub(crate) mod span;
pub(crate) mod spread;
pub(crate) mod stats;
pub(crate) mod tags;
pub(crate) mod value;
pub(crate) mod verdict;
pub(crate) mod weeks;
