//! `.aof/horizon`: up to when nothing is due, as of one commit. It only saves looking at every task; without it, or of another
//! commit, everything is looked at.

use jiff::Timestamp;

use crate::storage::fs::folder::Durability;
use crate::storage::layout::LOCAL;
use crate::storage::{Folder, Paths, StoreError};

const NAME: &str = "horizon";
const FORMAT: &str = "aof-horizon 2";
const LIMIT: u64 = 1024;

/// Up to when nothing is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Horizon {
    /// The commit of which that is known.
    pub commit: String,
    /// When everything was last looked at.
    pub looked: Timestamp,
    /// How much work was left that nobody has room for.
    pub left: usize,
    /// When the next thing is due; nothing where nothing is.
    pub next: Option<Timestamp>,
}

impl Horizon {
    /// Returns what was kept; nothing where it cannot be read.
    pub fn load(paths: &Paths) -> Option<Self> {
        let (bytes, _) =
            Folder::open_existing(paths.root(), LOCAL).ok()??.read(NAME, LIMIT).ok()??;
        let text = String::from_utf8(bytes).ok()?;
        let words = text.strip_suffix('\n')?.strip_prefix(FORMAT)?.strip_prefix(' ')?;
        let [commit, looked, left, next] = words.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let next = if next == "never" { None } else { Some(next.parse().ok()?) };
        Some(Self {
            commit: commit.to_owned(),
            looked: looked.parse().ok()?,
            left: left.parse().ok()?,
            next,
        })
    }

    /// Keeps it.
    pub fn save(&self, paths: &Paths) -> Result<(), StoreError> {
        let next = self.next.map_or_else(|| "never".to_owned(), |next| next.to_string());
        let text = format!("{FORMAT} {} {} {} {next}\n", self.commit, self.looked, self.left);
        paths.prepare_local()?.replace(NAME, text.as_bytes(), Durability::Volatile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let paths = Paths::at(folder.path());
        assert_eq!(Horizon::load(&paths), None);
        for next in [None, Some(Timestamp::UNIX_EPOCH)] {
            let horizon = Horizon {
                commit: "0123abcd".to_owned(),
                looked: Timestamp::UNIX_EPOCH,
                left: 3,
                next,
            };
            horizon.save(&paths).unwrap();
            assert_eq!(Horizon::load(&paths), Some(horizon));
        }
        for damaged in [
            "",
            "aof-horizon 1 abc",
            "aof-horizon 1 abc never",
            "aof-horizon 1 abc 2026-02-16T10:00:00Z 0 never\n",
            "aof-horizon 2 abc 2026-02-16T10:00:00Z 0 soon\n",
        ] {
            std::fs::write(paths.local().join(NAME), damaged).unwrap();
            assert_eq!(Horizon::load(&paths), None, "{damaged:?}");
        }
    }
}
