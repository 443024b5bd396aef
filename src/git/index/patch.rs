//! Writes a new index from the bytes of the old one and a few changed paths. Pure: no file is touched.
//!
//! Of the extensions, `TREE` is brought up to date, `REUC` kept, `UNTR` kept unless a name comes or goes (then git
//! builds it anew); all others hold offsets or bitmaps of entries, or are unknown, and are left out, which is allowed.

use sha1::{Digest, Sha1};

use super::cache_tree;
use super::entries::{FolderChange, PathChange};
use super::parse::{FIXED, FLAG_EXTENDED, FLAG_VALID, Found, HEADER, Hit, NAME_MASK, Scan, padded};
use super::stat::Stat;
use crate::git::objects::tree::Leaf;

/// An index without entries, but for its checksum.
pub(crate) const EMPTY: &[u8; HEADER] = b"DIRC\0\0\0\x02\0\0\0\0";

/// Returns the index with these changes made; the scan's hits, the changes and the stats run in parallel.
pub(crate) fn patch(
    old: &[u8],
    scan: &Scan,
    changes: &[PathChange],
    stats: &[Option<Stat>],
    folders: &[FolderChange],
) -> Vec<u8> {
    let mut new = Vec::with_capacity(old.len() + changes.len() * 128);
    let mut entries = scan.entries;
    let mut copied = 0;
    let mut names_changed = false;
    for ((hit, change), stat) in scan.hits.iter().zip(changes).zip(stats) {
        let replaced = old_range(hit);
        new.extend(&old[copied..replaced.start]);
        copied = replaced.end;
        entries -= u32::try_from(hit.entries.len()).expect("at most three stages");
        names_changed |= hit.entries.is_empty() == change.after.is_some();
        if let Some(leaf) = change.after {
            write_entry(
                &mut new,
                &change.path,
                leaf,
                stat.unwrap_or(Stat::UNKNOWN),
                hit.entries.first(),
            );
            entries += 1;
        }
    }
    new.extend(&old[copied..scan.entries_end]);
    new[8..HEADER].copy_from_slice(&entries.to_be_bytes());

    for extension in &scan.extensions {
        let body = &old[extension.body.clone()];
        match &extension.signature {
            b"TREE" => {
                if let Some(body) = cache_tree::patch(body, changes, folders) {
                    write_extension(&mut new, *b"TREE", &body);
                }
            }
            b"UNTR" if names_changed => {}
            b"REUC" | b"UNTR" => write_extension(&mut new, extension.signature, body),
            _ => {}
        }
    }
    if scan.unhashed {
        new.extend([0; 20]);
    } else {
        let checksum = Sha1::digest(&new);
        new.extend(checksum);
    }
    new
}

fn old_range(hit: &Hit) -> std::ops::Range<usize> {
    match (hit.entries.first(), hit.entries.last()) {
        (Some(first), Some(last)) => first.range.start..last.range.end,
        _ => hit.place..hit.place,
    }
}

/// Appends an entry; the flags that a person can set on the old one stay.
fn write_entry(index: &mut Vec<u8>, path: &str, leaf: Leaf, stat: Stat, old: Option<&Found>) {
    let begin = index.len();
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
    index.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    index.extend(leaf.id.as_bytes());
    debug_assert_eq!(index.len() - begin, FIXED);
    let length = u16::try_from(path.len()).unwrap_or(NAME_MASK).min(NAME_MASK);
    let kept = old.map_or(0, |old| old.flags & (FLAG_VALID | FLAG_EXTENDED));
    index.extend((kept | length).to_be_bytes());
    if let Some(extended) = old.and_then(|old| old.extended) {
        index.extend(extended.to_be_bytes());
    }
    index.extend(path.as_bytes());
    index.resize(begin + padded(index.len() - begin), 0);
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
