//! Other people's programs: started without a shell, in a process group of their own, and ended whole. A leaf: it calls nothing.
//!
//! A [`Program`] that is [started](Program::start) is a [`Running`], and [waiting](Running::wait) for that gives how it [`Ended`].
//! Dropped before, it is ended with all that it started. Whatever it prints is read as it comes and handed to an [`Attendant`],
//! who may end it; a [`Transcript`] keeps that within bounds, with [`Secrets`] masked. A [`Group`] is what is left to know of a
//! program whose starter was killed.
//!
//! All of it is one loop without threads: a program that leaves others behind, which hold its pipes, leaves nothing here. What
//! leaves the group (`setsid`) is out of reach.

pub(crate) mod child;
pub(crate) mod output_tail;
pub(crate) mod pipes;
pub(crate) mod process_group;
pub(crate) mod program;
pub(crate) mod secrets;
pub(crate) mod transcript;

pub use super::boot::boot;
pub use child::{Attendant, Ended, How, Limits, Lost, Orphans, Running};
pub use output_tail::Kept;
pub use pipes::Stream;
pub use process_group::Group;
pub use program::{Obstacle, Program, StartError};
pub use secrets::{SHORTEST_SECRET, Secrets};
pub use transcript::{Printed, Room, Transcript, Written};

#[cfg(test)]
mod tests;
