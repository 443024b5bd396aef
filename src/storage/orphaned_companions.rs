//! Companions that stayed where they were when their task went to the archive, or when a person moved it. Reads names only.

use std::collections::{HashMap, HashSet};

use super::task_files;
use crate::storage::layout::{ARCHIVE, TASKS, companion_of};
use crate::storage::{Paths, ProjectPath};

/// A file that stayed, and the one that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stayed {
    /// Where it stands.
    pub path: ProjectPath,
    /// The file of its task.
    pub task: ProjectPath,
}

/// Returns the companions among the active tasks whose task has its file elsewhere, in another folder or in the archive, sorted. The
/// archive is gone through only where there may be some.
pub(crate) fn stayed(paths: &Paths) -> Vec<Stayed> {
    let (mut active, mut beside) = (HashMap::<String, Vec<ProjectPath>>::new(), Vec::new());
    for path in task_files::files(paths, TASKS) {
        match companion_of(path.name()) {
            Some(task) => beside.push((path, task)),
            None => active.entry(path.name().to_owned()).or_default().push(path),
        }
    }
    let is_apart = |path: &ProjectPath, task: &str| {
        active.get(task).is_none_or(|files| files.iter().all(|file| file.folder() != path.folder()))
    };
    beside.retain(|(path, task)| is_apart(path, task));
    let wanted: HashSet<&str> = beside
        .iter()
        .map(|(_, task)| task.as_str())
        .filter(|task| !active.contains_key(*task))
        .collect();
    let mut archived: HashMap<String, ProjectPath> = HashMap::new();
    let found =
        (!wanted.is_empty()).then(|| task_files::files(paths, ARCHIVE)).into_iter().flatten();
    for path in found.filter(|path| wanted.contains(path.name())) {
        let latest = archived.entry(path.name().to_owned()).or_insert_with(|| path.clone());
        if *latest < path {
            *latest = path;
        }
    }
    // Which of several files is the task is asked first.
    let only = |task: &str| {
        active.get(task).filter(|files| files.len() == 1).and_then(|files| files.first())
    };
    let of = |(path, task): (ProjectPath, String)| {
        let task = only(&task).or_else(|| archived.get(&task))?.clone();
        Some(Stayed { path, task })
    };
    let mut stayed: Vec<Stayed> = beside.into_iter().filter_map(of).collect();
    stayed.sort_by(|a, b| a.path.cmp(&b.path));
    stayed
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_companion_has_stayed_where_its_task_is_elsewhere() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        assert_eq!(stayed(&paths), []);
        for file in [
            "tasks/AOF-open1.md",
            "tasks/AOF-open1.log",
            "tasks/sprint/AOF-moved.md",
            "tasks/AOF-moved.log",
            "tasks/AOF-done1.log",
            "tasks/AOF-done1.log.swp",
            "tasks/AOF-done1.md.orig",
            "tasks/sprint/AOF-done2.plan.md",
            "tasks/AOF-both1.log",
            "tasks/AOF-both1.md",
            "tasks/AOF-nobody.log",
            "tasks/notes.txt",
            "tasks/.hidden/AOF-done1.log",
            "tasks/archive/2025/12/31/AOF-done1.md",
            "tasks/archive/2026/02/16/AOF-done1.md",
            "tasks/archive/2026/02/16/AOF-done1.txt",
            "tasks/archive/2026/02/16/AOF-done2.md",
            "tasks/archive/2026/02/16/AOF-both1.md",
        ] {
            fs::create_dir_all(home.path().join(file).parent().unwrap()).unwrap();
            fs::write(home.path().join(file), "").unwrap();
        }
        let found = stayed(&paths)
            .into_iter()
            .map(|found| [found.path, found.task].map(|path| path.to_string()));
        assert_eq!(
            found.collect::<Vec<_>>(),
            [
                ["tasks/AOF-done1.log", "tasks/archive/2026/02/16/AOF-done1.md"],
                ["tasks/AOF-moved.log", "tasks/sprint/AOF-moved.md"],
                ["tasks/sprint/AOF-done2.plan.md", "tasks/archive/2026/02/16/AOF-done2.md"],
            ]
        );
    }
}
