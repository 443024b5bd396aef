//! The three pipes to a program, none of which is ever waited for alone.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::process::Child;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

/// As much as a pipe holds.
const PIECE: usize = 64 * 1024;

/// What a program prints to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// The output proper.
    Stdout,
    /// The rest.
    Stderr,
}

/// Our ends of the pipes, as far as they are open.
#[derive(Default)]
pub(crate) struct Streams {
    input: Option<Input>,
    outputs: Vec<(Stream, File)>,
    piece: Vec<u8>,
}

struct Input {
    pipe: File,
    bytes: Vec<u8>,
    written: usize,
}

/// What happened in the pipes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    /// The program printed something.
    Printed,
    /// It read something, or an end was closed.
    Moved,
    /// Nothing, as long as was waited.
    Nothing,
}

impl Streams {
    /// Takes the pipes of a program that was just started.
    pub(crate) fn of(child: &mut Child, input: Vec<u8>) -> io::Result<Self> {
        let unblocked = |end: OwnedFd| {
            rustix::io::ioctl_fionbio(&end, true)?;
            io::Result::Ok(File::from(end))
        };
        let mut streams = Self { input: None, outputs: Vec::new(), piece: vec![0; PIECE] };
        if let Some(end) = child.stdin.take()
            && !input.is_empty()
        {
            streams.input = Some(Input { pipe: unblocked(end.into())?, bytes: input, written: 0 });
        }
        if let Some(end) = child.stdout.take() {
            streams.outputs.push((Stream::Stdout, unblocked(end.into())?));
        }
        if let Some(end) = child.stderr.take() {
            streams.outputs.push((Stream::Stderr, unblocked(end.into())?));
        }
        Ok(streams)
    }

    /// Returns whether something may still be printed.
    pub(crate) fn is_open(&self) -> bool {
        !self.outputs.is_empty()
    }

    /// Waits at most that long for something to happen, and hands on what was printed: one piece of each stream, so that
    /// whoever calls gets to look at the clock however much there is.
    pub(crate) fn pass(
        &mut self,
        wait: Duration,
        printed: &mut dyn FnMut(Stream, &[u8]),
    ) -> Passed {
        if !self.is_ready(wait) {
            return Passed::Nothing;
        }
        let mut passed = if self.feed() { Passed::Moved } else { Passed::Nothing };
        let piece = &mut self.piece;
        self.outputs.retain_mut(|(stream, pipe)| match pipe.read(piece) {
            Ok(length @ 1..) => {
                printed(*stream, &piece[..length]);
                passed = Passed::Printed;
                true
            }
            Err(cause) if is_empty(&cause) => true,
            Ok(_) | Err(_) => {
                if passed == Passed::Nothing {
                    passed = Passed::Moved;
                }
                false
            }
        });
        passed
    }

    fn is_ready(&self, wait: Duration) -> bool {
        let output = self.outputs.iter().map(|(_, pipe)| PollFd::new(pipe, PollFlags::IN));
        let input = self.input.iter().map(|input| PollFd::new(&input.pipe, PollFlags::OUT));
        let mut ends: Vec<PollFd<'_>> = output.chain(input).collect();
        let time = Timespec::try_from(wait).ok();
        match rustix::event::poll(&mut ends, time.as_ref()) {
            Ok(count) => count > 0,
            Err(Errno::INTR) => false,
            // No memory for it, or the like: looking without waiting must not become a busy loop.
            Err(_) => {
                thread::sleep(wait);
                true
            }
        }
    }

    /// Writes what the program has room for, and closes its stdin behind the last byte, or when it does not want more.
    fn feed(&mut self) -> bool {
        let Some(input) = &mut self.input else { return false };
        match input.pipe.write(&input.bytes[input.written..]) {
            Ok(length @ 1..) => input.written += length,
            Err(cause) if is_empty(&cause) => return false,
            Ok(_) | Err(_) => input.written = input.bytes.len(),
        }
        if input.written == input.bytes.len() {
            self.input = None;
        }
        true
    }

    /// Reads on in a thread, to nowhere: a program that goes on printing is not ended by a closed pipe as long as we live.
    pub(crate) fn drain_aside(&mut self) {
        for (_, pipe) in self.outputs.drain(..) {
            // Where there is no thread to be had, the pipe is closed.
            let _ = thread::Builder::new().stack_size(PIECE).spawn(move || {
                if rustix::io::ioctl_fionbio(&pipe, false).is_ok() {
                    let _ = io::copy(&mut io::BufReader::new(pipe), &mut io::sink());
                }
            });
        }
    }
}

/// Returns whether a pipe has nothing to read, or no room, at present.
fn is_empty(cause: &io::Error) -> bool {
    matches!(cause.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
