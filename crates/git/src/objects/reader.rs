//! Objects read by their names. Loose files are read here, since libgit2 waits for ever for the rest of a truncated one; libgit2 reads
//! packs. Writes nothing.
//!
//! An object counts only if its bytes have the requested name. A name means the same bytes for ever, so an object is never read twice.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use flate2::bufread::ZlibDecoder;
use sha1::{Digest, Sha1};

use super::git_file;
use super::loose::{ObjectFolder, ObjectKind, name, place_in};
use crate::error::{During, GitError};
use crate::id::ObjectId;
use aof_system::disk::read_expected;

/// Half of the size of the object cache, in bytes; one flat folder of 100,000 tasks is 3.5 MB.
const ROOM: usize = 4 << 20;

/// The number of missing loose objects in a folder after which the folder is listed.
const MISSES: usize = 4;

/// The time for which a listing counts as current. An object written meanwhile is still found: libgit2 looks for it again.
const FRESH: Duration = Duration::from_millis(100);

/// An object's kind and its bytes.
pub(crate) type Inflated = (ObjectKind, Arc<[u8]>);

/// Objects that were read recently, and the folders that objects are in.
#[derive(Default)]
pub(crate) struct ObjectCache(RefCell<CacheState>);

#[derive(Default)]
struct CacheState {
    cache: Cache,
    /// The repository's own `objects` folder and those that it borrows from, once they have been looked for.
    folders: Option<ObjectFolders>,
    loose: LooseFolders,
    packs: CheckedPacks,
}

/// The modification times that the folders of packs had when libgit2 was last found to be able to open the packs.
#[derive(Default)]
struct CheckedPacks {
    looked: Option<Instant>,
    changed: Vec<Option<SystemTime>>,
}

/// The loose files in folders where many were missing: a walk through packed history looks for each object.
#[derive(Default)]
struct LooseFolders(HashMap<PathBuf, LooseFolder>);

#[derive(Default)]
struct LooseFolder {
    misses: usize,
    names: Option<(Instant, HashSet<OsString>)>,
}

impl LooseFolders {
    /// Returns `false` if a file is known to be missing.
    fn may_have(&mut self, file: &Path) -> bool {
        let (Some(path), Some(name)) = (file.parent(), file.file_name()) else { return true };
        let Some(folder) = self.0.get_mut(path).filter(|folder| folder.misses >= MISSES) else {
            return true;
        };
        match &folder.names {
            Some((listed, names)) if listed.elapsed() < FRESH => names.contains(name),
            _ => match list(path) {
                Ok(names) => folder.names.insert((Instant::now(), names)).1.contains(name),
                Err(_) => true,
            },
        }
    }

    /// Notes that a file is missing.
    fn miss(&mut self, file: &Path) {
        let folder = file.parent().unwrap_or(file);
        match self.0.get_mut(folder) {
            Some(known) => known.misses += 1,
            None => drop(self.0.insert(folder.to_owned(), LooseFolder { misses: 1, names: None })),
        }
    }
}

/// Lists a folder; a missing one counts as empty.
fn list(folder: &Path) -> io::Result<HashSet<OsString>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.file_name())).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(HashSet::new()),
        Err(error) => Err(error),
    }
}

/// Objects in two halves: a requested object moves to the newer one, and the older one is dropped as a whole.
#[derive(Default)]
struct Cache {
    newer: HashMap<ObjectId, Inflated>,
    older: HashMap<ObjectId, Inflated>,
    /// The number of bytes in the newer half.
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

    /// Keeps an object, unless it alone would fill the cache.
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
pub(crate) struct ObjectReader<'r> {
    git: &'r git2::Repository,
    folder: &'r ObjectFolder,
    known: &'r ObjectCache,
}

impl<'r> ObjectReader<'r> {
    pub(crate) fn new(
        git: &'r git2::Repository,
        folder: &'r ObjectFolder,
        known: &'r ObjectCache,
    ) -> Self {
        Self { git, folder, known }
    }

    /// Returns the bytes of an object of that kind.
    pub(crate) fn read(self, kind: ObjectKind, id: ObjectId) -> Result<Arc<[u8]>, GitError> {
        let (found, bytes) = self.find(kind.word(), id)?;
        if found != kind {
            return Err(git2::Error::from_str(&format!("it is no {}", kind.word())))
                .during(|| format!("read the {} `{id}`", kind.word()));
        }
        Ok(bytes)
    }

    /// Returns an object of any kind.
    pub(crate) fn any(self, id: ObjectId) -> Result<Inflated, GitError> {
        self.find("object", id)
    }

    /// Finds an object, which errors call by that word.
    fn find(self, word: &'static str, id: ObjectId) -> Result<Inflated, GitError> {
        let CacheState { cache, folders: known, loose: loose_folders, packs } =
            &mut *self.known.0.borrow_mut();
        if let Some(object) = cache.get(id) {
            return Ok(object);
        }
        let ObjectFolders { here, lost } = match known {
            Some(known) => known,
            None => known.insert(folders(self.folder.path())?),
        };
        let is_right = |(kind, bytes): &Inflated| name(*kind, bytes) == id;
        let mut unreadable = Vec::new();
        for file in here.iter().map(|folder| place_in(folder, id)) {
            if !loose_folders.may_have(&file) {
                continue;
            }
            match loose(&file) {
                LooseFile::Missing => loose_folders.miss(&file),
                LooseFile::Object(object) if is_right(&object) => {
                    cache.keep(id, object.clone());
                    return Ok(object);
                }
                LooseFile::Object(_) | LooseFile::Unreadable => unreadable.push(file),
            }
        }
        let damaged = |file, detail: String| GitError::Damaged { word, id, file, detail };
        for file in &unreadable {
            check_loose(file).map_err(|detail| damaged(file.clone(), detail))?;
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
        Err(match (unreadable.into_iter().next(), lost.first()) {
            (Some(file), _) => damaged(file, fault.message().to_owned()),
            (None, Some(UnreadableAlternate { folder, named_in, detail })) => {
                GitError::AlternateUnreadable {
                    word,
                    id,
                    file: named_in.clone(),
                    folder: folder.clone(),
                    detail: detail.clone(),
                }
            }
            (None, None) if fault.code() == git2::ErrorCode::NotFound => {
                GitError::Missing { word, id, partial: self.is_partial() }
            }
            (None, None) => damaged(self.folder.place(id), fault.message().to_owned()),
        })
    }

    /// Returns whether this is a partial clone, in which git fetches objects on demand.
    fn is_partial(self) -> bool {
        let Ok(config) = self.git.config() else { return false };
        let promises = config.entries(Some(r"^remote\..*\.promisor$"));
        config.get_string("extensions.partialclone").is_ok()
            || promises.is_ok_and(|mut entries| entries.next().is_some())
    }

    fn stored(self, id: ObjectId) -> Result<Inflated, git2::Error> {
        let odb = self.git.odb()?;
        let object = odb.read(id.to_git())?;
        let kind = ObjectKind::ALL.into_iter().find(|kind| kind.to_git() == object.kind());
        let kind = kind.ok_or_else(|| git2::Error::from_str("it is of no known kind"))?;
        Ok((kind, Arc::from(object.data())))
    }
}

/// The content of a loose file.
enum LooseFile {
    Missing,
    Object(Inflated),
    /// The file cannot be read, or is not an object.
    Unreadable,
}

/// Reads a loose file.
fn loose(file: &Path) -> LooseFile {
    match git_file::open_sized(file) {
        Ok((file, size)) => inflate(&file, size).map_or(LooseFile::Unreadable, LooseFile::Object),
        Err(error) if error.kind() == ErrorKind::NotFound => LooseFile::Missing,
        Err(_) => LooseFile::Unreadable,
    }
}

fn inflate(file: &File, size: usize) -> Option<Inflated> {
    let deflated = read_expected(file, size).ok()?;
    let mut bytes = Vec::with_capacity(deflated.len() * 2);
    ZlibDecoder::new(deflated.as_slice()).read_to_end(&mut bytes).ok()?;
    let start = bytes.iter().take(32).position(|byte| *byte == 0)? + 1;
    let kind =
        ObjectKind::ALL.into_iter().find(|kind| bytes.starts_with(kind.word().as_bytes()))?;
    Some((kind, bytes[start..].into()))
}

/// Fails if libgit2 would wait for ever for a loose file: it is a pipe, or truncated, as after a power cut.
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

/// Fails if a pack or its index is damaged: libgit2 would wait for a pipe, and crashes if an index points beyond the end of its pack.
/// Checks again only if packs were added or removed.
fn check_packs(objects: &[PathBuf], checked: &mut CheckedPacks) -> Result<(), (PathBuf, String)> {
    if checked.looked.is_some_and(|looked| looked.elapsed() < FRESH) {
        return Ok(());
    }
    let changed = |folder: &PathBuf| {
        fs::metadata(folder.join("pack")).and_then(|found| found.modified()).ok()
    };
    let now: Vec<_> = objects.iter().map(changed).collect();
    if checked.changed != now {
        indexes(objects).find_map(|index| damage(&index)).map_or(Ok(()), Err)?;
        checked.changed = now;
    }
    checked.looked = Some(Instant::now());
    Ok(())
}

/// The greatest depth of borrowing: a lender may borrow as well; git follows no further.
const DEEPEST: usize = 5;
/// The most folders that are read.
const MOST: usize = 32;

/// The folders that contain objects.
pub(crate) struct ObjectFolders {
    /// The repository's own folder and all that it borrows from, nearest first, each once.
    pub here: Vec<PathBuf>,
    /// The folders that cannot be read.
    pub lost: Vec<UnreadableAlternate>,
}

/// An `objects` folder that cannot be read.
pub(crate) struct UnreadableAlternate {
    pub folder: PathBuf,
    /// The file that names the folder.
    pub named_in: PathBuf,
    /// The message of the system.
    pub detail: String,
}

/// Returns an `objects` folder and all that it borrows from.
pub(crate) fn folders(objects: &Path) -> Result<ObjectFolders, GitError> {
    let mut lost = Vec::new();
    let mut folders = vec![objects.to_owned()];
    let mut known: Vec<PathBuf> = Vec::new();
    let mut nearest = 0..1;
    for _ in 0..=DEEPEST {
        let mut named = Vec::new();
        for lender in &folders[nearest.clone()] {
            let names = named_by(lender)?;
            if known.is_empty() && !names.is_empty() {
                known.extend(fs::canonicalize(objects));
            }
            for folder in names {
                match fs::canonicalize(&folder)
                    .and_then(|whole| fs::read_dir(&whole).map(|_| whole))
                {
                    Ok(whole) if known.len() < MOST && !known.contains(&whole) => {
                        known.push(whole);
                        named.push(folder);
                    }
                    Ok(_) => {}
                    Err(error) => lost.push(UnreadableAlternate {
                        folder,
                        named_in: place(lender),
                        detail: error.to_string(),
                    }),
                }
            }
        }
        nearest = folders.len()..folders.len() + named.len();
        folders.append(&mut named);
    }
    Ok(ObjectFolders { here: folders, lost })
}

/// Returns the file in which a folder names others.
fn place(objects: &Path) -> PathBuf {
    objects.join("info/alternates")
}

/// Returns the folders that an alternates file names, one per line; a relative path starts from the `objects` folder.
fn named_by(objects: &Path) -> Result<Vec<PathBuf>, GitError> {
    const FIX: &str = "make it a file that can be read, with a folder of objects a line; without it nothing is borrowed, and `git fsck` tells \
                       what is missing then";
    let path = place(objects);
    let text = match git_file::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            return Err(GitError::Unreadable { path, detail: error.to_string(), fix: FIX });
        }
    };
    let lines = text
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    Ok(lines.map(|line| objects.join(OsStr::from_bytes(line))).collect())
}

const SUM: usize = 20;
/// The size in bytes above which an index is not hashed: each command opens it, and git itself hashes none either.
const LARGEST: u64 = 256 << 10;

/// Returns the damaged file, an index or its pack, with the fault; `None` if neither is damaged.
pub(crate) fn damage(index: &Path) -> Option<(PathBuf, String)> {
    let pack = index.with_extension("pack");
    let sums = match git_file::open(index).and_then(sums) {
        // `git repack` has just removed the pack.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            return Some((
                index.to_owned(),
                format!("the index of a pack cannot be read: {error}"),
            ));
        }
        Ok(None) => {
            return Some((
                index.to_owned(),
                "the index of a pack is damaged: its checksum is wrong".to_owned(),
            ));
        }
        Ok(Some(of_pack)) => of_pack,
    };
    match git_file::open(&pack).and_then(|file| end(&file, 1)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some((pack, format!("a pack cannot be read: {error}"))),
        Ok(found) if found != sums => {
            Some((pack, "a pack is not what its index is about, or ends too early".to_owned()))
        }
        Ok(_) => None,
    }
}

/// Returns the checksum of the pack, as its index has it; `None` if the index's own checksum is wrong.
fn sums(file: File) -> io::Result<Option<[u8; SUM]>> {
    let (of_pack, of_index) = (end(&file, 2)?, end(&file, 1)?);
    let mut hash = Sha1::new();
    let size = file.metadata()?.len() - SUM as u64;
    if size > LARGEST {
        return Ok(Some(of_pack));
    }
    io::copy(&mut file.take(size), &mut hash)?;
    Ok((hash.finalize().as_slice() == of_index).then_some(of_pack))
}

/// Returns the last checksum in a file, or the one before it.
fn end(file: &File, number: u64) -> io::Result<[u8; SUM]> {
    let mut end = [0; SUM];
    let at = file
        .metadata()?
        .len()
        .checked_sub(SUM as u64 * number)
        .ok_or(io::ErrorKind::UnexpectedEof)?;
    file.read_exact_at(&mut end, at)?;
    Ok(end)
}

/// Returns the indexes of packs in these folders.
pub(crate) fn indexes(objects: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    let entries =
        objects.iter().filter_map(|folder| fs::read_dir(folder.join("pack")).ok()).flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(|path| path.extension().is_some_and(|end| end == "idx"))
}

#[cfg(test)]
mod tests;
