//! Objects read by their names, each once. Loose files are read here, and packs; what is borrowed from elsewhere, and whatever
//! looks odd, is left to libgit2, which knows every way an object can be stored. Writes nothing.
//!
//! An object counts only if its bytes have the name that was asked for. A name stands for the same bytes for ever, so what
//! was read need never be looked at again.

mod delta;
mod index;
mod kept;
mod packed;
mod packs;

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::fd::AsFd;
use std::sync::Arc;

use flate2::bufread::ZlibDecoder;
use rustix::io::Errno;

use self::kept::{Inflated, Kept};
use self::packs::Packs;
use super::error::{AuditError, During};
use super::id::ObjectId;
use super::objects::{Kind, ObjectFolder, name};

/// Half of the room for objects that were read, in bytes; one flat folder of 100,000 tasks is 3.5 MB.
const ROOM: usize = 4 << 20;

/// No object of more bytes is read out of a pack here.
const LARGEST: usize = 64 << 20;

/// More than a small file has, so that one read tells that it has ended.
const SMALL: usize = 8 << 10;

/// Objects that were read lately, and the packs that they came from.
pub(super) struct Known(RefCell<State>);

struct State {
    kept: Kept<ObjectId>,
    packs: Packs,
    /// Where the last object was, and the next one probably is.
    last: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Loose,
    Packed,
}

impl Default for Known {
    fn default() -> Self {
        let (kept, packs) = (Kept::with_room(ROOM), Packs::default());
        Self(RefCell::new(State { kept, packs, last: Place::Loose }))
    }
}

/// Reads the objects of a repository.
#[derive(Clone, Copy)]
pub(super) struct Reader<'r> {
    git: &'r git2::Repository,
    folder: &'r ObjectFolder,
    known: &'r Known,
}

impl<'r> Reader<'r> {
    pub(super) fn new(git: &'r git2::Repository, folder: &'r ObjectFolder, known: &'r Known) -> Self {
        Self { git, folder, known }
    }

    /// Returns the bytes of an object of that kind.
    pub(super) fn read(self, kind: Kind, id: ObjectId) -> Result<Arc<[u8]>, AuditError> {
        let State { kept, packs, last } = &mut *self.known.0.borrow_mut();
        if let Some((_, bytes)) = kept.get(id).filter(|(known, _)| *known == kind) {
            return Ok(bytes);
        }
        let places = if *last == Place::Loose { [Place::Loose, Place::Packed] } else { [Place::Packed, Place::Loose] };
        let found = places.into_iter().find_map(|place| {
            let object = match place {
                Place::Loose => self.loose(kind, id),
                Place::Packed => packs.read(self.folder.path(), id),
            };
            *last = place;
            object.filter(|(found, bytes)| *found == kind && name(kind, bytes) == id)
        });
        let bytes = match found {
            Some((_, bytes)) => bytes,
            None if self.is_cut_off(id) || packs.lead_astray(id) => {
                return Err(git2::Error::from_str("its file ends too early; `git fsck` tells more"))
                    .during(|| format!("read the {} `{id}`", kind.word()));
            }
            None => self.stored(kind, id).during(|| format!("read the {} `{id}`", kind.word()))?,
        };
        kept.keep(id, (kind, Arc::clone(&bytes)));
        Ok(bytes)
    }

    fn loose(self, kind: Kind, id: ObjectId) -> Option<Inflated> {
        let file = File::open(self.folder.place(id)).ok()?;
        let deflated = read_to_end(&file, SMALL).ok()?;
        let mut bytes = Vec::with_capacity(deflated.len() * 2);
        ZlibDecoder::new(deflated.as_slice()).read_to_end(&mut bytes).ok()?;
        let start = bytes.iter().take(32).position(|byte| *byte == 0)? + 1;
        bytes.drain(..start);
        Some((kind, bytes.into()))
    }

    /// Says whether there is a loose file that does not have all of an object, as a power cut leaves it. libgit2 waits for ever for the
    /// rest of one.
    fn is_cut_off(self, id: ObjectId) -> bool {
        let Ok(file) = File::open(self.folder.place(id)) else { return false };
        let mut inflated = ZlibDecoder::new(BufReader::new(file));
        io::copy(&mut inflated, &mut io::sink()).is_err_and(|fault| fault.kind() == io::ErrorKind::UnexpectedEof)
    }

    fn stored(self, kind: Kind, id: ObjectId) -> Result<Arc<[u8]>, git2::Error> {
        let odb = self.git.odb()?;
        let object = odb.read(id.to_git())?;
        if object.kind() != kind.to_git() {
            return Err(git2::Error::from_str(&format!("it is no {}", kind.word())));
        }
        Ok(Arc::from(object.data()))
    }
}

/// Reads a file on a local disk to its end, in one call if it has fewer bytes than that: a read that brings less than it may is
/// the last one.
pub(super) fn read_to_end(file: impl AsFd, expected: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(expected + 1);
    loop {
        let room = bytes.capacity() - bytes.len();
        match rustix::io::read(&file, rustix::buffer::spare_capacity(&mut bytes)) {
            Ok(read) if read < room => return Ok(bytes),
            Ok(_) => bytes.reserve(bytes.len()),
            Err(Errno::INTR) => {}
            Err(cause) => return Err(cause.into()),
        }
    }
}

#[cfg(test)]
mod tests;
