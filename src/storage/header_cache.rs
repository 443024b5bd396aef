//! Caches of data derived from task files, kept as long as a file seems untouched: `.aof/cache` has their headers.
//!
//! A file that was written less than two seconds before it was examined is not cached: it could be written again without a visible
//! change (git calls that racy). Nothing depends on the cache: a damaged one, or one of another format, counts as empty.
//!
//! The title is followed by chunks: length and CRC-32, four bytes each with the lowest first, and entries in postcard's format.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Read};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::OnceLock;

use flate2::Crc;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::layout::LOCAL;
use super::{Durability, FileStat, Folder, Paths, ProjectPath, StoreError};
use crate::domain::Ticket;
use crate::files::printable::one_line;

const FORMAT: &str = "aof-cache 4";
const LIMIT: u64 = 1024 * 1024 * 1024;
const RACY: i128 = 2_000_000_000;
/// The size in bytes at which a chunk ends, with the entry that reaches it.
const CHUNK: usize = 64 << 10;
/// The size in bytes of a short entry.
const SHORT: usize = 192;

/// A cache's file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheFile {
    /// Its name below `.aof/`.
    pub name: &'static str,
    /// The form of its headers. A cache of another form is empty.
    pub schema: &'static str,
}

/// The known headers of task files.
#[derive(Debug)]
pub struct HeaderCache<H> {
    file: CacheFile,
    entries: HashMap<String, (FileStat, H)>,
    changed: bool,
    /// True if the file was damaged, so that this cache began empty.
    pub(crate) is_replaced: bool,
}

/// One entry of the file: path, mtime, ctime, size, inode, header.
type CacheEntry<'e, H> = (&'e str, i64, i64, u64, u64, H);

/// Returns the next header of a chunk.
pub(crate) fn take_header<'c, H: Deserialize<'c>>(chunk: &mut &'c [u8]) -> Option<H> {
    let (header, rest) = postcard::take_from_bytes(chunk).ok()?;
    *chunk = rest;
    Some(header)
}

/// A cache that cannot be read.
struct Damage;

impl<H> HeaderCache<H> {
    /// Loads the headers in the cache's file as `header` reads them, given the path of each.
    pub(crate) fn load_with(
        paths: &Paths,
        file: CacheFile,
        header: impl FnMut(&str, &mut &[u8]) -> Option<H>,
    ) -> Self {
        let read = read(paths, file, header);
        let is_replaced = read.is_err();
        Self { file, entries: read.unwrap_or_default(), changed: false, is_replaced }
    }

    /// Returns the header of a file that seems untouched since it was cached.
    pub(crate) fn get(&self, path: &ProjectPath, stat: &FileStat) -> Option<&H> {
        let (known, header) = self.entries.get(path.as_str())?;
        (known == stat).then_some(header)
    }

    /// Returns the number of files with a cached header.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

impl<H: Serialize + DeserializeOwned> HeaderCache<H> {
    /// Loads the cache.
    pub(crate) fn load(paths: &Paths, file: CacheFile) -> Self {
        Self::load_with(paths, file, |_, chunk| take_header(chunk))
    }

    /// Returns whether there is a cache that cannot be read. A cache of another format counts as another version's.
    pub(crate) fn is_damaged(paths: &Paths, file: CacheFile) -> bool {
        read(paths, file, |_, chunk| take_header::<H>(chunk)).is_err()
    }

    /// Removes a cache that cannot be read.
    pub(crate) fn remove_damaged(paths: &Paths, file: CacheFile) -> Result<(), StoreError> {
        match Folder::open_existing(paths.root(), LOCAL)? {
            Some(folder) if Self::is_damaged(paths, file) => folder.remove(file.name),
            _ => Ok(()),
        }
    }

    /// Caches a header, or returns it. `looked` is the time when the file was examined, before it was read.
    pub(crate) fn put(
        &mut self,
        path: &ProjectPath,
        stat: FileStat,
        header: H,
        looked: Timestamp,
    ) -> Option<H> {
        let age = looked.as_nanosecond() - i128::from(stat.mtime.max(stat.ctime));
        if age >= RACY {
            self.entries.insert(path.as_str().to_owned(), (stat, header));
            self.changed = true;
            return None;
        }
        // The entry of an earlier state of the file is kept: its times never match again, and removing it would rewrite all entries.
        if self.get(path, &stat).is_some() {
            self.entries.remove(path.as_str());
            self.changed = true;
        }
        Some(header)
    }

    /// Moves a header out of the cache in memory, after it was saved, so that it is never there twice.
    pub(crate) fn take(&mut self, path: &ProjectPath) -> Option<(FileStat, H)> {
        self.entries.remove(path.as_str())
    }

    /// Removes the files for which `standing` is false.
    pub(crate) fn retain(&mut self, standing: impl Fn(&str) -> bool) {
        let before = self.entries.len();
        self.entries.retain(|path, _| standing(path));
        self.changed |= self.entries.len() != before;
    }

    /// Writes the cache if it has changed. If two processes write at once, one wins, and only time is lost.
    pub(crate) fn save(&mut self, paths: &Paths) -> Result<(), StoreError> {
        if !self.changed {
            return Ok(());
        }
        let mut bytes = title(self.file.schema).into_bytes();
        let mut chunk = Vec::with_capacity(2 * CHUNK);
        // In order, so that entries loaded one after the other are used one after the other.
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_unstable_by_key(|(path, _)| path.as_str());
        for (path, (stat, header)) in entries {
            let entry: CacheEntry<'_, &H> =
                (path, stat.mtime, stat.ctime, stat.size, stat.inode, header);
            // A header that cannot be serialized is read again each time, like one that is not cached.
            chunk.extend(postcard::to_stdvec(&entry).unwrap_or_default());
            if chunk.len() >= CHUNK {
                push_chunk(&mut bytes, &mut chunk);
            }
        }
        push_chunk(&mut bytes, &mut chunk);
        paths.prepare_local()?.replace(self.file.name, &bytes, Durability::Volatile)?;
        self.changed = false;
        Ok(())
    }
}

fn title(schema: &str) -> String {
    format!("{FORMAT} {schema}\n")
}

/// Reads the entries of a cache; none if there is no cache, or it is another version's. Reads one chunk at a time: fresh memory
/// costs more than reading.
fn read<H>(
    paths: &Paths,
    cache: CacheFile,
    mut header: impl FnMut(&str, &mut &[u8]) -> Option<H>,
) -> Result<HashMap<String, (FileStat, H)>, Damage> {
    let folder = Folder::open_existing(paths.root(), LOCAL).ok().flatten();
    let opened = folder.and_then(|folder| folder.open_to_read(cache.name).ok().flatten());
    let Some((file, metadata)) = opened else { return Ok(HashMap::new()) };
    if metadata.len() > LIMIT {
        return Err(Damage);
    }
    let mut file = BufReader::new(file);
    let mut first = Vec::new();
    file.by_ref().take(256).read_until(b'\n', &mut first).map_err(|_| Damage)?;
    if first != title(cache.schema).as_bytes() {
        let is_other = first.starts_with(b"aof-cache ") && first.ends_with(b"\n");
        return if is_other { Ok(HashMap::new()) } else { Err(Damage) };
    }
    let length = usize::try_from(metadata.len()).map_err(|_| Damage)?;
    let mut left = length.checked_sub(first.len()).ok_or(Damage)?;
    let mut entries = HashMap::with_capacity(left / SHORT);
    let mut chunk = Vec::with_capacity(2 * CHUNK);
    while left > 0 {
        let [mut length, mut sum] = [[0; 4]; 2];
        file.read_exact(&mut length)
            .and_then(|()| file.read_exact(&mut sum))
            .map_err(|_| Damage)?;
        let length = usize::try_from(u32::from_le_bytes(length)).map_err(|_| Damage)?;
        left = left.checked_sub(8 + length).ok_or(Damage)?;
        chunk.resize(length, 0);
        file.read_exact(&mut chunk).map_err(|_| Damage)?;
        if checksum(&chunk) != u32::from_le_bytes(sum) {
            return Err(Damage);
        }
        let mut rest = &chunk[..];
        while !rest.is_empty() {
            let (path, mtime, ctime, size, inode): (&str, _, _, _, _) =
                take_header(&mut rest).ok_or(Damage)?;
            let cached = header(path, &mut rest).ok_or(Damage)?;
            entries.insert(path.to_owned(), (FileStat { mtime, ctime, size, inode }, cached));
        }
    }
    Ok(entries)
}

/// Appends a chunk, with its length and its checksum.
fn push_chunk(bytes: &mut Vec<u8>, chunk: &mut Vec<u8>) {
    let length = u32::try_from(chunk.len()).expect("a task file has at most 16 MiB");
    bytes.extend(length.to_le_bytes());
    bytes.extend(checksum(chunk).to_le_bytes());
    bytes.append(chunk);
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// A part of a header that few commands need: it is decoded at its first use.
#[derive(Debug, Clone)]
pub(crate) struct Deferred<T> {
    /// The value in postcard's format; empty if it was never stored.
    bytes: Box<[u8]>,
    value: OnceLock<T>,
}

impl<T> From<T> for Deferred<T> {
    fn from(value: T) -> Self {
        Self { bytes: Box::default(), value: OnceLock::from(value) }
    }
}

impl<T: DeserializeOwned + Default> Deref for Deferred<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // The checksum is right, so the bytes are as written.
        self.value.get_or_init(|| postcard::from_bytes(&self.bytes).unwrap_or_default())
    }
}

impl<T: DeserializeOwned + Default + PartialEq> PartialEq for Deferred<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Serialize> Serialize for Deferred<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value.get() {
            Some(value) => {
                let bytes = postcard::to_stdvec(value).map_err(serde::ser::Error::custom)?;
                serializer.serialize_bytes(&bytes)
            }
            None => serializer.serialize_bytes(&self.bytes),
        }
    }
}

impl<'de, T> Deserialize<'de> for Deferred<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = <&[u8]>::deserialize(deserializer)?;
        Ok(Self { bytes: bytes.into(), value: OnceLock::new() })
    }
}

/// A record in a file of its own below `.aof/`.
pub trait Hint: Serialize + DeserializeOwned {
    /// The file's name.
    const NAME: &str;

    /// Returns the saved record; `None` if it is missing or cannot be read.
    fn load(paths: &Paths) -> Option<Self> {
        Folder::open_existing(paths.root(), LOCAL).ok()??.read_json(Self::NAME).ok()?
    }

    /// Saves the record. A power cut may revert it.
    fn save(&self, paths: &Paths) -> Result<(), StoreError> {
        paths.prepare_local()?.replace_json(Self::NAME, self, Durability::Volatile)
    }
}

/// `.aof/archive`: the commit whose archive was scanned for unfinished tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveScan {
    /// The commit whose archive was scanned.
    pub commit: String,
    /// The files in it whose tasks seemed unfinished.
    pub open: Vec<String>,
}

impl Hint for ArchiveScan {
    const NAME: &str = "archive";
}

impl ArchiveScan {
    /// Returns the files that are paths of the project.
    pub(crate) fn paths(&self) -> impl Iterator<Item = ProjectPath> + '_ {
        self.open.iter().filter_map(|path| path.parse().ok())
    }
}

/// `.aof/horizon`: the time until which nothing is due, at one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DueHorizon {
    pub commit: String,
    /// The time when all tasks were last examined.
    pub examined: Timestamp,
    /// The number of workplaces that were left because no agent has room for them.
    pub left: usize,
    /// The time when the next time limit ends, if there is one.
    pub next: Option<Timestamp>,
}

impl Hint for DueHorizon {
    const NAME: &str = "horizon";
}

/// `.aof/boot`: the start of the machine after which temporary files were swept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LastBoot {
    pub boot: String,
}

impl Hint for LastBoot {
    const NAME: &str = "boot";
}

/// `.aof/dropped`: steps that git dropped from the branch, and that cannot be restored before a person clears the way.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct WaitingSteps {
    /// The commits that the branch had.
    pub had: Vec<String>,
}

impl Hint for WaitingSteps {
    const NAME: &str = "dropped";
}

/// `.aof/contact`: the time when the remote was last reached, and the failure since.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct RemoteContact {
    /// The time when it last answered.
    pub reached: Option<Timestamp>,
    /// The failure that has kept commits from the remote since then.
    pub trouble: Option<RemoteFailure>,
}

/// A failure that keeps commits from the remote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RemoteFailure {
    /// Its kind: stable, for JSON.
    pub code: String,
    /// A sentence for people.
    pub said: String,
    /// The time since when it lasts.
    pub since: Timestamp,
    /// The lock of git that caused it. Once the lock is gone, the failure is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<PathBuf>,
}

impl Hint for RemoteContact {
    const NAME: &str = "contact";
}

/// `.aof/paused`: programs at their usage limits. A key represents a program, its variables and its home.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Pauses(BTreeMap<String, ProgramPause>);

/// The pause of a program at its usage limit. After its end it stays until the program runs without meeting a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramPause {
    /// The program, as its command names it; empty if the budget of the day is used up.
    pub program: String,
    pub until: Timestamp,
    /// The number of consecutive limits that named no end.
    pub guesses: u32,
    /// The message of the program.
    pub why: String,
}

impl Hint for Pauses {
    const NAME: &str = "paused";
}

impl Pauses {
    /// Returns the last pause of a program.
    pub(crate) fn last(paths: &Paths, key: &str) -> Option<ProgramPause> {
        Self::load(paths)?.0.remove(key)
    }

    /// Returns the pauses that have not ended.
    pub(crate) fn lasting(paths: &Paths, now: Timestamp) -> Vec<ProgramPause> {
        let all = Self::load(paths).unwrap_or_default().0.into_values();
        all.filter(|pause| pause.until > now).collect()
    }

    /// Replaces or ends the pause of a program.
    pub(crate) fn set(
        paths: &Paths,
        key: &str,
        pause: Option<&ProgramPause>,
    ) -> Result<(), StoreError> {
        let mut all = Self::load(paths).unwrap_or_default();
        let before = all.0.remove(key);
        all.0.extend(pause.map(|pause| (key.to_owned(), pause.clone())));
        if before.as_ref() == pause { Ok(()) } else { all.save(paths) }
    }
}

/// `.aof/looks`: the next looks of programs that wait for something outside, by ticket.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct NextLooks(BTreeMap<String, NextLook>);

#[derive(Debug, Serialize, Deserialize)]
struct NextLook {
    at: Timestamp,
    /// The reason that the program gave at its last look.
    why: Option<String>,
}

impl Hint for NextLooks {
    const NAME: &str = "looks";
}

impl NextLooks {
    /// Returns the time of the next look at a visit; `None` if it may be looked at now.
    pub(crate) fn after(&self, ticket: &Ticket, now: Timestamp) -> Option<Timestamp> {
        self.0.get(&ticket.to_string()).map(|look| look.at).filter(|at| *at > now)
    }

    /// Returns the reason why the program waits, in its own words.
    pub(crate) fn reason(&self, ticket: &Ticket) -> Option<&str> {
        self.0.get(&ticket.to_string())?.why.as_deref()
    }

    /// Returns the visits that are not to be looked at yet.
    pub(crate) fn pending(&self, now: Timestamp) -> Vec<Ticket> {
        let later = self.0.iter().filter(|(_, look)| look.at > now);
        later.filter_map(|(ticket, _)| ticket.parse().ok()).collect()
    }

    /// Returns the time of the first look that is not due yet.
    pub(crate) fn first(&self, now: Timestamp) -> Option<Timestamp> {
        self.0.values().map(|look| look.at).filter(|at| *at > now).min()
    }

    /// Notes the time of the next look at a visit. Those of the past are removed.
    pub(crate) fn note(
        paths: &Paths,
        ticket: &Ticket,
        (at, why): (Timestamp, Option<String>),
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut all = Self::load(paths).unwrap_or_default();
        all.0.retain(|_, look| look.at > now);
        all.0.insert(ticket.to_string(), NextLook { at, why });
        all.save(paths)
    }
}

impl ProgramPause {
    /// Returns the pause of all programs at the end of the day's budget.
    pub(crate) fn of_budget(until: Timestamp, why: String) -> Self {
        Self { program: String::new(), until, guesses: 0, why }
    }

    /// Returns true if all programs pause, because the budget of the day is used up.
    pub(crate) fn is_budget(&self) -> bool {
        self.program.is_empty()
    }

    /// Returns the way to end it.
    pub(crate) fn fix(&self) -> &'static str {
        if self.is_budget() {
            "a higher `budget.day` in project.yaml ends that"
        } else {
            "`aof run --now` does not wait"
        }
    }

    /// Returns the pause in words, with the local time of its end, and the date unless that is today's.
    pub(crate) fn sentence(&self, now: Timestamp) -> String {
        let [until, now] = [self.until, now].map(|at| at.to_zoned(TimeZone::system()));
        let form = if until.date() == now.date() { "%H:%M %Z" } else { "%Y-%m-%d %H:%M %Z" };
        let (program, until) = (one_line(&self.program), until.strftime(form));
        if self.is_budget() {
            return format!("the budget of the day is used up, paused until {until}");
        }
        format!("`{program}` is at its usage limit, paused until {until}")
    }

    /// Returns the pause for `--json`.
    pub(crate) fn to_value(&self) -> Value {
        let program = (!self.is_budget()).then_some(&self.program);
        json!({"program": program, "until": self.until})
    }
}

impl RemoteContact {
    /// Returns the failure, unless it has ended by now.
    pub(crate) fn failure_now(&self) -> Option<&RemoteFailure> {
        let is_over =
            |failure: &RemoteFailure| failure.lock.as_ref().is_some_and(|lock| !lock.exists());
        self.trouble.as_ref().filter(|failure| !is_over(failure))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use tempfile::TempDir;

    use super::*;

    const NAME: &str = "cache";
    const V1: CacheFile = CacheFile { name: NAME, schema: "v1" };
    const V2: CacheFile = CacheFile { schema: "v2", ..V1 };
    const LOOKED: Timestamp = Timestamp::constant(1_000_000, 0);

    fn stat(seconds_before: i64) -> FileStat {
        let time = (1_000_000 - seconds_before) * 1_000_000_000;
        FileStat { mtime: time, ctime: time, size: 10, inode: 7 }
    }

    fn path(text: &str) -> ProjectPath {
        text.parse().unwrap()
    }

    type Header = (String, Vec<Option<u32>>);

    fn header(title: &str) -> Header {
        (title.to_owned(), vec![Some(1), None])
    }

    fn filled(paths: &Paths) -> HeaderCache<Header> {
        let mut cache = HeaderCache::load(paths, V1);
        cache.put(&path("tasks/AOF-abc.md"), stat(10), header("a\nb"), LOOKED);
        cache.put(&path("tasks/AOF-xyz.md"), stat(20), header("x"), LOOKED);
        cache.save(paths).unwrap();
        cache
    }

    fn kept(cache: &HeaderCache<Header>) -> usize {
        cache.entries.len()
    }

    #[test]
    fn a_header_is_kept_while_the_file_seems_untouched() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        filled(&paths);
        let cache: HeaderCache<Header> = HeaderCache::load(&paths, V1);
        let task = path("tasks/AOF-abc.md");
        assert_eq!(cache.get(&task, &stat(10)), Some(&header("a\nb")));
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
        assert_eq!(kept(&cache), 2);
    }

    #[test]
    fn a_file_just_written_is_not_trusted() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        let mut cache = filled(&paths);
        let task = path("tasks/AOF-abc.md");
        for racy in [stat(1), stat(0), stat(-5), FileStat { ctime: stat(1).ctime, ..stat(10) }] {
            cache.put(&task, racy, header("new"), LOOKED);
            assert_eq!(cache.get(&task, &racy), None);
        }
        fs::remove_file(paths.local().join(NAME)).unwrap();
        cache.save(&paths).unwrap();
        assert!(
            !paths.local().join(NAME).exists(),
            "nothing is written for a file that is not kept"
        );
        // If the clock is set back between the two reads, a file that was old enough no longer is.
        cache.put(&task, stat(10), header("new"), LOOKED - Duration::from_secs(9));
        assert_eq!(
            cache.get(&task, &stat(10)),
            None,
            "what may have changed without a sign is gone"
        );
        cache.put(&task, stat(2), header("new"), LOOKED);
        assert_eq!(cache.get(&task, &stat(2)), Some(&header("new")));
    }

    #[test]
    fn a_damaged_cache_is_empty_and_written_anew() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        filled(&paths);
        let whole = fs::read(paths.local().join(NAME)).unwrap();
        let other = |at: usize| {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            bytes
        };
        assert!(!HeaderCache::<Header>::is_damaged(&paths, V1));
        let chunk = title(V1.schema).len();
        for damaged in [
            Vec::new(),
            b"x".to_vec(),
            whole[..whole.len() - 1].to_vec(),
            [whole.as_slice(), b"x"].concat(),
            other(chunk),
            other(chunk + 4),
            other(whole.len() - 1),
            vec![0; 4096],
        ] {
            fs::write(paths.local().join(NAME), &damaged).unwrap();
            assert!(HeaderCache::<Header>::is_damaged(&paths, V1), "{damaged:?}");
            assert_eq!(kept(&HeaderCache::load(&paths, V1)), 0);
        }
        filled(&paths);
        assert_eq!(kept(&HeaderCache::load(&paths, V1)), 2);
        assert_eq!(kept(&HeaderCache::load(&paths, V2)), 0);
        assert!(!HeaderCache::<Header>::is_damaged(&paths, V2), "it is another version's");
        assert!(HeaderCache::<u32>::is_damaged(&paths, V1));
        HeaderCache::<u32>::remove_damaged(&paths, V1).unwrap();
        assert!(!paths.local().join(NAME).exists());
    }

    #[test]
    fn a_deferred_part_is_decoded_when_it_is_looked_at_and_kept_as_it_is() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        let (one, two) = (path("tasks/AOF-abc.md"), path("tasks/AOF-xyz.md"));
        let mut cache = HeaderCache::<Deferred<Vec<String>>>::load(&paths, V1);
        cache.put(&one, stat(10), vec!["a".to_owned(), "b".to_owned()].into(), LOOKED);
        cache.save(&paths).unwrap();
        // Saved again without decoding the first value.
        let mut cache = HeaderCache::<Deferred<Vec<String>>>::load(&paths, V1);
        cache.put(&two, stat(10), Vec::new().into(), LOOKED);
        cache.save(&paths).unwrap();
        let cache = HeaderCache::<Deferred<Vec<String>>>::load(&paths, V1);
        assert_eq!(**cache.get(&one, &stat(10)).unwrap(), ["a", "b"]);
        assert!(cache.get(&two, &stat(10)).unwrap().is_empty());
    }

    #[test]
    fn forgotten_files_are_gone_and_nothing_is_written_without_a_change() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        let mut cache = filled(&paths);
        fs::remove_file(paths.local().join(NAME)).unwrap();
        cache.retain(|_| true);
        cache.save(&paths).unwrap();
        assert!(!paths.local().join(NAME).exists());
        cache.retain(|path| path.ends_with("AOF-abc.md"));
        cache.save(&paths).unwrap();
        assert_eq!(kept(&HeaderCache::load(&paths, V1)), 1);
    }
}

#[cfg(test)]
mod hints_tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_saved_cache_loads_and_a_damaged_one_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let paths = Paths::at(folder.path());
        assert_eq!(ArchiveScan::load(&paths), None);
        let scan = ArchiveScan {
            commit: "c".to_owned(),
            open: vec!["tasks/archive/AOF-abc.md".into(), "/etc".into()],
        };
        scan.save(&paths).unwrap();
        assert_eq!(ArchiveScan::load(&paths), Some(scan.clone()));
        let listed: Vec<String> = scan.paths().map(|path| path.to_string()).collect();
        assert_eq!(listed, ["tasks/archive/AOF-abc.md"]);
        for damaged in ["", "{", "{\"commit\":\"c\"}"] {
            fs::write(paths.local().join(ArchiveScan::NAME), damaged).unwrap();
            assert_eq!(ArchiveScan::load(&paths), None, "{damaged:?}");
        }
    }
}
