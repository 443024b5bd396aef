//! `aof status` and `aof doctor`.

mod doctor;
mod status;
mod waiting;
