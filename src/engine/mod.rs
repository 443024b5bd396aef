//! The rules, pure: no I/O, clock, randomness or environment. May use `model` only.

pub mod condition;
