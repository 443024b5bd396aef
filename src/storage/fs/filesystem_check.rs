//! Which file systems the project may stand on: those whose locks hold for everybody who can write there.

use std::fs::File;
use std::path::Path;

use rustix::io;

use crate::storage::StoreError;

/// Returns the kind of network file system that the file is on, if it is on one.
pub(crate) fn network_kind(file: &File) -> io::Result<Option<&'static str>> {
    rustix::fs::fstatfs(file).map(|stat| kind_of(&stat))
}

/// Returns the kind of network file system that a folder is on, if it is on one.
pub fn network_file_system(folder: &Path) -> Result<Option<&'static str>, StoreError> {
    let opened = File::open(folder).map_err(|cause| StoreError::io("open", folder, cause))?;
    network_kind(&opened).map_err(|cause| StoreError::io("look at", folder, cause))
}

#[cfg(target_os = "linux")]
fn kind_of(stat: &rustix::fs::StatFs) -> Option<&'static str> {
    // The type of the field differs between architectures; magic numbers have 32 bits on all of them.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::unnecessary_cast)]
    let magic = stat.f_type as u32;
    kind_of_magic(magic)
}

#[cfg(target_os = "linux")]
fn kind_of_magic(magic: u32) -> Option<&'static str> {
    match magic {
        0x0000_6969 => Some("NFS"),
        0x0000_517B | 0xFF53_4D42 | 0xFE53_4D42 => Some("an SMB share"),
        0x5346_414F | 0x6B41_4653 => Some("AFS"),
        0x0102_1997 => Some("a 9p share"),
        0x0000_564C => Some("a NetWare share"),
        0x7375_7245 => Some("Coda"),
        _ => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn kind_of(stat: &rustix::fs::StatFs) -> Option<&'static str> {
    let name: String = stat
        .f_fstypename
        .iter()
        .filter_map(|byte| u8::try_from(*byte).ok())
        .take_while(|byte| *byte != 0)
        .map(char::from)
        .collect();
    match name.as_str() {
        "nfs" => Some("NFS"),
        "smbfs" => Some("an SMB share"),
        "afpfs" => Some("an AFP share"),
        "webdav" => Some("a WebDAV share"),
        _ => None,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn shares_are_told_from_local_disks() {
        assert_eq!(kind_of_magic(0x6969), Some("NFS"));
        assert_eq!(kind_of_magic(0xFF53_4D42), Some("an SMB share"));
        // ext, tmpfs, btrfs, xfs, overlay.
        for local in [0xEF53, 0x0102_1994, 0x9123_683E, 0x5846_5342, 0x794C_7630] {
            assert_eq!(kind_of_magic(local), None, "{local:x}");
        }
    }

    #[test]
    fn the_folder_of_temporary_files_is_local() {
        assert_eq!(network_kind(&tempfile::tempfile().unwrap()), Ok(None));
    }
}
