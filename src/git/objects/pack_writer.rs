//! Many objects at once, as one pack and its index: two syncs instead of one an object. No deltas, zlib level 1.
//!
//! Git sees a pack from the moment its `.idx` has its name, so that comes last: a crash before leaves a `tmp_pack_*`
//! or a lone `.pack`, which `git gc` sweeps.

use std::fs;
use std::io;

use flate2::Crc;
use sha1::{Digest, Sha1};

use super::deflate::Deflater;
use super::loose::{Kind, Object, ObjectFolder, Staged, Temp};
use crate::git::error::{At, GitError};
use crate::git::id::ObjectId;

const PACK_VERSION: u32 = 2;
const INDEX_MAGIC: [u8; 8] = *b"\xfftOc\0\0\0\x02";

/// Where an object lies in the pack.
struct Entry {
    id: ObjectId,
    crc: u32,
    offset: u32,
}

impl ObjectFolder {
    /// Writes these objects, all different, as one pack that has no name yet.
    pub(crate) fn stage_pack(&self, objects: &[Object]) -> Result<Staged, GitError> {
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
        Ok(Staged { files, kept: Vec::new(), shared: Some(folder) })
    }
}

/// Returns the pack's bytes and where in it each object lies.
fn pack(objects: &[Object]) -> io::Result<(Vec<u8>, Vec<Entry>)> {
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
        entries.push(Entry { id: object.id, crc: crc.sum(), offset });
    }
    let checksum = Sha1::digest(&pack);
    pack.extend(checksum);
    Ok((pack, entries))
}

/// The kind and the inflated size: 4 bits of size beside the kind, then 7 a byte.
fn write_header(pack: &mut Vec<u8>, object: &Object) {
    let kind: u8 = match object.kind {
        Kind::Commit => 1,
        Kind::Tree => 2,
        Kind::Blob => 3,
        Kind::Tag => 4,
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
fn index(mut entries: Vec<Entry>, pack_checksum: &[u8]) -> Vec<u8> {
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
