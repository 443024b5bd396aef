//! One pack: objects inflated from where they begin. Reads it in blocks, and holds the last few of them.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use flate2::{Decompress, FlushDecompress, Status};

use super::reader::LARGEST;
use crate::git::objects::id::ObjectId;
use crate::git::objects::loose::Kind;
use crate::git::repository::git_file;

const MAGIC: [u8; 8] = *b"PACK\0\0\0\x02";
const BLOCK: u64 = 16 << 10;
/// So many blocks are held, each in the one place where it can be: 1 MiB.
const BLOCKS: usize = 64;
/// No header of an object has more bytes: ten of its size, twenty of a name.
const HEADER: usize = 32;

/// What stands at a place of a pack.
pub(crate) struct Stored {
    pub form: Form,
    /// How many bytes are deflated there.
    pub size: usize,
    /// Where these begin.
    pub at: u64,
}

/// How an object is stored.
pub(crate) enum Form {
    Whole(Kind),
    /// As a change of the object that begins there.
    ChangeOf(u64),
    /// As a change of the object of that name.
    ChangeOfNamed(ObjectId),
}

/// A pack that is read.
pub(crate) struct Packed {
    file: File,
    blocks: Vec<Option<(u64, Vec<u8>)>>,
}

impl Packed {
    /// Opens a pack; nothing where it is none of version 2.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        let file = git_file::open(path).ok()?;
        let mut start = [0; MAGIC.len()];
        file.read_exact_at(&mut start, 0).ok()?;
        (start == MAGIC).then(|| Self { file, blocks: vec![None; BLOCKS] })
    }

    /// Returns how many bytes the pack has, if that can be told.
    pub(crate) fn size(&self) -> Option<u64> {
        Some(self.file.metadata().ok()?.len())
    }

    /// Returns what the object is that begins there; nothing where it is odd, or too large for here.
    pub(crate) fn stored(&mut self, at: u64) -> Option<Stored> {
        let mut header = [0; HEADER];
        let mut held = 0;
        while held < HEADER {
            let bytes = self.bytes_at(at + held as u64).ok()?;
            if bytes.is_empty() {
                break;
            }
            let count = bytes.len().min(HEADER - held);
            header[held..held + count].copy_from_slice(&bytes[..count]);
            held += count;
        }
        let mut rest = header[..held].iter();
        let first = *rest.next()?;
        let (mut size, mut byte, mut shift) = (u64::from(first & 0x0f), first, 4);
        while byte & 0x80 != 0 {
            byte = *rest.next()?;
            size |= u64::from(byte & 0x7f).checked_shl(shift).filter(|_| shift < 57)?;
            shift += 7;
        }
        let form = match first >> 4 & 7 {
            1 => Form::Whole(Kind::Commit),
            2 => Form::Whole(Kind::Tree),
            3 => Form::Whole(Kind::Blob),
            4 => Form::Whole(Kind::Tag),
            6 => Form::ChangeOf(at.checked_sub(distance(&mut rest)?)?),
            7 => {
                let name = ObjectId::from_raw(rest.as_slice().get(..20)?)?;
                rest.nth(19);
                Form::ChangeOfNamed(name)
            }
            _ => return None,
        };
        let size = usize::try_from(size).ok().filter(|size| *size <= LARGEST)?;
        Some(Stored { form, size, at: at + (held - rest.len()) as u64 })
    }

    /// Inflates so many bytes; nothing where there are more or fewer.
    pub(crate) fn inflate(
        &mut self,
        stored: &Stored,
        inflater: &mut Decompress,
    ) -> Option<Vec<u8>> {
        inflater.reset(true);
        // One byte more than wanted: whatever would fill it is too much.
        let mut bytes = Vec::with_capacity(stored.size + 1);
        loop {
            let (read, made) = (inflater.total_in(), bytes.len());
            let input = self.bytes_at(stored.at + read).ok()?;
            match inflater.decompress_vec(input, &mut bytes, FlushDecompress::None).ok()? {
                Status::StreamEnd => return (bytes.len() == stored.size).then_some(bytes),
                Status::Ok if inflater.total_in() > read || bytes.len() > made => {}
                Status::Ok | Status::BufError => return None,
            }
        }
    }

    /// Returns the bytes from there to the end of the block; none behind the end of the pack.
    fn bytes_at(&mut self, at: u64) -> io::Result<&[u8]> {
        let number = at / BLOCK;
        let slot = &mut self.blocks[usize::try_from(number).unwrap_or_default() % BLOCKS];
        let (held, mut block) = slot.take().unwrap_or((u64::MAX, Vec::new()));
        if held != number {
            block.resize(usize::try_from(BLOCK).unwrap_or_default(), 0);
            let read = read_full_at(&self.file, &mut block, number * BLOCK)?;
            block.truncate(read);
        }
        let (_, block) = slot.insert((number, block));
        Ok(block.get(usize::try_from(at % BLOCK).unwrap_or_default()..).unwrap_or_default())
    }
}

/// Reads until there is no room or nothing more.
fn read_full_at(file: &File, room: &mut [u8], at: u64) -> io::Result<usize> {
    let mut held = 0;
    while held < room.len() {
        match file.read_at(&mut room[held..], at + held as u64) {
            Ok(0) => break,
            Ok(read) => held += read,
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(held)
}

/// Reads how far in front its base begins: seven bits a byte, the highest first, each byte but the last counting one more.
fn distance(rest: &mut std::slice::Iter<'_, u8>) -> Option<u64> {
    let mut byte = *rest.next()?;
    let mut distance = u64::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = *rest.next()?;
        distance = (distance + 1).checked_mul(128)? | u64::from(byte & 0x7f);
    }
    Some(distance)
}
