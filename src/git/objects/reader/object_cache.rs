//! What was read lately, as far as there is room for it. Of too much, what was asked for longest ago is forgotten.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use crate::git::objects::loose::Kind;

/// An object's kind and its bytes.
pub(crate) type Inflated = (Kind, Arc<[u8]>);

/// Objects by some key, in two halves: what is asked for moves to the newer one, and the older one goes as a whole.
pub(crate) struct Kept<K> {
    newer: HashMap<K, Inflated>,
    older: HashMap<K, Inflated>,
    /// How many bytes the newer half holds.
    size: usize,
    /// How many it may hold.
    room: usize,
}

impl<K: Eq + Hash + Copy> Kept<K> {
    /// Begins, with room for twice so many bytes, and for what went in last.
    pub(crate) fn with_room(room: usize) -> Self {
        Self { newer: HashMap::new(), older: HashMap::new(), size: 0, room }
    }

    pub(crate) fn get(&mut self, key: K) -> Option<Inflated> {
        if let Some(found) = self.newer.get(&key) {
            return Some(found.clone());
        }
        let found = self.older.remove(&key)?;
        self.keep(key, found.clone());
        Some(found)
    }

    /// Keeps an object, unless it alone would take all the room.
    pub(crate) fn keep(&mut self, key: K, object: Inflated) {
        if object.1.len() > self.room {
            return;
        }
        if self.size > self.room {
            self.older = std::mem::take(&mut self.newer);
            self.size = 0;
        }
        self.size += object.1.len();
        self.newer.insert(key, object);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_stays_and_the_rest_goes() {
        let mut kept = Kept::with_room(100);
        for number in 0..1_000 {
            kept.keep(number, (Kind::Blob, Arc::from(vec![0; 10])));
            assert!(kept.get(0).is_some(), "{number}");
            assert!(kept.newer.len() + kept.older.len() <= 30);
        }
        assert!(kept.get(1).is_none());
        assert!(kept.get(999).is_some());
    }
}
