//! Where the objects of a repository are: in its own folder, and in those of others that it borrows from, as `git clone --shared` and
//! `--reference` have it. Only reads.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Those that are borrowed from may borrow as well, so often; git follows no further.
const DEEPEST: usize = 5;
/// No more folders than these are looked into.
const MOST: usize = 32;

/// Returns an `objects` folder and all that it borrows from, the nearest ones first, each once.
pub(super) fn folders(objects: &Path) -> Vec<PathBuf> {
    let mut folders = vec![objects.to_owned()];
    let mut known: Vec<PathBuf> = fs::canonicalize(objects).into_iter().collect();
    let mut nearest = 0..1;
    for _ in 0..=DEEPEST {
        let mut named: Vec<PathBuf> = folders[nearest.clone()].iter().flat_map(|folder| named_by(folder)).collect();
        named.retain(|folder| {
            let Ok(whole) = fs::canonicalize(folder) else { return false };
            let is_new = known.len() < MOST && !known.contains(&whole);
            known.extend(is_new.then_some(whole));
            is_new
        });
        nearest = folders.len()..folders.len() + named.len();
        folders.append(&mut named);
    }
    folders
}

/// Returns the folders that one names: a line each, from the folder on where it is no whole path.
fn named_by(objects: &Path) -> Vec<PathBuf> {
    let text = fs::read(objects.join("info/alternates")).unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    lines.map(|line| objects.join(OsStr::from_bytes(line))).collect()
}
