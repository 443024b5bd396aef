//! The places of a project's files. Computes paths, and sets up `.aof/`.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::fs::error::OrIo;
use super::fs::folder::list;
use super::{Durability, FileKind, Folder, ProjectPath, StoreError};
use crate::domain::{IdFault, TaskId, TaskLayout};
use crate::files::schema::Schema;

/// Active task files.
pub const TASKS: &str = "tasks";
/// Files of finished tasks.
pub const ARCHIVE: &str = "tasks/archive";
/// Files that are local to this clone.
pub const LOCAL: &str = ".aof";
/// The checkout of a project on its own branch, below the folder where people work.
pub const BRANCH: &str = ".aof/branch";
/// The folder where completion files are dropped.
pub const INBOX: &str = ".aof/inbox";
/// Completion files that are being processed.
pub const TAKEN: &str = ".aof/inbox/.taken";
/// Completion files that were refused.
pub const REFUSED: &str = ".aof/refused";
/// Messages to deliver.
pub const OUTBOX: &str = ".aof/outbox";
/// Messages that were given up, not reported yet.
pub const UNREPORTED: &str = ".aof/outbox/untold";
/// Messages that were given up.
pub const DROPPED: &str = ".aof/outbox/dropped";
/// State of the writers of the event stream.
pub const EVENTS: &str = ".aof/events";
/// Old versions of stale task files that were updated to HEAD's.
pub const STALE: &str = ".aof/stale";
/// Runs of agents.
pub const RUNS: &str = ".aof/runs";

/// The paths of one project on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    root: PathBuf,
    /// True if completions are dropped there.
    has_inbox: bool,
    /// True if nothing may be written into `.aof/`.
    is_read_only: bool,
}

impl Paths {
    /// Returns the paths of the project in that folder.
    pub(crate) fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), has_inbox: true, is_read_only: false }
    }

    /// Returns the paths of the checkout that encloses a project on its own branch. It gets no inbox, since no watcher would read
    /// it.
    pub(crate) fn of_checkout(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), has_inbox: false, is_read_only: false }
    }

    /// Returns the same paths for a command that must leave `.aof/` as it is.
    pub(crate) fn read_only(&self) -> Self {
        Self { is_read_only: true, ..self.clone() }
    }

    /// Finds the project of a folder: the nearest ancestor with `project.yaml` or `.aof/`. The search ends at the root of the git
    /// worktree.
    pub(crate) fn find(start: &Path) -> Result<Self, StoreError> {
        let real = fs::canonicalize(start).or_io("find the folder", start)?;
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

    /// Returns the name of the project's folder; of the enclosing checkout for a project in `.aof/branch`.
    pub(crate) fn folder_name(&self) -> Option<String> {
        let root = self.around().map_or_else(|| self.root.clone(), |around| around.root);
        let name = root.file_name().map(|name| name.to_string_lossy().into_owned());
        name.or_else(|| {
            Some(fs::canonicalize(&root).ok()?.file_name()?.to_string_lossy().into_owned())
        })
    }

    pub(crate) fn tasks(&self) -> PathBuf {
        self.root.join(TASKS)
    }

    /// Returns `.aof/`: local, never committed.
    pub(crate) fn local(&self) -> PathBuf {
        self.root.join(LOCAL)
    }

    pub(crate) fn inbox(&self) -> PathBuf {
        self.root.join(INBOX)
    }

    pub(crate) fn taken(&self) -> PathBuf {
        self.root.join(TAKEN)
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.local().join("lock")
    }

    pub(crate) fn intent(&self) -> PathBuf {
        self.local().join("intent")
    }

    /// Returns the path of the file that changes when git's maintenance is started.
    pub(crate) fn maintenance(&self) -> PathBuf {
        self.local().join("maintenance")
    }

    pub(crate) fn events(&self) -> PathBuf {
        self.local().join("events.jsonl")
    }

    /// Returns the project path of a path that was made by joining names to the root, if it is UTF-8.
    pub(crate) fn relative_joined(&self, path: &Path) -> Option<ProjectPath> {
        let root = self.root.as_os_str().as_bytes();
        let rest = path.as_os_str().as_bytes().strip_prefix(root)?;
        let rest = rest.strip_prefix(b"/").unwrap_or(rest);
        std::str::from_utf8(rest).ok().map(|text| ProjectPath::trusted(text.to_owned()))
    }

    /// Creates `.aof/` with its `.gitignore`, inbox, refused folder and schemas, as far as they are missing, and opens it.
    pub(crate) fn prepare_local(&self) -> Result<Folder, StoreError> {
        if self.is_read_only {
            let cause = ErrorKind::ReadOnlyFilesystem;
            return Err(StoreError::io("write into", &self.local(), cause));
        }
        self.hide_branch();
        let local = self.hide_local()?;
        for folder in [INBOX, TAKEN, REFUSED].into_iter().filter(|_| self.has_inbox) {
            let inside = folder.trim_start_matches(".aof/");
            if local.kind(inside)? != Some(FileKind::Folder) {
                // Private, since anyone who may write here acts for agents.
                inside.split('/').try_fold(None::<Folder>, |outer, name| {
                    outer.as_ref().unwrap_or(&local).private_child(name).map(Some)
                })?;
            }
        }
        // Schemas serve only editors: if they cannot be written, nothing else fails, and `aof doctor` reports it.
        let _ = keep_schema_edition(&local);
        Ok(local)
    }

    /// Creates `.aof/` with its `.gitignore`, and opens it.
    fn hide_local(&self) -> Result<Folder, StoreError> {
        let local = Folder::create(&self.root, LOCAL)?;
        match local.create_new(".gitignore", b"*\n") {
            Ok(()) | Err(StoreError::Exists { .. }) => Ok(local),
            Err(fault) => Err(fault),
        }
    }

    /// Restores the `.gitignore` of the checkout that encloses a project on its own branch: `git clean` removes it but not the
    /// worktree, which the next `git add` would add as a submodule. Failures are ignored.
    pub(crate) fn hide_branch(&self) {
        let _ = self.around().map(|around| around.hide_local());
    }

    /// Returns the paths of the enclosing checkout, for a project in `.aof/branch`.
    pub(crate) fn around(&self) -> Option<Self> {
        self.root.ancestors().nth(2).filter(|_| self.root.ends_with(BRANCH)).map(Self::of_checkout)
    }
}

/// Returns the path of a new task's file.
pub fn task_path(id: &TaskId, layout: TaskLayout) -> ProjectPath {
    ProjectPath::trusted(match layout {
        TaskLayout::Flat => format!("{TASKS}/{id}.md"),
        TaskLayout::Sharded => format!("{TASKS}/{}/{id}.md", &id.local()[..2]),
    })
}

/// Returns the archive path of a task that was finished at that time: by day, UTC.
pub(crate) fn archive_path(id: &TaskId, finished: Timestamp) -> ProjectPath {
    let day = finished.to_zoned(TimeZone::UTC).date();
    let (year, month, day) = (day.year(), day.month(), day.day());
    ProjectPath::trusted(format!("{ARCHIVE}/{year:04}/{month:02}/{day:02}/{id}.md"))
}

/// Returns whether the path is in the archive.
pub(crate) fn is_archived(path: &ProjectPath) -> bool {
    path.as_str().strip_prefix(ARCHIVE).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the task id of a file name: `AOF-abc.md` is `AOF-abc`. `None` for a name without `.md`, and for a readme.
pub(crate) fn task_id(name: &str) -> Option<Result<TaskId, IdFault>> {
    let stem = name.strip_suffix(".md")?;
    // A folder may have a readme.
    (!stem.eq_ignore_ascii_case("readme")).then(|| stem.parse())
}

/// Returns the task file that a companion of that name belongs to: `AOF-abc.md` for `AOF-abc.plan.md`. Backup files such as
/// `AOF-abc.md~` and `AOF-abc.md.orig` are not companions.
pub(crate) fn companion_of(name: &str) -> Option<String> {
    let (stem, rest) = name.split_once('.')?;
    let is_other = rest.starts_with("md") || is_debris(name) || copy_of(name).is_some();
    let task = stem.parse::<TaskId>().ok().filter(|_| !is_other);
    task.map(|id| format!("{id}.md"))
}

/// Returns the task whose file was copied under that name by a sync program or a file manager, because of two conflicting
/// versions: `AOF-abc (conflicted copy).md`, `AOF-abc.sync-conflict-20261127-101112-ABCDEFG.md`, `AOF-abc 2.md`.
pub(crate) fn copy_of(name: &str) -> Option<TaskId> {
    let end = name.find([' ', '.', '_', '('])?;
    let (id, rest) = (name[..end].parse::<TaskId>().ok()?, name[end..].to_lowercase());
    let conflicts =
        ["sync-conflict-", "conflicted copy", "sfconflict", "_conflict", "[conflict", "(conflict"];
    let last = rest.rsplit_once('.').map_or(rest.as_str(), |(before, _)| before);
    let is_numbered = || {
        let number = last.trim_matches(['(', ')', ' ']);
        rest.starts_with([' ', '(']) && (is_number(number) || number.contains("copy"))
    };
    (conflicts.iter().any(|word| rest.contains(word)) || is_numbered()).then_some(id)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the companions next to a task's file: `AOF-abc.tests.yaml` for `AOF-abc.md`. Reads the whole folder.
pub(crate) fn companions(
    paths: &Paths,
    task: &ProjectPath,
) -> Result<Vec<ProjectPath>, StoreError> {
    let stem = task.name().strip_suffix("md").unwrap_or(task.name());
    let mut found = Vec::new();
    for entry in list(&paths.root.join(task.folder()))? {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with(stem)) else { continue };
        if companion_of(name).is_some_and(|other| other == task.name())
            && entry.file_type().is_ok_and(|kind| kind.is_file())
        {
            found.push(task.sibling(name)?);
        }
    }
    found.sort();
    Ok(found)
}

/// Returns whether a name is that of a temporary file of an editor or a download.
pub(crate) fn is_debris(name: &str) -> bool {
    let suffix = name.rsplit_once('.').map_or("", |(_, suffix)| suffix);
    name.starts_with('.')
        || name.ends_with('~')
        || (name.starts_with('#') && name.ends_with('#'))
        || name == "4913"
        || ["swp", "swx", "tmp", "part"].contains(&suffix)
}

/// The schemas for editors.
pub const SCHEMAS: &str = ".aof/schema";
/// The version of the written schemas. Written last, so that an interrupted update is repeated.
const EDITION: &str = "edition";
const EDITION_LIMIT: u64 = 256;

/// Returns whether every schema of this program is there.
pub(crate) fn are_schemas_current(root: &Path) -> bool {
    let is_file = |folder: &Folder, schema: Schema| {
        matches!(folder.kind(schema_file(schema)), Ok(Some(FileKind::File)))
    };
    let folder = Folder::open_existing(root, SCHEMAS);
    matches!(folder, Ok(Some(folder)) if is_schema_edition(&folder) && Schema::ALL.iter().all(|schema| is_file(&folder, *schema)))
}

/// Writes the schemas unless all are current.
pub(crate) fn keep_schemas_current(root: &Path) -> Result<(), StoreError> {
    if are_schemas_current(root) { Ok(()) } else { write_schemas(&Folder::create(root, SCHEMAS)?) }
}

/// Writes the schemas unless their version is current. Does not check for removed files.
fn keep_schema_edition(local: &Folder) -> Result<(), StoreError> {
    let folder = local.child_or_new(SCHEMAS.trim_start_matches(".aof/"), 0o777)?;
    if is_schema_edition(&folder) { Ok(()) } else { write_schemas(&folder) }
}

fn write_schemas(folder: &Folder) -> Result<(), StoreError> {
    for schema in Schema::ALL {
        let text = format!("{}\n", schema.text());
        folder.replace(&schema_file(*schema), text.as_bytes(), Durability::Volatile)?;
    }
    folder.replace(EDITION, Schema::edition().as_bytes(), Durability::Volatile)
}

fn is_schema_edition(folder: &Folder) -> bool {
    let edition = folder.read(EDITION, EDITION_LIMIT);
    matches!(edition, Ok(Some((bytes, _))) if bytes == Schema::edition().as_bytes())
}

fn schema_file(schema: Schema) -> String {
    format!("{schema}.json")
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
        assert_eq!(task_path(&task, TaskLayout::Flat).as_str(), "tasks/AOF-7qkxy.md");
        assert_eq!(task_path(&task, TaskLayout::Sharded).as_str(), "tasks/7q/AOF-7qkxy.md");
        let finished = "2026-02-16T23:30:00-02:00".parse().unwrap();
        let path = archive_path(&task, finished);
        assert_eq!(path.as_str(), "tasks/archive/2026/02/17/AOF-7qkxy.md");
        assert!(is_archived(&path) && !is_archived(&task_path(&task, TaskLayout::Flat)));
        assert!(!is_archived(&"tasks/archived/AOF-abc.md".parse().unwrap()));
    }

    #[test]
    fn a_project_on_its_own_branch_has_the_name_of_the_folder_where_people_work() {
        let name = |root: &str| Paths::at(root).folder_name();
        assert_eq!(name("/home/ada/shop").as_deref(), Some("shop"));
        assert_eq!(name("/home/ada/shop/.aof/branch").as_deref(), Some("shop"));
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
        assert!(fault.hint().unwrap().to_string().contains("`aof init`"), "{fault}");
        fs::create_dir(outer.join("inner/.aof")).unwrap();
        assert!(Paths::find(&inner).unwrap().root().ends_with("outer/inner"));
        assert!(matches!(Paths::find(&outer.join("missing")), Err(StoreError::Io { .. })));
    }

    #[test]
    fn the_local_folder_is_prepared_once_and_keeps_text_of_a_person() {
        let home = TempDir::new().unwrap();
        let paths = Paths::at(home.path());
        paths.prepare_local().unwrap();
        assert_eq!(fs::read(paths.local().join(".gitignore")).unwrap(), b"*\n");
        assert!(
            paths.inbox().is_dir() && paths.taken().is_dir() && paths.root().join(REFUSED).is_dir()
        );
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
        assert!(matches!(fault, StoreError::WrongKind { found: FileKind::Symlink, .. }));
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
        let path = task_path(&id("AOF-abc"), TaskLayout::Flat);
        let names: Vec<String> =
            companions(&paths, &path).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["tasks/AOF-abc.log", "tasks/AOF-abc.tests.yaml"]);
        assert_eq!(companions(&paths, &"tasks/none/AOF-abc.md".parse().unwrap()).unwrap(), []);
    }

    #[test]
    fn backup_files_of_editors_are_not_deliveries() {
        for name in [
            ".done.yaml.swp",
            "done.yaml~",
            "#done.yaml#",
            ".#done.yaml",
            "done.swp",
            "done.swx",
            "done.yaml.tmp",
            "done.part",
            "4913",
            ".aof-tmp-x",
            ".DS_Store",
        ] {
            assert!(is_debris(name), "{name}");
        }
        for name in ["done.yaml", "4914", "#1.yaml", "done#", "tmp.yaml", "~done.md", "swp"] {
            assert!(!is_debris(name), "{name}");
        }
    }
}

#[cfg(test)]
mod editor_schemas_tests {
    use std::fs;
    use std::time::SystemTime;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn schemas_are_written_if_missing_or_of_another_version_only() {
        let home = TempDir::new().unwrap();
        let root = home.path();
        assert!(!are_schemas_current(root));
        keep_schemas_current(root).unwrap();
        let at = |name: &str| home.path().join(SCHEMAS).join(name);
        let project = fs::read(at("project.json")).unwrap();
        assert!(are_schemas_current(root) && project.starts_with(b"{"));
        let written =
            || -> SystemTime { fs::metadata(at("project.json")).unwrap().modified().unwrap() };
        let before = written();
        keep_schemas_current(root).unwrap();
        assert_eq!(written(), before);
        for spoil in [
            |at: &dyn Fn(&str) -> std::path::PathBuf| fs::remove_file(at("project.json")).unwrap(),
            |at: &dyn Fn(&str) -> std::path::PathBuf| {
                fs::write(at("project.json"), "{}").unwrap();
                fs::write(at(EDITION), "0.1.0").unwrap();
            },
            |at: &dyn Fn(&str) -> std::path::PathBuf| fs::remove_dir_all(at("")).unwrap(),
        ] {
            spoil(&at);
            assert!(!are_schemas_current(root));
            keep_schemas_current(root).unwrap();
            assert!(are_schemas_current(root));
            assert_eq!(fs::read(at("project.json")).unwrap(), project);
        }
    }
}
