//! Reads files below `.git` without blocking: opening a pipe in place of a file would block for ever.

use std::fs::{File, FileType};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use aof_system::disk::read_to_end;

/// Opens a file to read it.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    open_sized(path).map(|(file, _)| file)
}

/// Opens a file to read it, and returns its size, too.
pub(crate) fn open_sized(path: &Path) -> io::Result<(File, usize)> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let data = file.metadata()?;
    match what_else(data.file_type()) {
        None => Ok((file, usize::try_from(data.len()).unwrap_or(0))),
        Some(what) => Err(no_file(what)),
    }
}

/// Returns the bytes of a file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let (file, size) = open_sized(path)?;
    read_to_end(&file, size)
}

/// Returns the text of a file.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Fails if the path is neither a file nor a folder: libgit2 would block on a pipe.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_dir() => {
            what_else(found.file_type()).map_or(Ok(()), |what| Err(no_file(what)))
        }
        _ => Ok(()),
    }
}

fn no_file(what: &str) -> io::Error {
    let kind =
        if what == FOLDER { io::ErrorKind::IsADirectory } else { io::ErrorKind::InvalidInput };
    io::Error::new(kind, format!("it is {what}, and no file"))
}

const FOLDER: &str = "a folder";

fn what_else(found: FileType) -> Option<&'static str> {
    if found.is_file() {
        None
    } else if found.is_dir() {
        Some(FOLDER)
    } else if found.is_fifo() {
        Some("a pipe")
    } else if found.is_socket() {
        Some("a socket")
    } else {
        Some("a device")
    }
}
