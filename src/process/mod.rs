//! Other people's programs: started without a shell, in a process group of their own, and ended whole. A leaf: it calls nothing.
//!
//! A [`Program`] that is [started](Program::start) is a [`Running`], and [waiting](Running::wait) for that gives how it [`Ended`].
//! Dropped before, it is ended with all that it started. Whatever it prints is read as it comes and handed to an [`Attendant`],
//! who may end it; a [`Transcript`] keeps that within bounds, with [`Secrets`] masked. A [`Group`] is what is left to know of a
//! program whose starter was killed.
//!
//! All of it is one loop without threads: a program that leaves others behind, which hold its pipes, leaves nothing here. What
//! leaves the group (`setsid`) is out of reach.

mod boot;
mod group;
mod mask;
mod program;
mod running;
mod secrets;
mod streams;
mod tail;
mod transcript;

pub use boot::boot;
pub use group::Group;
pub use program::{Obstacle, Program, StartError};
pub use running::{Attendant, Ended, How, Limits, Lost, Orphans, Running};
pub use secrets::{SHORTEST_SECRET, Secrets};
pub use streams::Stream;
pub use tail::Kept;
pub use transcript::{Printed, Room, Transcript, Written};

#[cfg(test)]
mod tests;
