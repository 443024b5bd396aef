//! Objects read out of the packs of some folders. Answers with nothing wherever it is in doubt: who asked has libgit2 for
//! that, and expects the bytes to have the name that they were asked by.
//!
//! A pack keeps most objects as changes of others, a chain of up to some fifty. What came out on the way is kept: history is read in
//! order, so it is what is asked for next.

use std::cell::OnceCell;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use flate2::Decompress;

use super::delta;
use super::object_cache::{Inflated, Kept};
use super::pack_checksum::damage;
use super::pack_file::{Form, Packed};
use super::pack_index::Index;
use super::reader::LARGEST;
use crate::git::objects::id::ObjectId;
use crate::git::repository::git_file;

/// So many packs are held open at most, the largest; a repository that is looked after has few. Many repositories may be open at once,
/// and a process has few files.
const MOST: usize = 8;
/// Room for the indexes of them all, in bytes.
const INDEXES: u64 = 8 << 20;
/// No chain that git makes is longer.
const LONGEST: usize = 4_095;
/// Half of the room for what came out on the way, in bytes.
const ROOM: usize = 4 << 20;

/// The packs of a repository, and of those that it borrows from.
pub(crate) struct Packs {
    held: Vec<Pack>,
    /// What is left of the room for their indexes.
    room: u64,
    /// What cannot be opened as a file is, in place of an index; libgit2 would wait for it.
    strange: Option<(PathBuf, String)>,
    /// What is wrong with the packs or their indexes, once that was asked for.
    wrong: OnceCell<Option<Wrong>>,
    /// When the folders were changed last that they were found in.
    changed: Vec<Option<SystemTime>>,
    /// Which one had the last object.
    last: usize,
    /// The number of the next one.
    next: usize,
    /// By the number of the pack, and the place in it.
    kept: Kept<(usize, u64)>,
    inflater: Decompress,
}

/// A file that is damaged, and how.
pub(crate) type Wrong = (PathBuf, String);

struct Pack {
    path: PathBuf,
    /// What tells it from all others that were ever held.
    number: usize,
    index: Index,
    packed: Packed,
}

impl Default for Packs {
    fn default() -> Self {
        let (held, kept, inflater) = (Vec::new(), Kept::with_room(ROOM), Decompress::new(true));
        let (strange, wrong) = (None, OnceCell::new());
        Self {
            held,
            room: INDEXES,
            strange,
            wrong,
            changed: Vec::new(),
            last: 0,
            next: 0,
            kept,
            inflater,
        }
    }
}

impl Packs {
    /// Returns an object that is in one of the packs of these `objects` folders.
    pub(crate) fn read(&mut self, objects: &[PathBuf], id: ObjectId) -> Option<Inflated> {
        let found = match self.find(id) {
            Some(found) => found,
            None if self.look(objects) => self.find(id)?,
            None => return None,
        };
        self.inflated(found)
    }

    /// Says whether an index has an object behind the end of its pack. libgit2 would read there.
    pub(crate) fn lead_astray(&mut self, id: ObjectId) -> bool {
        self.find(id)
            .is_some_and(|(place, at)| self.held[place].packed.size().is_none_or(|size| at >= size))
    }

    /// Returns what stands in the place of an index and cannot be opened, with why.
    pub(crate) fn not_to_be_opened(&mut self, objects: &[PathBuf]) -> Option<Wrong> {
        self.look(objects);
        self.strange.clone()
    }

    /// Returns a pack or an index that is damaged, if one is. Reads every index whole, so it is asked for where an object was not found.
    pub(crate) fn wrong(&mut self, objects: &[PathBuf]) -> Option<Wrong> {
        self.look(objects);
        self.wrong.get_or_init(|| indexes(objects).find_map(|(path, _)| damage(&path))).clone()
    }

    /// Returns the path of the pack that has an object.
    pub(crate) fn pack_of(&mut self, id: ObjectId) -> Option<PathBuf> {
        let (place, _) = self.find(id)?;
        Some(self.held[place].path.with_extension("pack"))
    }

    /// Returns which pack has an object, and where.
    fn find(&mut self, id: ObjectId) -> Option<(usize, u64)> {
        let count = self.held.len();
        for place in (0..count).map(|step| (self.last + step) % count) {
            if let Some(at) = self.held[place].index.find(id, &mut self.room) {
                self.last = place;
                return Some((place, at));
            }
        }
        None
    }

    /// Looks which packs there are, and says whether there are others than before.
    fn look(&mut self, objects: &[PathBuf]) -> bool {
        let folders = || objects.iter().map(|folder| folder.join("pack"));
        let changed = folders()
            .map(|folder| fs::metadata(folder).and_then(|found| found.modified()).ok())
            .collect();
        if self.changed == changed {
            return false;
        }
        self.changed = changed;
        let mut found: Vec<(PathBuf, u64)> = indexes(objects).collect();
        self.strange = found
            .iter()
            .find_map(|(path, _)| Some((path.clone(), git_file::check(path).err()?.to_string())));
        self.wrong.take();
        found.sort_by(|(one, size), (other, other_size)| (other_size, other).cmp(&(size, one)));
        let mut known: Vec<Pack> = std::mem::take(&mut self.held);
        for (path, _) in found.into_iter().take(MOST) {
            if let Some(place) = known.iter().position(|pack| pack.path == path) {
                self.held.push(known.swap_remove(place));
            } else if let (Some(index), Some(packed)) =
                (Index::open(&path, &mut self.room), Packed::open(&path.with_extension("pack")))
            {
                self.held.push(Pack { path, number: self.next, index, packed });
                self.next += 1;
            }
        }
        self.room = INDEXES.saturating_sub(self.held.iter().map(|pack| pack.index.held()).sum());
        self.last = 0;
        true
    }

    /// Follows the chain to something that is known or whole, and makes what was asked for of it.
    fn inflated(&mut self, (place, mut at): (usize, u64)) -> Option<Inflated> {
        let Pack { number, index, packed, .. } = &mut self.held[place];
        let (mut changes, mut size) = (Vec::<(u64, Vec<u8>)>::new(), 0);
        let mut object = loop {
            if let Some(known) = self.kept.get((*number, at)) {
                break known;
            }
            let stored = packed.stored(at)?;
            let bytes = packed.inflate(&stored, &mut self.inflater)?;
            let base = match stored.form {
                Form::Whole(kind) => {
                    let object: Inflated = (kind, Arc::from(bytes));
                    self.kept.keep((*number, at), object.clone());
                    break object;
                }
                Form::ChangeOf(base) => base,
                Form::ChangeOfNamed(id) => index.find(id, &mut self.room)?,
            };
            size += bytes.len();
            changes.push((at, bytes));
            at = base;
            if changes.len() > LONGEST || size > LARGEST {
                return None;
            }
        };
        for (at, change) in changes.into_iter().rev() {
            object = (object.0, Arc::from(delta::apply(&object.1, &change)?));
            self.kept.keep((*number, at), object.clone());
        }
        Some(object)
    }
}

/// Returns the indexes of packs in these folders, each with its size.
fn indexes(objects: &[PathBuf]) -> impl Iterator<Item = (PathBuf, u64)> {
    let entries =
        objects.iter().filter_map(|folder| fs::read_dir(folder.join("pack")).ok()).flatten();
    entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let path = entry.path();
        (path.extension()? == "idx").then_some((path, entry.metadata().ok()?.len()))
    })
}
