//! Whether a pack and its index are what git wrote: each ends with the checksum of what is before it, and the index names that of its
//! pack. Only what costs one reading of the index is looked at.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use sha1::{Digest, Sha1};

use super::git_file;

const SUM: usize = 20;
/// A larger index is not read whole, in bytes: it would take longer than anything else.
const LARGEST: u64 = 32 << 20;

/// Returns what is wrong with an index, or with its pack as the index has it.
pub(crate) fn damage(index: &Path) -> Option<(PathBuf, String)> {
    let pack = index.with_extension("pack");
    let sums = match git_file::open(index).and_then(sums) {
        // `git repack` has just removed it.
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

/// Returns the checksum of the pack, as its index has it; nothing where the index's own is wrong.
fn sums(file: File) -> io::Result<Option<[u8; SUM]>> {
    let (of_pack, own) = (end(&file, 2)?, end(&file, 1)?);
    let mut hash = Sha1::new();
    let size = file.metadata()?.len() - SUM as u64;
    if size > LARGEST {
        return Ok(Some(of_pack));
    }
    io::copy(&mut file.take(size), &mut hash)?;
    Ok((hash.finalize().as_slice() == own).then_some(of_pack))
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
