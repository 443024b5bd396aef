//! Runs other programs: without a shell, in a process group of their own, which is ended as a whole.
//!
//! [`Program::start`] returns a [`Running`], and [`Running::wait`] returns how it [`Ended`]. If it is dropped before, its whole
//! group is killed. Output is passed to an [`Attendant`], which may end the program; a [`Transcript`] keeps a bounded part of it,
//! with [`Secrets`] masked. A [`ProcessGroup`] finds a program again whose runner was killed.
//!
//! All of this is one loop without threads, so processes that keep the pipes open leave no thread here. A process that leaves the
//! group (`setsid`) is out of reach.

pub(crate) mod child;
pub(crate) mod program;
pub(crate) mod transcript;

pub use child::{Attendant, Ended, How, Orphans, ProcessLimits, Running, Stream, UnknownExit};
pub use program::{ProcessGroup, Program, StartError, StartObstacle, boot};
pub use transcript::{Kept, Printed, Room, Secrets, Transcript, TranscriptFile, is_secret_name};

#[cfg(test)]
mod tests;
