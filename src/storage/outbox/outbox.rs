//! `.aof/outbox`: messages on their way to whoever is to be told, one small file each, in a folder for each channel.
//!
//! ```text
//!   cursor                  the commits up to which all messages are written, by branch
//!   lock                    whoever writes messages has it
//!   CHANNEL/NAME.json       a message that waits; NAME sorts by when it was made
//!   CHANNEL/rest            why the channel is left alone, and until when
//!   CHANNEL/next            nothing there is tried before that time; gone as soon as a message is added
//!   CHANNEL/lock            whoever delivers there has it
//!   untold/NAME.json        a message that was given up, with the reason, before others are told of that
//!   dropped/NAME.json       the same, afterwards
//! ```
//! Messages are durable before the cursor moves past what they tell, and are removed after they were delivered. So a kill or
//! a power cut at any point delivers at least once, and a message that is delivered twice has the same id both times.

use std::fs;
use std::fs::File;
use std::io::ErrorKind;
use std::path::PathBuf;

use super::message::Waiting;

use super::message::{is_message, put_together};
use crate::domain::ChannelKey;
use crate::storage::layout::OUTBOX;
use crate::storage::{Cursor, Durability, Folder, Paths, StoreError};
use crate::system::crash_points;

/// How many messages of one channel wait at most; the oldest are given up for newer ones.
pub(crate) const MOST_WAITING: usize = 10_000;
/// More than any message has.
pub(crate) const LIMIT: u64 = 4 * 1024 * 1024;

/// The outbox of a project.
#[derive(Debug, Clone)]
pub struct Outbox {
    paths: Paths,
}

/// The right to write messages, or to deliver those of a channel, until it is dropped.
#[derive(Debug)]
pub struct Right {
    _file: File,
}

impl Outbox {
    /// Returns the outbox of the project.
    pub fn of(paths: &Paths) -> Self {
        Self { paths: paths.clone() }
    }

    /// Takes the right to write messages; nothing if somebody else has it.
    pub fn writing(&self) -> Result<Option<Right>, StoreError> {
        self.paths.prepare_local()?;
        right(&self.made(OUTBOX)?)
    }

    /// Takes the right to deliver the messages of a channel; nothing if somebody else has it.
    pub fn delivering(&self, channel: &ChannelKey) -> Result<Option<Right>, StoreError> {
        right(&self.made(&folder_of(channel))?)
    }

    /// Returns the cursor; one that cannot be read is none.
    pub fn cursor(&self) -> Result<Option<Cursor>, StoreError> {
        let Some(folder) = self.standing(OUTBOX)? else { return Ok(None) };
        let read = folder.read("cursor", LIMIT)?;
        Ok(read.and_then(|(bytes, _)| serde_json::from_slice(&bytes).ok()))
    }

    /// Moves the cursor, durably.
    pub fn set_cursor(&self, _right: &Right, cursor: &Cursor) -> Result<(), StoreError> {
        let bytes = serde_json::to_vec(cursor).expect("names are JSON");
        self.made(OUTBOX)?.replace("cursor", &bytes, Durability::Durable)
    }

    /// Has nothing known of what was written: the next one begins with what is then.
    pub fn forget_cursor(&self) -> Result<(), StoreError> {
        match self.standing(OUTBOX)? {
            Some(folder) => folder.remove("cursor"),
            None => Ok(()),
        }
    }

    /// Puts messages into a channel, durably; one that is there already stays as it is.
    pub fn put(&self, channel: &ChannelKey, messages: &[Waiting]) -> Result<(), StoreError> {
        let folder = self.made(&folder_of(channel))?;
        put_together(&folder, messages)?;
        folder.sync()?;
        folder.remove("next")
    }

    /// Returns the channels with messages.
    pub fn channels(&self) -> Result<Vec<ChannelKey>, StoreError> {
        let root = self.paths.root();
        let mut channels = Vec::new();
        for name in names(&root.join(OUTBOX))? {
            if let Some(key) = ChannelKey::recognise(&name)
                && names(&root.join(folder_of(&key)))?.any(|name| is_message(&name))
            {
                channels.push(key);
            }
        }
        channels.sort();
        Ok(channels)
    }

    /// Returns the names of the messages of a channel, the oldest first.
    pub fn names(&self, channel: &ChannelKey) -> Result<Vec<String>, StoreError> {
        self.names_in(&folder_of(channel))
    }

    /// Reads a message; nothing if it is gone. One that cannot be read is removed: it is debris of a power cut.
    pub fn read(&self, channel: &ChannelKey, name: &str) -> Result<Option<Waiting>, StoreError> {
        let Some(folder) = self.standing(&folder_of(channel))? else { return Ok(None) };
        let Some((bytes, _)) = folder.read(name, LIMIT)? else { return Ok(None) };
        match serde_json::from_slice(&bytes) {
            Ok(waiting) => Ok(Some(waiting)),
            Err(_) => folder.remove(name).map(|()| None),
        }
    }

    /// Notes what came of an attempt to deliver a message.
    pub fn note(&self, channel: &ChannelKey, waiting: &Waiting) -> Result<(), StoreError> {
        self.made(&folder_of(channel))?.replace(
            &waiting.name(),
            &waiting.bytes(),
            Durability::Volatile,
        )
    }

    /// Removes a message that was delivered.
    pub fn settle(&self, channel: &ChannelKey, waiting: &Waiting) -> Result<(), StoreError> {
        crash_points::point("outbox.delivered");
        match self.standing(&folder_of(channel))? {
            Some(folder) => folder.remove(waiting.name()),
            None => Ok(()),
        }
    }

    pub(crate) fn names_in(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        let mut names: Vec<String> =
            names(&self.paths.root().join(folder))?.filter(|name| is_message(name)).collect();
        names.sort();
        Ok(names)
    }

    pub(crate) fn made(&self, folder: &str) -> Result<Folder, StoreError> {
        Folder::create(self.paths.root(), folder)
    }

    pub(crate) fn standing(&self, folder: &str) -> Result<Option<Folder>, StoreError> {
        Folder::open_existing(self.paths.root(), folder)
    }
}

pub(crate) fn folder_of(channel: &ChannelKey) -> String {
    format!("{OUTBOX}/{}", channel.as_str())
}

fn right(folder: &Folder) -> Result<Option<Right>, StoreError> {
    let file = folder.open_lock("lock")?;
    match fs4::FileExt::try_lock(&file) {
        Ok(()) => Ok(Some(Right { _file: file })),
        Err(fs4::TryLockError::WouldBlock) => Ok(None),
        Err(fs4::TryLockError::Error(cause)) => {
            Err(StoreError::io("lock", &folder.path().join("lock"), cause))
        }
    }
}

fn names(folder: &PathBuf) -> Result<impl Iterator<Item = String>, StoreError> {
    let listing = match fs::read_dir(folder) {
        Ok(listing) => Some(listing),
        Err(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            None
        }
        Err(cause) => return Err(StoreError::io("list the folder", folder, cause)),
    };
    Ok(listing.into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok()))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use tempfile::TempDir;

    use super::*;

    fn waiting(seconds: i64, id: &str) -> Waiting {
        Waiting {
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
        ChannelKey::recognise("0123456789abcdef").unwrap()
    }

    #[test]
    fn messages_wait_in_order_until_they_are_delivered() {
        let home = TempDir::new().unwrap();
        let outbox = Outbox::of(&Paths::at(home.path()));
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
        let tried = Waiting { attempts: 1, error: Some("no".to_owned()), ..waiting(20, "b") };
        outbox.note(&key(), &tried).unwrap();
        outbox.put(&key(), &[waiting(20, "b")]).unwrap();
        assert_eq!(
            outbox.read(&key(), &tried.name()).unwrap(),
            Some(tried),
            "what is there stays as it is"
        );
        outbox.settle(&key(), &waiting(3, "a")).unwrap();
        outbox.give_up(&key(), &waiting(100, "c"), "too old").unwrap();
        assert_eq!(ids(), ["b"]);
        assert_eq!(outbox.dropped().unwrap()[0].error.as_deref(), Some("too old"));
        let untold = outbox.untold().unwrap();
        outbox.note_told(&outbox.writing().unwrap().unwrap(), &untold).unwrap();
        assert_eq!(
            (untold.len(), outbox.untold().unwrap(), outbox.dropped().unwrap()),
            (1, vec![], untold)
        );
        assert_eq!((outbox.forget_dropped().unwrap(), outbox.dropped().unwrap()), (1, vec![]));
    }

    #[test]
    fn one_at_a_time_writes_or_delivers() {
        let home = TempDir::new().unwrap();
        let outbox = Outbox::of(&Paths::at(home.path()));
        let (right, other) = (outbox.writing().unwrap(), outbox.delivering(&key()).unwrap());
        assert!(right.is_some() && other.is_some());
        assert!(
            outbox.writing().unwrap().is_none() && outbox.delivering(&key()).unwrap().is_none()
        );
        let mut cursor = Cursor::default();
        cursor.set("refs/heads/main", "abc");
        outbox.set_cursor(&right.unwrap(), &cursor).unwrap();
        assert_eq!(outbox.cursor().unwrap(), Some(cursor));
        assert!(outbox.writing().unwrap().is_some());
    }

    #[test]
    fn what_is_tried_later_is_forgotten_when_a_message_comes() {
        let home = TempDir::new().unwrap();
        let outbox = Outbox::of(&Paths::at(home.path()));
        let later = Some(Timestamp::UNIX_EPOCH);
        outbox.put(&key(), &[waiting(1, "a")]).unwrap();
        let seen = outbox.names(&key()).unwrap();
        outbox.set_next(&key(), later, &seen).unwrap();
        assert_eq!(outbox.next(&key()).unwrap(), later);
        let many: Vec<Waiting> = (0..150).map(|number| waiting(2, &format!("b{number}"))).collect();
        outbox.put(&key(), &many).unwrap();
        assert_eq!(
            (outbox.next(&key()).unwrap(), outbox.names(&key()).unwrap().len()),
            (None, 151)
        );
        outbox.set_next(&key(), later, &seen).unwrap();
        assert_eq!(outbox.next(&key()).unwrap(), None, "messages came that were not seen");
    }

    #[test]
    fn debris_is_no_message() {
        let home = TempDir::new().unwrap();
        let outbox = Outbox::of(&Paths::at(home.path()));
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
