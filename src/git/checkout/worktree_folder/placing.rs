//! Files get their places below the worktree's root, and are removed: only what looks as it was seen is replaced or removed, and where
//! nothing was seen nothing is replaced.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::folder::{Below, FOLDER, Found, Seen, Way, folders_above, found_in, name};
use crate::git::error::{At, AuditError};
use crate::git::objects::loose::{nonce, sync_files};
use crate::system::disk::{Part, Unsynced};

/// How many folders are open at once.
const HELD_OPEN: usize = 64;

impl Below {
    /// Gives a file that stands elsewhere its place: over what was seen there, or where nothing was. `InTheWay` says that it is not so.
    pub(crate) fn put(
        &self,
        written: &Path,
        path: &str,
        over: Option<Seen>,
    ) -> Result<(), AuditError> {
        let place = self.path.join(path);
        let folder = self.folder_for(path)?;
        if over.is_none() {
            // An empty folder is nothing to git.
            let _ = rustix::fs::unlinkat(&folder, name(path), AtFlags::REMOVEDIR);
        } else if found_in(&folder, name(path)).at("look at", &place)?.seen() != over {
            return Err(in_the_way(path));
        }
        let moved = match rename(CWD, written, &folder, name(path), over) {
            // Another disk, or the same one mounted once more.
            Err(Errno::XDEV) => {
                let copy = copied(written, &folder).at("write", &place)?;
                let moved = rename(folder.as_fd(), Path::new(&copy), &folder, name(path), over);
                if moved.is_err() {
                    let _ = rustix::fs::unlinkat(&folder, copy, AtFlags::empty());
                }
                moved
            }
            other => other,
        };
        match moved {
            Err(Errno::EXIST) => Err(in_the_way(path)),
            other => other.map_err(io::Error::from).at("write", &place),
        }
    }

    /// Removes a file or link that looks as it was seen, and the folders above that it leaves empty, as git has it. `InTheWay` says
    /// that it looks otherwise.
    pub(crate) fn remove(&self, path: &str, seen: Seen) -> Result<(), AuditError> {
        let place = self.path.join(path);
        let folder = match self.way(path).at("look at", &place)? {
            Way::Open(folder) => folder,
            Way::Missing => return Ok(()),
            Way::Behind(above) => return Err(in_the_way(&above)),
        };
        match found_in(&folder, name(path)).at("look at", &place)? {
            Found::Nothing => {}
            other if other.seen() == Some(seen) => {
                rustix::fs::unlinkat(&folder, name(path), AtFlags::empty())
                    .map_err(io::Error::from)
                    .at("remove", &place)?;
            }
            _ => return Err(in_the_way(path)),
        }
        self.remove_empty_above(path);
        Ok(())
    }

    /// Removes a folder unless something is in it, and those above that it leaves empty.
    pub(crate) fn remove_empty(&self, path: &str) {
        if let Ok(Way::Open(folder)) = self.way(path)
            && rustix::fs::unlinkat(&folder, name(path), AtFlags::REMOVEDIR).is_ok()
        {
            self.remove_empty_above(path);
        }
    }

    /// Makes a folder where nothing stands.
    pub(crate) fn make_folder(&self, path: &str) -> Result<(), AuditError> {
        let folder = self.folder_for(path)?;
        match rustix::fs::mkdirat(&folder, name(path), Mode::from_raw_mode(0o777)) {
            Err(Errno::EXIST) | Ok(()) => Ok(()),
            Err(error) => Err(io::Error::from(error)).at("make", &self.path.join(path)),
        }
    }

    /// Has the folders of these paths, and those above them, survive a power cut: what has a name in them, and what has one no more.
    pub(crate) fn sync_folders<'p>(
        &self,
        paths: impl Iterator<Item = &'p str>,
    ) -> Result<(), AuditError> {
        let mut folders: BTreeSet<&str> =
            paths.flat_map(|path| folders_above(path).map(|(above, _)| above)).collect();
        folders.insert("");
        let folders: Vec<&str> = folders.into_iter().collect();
        for some in folders.chunks(HELD_OPEN) {
            let mut waiting = Vec::new();
            for folder in some {
                let place = self.path.join(folder);
                let inside = if folder.is_empty() { "x".to_owned() } else { format!("{folder}/x") };
                // One that was left empty is gone: then the one above tells.
                if let Way::Open(handle) = self.way(&inside).at("open", &place)? {
                    waiting.push(
                        Unsynced::new(&handle, &place, Part::Everything).at("hold open", &place)?,
                    );
                }
            }
            sync_files(waiting)?;
        }
        Ok(())
    }

    fn remove_empty_above(&self, path: &str) {
        if let Some((above, _)) = path.rsplit_once('/') {
            self.remove_empty(above);
        }
    }

    /// Opens the folder that a path is to be in, making what is missing of it.
    fn folder_for(&self, path: &str) -> Result<File, AuditError> {
        let place = self.path.join(path);
        let mut folder = self.root.try_clone().at("open", &self.path)?;
        for (above, name) in folders_above(path) {
            if let Err(error) = rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777))
                && error != Errno::EXIST
            {
                return Err(io::Error::from(error)).at("make the folder of", &place);
            }
            folder = match rustix::fs::openat(&folder, name, FOLDER, Mode::empty()) {
                Ok(next) => next.into(),
                Err(Errno::NOTDIR | Errno::LOOP) => return Err(in_the_way(above)),
                Err(error) => return Err(io::Error::from(error)).at("open the folder of", &place),
            };
        }
        Ok(folder)
    }
}

/// Renames a file to a name that nothing may have yet, or over what was seen there.
fn rename(
    from: BorrowedFd<'_>,
    old: &Path,
    folder: &File,
    name: &str,
    over: Option<Seen>,
) -> Result<(), Errno> {
    if over.is_some() {
        return rustix::fs::renameat(from, old, folder, name);
    }
    match rustix::fs::renameat_with(from, old, folder, name, RenameFlags::NOREPLACE) {
        // Some file systems know no such rename: a second link is as good.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            rustix::fs::linkat(from, old, folder, name, AtFlags::empty())?;
            rustix::fs::unlinkat(from, old, AtFlags::empty())
        }
        other => other,
    }
}

/// Copies a file or link into the folder where it is to be, under a name of its own, and has it survive a power cut.
fn copied(written: &Path, folder: &File) -> io::Result<String> {
    let name =
        format!(".aof-tmp-{}", nonce().map_err(|error| io::Error::other(error.to_string()))?);
    let data = fs::symlink_metadata(written)?;
    if data.is_symlink() {
        rustix::fs::symlinkat(fs::read_link(written)?, folder, &name)?;
        return Ok(name);
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file =
        File::from(rustix::fs::openat(folder, &name, flags, Mode::from_raw_mode(0o600))?);
    let whole = io::copy(&mut File::open(written)?, &mut file)
        .and_then(|_| file.set_permissions(fs::Permissions::from_mode(data.permissions().mode())))
        .and_then(|()| file.sync_data());
    if let Err(error) = whole {
        let _ = rustix::fs::unlinkat(folder, &name, AtFlags::empty());
        return Err(error);
    }
    Ok(name)
}

fn in_the_way(path: &str) -> AuditError {
    AuditError::InTheWay { files: vec![path.to_owned()] }
}
