//! The end of something long: the last bytes, and how many came before them.

use std::collections::VecDeque;

/// Takes any number of bytes, and keeps the last of them.
#[derive(Debug)]
pub(crate) struct Tail {
    kept: VecDeque<u8>,
    room: usize,
    lost: u64,
}

/// The end of what was printed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kept {
    /// The last bytes.
    pub bytes: Vec<u8>,
    /// How many came before them.
    pub lost: u64,
}

impl Tail {
    pub(crate) fn new(room: usize) -> Self {
        Self { kept: VecDeque::new(), room, lost: 0 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let last = &bytes[bytes.len().saturating_sub(self.room)..];
        let surplus = (self.kept.len() + last.len()).saturating_sub(self.room);
        self.kept.drain(..surplus);
        self.kept.extend(last);
        self.lost += (surplus + bytes.len() - last.len()) as u64;
    }

    /// Returns the last of them, at most that many.
    pub(crate) fn end(&self, length: usize) -> Vec<u8> {
        self.kept.range(self.kept.len().saturating_sub(length)..).copied().collect()
    }

    pub(crate) fn finish(self) -> Kept {
        Kept { bytes: self.kept.into(), lost: self.lost }
    }
}
