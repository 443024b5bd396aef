//! `aof status` and `aof doctor`.

mod doctor;
mod misread_files;
mod status;
mod waiting;
