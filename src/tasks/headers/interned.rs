//! Words that thousands of headers have in common, as the names of gates, roles and agents: each is in memory once a thread.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

/// So many are known at a time. Whoever has more in common than this has little in common.
const MOST: usize = 4_096;

thread_local! {
    static KNOWN: RefCell<HashSet<Arc<str>>> = RefCell::default();
}

/// A text that shares its bytes with the equal ones of the same thread.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub(crate) struct Word(Arc<str>);

impl Word {
    /// Returns the text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Word {
    fn from(text: &str) -> Self {
        KNOWN.with_borrow_mut(|known| {
            if let Some(word) = known.get(text) {
                return Self(Arc::clone(word));
            }
            if known.len() >= MOST {
                // Those that are in use stay where they are used.
                known.clear();
            }
            let word: Arc<str> = text.into();
            known.insert(Arc::clone(&word));
            Self(word)
        })
    }
}

impl From<String> for Word {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl PartialEq<str> for Word {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Word {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl Deref for Word {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_words_share_their_bytes_and_no_table_grows_for_ever() {
        let one: Word = serde_json::from_str("\"review\"").unwrap();
        let two = Word::from("review".to_owned());
        assert!(Arc::ptr_eq(&one.0, &two.0));
        assert_eq!(
            (serde_json::to_string(&one).unwrap().as_str(), &*two),
            ("\"review\"", "review")
        );
        for number in 0..3 * MOST {
            let _ = Word::from(number.to_string());
        }
        assert!(KNOWN.with_borrow(HashSet::len) <= MOST);
        assert_eq!((Word::from("review"), one.as_str()), (one.clone(), "review"));
        assert!(serde_json::from_str::<Word>("7").is_err());
    }
}
