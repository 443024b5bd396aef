//! Objects read by their names, each once. Loose files are read here, and packs, also those that are borrowed from elsewhere; whatever
//! looks odd is left to libgit2, which knows every way an object can be stored. Writes nothing.
//!
//! An object counts only if its bytes have the name that was asked for. A name stands for the same bytes for ever, so what
//! was read need never be looked at again.

use super::alternates;
use std::cell::RefCell;
use std::io::{self, BufReader, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::bufread::ZlibDecoder;
use rustix::io::Errno;

use super::alternates::{Folders, Lost};
use super::object_cache::{Inflated, Kept};
use super::packs::Packs;
use crate::git::error::{AuditError, During};
use crate::git::objects::id::ObjectId;
use crate::git::objects::loose::{Kind, ObjectFolder, name, place_in};
use crate::git::repository::git_file;

/// Half of the room for objects that were read, in bytes; one flat folder of 100,000 tasks is 3.5 MB.
const ROOM: usize = 4 << 20;

/// No object of more bytes is read out of a pack here.
pub(crate) const LARGEST: usize = 64 << 20;

/// More than a small file has, so that one read tells that it has ended.
const SMALL: usize = 8 << 10;

/// Objects that were read lately, and the packs that they came from.
pub(crate) struct Known(RefCell<State>);

struct State {
    kept: Kept<ObjectId>,
    packs: Packs,
    /// The repository's own `objects` folder, and those that it borrows from, once they were looked for.
    folders: Option<Folders>,
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
        Self(RefCell::new(State { kept, packs, folders: None, last: Place::Loose }))
    }
}

/// Reads the objects of a repository.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'r> {
    git: &'r git2::Repository,
    folder: &'r ObjectFolder,
    known: &'r Known,
}

impl<'r> Reader<'r> {
    pub(crate) fn new(
        git: &'r git2::Repository,
        folder: &'r ObjectFolder,
        known: &'r Known,
    ) -> Self {
        Self { git, folder, known }
    }

    /// Returns the bytes of an object of that kind.
    pub(crate) fn read(self, kind: Kind, id: ObjectId) -> Result<Arc<[u8]>, AuditError> {
        let (found, bytes) = self.find(kind.word(), id)?;
        if found != kind {
            return Err(git2::Error::from_str(&format!("it is no {}", kind.word())))
                .during(|| format!("read the {} `{id}`", kind.word()));
        }
        Ok(bytes)
    }

    /// Returns an object of whatever kind.
    pub(crate) fn any(self, id: ObjectId) -> Result<Inflated, AuditError> {
        self.find("object", id)
    }

    /// Finds an object, which errors call by that word.
    fn find(self, word: &'static str, id: ObjectId) -> Result<Inflated, AuditError> {
        let State { kept, packs, folders, last } = &mut *self.known.0.borrow_mut();
        if let Some(known) = kept.get(id) {
            return Ok(known);
        }
        let Folders { here: folders, lost } = match folders {
            Some(known) => known,
            None => folders.insert(alternates::folders(self.folder.path())?),
        };
        let is_right = |(kind, bytes): &Inflated| name(*kind, bytes) == id;
        let places = if *last == Place::Loose {
            [Place::Loose, Place::Packed]
        } else {
            [Place::Packed, Place::Loose]
        };
        let found = places.into_iter().find_map(|place| {
            *last = place;
            match place {
                Place::Loose => {
                    folders.iter().filter_map(|folder| loose(&place_in(folder, id))).find(is_right)
                }
                Place::Packed => packs.read(folders, id).filter(is_right),
            }
        });
        let damaged = |file: Option<PathBuf>, detail: String| {
            let file = file.unwrap_or_else(|| self.folder.place(id));
            AuditError::Damaged { word, id, file, detail }
        };
        let mut files =
            folders.iter().map(|folder| place_in(folder, id)).filter(|file| file.exists());
        let object = match found {
            Some(object) => object,
            None if let Some(file) = files.clone().find(|file| is_cut_off(file)) => {
                return Err(damaged(Some(file), "its file ends too early".to_owned()));
            }
            None if let Some((fault, file)) =
                files.clone().find_map(|file| Some((git_file::check(&file).err()?, file))) =>
            {
                return Err(damaged(Some(file), fault.to_string()));
            }
            None if let Some((file, fault)) = packs.not_to_be_opened(folders) => {
                return Err(damaged(Some(file), fault));
            }
            None if packs.lead_astray(id) => {
                let wrong = packs.wrong(folders).map(|(file, _)| file);
                let file = files.next().or(wrong).or_else(|| packs.pack_of(id));
                return Err(damaged(
                    file,
                    "its pack ends too early, or the index of the pack is wrong".to_owned(),
                ));
            }
            None => match self.stored(id) {
                Ok(object) => object,
                Err(fault) => {
                    let is_absent = fault.code() == git2::ErrorCode::NotFound;
                    return Err(match (files.next(), packs.wrong(folders), lost.first()) {
                        (None, Some((file, detail)), _) => damaged(Some(file), detail),
                        (None, None, Some(Lost { folder, named_in, detail })) => {
                            AuditError::NotLent {
                                word,
                                id,
                                file: named_in.clone(),
                                folder: folder.clone(),
                                detail: detail.clone(),
                            }
                        }
                        (None, None, None) if is_absent => {
                            AuditError::Missing { word, id, partial: self.is_partial() }
                        }
                        (file, ..) => {
                            damaged(file.or_else(|| packs.pack_of(id)), fault.message().to_owned())
                        }
                    });
                }
            },
        };
        kept.keep(id, object.clone());
        Ok(object)
    }

    /// Says whether this is a partial clone, in which git gets objects from the remote when it needs them.
    fn is_partial(self) -> bool {
        let Ok(config) = self.git.config() else { return false };
        let promises = config.entries(Some(r"^remote\..*\.promisor$"));
        config.get_string("extensions.partialclone").is_ok()
            || promises.is_ok_and(|mut entries| entries.next().is_some())
    }

    fn stored(self, id: ObjectId) -> Result<Inflated, git2::Error> {
        let odb = self.git.odb()?;
        let object = odb.read(id.to_git())?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.to_git() == object.kind());
        let kind = kind.ok_or_else(|| git2::Error::from_str("it is of no known kind"))?;
        Ok((kind, Arc::from(object.data())))
    }
}

/// Reads a loose file.
fn loose(file: &Path) -> Option<Inflated> {
    let deflated = read_to_end(&git_file::open(file).ok()?, SMALL).ok()?;
    let mut bytes = Vec::with_capacity(deflated.len() * 2);
    ZlibDecoder::new(deflated.as_slice()).read_to_end(&mut bytes).ok()?;
    let start = bytes.iter().take(32).position(|byte| *byte == 0)? + 1;
    let kind = Kind::ALL.into_iter().find(|kind| bytes.starts_with(kind.word().as_bytes()))?;
    bytes.drain(..start);
    Some((kind, bytes.into()))
}

/// Says whether a loose file does not have all of an object, as a power cut leaves it. libgit2 waits for ever for the rest of one.
fn is_cut_off(file: &Path) -> bool {
    let Ok(file) = git_file::open(file) else { return false };
    let mut inflated = ZlibDecoder::new(BufReader::new(file));
    io::copy(&mut inflated, &mut io::sink())
        .is_err_and(|fault| fault.kind() == io::ErrorKind::UnexpectedEof)
}

/// Reads a file on a local disk to its end, in one call if it has fewer bytes than that: a read that brings less than it may is
/// the last one.
pub(crate) fn read_to_end(file: impl AsFd, expected: usize) -> io::Result<Vec<u8>> {
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
