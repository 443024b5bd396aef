//! `aof land`: the work at a task is joined with a branch, checked, pushed and recorded, or nothing has moved.

mod meanwhile;
mod project;
mod secrets;
mod steps;
