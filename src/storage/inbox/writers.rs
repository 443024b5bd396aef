//! Which files of the inbox somebody still has open to write, as far as this system tells: Linux, of one's own processes. Opens none of
//! them.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::storage::layout::INBOX;

/// Where Linux shows what each process has open.
const PROCESSES: &str = "/proc";

/// Files that are open to write.
#[derive(Debug)]
pub(crate) struct Writers {
    files: HashSet<(u64, u64)>,
}

impl Writers {
    /// Looks once, for all of them. Whatever cannot be seen, since it is somebody else's or there is nothing to look at, has no writer.
    pub(crate) fn look() -> Self {
        let processes = names(Path::new(PROCESSES)).into_iter().filter(|path| {
            path.file_name()
                .is_some_and(|name| name.as_encoded_bytes().iter().all(u8::is_ascii_digit))
        });
        Self { files: processes.flat_map(|process| written_by(&process)).collect() }
    }

    /// Says whether somebody has this one open.
    pub(crate) fn have(&self, file: &Metadata) -> bool {
        self.files.contains(&(file.dev(), file.ino()))
    }
}

fn written_by(process: &Path) -> Vec<(u64, u64)> {
    let files = names(&process.join("fd")).into_iter().filter(|file| {
        // By its name first: to ask of any file what it is may wait for a far one.
        let is_there = fs::read_link(file)
            .is_ok_and(|path| path.parent().is_some_and(|folder| folder.ends_with(INBOX)));
        is_there && is_open_to_write(process, file)
    });
    files.filter_map(|file| fs::metadata(file).ok()).map(|file| (file.dev(), file.ino())).collect()
}

fn is_open_to_write(process: &Path, file: &Path) -> bool {
    let Some(number) = file.file_name() else { return false };
    let Ok(told) = fs::read_to_string(process.join("fdinfo").join(number)) else { return false };
    let flags = told.lines().find_map(|line| line.strip_prefix("flags:"));
    // The last two bits are how it was opened; zero is to read.
    flags
        .and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok())
        .is_some_and(|flags| flags & 0o3 != 0)
}

fn names(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .map_or(Vec::new(), |names| names.flatten().map(|name| name.path()).collect())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::{File, OpenOptions};

    use super::*;

    #[test]
    fn whoever_has_a_file_open_to_write_is_seen_and_who_reads_is_not() {
        let home = tempfile::TempDir::new().unwrap();
        let inbox = home.path().join(INBOX);
        fs::create_dir_all(&inbox).unwrap();
        let file = inbox.join("a.yaml");
        let has_writer = || Writers::look().have(&fs::metadata(&file).unwrap());
        let writer = File::create(&file).unwrap();
        assert!(has_writer());
        drop(writer);
        let reader = File::open(&file).unwrap();
        assert!(!has_writer());
        let writer = OpenOptions::new().append(true).open(&file).unwrap();
        assert!(has_writer());
        drop((reader, writer));
        assert!(!has_writer());
    }
}
