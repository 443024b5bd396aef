//! The loop of a runner: who works at what next.

pub(crate) mod ask_people;
pub(crate) mod find_work;
pub(crate) mod work_loop;
