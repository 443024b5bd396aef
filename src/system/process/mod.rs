//! Other people's programs: started without a shell, in a process group of their own, and ended whole. A leaf: it calls nothing.
//!
//! A [`Program`] that is [started](Program::start) is a [`Running`], and [waiting](Running::wait) for that gives how it [`Ended`].
//! Dropped before, it is ended with all that it started. Whatever it prints is read as it comes and handed to an [`Attendant`],
//! who may end it; a [`Transcript`] keeps that within bounds, with [`Secrets`] masked. A [`ProcessGroup`] is what is left to know of a
//! program whose starter was killed.
//!
//! All of it is one loop without threads: a program that leaves others behind, which hold its pipes, leaves nothing here. What
//! leaves the group (`setsid`) is out of reach.

pub(crate) mod child;
pub(crate) mod program;
pub(crate) mod transcript;

pub use child::{Attendant, Ended, How, Orphans, ProcessLimits, Running, Stream, UnknownExit};
pub use program::{ProcessGroup, Program, StartError, StartObstacle, boot};
pub use transcript::{Kept, Printed, Room, SHORTEST_SECRET, Secrets, Transcript, TranscriptFile};

#[cfg(test)]
mod tests;
