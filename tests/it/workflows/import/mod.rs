//! Workflows of other systems: how they are committed, and what they mean here.

mod committed;
mod meaning;
