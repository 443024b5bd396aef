//! In which order completion files that wait are tried again, and which of them together. Tries none of them itself.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::project::error::error::OpsError;
use crate::storage::FileStat;
use crate::storage::inbox::TakenFile;

/// So many are tried at once: then it is looked whether that took long.
const TOGETHER: usize = 8;

/// What keeps a file back.
pub(crate) struct Trouble {
    text: String,
    /// The files of tasks that it is about, and what the system told of them then.
    files: Vec<(PathBuf, Option<FileStat>)>,
}

/// The files that wait.
#[derive(Default)]
pub(crate) struct Queue {
    /// By the names that they came under: of several, the last one.
    troubles: HashMap<String, Trouble>,
    /// Those that are to be tried now.
    due: VecDeque<TakenFile>,
}

impl Trouble {
    /// Returns trouble that was met in that project just now.
    pub(crate) fn of(root: &Path, error: &OpsError) -> Self {
        let stat = |path: PathBuf| {
            let stat = stat(&path);
            (path, stat)
        };
        Self {
            text: error.to_string(),
            files: error.task_files().iter().map(|path| stat(path.below(root))).collect(),
        }
    }

    fn may_be_over(&self) -> bool {
        self.files.iter().any(|(path, before)| stat(path) != *before)
    }
}

impl Queue {
    /// Notes what was met.
    pub(crate) fn note(&mut self, met: impl IntoIterator<Item = (String, Trouble)>) {
        self.troubles.extend(met);
    }

    /// Returns whether any are to be tried.
    pub(crate) fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Returns whether what keeps one of them back may be over.
    pub(crate) fn may_go_on(&self) -> bool {
        self.troubles.values().any(Trouble::may_be_over)
    }

    /// Has those tried whose trouble may be over, of all that there are.
    pub(crate) fn try_changed(&mut self, all: Vec<TakenFile>) {
        self.know_only(&all);
        let may_be_over =
            |taken: &TakenFile| self.troubles.get(&taken.name).is_none_or(Trouble::may_be_over);
        let changed = self.in_groups(all.into_iter().filter(may_be_over).collect());
        let items: HashSet<_> = changed.iter().map(|taken| &taken.item().name).collect();
        self.due.retain(|taken| !items.contains(&taken.item().name));
        for taken in changed.into_iter().rev() {
            self.due.push_front(taken);
        }
    }

    /// Has all tried.
    pub(crate) fn try_all(&mut self, all: Vec<TakenFile>) {
        self.know_only(&all);
        self.due = self.in_groups(all).into();
    }

    /// Returns the next few, at most that many. Those of the same trouble go together: two of one task may say the same visit.
    pub(crate) fn next(&mut self, most: usize) -> Vec<TakenFile> {
        let mut next: Vec<TakenFile> = Vec::new();
        while next.len() < most
            && let Some(taken) = self.due.front()
            && (next.len() < TOGETHER || next.last().is_some_and(|last| self.is_same(last, taken)))
        {
            next.extend(self.due.pop_front());
        }
        next
    }

    fn is_same(&self, one: &TakenFile, other: &TakenFile) -> bool {
        let text = self.text(one);
        text.is_some() && text == self.text(other)
    }

    fn text(&self, taken: &TakenFile) -> Option<&str> {
        self.troubles.get(&taken.name).map(|trouble| trouble.text.as_str())
    }

    /// Puts those of the same trouble behind the first of them.
    fn in_groups(&self, mut all: Vec<TakenFile>) -> Vec<TakenFile> {
        let mut first = HashMap::new();
        for (place, taken) in all.iter().enumerate() {
            if let Some(text) = self.text(taken) {
                first.entry(text).or_insert(place);
            }
        }
        let places: HashMap<OsString, usize> = all
            .iter()
            .enumerate()
            .map(|(place, taken)| {
                let first = self.text(taken).and_then(|text| first.get(text).copied());
                (taken.item().name.clone(), first.unwrap_or(place))
            })
            .collect();
        all.sort_by_key(|taken| places.get(&taken.item().name).copied());
        all
    }

    fn know_only(&mut self, all: &[TakenFile]) {
        let names: HashSet<&str> = all.iter().map(|taken| taken.name.as_str()).collect();
        self.troubles.retain(|name, _| names.contains(name.as_str()));
    }
}

fn stat(path: &Path) -> Option<FileStat> {
    fs::symlink_metadata(path).ok().map(|metadata| FileStat::of(&metadata))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use tempfile::TempDir;

    use super::*;
    use crate::storage::inbox::{InboxFile, InboxFolder};
    use crate::storage::random::ulid;
    use crate::storage::{Inbox, Paths, StoreError};

    /// Drops files of these names and takes them.
    fn taken(paths: &Paths, names: &[String]) -> Vec<TakenFile> {
        let inbox = Inbox::of(paths);
        let item = |name: &String| {
            paths.prepare_local().unwrap();
            std::fs::write(paths.inbox().join(name), b"x").unwrap();
            (
                InboxFile { shelf: InboxFolder::Inbox, name: name.into() },
                ulid(Timestamp::now()).unwrap(),
            )
        };
        inbox.take(names.iter().map(item)).unwrap().taken
    }

    fn names(taken: &[TakenFile]) -> Vec<&str> {
        taken.iter().map(|taken| taken.name.as_str()).collect()
    }

    #[test]
    fn only_what_may_be_over_is_tried_again_and_those_of_one_trouble_go_together() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        paths.prepare_local().unwrap();
        let all =
            taken(&paths, &(10..30).map(|number| format!("{number}.yaml")).collect::<Vec<_>>());
        let mut queue = Queue::default();
        // The first and the last wait for one task, each of the others for its own.
        for taken in &all {
            let number = if taken.name == "29.yaml" { "10" } else { &taken.name[..2] };
            let paths = vec![format!("tasks/AOF-x{number}.md").parse().unwrap()];
            let error =
                StoreError::TaskDoubled { id: format!("AOF-x{number}").parse().unwrap(), paths };
            queue.note([(taken.name.clone(), Trouble::of(home.path(), &error.into()))]);
        }
        assert!(!queue.is_due() && !queue.may_go_on());

        fs::create_dir(home.path().join("tasks")).unwrap();
        fs::write(home.path().join("tasks/AOF-x10.md"), "back").unwrap();
        assert!(queue.may_go_on());
        queue.try_changed(all.clone());
        assert_eq!(names(&queue.next(50)), ["10.yaml", "29.yaml"]);
        assert!(!queue.is_due());

        queue.try_all(all.clone());
        fs::write(home.path().join("tasks/AOF-x20.md"), "back").unwrap();
        queue.try_changed(all.clone());
        let first = queue.next(50);
        assert_eq!(names(&first)[..4], ["10.yaml", "29.yaml", "20.yaml", "11.yaml"]);
        let mut count = first.len();
        while queue.is_due() {
            let next = queue.next(50);
            assert!((1..=TOGETHER).contains(&next.len()));
            count += next.len();
        }
        assert_eq!(count, all.len());
    }
}
