//! `.aof/outbox`: messages to be delivered, one small file each, in a folder for each channel.
//!
//! ```text
//!   cursor                  the commits up to which all messages are written, by branch
//!   lock                    held by the writer of messages
//!   CHANNEL/NAME.json       a message that waits; NAME sorts by its creation
//!   CHANNEL/rest            the reason why the channel pauses, and until when
//!   CHANNEL/lock            held by the process that delivers there
//!   untold/NAME.json        a message that was given up, with the reason, before that is reported
//!   dropped/NAME.json       a message that was given up, after that is reported
//! ```
//! Messages are durable before the cursor moves past their commit, and are removed after their delivery. So a kill or a power cut
//! at any point delivers at least once, and a message that is delivered twice has the same id.

use std::ffi::OsStr;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fs::folder::list;
use super::fs::temporary_file::TemporaryFile;
use super::layout::{DROPPED, OUTBOX, UNREPORTED};
use super::lock::FileLock;
use super::{Durability, Folder, Paths, StoreError};
use crate::domain::ChannelKey;
use crate::system::{crash_points, disk};

/// The most waiting messages of one channel; the oldest are given up for newer ones.
pub(crate) const MOST_WAITING: usize = 10_000;
/// The most given-up messages that are kept.
const MOST_DROPPED: usize = 1_000;
/// The number of messages that are synced together.
const BATCH: usize = 64;
const SUFFIX: &str = ".json";

/// The outbox of a project.
#[derive(Debug, Clone)]
pub struct Outbox {
    paths: Paths,
}

/// A message that waits, or was given up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OutboxMessage {
    /// Stays the same at every delivery.
    pub id: String,
    /// Its sort key, with the id: seconds, then the order within a second.
    pub order: (i64, usize, usize),
    /// The channel's display name.
    pub channel: String,
    /// The time when it was queued.
    pub since: Timestamp,
    /// The content to deliver.
    pub message: Value,
    /// The number of attempted deliveries.
    pub attempts: u32,
    /// The time when the next attempt is due.
    pub next: Option<Timestamp>,
    /// The reason why the last attempt failed, or why it was given up.
    pub error: Option<String>,
}

/// The pause of a channel after failed deliveries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChannelRest {
    /// The number of consecutive attempts without an answer.
    pub attempts: u32,
    pub since: Timestamp,
    pub until: Timestamp,
    /// The error of the last attempt.
    pub error: String,
    /// The file of the message that was tried last.
    pub last: String,
}

impl OutboxMessage {
    /// Returns the name of its file, which sorts by creation.
    pub(crate) fn name(&self) -> String {
        let (seconds, later, place) = self.order;
        format!("{:012}-{later:010}-{place:03}-{}{SUFFIX}", seconds.max(0), self.id)
    }
}

impl Outbox {
    /// Returns the outbox of the project.
    pub(crate) fn at(paths: &Paths) -> Self {
        Self { paths: paths.clone() }
    }

    /// Takes the lock for writing messages; `None` if another process has it.
    pub(crate) fn writing(&self) -> Result<Option<FileLock>, StoreError> {
        self.paths.prepare_local()?;
        FileLock::in_folder(&self.make(OUTBOX)?)
    }

    /// Takes the lock for delivering messages of a channel; `None` if another process has it.
    pub(crate) fn delivering(&self, channel: &ChannelKey) -> Result<Option<FileLock>, StoreError> {
        FileLock::in_folder(&self.make(&folder_of(channel))?)
    }

    /// Returns the cursor; `None` if it is missing or unreadable.
    pub(crate) fn cursor(&self) -> Result<Option<ReportedCursor>, StoreError> {
        self.read_json(OUTBOX, "cursor")
    }

    /// Moves the cursor, durably.
    pub(crate) fn set_cursor(
        &self,
        _right: &FileLock,
        cursor: &ReportedCursor,
    ) -> Result<(), StoreError> {
        self.make(OUTBOX)?.replace_json("cursor", cursor, Durability::Durable)
    }

    /// Removes the cursor: the next one starts at the commits of that time.
    pub(crate) fn forget_cursor(&self) -> Result<(), StoreError> {
        self.remove(OUTBOX, "cursor")
    }

    /// Adds messages to a channel durably, unless they are there already.
    pub(crate) fn put(
        &self,
        channel: &ChannelKey,
        messages: &[OutboxMessage],
    ) -> Result<(), StoreError> {
        let folder = self.make(&folder_of(channel))?;
        messages.chunks(BATCH).try_for_each(|batch| write(&folder, batch))?;
        folder.sync()
    }

    /// Returns the channels with messages.
    pub(crate) fn channels(&self) -> Result<Vec<ChannelKey>, StoreError> {
        let mut channels = Vec::new();
        for entry in list(&self.paths.root().join(OUTBOX))? {
            if let Some(key) =
                entry.file_name().to_str().and_then(|name| name.parse::<ChannelKey>().ok())
                && !self.names(&key)?.is_empty()
            {
                channels.push(key);
            }
        }
        channels.sort();
        Ok(channels)
    }

    /// Returns the names of the messages of a channel, oldest first.
    pub(crate) fn names(&self, channel: &ChannelKey) -> Result<Vec<String>, StoreError> {
        self.names_in(&folder_of(channel))
    }

    /// Reads a message; `None` if it is gone. Removes an unreadable one, which a power cut left.
    pub(crate) fn read(
        &self,
        channel: &ChannelKey,
        name: &str,
    ) -> Result<Option<OutboxMessage>, StoreError> {
        let folder = folder_of(channel);
        let message = self.read_json(&folder, name)?;
        if message.is_none() {
            self.remove(&folder, name)?;
        }
        Ok(message)
    }

    /// Records the result of an attempt to deliver a message.
    pub(crate) fn note(
        &self,
        channel: &ChannelKey,
        message: &OutboxMessage,
    ) -> Result<(), StoreError> {
        let folder = self.make(&folder_of(channel))?;
        folder.replace_json(&message.name(), message, Durability::Volatile)
    }

    /// Removes a message that was delivered.
    pub(crate) fn remove_delivered(
        &self,
        channel: &ChannelKey,
        message: &OutboxMessage,
    ) -> Result<(), StoreError> {
        crash_points::point("outbox.delivered");
        self.remove(&folder_of(channel), &message.name())
    }

    /// Gives a message up: it is moved aside with the reason, to be reported.
    pub(crate) fn give_up(
        &self,
        channel: &ChannelKey,
        message: &OutboxMessage,
        reason: &str,
    ) -> Result<(), StoreError> {
        let given_up =
            OutboxMessage { error: Some(reason.to_owned()), next: None, ..message.clone() };
        self.make(UNREPORTED)?.replace_json(&message.name(), &given_up, Durability::Durable)?;
        self.remove(&folder_of(channel), &message.name())?;
        crash_points::point("outbox.given-up");
        Ok(())
    }

    /// Returns the given-up messages that are not reported yet, oldest first.
    pub(crate) fn unreported(&self) -> Result<Vec<OutboxMessage>, StoreError> {
        self.read_all(UNREPORTED)
    }

    /// Records that the loss of these messages was reported.
    pub(crate) fn note_reported(
        &self,
        _right: &FileLock,
        messages: &[OutboxMessage],
    ) -> Result<(), StoreError> {
        let Some(unreported) = self.open(UNREPORTED)? else { return Ok(()) };
        let dropped = self.make(DROPPED)?;
        for message in messages {
            let name = message.name();
            match unreported.move_new(OsStr::new(&name), &dropped, OsStr::new(&name)) {
                Ok(()) | Err(StoreError::Gone { .. }) => {}
                Err(StoreError::Exists { .. }) => unreported.remove(&name)?,
                Err(fault) => return Err(fault),
            }
        }
        let kept = self.names_in(DROPPED)?;
        let surplus = kept.len().saturating_sub(MOST_DROPPED);
        kept[..surplus].iter().try_for_each(|old| dropped.remove(old))
    }

    /// Returns the given-up messages: the reported ones, then the others, each oldest first.
    pub(crate) fn dropped(&self) -> Result<Vec<OutboxMessage>, StoreError> {
        Ok([self.read_all(DROPPED)?, self.read_all(UNREPORTED)?].concat())
    }

    /// Deletes the given-up messages, and returns their number.
    pub(crate) fn forget_dropped(&self) -> Result<usize, StoreError> {
        let mut count = 0;
        for place in [DROPPED, UNREPORTED] {
            for name in self.names_in(place)? {
                self.remove(place, &name)?;
                count += 1;
            }
        }
        Ok(count)
    }

    /// Returns the channel's pause, if there is one.
    pub(crate) fn rest(&self, channel: &ChannelKey) -> Result<Option<ChannelRest>, StoreError> {
        self.read_json(&folder_of(channel), "rest")
    }

    /// Sets or ends the channel's pause.
    pub(crate) fn set_rest(
        &self,
        channel: &ChannelKey,
        rest: Option<&ChannelRest>,
    ) -> Result<(), StoreError> {
        let folder = self.make(&folder_of(channel))?;
        match rest {
            Some(rest) => folder.replace_json("rest", rest, Durability::Volatile),
            None => folder.remove("rest"),
        }
    }

    fn names_in(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        let entries = list(&self.paths.root().join(folder))?.into_iter();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> =
            names.filter(|name| name.ends_with(SUFFIX) && !name.starts_with('.')).collect();
        names.sort();
        Ok(names)
    }

    fn read_all(&self, folder: &str) -> Result<Vec<OutboxMessage>, StoreError> {
        let read = |name: String| self.read_json(folder, &name).transpose();
        self.names_in(folder)?.into_iter().filter_map(read).collect()
    }

    fn read_json<T: DeserializeOwned>(
        &self,
        folder: &str,
        name: &str,
    ) -> Result<Option<T>, StoreError> {
        self.open(folder)?.map_or(Ok(None), |folder| folder.read_json(name))
    }

    fn remove(&self, folder: &str, name: &str) -> Result<(), StoreError> {
        self.open(folder)?.map_or(Ok(()), |folder| folder.remove(name))
    }

    fn make(&self, folder: &str) -> Result<Folder, StoreError> {
        Folder::create(self.paths.root(), folder)
    }

    fn open(&self, folder: &str) -> Result<Option<Folder>, StoreError> {
        Folder::open_existing(self.paths.root(), folder)
    }
}

fn folder_of(channel: &ChannelKey) -> String {
    format!("{OUTBOX}/{}", channel.as_str())
}

/// Writes messages and syncs them together.
fn write(folder: &Folder, messages: &[OutboxMessage]) -> Result<(), StoreError> {
    let (mut files, mut unsynced) = (Vec::new(), Vec::new());
    for message in messages {
        let name = message.name();
        if folder.kind(&name)?.is_none() {
            let bytes = serde_json::to_vec(message).expect("plain fields are JSON");
            let mut file = TemporaryFile::new(folder, &name, &bytes, Durability::Durable)?;
            unsynced.extend(file.unsynced());
            files.push((name, file));
        }
    }
    disk::sync(unsynced)
        .map_err(|fault| StoreError::io("flush to disk", &fault.path, fault.cause))?;
    for (name, mut file) in files {
        match file.create(&name) {
            Ok(()) | Err(StoreError::Exists { .. }) => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(())
}

/// The most branches that are remembered.
const MOST_BRANCHES: usize = 50;
/// The most dropped commits that are remembered.
const MOST_GONE: usize = 200;

/// The last reported commit of each branch; the most recently moved branch is last.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReportedCursor {
    branches: Vec<(String, String)>,
    /// Reported commits that were dropped from their branch; the most recently dropped are last, each after its parent.
    #[serde(default)]
    gone: Vec<String>,
    /// The number of commits reported so far; part of the sort key of later messages.
    #[serde(rename = "told")]
    pub reported: usize,
}

impl ReportedCursor {
    /// Returns the last reported commit of a branch.
    pub(crate) fn commit(&self, branch: &str) -> Option<&str> {
        self.branches.iter().find(|(known, _)| known == branch).map(|(_, commit)| commit.as_str())
    }

    /// Returns the last reported commits of all branches.
    pub(crate) fn commits(&self) -> impl Iterator<Item = &str> {
        self.branches.iter().map(|(_, commit)| commit.as_str())
    }

    /// Returns the reported commits that were dropped from their branch.
    pub(crate) fn gone(&self) -> impl Iterator<Item = &str> {
        self.gone.iter().map(String::as_str)
    }

    /// Records reported commits that were dropped from their branch, oldest first: they may return. Forgets the earliest if there
    /// are too many.
    pub(crate) fn lose(&mut self, commits: &[String]) {
        self.gone.retain(|known| !commits.contains(known));
        self.gone.extend_from_slice(commits);
        let surplus = self.gone.len().saturating_sub(MOST_GONE);
        self.gone.drain(..surplus);
    }

    /// Records the last reported commit of a branch. Forgets the least recently moved branch if there are too many.
    pub(crate) fn set(&mut self, branch: &str, commit: &str) {
        self.branches.retain(|(known, _)| known != branch);
        self.branches.push((branch.to_owned(), commit.to_owned()));
        let surplus = self.branches.len().saturating_sub(MOST_BRANCHES);
        self.branches.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn waiting(seconds: i64, id: &str) -> OutboxMessage {
        OutboxMessage {
            id: id.to_owned(),
            order: (seconds, 0, 0),
            channel: "tee log".to_owned(),
            since: Timestamp::UNIX_EPOCH,
            message: serde_json::json!({"text": "a\nb"}),
            attempts: 0,
            next: None,
            error: None,
        }
    }

    fn key() -> ChannelKey {
        "0123456789abcdef".parse::<ChannelKey>().unwrap()
    }

    #[test]
    fn messages_wait_in_order_until_they_are_delivered() {
        let home = TempDir::new().unwrap();
        let outbox = Outbox::at(&Paths::at(home.path()));
        assert_eq!((outbox.channels().unwrap(), outbox.cursor().unwrap()), (vec![], None));
        for (seconds, id) in [(20, "b"), (100, "c"), (3, "a"), (20, "b")] {
            outbox.put(&key(), &[waiting(seconds, id)]).unwrap();
        }
        assert_eq!(outbox.channels().unwrap(), [key()]);
        let ids = || -> Vec<String> {
            let names = outbox.names(&key()).unwrap();
            names.iter().map(|name| outbox.read(&key(), name).unwrap().unwrap().id).collect()
        };
        assert_eq!(ids(), ["a", "b", "c"]);
        let tried = OutboxMessage { attempts: 1, error: Some("no".to_owned()), ..waiting(20, "b") };
        outbox.note(&key(), &tried).unwrap();
        outbox.put(&key(), &[waiting(20, "b")]).unwrap();
        assert_eq!(
            outbox.read(&key(), &tried.name()).unwrap(),
            Some(tried),
            "what is there stays as it is"
        );
        outbox.remove_delivered(&key(), &waiting(3, "a")).unwrap();
        outbox.give_up(&key(), &waiting(100, "c"), "too old").unwrap();
        assert_eq!(ids(), ["b"]);
        assert_eq!(outbox.dropped().unwrap()[0].error.as_deref(), Some("too old"));
        let unreported = outbox.unreported().unwrap();
        outbox.note_reported(&outbox.writing().unwrap().unwrap(), &unreported).unwrap();
        assert_eq!(
            (unreported.len(), outbox.unreported().unwrap(), outbox.dropped().unwrap()),
            (1, vec![], unreported)
        );
        assert_eq!((outbox.forget_dropped().unwrap(), outbox.dropped().unwrap()), (1, vec![]));
    }

    #[test]
    fn one_at_a_time_writes_or_delivers() {
        let home = TempDir::new().unwrap();
        let outbox = Outbox::at(&Paths::at(home.path()));
        let (right, other) = (outbox.writing().unwrap(), outbox.delivering(&key()).unwrap());
        assert!(right.is_some() && other.is_some());
        assert!(
            outbox.writing().unwrap().is_none() && outbox.delivering(&key()).unwrap().is_none()
        );
        let mut cursor = ReportedCursor::default();
        cursor.set("refs/heads/main", "abc");
        outbox.set_cursor(&right.unwrap(), &cursor).unwrap();
        assert_eq!(outbox.cursor().unwrap(), Some(cursor));
        assert!(outbox.writing().unwrap().is_some());
    }

    #[test]
    fn debris_is_no_message() {
        let home = TempDir::new().unwrap();
        let outbox = Outbox::at(&Paths::at(home.path()));
        outbox.put(&key(), &[waiting(1, "a")]).unwrap();
        let folder = home.path().join(OUTBOX).join(key().as_str());
        fs::write(folder.join(".aof-tmp-x.json"), "").unwrap();
        fs::write(folder.join("000000000000-000000-000-b.json"), "{").unwrap();
        let names = outbox.names(&key()).unwrap();
        assert_eq!(names.len(), 2);
        assert_eq!(outbox.read(&key(), &names[0]).unwrap(), None);
        assert_eq!(outbox.names(&key()).unwrap().len(), 1);
    }
}

#[cfg(test)]
mod cursor_tests {
    use super::*;

    #[test]
    fn of_many_branches_those_that_moved_last_are_known() {
        let mut cursor = ReportedCursor::default();
        for branch in 0..MOST_BRANCHES {
            cursor.set(&branch.to_string(), "old");
        }
        cursor.set("0", "new");
        cursor.set("one more", "new");
        assert_eq!(
            (cursor.commit("0"), cursor.commit("1"), cursor.commit("2")),
            (Some("new"), None, Some("old"))
        );
        assert_eq!(cursor.commits().count(), MOST_BRANCHES);
    }

    #[test]
    fn of_many_commits_that_are_gone_those_that_went_last_are_known() {
        let mut cursor = ReportedCursor::default();
        let commits: Vec<String> = (0..=MOST_GONE).map(|number| number.to_string()).collect();
        cursor.lose(&commits);
        assert_eq!(cursor.gone().next(), Some("1"));
        cursor.lose(&commits[1..2]);
        assert_eq!((cursor.gone().next(), cursor.gone().last()), (Some("2"), Some("1")));
        assert_eq!(cursor.gone().count(), MOST_GONE);
    }
}
