//! Reads the layout of an index file, versions 2 and 3, and finds given paths in it in one pass. Changes nothing.

use std::ops::{ControlFlow, Range};

use super::entries::Staged;
use crate::git::id::ObjectId;
use crate::git::objects::tree::Leaf;

pub(crate) const HEADER: usize = 12;
pub(crate) const CHECKSUM: usize = 20;
/// Bytes of an entry before its flags.
pub(crate) const FIXED: usize = 60;
pub(crate) const FLAG_VALID: u16 = 0x8000;
pub(crate) const FLAG_EXTENDED: u16 = 0x4000;
pub(crate) const NAME_MASK: u16 = 0x0fff;
const INTENT_TO_ADD: u16 = 0x2000;

/// Whether our own patch knows the layout.
#[derive(Debug)]
pub(crate) enum Layout {
    Known(Scan),
    /// Version 4, split, sparse, or with an extension that must be understood.
    Foreign,
}

/// What one pass over an index found.
#[derive(Debug)]
pub(crate) struct Scan {
    pub entries: u32,
    pub entries_end: usize,
    pub extensions: Vec<Extension>,
    /// Git wrote no checksum (`index.skipHash`).
    pub unhashed: bool,
    /// One a path that was looked for, in that order.
    pub hits: Vec<Hit>,
}

/// An extension's signature and body.
#[derive(Debug)]
pub(crate) struct Extension {
    pub signature: [u8; 4],
    pub body: Range<usize>,
}

/// Where a path is in the index, or would be.
#[derive(Debug, Default)]
pub(crate) struct Hit {
    /// Where an entry for it belongs, if there is none.
    pub place: usize,
    /// One, or up to three with conflict stages.
    pub entries: Vec<Found>,
}

/// An entry, with the bytes it takes up.
#[derive(Debug)]
pub(crate) struct Found {
    pub range: Range<usize>,
    pub staged: Staged,
    pub flags: u16,
    pub extended: Option<u16>,
}

impl Scan {
    /// The scan of an index without entries.
    pub(crate) fn empty(paths: usize) -> Self {
        let hits = (0..paths).map(|_| Hit { place: HEADER, entries: Vec::new() }).collect();
        Self { entries: 0, entries_end: HEADER, extensions: Vec::new(), unhashed: false, hits }
    }
}

/// Reads an index; `paths` must be sorted by their bytes. The error says what is wrong with the file.
pub(crate) fn scan(bytes: &[u8], paths: &[&str]) -> Result<Layout, String> {
    if bytes.len() < HEADER + CHECKSUM || !bytes.starts_with(b"DIRC") {
        return Err("it does not start like an index".to_owned());
    }
    match be32(bytes, 4) {
        2 | 3 => {}
        4 => return Ok(Layout::Foreign),
        version => return Err(format!("its version {version} is unknown")),
    }
    let checksum_at = bytes.len() - CHECKSUM;
    let mut scan = Scan::empty(paths.len());
    scan.entries = be32(bytes, 8);
    scan.unhashed = bytes[checksum_at..].iter().all(|byte| *byte == 0);

    let mut at = HEADER;
    let mut wanted = 0;
    for number in 0..scan.entries {
        let (name, flags, extended, end) = entry(&bytes[..checksum_at], at)
            .ok_or_else(|| format!("entry {number} of {} runs over its end", scan.entries))?;
        let mode = be32(bytes, at + 24);
        if mode == 0o040_000 {
            return Ok(Layout::Foreign);
        }
        while wanted < paths.len() && paths[wanted].as_bytes() < name {
            if scan.hits[wanted].entries.is_empty() {
                scan.hits[wanted].place = at;
            }
            wanted += 1;
        }
        if wanted < paths.len() && paths[wanted].as_bytes() == name {
            let id = ObjectId::from_raw(&bytes[at + 40..at + 60]).expect("20 bytes");
            let stage = u8::try_from(flags >> 12 & 3).expect("two bits");
            let intent_to_add = extended.is_some_and(|extended| extended & INTENT_TO_ADD != 0);
            let staged = Staged { leaf: Leaf { mode, id }, stage, intent_to_add };
            scan.hits[wanted].entries.push(Found { range: at..end, staged, flags, extended });
        }
        at = end;
    }
    for hit in &mut scan.hits[wanted..] {
        if hit.entries.is_empty() {
            hit.place = at;
        }
    }
    scan.entries_end = at;

    while at < checksum_at {
        let body = at + 8;
        let size = if body <= checksum_at { be32(bytes, at + 4) as usize } else { usize::MAX };
        let end = body
            .checked_add(size)
            .filter(|end| *end <= checksum_at)
            .ok_or("an extension runs over its end")?;
        let signature = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        match &signature {
            [first, ..] if !first.is_ascii_uppercase() => {
                return Ok(Layout::Foreign);
            }
            _ => scan.extensions.push(Extension { signature, body: body..end }),
        }
        at = end;
    }
    Ok(Layout::Known(scan))
}

/// Goes through the names of the entries, in order, until it is to end. Returns whether it came so far: these bytes may be only the
/// beginning of an index, and not every version has its names written out.
pub(crate) fn each_name(bytes: &[u8], look: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> bool {
    if bytes.len() < HEADER || !bytes.starts_with(b"DIRC") || !matches!(be32(bytes, 4), 2 | 3) {
        return false;
    }
    let mut at = HEADER;
    for _ in 0..be32(bytes, 8) {
        let Some((name, _, _, end)) = entry(bytes, at) else { return false };
        if look(name).is_break() {
            return true;
        }
        at = end;
    }
    true
}

/// Returns an entry's name, flags, extended flags and end.
fn entry(bytes: &[u8], at: usize) -> Option<(&[u8], u16, Option<u16>, usize)> {
    let flags = be16(bytes.get(at + FIXED..at + FIXED + 2)?);
    let (extended, name_at) = if flags & FLAG_EXTENDED == 0 {
        (None, at + FIXED + 2)
    } else {
        (Some(be16(bytes.get(at + FIXED + 2..at + FIXED + 4)?)), at + FIXED + 4)
    };
    let length = match flags & NAME_MASK {
        NAME_MASK => bytes.get(name_at..)?.iter().position(|byte| *byte == 0)?,
        length => usize::from(length),
    };
    let name = bytes.get(name_at..name_at + length)?;
    let end = at + padded(name_at + length - at);
    (end <= bytes.len()).then_some((name, flags, extended, end))
}

/// Rounds an entry up: 1 to 8 NULs follow the name, so that the next entry starts at a multiple of 8.
pub(crate) const fn padded(unpadded: usize) -> usize {
    (unpadded + 8) & !7
}

fn be16(bytes: &[u8]) -> u16 {
    u16::from_be_bytes([bytes[0], bytes[1]])
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
