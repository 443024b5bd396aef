//! Objects read by their names. Loose files are read here, since libgit2 waits for ever for the rest of one that ends too early; packs are
//! read by libgit2. Writes nothing.
//!
//! An object counts only if its bytes have the name that was asked for. A name stands for the same bytes for ever, so what was read need
//! never be read again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use flate2::bufread::ZlibDecoder;

use super::alternates::{Folders, Lost, folders};
use super::git_file;
use super::loose::{Kind, ObjectFolder, name, place_in};
use super::pack_damage::{damage, indexes};
use crate::git::error::{During, GitError};
use crate::git::id::ObjectId;

/// Half of the room for objects that were read, in bytes; one flat folder of 100,000 tasks is 3.5 MB.
const ROOM: usize = 4 << 20;

/// More than a small file has, so that one read tells that it has ended.
const SMALL: usize = 8 << 10;

/// An object's kind and its bytes.
pub(crate) type Inflated = (Kind, Arc<[u8]>);

/// Objects that were read lately, and where objects are.
#[derive(Default)]
pub(crate) struct Known(RefCell<State>);

#[derive(Default)]
struct State {
    cache: Cache,
    /// The repository's own `objects` folder, and those that it borrows from, once they were looked for.
    folders: Option<Folders>,
    /// When the folders of packs were changed last, as of when libgit2 was found to be able to open them.
    packs: Vec<Option<SystemTime>>,
}

/// Objects in two halves: what is asked for moves to the newer one, and the older one is dropped as a whole.
#[derive(Default)]
struct Cache {
    newer: HashMap<ObjectId, Inflated>,
    older: HashMap<ObjectId, Inflated>,
    /// How many bytes the newer half holds.
    size: usize,
}

impl Cache {
    fn get(&mut self, id: ObjectId) -> Option<Inflated> {
        if let Some(found) = self.newer.get(&id) {
            return Some(found.clone());
        }
        let found = self.older.remove(&id)?;
        self.keep(id, found.clone());
        Some(found)
    }

    /// Keeps an object, unless it alone would take all the room.
    fn keep(&mut self, id: ObjectId, object: Inflated) {
        if object.1.len() > ROOM {
            return;
        }
        if self.size > ROOM {
            self.older = std::mem::take(&mut self.newer);
            self.size = 0;
        }
        self.size += object.1.len();
        self.newer.insert(id, object);
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
    pub(crate) fn read(self, kind: Kind, id: ObjectId) -> Result<Arc<[u8]>, GitError> {
        let (found, bytes) = self.find(kind.word(), id)?;
        if found != kind {
            return Err(git2::Error::from_str(&format!("it is no {}", kind.word())))
                .during(|| format!("read the {} `{id}`", kind.word()));
        }
        Ok(bytes)
    }

    /// Returns an object of whatever kind.
    pub(crate) fn any(self, id: ObjectId) -> Result<Inflated, GitError> {
        self.find("object", id)
    }

    /// Finds an object, which errors call by that word.
    fn find(self, word: &'static str, id: ObjectId) -> Result<Inflated, GitError> {
        let State { cache, folders: known, packs } = &mut *self.known.0.borrow_mut();
        if let Some(object) = cache.get(id) {
            return Ok(object);
        }
        let Folders { here, lost } = match known {
            Some(known) => known,
            None => known.insert(folders(self.folder.path())?),
        };
        let mut files = here.iter().map(|folder| place_in(folder, id));
        let is_right = |(kind, bytes): &Inflated| name(*kind, bytes) == id;
        if let Some(object) = files.clone().filter_map(|file| loose(&file)).find(is_right) {
            cache.keep(id, object.clone());
            return Ok(object);
        }
        let damaged = |file, detail: String| GitError::Damaged { word, id, file, detail };
        for file in files.clone() {
            check_loose(&file).map_err(|detail| damaged(file, detail))?;
        }
        check_packs(here, packs).map_err(|(file, detail)| damaged(file, detail))?;
        let fault = match self.stored(id) {
            Ok(object) if is_right(&object) => {
                cache.keep(id, object.clone());
                return Ok(object);
            }
            Ok(_) => git2::Error::from_str("its bytes are those of another object"),
            Err(fault) => fault,
        };
        let loose = files.find(|file| file.exists());
        Err(match (loose, lost.first()) {
            (Some(file), _) => damaged(file, fault.message().to_owned()),
            (None, Some(Lost { folder, named_in, detail })) => GitError::NotLent {
                word,
                id,
                file: named_in.clone(),
                folder: folder.clone(),
                detail: detail.clone(),
            },
            (None, None) if fault.code() == git2::ErrorCode::NotFound => {
                GitError::Missing { word, id, partial: self.is_partial() }
            }
            (None, None) => damaged(self.folder.place(id), fault.message().to_owned()),
        })
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
    let deflated = git_file::read_to_end(&git_file::open(file).ok()?, SMALL).ok()?;
    let mut bytes = Vec::with_capacity(deflated.len() * 2);
    ZlibDecoder::new(deflated.as_slice()).read_to_end(&mut bytes).ok()?;
    let start = bytes.iter().take(32).position(|byte| *byte == 0)? + 1;
    let kind = Kind::ALL.into_iter().find(|kind| bytes.starts_with(kind.word().as_bytes()))?;
    bytes.drain(..start);
    Some((kind, bytes.into()))
}

/// Fails where libgit2 would wait for ever for a loose file: it is a pipe, or ends too early, as a power cut leaves one.
fn check_loose(file: &Path) -> Result<(), String> {
    git_file::check(file).map_err(|fault| fault.to_string())?;
    let Ok(file) = git_file::open(file) else { return Ok(()) };
    let mut inflated = ZlibDecoder::new(BufReader::new(file));
    match io::copy(&mut inflated, &mut io::sink()) {
        Err(fault) if fault.kind() == io::ErrorKind::UnexpectedEof => {
            Err("its file ends too early".to_owned())
        }
        _ => Ok(()),
    }
}

/// Fails where a pack or its index is damaged: libgit2 would wait for a pipe, and crashes where an index leads behind the end of its pack.
/// Looks again only where packs came or went.
fn check_packs(
    objects: &[PathBuf],
    checked: &mut Vec<Option<SystemTime>>,
) -> Result<(), (PathBuf, String)> {
    let changed = |folder: &PathBuf| {
        fs::metadata(folder.join("pack")).and_then(|found| found.modified()).ok()
    };
    let now: Vec<_> = objects.iter().map(changed).collect();
    if *checked != now {
        indexes(objects).find_map(|index| damage(&index)).map_or(Ok(()), Err)?;
        *checked = now;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
