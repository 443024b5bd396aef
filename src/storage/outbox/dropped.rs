//! Messages that were given up: kept aside until others were told of that, and the last of them afterwards.

use std::ffi::OsStr;

use super::message::Waiting;
use super::outbox::{LIMIT, Outbox, Right, folder_of};
use crate::domain::ChannelKey;
use crate::storage::layout::{DROPPED, UNTOLD};
use crate::storage::{Durability, StoreError};
use crate::system::crash_points;

/// How many messages that were given up are kept.
const MOST_DROPPED: usize = 1_000;

impl Outbox {
    /// Gives a message up: it is kept aside, with the reason, for others to be told of.
    pub fn give_up(
        &self,
        channel: &ChannelKey,
        waiting: &Waiting,
        reason: &str,
    ) -> Result<(), StoreError> {
        let given_up = Waiting { error: Some(reason.to_owned()), next: None, ..waiting.clone() };
        self.made(UNTOLD)?.replace(&waiting.name(), &given_up.bytes(), Durability::Durable)?;
        if let Some(folder) = self.standing(&folder_of(channel))? {
            folder.remove(waiting.name())?;
        }
        crash_points::point("outbox.given-up");
        Ok(())
    }

    /// Returns the messages that were given up and that nobody was told of, the oldest first.
    pub fn untold(&self) -> Result<Vec<Waiting>, StoreError> {
        self.read_all(UNTOLD)
    }

    /// Notes that whoever wants to know was told that these messages were given up.
    pub fn note_told(&self, _right: &Right, messages: &[Waiting]) -> Result<(), StoreError> {
        let Some(untold) = self.standing(UNTOLD)? else { return Ok(()) };
        let dropped = self.made(DROPPED)?;
        for waiting in messages {
            let name = waiting.name();
            match untold.move_new(OsStr::new(&name), &dropped, OsStr::new(&name)) {
                Ok(()) | Err(StoreError::Gone { .. }) => {}
                Err(StoreError::Exists { .. }) => untold.remove(&name)?,
                Err(fault) => return Err(fault),
            }
        }
        let kept = self.names_in(DROPPED)?;
        kept.iter()
            .take(kept.len().saturating_sub(MOST_DROPPED))
            .try_for_each(|old| dropped.remove(old))
    }

    /// Returns the messages that were given up, the oldest first of those that others were told of, then of the others.
    pub fn dropped(&self) -> Result<Vec<Waiting>, StoreError> {
        Ok([self.read_all(DROPPED)?, self.read_all(UNTOLD)?].concat())
    }

    /// Forgets the messages that were given up, and returns how many there were.
    pub fn forget_dropped(&self) -> Result<usize, StoreError> {
        let mut count = 0;
        for place in [DROPPED, UNTOLD] {
            let Some(folder) = self.standing(place)? else { continue };
            let names = self.names_in(place)?;
            names.iter().try_for_each(|name| folder.remove(name))?;
            count += names.len();
        }
        Ok(count)
    }

    fn read_all(&self, folder: &str) -> Result<Vec<Waiting>, StoreError> {
        let Some(standing) = self.standing(folder)? else { return Ok(Vec::new()) };
        let mut messages = Vec::new();
        for name in self.names_in(folder)? {
            let read = standing.read(name, LIMIT)?;
            messages
                .extend(read.and_then(|(bytes, _)| serde_json::from_slice::<Waiting>(&bytes).ok()));
        }
        Ok(messages)
    }
}
