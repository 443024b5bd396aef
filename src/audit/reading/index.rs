//! The index of a pack, version 2: where in the pack each object lies. A few looks read a few hundred bytes each; of many, all names are
//! held.
//!
//! It begins with a magic number and, for each first byte of a name, how many names have that one or a lower one. The names follow in
//! order, then a checksum and an offset for each.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::audit::id::ObjectId;

const MAGIC: [u8; 8] = *b"\xfftOc\0\0\0\x02";
/// Where the names begin.
const NAMES: u64 = START as u64;
const START: usize = 8 + 256 * 4;
const NAME: usize = 20;
/// So many names are read at once. They are spread evenly, so a guess is seldom further off, whatever the size of the pack.
const GLANCE: u64 = ROOM as u64;
const ROOM: usize = 128;
/// After so many looks all names are read, if they have not more bytes than that.
const MANY: u32 = 256;
const LARGEST: u64 = 32 << 20;
/// An offset with this bit is the number of one of eight bytes, behind those of four.
const FAR: u32 = 1 << 31;

/// The index of one pack.
pub(super) struct Index {
    file: File,
    /// How many names begin with a byte up to this one.
    up_to: Box<[u32; 256]>,
    looks: u32,
    /// All names, in order, once many were looked for.
    names: Option<Vec<u8>>,
}

impl Index {
    /// Opens an index; nothing where it is none of version 2.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let mut start = [0; START];
        file.read_exact_at(&mut start, 0).ok()?;
        let counts = start.strip_prefix(&MAGIC)?;
        let mut up_to = Box::new([0; 256]);
        for (count, bytes) in up_to.iter_mut().zip(counts.chunks_exact(4)) {
            *count = u32::from_be_bytes(bytes.try_into().ok()?);
        }
        up_to.is_sorted().then_some(Self { file, up_to, looks: 0, names: None })
    }

    /// Returns at which byte of the pack an object begins, if it is in it.
    pub(super) fn find(&mut self, id: ObjectId) -> Option<u64> {
        let name = id.as_bytes();
        let first = usize::from(name[0]);
        let from = if first == 0 { 0 } else { u64::from(self.up_to[first - 1]) };
        let to = u64::from(self.up_to[first]);
        self.looks = self.looks.saturating_add(1);
        if self.looks == MANY {
            self.names = self.all_names();
        }
        let next = u64::from(u32::from_be_bytes([name[1], name[2], name[3], name[4]]));
        self.search(name, (from, to), from + (((to - from) * next) >> 32))
    }

    fn all_names(&self) -> Option<Vec<u8>> {
        let size = u64::from(self.up_to[255]) * NAME as u64;
        let mut names = vec![0; usize::try_from(size).ok().filter(|_| size <= LARGEST)?];
        self.file.read_exact_at(&mut names, NAMES).ok()?;
        Some(names)
    }

    /// Finds a name among some, beginning where it would be if they were spread evenly.
    fn search(&self, name: &[u8; NAME], (mut from, mut to): (u64, u64), mut guess: u64) -> Option<u64> {
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
        let size = usize::try_from(count).ok()? * NAME;
        let bytes = if let Some(names) = &self.names {
            let start = usize::try_from(start).ok()? * NAME;
            names.get(start..start + size)?
        } else {
            let room = room.get_mut(..size)?;
            self.file.read_exact_at(room, NAMES + start * NAME as u64).ok()?;
            room
        };
        Some(bytes.as_chunks().0)
    }

    fn offset(&self, place: u64) -> Option<u64> {
        let count = u64::from(self.up_to[255]);
        let offsets = NAMES + count * (NAME as u64 + 4);
        let mut near = [0; 4];
        self.file.read_exact_at(&mut near, offsets + place * 4).ok()?;
        let near = u32::from_be_bytes(near);
        if near & FAR == 0 {
            return Some(u64::from(near));
        }
        let mut far = [0; 8];
        self.file.read_exact_at(&mut far, offsets + count * 4 + u64::from(near ^ FAR) * 8).ok()?;
        Some(u64::from_be_bytes(far))
    }
}
