//! `.aof/inbox`: completion files, each in exactly one place.

pub(crate) mod delivery_lock;
pub(crate) mod inbox;
pub(crate) mod intended_visit;
pub(crate) mod refused;
pub(crate) mod scan;
