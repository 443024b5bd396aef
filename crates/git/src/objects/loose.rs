//! Objects in memory, written durably into `objects/` as loose files or a pack. Never overwrites or removes an object.
//!
//! libgit2 syncs nothing unless a process-wide switch says so, hence this writer. Order, so that a power cut leaves
//! either no name or a whole file behind it: write every temp file (`stage_..`), sync every temp file, rename all
//! (`name_staged`). The caller's files for the same commit are synced together with them. The folders are not synced, which is
//! what git does under `core.fsync=all`: a journal keeps the order, and the branch's folder, synced at the commit point, comes
//! after these names. Temp files are called `tmp_obj_*`, which `git gc` sweeps.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use jiff::Timestamp;
use sha1::{Digest, Sha1};

use crate::error::{At, GitError};
use crate::id::ObjectId;
use aof_system::disk::{SyncPart, Unsynced};
use aof_system::{crash_points, disk};

/// The number of attempts to create the folder of an object if `git gc` removes it.
const FOLDER_ATTEMPTS: usize = 20;

/// The kinds of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Blob,
    Tree,
    Commit,
    Tag,
}

/// An object with its name, not necessarily on disk.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub kind: ObjectKind,
    pub id: ObjectId,
    pub bytes: Vec<u8>,
}

impl ObjectKind {
    pub(crate) const ALL: [Self; 4] = [Self::Blob, Self::Tree, Self::Commit, Self::Tag];

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Blob => "blob",
            Self::Tree => "tree",
            Self::Commit => "commit",
            Self::Tag => "tag",
        }
    }

    pub(crate) const fn to_git(self) -> git2::ObjectType {
        match self {
            Self::Blob => git2::ObjectType::Blob,
            Self::Tree => git2::ObjectType::Tree,
            Self::Commit => git2::ObjectType::Commit,
            Self::Tag => git2::ObjectType::Tag,
        }
    }
}

impl Object {
    pub(crate) fn new(kind: ObjectKind, bytes: Vec<u8>) -> Self {
        Self { kind, id: name(kind, &bytes), bytes }
    }

    fn header(&self) -> String {
        format!("{} {}\0", self.kind.word(), self.bytes.len())
    }
}

/// Returns the git object id of these bytes.
pub(crate) fn name(kind: ObjectKind, bytes: &[u8]) -> ObjectId {
    let mut hash = Sha1::new();
    hash.update(format!("{} {}\0", kind.word(), bytes.len()));
    hash.update(bytes);
    ObjectId::new(hash.finalize().into())
}

/// Returns the path of an object's loose file.
pub(crate) fn place_in(objects: &Path, id: ObjectId) -> PathBuf {
    let hex = id.to_string();
    objects.join(&hex[..2]).join(&hex[2..])
}

/// The `objects/` folder of a repository.
#[derive(Debug)]
pub(crate) struct ObjectFolder {
    path: PathBuf,
    /// The mode for new folders: that of `objects/` itself, as `core.sharedRepository` requires.
    mode: u32,
}

impl ObjectFolder {
    pub(crate) fn open(path: PathBuf) -> Result<Self, GitError> {
        let mode = fs::metadata(&path).at("read", &path)?.permissions().mode() & 0o7777;
        Ok(Self { path, mode })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the mode for new object files: read-only, for those whom the folder lets in.
    pub(crate) const fn file_mode(&self) -> u32 {
        self.mode & 0o444
    }

    /// Writes these objects as loose files under temporary names.
    pub(crate) fn stage_loose(&self, objects: &[Object]) -> Result<StagedObjects, GitError> {
        let mut staged = StagedObjects {
            files: Vec::with_capacity(objects.len()),
            kept: Vec::new(),
            shared: None,
        };
        let mut deflater = Deflater::default();
        for object in objects {
            let place = self.place(object.id);
            if freshen(&place) {
                staged.kept.push(place);
            } else {
                staged.files.push((self.write_temp(object, &mut deflater)?, place));
            }
        }
        Ok(staged)
    }

    /// Renames synced objects to their final names. Calling it again does nothing.
    pub(crate) fn name_staged(&self, staged: &mut StagedObjects) -> Result<(), GitError> {
        for (temp, place) in staged.unnamed() {
            let mut named = fs::rename(&temp.path, &*place);
            // A concurrent `git gc` removes empty folders, also the one that was just created.
            for _ in 0..FOLDER_ATTEMPTS {
                if !named.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
                    break;
                }
                self.create_folder(place.parent().expect("an object's file lies in a folder"))?;
                named = fs::rename(&temp.path, &*place);
            }
            named.at("create", place)?;
            temp.named = true;
        }
        if let Some(folder) = staged.shared.take() {
            sync_folder(&folder)?;
        }
        crash_points::point("git.objects-named");
        Ok(())
    }

    pub(crate) fn place(&self, id: ObjectId) -> PathBuf {
        place_in(&self.path, id)
    }

    /// Returns the time when the loose file of that object was written, if there is one.
    pub(crate) fn written(&self, id: ObjectId) -> Option<Timestamp> {
        Timestamp::try_from(fs::metadata(self.place(id)).ok()?.modified().ok()?).ok()
    }

    /// Creates a folder unless it exists.
    fn create_folder(&self, folder: &Path) -> Result<(), GitError> {
        match fs::create_dir(folder) {
            Ok(()) => match fs::set_permissions(folder, fs::Permissions::from_mode(self.mode)) {
                // A `git gc` was faster: the next attempt creates the folder again.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                opened => opened.at("open up", folder),
            },
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error).at("create", folder),
        }
    }

    fn write_temp(&self, object: &Object, deflater: &mut Deflater) -> Result<Temp, GitError> {
        let mut temp = Temp::create(&self.path, "tmp_obj_aof", self.file_mode())?;
        let header = object.header();
        let stream = match object.kind {
            // Ids hardly compress, and a folder of thousands of tasks would cost more than all other parts of a commit.
            ObjectKind::Tree => stored(&[header.as_bytes(), &object.bytes]),
            _ => deflater.deflate(&[header.as_bytes(), &object.bytes].concat()),
        };
        temp.write(&stream)?;
        Ok(temp)
    }
}

/// Objects that are written under temporary names, with their final paths.
pub(crate) struct StagedObjects {
    pub files: Vec<(Temp, PathBuf)>,
    /// The paths of loose objects that existed already.
    pub kept: Vec<PathBuf>,
    /// The folder whose names must be synced, if any.
    pub shared: Option<PathBuf>,
}

impl StagedObjects {
    /// Returns the files that still have temporary names, to be synced.
    pub(crate) fn unsynced(&mut self) -> Vec<Unsynced> {
        self.unnamed().map(|(temp, _)| temp.unsynced()).collect()
    }

    /// Returns whether all of them still exist. Until a branch reaches them, `git prune --expire=now` removes them.
    pub(crate) fn are_there(&self) -> bool {
        let now =
            self.files.iter().map(|(temp, place)| if temp.named { place } else { &temp.path });
        now.chain(&self.kept).all(|path| path.exists())
    }

    fn unnamed(&mut self) -> impl Iterator<Item = &mut (Temp, PathBuf)> {
        self.files.iter_mut().filter(|(temp, _)| !temp.named)
    }
}

impl ObjectId {
    /// Returns the name of a blob with these bytes.
    pub fn of_blob(bytes: &[u8]) -> Self {
        name(ObjectKind::Blob, bytes)
    }
}

/// A temporary file, removed when dropped unless it was renamed.
pub(crate) struct Temp {
    pub path: PathBuf,
    pub file: Arc<File>,
    pub named: bool,
}

impl Temp {
    /// Creates `PREFIX_RANDOM` in a folder, with this mode whatever the umask.
    pub(crate) fn create(folder: &Path, prefix: &str, mode: u32) -> Result<Self, GitError> {
        let temp = Self::create_new(folder, prefix, mode)?;
        temp.file.set_permissions(fs::Permissions::from_mode(mode)).at("open up", &temp.path)?;
        Ok(temp)
    }

    /// Creates `PREFIX_RANDOM` in a folder with this mode, as far as the umask allows it.
    pub(crate) fn create_new(folder: &Path, prefix: &str, mode: u32) -> Result<Self, GitError> {
        let path = folder.join(format!("{prefix}_{}", nonce()?));
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path);
        // The error names the folder: the random name would not help.
        let file = Arc::new(file.at("write in", folder)?);
        Ok(Self { path, file, named: false })
    }

    /// Writes the file's bytes, and starts writing them back to the disk, so that syncing several files waits about once.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), GitError> {
        // The error names the folder, as in `create_new`.
        self.file.write_all(bytes).at("write in", self.path.parent().unwrap_or(&self.path))?;
        disk::start(&self.file);
        Ok(())
    }

    pub(crate) fn unsynced(&self) -> Unsynced {
        Unsynced::new(Arc::clone(&self.file), &self.path, SyncPart::Bytes)
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        if !self.named {
            // Nothing more can be done about a leftover here; `git gc` sweeps it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns 16 hexadecimal digits that no other call and, by a random start, no other process returns.
pub(crate) fn nonce() -> Result<String, GitError> {
    static NEXT: Mutex<Option<u64>> = Mutex::new(None);
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    let number = match *next {
        Some(number) => number,
        None => getrandom::u64()
            .map_err(|error| io::Error::other(error.to_string()))
            .at("read random numbers for", Path::new("a temp file"))?,
    };
    *next = Some(number.wrapping_add(1));
    Ok(format!("{number:016x}"))
}

/// Syncs these files to the disk.
pub(crate) fn sync_files(files: Vec<Unsynced>) -> Result<(), GitError> {
    disk::sync(files).or_else(|fault| Err(fault.cause).at("sync", &fault.path))
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), GitError> {
    sync_files(vec![unsynced_folder(folder)?])
}

/// Returns a folder whose names are not synced yet.
pub(crate) fn unsynced_folder(folder: &Path) -> Result<Unsynced, GitError> {
    Ok(Unsynced::new(File::open(folder).at("open", folder)?, folder, SyncPart::Names))
}

/// Returns whether the loose file exists, and updates its time so that a concurrent `git prune` keeps it.
///
/// An empty file does not count: a power cut leaves one for an object that was never synced.
fn freshen(place: &Path) -> bool {
    fs::metadata(place).is_ok_and(|found| found.len() > 0)
        && rustix::fs::utimensat(
            rustix::fs::CWD,
            place,
            &rustix::fs::Timestamps {
                last_access: rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW },
                last_modification: rustix::fs::Timespec {
                    tv_sec: 0,
                    tv_nsec: rustix::fs::UTIME_NOW,
                },
            },
            rustix::fs::AtFlags::empty(),
        )
        .is_ok()
}

/// Up to this size, about two file system blocks, compression does not pay off.
const SHORT: usize = 8192;
/// The overhead of a stored zlib stream: two bytes of header, five for the block, four of checksum.
const AROUND: usize = 11;
/// The most bytes in a stored block.
const BLOCK: usize = 0xffff;

/// Makes zlib streams; creates the compressor for the first long one.
#[derive(Default)]
pub(crate) struct Deflater {
    compressor: Option<Compress>,
}

impl Deflater {
    /// Returns the zlib stream of these bytes.
    pub(crate) fn deflate(&mut self, bytes: &[u8]) -> Vec<u8> {
        if bytes.len() + AROUND <= SHORT {
            return stored(&[bytes]);
        }
        let compressor =
            self.compressor.get_or_insert_with(|| Compress::new(Compression::new(1), true));
        compressor.reset();
        let mut deflated = Vec::with_capacity(bytes.len() + bytes.len() / 8 + 64);
        loop {
            let at = usize::try_from(compressor.total_in()).expect("no more than what was given");
            match compressor.compress_vec(&bytes[at..], &mut deflated, FlushCompress::Finish) {
                Ok(Status::StreamEnd) => return deflated,
                Ok(Status::Ok | Status::BufError) => deflated.reserve(deflated.len().max(64)),
                Err(fault) => unreachable!("deflating from memory to memory cannot fail: {fault}"),
            }
        }
    }
}

/// Returns the zlib stream of these parts, stored without compression.
fn stored(parts: &[&[u8]]) -> Vec<u8> {
    let mut blocks: Vec<&[u8]> = parts.iter().flat_map(|part| part.chunks(BLOCK)).collect();
    let last = blocks.pop().unwrap_or_default();
    let length = blocks.iter().map(|block| block.len()).sum::<usize>() + last.len();
    let mut stream = Vec::with_capacity(length + 5 * blocks.len() + AROUND);
    let mut checksum = Adler32::new();
    stream.extend([0x78, 0x01]);
    for (block, is_last) in blocks.into_iter().map(|block| (block, 0)).chain([(last, 1)]) {
        let length = u16::try_from(block.len()).expect("at most the size of a block");
        stream.push(is_last);
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(block);
        checksum.update(block);
    }
    stream.extend(checksum.sum().to_be_bytes());
    stream
}

/// The checksum of zlib streams.
struct Adler32 {
    low: u32,
    high: u32,
}

impl Adler32 {
    const BASE: u32 = 65_521;
    /// The bytes that are summed at once, by the processor's vector instructions.
    const LANES: usize = 32;
    /// The most bytes that can be added before the sums overflow 32 bits, a multiple of the lanes.
    const MOST: usize = 5536;

    fn new() -> Self {
        Self { low: 1, high: 0 }
    }

    fn update(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(Self::MOST) {
            let (lanes, rest) = part.as_chunks::<{ Self::LANES }>();
            for lane in lanes {
                self.high += self.low * 32;
                self.low += lane.iter().map(|byte| u32::from(*byte)).sum::<u32>();
                self.high +=
                    (1..=32).rev().zip(lane).map(|(n, byte)| n * u32::from(*byte)).sum::<u32>();
            }
            for byte in rest {
                self.low += u32::from(*byte);
                self.high += self.low;
            }
            self.low %= Self::BASE;
            self.high %= Self::BASE;
        }
    }

    fn sum(&self) -> u32 {
        self.high << 16 | self.low
    }
}

const PACK_VERSION: u32 = 2;
const INDEX_MAGIC: [u8; 8] = *b"\xfftOc\0\0\0\x02";

/// The position of an object in the pack.
struct PackEntry {
    id: ObjectId,
    crc: u32,
    offset: u32,
}

impl ObjectFolder {
    /// Writes these objects, all different, as one pack under a temporary name.
    pub(crate) fn stage_pack(&self, objects: &[Object]) -> Result<StagedObjects, GitError> {
        let (pack, entries) = pack(objects).at("pack objects into", self.path())?;
        let checksum = &pack[pack.len() - 20..];
        let index = index(entries, checksum);

        let folder = self.path().join("pack");
        fs::create_dir_all(&folder).at("create", &folder)?;
        let name = ObjectId::from_raw(checksum).expect("a pack ends in 20 bytes of SHA-1");
        let mut files = Vec::with_capacity(2);
        for (bytes, extension) in [(&pack, "pack"), (&index, "idx")] {
            let mut temp = Temp::create(&folder, "tmp_pack_aof", self.file_mode())?;
            temp.write(bytes)?;
            files.push((temp, folder.join(format!("pack-{name}.{extension}"))));
        }
        Ok(StagedObjects { files, kept: Vec::new(), shared: Some(folder) })
    }
}

/// Returns the pack's bytes and the position of each object in it.
fn pack(objects: &[Object]) -> io::Result<(Vec<u8>, Vec<PackEntry>)> {
    let too_much = |_| io::Error::other("more than 2 GiB in one pack");
    let mut pack = Vec::from(*b"PACK");
    pack.extend(PACK_VERSION.to_be_bytes());
    pack.extend(u32::try_from(objects.len()).map_err(too_much)?.to_be_bytes());
    let mut entries = Vec::with_capacity(objects.len());
    let mut deflater = Deflater::default();
    for object in objects {
        let start = pack.len();
        let offset = i32::try_from(start).map_err(too_much)?.cast_unsigned();
        write_header(&mut pack, object);
        pack.extend(deflater.deflate(&object.bytes));
        let mut crc = Crc::new();
        crc.update(&pack[start..]);
        entries.push(PackEntry { id: object.id, crc: crc.sum(), offset });
    }
    let checksum = Sha1::digest(&pack);
    pack.extend(checksum);
    Ok((pack, entries))
}

/// Writes the kind and the inflated size: 4 bits of size beside the kind, then 7 per byte.
fn write_header(pack: &mut Vec<u8>, object: &Object) {
    let kind: u8 = match object.kind {
        ObjectKind::Commit => 1,
        ObjectKind::Tree => 2,
        ObjectKind::Blob => 3,
        ObjectKind::Tag => 4,
    };
    let low = |size: usize, mask: usize| u8::try_from(size & mask).expect("masked to a byte");
    let mut size = object.bytes.len();
    let mut byte = kind << 4 | low(size, 0x0f);
    size >>= 4;
    while size > 0 {
        pack.push(byte | 0x80);
        byte = low(size, 0x7f);
        size >>= 7;
    }
    pack.push(byte);
}

/// Returns the bytes of the pack's index, version 2.
fn index(mut entries: Vec<PackEntry>, pack_checksum: &[u8]) -> Vec<u8> {
    entries.sort_unstable_by_key(|entry| entry.id);
    let mut index = Vec::from(INDEX_MAGIC);
    let mut below = 0;
    for first in 0..=u8::MAX {
        while entries.get(below).is_some_and(|entry| entry.id.as_bytes()[0] <= first) {
            below += 1;
        }
        index.extend(u32::try_from(below).expect("counted in the pack's header").to_be_bytes());
    }
    index.extend(entries.iter().flat_map(|entry| *entry.id.as_bytes()));
    index.extend(entries.iter().flat_map(|entry| entry.crc.to_be_bytes()));
    index.extend(entries.iter().flat_map(|entry| entry.offset.to_be_bytes()));
    index.extend(pack_checksum);
    let checksum = Sha1::digest(&index);
    index.extend(checksum);
    index
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::ZlibDecoder;

    use super::*;

    #[test]
    fn streams_of_every_length_read_back() {
        let bytes: Vec<u8> = (0..40_000_u32)
            .map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        let mut deflater = Deflater::default();
        let inflated = |deflated: &[u8]| {
            let mut inflated = Vec::new();
            ZlibDecoder::new(deflated).read_to_end(&mut inflated).unwrap();
            inflated
        };
        for length in [0, 1, 100, 5535, 5537, 8181, 8182, 40_000, 7, 20_000] {
            assert_eq!(inflated(&deflater.deflate(&bytes[..length])), bytes[..length], "{length}");
        }
        let long = bytes.repeat(5);
        for length in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, long.len()] {
            let whole = [b"head\0", &long[..length]].concat();
            assert_eq!(inflated(&stored(&[b"head\0", &long[..length]])), whole, "{length}");
        }
        let mut checksum = Adler32::new();
        checksum.update(b"Wikipedia");
        assert_eq!(checksum.sum(), 0x11E6_0398);
    }
}
