//! What a program printed, within bounds: the beginning and the end of all of it in a file, the end of each stream in memory.

use std::io::{self, Write};

use sha2::{Digest, Sha256};

use super::output_tail::{Kept, Tail};
use super::pipes::Stream;
use super::secrets::{Mask, Secrets};

/// More than a line has that anybody reads.
const LONGEST_LINE: usize = 4096;

/// How many bytes are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Of the beginning, in the file: these are written as they come.
    pub beginning: u64,
    /// Of the end, in the file: these are written at the end.
    pub end: usize,
    /// Of the end of each stream, in memory.
    pub each: usize,
}

/// Takes what a program prints. Secrets are masked in all that it gives away.
pub struct Transcript<W> {
    file: Bounded<W>,
    stdout: Voice,
    stderr: Voice,
    latest: Stream,
}

/// What a program printed, once it has ended.
#[derive(Debug)]
pub struct Printed {
    /// The end of stdout.
    pub stdout: Kept,
    /// The end of stderr.
    pub stderr: Kept,
    /// The file, or why it is not whole.
    pub file: io::Result<Written>,
}

/// What the file has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The SHA-256 of its bytes, in lower-case hexadecimal.
    pub sha256: String,
    /// How many they are.
    pub bytes: u64,
    /// How many of those that were printed it has not.
    pub left_out: u64,
}

/// A file that gets the beginning and the end of something long.
struct Bounded<W> {
    file: W,
    /// How much of the beginning is still to come.
    beginning: u64,
    end: Tail,
    sum: Sha256,
    written: u64,
    fault: Option<io::Error>,
}

/// One stream.
struct Voice {
    mask: Mask,
    end: Tail,
}

impl Default for Room {
    /// 5 MiB of each.
    fn default() -> Self {
        let mebibytes = 5 * 1024 * 1024;
        Self { beginning: mebibytes as u64, end: mebibytes, each: mebibytes }
    }
}

impl<W: Write> Transcript<W> {
    /// Returns a transcript that goes to this file, which is empty.
    pub fn new(file: W, secrets: &Secrets, room: Room) -> Self {
        let voice = || Voice { mask: Mask::new(secrets.clone()), end: Tail::new(room.each) };
        let file = Bounded {
            file,
            beginning: room.beginning,
            end: Tail::new(room.end),
            sum: Sha256::new(),
            written: 0,
            fault: None,
        };
        Self { file, stdout: voice(), stderr: voice(), latest: Stream::Stdout }
    }

    /// Takes what was printed. A file that cannot be written stops nothing; it is told at the end.
    pub fn take(&mut self, stream: Stream, bytes: &[u8]) {
        self.latest = stream;
        let Voice { mask, end } = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        mask.pass(bytes, &mut |masked| {
            end.push(masked);
            self.file.push(masked);
        });
    }

    /// Returns the last line so far that has something in it, of whichever stream spoke last. It is foreign text: there may be
    /// something in it that a terminal obeys.
    pub fn last_line(&self) -> String {
        let voice = match self.latest {
            Stream::Stdout => &self.stdout,
            Stream::Stderr => &self.stderr,
        };
        let end = voice.end.end(LONGEST_LINE);
        let text = String::from_utf8_lossy(&end);
        let line = text.rsplit(['\n', '\r']).map(str::trim).find(|line| !line.is_empty());
        line.unwrap_or_default().to_owned()
    }

    /// Writes what is still to come in the file, and returns what is kept.
    pub fn finish(mut self) -> Printed {
        for Voice { mask, end } in [&mut self.stdout, &mut self.stderr] {
            mask.finish(&mut |masked| {
                end.push(masked);
                self.file.push(masked);
            });
        }
        Printed {
            stdout: self.stdout.end.finish(),
            stderr: self.stderr.end.finish(),
            file: self.file.finish(),
        }
    }
}

impl<W: Write> Bounded<W> {
    fn push(&mut self, bytes: &[u8]) {
        let room = usize::try_from(self.beginning).unwrap_or(usize::MAX);
        let (now, later) = bytes.split_at(bytes.len().min(room));
        self.beginning -= now.len() as u64;
        self.write(now);
        self.end.push(later);
    }

    fn finish(mut self) -> io::Result<Written> {
        let end = std::mem::replace(&mut self.end, Tail::new(0)).finish();
        if end.lost > 0 {
            self.write(format!("\n[{} bytes are left out here]\n", end.lost).as_bytes());
        }
        self.write(&end.bytes);
        match self.fault {
            Some(fault) => return Err(fault),
            None => self.file.flush()?,
        }
        Ok(Written {
            sha256: format!("{:x}", self.sum.finalize()),
            bytes: self.written,
            left_out: end.lost,
        })
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.fault.is_some() || bytes.is_empty() {
            return;
        }
        match self.file.write_all(bytes) {
            Ok(()) => {
                self.sum.update(bytes);
                self.written += bytes.len() as u64;
            }
            Err(fault) => self.fault = Some(fault),
        }
    }
}
