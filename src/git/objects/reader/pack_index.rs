//! The index of a pack, version 2: where in the pack each object lies. A few looks read a few hundred bytes each; of a small
//! index, and after many looks, all of it is held, and the file closed.
//!
//! It begins with a magic number and, for each first byte of a name, how many names have that one or a lower one. The names follow in
//! order, then a checksum and an offset for each.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::git::objects::id::ObjectId;
use crate::git::repository::git_file;

const MAGIC: [u8; 8] = *b"\xfftOc\0\0\0\x02";
/// Where the names begin.
const NAMES: u64 = START as u64;
const START: usize = 8 + 256 * 4;
const NAME: usize = 20;
/// So many names are read at once. They are spread evenly, so a guess is seldom further off, whatever the size of the pack.
const GLANCE: u64 = ROOM as u64;
const ROOM: usize = 128;
/// After so many looks all of it is read, if there is room.
const MANY: u32 = 256;
/// An index of no more bytes is read at once.
const SMALL: u64 = 64 << 10;
/// An offset with this bit is the number of one of eight bytes, behind those of four.
const FAR: u32 = 1 << 31;

/// The index of one pack.
pub(crate) struct Index {
    bytes: Bytes,
    /// How many names begin with a byte up to this one.
    up_to: Box<[u32; 256]>,
    looks: u32,
}

/// Where its bytes are.
enum Bytes {
    Stored(File),
    Held(Vec<u8>),
}

impl Index {
    /// Opens an index; nothing where it is none of version 2. What it holds is taken from the room.
    pub(crate) fn open(path: &Path, room: &mut u64) -> Option<Self> {
        let file = git_file::open(path).ok()?;
        let mut start = [0; START];
        file.read_exact_at(&mut start, 0).ok()?;
        let counts = start.strip_prefix(&MAGIC)?;
        let mut up_to = Box::new([0; 256]);
        for (count, bytes) in up_to.iter_mut().zip(counts.chunks_exact(4)) {
            *count = u32::from_be_bytes(bytes.try_into().ok()?);
        }
        let size = file.metadata().ok()?.len();
        let mut bytes = Bytes::Stored(file);
        if size <= SMALL {
            bytes.hold(room);
        }
        up_to.is_sorted().then_some(Self { bytes, up_to, looks: 0 })
    }

    /// Returns at which byte of the pack an object begins, if it is in it. What is held from then on is taken from the room.
    pub(crate) fn find(&mut self, id: ObjectId, room: &mut u64) -> Option<u64> {
        let name = id.as_bytes();
        let first = usize::from(name[0]);
        let from = if first == 0 { 0 } else { u64::from(self.up_to[first - 1]) };
        let to = u64::from(self.up_to[first]);
        self.looks = self.looks.saturating_add(1);
        if self.looks == MANY {
            self.bytes.hold(room);
        }
        let next = u64::from(u32::from_be_bytes([name[1], name[2], name[3], name[4]]));
        self.search(name, (from, to), from + (((to - from) * next) >> 32))
    }

    /// Returns how many bytes are held.
    pub(crate) fn held(&self) -> u64 {
        match &self.bytes {
            Bytes::Stored(_) => 0,
            Bytes::Held(bytes) => bytes.len() as u64,
        }
    }

    /// Finds a name among some, beginning where it would be if they were spread evenly.
    fn search(
        &self,
        name: &[u8; NAME],
        (mut from, mut to): (u64, u64),
        mut guess: u64,
    ) -> Option<u64> {
        let mut room = [0; ROOM * NAME];
        while from < to {
            let start = guess.saturating_sub(GLANCE / 2).clamp(from, to - 1);
            let count = GLANCE.min(to - start);
            let names = self.names(start, count, &mut room)?;
            match names.binary_search(name) {
                Ok(place) => return self.offset(start + u64::try_from(place).ok()?),
                Err(0) => to = start,
                Err(place) if place == names.len() => from = start + count,
                Err(_) => return None,
            }
            guess = from + (to - from) / 2;
        }
        None
    }

    /// Returns so many names from a place on.
    fn names<'n>(&'n self, start: u64, count: u64, room: &'n mut [u8]) -> Option<&'n [[u8; NAME]]> {
        let room = room.get_mut(..usize::try_from(count).ok()? * NAME)?;
        Some(self.bytes.at(NAMES + start * NAME as u64, room)?.as_chunks().0)
    }

    fn offset(&self, place: u64) -> Option<u64> {
        let count = u64::from(self.up_to[255]);
        let offsets = NAMES + count * (NAME as u64 + 4);
        let near = self
            .bytes
            .at(offsets + place * 4, &mut [0; 4])?
            .try_into()
            .map(u32::from_be_bytes)
            .ok()?;
        if near & FAR == 0 {
            return Some(u64::from(near));
        }
        let far = offsets + count * 4 + u64::from(near ^ FAR) * 8;
        self.bytes.at(far, &mut [0; 8])?.try_into().map(u64::from_be_bytes).ok()
    }
}

impl Bytes {
    /// Reads all of it, as far as there is room, and closes the file.
    fn hold(&mut self, room: &mut u64) {
        let Self::Stored(file) = self else { return };
        let Ok(size) = file.metadata().map(|found| found.len()) else { return };
        let read = |size| -> io::Result<Vec<u8>> {
            let mut bytes = vec![0; size];
            file.read_exact_at(&mut bytes, 0)?;
            Ok(bytes)
        };
        if let (Some(left), Ok(size)) = (room.checked_sub(size), usize::try_from(size))
            && let Ok(bytes) = read(size)
        {
            *room = left;
            *self = Self::Held(bytes);
        }
    }

    /// Returns the bytes there, as many as the room has.
    fn at<'b>(&'b self, start: u64, room: &'b mut [u8]) -> Option<&'b [u8]> {
        match self {
            Self::Held(bytes) => bytes.get(usize::try_from(start).ok()?..)?.get(..room.len()),
            Self::Stored(file) => file.read_exact_at(room, start).ok().map(|()| &*room),
        }
    }
}
