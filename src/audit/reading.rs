//! Objects read by their names, each once. Loose files are read here; what is packed or borrowed from elsewhere, and whatever
//! looks odd, is left to libgit2, which knows every way an object can be stored. Writes nothing.
//!
//! A loose object counts only if its bytes have the name that was asked for. A name stands for the same bytes for ever, so what
//! was read need never be looked at again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::Arc;

use flate2::bufread::ZlibDecoder;
use rustix::io::Errno;

use super::error::{AuditError, During};
use super::id::ObjectId;
use super::objects::{Kind, ObjectFolder, name};

/// Inflated objects kept for the next look; one flat folder of 100,000 tasks is 3.5 MB.
const KEPT_BYTES: usize = 16 << 20;

/// More than a small file has, so that one read tells that it has ended.
const SMALL: usize = 8 << 10;

/// Objects that were read lately.
#[derive(Default)]
pub(super) struct Kept(RefCell<Known>);

#[derive(Default)]
struct Known {
    objects: HashMap<ObjectId, (Kind, Arc<[u8]>)>,
    /// How many bytes they have.
    size: usize,
}

/// Reads the objects of a repository.
#[derive(Clone, Copy)]
pub(super) struct Reader<'r> {
    git: &'r git2::Repository,
    folder: &'r ObjectFolder,
    kept: &'r Kept,
}

impl<'r> Reader<'r> {
    pub(super) fn new(git: &'r git2::Repository, folder: &'r ObjectFolder, kept: &'r Kept) -> Self {
        Self { git, folder, kept }
    }

    /// Returns the bytes of an object of that kind.
    pub(super) fn read(self, kind: Kind, id: ObjectId) -> Result<Arc<[u8]>, AuditError> {
        if let Some((_, bytes)) = self.kept.0.borrow().objects.get(&id).filter(|(known, _)| *known == kind) {
            return Ok(Arc::clone(bytes));
        }
        let bytes: Arc<[u8]> = match self.loose(kind, id) {
            Some(bytes) => bytes.into(),
            None => self.stored(kind, id).during(|| format!("read the {} `{id}`", kind.word()))?,
        };
        let mut kept = self.kept.0.borrow_mut();
        if kept.size > KEPT_BYTES {
            *kept = Known::default();
        }
        kept.size += bytes.len();
        kept.objects.insert(id, (kind, Arc::clone(&bytes)));
        Ok(bytes)
    }

    fn loose(self, kind: Kind, id: ObjectId) -> Option<Vec<u8>> {
        let file = File::open(self.folder.place(id)).ok()?;
        let deflated = read_to_end(&file, SMALL).ok()?;
        let mut bytes = Vec::with_capacity(deflated.len() * 2);
        ZlibDecoder::new(deflated.as_slice()).read_to_end(&mut bytes).ok()?;
        let start = bytes.iter().take(32).position(|byte| *byte == 0)? + 1;
        bytes.drain(..start);
        (name(kind, &bytes) == id).then_some(bytes)
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
