//! History judged and replayed: which act led from one state of a task to the next.

pub(crate) mod explain;
pub(crate) mod proof;
