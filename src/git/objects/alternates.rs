//! Where the objects of a repository are: in its own folder, and in those of others that it borrows from, as `git clone --shared` and
//! `--reference` have it. Only reads.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::git_file;
use crate::git::error::GitError;

/// Those that are borrowed from may borrow as well, so often; git follows no further.
const DEEPEST: usize = 5;
/// No more folders than these are looked into.
const MOST: usize = 32;

/// The folders that objects are in.
pub(crate) struct Folders {
    /// The repository's own, and all that it borrows from, the nearest ones first, each once.
    pub here: Vec<PathBuf>,
    /// Those that cannot be looked into.
    pub lost: Vec<Lost>,
}

/// A folder that cannot be looked into.
pub(crate) struct Lost {
    pub folder: PathBuf,
    /// The file that names it.
    pub named_in: PathBuf,
    /// What the system says.
    pub detail: String,
}

/// Returns an `objects` folder and all that it borrows from.
pub(crate) fn folders(objects: &Path) -> Result<Folders, GitError> {
    let mut lost = Vec::new();
    let mut folders = vec![objects.to_owned()];
    let mut known: Vec<PathBuf> = fs::canonicalize(objects).into_iter().collect();
    let mut nearest = 0..1;
    for _ in 0..=DEEPEST {
        let mut named = Vec::new();
        for lender in &folders[nearest.clone()] {
            for folder in named_by(lender)? {
                match fs::canonicalize(&folder)
                    .and_then(|whole| fs::read_dir(&whole).map(|_| whole))
                {
                    Ok(whole) if known.len() < MOST && !known.contains(&whole) => {
                        known.push(whole);
                        named.push(folder);
                    }
                    Ok(_) => {}
                    Err(error) => lost.push(Lost {
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
    Ok(Folders { here: folders, lost })
}

/// Returns the file in which a folder names others.
fn place(objects: &Path) -> PathBuf {
    objects.join("info/alternates")
}

/// Returns the folders that one names: a line each, from the folder on where it is no whole path.
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
