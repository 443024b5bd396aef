//! Files on their way into the worktree. Each is written whole (filters, line endings, links and modes are as git does them)
//! into a folder beside; then it gets its place by a rename. So a kill, or a power cut, leaves no part of a file where people look,
//! and what others' filters take their time for is done before any lock is taken.
//!
//! Git writes them, unless all are small and to be as they are stored.
//!
//! Not everything comes this way. Submodules, sparse checkouts, files that become folders, and files whose attributes come along with
//! them are left to git's own checkout, which writes where the file is to be.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use git2::{AttrCheckFlags, AttrValue};
use rustix::fs::{FlockOperation, flock};

use super::bring::{Changes, PATIENCE, SUBMODULE};
use super::error::{At, AuditError, During};
use super::id::CommitId;
use super::objects::{nonce, sync_files};
use super::repository::Repository;
use super::spawn;
use super::tree::Leaf;
use crate::disk::{Part, Unsynced};
use crate::stop;

/// What the folders are called; one is locked as long as somebody writes into it.
const PREFIX: &str = "coming_";
/// The modes of files.
const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
/// No larger file is written here, but by git, in bytes.
const LARGEST: usize = 1 << 20;
/// So many files are held open at once.
const SYNCED_AT_ONCE: usize = 200;

/// Files that are written, and have not got their places.
pub struct Coming {
    folder: PathBuf,
    /// Holds the lock on the folder.
    held: File,
    /// Where each of them is to be, and where it is until then.
    files: Vec<(String, PathBuf)>,
}

impl Repository {
    /// Writes the files that a commit has and another one has not, in a folder of its own below `beside`. Takes no lock.
    pub fn prepare_files(&self, from: Option<CommitId>, to: CommitId, beside: &Path) -> Result<Coming, AuditError> {
        let changes = self.changes_to(from, to)?;
        let coming = changes.iter().filter_map(|(path, (before, after))| Some((path, *before, (*after)?)));
        let is_file = |leaf: Leaf| leaf.mode != SUBMODULE;
        let files: Vec<(&String, Leaf)> = coming
            .filter(|(_, before, after)| before.is_none_or(is_file) && is_file(*after))
            .map(|(path, _, after)| (path, after))
            .collect();
        let (coming, trouble) = self.written_beside(&files, &changes, to, beside)?;
        trouble.map_or(Ok(coming), |detail| Err(AuditError::NotBrought { detail }))
    }

    /// Does so for these files of a commit; none are there where git could not write one, and that is what it said then.
    pub(super) fn written_beside(
        &self,
        files: &[(&String, Leaf)],
        changes: &Changes,
        of: CommitId,
        beside: &Path,
    ) -> Result<(Coming, Option<String>), AuditError> {
        let mut coming = Coming::begin(beside)?;
        if files.is_empty() || self.leaves_it_to_git(changes, beside)? {
            return Ok((coming, None));
        }
        if self.are_plain(files)? {
            for (path, leaf) in files {
                coming.write(path, leaf.mode, &self.read_blob(leaf.id)?)?;
            }
            coming.sync()?;
            return Ok((coming, None));
        }
        let index = coming.folder.join("index");
        let lines = files.iter().map(|(path, leaf)| format!("{:o} {}\t{path}\0", leaf.mode, leaf.id));
        let lines: Vec<String> = lines.collect();
        let mut git = self.git_on(&index);
        git.args(["update-index", "--add", "-z", "--index-info"]);
        spawn::run_git(git, lines.concat().as_bytes())?;
        let mut git = self.git_on(&index);
        // Git before 2.41 goes by the worktree's attributes: those are the same here.
        git.env("GIT_ATTR_SOURCE", of.to_string());
        git.args(["checkout-index", "--all", "--force"]);
        let mut prefix = OsString::from("--prefix=");
        prefix.push(coming.place().join(""));
        git.arg(prefix);
        // Git goes on where this process is killed; as long as it does, the folder is not taken for abandoned.
        let finished = spawn::run_holding(git, &coming.held, PATIENCE);
        let trouble = match finished {
            Ok(finished) if finished.status.success() => None,
            Ok(finished) => Some(String::from_utf8_lossy(&finished.stderr).trim().to_owned()),
            Err(error) => Some(error.to_string()),
        };
        // Where git failed nobody knows which of them are whole.
        if trouble.is_none() {
            let place = coming.place();
            coming.files = files.iter().map(|(path, _)| ((*path).clone(), place.join(path))).collect();
            coming.sync()?;
        }
        Ok((coming, trouble))
    }

    /// Says whether git would write these files as they are stored, so that it need not be started for that.
    fn are_plain(&self, files: &[(&String, Leaf)]) -> Result<bool, AuditError> {
        const CONVERSIONS: [&str; 6] = ["text", "eol", "crlf", "ident", "filter", "working-tree-encoding"];
        // What is said of git's configuration in the environment, git alone reads as it does.
        let is_said_beside =
            ["GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"].iter().any(|name| env::var_os(name).is_some());
        if is_said_beside || self.setting("core.autocrlf")?.is_some_and(|value| value != "false") {
            return Ok(false);
        }
        let odb = self.git().odb().during(|| "read objects".to_owned())?;
        // Git writes a large one piece by piece.
        let is_small = |leaf: Leaf| odb.read_header(leaf.id.to_git()).is_ok_and(|(size, _)| size <= LARGEST);
        let is_stored = |path: &str, name| {
            // As a checkout goes by them: first of all those in the index.
            let value = self.git().get_attr_bytes(Path::new(path), name, AttrCheckFlags::INDEX_THEN_FILE);
            value.is_ok_and(|value| matches!(AttrValue::from_bytes(value), AttrValue::Unspecified | AttrValue::False))
        };
        let is_plain = |(path, leaf): &(&String, Leaf)| {
            matches!(leaf.mode, FILE | PROGRAM)
                && is_small(*leaf)
                && CONVERSIONS.iter().all(|name| is_stored(path, name))
        };
        Ok(files.iter().all(is_plain))
    }

    /// Says whether git itself has to check these files out: what a sparse checkout leaves out only it knows, attributes that come
    /// along count for the files that come with them, its index cannot be told beforehand that a file becomes a folder, and nothing
    /// gets its place by a rename on another disk.
    pub(super) fn leaves_it_to_git(&self, changes: &Changes, beside: &Path) -> Result<bool, AuditError> {
        let has_attributes = |path: &String| path == ".gitattributes" || path.ends_with("/.gitattributes");
        let above = |path: &str| path.match_indices('/').any(|(at, _)| changes.contains_key(&path[..at]));
        let is_odd = changes.keys().any(|path| has_attributes(path) || above(path));
        Ok(is_odd || self.is_sparse()? || !self.are_on_one_disk(changes, beside)?)
    }

    fn are_on_one_disk(&self, changes: &Changes, beside: &Path) -> Result<bool, AuditError> {
        let root = self.worktree_root();
        let disk = fs::metadata(beside).at("read", beside)?.dev();
        let folders: BTreeSet<&Path> = changes.keys().filter_map(|path| Path::new(path).parent()).collect();
        let is_there = |folder: &Path| {
            let nearest = folder.ancestors().find_map(|folder| fs::metadata(root.join(folder)).ok());
            nearest.is_some_and(|data| data.dev() == disk)
        };
        Ok(folders.into_iter().all(is_there))
    }

    /// Gives the files their places, and removes those that the later commit does not have; returns which changes are made thereby.
    /// Whatever is in the way has been asked for. What cannot be placed is `NotBrought`: some of the others may have their places.
    pub(super) fn place(&self, coming: &Coming, changes: &Changes) -> Result<Changes, AuditError> {
        self.give_places(coming, changes).map_err(|error| match error {
            AuditError::InTheWay { .. } => error,
            error => AuditError::NotBrought { detail: error.to_string() },
        })
    }

    fn give_places(&self, coming: &Coming, changes: &Changes) -> Result<Changes, AuditError> {
        let root = self.worktree_root();
        let mut made = Changes::new();
        if coming.files.is_empty() {
            return Ok(made);
        }
        let gone = changes
            .iter()
            .filter(|(_, (before, after))| after.is_none() && before.is_some_and(|leaf| leaf.mode != SUBMODULE));
        // Before anything is changed.
        for (path, _) in &coming.files {
            if let Some(other) = no_folder_above(root, path) {
                return Err(AuditError::InTheWay { files: vec![other.to_owned()] });
            }
        }
        for (path, _) in gone.filter(|(path, _)| no_folder_above(root, path).is_none()) {
            let place = root.join(path);
            match fs::remove_file(&place) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error).at("remove", &place),
                _ => remove_empty_above(root, &place),
            }
        }
        for (path, written) in &coming.files {
            let Some(change) = changes.get(path) else { continue };
            let place = root.join(path);
            if let Some(folder) = place.parent() {
                fs::create_dir_all(folder).at("make", folder)?;
            }
            // An empty folder is nothing to git.
            let _ = fs::remove_dir(&place);
            fs::rename(written, &place).at("write", &place)?;
            made.insert(path.clone(), *change);
            stop::point("audit.bring-placed");
        }
        Ok(made)
    }

    fn is_sparse(&self) -> Result<bool, AuditError> {
        let config = self.git().config().and_then(|mut config| config.snapshot());
        let config = config.map_err(|error| AuditError::NotBrought { detail: error.message().to_owned() })?;
        Ok(config.get_bool("core.sparseCheckout").unwrap_or(false))
    }
}

impl Coming {
    /// Makes the folder, and removes those that a kill left.
    fn begin(beside: &Path) -> Result<Self, AuditError> {
        fs::create_dir_all(beside).at("make", beside)?;
        for entry in fs::read_dir(beside).at("read", beside)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(PREFIX) {
                remove_abandoned(&entry.path());
            }
        }
        loop {
            let folder = beside.join(format!("{PREFIX}{}", nonce()?));
            fs::create_dir(&folder).at("make", &folder)?;
            // Until it is locked somebody may take it for abandoned.
            let Ok(held) = File::open(&folder) else { continue };
            let is_locked = flock(&held, FlockOperation::NonBlockingLockExclusive).is_ok();
            let same = |there: fs::Metadata| held.metadata().is_ok_and(|ours| ours.ino() == there.ino());
            if is_locked && fs::metadata(&folder).is_ok_and(same) {
                return Ok(Self { folder, held, files: Vec::new() });
            }
        }
    }

    /// Returns the folder that stands for the worktree's root.
    fn place(&self) -> PathBuf {
        self.folder.join("files")
    }

    /// Writes a file of that mode. Its path comes from elsewhere, so it is no part of where this is.
    fn write(&mut self, path: &str, mode: u32, bytes: &[u8]) -> Result<(), AuditError> {
        let place = self.folder.join(self.files.len().to_string());
        let mode = if mode == PROGRAM { 0o777 } else { 0o666 };
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&place);
        file.and_then(|mut file| file.write_all(bytes)).at("write", &place)?;
        self.files.push((path.to_owned(), place));
        Ok(())
    }

    /// Has the files survive a power cut, so that what gets a name is whole.
    fn sync(&self) -> Result<(), AuditError> {
        for files in self.files.chunks(SYNCED_AT_ONCE) {
            let mut waiting = Vec::new();
            for (_, path) in files {
                if fs::symlink_metadata(path).is_ok_and(|data| data.is_file()) {
                    let file = File::open(path).at("open", path)?;
                    waiting.push(Unsynced::new(&file, path, Part::Bytes).at("hold open", path)?);
                }
            }
            sync_files(waiting)?;
        }
        Ok(())
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        // What stays is removed by the next one.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Removes the folder unless somebody writes into it.
fn remove_abandoned(folder: &Path) {
    let Ok(held) = File::open(folder) else { return };
    if flock(&held, FlockOperation::NonBlockingLockExclusive).is_ok() {
        // Should it stay, the next one tries again.
        let _ = fs::remove_dir_all(folder);
    }
}

/// Returns the first of the places above a path that is something else than a folder: nothing is written through a link.
fn no_folder_above<'p>(root: &Path, path: &'p str) -> Option<&'p str> {
    let above = path.match_indices('/').map(|(at, _)| &path[..at]);
    let mut there = above.map_while(|above| Some((above, fs::symlink_metadata(root.join(above)).ok()?)));
    there.find(|(_, data)| !data.is_dir()).map(|(above, _)| above)
}

/// Removes folders that a removed file leaves empty, as git has it.
pub(super) fn remove_empty_above(root: &Path, place: &Path) {
    let above = place.ancestors().skip(1).take_while(|folder| *folder != root);
    let _ = above.map(fs::remove_dir).take_while(Result::is_ok).count();
}
