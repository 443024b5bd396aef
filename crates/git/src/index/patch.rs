//! Writes a new index from the bytes of the old one and a few changed paths. Pure: no file is touched.
//!
//! Extensions: `TREE` is invalidated for changed folders; `REUC` is kept; `UNTR` is kept unless a name is added or removed (git
//! rebuilds it). All others are dropped, which is allowed: they hold offsets or bitmaps of entries, or are unknown.

use std::borrow::Cow;
use std::ops::{ControlFlow, Range};
use std::time::{Duration, SystemTime};

use sha1::{Digest, Sha1};

use super::entries::{ATTRIBUTE_FILE, ListedEntry, PathChange, StagedEntry};
use crate::id::ObjectId;
use crate::objects::tree::Leaf;

/// An empty index, without its checksum.
pub(crate) const EMPTY: &[u8; HEADER] = b"DIRC\0\0\0\x02\0\0\0\0";

/// The stat data that starts an entry, without the mode; git truncates each to 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub created: [u32; 2],
    pub modified: [u32; 2],
    pub device: u32,
    pub inode: u32,
    pub user: u32,
    pub group: u32,
    pub size: u32,
}

impl Stat {
    /// Makes git compare the file's content.
    pub(crate) const UNKNOWN: Self =
        Self { created: [0; 2], modified: [0; 2], device: 0, inode: 0, user: 0, group: 0, size: 0 };

    pub(crate) fn modified(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::new(u64::from(self.modified[0]), self.modified[1])
    }
}

/// Returns the parts of the index with these changes. The scan's hits, the changes and the stats correspond by position.
pub(crate) fn patch<'o>(
    old: &'o [u8],
    scan: &Scan,
    changes: &[PathChange],
    stats: &[Option<Stat>],
) -> Vec<Cow<'o, [u8]>> {
    let mut parts = vec![Cow::default()];
    let mut entries = scan.entries;
    let mut copied = HEADER;
    let mut names_changed = false;
    for ((hit, change), stat) in scan.hits.iter().zip(changes).zip(stats) {
        let replaced = old_range(hit);
        parts.push(Cow::Borrowed(&old[copied..replaced.start]));
        copied = replaced.end;
        entries -= u32::try_from(hit.entries.len()).expect("at most three stages");
        names_changed |= hit.entries.is_empty() == change.after.is_some();
        if let Some(leaf) = change.after {
            let stat = stat.unwrap_or(Stat::UNKNOWN);
            parts.push(Cow::Owned(entry_bytes(&change.path, leaf, stat, hit.entries.first())));
            entries += 1;
        }
    }
    parts.push(Cow::Borrowed(&old[copied..scan.entries_end]));
    parts[0] = Cow::Owned([&old[..8], &entries.to_be_bytes()].concat());

    let mut end = Vec::new();
    for extension in &scan.extensions {
        let body = &old[extension.body.clone()];
        match &extension.signature {
            b"TREE" => {
                let mut copy = Vec::with_capacity(body.len());
                // A malformed `TREE` is dropped.
                if copy_node(&mut &body[..], Some(""), changes, &mut copy).is_some() {
                    write_extension(&mut end, *b"TREE", &copy);
                }
            }
            b"UNTR" if names_changed => {}
            b"REUC" | b"UNTR" => write_extension(&mut end, extension.signature, body),
            _ => {}
        }
    }
    if scan.unhashed {
        end.extend([0; 20]);
    } else {
        let mut checksum = Sha1::new();
        for part in &parts {
            checksum.update(part);
        }
        checksum.update(&end);
        end.extend(checksum.finalize());
    }
    parts.push(Cow::Owned(end));
    parts
}

fn old_range(hit: &Hit) -> std::ops::Range<usize> {
    match (hit.entries.first(), hit.entries.last()) {
        (Some(first), Some(last)) => first.range.start..last.range.end,
        _ => hit.place..hit.place,
    }
}

/// Returns the bytes of an entry; keeps the flags that a person can set on the old one.
fn entry_bytes(path: &str, leaf: Leaf, stat: Stat, old: Option<&ScannedEntry>) -> Vec<u8> {
    let mut entry = Vec::with_capacity(padded(FIXED + 4 + path.len()));
    let words = [
        stat.created[0],
        stat.created[1],
        stat.modified[0],
        stat.modified[1],
        stat.device,
        stat.inode,
        leaf.mode,
        stat.user,
        stat.group,
        stat.size,
    ];
    entry.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    entry.extend(leaf.id.as_bytes());
    debug_assert_eq!(entry.len(), FIXED);
    let length = u16::try_from(path.len()).unwrap_or(NAME_MASK).min(NAME_MASK);
    let kept = old.map_or(0, |old| old.flags & (FLAG_VALID | FLAG_EXTENDED));
    entry.extend((kept | length).to_be_bytes());
    if let Some(extended) = old.and_then(|old| old.extended) {
        entry.extend(extended.to_be_bytes());
    }
    entry.extend(path.as_bytes());
    entry.resize(padded(entry.len()), 0);
    entry
}

fn write_extension(index: &mut Vec<u8>, signature: [u8; 4], body: &[u8]) {
    index.extend(signature);
    index.extend(
        u32::try_from(body.len())
            .expect("no larger than the old extension but for a few names")
            .to_be_bytes(),
    );
    index.extend(body);
}

pub(crate) const HEADER: usize = 12;
pub(crate) const CHECKSUM: usize = 20;
/// Bytes of an entry before its flags.
pub(crate) const FIXED: usize = 60;
pub(crate) const FLAG_VALID: u16 = 0x8000;
pub(crate) const FLAG_EXTENDED: u16 = 0x4000;
pub(crate) const NAME_MASK: u16 = 0x0fff;
const INTENT_TO_ADD: u16 = 0x2000;

/// The layout of an index, by whether [`patch`] supports it.
#[derive(Debug)]
pub(crate) enum IndexLayout {
    Known(Scan),
    /// Version 4, split, sparse, or with an extension that must be understood.
    Foreign,
}

/// The result of one pass over an index.
#[derive(Debug)]
pub(crate) struct Scan {
    pub entries: u32,
    pub entries_end: usize,
    pub extensions: Vec<Extension>,
    /// True if git wrote no checksum (`index.skipHash`).
    pub unhashed: bool,
    /// One hit per path that was looked for, in that order.
    pub hits: Vec<Hit>,
    /// The attribute files of all folders.
    pub attribute_files: Vec<ListedEntry>,
}

/// An extension's signature and body.
#[derive(Debug)]
pub(crate) struct Extension {
    pub signature: [u8; 4],
    pub body: Range<usize>,
}

/// The position of a path in the index, or where it would be.
#[derive(Debug, Default)]
pub(crate) struct Hit {
    /// The offset at which an entry for the path belongs, if there is none.
    pub place: usize,
    /// One entry, or up to three conflict stages.
    pub entries: Vec<ScannedEntry>,
}

/// An entry and its byte range.
#[derive(Debug)]
pub(crate) struct ScannedEntry {
    pub range: Range<usize>,
    pub staged: StagedEntry,
    pub flags: u16,
    pub extended: Option<u16>,
}

impl Scan {
    /// Returns the scan of an empty index.
    pub(crate) fn empty(paths: usize) -> Self {
        let hits = (0..paths).map(|_| Hit { place: HEADER, entries: Vec::new() }).collect();
        Self {
            entries: 0,
            entries_end: HEADER,
            extensions: Vec::new(),
            unhashed: false,
            hits,
            attribute_files: Vec::new(),
        }
    }
}

/// Reads an index; `paths` must be sorted by their bytes. The error describes the fault of the file.
pub(crate) fn scan(bytes: &[u8], paths: &[&str]) -> Result<IndexLayout, String> {
    if bytes.len() < HEADER + CHECKSUM || !bytes.starts_with(b"DIRC") {
        return Err("it does not start like an index".to_owned());
    }
    match be32(bytes, 4) {
        2 | 3 => {}
        4 => return Ok(IndexLayout::Foreign),
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
            return Ok(IndexLayout::Foreign);
        }
        while wanted < paths.len() && paths[wanted].as_bytes() < name {
            if scan.hits[wanted].entries.is_empty() {
                scan.hits[wanted].place = at;
            }
            wanted += 1;
        }
        let stage = stage_of(flags);
        let intent_to_add = extended.is_some_and(|extended| extended & INTENT_TO_ADD != 0);
        if is_attribute_file(name) && !intent_to_add {
            let leaf = leaf_at(bytes, at);
            scan.attribute_files.push(ListedEntry { path: name.to_vec(), leaf, stage });
        }
        if wanted < paths.len() && paths[wanted].as_bytes() == name {
            let staged = StagedEntry { leaf: leaf_at(bytes, at), stage, intent_to_add };
            scan.hits[wanted].entries.push(ScannedEntry {
                range: at..end,
                staged,
                flags,
                extended,
            });
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
                return Ok(IndexLayout::Foreign);
            }
            _ => scan.extensions.push(Extension { signature, body: body..end }),
        }
        at = end;
    }
    Ok(IndexLayout::Known(scan))
}

/// Visits the names of the entries in order, until `look` breaks or at the end. Returns `false` if that is not possible: the
/// bytes may be a truncated index, or a version with compressed names.
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

/// Visits the path, the leaf and the conflict stage of each entry of an index that [`scan`] knows.
pub(crate) fn each_entry<'b>(
    bytes: &'b [u8],
    scan: &Scan,
    visit: &mut dyn FnMut(&'b [u8], Leaf, u8),
) {
    let mut at = HEADER;
    while at < scan.entries_end
        && let Some((name, flags, _, end)) = entry(bytes, at)
    {
        visit(name, leaf_at(bytes, at), stage_of(flags));
        at = end;
    }
}

fn leaf_at(bytes: &[u8], entry: usize) -> Leaf {
    let id = ObjectId::from_raw(&bytes[entry + 40..entry + 60]).expect("20 bytes");
    Leaf { mode: be32(bytes, entry + 24), id }
}

fn stage_of(flags: u16) -> u8 {
    u8::try_from(flags >> 12 & 3).expect("two bits")
}

fn is_attribute_file(path: &[u8]) -> bool {
    path.strip_suffix(ATTRIBUTE_FILE.as_bytes())
        .is_some_and(|folder| folder.is_empty() || folder.ends_with(b"/"))
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

/// Returns the padded length of an entry: 1 to 8 NULs follow the name, to a multiple of 8.
pub(crate) const fn padded(unpadded: usize) -> usize {
    (unpadded + 8) & !7
}

fn be16(bytes: &[u8]) -> u16 {
    u16::from_be_bytes([bytes[0], bytes[1]])
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Copies the cache-tree node of a folder and those below it, and invalidates folders of changed paths, as git does on staging. A
/// node is its name, NUL, its number of entries (negative: invalid), its number of subfolders, and its tree id. `above` is the path
/// of the folder above; `None` if nothing changes in that.
fn copy_node(
    rest: &mut &[u8],
    above: Option<&str>,
    changes: &[PathChange],
    copy: &mut Vec<u8>,
) -> Option<()> {
    let node = *rest;
    let mut until = |end: u8| {
        let (taken, behind) = rest.split_at_checked(rest.iter().position(|byte| *byte == end)?)?;
        *rest = &behind[1..];
        str::from_utf8(taken).ok()
    };
    let (name, entries, folders) = (until(0)?, until(b' ')?, until(b'\n')?);
    let is_known = entries.parse::<i64>().ok()? >= 0;
    let folder =
        above.map(|above| if name.is_empty() { String::new() } else { format!("{above}{name}/") });
    let is_changed = |folder: &String| changes.iter().any(|change| change.path.starts_with(folder));
    let folder = folder.filter(is_changed);
    rest.split_off(..if is_known { 20 } else { 0 })?;
    match folder {
        Some(_) => copy.extend(format!("{name}\0-1 {folders}\n").bytes()),
        None => copy.extend(&node[..node.len() - rest.len()]),
    }
    let mut below = 0..folders.parse::<usize>().ok()?;
    below.try_for_each(|_| copy_node(rest, folder.as_deref(), changes, copy))
}
