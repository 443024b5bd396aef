//! The checks of `aof doctor`.

pub(crate) mod caches;
pub(crate) mod copies;
pub(crate) mod drifted;
pub(crate) mod folders;
pub(crate) mod known;
pub(crate) mod leftovers;
pub(crate) mod line_ends;
pub(crate) mod locks;
pub(crate) mod merging;
pub(crate) mod misplaced;
pub(crate) mod refused;
pub(crate) mod remote;
pub(crate) mod schemas;
pub(crate) mod settings;
pub(crate) mod signing;
pub(crate) mod staged;
pub(crate) mod stayed;
pub(crate) mod storage;
pub(crate) mod stream;
pub(crate) mod surroundings;
pub(crate) mod taken_back;
