//! The cache of task headers, `.aof/cache`: whatever a caller makes of a file's start, kept as long as the file seems untouched.
//!
//! A file that was written less than two seconds before it was looked at is not kept: it could be written again without
//! any sign (git calls that racy). Nothing depends on the cache: one that is damaged, or of another format, is empty.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::fs::folder::Durability;
use super::layout::LOCAL;
use super::{FileStat, Folder, Paths, ProjectPath, StoreError};

const NAME: &str = "cache";
const FORMAT: &str = "aof-cache 1";
const LIMIT: u64 = 1024 * 1024 * 1024;
const RACY: i128 = 2_000_000_000;

/// What is known of the headers of task files.
#[derive(Debug)]
pub struct HeaderCache<H> {
    schema: &'static str,
    entries: HashMap<String, Entry<H>>,
    changed: bool,
}

#[derive(Debug)]
struct Entry<H> {
    stat: FileStat,
    header: H,
}

/// One line of the file: path, mtime, ctime, size, inode, header.
type Line<'l, H> = (std::borrow::Cow<'l, str>, i64, i64, u64, u64, H);

impl<H: Serialize + DeserializeOwned> HeaderCache<H> {
    /// Loads the cache; `schema` names the form of the headers, and a cache of another form is empty.
    pub fn load(paths: &Paths, schema: &'static str) -> Self {
        let file = Folder::open_existing(paths.root(), LOCAL)
            .ok()
            .flatten()
            .and_then(|folder| folder.open_to_read(NAME).ok().flatten())
            .filter(|(_, metadata)| metadata.len() <= LIMIT);
        let entries = file.and_then(|(file, _)| parse(BufReader::new(file), schema));
        Self { schema, entries: entries.unwrap_or_default(), changed: false }
    }

    /// Returns whether there is a cache of this form that cannot be read. One of another form is another version's.
    pub fn is_damaged(paths: &Paths, schema: &'static str) -> bool {
        let folder = Folder::open_existing(paths.root(), LOCAL).ok().flatten();
        let bytes = folder.and_then(|folder| folder.read(NAME, LIMIT).ok().flatten());
        let Some((bytes, _)) = bytes else { return false };
        let form = title(schema, 0);
        let form = &form[..form.len() - SUM];
        let is_other = bytes.starts_with(FORMAT.as_bytes()) && !bytes.starts_with(form);
        !is_other && parse::<H>(bytes.as_slice(), schema).is_none()
    }

    /// Removes such a cache.
    pub fn remove_damaged(paths: &Paths, schema: &'static str) -> Result<(), StoreError> {
        match Folder::open_existing(paths.root(), LOCAL)? {
            Some(folder) if Self::is_damaged(paths, schema) => folder.remove(NAME),
            _ => Ok(()),
        }
    }

    /// Returns the header of a file that seems untouched since it was put here.
    pub fn get(&self, path: &ProjectPath, stat: &FileStat) -> Option<&H> {
        let entry = self.entries.get(path.as_str())?;
        (entry.stat == *stat).then_some(&entry.header)
    }

    /// Keeps a header, or gives it back. `looked` is when the file was looked at, before it was read.
    pub fn put(
        &mut self,
        path: &ProjectPath,
        stat: FileStat,
        header: H,
        looked: Timestamp,
    ) -> Option<H> {
        let age = looked.as_nanosecond() - i128::from(stat.mtime.max(stat.ctime));
        if age >= RACY {
            self.entries.insert(path.as_str().to_owned(), Entry { stat, header });
            self.changed = true;
            return None;
        }
        if self.get(path, &stat).is_some() {
            // One that was kept for an earlier state of the file is left: its times are never met again, and writing all anew takes time.
            self.entries.remove(path.as_str());
            self.changed = true;
        }
        Some(header)
    }

    /// Takes a header out of the cache in memory, once that is saved: there are never two of it.
    pub fn take(&mut self, path: &ProjectPath) -> Option<H> {
        self.entries.remove(path.as_str()).map(|entry| entry.header)
    }

    /// Forgets the files for which `standing` is false.
    pub fn retain(&mut self, standing: impl Fn(&str) -> bool) {
        let before = self.entries.len();
        self.entries.retain(|path, _| standing(path));
        self.changed |= self.entries.len() != before;
    }

    /// Returns how many headers are kept.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether none is.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Writes the cache if it has changed. Of two who write at once, one wins, and nothing is lost but time.
    pub fn save(&mut self, paths: &Paths) -> Result<(), StoreError> {
        if !self.changed {
            return Ok(());
        }
        let folder = paths.prepare_local()?;
        folder.replace(NAME, &self.render(), Durability::Volatile)?;
        self.changed = false;
        Ok(())
    }

    fn render(&self) -> Vec<u8> {
        // There is room for the first line from the start: all of it together is large enough once.
        let mut bytes = title(self.schema, 0);
        let first = bytes.len();
        bytes.reserve(self.entries.len() * 512);
        for (path, Entry { stat, header }) in &self.entries {
            let line: Line<'_, &H> =
                (path.into(), stat.mtime, stat.ctime, stat.size, stat.inode, header);
            let start = bytes.len();
            // A header that has no JSON is made anew each time, like one that is not here.
            if serde_json::to_writer(&mut bytes, &line).is_ok() {
                bytes.push(b'\n');
            } else {
                bytes.truncate(start);
            }
        }
        let sum = checksum(&bytes[first..]);
        bytes[..first].copy_from_slice(&title(self.schema, sum));
        bytes
    }
}

/// Returns the first line; it is as long whatever the sum is.
fn title(schema: &str, sum: u64) -> Vec<u8> {
    format!("{FORMAT} {schema} {sum:016x}\n").into_bytes()
}

/// Reads the file block by block: the headers alone are large enough.
fn parse<H: DeserializeOwned>(
    mut file: impl BufRead,
    schema: &str,
) -> Option<HashMap<String, Entry<H>>> {
    let mut first = Vec::new();
    file.by_ref().take(MOST_TITLE).read_until(b'\n', &mut first).ok()?;
    let mut entries = HashMap::new();
    let (mut sum, mut length, mut left) = (START, 0_u64, Vec::new());
    loop {
        let (mut block, known) = (std::mem::take(&mut left), length);
        let carried = block.len();
        let read = file.by_ref().take(BLOCK).read_to_end(&mut block).ok()? as u64;
        length += read;
        let is_last = read < BLOCK;
        sum = if is_last {
            finished(sum, &block[carried..], known)
        } else {
            added(sum, &block[carried..])
        };
        let end = block.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        for line in serde_json::Deserializer::from_slice(&block[..end]).into_iter::<Line<'_, H>>() {
            let (path, mtime, ctime, size, inode, header) = line.ok()?;
            let stat = FileStat { mtime, ctime, size, inode };
            entries.insert(path.into_owned(), Entry { stat, header });
        }
        block.drain(..end);
        left = block;
        if is_last {
            break;
        }
    }
    (left.is_empty() && first == title(schema, sum)).then_some(entries)
}

/// The sum at the end of the first line, with what ends it.
const SUM: usize = 17;
/// More than the first line ever is.
const MOST_TITLE: u64 = 256;
/// How much is read at once: whole words of eight bytes.
const BLOCK: u64 = 1 << 20;
const START: u64 = 0xCBF2_9CE4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01B3;

/// Returns FNV-1a, taken over words of eight bytes: against damage, not against people.
fn checksum(bytes: &[u8]) -> u64 {
    finished(START, bytes, 0)
}

/// Goes on with whole words.
fn added(sum: u64, bytes: &[u8]) -> u64 {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().fold(sum, |sum, word| {
        (sum ^ u64::from_le_bytes(*word)).wrapping_mul(PRIME).rotate_left(29)
    })
}

/// Ends with what there is behind `before` bytes.
fn finished(sum: u64, bytes: &[u8], before: u64) -> u64 {
    let (_, rest) = bytes.as_chunks::<8>();
    let sum = added(sum, bytes) ^ (before + bytes.len() as u64);
    rest.iter().fold(sum, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use serde_json::{Value, json};
    use tempfile::TempDir;

    use super::*;

    const LOOKED: Timestamp = Timestamp::constant(1_000_000, 0);

    fn stat(seconds_before: i64) -> FileStat {
        let time = (1_000_000 - seconds_before) * 1_000_000_000;
        FileStat { mtime: time, ctime: time, size: 10, inode: 7 }
    }

    fn path(text: &str) -> ProjectPath {
        text.parse().unwrap()
    }

    fn filled(paths: &Paths) -> HeaderCache<Value> {
        let mut cache = HeaderCache::load(paths, "v1");
        cache.put(
            &path("tasks/AOF-abc.md"),
            stat(10),
            json!({"title": "a\nb", "tags": [1, null]}),
            LOOKED,
        );
        cache.put(&path("tasks/AOF-xyz.md"), stat(20), json!("x"), LOOKED);
        cache.save(paths).unwrap();
        cache
    }

    #[test]
    fn a_header_is_kept_while_the_file_seems_untouched() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        filled(&paths);
        let cache: HeaderCache<Value> = HeaderCache::load(&paths, "v1");
        let task = path("tasks/AOF-abc.md");
        assert_eq!(cache.get(&task, &stat(10)), Some(&json!({"title": "a\nb", "tags": [1, null]})));
        let known = stat(10);
        for other in [
            FileStat { mtime: known.mtime + 1, ..known },
            FileStat { ctime: known.ctime + 1, ..known },
            FileStat { size: 11, ..known },
            FileStat { inode: 8, ..known },
        ] {
            assert_eq!(cache.get(&task, &other), None, "{other:?}");
        }
        assert_eq!(cache.get(&path("tasks/AOF-none.md"), &known), None);
        assert_eq!(cache.len(), 2);
    }

    #[test]
    fn a_file_just_written_is_not_trusted() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        let mut cache = filled(&paths);
        let task = path("tasks/AOF-abc.md");
        for racy in [stat(1), stat(0), stat(-5), FileStat { ctime: stat(1).ctime, ..stat(10) }] {
            cache.put(&task, racy, json!("new"), LOOKED);
            assert_eq!(cache.get(&task, &racy), None);
        }
        fs::remove_file(paths.cache()).unwrap();
        cache.save(&paths).unwrap();
        assert!(!paths.cache().exists(), "nothing is written for a file that is not kept");
        // Between the two looks the clock was set back: what was old enough is not any more.
        cache.put(&task, stat(10), json!("new"), LOOKED - Duration::from_secs(9));
        assert_eq!(
            cache.get(&task, &stat(10)),
            None,
            "what may have changed without a sign is gone"
        );
        cache.put(&task, stat(2), json!("new"), LOOKED);
        assert_eq!(cache.get(&task, &stat(2)), Some(&json!("new")));
    }

    #[test]
    fn a_damaged_cache_is_empty_and_written_anew() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        filled(&paths);
        let whole = fs::read(paths.cache()).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x20;
            assert!(parse::<Value>(&damaged[..], "v1").is_none(), "byte {at} of {}", whole.len());
            assert!(parse::<Value>(&whole[..at], "v1").is_none(), "cut at {at}");
        }
        fs::write(paths.cache(), &whole[..whole.len() - 1]).unwrap();
        assert!(HeaderCache::<Value>::load(&paths, "v1").is_empty());
        filled(&paths);
        assert_eq!(HeaderCache::<Value>::load(&paths, "v1").len(), 2);
        assert!(HeaderCache::<Value>::load(&paths, "v2").is_empty());
        assert!(HeaderCache::<u32>::load(&paths, "v1").is_empty());
    }

    #[test]
    fn a_large_cache_is_read_block_by_block() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        let mut cache = HeaderCache::load(&paths, "v1");
        let header = |number: usize| json!({"number": number, "text": "x".repeat(number % 1_000)});
        for number in 0..6_000 {
            let _ = cache.put(
                &path(&format!("tasks/AOF-{number:05}.md")),
                stat(10),
                header(number),
                LOOKED,
            );
        }
        cache.save(&paths).unwrap();
        assert!(fs::metadata(paths.cache()).unwrap().len() > 3 * BLOCK);
        let cache: HeaderCache<Value> = HeaderCache::load(&paths, "v1");
        assert_eq!(cache.len(), 6_000);
        for number in 0..6_000 {
            assert_eq!(
                cache.get(&path(&format!("tasks/AOF-{number:05}.md")), &stat(10)),
                Some(&header(number))
            );
        }
        let whole = fs::read(paths.cache()).unwrap();
        let mut damaged = whole.clone();
        *damaged.last_mut().unwrap() ^= 0x20;
        assert!(parse::<Value>(&damaged[..], "v1").is_none());
    }

    #[test]
    fn forgotten_files_are_gone_and_nothing_is_written_without_a_change() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        let mut cache = filled(&paths);
        fs::remove_file(paths.cache()).unwrap();
        cache.retain(|_| true);
        cache.save(&paths).unwrap();
        assert!(!paths.cache().exists());
        cache.retain(|path| path.ends_with("AOF-abc.md"));
        cache.save(&paths).unwrap();
        assert_eq!(HeaderCache::<Value>::load(&paths, "v1").len(), 1);
    }
}
