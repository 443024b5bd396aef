//! Where everything of a project stands on disk. Computes paths; of the disk it only asks whether something is there.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::fs::file_names::is_debris;
use super::{Folder, Kind, ProjectPath, StoreError, editor_schemas};
use crate::domain::{IdFault, Layout, TaskId};

/// The folder of the task files.
pub const TASKS: &str = "tasks";
/// The folder of the finished ones.
pub const ARCHIVE: &str = "tasks/archive";
/// The folder of what is local to this clone.
pub const LOCAL: &str = ".aof";
/// The folder that a project on a branch of its own is checked out in, below the one where people work.
pub const BRANCH: &str = ".aof/branch";
/// The folder where completion files are dropped.
pub const INBOX: &str = ".aof/inbox";
/// The folder of the completion files that are being worked on.
pub const TAKEN: &str = ".aof/inbox/.taken";
/// The folder of the completion files that were refused.
pub const REFUSED: &str = ".aof/refused";
/// The folder of the messages that are to be delivered.
pub const OUTBOX: &str = ".aof/outbox";
/// The folder of the messages that were given up, which nobody has been told of yet.
pub const UNTOLD: &str = ".aof/outbox/untold";
/// The folder of the messages that were given up.
pub const DROPPED: &str = ".aof/outbox/dropped";
/// The folder of what is known of the event stream.
pub const EVENTS: &str = ".aof/events";
/// The folder of the schemas that editors check the configuration with.
pub use super::editor_schemas::SCHEMAS;
/// The folder of what agents did that were run.
pub const RUNS: &str = ".aof/runs";

/// The places of one project on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    root: PathBuf,
    /// Whether completions are dropped there.
    has_inbox: bool,
}

impl Paths {
    /// Returns the places of the project in that folder.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), has_inbox: true }
    }

    /// Returns the places of a folder around a project on a branch of its own: whoever dropped a completion there would wait for ever.
    pub fn of_checkout(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), has_inbox: false }
    }

    /// Returns the project that a folder belongs to: the nearest one, from there upwards, with `project.yaml` or `.aof/`. The search ends at the git worktree.
    pub fn find(start: &Path) -> Result<Self, StoreError> {
        let real = fs::canonicalize(start)
            .map_err(|cause| StoreError::io("find the folder", start, cause))?;
        for folder in real.ancestors() {
            if folder.join("project.yaml").is_file() || folder.join(LOCAL).is_dir() {
                return Ok(Self::at(folder));
            }
            if folder.join(".git").exists() {
                break;
            }
        }
        Err(StoreError::NoProject { start: real })
    }

    /// Returns the project's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the name of the project's folder.
    pub fn folder_name(&self) -> Option<String> {
        let name = self.root.file_name().map(|name| name.to_string_lossy().into_owned());
        name.or_else(|| {
            Some(fs::canonicalize(&self.root).ok()?.file_name()?.to_string_lossy().into_owned())
        })
    }

    /// Returns the folder of the task files.
    pub fn tasks(&self) -> PathBuf {
        self.root.join(TASKS)
    }

    /// Returns the folder of the finished tasks.
    pub fn archive(&self) -> PathBuf {
        self.root.join(ARCHIVE)
    }

    /// Returns `.aof/`: local, never committed.
    pub fn local(&self) -> PathBuf {
        self.root.join(LOCAL)
    }

    /// Returns the folder where completion files are dropped.
    pub fn inbox(&self) -> PathBuf {
        self.root.join(INBOX)
    }

    /// Returns the folder of the completion files that are being worked on.
    pub fn taken(&self) -> PathBuf {
        self.root.join(TAKEN)
    }

    /// Returns the folder of the completion files that were refused.
    pub fn refused(&self) -> PathBuf {
        self.root.join(REFUSED)
    }

    /// Returns the file that the writer lock is on.
    pub fn lock(&self) -> PathBuf {
        self.local().join("lock")
    }

    /// Returns the record of the write under way.
    pub fn intent(&self) -> PathBuf {
        self.local().join("intent")
    }

    /// Returns the cache of task headers.
    pub fn cache(&self) -> PathBuf {
        self.local().join("cache")
    }

    /// Returns the event stream.
    pub fn events(&self) -> PathBuf {
        self.local().join("events.jsonl")
    }

    /// Returns the project's spelling of a path on this machine, if it lies inside and is UTF-8.
    pub fn relative(&self, path: &Path) -> Option<ProjectPath> {
        path.strip_prefix(&self.root).ok()?.to_str()?.parse().ok()
    }

    /// Does the same for a path that was made by joining names to the root: many times faster, for whoever has thousands.
    pub(crate) fn relative_joined(&self, path: &Path) -> Option<ProjectPath> {
        let root = self.root.as_os_str().as_bytes();
        let rest = path.as_os_str().as_bytes().strip_prefix(root)?;
        let rest = rest.strip_prefix(b"/").unwrap_or(rest);
        std::str::from_utf8(rest).ok().map(|text| ProjectPath::trusted(text.to_owned()))
    }

    /// Makes `.aof/` with its `.gitignore`, the inbox, the folder of refusals and the schemas, as far as they are missing, and opens it.
    pub fn prepare_local(&self) -> Result<Folder, StoreError> {
        self.hide_branch();
        let local = self.hide_local()?;
        let inside =
            |folder: &'static str| folder.trim_start_matches(LOCAL).trim_start_matches('/');
        for folder in [INBOX, TAKEN, REFUSED].into_iter().filter(|_| self.has_inbox) {
            if local.kind(inside(folder))? != Some(Kind::Folder) {
                Folder::create(&self.root, folder)?;
            }
        }
        // They serve editors alone: where they cannot be written, everything else goes on, and `aof doctor` tells of it.
        let _ = editor_schemas::keep_edition(self.root());
        Ok(local)
    }

    /// Makes `.aof/` with its `.gitignore`, and opens it.
    fn hide_local(&self) -> Result<Folder, StoreError> {
        let local = Folder::create(&self.root, LOCAL)?;
        match local.create_new(".gitignore", b"*\n") {
            Ok(()) | Err(StoreError::Exists { .. }) => Ok(local),
            Err(fault) => Err(fault),
        }
    }

    /// Makes the `.gitignore` around a project on a branch of its own, should somebody have removed it: `git clean` takes it and leaves
    /// the worktree, which the next `git add` would take for a submodule. Where it cannot be made, nothing else is kept from being done: git is asked for what it has of the folder first.
    pub fn hide_branch(&self) {
        let _ = self.around().map(|around| around.hide_local());
    }

    /// Returns the places around a project that stands where one on a branch of its own does.
    pub fn around(&self) -> Option<Self> {
        self.root.ancestors().nth(2).filter(|_| self.root.ends_with(BRANCH)).map(Self::of_checkout)
    }
}

/// Returns where the file of a new task goes.
pub fn task_path(id: &TaskId, layout: Layout) -> ProjectPath {
    ProjectPath::trusted(match layout {
        Layout::Flat => format!("{TASKS}/{id}.md"),
        Layout::Sharded => format!("{TASKS}/{}/{id}.md", &id.local()[..2]),
    })
}

/// Returns where the file of a task goes that was finished at that time: by day, UTC.
pub fn archive_path(id: &TaskId, finished: Timestamp) -> ProjectPath {
    let day = finished.to_zoned(TimeZone::UTC).date();
    let (year, month, day) = (day.year(), day.month(), day.day());
    ProjectPath::trusted(format!("{ARCHIVE}/{year:04}/{month:02}/{day:02}/{id}.md"))
}

/// Returns whether the path is one of a finished task.
pub fn is_archived(path: &ProjectPath) -> bool {
    path.as_str().strip_prefix(ARCHIVE).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the id that a file's name gives its task: `AOF-abc.md` is `AOF-abc`. Nothing for a name that does not end in `.md`, and for a readme.
pub fn task_id(name: &str) -> Option<Result<TaskId, IdFault>> {
    let stem = name.strip_suffix(".md")?;
    // A folder may explain itself.
    (!stem.eq_ignore_ascii_case("readme")).then(|| stem.parse())
}

/// Returns the file of the task that a file of that name goes with, where it stands beside it: `AOF-abc.md` for `AOF-abc.plan.md`. What
/// programs leave of a file, as `AOF-abc.md~` and `AOF-abc.md.orig`, goes with none.
pub fn companion_of(name: &str) -> Option<String> {
    let (stem, rest) = name.split_once('.')?;
    let task = stem.parse::<TaskId>().ok().filter(|_| !rest.starts_with("md") && !is_debris(name));
    task.map(|id| format!("{id}.md"))
}

/// Returns the files that go where a task's file goes: `AOF-abc.tests.yaml` beside `AOF-abc.md`. Reads the whole folder.
pub fn companions(paths: &Paths, task: &ProjectPath) -> Result<Vec<ProjectPath>, StoreError> {
    let stem = task.name().strip_suffix("md").unwrap_or(task.name());
    let folder = paths.root.join(task.folder());
    let listing = match fs::read_dir(&folder) {
        Ok(listing) => listing,
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(StoreError::io("list the folder", &folder, cause)),
    };
    let mut found = Vec::new();
    for entry in listing {
        let entry = entry.map_err(|cause| StoreError::io("list the folder", &folder, cause))?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let companion = name.starts_with(stem)
            && companion_of(name).is_some_and(|other| other == task.name())
            && entry.file_type().is_ok_and(|kind| kind.is_file());
        if companion {
            found.push(task.sibling(name)?);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn id(text: &str) -> TaskId {
        text.parse().unwrap()
    }

    #[test]
    fn tasks_stand_flat_or_sharded_and_are_archived_by_day() {
        let task = id("AOF-7qkxy");
        assert_eq!(task_path(&task, Layout::Flat).as_str(), "tasks/AOF-7qkxy.md");
        assert_eq!(task_path(&task, Layout::Sharded).as_str(), "tasks/7q/AOF-7qkxy.md");
        let finished = "2026-02-16T23:30:00-02:00".parse().unwrap();
        let path = archive_path(&task, finished);
        assert_eq!(path.as_str(), "tasks/archive/2026/02/17/AOF-7qkxy.md");
        assert!(is_archived(&path) && !is_archived(&task_path(&task, Layout::Flat)));
        assert!(!is_archived(&"tasks/archived/AOF-abc.md".parse().unwrap()));
    }

    #[test]
    fn the_name_of_a_file_gives_the_id() {
        assert_eq!(task_id("AOF-abc.md"), Some(Ok(id("AOF-abc"))));
        assert_eq!(task_id("AOF-abc.tests.yaml"), None);
        assert_eq!(task_id("README.md"), None);
        assert_eq!(companion_of("AOF-abc.plan.md").as_deref(), Some("AOF-abc.md"));
        for name in [
            "AOF-abc.md",
            "AOF-abc.md.md",
            "AOF-abc.md~",
            "AOF-abc.yaml.swp",
            "notes.plan.md",
            "AOF-abc-plan.md",
            "AOF-abc",
        ] {
            assert_eq!(companion_of(name), None, "{name}");
        }
        for name in ["notes.md", ".md", "aof-abc.md", "AOF-abc (copy).md"] {
            assert!(task_id(name).unwrap().is_err(), "{name}");
        }
    }

    #[test]
    fn a_project_is_found_from_below_but_not_beyond_its_repository() {
        let home = TempDir::new().unwrap();
        let outer = home.path().join("outer");
        let inner = outer.join("inner/src");
        fs::create_dir_all(&inner).unwrap();
        fs::write(outer.join("project.yaml"), "").unwrap();
        let found = Paths::find(&inner).unwrap();
        assert_eq!(found.root(), fs::canonicalize(&outer).unwrap());
        fs::create_dir(outer.join("inner/.git")).unwrap();
        let fault = Paths::find(&inner).unwrap_err();
        assert!(fault.hint().unwrap().contains("`aof init`"), "{fault}");
        fs::create_dir(outer.join("inner/.aof")).unwrap();
        assert!(Paths::find(&inner).unwrap().root().ends_with("outer/inner"));
        assert!(matches!(Paths::find(&outer.join("missing")), Err(StoreError::Io { .. })));
    }

    #[test]
    fn the_local_folder_is_prepared_once_and_keeps_what_a_person_wrote() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        paths.prepare_local().unwrap();
        assert_eq!(fs::read(paths.local().join(".gitignore")).unwrap(), b"*\n");
        assert!(paths.inbox().is_dir() && paths.taken().is_dir() && paths.refused().is_dir());
        fs::write(paths.local().join(".gitignore"), "*\n# mine\n").unwrap();
        paths.prepare_local().unwrap();
        assert_eq!(fs::read(paths.local().join(".gitignore")).unwrap(), b"*\n# mine\n");
        assert!(paths.root().join(SCHEMAS).join("project.json").is_file());
        assert_eq!(fs::read_dir(paths.local()).unwrap().count(), 4);
    }

    #[test]
    fn a_linked_local_folder_is_refused() {
        let (home, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        std::os::unix::fs::symlink(elsewhere.path(), home.path().join(".aof")).unwrap();
        let fault = Paths::at(home.path()).prepare_local().unwrap_err();
        assert!(matches!(
            fault,
            StoreError::WrongKind { found: crate::storage::Kind::Symlink, .. }
        ));
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }

    #[test]
    fn companions_are_the_files_of_that_task_alone() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        fs::create_dir(paths.tasks()).unwrap();
        for name in [
            "AOF-abc.md",
            "AOF-abc.tests.yaml",
            "AOF-abc.log",
            "AOF-abcd.tests.yaml",
            "AOF-abc.md~",
            "AOF-abc.md.orig",
            "AOF-abc.yaml.swp",
            "AOF-abc-notes.txt",
        ] {
            fs::write(paths.tasks().join(name), "").unwrap();
        }
        fs::create_dir(paths.tasks().join("AOF-abc.files")).unwrap();
        let path = task_path(&id("AOF-abc"), Layout::Flat);
        let names: Vec<String> =
            companions(&paths, &path).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["tasks/AOF-abc.log", "tasks/AOF-abc.tests.yaml"]);
        assert_eq!(companions(&paths, &"tasks/none/AOF-abc.md".parse().unwrap()).unwrap(), []);
    }
}
